"""Cells of a Calc workbook come as people see them."""

from __future__ import annotations

import io

import openpyxl
import pytest
from odf import office, opendocument, table, teletype, text

from covmis_build.errors import BrokenIds, InputError
from covmis_build.text.ods import MOST_COLUMNS, MOST_ROWS, rows_of
from covmis_build.text.sheets import check_ids, read_sheet
from tests.annotation.libreoffice import Job, save


def workbook(*sheets):
    """A workbook of these sheets: rows, each a list of cells and how often it is repeated."""
    book = opendocument.OpenDocumentSpreadsheet()
    for number, rows in enumerate(sheets):
        page = table.Table(name=f"sheet {number}")
        for cells, times in rows:
            row = table.TableRow(numberrowsrepeated=times)
            for cell in cells:
                row.addElement(cell)
            page.addElement(row)
        book.spreadsheet.addElement(page)
    file = io.BytesIO()
    book.write(file)
    return io.BytesIO(file.getvalue())


def said(words="", *, again=1, covered=False, **more):
    """A cell of these words."""
    kind = table.CoveredTableCell if covered else table.TableCell
    cell = kind(numbercolumnsrepeated=again, **({"valuetype": "string"} if words else {}), **more)
    if words:
        cell.addElement(text.P(text=words))
    return cell


def saved(*parts):
    """A workbook of one cell, with these in its paragraph."""
    cell, paragraph = table.TableCell(valuetype="string"), text.P()
    for part in parts:
        if isinstance(part, str):
            teletype.addTextToElement(paragraph, part)
        else:
            paragraph.addElement(part)
    cell.addElement(paragraph)
    return workbook([([cell], 1)])


def cells_of(book):
    return [row.cells for row in rows_of(book)]


def test_tabs_line_ends_and_spaces_inside_a_cell_stay():
    """They are elements of their own in the file; the words beside them were joined."""
    words = "two  spaces\ta tab\nan end"
    assert cells_of(saved(words)) == [[words]]


def test_millions_of_spaces_are_no_text():
    assert cells_of(saved("a", text.S(c=10**12), "b")) == [[f"a{' ' * 100}b"]]


def test_a_note_beside_words_is_none_of_them():
    note = office.Annotation()
    note.addElement(text.P(text="who says so?"))
    assert cells_of(saved("a", note, "b")) == [["ab"]]


def test_rows_that_are_the_same_are_as_many_as_they_are():
    """Calc writes them once, with their number; rows behind empty ones keep theirs."""
    book = workbook(
        [
            ([said("id"), said("text")], 1),
            ([said("1"), said("same", again=2)], 3),
            ([said()], 2),
            ([said("2"), said(again=3), said("far")], 1),
            ([said(again=MOST_COLUMNS)], MOST_ROWS),
        ]
    )
    assert cells_of(book) == [
        ["id", "text"],
        *[["1", "same", "same"]] * 3,
        [],
        [],
        ["2", None, None, None, "far"],
    ]


def test_what_people_see_is_read_but_numbers_days_and_truths_are_what_they_are():
    cells = [
        table.TableCell(valuetype="float", value="1234567.50"),
        table.TableCell(valuetype="float", value="3"),
        table.TableCell(valuetype="date", datevalue="2021-03-04"),
        table.TableCell(valuetype="boolean", booleanvalue="true"),
        table.TableCell(valuetype="percentage", value=".125"),
        table.TableCell(valuetype="string", stringvalue="only here"),
    ]
    for cell, words in zip(cells, ["1.234.567,50", "3,00", "04.03.21", "WAHR", "12,5 %", ""], strict=True):
        if words:
            cell.addElement(text.P(text=words))
    assert cells_of(workbook([(cells, 1)])) == [[1234567.5, 3, "2021-03-04", True, "12,5 %", "only here"]]


def test_an_id_that_was_taken_for_a_number_has_no_digits_that_nobody_wrote(tmp_path):
    """A float of 19 digits is 1250814876492179968 to Python; sheets show zeros, by which broken ids are known."""
    numbers = ("1.25081487649218E+18", "1250814876492190000", "1250814876492200000")
    cells = [[table.TableCell(valuetype="float", value=number), said("Garlic")] for number in numbers]
    rows = [([said("tweet_id"), said("claim")], 1), *((row, 1) for row in cells)]
    (tmp_path / "a.ods").write_bytes(workbook(rows).getvalue())
    ids = [row["tweet_id"] for row in read_sheet(tmp_path / "a.ods").rows]
    assert ids == ["1250814876492180000", "1250814876492190000", "1250814876492200000"]
    with pytest.raises(BrokenIds):
        check_ids(tmp_path / "a.ods", ids)


def test_a_workbook_that_repeats_without_end_is_refused():
    for rows in (
        [([said("a")], MOST_ROWS), ([said("b")], 1)],
        [([said("a", again=100)], 200_000)],
        [([said("a", again=10**12)], 1)],
        [([said("a"), said(again=10**12), said("b")], 1)],
    ):
        with pytest.raises(InputError, match=r"more (rows|columns) than any spreadsheet"):
            for _ in rows_of(workbook(rows)):
                pass


def test_every_sheet_has_its_rows_and_the_first_is_the_table():
    book = workbook([([said("a")], 1), ([said()], 9)], [([said()], 1), ([said("b")], 1)])
    assert [(row.sheet, row.cells) for row in rows_of(book)] == [(0, ["a"]), (1, []), (1, ["b"])]


@pytest.mark.needs("libreoffice")
def test_a_hidden_sheet_is_passed_over(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["choices"])
    book.create_sheet("seen").append(["a"])
    book["Sheet"].sheet_state = "hidden"
    book.active = 1
    book.save(tmp_path / "a.xlsx")
    save(tmp_path, [Job(tmp_path / "a.xlsx", tmp_path / "a.ods", "calc8")])
    with (tmp_path / "a.ods").open("rb") as file:
        assert [(row.sheet, row.cells) for row in rows_of(file)] == [(-1, ["choices"]), (0, ["a"])]


def test_what_only_looks_filled_in_is_told():
    rows = [
        ([said("id"), said("text")], 1),
        ([said("1"), said("same for both", numberrowsspanned=2)], 1),
        ([said("2"), said(covered=True)], 1),
        ([said("3"), said(numberrowsspanned=2)], 1),
        ([said("4"), said(formula="of:=1+1")], 1),
    ]
    told = [(row.merged_down, row.not_calculated) for row in rows_of(workbook(rows))]
    assert told == [([], []), ([(2, 2)], []), ([], []), ([], []), ([], [2])]
