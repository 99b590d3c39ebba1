"""Agreement along the way: by round, by claim, by kind; drift of a person; time per item; tests on a table."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from covmis_build.annotation.agreement import Judgements

    Array = NDArray[np.float64]


def by_round(rows: pd.DataFrame, classes: Sequence[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """Kappa of every round with its interval, and the warning that a round is too small to compare."""
    if "round" not in rows.columns:
        return [], []
    found = [{"round": str(name), **_kappa(part, classes)} for name, part in rows.groupby("round", sort=True)]
    errors = [one["se"] for one in found if one["se"]]
    if len(found) < 2 or not errors:
        return found, []
    apart = 1.96 * math.sqrt(2) * sum(errors) / len(errors)
    told = (
        f"Kappas of two single rounds must lie about {apart:.2f} apart before chance is an unlikely explanation; "
        "one round of 144 labels cannot tell 0.61 from 0.67."
    )
    return found, [told]


def _kappa(rows: pd.DataFrame, classes: Sequence[str]) -> dict[str, Any]:
    """The headline kappa of some rows: Cohen's for two people, Fleiss' for more."""
    from covmis_build.annotation.agreement import cohen, judgements, number, words
    from covmis_build.stats import coefficients as c

    judged = judgements(rows, classes)
    size = max(len(classes), 2)
    counts = c.label_counts(judged.codes, size)
    made: dict[str, Any] = {
        "items": len(judged.items),
        "items_with_two_labels": int((counts.sum(1) > 1).sum()),
        "value": None,
        "low": None,
        "high": None,
        "se": None,
    }
    sums = c.agreement_sums(counts)
    made["raw_agreement"] = number(sums[:, 1].sum() / sums[:, 0].sum()) if sums[:, 0].sum() else None
    if len(judged.people) == 2:
        made |= cohen(c.pair_tables(judged.codes[:, 0], judged.codes[:, 1], size).sum(0))
    elif len(judged.people) > 2:
        made["value"] = number(c.fleiss_kappa(sums.sum(0)))
        made["se"] = _jackknife(sums) if made["value"] is not None else None
        if made["se"]:
            half = 1.96 * made["se"]
            made |= {"low": max(made["value"] - half, -1.0), "high": min(made["value"] + half, 1.0)}
    return made | {"words": words(made["low"], made["high"])}


def _jackknife(sums: Array) -> float | None:
    """The standard error of Fleiss' kappa over items, leaving out one at a time."""
    import numpy as np

    from covmis_build.stats.coefficients import fleiss_kappa

    kept = sums[sums[:, 0] > 0]
    if len(kept) < 3:
        return None
    values = fleiss_kappa(kept.sum(0) - kept)
    if np.isnan(values).any():
        return None
    return float(np.sqrt((len(kept) - 1) / len(kept) * ((values - values.mean()) ** 2).sum()))


def homogeneity(rounds: Sequence[dict[str, Any]]) -> tuple[dict[str, Any] | None, list[str]]:
    """The test that all rounds have one kappa (Fleiss' chi-square over inverse variances), and its words."""
    from scipy.stats import chi2

    usable = [one for one in rounds if one["value"] is not None and one["se"]]
    if len(usable) < 2:
        return None, []
    weights = [1 / one["se"] ** 2 for one in usable]
    mean = sum(w * one["value"] for w, one in zip(weights, usable, strict=True)) / sum(weights)
    statistic = sum(w * (one["value"] - mean) ** 2 for w, one in zip(weights, usable, strict=True))
    p = float(chi2.sf(statistic, len(usable) - 1))
    found = {"statistic": statistic, "df": len(usable) - 1, "p": p, "common_kappa": mean}
    told = "differ more than chance explains" if p < 0.05 else "do not differ more than chance explains"
    return found, [
        f"The kappas of {len(usable)} rounds {told} (chi-square {statistic:.2f} on {len(usable) - 1}, p = {p:.3f})."
    ]


def by_group(rows: pd.DataFrame, classes: Sequence[str], column: str) -> list[dict[str, Any]]:
    """Agreement within each claim, or each kind of query: items, raw agreement, kappa."""
    if column not in rows.columns:
        return []
    names = ("items_with_two_labels", "raw_agreement", "value", "low", "high")
    found = []
    for name, part in rows.groupby(column, sort=True):
        numbers = _kappa(part, classes)
        found.append({column: str(name), **{one: numbers[one] for one in names}})
    return found


def drift(rows: pd.DataFrame, classes: Sequence[str]) -> list[dict[str, Any]]:
    """For each person and label: how much more often than the others on the same items, round by round.

    `p` tests whether that difference is the same in all rounds (chi-square over the rounds' paired differences);
    with several labels, the smallest p of a person is multiplied by their number.
    """
    if "round" not in rows.columns or rows["round"].nunique() < 2:
        return []
    found = []
    for who in sorted(rows["annotator"].unique()):
        for label in classes:
            course = [
                {"round": str(name), **_difference(part, who, label)}
                for name, part in rows.groupby("round", sort=True)
            ]
            found.append({"annotator": who, "label": label, "rounds": course, "p": _changed(course)})
    for who in {one["annotator"] for one in found}:
        own = [one for one in found if one["annotator"] == who and one["p"] is not None]
        for one in own:
            one["p"] = min(1.0, one["p"] * len(own))
    return found


def _difference(rows: pd.DataFrame, who: str, label: str) -> dict[str, Any]:
    """The mean difference, item by item, between this person and the others, and its standard error."""
    mine = rows[rows["annotator"] == who].set_index("item")["label"] == label
    others = (
        (rows.loc[rows["annotator"] != who, "label"] == label)
        .groupby(rows.loc[rows["annotator"] != who, "item"])
        .mean()
    )
    both = mine.index.intersection(others.index)
    if len(both) < 2:
        return {"items": len(both), "share": None, "difference": None, "se": None}
    apart = mine[both].astype(float) - others[both]
    return {
        "items": len(both),
        "share": float(mine[both].mean()),
        "difference": float(apart.mean()),
        "se": float(apart.std(ddof=1) / math.sqrt(len(both))),
    }


def _changed(course: Sequence[dict[str, Any]]) -> float | None:
    from scipy.stats import chi2

    usable = [one for one in course if one["se"]]
    if len(usable) < 2:
        return None
    weights = [1 / one["se"] ** 2 for one in usable]
    mean = sum(w * one["difference"] for w, one in zip(weights, usable, strict=True)) / sum(weights)
    statistic = sum(w * (one["difference"] - mean) ** 2 for w, one in zip(weights, usable, strict=True))
    return float(chi2.sf(statistic, len(usable) - 1))


def second_opinion(judged: Judgements) -> dict[str, Any] | None:
    """Dawid and Skene's model, as a check where three or more people labelled.

    How often each is estimated to be right, and the items where the model is surer of another label than most people's.
    """
    import numpy as np

    from covmis_build.stats.coefficients import label_counts
    from covmis_build.stats.dawid_skene import dawid_skene

    if len(judged.people) < 3 or len(judged.classes) < 2:
        return None
    counts = label_counts(judged.codes, len(judged.classes))
    fitted = dawid_skene(judged.codes, len(judged.classes))
    best = fitted.labels.argmax(1)
    most = counts.max(1)
    doubted = [
        {
            "item": judged.items[at],
            "label": judged.classes[best[at]],
            "probability": float(fitted.labels[at, best[at]]),
        }
        for at in np.flatnonzero((counts.sum(1) > 2) & (counts[np.arange(len(best)), best] < most))
    ]
    accuracy = [
        {"annotator": who, "estimated_accuracy": float(value)}
        for who, value in zip(judged.people, fitted.accuracy, strict=True)
    ]
    return {"annotators": accuracy, "against_most": doubted}


def time_per_item(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """For each person: how many of their labels are timed, and the quartiles of the seconds they took."""
    if "seconds" not in rows.columns:
        return []
    found = []
    for who, part in rows.groupby("annotator", sort=True):
        seconds = part["seconds"].dropna().astype(float)
        if len(seconds):
            low, middle, high = (float(one) for one in seconds.quantile([0.25, 0.5, 0.75]))
            found.append(
                {
                    "annotator": str(who),
                    "timed": len(seconds),
                    "median_seconds": middle,
                    "quarter_below": low,
                    "quarter_above": high,
                }
            )
    return found


def bowker(table: Array) -> dict[str, Any] | None:
    """Bowker's test of symmetry: do both people confuse the labels in the same way."""
    from scipy.stats import chi2

    cells = [
        (float(table[a, b]), float(table[b, a])) for a, b in itertools.combinations(range(len(table)), 2)
    ]
    met = [(one, other) for one, other in cells if one + other > 0]
    if not met:
        return None
    statistic = sum((one - other) ** 2 / (one + other) for one, other in met)
    return {"statistic": statistic, "df": len(met), "p": float(chi2.sf(statistic, len(met)))}


def stuart_maxwell(table: Array) -> dict[str, Any] | None:
    """Stuart and Maxwell's test: do both people use each label equally often."""
    import numpy as np
    from scipy.stats import chi2

    met = np.flatnonzero(table.sum(0) + table.sum(1) - 2 * np.diag(table) > 0)
    if len(met) < 2:
        return None
    cells = table[np.ix_(met, met)]
    apart = (cells.sum(1) - cells.sum(0))[:-1]
    spread = -(cells + cells.T)[:-1, :-1]
    np.fill_diagonal(spread, (cells.sum(1) + cells.sum(0) - 2 * np.diag(cells))[:-1])
    if np.linalg.matrix_rank(spread) < len(spread):
        return None
    statistic = float(apart @ np.linalg.solve(spread, apart))
    return {"statistic": statistic, "df": len(apart), "p": float(chi2.sf(statistic, len(apart)))}


def read_labels_file(path: Any) -> pd.DataFrame:
    """A CSV of labels (item, annotator, label, and maybe claim, round, kind, seconds, comment), for comparison."""
    import pandas as pd

    from covmis_build.annotation.sheets import read_rows

    rows = read_rows(path, ("item", "annotator", "label"))
    numbers = [int(row.pop("row")) - 2 for row in rows]
    frame = pd.DataFrame(rows, index=numbers, dtype=object)
    if "seconds" in frame.columns:
        try:
            frame["seconds"] = pd.to_numeric(frame["seconds"].replace("", None))
        except (ValueError, TypeError):
            raise InputError("seconds must be numbers", file=path) from None
    return frame
