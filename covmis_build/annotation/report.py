"""The agreement report: the same numbers as HTML with figures, JSON, CSV and LaTeX.

Automatic labels are excluded from agreement, and the report says so; the audited ones are compared apart.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from covmis_build.annotation.adjudication import disagreements
from covmis_build.annotation.agreement import Figure, agreement, coefficient_rows, figures_frame
from covmis_build.annotation.answers import Phase, Status, answered, present, stale, usable
from covmis_build.annotation.frozen_items import for_people, rows_of
from covmis_build.annotation.machines import beside_people
from covmis_build.errors import counted
from covmis_build.options import by_people
from covmis_build.stats.intervals import agreement_interval
from covmis_build.text.shown import shown_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

    from covmis_build.options import Labels
    from covmis_build.stats.intervals import Interval


@dataclass(frozen=True, slots=True)
class Findings:
    """What a report says: numbers ready for JSON, and every disagreement with texts and comments."""

    numbers: dict[str, Any]
    disagreements: tuple[dict[str, Any], ...]

    @property
    def sentence(self) -> str:
        """The headline in words."""
        count = self.numbers["items_with_two_labels"]
        if not count:
            return "no post has labels of two people yet"
        raw = self.numbers["raw_agreement"]["value"]
        return (
            f"{Figure.of(self.numbers['kappa'])}; raw agreement {'not defined' if raw is None else f'{raw:.2f}'}; "
            f"{counted(count, 'posts')} with two labels{' or more' if len(self.numbers['annotators']) > 2 else ''}"
        )


@dataclass(frozen=True, slots=True)
class Report:
    """Agreement in a round, and over all rounds but pilots; `.kappa` is the round's headline."""

    round: Findings
    all_rounds: Findings | None
    files: tuple[str, ...]
    target: Mapping[str, Any] = field(default_factory=dict)
    guideline: str = ""
    """Under which guideline the round is labelled, and what changed since the round before, in a sentence."""

    @property
    def kappa(self) -> Figure:
        """The round's headline coefficient."""
        return Figure.of(self.round.numbers["kappa"])

    @property
    def notes(self) -> tuple[str, ...]:
        """What the round's numbers are about, and what is missing and why."""
        return tuple(self.round.numbers["notes"])

    @property
    def verdict(self) -> str:
        """Whether the target is reached: over all rounds where there are several, else in this one; empty without one."""
        findings = self.all_rounds or self.round
        return verdict(findings.numbers, self.target) if self.target else ""

    @property
    def sentences(self) -> tuple[str, ...]:
        """The round's agreement, and that of all rounds, a sentence each."""
        rounds = self.round.numbers["scope"]["rounds"]
        told = [f"Round {', '.join(rounds)}: {self.round.sentence}"]
        if self.all_rounds and self.all_rounds.numbers["scope"]["rounds"] != rounds:
            told.append(f"All rounds: {self.all_rounds.sentence}")
        return tuple(sentence for sentence in (*told, self.verdict, self.guideline) if sentence)

    def to_frame(self) -> pd.DataFrame:
        """The round's coefficients, one a row."""
        return figures_frame([Figure.of(figure) for figure in coefficient_rows(self.round.numbers)])

    def to_dict(self) -> dict[str, Any]:
        """All numbers of both, as report.json and summary.json have them."""
        both = {"round": self.round, "all_rounds": self.all_rounds}
        numbers = {name: findings.numbers for name, findings in both.items() if findings}
        return numbers | ({"target": {**self.target, "verdict": self.verdict}} if self.target else {})

    def _repr_html_(self) -> str:
        from html import escape

        told = "".join(f"<li>{escape(sentence)}</li>" for sentence in (*self.sentences, *self.notes))
        return f"<ul>{told}</ul>{self.to_frame().to_html(index=False, na_rep='')}"


OF_TARGET = {"kappa": ("kappa",), "alpha": ("alpha", "nominal"), "ac1": ("ac1",), "raw": ("raw_agreement",)}
"""Where the coefficient that a target names stands among the numbers."""


def verdict(numbers: Mapping[str, Any], target: Mapping[str, Any]) -> str:
    """Whether the target is reached, not reached, or cannot be told, and then how many claims would tell.

    >>> figure = {"name": "Cohen's kappa", "value": 0.73, "low_by_claims": 0.6, "high_by_claims": 0.8}
    >>> verdict({"kappa": figure, "claims": 12}, {"at_least": 0.67})
    "Target 0.67 cannot be told: Cohen's kappa is 0.73 (0.60 to 0.80, 95% interval over claims). About 57 claims would tell, if it stays as it is."
    """
    figure, least = numbers, float(target["at_least"])
    for key in OF_TARGET[target.get("coefficient", "kappa")]:
        figure = figure[key]
    value, interval = figure["value"], agreement_interval(figure)
    if value is None or interval is None:
        return f"Target {least:g} cannot be told: {figure.get('why') or 'there is no interval yet'}"
    told = f"{figure['name']} is {value:.2f} ({interval})"
    if interval.low >= least:
        return f"Target {least:g} is reached: {told}."
    if interval.high < least:
        return f"Target {least:g} is not reached: {told}."
    return f"Target {least:g} cannot be told: {told}. {_how_many(numbers, value, least, interval)}"


def _how_many(numbers: Mapping[str, Any], value: float, least: float, interval: Interval) -> str:
    """How many claims, or posts, would shrink the interval until it leaves the target out: its width falls with √n."""
    units = numbers["claims"] if interval.over == "claims" else numbers["items_with_two_labels"]
    reach = value - interval.low if value > least else interval.high - value
    if not units or abs(value - least) < 0.01:
        return "The value is so near that no number of claims would tell soon: look at the disagreements."
    need = math.ceil(units * (reach / (value - least)) ** 2)
    what = "claims" if interval.over == "claims" else "posts with two labels"
    return f"About {need:,} {what} would tell, if it stays as it is."


def findings(
    frozen: pd.DataFrame, labels: pd.DataFrame, scheme: Labels, per_item: int, *, seed: int
) -> Findings:
    """Compare the independent labels of these frozen items; pilot items only if all of them are."""
    counted = frozen if frozen["pilot"].all() else frozen[~frozen["pilot"].astype(bool)]
    manual = counted[counted["automatic_label"] == ""]
    given = comparison(manual, labels)
    compared = agreement(by_people(given), labels=scheme.values, order=scheme.order or None, seed=seed)
    numbers = compared.to_dict()
    numbers["machines"] = beside_people(given, scheme.values)
    people = for_people(counted)
    answers = answered(counted, labels)
    numbers["scope"] = {
        "rounds": sorted(counted["round"].unique().tolist()),
        "pilot": bool(len(frozen) and frozen["pilot"].all()),
        "frozen_items": len(counted),
        "automatic_items_left_out": int((counted["automatic_label"] != "").sum()),
        "audited_items": int((people["automatic_label"] != "").sum()),
        "incomplete_items": sum(len(rows) < per_item for rows in answers.values()),
        "skipped": sum(row["status"] == Status.SKIPPED for rows in answers.values() for row in rows),
        "invalid": int((present(labels)["status"] == Status.INVALID).sum()),
        "labels_of_another_text": len(stale(labels, frozen)),
    }
    numbers["audit"] = audit(counted, labels)
    numbers["notes"] = [
        *scope_notes(numbers["scope"]), *machine_notes(numbers["machines"]), *numbers["notes"],
    ]  # fmt: skip
    return Findings(numbers, tuple(listed(counted, labels, per_item)))


def comparison(frozen: pd.DataFrame, labels: pd.DataFrame) -> pd.DataFrame:
    """The usable independent labels of these items, as `agreement` takes them."""
    current = usable(labels, frozen)
    current = current[(current["phase"] == Phase.INDEPENDENT) & (current["status"] == Status.GIVEN)]
    names = ["item_id", "claim_id", "kind", "round"]
    rows = current.drop(columns="round").merge(frozen[names], on="item_id")
    return rows.rename(columns={"item_id": "item", "claim_id": "claim"})[
        ["item", "annotator", "label", "claim", "round", "kind", "seconds", "comment"]
    ]


def machine_notes(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the machines among the annotators are, in words."""
    told = (
        "Machine among the annotators: {}. Agreement is reported between people, without it, and no label is gold by it "
        "alone."
    )
    return [told.format(machine) for machine in sorted({str(row["machine"]) for row in rows})]


def audit(frozen: pd.DataFrame, labels: pd.DataFrame) -> dict[str, Any] | None:
    """How often people contradict the automatic label, with Wilson's interval over posts; None if nothing was audited.

    The unit is the post: two people's labels of it are not two posts. A post's error is the share of its labels that
    contradict the rule.
    """
    from statsmodels.stats.proportion import proportion_confint

    audited = frozen[(frozen["automatic_label"] != "") & frozen["audited"].astype(bool)]
    if audited.empty:
        return None
    given = by_people(comparison(audited, labels))
    automatic = given["item"].map(dict(zip(audited["item_id"], audited["automatic_label"], strict=True)))
    wrong = (given["label"] != automatic).astype(float)
    by_post = wrong.groupby(given["item"]).mean()
    told = {
        "items": len(audited),
        "labels": len(wrong),
        "contradict": int(wrong.sum()),
        "posts": len(by_post),
    }
    if not len(by_post):
        return {**told, "error_rate": None, "low": None, "high": None}
    low, high = proportion_confint(float(by_post.sum()), len(by_post), method="wilson")
    return {**told, "error_rate": float(by_post.mean()), "low": float(low), "high": float(high)}


def scope_notes(scope: dict[str, Any]) -> list[str]:
    """What the numbers are about, in words."""
    audited = scope["audited_items"]
    by_rule = (
        f"Automatic labels are left out: {scope['automatic_items_left_out']} of {scope['frozen_items']} frozen items "
        f"have a label by rule{f' ({audited} of them were given to people, too, as a check)' if audited else ''}, and "
        "nobody's agreement with a rule is agreement between people."
    )
    notes = [by_rule]
    if scope["pilot"]:
        notes.append("This is a pilot round: it counts neither for gold nor for the study's kappa.")
    for count, what in (
        (scope["incomplete_items"], "Items not yet labelled by everybody they were given to"),
        (scope["skipped"], "Answers that skip their item"),
        (scope["invalid"], "Answers that could not be used"),
        (
            scope["labels_of_another_text"],
            "Labels given to another text than the frozen one, and therefore not used",
        ),
    ):
        if count:
            notes.append(f"{what}: {count}.")
    return notes


def listed(frozen: pd.DataFrame, labels: pd.DataFrame, per_item: int) -> Iterable[dict[str, Any]]:
    """Every disagreement: what was shown, and everybody's label and comment."""
    answers = answered(frozen, labels)
    rows = {row["item_id"]: row for row in rows_of(frozen)}
    for item in disagreements(frozen, labels, per_item):
        yield {
            "item_id": item,
            "round": rows[item]["round"],
            "kind": rows[item]["kind"],
            "parts": shown_parts(rows[item]),
            "said": [
                {
                    "annotator": answer["annotator"],
                    "label": answer["label"] or answer["status"],
                    "sub_label": answer["sub_label"],
                    "comment": answer["comment"],
                }
                for answer in sorted(answers[item], key=lambda answer: str(answer["annotator"]))
            ],
        }


def as_json(numbers: dict[str, Any]) -> str:
    """The numbers as JSON, without any post's text."""
    return json.dumps(numbers, ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False) + "\n"


def as_csv(report: Findings) -> bytes:
    """The coefficients, then every disagreement, as one CSV with a column that says which is which."""
    from covmis_build.storage import csv_bytes

    header = ("table", "name", "value", "low", "high", "low_by_claims", "high_by_claims", "remark")
    rows: list[Sequence[Any]] = [
        ("coefficient", row["name"], *(_cell(row[name]) for name in header[2:7]), row["why"] or row["words"])
        for row in coefficient_rows(report.numbers)
    ]
    rows += [
        (
            "round",
            row["round"],
            _cell(row["value"]),
            _cell(row["low"]),
            _cell(row["high"]),
            "",
            "",
            row["words"],
        )
        for row in report.numbers["rounds"]
    ]
    for row in report.disagreements:
        for said in row["said"]:
            rows.append(
                (
                    "disagreement",
                    row["item_id"],
                    said["label"],
                    "",
                    "",
                    "",
                    "",
                    f"{said['annotator']}: {said['comment']}",
                )
            )
    return csv_bytes(header, rows)


def _cell(value: float | None) -> str:
    return "" if value is None else repr(float(value))


def as_latex(numbers: dict[str, Any], *, study: str) -> str:
    """The coefficients as a table for a paper."""
    import pandas as pd

    from covmis_build.report.page import table_latex

    rows = [
        {
            "Coefficient": figure["name"],
            "Value": figure["value"],
            "95% CI (items)": between(figure["low"], figure["high"]),
            "95% CI (claims)": between(figure["low_by_claims"], figure["high_by_claims"]),
        }
        for figure in coefficient_rows(numbers)
    ]
    caption = (
        f"Agreement in {study}: {numbers['items_with_two_labels']} items labelled by two or more of "
        f"{len(numbers['annotators'])} annotators; automatic labels excluded."
    )
    return table_latex(pd.DataFrame(rows), caption=caption, label="tab:agreement")


def between(low: float | None, high: float | None, digits: int = 3) -> str:
    """An interval as readers see it, empty if there is none."""
    return "" if low is None or high is None else f"{low:.{digits}f} to {high:.{digits}f}"
