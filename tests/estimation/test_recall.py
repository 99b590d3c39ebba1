"""Recall: the prototypes' figures, properties that must hold, and coverage where nearly nothing was drawn."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covmis_build.estimation.recall import (
    Drawn,
    expected,
    found_total,
    missed_total,
    of_a_kind,
    recall,
    room_beyond,
    stance,
    stands_for,
    unseen_weight,
)
from covmis_build.sampling.guided import capped, either, guided, spread
from covmis_build.stats.weighted_counts import gamma_interval, ratio_interval

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "recall.json").read_text())


def labelled(relevant, probability):
    return Drawn(np.asarray(relevant, dtype=float), np.asarray(probability, dtype=float))


@pytest.mark.parametrize("case", VECTORS["gamma_interval"], ids=range(len(VECTORS["gamma_interval"])))
def test_gamma_intervals_are_the_prototype_s(case):
    assert gamma_interval(case["weights"], case["unseen"]) == pytest.approx(
        (case["low"], case["high"]), rel=1e-9
    )


@pytest.mark.parametrize("case", VECTORS["capped"], ids=range(len(VECTORS["capped"])))
def test_capped_probabilities_are_the_prototype_s(case):
    assert capped(case["weight"], case["expected"]) == pytest.approx(case["pi"], rel=1e-12)


@pytest.mark.parametrize("case", VECTORS["inclusion"], ids=range(len(VECTORS["inclusion"])))
def test_guided_probabilities_are_the_prototype_s(case):
    pi = guided(case["share"], case["labels"], even=case["floor"], power=0.5)
    assert pi == pytest.approx(case["pi"], rel=1e-9)


@pytest.mark.parametrize("case", VECTORS["estimate"], ids=range(len(VECTORS["estimate"])))
def test_recall_is_the_prototype_s_where_what_was_found_is_known(case):
    relevant = [1.0, 1.0, 0.0, 1.0]  # the prototype's third pair does not take up its claim
    assert (sum(relevant), len(relevant)) == (case["relevant"], case["drawn"])
    missed = missed_total(labelled(relevant, case["pi"]), case["unseen"])
    assert missed.value == pytest.approx(case["missed"], rel=1e-9)
    weights = [1 / p for yes, p in zip(relevant, case["pi"], strict=True) if yes and p < 1]
    low, high = (relevant[0] + end for end in gamma_interval(weights, case["unseen"]))
    assert (low, high) == pytest.approx((case["missed_low"], case["missed_high"]), rel=1e-9)
    assert low < missed.low < missed.high < high  # ours is the shorter form
    known = float(case["matched_relevant"])
    low, high = ratio_interval((missed.value, low, high), (known, known, known))
    assert (1 / (1 + high), 1 / (1 + low)) == pytest.approx((case["low"], case["high"]), rel=1e-9)


@given(st.lists(st.just(0.0) | st.floats(1e-6, 1e6), min_size=1, max_size=40), st.floats(0.1, 60))
def test_capped_adds_up_exactly(size, wanted):
    pi = capped(size, wanted)
    assert pi.sum() == pytest.approx(min(wanted, sum(one > 0 for one in size)), rel=1e-9)
    assert ((pi >= 0) & (pi <= 1)).all()
    assert [one for one, chance in zip(size, pi, strict=True) if one > 0 and chance <= 0] == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.floats(1, 30), st.floats(1.0, 4.0))
def test_more_labels_lower_nobody_s_chance_and_bound_the_weights(guess, labels, times):
    few, many = guided(guess, labels), guided(guess, labels * times)
    assert (many >= few - 1e-12).all()
    assert (1 / few <= len(guess) / (0.4 * min(labels, len(guess))) + 1e-6).all()


def test_rare_kinds_get_their_part():
    kinds = [["keywords"]] * 90 + [["title"]] * 9 + [["title", "news_url"]]
    pi = spread(kinds, 20)
    assert pi.sum() == pytest.approx(20)
    assert pi[-1] == 1
    assert pi[90] > 3 * pi[0]


@given(
    st.lists(st.tuples(st.booleans(), st.floats(0.01, 1)), min_size=1, max_size=20),
    st.lists(st.tuples(st.booleans(), st.floats(0.01, 1)), min_size=1, max_size=20),
)
def test_intervals_hold_their_value(found, missed):
    matched = labelled(*zip(*found, strict=True))
    others = labelled(*zip(*missed, strict=True))
    figures = recall(matched, 3 * len(found), others, others.probability)
    for figure in (figures.found, figures.missed):
        assert figure.low <= figure.value + 1e-9
        assert figure.value <= figure.high + 1e-9
    if not math.isnan(figures.recall.value):
        assert 0 <= figures.recall.low <= figures.recall.value + 1e-9
        assert figures.recall.value <= figures.recall.high + 1e-9 <= 1 + 2e-9


def test_nothing_drawn_is_no_proof():
    figures = recall(
        labelled([1.0] * 50, [1.0] * 50), 50, labelled([0.0] * 100, [0.1] * 100), np.full(1000, 0.1)
    )
    assert figures.recall.value == 1
    assert figures.recall.low == pytest.approx(50 / (50 + 29.96), rel=1e-3)
    assert figures.missed == pytest.approx((0, 0, 29.96), abs=0.01)


def test_unanswered_pairs_widen_and_do_not_move():
    answers = [1.0, 0.0, 1.0, 0.0]
    whole = recall(labelled(answers, [0.5] * 4), 8, labelled(answers, [0.5] * 4), np.full(8, 0.5))
    left = recall(
        labelled([*answers, math.nan], [0.5] * 5),
        10,
        labelled([*answers, math.nan], [0.5] * 5),
        np.full(8, 0.5),
    )
    assert left.unanswered == 2
    assert left.found.value == pytest.approx(5)
    assert left.missed.value == pytest.approx(5)
    assert left.recall.value == pytest.approx(whole.recall.value)
    assert left.recall.low < whole.recall.low
    assert left.recall.high > whole.recall.high


def test_kinds_share_what_is_found():
    found = labelled([1, 1, 1, 0], [1, 1, 1, 1])
    figures = recall(found, 4, labelled([1], [1]), np.ones(1))
    assert figures.recall == (0.75, 0.75, 0.75)
    assert of_a_kind(figures, found, np.array([True, False, False, True])).value == pytest.approx(0.25)


def test_what_lies_beyond_the_frame():
    assert 60_000 < room_beyond(10_000_000, 600) < 62_500
    assert math.isinf(room_beyond(10_000_000, 0))


def test_found_total_knows_its_number():
    assert found_total(labelled([1, 1, 0, 0], [1, 1, 1, 1]), 4) == (2, 2, 2)
    some = found_total(labelled([1, 1, 0, 0], [0.1] * 4), 40)
    assert some.value == pytest.approx(20)
    assert 0 < some.low < 20 < some.high < 40


def test_a_plan_expects_what_a_simulation_gives():
    rng = np.random.default_rng(5)
    guess = rng.beta(0.3, 20, 4000)
    pi = guided(guess, 400)
    drawn, figure = expected(300.0, guess, pi)
    assert figure.low < figure.value < figure.high
    relevant = rng.random((300, 4000)) < guess
    hits = relevant & (rng.random((300, 4000)) < pi)
    assert hits.sum(axis=1).mean() == pytest.approx(drawn, rel=0.1)


@pytest.mark.parametrize("labels", [100, 400])
def test_coverage_of_recall_with_both_parts_estimated(labels):
    """5,000 unmatched pairs, 30 relevant; 600 matched, 60% relevant: the interval covers at least 95% in 400 draws."""
    rng = np.random.default_rng(11)
    score = rng.beta(0.4, 30, 5000)
    relevant = np.zeros(5000)
    relevant[rng.choice(5000, 30, replace=False, p=score / score.sum())] = 1
    matched = (rng.random(600) < 0.6).astype(float)
    pi, pi_matched = guided(score, labels), np.full(600, labels / 4 / 600)
    truth = matched.sum() / (matched.sum() + 30)
    covered = []
    for _ in range(400):
        some, others = rng.random(600) < pi_matched, rng.random(5000) < pi
        figures = recall(Drawn(matched[some], pi_matched[some]), 600, Drawn(relevant[others], pi[others]), pi)
        covered.append(figures.recall.low <= truth <= figures.recall.high)
    assert np.mean(covered) >= 0.95
    assert unseen_weight(pi, "largest") > unseen_weight(pi)


def both_draws(first, learned):
    """Every outcome of two draws over the same pairs: its probability, both cumulated chances, who drew each pair."""
    size = len(first)
    for bits in itertools.product([False, True], repeat=size):
        early = np.array(bits)
        p_early = np.prod(np.where(early, first, 1 - first))
        second = learned(early)
        both = np.where(early, first, either(first, second))
        left = np.flatnonzero(~early)
        for more in itertools.product([False, True], repeat=len(left)):
            by = np.where(early, 0, -1)
            by[left[np.array(more, dtype=bool)]] = 1
            yield p_early * np.prod(np.where(more, second[left], 1 - second[left])), both, by


def test_learned_chances_are_unbiased_over_every_outcome_and_one_by_the_cumulated_chance_is_not():
    """Two draws of five pairs, the second near the relevant ones of the first."""
    relevant, first = np.array([1.0, 0, 1, 1, 0]), np.array([0.4, 0.5, 0.3, 0.6, 0.5])

    def learned(early):
        return np.clip(
            0.25 + 0.5 * np.convolve(np.where(early, relevant, 0.0), [0.5, 1, 0.5], "same"), 0.05, 0.9
        )

    mean = naive = total = 0.0
    for probability, both, by in both_draws(first, learned):
        drawn = by >= 0
        total += probability
        mean += probability * (stands_for([first, both], by, [2.3, 2.0]) * relevant)[drawn].sum()
        naive += probability * (relevant / both)[drawn].sum()
    assert total == pytest.approx(1)
    assert mean == pytest.approx(relevant.sum(), abs=1e-12)
    assert abs(naive - relevant.sum()) > 0.5


def test_one_draw_stands_for_one_by_its_chance():
    chances = np.array([0.5, 0.25, 1.0])
    assert stands_for([chances], np.array([0, -1, 0]), [1.75]).tolist() == [2.0, 1.0, 1.0]


def test_learned_rounds_are_unbiased_and_their_intervals_hold():
    """2,000 pairs in twenty cells of which two hold most of the relevant; the second draw goes by the labels of the first."""
    rng = np.random.default_rng(5)
    cell = np.arange(2000) % 20
    relevant = rng.random(2000) < np.where(cell < 2, 0.4, 0.005)
    truth, values, held, once = relevant.sum(), [], 0, []
    first = guided(np.ones(2000), 200)
    for _ in range(1500):
        early = rng.random(2000) < first
        yes = np.bincount(cell[early], relevant[early], 20)
        rate = (yes + 0.05) / (np.bincount(cell[early], minlength=20) + 4)
        both, left = first.copy(), ~early
        both[left] = either(first[left], guided(rate[cell[left]], 200))
        late = left & (rng.random(2000) < (both - first) / (1 - first))
        by = np.where(early, 0, np.where(late, 1, -1))
        mine = (by >= 0) & relevant
        drawn = Drawn(np.ones(mine.sum()), 1 / stands_for([first, both], by, [200, 200])[mine])
        figure = missed_total(drawn, unseen_weight(both))
        values.append(figure.value)
        held += figure.low <= truth <= figure.high
        even = capped(np.ones(2000), 400)
        once.append((rng.random(2000) < even)[relevant].sum() / even[0])
    assert abs(np.mean(values) - truth) < 3 * np.std(values) / math.sqrt(len(values))
    assert held / len(values) >= 0.95
    assert np.var(values) < np.var(once)


def test_totals_of_labels_add_up_to_what_recall_says_and_hold():
    """9,000 pairs found and 1,200 missed: the known number of found ones makes totals a third better, and they hold."""
    rng = np.random.default_rng(4)
    guess = rng.beta(0.5, 10, 1200)
    missed, found = (rng.random(1200) < guess).astype(float), (rng.random(9000) < 0.8).astype(float)
    pi, pi_found = guided(guess, 400), np.full(9000, 100 / 9000)
    favor = found * (rng.random(9000) < 0.6), missed * (rng.random(1200) < 0.3)
    truth = favor[0].sum() + favor[1].sum()
    held, off, plain = [], [], []
    for _ in range(400):
        some, others = rng.random(9000) < pi_found, rng.random(1200) < pi
        sides = Drawn(found[some], pi_found[some]), Drawn(missed[others], pi[others])
        whole = recall(sides[0], 9000, sides[1], pi)
        every = whole.found.value + whole.missed.value
        of = np.concatenate([favor[0][some], favor[1][others]])
        rest = np.concatenate([found[some], missed[others]]) - of
        of_favor, of_rest = (
            stance((sides[0], pi_found), (sides[1], pi), *both, every) for both in ((of, rest), (rest, of))
        )
        assert of_favor.total.value + of_rest.total.value == pytest.approx(every)
        held.append(of_favor.total.low <= truth <= of_favor.total.high)
        off.append(of_favor.total.value - truth)
        plain.append(np.sum(of / np.concatenate([sides[0].probability, sides[1].probability])) - truth)
    assert np.mean(held) >= 0.95
    assert np.std(off) < 0.8 * np.std(plain)
