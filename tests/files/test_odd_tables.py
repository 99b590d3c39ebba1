"""What is odd about a table has one outcome, whoever reads it: posts, claims, labels, sheets, ids, corpora of others."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

import openpyxl
import pandas as pd
import pytest

from covmis_build.annotation.channels.sheets import read_rows
from covmis_build.archive import reader, streams
from covmis_build.claims.lists import read_list
from covmis_build.collecting.sources.ids import read_ids
from covmis_build.datasets import stance
from covmis_build.errors import InputError
from covmis_build.evaluation.label_files import read_labels
from covmis_build.files import json_rows, reading
from covmis_build.files.reading import read_table
from covmis_build.files.table import Switches
from tests.files.written import workbook

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FIRST, SECOND = "1252934402983763968", "1252934402983763969"
TIME = "2020-03-01T12:30:00"


@dataclass
class Outcome:
    """Ids with their texts, and what was said about the file."""

    texts: dict[str, str]
    said: str = ""
    refused: list[int] = field(default_factory=list)
    """Rows that were not taken."""


@dataclass
class Caller:
    id: str
    value: str
    read: Callable[[Path], Outcome]
    of_labels: bool = False
    reports: bool = True
    refuses_rows: bool = False


def posts(path: Path) -> Outcome:
    (job,) = streams.jobs([(path, path.name)])
    lines = list(reader.read(job))
    notes = reader.open_job(job, reader.ReadingOptions()).understood.notes
    values = {post.native_id: post.text for line in lines for post in line.posts}
    problems = [line for line in lines if line.problem]
    return Outcome(
        values, "\n".join([*notes, *(line.problem for line in problems)]), [line.place for line in problems]
    )


def claims(path: Path) -> Outcome:
    known = read_list(path, columns={"claim_id": "id", "text": "claim"})
    values = {row["claim_id"].removeprefix("mine-"): row["text"] for row in known.claims.to_dict("records")}
    return Outcome(values, "\n".join(known.notes))


def labels(path: Path) -> Outcome:
    table = read_labels(path, label_column="stance")
    return Outcome(table.labels("tweet_id").to_dict())


def sheets(path: Path) -> Outcome:
    table = read_rows(path, ("item_id", "label"))
    said = "\n".join(problem.what for problem in table.problems(path))
    return Outcome({row["item_id"]: row["label"] for row in table.rows}, said, sorted(table.untaken))


def corpora(path: Path) -> Outcome:
    return Outcome({row["id"]: row["text"] for row in stance.table(path)})


CALLERS = {
    "posts": Caller("tweet_id", "text", posts),
    "claims": Caller("id", "claim", claims),
    "labels": Caller("tweet_id", "stance", labels, of_labels=True, refuses_rows=True),
    "sheets": Caller("item_id", "label", sheets, of_labels=True),
    "corpora": Caller("id", "text", corpora, reports=False, refuses_rows=True),
}


@pytest.fixture(params=CALLERS)
def caller(request, caplog):
    """Who reads; what the log says is said, too."""
    known = CALLERS[request.param]

    def read(path):
        caplog.clear()
        outcome = known.read(path)
        logged = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
        return Outcome(outcome.texts, "\n".join([outcome.said, *logged]), outcome.refused)

    return replace(known, read=read)


BOTH = {FIRST: "garlic", SECOND: "tea"}


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("says", [False, True])
def test_any_separator(tmp_path, caller, separator, says):
    path = tmp_path / "a1.csv"
    lines = [separator.join(row) for row in [(caller.id, caller.value), *BOTH.items()]]
    path.write_text("\n".join([f"sep={separator}"] * says + lines))
    assert caller.read(path).texts == BOTH


@pytest.mark.parametrize("kind", ["xlsx", "ods"])
def test_a_workbook_is_read_as_the_same_table_in_csv(tmp_path, caller, kind):
    path = workbook(tmp_path / f"a1.{kind}", table=[(caller.id, caller.value), *BOTH.items()])
    assert caller.read(path).texts == BOTH


@pytest.mark.parametrize("kind", ["xlsx", "ods"])
def test_other_sheets_are_told_and_none_goes_on_with_the_first(tmp_path, caller, kind):
    if caller.id == "item_id":
        pytest.skip("the sheet with an annotator's items is found by its columns")
    rows = [(caller.id, caller.value), *BOTH.items()]
    path = workbook(tmp_path / f"a1.{kind}", table=rows, empty=[], codes=[("made by", "nobody")])
    outcome = caller.read(path)
    assert outcome.texts == BOTH
    if caller.reports:
        assert "1 other sheet not read, which begins with 'made by | nobody'" in outcome.said
    assert caller.read(workbook(path, table=rows, again=rows[:1])).texts == BOTH, (
        "of a first row nothing is lost"
    )
    with pytest.raises(InputError, match=rf"a1\.{kind}: continues on another sheet"):
        caller.read(workbook(path, table=rows[:2], more=[rows[0], rows[2]]))


@pytest.mark.parametrize("kind", ["xlsx", "ods"])
def test_a_cell_in_a_column_without_a_name_is_told_and_its_row_is_read(tmp_path, caller, kind):
    rows = [(caller.id, caller.value, None), (FIRST, "garlic", " "), (SECOND, "tea", "a note")]
    outcome = caller.read(workbook(tmp_path / f"a1.{kind}", table=rows))
    assert outcome.texts == BOTH
    if caller.reports:
        assert "1 cell in columns without a name, as 'a note'" in outcome.said


def test_a_cell_with_an_error_is_empty_and_reported(tmp_path, caller):
    rows = [(caller.id, caller.value, "by"), (FIRST, "garlic", "#NAME?"), (SECOND, "tea", "#DIV/0!")]
    outcome = caller.read(workbook(tmp_path / "a1.xlsx", table=rows))
    assert outcome.texts == BOTH
    if caller.reports:
        assert "2 cells with an error, left empty, as C2" in outcome.said


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_a_title_above_the_header_is_left_out_and_reported(tmp_path, caller, kind):
    path = tmp_path / f"a1.{kind}"
    rows = [("What was found in May", ""), (caller.id, caller.value), *BOTH.items()]
    if kind == "csv":
        path.write_text("\n".join(",".join(row) for row in rows))
    else:
        workbook(path, table=rows)
    outcome = caller.read(path)
    assert outcome.texts == BOTH
    if caller.reports:
        assert "1 line above the header left out, with 'What was found in May'" in outcome.said


@pytest.mark.parametrize("kind", ["json", "jsonl", "split", "columns"])
def test_whole_numbers_are_written_without_a_point(tmp_path, caller, kind):
    frame = pd.DataFrame({caller.id: [FIRST, SECOND], caller.value: [12.0, 0.5]})
    path = tmp_path / f"a1.{'jsonl' if kind == 'jsonl' else 'json'}"
    orient = {"json": "records", "jsonl": "records"}.get(kind, kind)
    path.write_text(frame.to_json(orient=orient, lines=kind == "jsonl"))
    assert caller.read(path).texts == {FIRST: "12", SECOND: "0.5"}


@pytest.mark.parametrize("kind", ["json", "xlsx"])
def test_ids_that_floats_have_rounded_are_refused_however_few(tmp_path, caller, kind):
    if caller.id == "item_id" or (caller.value == "text" and caller.id == "id"):
        pytest.skip("items of rounds and of corpora have ids of their own")
    path = tmp_path / f"a.{kind}"
    rows = [(float(FIRST), "garlic"), (SECOND, "tea")]
    if kind == "json":
        path.write_text(json.dumps([{caller.id: number, caller.value: text} for number, text in rows]))
    else:
        workbook(path, table=[(caller.id, caller.value), *rows])
    with pytest.raises(InputError, match="have more digits than numbers keep, and were rounded"):
        caller.read(path)


def test_a_list_in_a_cell_is_json_text_and_no_label(tmp_path, caller):
    path = tmp_path / "a.jsonl"
    rows = [{caller.id: FIRST, caller.value: ["a", "b"]}, {caller.id: SECOND, caller.value: "tea"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    if caller.of_labels and caller.refuses_rows:
        with pytest.raises(InputError, match="row 1: has a list of labels in one cell of 'stance'"):
            caller.read(path)
    else:
        text = "a b" if caller.value == "claim" else '["a", "b"]'  # a claim may stand in several sentences
        assert caller.read(path).texts == {FIRST: text, SECOND: "tea"}


def test_times_of_a_workbook_keep_their_clock(tmp_path, caller):
    rows = [(caller.id, caller.value), (FIRST, datetime(2020, 3, 1, 12, 30)), (SECOND, "tea")]  # noqa: DTZ001
    path = workbook(tmp_path / "a1.xlsx", table=rows)
    assert caller.read(path).texts == {FIRST: TIME, SECOND: "tea"}


def test_merged_cells_count_for_their_first_row(tmp_path, caller):
    """An empty area that is merged hides nothing."""
    rows = [(caller.id, caller.value), (FIRST, "garlic"), (SECOND, None)]
    path = workbook(tmp_path / "a1.xlsx", ["B2:B3", "D2:E3"], table=rows)
    if caller.of_labels and caller.refuses_rows:
        with pytest.raises(InputError, match="row 3: B3 is merged, in the column of labels 'stance'"):
            caller.read(path)
        return
    outcome = caller.read(path)
    assert outcome.texts[FIRST] == "garlic"
    assert not outcome.texts.get(SECOND)
    if caller.of_labels:
        assert (outcome.refused, outcome.said.splitlines()[0]) == ([3], "B3 is merged")
    elif caller.reports:
        assert (
            "B2 is merged over several rows: it counts for row 2 alone, the others are blank" in outcome.said
        )


def test_a_formula_without_a_value_is_blank_and_reported(tmp_path, caller):
    rows = [(caller.id, caller.value), (FIRST, "garlic"), (SECOND, "=1+1")]
    path = workbook(tmp_path / "a1.xlsx", table=rows)
    if caller.of_labels and caller.refuses_rows:
        with pytest.raises(InputError, match="row 3: B3 is a formula without a value"):
            caller.read(path)
        return
    outcome = caller.read(path)
    assert not outcome.texts.get(SECOND)
    if caller.of_labels:
        assert (outcome.refused, outcome.said.splitlines()[0]) == ([3], "B3 is a formula without a value")
    elif caller.reports:
        assert (
            "1 formula without a stored value, left empty (open the file and save it), as B3" in outcome.said
        )


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
@pytest.mark.parametrize("differ", [False, True])
def test_two_columns_of_one_name(tmp_path, caller, kind, differ):
    path = tmp_path / f"a1.{kind}"
    rows = [
        (caller.id, caller.value, caller.value),
        (FIRST, "garlic", "garlic"),
        (SECOND, "tea", "salt" if differ else "tea"),
    ]
    if kind == "csv":
        path.write_text("\n".join(",".join(row) for row in rows))
    else:
        workbook(path, table=rows)
    if differ:
        with pytest.raises(
            InputError, match=rf"row 3: the two columns called '{caller.value}' \(B and C\) differ"
        ):
            caller.read(path)
    else:
        assert caller.read(path).texts == BOTH


def test_a_row_longer_than_the_header_is_not_taken(tmp_path, caller):
    path = tmp_path / "a1.csv"
    path.write_text(f"{caller.id},{caller.value}\n{FIRST},garlic\n{SECOND},tea,and more\n")
    if caller.refuses_rows:
        with pytest.raises(InputError, match=r"beyond the last column|too many") as caught:
            caller.read(path)
        assert caught.value.row == 3
        return
    outcome = caller.read(path)
    assert outcome.texts == {FIRST: "garlic"}
    assert "'and more' is beyond the last column" in outcome.said


@pytest.mark.parametrize("separator", [",", "\t"])
def test_row_names_of_r_have_no_name_in_the_header(tmp_path, caller, separator):
    path = tmp_path / "a1.csv"
    lines = [(caller.id, caller.value), ("1", FIRST, "garlic"), ("2", SECOND, "tea")]
    path.write_text("".join(separator.join(f'"{cell}"' for cell in line) + "\n" for line in lines))
    assert caller.read(path).texts == BOTH


def test_rows_that_end_in_a_separator_have_no_row_names(tmp_path, caller):
    path = tmp_path / "a1.csv"
    lines = [(caller.id, caller.value), *BOTH.items()]
    path.write_text(
        "".join(
            ",".join(f'"{cell}"' for cell in line) + ",\n" * (at > 0) + "\n" * (at == 0)
            for at, line in enumerate(lines)
        )
    )
    assert caller.read(path).texts == BOTH


def test_what_is_not_utf8_is_read_and_reported(tmp_path, caller):
    path = tmp_path / "a1.csv"
    path.write_bytes(f"{caller.id};{caller.value}\n{FIRST};“ação”\n{SECOND};tea\n".encode("cp1252"))
    if caller.id == "item_id":  # of an annotator's comment nobody knows what it said
        with pytest.raises(InputError, match=r"is not UTF-8\. Save it as 'CSV UTF-8'"):
            caller.read(path)
        return
    outcome = caller.read(path)
    assert outcome.texts == {FIRST: "“ação”", SECOND: "tea"}
    if caller.reports:
        assert "not UTF-8: read as Western European (Windows-1252), as in '“ação”'" in outcome.said


@pytest.mark.parametrize("same", [False, True])
def test_a_hidden_sheet_is_not_the_table_and_one_with_the_same_columns_is_told(tmp_path, caller, same):
    seen = [(caller.id, caller.value), *BOTH.items()]
    path = workbook(tmp_path / "a1.xlsx", hidden=seen[:2] if same else [("codes",), ("1",)], seen=seen)
    book = openpyxl.load_workbook(path)
    book["hidden"].sheet_state = "hidden"
    book.active = 1
    book.save(path)
    outcome = caller.read(path)
    assert outcome.texts == BOTH
    if caller.reports and caller.id != "item_id":  # found by its columns
        assert ("a hidden sheet has the same columns, and is not read" in outcome.said) == same


@pytest.mark.parametrize("kind", ["csv", "xlsx", "json", "parquet", "feather", "txt"])
def test_ids_are_read_from_any_table(tmp_path, kind):
    path = tmp_path / f"ids.{kind}"
    frame = pd.DataFrame({"n": ["1", "2"], "tweet_id": [FIRST, SECOND]})
    if kind == "xlsx":
        frame.to_excel(path, index=False)
    elif kind == "txt":
        path.write_text(f"{FIRST}\n{SECOND}\n")
    elif kind == "json":
        path.write_text(frame.to_json(orient="records"))
    elif kind == "csv":
        frame.to_csv(path, index=False)
    else:
        getattr(frame, f"to_{kind}")(path)
    assert read_ids(path).post_ids == (f"x:{FIRST}", f"x:{SECOND}")


def test_ids_of_a_row_that_cannot_be_read_are_missed_by_nobody(tmp_path):
    path = tmp_path / "ids.csv"
    path.write_text(f"tweet_id\n{FIRST}\n{SECOND},more\n")
    with pytest.raises(InputError, match="row 3: 'more' is beyond the last column"):
        read_ids(path)


@pytest.mark.parametrize("header", [True, False])
def test_more_columns_than_a_spreadsheet_has_are_refused_before_they_are_looked_at(tmp_path, header):
    path = tmp_path / "wide.csv"
    path.write_text("\n".join([",".join(f"c{at}" for at in range(20_000)), "," * 19_999]) + "\n")
    with pytest.raises(InputError, match=r"has 20,000 columns. At most 16,384"):
        read_table(path, switches=Switches(header=header))


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "xlsx"])
def test_a_table_of_too_many_rows_is_refused_in_one_line(tmp_path, monkeypatch, form):
    """Each row of a table that is read as a whole takes memory, however small the file."""
    path = tmp_path / f"labels.{form}"
    rows = pd.DataFrame({"item_id": range(7), "label": "x"})
    written_as = {
        "csv": lambda: rows.to_csv(path, index=False),
        "jsonl": lambda: rows.to_json(path, orient="records", lines=True),
        "parquet": lambda: rows.to_parquet(path),
        "xlsx": lambda: rows.to_excel(path, index=False),
    }
    written_as[form]()
    assert len(read_table(path).rows) == 7
    monkeypatch.setattr(reading, "MOST_CELLS", 13)
    with pytest.raises(InputError, match=r"row \d: has more than 6 rows of 2 columns\. Divide it"):
        reading._read(path, (), "", Switches())
    monkeypatch.setattr(reading, "MOST_ROWS", 3)
    with pytest.raises(InputError, match="has more than 3 rows"):
        reading._read(path, (), "", Switches())


@pytest.mark.parametrize(
    ("content", "many"),
    [
        ('{"a": 1}\n' * 5, "more than 3 rows"),
        ("[\n" + '{"a": 1},\n' * 4 + '{"a": 1}]', "more than 3 rows"),
        ("a,b\n" + "1,2\n" * 5, "more than 3 rows"),
        ("[" + '{"a": 1},' * 9 + '{"a": 1}]', "more than 10 objects"),
        ('{"a": [' + "1," * 50 + "1]}", "more than 10 objects"),
    ],
)
def test_too_many_rows_are_refused_before_the_first_is_made(tmp_path, monkeypatch, content, many):
    """Nine million rows took 92 CPU s and 1.8 GB until the five millionth was refused."""
    path = tmp_path / "many"
    path.write_text(content)
    monkeypatch.setattr(reading, "MOST_ROWS", 3)
    monkeypatch.setattr(json_rows, "MOST_VALUES", 40)
    monkeypatch.setattr(reading, "open_table", None)
    with pytest.raises(InputError, match=f"{many}. Divide it"):
        reading._read(path, (), "", Switches())
