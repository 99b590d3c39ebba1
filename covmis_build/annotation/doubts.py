"""Doubts about a whole sheet: whose it is, whether its labels were sorted or shifted, whether it is there twice.

A sheet with a doubt is not imported until it is put right, or until the lead says that it is right as it stands.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from covmis_build.annotation import round_folder as record
from covmis_build.annotation.answers import Phase, Problem, present, spans
from covmis_build.annotation.channels.check_words import Owner
from covmis_build.annotation.shifted import NOTED, Shift, shifted
from covmis_build.errors import InputError, counted

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from covmis_build.annotation.channels.sheets import Sheet
    from covmis_build.annotation.round_folder import RoundFolder

FEWEST = 10
"""With fewer labelled rows, the order of a sheet's posts does not tell whose it is."""


@dataclass(frozen=True, slots=True)
class Returned:
    """A sheet that came back: its path, the annotator that its name says, its content."""

    path: Path
    person: str
    sheet: Sheet


def owners_of(round_: RoundFolder, annotators: Sequence[str]) -> list[Owner]:
    """Return for whom sheets can have been written: the annotators, and those of any round; this round's first."""
    rounds = record.every_round(round_.folder.parent)
    here = dict.fromkeys([*annotators, *round_.about.annotators])
    return [
        *(Owner(round_.number, person) for person in here),
        *(
            Owner(each.number, person)
            for each in rounds
            if each.number != round_.number
            for person in dict.fromkeys([*each.about.annotators, *here])
        ),
    ]


def doubts(
    sheets: Sequence[Returned],
    round_: RoundFolder,
    owners: Sequence[Owner],
    sent: Mapping[str, Collection[str]],
    recorded: Mapping[str, pd.DataFrame],
) -> tuple[dict[Path, InputError], list[Problem]]:
    """Return why sheets are not imported, and notes on sheets with weaker signs of a shift."""
    whose = {returned.path: _whose(returned, round_, owners, sent) for returned in sheets}
    refused = {
        returned.path: _not_their_own(returned, whose, round_)
        for returned in sheets
        if whose[returned.path] not in {None, Owner(round_.number, returned.person)}
    }
    right = [returned for returned in sheets if returned.path not in refused]
    for returned in right:
        if returned.sheet.sorted_apart:
            what = f"equal labels are grouped together in {returned.sheet.sorted_apart}, as if the labels had been sorted without their rows"
            refused[returned.path] = _doubtful(returned.path, what, "Undo the sorting", round_)
    for first, second, count in _twice(right, whose):
        what = f"has the same {counted(count, 'answers')} in the same order as {first.name}"
        remedy = "Is one sheet there twice? Remove the copy"
        refused[second] = _doubtful(second, what, remedy, round_)
        refused[first] = _doubtful(first, what.replace(first.name, second.name), remedy, round_)
    notes = []
    for path, (shift, sure, words) in _shifts(right, recorded).items():
        if sure and path not in refused:
            refused[path] = _doubtful(
                path, f"{words}, as if the labels had been shifted", "Undo the shift", round_
            )
        elif shift.reaches(NOTED) and path not in refused:
            notes.append(Problem(path.name, f"{words}: please look whether they stand in their rows"))
    return refused, notes


def _doubtful(path: Path, what: str, remedy: str, round_: RoundFolder) -> InputError:
    return InputError(
        f"{what}; none is imported", file=path, remedy=f"{remedy}; {as_it_stands(path, round_)}"
    )


def as_it_stands(path: Path, round_: RoundFolder) -> str:
    """Return how the lead says that a doubtful sheet is right."""
    of_round = f" --round {round_.number}" if round_.kind else ""
    return f"if it is right, `covmis round pull {record.sheets_of(round_.number)}{path.name} --as-it-stands{of_round}`"


def _whose(
    returned: Returned, round_: RoundFolder, owners: Sequence[Owner], sent: Mapping[str, Collection[str]]
) -> Owner | None:
    """Return whose sheet it is, by most of its checks; without such checks, by its posts and their order. None: unknown."""
    named = Owner(round_.number, returned.person)
    labelled = [(row, item) for row, item, label in returned.sheet.rows if label]
    votes = Counter[Owner]()
    for row, item in labelled:
        check = returned.sheet.checks.get(row)
        if check and not check.old:
            votes.update([named] if check.owners(item, [named]) else check.owners(item, owners))
    if votes:
        return max(votes, key=lambda owner: (votes[owner], owner == named))
    here = set(round_.asked()["item_id"])
    if labelled and not any(item in here for _, item in labelled):
        return _round_of({item for _, item in labelled}, returned.person, round_)
    if len(labelled) < FEWEST:
        return None
    checks = returned.sheet.checks
    rows = [(checks[row].row if row in checks else row, item) for row, item in labelled]
    fit = {person: _fits(rows, list(items)) for person, items in sent.items()}
    best = max(fit, key=lambda person: (fit[person], person == returned.person), default="")
    own = fit.get(returned.person, 0.0)
    if not best or fit[best] < 0.9 or (best != returned.person and own > 0.5):
        return None
    return Owner(round_.number, best)


def foreign_rows(
    returned: Returned, round_: RoundFolder, owners: Sequence[Owner]
) -> dict[str, tuple[int, Owner]]:
    """Return the items whose rows come from somebody else's sheet, with the row and whose sheet that is."""
    named = Owner(round_.number, returned.person)
    foreign = {}
    for row, item, label in returned.sheet.rows:
        check = returned.sheet.checks.get(row)
        if label and check and not check.old and not check.owners(item, [named]):
            whose = check.owners(item, owners)
            if whose:
                foreign[item] = (row, whose[0])
    return foreign


def _fits(rows: Sequence[tuple[int, str]], order: Sequence[str]) -> float:
    """Return the share of these rows that stand where a sheet with this order of posts has them."""
    place = {item: at for at, item in enumerate(order, start=2)}
    return sum(place.get(item) == row for row, item in rows) / len(rows)


def _round_of(items: Collection[str], person: str, round_: RoundFolder) -> Owner | None:
    """Return the other round that asks for most of these items."""
    rounds = [each for each in record.every_round(round_.folder.parent) if each.number != round_.number]
    shared = {each.number: len(set(each.asked()["item_id"]) & set(items)) for each in rounds}
    number = max(shared, key=lambda each: shared[each], default="")
    return Owner(number, person) if number and shared[number] else None


def _not_their_own(returned: Returned, whose: Mapping[Path, Owner | None], round_: RoundFolder) -> InputError:
    """Return the sentence about a sheet of another round, or of another annotator."""
    path, owner = returned.path, whose[returned.path]
    assert owner is not None
    if owner.round != round_.number:
        whom = (
            f"{owner.person}'s sheet" if owner.person == returned.person else f"the sheet of {owner.person}"
        )
        return InputError(
            f"is {whom} of round {owner.round}, not of round {round_.number}; none of its labels is imported",
            file=path,
            remedy=f"Move it to {record.sheets_of(owner.round)} and pull that round (`--round {owner.round}`)",
        )
    theirs = [
        name for name, whose_it_is in whose.items() if whose_it_is == Owner(round_.number, returned.person)
    ]
    named_for_owner = [name for name in whose if name.stem.startswith(owner.person)]
    if theirs and any(name in theirs for name in named_for_owner):
        remedy = f"Exchange the names of {path.name} and {named_for_owner[0].name}"
    elif any(whose[name] == owner for name in named_for_owner):
        remedy = (
            f"Is it a copy of {named_for_owner[0].name}? Remove it, and ask {returned.person} for their own"
        )
    else:
        remedy = f"Rename it to {owner.person}{path.suffix}"
    what = f"is the sheet of {owner.person}, though its name says {returned.person}"
    return _doubtful(path, what, remedy, round_)


def _twice(sheets: Sequence[Returned], whose: Mapping[Path, Owner | None]) -> list[tuple[Path, Path, int]]:
    """Return pairs of two annotators' sheets with the same labels of the same posts in the same order.

    Sheets whose checks say that they are their annotators' are not compared: people may agree.
    """
    before: dict[tuple[tuple[str, str, str], ...], Returned] = {}
    pairs = []
    for returned in sheets:
        answers = returned.sheet.answers
        if len(answers) < FEWEST or whose[returned.path] is not None:
            continue
        said = tuple((answer.item_id, answer.label, answer.comment) for answer in answers)
        first = before.setdefault(said, returned)
        if first.person != returned.person:
            pairs.append((first.path, returned.path, len(answers)))
    return pairs


def _shifts(
    sheets: Sequence[Returned], recorded: Mapping[str, pd.DataFrame]
) -> dict[Path, tuple[Shift, bool, str]]:
    """Return the likeliest shift of each sheet's labels, whether it has to be refused, and the words for it."""
    labels = dict[str, dict[str, str]]()
    for who, before in recorded.items():
        own = present(before[before["phase"] == Phase.INDEPENDENT])
        labels[who] = dict(zip(own["item_id"], own["label"], strict=True))
    for returned in sheets:
        given = {item: label for _, item, label in returned.sheet.rows if label}
        labels.setdefault(returned.person, {}).update(given)
    shifts = {}
    for returned in sheets:
        rows = [(item, label) for _, item, label in returned.sheet.rows]
        others = {who: known for who, known in labels.items() if who != returned.person and known}
        shift, sure = shifted(rows, others)
        shifts[returned.path] = (shift, sure, _in_words(shift, returned.sheet.rows, others))
    return shifts


def _in_words(
    shift: Shift, rows: Sequence[tuple[int, str, str]], others: Mapping[str, Mapping[str, str]]
) -> str:
    """Return the evidence for a shift: how many labels agree with the others' in their row, and some rows further."""
    within = [
        (at, item, label)
        for at, (_, item, label) in enumerate(rows)
        if label and shift.start <= at < shift.end
    ]
    here = sum(any(own.get(item) == label for own in others.values()) for _, item, label in within)
    there = sum(
        any(own.get(rows[at + shift.by][1]) == label for own in others.values())
        for at, _, label in within
        if 0 <= at + shift.by < len(rows)
    )
    where = spans(sorted(rows[at][0] for at, _, _ in within)) if within else ""
    away = f"{counted(abs(shift.by), 'rows')} {'below' if shift.by > 0 else 'above'}"
    whom = " or ".join(sorted(others)) if len(others) < 4 else "the others"
    return f"of the {len(within)} labels in {where}, {there} agree with {whom} on the post {away}, {here} on their own post"
