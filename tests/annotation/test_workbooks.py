"""Sheets as workbooks: ids and texts stay text, labels come back, and what moved or strayed is told."""

from __future__ import annotations

import io
import re
import zipfile

import pytest

from covmis_build.annotation import round_folder as record
from covmis_build.annotation.answers import Channel
from covmis_build.annotation.channels.sheets import read_rows, read_sheet, sheet
from covmis_build.annotation.channels.workbooks import LARGEST, Grid, ods, xlsx
from covmis_build.errors import InputError
from covmis_build.options import Labels
from covmis_build.text.ods import letters
from tests.annotation.small import HOSTILE, LABELS, covmis, label_both, rows_of, study, write_rows
from tests.annotation.test_sheets import frozen

BOTH = pytest.mark.parametrize("kind", [Channel.XLSX, Channel.ODS])
SCHEME = Labels(sub_labels={"neither": ("unrelated", "questions")})


def fill(path, kind, answer):
    """Fill in the cells of this workbook as its program would, and save it: `answer(row)` is label and comment."""
    rows = read_rows(path, ("item_id",))
    if kind == Channel.XLSX:
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.load_workbook(path)
        page = book["labels"]
        columns = [cell.value for cell in page[1]]
        for at, row in enumerate(rows, start=2):
            label, comment = answer(row)
            page.cell(at, columns.index("label") + 1).value = label
            page.cell(at, columns.index("comment") + 1).value = comment
        book.save(path)
    else:
        pytest.importorskip("odf")
        from odf import opendocument, table, text

        book = opendocument.load(str(path))
        lines = book.spreadsheet.getElementsByType(table.TableRow)
        columns = [
            name
            for name in rows[0]
            if name in {"item_id", "claim", "post", "context", "label", "sub_label", "comment"}
        ]
        for line, row in zip(lines[1:], rows, strict=True):
            for name, value in zip(("label", "comment"), answer(row), strict=True):
                cell = line.getElementsByType(table.TableCell)[columns.index(name)]
                for child in list(cell.childNodes):
                    cell.removeChild(child)
                for paragraph in str(value).split("\n"):
                    cell.addElement(text.P(text=paragraph))
        book.save(str(path))


def written(path, kind, scheme=SCHEME):
    path.write_bytes(sheet(frozen(), frozen()["item_id"].tolist(), scheme, channel=kind))
    return path


@BOTH
def test_what_is_filled_in_comes_back_and_nothing_else_changes(tmp_path, kind):
    path = written(tmp_path / f"a1.{kind}", kind)
    fill(path, kind, lambda row: ("Favor" if row["item_id"].endswith("1") else "", "two\nlines  日本"))
    back = read_sheet(path, "a1", frozen(), SCHEME)
    given = [answer for answer in back.answers if answer.status == "given"]
    assert {(answer.label, answer.comment, answer.channel) for answer in given} == {
        ("favor", "two\nlines  日本", kind)
    }
    assert len(given) == 2
    assert all("empty answer" in str(problem) for problem in back.problems), "a comment without a label"


@BOTH
def test_ids_and_texts_are_text_and_locked_and_labels_are_a_list(tmp_path, kind):
    path = written(tmp_path / f"a1.{kind}", kind)
    rows = read_rows(path, ("item_id", "claim", "post", "label"))
    assert [row["item_id"] for row in rows] == frozen()["item_id"].tolist()
    assert any(row["post"] == HOSTILE for row in rows), "as it is, not obeyed"
    parts = {
        name: zipfile.ZipFile(path).read(name).decode()
        for name in zipfile.ZipFile(path).namelist()
        if name.endswith("xml")
    }
    whole = "".join(parts.values())
    assert "<f>" not in whole, "no formula"
    assert "table:formula" not in whole
    if kind == Channel.XLSX:
        assert 'sheet="1"' in whole.split("<sheetProtection")[1].split(">")[0]
        assert '"favor,against,neither,skip"' in whole
    else:
        assert 'table:protected="true"' in whole
        assert "cell-content-is-in-list" in whole


@BOTH
def test_rows_are_as_high_as_their_texts(tmp_path, kind):
    items = frozen()
    items.loc[0, "text"] = "a long post, with words enough for ten lines. " * 15
    items.loc[1, "text"] = "日本語" * 40
    path = tmp_path / f"a1.{kind}"
    path.write_bytes(sheet(items, items["item_id"].tolist(), SCHEME, channel=kind))
    name = "xl/worksheets/sheet1.xml" if kind == Channel.XLSX else "content.xml"
    page = zipfile.ZipFile(path).read(name).decode()
    found = re.findall(
        r'<row [^>]* ht="([\d.]+)"' if kind == Channel.XLSX else r'row-height="([\d.]+)pt"', page
    )
    heights = sorted({float(height) for height in found})
    assert heights[0] == 18, "one line"
    assert max(heights) >= 10 * 15


@BOTH
def test_a_key_typed_as_a_number_is_a_label(tmp_path, kind):
    path = written(tmp_path / f"a1.{kind}", kind)
    fill(path, kind, lambda row: (2, ""))
    assert {answer.label for answer in read_sheet(path, "a1", frozen(), SCHEME).answers} == {"against"}


@BOTH
def test_long_texts_and_control_characters_do_not_hinder(tmp_path, kind):
    items = frozen()
    items.loc[0, "text"] = "x" * 40_000
    items.loc[1, "text"] = "a\x0bb\x00c"
    path = tmp_path / f"a1.{kind}"
    path.write_bytes(sheet(items, items["item_id"].tolist(), SCHEME, channel=kind))
    fill(path, kind, lambda row: ("favor", ""))
    back = read_sheet(path, "a1", items, SCHEME)
    assert (len(back.answers), back.problems) == (12, [])


@BOTH
def test_a_whole_round_in_workbooks(tmp_path, kind):
    study(tmp_path)
    covmis(tmp_path, "round", "open")
    sent = covmis(tmp_path, "round", "push", "--channel", kind)
    assert [name.rsplit(".")[-1] for name in sent["written"]] == [kind, kind]
    assert covmis(tmp_path, "round", "push", "--channel", kind)["written"] == []
    sheets = tmp_path / "annotation" / "rounds" / "001" / "sheets"
    for who in ("a1", "a2"):
        fill(sheets / f"{who}.{kind}", kind, lambda row: (LABELS[sum(map(ord, row["item_id"])) % 3], "c"))
    assert covmis(tmp_path, "round", "pull")["added"] == 22
    assert covmis(tmp_path, "round", "pull")["added"] == 0
    assert set(record.find(tmp_path / "annotation" / "rounds").labels()["channel"]) == {kind}
    covmis(tmp_path, "round", "seal")
    gone = rows_gone(tmp_path)
    left = read_rows(sheets / f"a1.{kind}", ("item_id",))
    assert len(left) == 10
    assert gone not in {row["item_id"].split("|")[1] for row in left}


def rows_gone(folder):
    """Purge the first post that people label."""
    items = record.find(folder / "annotation" / "rounds").items()
    post = items.loc[items["automatic_label"] == "", "post_id"].iloc[0]
    record.forget(folder / "annotation" / "rounds", [post])
    return post


def test_what_is_no_workbook_or_too_large_is_one_line(tmp_path):
    for name, content, told in [
        ("a1.xlsx", b"?", "cannot be read as a workbook"),
        ("a1.ods", b"PK\x05\x06" + b"\0" * 18, "cannot be read as a workbook"),
        ("a2.xlsx", xlsx(Grid(["a"], [["b"]], {})), "no sheet with the column item_id"),
        ("a2.ods", ods(Grid(["a"], [["b"]], {})), "no sheet with the column item_id"),
        ("a3.xlsx", packed(LARGEST + 1), "unpacks to"),
    ]:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=told):
            read_rows(tmp_path / name, ("item_id",))


def packed(size):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b"\0" * size)
    return out.getvalue()


def test_labels_sorted_by_themselves_are_questioned_and_taken_when_named(tmp_path):
    study(tmp_path, claims=6, per_claim=8)
    covmis(tmp_path, "round", "open", "--claims", "6")
    covmis(tmp_path, "round", "push")
    label_both(tmp_path)
    path = tmp_path / "annotation" / "rounds" / "001" / "sheets" / "a1.csv"
    rows = rows_of(path)
    keys = {"favor": "1", "against": "2"}  # as people may type them: in that order, names are not sorted
    for row, label in zip(rows, sorted(keys.get(row["label"], "3") for row in rows), strict=True):
        row["label"] = label
    write_rows(path, rows)
    pulled = covmis(tmp_path, "round", "pull", fails=1)
    assert (pulled["added"], len(pulled["problems"])) == (len(rows), 1), "only a2's"
    assert "equal labels stand together" in pulled["problems"][0]
    assert "`covmis round pull annotation/rounds/001/sheets/a1.csv`" in pulled["problems"][0]
    assert covmis(tmp_path, "round", "pull", str(path))["added"] == len(rows)


def test_a_stray_cell_is_told_and_the_rest_is_read(tmp_path):
    path = written(tmp_path / "a1.csv", Channel.CSV, Labels())
    rows = rows_of(path)
    rows[0]["label"] = "favor"
    write_rows(path, [{**rows[0], "more": "note to myself"}, *({**row, "more": ""} for row in rows[1:])])
    path.write_bytes(path.read_bytes().replace(b",more", b"", 1))
    back = read_sheet(path, "a1", frozen(), Labels())
    assert [answer.label for answer in back.answers] == ["favor"]
    assert "row 2: 'note to myself' stands beyond the last column" in str(back.problems[0])


def merged(path, kind):
    """The labels of the first two rows become one cell."""
    if kind == Channel.XLSX:
        book = pytest.importorskip("openpyxl").load_workbook(path)
        page = book["labels"]
        column = [cell.value for cell in page[1]].index("label") + 1
        page.merge_cells(start_row=2, end_row=3, start_column=column, end_column=column)
        book.save(path)
        return column
    from odf import opendocument, table

    book = opendocument.load(str(path))
    lines = book.spreadsheet.getElementsByType(table.TableRow)
    names = [str(cell) for cell in lines[0].getElementsByType(table.TableCell)]
    lines[1].getElementsByType(table.TableCell)[names.index("label")].setAttribute("numberrowsspanned", 2)
    book.save(str(path))
    return names.index("label") + 1


@BOTH
def test_a_label_cell_merged_over_two_rows_is_asked_about(tmp_path, kind):
    """The second row would be open, though whoever sees the sheet sees its label."""
    path = written(tmp_path / f"a1.{kind}", kind)
    letter = letters(merged(path, kind))
    assert read_rows(path, ("item_id",)), "an empty one hides nothing"
    path = written(path, kind)
    fill(path, kind, lambda row: ("favor", ""))
    merged(path, kind)
    with pytest.raises(InputError, match=f"row 2: column {letter} has a cell that is merged") as error:
        read_sheet(path, "a1", frozen(), SCHEME)
    assert "Split it" in error.value.remedy


@BOTH
def test_a_formula_without_a_value_is_asked_about(tmp_path, kind):
    """A program that wrote the file without calculating it; Excel and Calc store values."""
    path = written(tmp_path / f"a1.{kind}", kind)
    if kind == Channel.XLSX:
        book = pytest.importorskip("openpyxl").load_workbook(path)
        page = book["labels"]
        column = [cell.value for cell in page[1]].index("label") + 1
        page.cell(3, column).value = '="favor"'
        book.save(path)
    else:
        from odf import opendocument, table

        book = opendocument.load(str(path))
        lines = book.spreadsheet.getElementsByType(table.TableRow)
        column = [str(cell) for cell in lines[0].getElementsByType(table.TableCell)].index("label") + 1
        cell = lines[2].getElementsByType(table.TableCell)[column - 1]
        cell.setAttribute("formula", 'of:="favor"')
        cell.removeAttribute("valuetype")
        book.save(str(path))
    with pytest.raises(InputError, match=f"row 3: column {letters(column)} has a formula that no program"):
        read_sheet(path, "a1", frozen(), SCHEME)


def test_two_channels_that_differ_are_told_once_a_person(tmp_path):
    """However many posts they differ in; the later answers count."""
    study(tmp_path)
    covmis(tmp_path, "round", "open")
    covmis(tmp_path, "round", "push")
    label_both(tmp_path)
    covmis(tmp_path, "round", "pull")
    covmis(tmp_path, "round", "push", "--channel", "xlsx")
    sheets = tmp_path / "annotation" / "rounds" / "001" / "sheets"
    before = {row["item_id"]: row["label"] for row in rows_of(sheets / "a1.csv")}
    other = dict(zip(LABELS, [*LABELS[1:], LABELS[0]], strict=True))
    fill(sheets / "a1.xlsx", Channel.XLSX, lambda row: (other[before[row["item_id"]]], ""))
    pulled = covmis(tmp_path, "round", "pull", str(sheets / "a1.xlsx"), fails=1)
    assert pulled["added"] == len(before)
    first = min(before)
    told = f"a1: answered {len(before)} items differently in two channels, as {first} "
    assert [problem for problem in pulled["problems"] if "channels" in problem] == [
        f"{told}(csv: {before[first]}, xlsx: {other[before[first]]}); the later answer counts"
    ]
