"""Soft labels: distances by their definitions, floors, weights, and what the command says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multinomial
from typer.testing import CliRunner

from covmis_build import score_soft
from covmis_build.cli import app
from covmis_build.errors import CovmisError, InputError, UnknownName
from covmis_build.evaluation.attainable import Spread
from covmis_build.evaluation.soft_labels import answers_of
from covmis_build.evaluation.soft_measures import SOFT_MEASURES, People
from covmis_build.stats.over_posts import made_design

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


@pytest.mark.parametrize(("raters", "spread"), [(2, "one"), (2, "many"), (3, "two"), (10, "many")])
def test_no_system_beats_the_best_beyond_its_range(raters, spread) -> None:
    """Nor does the wise answer of a system that knows the true shares lie outside it, more than 1 time in 20."""
    rng = np.random.default_rng(raters)
    outside = dict.fromkeys(SOFT_MEASURES, 0)
    for _ in range(20):
        shares = {
            "one": np.tile([0.6, 0.4], (200, 1)),
            "two": np.array([[0.9, 0.1], [0.2, 0.8]])[rng.integers(0, 2, 200)],
            "many": rng.dirichlet([0.5, 0.8], 200),
        }[spread]
        people = People(np.array([rng.multinomial(raters, each) for each in shares], dtype=float))
        counted = Spread.over(people.counts, np.ones(200))
        for name, measure in SOFT_MEASURES.items():
            best = counted.attainable(measure, 200, 0.95)
            score = measure.formula(people, measure.act(shares, raters)).mean()
            outside[name] += not best.low - 1e-9 <= score <= best.high + 1e-9
    assert max(outside.values()) <= 2, outside


@pytest.mark.parametrize("name", SOFT_MEASURES)
def test_no_answer_is_wiser_and_its_expectation_is_exact(name) -> None:
    """By enumerating what three people could say."""
    rng = np.random.default_rng(4)
    measure, shares = SOFT_MEASURES[name], np.array([[0.5, 0.3, 0.2]])
    answers = np.array([[i, j, 3 - i - j] for i in range(4) for j in range(4 - i)], dtype=float)
    chances = multinomial.pmf(answers, 3, shares[0])

    def expected(act):
        return float(chances @ measure.formula(People(answers), np.tile(act, (len(answers), 1))))

    wise = measure.act(shares, 3)
    assert measure.risk(shares, wise, 3)[0] == pytest.approx(expected(wise[0]), abs=1e-9)
    others = [expected(act) for act in [*rng.dirichlet(np.ones(3), 400), *answers / 3, shares[0]]]
    sign = -1 if measure.higher_is_better else 1
    assert sign * expected(wise[0]) <= min(sign * other for other in others) + 1e-9


def test_the_best_of_two_people_is_attained() -> None:
    """Where 6 of 10 say yes in every item, one half is the wise answer to Manhattan; .429 was printed, and no system had it."""
    rng = np.random.default_rng(3)
    said = np.where(rng.random((2000, 2)) < 0.6, "yes", "no").tolist()
    people = {str(at): pair for at, pair in enumerate(said)}
    wise = {item: {"yes": 0.5, "no": 0.5} for item in people}
    row = score_soft(people, {"wise": wise}, measures=["manhattan"]).to_frame().iloc[0]
    assert row["best_low"] <= row["value"] <= row["best_high"] < 0.6
    assert row["best"] == pytest.approx(0.52, abs=0.03)


def test_one_person_leaves_the_best_open() -> None:
    """Everybody may agree on each item, or nobody on any."""
    people, right = answers(raters=1)
    table = score_soft(people, {"mine": right}, order=LABELS).to_frame().set_index("measure")
    assert table.loc["manhattan", "best_low"] == 0
    assert table.loc["manhattan", "best_high"] > 1
    assert np.isnan(table.loc["brier_corrected", "best"])


def test_few_claims_make_the_range_of_the_best_wider() -> None:
    people, right = answers()
    people["claim_id"] = people["item_id"].map(lambda item: str(int(item[2:]) // 20))
    people["label"] = np.where(people["claim_id"] == "0", "favor", people["label"])
    widths = [
        score_soft(people, {"mine": right}, order=LABELS, clusters=clusters)
        .to_frame()
        .eval("best_high - best_low")
        for clusters in (None, "claim_id")
    ]
    assert not (widths[1] < widths[0]).any()


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
    for option, text in (("--invalid", "wrong"), ("--by", "kind"), ("--over", "posts")):
        refused = CliRunner().invoke(app, ["evaluate", "score", "--soft", "g.csv", "s.csv", option, text])
        assert f"{option} and --soft cannot be meant together" in str(refused.exception)
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


PEOPLE = "item_id,annotator,label,claim_id,p_sample\n1,a,favor,c1,0.5\n1,b,against,c1,0.5\n2,a,favor,c2,1\n"
SHARES = "item_id,favor,neither,against\n1,0.5,0,0.5\n2,1,0,0\n"


@pytest.mark.parametrize(
    ("people", "system", "words"),
    [
        (PEOPLE, SHARES + "1,0,0,1\n", r"mine\.csv, row 4: the id 1 occurs again \(first in row 2\)"),
        (PEOPLE, "id,pred\n1,favor\n2,favor\n2,against\n", r"mine\.csv, row 4: the id 2 occurs again"),
        (PEOPLE, SHARES + ",0,0,1\n", r"mine\.csv, row 4: has an item without an id"),
        (PEOPLE, SHARES + "7,0,0,1\n8,0,0,1\n", r"mine has 2 items \(7, 8\) that nobody labelled\. .*--extra ignore"),
        (PEOPLE, "id,label,pred,y_pred\n1,favor,favor,favor\n", r"mine\.csv: has 2 columns.*: pred, y_pred"),
        (PEOPLE, "id,label,bert\n1,favor,favor\n2,favor,against\n", r"mine\.csv: has 2 columns.*: label, bert"),
        (PEOPLE, "id,pred\n1,favor\n2,favour\n", r"mine\.csv, row 3: has the unknown label 'favour'. Did you mean 'favor'"),
        (PEOPLE + "2,b,favor,c1,1\n", SHARES, r"people\.csv, row 5: the item 2 has two values of claim_id: c2, then c1"),
        (PEOPLE + "2,b,favor,c2,0.9\n", SHARES, r"people\.csv, row 5: the item 2 has two values of p_sample: 1, then 0\.9"),
        (PEOPLE + ",b,favor,c2,1\n", SHARES, r"people\.csv, row 5: has an item without an id"),
        (PEOPLE + "2,a ,against,c2,1\n", SHARES, r"people\.csv, row 5: a labelled the item 2 more than once"),
        (PEOPLE.replace("annotator", "Annotator") + "2,a,against,c2,1\n", SHARES, r"row 5: a labelled the item 2 more than once"),
    ],
)  # fmt: skip
def test_of_two_answers_none_is_taken(tmp_path, people, system, words) -> None:
    (tmp_path / "people.csv").write_text(people)
    (tmp_path / "mine.csv").write_text(system)
    command = ["evaluate", "score", "--soft", str(tmp_path / "people.csv"), str(tmp_path / "mine.csv"), "--order",
               ",".join(LABELS), "--probabilities", "p_sample"]  # fmt: skip
    error = CliRunner().invoke(app, command).exception
    assert isinstance(error, CovmisError)
    assert re.search(words, str(error)), str(error)


def test_gold_beside_what_each_person_said_is_nobodys_label(tmp_path) -> None:
    """The annotations.csv of a release has both."""
    (tmp_path / "people.csv").write_text(
        "item_id,annotator,gold,label\n1,a,favor,against\n1,b,favor,against\n"
    )
    assert set(answers_of(str(tmp_path / "people.csv")).table["label"]) == {"against"}


def test_a_column_of_peoples_labels_can_be_named(tmp_path) -> None:
    """As the refusal of two says."""
    file = tmp_path / "people.csv"
    file.write_text("item_id,annotator,label,stance\n1,a,favor,against\n1,b,favor,against\n")
    with pytest.raises(InputError, match=r"2 columns that may hold the labels: label, stance.*FILE:COLUMN"):
        answers_of(str(file))
    assert set(answers_of(f"{file}:stance").table["label"]) == {"against"}
    (tmp_path / "mine.csv").write_text(SHARES.rpartition("2,")[0])
    words = [
        "evaluate",
        "score",
        "--soft",
        f"{file}:stance",
        str(tmp_path / "mine.csv"),
        "--order",
        ",".join(LABELS),
    ]
    assert CliRunner().invoke(app, words).exit_code == 0
    with pytest.raises(UnknownName, match=r"lacks the column 'stnce'\. Did you mean 'stance'"):
        answers_of(f"{file}:stnce")


def test_a_machine_is_no_person_whatever_the_column_is_called(tmp_path) -> None:
    table = pd.DataFrame({"id": ["1", "1"], "Annotator": ["a", "model:m"], "label": ["favor", "against"]})
    assert score_soft(table, {"mine": {"1": "favor"}}, labels=LABELS).raters == (1,)


def test_what_nobody_labelled_is_left_out_where_that_is_said(tmp_path) -> None:
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "mine.csv").write_text(SHARES + "7,0,0,1\n")
    (tmp_path / "two.csv").write_text("item_id,pred,y_pred\n1,favor,against\n2,favor,against\n")
    command = [
        "evaluate",
        "score",
        "--soft",
        str(tmp_path / "people.csv"),
        "--order",
        ",".join(LABELS),
        "--json",
    ]
    done = CliRunner().invoke(app, [*command, f"mine={tmp_path / 'mine.csv'}", "--extra", "ignore"])
    assert json.loads(done.stdout)["soft"][0]["items"] == 2
    done = CliRunner().invoke(app, [*command, f"{tmp_path / 'two.csv'}:y_pred"])
    assert {row["system"] for row in json.loads(done.stdout)["soft"]} == {"y_pred"}
    again = CliRunner().invoke(app, [*command, *[f"mine={tmp_path / 'mine.csv'}"] * 2, "--extra", "ignore"])
    assert re.search("two files are called mine.*NAME=FILE", str(again.exception))


def test_a_column_of_people_that_is_named_must_be_there() -> None:
    people, right = answers()
    with pytest.raises(UnknownName, match=r"lacks the column 'anotator'\. Did you mean 'annotator'"):
        score_soft(people, {"mine": right}, labels=LABELS, annotator="anotator")
