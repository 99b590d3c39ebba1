"""The tests against full enumeration, to the last arrangement."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from covmis_build.errors import InputError, UnknownName
from covmis_build.evaluation import compare as comparing
from covmis_build.evaluation import score as scoring
from covmis_build.evaluation.compare import matrix
from covmis_build.evaluation.significance import tukey_p_of_values

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "significance_vectors.json").read_text())
LABELS = ["x", "y", "z"]


def compare(*given, **options):
    return comparing(*given, **options).to_frame()


def words(codes):
    return [LABELS[one] for one in codes]


@pytest.mark.parametrize("measure", VECTORS["paired_randomisation"]["results"])
def test_randomisation_exactly(measure) -> None:
    case = VECTORS["paired_randomisation"]
    systems = {name: words(case[name]) for name in "AB"}
    found = compare(
        words(case["gold"]), systems, measure=measure, labels=LABELS, test="randomisation", exact=True
    )
    wanted = case["results"][measure]
    assert found.loc[0, "difference"] == pytest.approx(float(Fraction(wanted["delta"])), abs=1e-12)
    assert found.loc[0, "p"] == wanted["p"]
    drawn = compare(
        words(case["gold"]), systems, measure=measure, labels=LABELS, test="randomisation", replicates=4000
    )
    assert drawn.loc[0, "p"] == pytest.approx(wanted["p"], abs=0.03)


def test_tukey_of_values_exactly() -> None:
    case = VECTORS["rthsd_per_item"]
    values = np.array([[float(Fraction(one)) for one in case[name]] for name in "abc"]).T
    table = tukey_p_of_values(values, replicates=1, seed=0, exact=True)
    drawn = tukey_p_of_values(values, replicates=4000, seed=0)
    for pair, wanted in case["p"].items():
        a, b = map(int, pair.split(","))
        assert table[a, b] == table[b, a] == float(Fraction(wanted))
        assert drawn[a, b] == pytest.approx(table[a, b], abs=0.03)


@pytest.mark.parametrize("measure", VECTORS["rthsd_corpus"]["results"])
def test_tukey_exactly(measure) -> None:
    case = VECTORS["rthsd_corpus"]
    systems = {str(at): words(one) for at, one in enumerate(case["systems"])}
    found = compare(words(case["gold"]), systems, measure=measure, labels=LABELS, test="tukey", exact=True)
    for row in found.to_dict("records"):
        wanted = case["results"][measure][f"{row['system_a']},{row['system_b']}"]
        assert abs(row["difference"]) == pytest.approx(float(Fraction(wanted["delta"])), abs=1e-12)
        assert row["p"] == row["p_adjusted"] == float(Fraction(wanted["p"]))


def example(items=200, seed=3):
    rng = np.random.default_rng(seed)
    gold = rng.choice(LABELS, items)
    systems = {
        name: np.where(rng.random(items) < skill, gold, rng.choice(LABELS, items))
        for name, skill in (("good", 0.8), ("fair", 0.5), ("also fair", 0.5))
    }
    return gold, systems


@pytest.mark.parametrize("test", ["interval", "randomisation", "tukey"])
def test_a_clear_difference_is_found_and_said(test) -> None:
    gold, systems = example()
    table = compare(gold, systems, measure="macro_f1", labels=LABELS, test=test, replicates=500)
    assert table["p_adjusted"].tolist()[:2] == pytest.approx([0, 0], abs=0.01)
    assert table.loc[2, "p"] > 0.05
    assert table.loc[0, "sentence"].startswith("good is better than fair in Macro F1 (0.")
    assert table.loc[2, "sentence"].startswith(
        "These data do not decide between fair and also fair in Macro F1"
    )
    if test == "interval":
        assert ((table["low"] <= table["difference"]) & (table["difference"] <= table["high"])).all()
        assert ((table["p"] < 0.05) == ((table["low"] > 0) | (table["high"] < 0))).all()
    else:  # another method's p has no interval beside it
        assert table["low"].isna().all()
    assert table.loc[0, "effect"] > 0.3
    square = matrix(table)
    assert square.loc["good", "fair"] == square.loc["fair", "good"] == table.loc[0, "p_adjusted"]
    assert np.isnan(square.loc["good", "good"])


def test_lower_is_better_for_errors() -> None:
    gold, systems = example()
    table = compare(gold, systems, measure="mae_macro", labels=LABELS, replicates=300)
    assert table.loc[0, "difference"] < 0
    assert table.loc[0, "sentence"].startswith(
        "good is better than fair in Macro-averaged mean absolute error"
    )


def test_a_system_never_differs_from_itself() -> None:
    gold, systems = example()
    for test in ("interval", "randomisation", "tukey"):
        twice = {"one": systems["fair"], "same": systems["fair"]}
        table = compare(gold, twice, measure="kappa", labels=LABELS, test=test, replicates=50)
        assert table.loc[0, "p"] == 1
        assert table.loc[0, "sentence"].startswith("one and same do not differ in Cohen's kappa (")
        assert np.isnan(table.loc[0, "effect"])


def test_clusters_are_units() -> None:
    gold, systems = example(240)
    claims = np.arange(240) % 12
    for test in ("interval", "randomisation", "tukey"):
        table = compare(
            gold, systems, measure="accuracy", labels=LABELS, test=test, clusters=claims, replicates=200
        )
        assert (table["units"] == 12).all()
        assert "over 12 claims" in table.loc[0, "sentence"]


def test_effect_of_accuracy_is_the_paired_one() -> None:
    gold, systems = example()
    table = compare(gold, systems, measure="accuracy", labels=LABELS)
    each = (systems["good"] == gold).astype(float) - (systems["fair"] == gold)
    assert table.loc[0, "effect"] == pytest.approx(each.mean() / each.std(), rel=0.02)


def test_runs_are_compared_as_runs() -> None:
    rng = np.random.default_rng(1)
    gold = rng.choice(LABELS, 150)

    def runs(skill):
        return [np.where(rng.random(150) < skill, gold, rng.choice(LABELS, 150)) for _ in range(5)]

    systems = {"good": runs(0.8), "fair": runs(0.5)}
    welch = compare(gold, systems, measure="macro_f1", labels=LABELS, test="welch", replicates=100)
    assert welch.loc[0, "p"] < 0.001
    assert "this speaks of other seeds, not of other items" in welch.loc[0, "sentence"]
    assert compare(gold, systems, measure="macro_f1", labels=LABELS, replicates=100).loc[0, "p"] < 0.05
    with pytest.raises(InputError, match="needs one run of each"):
        compare(gold, systems, measure="macro_f1", labels=LABELS, test="tukey")
    with pytest.raises(InputError, match="at least two runs"):
        compare(gold, {"a": gold, "b": gold}, measure="macro_f1", labels=LABELS, test="welch")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"test": "t"}, "unknown test 't'"),
        ({"systems": {"a": ["x"] * 200}}, "one system"),
        ({"replicates": 0}, "at least one"),
        ({"exact": True, "test": "tukey"}, "too many to enumerate"),
        ({"clusters": ["c"] * 200}, "at least two"),
    ],
)
def test_errors(change, words) -> None:
    gold, systems = example()
    options = {"systems": systems, "measure": "accuracy", "labels": LABELS, "replicates": 10, **change}
    with pytest.raises(InputError, match=words):
        compare(gold, **options)


def test_exact_randomisation_of_accuracy_is_mcnemars_test() -> None:
    """By enumeration where that is possible, by statsmodels' McNemar for any size."""
    from statsmodels.stats.contingency_tables import mcnemar

    from covmis_build.evaluation.significance import mcnemar_p, randomisation_p

    rng = np.random.default_rng(6)
    for items in (12, 400):
        gold = rng.choice(LABELS, items)
        first, second = (
            np.where(rng.random(items) < skill, gold, rng.choice(LABELS, items)) for skill in (0.7, 0.4)
        )
        table = compare(
            gold, {"a": first, "b": second}, measure="accuracy", labels=LABELS, test="randomisation", exact=True,
            replicates=20,
        )  # fmt: skip
        right = np.stack([first == gold, second == gold], axis=1)
        square = [[(right.all(axis=1)).sum(), (right[:, 0] & ~right[:, 1]).sum()],
                  [(~right[:, 0] & right[:, 1]).sum(), (~right).all(axis=1).sum()]]  # fmt: skip
        assert table["p"].item() == pytest.approx(mcnemar(square, exact=True).pvalue, rel=1e-12)
        told = f"exact McNemar test over {items} items, of which {square[0][1] + square[1][0]} are right in only one system: p"
        assert told in table["sentence"].item()
        assert "replicates" not in table["sentence"].item()
        assert (table["replicates"].item(), table["method"].item()) == (0, "exact McNemar test")
        if items == 12:
            parts = np.stack([~right, right], axis=2).astype(float)
            enumerated = randomisation_p(
                parts, [(0, 1)], lambda counts: counts[..., 1] / 12, replicates=1, seed=0, exact=True
            )
            assert enumerated[0] == pytest.approx(mcnemar_p(square[0][1], square[1][0]), rel=1e-12)
    assert mcnemar_p(3, 3) == 1


def test_whoever_looks_for_mcnemar_is_told() -> None:
    with pytest.raises(UnknownName, match="McNemar's test is exact randomisation of accuracy"):
        compare(["x", "y"], {"a": ["x", "y"], "b": ["x", "x"]}, test="mcnemar")


def claims_of_uneven_size(claims, seed=2):
    """Claims of very different size; how good a system is depends on the claim."""
    rng = np.random.default_rng(seed)
    sizes = np.maximum(1, rng.lognormal(2.3, 0.9, claims)).astype(int)
    owners = np.repeat(np.arange(claims), sizes)
    gold = rng.choice(LABELS, len(owners), p=[0.5, 0.35, 0.15])
    systems = {}
    for name in "ab":
        skill = rng.beta(5, 2.5, claims)[owners]
        systems[name] = np.where(rng.random(len(owners)) < skill, gold, rng.choice(LABELS, len(owners)))
    return gold, systems, owners


@pytest.mark.parametrize("measure", ["accuracy", "macro_f1", "mae_macro"])
def test_scores_and_differences_leave_out_a_claim_each(measure) -> None:
    """The variance by hand: the same measure of all but one claim, for each claim."""
    gold, systems, owners = claims_of_uneven_size(12)
    options = {"measures": [measure], "labels": LABELS, "order": LABELS}

    def left_out(name):
        kept = [owners != claim for claim in range(12)]
        return np.array(
            [scoring(gold[of], {name: systems[name][of]}, **options).value(name, measure) for of in kept]
        )

    less = left_out("a") - left_out("b")
    error = np.sqrt(11 / 12 * ((less - less.mean()) ** 2).sum())
    pair = compare(gold, systems, measure=measure, clusters=owners, labels=LABELS, order=LABELS).iloc[0]
    assert pair["effect"] == pytest.approx(pair["difference"] / error / np.sqrt(12))
    assert (pair["p"] < 0.05) == (pair["low"] > 0 or pair["high"] < 0)
    assert pair["low"] < pair["difference"] < pair["high"]


def test_too_few_claims_have_no_interval_and_decide_nothing() -> None:
    gold = ["x", "y"] * 20
    systems, owners = {"a": gold, "b": ["x"] * 40}, [0] * 20 + [1] * 20
    scores = scoring(gold, systems, labels=["x", "y"], clusters=owners, measures=["accuracy"])
    assert scores.to_frame()["low"].isna().all()
    assert any("too few claims decide it: 2" in note for note in scores.notes)
    pair = compare(gold, systems, measure="accuracy", labels=["x", "y"], clusters=owners, replicates=50).iloc[
        0
    ]
    assert np.isnan(pair["low"])
    assert "no interval: too few claims decide it: 2" in pair["sentence"]
    assert "do not decide" in pair["sentence"]


def test_classes_that_few_claims_hold_are_told() -> None:
    gold = ["x"] * 9 + ["y"] + ["x"] * 10
    scores = scoring(gold, {"a": ["x"] * 20}, clusters=np.arange(20) % 5, measures=["accuracy"])
    assert "Only 1 of 5 claims hold the class y." in scores.how
    assert "over 5 claims" in scores.how
