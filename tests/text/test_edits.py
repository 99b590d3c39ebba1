"""The nearest texts by Levenshtein distance, against the plain table."""

from __future__ import annotations

import sys

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from covmis_build.text.edits import nearest_texts


def table(one, other):
    above = list(range(len(other) + 1))
    for row, a in enumerate(one, 1):
        here = [row]
        for column, b in enumerate(other, 1):
            here.append(min(here[-1] + 1, above[column] + 1, above[column - 1] + (a != b)))
        above = here
    return above[-1]


words = st.text(st.sampled_from("abcé🌈 "), max_size=60)


def plain(texts, among, edits):
    """What is to be found: the least distance within `edits`, and the least share below 1 in 5, and the first place of each."""
    for text in texts:
        apart = [table(text, one) for one in among]
        shares = [d / max(len(text), len(one), 1) for d, one in zip(apart, among, strict=True)]
        near, alike = min(apart), min(shares)
        yield (
            (near, apart.index(near)) if near <= edits else (np.nan, -1),
            (alike, shares.index(alike)) if alike < 0.2 else (np.nan, -1),
        )


def check(texts, among, edits) -> None:
    found = nearest_texts(texts, among, edits)
    for at, ((edits_, edits_to), (share, share_to)) in enumerate(plain(texts, among, edits)):
        np.testing.assert_equal(found.edits[at], edits_)
        assert found.edits_to[at] == edits_to
        np.testing.assert_allclose(found.share[at], share)
        assert found.share_to[at] == share_to


@given(st.lists(words, min_size=1, max_size=4), st.lists(words, min_size=1, max_size=6), st.integers(0, 30))
@settings(max_examples=150)
def test_nearest_is_that_of_the_table(texts, among, edits) -> None:
    check(texts, among, edits)


@given(
    st.text(st.sampled_from("ab"), min_size=60, max_size=140), st.lists(st.integers(0, 139), max_size=30),
    st.text("ab", max_size=30), st.integers(0, 25),
)  # fmt: skip
@settings(max_examples=60)
def test_near_copies_around_the_limits(one, places, added, edits) -> None:
    changed = list(one)
    for at in places:
        if at < len(changed):
            changed[at] = "z"
    check([one], ["".join(changed) + added, added], edits)


def test_a_letter_that_occurs_often_is_counted_up_to_255() -> None:
    check(["a" * 300, "b" * 300], ["a" * 299, "a" * 600], 20)


def test_blocks_change_nothing(monkeypatch) -> None:
    texts, among = ["abcd", "xyz", "", "abce", "abcd"], ["xyzz", "abce", "abc", "abce"]
    whole = nearest_texts(texts, among, 20)
    monkeypatch.setattr(sys.modules[nearest_texts.__module__], "PAIRS", 4)
    parts = nearest_texts(texts, among, 20)
    for name in ("edits", "edits_to", "share", "share_to"):
        np.testing.assert_equal(getattr(parts, name), getattr(whole, name))
    assert whole.edits.tolist() == [1, 1, 3, 0, 1]
    assert whole.edits_to.tolist() == [1, 0, 2, 1, 1]


def test_nothing_to_compare() -> None:
    assert np.isnan(nearest_texts(["a"], [], 20).edits).all()
    assert len(nearest_texts([], ["a"], 20).edits) == 0
