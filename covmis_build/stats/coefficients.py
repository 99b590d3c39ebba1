"""Agreement coefficients computed from sums over items, so that a bootstrap only has to reweight and add.

Codes are class numbers; -1 is a missing label. Undefined results (no overlap, a single class) are NaN here;
`stats.agreement` adds errors and intervals. Every function accepts stacks: leading axes are replicates.

Definitions: Cohen 1960 and 1968 (its error: Fleiss, Cohen and Everitt 1969), Scott 1955, Fleiss 1971 (generalised to missing labels: Gwet 2014), Krippendorff 2011,
Gwet 2008, Conger 1980, Brennan and Prediger 1981 (for two classes Byrt's PABAK), Byrt 1993, Cicchetti and Feinstein 1990.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]
    Codes = NDArray[np.int64]

Distance = Literal["nominal", "ordinal", "interval"]
Weights = Literal["none", "linear", "quadratic"]


def pair_tables(first: Codes, second: Codes, classes: int) -> Array:
    """Return one table per item, (items, C, C): a one for the pair of labels; zeros if either is missing."""
    tables = np.zeros((len(first), classes, classes))
    both = np.flatnonzero((first >= 0) & (second >= 0))
    tables[both, first[both], second[both]] = 1
    return tables


def table_of_two(
    first: Mapping[str, str], second: Mapping[str, str], classes: Sequence[str]
) -> NDArray[np.float64]:
    """Return the table of two annotators over their common items; each argument maps items to labels.

    >>> table_of_two({"1": "a", "2": "b"}, {"2": "a", "3": "b"}, ["a", "b"]).tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """
    at = {label: number for number, label in enumerate(classes)}
    table = np.zeros((len(at), len(at)))
    for item in first.keys() & second.keys():
        table[at[first[item]], at[second[item]]] += 1
    return table


def label_counts(codes: Codes, classes: int) -> Array:
    """Count the labels per item and class, (items, C), from codes (items, annotators)."""
    return np.stack([(codes == at).sum(axis=1) for at in range(classes)], axis=1).astype(float)


def coincidences(counts: Array) -> Array:
    """Return Krippendorff's coincidences, one table per item: all pairs of its labels, divided by their number minus one."""
    labels = counts.sum(axis=1)
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(counts.shape[1])
    return np.where(labels > 1, 1 / np.maximum(labels - 1, 1), 0.0)[:, None, None] * pairs


def observed(table: ArrayLike) -> Array:
    """Raw agreement: the diagonal's share."""
    cells = np.asarray(table, float)
    return _over(np.trace(cells, axis1=-2, axis2=-1), cells.sum((-2, -1)))


def closeness(classes: int, weights: Weights = "none") -> Array:
    """Return the agreement of two labels, from 0 to 1: 1 for equal ones; for ordered classes it falls with distance.

    >>> closeness(3, "linear").tolist()
    [[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]]
    """
    steps = np.abs(np.subtract.outer(np.arange(classes), np.arange(classes))) / max(classes - 1, 1)
    return np.asarray({"none": 1.0 - (steps > 0), "linear": 1 - steps, "quadratic": 1 - steps**2}[weights])


def agreement_sums(counts: Array, weights: Weights = "none") -> Array:
    """Return the summands of Fleiss' kappa, AC1 and PABAK (weighted: AC2 and others), one row per item: (items, 2 + 2 C).

    Columns: has at least two labels; share of agreeing pairs; label shares (of items with at least one label); has any
    label, repeated per class so that everything is one row.
    """
    labels = counts.sum(axis=1)
    shares = np.where(labels[:, None] > 0, counts / np.maximum(labels, 1)[:, None], 0.0)
    present = np.repeat((labels > 0).astype(float)[:, None], counts.shape[1], axis=1)
    return np.hstack([_agreeing(counts, weights), shares, present])


def conger_sums(codes: Codes, classes: int, weights: Weights = "none") -> Array:
    """Return the summands of Conger's kappa, one row per item: (items, 2 + annotators · C), from codes (items, annotators)."""
    given = codes[:, :, None] == np.arange(classes)
    return np.hstack(
        [_agreeing(given.sum(1).astype(float), weights), given.reshape(len(codes), codes.shape[1] * classes)]
    )


def _agreeing(counts: Array, weights: Weights) -> Array:
    """Return for each item whether it has at least two labels, and the share of its agreeing pairs."""
    labels = counts.sum(axis=1)
    near = counts @ closeness(counts.shape[1], weights)
    share = (counts * (near - 1)).sum(1) / np.maximum(labels * (labels - 1), 1)
    return np.stack([labels > 1, np.where(labels > 1, share, 0.0)], axis=1).astype(float)


class Chance(NamedTuple):
    """Observed agreement, and expected agreement by chance."""

    observed: Array
    expected: Array


def corrected(chance: Chance) -> Array:
    """Return the coefficient, 1 - (1 - observed)/(1 - expected); NaN if chance agreement is complete."""
    return 1 - _over(1 - chance.observed, 1 - chance.expected)


def cohen_chance(table: ArrayLike, weights: Weights = "none") -> Chance:
    """Return Cohen's chance agreement for a table of two annotators; weights make disagreements depend on distance.

    An additional last column counts items without a label by the second annotator: a separate answer at the maximum distance
    from every label.
    """
    cells = np.asarray(table, float)
    near, total = closeness(cells.shape[-2], weights), _sum(_sum(cells))
    if cells.shape[-1] > len(near):
        near = np.column_stack([near, near.min(1) * (weights != "none")])
    expected = _sum(cells)[..., :, None] * _sum(cells.swapaxes(-1, -2))[..., None, :]
    return Chance(_over(_sum(_sum(near * cells)), total), _over(_sum(_sum(near * expected)), total**2))


def cohen_kappa(table: ArrayLike, weights: Weights = "none") -> Array:
    """Cohen's kappa of a table of two annotators, optionally weighted by the distance of ordered classes."""
    # statsmodels' takes one table; measures ask for 2,000 replicates at once: 0.5 ms here, 280 ms one by one
    return corrected(cohen_chance(table, weights))


class CohenDetails(NamedTuple):
    """What belongs to Cohen's kappa of one table; NaN if kappa is undefined."""

    error: float
    """The standard error over items (Fleiss, Cohen and Everitt 1969)."""
    maximum: float
    """The largest kappa that the two annotators' label frequencies allow."""


def cohen_details(table: ArrayLike) -> CohenDetails:
    """Return the standard error and the maximum of Cohen's kappa, from counts or, for one item's error, from shares.

    >>> [round(part, 4) for part in cohen_details([[52, 4, 9], [3, 31, 6], [7, 5, 27]])]
    [0.054, 0.9679]
    """
    from statsmodels.stats.inter_rater import cohens_kappa  # 1.7 CPU s with scipy.stats: docs/decisions/0140

    if np.isnan(cohen_kappa(table)):
        return CohenDetails(math.nan, math.nan)
    with np.errstate(all="ignore"):  # also tests kappa = 0, and divides by an error of 0
        theirs = cohens_kappa(table)
    variance = float(theirs.var_kappa)
    return CohenDetails(math.sqrt(variance) if variance > 1e-15 else 0.0, float(theirs.kappa_max))


def scott_chance(table: ArrayLike) -> Chance:
    """Scott's chance agreement, which assumes equal label frequencies of both annotators."""
    cells = np.asarray(table, float)
    shares = _over(cells.sum(-1) + cells.sum(-2), 2 * cells.sum((-2, -1))[..., None])
    return Chance(observed(cells), (shares**2).sum(-1))


def _summed(sums: ArrayLike) -> tuple[Array, Array]:
    """Return observed agreement and label shares from summed `agreement_sums`; every item has equal weight."""
    cells = np.asarray(sums, float)
    shares, present = np.split(cells[..., 2:], 2, axis=-1)
    return _over(cells[..., 1], cells[..., 0]), _over(shares, present)


def fleiss_chance(sums: ArrayLike, weights: Weights = "none") -> Chance:
    """Fleiss' chance agreement from summed `agreement_sums`; items with one label count for label shares (Gwet 2014)."""
    agree, shares = _summed(sums)
    return Chance(agree, ((shares @ closeness(shares.shape[-1], weights)) * shares).sum(-1))


def fleiss_kappa(sums: ArrayLike) -> Array:
    """Fleiss' kappa from summed `agreement_sums`, generalised to any number of labels per item (Gwet 2014)."""
    # statsmodels' refuses items with a missing label
    return corrected(fleiss_chance(sums))


def gwet_chance(sums: ArrayLike, weights: Weights = "none") -> Chance:
    """Gwet's chance agreement from summed `agreement_sums`, for AC1 or, with weights, AC2."""
    agree, shares = _summed(sums)
    return Chance(agree, _gwet_scale(shares.shape[-1], weights) * (shares * (1 - shares)).sum(-1))


def _gwet_scale(classes: int, weights: Weights) -> float:
    return float(closeness(classes, weights).sum()) / (classes * (classes - 1))


def brennan_prediger_chance(sums: ArrayLike, weights: Weights = "none") -> Chance:
    """Chance agreement from summed `agreement_sums` with equally likely labels."""
    agree, shares = _summed(sums)
    return Chance(agree, np.full_like(agree, closeness(shares.shape[-1], weights).mean()))


def conger_chance(sums: ArrayLike, classes: int, weights: Weights = "none") -> Chance:
    """Chance agreement from summed `conger_sums`, with separate shares per annotator; with two complete annotators it is Cohen's."""
    cells = np.asarray(sums, float)
    given = cells[..., 2:].reshape(*cells.shape[:-1], (cells.shape[-1] - 2) // classes, classes)
    number = given.sum(-1, keepdims=True)
    shares = np.where(number > 0, given / np.maximum(number, 1), 0.0)
    people = (number > 0).sum((-2, -1))
    near, everyone = closeness(classes, weights), shares.sum(-2)
    pairs = ((everyone @ near) * everyone).sum(-1) - ((shares @ near) * shares).sum((-2, -1))
    return Chance(_over(cells[..., 1], cells[..., 0]), _over(pairs, people * (people - 1)))


def fleiss_pulls(sums: Array, weights: Weights = "none") -> Array:
    """Return each item's contribution to Fleiss' chance agreement, from its row of `agreement_sums`."""
    own = sums[:, 2 : 2 + (sums.shape[1] - 2) // 2]
    return np.asarray(own @ closeness(own.shape[1], weights) @ _summed(sums.sum(0))[1], dtype=np.float64)


def gwet_pulls(sums: Array, weights: Weights = "none") -> Array:
    """Return each item's contribution to the chance agreement of AC1 or AC2."""
    own = sums[:, 2 : 2 + (sums.shape[1] - 2) // 2]
    pulls = _gwet_scale(own.shape[1], weights) * own @ (1 - _summed(sums.sum(0))[1])
    return np.asarray(pulls, dtype=np.float64)


def standard_error(sums: Array, chance: Chance, pulls: ArrayLike) -> float:
    """Return the standard error over items of a coefficient for several annotators and missing labels (Gwet 2014).

    `sums` are the rows of items with a label, `chance` that of their sum, `pulls` each item's contribution to chance
    agreement.
    """
    items, several, expected = len(sums), sums[:, 0], float(chance.expected)
    value = float(corrected(chance))
    if items < 2 or np.isnan(value):
        return float("nan")
    agree = several * (items / several.sum() * (sums[:, 1] - expected) / (1 - expected))
    shifted = agree - 2 * (1 - value) * (np.asarray(pulls, float) - expected) / (1 - expected)
    return float(np.sqrt(((shifted - value) ** 2).sum() / (items * (items - 1))))


def alpha_chance(table: ArrayLike, distance: Distance = "nominal") -> Chance:
    """Krippendorff's alpha from summed `coincidences`; classes are ordered, and the maximum disagreement is 1."""
    cells = np.asarray(table, float)
    values = _sum(cells)
    total = _sum(values)
    apart = _distances(values, distance)
    apart = apart / np.maximum(apart.max((-2, -1), keepdims=True), 1e-300)
    expected = _sum(_sum(apart * values[..., :, None] * values[..., None, :]))
    return Chance(1 - _over(_sum(_sum(apart * cells)), total), 1 - _over(expected, total * (total - 1)))


def _distances(values: Array, distance: Distance) -> Array:
    classes = values.shape[-1]
    if distance == "ordinal":  # the difference of midranks
        ranks = np.cumsum(values, axis=-1) - values / 2
        return (ranks[..., :, None] - ranks[..., None, :]) ** 2
    steps = np.subtract.outer(np.arange(classes), np.arange(classes)).astype(float)
    return steps**2 if distance == "interval" else (steps != 0).astype(float)


def class_tables(table: ArrayLike) -> Array:
    """Return each class against all others: (C, 2, 2)."""
    cells = np.asarray(table, float)
    both = np.diag(cells)
    first, second = cells.sum(1) - both, cells.sum(0) - both
    rest = cells.sum() - both - first - second
    return np.stack([np.stack([both, first], -1), np.stack([second, rest], -1)], axis=-2)


def prevalence_index(table: ArrayLike) -> Array:
    """For 2 × 2 tables: deviation of the first class's share from one half, from -1 to 1."""
    cells = np.asarray(table, float)
    return _over(cells[..., 0, 0] - cells[..., 1, 1], cells.sum((-2, -1)))


def bias_index(table: ArrayLike) -> Array:
    """For 2 × 2 tables: how much more often the first annotator uses the first class, from -1 to 1."""
    cells = np.asarray(table, float)
    return _over(cells[..., 0, 1] - cells[..., 1, 0], cells.sum((-2, -1)))


def _sum(parts: Array) -> Array:
    """Sum over the last axis in order, so that a table has exactly the same value alone and in a stack."""
    total: Array = parts[..., 0].copy()
    for at in range(1, parts.shape[-1]):
        total += parts[..., at]
    return total


def _over(above: ArrayLike, below: ArrayLike) -> Array:
    """Divide; NaN for a zero divisor."""
    divisor = np.asarray(below, float)
    safe = np.abs(divisor) > 1e-12
    return np.asarray(np.where(safe, np.asarray(above, float) / np.where(safe, divisor, 1.0), np.nan))
