"""Queries learned from labelled missed posts: what they find of posts that nobody has labelled, and what is left alone."""

from __future__ import annotations

import pytest

from covmis_build.archive.words import words_of
from covmis_build.queries.learn import MissedPost, learn
from covmis_build.text.expression import parse

CLAIM = "Garlic cures the coronavirus"
SAID = ["three cloves {n} and the virus flees", "cloves of it keep the virus {n} away they say", "my aunt swears cloves kill a virus {n}"]  # fmt: skip
OTHERS = [
    "garlic bread {n} for dinner",
    "a virus scanner {n} for sale",
    "cloves {n} in the mulled wine",
    "day {n} of rain",
]


@pytest.fixture
def index(tmp_path):
    texts = {f"m{at:02}": SAID[at % 3].format(n=at) for at in range(30)}
    texts |= {
        f"o{at:03}": (OTHERS[at % 4] if at < 80 else "day {n} of rain and wind").format(n=at)
        for at in range(900)
    }
    return words_of(tmp_path, texts), texts


def labelled(texts, count, weight=20.0):
    return [MissedPost(f"m{at:02}", texts[f"m{at:02}"], weight) for at in range(count)]


def test_a_few_labels_find_the_rest(index):
    index, texts = index
    learned = learn(CLAIM, labelled(texts, 6), index, read=(5, 25, 100))
    query = learned.queries[-1]
    finds = set(index.posts.ids(index.rows(parse(query.expression).node)))
    assert {post for post in texts if post.startswith("m")} <= finds
    assert len(finds) == query.posts <= 100
    assert query.missed == 6
    assert query.held_out >= 4
    assert {unit.unit for unit in learned.shared} >= {"virus", "cloves"}
    # of so many posts that nobody reads them all there is no query
    assert all(row.posts <= 100 for row in learned.queries)


def test_one_label_is_told_as_what_it_is(index):
    index, texts = index
    for row in learn(CLAIM, labelled(texts, 1), index).queries:
        assert (row.missed, row.held_out) == (1, 0)


def test_what_stands_for_more_counts_more(index):
    """One post that stands for 500 others goes before five that stand for one each."""
    index, texts = index
    rare = MissedPost("o004", texts["o004"], 500.0)
    few = [MissedPost("o008", texts["o008"], 500.0), rare, *labelled(texts, 3, 1.0)]
    finds = index.rows(parse(learn(CLAIM, few, index, read=(120, 120, 120)).queries[0].expression).node)  # fmt: skip
    assert set(index.posts.numbers(["o004", "o008"])) <= set(finds)


def test_posts_that_are_gone_are_not_found(index):
    index, texts = index
    gone = [*labelled(texts, 4), MissedPost("x:1", "cloves and a virus that nobody keeps", 20.0)]
    assert all(row.missed <= 4 for row in learn(CLAIM, gone, index).queries)
    assert index.posts.numbers(["m00", "x:1"])[1] == -1
