"""Dawid and Skene's model finds the truth that made the labels."""

import numpy as np
import pytest

from covmis_build.stats.dawid_skene import dawid_skene


def made(people, items=3000, classes=3, seed=5):
    chance = np.random.default_rng(seed)
    truth = chance.choice(classes, size=items, p=[0.5, 0.3, 0.2])
    codes = np.repeat(truth[:, None], len(people), axis=1)
    for at, accuracy in enumerate(people):
        wrong = chance.random(items) > accuracy
        codes[wrong, at] = (truth[wrong] + chance.integers(1, classes, size=int(wrong.sum()))) % classes
    return truth, codes


def test_it_knows_how_good_each_person_is():
    _, codes = made([0.95, 0.8, 0.6])
    assert dawid_skene(codes, 3).accuracy == pytest.approx([0.95, 0.8, 0.6], abs=0.04)


def test_it_beats_the_majority_where_one_person_is_better_than_two():
    truth, codes = made([0.95, 0.55, 0.55])
    counts = np.stack([(codes == at).sum(1) for at in range(3)], axis=1)
    majority = (counts.argmax(1) == truth).mean()
    assert (dawid_skene(codes, 3).labels.argmax(1) == truth).mean() > majority + 0.05


def test_missing_labels_and_empty_items_are_allowed():
    truth, codes = made([0.9, 0.8, 0.8], items=200)
    codes[::3, 1] = -1
    codes[0] = -1
    found = dawid_skene(codes, 3)
    assert found.labels.sum(1) == pytest.approx(np.ones(200))
    assert (found.labels.argmax(1) == truth)[1:].mean() > 0.85
