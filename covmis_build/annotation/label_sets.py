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
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import pandas as pd

    from covmis_build.annotation.round_folder import RoundFolder


class LabelSet(NamedTuple):
    """The labels of a round. `since` is the number of the main round that has them, or that would have come next."""

    round: str
    since: int
    labels: tuple[str, ...]
    changes: tuple[LabelChange, ...] | None = None
    """In a relabelling round: what became of earlier labels, as study.toml said then. In main rounds today's is valid."""


class _Label(NamedTuple):
    """A label of the set at this place."""

    place: int
    name: str


@dataclass(frozen=True)
class LabelClass:
    """A label of figures over rounds."""

    name: str
    members: Mapping[str, tuple[str, ...]]
    """Round of a label set → its labels that belong to this one. Sets without such labels are absent."""
    rounds: tuple[str, ...]
    """The main rounds that could give it."""


@dataclass(frozen=True)
class LabelSets:
    """The label sets of these rounds, in order."""

    known: tuple[LabelSet, ...]
    """The sets of all rounds, in order."""
    used: Mapping[str, tuple[str, ...]]
    """Main round → the rounds whose label sets its answers have: its own, and those of a later labelling of its posts."""
    classes: tuple[LabelClass, ...]
    """The labels in common, in the order of the newest round."""
    finer: tuple[LabelClass, ...]
    """Labels of the newest round that are only a part of their class, each with the rounds that could give exactly it."""
    unsaid: Mapping[str, tuple[str, ...]]
    """Round → its labels that are gone in the next one, without a line that says what they became."""
    again: tuple[str, ...] = ()
    """Which posts were labelled again under later labels, as sentences."""

    @property
    def sets(self) -> tuple[LabelSet, ...]:
        """The sets that answers have, in order."""
        names = {name for sets in self.used.values() for name in sets}
        return tuple(each for each in self.known if each.round in names)

    @property
    def own(self) -> dict[str, tuple[str, ...]]:
        """Return the labels of each set that answers have, by its round."""
        return {each.round: each.labels for each in self.sets}

    @property
    def rounds(self) -> tuple[str, ...]:
        """The main rounds."""
        return tuple(self.used)

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
        """Return this table with the labels in common; its column `label_set`, or else `round`, names the labels' round."""
        if self.same or frame.empty:
            return frame
        to_common = {number: self.mapping(number) for number in self.own}
        pairs = zip(frame["label_set" if "label_set" in frame else "round"], frame[column], strict=True)
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
        names, last = self.names, list(self.own)[-1]
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
                rounds_of.setdefault(labels, []).extend(
                    round_ for round_, sets in self.used.items() if number in sets
                )
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
        return [*told, *self.again]

    def in_words(self, numbers: Iterable[str]) -> str:
        """Return these rounds as words: "round 001", "rounds 001 to 003", "rounds 002 and later".

        >>> sets = label_sets([LabelSet(f"00{at}", at, ("a", "b")) for at in range(1, 6)], ())
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
    """Return the label sets with which these rounds were opened: those that count (pilots, if there are no others)."""
    counted = [round_ for round_ in rounds if not round_.pilot] or list(rounds)
    return label_sets([own_set(round_) for round_ in counted], changes)


def own_set(round_: RoundFolder) -> LabelSet:
    """Return the labels that a main round was opened with."""
    return LabelSet(round_.number, int(round_.number), round_.scheme.values)


def label_sets(
    rounds: Sequence[LabelSet],
    changes: Sequence[LabelChange],
    used: Mapping[str, tuple[str, ...]] | None = None,
) -> LabelSets:
    """Combine these sets, which are in order, by what became of labels. Changes after the last of them are not looked at.

    >>> split = [LabelChange(1, "neither", ("unclear", "unrelated"))]
    >>> two = [LabelSet("001", 1, ("for", "neither")), LabelSet("002", 2, ("for", "unclear", "unrelated"))]
    >>> sets = label_sets(two, split)
    >>> sets.names, sets.common("002", "unclear"), [each.name for each in sets.finer]
    (('for', 'neither'), 'neither', ['unclear', 'unrelated'])
    >>> sets.notes
    ['neither = unclear + unrelated in round 002.']
    """
    used = {each.round: (each.round,) for each in rounds} if used is None else used
    names_used = {name for sets in used.values() for name in sets}
    became, unsaid = _became(rounds, changes)
    every = [
        _Label(at, name) for at, each in enumerate(rounds) if each.round in names_used for name in each.labels
    ]
    after = {
        label: [each for each in every if each in reached]
        for label in every
        for reached in [_reached(became, label)]
    }
    before: dict[_Label, list[_Label]] = {label: [] for label in every}
    for label, later in after.items():
        for each in later:
            before[each].append(label)
    classes = _groups(every, [(label, each) for label, later in after.items() for each in later])
    exact = _groups(
        every,
        [
            (label, nearest_after[0])
            for label, later in after.items()
            if len(nearest_after := _nearest(later, min)) == 1
            and _nearest(before[nearest_after[0]], max) == [label]
        ],
    )
    numbers = [each.round for each in rounds]
    last = max((label.place for label in every), default=-1)
    position = {name: at for at, name in enumerate(rounds[last].labels)} if every else {}

    def place(group: Sequence[_Label]) -> tuple[int, int]:
        """The place in the newest round; labels that it does not have come after."""
        newest = [position[label.name] for label in group if label.place == last]
        return (min(newest), 0) if newest else (len(position), every.index(group[0]))

    classes.sort(key=place)
    names = _names(classes, numbers)
    parts = {
        label
        for group in classes
        if len(newest := [label for label in group if label.place == last]) > 1
        for label in newest
    }
    finer = [group for group in exact if group[-1] in parts]

    def named(name: str, group: Sequence[_Label]) -> LabelClass:
        members = _members(group, numbers)
        able = tuple(number for number, sets in used.items() if set(sets) <= members.keys())
        return LabelClass(name, members, able)

    return LabelSets(
        tuple(rounds),
        used,
        tuple(named(name, group) for name, group in zip(names, classes, strict=True)),
        tuple(named(group[-1].name, group) for group in sorted(finer, key=place)),
        unsaid,
    )


def _nearest(labels: Sequence[_Label], which: Callable[[Iterable[int]], int]) -> list[_Label]:
    """Return those of these labels whose set is the first (`min`) or the last (`max`)."""
    if not labels:
        return []
    place = which([label.place for label in labels])
    return [label for label in labels if label.place == place]


def _reached(became: Mapping[_Label, Sequence[_Label]], label: _Label) -> set[_Label]:
    """Return the labels of later sets that a label became, step by step."""
    reached: set[_Label] = set()
    waiting = [label]
    while waiting:
        for each in became.get(waiting.pop(), ()):
            if each not in reached:
                reached.add(each)
                waiting.append(each)
    return reached


def _became(
    rounds: Sequence[LabelSet], changes: Sequence[LabelChange]
) -> tuple[dict[_Label, list[_Label]], dict[str, tuple[str, ...]]]:
    """Return what each label became in the next sets, and the labels of main rounds of which it is not said.

    A relabelling round follows the main round before it, by what was said then. A label of it that the next main round has
    is the same.
    """
    became: dict[_Label, list[_Label]] = {
        _Label(at, name): [] for at, each in enumerate(rounds) for name in each.labels
    }
    unsaid: dict[str, tuple[str, ...]] = {}
    main = [at for at, each in enumerate(rounds) if each.changes is None]
    for at, following in itertools.pairwise(main):
        steps, lacking = _step(rounds[at], rounds[following], changes)
        for name, after in steps.items():
            became[_Label(at, name)] += [_Label(following, each) for each in after]
        if lacking:
            unsaid[rounds[at].round] = lacking
    for at, each in enumerate(rounds):
        if each.changes is None:
            continue
        before = [place for place in main if rounds[place].since < each.since]
        if before:
            steps, _ = _step(rounds[before[-1]], each, each.changes)
            for name, after in steps.items():
                became[_Label(before[-1], name)] += [_Label(at, label) for label in after]
        for nearby in [place for place in main if rounds[place].since >= each.since][:1]:
            for name in set(each.labels).intersection(rounds[nearby].labels):
                became[_Label(at, name)].append(_Label(nearby, name))
    _link_returned(rounds, main, became)
    return became, unsaid


def _step(
    here: LabelSet, following: LabelSet, changes: Sequence[LabelChange]
) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Return what each label of a set became in the following one, and those of which it is not said."""
    now: dict[str, tuple[str, ...]] = {name: (name,) for name in here.labels}
    steps = [step for step in changes if here.since <= step.after_round < following.since]
    told = set[str]()
    for after_round in sorted({step.after_round for step in steps}):
        to = {step.from_: step.to for step in steps if step.after_round == after_round}
        known = {name for after in now.values() for name in after}
        for label in to:
            if label not in known:
                raise InputError(
                    f"[[labels.changes]] after round {after_round}: '{label}' was no label of round {here.round}",
                    file="study.toml",
                    remedy=nearest(label, known),
                )
        told |= {name for name, after in now.items() if not to.keys().isdisjoint(after)}
        now = {
            name: tuple(dict.fromkeys(new for each in after for new in to.get(each, (each,))))
            for name, after in now.items()
        }
    unsaid = []
    for name, after in now.items():
        strange = [each for each in after if each not in following.labels]
        if strange and name in told:
            raise InputError(
                f"[[labels.changes]]: '{strange[0]}', which '{name}' of round {here.round} became, is no label of round "
                f"{following.round}",
                file="study.toml",
                remedy=nearest(strange[0], following.labels),
            )
        unsaid += [name] if strange else []
    inside = {name: tuple(each for each in after if each in following.labels) for name, after in now.items()}
    return inside, tuple(unsaid)


def _link_returned(
    rounds: Sequence[LabelSet], main: Sequence[int], became: dict[_Label, list[_Label]]
) -> None:
    """Add that a label which comes back under its name, after rounds without it, is the same label."""
    reached = {each for label, after in became.items() if label.place in main for each in after}
    for turn, at in enumerate(main):
        for name in rounds[at].labels:
            ended = [
                _Label(earlier, name)
                for earlier in main[: max(turn - 1, 0)]
                if name in rounds[earlier].labels
                and not any(after.place in main for after in became[_Label(earlier, name)])
            ]
            if _Label(at, name) not in reached and ended:
                became[ended[-1]].append(_Label(at, name))


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
    rounds = sorted({label.place for label in group})
    return {numbers[at]: tuple(label.name for label in group if label.place == at) for at in rounds}


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


def _until_today(rounds: Sequence[RoundFolder], labels: Labels) -> list[LabelSet]:
    """Return the label sets of the rounds that count, and that of a round that is opened now."""
    counted = [own_set(round_) for round_ in rounds if not round_.pilot]
    following = int(rounds[-1].number) + 1
    return [*counted, LabelSet(f"{following:03d}", following, labels.values)]


def became_today(rounds: Sequence[RoundFolder], labels: Labels) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return for each round that counts, and each of its labels, which of today's labels it became."""
    sets = _until_today(rounds, labels)
    return became_in(sets, labels.changes, sets[-1].round)


def became_in(
    sets: Sequence[LabelSet], changes: Sequence[LabelChange], last: str
) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return for each of these sets before the one of the round `last`, and each of its labels, what it became there."""
    became, _ = _became(sets, changes)
    place = next(at for at, each in enumerate(sets) if each.round == last)

    def now(label: _Label) -> tuple[str, ...]:
        reached = _reached(became, label)
        return tuple(name for name in sets[place].labels if _Label(place, name) in reached)

    return {
        each.round: {name: now(_Label(at, name)) for name in each.labels}
        for at, each in enumerate(sets[:place])
    }


def in_todays_labels(gold: pd.DataFrame, rounds: Sequence[RoundFolder], labels: Labels) -> pd.DataFrame:
    """Return the rows of the table `gold` whose label became exactly one of today's, with that label."""
    if gold.empty:
        return gold
    became = became_today(rounds, labels)
    now = [became[number].get(label, ()) for number, label in zip(gold["round"], gold["label"], strict=True)]
    kept = gold[[len(names) == 1 for names in now]]
    return kept.assign(label=[names[0] for names in now if len(names) == 1])


class _Unexplained(NamedTuple):
    """Labels of a round that are gone in the next set, without a line that says what they became."""

    here: LabelSet
    following: LabelSet
    names: tuple[str, ...]
    today: bool
    """True if the next set is today's [labels] values, not a later round's."""

    @property
    def in_words(self) -> str:
        """Return what is not said."""
        named = ", ".join(f"'{name}'" for name in self.names)
        if self.today:
            return f"[labels] values lack {named}, which round {self.here.round} had"
        return f"it is not said what became of {named} after round {self.here.round}"


def _unexplained(rounds: Sequence[RoundFolder], labels: Labels) -> _Unexplained | None:
    """Return the last labels whose meaning for a round that is opened now is not known."""
    if all(round_.pilot for round_ in rounds):
        return None
    sets = _until_today(rounds, labels)
    gone = label_sets(sets, labels.changes).unsaid
    if not gone:
        return None
    number, names = list(gone.items())[-1]
    at = [each.round for each in sets].index(number)
    return _Unexplained(sets[at], sets[at + 1], names, at + 2 == len(sets))


def unknown_meaning(rounds: Sequence[RoundFolder], labels: Labels) -> list[str]:
    """Return a warning if study.toml has dropped a label of the rounds and does not say what became of it."""
    lost = _unexplained(rounds, labels)
    if lost is None or not lost.today:
        return []
    sentence = f"{lost.in_words}, and no [[labels.changes]] says what it became"
    return [f"{sentence}: figures keep the rounds' labels, and no round can be opened until it is said"]


def check_meaning(rounds: Sequence[RoundFolder], labels: Labels) -> None:
    """Refuse to open a round if a label of the last round is gone and [[labels.changes]] does not say what it became."""
    lost = _unexplained(rounds, labels)
    if lost is None:
        return
    here, following, names = lost.here, lost.following, lost.names
    new = tuple(label for label in following.labels if label not in here.labels)
    likely = new if len(names) == 1 else ("?",)  # which became which, the names do not say
    told = [*labels.changes, *(LabelChange(int(here.round), name, likely) for name in names)]
    raise InputError(
        lost.in_words,
        file="study.toml",
        remedy=f"Say under [labels] what it became, such as: changes = {toml(told)}. One name in `to` is a label renamed, "
        f"several are a label split, [] is one left out; labels that are only new ({', '.join(new) or 'none'}) need no line",
    )
