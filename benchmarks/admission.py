"""How often is a machine admitted? The tests by items and by claims, with errors by item and by claim.

    python benchmarks/admission.py [--studies N]

Three people each err on 20% of 288 items, 12 claims of 24 posts: their label is drawn anew from the shares .6, .2 and
.2, so that it may still be right. By claim, the machine's error on each claim is its mean error times a lognormal number
of mean 1, at most 1. The last table has a machine that is exactly ε behind: whoever admits it is wrong.
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np
from scipy import stats

from covmis_build.models.admission import decide

SHARES, PEOPLE, CLAIMS, POSTS = np.array([0.6, 0.2, 0.2]), 0.2, 12, 24
EPSILONS = (0.1, 0.15, 0.2)


def drawn(chance: np.random.Generator, truth, error):
    """Labels of a judge who errs on this share, or on these shares of the items."""
    return np.where(chance.random(truth.shape) < error, chance.choice(3, truth.shape, p=SHARES), truth)


def by_claim(chance: np.random.Generator, studies: int, mean: float, spread: float):
    """The machine's error on each item: the same within a claim."""
    errors = mean * np.exp(spread * chance.normal(size=(studies, CLAIMS)) - spread**2 / 2)
    return np.repeat(np.minimum(errors, 1), POSTS, axis=1)


def differences(people, machine):
    """D of each person on each item: studies, people, items."""
    rows = []
    for at, own in enumerate(people):
        others = [other for number, other in enumerate(people) if number != at]
        near, of_machine = (sum((other == said).astype(int) for other in others) for said in (own, machine))
        rows.append((near >= of_machine).astype(int) - (of_machine >= near).astype(int))
    return np.stack(rows, axis=1)


def passed(values, mean: float) -> float:
    """The share of studies whose machine wins at least half of the people."""
    n = values.shape[-1]
    p = stats.t.cdf((values.mean(-1) - mean) / np.sqrt(values.var(-1, ddof=1) / n), n - 1)
    return float(np.mean([decide(dict(enumerate(row))).passed for row in p]))


def cells(studies: int, error: float, spread: float, epsilons=EPSILONS, seed: int = 7) -> list[str]:
    """How often the machine passes by items, and by claims, at each ε."""
    chance = np.random.default_rng(seed)
    truth = chance.choice(3, (studies, CLAIMS * POSTS), p=SHARES)
    people = [drawn(chance, truth, PEOPLE) for _ in range(3)]
    d = differences(people, drawn(chance, truth, by_claim(chance, studies, error, spread)))
    sums = d.reshape(studies, 3, CLAIMS, POSTS).sum(-1)
    return [f"{passed(d, epsilon):.2f} / {passed(sums, epsilon * POSTS):.2f}" for epsilon in epsilons]


def behind(error: float) -> float:
    """The expectation of d for a machine that errs so often, by enumeration."""
    total = 0.0
    for truth, *labels, machine in product(range(3), repeat=5):
        person = [(1 - PEOPLE) * (label == truth) + PEOPLE * SHARES[label] for label in labels]
        chance = (
            SHARES[truth] * np.prod(person) * ((1 - error) * (machine == truth) + error * SHARES[machine])
        )
        near, of_machine = (sum(other == said for other in labels[1:]) for said in (labels[0], machine))
        total += chance * (int(near >= of_machine) - int(of_machine >= near))
    return total


def exactly(epsilon: float, spread: float) -> float:
    """The mean error before it is cut at 1 of a machine that is exactly ε behind; d grows linearly with the error."""
    wanted = (epsilon - behind(0)) / (behind(1) - behind(0))
    normal = stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    low, high = 0.0, 5.0
    for _ in range(50):
        mean = (low + high) / 2
        reached = np.minimum(mean * np.exp(spread * normal - spread**2 / 2), 1).mean()
        low, high = (mean, high) if reached < wanted else (low, mean)
    return low


def main() -> None:
    given = argparse.ArgumentParser()
    given.add_argument("--studies", type=int, default=2000)
    studies = given.parse_args().studies
    head = " | ".join(f"ε = {epsilon:g}" for epsilon in EPSILONS) + " |\n|---|---|---|---|"
    for title, spread in (("errors by item", 0.0), ("errors by claim, σ = .75", 0.75)):
        print(f"\n| {title}: the machine errs on | {head}")
        for error in (0.2, 0.3, 0.4, 0.5):
            print(f"| {error:.0%} | " + " | ".join(cells(studies, error, spread)) + " |", flush=True)
    print(f"\n| exactly ε behind, σ | {head}")
    for spread in (0.0, 0.5, 0.75, 1.0):
        row = [cells(studies, exactly(epsilon, spread), spread, (epsilon,), 8)[0] for epsilon in EPSILONS]
        print(f"| {spread:g} | " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
