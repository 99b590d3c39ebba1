"""The newest answers of the main rounds: posts that were labelled again under later labels have these in place of the old ones.

A relabelling round (annotation/relabel/l001) holds posts of sealed main rounds. From its seal on its answers and decisions
replace the old ones, which stay in their round. If every answer of a main round has an equivalent among the later labels
then, the whole round counts as labelled with these.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from covmis_build import tables
from covmis_build.annotation.answers import Status, answered, present
from covmis_build.annotation.final_labels import LabelSource
from covmis_build.annotation.gold import check_seals, decisions_of
from covmis_build.annotation.label_sets import LabelSet, became_in, label_sets, own_set, sets_of_rounds
from covmis_build.annotation.round_folder import RoundKind, rounds_of_kind
from covmis_build.errors import counted
from covmis_build.options import Labels, is_machine

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from covmis_build.annotation.label_sets import LabelSets
    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.options import LabelChange

LABEL_SET = "label_set"
"""The column that names the round whose labels a row has."""


@dataclass(frozen=True)
class Answers:
    """A main round's items, labels and decisions. The column `label_set` names the round whose labels a row has."""

    round: str
    items: pd.DataFrame
    labels: pd.DataFrame
    decisions: pd.DataFrame
    again: Mapping[str, int]
    """Relabelling round → posts of this round that it labelled."""

    @property
    def used(self) -> tuple[str, ...]:
        """The rounds whose labels these answers have."""
        parts = (self.items, self.labels, self.decisions)
        return tuple(sorted({str(name) for part in parts for name in part[LABEL_SET]})) or (self.round,)


@dataclass(frozen=True)
class Newest:
    """The newest answers of the rounds that count, and the label sets that they have."""

    rounds: tuple[Answers, ...]
    sets: LabelSets
    scheme: Labels
    """[labels] with the labels in common."""
    folders: tuple[RoundFolder, ...]
    """All main rounds: their seals form a chain."""
    later: tuple[RoundFolder, ...]
    """The sealed relabelling rounds."""

    def frozen(self) -> pd.DataFrame:
        """Return the items, their automatic labels in common."""
        return self._joined([each.items for each in self.rounds], "automatic_label", "frozen")

    def labels(self) -> pd.DataFrame:
        """Return all labels, in common."""
        return self._joined([each.labels for each in self.rounds], "label", "labels")

    def gold(self) -> pd.DataFrame:
        """Return the table `gold` of the rounds that count, in the labels in common. Raises BrokenSeal."""
        check_seals(self.folders)
        check_seals(self.later)
        return self._joined([each.decisions for each in self.rounds], "label", "gold")

    def said_by_people(self) -> list[tuple[str, str, str]]:
        """Return people's independent labels, in common: item, annotator, label."""
        return [
            (item, row.annotator, row.label)
            for item, rows in answered(self.frozen(), self.labels()).items()
            for row in rows
            if row.status == Status.GIVEN and not is_machine(row.annotator)
        ]

    def of_rounds(self, numbers: Sequence[str], changes: Sequence[LabelChange]) -> Newest:
        """Return these rounds alone, with the labels that they have in common."""
        rounds = tuple(each for each in self.rounds if each.round in numbers)
        used = {each.round: each.used for each in rounds}
        return replace(self, rounds=rounds, sets=label_sets(self.sets.known, changes, used))

    def _joined(self, parts: Sequence[pd.DataFrame], column: str, table: str) -> pd.DataFrame:
        import pandas as pd

        filled = [part for part in parts if len(part)]
        if not filled:
            return tables.empty(table)
        joined = self.sets.in_common(pd.concat(filled, ignore_index=True), column)
        return joined.drop(columns=LABEL_SET)


def newest(rounds: Sequence[RoundFolder], changes: Sequence[LabelChange]) -> Newest:
    """Return the newest answers of those of these main rounds that count; `rounds` are all of them."""
    stance = [round_ for round_ in rounds if not round_.pilot]
    later = later_rounds(rounds)
    if not stance:
        return Newest((), *scheme_of_rounds(rounds, changes), tuple(rounds), tuple(later))
    main = {round_.number for round_ in stance}
    known = [*map(own_set, stance), *map(_set_of, later)]
    known.sort(key=lambda each: (each.since, each.round in main))
    answers = [_answers(round_, later, known, changes) for round_ in stance]
    used = {each.round: each.used for each in answers}
    sets = replace(label_sets(known, changes, used), again=tuple(_told(answers, later)))
    last = next(round_ for round_ in (*stance, *later) if round_.number == sets.sets[-1].round)
    return Newest(tuple(answers), sets, sets.scheme(last.scheme), tuple(rounds), tuple(later))


def scheme_of_rounds(
    rounds: Sequence[RoundFolder], changes: Sequence[LabelChange]
) -> tuple[LabelSets, Labels]:
    """Return the label sets of these main rounds (of pilots, if there are no others), and [labels] in common."""
    stance = [round_ for round_ in rounds if not round_.pilot]
    if stance and later_rounds(rounds):
        now = newest(rounds, changes)
        return now.sets, now.scheme
    sets = sets_of_rounds(rounds, changes)
    last = (stance or list(rounds))[-1:]
    return sets, sets.scheme(last[0].scheme) if last else Labels()


def later_rounds(rounds: Sequence[RoundFolder]) -> list[RoundFolder]:
    """Return the sealed relabelling rounds of the study of these main rounds."""
    if not rounds:
        return []
    every = rounds_of_kind(rounds[0].folder.parent, RoundKind.RELABEL)
    return [round_ for round_ in every if round_.sealed]


def _set_of(round_: RoundFolder) -> LabelSet:
    """Return a relabelling round's labels: those that the next main round would have had."""
    scheme = round_.scheme
    return LabelSet(round_.number, int(round_.about.since or 1), scheme.values, scheme.changes)


def _told(answers: Sequence[Answers], later: Sequence[RoundFolder]) -> list[str]:
    """Return which posts were labelled again, and the seals, as sentences."""
    told = []
    for round_ in later:
        posts = [
            f"{counted(each.again[round_.number], 'posts')} of round {each.round}"
            for each in answers
            if round_.number in each.again
        ]
        seal = str((round_.seal() or {}).get("seal", ""))
        if posts:
            told.append(
                f"{', '.join(posts)} were labelled again in {round_.number} (seal {seal}), which counts."
            )
    return told


def _answers(
    round_: RoundFolder,
    later: Sequence[RoundFolder],
    known: Sequence[LabelSet],
    changes: Sequence[LabelChange],
) -> Answers:
    """Return a round's answers, with those of later labellings of its posts in place of the old ones."""
    parts = (round_.items(), round_.labels(), decisions_of(round_))
    items, labels, decisions = (part.assign(**{LABEL_SET: round_.number}) for part in parts)
    answers = Answers(round_.number, items, labels, decisions, {})
    for again in later:
        answers = _with_whole(_with_posts(answers, again), again, known, changes)
    return answers


def _with_posts(answers: Answers, again: RoundFolder) -> Answers:
    """Replace the answers on the posts that this relabelling round has."""
    import pandas as pd

    mine = set(answers.items["item_id"]) & set(again.items()["item_id"])
    if not mine:
        return answers
    old = answers.decisions[answers.decisions["item_id"].isin(mine)]
    audited = set(old.loc[old["how"] == LabelSource.AUDITED, "item_id"])
    labels, decided = (
        table[table["item_id"].isin(mine)].assign(round=answers.round, **{LABEL_SET: again.number})
        for table in (again.labels(), again.decisions())
    )
    decided = decided.assign(how=decided["how"].where(~decided["item_id"].isin(audited), LabelSource.AUDITED))
    return replace(
        answers,
        labels=pd.concat([answers.labels[~answers.labels["item_id"].isin(mine)], labels], ignore_index=True),
        decisions=pd.concat(
            [answers.decisions[~answers.decisions["item_id"].isin(mine)], decided], ignore_index=True
        ),
        again={**answers.again, again.number: len(mine)},
    )


def _with_whole(
    answers: Answers, again: RoundFolder, known: Sequence[LabelSet], changes: Sequence[LabelChange]
) -> Answers:
    """Count the whole round as labelled with these later labels, if each of its answers has one equivalent among them."""
    became = became_in(known, changes, again.number)
    became = {name: became[name] for name in answers.used if name in became}
    if not became or concerned_items(answers, became, again.scheme.values):
        return answers

    def now(rows: pd.DataFrame, column: str) -> pd.DataFrame:
        pairs = zip(rows[LABEL_SET], rows[column], strict=True)
        labels = [became.get(name, {}).get(label, (label,)) for name, label in pairs]
        first = [names[0] if names else "" for names in labels]
        return rows.assign(**{column: first, LABEL_SET: again.number})

    return replace(
        answers,
        items=now(answers.items, "automatic_label"),
        labels=now(answers.labels, "label"),
        decisions=now(answers.decisions, "label"),
    )


def concerned_items(
    answers: Answers, became: Mapping[str, Mapping[str, tuple[str, ...]]], labels: Sequence[str]
) -> dict[str, set[str]]:
    """Return the items that these later labels concern, by the old label; by the new one where it could not be given.

    `became` has, for each label set of the answers, what its labels became. An item is concerned if somebody gave it a
    label that became several or none.
    """
    given = present(answers.labels)
    given = given[given["status"] == Status.GIVEN]
    rule = answers.items[answers.items["automatic_label"] != ""]
    rows = [
        *zip(given[LABEL_SET], given["label"], given["item_id"], strict=True),
        *zip(
            answers.decisions[LABEL_SET],
            answers.decisions["label"],
            answers.decisions["item_id"],
            strict=True,
        ),
        *zip(rule[LABEL_SET], rule["automatic_label"], rule["item_id"], strict=True),
    ]
    concerned: dict[str, set[str]] = {}
    for name, label, item in rows:
        if name in became and len(became[name].get(label, (label,))) != 1:
            concerned.setdefault(label, set()).add(item)
    for name, of_labels in became.items():
        reached = {after for names in of_labels.values() for after in names}
        items = {item for each, _, item in rows if each == name}
        for label in labels:
            if label not in reached and items:
                concerned.setdefault(label, set()).update(items)
    return concerned
