"""Simulate whether the best soft score is attainable, and its range holds that of a system that knows the true shares.

Simulated items with known true shares and 2 to 10 people each. Printed for each measure: how often (of 100) the wise answer of
such a system lies in the range, how often it is better than the range, and the range's mean width.

python benchmarks/soft_best.py --studies 40
"""

from __future__ import annotations

import argparse

import numpy as np

from covmis_build.evaluation.attainable import Spread
from covmis_build.evaluation.soft_measures import SOFT_MEASURES, People

SPREADS = {
    "the same .6 / .4": lambda _rng, items: np.tile([0.6, 0.4], (items, 1)),
    "two kinds of items": lambda rng, items: np.array([[0.9, 0.1], [0.2, 0.8]])[rng.integers(0, 2, items)],
    "beta": lambda rng, items: rng.dirichlet([0.5, 0.8], items),
    "three labels": lambda rng, items: rng.dirichlet([1.2, 0.6, 0.9], items),
}


def main() -> None:
    """Print one line per spread, number of people and measure."""
    read = argparse.ArgumentParser()
    read.add_argument("--studies", type=int, default=40)
    read.add_argument("--items", type=int, default=300)
    options = read.parse_args()
    print("| true shares | people | measure | held | beaten | width |\n|---|---|---|---|---|---|")
    for spread, draw in SPREADS.items():
        for raters in (2, 3, 5, 10):
            rng = np.random.default_rng(raters)
            rows = {name: np.zeros((options.studies, 3)) for name in SOFT_MEASURES}
            for study in range(options.studies):
                shares = draw(rng, options.items)
                counts = np.array([rng.multinomial(raters, each) for each in shares], dtype=float)
                spread_of = Spread.over(counts, np.ones(options.items))
                for name, measure in SOFT_MEASURES.items():
                    best = spread_of.attainable(measure, options.items, 0.95)
                    score = measure.formula(People(counts), measure.act(shares, raters)).mean()
                    beaten = score > best.high + 1e-9 if measure.higher_is_better else score < best.low - 1e-9
                    held = best.low - 1e-9 <= score <= best.high + 1e-9
                    rows[name][study] = held, beaten, best.high - best.low
            for name, figures in rows.items():
                held, beaten, width = figures.mean(axis=0)
                print(
                    f"| {spread} | {raters} | {name} | {100 * held:.0f} | {100 * beaten:.0f} | {width:.3f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
