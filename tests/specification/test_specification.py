"""covmis does what the specification says, on random studies and tables of labels; the specification says what the docs say."""

from __future__ import annotations

import ast
import inspect
import random
import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

import covmis_build as covmis
from covmis_build.options import Cleaning, Sampling
from covmis_build.sampling.certain import certain, clusters_of
from covmis_build.text.lengths import length_rule
from tests.specification import (
    agreement,
    annotation,
    archive,
    chance,
    cleaning,
    estimates,
    matching,
    measures,
    sampling,
)
from tests.specification.compare import Comparison, compare, compare_agreement

RULES = [archive, matching, cleaning, sampling, annotation, agreement, estimates, measures, chance]
DOCS = Path(__file__).parents[2] / "docs"
ODD = (8, 35, 36, 60, 79, 84, 269, 276)
"""Studies that together have every design, way of grouping, setting and language."""
MOST_LINES = 900


def same_as_specified(seeds, folder) -> None:
    told = [str(result) for seed in seeds if (result := compare(seed, folder / str(seed))).differences]
    assert not told, "\n".join(told)


@pytest.mark.parametrize("seed", ODD)
def test_odd_studies(seed, tmp_path) -> None:
    same_as_specified([seed], tmp_path)


@pytest.mark.parametrize("block", range(20))
def test_a_hundred_studies(block, tmp_path) -> None:
    same_as_specified(range(1000 + 5 * block, 1005 + 5 * block), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("block", range(100))
def test_ten_thousand_studies(block, tmp_path) -> None:
    same_as_specified(range(10_000 + 100 * block, 10_100 + 100 * block), tmp_path)


@pytest.mark.parametrize("block", range(4))
def test_coefficients_of_random_tables(block) -> None:
    """Two to four people, two to five labels, items without labels of some people, labels that nobody gives."""
    for seed in range(15 * block, 15 * block + 15):
        r, result = random.Random(seed), Comparison(seed)
        labels, people = list("abcde")[: r.randint(2, 5)], ["p", "q", "r", "s"][: r.choice([2, 2, 3, 4])]
        usual, given = r.random(), r.choice([1.0, 0.8])
        answers = {}
        for item in range(r.choice([4, 12, 40])):
            truth = r.choice(labels)
            told = {
                who: truth if r.random() < usual else r.choice(labels) for who in people if r.random() < given
            }
            answers[str(item)] = told
        rows = [(item, who, label) for item, told in answers.items() for who, label in told.items()]
        frame = pd.DataFrame(rows, columns=["item", "annotator", "label"])
        if frame["annotator"].nunique() == len(people):
            compare_agreement(
                covmis.agreement(frame, labels=labels), agreement.coefficients(answers, labels), result
            )
        assert not result.differences, str(result)


@pytest.mark.parametrize("block", range(4))
def test_measures_of_random_systems(block) -> None:
    """Two to five classes, some of which gold or system never has."""
    for seed in range(30 * block, 30 * block + 30):
        r, result = random.Random(seed), Comparison(seed)
        labels = list("abcde")[: r.randint(2, 5)]
        used, right = r.sample(labels, r.randint(1, len(labels))), r.random()
        gold = {str(item): r.choice(used) for item in range(r.choice([1, 5, 30]))}
        system = {item: label if r.random() < right else r.choice(labels) for item, label in gold.items()}
        order, poles = r.sample(labels, len(labels)), r.sample(labels, 2)
        frame = covmis.score(gold, {"m": system}, labels=labels, order=order, poles=poles).to_frame()
        theirs = dict(zip(frame["measure"], frame["value"], strict=True))
        own = measures.scores(list(gold.values()), list(system.values()), labels, None, order, poles)
        result.rows("measures", {name: theirs[name] for name in theirs.keys() & own.keys()}, own)
        assert not result.differences, str(result)


@pytest.mark.parametrize("block", range(4))
def test_inclusion_probabilities(block) -> None:
    """Quotas that are none, fit, or exceed the target."""
    for seed in range(100 * block, 100 * block + 100):
        r, result = random.Random(seed), Comparison(seed)
        counts = {kind: r.choice([1, 3, 7, 60, 5000]) for kind in "abcde"[: r.randint(1, 5)]}
        per_kind, per_claim = r.choice([0, 1, 6, 50]), r.choice([1, 3, 24, 300])
        ours = {kind: float(p) for kind, p in sampling.probabilities(counts, per_kind, per_claim).items()}
        result.rows("probabilities", covmis.inclusion_probabilities(counts, per_kind, per_claim), ours)
        assert not result.differences, str(result)


@pytest.mark.parametrize("minimum", range(1, 25))
def test_least_lengths(minimum) -> None:
    """Languages of the table, of regions, in characters, unknown ones, and none."""
    options = Cleaning(minimum_words=minimum)
    for language in [*cleaning.PER_TEN, *cleaning.CHARACTERS, "en", "zh-tw", "de-at", "xx", ""]:
        rule = length_rule(language, options)
        assert (rule.minimum, rule.unit) == cleaning.least_length(language, minimum), language


@pytest.mark.parametrize("block", range(4))
def test_certain_clusters(block) -> None:
    """One to three query types, and clusters of which a few are large."""
    for seed in range(60 * block, 60 * block + 60):
        r, result = random.Random(seed), Comparison(seed)
        kinds = ["title", "keywords", "news_url"][: r.randint(1, 3)]
        limits = r.choice([0, 1, 6]), r.choice([3, 8, 24])
        rows = [(f"i{n}", r.choice(kinds), int(r.paretovariate(0.7))) for n in range(r.choice([3, 20, 80]))]
        frame = pd.DataFrame(rows, columns=["item_id", "kind", "group_size"]).assign(claim_id="1")
        theirs = certain(clusters_of(frame), Sampling(per_kind=limits[0], per_claim=limits[1]))
        strata = {item: kind for item, kind, _ in rows}
        items = {item: SimpleNamespace(group_size=size) for item, _, size in rows}
        chance_of = sampling.probabilities(Counter(strata.values()), *limits)
        ours = sampling.certain(items, chance_of, strata, limits[1])
        result.rows("certain clusters", set(theirs.get("1", {})), set(ours))
        assert not result.differences, str(result)


def test_the_worked_interval_of_the_page() -> None:
    y, pi = np.array([1, 0, 1, 1]), np.array([0.5, 0.25, 1, 0.5])
    s = (1 / pi) / np.sum(1 / pi)
    u = np.sum(s * y)
    v, df = np.sum((1 - pi) * (s * (y - u)) ** 2), estimates.kish(np.sqrt(1 - pi) * s) - 1
    n_eff = 1 / np.sum((1 - pi) * s**2)
    n = u * (1 - u) / v
    t = student.ppf(0.975, df)
    ends = estimates.wilson(u, n, df)
    found = covmis.estimate(y, pi)
    assert (found.value, found.low, found.high) == pytest.approx((u, *ends))
    page = (
        (DOCS / "explanation/intervals.md")
        .read_text("utf-8")
        .partition("**Example.**")[2]
        .partition("###")[0]
    )
    told = (
        {f"{x:.4g}" for x in (df, n, t, t**2 / n)}
        | {f"{x:.3f}" for x in (u, *ends)}
        | {f"{v:.4f}", f"{n_eff:.4f}"}
    )
    assert n < n_eff
    assert [x for x in told if x not in page] == []


def test_a_difference_names_seed_rule_row_and_both_values() -> None:
    result = Comparison(17)
    result.rows("items", {"a": 1.0, "b": ("x", None)}, {"a": 1.0 + 1e-12, "b": ("x", 2)})
    assert str(result) == (
        "seed 17, items, row 'b': covmis has ('x', None), the specification ('x', 2)\n"
        "1 differences. To see the study: python -m tests.specification 17 --keep DIR"
    )


@pytest.mark.parametrize("rules", RULES, ids=lambda rules: rules.__name__.rpartition(".")[2])
def test_every_rule_names_its_page_and_takes_nothing_from_covmis(rules) -> None:
    source = inspect.getsource(rules)
    imported = [
        ast.unparse(node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert not [line for line in imported if "covmis" in line]
    stated = {name: re.findall(r"\[([a-z]+/[\w-]+)\]", rule.__doc__) for name, rule in own_functions(rules)}
    assert [name for name, pages in stated.items() if not pages] == []
    assert [page for pages in stated.values() for page in pages if not (DOCS / f"{page}.md").is_file()] == []


def own_functions(rules):
    return [
        (name, rule)
        for name, rule in inspect.getmembers(rules, inspect.isfunction)
        if rule.__module__ == rules.__name__
    ]


def test_the_specification_is_short() -> None:
    lines = [line for rules in RULES for line in inspect.getsource(rules).splitlines() if line.strip()]
    assert len(lines) <= MOST_LINES
