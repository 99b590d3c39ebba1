"""The matcher against a slow, obvious one: every query looked at in full for every post."""

from __future__ import annotations

import gzip
import itertools
import json
import lzma
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covmis_build.archive.ids import post_at
from covmis_build.archive.post import Post
from covmis_build.claims.lists import read_claims
from covmis_build.matching.matcher import Matcher, Query, read_queries
from covmis_build.queries.build import build_queries
from covmis_build.text.expression import parse
from covmis_build.text.nodes import all_leaves, holds, seen
from covmis_build.text.urls import addresses, canonical_url

WORDS = ["mask", "covid-19", "flu", "virus", "bill", "gates", "5G", "café", "新冠"]
PAGES = [
    "https://example.org/a-story", "https://youtu.be/E95qChF-MOo", "https://x.com/a/status/5", "example.org",
    "https://leadstories.com/hoax-alert/a.html", "https://www.example.org/caf%C3%A9", "https://blog.blogspot.com/x",
    "https://www.dailymotion.com/video/x7t1abc", "https://bbc.co.uk/news/world-5",
]  # fmt: skip
SHOWN = [
    "http://www.example.org/a-story/?utm_source=x", "https://www.youtube.com/watch?v=E95qChF-MOo&t=1", "https://t.co/abc",
    "https://www.google.com/url?q=https%3A%2F%2Fexample.org%2Fa-story", "https://hoax-alert.leadstories.com/a.html",
    "https://EXAMPLE.org/", "https://example.org/café", "https://blog.blogspot.de/x?m=1", "https://dai.ly/x7t1abc",
    "https://www.dailymotion.com/video/x7t1abc_title", "https://twitter.com/b/status/5?s=20", "https://example.org/other",
    "https://www.bbc.com/news/world-5", "https://example-org.translate.goog/", "https://x.com/a/status/6", "bad://url",
    "https://web.archive.org/web/2020/https://example.org/a%2Dstory",
]  # fmt: skip


def obvious(queries: list[Query], post: Post) -> dict[str, bool]:
    """Whether each query matches, with nothing left out."""
    links = [*post.urls, *(card[0] for card in post.cards), *addresses(post.text)]
    own = {one for one in (post.post_id, post.quote_of, post.repost_of) if one}
    found = {}
    for query in queries:
        asked = {leaf.key for leaf in all_leaves(query.node) if hasattr(leaf, "key")}
        keys = {canonical_url(link) for link in links} | {key for key in asked if post_at(key) in own}
        hit = holds(query.node, seen(post.text, keys))
        if query.kind == "title":
            hit = hit or any(holds(query.node, seen(card[1])) for card in post.cards)
        found[query.query_id] = hit
    return found


TERMS = st.one_of(
    st.sampled_from(WORDS),
    st.lists(st.sampled_from(WORDS), min_size=2, max_size=3).map(lambda some: f'"{" ".join(some)}"'),
)
GROUPS = st.lists(TERMS, min_size=1, max_size=3).map(lambda some: f"({' OR '.join(some)})")
KEYWORDS = st.builds(
    lambda some, absent: " ".join([*some, *(f"-{one}" for one in absent)]),
    st.lists(st.one_of(TERMS, GROUPS), min_size=1, max_size=3), st.lists(st.sampled_from(WORDS), max_size=1),
)  # fmt: skip
QUERIES = st.lists(
    st.one_of(
        st.tuples(st.just("keywords"), KEYWORDS),
        st.tuples(st.just("keywords"), st.sampled_from(PAGES).map(lambda page: f'mask (flu OR url:"{page}")')),
        st.tuples(st.just("title"), st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(lambda some: f'"{" ".join(some)}"')),
        st.tuples(st.just("news_url"), st.sampled_from(PAGES).map(lambda page: f'url:"{page}"')),
    ),
    min_size=1, max_size=12,
)  # fmt: skip
TEXTS = st.lists(st.sampled_from([*WORDS, "19", "CAFE", "the", *SHOWN]), max_size=9).map(" ".join)
POSTS = st.builds(
    Post,
    post_id=st.sampled_from(["x:5", "x:6"]),
    native_id=st.just("1"),
    platform=st.just("x"),
    text=TEXTS,
    urls=st.lists(st.sampled_from(SHOWN), max_size=3),
    cards=st.lists(st.tuples(st.sampled_from(SHOWN), TEXTS, st.just("")), max_size=1),
    quote_of=st.sampled_from(["", "", "x:5"]),
)


def made(written: list[tuple[str, str]]) -> list[Query]:
    return read_queries(
        (f"q{at:02d}", "c", kind, str(parse(text))) for at, (kind, text) in enumerate(written)
    )


@settings(max_examples=300)
@given(QUERIES, st.lists(POSTS, min_size=1, max_size=6))
def test_the_matcher_finds_what_the_obvious_one_finds(written, posts):
    queries = made(written)
    matcher = Matcher(queries)
    for post in posts:
        expected = {name for name, hit in obvious(queries, post).items() if hit}
        assert {one.query.query_id for one in matcher.match(post)} == expected


@given(QUERIES, st.lists(POSTS, min_size=4, max_size=8))
def test_the_words_of_an_archive_change_nothing(written, posts):
    queries = made(written)
    counts = Counter(word for post in posts for word in post.text.split())
    fresh, taught = Matcher(queries), Matcher(queries, counts)
    for post in posts:
        assert fresh.match(post) == taught.match(post)


def test_a_query_waits_under_its_rarest_word():
    queries = made([("keywords", "mask the")])
    assert list(Matcher(queries, {"the": 3, "mask": 1}).by_word) == ["mask"]
    assert list(Matcher(queries, {"the": 1, "mask": 3}).by_word) == ["the"]


@pytest.mark.parametrize(
    ("query", "post", "found"),
    [
        (("keywords", "garlic (covid-19 OR flu)"), Post("x:1", "1", "x", "Garlic and COVID-19"), ["garlic", "covid 19"]),
        (("keywords", "2 of (microchip, vaccine, mask)"), Post("x:1", "1", "x", "vaccine, mask"), ["vaccine", "mask"]),
        (("keywords", "garlic"), Post("x:1", "1", "x", "x", cards=[("", "garlic", "")]), None),
        (("title", '"garlic cures"'), Post("x:1", "1", "x", "x", cards=[("", "Garlic cures all", "")]), ["garlic cures"]),
        (("news_url", 'url:"example.org/a"'), Post("x:1", "1", "x", "see example.org/a!"), ["example.org/a"]),
        (("news_url", 'url:"example.org/a"'), Post("x:1", "1", "x", "", cards=[("http://example.org/a", "", "")]), ["example.org/a"]),
        (("news_url", 'url:"x.com/status/7"'), Post("x:7", "7", "x", "the post itself"), ["x.com/status/7"]),
        (("news_url", 'url:"x.com/status/7"'), Post("x:8", "8", "x", "quotes", quote_of="x:7"), ["x.com/status/7"]),
        (("news_url", 'url:"x.com/status/7"'), Post("x:8", "8", "x", "answers", reply_to="x:7"), None),
        (("keywords", "mask"), Post("x:1", "1", "x", "mine", quoted_text="mask"), None),
    ],
)  # fmt: skip
def test_what_was_found_is_told(query, post, found):
    hits = Matcher(made([query])).match(post)
    assert [one.found for one in hits] == ([found] if found else [])


MADE_FOR_THEM = [
    "apple iphone", "$FB (buy OR sell) -short", '"tim cook"', "china", "trump -hillary", "(obama OR clinton) (isis OR iraq)",
    '"make america great again"', "#news police", "путин", "украина -россия", "(في OR من) http", "की", "vídeo OR musica",
    '"@user http"', "être OR ete", "für -nicht", "über (ich OR du)", "não", "we don't", "1 2", "5 %",
]  # fmt: skip


def real_posts(home, part):
    """Every so many posts of the three collections: stocks with addresses, trolls, eight languages."""
    with gzip.open(home / "posts/stocknet_raw_119844.jsonl.gz") as file:
        for line in itertools.islice(file, 0, None, max(1, int(30 * part))):
            row = json.loads(line)
            yield Post(f"x:{row['id']}", row["id"], "x", row["text"], urls=row["urls"] or [])
    for name, opener, step in (
        ("troll_500k.tsv.xz", lzma.open, 125),
        ("xlmt_umsab_8lang.tsv.gz", gzip.open, 8),
    ):
        with opener(home / "posts" / name, "rt", encoding="utf-8", newline="\n") as file:
            for number, line in enumerate(itertools.islice(file, 0, None, max(1, int(step * part)))):
                yield Post(f"x:{number}", str(number), "x", line.rstrip("\n").split("\t", 2)[2])


def agree(home, posts):
    """The matcher and the slow reading find the same; returns the posts, and the queries that found one."""
    queries = build_queries(read_claims(home / "covmis/misinformation.csv"))
    rows = [
        *zip(queries["query_id"], queries["claim_id"], queries["kind"], queries["expression"], strict=True)
    ]
    rows += [(f"z{at}", "z", "keywords", text) for at, text in enumerate(MADE_FOR_THEM)]
    compiled = read_queries(rows)
    matcher = Matcher(compiled)
    number, hit = 0, set()
    for post in posts:
        number += 1
        found = {one.query.query_id for one in matcher.match(post)}
        text = seen(post.text, map(canonical_url, post.urls))
        assert found == {one.query_id for one in compiled if holds(one.node, text)}, post.text
        hit |= found
    return number, hit


def test_real_queries_on_real_posts(data_home):
    """All queries of the COVMis list, and some made for these posts, on every 30th, 125th and 8th, set for set."""
    number, hit = agree(data_home, real_posts(data_home, 1))
    assert number > 11_000
    assert len(hit) >= 18


@pytest.mark.long
def test_real_queries_on_many_real_posts(data_home):
    """The same on ten times as many."""
    number, hit = agree(data_home, real_posts(data_home, 0.1))
    assert number > 100_000
    assert len(hit) >= 20
