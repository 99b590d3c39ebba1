"""Levenshtein distances against the plain table."""

from __future__ import annotations

import sys

from hypothesis import given, settings
from hypothesis import strategies as st

from covmis_build.evaluation.leakage import fewest_edits


def table(one, other):
    above = list(range(len(other) + 1))
    for row, a in enumerate(one, 1):
        here = [row]
        for column, b in enumerate(other, 1):
            here.append(min(here[-1] + 1, above[column] + 1, above[column - 1] + (a != b)))
        above = here
    return above[-1]


def distance(one, other):
    return int(fewest_edits([one], [other])[0][0])


words = st.text(st.sampled_from("abcé🌈 "), max_size=200)


@given(words, words)
@settings(max_examples=150, deadline=None)
def test_distance_is_that_of_the_table(one, other) -> None:
    assert distance(one, other) == table(one, other)


@given(
    st.text(st.sampled_from("ab"), min_size=60, max_size=140), st.integers(0, 139), st.text("ab", max_size=3)
)
@settings(max_examples=80, deadline=None)
def test_near_copies_around_the_block_borders(one, at, inserted) -> None:
    other = one[:at] + inserted + one[at + 1 :]
    assert distance(one, other) == table(one, other)


@given(st.lists(words, min_size=1, max_size=4), st.lists(words, min_size=1, max_size=5))
@settings(max_examples=60, deadline=None)
def test_nearest_finds_the_least_of_all(texts, among) -> None:
    absolute, where, relative, relative_where = fewest_edits(texts, among)
    for i, text in enumerate(texts):
        distances = [table(text, one) for one in among]
        shares = [d / max(len(text), len(one), 1) for d, one in zip(distances, among, strict=True)]
        assert absolute[i] == min(distances)
        assert distances[where[i]] == min(distances)
        assert relative[i] == min(shares)
        assert shares[relative_where[i]] == min(shares)


def test_blocks_change_nothing(monkeypatch) -> None:
    texts, among = ["abcd", "xyz", "", "abce"], ["xyzz", "abce", "abc"]
    whole = [part.tolist() for part in fewest_edits(texts, among)]
    monkeypatch.setattr(sys.modules[fewest_edits.__module__], "COMPARED", 4)
    assert [part.tolist() for part in fewest_edits(texts, among)] == whole
    assert whole[:2] == [[1, 1, 3, 0], [1, 0, 2, 1]]
