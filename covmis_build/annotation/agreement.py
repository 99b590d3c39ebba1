"""How far people agree: every coefficient that readers ask for, with intervals, and words where there is no number.

`low` and `high` are the asymptotic interval over items; `low_by_claims` and `high_by_claims` resample whole claims,
which is what a statement about other claims needs. Two people: the headline is Cohen's kappa. Three or more: Fleiss'
kappa, with Cohen's for every pair.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from covmis_build.errors import InputError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Coefficient = Callable[[Array], Array]

LEVEL = 0.95
REPLICATES = 2000
LANDIS_KOCH = ((0.0, "poor"), (0.2, "slight"), (0.4, "fair"), (0.6, "moderate"), (0.8, "substantial"))


@dataclass(frozen=True, slots=True)
class Agreement:
    """All numbers of a comparison, as `to_dict` lays them out; `notes` says in words what is missing and why."""

    numbers: dict[str, Any]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON: undefined numbers are None, and `notes` says why."""
        return {**self.numbers, "notes": list(self.notes)}


@dataclass(frozen=True, slots=True)
class Judgements:
    """Labels as codes: a row an item, a column a person, -1 for no label."""

    codes: NDArray[np.int64]
    items: list[str]
    people: list[str]
    claims: list[str] | None
    classes: list[str]


def agreement(
    frame: pd.DataFrame, labels: Sequence[str] = (), order: Sequence[str] | None = None, seed: int = 0
) -> Agreement:
    """Compare people's labels: one row a label, with the columns item, annotator, label, and maybe claim and round.

    `labels` declares the scheme (default: the labels that occur); `order` declares them ordered, which adds weighted
    kappa and the ordinal and interval alphas. A row without a label is an item that this person has not labelled.

    >>> import pandas as pd
    >>> rows = [(str(i), who, label) for i, pair in enumerate(["aa", "ab", "bb", "bb"]) for who, label in zip("xy", pair)]
    >>> found = agreement(pd.DataFrame(rows, columns=["item", "annotator", "label"]), labels=["a", "b"]).to_dict()
    >>> found["kappa"]["name"], round(found["kappa"]["value"], 3)
    ("Cohen's kappa", 0.5)
    """
    from covmis_build.annotation import course

    rows = _checked(frame, labels or order or ())
    classes = list(order or labels) or sorted(rows["label"].unique())
    _check_scheme(classes, labels, order)
    judged = judgements(rows, classes)
    numbers, notes = coefficients(judged, ordered=bool(order), seed=seed)
    numbers["order"] = list(order) if order else None
    numbers["pairs"] = [pair(judged, *two) for two in itertools.combinations(range(len(judged.people)), 2)]
    numbers["rounds"], more = course.by_round(rows, classes)
    numbers["homogeneity"], words = course.homogeneity(numbers["rounds"])
    numbers["drift"] = course.drift(rows, classes)
    numbers["by_claim"] = course.by_group(rows, classes, "claim")
    numbers["by_kind"] = course.by_group(rows, classes, "kind")
    numbers["dawid_skene"] = course.second_opinion(judged)
    numbers["time"] = course.time_per_item(rows)
    return Agreement(numbers, (*notes, *more, *words))


def _checked(frame: pd.DataFrame, labels: Sequence[str]) -> pd.DataFrame:
    for name in ("item", "annotator", "label"):
        if name not in frame.columns:
            raise InputError(f"the column {name} is missing", remedy="Needed: item, annotator, label")
    rows = frame[frame["label"].notna() & (frame["label"].astype(str).str.strip() != "")].copy()
    rows[["item", "annotator", "label"]] = rows[["item", "annotator", "label"]].astype(str)
    unknown = sorted(set(rows["label"]) - set(labels)) if labels else []
    if unknown:
        row = rows.index[rows["label"] == unknown[0]][0]
        raise InputError(f"unknown label '{unknown[0]}'", row=_row(row), remedy=nearest(unknown[0], labels))
    twice = rows[rows.duplicated(["item", "annotator"])]
    if len(twice):
        one = twice.iloc[0]
        raise InputError(
            f"{one['annotator']} labels the item {one['item']} twice",
            row=_row(twice.index[0]),
            remedy="Keep one row for each item and annotator",
        )
    return rows.reset_index(drop=True)


def _row(index: Any) -> int | str:
    """The row as a file counts it, under its header."""
    return int(index) + 2 if isinstance(index, int) or hasattr(index, "item") else str(index)


def _check_scheme(classes: Sequence[str], labels: Sequence[str], order: Sequence[str] | None) -> None:
    if len(set(classes)) < len(classes):
        raise InputError("a label is declared twice")
    if order and labels and sorted(order) != sorted(labels):
        raise InputError("the order must name every label once", remedy=f"Labels: {', '.join(labels)}")


def judgements(rows: pd.DataFrame, classes: Sequence[str]) -> Judgements:
    """The rows as codes; the claim of an item is that of its first row."""
    import numpy as np

    items, people = sorted(rows["item"].unique()), sorted(rows["annotator"].unique())
    codes = np.full((len(items), len(people)), -1, dtype=np.int64)
    row_of, column_of = ({name: at for at, name in enumerate(names)} for names in (items, people))
    code_of = {label: at for at, label in enumerate(classes)}
    for item, who, label in zip(rows["item"], rows["annotator"], rows["label"], strict=True):
        codes[row_of[item], column_of[who]] = code_of[label]
    claims = None
    if "claim" in rows.columns and rows["claim"].notna().all() and len(rows):
        first = rows.drop_duplicates("item").set_index("item")["claim"]
        claims = [str(first[item]) for item in items]
    return Judgements(codes, items, people, claims, list(classes))


def coefficients(judged: Judgements, *, ordered: bool, seed: int = 0) -> tuple[dict[str, Any], list[str]]:
    """All coefficients of these judgements, and the words for those that are not defined."""
    from covmis_build.stats import coefficients as c

    classes = max(len(judged.classes), 2)
    counts = c.label_counts(judged.codes, classes)
    double = int((counts.sum(1) > 1).sum())
    why = _why_undefined(judged, counts, double)
    two = len(judged.people) == 2
    tables = c.pair_tables(judged.codes[:, 0], judged.codes[:, 1], classes) if two else None
    sums, pairs = c.agreement_sums(counts), c.coincidences(counts)

    def one(name: str, sums_of_items: Array, formula: Coefficient, **more: Any) -> dict[str, Any]:
        value = number(formula(sums_of_items.sum(0)))
        low, high = by_claims(judged, sums_of_items, formula, seed) if value is not None else (None, None)
        made = {"name": name, "value": value, "low": None, "high": None} | more
        return made | {
            "low_by_claims": low, "high_by_claims": high, "why": why if value is None else "",
            "words": words(low, high) or words(made["low"], made["high"]),
        }  # fmt: skip

    fleiss = one("Fleiss' kappa", sums, c.fleiss_kappa)
    found: dict[str, Any] = {
        "labels": judged.classes,
        "annotators": judged.people,
        "items": len(judged.items),
        "items_with_two_labels": double,
        "answers": int(counts.sum()),
        "claims": len(set(judged.claims)) if judged.claims else None,
        "kappa": one("Cohen's kappa", tables, c.cohen_kappa, **cohen(tables.sum(0))) if tables is not None else fleiss,
        "raw_agreement": one("Raw agreement", sums, _raw) | wilson(sums),
        "kappa_max": number(c.kappa_max(tables.sum(0))) if tables is not None else None,
        "weighted_kappa": None,
        "scott_pi": one("Scott's pi", tables, c.scott_pi) if tables is not None else None,
        "fleiss_kappa": fleiss,
        "alpha": {"nominal": one("Krippendorff's alpha, nominal", pairs, c.krippendorff_alpha)},
        "ac1": one("Gwet's AC1", sums, c.gwet_ac1, **_student(counts)),
        "pabak": one("PABAK", sums, c.pabak),
        "classes": per_class(judged, counts, tables),
    }  # fmt: skip
    if ordered:
        found["alpha"] |= {
            name: one(f"Krippendorff's alpha, {name}", pairs, _alpha(name))
            for name in ("ordinal", "interval")
        }
    if ordered and tables is not None:
        found["weighted_kappa"] = {
            name: one(f"Weighted kappa, {name}", tables, _weighted(name)) for name in ("linear", "quadratic")
        }
    return found, [why] if why else []


def _raw(sums: Array) -> Array:
    mean: Array = sums[..., 1] / sums[..., 0].clip(min=1e-300)
    return mean


def _alpha(distance: Any) -> Coefficient:
    from covmis_build.stats.coefficients import krippendorff_alpha

    return lambda table: krippendorff_alpha(table, distance)


def _weighted(weights: Any) -> Coefficient:
    from covmis_build.stats.coefficients import cohen_kappa

    return lambda table: cohen_kappa(table, weights)


def _why_undefined(judged: Judgements, counts: Array, double: int) -> str:
    """Why chance-corrected agreement has no number here; empty if it has one."""
    if not judged.items:
        return "There are no labels yet."
    if len(judged.people) < 2:
        return f"Only {judged.people[0]} has labelled; agreement needs two people."
    if not double:
        return "No item has labels of two people, so there is nothing to compare."
    used = [
        label for label, count in zip(judged.classes, counts[counts.sum(1) > 1].sum(0), strict=False) if count
    ]
    if len(used) == 1:
        return (
            f"Everybody gave the label {used[0]} to every item that two people labelled: they agree on all of them, "
            "and a correction for chance is not defined."
        )
    return ""


def cohen(table: Array) -> dict[str, Any]:
    """Cohen's kappa of a table with its asymptotic interval, by statsmodels."""
    import numpy as np
    from scipy.stats import norm
    from statsmodels.stats.inter_rater import cohens_kappa

    from covmis_build.stats.coefficients import cohen_kappa

    value = number(cohen_kappa(table))
    if value is None:
        return {"value": None, "se": None, "low": None, "high": None}
    with np.errstate(invalid="ignore", divide="ignore"):  # a variance of zero may come out below it
        found = cohens_kappa(table)
    variance = float(found.var_kappa)
    se = math.sqrt(variance) if variance > 1e-15 else 0.0
    half = norm.ppf(0.5 + LEVEL / 2) * se
    value = float(found.kappa)
    low, high = (max(value - half, -1.0), min(value + half, 1.0)) if se else (None, None)
    return {"value": value, "se": se, "low": low, "high": high}


def _student(counts: Array) -> dict[str, Any]:
    from scipy.stats import t

    from covmis_build.stats.coefficients import agreement_sums, gwet_ac1, gwet_standard_error

    se = number(gwet_standard_error(counts))
    value = number(gwet_ac1(agreement_sums(counts).sum(0)))
    if not se or value is None:
        return {"se": se}
    half = t.ppf(0.5 + LEVEL / 2, int((counts.sum(1) > 0).sum()) - 1) * se
    return {"se": se, "low": max(value - half, -1.0), "high": min(value + half, 1.0)}


def wilson(sums: Array) -> dict[str, Any]:
    """Wilson's interval for raw agreement; with more than two people, of the items' mean agreement."""
    from statsmodels.stats.proportion import proportion_confint

    items, agreeing = (float(one) for one in sums[:, :2].sum(0))
    if not items:
        return {"value": None}
    low, high = proportion_confint(agreeing, items, alpha=1 - LEVEL, method="wilson")
    return {"value": agreeing / items, "low": float(low), "high": float(high), "words": ""}


def by_claims(
    judged: Judgements, sums: Array, formula: Coefficient, seed: int
) -> tuple[float | None, float | None]:
    """The interval that resamples claims: percentiles, widened for few claims (Hesterberg's expansion).

    None if there are fewer than three claims, or if too many replicates are undefined.
    """
    import numpy as np
    from scipy.stats import norm, t

    from covmis_build.stats.bootstrap import draws

    names = sorted(set(judged.claims or ()))
    if len(names) < 3:
        return None, None
    place = {name: at for at, name in enumerate(names)}
    totals = np.zeros((len(names), *sums.shape[1:]))
    np.add.at(totals, [place[name] for name in judged.claims or ()], sums)
    flat = totals.reshape(len(names), -1)
    drawn = np.concatenate(list(draws(len(names), REPLICATES, seed))).astype(float)
    values = formula((drawn @ flat).reshape(-1, *totals.shape[1:]))
    values = values[~np.isnan(values)]
    if len(values) < 0.95 * REPLICATES:
        return None, None
    few = math.sqrt(len(names) / (len(names) - 1)) * t.ppf((1 - LEVEL) / 2, len(names) - 1)
    tail = float(norm.cdf(few))
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def per_class(judged: Judgements, counts: Array, tables: Array | None) -> list[dict[str, Any]]:
    """For each label: how often it was given, positive agreement, and its kappa against all other labels."""
    import numpy as np

    from covmis_build.stats import coefficients as c

    pairs = c.coincidences(counts).sum(0)
    shared = counts[counts.sum(1) > 1]
    found = []
    for at, label in enumerate(judged.classes):
        against_rest = np.stack([shared[:, at], shared.sum(1) - shared[:, at]], axis=1)
        own = {"label": label, "given": int(counts[:, at].sum())}
        own["positive_agreement"] = number(pairs[at, at] / pairs[at].sum()) if pairs[at].sum() else None
        if tables is None:
            own["kappa"] = number(c.fleiss_kappa(c.agreement_sums(against_rest).sum(0)))
            own |= {"prevalence_index": None, "bias_index": None}
        else:
            table = c.class_tables(tables.sum(0))[at]
            own["kappa"] = number(c.cohen_kappa(table))
            own["prevalence_index"] = number(c.prevalence_index(table))
            own["bias_index"] = number(c.bias_index(table))
        found.append(own)
    return found


def pair(judged: Judgements, first: int, second: int) -> dict[str, Any]:
    """Two people's table, their kappa, and the tests of its symmetry and of equal use of the labels."""
    from covmis_build.annotation import course
    from covmis_build.stats import coefficients as c

    classes = max(len(judged.classes), 2)
    table = c.pair_tables(judged.codes[:, first], judged.codes[:, second], classes).sum(0)
    return {
        "first": judged.people[first],
        "second": judged.people[second],
        "items": int(table.sum()),
        "raw_agreement": number(c.observed(table)),
        "kappa": cohen(table),
        "kappa_max": number(c.kappa_max(table)),
        "table": table[: len(judged.classes), : len(judged.classes)].astype(int).tolist(),
        "bowker": course.bowker(table),
        "stuart_maxwell": course.stuart_maxwell(table),
    }


def number(value: Any) -> float | None:
    """A plain number, or None where there is none."""
    plain = float(value)
    return plain if math.isfinite(plain) else None


def landis_koch(value: float) -> str:
    """Landis and Koch's word for a kappa.

    >>> landis_koch(0.67), landis_koch(-0.1), landis_koch(0.81)
    ('substantial', 'poor', 'almost perfect')
    """
    return next((word for limit, word in LANDIS_KOCH if value <= limit), "almost perfect")


def words(low: float | None, high: float | None) -> str:
    """Landis and Koch's words for both ends of an interval, never for the value alone.

    >>> words(0.53, 0.74), words(0.65, 0.7)
    ('moderate to substantial', 'substantial')
    """
    if low is None or high is None:
        return ""
    both = dict.fromkeys([landis_koch(low), landis_koch(high)])
    return " to ".join(both)
