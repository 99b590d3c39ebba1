"""Workbooks that say more, or less, than they hold."""

from __future__ import annotations

import re
import zipfile

import openpyxl
import pytest

from covmis_build.errors import InputError
from covmis_build.files.reading import read_table
from tests.annotation.libreoffice import Job, save
from tests.files.written import ods, of_xml


def workbook(path, rows):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def changed(path, before, after):
    """The workbook with its sheet's XML changed."""
    with zipfile.ZipFile(path) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    with zipfile.ZipFile(path, "w") as packed:
        for name, part in parts.items():
            packed.writestr(name, re.sub(before, after, part) if "sheet1" in name else part)
    return path


@pytest.mark.parametrize("far", [b"A2000000000", b"XFD1048576"])
def test_a_cell_far_away_does_not_fill_memory(tmp_path, far):
    row = far.lstrip(b"AXFD")
    cell = rb'<row r="' + row + rb'"\1><c r="' + far + rb'"><v>1</v></c></row>'
    path = workbook(tmp_path / "a1.xlsx", [["item_id", "claim"], [1, "a"], [2, "b"]])
    with pytest.raises(InputError, match=r"a1\.xlsx: it (ended the process that read it|needs more memory)"):
        read_table(changed(path, rb'<row r="3"([^>]*)>.*?</row>', cell))


def cell(words, more=""):
    return f'<table:table-cell office:value-type="string"{more}><text:p>{words}</text:p></table:table-cell>'


def table(*rows):
    lines = "".join(f"<table:table-row{more}>{cells}</table:table-row>" for cells, more in rows)
    return f'<table:table table:name="sheet">{lines}</table:table>'


def test_rows_and_cells_that_are_the_same_are_as_many_as_they_are(tmp_path):
    """Calc writes them once, with their number; rows behind empty ones keep theirs."""
    path = of_xml(
        tmp_path / "a.ods",
        table(
            (cell("id") + cell("a") + cell("b"), ""),
            (
                cell("1") + cell("same", ' table:number-columns-repeated="2"'),
                ' table:number-rows-repeated="3"',
            ),
            ("<table:table-cell/>", ' table:number-rows-repeated="2"'),
            (cell("2") + "<table:table-cell/>" + cell("far"), ""),
            ("<table:table-cell/>", ' table:number-rows-repeated="1048000"'),
        ),
    )
    sheet = read_table(path)
    assert [list(row.values()) for row in sheet.rows] == [["1", "same", "same"]] * 3 + [["2", "", "far"]]
    assert sheet.numbers == [2, 3, 4, 7]
    assert sheet.gap == 5


def test_a_workbook_that_repeats_without_end_ends(tmp_path):
    for rows in (
        [(cell("id"), ""), (cell("a", ' table:number-columns-repeated="1000000000000"'), "")],
        [(cell("id"), ""), (cell("a"), ' table:number-rows-repeated="1000000000000"')],
    ):
        sheet = read_table(of_xml(tmp_path / "a.ods", table(*rows)))
        assert 0 < len(sheet.rows) < 1 << 20


def test_what_people_see_and_what_numbers_days_and_truths_are(tmp_path):
    cells = {
        ' office:value-type="float" office:value="1234567.50"': "1.234.567,50",
        ' office:value-type="float" office:value="3"': "3,00",
        ' office:value-type="date" office:date-value="2021-03-04"': "04.03.21",
        ' office:value-type="date" office:date-value="2021-03-04T05:06:07"': "04.03.21 05:06",
        ' office:value-type="boolean" office:boolean-value="true"': "WAHR",
        ' office:value-type="percentage" office:value="0.125"': "12,5 %",
    }
    line = "".join(
        f"<table:table-cell{of}><text:p>{seen}</text:p></table:table-cell>" for of, seen in cells.items()
    )
    head = "".join(cell(f"c{number}") for number in range(len(cells)))
    (row,) = read_table(of_xml(tmp_path / "a.ods", table((head, ""), (line, "")))).rows
    assert list(row.values()) == ["1234567.5", "3", "2021-03-04", "2021-03-04T05:06:07", "true", "0.125"]


def test_lines_of_a_cell_stay(tmp_path):
    path = ods(tmp_path / "a.ods", [["id", "text"], ["1", "one\ntwo"]])
    assert read_table(path).rows[0]["text"] == "one\ntwo"


def test_excels_escapes_are_characters(tmp_path):
    path = workbook(tmp_path / "a1.xlsx", [["item_id", "comment"], ["1", "line_x000D_\nnext"]])
    assert "x000D" not in read_table(path).rows[0]["comment"]


@pytest.mark.needs("libreoffice")
@pytest.mark.parametrize(("ending", "filter_name"), [("ods", "calc8"), ("xls", "MS Excel 97")])
def test_what_libreoffice_saves_is_the_same_table(tmp_path, ending, filter_name):
    rows = [
        ["id", "text", "n"],
        ["1252934402983763968", "=1+1 is 'no' formula", 12],
        ["2", "two\nlines", 0.5],
    ]
    path = workbook(tmp_path / "a.xlsx", rows)
    book = openpyxl.load_workbook(path)
    book.active["B2"].data_type = "s"
    book.create_sheet("codes", 0).append(["x"])
    book["codes"].sheet_state = "hidden"
    book.active = 1
    book.save(path)
    save(tmp_path, [Job(path, tmp_path / f"a.{ending}", filter_name)])
    assert read_table(tmp_path / f"a.{ending}").rows == read_table(path).rows
    assert read_table(path).rows[0]["n"] == "12"
