"""Shares with the annotators' own answers in gold's place: their values, and the doubt of who answered."""

import itertools

import numpy as np
import pandas as pd
import pytest

from covmis_build.estimation.label_error import Answered, answered, answers_table, doubt
from covmis_build.estimation.shares import estimates
from covmis_build.options import Sampling
from covmis_build.stats.horvitz_thompson import made_design

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
    pairs = [(item, label) for labels in rows for item, label in zip(frame["item_id"], labels, strict=True)]
    return answers_table([item for item, _ in pairs], [label for _, label in pairs])


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


def test_single_answers_are_as_doubtful_as_others_on_average():
    answers = answers_table(["a", "a", "b", "b", "c"], ["favor", "against", "favor", "favor", "favor"])
    found = answered(answers, pd.Series(["a", "b", "c", "d"]), "favor")
    assert found.share.tolist() == pytest.approx([0.5, 1.0, 1.0, np.nan], nan_ok=True)
    # of one answer: .5 for a, 0 for b, so .25 for c; of two, half of it
    assert found.variance.tolist() == pytest.approx([0.25, 0.0, 0.25, np.nan], nan_ok=True)
    assert answered(answers_table(["a"], ["favor"]), pd.Series(["a"]), "favor") is None


def test_the_variance_is_unbiased_by_enumeration():
    """Every sample of four posts, and every pair of two out of three people's answers on each: Raj's rule, exactly."""
    people = np.array([[1, 1, 0], [0, 1, 0], [1, 1, 1], [0, 0, 1]], float)
    pi = np.array([0.3, 0.6, 0.8, 0.5])
    chosen = list(itertools.product(range(3), repeat=2))  # with replacement: answers are drawn independently
    moments = np.zeros(3)
    for bits in itertools.product([False, True], repeat=4):
        s = np.flatnonzero(bits)
        chance = np.prod(np.where(bits, pi, 1 - pi))
        if not len(s):
            continue
        for picks in itertools.product(chosen, repeat=len(s)):
            each = np.array([people[i, list(pick)] for i, pick in zip(s, picks, strict=True)])
            share, variance = each.mean(1), each.var(1, ddof=1) / 2
            design = made_design(pi[s])
            total = float((share / pi[s]).sum())
            v = design.variance(share) + doubt(
                Answered(share, variance), 1 / pi[s], pi[s], np.ones(len(s), dtype=bool)
            )
            moments += chance / len(chosen) ** len(s) * np.array([total, total**2, v])
    assert moments[0] == pytest.approx(people.mean(1).sum())
    assert moments[2] == pytest.approx(moments[1] - moments[0] ** 2)
