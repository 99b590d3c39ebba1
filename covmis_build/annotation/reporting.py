"""The agreement report: the same numbers as HTML with figures, JSON, CSV and LaTeX.

Automatic labels are excluded from agreement, and the report says so; the audited ones are compared apart.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from covmis_build.annotation.adjudication import answered, disagreements
from covmis_build.annotation.agreement import agreement
from covmis_build.annotation.answers import present, stale, usable
from covmis_build.annotation.rounds import for_people, rows_of, shown_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

    from covmis_build.options import Labels


@dataclass(frozen=True, slots=True)
class Findings:
    """What a report says: numbers ready for JSON, and every disagreement with texts and comments."""

    numbers: dict[str, Any]
    disagreements: tuple[dict[str, Any], ...]


def findings(
    frozen: pd.DataFrame, labels: pd.DataFrame, scheme: Labels, per_item: int, *, seed: int
) -> Findings:
    """Compare the independent labels of these frozen items; pilot items only if all of them are."""
    counted = frozen if frozen["pilot"].all() else frozen[~frozen["pilot"].astype(bool)]
    manual = counted[counted["automatic_label"] == ""]
    found = agreement(comparison(manual, labels), scheme.values, scheme.order or None, seed)
    numbers = found.to_dict()
    people = for_people(counted)
    said = answered(counted, labels)
    numbers["scope"] = {
        "rounds": sorted(counted["round"].unique().tolist()),
        "pilot": bool(len(frozen) and frozen["pilot"].all()),
        "frozen_items": len(counted),
        "automatic_items_left_out": int((counted["automatic_label"] != "").sum()),
        "audited_items": int((people["automatic_label"] != "").sum()),
        "incomplete_items": sum(len(rows) < per_item for rows in said.values()),
        "skipped": sum(row["status"] == "skipped" for rows in said.values() for row in rows),
        "invalid": int((present(labels)["status"] == "invalid").sum()),
        "labels_of_another_text": len(stale(labels, frozen)),
    }
    numbers["audit"] = audit(counted, labels)
    numbers["notes"] = [*scope_notes(numbers["scope"]), *numbers["notes"]]
    return Findings(numbers, tuple(listed(counted, labels, per_item)))


def comparison(frozen: pd.DataFrame, labels: pd.DataFrame) -> pd.DataFrame:
    """The usable independent labels of these items, as `agreement` takes them."""
    current = usable(labels, frozen)
    current = current[(current["phase"] == "independent") & (current["status"] == "given")]
    names = ["item_id", "claim_id", "kind", "round"]
    rows = current.drop(columns="round").merge(frozen[names], on="item_id")
    return rows.rename(columns={"item_id": "item", "claim_id": "claim"})[
        ["item", "annotator", "label", "claim", "round", "kind", "seconds", "comment"]
    ]


def audit(frozen: pd.DataFrame, labels: pd.DataFrame) -> dict[str, Any] | None:
    """How often people contradict the automatic label, with Wilson's interval; None if nothing was audited."""
    from statsmodels.stats.proportion import proportion_confint

    audited = frozen[(frozen["automatic_label"] != "") & frozen["audited"].astype(bool)]
    if audited.empty:
        return None
    given = comparison(audited, labels)
    automatic = dict(zip(audited["item_id"], audited["automatic_label"], strict=True))
    wrong = [automatic[item] != label for item, label in zip(given["item"], given["label"], strict=True)]
    if not wrong:
        return {
            "items": len(audited),
            "labels": 0,
            "contradict": 0,
            "error_rate": None,
            "low": None,
            "high": None,
        }
    low, high = proportion_confint(sum(wrong), len(wrong), method="wilson")
    return {
        "items": len(audited), "labels": len(wrong), "contradict": sum(wrong),
        "error_rate": sum(wrong) / len(wrong), "low": float(low), "high": float(high),
    }  # fmt: skip


def scope_notes(scope: dict[str, Any]) -> list[str]:
    """What the numbers are about, in words."""
    by_rule = (
        f"Automatic labels are left out: {scope['automatic_items_left_out']} of {scope['frozen_items']} frozen items "
        "were labelled by rule, and nobody's agreement with a rule is agreement between people."
    )
    told = [by_rule]
    if scope["pilot"]:
        told.append("This is a pilot round: it counts neither for gold nor for the study's kappa.")
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
            told.append(f"{what}: {count}.")
    return told


def listed(frozen: pd.DataFrame, labels: pd.DataFrame, per_item: int) -> Iterable[dict[str, Any]]:
    """Every disagreement: what was shown, and everybody's label and comment."""
    said = answered(frozen, labels)
    rows = {row["item_id"]: row for row in rows_of(frozen)}
    for item in disagreements(frozen, labels, per_item):
        yield {
            "item_id": item,
            "round": rows[item]["round"],
            "kind": rows[item]["kind"],
            "parts": shown_parts(rows[item]),
            "said": [
                {
                    "annotator": one["annotator"],
                    "label": one["label"] or one["status"],
                    "sub_label": one["sub_label"],
                    "comment": one["comment"],
                }
                for one in sorted(said[item], key=lambda one: str(one["annotator"]))
            ],
        }


def as_json(numbers: dict[str, Any]) -> str:
    """The numbers as JSON, without any post's text."""
    return json.dumps(numbers, ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False) + "\n"


def coefficient_rows(numbers: dict[str, Any]) -> list[dict[str, Any]]:
    """The coefficients one below the other, in the order in which they are reported."""
    weighted = numbers["weighted_kappa"] or {}
    ordered = [
        numbers["kappa"], numbers["raw_agreement"], *weighted.values(), numbers["scott_pi"],
        numbers["fleiss_kappa"] if numbers["kappa"]["name"] != "Fleiss' kappa" else None,
        *numbers["alpha"].values(), numbers["ac1"], numbers["pabak"],
    ]  # fmt: skip
    return [one for one in ordered if one]


def as_csv(found: Findings) -> bytes:
    """The coefficients, then every disagreement, as one CSV with a column that says which is which."""
    from covmis_build.storage import csv_bytes

    header = ("table", "name", "value", "low", "high", "low_by_claims", "high_by_claims", "remark")
    rows: list[Sequence[Any]] = [
        ("coefficient", one["name"], *(_cell(one[name]) for name in header[2:7]), one["why"] or one["words"])
        for one in coefficient_rows(found.numbers)
    ]
    rows += [
        (
            "round",
            one["round"],
            _cell(one["value"]),
            _cell(one["low"]),
            _cell(one["high"]),
            "",
            "",
            one["words"],
        )
        for one in found.numbers["rounds"]
    ]
    for one in found.disagreements:
        for said in one["said"]:
            rows.append(
                (
                    "disagreement",
                    one["item_id"],
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
            "Coefficient": one["name"],
            "Value": one["value"],
            "95% CI (items)": between(one["low"], one["high"]),
            "95% CI (claims)": between(one["low_by_claims"], one["high_by_claims"]),
        }
        for one in coefficient_rows(numbers)
    ]
    caption = (
        f"Agreement in {study}: {numbers['items_with_two_labels']} items labelled by two or more of "
        f"{len(numbers['annotators'])} annotators; automatic labels excluded."
    )
    return table_latex(pd.DataFrame(rows), caption=caption, label="tab:agreement")


def between(low: float | None, high: float | None, digits: int = 3) -> str:
    """An interval as readers see it, empty if there is none."""
    return "" if low is None or high is None else f"{low:.{digits}f} to {high:.{digits}f}"


def best_interval(one: dict[str, Any]) -> tuple[float | None, float | None]:
    """The interval over claims, if there is one: posts about one claim are not independent of one another."""
    if one["low_by_claims"] is not None:
        return one["low_by_claims"], one["high_by_claims"]
    return one["low"], one["high"]
