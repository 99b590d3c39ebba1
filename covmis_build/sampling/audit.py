"""The audit of automatic labels: which of them people checked without knowing it, and how often these are wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from covmis_build.stats.intervals import between, effective, interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

AUTOMATIC, AUDITED = "automatic", "audited"
COLUMNS = ["automatic_label", "items", "audited", "errors", "rate", "low", "high"]


@dataclass(frozen=True, slots=True)
class Audit:
    """Which items were labelled automatically, and the labels of people for the audited ones."""

    groups: NDArray[np.object_]
    """Each item's automatic label; empty for items labelled only by people."""
    checked: NDArray[np.bool_]
    labels: NDArray[np.object_]
    weights: Floats
    probabilities: Floats
    fractions: Floats
    """Probability that the automatic label of a sampled item is audited."""

    def corrigible(self) -> list[str]:
        """The automatic labels with audited items."""
        return sorted(set(self.groups[self.checked]) - {""})

    def _share(self, y: Floats, here: NDArray[np.bool_], sizes: Floats) -> tuple[float, float, float]:
        """Return a weighted share among a group's audited items, its variance, and its effective size.

        The audit is a sampling phase: an audited item counts 1/(π·its own fraction), so that rounds with different fractions can
        be combined.
        """
        rows = here & self.checked
        w = (self.weights * sizes / self.fractions)[rows]
        share = float(np.sum(w * y[rows]) / w.sum())
        loose = (w / w.sum()) ** 2 * (1 - self.probabilities[rows] * self.fractions[rows])
        worth = float(1 / loose.sum()) if loose.sum() else np.inf
        return share, float(np.sum(loose * (y[rows] - share) ** 2)), worth

    def table(self, *, level: float = 0.95) -> pd.DataFrame:
        """Return the number of automatic labels, the number audited, and the error rate with its interval."""
        rows = []
        for group in sorted(set(self.groups) - {""}):
            here = self.groups == group
            rows_checked = here & self.checked
            wrong = (self.labels != group).astype(float)
            rate = low = high = np.nan
            if rows_checked.any():
                rate, variance, worth = self._share(wrong, here, np.ones(len(wrong)))
                pull = np.sqrt(1 - self.probabilities * self.fractions) * self.weights / self.fractions
                low, high = interval(rate, variance, worth, effective(pull[rows_checked]) - 1, level=level)
            rows.append(
                {
                    "automatic_label": group,
                    "items": int(here.sum()),
                    "audited": int(rows_checked.sum()),
                    "errors": int(wrong[rows_checked].sum()),
                    "rate": rate,
                    "low": low,
                    "high": high,
                }
            )
        return pd.DataFrame(rows, columns=COLUMNS)


def audit_of(corpus: pd.DataFrame, automatic: Mapping[str, str], weights: Floats) -> Audit:
    """Return the audit contained in a corpus.

    An audited item's automatic label is in the column `automatic_label` if present; otherwise it is that of its kind, or the only
    one that `automatic` (kind to label) has.
    """
    by_rule = corpus["how"].isin([AUTOMATIC, AUDITED]).to_numpy()
    told = corpus.get("automatic_label", pd.Series(None, corpus.index, dtype=object))
    if told.notna().any():
        groups = told.fillna("").to_numpy(dtype=object)
    else:
        only = next(iter(automatic.values())) if len(set(automatic.values())) == 1 else ""
        groups = np.array([automatic.get(kind, only) for kind in corpus["kind"]], dtype=object)
    own = (corpus["how"] == AUTOMATIC).to_numpy()
    labels = corpus["label"].to_numpy(dtype=object)
    groups = np.where(own, labels, np.where(by_rule, groups, ""))
    checked = (corpus["how"] == AUDITED).to_numpy()
    known = np.array(corpus.get("p_audit", pd.Series(np.nan, corpus.index)), dtype=float)
    fractions = chances_of_checks(corpus, groups, known)
    return Audit(groups, checked, labels, weights, corpus["p_sample"].to_numpy(dtype=float), fractions)


def chances_of_checks(
    corpus: pd.DataFrame, rules: Sequence[str] | NDArray[np.object_], known: Floats
) -> Floats:
    """Return each item's probability of being audited; 1 without an automatic label.

    If that probability was not stored: the audited share.
    """
    groups, chances = np.asarray(rules, dtype=object), known.copy()
    checked = (corpus["how"] == AUDITED).to_numpy()
    chances[groups == ""] = 1.0
    for group in set(groups) - {""}:
        here = groups == group
        chances[here & ~(chances > 0)] = max(float(checked[here].mean()), 1 / here.sum())
    return chances


def planned_chances(
    number: int,
    divisions: Sequence[Sequence[Any] | NDArray[Any]],
    share: float,
    per_part: int,
    expected: Floats | None = None,
) -> Floats:
    """Return the probability of being checked of a `number` of automatic labels: `share`, or more so that small parts are checked, too.

    `divisions` are each label's claim, month …: each part has `per_part` checks in expectation, or all of its labels.
    `expected` is how many drawn labels each stands for, if the draw is still to come.

    >>> planned_chances(5, [["a", "a", "a", "a", "b"]], 0.25, 2).tolist()
    [0.5, 0.5, 0.5, 0.5, 1.0]
    """
    chances = np.full(number, share)
    for names in divisions if per_part else ():
        _, of = np.unique(np.asarray(names), return_inverse=True)
        sizes = np.bincount(of, expected)[of]
        chances = np.maximum(chances, per_part / np.maximum(sizes, per_part))
    return chances


def upper_bound(checked: float, *, level: float = 0.95) -> float:
    """Return the maximum error rate that is compatible with an audit without errors.

    >>> round(upper_bound(30), 3)
    0.114
    """
    return interval(0.0, 0.0, max(checked, 2.0), level=level)[1]


def sentences(table: pd.DataFrame, *, level: float = 0.95) -> Sequence[str]:
    """Describe the audit for a methods section."""
    said = []
    for row in table.to_dict("records"):
        head = f"{row['items']:,} labels were given automatically ({row['automatic_label']})"
        if not row["audited"]:
            said.append(f"{head}; none was checked, and the estimates take them for right.")
            continue
        said.append(
            f"{head}; people who could not tell them from others labelled {row['audited']:,} of them and disagreed "
            f"with {row['errors']:,}: an error rate of {row['rate']:.1%} ({_interval(row, level)}), which the estimates correct for."
        )
    return said


def _interval(row: Mapping[Any, Any], level: float) -> str:
    told = between(row["low"], row["high"], ".1%")
    return f"{level:.0%} interval over posts {told}" if told else "too few were checked for an interval"
