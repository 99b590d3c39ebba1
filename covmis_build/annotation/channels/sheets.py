"""One sheet per annotator (CSV or workbook), safe in Excel and LibreOffice. Returned sheets are checked row by row.

A sheet has one row per item, in the annotator's own order, and these columns:

    item_id     identifies the row; do not change
    claim       the claim
    post        the post
    context     date, linked pages, quoted post …: what the study shows, one per paragraph
    label       to fill in: one of [labels] values (or its key), `skip`, or `unclear claim`
    check       a word made of round, annotator, row and item, see `check_words`; do not change
    sub_label   to fill in; only if the scheme has sub-labels
    comment     optional

In a study whose annotators read Spanish, the headings are `etiqueta (label)` and so on, so that every sheet can be read
whatever the language is today. A sheet may return with another separator, in another encoding, or as another program's workbook (xls, ods); columns that
annotators do not need (context, sub_label, comment) may be missing or renamed. covmis
refuses a row whose claim or post differs from the frozen one: sorting one column alone moves labels to other posts.
The check reveals labels that were moved together with it, and whose sheet it is. In a workbook it is a formula that refers
to its label: spreadsheets update the reference when the label moves to another row. Where a check is broken, labels below
it may be shifted, too: they are questioned.
"""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from covmis_build.annotation.answers import (
    RETURNED_AS,
    Answer,
    Channel,
    Problem,
    Status,
    as_said,
    checked,
    instead_of_labels,
    known_label,
    labels_and_keys,
    spans,
)
from covmis_build.annotation.channels.check_words import check_word, read_check
from covmis_build.annotation.channels.headings import CHECK, FIXED, hints, titled, titles
from covmis_build.annotation.channels.workbooks import Grid, as_cell, xlsx
from covmis_build.annotation.frozen_items import by_item
from covmis_build.annotation.languages import ENGLISH
from covmis_build.errors import InputError, counted
from covmis_build.files.columns import folded
from covmis_build.files.contents import NOT_UTF8
from covmis_build.files.reading import read_table, report
from covmis_build.label_words import label_meant
from covmis_build.storage import csv_bytes
from covmis_build.text.shown import shown_parts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from covmis_build.annotation.channels.check_words import Check, Owner
    from covmis_build.annotation.languages import Language
    from covmis_build.files.reading import Sheet as Table
    from covmis_build.files.table import Mark
    from covmis_build.options import Labels


@dataclass(frozen=True, slots=True)
class Sheet:
    """A returned sheet: its answers, its problems, and the items left blank (except in a new sheet)."""

    answers: list[Answer]
    problems: list[Problem]
    blank: list[str]
    sorted_apart: str
    """Rows in which equal labels are adjacent, as if the label column had been sorted alone."""
    rows: list[tuple[int, str, str]]
    """Number, item and label ("" if blank or unknown) of every row with a post, in the sheet's order."""
    checks: dict[int, Check]
    """Row → its check."""
    questioned: list[tuple[int, Answer]]
    """Answers (with their rows) below a broken check: their labels may be shifted."""
    broken: int = 0
    """The first row with a broken check."""
    notes: list[Problem] = field(default_factory=list)


ROW = " row"
"""Key of a row's number. A column name cannot begin with a space."""


def header(scheme: Labels) -> list[str]:
    """Return the columns of a sheet for this scheme."""
    return [*FIXED, "label", CHECK, *(["sub_label"] if scheme.sub_labels else []), "comment"]


def sheet(
    frozen: pd.DataFrame,
    wanted: Sequence[str],
    scheme: Labels,
    before: Sequence[dict[str, str]] = (),
    *,
    owner: Owner,
    channel: Channel = Channel.CSV,
    t: Language = ENGLISH,
) -> bytes:
    """Write the owner's sheet with these items, in this order, in this language. Cells filled in `before` are kept.

    Filled rows of items that are no longer wanted are kept too, so that no work is lost.
    """
    columns = header(scheme)
    own = own_columns(before, columns)
    filled = {row["item_id"].strip(): row for row in before if _is_filled(row, own)}
    frozen_rows = by_item(frozen)
    order = list(dict.fromkeys([*wanted, *filled]))
    rows = []
    for at, item in enumerate(order, start=2):
        cells = {
            **filled.get(item, {}),
            **fixed_cells(frozen_rows[item], t),
            CHECK: check_word(owner, item, at),
        }
        rows.append([cells.get(name, "") for name in (*columns, *own)])
    columns += own
    if channel == Channel.CSV:
        return csv_bytes([titles(t).get(name, name) for name in columns], rows)
    subs = [name for names in scheme.sub_labels.values() for name in names]
    choices = {"label": [*scheme.values, *instead_of_labels(scheme)], "sub_label": subs, "comment": []}  # noqa: PD011 - not pandas'
    choices |= {name: [] for name in own}
    choices = {name: choices[name] for name in columns if name in choices}
    return xlsx(Grid(columns, rows, choices, (CHECK, "label"), hints(t), titles(t)))


def fixed_cells(row: Mapping[str, Any], t: Language = ENGLISH) -> dict[str, str]:
    """Return the cells of a row that annotators read but do not edit, with headings in this language."""
    parts = shown_parts(row)
    context = "\n\n".join(f"{t(heading)}: {text}" for heading, text in parts[2:])
    return {"item_id": row["item_id"], "claim": parts[0][1], "post": parts[1][1], "context": context}


def own_columns(rows: Sequence[Mapping[str, str]], columns: Collection[str]) -> list[str]:
    """Return the columns that the annotator added."""
    return [name for name in (rows[0] if rows else {}) if name not in {*columns, ROW}]


def refuse_unkept(path: Path, table: Returned, known: Collection[str], owners: Sequence[Owner] = ()) -> None:
    """Refuse to rewrite a sheet if some of its content would be lost."""
    stray = {row: f"'{text[:60]}' is beyond the last column" for row, text in table.nameless.items()}
    stray |= {mark.row: f"a note says '{mark.text[:60]}'" for mark in table.marks if mark.kind == "note"}
    here = {int(row[ROW]) for row in table.rows if row["item_id"].strip() in known}
    stray |= {row: why for row, why in table.moved(owners).items() if row in here}
    for number, why in sorted((stray | table.untaken).items()):
        raise _would_be_lost(why, path, number)
    rows = table.rows
    kept: dict[str, Mapping[str, str]] = {}
    own = own_columns(rows, FIXED)
    for row in rows:
        item = row["item_id"].strip()
        before = kept.setdefault(item, row)
        if not _is_filled(row, own):
            continue
        if item not in known:
            lost = f"'{item[:60]}' is not a post of this round"
        elif {**row, ROW: ""} != {**before, ROW: ""} and _is_filled(before, own):
            lost = f"{item} stands in row {before[ROW]} with something else"
        else:
            kept[item] = row
            continue
        raise _would_be_lost(lost, path, int(row[ROW]))


def _would_be_lost(what: str, path: Path, row: int) -> InputError:
    return InputError(
        f"{what}: it would be lost if the sheet is written again",
        file=path,
        row=row,
        remedy="Correct the row, or move the sheet elsewhere",
    )


def _is_filled(row: Mapping[str, str], own: Iterable[str] = ()) -> bool:
    return any(row.get(name, "").strip() for name in ("label", "sub_label", "comment", *own))


MARK_MISREAD = "ï»¿"
"""UTF-8's byte order mark, as shown by a program that reads the file as Western European."""


@dataclass(frozen=True, slots=True)
class Returned:
    """A returned table: its columns, its numbered rows, and the rows that are not imported."""

    columns: list[str]
    rows: list[dict[str, str]]
    untaken: dict[int, str]
    """Row → why it is not imported."""
    nameless: dict[int, str]
    """Row → content of cells without a column name."""
    marks: list[Mark] = field(default_factory=list)
    """Notes, struck-through cells and formulas of a workbook. Column numbers count only named columns."""
    renamed: dict[str, str] = field(default_factory=dict)
    """A column that covmis wrote → its name now."""
    titles: dict[str, str] = field(default_factory=dict)
    """A column → its heading, where an annotator's language has another."""
    western: bool = False
    """True if a spreadsheet saved it as Windows-1252, where other characters became question marks."""

    def problems(self, path: Path) -> list[Problem]:
        """Return what is not imported, as problems for the annotator."""
        untaken = {row: (why, "Correct the row; it is ignored") for row, why in self.untaken.items()}
        nameless = {
            row: (
                f"'{text[:60]}' is beyond the last column and is ignored",
                "Move it into comment, or remove it",
            )
            for row, text in self.nameless.items()
        }
        return [Problem(path.name, *what, row=row) for row, what in sorted((untaken | nameless).items())]

    def notes(self, path: Path) -> list[Problem]:
        """Return the cell notes, and which columns and characters were taken for others."""
        renamed = [
            Problem(path.name, f"the column '{now}' is read as {name}") for name, now in self.renamed.items()
        ]
        if self.western:
            what = "was saved as Windows-1252: texts with lost characters are known by their checks"
            renamed.append(Problem(path.name, what))
        return renamed + [
            Problem(
                path.name, f"a note at {self.columns[mark.column - 1]} says '{mark.text[:200]}'", row=mark.row
            )
            for mark in self.marks
            if mark.kind == "note"
        ]

    def struck(self) -> set[int]:
        """Return the rows whose label is struck through."""
        at = self.columns.index("label") + 1
        return {mark.row for mark in self.marks if mark.kind == "struck" and mark.column == at}

    def checks(self) -> dict[int, Check]:
        """Return each row's check."""
        texts = {row: text for row, text in self._check_cells().items() if text}
        return {row: check for row, text in texts.items() if (check := read_check(text))}

    def _check_cells(self) -> dict[int, str]:
        """Return the content of each row's check cell; if it shows nothing, its formula."""
        if CHECK not in self.columns:
            return {}
        formulas = self._formulas()
        return {int(row[ROW]): row[CHECK].strip() or formulas.get(int(row[ROW]), "") for row in self.rows}

    def _formulas(self) -> dict[int, str]:
        at = self.columns.index(CHECK) + 1 if CHECK in self.columns else 0
        return {mark.row: mark.text for mark in self.marks if mark.kind == "formula" and mark.column == at}

    def _points_at(self) -> dict[int, int]:
        """Return the label row to which the formula of each row's check refers."""
        return {row: place for row, text in self._formulas().items() if (place := _row_in(text)) is not None}

    def moved(self, owners: Sequence[Owner]) -> dict[int, str]:
        """Return, for each filled row, why its label may belong to another row. Checks are of one of these owners' sheets."""
        checks, points_at = self.checks(), self._points_at()
        strangers = {at for row, at in points_at.items() if at != row}
        moved = {}
        for row in filter(_is_filled, self.rows) if checks else ():
            number = int(row[ROW])
            check = checks.get(number)
            if not check or not check.owners(row["item_id"].strip(), owners):
                moved[number] = "the check next to the label belongs to another post"
            elif number in strangers or points_at.get(number, number) != number:
                moved[number] = "labels were moved to other rows"
        return moved

    def first_broken(self, moved: Collection[int], owners: Sequence[Owner]) -> int:
        """Return the first row of a post whose check is broken, though its label may be blank; 0 if there is none."""
        cells, checks = self._check_cells(), self.checks()
        blank = (
            number
            for row in self.rows
            if (item := row["item_id"].strip()) and cells.get(number := int(row[ROW])) and checks
            if not (check := checks.get(number)) or not check.owners(item, owners)
        )
        return min([*moved, *blank], default=0)

    def is_sure(self, number: int) -> bool:
        """True if the formula of this row's check still refers to its own label."""
        return self._points_at().get(number) == number

    def order(self) -> list[dict[str, str]]:
        """Return the rows in their original order, as far as the checks show it."""
        checks = self.checks()
        if len(checks) < len(self.rows):
            return self.rows
        return sorted(self.rows, key=lambda row: checks[int(row[ROW])].row)

    def whole(self, path: Path) -> list[dict[str, str]]:
        """Return the rows, or raise an error if some are not imported."""
        for row, why in sorted(self.untaken.items()):
            raise InputError(why, file=path, row=row, remedy="Correct or remove the row")
        return self.rows


def _row_in(formula: str) -> int | None:
    """Return the label row to which a formula refers; 0 if the label was deleted; None if unknown."""
    cell = re.search(r"IF\(\[?\.?\$?[A-Z]{1,3}\$?(\d+)", formula)
    if cell:
        return int(cell[1])
    return 0 if "#REF!" in formula else None


WINDOWS_1252 = "Windows-1252"
RENAMED = ("context", "sub_label", "comment")
"""Columns of a sheet that are read without their name, by their place. The others are needed, or check the labels."""
NO_SHEET = Returned([], [], {}, {})
"""The result for a sheet that does not exist."""


def read_rows(path: Path, needed: Sequence[str], ours: Sequence[str] = ()) -> Returned:
    """Read a returned sheet in any separator or encoding; of a workbook, the worksheet that has the needed columns.

    `ours` are all columns that covmis wrote, in order: if one of them is missing, a column of another name in its place is it.
    """
    table = read_table(path, with_column=needed[0] if needed else "")
    titles_of = titled(table.header)
    names = _known_names([titles_of.get(name.strip(), name) for name in table.header], [*needed, *ours])
    renamed = _renamed(names, ours)
    names = [renamed.get(name, name) for name in names]
    western = any(WINDOWS_1252 in note for note in table.notes)
    if any(note.startswith(NOT_UTF8) for note in table.notes) and not (western and _has_checks(table, names)):
        raise InputError(  # characters may be lost unnoticed
            "is not UTF-8", file=path, remedy="Save it as 'CSV UTF-8' (Excel) or with UTF-8 (LibreOffice)"
        )
    if names and names[0].startswith(MARK_MISREAD):
        raise InputError(
            "was opened as Windows-1252 before it was saved, which breaks its texts",
            file=path,
            remedy="Use the original sheet, and open it as UTF-8",
        )
    for name in needed:
        if name not in names:
            raise InputError(f"the column {name} is missing", file=path, remedy="Restore the first row")
    columns = [name for name in names if name]
    again = next((name for name in columns if columns.count(name) > 1), "")
    if again:
        raise InputError(
            f"two columns have the name {again}", file=path, row=1, remedy="Rename or remove one of them"
        )
    untaken = dict(table.problems)
    untaken |= {
        doubt.row: f"{doubt.place} is {doubt.why}"
        for doubt in reversed(table.doubts)
        if names[doubt.column - 1] in needed
    }
    rows, nameless = [], {}
    name_of = dict(zip(table.header, names, strict=True))
    for number, cells in zip(table.numbers, table.rows, strict=True):
        if number in untaken:
            continue
        if text := cells.get("", "").strip():
            nameless[number] = text
        row = {name_of[name]: text for name, text in cells.items() if name}
        rows.append({**row, ROW: str(number)})
    if not western:
        report(path, table)
    named = [at for at, name in enumerate(names, start=1) if name]
    place = {at: number for number, at in enumerate(named, start=1)}
    marks = [mark._replace(column=place[mark.column]) for mark in table.marks if mark.column in place]
    return Returned(
        columns,
        rows,
        untaken,
        nameless,
        marks,
        renamed={to: now for now, to in renamed.items()},
        titles={name: title for title, name in titles_of.items()},
        western=western,
    )


def _known_names(header: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return the columns' names, those that covmis knows as it writes them: `Item ID` is item_id."""
    exact = {name.strip().casefold() for name in header}
    by_letters = {folded(name): name for name in known if name not in exact}
    return [by_letters.get(folded(name)) or name.strip().casefold() for name in header]


def _renamed(names: Sequence[str], ours: Sequence[str]) -> dict[str, str]:
    """Return each column of another name that stands in the place of one that covmis wrote and that is missing."""
    renamed = dict[str, str]()
    for at, name in enumerate(ours):
        before = next((known for known in reversed(ours[:at]) if known in [*names, *renamed.values()]), "")
        if name in names or not before or name not in RENAMED:
            continue
        own = next((now for now, known in renamed.items() if known == before), before)
        place = names.index(own) + 1
        # of one column in the place of two, remarks are likelier than sub-labels
        last = "comment" in names or len(names) > place + 1 or name != "sub_label"
        if last and place < len(names) and names[place] and names[place] not in {*ours, *renamed}:
            renamed[names[place]] = name
    return renamed


def _has_checks(table: Table, names: Sequence[str]) -> bool:
    """True if checks say which post each row is of, whatever happened to its text."""
    check = table.header[names.index(CHECK)] if CHECK in names else ""
    return bool(check) and any(read_check(row[check]) for row in table.rows)


def without_items(path: Path, items: Collection[str]) -> dict[Path, bytes]:
    """Return this sheet (path and content) without the rows of these items. Sheets saved by Calc become xlsx."""
    table = read_rows(path, ("item_id",))
    kept = [row for row in table.whole(path) if row["item_id"].strip() not in items]
    rows = [[row[name] for name in table.columns] for row in kept]
    if channel_of(path) == Channel.CSV:
        return {path: csv_bytes([table.titles.get(name, name) for name in table.columns], rows)}
    written = path if channel_of(path) == Channel.XLSX else path.with_name(f"{path.name}.xlsx")
    return {
        written: xlsx(
            Grid(
                table.columns,
                rows,
                {name: [] for name in table.columns if name not in FIXED},
                titles=table.titles,
            )
        )
    }


def read_sheet(
    path: Path,
    owner: Owner,
    items: Mapping[str, Mapping[str, Any]],
    scheme: Labels,
    labelled: Collection[str] = (),
    *,
    owners: Sequence[Owner] = (),
) -> Sheet:
    """Read an annotator's answers so far, and the problems by row. Its checks may be those of other `owners`' sheets.

    A row without a label is blank, even with a comment, if its item was `labelled` before: the label was withdrawn.
    """
    table = read_rows(path, ("item_id", "claim", "post", "label"), header(scheme))
    rows, problems = table.rows, table.problems(path)
    answers: dict[str, Answer] = {}
    below: list[tuple[int, Answer]] = []
    blank: list[str] = []
    _of_one_person(rows, path)
    problems += _labels_elsewhere(rows, path, scheme)
    known = list(dict.fromkeys([owner, *owners]))
    moved, struck = table.moved(known), table.struck()
    broken = table.first_broken(moved, known)
    _refuse_shifted(rows, path, table)
    for row in rows:
        number, item = int(row[ROW]), row["item_id"].strip()
        taken_back = item in labelled and not row["label"].strip()
        if taken_back or not _is_filled(row):
            blank.append(item)
            continue
        wrong = misplaced(row, items.get(item), western=table.western)
        if wrong:
            problems.append(Problem(path.name, *wrong, row=number))
            continue
        why = moved.get(number) or ("the label is struck through" if number in struck else "")
        if why:
            problems.append(Problem(path.name, f"{why}: not imported", UNMOVE, number))
            continue
        answer = checked(_answer(row, item, owner.person, items[item], channel_of(path)), scheme)
        if 0 < broken < number and not table.is_sure(number):
            below.append((number, answer))
            continue
        if answer.status == Status.INVALID:
            problems.append(Problem(path.name, answer.reason, _remedy(scheme), number))
        problems += keep_answer(answers, answer, path, number)
    apart = _sorted_apart(table.order(), scheme)
    notes, checks = table.notes(path), table.checks()
    if scheme.sub_labels and "sub_label" not in table.columns:
        notes.append(Problem(path.name, "has no column sub_label, so its labels have no sub-labels"))
    if answers and not checks:
        notes.append(
            Problem(path.name, f"the column {CHECK} is empty, so labels in wrong rows may stay unnoticed")
        )
    in_order = [
        (int(row[ROW]), row["item_id"].strip(), known_label(row["label"], scheme))
        for row in rows
        if row["item_id"].strip()
    ]
    surely_blank = blank if answers and not moved and not below else []
    return Sheet(
        list(answers.values()), problems, surely_blank, apart, in_order, checks, below, broken, notes
    )


UNMOVE = "Undo the change, or fill in these rows again"


def _refuse_shifted(rows: Sequence[dict[str, str]], path: Path, table: Returned) -> None:
    """Refuse a file with a label below its last post: the column was shifted. A workbook's checks show the affected rows."""
    if any(mark.kind == "formula" for mark in table.marks):
        return
    for row in rows:
        if row["label"].strip() and not any(row[name].strip() for name in ("item_id", "claim", "post")):
            raise InputError(
                "has a label but no post, as if the column label had been shifted; no label is imported",
                file=path,
                row=int(row[ROW]),
                remedy="Shift the labels back, or remove this row",
            )


def _labels_elsewhere(rows: Sequence[dict[str, str]], path: Path, scheme: Labels) -> list[Problem]:
    """Report columns added by the annotator that contain labels, such as `label (corrected)` or a second opinion."""
    # Keys (1, 2, 3) are not searched: they could be the annotator's confidence scores.
    labels = scheme.values  # noqa: PD011 - not pandas'
    problems = []
    for name in own_columns(rows, header(scheme)):
        given = [cell for row in rows if (cell := row[name].strip())]
        if given and all(label_meant(cell, labels, scheme.aliases) for cell in given):
            what = f"the column '{name}' holds {counted(len(given), 'labels')}, which are ignored"
            problems.append(Problem(path.name, what, "Only the column label is used"))
    return problems


def keep_answer(answers: dict[str, Answer], answer: Answer, path: Path, row: int) -> list[Problem]:
    """Keep an answer. If another row answers the item differently, keep neither and report it."""
    item, earlier = answer.item_id, answers.get(answer.item_id)
    answers[item] = answer
    if earlier is None or replace(earlier, channel=answer.channel) == answer:
        return []
    both = f"{as_said(earlier)} and {as_said(answer)}"
    answers[item] = replace(
        answer,
        label="",
        sub_label="",
        comment="",
        error_class="",
        status=Status.INVALID,
        reason=f"two answers: {both}",
    )
    return [Problem(path.name, f"a second answer for {item}: {both}", "Keep one of the rows", row)]


def _of_one_person(rows: Sequence[dict[str, str]], path: Path) -> None:
    """Refuse a file that contains rows of two annotators: covmis cannot separate them."""
    times = Counter(row["item_id"].strip() for row in rows if row["label"].strip())
    again = sum(count > 1 for item, count in times.items() if item)
    header_again = next((row[ROW] for row in rows if row["item_id"].strip() == "item_id"), "")
    if header_again or (again >= 3 and 2 * again >= len(times)):
        what = f"row {header_again} is a second header row" if header_again else f"{again} posts occur twice"
        raise InputError(
            f"contains rows of two annotators: {what}",
            file=path,
            remedy="Give each annotator a file named by the code",
        )


def _sorted_apart(rows: Sequence[dict[str, str]], scheme: Labels) -> str:
    """Find rows with longer runs of equal labels than chance allows, as if the labels had been sorted.

    Chance produces this in one of 10,000 sheets for a whole column, and in about one of 1,000 for a part of it. Posts of
    one claim are adjacent and have similar labels. Unless the claims are mixed, the test of a part uses the order within
    each claim, and how rarely other claims have only one label.
    """
    given = [row for row in rows if row["label"].strip()]
    labels = [known_label(row["label"], scheme) for row in given]
    turns = [at for at, row in enumerate(given) if not at or row["claim"] != given[at - 1]["claim"]]
    if len(turns) > len({row["claim"] for row in given}):
        turns = []
    claims = _claims(labels, turns)
    for start, end in _runs_of_equal_labels(labels):
        if end - start == len(labels):
            surprise, windows = _surprise(labels, [0, end], scheme), 2
        else:
            cuts = [start, *(at for at in turns if start < at < end), end]
            surprise, windows = _surprise(labels, cuts, scheme), len(turns) or len(labels)
            surprise += _one_label_alone(claims, start, end)
        if surprise > math.log(5000 * windows):
            return spans(sorted(int(row[ROW]) for row in given[start:end]))
    return ""


class _Claims(NamedTuple):
    """First and last row of each claim with more than three posts, and whether it has only one label."""

    begins: list[int]
    ends: list[int]
    alone_begins: list[int]
    alone_ends: list[int]


def _claims(labels: Sequence[str], turns: Sequence[int]) -> _Claims:
    claims = [(begin, end) for begin, end in pairwise([*turns, len(labels)]) if end - begin > 3]
    alone = [(begin, end) for begin, end in claims if len(set(labels[begin:end])) == 1]
    return _Claims(
        [begin for begin, _ in claims],
        [end for _, end in claims],
        [begin for begin, _ in alone],
        [end for _, end in alone],
    )


def _one_label_alone(claims: _Claims, start: int, end: int) -> float:
    """Return the improbability (−log p) of the claims with only one label in these rows."""
    inside = max(0, bisect_right(claims.alone_ends, end) - bisect_left(claims.alone_begins, start))
    elsewhere = bisect_right(claims.ends, start) + len(claims.begins) - bisect_left(claims.begins, end)
    return inside * math.log(
        (elsewhere + 2) / (len(claims.alone_begins) - inside + 1)
    )  # the rule of succession


def _runs_of_equal_labels(labels: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Return the longest runs of equal labels; each begins where another label begins."""
    begins = [at for at in range(len(labels)) if not at or labels[at] != labels[at - 1]]
    reached = 0
    for number, start in enumerate(begins):
        seen, last = set[str](), number
        while last < len(begins) and labels[begins[last]] not in seen:
            seen.add(labels[begins[last]])
            last += 1
        if last > reached:
            reached = last
            yield start, begins[last] if last < len(begins) else len(labels)


def _surprise(labels: Sequence[str], cuts: Sequence[int], scheme: Labels) -> float:
    """Return the log ratio of all orders of these labels (within their blocks) to the equally sorted ones."""
    orders = 0.0
    for begin, end in pairwise(cuts):
        counts = Counter(labels[begin:end])
        orders += math.lgamma(end - begin + 1) - sum(math.lgamma(count + 1) for count in counts.values())
    names = list(dict.fromkeys(labels[cuts[0] : cuts[-1]]))
    keys = [scheme.values.index(name) if name in scheme.values else -1 for name in names]  # noqa: PD011 - not pandas'
    in_order = names in (sorted(names), sorted(names, reverse=True)) or keys in (
        sorted(keys),
        sorted(keys, reverse=True),
    )
    return orders - math.log(2 if in_order or len(cuts) > 2 else math.factorial(len(names)))


def channel_of(path: Path) -> Channel:
    """Return the channel of a sheet by its extension."""
    return RETURNED_AS[path.suffix.casefold()]


def _answer(
    row: dict[str, str], item: str, annotator: str, frozen: Mapping[str, Any], channel: Channel
) -> Answer:
    return Answer(
        item_id=item,
        annotator=annotator,
        label=row["label"].strip(),
        sub_label=row.get("sub_label", "").strip(),
        comment=row.get("comment", "").strip(),
        channel=channel,
        shown=frozen["shown"],
    )


def _remedy(scheme: Labels) -> str:
    *words, last = labels_and_keys(scheme), *instead_of_labels(scheme)
    return f"Write {', '.join(words)}, or {last}"


def misplaced(
    row: dict[str, str], frozen: Mapping[str, Any] | None, *, western: bool = False
) -> tuple[str, str] | None:
    """Report a row whose item is in no round, or whose text is another item's.

    In a `western` sheet, characters that Windows-1252 lacks may be any others: the row's check says whose text it was.
    """
    if frozen is None:
        item = row["item_id"].strip() or "(empty)"
        return (f"the item {item} is not in this round", "Restore the column item_id")
    cells = fixed_cells(frozen)
    for name in ("claim", "post"):
        same = _same_but_for_lost(row.get(name, ""), cells[name]) if western else False
        if not same and _spaced(row.get(name, "")) != _spaced(cells[name]):
            remedy = "Were columns sorted separately? Restore the row's text"
            return (f"the {name} is not the one of {frozen['item_id']}", remedy)
    return None


def _same_but_for_lost(came: str, frozen: str) -> bool:
    """True if the words differ only where Windows-1252 has no sign for what was frozen: there up to two others may stand."""
    words, kept = _spaced(came).split(), _spaced(frozen).split()
    return len(words) == len(kept) and all(map(_is_rest_of, words, kept))


def _is_rest_of(came: str, frozen: str) -> bool:
    signs = (re.escape(sign) if _in_1252(sign) else ".{0,2}" for sign in frozen)
    return came == frozen or re.fullmatch("".join(signs), came) is not None


def _in_1252(sign: str) -> bool:
    try:
        sign.encode("cp1252")
    except UnicodeEncodeError:
        return False
    return True


def _spaced(text: str) -> str:
    """Normalise what programs may change in a text: line ends, spaces, and composed characters.

    Content that a workbook cannot store is dropped: control characters, and text beyond the longest cell.
    """
    return " ".join(unicodedata.normalize("NFC", as_cell(text)).split())
