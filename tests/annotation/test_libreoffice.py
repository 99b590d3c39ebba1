"""Sheets that LibreOffice has opened, changed and saved: every answer comes back, or what is wrong is told.

FORMS are the forms that its save dialog offers, DEEDS what people do to a sheet (in libreoffice.bas), each with what
is to come of it.
"""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass, replace

import pytest

from covmis_build import keyed
from covmis_build.annotation.answers import Channel, as_lines
from covmis_build.annotation.channels.check_words import Owner
from covmis_build.annotation.channels.sheets import read_rows, read_sheet, sheet
from covmis_build.annotation.frozen_items import by_item
from covmis_build.annotation.pull import READ
from covmis_build.errors import InputError
from tests.annotation.libreoffice import CSV, Job, save
from tests.annotation.small import rows_of, write_rows
from tests.annotation.test_sheets import SCHEME, frozen
from tests.annotation.test_workbooks import fill

A1 = Owner("001", "a1")
pytestmark = pytest.mark.needs("libreoffice")
KINDS = [Channel.CSV, Channel.XLSX, Channel.ODS]
UTF8, UTF16, WINDOWS = 76, 65535, 1
AS_UTF8 = f"44,34,{UTF8}"
FILTERS = {"csv": CSV, "xlsx": "Calc MS Excel 2007 XML", "ods": "calc8"}
COMMENTS = ("", "two\nlines", "-3", "nie; zu spät, 日本", "+ both")
ITEMS = keyed.order(3, "sheet", frozen()["item_id"])


def answer_of(item_id: str) -> tuple[str, str]:
    """What is filled in for an item."""
    number = sum(map(ord, item_id))
    return SCHEME.values[number % 3], COMMENTS[number % len(COMMENTS)]


@dataclass(frozen=True)
class Outcome:
    """What comes of a sheet: which rows' answers do not come back, what is told, or why the file is refused."""

    words: str
    without: tuple[int, ...] = ()
    told: tuple[str, ...] = ()
    moved: str = ""
    """What is told of each row whose answer does not come back, whichever rows these are."""
    refused: str = ""
    questioned: bool = False
    comments_differ: bool = False

    def check(self, path) -> None:
        """Read this sheet, and see that this is what comes of it."""
        if self.refused:
            with pytest.raises(InputError, match=self.refused) as error:
                read_sheet(path, A1, by_item(frozen()), SCHEME)
            assert error.value.remedy, "and what to do is said"
            return
        back = read_sheet(path, A1, by_item(frozen()), SCHEME)
        given = {
            answer.item_id: (answer.label, "" if self.comments_differ else answer.comment)
            for answer in back.answers
            if answer.status == "given"
        }
        wanted = {item: answer_of(item) for row, item in enumerate(ITEMS, start=2) if row not in self.without}
        if self.comments_differ:
            wanted = {item: (label, "") for item, (label, _) in wanted.items()}
        problems = [str(problem) for problem in back.problems] if self.moved else as_lines(back.problems)
        if self.moved:
            assert len(problems) >= 2
            assert all(self.moved in problem for problem in problems)
            assert len(given) == len(wanted) - len(problems)
            assert given.items() <= wanted.items()
            return
        assert len(problems) == len(self.told), problems
        for problem, told in zip(problems, self.told, strict=True):
            assert re.search(told, problem), problem
        assert bool(back.sorted_apart) == self.questioned
        if not self.questioned:
            assert given == wanted


WHOLE = Outcome("every answer comes back")
FORMS = {
    "commas": (CSV, f"44,34,{UTF8}", WHOLE),
    "semicolons": (CSV, f"59,34,{UTF8}", WHOLE),
    "tabs": (CSV, f"9,34,{UTF8}", WHOLE),
    "every cell quoted": (CSV, f"44,34,{UTF8},1,,0,true", WHOLE),
    "as shown": (CSV, f"44,34,{UTF8},1,,0,false,true", WHOLE),
    "UTF-16": (CSV, f"9,34,{UTF16}", WHOLE),
    "xlsx": (FILTERS["xlsx"], "", WHOLE),
    "xlsx, transitional": ("Calc Office Open XML", "", WHOLE),
    "ods": (FILTERS["ods"], "", WHOLE),
    "Windows-1252": (CSV, f"59,34,{WINDOWS}", Outcome("every label comes back; LibreOffice wrote ? for what the set lacks", comments_differ=True)),
    "xls": ("MS Excel 97", "", WHOLE),
    "fods": ("OpenDocument Spreadsheet Flat XML", "", Outcome("refused: no form that is read")),
}  # fmt: skip
ENDINGS = {"xls": "xls", "fods": "fods", "ods": "ods", "xlsx": "xlsx", "xlsx, transitional": "xlsx"}

EVERY_ROW = range(2, len(ITEMS) + 2)
DEEDS = {
    "whole sheet sorted by post": WHOLE,
    "whole sheet sorted by label": WHOLE,
    "labels and what is beside them sorted by themselves": Outcome("told; none that moved is taken", without=tuple(EVERY_ROW), told=("rows 2 to 13: the check next to the label belongs to another post",)),
    "label column shifted down": Outcome("told; only what did not move is taken", without=tuple(EVERY_ROW)[2:], told=("rows 5 to 13: labels were moved to other rows: not imported", "the item .empty. is not in this round")),
    "labels dragged down by two rows": Outcome("told; none that moved is taken", without=(4, 5, 6, 7), told=("rows 5 to 7: labels were moved to other rows: not imported",)),
    "a label struck through": Outcome("told, and not taken", without=(4,), told=("row 4: the label is struck through: not imported",)),
    "label column sorted by itself": Outcome("questioned, and nothing is taken", questioned=True),
    "post column sorted by itself": Outcome("the moved rows are told", moved="the post is not the one of"),
    "id column sorted by itself": Outcome("the moved rows are told", moved="is not the one of"),
    "two rows deleted": Outcome("the others come back", without=(4, 5)),
    "two labels emptied": Outcome("the others come back", without=(4, 5)),
    "label column moved to the front": WHOLE,
    "a column of notes added": WHOLE,
    "a column without a name added at the end": Outcome("told; the rest counts", told=("row 4: 'done on Monday' is beyond",)),
    "a cell far beyond the header": Outcome("told; the rest counts", told=(r"row 7: '\?' is beyond",)),
    "columns hidden": WHOLE,
    "rows hidden": WHOLE,
    "a filter on one label": WHOLE,
    "rows grouped and folded": WHOLE,
    "two label cells merged": Outcome("told; the second row is not taken", without=(5,), told=("row 5: [A-Z]5 is merged",)),
    "labels as autocorrection writes them": WHOLE,
    "a label mistyped": Outcome("told; the rest counts", without=(4,), told=("row 4: unknown label 'favuor'",)),
    "keys typed as numbers": WHOLE,
    "keys shown with a decimal comma": WHOLE,
    "ids formatted as numbers": WHOLE,
    "ids replaced by numbers": Outcome("told", without=tuple(EVERY_ROW), told=("rows 2 to 13: the item 1.?255.* is not in this round. Restore the column item_id",)),
    "a comment became a date": Outcome("every label comes back", comments_differ=True),
    "labels are formulas": WHOLE,
    "a label is a broken formula": Outcome("told; the rest counts", without=(4,), told=("row 4: [A-Z]4 is an error",)),
    "a sheet of notes before it": WHOLE,
    "a copy of the sheet behind it": Outcome("refused: which one counts?", refused="two sheets with the column item_id"),
    "protected with a password": WHOLE,
    "remarks beside cells": WHOLE,
    "empty rows between": WHOLE,
    "an empty row above the header": WHOLE,
    "a title above the header": WHOLE,
    "header in capitals": WHOLE,
    "header translated": Outcome("refused: a column is missing", refused="the column label is missing"),
    "post wrapped by hand": WHOLE,
    "a word of a post changed": Outcome("that row is told", without=(5,), told=("row 5: the post is not the one of",)),
    "a row copied to the end and answered otherwise": Outcome("told; nobody can say which counts", without=(4,), told=("row 14: a second answer for",)),
    "colours, bold and borders": WHOLE,
    "rows and columns swapped": Outcome("refused: a column is missing", refused="the column claim is missing"),
    "locked with a password to open it": Outcome("refused", refused="is not readable as a workbook"),
}  # fmt: skip
NOT_IN = {
    Channel.CSV: {
        "a label struck through",
        "labels dragged down by two rows",
        "a sheet of notes before it",
        "a copy of the sheet behind it",
        "locked with a password to open it",
    },
    Channel.XLSX: {"locked with a password to open it"},
    Channel.ODS: set(),
}
"""A CSV file has one sheet, and no password; LibreOffice locks a workbook of Excel in its dialog alone."""
OTHERWISE = {
    ("label column shifted down", Channel.CSV): Outcome("refused", refused="has a label but no post"),
    ("two label cells merged", Channel.CSV): Outcome("the second row is open", without=(5,)),
    ("a label is a broken formula", Channel.CSV): Outcome("told; the rest counts", without=(4,), told=("row 4: unknown label '#DIV/0!'",)),
}  # fmt: skip
"""A workbook keeps the number, and that cells are merged; CSV has what is shown."""


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The same sheet in three kinds, with the same answers, in every form and after every deed."""
    folder = tmp_path_factory.mktemp("saved")
    items, jobs = frozen(), []
    for kind in KINDS:
        source = folder / f"a1.{kind}"
        if kind == Channel.ODS:  # people open Excel's in LibreOffice and save it as its own
            save(folder, [Job(folder / "a1.xlsx", source, FILTERS[kind])])
        else:
            source.write_bytes(sheet(items, ITEMS, SCHEME, owner=A1, channel=kind))
        if kind == Channel.CSV:
            rows = rows_of(source)
            for row in rows:
                row["label"], row["comment"] = answer_of(row["item_id"])
            write_rows(source, rows)
        elif kind == Channel.XLSX:
            fill(source, lambda row: answer_of(row["item_id"]))
        opened = AS_UTF8 if kind == Channel.CSV else ""
        for name, (form, options, _) in FORMS.items():
            jobs.append(
                Job(
                    source, place(folder, name, kind, ENDINGS.get(name, "csv")), form, options, reading=opened
                )
            )
        shown = f"44,34,{UTF8},1,,0,false,true" if kind == Channel.CSV else ""
        for deed in DEEDS:
            if deed not in NOT_IN[kind]:
                job = Job(source, place(folder, deed, kind, kind), FILTERS[kind], shown, deed, opened)
                jobs.append(replace(job, deed="", password="secret") if "to open it" in deed else job)
        if kind == Channel.CSV:
            wrong = Job(source, folder / "wrong.csv", CSV, AS_UTF8, reading=f"44,34,{WINDOWS}")
    save(folder, [*jobs, wrong])
    return folder


def place(folder, name, kind, ending):
    """Where a sheet of this kind is saved."""
    return folder / f"{re.sub('[^a-z0-9]+', '-', name.casefold())}-{kind}.{ending}"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMS)
def test_every_form_comes_back_whole_or_is_refused(saved, form, kind):
    path = place(saved, form, kind, ENDINGS.get(form, "csv"))
    if path.suffix in READ:
        FORMS[form][2].check(path)
    else:
        assert FORMS[form][2].words == "refused: no form that is read"


@pytest.mark.parametrize(
    ("deed", "kind"), [(deed, kind) for deed in DEEDS for kind in KINDS if deed not in NOT_IN[kind]]
)
def test_what_people_do_to_a_sheet_is_harmless_or_told(saved, deed, kind):
    OTHERWISE.get((deed, kind), DEEDS[deed]).check(place(saved, deed, kind, kind))


@pytest.mark.parametrize("kind", [Channel.XLSX, Channel.ODS])
def test_notes_are_told(saved, kind):
    back = read_sheet(place(saved, "remarks beside cells", kind, kind), A1, by_item(frozen()), SCHEME)
    told = sorted(str(note) for note in back.notes)
    assert [
        "row 4: a note at label says 'against? ask Ben'" in told[0],
        "row 5: a note at item_id says 'no'" in told[1],
    ]


def test_a_sheet_opened_in_the_wrong_encoding_is_refused_with_what_to_do(saved):
    with pytest.raises(InputError, match=r"was opened as Windows-1252 .*UTF-8"):
        read_sheet(saved / "wrong.csv", A1, by_item(frozen()), SCHEME)


@pytest.mark.parametrize("kind", [Channel.XLSX, Channel.ODS])
def test_protection_and_lists_survive(saved, kind):
    path = place(saved, "xlsx", kind, "xlsx")
    page = zipfile.ZipFile(path).read("xl/worksheets/sheet1.xml").decode()
    assert "sheetProtection" in page
    assert "dataValidation" in page
    assert {row["item_id"] for row in read_rows(path, ("item_id",)).rows} == set(ITEMS)
