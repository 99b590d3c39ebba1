"""Permutation tests of the difference between systems, on confusion counts, independent of labels and files.

All p-values count the observed data as one replicate, unless every arrangement is enumerated.
"""

from __future__ import annotations

from itertools import permutations, product
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from covmis_build import keyed
from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Codes = NDArray[np.int64]
    Value = Callable[[Array], Array]
    """From counts (..., width) to values (...)."""

N = TypeVar("N", bound=np.generic)
TOGETHER = 64
"""Replicates per random generator. It must stay fixed so that additional replicates keep the first ones."""
TIE = 1e-12
"""Differences below this are ties, because floats are not exact."""
LIMIT = 1 << 20
"""Maximum number of enumerated arrangements."""


def generator(seed: int, *key: str) -> np.random.Generator:
    """Return the generator of this key: replicate 17 is always the same, whatever their number."""
    return np.random.Generator(np.random.PCG64(int.from_bytes(keyed.digest(seed, *key)[:16], "big")))


def _p_value(extreme: float, replicates: int, *, exact: bool) -> float:
    """Return the share of replicates at least as extreme. The observed data count as one unless all were enumerated.

    >>> _p_value(0, 99, exact=False), _p_value(1, 4, exact=True)
    (0.01, 0.25)
    """
    return float(extreme / replicates) if exact else float((1 + extreme) / (replicates + 1))


def in_one_order(units: NDArray[N]) -> NDArray[N]:
    """Sort the units by content, so that draws do not depend on the row order of a file."""
    return units[np.lexsort(units.reshape(len(units), -1).T)]


def _at_least(values: Array, bound: float | Array) -> NDArray[np.bool_]:
    """Mark values of at least the bound, including ties within 1e-12. An undefined value counts as large."""
    return ~np.asarray(values < np.asarray(bound) - TIE)


def randomisation_p(
    parts: Array,
    pairs: Sequence[tuple[int, int]],
    value: Value,
    *,
    replicates: int,
    seed: int,
    exact: bool = False,
) -> Array:
    """Two-sided p-values by swapping the two systems of a pair within units; all pairs use the same swaps.

    `parts` are counts (units, systems, width).
    """
    parts = in_one_order(parts)
    totals = parts.sum(axis=0)
    values = value(totals)
    swaps = [np.ascontiguousarray(parts[:, b] - parts[:, a]) for a, b in pairs]
    extreme, done = np.zeros(len(pairs)), 0
    for swapped in _swaps(len(parts), replicates, seed, exact=exact):
        for at, (a, b) in enumerate(pairs):
            moved = swapped @ swaps[at]
            differences = np.abs(value(totals[a] + moved) - value(totals[b] - moved))
            extreme[at] += _at_least(differences, abs(float(values[a] - values[b]))).sum()
        done += len(swapped)
    return np.array([_p_value(float(value), done, exact=exact) for value in extreme])


def mcnemar_p(only_first: int, only_second: int) -> float:
    """McNemar's exact test: two-sided p from the items that only one of two systems has correct.

    It equals exact randomisation of accuracy over items. Swapping an item that both systems have correct, or both wrong,
    changes nothing; swapping any other item changes the difference by one.

    >>> round(mcnemar_p(9, 1), 6)
    0.021484
    """
    from statsmodels.stats.contingency_tables import mcnemar

    return float(mcnemar([[0, only_first], [only_second, 0]], exact=True).pvalue)


def _swaps(units: int, replicates: int, seed: int, *, exact: bool) -> Iterator[Array]:
    if exact:
        _affordable(2**units)
        yield np.array(list(product((0.0, 1.0), repeat=units)))
        return
    for number, start in enumerate(range(0, replicates, TOGETHER)):
        drawn = generator(seed, "randomisation", str(number)).random((TOGETHER, units)) < 0.5
        yield drawn[: replicates - start].astype(np.float64)


def tukey_p(parts: Array, value: Value, *, replicates: int, seed: int, exact: bool = False) -> Array:
    """Randomised Tukey HSD: a p-value for every pair that controls the error over all pairs.

    `parts` are counts (units, systems, width). Each replicate permutes the systems within every unit. An observed
    difference is compared with the replicate's largest difference between any two systems.
    """
    parts = in_one_order(parts)
    permuted = _every_order(parts) if exact else _permuted_sums(parts, replicates, seed)
    return _tukey(parts.sum(axis=0), permuted, value, exact=exact)


def tukey_p_of_cells(cells: Codes, width: int, value: Value, *, replicates: int, seed: int) -> Array:
    """The same if every item is a unit, but much faster: `cells` are cell numbers (items, systems)."""
    cells = in_one_order(cells)
    permuted = (
        _cell_counts(generator(seed, "tukey", str(replicate)).permuted(cells, axis=1), width)[None]
        for replicate in range(replicates)
    )
    return _tukey(_cell_counts(cells, width), permuted, value, exact=False)


def _tukey(whole: Array, permuted: Iterable[Array], value: Value, *, exact: bool) -> Array:
    observed = value(whole)
    distances = np.abs(observed[:, None] - observed[None, :])
    extreme, done = np.zeros_like(distances), 0
    for totals in permuted:
        values = value(totals)
        widest = values.max(axis=1) - values.min(axis=1)
        extreme += _at_least(widest[:, None, None], distances[None]).sum(axis=0)
        done += len(totals)
    p_values = extreme / done if exact else (1 + extreme) / (done + 1)
    np.fill_diagonal(p_values, 1.0)
    return np.asarray(p_values)


def _every_order(parts: Array) -> Iterator[Array]:
    units, systems, width = parts.shape
    orders = np.array(list(permutations(range(systems))))
    _affordable(len(orders) ** units)
    arranged = [part[orders] for part in parts]  # (orders, systems, width) for each unit
    sums = arranged[0]
    for sums_of_unit in arranged[1:]:
        sums = (sums[:, None] + sums_of_unit[None]).reshape(-1, systems, width)
    yield sums


def _permuted_sums(parts: Array, replicates: int, seed: int) -> Iterator[Array]:
    rows = np.arange(len(parts))[:, None]
    numbers = np.broadcast_to(np.arange(parts.shape[1]), parts.shape[:2])
    for replicate in range(replicates):
        order = generator(seed, "tukey", str(replicate)).permuted(numbers, axis=1)
        yield parts[rows, order].sum(axis=0)[None]


def _cell_counts(cells: Codes, width: int) -> Array:
    systems = cells.shape[1]
    flat = (cells + np.arange(systems) * width).ravel()
    return np.bincount(flat, minlength=systems * width).reshape(systems, width).astype(np.float64)


def tukey_p_of_values(values: Array, *, replicates: int, seed: int, exact: bool = False) -> Array:
    """The same for measures that are means over units: `values` is (units, systems)."""
    return tukey_p(
        np.asarray(values, dtype=np.float64)[:, :, None],
        lambda totals: totals[..., 0] / len(values),
        replicates=replicates,
        seed=seed,
        exact=exact,
    )


def welch(first: Array, second: Array) -> tuple[float, float]:
    """Return Welch's t and its two-sided p for two sets of runs with unequal variances."""
    from scipy.stats import ttest_ind_from_stats

    if len(first) < 2 or len(second) < 2:
        raise InputError("Welch's test needs at least two runs of each system", remedy="Give more runs")
    if np.ptp(first) == 0 and np.ptp(second) == 0:
        same = bool(first[0] == second[0])
        return (0.0, 1.0) if same else (float(np.sign(first[0] - second[0]) * np.inf), 0.0)
    sides = [
        (float(sample.mean()), float(sample.std(ddof=1)), len(sample))
        for sample in map(np.asarray, (first, second))
    ]
    test = ttest_ind_from_stats(*sides[0], *sides[1], equal_var=False)  # one side may be constant
    return float(test.statistic), float(test.pvalue)


def _affordable(arrangements: int) -> None:
    if arrangements > LIMIT:
        raise InputError(
            f"{arrangements:,} arrangements are too many to enumerate", remedy="Leave out exact=True"
        )
