"""Every pair of systems compared: difference, interval, p-value, effect size, and a sentence that claims no more."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from covmis_build.errors import InputError, nearest
from covmis_build.evaluation.joining import Extra, Judged, Missing, grouping, in_any_order, judged
from covmis_build.evaluation.setting import Setting, setting
from covmis_build.evaluation.significance import (
    berg_kirkpatrick_p,
    bootstrap_p,
    every_draw,
    holm,
    randomisation_p,
    tukey_p,
    tukey_p_of_cells,
    welch,
)
from covmis_build.stats.bootstrap import bca_interval, percentile_interval, replicate_cells
from covmis_build.stats.confusion import cell_codes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from covmis_build.evaluation.measure import Policy

    Array = NDArray[np.float64]
    Codes = NDArray[np.int64]

Test = Literal["bootstrap", "randomisation", "tukey", "welch"]
TESTS: tuple[str, ...] = get_args(Test)
NAMES = {
    "bootstrap": "paired bootstrap",
    "randomisation": "paired randomisation",
    "tukey": "randomised Tukey HSD",
    "welch": "Welch's t-test over runs",
}


def compare(  # noqa: PLR0913 - every option is named
    gold: Any,
    systems: Mapping[str, Any],
    *,
    measure: str,
    labels: Sequence[str],
    test: Test = "bootstrap",
    clusters: Any = None,
    replicates: int = 2000,
    seed: int = 0,
    order: Sequence[str] | None = None,
    poles: Sequence[str] | None = None,
    class_weights: Mapping[str, float] | Sequence[float] | None = None,
    undefined: Policy = "zero",
    missing: Missing = "refuse",
    extra: Extra = "refuse",
    level: float = 0.95,
    interval: Literal["percentile", "bca"] = "percentile",
    exact: bool = False,
) -> pd.DataFrame:
    """Compare all pairs of systems in one measure: one row a pair.

    Columns: system_a, system_b, value_a, value_b, difference (a - b), low, high (of a paired bootstrap), p (two-sided),
    p_one_sided (Berg-Kirkpatrick's, of the bootstrap), p_adjusted (Holm's, over the pairs; `tukey` controls the error over all pairs itself), effect (the difference
    over the standard deviation of one unit's contribution to it), test, units, replicates, sentence. With
    `clusters`, whole claims are resampled, swapped or permuted. `exact` enumerates every arrangement instead of
    drawing, for very small data. `welch` compares runs (seeds) and says nothing about other items.

    >>> gold = ["a", "b"] * 20
    >>> found = compare(gold, {"right": gold, "always a": ["a"] * 40}, measure="accuracy", labels=["a", "b"])
    >>> found.loc[0, "difference"], bool(found.loc[0, "p"] < 0.01)
    (np.float64(0.5), True)
    """
    import pandas as pd

    if test not in TESTS:
        raise InputError(f"unknown test '{test}'", remedy=nearest(str(test), TESTS))
    if replicates < 1:
        raise InputError(f"replicates = {replicates}", remedy="Ask for at least one")
    of = judged(gold, systems, labels, missing, extra)
    if len(of.runs) < 2:
        raise InputError("there is one system", remedy="Give at least two to compare")
    chosen = setting(
        of.labels,
        names=[measure],
        order=order,
        poles=poles,
        class_weights=class_weights,
        undefined=undefined,
    )
    owners = None if clusters is None else grouping(clusters, of, "clusters")[0]
    data = _Data(of, chosen, owners)
    spread = data.replicates(replicates, seed, exact=exact and test == "bootstrap")
    names = list(of.runs)
    p_values, adjusted = _p_values(data, test, spread, replicates, seed, exact=exact)
    rows = []
    for at, (one, other) in enumerate(combinations(range(len(names)), 2)):
        difference = data.observed[one] - data.observed[other]
        differences = spread[:, one] - spread[:, other]
        if interval == "bca":
            jackknife = data.jackknife()
            low, high = bca_interval(
                differences, float(difference), jackknife[:, one] - jackknife[:, other], level
            )
        else:
            low, high = map(float, percentile_interval(differences, level))
        deviation = float(np.nanstd(differences)) * np.sqrt(data.units)
        rows.append(
            {
                "system_a": names[one],
                "system_b": names[other],
                "measure": measure,
                "value_a": float(data.observed[one]),
                "value_b": float(data.observed[other]),
                "difference": float(difference),
                "low": low,
                "high": high,
                "p": float(p_values[at]),
                "p_one_sided": berg_kirkpatrick_p(differences, float(difference), exact=exact)
                if test == "bootstrap"
                else np.nan,
                "p_adjusted": float(adjusted[at]),
                "effect": float(difference / deviation) if deviation > 0 else np.nan,
                "test": test,
                "units": data.units,
                "unit": _unit(clusters),
                "replicates": len(spread),
            }
        )
    frame = pd.DataFrame(rows)
    frame["sentence"] = [
        sentence(row, chosen.measures[0].title, chosen.measures[0].higher_is_better, level=level)
        for row in rows
    ]
    return frame


class _Data:
    """The judged systems as counts per unit, and one measure of them."""

    def __init__(self, of: Judged, chosen: Setting, owners: Codes | None) -> None:
        classes, columns = len(of.labels), len(of.labels) + of.unanswered
        self.shape, self.width = (classes, columns), classes * columns
        self.chosen, self.owners = chosen, owners
        self.systems = list(of.runs.values())
        cells = np.stack(
            [
                cell_codes(of.gold, run, classes, unanswered=of.unanswered)
                for runs in self.systems
                for run in runs
            ],
            axis=1,
        )
        self.cells = in_any_order(cells, owners)
        self.units = len(of.gold) if owners is None else int(owners.max()) + 1
        if self.units < 2:
            raise InputError("there is one item or cluster", remedy="A comparison needs at least two")
        totals = np.stack([np.bincount(one, minlength=self.width) for one in self.cells.T])
        self.each_run = self.value(totals.astype(np.float64))
        self.observed = self._over_runs(self.each_run)

    def value(self, counts: Array) -> Array:
        stack = counts.reshape(*counts.shape[:-1], *self.shape)
        return next(iter(self.chosen.values(stack).values()))

    def _over_runs(self, values: Array) -> Array:
        """(…, runs of all systems) as (…, systems): the mean of each system's runs."""
        ends = np.cumsum([len(runs) for runs in self.systems])[:-1]
        return np.stack([part.mean(axis=-1) for part in np.split(values, ends, axis=-1)], axis=-1)

    def parts(self) -> Array:
        """Counts per unit: (units, runs, width)."""
        owners = np.arange(len(self.cells)) if self.owners is None else self.owners
        parts = np.zeros((self.units, self.cells.shape[1], self.width))
        np.add.at(parts, (owners[:, None], np.arange(self.cells.shape[1])[None], self.cells), 1.0)
        return parts

    def replicates(self, number: int, seed: int, *, exact: bool) -> Array:
        if exact:
            counts = np.tensordot(every_draw(self.units), self.parts(), axes=1)
        else:
            counts = replicate_cells(self.cells, self.width, number, seed, self.owners)
        return self._over_runs(self.value(counts))

    def jackknife(self) -> Array:
        parts = self.parts()
        return self._over_runs(self.value(parts.sum(axis=0) - parts))


def _p_values(
    data: _Data, test: Test, spread: Array, replicates: int, seed: int, *, exact: bool
) -> tuple[Array, Array]:
    pairs = list(combinations(range(len(data.systems)), 2))
    if test == "bootstrap":
        found = np.array(
            [
                bootstrap_p(
                    spread[:, a] - spread[:, b], float(data.observed[a] - data.observed[b]), exact=exact
                )
                for a, b in pairs
            ]
        )
        return found, holm(found)
    if test == "welch":
        starts = np.cumsum([0, *(len(runs) for runs in data.systems)])
        each = [data.each_run[a:b] for a, b in pairwise(starts)]
        found = np.array([welch(each[a], each[b])[1] for a, b in pairs])
        return found, holm(found)
    if any(len(runs) > 1 for runs in data.systems):
        raise InputError(
            f"the test {test} exchanges predictions and needs one run of each system",
            remedy="Use bootstrap, which averages runs, or welch, which compares them",
        )
    if test == "tukey":
        if data.owners is None and not exact:
            table = tukey_p_of_cells(data.cells, data.width, data.value, replicates=replicates, seed=seed)
        else:
            table = tukey_p(data.parts(), data.value, replicates=replicates, seed=seed, exact=exact)
        found = np.array([table[a, b] for a, b in pairs])
        return found, found
    found = randomisation_p(data.parts(), pairs, data.value, replicates=replicates, seed=seed, exact=exact)
    return found, holm(found)


def matrix(comparisons: pd.DataFrame, column: str = "p_adjusted") -> pd.DataFrame:
    """The comparisons as a square table of systems; the diagonal is empty."""
    import pandas as pd

    names = list(dict.fromkeys([*comparisons["system_a"], *comparisons["system_b"]]))
    square = pd.DataFrame(np.nan, index=names, columns=names)
    for row in comparisons.to_dict("records"):
        square.loc[row["system_a"], row["system_b"]] = row[column]
        square.loc[row["system_b"], row["system_a"]] = row[column]
    return square


def sentence(row: Mapping[str, Any], title: str, higher: bool, *, level: float = 0.95) -> str:
    """What a careful author would write about one comparison."""
    if not np.isfinite(row["difference"]):
        return (
            f"{title} is undefined for {row['system_a']} or {row['system_b']}: they cannot be compared in it."
        )
    turned = (row["difference"] > 0) != higher and row["difference"] != 0
    one, other = ("b", "a") if turned else ("a", "b")
    sign = -1 if turned else 1
    low, high = sorted((sign * row["low"], sign * row["high"]))
    drawn = "" if row["test"] == "welch" else f", {row['replicates']:,} replicates"
    values = (
        f"({row[f'value_{one}']:.3f} against {row[f'value_{other}']:.3f}; "
        f"difference {sign * row['difference']:+.3f}, {level:.0%} interval {low:+.3f} to {high:+.3f}; "
        f"{NAMES[row['test']]} over {row['units']:,} {row['unit']}{drawn}: {_p(row['p'])}{_adjusted(row)}; "
        f"effect size {sign * row['effect']:+.2f})"
    )
    if row["difference"] == row["low"] == row["high"] == 0:
        return f"{row['system_a']} and {row['system_b']} do not differ in {title} ({row['value_a']:.3f})."
    better, worse = row[f"system_{one}"], row[f"system_{other}"]
    if row["p_adjusted"] >= 1 - level:
        return f"These data do not decide between {better} and {worse} in {title} {values}."
    if row["test"] == "welch":
        return (
            f"The runs of {better} are better than those of {worse} in {title} {values}; "
            "this speaks of other seeds, not of other items."
        )
    return f"{better} is better than {worse} in {title} {values}."


def _unit(clusters: Any) -> str:
    """What is resampled, in words."""
    if clusters is None:
        return "items"
    return "claims" if getattr(clusters, "name", None) in {"claim_id", "claim", "mid"} else "clusters"


def _adjusted(row: Mapping[str, Any]) -> str:
    if row["test"] == "tukey":
        return ", controlled over all pairs"
    return f", {_p(row['p_adjusted'])} after Holm's adjustment" if row["p_adjusted"] != row["p"] else ""


def _p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
