"""Coefficients of agreement, each from sums over items: so a bootstrap only has to weigh and add.

Codes are the classes' numbers, -1 where somebody gave no label. What cannot be computed (nobody overlaps, one class
only) is nan here; `stats.agreement` adds errors and intervals. Every function takes stacks: leading axes are replicates.

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
    """One table an item, (items, C, C): a one where the two labels meet, zeros if either is missing."""
    tables = np.zeros((len(first), classes, classes))
    both = np.flatnonzero((first >= 0) & (second >= 0))
    tables[both, first[both], second[both]] = 1
    return tables


def table_of_two(
    first: Mapping[str, str], second: Mapping[str, str], classes: Sequence[str]
) -> NDArray[np.float64]:
    """The table of two judges over the items that both have labelled; each says which label an item has.

    >>> table_of_two({"1": "a", "2": "b"}, {"2": "a", "3": "b"}, ["a", "b"]).tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """
    at = {label: number for number, label in enumerate(classes)}
    table = np.zeros((len(at), len(at)))
    for item in first.keys() & second.keys():
        table[at[first[item]], at[second[item]]] += 1
    return table


def label_counts(codes: Codes, classes: int) -> Array:
    """How many people gave each label to each item, (items, C), from codes (items, people)."""
    return np.stack([(codes == at).sum(axis=1) for at in range(classes)], axis=1).astype(float)


def coincidences(counts: Array) -> Array:
    """Krippendorff's coincidences, one table an item: every pair of its labels, over their number less one."""
    labels = counts.sum(axis=1)
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(counts.shape[1])
    return np.where(labels > 1, 1 / np.maximum(labels - 1, 1), 0.0)[:, None, None] * pairs


def observed(table: ArrayLike) -> Array:
    """Raw agreement: the diagonal's share."""
    cells = np.asarray(table, float)
    return _over(np.trace(cells, axis1=-2, axis2=-1), cells.sum((-2, -1)))


def closeness(classes: int, weights: Weights = "none") -> Array:
    """How far two labels agree, from 0 to 1: the same ones wholly, ordered ones the nearer the more.

    >>> closeness(3, "linear").tolist()
    [[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]]
    """
    steps = np.abs(np.subtract.outer(np.arange(classes), np.arange(classes))) / max(classes - 1, 1)
    return np.asarray({"none": 1.0 - (steps > 0), "linear": 1 - steps, "quadratic": 1 - steps**2}[weights])


def kappa_max(table: ArrayLike) -> Array:
    """The greatest kappa that these two people's use of the labels allows."""
    cells = np.asarray(table, float)
    total = cells.sum((-2, -1))
    rows, columns = cells.sum(-1), cells.sum(-2)
    expected = _over((rows * columns).sum(-1), total**2)
    return _over(_over(np.minimum(rows, columns).sum(-1), total) - expected, 1 - expected)


def agreement_sums(counts: Array, weights: Weights = "none") -> Array:
    """What Fleiss' kappa, AC1 and PABAK (weighted: AC2 and others) add up, one row an item: (items, 2 + 2 C).

    Columns: has two labels or more; agreeing pairs' share; its labels' shares (with one or more); has any label, once
    for each class so that everything stays one row.
    """
    labels = counts.sum(axis=1)
    shares = np.where(labels[:, None] > 0, counts / np.maximum(labels, 1)[:, None], 0.0)
    present = np.repeat((labels > 0).astype(float)[:, None], counts.shape[1], axis=1)
    return np.hstack([_agreeing(counts, weights), shares, present])


def conger_sums(codes: Codes, classes: int, weights: Weights = "none") -> Array:
    """What Conger's kappa adds up, one row an item: (items, 2 + people · C), from codes (items, people)."""
    given = codes[:, :, None] == np.arange(classes)
    return np.hstack(
        [_agreeing(given.sum(1).astype(float), weights), given.reshape(len(codes), codes.shape[1] * classes)]
    )


def _agreeing(counts: Array, weights: Weights) -> Array:
    """Of each item: whether it has two labels or more, and the share of its pairs that agree."""
    labels = counts.sum(axis=1)
    near = counts @ closeness(counts.shape[1], weights)
    share = (counts * (near - 1)).sum(1) / np.maximum(labels * (labels - 1), 1)
    return np.stack([labels > 1, np.where(labels > 1, share, 0.0)], axis=1).astype(float)


class Chance(NamedTuple):
    """Observed agreement, and what chance alone would give."""

    observed: Array
    expected: Array


def corrected(chance: Chance) -> Array:
    """The coefficient, 1 - (1 - observed)/(1 - expected); nan where chance agreement is complete."""
    return 1 - _over(1 - chance.observed, 1 - chance.expected)


def cohen_chance(table: ArrayLike, weights: Weights = "none") -> Chance:
    """Of two people's table; disagreements count by how far apart ordered classes are, the farthest as a whole one.

    A column after the last class counts the items to which the second gave no label: an answer of its own, as far from
    the first's label as a class can be.
    """
    cells = np.asarray(table, float)
    near, total = closeness(cells.shape[-2], weights), _sum(_sum(cells))
    if cells.shape[-1] > len(near):
        near = np.column_stack([near, near.min(1) * (weights != "none")])
    expected = _sum(cells)[..., :, None] * _sum(cells.swapaxes(-1, -2))[..., None, :]
    return Chance(_over(_sum(_sum(near * cells)), total), _over(_sum(_sum(near * expected)), total**2))


def cohen_kappa(table: ArrayLike, weights: Weights = "none") -> Array:
    """Cohen's kappa of two people's table; weighted by how far apart ordered classes are."""
    return corrected(cohen_chance(table, weights))


def cohen_influence(shares: Array) -> float:
    """The variance of one item's influence on Cohen's kappa, from the shares of two people's table."""
    agree, expected = (float(part) for part in cohen_chance(shares))
    rows, columns = shares.sum(1), shares.sum(0)
    pull = (np.eye(len(shares)) - agree) / (1 - expected)
    pull = pull - (1 - agree) / (1 - expected) ** 2 * (columns[:, None] + rows[None, :] - 2 * expected)
    return float(np.sum(shares * pull**2))


def cohen_error(table: Array) -> float:
    """The standard error over items of Cohen's kappa (Fleiss, Cohen and Everitt 1969); nan where it has no value."""
    if np.isnan(cohen_kappa(table)):
        return float("nan")
    variance = cohen_influence(table / table.sum()) / float(table.sum())
    return math.sqrt(variance) if variance > 1e-15 else 0.0


def scott_chance(table: ArrayLike) -> Chance:
    """Of two people's table, who are taken to use the labels alike."""
    cells = np.asarray(table, float)
    shares = _over(cells.sum(-1) + cells.sum(-2), 2 * cells.sum((-2, -1))[..., None])
    return Chance(observed(cells), (shares**2).sum(-1))


def _summed(sums: ArrayLike) -> tuple[Array, Array]:
    """From summed `agreement_sums`: observed agreement, and label shares (every item counts the same)."""
    cells = np.asarray(sums, float)
    shares, present = np.split(cells[..., 2:], 2, axis=-1)
    return _over(cells[..., 1], cells[..., 0]), _over(shares, present)


def fleiss_chance(sums: ArrayLike, weights: Weights = "none") -> Chance:
    """From summed `agreement_sums`: items with one label count for the labels' shares (Gwet 2014)."""
    agree, shares = _summed(sums)
    return Chance(agree, ((shares @ closeness(shares.shape[-1], weights)) * shares).sum(-1))


def fleiss_kappa(sums: ArrayLike) -> Array:
    """Fleiss' kappa from summed `agreement_sums`, generalised to any number of labels an item (Gwet 2014)."""
    return corrected(fleiss_chance(sums))


def gwet_chance(sums: ArrayLike, weights: Weights = "none") -> Chance:
    """From summed `agreement_sums`, as Gwet's AC1 has it, or with weights AC2."""
    agree, shares = _summed(sums)
    return Chance(agree, _gwet_scale(shares.shape[-1], weights) * (shares * (1 - shares)).sum(-1))


def _gwet_scale(classes: int, weights: Weights) -> float:
    return float(closeness(classes, weights).sum()) / (classes * (classes - 1))


def brennan_prediger_chance(sums: ArrayLike, weights: Weights = "none") -> Chance:
    """From summed `agreement_sums`, as if all labels were equally likely."""
    agree, shares = _summed(sums)
    return Chance(agree, np.full_like(agree, closeness(shares.shape[-1], weights).mean()))


def conger_chance(sums: ArrayLike, classes: int, weights: Weights = "none") -> Chance:
    """From summed `conger_sums`: every person has shares of their own; for two people with all labels Cohen's."""
    cells = np.asarray(sums, float)
    given = cells[..., 2:].reshape(*cells.shape[:-1], (cells.shape[-1] - 2) // classes, classes)
    number = given.sum(-1, keepdims=True)
    shares = np.where(number > 0, given / np.maximum(number, 1), 0.0)
    people = (number > 0).sum((-2, -1))
    near, everyone = closeness(classes, weights), shares.sum(-2)
    pairs = ((everyone @ near) * everyone).sum(-1) - ((shares @ near) * shares).sum((-2, -1))
    return Chance(_over(cells[..., 1], cells[..., 0]), _over(pairs, people * (people - 1)))


def fleiss_pulls(sums: Array, weights: Weights = "none") -> Array:
    """Each item's part in Fleiss' chance agreement, from its row of `agreement_sums`."""
    own = sums[:, 2 : 2 + (sums.shape[1] - 2) // 2]
    return np.asarray(own @ closeness(own.shape[1], weights) @ _summed(sums.sum(0))[1], dtype=np.float64)


def gwet_pulls(sums: Array, weights: Weights = "none") -> Array:
    """Each item's part in AC1's chance agreement, or AC2's."""
    own = sums[:, 2 : 2 + (sums.shape[1] - 2) // 2]
    pulls = _gwet_scale(own.shape[1], weights) * own @ (1 - _summed(sums.sum(0))[1])
    return np.asarray(pulls, dtype=np.float64)


def standard_error(sums: Array, chance: Chance, pulls: ArrayLike) -> float:
    """The standard error over items of a coefficient for several people and missing labels (Gwet 2014).

    `sums` are the rows of the items with a label, `chance` that of their sum, `pulls` each item's part in chance
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
    """Krippendorff's alpha from summed `coincidences`; classes are in order, the farthest disagreement is a whole one."""
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
    """Each class against all others: (C, 2, 2)."""
    cells = np.asarray(table, float)
    both = np.diag(cells)
    first, second = cells.sum(1) - both, cells.sum(0) - both
    rest = cells.sum() - both - first - second
    return np.stack([np.stack([both, first], -1), np.stack([second, rest], -1)], axis=-2)


def prevalence_index(table: ArrayLike) -> Array:
    """Of 2 × 2 tables: how far the first class is from half of the labels, from -1 to 1."""
    cells = np.asarray(table, float)
    return _over(cells[..., 0, 0] - cells[..., 1, 1], cells.sum((-2, -1)))


def bias_index(table: ArrayLike) -> Array:
    """Of 2 × 2 tables: how much more often the first person gives the first class, from -1 to 1."""
    cells = np.asarray(table, float)
    return _over(cells[..., 0, 1] - cells[..., 1, 0], cells.sum((-2, -1)))


def _sum(parts: Array) -> Array:
    """The sum over the last axis, in its order: so that a table in a stack has exactly the value that it has alone."""
    total: Array = parts[..., 0].copy()
    for at in range(1, parts.shape[-1]):
        total += parts[..., at]
    return total


def _over(above: ArrayLike, below: ArrayLike) -> Array:
    """Division that answers nan where there is nothing to divide by."""
    divisor = np.asarray(below, float)
    safe = np.abs(divisor) > 1e-12
    return np.asarray(np.where(safe, np.asarray(above, float) / np.where(safe, divisor, 1.0), np.nan))
