"""List a round's disagreements without names, and record a decision on one of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from covmis_build.annotation import adjudication
from covmis_build.annotation import round_folder as record
from covmis_build.annotation.answers import Channel, Phase, Status, answered, labels_of, present
from covmis_build.annotation.final_labels import LabelSource
from covmis_build.annotation.frozen_items import by_item
from covmis_build.annotation.gold import decide_round, write_decisions
from covmis_build.errors import InputError, counted
from covmis_build.report.result import Result
from covmis_build.text.shown import shown_parts

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from covmis_build.annotation.adjudication import Version
    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.report.summary import Summary
    from covmis_build.text.shown import Parts


class State(StrEnum):
    """The next step of a disagreement."""

    TO_DISCUSS = "to discuss"
    FOR_ADJUDICATOR = "for the adjudicator"
    IN_CONFLICT = "in conflict"
    """Two leads decided it differently, neither knowing of the other."""
    DECIDED = "decided"


@dataclass(frozen=True, slots=True, repr=False)
class Disagreement(Result):
    """A post with different labels: what was shown, the labels as A, B, … in random order, and the decision."""

    round: str
    item_id: str
    parts: Parts
    versions: tuple[Version, ...]
    pair: str
    """The different labels in the scheme's order: "favor / neither"."""
    state: State
    label: str = ""
    how: str = ""
    reason: str = ""
    discussed: str = ""
    """The discussion's note."""
    by_adjudicator: bool = False
    """Whether the next decision is the adjudicator's."""
    alone: bool = False
    """Whether only one person gave a label, since the others skipped the post."""
    conflict: str = ""
    """The decisions that contradict each other, as a sentence."""

    @property
    def text(self) -> str:
        """Return what was shown, one line each: the claim, the post, and the quoted or answered post."""
        return "\n".join(f"{name}: {value}" for name, value in self.parts)

    @property
    def outcome(self) -> str:
        """Return the decided label, or the next step."""
        return self.label or self.state

    @property
    def summary(self) -> Summary:
        """Return the state as a sentence."""
        how = f" ({self.how})" if self.how else ""
        told = [f"Round {self.round}, {self.item_id}: {self.outcome}{how}."]
        return [*told, *([f"{self.conflict}."] if self.conflict else [])]

    def to_dict(self) -> dict[str, Any]:
        """Return what `covmis round adjudicate --json` prints, without texts."""
        return {
            "round": self.round,
            "item_id": self.item_id,
            "labels": [version.label for version in self.versions],
            "state": self.state,
            "label": self.label,
            "how": self.how,
            "reason": self.reason,
            "conflict": self.conflict,
        }


@dataclass(frozen=True, slots=True, repr=False)
class Disagreements(Result):
    """The disagreements of a round, undecided ones first."""

    round: str
    rows: tuple[Disagreement, ...]

    @property
    def waiting(self) -> tuple[Disagreement, ...]:
        """Return the undecided disagreements."""
        return tuple(row for row in self.rows if row.state != State.DECIDED)

    def of(self, item: str) -> Disagreement:
        """Return the disagreement about this item."""
        for row in self.rows:
            if row.item_id == item:
                return row
        raise InputError(
            f"'{item}' is not a disagreement of round {self.round}",
            remedy=f"`covmis round adjudicate --list --round {self.round}` lists them",
        )

    @property
    def summary(self) -> Summary:
        """Return the number of undecided ones, and one row each."""
        import pandas as pd

        single = sum(row.alone for row in self.rows)
        alone = adjudication.one_label_in_words(single)
        differ = counted(len(self.rows) - single, "disagreements")
        sentence = f"Round {self.round}: {differ}, {len(self.waiting)} to decide.{alone}"
        rows = [
            (row.item_id, row.pair, "one label" if row.how == LabelSource.SINGLE else row.state, row.label)
            for row in self.rows
        ]
        return [
            sentence,
            *([pd.DataFrame(rows, columns=["item", "labels", "state", "decision"])] if rows else []),
            *(f"{row.conflict}." for row in self.rows if row.conflict),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return what `covmis round adjudicate --list --json` prints."""
        return {"round": self.round, "disagreements": [row.to_dict() for row in self.rows]}


def disagreements_of(round_: RoundFolder, *, seed: int) -> Disagreements:
    """Return a round's disagreements, undecided ones first, without posts whose text was purged."""
    frozen, labels = round_.items(), round_.labels()
    items = by_item(frozen)
    conflicts = {conflict.item_id: str(conflict) for conflict in round_.conflicts()}
    differ = dict.fromkeys([*adjudication.disagreements(frozen, labels, round_.per_item), *conflicts])
    disputed = [item for item in differ if items[item]["salt"]]
    third = set(adjudication.undecided(frozen, labels, round_.per_item))
    gold = round_.decisions() if round_.sealed else decide_round(round_)
    decided = dict(zip(gold["item_id"], zip(gold["label"], gold["how"], strict=True), strict=True))
    current = present(labels)
    judged = current[(current["phase"] == Phase.ADJUDICATION) & (current["status"] == Status.GIVEN)]
    by_adjudicator = third | set(judged["item_id"])
    notes, reasons = adjudication.talked(labels), _reasons(current)
    order = {label: at for at, label in enumerate(round_.scheme.values)}
    alone = adjudication.with_one_label(answered(frozen, labels))
    disagreements = []
    for item, versions in adjudication.versions(frozen, labels, disputed, seed=seed).items():
        label, how = decided.get(item, ("", ""))
        given = sorted({version.label for version in versions}, key=lambda name: (order.get(name, 99), name))
        waits = State.FOR_ADJUDICATOR if item in third else State.TO_DISCUSS
        waits = State.IN_CONFLICT if item in conflicts else waits
        disagreements.append(
            Disagreement(
                round_.number,
                item,
                shown_parts(items[item]),
                tuple(versions),
                " / ".join(given),
                State.DECIDED if label else waits,
                label,
                how,
                reasons.get(item, ""),
                notes.get(item, ""),
                item in by_adjudicator,
                item in alone,
                conflicts.get(item, ""),
            )
        )
    order_of_states = (State.IN_CONFLICT, State.FOR_ADJUDICATOR, State.TO_DISCUSS, State.DECIDED)
    places = {state: at for at, state in enumerate(order_of_states)}
    disagreements.sort(key=lambda case: (places[case.state], items[case.item_id]["claim_id"], case.item_id))
    return Disagreements(round_.number, tuple(disagreements))


def _reasons(current: pd.DataFrame) -> dict[str, str]:
    """Return the reason for each decision; the adjudicator's takes precedence over the discussion's."""
    rows = [row for row in labels_of(current) if row.status == Status.GIVEN and row.reason]
    return {
        row.item_id: row.reason
        for phase in (Phase.DISCUSSION, Phase.ADJUDICATION)
        for row in rows
        if row.phase == phase
    }


def decide(
    round_: RoundFolder,
    case: Disagreement,
    written: Mapping[str, str],
    *,
    adjudicator: str,
    discuss: bool,
    now: str,
) -> None:
    """Record one decision, of the discussion or (if due or already given) of the adjudicator.

    `written` has the cells of a decision sheet: label, sub_label, error_class, reason, comment.
    """
    record.refuse_sealed(round_)
    item, frozen = case.item_id, by_item(round_.items())
    if not round_.takes(item):
        raise InputError(
            f"{item} is sealed: round {round_.number} was reopened for other posts",
            remedy="To change it, seal the round and use `covmis round reopen`",
        )
    third = case.by_adjudicator or not discuss
    phase = Phase.ADJUDICATION if third else Phase.DISCUSSION
    who = adjudicator if third else adjudication.TOGETHER
    answer, wrong = adjudication.decision(
        written, item, phase, who, frozen[item], round_.scheme, Channel.COVMIS
    )
    if wrong:
        raise InputError(f"{item}: {wrong}")
    record.add_labels(round_, [answer], now=now)
    write_decisions(round_)
