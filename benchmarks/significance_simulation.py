"""Type-I error and power of the three tests, by simulation.

    .venv/bin/python benchmarks/significance_simulation.py [--data-sets 2000] [--replicates 999]
    .venv/bin/python benchmarks/significance_simulation.py --exact       the randomisation test of accuracy, by formula

Every data set has items of three classes (48, 12 and 40%) and systems that are right with a given probability.
Equal systems: how often p <= 0.05 (the error). One better system: how often it is found (the power). Clustered:
items come in claims, some harder than others for each system on its own; whole claims are resampled or swapped.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from covmis_build.evaluation.setting import setting
from covmis_build.evaluation.significance import randomisation_p, tukey_p, tukey_p_of_cells
from covmis_build.stats.intervals import UNIT
from covmis_build.stats.over_claims import claim_tables, difference, over_claims

LABELS = ["favor", "neither", "against"]


def value_of(measure):
    chosen = setting(LABELS, names=[measure], order=LABELS)

    def value(counts):
        return chosen.values(counts.reshape(*counts.shape[:-1], 3, 3))[measure]

    return value


def cells_of(rng, items, skills, claims=0):
    """Cell numbers (items, systems); with claims, a system's skill differs between them."""
    gold = rng.choice(3, items, p=[0.48, 0.12, 0.40])
    skill = np.broadcast_to(np.array(skills), (items, len(skills)))
    if claims:
        owners = np.arange(items) % claims
        skill = np.clip(skill + rng.normal(0, 0.15, (claims, len(skills)))[owners], 0, 1)
    said = np.where(rng.random(skill.shape) < skill, gold[:, None], rng.integers(0, 3, skill.shape))
    return gold[:, None] * 3 + said


def parts_of(cells, claims=0):
    owners = np.arange(len(cells)) % claims if claims else np.arange(len(cells))
    parts = np.zeros((owners.max() + 1, cells.shape[1], 9))
    np.add.at(parts, (owners[:, None], np.arange(cells.shape[1])[None], cells), 1.0)
    return parts


def inverted(cells, value, _replicates, _seed, claims):
    """The p that inverts the interval over claims, or over items."""
    owners = np.arange(len(cells)) % claims if claims else None
    pair = cells[:, :1] * 3 + cells[:, 1:2] % 3
    tables, alike = claim_tables(pair, (3, 3, 3), owners)
    less, ranges = difference(lambda stack: {"": value(stack.reshape(*stack.shape[:-2], 9))}, {"": UNIT})
    return over_claims(less, ranges, tables, multiplicity=alike)[""].p()


def randomisation(cells, value, replicates, seed, claims):
    parts = parts_of(cells, claims)
    return randomisation_p(parts, [(0, 1)], value, replicates=replicates, seed=seed)[0]


def tukey(cells, value, replicates, seed, claims):
    """The smallest p of all pairs: at most 0.05 if any pair is called different."""
    if claims:
        table = tukey_p(parts_of(cells, claims), value, replicates=replicates, seed=seed)
    else:
        table = tukey_p_of_cells(cells, 9, value, replicates=replicates, seed=seed)
    return table[np.triu_indices(len(table), 1)].min()


def rate(test, measure, skills, data_sets, replicates, items, claims=0):
    rng = np.random.default_rng(7)
    value = value_of(measure)
    found = [
        test(cells_of(rng, items, skills, claims), value, replicates, seed, claims) <= 0.05
        for seed in range(data_sets)
    ]
    return float(np.mean(found))


def table(data_sets, replicates, items=420):
    """Rows: test, measure, units, systems, data sets, error, power."""
    rows = []
    for claims in (0, 60):
        unit = f"{claims} claims of {items // claims}" if claims else f"{items} items"
        for measure in ("accuracy", "macro_f1"):
            for test in (inverted, randomisation):
                error = rate(test, measure, (0.6, 0.6), data_sets, replicates, items, claims)
                power = rate(test, measure, (0.72, 0.6), data_sets // 4, replicates, items, claims)
                rows.append((test.__name__, measure, unit, 2, data_sets, error, power))
    few = data_sets // 2
    error = rate(tukey, "macro_f1", (0.6,) * 4, few, replicates // 2, items)
    power = rate(tukey, "macro_f1", (0.72, 0.6, 0.6, 0.6), few // 4, replicates // 2, items)
    rows.append(("tukey", "macro_f1", f"{items} items", 4, few, error, power))
    return rows


def exact_errors(items, right=0.6 + 0.4 / 3):
    """Error at 5% of the randomisation test of accuracy with all swaps, and with mid-p values; no chance involved.

    Only items that exactly one of the systems has right count. Given their number d, the difference is d coin flips.
    """
    from scipy.stats import binom

    found = np.zeros(2)
    chances = binom.pmf(np.arange(items + 1), items, 2 * right * (1 - right))
    for d in np.flatnonzero(chances > 1e-12):
        first = np.arange(d + 1)
        of, far = binom.pmf(first, d, 0.5), np.abs(2 * first - d)
        at = np.bincount(far, of, minlength=d + 1)
        p = np.cumsum(at[::-1])[::-1][far]
        found += chances[d] * np.array([of[one <= 0.05 + 1e-12].sum() for one in (p, p - at[far] / 2)])
    return found


def print_exact():
    print("| items | error at 5% | with mid-p |\n|---|---|---|")
    for items in (100, 420, 2104, 10_000):
        error, middle = exact_errors(items)
        print(f"| {items:,} | {error:.2%} | {middle:.2%} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-sets", type=int, default=2000)
    parser.add_argument("--replicates", type=int, default=999)
    parser.add_argument("--exact", action="store_true")
    given = parser.parse_args()
    if given.exact:
        return print_exact()
    start = time.perf_counter()
    print(
        "| test | measure | units | systems | data sets | error at 5% | power |\n|---|---|---|---|---|---|---|"
    )
    for name, measure, unit, systems, data_sets, error, power in table(given.data_sets, given.replicates):
        print(
            f"| {name} | {measure} | {unit} | {systems} | {data_sets:,} | {error:.1%} | {power:.0%} |",
            flush=True,
        )
    print(f"{time.perf_counter() - start:.0f} s")
    return None


if __name__ == "__main__":
    main()
