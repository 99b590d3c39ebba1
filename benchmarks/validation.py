"""Our estimates beside those of R's survey package, svy and glide-py on random samples: the table of docs/explanation.

    python benchmarks/validation.py            prints the table
    python benchmarks/validation.py --write    and writes docs/explanation/validation.md

Needs what `make services` sets up: R with survey, and svy and glide-py under Python 3.12.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from covmis_build.stats.over_posts import made_design, mean, total  # noqa: E402
from tests.estimation import as_glide, with_r  # noqa: E402
from tests.services import peers  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterable

PAGE = ROOT / "docs" / "explanation" / "validation.md"
SCRIPT = ROOT / "tests" / "estimation" / "with_peers.py"
EACH = 40
"""Samples of each sort."""
Figure = tuple[float, float]


@dataclass(frozen=True)
class Row:
    """One comparison: how many figures, and the greatest differences, relative to the value."""

    peer: str
    what: str
    figures: int
    values: float
    errors: float

    def __str__(self) -> str:
        return (
            f"| {self.peer} | {self.what} | {self.figures:,} | {power(self.values)} | {power(self.errors)} |"
        )


def power(difference: float) -> str:
    """The power of ten that a difference stays below; below 1e-12 is rounding."""
    return "1e-12" if difference < 1e-12 else f"1e{math.floor(math.log10(difference)) + 1}"


def compared(peer: str, what: str, pairs: Iterable[tuple[Figure, Figure]]) -> Row:
    """Our figures beside theirs; a standard error that is nothing but rounding counts as 0."""
    told = list(pairs)
    if not all(math.isfinite(number) for pair in told for figure in pair for number in figure):
        raise SystemExit(f"{peer}, {what}: a figure is undefined, so there is nothing to compare")
    values = max(abs(ours[0] - theirs[0]) / max(abs(theirs[0]), 1e-3) for ours, theirs in told)
    errors = max(
        abs(ours[1] - theirs[1]) / max(abs(theirs[1]), 1e-6 * max(1, abs(theirs[0]))) for ours, theirs in told
    )
    return Row(peer, what, 2 * len(told), values, errors)


def of_r() -> Iterable[Row]:
    """Poisson and two-phase samples drawn by the paper's rules, and replicate weights."""
    with tempfile.TemporaryDirectory() as name:
        folder, samples, replicates = Path(name), {}, {}
        for design in ("poisson", "two_phase"):
            for number in range(EACH):
                rows, joint = with_r.a_sample(np.random.default_rng([number, len(design)]), design)
                samples[f"{design}-{number}"] = (rows, design, joint)
                with_r.write_sample(folder, f"{design}-{number}", rows, joint)
        for number in range(EACH // 2):
            rows, _ = with_r.a_sample(np.random.default_rng([number, 1]), "poisson")
            if rows["claim"].nunique() < 3:
                continue
            for way, bootstrap in (("jackknife", 0), ("bootstrap", 100)):
                replicates[f"{way}-{number}"] = (rows, bootstrap)
                with_r.write_replicates(folder, f"{way}-{number}", rows, bootstrap)
        theirs = with_r.estimates_of_r(folder)
    sorts = {
        "poisson": "Poisson samples: totals, means, domains, ratios, totals with known sizes of groups",
        "two_phase": "two-phase samples with exact joint probabilities: the same",
    }
    for design, what in sorts.items():
        pairs = [
            ((value, error), theirs[name, figure])
            for name, sample in samples.items()
            if sample[1] == design
            for figure, value, error in with_r.ours(*sample)
        ]
        yield compared("R survey", what, pairs)
    for way, what in (("jackknife", "jackknife weights over claims"), ("bootstrap", "bootstrap weights")):
        pairs = [
            ((value, error), theirs[name, figure])
            for name, (rows, bootstrap) in replicates.items()
            if name.startswith(way)
            for figure, value, error in with_r.replicates(rows, bootstrap)
        ]
        yield compared("R survey", f"our {what}: means and domains", pairs)


def a_stratified_sample(chance: np.random.Generator) -> dict[str, Any]:
    """Three strata of known sizes, an equal chance in each."""
    sizes, taken = chance.integers(30, 200, 3), chance.integers(6, 25, 3)
    stratum = np.repeat(np.arange(3), taken)
    return {
        "stratum": [f"s{one}" for one in stratum], "N": sizes[stratum].astype(float).tolist(),
        "w": (sizes / taken)[stratum].tolist(), "n": taken[stratum].tolist(),
        "y": chance.integers(0, 2, len(stratum)).astype(float).tolist(),
        "x": (1 + chance.random(len(stratum))).round(3).tolist(),
        "d": (chance.random(len(stratum)) < 0.6).astype(int).tolist(),
    }  # fmt: skip


def of_strata(rows: dict[str, Any]) -> dict[str, Figure]:
    """The same by our fixed-size design, with the joint probabilities of simple random sampling."""
    arrays = {name: np.array(values) for name, values in rows.items()}
    joint = {}
    for stratum in sorted(set(rows["stratum"])):
        here = arrays["stratum"] == stratum
        n, size = int(here.sum()), arrays["N"][here][0]
        joint[stratum] = np.full((n, n), n * (n - 1) / (size * (size - 1)))
    drawn = made_design(1 / arrays["w"], design="two_phase", strata=rows["stratum"], joint=joint)
    count, variance = total(arrays["y"], drawn)
    found = {"mean": mean(arrays["y"], drawn), "domain": mean(arrays["y"], drawn, domain=arrays["d"] > 0)}
    found["ratio"] = mean(arrays["y"] / arrays["x"], drawn, sizes=arrays["x"])
    return {name: (one.value, one.standard_error) for name, one in found.items()} | {
        "total": (count, variance**0.5)
    }


def of_svy_and_glide() -> Iterable[Row]:
    """Stratified samples and replicate weights for svy; samples with predictions for glide."""
    strata = [a_stratified_sample(np.random.default_rng([number, 2])) for number in range(EACH)]
    cases, weighted, expected = [], [], []
    for number in range(EACH):
        cases.append(a_sample_with_predictions(np.random.default_rng([number, 3])))
        rows, _ = with_r.a_sample(np.random.default_rng([number, 1]), "poisson")
        if rows["claim"].nunique() >= 3:
            weights, scale = with_r.replicate_columns(rows, 0)
            told = {"y": rows["y"].astype(float), "x": rows["x"], "d": 1}
            weighted.append({"rows": weights.assign(**told).to_dict("list"), "scale": scale})
            expected.append(next(iter(with_r.replicates(rows, 0)))[1:])
    given = {"glide": cases, "svy": [*({"rows": rows} for rows in strata), *weighted]}
    answers = peers.run(SCRIPT, given)
    pairs = [
        (figure, tuple(theirs[name]))
        for rows, theirs in zip(strata, answers["svy"], strict=False)
        for name, figure in of_strata(rows).items()
    ]
    yield compared("svy", "stratified samples without replacement: totals, means, domains, ratios", pairs)
    pairs = [
        (own, tuple(theirs["mean"])) for own, theirs in zip(expected, answers["svy"][EACH:], strict=True)
    ]
    yield compared("svy", "our jackknife weights over claims: means", pairs)
    for way, what in (
        ("asi", "active inference (ASI), λ tuned and 1"), ("ipw", "inverse probabilities"),
        ("ppi", "PPI++"), ("stratified", "stratified PPI++"), ("clustered", "PPI++ of clusters"),
    ):  # fmt: skip
        pairs = []
        for case, theirs in zip(cases, answers["glide"], strict=True):
            used = case | {"y": case["whole"]} if way == "clustered" else case
            own = as_glide.figures(used)
            pairs += [(own[name], tuple(theirs[name])) for name in theirs if name.startswith(way)]
        yield compared("glide-py", f"{what}: put together from our totals, λ, moved mean, jackknife", pairs)


def a_sample_with_predictions(chance: np.random.Generator) -> dict[str, Any]:
    """A hundred posts in groups and clusters, labels by coins, and a system that is often right."""
    n = 100
    truth = (chance.random(n) < 0.4).astype(float)
    pi = chance.uniform(0.2, 0.8, n).round(3)
    labelled, cluster = chance.random(n) < pi, np.arange(n) // 5
    whole = np.isin(cluster, cluster[chance.integers(0, n, 8)])
    return {
        "f": np.clip(0.25 + 0.5 * truth + chance.normal(0, 0.2, n), 0, 1).round(4).tolist(),
        "y": [float(one) if seen else None for one, seen in zip(truth, labelled, strict=True)],
        "whole": [float(one) if seen else None for one, seen in zip(truth, whole, strict=True)],
        "pi": pi.tolist(), "group": (np.arange(n) % 3).tolist(), "cluster": cluster.tolist(),
    }  # fmt: skip


def table() -> list[Row]:
    """All comparisons."""
    return [*of_r(), *of_svy_and_glide()]


def page(rows: Iterable[Row]) -> str:
    """The page of the docs."""
    lines = "\n".join(str(row) for row in rows)
    return f"""# How covmis was validated

Made by `python benchmarks/validation.py --write`. Random samples were estimated with covmis and with R survey 4.1.1 (Lumley), svy
0.35.0 and glide-py 0.11.0. A figure is a value or its standard error. The last two columns bound the largest relative difference.

| compared with | what | figures | values | standard errors |
|---|---|---|---|---|
{lines}

- R survey also gives every share and standard error of the demonstration (`tests/demonstration/test_r.py`).
- svy has no Poisson designs. For samples of fixed size in strata, its variance equals our two-phase variance.
- glide's estimators describe a superpopulation, ours the posts found. covmis prints none of them; their components are equal.
- Intervals are not compared, because they should differ: R's `svyciprop` and glide use the estimated variance only. It covers the true
  value too rarely if a few posts have most of the weight ([intervals](intervals.md)).

To repeat this in R: with `pps=` designs, survey 4.1.1 omits post-stratification from standard errors, so ours are compared on residuals.
In `subset` and `update`, columns take precedence over variables.

## Other comparisons

Each is a test of `make test-all` on numbers or code of others.

- **Agreement:** alpha, AC1, AC2, Fleiss and Brennan-Prediger with missing labels equal irrCAC 0.4.4 on 40 tables to 11 digits
  (`tests/stats/test_coefficients.py`). Cohen's and Fleiss' kappa equal scikit-learn and statsmodels; Bowker's and Stuart–Maxwell's tests equal
  statsmodels.
- **Intervals:** equal to the rule in plain loops, Wilson's to statsmodels, the jackknife to R (`tests/stats/test_intervals.py`).
- **Tests:** McNemar, randomisation and Tukey's HSD equal the enumeration of all arrangements (`tests/evaluation/test_significance.py`).
- **Measures:** equal to an implementation in plain loops to 10 digits (`tests/evaluation/test_vectors.py`); distances of soft labels equal scipy.
- **Near-duplicates:** the same pairs as scikit-learn's TF-IDF with a full product (`tests/text/test_near_duplicates.py`).
- **Languages:** the same labels as langdetect 1.0.9 on 100,000 real texts (long test).
- **Linear models:** equal to scikit-learn to 6 digits (`tests/models/test_linear.py`).
- **Published results:** 495 of 532 figures of five papers follow ([which do not](published-figures.md)).

Not compared: nobody except the authors has published a corpus with covmis yet. The demonstration shows that the parts fit together, not
how people label. Measured coverage and speed: [results](../../benchmarks/RESULTS.md).
"""


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--write", action="store_true", help="write the page of the docs")
    written = page(table())
    if words.parse_args().write:
        PAGE.write_text(written, "utf-8")
    print(written)


if __name__ == "__main__":
    main()
