"""Evaluate measures: similarity, consistency, and class discrimination (Amemiya & Sakai 2021).

In addition to the paper: ties, standard errors, and a test of the differences.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from covmis_build.errors import InputError
from covmis_build.evaluation.gold_and_systems import gold_and_systems
from covmis_build.evaluation.joining import Extra, Invalid, Missing, join
from covmis_build.evaluation.rendering import Evaluated
from covmis_build.evaluation.setting import Setting, setting
from covmis_build.evaluation.significance import TIE, generator, in_one_order, tukey_p_of_values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Tau:
    """Kendall's three coefficients of two lists of values, with the counts of pairs; NaN if undefined."""

    concordant: int
    discordant: int
    ties_x: int
    ties_y: int
    tau_a: float
    tau_b: float
    tau_c: float


def kendall(x: Sequence[float] | Array, y: Sequence[float] | Array) -> Tau:
    """Kendall's tau of two lists of values (never of lists of names); values within 1e-12 are tied.

    >>> kendall([1, 2, 2, 3], [1, 3, 2, 2]).tau_b
    0.4
    """
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if first.shape != second.shape or first.ndim != 1 or len(first) < 2:
        raise InputError("Kendall's tau needs two lists of the same length, at least 2")
    a, b = _signs(first), _signs(second)
    products = a * b
    concordant, discordant = int((products > 0).sum()), int((products < 0).sum())
    pairs, ties_a, ties_b = len(a), int((a == 0).sum()), int((b == 0).sum())
    root = np.sqrt(float(pairs - ties_a) * float(pairs - ties_b))
    difference = concordant - discordant
    least = min(_distinct(first), _distinct(second))
    return Tau(
        concordant,
        discordant,
        ties_a,
        ties_b,
        difference / pairs,
        float(difference / root) if root else np.nan,
        2 * difference * least / (len(first) ** 2 * (least - 1)) if least > 1 else np.nan,
    )


def _signs(values: Array) -> Array:
    """Return the sign of every pair's difference, with ties within 1e-12 as 0: (..., pairs)."""
    rows, columns = np.triu_indices(values.shape[-1], 1)
    difference = values[..., rows] - values[..., columns]
    return np.asarray(np.where(np.abs(difference) <= TIE, 0.0, np.sign(difference)))


def _distinct(values: Array) -> int:
    return 1 + int((np.diff(np.sort(values)) > TIE).sum())


def _tau_b(a: Array, b: Array) -> Array:
    """Return tau-b along the last axis from pairs' signs; NaN if all pairs of one side are ties."""
    root = np.sqrt((a != 0).sum(axis=-1) * (b != 0).sum(axis=-1).astype(float))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((a * b).sum(axis=-1) / root)


@dataclass(frozen=True, slots=True, repr=False)
class Meta(Evaluated):
    """The three meta-evaluations: `similarity` by pairs of measures, the others by measure; `tests` of consistency."""

    systems: int
    similarity: pd.DataFrame
    consistency: pd.DataFrame
    tests: pd.DataFrame
    distinguishing: pd.DataFrame
    trials: int = 0
    remarks: tuple[str, ...] = ()
    """What systems answered besides labels, as sentences."""

    def tables(self) -> list[tuple[str, pd.DataFrame]]:
        """Return the tables with their titles."""
        return [
            (
                " ".join([f"Similarity: tau-b of the rankings of {self.systems} systems", *self.remarks]),
                self.similarity,
            ),
            (f"Consistency: mean tau-b over {self.trials:,} random halves", self.consistency),
            ("Differences in consistency (randomised Tukey HSD)", self.tests),
            (
                "Class distinguishing: tau-b with the ranking after merging two classes (low = it tells)",
                self.distinguishing,
            ),
        ]

    def to_frame(self) -> pd.DataFrame:
        """Return the consistency of each measure; the other tables are attributes."""
        return self.consistency

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "systems": self.systems,
            "notes": list(self.remarks),
            "similarity": self.similarity.to_dict("records"),
            "consistency": self.consistency.to_dict("records"),
            "consistency_tests": self.tests.to_dict("records"),
            "class_distinguishing": self.distinguishing.to_dict("records"),
        }


def meta(  # noqa: PLR0913 - every option is named
    gold: Any,
    systems: Any,
    *,
    id: str | None = None,  # noqa: A002 - the column's name in every table
    label: str | None = None,
    labels: Sequence[Any] | None = None,
    measures: Sequence[str] | None = None,
    order: Sequence[str] | None = None,
    poles: Sequence[str] | None = None,
    class_weights: Mapping[str, float] | Sequence[float] | None = None,
    undefined: str = "zero",
    missing: Missing = "refuse",
    extra: Extra = "refuse",
    invalid: Invalid = "refuse",
    map: Mapping[str, str] | None = None,  # noqa: A002 - what everyone calls it
    by_position: bool = False,
    trials: int = 1000,
    replicates: int = 2000,
    seed: int = 0,
) -> Meta:
    """Evaluate the measures themselves on at least three systems, given as in `score`.

    Similarity: tau-b of the systems' scores in two measures (reversed if lower is better), with ties and a jackknife
    standard error over systems. Consistency: the mean tau-b of a measure with itself over `trials` random halves of the items
    (the same for all measures), its standard error, and a randomised Tukey HSD over the trials. Class discrimination (for at
    least three classes): tau-b of the full ranking with the ranking after merging two classes, for each pair; a low mean
    shows that the measure distinguishes the classes.
    """
    given = gold_and_systems(gold, systems, id=id, label=label, by_position=by_position, map=map)
    joined = join(given.gold, given.systems, given.labels(labels, order, invalid), missing, extra, invalid)
    if len(joined.runs) < 3:
        raise InputError(f"{len(joined.runs)} systems", remedy="Rankings need at least three")
    if any(len(runs) > 1 for runs in joined.runs.values()):
        raise InputError("a system has several runs", remedy="Give one run of each system")
    chosen = setting(
        joined.labels,
        names=measures,
        order=order,
        poles=poles,
        class_weights=class_weights,
        undefined=undefined,
    )
    shape, cells = joined.shape, in_one_order(joined.cells)
    counts = _counts(cells, shape)
    consistency, tests = _consistency(cells, shape, chosen, trials, replicates, seed)
    return Meta(
        systems=len(joined.runs),
        similarity=_similarity(_upward(chosen, counts)),
        consistency=consistency,
        tests=tests,
        distinguishing=_distinguishing(chosen, counts),
        trials=trials,
        remarks=tuple(joined.remarks),
    )


def _counts(cells: NDArray[np.int64], shape: tuple[int, int]) -> Array:
    width = shape[0] * shape[1]
    return np.stack([np.bincount(run, minlength=width) for run in cells.T]).reshape(-1, *shape).astype(float)


def _upward(chosen: Setting, counts: Array) -> dict[str, Array]:
    """Return all scores of every measure such that higher is better."""
    better = {measure.name: measure.higher_is_better for measure in chosen.measures}
    return {name: value if better[name] else -value for name, value in chosen.values(counts).items()}


def _similarity(scores: dict[str, Array]) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for first, second in combinations(scores, 2):
        x, y = scores[first], scores[second]
        whole = kendall(x, y)
        n = len(x)
        left_out = np.array([kendall(np.delete(x, at), np.delete(y, at)).tau_b for at in range(n)])
        error = float(np.sqrt((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum())) if n > 3 else np.nan
        rows.append(
            {
                "measure_a": first,
                "measure_b": second,
                "tau_b": whole.tau_b,
                "standard_error": error,
                "ties_a": whole.ties_x,
                "ties_b": whole.ties_y,
            }
        )
    return pd.DataFrame(
        rows, columns=["measure_a", "measure_b", "tau_b", "standard_error", "ties_a", "ties_b"]
    )


def _consistency(
    cells: NDArray[np.int64], shape: tuple[int, int], chosen: Setting, trials: int, replicates: int, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    import pandas as pd

    if trials < 2 or len(cells) < 2:
        raise InputError(f"{trials} trials over {len(cells)} items", remedy="Ask for at least two of both")
    whole = _counts(cells, shape)
    halves = np.empty((trials, *whole.shape))
    for trial in range(trials):
        picked = generator(seed, "halves", str(trial)).permutation(len(cells))[: len(cells) // 2]
        halves[trial] = _counts(cells[picked], shape)
    first, second = _upward(chosen, halves), _upward(chosen, whole - halves)
    taus = np.stack([_tau_b(_signs(first[name]), _signs(second[name])) for name in first], axis=1)
    rows = []
    for at, name in enumerate(first):
        known = taus[~np.isnan(taus[:, at]), at]
        rows.append(
            {
                "measure": name,
                "mean_tau_b": float(known.mean()) if len(known) else np.nan,
                "standard_error": float(known.std(ddof=1) / np.sqrt(len(known)))
                if len(known) > 1
                else np.nan,
                "trials": len(known),
                "tied_pairs": float((_signs(first[name]) == 0).sum(axis=-1).mean()),
            }
        )
    complete = taus[~np.isnan(taus).any(axis=1)]
    names, pairs = list(first), []
    if len(complete) > 1 and len(names) > 1:
        p = tukey_p_of_values(complete, replicates=replicates, seed=seed)
        means = complete.mean(axis=0)
        pairs = [
            {
                "measure_a": names[a],
                "measure_b": names[b],
                "difference": float(means[a] - means[b]),
                "p": float(p[a, b]),
            }
            for a, b in combinations(range(len(names)), 2)
        ]
    tests = pd.DataFrame(pairs, columns=["measure_a", "measure_b", "difference", "p"])
    return pd.DataFrame(rows), tests


def _distinguishing(chosen: Setting, counts: Array) -> pd.DataFrame:
    import pandas as pd

    classes = len(chosen.labels)
    if classes < 3:
        return pd.DataFrame(columns=["measure", "merged", "tau_b", "ties"])
    full = _upward(chosen, counts)
    rows = []
    for kept_class, gone_class in combinations(range(classes), 2):
        kept = [label for at, label in enumerate(chosen.labels) if at != gone_class]
        merged = _upward(
            _merged_setting(chosen, kept_class, gone_class, kept), merge(counts, kept_class, gone_class)
        )
        for name, value in merged.items():
            tau = kendall(full[name], value)
            rows.append(
                {
                    "measure": name,
                    "merged": f"{chosen.labels[kept_class]} + {chosen.labels[gone_class]}",
                    "tau_b": tau.tau_b,
                    "ties": tau.ties_y,
                }
            )
    return pd.DataFrame(rows)


def _merged_setting(chosen: Setting, kept_class: int, gone_class: int, kept: list[str]) -> Setting:
    """Return the setting after merging two classes: the first's name, and the sum of the weights."""
    gone, stays = chosen.labels[gone_class], chosen.labels[kept_class]
    weights = list(chosen.class_weights)
    if weights:
        weights[kept_class] += weights[gone_class]
        del weights[gone_class]
    poles = tuple(stays if pole == gone else pole for pole in chosen.poles)
    usable = len(set(poles)) == 2
    lost = {"unrelated_last"} if usable or not chosen.poles else {"unrelated_last", "poles"}
    return Setting(
        labels=tuple(kept),
        measures=tuple(measure for measure in chosen.measures if not measure.needs & lost),
        undefined=chosen.undefined,
        order=tuple(label for label in chosen.order if label != gone),
        poles=poles if usable else (),
        class_weights=tuple(weights),
    )


def merge(counts: Array, kept_class: int, gone_class: int) -> Array:
    """Return confusion matrices after merging the class `gone_class` into `kept_class`.

    >>> merge(np.arange(9.0).reshape(3, 3), 0, 1).tolist()
    [[8.0, 7.0], [13.0, 8.0]]
    """
    merged = counts.copy()
    merged[..., kept_class, :] += merged[..., gone_class, :]
    merged[..., :, kept_class] += merged[..., :, gone_class]
    return np.delete(np.delete(merged, gone_class, axis=-2), gone_class, axis=-1)
