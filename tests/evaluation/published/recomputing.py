"""The computations behind published figures: each takes what the paper prints, and gives what follows from it.

A computation returns a number, or a tuple where the paper leaves two readings open.
"""

from __future__ import annotations

from itertools import combinations
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from covmis_build.evaluation.catalogue import measures
from covmis_build.evaluation.meta import kendall

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Computed = float | tuple[float, ...]


def percent(part: float, of: float) -> float:
    """A share in percent."""
    return 100 * part / of


def total(parts: Sequence[float]) -> float:
    """The sum."""
    return float(sum(parts))


def mean(values: Sequence[float]) -> float:
    """The mean."""
    return float(np.mean(values))


def weighted_mean(values: Sequence[float], weights: Sequence[float]) -> float:
    """The weighted mean: accuracy from recalls and class sizes."""
    return float(np.average(values, weights=weights))


def f1(values: Sequence[float]) -> float:
    """F1 from precision and recall."""
    precision, recall = values
    return 2 * precision * recall / (precision + recall)


def half_sum(values: Sequence[float]) -> float:
    """The mean of precision and recall, which no F1 exceeds."""
    return sum(values) / 2


def single_class(gold: Sequence[int], says: int, measure: str, weights: Sequence[float]) -> float:
    """A measure of a system that gives every item the same class."""
    matrix = np.zeros((len(gold), len(gold)))
    matrix[:, says] = gold
    return float(measures[measure](matrix, weights))


def confusion(matrix: Sequence[Sequence[int]], measure: str, weights: Sequence[float] | None = None) -> float:
    """A measure of a printed confusion matrix, gold in rows."""
    return float(measures[measure](matrix, weights))


def marginal(**given: Any) -> float:
    """Precision, recall or F1 of a class in percent, from reconstructed counts."""
    at = given["class"]
    gold, right, said = given["gold"][at], given["right"][at], given["said"][at]
    parts = {"P": (right, said), "R": (right, gold), "F1": (2 * right, gold + said)}
    return percent(*parts[given["what"]])


def polygon(recall: float, false: float, vertex: Sequence[float]) -> float:
    """The area of the polygon (0,0), (FPR, R), (1,1), and the vertex as listed."""
    corners = [(0.0, 0.0), (false, recall), (1.0, 1.0), tuple(vertex)]
    turns = zip(corners, [*corners[1:], corners[0]], strict=True)
    return abs(sum(a[0] * b[1] - b[0] * a[1] for a, b in turns)) / 2


def odd_over_91(near: float) -> float:
    """The tau of 14 systems without ties that is nearest: an odd number over 91."""
    return min((k / 91 for k in range(-91, 92, 2)), key=lambda tau: abs(tau - near - 0.00005))


def odd_triples(taus: Sequence[float]) -> float:
    """Triples of rankings whose discordances add up to an odd number: tie-free rankings have none."""
    size = int((1 + sqrt(1 + 8 * len(taus))) / 2)
    pairs = dict(zip(combinations(range(size), 2), taus, strict=True))
    discordant = {pair: round((91 - 91 * odd_over_91(tau)) / 2) for pair, tau in pairs.items()}
    return float(
        sum(
            (discordant[a, b] + discordant[b, c] + discordant[a, c]) % 2
            for a, b, c in combinations(range(size), 3)
        )
    )


def rankings(first: Sequence[str], second: Sequence[str]) -> float:
    """Kendall's tau of two printed rankings of the same systems."""
    return kendall([first.index(name) for name in first], [second.index(name) for name in first]).tau_b


BLOCKS = {"top": slice(0, 5), "mid": slice(5, 10), "bottom": slice(10, None)}


def block(first: Sequence[str], second: Sequence[str], block: str) -> tuple[float, ...]:
    """Tau within the top, middle or bottom systems, by the first or by the second ranking: both readings."""
    readings = []
    for leading in (first, second):
        names = leading[BLOCKS[block]]
        readings.append(
            rankings([name for name in first if name in names], [name for name in second if name in names])
        )
    return tuple(readings)


def rank(values: Sequence[Sequence[float]], of: int) -> float:
    """The rank of one row by its mean, the lowest first."""
    means = [mean(column) for column in values]
    return float(1 + sum(other < means[of] for other in means))


def floor_part(size: int, part: str) -> float:
    """The size of a part cut at floor(0.7 n) and floor(0.8 n)."""
    first, second = 7 * size // 10, 8 * size // 10
    return float({"train": first, "dev": second - first, "test": size - second}[part])


def welch(first: Sequence[float], second: Sequence[float], n: int) -> float:
    """The two-sided p of Welch's test, from printed means and standard deviations of n runs."""
    from scipy.stats import ttest_ind_from_stats

    test = ttest_ind_from_stats(first[0], first[1], n, second[0], second[1], n, equal_var=False)
    return float(test.pvalue)


def changes(before: Sequence[float], after: Sequence[float], count: str) -> float:
    """How many values are lower, higher or within 3.0, or the largest change."""
    difference = np.round(np.array(after) - np.array(before), 6)
    counts = {
        "lower": (difference < 0).sum(),
        "higher": (difference > 0).sum(),
        "within 3.0": (np.abs(difference) <= 3.0).sum(),
        "largest change": np.abs(difference).max(),
    }
    return float(counts[count])


COMPUTATIONS: dict[str, Callable[..., Computed]] = {
    "percent": percent,
    "total": total,
    "mean": mean,
    "weighted_mean": weighted_mean,
    "f1": f1,
    "half_sum": half_sum,
    "single_class": single_class,
    "confusion": confusion,
    "marginal": marginal,
    "polygon": polygon,
    "odd_over_91": odd_over_91,
    "odd_triples": odd_triples,
    "kendall": rankings,
    "block": block,
    "rank": rank,
    "floor_part": floor_part,
    "welch": welch,
    "changes": changes,
}
