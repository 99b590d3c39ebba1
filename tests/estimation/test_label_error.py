"""Shares with the annotators' own answers in gold's place: their values, and the doubt of who answered."""

import numpy as np
import pandas as pd
import pytest

from covmis_build.estimation.label_error import answers_table
from covmis_build.estimation.shares import estimates
from covmis_build.options import Sampling

VALUES = ["favor", "against"]


def corpus(n=60, seed=2):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "item_id": [f"{at % 6}|x:{at}" for at in range(n)], "claim_id": [str(at % 6) for at in range(n)],
            "kind": "keywords", "label": rng.choice(VALUES, n), "how": "agreed", "p_claim": 1.0,
            "p_sample": rng.uniform(0.3, 1, n).round(3), "group_size": 1,
        }
    )  # fmt: skip


def answers_of(frame, *rows):
    """Each row is what one person said of all items."""
    return answers_table(
        (item, f"a{person}", label)
        for person, labels in enumerate(rows)
        for item, label in zip(frame["item_id"], labels, strict=True)
    )


def test_where_all_say_what_gold_says_nothing_changes():
    frame = corpus()
    answers = answers_of(frame, frame["label"], frame["label"])
    shares = estimates(frame, VALUES, Sampling(), answers=answers).shares
    for own, people in (("share", "by_people"), ("low", "by_people_low"), ("high", "by_people_high")):
        assert shares[people].to_numpy(float) == pytest.approx(shares[own].to_numpy(float))


def test_people_who_differ_move_the_share_and_widen_the_interval():
    frame = corpus(n=240)
    rng = np.random.default_rng(8)
    other = np.where(rng.random(240) < 0.3, "favor", frame["label"])
    shares = estimates(frame, VALUES, Sampling(), answers=answers_of(frame, frame["label"], other)).shares
    row = shares[(shares["scope"] == "pool") & (shares["label"] == "favor")].iloc[0]
    w = 1 / frame["p_sample"].to_numpy()
    own = ((frame["label"] == "favor").to_numpy(float) + (other == "favor")) / 2
    assert row["by_people"] == pytest.approx(np.average(own, weights=w))
    assert row["by_people"] > row["share"], "gold stays as it is"
    alone = estimates(frame, VALUES, Sampling())
    assert alone.shares["by_people"].isna().all()
    assert not any("own answers" in sentence for sentence in alone.sentences)
    both = estimates(frame, VALUES, Sampling(), answers=answers_of(frame, frame["label"], other))
    assert sum("before any discussion" in sentence for sentence in both.sentences) == 1


def test_people_s_doubt_is_of_the_items_that_people_labelled():
    """What people said of items with an automatic label changes nothing: the audit corrects these."""
    frame = corpus(n=240)
    rule = np.arange(240) % 3 == 0
    frame.loc[rule, ["how", "label"]] = ["automatic", "favor"]
    frame.loc[rule & (np.arange(240) % 2 == 0), "how"] = "audited"
    frame["automatic_label"] = np.where(rule, "favor", "")
    other = np.where(np.random.default_rng(8).random(240) < 0.3, "favor", frame["label"])
    of_all = [np.where(rule, said, told) for said, told in zip(VALUES, (frame["label"], other), strict=True)]
    told = answers_of(frame, *of_all)
    of_people = told[told.index.isin(frame.loc[~rule, "item_id"])]
    every, own = (estimates(frame, VALUES, Sampling(), answers=each).shares for each in (told, of_people))
    for column in ("by_people", "by_people_low", "by_people_high"):
        assert every[column].to_numpy(float) == pytest.approx(own[column].to_numpy(float), nan_ok=True)


def test_the_spread_between_people_enters_and_two_are_only_these_two():
    frame = corpus(n=240)
    lean = [np.where(np.arange(240) % 10 < often, "favor", "against") for often in (2, 5, 8)]
    for people, words in ((2, "these two people"), (3, "people like these")):
        shares = estimates(frame, VALUES, Sampling(), answers=answers_of(frame, *lean[:people])).shares
        row = shares[(shares["scope"] == "pool") & (shares["label"] == "favor")].iloc[0]
        assert words in row["by_people_over"]
        assert row["by_people_high"] - row["by_people_low"] > 2 * (row["high"] - row["low"])
