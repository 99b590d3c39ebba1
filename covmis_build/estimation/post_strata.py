"""Post-stratification: labelled items represent the known number of posts of their claim, so that parts add up to wholes.

An estimate is the sum over cells of the cell's known share of the population times the mean within the cell. A cell is what
one query type found for one claim; what a claim's draw took with certainty is a cell of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from covmis_build.stats.over_posts import PostStrata

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FEWEST_OF_A_CELL = 2
"""A claim, or a query type of a claim, with fewer labelled items is weighted together with the one nearest in size."""
CELL = ["claim_id", "kind", "certain"]


def post_strata(
    sample: pd.DataFrame, weights: Floats, sizes: Floats, pool: pd.DataFrame, pool_sizes: Floats
) -> PostStrata:
    """Return the cells of these labelled items. Each item of the sample and of the pool stands for `sizes` posts.

    Both have the columns claim_id, kind, p_claim and p_sample; `weights` are the inverses of the probabilities.
    """
    first = pool["p_claim"].to_numpy(float)
    own, whole = _keys(sample), _keys(pool)
    of_pool = whole.assign(
        known=pool_sizes / first, unique=1 / first, size=1, variance=(1 - first) / first**2 * pool_sizes**2
    )
    of_sample = own.assign(n=1, weight=weights * sizes)
    table = of_pool.groupby(CELL).sum().join(of_sample.groupby(CELL).sum()).fillna(0.0).reset_index()
    names = _cells(table)
    cell_of = dict(zip(table[CELL].itertuples(index=False, name=None), names, strict=True))
    every, numbers = np.unique(names, return_inverse=True)
    sums = table.assign(cell=numbers).groupby("cell")[["known", "weight", "variance"]].sum()
    at = {name: number for number, name in enumerate(every.tolist())}
    cells = np.array([at[cell_of[key]] for key in own.itertuples(index=False, name=None)], dtype=np.intp)
    claims = table.groupby("claim_id")[["known", "n"]].sum()
    few = claims["n"] < FEWEST_OF_A_CELL
    return PostStrata(
        cells=cells,
        factors=(sums["known"] / sums["weight"]).to_numpy()[cells],
        sizes=sizes,
        first_phase=sums["variance"].to_numpy(),
        names=tuple(every.tolist()),
        merged=tuple(claims.index[few]),
        merged_share=float(claims.loc[few, "known"].sum() / claims["known"].sum()),
    )


def strata_of_weights(
    corpus: pd.DataFrame, weights: Floats, sizes: Floats, known: Floats, variance: str
) -> PostStrata | None:
    """Return the cells of a corpus without its population, from its `known` weights; None if they are the inverses of probabilities.

    The columns `cell` and `variance` have the cells and the variances of their sizes, if the release tells them.
    """
    factors = known / (weights * sizes)
    if "cell" in corpus and variance in corpus:
        named, numbers = np.unique(corpus["cell"].astype(str), return_inverse=True)
        of_cells = corpus[variance].astype(float).groupby(numbers).first()
        return PostStrata(
            numbers, factors, sizes, np.asarray(of_cells, dtype=np.float64), tuple(named.tolist())
        )
    if np.allclose(factors, 1):
        return None
    own = _keys(corpus)
    table = own.assign(n=1, size=1, unique=known).groupby(CELL).sum().reset_index()
    cell_of = dict(zip(table[CELL].itertuples(index=False, name=None), _cells(table), strict=True))
    names = [cell_of[key] for key in own.itertuples(index=False, name=None)]
    every, cells = np.unique(names, return_inverse=True)
    return PostStrata(cells, factors, sizes, np.zeros(len(every)), tuple(every.tolist()))


def _keys(items: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "claim_id": items["claim_id"].astype(str).to_numpy(),
            "kind": items["kind"].astype(str).to_numpy(),
            "certain": items["p_sample"].to_numpy(float) >= 1,
        }
    )


def _cells(table: pd.DataFrame) -> list[str]:
    """Return the cell of each row of a table with CELL and the numbers of labelled (n), found (size) and unique posts."""
    together = _merged(table, "claim_id")
    alone = set(together.values()) - {cell for claim, cell in together.items() if claim != cell}
    of_row: dict[int, str] = {}
    for claim in sorted(together):
        rows = table[table["claim_id"] == claim]
        sure, rest = rows[rows["certain"]], rows[~rows["certain"]]
        complete = sure["n"].sum() == sure["size"].sum()
        if claim not in alone:
            of_row |= dict.fromkeys(rows.index, together[claim])
            continue
        if complete and (rest.empty or rest["n"].sum() >= FEWEST_OF_A_CELL):
            of_row |= dict.fromkeys(sure.index, f"{claim}|certain")
        else:
            rest = rows
        of_kind = _merged(rest, "kind")
        of_row |= {
            row: f"{claim}|{of_kind[kind]}" for row, kind in zip(rest.index, rest["kind"], strict=True)
        }
    return [of_row[row] for row in table.index]


def _merged(table: pd.DataFrame, name: str) -> dict[str, str]:
    sums = table.groupby(name)[["unique", "n"]].sum()
    names = [str(each) for each in sums.index]
    return merged(dict(zip(names, sums["n"], strict=True)), dict(zip(names, sums["unique"], strict=True)))


def merged(labelled: Mapping[str, float], sizes: Mapping[str, float]) -> dict[str, str]:
    """Return for each name the one that its cell is called by: names with too few labelled items join the one nearest in size.

    >>> merged({"a": 9, "b": 1, "c": 9}, {"a": 100, "b": 40, "c": 50})
    {'a': 'a', 'b': 'c', 'c': 'c'}
    """
    members = {name: [name] for name in sorted(sizes)}
    count, size = dict(labelled), dict(sizes)
    while len(members) > 1 and (short := [name for name in members if count[name] < FEWEST_OF_A_CELL]):
        least = min(short, key=lambda name: (size[name], name))
        near = min(members.keys() - {least}, key=lambda name: (abs(size[name] - size[least]), name))
        members[near] += members.pop(least)
        count[near] += count[least]
        size[near] += size[least]
    cell_of = {name: cell for cell, names in members.items() for name in names}
    return {name: cell_of[name] for name in sizes}
