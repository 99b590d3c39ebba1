"""Import labels that named people gave in another tool, as their answers in a round. Shown first, then recorded.

A label is matched by its id (item, post, or the platform's own id) if only one post of the round has it, else by the post's
exact text. A text that differs from the frozen one is not imported: its label was given to something else.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from covmis_build.annotation import round_folder as record
from covmis_build.annotation.answers import (
    Answer,
    Channel,
    Problem,
    Pulled,
    Status,
    as_lines,
    checked,
    labels_and_keys,
)
from covmis_build.annotation.exports import Export, GivenLabel, export_in, read_export
from covmis_build.annotation.frozen_items import by_item, for_people
from covmis_build.annotation.label_matrix import long_rows, read_labels_file
from covmis_build.errors import CheckFailed, InputError, counted
from covmis_build.report.result import Result
from covmis_build.report.summary import Listing
from covmis_build.tables import frame_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.report.summary import Summary

LEFT_OUT = "-"
"""The code of people whose labels are not imported."""


@dataclass(slots=True, repr=False)
class ImportedLabels(Result):
    """What an import is, or would be: labels by person, how they were matched, and what cannot be used."""

    round: str
    form: str
    people: dict[str, str]
    """The tool's name of a person → annotator."""
    by_id: int = 0
    by_text: int = 0
    unmatched: int = 0
    labels: dict[str, dict[str, int]] = field(default_factory=dict)
    """Annotator → label → how often."""
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    imported: bool = False
    added: int = 0
    """New labels in the record."""

    def to_dict(self) -> dict[str, Any]:
        """As `covmis round import --json` prints it."""
        names = (
            "round", "form", "people", "by_id", "by_text", "unmatched", "labels", "problems", "notes", "imported", "added",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}

    @property
    def warnings(self) -> list[str]:
        """Return what cannot be used."""
        return self.problems

    @property
    def summary(self) -> Summary:
        """Return what was matched, each person's labels, and how to go on."""
        names = {code: name for name, code in self.people.items() if code != LEFT_OUT}
        kinds = list(dict.fromkeys(label for own in self.labels.values() for label in own))
        rows = [
            (code, names[code], *(own.get(label, 0) for label in kinds)) for code, own in self.labels.items()
        ]
        matched = self.by_id + self.by_text
        lines: list[str | Listing] = [
            f"{self.form}: {counted(matched, 'labels')} of posts of round {self.round}.",
            f"Matched by id: {self.by_id:,}, by text: {self.by_text:,}; of other posts: {self.unmatched:,}.",
            Listing(("annotator", "in the file", *kinds), rows),
            *self.notes,
        ]
        done = (
            f"{self.added:,} new in the record."
            if self.imported
            else "A preview: nothing was recorded. `--yes` records these labels."
        )
        return [*lines, done]

    def check(self) -> None:
        """Raise an error if some labels cannot be used."""
        if self.problems and self.imported:
            raise CheckFailed(
                f"{counted(len(self.problems), 'problems')} in the labels; everything else counts"
            )


def import_labels(
    round_: RoundFolder,
    labels: Path | pd.DataFrame | Any,
    annotators: Sequence[str],
    *,
    people: Mapping[str, str],
    question: str,
    now: str,
    yes: bool,
) -> ImportedLabels:
    """See `Round.import_labels`."""
    record.refuse_sealed(round_)
    name, export = _read(labels, question)
    frozen = round_.asked()
    codes = _codes(export, annotators, people)
    items, open_ = by_item(frozen), set(for_people(frozen)["item_id"])
    imported = ImportedLabels(round_.number, export.form, codes, notes=list(export.notes))
    matcher = _Matcher(items)
    answers: list[Answer] = []
    problems: list[Problem] = []
    for given in export.labels:
        who = codes[given.annotator]
        if who == LEFT_OUT:
            continue
        item, by_id = matcher.item_of(given)
        imported.by_id += by_id
        imported.by_text += bool(item) and not by_id
        imported.unmatched += not item
        if not item:
            continue
        wrong = _unusable(given, item, items[item], open_)
        answer = checked(
            Answer(
                item,
                who,
                given.label,
                Channel.IMPORT,
                seconds=given.seconds,
                given_at=given.given_at,
                shown=items[item]["shown"],
            ),
            round_.scheme,
        )
        if not wrong and answer.status == Status.INVALID:
            wrong = (
                f"{answer.reason}. Known: {labels_and_keys(round_.scheme)}; name others in [labels.aliases]"
            )
        if wrong:
            problems.append(Problem(name, wrong, row=given.row))
            continue
        answers.append(answer)
        imported.labels.setdefault(who, {}).setdefault(answer.label or str(answer.status), 0)
        imported.labels[who][answer.label or str(answer.status)] += 1
    imported.problems = as_lines(problems)
    if matcher.of_several:
        alike = counted(len(matcher.of_several), "ids or texts")
        imported.notes.append(
            f"{alike} are of several items of the round and match none: give item_id (claim|post)."
        )
    twice = [
        pair
        for pair, count in Counter((answer.item_id, answer.annotator) for answer in answers).items()
        if count > 1
    ]
    if twice:
        raise InputError(
            f"{twice[0][1]} has two labels of {twice[0][0]}",
            file=name,
            remedy="Keep one of them, or say which person is which",
        )
    if not answers:
        raise InputError(
            f"has no label of a post of round {round_.number}", file=name,
            remedy="; ".join(imported.problems[:1]) or "Give ids of items or posts, or the posts' texts",
        )  # fmt: skip
    if yes:
        pulled = Pulled(round_.number)
        record.count(pulled, round_, answers, now=now)
        imported.added, imported.imported = pulled.added, True
        imported.problems += as_lines(pulled.problems)
    return imported


def _read(labels: Any, question: str) -> tuple[str, Export]:
    """Read an export or a table, from a file or from memory."""
    if isinstance(labels, str) or hasattr(labels, "is_dir"):
        from pathlib import Path

        path = Path(labels)
        return path.name, read_export(path, question) or _of_table(read_labels_file(path))
    frame = frame_of(labels)
    return "the table", export_in(frame, question) or _of_table(
        long_rows(frame, "item", "annotator", "label", None, None)
    )


def _of_table(rows: pd.DataFrame) -> Export:
    item = "item" if "item" in rows.columns else "item_id"
    text = next((name for name in ("text", "post") if name in rows.columns), "")
    given = [
        GivenLabel(
            str(row[item]).strip(), str(row["annotator"]).strip(), str(row["label"]).strip(),
            str(row[text]).strip() if text else "", row=at + 2 if isinstance(at, int) else 0,
        )
        for at, row in zip(rows.index, rows.to_dict("records"), strict=True)
        if str(row["label"]).strip() not in {"", "nan", "None"}
    ]  # fmt: skip
    return Export("A table", given)


def _codes(export: Export, annotators: Sequence[str], people: Mapping[str, str]) -> dict[str, str]:
    """Return the annotator of each name in the export. Who is who is never guessed."""
    names = list(dict.fromkeys(label.annotator for label in export.labels))
    codes = {name: people.get(name, name) for name in names}
    unknown = [name for name, code in codes.items() if code not in {*annotators, LEFT_OUT}]
    for name in people:
        if name not in names:
            raise InputError(f"the file has no person '{name}'", remedy=f"It has {', '.join(names)}")
    if unknown:
        raise InputError(
            f"which annotators are {', '.join(unknown[:8])}?",
            remedy=f"Say so, like --people {unknown[0]}={annotators[0]} (annotators: {', '.join(annotators)}; {LEFT_OUT}: leave out)",
        )
    used = Counter(code for code in codes.values() if code != LEFT_OUT)
    if twice := next((code for code, count in used.items() if count > 1), ""):
        both = " and ".join(name for name, code in codes.items() if code == twice)
        raise InputError(f"{both} cannot both be {twice}", remedy="Each annotator is one person")
    return codes


class _Matcher:
    """Finds a label's item by what only one post of the round has."""

    def __init__(self, items: Mapping[str, Mapping[str, Any]]) -> None:
        self.of_several: set[str] = set()
        self._ids: dict[str, list[str]] = {}
        self._texts: dict[str, list[str]] = {}
        for item, row in items.items():
            for known in {item, row["post_id"], row["post_id"].partition(":")[2]}:
                self._ids.setdefault(known, []).append(item)
            self._texts.setdefault(_spaced(row["text"]), []).append(item)

    def item_of(self, given: GivenLabel) -> tuple[str, bool]:
        """Return the item, and whether its id was known."""
        for known, by_id in (
            (self._ids.get(given.item), True),
            (self._texts.get(_spaced(given.text or given.item)), False),
        ):
            if known and len(known) == 1:
                return known[0], by_id
            if known:
                self.of_several.add(given.item)
        return "", False


def _unusable(given: GivenLabel, item: str, row: Mapping[str, Any], open_: set[str]) -> str:
    if item not in open_:
        return f"{item} is not for annotators"
    if given.text and given.text != given.item and _spaced(given.text) != _spaced(row["text"]):
        return f"the text is not the one of {item}; if the ids are right, leave out the column of texts"
    return ""


def _spaced(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())
