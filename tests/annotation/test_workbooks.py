"""Sheets as workbooks: ids and texts stay text, labels come back, and what moved or strayed is told."""

from __future__ import annotations

import re
import zipfile

import openpyxl
import pytest

from covmis_build.annotation import round_folder as record
from covmis_build.annotation.answers import Channel
from covmis_build.annotation.channels.check_words import Owner
from covmis_build.annotation.channels.sheets import read_rows, read_sheet, sheet
from covmis_build.annotation.channels.workbooks import Grid, xlsx
from covmis_build.annotation.frozen_items import by_item
from covmis_build.errors import InputError
from covmis_build.options import Labels
from tests.annotation.small import (
    HOSTILE,
    LABELS,
    covmis,
    label_both,
    opened,
    pulled,
    rows_of,
    study,
    write_rows,
)
from tests.annotation.test_sheets import frozen
from tests.files.written import ods

SCHEME = Labels(sub_labels={"neither": ("unrelated", "questions")})
A1 = Owner("001", "a1")


def fill(path, answer):
    """Fill in the cells of this workbook as its program would, and save it: `answer(row)` is label and comment."""
    rows = read_rows(path, ("item_id",)).rows
    book = openpyxl.load_workbook(path)
    page = book["labels"]
    columns = [cell.value for cell in page[1]]
    for at, row in enumerate(rows, start=2):
        label, comment = answer(row)
        page.cell(at, columns.index("label") + 1).value = label
        page.cell(at, columns.index("comment") + 1).value = comment
    book.save(path)


def written(path, kind=Channel.XLSX, scheme=SCHEME):
    path.write_bytes(sheet(frozen(), frozen()["item_id"].tolist(), scheme, owner=A1, channel=kind))
    return path


def test_what_is_filled_in_comes_back_and_nothing_else_changes(tmp_path):
    path = written(tmp_path / "a1.xlsx")
    fill(path, lambda row: ("Favor" if row["item_id"].endswith("1") else "", "two\nlines  日本"))
    back = read_sheet(path, A1, by_item(frozen()), SCHEME)
    given = [answer for answer in back.answers if answer.status == "given"]
    assert {(answer.label, answer.comment, answer.channel) for answer in given} == {
        ("favor", "two\nlines  日本", "xlsx")
    }
    assert len(given) == 2
    assert all("empty answer" in str(problem) for problem in back.problems), "a comment without a label"


def test_ids_and_texts_are_text_and_locked_and_labels_are_a_list(tmp_path):
    path = written(tmp_path / "a1.xlsx")
    rows = read_rows(path, ("item_id", "claim", "post", "label")).rows
    assert [row["item_id"] for row in rows] == frozen()["item_id"].tolist()
    assert any(row["post"] == HOSTILE for row in rows), "as it is, not obeyed"
    parts = {
        name: zipfile.ZipFile(path).read(name).decode()
        for name in zipfile.ZipFile(path).namelist()
        if name.endswith("xml")
    }
    whole = "".join(parts.values())
    formulas = re.findall(r"<f>(.*?)</f>", whole)
    assert all(re.fullmatch(r'IF\(E\d+="","[b-z]{8}","[b-z]{8}"\)', one) for one in formulas), (
        "no other formula"
    )
    assert 'sheet="1"' in whole.split("<sheetProtection")[1].split(">")[0]
    assert '"favor,against,neither,skip,unclear claim"' in whole
    assert 'promptTitle="check"' in whole, "a selected cell says why it is there"


def test_rows_are_as_high_as_their_texts(tmp_path):
    items = frozen()
    items.loc[0, "text"] = "a long post, with words enough for ten lines. " * 15
    items.loc[1, "text"] = "日本語" * 40
    path = tmp_path / "a1.xlsx"
    path.write_bytes(sheet(items, items["item_id"].tolist(), SCHEME, owner=A1, channel=Channel.XLSX))
    page = zipfile.ZipFile(path).read("xl/worksheets/sheet1.xml").decode()
    found = re.findall(r'<row [^>]* ht="([\d.]+)"', page)
    heights = sorted({float(height) for height in found})
    assert heights[0] == 18, "one line"
    assert max(heights) >= 10 * 15


def test_a_key_typed_as_a_number_is_a_label(tmp_path):
    path = written(tmp_path / "a1.xlsx")
    fill(path, lambda row: (2, ""))
    assert {answer.label for answer in read_sheet(path, A1, by_item(frozen()), SCHEME).answers} == {"against"}


def test_long_texts_and_control_characters_do_not_hinder(tmp_path):
    items = frozen()
    items.loc[0, "text"] = "x" * 40_000
    items.loc[1, "text"] = "a\x0bb\x00c"
    path = tmp_path / "a1.xlsx"
    path.write_bytes(sheet(items, items["item_id"].tolist(), SCHEME, owner=A1, channel=Channel.XLSX))
    fill(path, lambda row: ("favor", ""))
    back = read_sheet(path, A1, by_item(items), SCHEME)
    assert (len(back.answers), back.problems) == (12, [])


def test_a_whole_round_in_workbooks(tmp_path):
    opened(tmp_path)
    sent = covmis(tmp_path, "round", "push", "--channel", "xlsx")
    assert [name.rsplit(".")[-1] for name in sent["written"]] == ["xlsx", "xlsx"]
    assert covmis(tmp_path, "round", "push", "--channel", "xlsx")["written"] == []
    sheets = tmp_path / "annotation" / "rounds" / "001" / "sheets"
    for who in ("a1", "a2"):
        fill(sheets / f"{who}.xlsx", lambda row: (LABELS[sum(map(ord, row["item_id"])) % 3], "c"))
    assert covmis(tmp_path, "round", "pull")["added"] == 22
    assert covmis(tmp_path, "round", "pull")["added"] == 0
    assert set(record.find(tmp_path / "annotation" / "rounds").labels()["channel"]) == {"xlsx"}
    covmis(tmp_path, "round", "seal")
    gone = rows_gone(tmp_path)
    left = read_rows(sheets / "a1.xlsx", ("item_id",)).rows
    assert len(left) == 10
    assert gone not in {row["item_id"].split("|")[1] for row in left}


def rows_gone(folder):
    """Purge the first post that people label."""
    items = record.find(folder / "annotation" / "rounds").items()
    post = items.loc[items["automatic_label"] == "", "post_id"].iloc[0]
    record.forget(folder / "annotation" / "rounds", [post])
    return post


def test_a_sheet_that_came_back_from_calc_goes_on_as_excels_when_a_post_is_purged(tmp_path):
    opened(tmp_path)
    covmis(tmp_path, "round", "push", "--channel", "xlsx")
    sheets = tmp_path / "annotation" / "rounds" / "001" / "sheets"
    sent = read_rows(sheets / "a1.xlsx", ("item_id",)).rows
    names = ["item_id", "claim", "post", "context", "label", "comment"]
    ods(sheets / "a1.ods", [names, *([{**row, "label": "favor"}[name] for name in names] for row in sent)])
    (sheets / "a1.xlsx").unlink()
    pulled = covmis(tmp_path, "round", "pull", str(sheets / "a1.ods"))
    assert pulled["added"] == len(sent)
    assert set(record.find(tmp_path / "annotation" / "rounds").labels()["channel"]) == {"ods"}
    gone = rows_gone(tmp_path)
    assert not (sheets / "a1.ods").exists()
    left = read_rows(sheets / "a1.ods.xlsx", ("item_id",)).rows
    assert len(left) == len(sent) - 1
    assert gone not in {row["item_id"].split("|")[1] for row in left}
    assert {row["label"] for row in left} == {"favor"}
    assert covmis(tmp_path, "round", "push", "--channel", "ods", fails=2)["error"].endswith(
        "csv, html, label-studio, xlsx"
    )


def test_what_is_no_workbook_is_one_line(tmp_path):
    for name, content, problem in [
        ("a1.xlsx", b"?", "is not a workbook"),
        ("a1.ods", b"PK\x05\x06" + b"\0" * 18, "is not a workbook"),
        ("a3.ods", b"PK\x03\x04" + b"\0" * 18, "is not readable as a workbook"),
        ("a2.xlsx", xlsx(Grid(["a"], [["b"]], {})), "no sheet with the column item_id"),
    ]:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=problem):
            read_rows(tmp_path / name, ("item_id",))


def test_labels_sorted_by_themselves_are_questioned_and_taken_as_they_stand(tmp_path):
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
    assert "equal labels are grouped together" in pulled["problems"][0]
    assert "`covmis round pull annotation/rounds/001/sheets/a1.csv --as-it-stands`" in pulled["problems"][0]
    assert covmis(tmp_path, "round", "pull", str(path), "--as-it-stands")["added"] == len(rows)


def cell_of_label(page, row):
    return page.cell(row, [cell.value for cell in page[1]].index("label") + 1)


def test_a_label_cell_merged_over_two_rows_is_asked_about(tmp_path):
    """The second row would be open, though whoever sees the sheet sees its label."""
    path = written(tmp_path / "a1.xlsx")
    fill(path, lambda row: ("favor", ""))
    book = openpyxl.load_workbook(path)
    first, second = (cell_of_label(book["labels"], row) for row in (2, 3))
    book["labels"].merge_cells(f"{first.coordinate}:{second.coordinate}")
    book.save(path)
    back = read_sheet(path, A1, by_item(frozen()), SCHEME, labelled=set(frozen()["item_id"]))
    assert [str(problem) for problem in back.problems] == [
        f"a1.xlsx, row 3: {second.coordinate} is merged. Correct the row; it is ignored"
    ]
    assert (len(back.answers), back.blank) == (11, []), "its label is not taken back, either"


def test_two_channels_that_differ_are_told_once_a_person(tmp_path):
    """However many posts they differ in; the later answers count."""
    pulled(tmp_path)
    covmis(tmp_path, "round", "push", "--channel", "xlsx")
    sheets = tmp_path / "annotation" / "rounds" / "001" / "sheets"
    before = {row["item_id"]: row["label"] for row in rows_of(sheets / "a1.csv")}
    other = dict(zip(LABELS, [*LABELS[1:], LABELS[0]], strict=True))
    fill(sheets / "a1.xlsx", lambda row: (other[before[row["item_id"]]], ""))
    again = covmis(tmp_path, "round", "pull", str(sheets / "a1.xlsx"), fails=1)
    assert again["added"] == len(before)
    first = min(before)
    told = f"a1: answered {len(before)} items differently in two channels, e.g. {first} "
    assert [problem for problem in again["problems"] if "channels" in problem] == [
        f"{told}(csv: {before[first]}, xlsx: {other[before[first]]}); the later answer is used"
    ]


def test_disagreements_are_decided_in_a_workbook(tmp_path):
    study(tmp_path)
    opened(tmp_path)
    covmis(tmp_path, "round", "push", "--channel", "csv")
    label_both(tmp_path, differ=lambda item: item.endswith(("3", "4")))
    covmis(tmp_path, "round", "pull")
    sheets = tmp_path / "annotation/rounds/001/sheets"
    covmis(tmp_path, "round", "adjudicate", "--channel", "html", fails=2)
    waiting = covmis(tmp_path, "round", "adjudicate", "--channel", "xlsx")["to_discuss"]
    assert waiting > 1
    fill(
        sheets / "discussion.xlsx", lambda row: ("undecided" if row["item_id"].endswith("4") else "favor", "")
    )
    covmis(tmp_path, "round", "adjudicate", "--channel", "csv")
    assert not (sheets / "discussion.csv").exists(), "one sheet is enough"
    settled = covmis(tmp_path, "round", "adjudicate")
    assert settled["to_discuss"] == 0
    assert settled["discussed"] + settled["to_adjudicate"] == waiting
    assert {settled["discussion"], settled["adjudication"]} == {
        "annotation/rounds/001/sheets/discussion.xlsx", "annotation/rounds/001/sheets/adjudication.csv"
    }  # fmt: skip
    assert not any(
        "discussion" in problem for problem in covmis(tmp_path, "round", "pull")["warnings"].splitlines()
    )
    rows = read_rows(sheets / "discussion.xlsx", ("item_id",)).rows
    columns = [name for name in rows[0] if name != "row"]
    write_rows(sheets / "discussion.csv", [{name: row[name] for name in columns} for row in rows])
    assert covmis(tmp_path, "round", "adjudicate")["problems"] == [], "the same answers in both files"
    write_rows(
        sheets / "discussion.csv",
        [{**{name: row[name] for name in columns}, "label": "against"} for row in rows],
    )
    told = covmis(tmp_path, "round", "adjudicate", fails=1)
    assert all("a second answer for" in problem for problem in told["problems"])
    assert "against and favor" in str(told["problems"])


def test_an_empty_copy_of_a_discussion_empties_nothing(tmp_path):
    study(tmp_path)
    opened(tmp_path)
    covmis(tmp_path, "round", "push", "--channel", "csv")
    label_both(tmp_path, differ=lambda item: item.endswith("3"))
    covmis(tmp_path, "round", "pull")
    covmis(tmp_path, "round", "adjudicate", "--channel", "csv")
    sheet = tmp_path / "annotation/rounds/001/sheets/discussion.csv"
    rows = rows_of(sheet)
    sheet.with_suffix(".xlsx").write_bytes(
        xlsx(Grid(list(rows[0]), [list(row.values()) for row in rows], {}))
    )
    write_rows(sheet, [{**row, "label": "favor", "reason": "we talked"} for row in rows])
    label_both(tmp_path, differ=lambda item: item.endswith(("3", "4")))
    covmis(tmp_path, "round", "pull")
    covmis(tmp_path, "round", "adjudicate", "--channel", "csv")
    kept = {row["item_id"]: (row["label"], row["reason"]) for row in rows_of(sheet)}
    assert len(kept) > len(rows)
    assert {kept[row["item_id"]] for row in rows} == {("favor", "we talked")}
