"""The label sets of a study's rounds, and the labels that all of them have in common.

Each round keeps the labels that it was opened with. `[[labels.changes]]` says what became of a label between two rounds:
renamed, split, merged, or left out. Labels that became one another form a class; a round's label belongs to one class. The
classes are the finest labels that figures over several rounds can have. A label that was added later has its own class,
which earlier rounds could not give. A label that comes back under its name is the same label.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from covmis_build.errors import InputError, nearest
from covmis_build.options import LabelChange, Labels
from covmis_build.settings import toml

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

    from covmis_build.annotation.round_folder import RoundFolder


class _Label(NamedTuple):
    """A label of a round."""

    round: int
    name: str


@dataclass(frozen=True)
class LabelClass:
    """A label of figures over rounds, and which labels of each round belong to it. Rounds that could not give it are absent."""

    name: str
    members: Mapping[str, tuple[str, ...]]

    @property
    def rounds(self) -> tuple[str, ...]:
        """The rounds that could give it."""
        return tuple(self.members)


@dataclass(frozen=True)
class LabelSets:
    """The label sets of these rounds, in order."""

    own: Mapping[str, tuple[str, ...]]
    """Round → its labels."""
    classes: tuple[LabelClass, ...]
    """The labels in common, in the order of the newest round."""
    finer: tuple[LabelClass, ...]
    """Labels of the newest round that are only a part of their class, each with the rounds that could give exactly it."""
    unsaid: Mapping[str, tuple[str, ...]]
    """Round → its labels that are gone in the next one, without a line that says what they became."""

    @property
    def rounds(self) -> tuple[str, ...]:
        """The rounds."""
        return tuple(self.own)

    @property
    def names(self) -> tuple[str, ...]:
        """The labels in common."""
        return tuple(each.name for each in self.classes)

    @property
    def same(self) -> bool:
        """True if every round has the same labels."""
        return all(set(labels) == set(self.names) for labels in self.own.values())

    @property
    def later(self) -> tuple[LabelClass, ...]:
        """The labels that only some rounds could give: classes, and parts of classes."""
        return (*(each for each in self.classes if set(each.rounds) != set(self.rounds)), *self.finer)

    def common(self, round_: str, label: str) -> str:
        """Return the label in common for this label of a round; a label that is none of the round's stays as it is."""
        for each in self.classes:
            if label in each.members.get(round_, ()):
                return each.name
        return label

    def mapping(self, round_: str) -> dict[str, str]:
        """Return the label in common for each label of a round."""
        return {label: self.common(round_, label) for label in self.own[round_]}

    def of_any_round(self) -> dict[str, str]:
        """Return the label in common for any round's label; the newest round decides what a name means."""
        to_common = {name: name for name in self.names}
        for number in self.own:
            to_common |= self.mapping(number)
        return to_common

    def in_common(self, frame: pd.DataFrame, column: str = "label") -> pd.DataFrame:
        """Return this table, which has a column `round`, with the labels in common."""
        if self.same or frame.empty:
            return frame
        to_common = {number: self.mapping(number) for number in self.own}
        pairs = zip(frame["round"], frame[column], strict=True)
        return frame.assign(
            **{column: [to_common.get(number, {}).get(label, label) for number, label in pairs]}
        )

    def check_everywhere(self, label: str) -> None:
        """Refuse a label that not every round could give."""
        for each in self.later:
            if each.name == label:
                raise InputError(
                    f"the label '{label}' could be given in {self.in_words(each.rounds)} only",
                    remedy="Take a label of all rounds: "
                    + ", ".join(
                        name for name in self.names if name not in {later.name for later in self.later}
                    ),
                )

    def scheme(self, newest: Labels) -> Labels:
        """Return [labels] with the labels in common; `newest` are those of the newest round."""
        if self.same:
            return newest
        names, last = self.names, self.rounds[-1]
        to_common = self.mapping(last)
        order = tuple(dict.fromkeys(to_common[label] for label in newest.order))
        runs = sum(
            to_common[before] != to_common[after] for before, after in itertools.pairwise(newest.order)
        )
        poles = tuple(dict.fromkeys(to_common[label] for label in newest.poles))
        return Labels(
            values=names,
            order=order if set(order) == set(names) and runs == len(order) - 1 else (),
            poles=poles if len(poles) == len(newest.poles) else (),
            keys=tuple(str(at) for at in range(1, len(names) + 1)),
            sub_labels={label: subs for label, subs in newest.sub_labels.items() if label in names},
            automatic={kind: to_common[label] for kind, label in newest.automatic.items()},
            changes=newest.changes,
        )

    @property
    def notes(self) -> list[str]:
        """Return how the labels in common follow from the rounds' own, as sentences; none if all rounds have the same."""
        told = []
        for each in self.classes:
            rounds_of: dict[tuple[str, ...], list[str]] = {}
            for number, labels in each.members.items():
                rounds_of.setdefault(labels, []).append(number)
            told += [
                f"{each.name} = {' + '.join(labels)} in {self.in_words(numbers)}."
                for labels, numbers in rounds_of.items()
                if labels != (each.name,)
            ]
        told += [
            f"{each.name} could be given in {self.in_words(each.rounds)} only."
            for each in self.classes
            if set(each.rounds) != set(self.rounds)
        ]
        told += [
            f"What became of {', '.join(labels)} after round {number} is not said ([[labels.changes]]), so that it counts as "
            "left out."
            for number, labels in self.unsaid.items()
        ]
        return told

    def in_words(self, numbers: Iterable[str]) -> str:
        """Return these rounds as words: "round 001", "rounds 001 to 003", "rounds 002 and later".

        >>> sets = label_sets([(f"00{at}", ("a", "b")) for at in range(1, 6)], ())
        >>> sets.in_words(["002"]), sets.in_words(["001", "002"]), sets.in_words(["001", "003"])
        ('round 002', 'rounds 001 to 002', 'rounds 001, 003')
        >>> sets.in_words(["003", "004", "005"])
        'rounds 003 and later'
        """
        given = [number for number in self.rounds if number in set(numbers)]
        if len(given) == 1:
            return f"round {given[0]}"
        first, last = self.rounds.index(given[0]), self.rounds.index(given[-1])
        if last - first + 1 > len(given):
            return f"rounds {', '.join(given)}"
        if last + 1 == len(self.rounds) and first:
            return f"rounds {given[0]} and later"
        return f"rounds {given[0]} to {given[-1]}"


def sets_of_rounds(rounds: Sequence[RoundFolder], changes: Sequence[LabelChange]) -> LabelSets:
    """Return the label sets of the rounds that count (of pilots, if there are no others)."""
    counted = [round_ for round_ in rounds if not round_.pilot] or list(rounds)
    return label_sets([_own(round_) for round_ in counted], changes)


def _own(round_: RoundFolder) -> tuple[str, tuple[str, ...]]:
    return round_.number, round_.scheme.values  # noqa: PD011 - a setting


def label_sets(rounds: Sequence[tuple[str, Sequence[str]]], changes: Sequence[LabelChange]) -> LabelSets:
    """Combine these rounds' labels by what became of them. Changes after the last of them are not looked at.

    >>> split = [LabelChange(1, "neither", ("unclear", "unrelated"))]
    >>> sets = label_sets([("001", ("for", "neither")), ("002", ("for", "unclear", "unrelated"))], split)
    >>> sets.names, sets.common("002", "unclear"), [each.name for each in sets.finer]
    (('for', 'neither'), 'neither', ['unclear', 'unrelated'])
    >>> sets.notes
    ['neither = unclear + unrelated in round 002.']
    """
    became, unsaid = _became(rounds, changes)
    every = [_Label(at, name) for at, (_, names) in enumerate(rounds) for name in names]
    before: dict[_Label, list[_Label]] = {label: [] for label in every}
    for label, after in became.items():
        for each in after:
            before[each].append(label)
    classes = _groups(every, [(label, each) for label, after in became.items() for each in after])
    exact = _groups(
        every,
        [
            (label, after[0])
            for label, after in became.items()
            if len(after) == 1 and before[after[0]] == [label]
        ],
    )
    numbers = [number for number, _ in rounds]
    last = len(rounds) - 1
    position = {name: at for at, name in enumerate(rounds[-1][1])} if rounds else {}

    def place(group: Sequence[_Label]) -> tuple[int, int]:
        """The place in the newest round; labels that it does not have come after."""
        newest = [position[label.name] for label in group if label.round == last]
        return (min(newest), 0) if newest else (len(position), every.index(group[0]))

    classes.sort(key=place)
    names = _names(classes, numbers)
    parts = {
        label
        for group in classes
        if len(newest := [label for label in group if label.round == last]) > 1
        for label in newest
    }
    finer = [group for group in exact if group[-1] in parts]
    return LabelSets(
        {number: tuple(own) for number, own in rounds},
        tuple(LabelClass(name, _members(group, numbers)) for name, group in zip(names, classes, strict=True)),
        tuple(LabelClass(_newest(group), _members(group, numbers)) for group in sorted(finer, key=place)),
        unsaid,
    )


def _became(
    rounds: Sequence[tuple[str, Sequence[str]]], changes: Sequence[LabelChange]
) -> tuple[dict[_Label, list[_Label]], dict[str, tuple[str, ...]]]:
    """Return what each label became in a later round, and the labels of which it is not said."""
    became: dict[_Label, list[_Label]] = {}
    unsaid: dict[str, tuple[str, ...]] = {}
    for at, ((number, names), (next_number, next_names)) in enumerate(itertools.pairwise(rounds)):
        now: dict[str, tuple[str, ...]] = {name: (name,) for name in names}
        steps = [step for step in changes if int(number) <= step.after_round < int(next_number)]
        told = set[str]()
        for after_round in sorted({step.after_round for step in steps}):
            to = {step.from_: step.to for step in steps if step.after_round == after_round}
            known = {name for after in now.values() for name in after}
            for label in to:
                if label not in known:
                    raise InputError(
                        f"[[labels.changes]] after round {after_round}: '{label}' was no label of round {number}",
                        file="study.toml",
                        remedy=nearest(label, known),
                    )
            told |= {name for name, after in now.items() if not to.keys().isdisjoint(after)}
            now = {
                name: tuple(dict.fromkeys(new for each in after for new in to.get(each, (each,))))
                for name, after in now.items()
            }
        for name, after in now.items():
            strange = [each for each in after if each not in next_names]
            if strange and name in told:
                raise InputError(
                    f"[[labels.changes]]: '{strange[0]}', which '{name}' of round {number} became, is no label of round "
                    f"{next_number}",
                    file="study.toml",
                    remedy=nearest(strange[0], next_names),
                )
            if strange:
                unsaid[number] = (*unsaid.get(number, ()), name)
            became[_Label(at, name)] = [_Label(at + 1, each) for each in after if each in next_names]
    _link_returned(rounds, became)
    return became, unsaid


def _link_returned(rounds: Sequence[tuple[str, Sequence[str]]], became: dict[_Label, list[_Label]]) -> None:
    """Add that a label which comes back under its name, after rounds without it, is the same label."""
    reached = {each for after in became.values() for each in after}
    for at, (_, names) in enumerate(rounds):
        for name in names:
            label = _Label(at, name)
            ended = [
                _Label(earlier, name)
                for earlier in range(at - 1)
                if name in rounds[earlier][1] and not became[_Label(earlier, name)]
            ]
            if at and label not in reached and ended:
                became[ended[-1]] = [label]


def _groups(labels: Sequence[_Label], pairs: Iterable[tuple[_Label, _Label]]) -> list[list[_Label]]:
    """Return the labels in groups: what a chain of pairs connects is in one group."""
    group_of = {label: [label] for label in labels}
    for first, second in pairs:
        joined, added = group_of[first], group_of[second]
        if joined is not added:
            joined += added
            for label in added:
                group_of[label] = joined
    return [sorted(group) for group in {id(group): group for group in group_of.values()}.values()]


def _members(group: Sequence[_Label], numbers: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the group's labels by round."""
    rounds = sorted({label.round for label in group})
    return {numbers[at]: tuple(label.name for label in group if label.round == at) for at in rounds}


def _newest(group: Sequence[_Label]) -> str:
    return group[-1].name


def _names(classes: Sequence[Sequence[_Label]], numbers: Sequence[str]) -> list[str]:
    """Name each class: its newest name as a single label, unless that is also the name of a part; else its parts."""
    names: list[str] = []
    for group in classes:
        members = _members(group, numbers)
        parts = {name for labels in members.values() if len(labels) > 1 for name in labels}
        single = [labels[0] for labels in members.values() if len(labels) == 1 and labels[0] not in parts]
        name = single[-1] if single else " + ".join(members[list(members)[-1]])
        while name in names:  # a name that another label had earlier
            name = f"{name} (until round {list(members)[-1]})"
        names.append(name)
    return names


def _until_today(rounds: Sequence[RoundFolder], labels: Labels) -> list[tuple[str, tuple[str, ...]]]:
    """Return the label sets of the rounds that count, and that of a round that is opened now."""
    counted = [_own(round_) for round_ in rounds if not round_.pilot]
    return [*counted, (f"{int(rounds[-1].number) + 1:03d}", labels.values)]  # noqa: PD011 - a setting


def became_today(rounds: Sequence[RoundFolder], labels: Labels) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return for each round that counts, and each of its labels, which of today's labels it became."""
    own = _until_today(rounds, labels)
    became, _ = _became(own, labels.changes)

    def now(label: _Label) -> tuple[str, ...]:
        if label.round == len(own) - 1:
            return (label.name,)
        return tuple(dict.fromkeys(name for after in became.get(label, ()) for name in now(after)))

    return {
        number: {name: now(_Label(at, name)) for name in names} for at, (number, names) in enumerate(own[:-1])
    }


def in_todays_labels(gold: pd.DataFrame, rounds: Sequence[RoundFolder], labels: Labels) -> pd.DataFrame:
    """Return the rows of the table `gold` whose label became exactly one of today's, with that label."""
    if gold.empty:
        return gold
    became = became_today(rounds, labels)
    now = [became[number].get(label, ()) for number, label in zip(gold["round"], gold["label"], strict=True)]
    kept = gold[[len(names) == 1 for names in now]]
    return kept.assign(label=[names[0] for names in now if len(names) == 1])


def check_meaning(rounds: Sequence[RoundFolder], labels: Labels) -> None:
    """Refuse to open a round if a label of the last round is gone and [[labels.changes]] does not say what it became."""
    counted = [round_ for round_ in rounds if not round_.pilot]
    if not counted:
        return
    own = _until_today(rounds, labels)
    gone = label_sets(own, labels.changes).unsaid
    if not gone:
        return
    number, names = list(gone.items())[-1]
    at = [each for each, _ in own].index(number)
    new = tuple(label for label in own[at + 1][1] if label not in own[at][1])
    named = ", ".join(f"'{name}'" for name in names)
    likely = new if len(names) == 1 else ("?",)  # which became which, the names do not say
    told = [*labels.changes, *(LabelChange(int(number), name, likely) for name in names)]
    raise InputError(
        f"[labels] values lack {named}, which round {number} had"
        if number == counted[-1].number
        else f"it is not said what became of {named} after round {number}",
        file="study.toml",
        remedy=f"Say under [labels] what it became, such as: changes = {toml(told)}. One name in `to` is a label renamed, "
        f"several are a label split, [] is one left out; labels that are only new ({', '.join(new) or 'none'}) need no line",
    )
