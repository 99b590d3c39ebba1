"""Soft labels: distances by their definitions, floors, weights, and what the command says."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from covmis_build import score_soft
from covmis_build.cli import app
from covmis_build.errors import CovmisError, InputError, UnknownName
from covmis_build.evaluation.soft_labels import SOFT_MEASURES, People
from covmis_build.stats.horvitz_thompson import made_design

CASES = json.loads((Path(__file__).parents[1] / "vectors" / "soft_labels.json").read_text())["cases"]
NAMES = {"jsd": "jensen_shannon", "brier_unbiased": "brier_corrected"}
LABELS = ["favor", "neither", "against"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_distances_of_items(case) -> None:
    raters = np.broadcast_to(case["raters"], len(case["people"]))
    people = People(np.array(case["people"]) * raters[:, None])
    for name, wanted in case["items"].items():
        values = SOFT_MEASURES[NAMES.get(name, name)].formula(people, np.array(case["system"]))
        assert values == pytest.approx(wanted, rel=1e-9, abs=1e-12), name


def answers(items=60, raters=5, seed=3):
    """People's labels, one row a person and item, and the shares that they were drawn from."""
    rng = np.random.default_rng(seed)
    right = rng.dirichlet([1.2, 0.6, 0.9], items)
    rows = [
        {"item_id": f"x:{at}", "annotator": f"a{person}", "label": rng.choice(LABELS, p=right[at]), "claim_id": str(at % 6),
         "p_sample": 0.3 + 0.7 * (at % 7) / 6}
        for at in range(items) for person in range(raters)
    ]  # fmt: skip
    shares = pd.DataFrame(right, columns=LABELS).assign(item_id=[f"x:{at}" for at in range(items)])
    return pd.DataFrame(rows), shares


def values(scores, system="mine", column="value"):
    table = scores.to_frame()
    return table[table["system"] == system].set_index("measure")[column]


def test_a_system_that_knows_the_right_shares_scores_about_the_best() -> None:
    """And the best falls with the number of people, but for the corrected Brier score, which stays at 0."""
    best = {}
    for raters in (1, 2, 8):
        people, right = answers(items=1500, raters=raters)
        scores = score_soft(people, {"mine": right}, order=LABELS)
        best[raters] = values(scores, column="best")
        if raters == 8:
            for name in ("manhattan", "wasserstein", "jensen_shannon", "brier"):
                assert values(scores)[name] == pytest.approx(best[8][name], rel=0.12), name
            assert values(scores)["brier_corrected"] == pytest.approx(0, abs=0.01)
    for name in ("manhattan", "wasserstein", "jensen_shannon", "brier"):
        assert best[1][name] > best[2][name] > best[8][name]
    assert np.isnan(best[1]["brier_corrected"])
    assert best[8]["brier_corrected"] == pytest.approx(0, abs=1e-9)


def test_the_floor_of_manhattan_is_that_of_binomial_shares() -> None:
    """Each class is binomial: the expected distance of each share, added up (estimation.md, 11)."""
    from scipy.stats import binom

    counts = np.array([3.0, 1.0, 1.0])
    right = (counts + 0.3) / 5.9
    k = np.arange(6)
    wanted = sum((binom.pmf(k, 5, p) * np.abs(k / 5 - p)).sum() for p in right)
    people = {"1": ["favor"] * 3 + ["neither", "against"]}
    scores = score_soft(people, {"mine": {"1": "favor"}}, order=LABELS, measures=["manhattan"])
    assert values(scores, column="best")["manhattan"] == pytest.approx(wanted, rel=1e-9)


def test_labels_are_certain_shares() -> None:
    people, _ = answers()
    hard = dict.fromkeys(people["item_id"].unique(), "favor")
    certain = {item: {"favor": 1.0} for item in hard}
    table = score_soft(people, {"hard": hard, "certain": certain}, labels=LABELS)
    assert values(table, "hard").tolist() == values(table, "certain").tolist()
    assert values(table, "hard")["agreement"] == pytest.approx((people["label"] == "favor").mean())


def test_means_are_weighted_as_items_were_drawn() -> None:
    people, right = answers()
    first = people.drop_duplicates("item_id")
    scores = score_soft(
        people, {"mine": right}, order=LABELS, probabilities="p_sample", measures=["manhattan"]
    )
    counts = pd.crosstab(people["item_id"], people["label"])[LABELS].loc[first["item_id"]]
    d = np.abs(counts.to_numpy() / 5 - right[LABELS].to_numpy()).sum(axis=1)
    weights = 1 / first["p_sample"].to_numpy()
    row = scores.to_frame().iloc[0]
    assert row["value"] == pytest.approx(np.average(d, weights=weights))
    variance = made_design(1 / weights).variance((d - row["value"]) / weights.sum())
    assert row["high"] - row["low"] > 2 * 1.9 * variance**0.5


def test_over_claims_intervals_are_wider() -> None:
    people, right = answers()
    by_items = score_soft(people, {"mine": right}, order=LABELS).to_frame()
    by_claims = score_soft(people, {"mine": right}, order=LABELS, clusters="claim_id")
    assert by_claims.over == "claims"
    assert by_claims.to_frame()["value"].tolist() == by_items["value"].tolist()
    assert by_claims.to_frame()[["low", "high"]].notna().all().all()


def test_one_person_has_no_corrected_brier_score() -> None:
    people, right = answers(raters=1)
    scores = score_soft(people, {"mine": right}, order=LABELS)
    assert np.isnan(values(scores)["brier_corrected"])
    assert "with 1 person each" in scores.how


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"system": {"x:0": {"favor": 0.5}}}, "no prediction for 59 of 60 items"),
        ({"share": 0.9}, r"mine's shares of x:0 are not shares"),
        ({"label": "favour"}, "people gave the unknown label 'favour'. Did you mean 'favor'"),
        ({"twice": True}, "a0 labelled the item x:0 more than once"),
        ({"measures": ["manhatan"]}, "unknown measure 'manhatan'. Did you mean 'manhattan'"),
        ({"measures": ["wasserstein"]}, "needs an order"),
        ({"clusters": "claim"}, "there is no column 'claim'"),
    ],
    ids=["missing", "no shares", "label", "twice", "measure", "order", "column"],
)
def test_what_is_wrong_is_one_line(change, words) -> None:
    people, right = answers()
    if "label" in change:
        people.loc[3, "label"] = change["label"]
    if "twice" in change:
        people = pd.concat([people, people.iloc[:1]])
    if "share" in change:
        right.loc[0, "favor"] = change["share"]
    options = {name: change[name] for name in ("measures", "clusters") if name in change}
    with pytest.raises((InputError, UnknownName), match=words) as error:
        score_soft(people, {"mine": change.get("system", right)}, labels=LABELS, **options)
    assert "\n" not in str(error.value)


def test_the_command(tmp_path) -> None:
    people, right = answers()
    people.to_csv(tmp_path / "people.csv", index=False)
    right.to_csv(tmp_path / "mine.csv", index=False)
    words = ["evaluate", "score", "--soft", str(tmp_path / "people.csv"), f"ours={tmp_path / 'mine.csv'}",
             "--order", ",".join(LABELS)]  # fmt: skip
    done = CliRunner().invoke(app, [*words, "--json"])
    assert done.exit_code == 0, (done.output, done.exception)
    made = json.loads(done.stdout)
    assert made["raters"] == [{"people": 5, "items": 60}]
    assert made["over"] == "claims"  # there is a column of claims
    by_items = CliRunner().invoke(app, [*words, "--json", "--clusters", "none"])
    assert json.loads(by_items.stdout)["over"] == "items"
    assert {row["measure"] for row in made["soft"]} == set(SOFT_MEASURES)
    told = CliRunner().invoke(
        app, [*words, "--out", str(tmp_path / "page.html"), "--out", str(tmp_path / "t.tex")]
    )
    assert "never compared across numbers of people" in told.output
    assert "Wasserstein" in (tmp_path / "page.html").read_text()
    (tmp_path / "mine.csv").write_text("item_id,text\nx:0,hello\n")
    assert isinstance(CliRunner().invoke(app, words).exception, CovmisError)


def test_the_corrected_brier_of_the_right_shares_is_negative_and_not_clipped() -> None:
    """(k): a system that happens to say what these people said is better than one that knows everybody."""
    people = People(np.array([[3.0, 1.0, 1.0], [2.0, 2.0, 1.0]]))
    values_of = SOFT_MEASURES["brier_corrected"].formula(people, people.counts / 5)
    assert (values_of < 0).all()
