"""A system's measures over all posts: the figures that shares and totals have, for both estimands."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import covmis_build as covmis
from covmis_build.cli import app
from covmis_build.errors import CovmisError, InputError, UnknownName
from covmis_build.estimation.shares import design_in_pool
from covmis_build.options import Sampling

LABELS = ["favor", "against", "neither"]


def corpus(items=160, seed=7):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "item_id": [f"{at % 6}|x:{at}" for at in range(items)], "claim_id": [str(at % 6) for at in range(items)],
            "label": rng.choice(LABELS, items, p=[0.5, 0.35, 0.15]), "p_claim": rng.choice([1.0, 0.5], items),
            "p_sample": rng.uniform(0.2, 1, items), "group_size": rng.integers(1, 9, items),
        }
    )  # fmt: skip


def system(gold, skill=0.6, seed=8):
    rng = np.random.default_rng(seed)
    said = np.where(rng.random(len(gold)) < skill, gold["label"], rng.choice(LABELS, len(gold)))
    return pd.DataFrame({"item_id": gold["item_id"], "prediction": said})


@pytest.mark.parametrize("name", ["accuracy", "macro_f1", "kappa"])
def test_messages_are_what_estimates_and_scores_say(name) -> None:
    """One weighting path: `score`'s weighted column, the estimate of a measure, and this: the same to the last digits."""
    gold = corpus()
    said = system(gold)
    options = {"measures": [name], "labels": LABELS, "probabilities": ["p_claim", "p_sample"]}
    over = covmis.score_over_posts(gold, {"mine": said}, **options).to_frame().iloc[0]
    beside = covmis.score(gold, {"mine": said}, **options).to_frame().iloc[0]
    ends = ["value", "low", "high"]
    assert over[ends].tolist() == beside[["weighted", "weighted_low", "weighted_high"]].tolist()


def test_copies_are_counted_as_if_each_were_a_row() -> None:
    """An item posted k times weighs as k items of the same fate: point estimates and gradients."""
    gold = corpus(60)
    said = system(gold)
    certain = gold.assign(p_claim=1.0, p_sample=1.0)
    table = covmis.score_over_posts(certain, {"mine": said}).to_frame()
    posts = table[table["estimand"] == "posts"].set_index("measure")
    times = gold["group_size"].to_numpy()
    repeated = covmis.score(
        np.repeat(gold["label"].to_numpy(), times),
        {"mine": np.repeat(said["prediction"].to_numpy(), times)},
    )
    for name in posts.index:
        if not name.startswith("alpha"):  # alpha knows the number of items
            assert posts.loc[name, "value"] == pytest.approx(repeated.value("mine", name)), name
    assert (posts["standard_error"] == 0).all(), "everything was drawn: nothing is uncertain"


def run(*words):
    done = CliRunner().invoke(app, ["evaluate", "score", *map(str, words)])
    if isinstance(done.exception, CovmisError):
        raise done.exception
    assert done.exit_code == 0, (done.output, done.exception)
    return done.stdout


def test_the_command(tmp_path) -> None:
    gold = corpus()
    gold.to_csv(tmp_path / "corpus.csv", index=False)
    file = tmp_path / "mine.csv"
    system(gold).to_csv(file, index=False)
    words = [tmp_path / "corpus.csv", file, "--over", "posts", "--labels", ",".join(LABELS)]
    found = json.loads(run(*words, "--measures", "accuracy,macro_f1", "--json"))
    assert found["level"] == 0.95
    assert [(row["measure"], row["estimand"]) for row in found["measures"]] == [
        ("accuracy", "unique_posts"), ("macro_f1", "unique_posts"), ("accuracy", "posts"), ("macro_f1", "posts"),
    ]  # fmt: skip
    for row in found["measures"]:
        assert row["low"] < row["value"] < row["high"]
    outs = [word for kind in ("html", "csv", "json", "tex") for word in ("--out", tmp_path / f"out.{kind}")]
    assert "Neither is public opinion" in run(*words, *outs)
    assert "unique posts" in (tmp_path / "out.html").read_text()
    with pytest.raises(InputError, match="needs an order"):
        run(*words, "--measures", "mae_micro")
    ordinal = run(*words, "--measures", "mae_micro", "--order", "favor,neither,against", "--json")
    assert json.loads(ordinal)["measures"][0]["low"] > 0
    with pytest.raises(UnknownName, match=r"over = .post.\. Did you mean .posts."):
        run(*words[:2], "--over", "post")
    with pytest.raises(InputError, match="gold has no probabilities"):
        run(*words, "--probabilities", "none")


def test_an_unanswered_item_is_missing_or_wrong() -> None:
    gold = corpus()
    said = system(gold).iloc[1:]
    with pytest.raises(InputError, match="has no prediction for 1 of 160 items"):
        covmis.score_over_posts(gold, {"mine": said})
    table = covmis.score_over_posts(gold, {"mine": said}, missing="wrong", measures=["accuracy"]).to_frame()
    assert 0 < table["value"].iloc[0] < 1


def test_what_cannot_be_anything_else_claims_no_more_than_its_items(tmp_path) -> None:
    """A constant's kappa is 0 whatever is right: what rounding leaves of its variance is worth no items."""
    gold = corpus()
    constant = gold.assign(prediction="against")[["item_id", "prediction"]]
    scores = covmis.score_over_posts(gold, {"always": constant}, measures=["kappa", "accuracy"])
    kappa = scores.to_frame().query("measure == 'kappa'")
    assert (kappa["effective_n"] <= 160).all()
    assert kappa["design_effect"].isna().all()
    scores.write(tmp_path / "scores.json")
    text = (tmp_path / "scores.json").read_text()
    assert len(json.loads(text, parse_constant=pytest.fail)["measures"]) == 4
    page = scores.html()
    assert "Each unique post once" in page
    assert ">inf<" not in page


def test_a_text_of_most_posts_that_was_not_drawn_takes_the_interval_away():
    pool = pd.DataFrame(
        {
            "item_id": [f"1|x:{at}" for at in range(300)], "claim_id": "1", "post_id": [f"x:{at}" for at in range(300)],
            "kind": "keywords", "p_claim": 1.0, "group_size": [4000] + [1] * 299,
        }
    )  # fmt: skip
    gold = (
        pool[1:25]
        .assign(label=["favor", "against"] * 12, p_sample=24 / 300, how="agreed")
        .reset_index(drop=True)
    )
    said = {"mine": ["favor", "against"] * 11 + ["favor", "favor"]}
    design = design_in_pool(gold, pool, Sampling())
    table = covmis.score_over_posts(gold, said, design=design, by_position=True).to_frame()
    known = table.groupby("estimand")["low"].agg(lambda low: low.notna().all())
    assert known["unique_posts"]
    assert not known["posts"]
    assert (
        table.query("estimand == 'posts'")["why"]
        .str.startswith("too few posts, or a few with large weights or many near-duplicates, decide")
        .all()
    )
