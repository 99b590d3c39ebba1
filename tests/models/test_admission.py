"""The alternative annotator test: every printed figure, its pass rates, and what it says where it cannot tell."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from covmis_build.errors import InputError
from covmis_build.models.admission import Comparison, _gain, _p_of_claims, admit, decide

FIGURES = json.loads((Path(__file__).parents[1] / "vectors" / "alt_test.json").read_text())
LABELS = np.array(["favor", "against", "neither"])


@pytest.mark.parametrize("row", FIGURES, ids=lambda row: f"{row['dataset']}-{row['machine']}")
def test_the_printed_figures(row):
    people = {str(at): Comparison(*counts) for at, counts in enumerate(row["counts"])}
    p_values = {name: person.p(row["epsilon"]) for name, person in people.items()}
    assert list(p_values.values()) == pytest.approx(row["p_values"], rel=1e-9, nan_ok=True)
    verdict = decide(p_values)
    assert f"{verdict.winning_rate:.2f}" == row["winning_rate"]
    assert f"{np.mean([person.advantage for person in people.values()]):.2f}" == row["advantage"]
    assert verdict.passed == row["passed"]


def test_there_are_104_figures():
    assert 2 * len(FIGURES) == 104


SHARES = [0.6, 0.2, 0.2]


def drawn(chance, truth, error, blocks=1):
    """Labels that are drawn anew for a share of the items, or of whole blocks of them."""
    wrong = np.repeat(chance.random(len(truth) // blocks) < error, blocks)
    return np.where(wrong, chance.choice(3, len(truth), p=SHARES), truth)


def compared(people, machine):
    """The counts of each person, computed apart from `admit`."""
    comparisons = {}
    for at, own in enumerate(people):
        others = [other for number, other in enumerate(people) if number != at]
        nearness, of_machine = (
            sum((other == labels).astype(int) for other in others) for labels in (own, machine)
        )
        comparisons[str(at)] = Comparison(
            int((of_machine > nearness).sum()),
            int((of_machine == nearness).sum()),
            int((of_machine < nearness).sum()),
        )
    return comparisons


@pytest.mark.parametrize(
    ("error", "rates"),
    [
        (0.2, (0.98, 1.00, 1.00)), (0.3, (0.45, 0.97, 1.00)), (0.4, (0.02, 0.44, 0.96)), (0.5, (0.00, 0.03, 0.44)),
    ],
)  # fmt: skip
def test_pass_rates_of_the_guide(error, rates):
    """288 items, three people who err on 20%: how often a machine passes at ε = .10, .15 and .20."""
    chance, runs, passed = np.random.default_rng(7), 150, np.zeros(3)
    for _ in range(runs):
        truth = chance.choice(3, 288, p=SHARES)
        people = [drawn(chance, truth, 0.2) for _ in range(3)]
        comparisons = compared(people, drawn(chance, truth, error))
        for at, epsilon in enumerate((0.1, 0.15, 0.2)):
            passed[at] += decide({name: one.p(epsilon) for name, one in comparisons.items()}).passed
    assert passed / runs == pytest.approx(np.array(rates), abs=0.1)


@pytest.mark.parametrize(
    ("error", "by_items", "by_claims"),
    [
        (0.2, (0.93, 1.00, 1.00), (0.75, 0.94, 0.99)), (0.3, (0.53, 0.90, 0.99), (0.28, 0.64, 0.89)),
        (0.4, (0.18, 0.58, 0.90), (0.07, 0.28, 0.62)), (0.5, (0.05, 0.27, 0.66), (0.02, 0.10, 0.32)),
    ],
)  # fmt: skip
def test_pass_rates_of_the_guide_with_errors_by_claim(error, by_items, by_claims):
    """The machine's error on a claim is lognormal around its mean, with σ = .75, and at most 1."""
    chance, runs, passed = np.random.default_rng(11), 120, np.zeros((2, 3))
    ids = [f"{at // 24}|{at}" for at in range(288)]
    claims = {item: item.partition("|")[0] for item in ids}

    for _ in range(runs):
        truth = chance.choice(3, 288, p=SHARES)
        people = [drawn(chance, truth, 0.2) for _ in range(3)]
        by_claim = error * np.exp(0.75 * chance.normal(size=12) - 0.75**2 / 2)
        machine = drawn(chance, truth, np.repeat(np.minimum(by_claim, 1), 24))
        comparisons = compared(people, machine)
        differences = {
            str(at): dict(zip(ids, _d(people[:at] + people[at + 1 :], own, machine), strict=True))
            for at, own in enumerate(people)
        }
        for at, epsilon in enumerate((0.1, 0.15, 0.2)):
            passed[0, at] += decide({name: one.p(epsilon) for name, one in comparisons.items()}).passed
            of_claims = {name: _p_of_claims(d, claims, epsilon) for name, d in differences.items()}
            passed[1, at] += decide(of_claims).passed
    assert passed / runs == pytest.approx(np.array([by_items, by_claims]), abs=0.13)


def _d(others, own, machine):
    near, of_machine = (sum((other == said).astype(int) for other in others) for said in (own, machine))
    return ((near >= of_machine).astype(int) - (of_machine >= near).astype(int)).tolist()


def test_where_errors_come_claim_by_claim_the_test_by_claims_is_less_sure():
    chance, by_items, by_claims = np.random.default_rng(3), 0, 0
    ids = [f"{at // 24}|{at}" for at in range(288)]
    for _ in range(12):
        truth = chance.choice(3, 288, p=SHARES)
        people = [drawn(chance, truth, 0.2, blocks=24) for _ in range(3)]
        machine = drawn(chance, truth, 0.3, blocks=24)
        frame = pd.concat(
            pd.DataFrame({"item_id": ids, "annotator": str(at), "label": LABELS[labels]})
            for at, labels in enumerate(people)
        )
        result = admit(
            frame, dict(zip(ids, LABELS[machine], strict=True)), epsilon=0.15,
            claims={item: item.partition("|")[0] for item in ids},
        )  # fmt: skip
        assert result.comparisons == compared(people, machine)
        assert result.leads == "claims"
        by_items += result.by_items.passed
        by_claims += result.by_claims.passed
    assert by_claims < by_items


def people_of(labels):
    rows = [(item, who, label) for who, given in labels.items() for item, label in given.items()]
    return pd.DataFrame(rows, columns=["item_id", "annotator", "label"])


def test_the_nearness_to_the_others():
    """Three people; the machine agrees with both others, with one, or with none."""
    given = {"a": {}, "b": {}, "c": {}}
    machine = {}
    for at in range(30):
        item = f"i{at}"
        given["a"][item], given["b"][item], given["c"][item] = (
            "favor",
            "favor",
            "against" if at % 2 else "favor",
        )
        machine[item] = "favor" if at % 3 else "neither"
    result = admit(people_of(given), machine, epsilon=0.1)
    assert result.comparisons["a"] == Comparison(0, 20, 10)  # as near as a wherever it says favor
    assert result.comparisons["c"] == Comparison(10, 15, 5)  # nearer where c is the odd one
    assert result.fewest_people == 3
    assert result.people_error == pytest.approx(15 * 4 / (30 * 6))


def test_labels_by_other_names_change_nothing():
    """Names that sort otherwise, one the beginning of another."""
    chance, ids = np.random.default_rng(11), [f"{at % 12}|{at}" for at in range(120)]
    truth = chance.choice(3, 120, p=SHARES)
    people = {who: drawn(chance, truth, 0.3) for who in "abcd"}
    machine = drawn(chance, truth, 0.3)
    results = [
        admit(
            people_of({who: dict(zip(ids, names[said], strict=True)) for who, said in people.items()}),
            dict(zip(ids, names[machine], strict=True)),
            epsilon=0.15,
            claims={item: item.partition("|")[0] for item in ids},
        ).to_frame()
        for names in (LABELS, np.array(["z", "y", "zz"]), np.array(["neither", "favor", "against"]))
    ]
    assert {"machine_ahead", "p_items", "p_claims"} <= set(results[0].columns)
    for renamed in results[1:]:
        pd.testing.assert_frame_equal(renamed, results[0])


def test_what_the_test_cannot_tell_is_said():
    given = {"a": {f"i{at}": "favor" for at in range(40)}, "b": {f"i{at}": "favor" for at in range(35)}}
    result = admit(people_of(given), {f"i{at}": "favor" for at in range(40)}, epsilon=0.2)
    notes = " ".join(result.notes)
    assert "fewer than three people" in notes
    assert "Items with one person only, which say nothing here: 5." in notes
    assert not result.passed  # no variance: p is undefined, and no win
    assert result.to_frame()["items"].tolist() == [35, 35]
    assert "<table" in result._repr_html_()
    three = admit(people_of(given | {"c": given["a"], "b": given["a"]}), given["a"], epsilon=0.2)
    assert "fewer than three people" not in " ".join(three.notes)
    with pytest.raises(InputError, match="no person has 30 items"):
        admit(people_of({"a": given["a"]}), {"i1": "favor"}, epsilon=0.2)
    with pytest.raises(InputError, match="ε = 1"):
        admit(people_of(given), {"i1": "favor"}, epsilon=1)


def test_an_undefined_p_is_never_a_win():
    assert decide({"a": float("nan"), "b": 1e-9}).won == ("b",)
    assert decide({"a": float("nan")}).winning_rate == 0


INFERENCE = json.loads((Path(__file__).parents[1] / "vectors" / "inference.json").read_text())["admission"]


@pytest.mark.parametrize("case", INFERENCE, ids=range(len(INFERENCE)))
def test_the_gain_over_the_constant_label(case):
    of_item = {str(at): {"a": str(label), "b": str(label)} for at, label in enumerate(case["others"])}
    found = _gain(of_item, {str(at): str(label) for at, label in enumerate(case["machine"])}, None)
    assert found["constant"] == str(case["control"])
    assert found["gain"].value == pytest.approx(sum(case["gain"]), abs=1e-9)


def test_a_machine_that_always_says_the_commonest_label_is_not_admitted():
    """93% neither: such a machine is as near to the people as they are to each other, and knows nothing."""
    rng = np.random.default_rng(4)
    rows, claims, truth = [], {}, {}
    for at in range(12 * 24):
        item, claims[f"i{at}"] = f"i{at}", str(at % 12)
        truth[item] = rng.choice(["neither", "favor", "against"], p=[0.93, 0.04, 0.03])
        for who in "abc":
            said = truth[item] if rng.random() > 0.05 else rng.choice(["neither", "favor", "against"])
            rows.append((item, who, said))
    people = pd.DataFrame(rows, columns=["item_id", "annotator", "label"])
    lazy = admit(people, dict.fromkeys(truth, "neither"), epsilon=0.2, claims=claims)
    assert not lazy.passed
    assert (lazy.constant, lazy.gain.value) == ("neither", 0)
    assert "Gain over always saying neither" in str(lazy.summary[2])
    good = admit(people, truth, epsilon=0.2, claims=claims)
    assert good.gain.value > 0.4
    assert good.passed or good.undecided
