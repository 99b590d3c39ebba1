"""The agreement report, with the same numbers as HTML with figures, JSON, CSV and LaTeX.

Agreement excludes automatic labels, and the report says so. Audited ones are compared separately.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec import Struct, to_builtins

from covmis_build.annotation.adjudication import differing, with_one_label
from covmis_build.annotation.agreement import Agreement, agreement
from covmis_build.annotation.answers import Status, answered, as_said, is_unclear, present, stale, usable
from covmis_build.annotation.frozen_items import by_item, for_people
from covmis_build.annotation.machines import BesidePerson, beside_people
from covmis_build.errors import counted
from covmis_build.options import by_people
from covmis_build.records import independent
from covmis_build.report.result import Result
from covmis_build.stats.intervals import of_items
from covmis_build.stats.repeated_looks import wider_at_every_look
from covmis_build.text.shown import shown_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd
    from markupsafe import Markup

    from covmis_build.annotation.checks import Checked
    from covmis_build.annotation.next_decision import NextDecision
    from covmis_build.options import Labels, Target
    from covmis_build.records import Label
    from covmis_build.stats.agreement import Figure
    from covmis_build.text.shown import Parts


class Scope(Struct, frozen=True):
    """The scope of the numbers: included rounds and exclusions."""

    rounds: list[str]
    pilot: bool
    frozen_items: int
    automatic_items_left_out: int
    audited_items: int
    incomplete_items: int
    skipped: int
    unclear: int
    """How many of these, because the claim is unclear."""
    invalid: int
    labels_of_another_text: int

    @property
    def notes(self) -> list[str]:
        """Return the scope as sentences."""
        audited = f" ({self.audited_items} of these also given to the annotators as an audit)"
        by_rule = (
            f"Automatic labels are excluded: {self.automatic_items_left_out} of {self.frozen_items} frozen items have "
            f"one{audited if self.audited_items else ''}. Only the rule produced them, so they say nothing about agreement."
        )
        notes = [by_rule] if self.automatic_items_left_out else []
        if self.pilot:
            notes.append("This is a pilot round: it is excluded from gold labels and from the study's kappa.")
        for count, what in (
            (self.incomplete_items, "Items that an annotator has not labelled yet"),
            (self.skipped, "Skipped items"),
            (self.unclear, "Of these, skipped because the claim is unclear"),
            (self.invalid, "Answers to correct"),
            (
                self.labels_of_another_text,
                "Labels given to an altered text, and not used",
            ),
        ):
            if count:
                notes.append(f"{what}: {count}.")
        return notes


class Audit(Struct, frozen=True):
    """How often people contradict the automatic label, with Wilson's interval over posts.

    The unit is the post, because two labels of one post are not independent. A post's error is the share of its labels
    that contradict the rule.
    """

    items: int
    labels: int
    contradict: int
    posts: int
    error_rate: float | None = None
    low: float | None = None
    high: float | None = None


class SubLabelAgreement(Struct, frozen=True):
    """Agreement on the sub-labels of a label, over posts to which two people or more gave this label and a sub-label."""

    label: str
    posts: int
    raw: Figure
    kappa: Figure


@dataclass(frozen=True, slots=True)
class Findings:
    """The content of a report: agreement, related numbers, and all disagreements with their texts."""

    agreement: Agreement
    disagreements: tuple[Case, ...] = ()
    machines: tuple[BesidePerson, ...] = ()
    sub_labels: tuple[SubLabelAgreement, ...] = ()
    scope: Scope | None = None
    audit: Audit | None = None
    checks: Checked | None = None
    claims: Mapping[str, str] = field(default_factory=dict)
    """The claims' texts by their ids, for tables by claim."""
    label_sets: tuple[str, ...] = ()
    """How the labels of the included rounds differ, as sentences."""
    next_decision: NextDecision | None = None
    """What to decide before the next batch; None for files, and where a page does not show it."""

    @property
    def rounds(self) -> list[str]:
        """Return the included rounds."""
        return self.scope.rounds if self.scope else []

    @property
    def notes(self) -> list[str]:
        """Return the scope, and what is missing and why."""
        machines = sorted({row.machine for row in self.machines})
        return [
            *self.label_sets,
            *(self.scope.notes if self.scope else ()),
            *(MACHINE.format(machine) for machine in machines),
            *self.agreement.notes,
            *(self.checks.notes if self.checks else ()),
        ]

    @property
    def sentence(self) -> str:
        """Return the headline as text."""
        compared = self.agreement
        if not compared.items_with_two_labels:
            return "no post has labels of two annotators yet"
        raw = compared.raw.value
        return (
            f"{compared.kappa}; raw agreement {'not defined' if raw is None else f'{raw:.2f}'}; "
            f"{counted(compared.items_with_two_labels, 'posts')} with two labels"
            f"{' or more' if len(compared.annotators) > 2 else ''}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as in report.json and summary.json."""
        beside: dict[str, object] = {
            "machines": list(self.machines),
            "scope": self.scope,
            "audit": self.audit,
            "notes": self.notes,
        }
        if self.sub_labels:
            beside["sub_labels"] = list(self.sub_labels)
        if self.checks:
            beside["checks"] = self.checks
        if self.next_decision:
            beside["next_decision"] = self.next_decision
        return self.agreement.to_dict() | {name: to_builtins(value) for name, value in beside.items()}


MACHINE = "Model among the annotators: {}. Agreement is between people only, and no label is gold because of the model alone."


@dataclass(frozen=True, slots=True, repr=False)
class Report(Result):
    """Agreement in a round, and in all rounds except pilots. `.kappa` is the round's headline."""

    round: Findings
    all_rounds: Findings | None
    files: tuple[str, ...]
    target: Target | None = None
    guideline: str = ""
    """The round's guideline version and the changes since the previous round, as a sentence."""

    @property
    def kappa(self) -> Figure:
        """The round's headline coefficient."""
        return self.round.agreement.kappa

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the scope of the round's numbers, and what is missing and why."""
        return tuple(self.round.notes)

    @property
    def verdict(self) -> str:
        """Return whether the target is reached: in all rounds if there are several, else in this one. Empty without target."""
        return verdict((self.all_rounds or self.round).agreement, self.target)

    @property
    def summary(self) -> list[str]:
        """Return the agreement of the round and of all rounds, one sentence each, and the scope."""
        told = [f"Round {', '.join(self.round.rounds)}: {self.round.sentence}"]
        if self.all_rounds and self.all_rounds.rounds != self.round.rounds:
            told.append(f"All rounds: {self.all_rounds.sentence}")
            told += [f"- {note}" for note in self.all_rounds.label_sets]
        ahead = self.round.next_decision
        told += [*(ahead.sentences if ahead else [self.verdict]), self.guideline]
        told = [sentence for sentence in told if sentence]
        return [*told, *(f"- {note}" for note in self.notes), f"Written: {', '.join(self.files)}"]

    def to_frame(self) -> pd.DataFrame:
        """Return the round's coefficients, one per row."""
        return self.round.agreement.to_frame()

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers of both as in report.json and summary.json."""
        both = {"round": self.round, "all_rounds": self.all_rounds}
        numbers: dict[str, Any] = {name: findings.to_dict() for name, findings in both.items() if findings}
        return numbers | ({"target": {**asdict(self.target), "verdict": self.verdict}} if self.target else {})


def verdict(compared: Agreement, target: Target | None) -> str:
    """Return whether a target of [annotation] is reached, not reached or undecided; empty without target."""
    if not target:
        return ""
    figures = {
        "kappa": compared.kappa,
        "alpha": compared.alpha["nominal"],
        "ac1": compared.ac1,
        "raw": compared.raw,
    }
    return against(
        figures[target.coefficient],
        target.at_least,
        claims=compared.claims,
        posts=compared.items_with_two_labels,
    )


def against(figure: Figure, least: float, *, claims: int | None, posts: int) -> str:
    """Return whether this coefficient reaches the target; if undecided, how many claims or posts are needed.

    The report is looked at after each batch, so the interval is one that holds at every look: one for a single look says "stop"
    wrongly in a fifth of the studies at the target.

    >>> from covmis_build.stats.agreement import Figure
    >>> against(Figure("Cohen's kappa", 0.73, low_by_claims=0.6, high_by_claims=0.8), 0.67, claims=12, posts=90)
    "Target 0.67 cannot be decided yet: Cohen's kappa is 0.73 (0.50 to 0.85, an interval over claims that holds at every look). About 169 claims would be enough if the value stays the same."
    """
    value, interval = figure.value, figure.interval
    if value is None or interval is None:
        return f"Target {least:g} cannot be decided: {figure.why or 'there is no interval yet'}"
    wider = wider_at_every_look(posts)
    low, high = (
        max(-1.0, value - (value - interval.low) * wider),
        min(1.0, value + (interval.high - value) * wider),
    )
    told = f"{figure.name} is {value:.2f} ({low:.2f} to {high:.2f}, an interval over {interval.over} that holds at every look)"
    if low >= least:
        return f"Target {least:g} is reached: {told}. It asks for no more double labels."
    if high < least:
        return f"Target {least:g} is not reached: {told}. More posts alone will not change that."
    units, what = (claims, "claims") if interval.over == "claims" else (posts, "posts with two labels")
    reach = value - low if value > least else high - value
    more = (
        "The value is too close to the target for any practical number of claims: look at the disagreements."
    )
    if units and abs(value - least) >= 0.01:
        # An interval's width falls with the square root of the units: at this number it excludes the target.
        need = math.ceil(units * (reach / (value - least)) ** 2)
        more = f"About {need:,} {what} would be enough if the value stays the same."
    return f"Target {least:g} cannot be decided yet: {told}. {more}"


def findings(
    frozen: pd.DataFrame, labels: pd.DataFrame, scheme: Labels, per_item: int, *, brief: bool = False
) -> Findings:
    """Compare the independent labels of these frozen items. Pilot items are included only if all items are.

    `brief` leaves out what the board does not show.
    """
    counted = frozen if frozen["pilot"].all() else frozen[~frozen["pilot"].astype(bool)]
    given = comparison(counted[counted["automatic_label"] == ""], labels)
    people = for_people(counted)
    answers = answered(counted, labels)
    return Findings(
        agreement=agreement_of(counted, labels, scheme, brief=brief),
        disagreements=tuple(cases(counted, answers, per_item)),
        machines=tuple(beside_people(given, scheme.values)),
        sub_labels=() if brief else tuple(_of_sub_labels(by_people(given), scheme)),
        scope=Scope(
            rounds=sorted(counted["round"].unique().tolist()),
            pilot=bool(len(frozen) and frozen["pilot"].all()),
            frozen_items=len(counted),
            automatic_items_left_out=int((counted["automatic_label"] != "").sum()),
            audited_items=int((people["automatic_label"] != "").sum()),
            incomplete_items=sum(len(rows) < per_item for rows in answers.values()),
            skipped=sum(row.status == Status.SKIPPED for rows in answers.values() for row in rows),
            unclear=sum(is_unclear(row) for rows in answers.values() for row in rows),
            invalid=int((present(labels)["status"] == Status.INVALID).sum()),
            labels_of_another_text=len(stale(labels, frozen)),
        ),
        audit=None if brief else audit(counted, labels),
        claims=dict(zip(counted["claim_id"], counted["claim"], strict=True)),
    )


def agreement_of(
    frozen: pd.DataFrame, labels: pd.DataFrame, scheme: Labels, *, brief: bool = False
) -> Agreement:
    """Compute agreement on these items without automatic labels."""
    given = comparison(frozen[frozen["automatic_label"] == ""], labels)
    return agreement(by_people(given), labels=scheme.values, order=scheme.order or None, brief=brief)


def _of_sub_labels(given: pd.DataFrame, scheme: Labels) -> Iterable[SubLabelAgreement]:
    """Compare the sub-labels of each label, where people gave some."""
    for label, subs in scheme.sub_labels.items():
        rows = given[(given["label"] == label) & (given["sub_label"] != "")]
        compared = agreement(rows.assign(label=rows["sub_label"]), labels=subs, brief=True)
        if compared.items_with_two_labels:
            yield SubLabelAgreement(label, compared.items_with_two_labels, compared.raw, compared.kappa)


def comparison(frozen: pd.DataFrame, labels: pd.DataFrame) -> pd.DataFrame:
    """Return the usable independent labels of these items in the format of `agreement`."""
    current = independent(usable(labels, frozen))
    names = ["item_id", "claim_id", "kind", "round"]
    rows = current.drop(columns="round").merge(frozen[names], on="item_id")
    return rows.rename(columns={"item_id": "item", "claim_id": "claim"})[
        ["item", "annotator", "label", "sub_label", "claim", "round", "kind", "seconds", "comment"]
    ]


def audit(frozen: pd.DataFrame, labels: pd.DataFrame) -> Audit | None:
    """Audit these items' automatic labels; None if none was audited."""
    audited = frozen[(frozen["automatic_label"] != "") & frozen["audited"].astype(bool)]
    if audited.empty:
        return None
    given = by_people(comparison(audited, labels))
    automatic = given["item"].map(dict(zip(audited["item_id"], audited["automatic_label"], strict=True)))
    wrong = (given["label"] != automatic).astype(float)
    by_post = wrong.groupby(given["item"]).mean()
    counts = (len(audited), len(wrong), int(wrong.sum()), len(by_post))
    if not len(by_post):
        return Audit(*counts)
    errors = float(by_post.mean())
    return Audit(*counts, errors, *of_items(errors, len(by_post)))


def cases(frozen: pd.DataFrame, answers: Mapping[str, Sequence[Label]], per_item: int) -> Iterable[Case]:
    """Every disagreement: what was shown, and every annotator's label and comment. `answers` are those of `answered`."""
    wanted, alone = differing(answers, per_item), with_one_label(answers)
    rows = by_item(frozen[frozen["item_id"].isin(wanted)])
    for item in wanted:
        said = (
            Said(answer.annotator, as_said(answer), answer.sub_label, answer.comment)
            for answer in sorted(answers[item], key=lambda answer: answer.annotator)
        )
        yield Case(item, rows[item]["kind"], shown_parts(rows[item]), tuple(said), item in alone)


def as_json(numbers: Mapping[str, Any]) -> str:
    """Return the numbers as JSON, without texts of posts."""
    return json.dumps(numbers, ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False) + "\n"


def as_csv(report: Findings) -> bytes:
    """Return the coefficients and all disagreements as one CSV; a column names the part."""
    from covmis_build.storage import csv_bytes

    header = ("table", "name", "value", "low", "high", "low_by_claims", "high_by_claims", "remark")
    rows: list[Sequence[str]] = [
        (
            "coefficient",
            figure.name,
            _cell(figure.value),
            _cell(figure.low),
            _cell(figure.high),
            _cell(figure.low_by_claims),
            _cell(figure.high_by_claims),
            figure.why or figure.words,
        )
        for figure in report.agreement.figures
    ]
    rows += [
        ("sub-labels", each.label, _cell(each.kappa.value), _cell(each.kappa.low), _cell(each.kappa.high),
         _cell(each.kappa.low_by_claims), _cell(each.kappa.high_by_claims), each.kappa.why or each.kappa.words)
        for each in report.sub_labels
    ]  # fmt: skip
    rows += [
        ("round", each.round, _cell(each.value), _cell(each.low), _cell(each.high), "", "", each.words)
        for each in report.agreement.rounds
    ]
    rows += [
        ("disagreement", case.item_id, said.label, "", "", "", "", f"{said.annotator}: {said.comment}")
        for case in report.disagreements
        for said in case.said
    ]
    return csv_bytes(header, rows)


def _cell(value: float | None) -> str:
    return "" if value is None else repr(float(value))


def as_latex(compared: Agreement, *, study: str) -> str:
    """Return the coefficients as a LaTeX table."""
    import pandas as pd

    from covmis_build.report.page import table_latex

    columns = ["Coefficient", "Value", "95% CI (items)", "95% CI (claims)"]
    rows = pd.DataFrame([row[:4] for row in compared.printed], columns=columns)
    caption = (
        f"Agreement in {study}: {compared.items_with_two_labels} items labelled by two or more of "
        f"{len(compared.annotators)} annotators; automatic labels excluded."
    )
    return table_latex(rows, caption=caption, label="tab:agreement")


@dataclass(frozen=True, slots=True)
class Said:
    """One annotator's label of the post, with comment."""

    annotator: str
    label: str
    sub_label: str
    comment: str


@dataclass(frozen=True, slots=True)
class Case:
    """A post with all its labels."""

    item_id: str
    kind: str
    parts: Parts
    said: tuple[Said, ...]
    alone: bool = False
    """Whether only one person gave a label."""


def cases_html(cases: Sequence[Case]) -> Markup:
    """Return the cases as HTML."""
    from markupsafe import Markup

    from covmis_build.report.page import render

    return Markup(render("disagreements.html", rows=cases))  # noqa: S704 - the template escapes
