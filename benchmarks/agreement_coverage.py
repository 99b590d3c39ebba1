"""How often the intervals of `covmis agreement` contain the true value, by simulation.

    python benchmarks/agreement_coverage.py --studies 1000
    python benchmarks/agreement_coverage.py --rounds 300

Claims differ in size (lognormal, 15 posts in the mean), in how their posts' stances are spread and in how hard they are;
posts differ in how hard they are, too, and each annotator leans to labels of his or her own. Two or three people label
every post; with `--missing`, each leaves out that part. The truth is that of thirty thousand claims. Prints for each number
of claims the share of studies whose 95% interval over claims contains it, the mean width, and for the first coefficient
the share that the interval over items contains, which speaks of these claims alone. With `--rounds`: how often the kappas of
rounds are called different, though nothing differs but which claims a round has.
"""

from __future__ import annotations

import argparse
import itertools
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from covmis_build.annotation.group_agreement import by_round, homogeneity
from covmis_build.evaluation.significance import generator
from covmis_build.stats.agreement import coefficient, coincidences_of, pairs_of, shares_of
from covmis_build.stats.coefficients import (
    alpha_chance,
    cohen_chance,
    conger_chance,
    conger_sums,
    corrected,
    fleiss_chance,
    gwet_chance,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from covmis_build.stats.coefficients import Chance

LABELS = 3
CLAIMS = (3, 5, 12, 30, 111)


def study(
    claims: int, chance: np.random.Generator, *, people: int = 2, error: float = 0.17, missing: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Codes (posts, people), -1 where a label is missing, and the claim of each post."""
    sizes = np.maximum(chance.lognormal(2.3, 0.9, claims).astype(int), 2)
    claim = np.repeat(np.arange(claims), sizes)
    spread = chance.dirichlet([1.6, 1.6, 0.8], size=claims)
    truth = (chance.random(len(claim))[:, None] > spread[claim].cumsum(1)[:, :-1]).sum(1)
    hard = chance.beta(2, 2 / error - 2, claims)[claim] * chance.gamma(2.0, 0.5, len(claim))
    lean = np.array([[0.5, 0.3, 0.2], [0.3, 0.5, 0.2], [0.2, 0.3, 0.5]])[:people]
    said = (chance.random((len(claim), people))[:, :, None] > lean.cumsum(1)[None, :, :-1]).sum(2)
    codes = np.where(
        chance.random((len(claim), people)) < np.minimum(hard, 0.9)[:, None], said, truth[:, None]
    )
    return np.where(chance.random(codes.shape) < missing, -1, codes), claim


def coefficients(
    people: int,
) -> dict[str, tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], Chance]]]:
    """What each coefficient adds up of the codes, and what it makes of the sum."""
    shares = partial(shares_of, classes=LABELS)
    first = (
        {"Cohen": (partial(pairs_of, classes=LABELS), cohen_chance)}
        if people == 2
        else {
            "Fleiss": (shares, fleiss_chance),
            "Conger": (partial(conger_sums, classes=LABELS), partial(conger_chance, classes=LABELS)),
        }
    )
    return first | {
        "alpha": (partial(coincidences_of, classes=LABELS), alpha_chance),
        "AC1": (shares, gwet_chance),
    }


def coverage(
    studies: int, claims: int, *, people: int, error: float, missing: float = 0.0
) -> dict[str, tuple[float, float, float]]:
    """For each coefficient: coverage and mean width over claims, and coverage over items."""
    codes, _ = study(30_000, generator(1, "truth"), people=people, error=error, missing=missing)
    truth = {
        name: float(corrected(chance(sums_of(codes).sum(0))))
        for name, (sums_of, chance) in coefficients(people).items()
    }
    held: dict[str, list[tuple[bool, float, bool]]] = {name: [] for name in truth}
    for number in range(studies):
        codes, claim = study(
            claims, generator(2, str(claims), str(number)), people=people, error=error, missing=missing
        )
        claim_ids = [f"{c:04d}" for c in claim]
        for name, (sums_of, chance) in coefficients(people).items():
            like = (partial(shares_of, classes=LABELS), fleiss_chance) if name == "Conger" else None
            figure = coefficient(name, sums_of, chance, codes, LABELS, claim_ids, like=like)
            low, high, own = figure.low_by_claims, figure.high_by_claims, (figure.low, figure.high)
            if low is not None and high is not None and own[0] is not None and own[1] is not None:
                held[name].append((low <= truth[name] <= high, high - low, own[0] <= truth[name] <= own[1]))
    return {
        name: tuple(float(np.mean(column)) for column in zip(*rows, strict=True)) if rows else (np.nan,) * 3
        for name, rows in held.items()
    }  # type: ignore[misc]


ROUNDS = {
    "equal claims": {},
    "claims differ in labels": {"alike": 3.0},
    "also in difficulty": {"alike": 3.0, "spread": 0.12},
    "93% one label": {"alike": 3.0, "spread": 0.05, "shares": (0.04, 0.03, 0.93), "error": 0.05},
    "three rounds of four claims": {"alike": 3.0, "spread": 0.12, "rounds": 3, "claims": 4, "posts": 30},
    "three rounds of six, three people": {
        "alike": 3.0, "spread": 0.12, "rounds": 3, "claims": 6, "posts": 20, "people": 3,
    },
}  # fmt: skip


def rounds_of(  # noqa: PLR0913 - a study, by name
    chance: np.random.Generator,
    *,
    rounds: int = 5,
    claims: int = 12,
    posts: int = 12,
    alike: float = 0.0,
    spread: float = 0.0,
    shares: tuple[float, ...] = (0.4, 0.4, 0.2),
    error: float = 0.2,
    people: int = 2,
) -> pd.DataFrame:
    """Labels of rounds of different claims; `alike` and `spread` say how claims differ in labels and difficulty."""
    rows = []
    for round_, claim in itertools.product(range(rounds), range(claims)):
        of = chance.dirichlet(np.array(shares) * alike) if alike else np.array(shares)
        errs = [
            float(np.clip(chance.normal(error, spread), 0.01, 0.9)) if spread else error
            for _ in range(people)
        ]
        for post, true in enumerate(chance.choice(3, posts, p=of)):
            for person, wrong in enumerate(errs):
                said = true if chance.random() > wrong else chance.choice(3, p=shares)
                rows.append(
                    (f"{round_}-{claim}-{post}", str(person), str(said), f"{round_}-{claim}", f"{round_:03}")
                )
    return pd.DataFrame(rows, columns=["item", "annotator", "label", "claim", "round"])


def false_alarms(draws: int) -> None:
    """Print how often rounds are called different, and how often there are words."""
    for name, how in ROUNDS.items():
        chance = np.random.default_rng(1)
        tests = [homogeneity(by_round(rounds_of(chance, **how), ["0", "1", "2"]))[0] for _ in range(draws)]  # type: ignore[arg-type]
        told = [test.p < 0.05 for test in tests if test]
        print(f"{name}: {np.mean(told):.3f}, words {1 - len(told) / draws:.2f}", flush=True)


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--studies", type=int, default=1000)
    words.add_argument("--claims", type=int, nargs="+", default=CLAIMS)
    words.add_argument("--rounds", type=int, default=0)
    chosen = words.parse_args()
    if chosen.rounds:
        false_alarms(chosen.rounds)
        return
    settings = (
        ("two people", {"people": 2, "error": 0.17}), ("two people who agree", {"people": 2, "error": 0.05}),
        ("three people", {"people": 3, "error": 0.17}),
        ("three people, a quarter missing", {"people": 3, "error": 0.17, "missing": 0.25}),
    )  # fmt: skip
    print("| setting | claims | over claims: coverage (mean width) | over items |\n|---|---|---|---|")
    for name, options in settings:
        for claims in chosen.claims:
            found = coverage(chosen.studies, claims, **options)
            told = ", ".join(f"{which} {held:.3f} ({wide:.2f})" for which, (held, wide, _) in found.items())
            over_items_alone = next(iter(found.values()))[2]
            print(f"| {name} | {claims} | {told} | {over_items_alone:.3f} |", flush=True)


if __name__ == "__main__":
    main()
