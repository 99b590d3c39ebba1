"""What the compiled pass leaves out matches nothing, whatever the letters; with and without it the tables are the same."""

from __future__ import annotations

import json
import unicodedata
from itertools import islice, pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covmis_build.archive import store, streams
from covmis_build.archive.post import Claimed, Post
from covmis_build.archive.reader import read
from covmis_build.matching import matcher as match
from covmis_build.matching.find import Asked, _candidates, find
from covmis_build.matching.matcher import Matcher, Query
from covmis_build.text.folding import ALONE, ENDS, KNOWN, MANY, NOTHING, POINTS, UNSURE, folding
from covmis_build.text.nodes import Address
from covmis_build.text.scan import LINK, UNSURE_CUT, WORD, Owned, Sought, hash_table, hashed, utf8
from covmis_build.text.tokens import tokens
from covmis_build.text.urls import canonical_url
from tests.matching.test_match import KEYWORDS, PAGES, POSTS, QUERIES, SHOWN, made
from tests.text.test_urls import SAME


def cut(text: str) -> list[str] | None:
    """Tokens by the table of letters alone; None where it is unsure."""
    points, several = (column.tolist() for column in folding())
    found, word = [], ""
    for one in map(ord, text):
        letter = points[one] if one < POINTS else UNSURE
        at = MANY - letter
        letters = several[at : several.index(NOTHING, at)] if letter <= MANY else [letter]
        for part in letters:
            if part == UNSURE:
                return None
            if 0 < part < ALONE:
                word += chr(part)
            elif part != NOTHING:
                found += [word, chr(part - ALONE)] if part != ENDS else [word]
                word = ""
    return [one for one in [*found, word] if one]


def test_the_table_of_letters_is_the_tokeniser_for_each_character():
    points = folding().points.tolist()
    codes = [code for known in KNOWN for code in known if points[code] != UNSURE]
    assert len(codes) > 60_000
    for start in range(0, len(codes), 1000):
        texts = [f"a{chr(code)}b e{chr(code)}" for code in codes[start : start + 1000]]
        assert cut(" ".join(texts)) == [token for text in texts for token in tokens(text)]


FORMS = ("NFC", "NFD", "NFKC", "NFKD")
STRANGE = "ﬁßİıſK…’“”éêç가각한가ㄱが゛ガﾞ①²½™ͅΣσςЙйلآ\u0301\u0327\u0345\u3099\u200d\u00ad\ufe0f\u20e3🙂🇩🇪𝓗ａＡ新冠ก็าြ\u0338<&"  # noqa: RUF001
WRITTEN = st.one_of(
    st.text(max_size=12),
    st.text(STRANGE, max_size=12),
    st.lists(st.sampled_from(["mask", "CAFÉ", "covid-19", "ﬂu", "新冠", "ＦＬＵ", "Bi\u00adll", "gates…"]), max_size=6).map(" ".join),  # noqa: RUF001
)  # fmt: skip


@settings(max_examples=500)
@given(WRITTEN, WRITTEN, st.sampled_from(FORMS))
def test_the_table_of_letters_is_the_tokeniser_wherever_it_is_sure(one, other, form):
    for text in (one + other, unicodedata.normalize(form, one + other), (one + other).swapcase()):
        found = cut(text)
        assert found is None or found == tokens(text)


TEXTS = st.lists(st.one_of(WRITTEN, st.sampled_from([*SHOWN, "mask flu", "t.co/x", "a/b", "https://t.co/abc…", "&lt;mask&amp;flu", *PAGES])), max_size=6).map(" ".join)  # fmt: skip
MORE = st.dictionaries(
    st.sampled_from(["id", "text", "lang", "user", "retweet_count", "retweeted_status", "quoted_status_id_str", "card", "delete", "place", "extended_entities", "__covmis", "fullﬁ"]),
    st.one_of(st.none(), st.just({}), st.just(""), st.just("mask"), st.integers(), st.floats(), st.booleans(), st.just({"id_str": "7", "text": "flu", "full_text": "mask"}), st.just([{"urls": [1.5e3]}])),
    max_size=3,
)  # fmt: skip
ROWS = st.builds(
    lambda text, urls, more, number: {
        "id_str": number, "full_text": text, "entities": {"urls": [{"expanded_url": url} for url in urls]}, "user": {"id_str": "5", "text": "mask"},
    } | more,
    TEXTS, st.lists(st.sampled_from(SHOWN), max_size=2), MORE, st.sampled_from(["5", "6", "7"]),
)  # fmt: skip
SCRAPED = st.builds(
    lambda text, urls, number: {"_type": "snscrape.modules.twitter.Tweet", "id": number, "rawContent": text, "outlinks": urls, "date": "x"},
    TEXTS, st.one_of(st.none(), st.lists(st.sampled_from(SHOWN), max_size=2)), st.sampled_from([5, 6, 7.0, "5"]),
)  # fmt: skip
LINES = st.builds(
    lambda row, plain, gap: json.dumps(row, ensure_ascii=plain, separators=(f",{gap}", f":{gap}")).encode("utf-8", "replace"),
    st.one_of(ROWS, SCRAPED), st.booleans(), st.sampled_from(["", " ", "\t"]),
)  # fmt: skip


def block_of(posts):
    """Posts as rows of the store."""
    return store.rows(posts, range(len(posts)), [("a.jsonl", "x_v1")] * len(posts), "part")


def check(matcher: Matcher, posts: list[Post]) -> None:
    """What is left out matches nothing; what is said to have no address that is asked for has none."""
    compiled = Asked(matcher, matcher.sought(), {})
    candidates = {
        at: (linked, cut_text) for at, _, linked, cut_text in _candidates(block_of(posts), compiled)
    }
    for number, post in enumerate(posts):
        found = matcher.match(post) if post.text or post.urls or post.cards else []
        assert not found or number in candidates, post
        if number in candidates:
            linked, cut_text = candidates[number]
            assert matcher.match(post, linked=linked) == found, post
            assert matcher.match(post, linked=linked, cut=cut_text) == found, post
            words = f" {' '.join(tokens(post.text))} "
            assert cut_text is None or cut_text.spaced in {"", words}, post


@settings(max_examples=300)
@given(QUERIES, st.lists(POSTS, min_size=1, max_size=8), st.lists(TEXTS, max_size=4))
def test_nothing_that_matches_is_left_out(written, posts, texts):
    check(Matcher(made(written)), [*posts, *(Post("x:9", "9", "x", text) for text in texts)])


@settings(max_examples=100)
@given(st.lists(st.tuples(st.just("keywords"), KEYWORDS), min_size=1, max_size=4), st.data())
def test_queries_of_any_letters_find_their_own_text(written, data):
    text = data.draw(WRITTEN.filter(tokens))
    matcher = Matcher(made([*written, ("keywords", f'"{" ".join(tokens(text))}"')]))
    posts = [Post("x:1", "1", "x", f"so: {unicodedata.normalize(form, text)}!") for form in FORMS]
    assert all(map(matcher.match, posts))
    check(matcher, posts)


def flags(sought: Sought, texts: list[str], links: list[str]) -> list[int]:
    """What the compiled pass says of texts, and of addresses, each a post of its own."""
    owners = np.arange(len(texts), len(texts) + len(links))
    none = Owned(pa.array([], pa.string()), np.zeros(0, np.int64))
    every = pa.array([*texts, *[""] * len(links)], pa.string())
    return sought.look(every, none, [Owned(pa.array(links, pa.string()), owners)])[0].tolist()


LOOKED_FOR = [("keywords", "mask"), ("news_url", 'url:"https://example.org/a-story"'), ("news_url", 'url:"hoax.example.com"')]  # fmt: skip


def test_what_is_flagged_and_what_is_not():
    sought = Matcher(made(LOOKED_FOR)).sought()
    texts = {
        "nothing here and/or there https://t.co/abc… 🙂": 0, "unmasked masks": 0, "": 0, "a mask": WORD, "MASK": WORD,
        "ma\u00adsk": WORD, "see example.org/a-story_.": LINK, "a mask, see example.org/a-story": WORD | LINK,
        "of a rare plane \U00020000": WORD | LINK | UNSURE_CUT, "x" * 70_000: 0, "see hoax.example.com/": LINK,
        "http://HOAX.example.com/": LINK, "b.org/%41": LINK, "&lt;mask&gt;": WORD, "新冠 mask": WORD, "\0": 0, "b.org/\0c": LINK, "ma\0sk": 0, "mask\0": WORD,
    }  # fmt: skip
    links = {"https://a.org/b": 0, "https://example.org/a-story?x=1": LINK, "https://b.org/%41": LINK, "https://b.org/é": LINK, "": 0, "https://b.org/\0": LINK}  # fmt: skip
    expected = [*texts.values(), *links.values()]
    assert flags(sought, list(texts), list(links)) == expected


@pytest.mark.parametrize("page", SAME)
def test_a_page_is_found_by_each_of_its_addresses(page):
    matcher = Matcher([Query("q", "c", "news_url", Address(canonical_url(page)))])
    links = [page, *SAME[page]]
    assert [one for one in links if not matcher.match(Post("x:1", "1", "x", "", urls=[one]))] == []
    assert flags(matcher.sought(), [], links) == [LINK] * len(links)


def test_a_common_part_of_an_address_is_not_enough():
    sought = Matcher(
        made([("news_url", 'url:"cnn.com/2020"'), ("news_url", 'url:"hoax.example.com"')])
    ).sought()
    links = {"https://edition.cnn.com/2020": LINK, "https://example.org/2020": 0, "https://cnn.com/2021": 0, "https://hoax.example.com/2021": LINK}  # fmt: skip
    assert flags(sought, [f"see {link} there" for link in links], []) == [*links.values()]
    assert flags(sought, [], list(links)) == [*links.values()]


def test_a_query_wakes_only_where_all_it_needs_is_there():
    sought = Sought.of({"mask": {0: ["mask", "flu"], 1: ["mask", "bill", "gates"]}})
    texts = ["mask", "mask flu", "bill mask", "gates mask bill", "flu"]
    assert flags(sought, texts, []) == [0, WORD, 0, WORD, 0]


@given(st.sets(st.text(max_size=9), max_size=60))
def test_words_stand_where_they_are_looked_for(words):
    values = {hashed(word) for word in words}
    table = hash_table(values).tolist()
    assert {value for value in table if value} == values
    bits = len(table).bit_length() - 1
    for value in values:  # found by going on from its place to the first free one
        place = value * 0xFF51AFD7ED558CCD % 2**64 >> 64 - bits
        while table[place] != value:
            assert table[place]
            place = (place + 1) % len(table)


def stream_of(queries):
    rows = [(one.query_id, one.claim_id, one.kind, str(one.node), "", "") for one in queries]
    names = ("query_id", "claim_id", "kind", "expression", "text", "language")
    table = pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def both_ways(path, queries):
    """What is found in a file with compiled code, and without."""
    posts = [post for job in streams.jobs([(path, path.name)]) for line in read(job) for post in line.posts]
    return [
        find(block_of(posts), queries=stream_of(queries), counts=(), compiled=compiled)
        for compiled in (True, False)
    ]


@settings(max_examples=60)
@given(
    QUERIES, st.lists(st.one_of(LINES, st.sampled_from([b"", b"  ", b"{", b"\xef\xbb\xbf{}"])), max_size=30)
)
def test_what_is_found_is_the_same_with_and_without(tmp_path_factory, written, lines):
    path = tmp_path_factory.mktemp("both") / "a.jsonl"
    path.write_bytes(b"\n".join([json.dumps(PLAIN).encode(), *lines]))
    with_it, without = both_ways(path, made(written))
    assert with_it.equals(without)


TEXTS_WITH_ZEROS = st.lists(st.text("aé\0新 ", max_size=6), max_size=8)


@given(TEXTS_WITH_ZEROS, st.integers(0, 3))
def test_texts_end_with_a_zero_wherever_they_lie_in_an_array(texts, first):
    """A slice of a column begins in the middle of its buffers."""
    data, offset = utf8(pa.array(texts, pa.string()).slice(first))
    cut_texts = [bytes(data[begin:end]) for begin, end in pairwise(offset)]
    assert cut_texts == [
        text.replace("\0", "\1").encode() + b"\0" if "\0" in "".join(texts[first:]) else text.encode() + b"\0"
        for text in texts[first:]
    ]


def test_a_list_and_a_search_put_posts_to_claims():
    """A search counts as long as its query is the same; a repost without content counts for nothing."""
    searched = Claimed("1", "1:keywords:1", "keywords", "mask")
    posts = [
        Post("x:1", "1", "x", "anything", claimed=(searched,)),
        Post("x:2", "2", "x", "anything", claimed=(Claimed("2"), Claimed("3", kind="news_url"))),
        Post("x:3", "3", "x", claimed=(Claimed("1"),), availability="id only"),
        Post("x:4", "4", "x", claimed=(Claimed("1"),), repost_of="x:1"),
        Post("x:5", "5", "x", "anything", claimed=(Claimed("1", "1:keywords:1", "keywords", "as it was"),)),
    ]
    queries = match.read_queries([("1:keywords:1", "1", "keywords", "mask")])
    found = find(block_of(posts), queries=stream_of(queries), counts=(), compiled=False).to_pylist()
    assert [(row["row"], row["claim_id"], row["query_id"], row["kind"], row["verified"]) for row in found] == [
        (0, "1", "1:keywords:1", "keywords", "no"), (1, "2", "", "title", "not_applicable"),
        (1, "3", "", "news_url", "not_applicable"), (2, "1", "", "title", "not_applicable"),
    ]  # fmt: skip


PLAIN = {
    "id_str": "9",
    "full_text": "nothing here",
    "entities": {"urls": [{"expanded_url": "https://a.org/b"}]},
}


def test_on_real_posts_the_tables_are_the_same_with_and_without(tmp_path, data_home):
    import lzma

    from covmis_build.claims.lists import read_claims
    from covmis_build.queries.build import build_queries

    made_queries = build_queries(read_claims(data_home / "covmis/misinformation.csv"))
    columns = ("query_id", "claim_id", "kind", "expression")
    queries = match.read_queries(zip(*(made_queries[name] for name in columns), strict=True))
    words = [one.node for one in queries if one.kind == "keywords"]
    path = tmp_path / "real.jsonl"
    with (
        lzma.open(data_home / "posts/troll_500k.tsv.xz", "rt", errors="replace") as file,
        path.open("w") as out,
    ):
        for number, line in enumerate(islice(file, 0, 300_000, 25)):
            text = line.rstrip("\n").split("\t")[2] + (
                f" {words[number % len(words)]}" if number % 9 == 0 else ""
            )
            row = PLAIN | {
                "id_str": str(number),
                "full_text": text,
                "created_at": "Wed Apr 22 12:34:56 +0000 2020",
            }
            out.write(json.dumps(row, ensure_ascii=bool(number % 2)) + "\n")
    with_it, without = both_ways(path, queries)
    assert with_it.equals(without)
    assert len(with_it) > 500
