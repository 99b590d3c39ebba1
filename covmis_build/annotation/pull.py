"""Import labels from sheets and offline pages. Each answer is checked before it is recorded.

A second pull changes nothing.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from covmis_build import storage
from covmis_build.annotation import round_folder as record
from covmis_build.annotation.adjudication import ADJUDICATION_SHEET, DISCUSSION_SHEET
from covmis_build.annotation.answers import (
    RETURNED_AS,
    Answer,
    Channel,
    Phase,
    Problem,
    Pulled,
    Status,
    as_said,
    is_older,
    labels_of,
    latest,
    present,
    withdrawals,
)
from covmis_build.annotation.channels.check_words import Owner
from covmis_build.annotation.channels.offline import read_export
from covmis_build.annotation.channels.sheets import channel_of, read_sheet
from covmis_build.annotation.doubts import Returned, doubts, foreign_rows, owners_of
from covmis_build.annotation.doubts import as_it_stands as as_it_stands_command
from covmis_build.annotation.frozen_items import by_item, for_people
from covmis_build.errors import InputError, counted

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any

    import pandas as pd

    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.records import Label


READ = {*RETURNED_AS, ".json"}
"""Extensions of returned files: sheets, and exports of the offline page."""
OURS = {".html"}
"""Files that `push` writes and annotators do not return."""


def pull_files(
    round_: RoundFolder,
    annotators: Sequence[str],
    files: Sequence[Path],
    *,
    now: str,
    besides: Collection[str] = (),
    sent: Mapping[str, Collection[str]] | None = None,
    as_it_stands: bool = False,
    preview: bool = False,
) -> Pulled:
    """Import sheets and page exports: the named files, or all in the round's folder except `besides`.

    Answers count for the annotator who gave them; answers to items not `sent` to them are reported. Unreadable and
    doubtful files are reported and the others recorded. If there are no others, it is an error. Files taken
    `as_it_stands` are not doubted. A `preview` records nothing.
    """
    record.refuse_sealed(round_)
    if as_it_stands and not files:
        raise InputError("which file is right as it stands?", remedy="Name it: `covmis round pull FILE`")
    named = list(files) or [path for path in _sheets(round_) if path.name not in besides]
    frozen, before = round_.asked(), round_.answers()
    items, people = by_item(frozen), set(for_people(frozen)["item_id"])
    recorded = dict.fromkeys(annotators, before[:0])
    recorded |= {str(who): rows for who, rows in before.groupby("annotator")}
    pulled = Pulled(round_.number)
    owners = owners_of(round_, annotators)
    returned: list[Returned] = []
    came: dict[Path, Came] = {}
    unreadable: list[InputError] = []
    for path in named:
        try:
            who = _whose(path, annotators, named=bool(files))
            if path.suffix.casefold() == ".json":
                came[path] = _read_export(path, round_, annotators, items, recorded)
                continue
            sheet = read_sheet(
                path, Owner(round_.number, who), items, round_.scheme, _labelled(recorded[who]), owners=owners
            )
        except InputError as error:
            unreadable.append(error)
            continue
        returned.append(Returned(path, who, sheet))
    if not as_it_stands:
        doubtful, notes = doubts(returned, round_, owners, sent or {}, recorded)
        unreadable += doubtful.values()
        returned = [each for each in returned if each.path not in doubtful]
        pulled.notes += notes
    for each in returned:
        came[each.path] = _came(each, round_, recorded, owners, as_it_stands=as_it_stands)
    answers: dict[Path, list[Answer]] = {}
    for path in filter(came.__contains__, named):
        read, problems, notes = came[path]
        pulled.problems += problems
        pulled.notes += notes
        nobodys = [answer for answer in read if answer.item_id not in people]
        pulled.problems += [
            Problem(answer.annotator, f"labels {answer.item_id}, which is not assigned to anybody")
            for answer in nobodys
        ]
        answers[path] = [answer for answer in read if answer.item_id in people]
    if unreadable and not answers:
        raise unreadable[0]
    pulled.problems += [Problem(Path(error.file).name, error.problem, error.remedy) for error in unreadable]
    pulled.problems += _two_files(answers)
    pulled.problems += [
        problem for path, read in answers.items() for problem in _not_theirs(path, read, sent or {})
    ]
    every = _without_empty_withdrawals([answer for read in answers.values() for answer in read])
    pulled.came(every, items)
    if preview:
        return pulled
    record.count(pulled, round_, every, now=now)
    labels, counted_ones = round_.answers(), set(latest(every))
    current = {(row.item_id, row.annotator): row for row in labels_of(present(labels))}
    pulled.problems += [
        problem
        for path, read in answers.items()
        for problem in _older(path, set(read) & counted_ones, current)
    ]
    pulled.problems += two_channels(labels)
    return pulled


def _sheets(round_: RoundFolder) -> list[Path]:
    """Return the files in the round's folder, without decision sheets, our pages, and hidden files."""
    return [
        path
        for path in sorted(round_.sheets.glob("*"))
        if path.suffix.casefold() not in OURS
        and path.name.partition(".")[0] not in {DISCUSSION_SHEET, ADJUDICATION_SHEET}
        and not path.name.startswith((".", "~"))
    ]


class Came(NamedTuple):
    """The answers of a file with their times, its problems, and further notes."""

    answers: list[Answer]
    problems: list[Problem]
    notes: list[Problem]


def _read_export(
    path: Path,
    round_: RoundFolder,
    annotators: Sequence[str],
    items: Mapping[str, Mapping[str, Any]],
    recorded: Mapping[str, pd.DataFrame],
) -> Came:
    """Read an export of the offline page. A withdrawal counts only if the annotator's label is recorded."""
    answers, problems = read_export(path, annotators, round_.number, items, round_.scheme)
    blank = [answer for answer in answers if answer.status == Status.WITHDRAWN]
    given = [answer for answer in answers if answer.status != Status.WITHDRAWN]
    for answer in blank:
        given += withdrawals(
            recorded[answer.annotator],
            [answer.item_id],
            answer.annotator,
            Channel.HTML,
            given_at=answer.given_at,
        )
    return Came(given, problems, [])


def _labelled(recorded: pd.DataFrame) -> set[str]:
    """Return the items that the annotator has labelled before."""
    current = present(recorded)
    return set(current.loc[current["label"] != "", "item_id"])


def _came(
    returned: Returned,
    round_: RoundFolder,
    recorded: Mapping[str, pd.DataFrame],
    owners: Sequence[Owner],
    *,
    as_it_stands: bool,
) -> Came:
    """Return a sheet's answers. Those below a broken check or in others' rows are taken only `as_it_stands`."""
    path, who, sheet = returned.path, returned.person, returned.sheet
    # A sheet does not record when a cell was filled in, so its answers get the file's time.
    saved = storage.moment(path.stat().st_mtime)
    taken_back = withdrawals(recorded[who], sheet.blank, who, channel_of(path))
    below = [answer for _, answer in sheet.questioned] if as_it_stands else []
    answers = [replace(answer, given_at=saved) for answer in [*sheet.answers, *below, *taken_back]]
    kept = (
        []
        if sheet.answers or sheet.problems or sheet.questioned
        else withdrawals(recorded[who], _labelled(recorded[who]), who, channel_of(path))
    )
    asked = [] if as_it_stands else _questioned(returned, round_)
    for item, (row, whose) in ({} if as_it_stands else foreign_rows(returned, round_, owners)).items():
        answers = [answer for answer in answers if answer.item_id != item]
        what = f"this row is from {whose.person}'s sheet of round {whose.round}: not imported"
        remedy = f"Put it back; {as_it_stands_command(path, round_)}"
        asked.append(Problem(path.name, what, remedy, row))
    emptied = [_emptied(path, len(kept))] if kept else []
    return Came(answers, [*sheet.problems, *asked], [*sheet.notes, *emptied])


def _questioned(returned: Returned, round_: RoundFolder) -> list[Problem]:
    """Report answers below a broken check: one cell was deleted or inserted, and what is below may be shifted."""
    path, broken = returned.path, returned.sheet.broken
    what = f"below the broken check of row {broken}, labels may be shifted: not imported"
    remedy = f"Compare them with their posts; {as_it_stands_command(path, round_)}"
    return [Problem(path.name, what, remedy, row) for row, _ in returned.sheet.questioned]


def _emptied(path: Path, count: int) -> Problem:
    """Return the note that a sheet without labels withdraws none: it may be the empty one that was sent."""
    return Problem(
        path.name,
        f"has no label, though {counted(count, 'posts')} of it are labelled: no label is withdrawn",
        "To withdraw labels, leave at least one in the sheet",
    )


def _without_empty_withdrawals(answers: Sequence[Answer]) -> list[Answer]:
    """Drop withdrawals from blank rows if another row or file of the annotator has the item's label."""
    said = {
        (answer.item_id, answer.annotator, answer.channel)
        for answer in answers
        if answer.status != Status.WITHDRAWN
    }
    return [
        answer
        for answer in answers
        if answer.status != Status.WITHDRAWN or (answer.item_id, answer.annotator, answer.channel) not in said
    ]


def _older(
    path: Path, answers: Collection[Answer], current: Mapping[tuple[str, str], Label]
) -> list[Problem]:
    """Report answers of a sheet that differ from newer recorded ones and are therefore not used.

    A file's time can be wrong: after compression and extraction it can be hours too old.
    """
    if path.suffix.casefold() == ".json":
        return []
    items = sorted(
        answer.item_id
        for answer in answers
        if (row := current.get((answer.item_id, answer.annotator))) is not None
        and (row.channel, row.phase) == (answer.channel, answer.phase)
        and (row.label, row.status) != (answer.label, answer.status)
        and is_older(answer, row)
    )
    if not items:
        return []
    what = f"{counted(len(items), 'answers')} ({_as(items)}) differ from the record and are not used, because the file is older"
    return [Problem(path.name, what, "If the file is right, open it, save it, and pull again")]


def _two_files(answers: Mapping[Path, Sequence[Answer]]) -> list[Problem]:
    """Report files of one annotator and channel that differ. The later one counts, by its own time."""
    seen: dict[tuple[str, str, str], tuple[Path, Answer]] = {}
    differing: dict[tuple[Path, Path], list[str]] = {}
    emptied: dict[tuple[Path, Path], list[str]] = {}
    for path, read in answers.items():
        for answer in read:
            key = (answer.item_id, answer.annotator, answer.channel)
            before, earlier = seen.get(key, (path, answer))
            seen[key] = (path, answer)
            if before == path or (earlier.label, earlier.status) == (answer.label, answer.status):
                continue
            files = {before: earlier, path: answer}
            first, last = sorted(files, key=lambda name: files[name].given_at)
            if Status.WITHDRAWN not in {earlier.status, answer.status}:
                differing.setdefault((before, path), []).append(answer.item_id)
            elif files[last].status == Status.WITHDRAWN:
                emptied.setdefault((first, last), []).append(answer.item_id)
    return [
        *(
            Problem(
                f"{first.name} and {second.name}",
                f"differ in {counted(len(items), 'answers')} ({_as(items)}); the later one is used",
                "Keep one of the files",
            )
            for (first, second), items in differing.items()
        ),
        *(
            Problem(
                f"{first.name} and {second.name}",
                f"{counted(len(items), 'answers')} of the first {'is' if len(items) == 1 else 'are'} empty in the "
                f"second, which is later ({_as(items)}); no label is withdrawn",
                "Put all answers into one of the files and remove the other",
            )
            for (first, second), items in emptied.items()
        ),
    ]


def _not_theirs(path: Path, answers: Sequence[Answer], sent: Mapping[str, Collection[str]]) -> list[Problem]:
    """Report answers to posts assigned to others: the roster changed, or it is another annotator's sheet."""
    who = answers[0].annotator if answers else ""
    if who not in sent:
        return []
    theirs = set(sent[who])
    items = [
        answer.item_id
        for answer in answers
        if answer.item_id not in theirs and answer.status != Status.WITHDRAWN
    ]
    if not items:
        return []
    what = f"{counted(len(items), 'answers')} ({_as(items)}) to posts that are not {who}'s work"
    return [Problem(path.name, what, "They are used. Is it another annotator's sheet?")]


def _as(items: Sequence[str]) -> str:
    return f"{items[0]}{', …' if len(items) > 1 else ''}"


def _whose(path: Path, annotators: Sequence[str], *, named: bool) -> str:
    """Return the annotator of a file: by the beginning of its name; an export contains the code."""
    if path.is_dir():
        raise InputError("is a folder", file=path, remedy="Put the sheet itself here")
    if not named and not path.is_file():
        # for example a pipe, to which possibly nothing is ever written
        raise InputError("is no file", file=path, remedy="Put the sheet itself here")
    kind = path.suffix.casefold()
    if kind not in READ:
        raise InputError(
            "is not an annotation file (a sheet or an export of the offline page)",
            file=path,
            remedy=f"Save it as one of {', '.join(sorted(READ))}, or move it elsewhere",
        )
    fitting = [code for code in annotators if re.match(rf"{re.escape(code)}(?![A-Za-z0-9_-])", path.name)]
    if not fitting and kind != ".json":
        raise InputError(
            "does not name its annotator",
            file=path,
            remedy=f"Name it by its annotator's code ({', '.join(annotators)}), or code, blank and more: {annotators[0]} final{path.suffix}",
        )
    return max(fitting, key=len, default="")


def two_channels(labels: pd.DataFrame) -> list[Problem]:
    """Report annotators whose answers differ between two channels. The later answer counts."""
    mine = labels[labels["phase"] == Phase.INDEPENDENT]
    last = mine.drop_duplicates(["item_id", "annotator", "channel"], keep="last")
    last = last[last.duplicated(["item_id", "annotator"], keep=False)]
    differing: dict[str, list[str]] = {}
    for key, rows in last.groupby(["item_id", "annotator"], sort=True):
        item, who = (str(part) for part in cast("tuple[str, str]", key))
        if len(set(rows["label"])) > 1:
            said = ", ".join(f"{row.channel}: {as_said(row)}" for row in labels_of(rows))
            differing.setdefault(who, []).append(f"{item} ({said})")
    return [
        Problem(
            who,
            f"answered {counted(len(items), 'items')} differently in two channels, e.g. {items[0]}; the later answer is used",
        )
        for who, items in sorted(differing.items())
    ]
