"""The language of queries, against its rules and against a second, slower reading of them."""

from __future__ import annotations

import csv
import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covmis_build.errors import InputError
from covmis_build.text import tokens as tokeniser
from covmis_build.text.expression import as_written, parse
from covmis_build.text.nodes import broadened, conjunction_count, holds, leaves, seen
from covmis_build.text.tokens import tokens
from covmis_build.text.urls import spellings

WORDS = ["mask", "covid-19", "flu", "Ärger", "don’t", "5G", "新冠", "10,000", "or", "and", "#5G"]


@st.composite
def queries(draw, depth=2):
    """Expressions as people write them, with something to look for."""
    parts = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["word", "phrase", "group"] if depth else ["word", "phrase"]))
        if kind == "word":
            part = draw(st.sampled_from(WORDS))
        elif kind == "phrase":
            part = '"' + " ".join(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3))) + '"'
        else:
            part = "(" + " OR ".join(draw(st.lists(queries(depth=depth - 1), min_size=1, max_size=3))) + ")"
        parts.append(part)
    parts += ["-" + minus for minus in draw(st.lists(st.sampled_from(WORDS), max_size=1))]
    return " ".join(parts)


TEXTS = st.lists(
    st.sampled_from([*WORDS, "19", "covid", "MASK", "Arger", "冠", ",", "10", "t"]), max_size=8
).map(" ".join)


@pytest.mark.parametrize(
    ("query", "text", "matches"),
    [
        ("mask virus", "The VIRUS and the mask", True),
        ("mask virus", "only a mask", False),
        ("a b OR c", "c", True),
        ("a (b OR c)", "c", False),
        ('"bill gates"', "Bill, Gates!", True),
        ('"bill gates"', "gates bill", False),
        ("covid-19", "COVID 19", True),
        ("covid-19", "covid19", False),
        ("covid -hoax", "covid hoax", False),
        ("covid -hoax", "covid", True),
        ("covid -(hoax OR lie)", "covid lie", False),
        ("covid -(hoax lie)", "covid lie", True),
        ("don’t", "don't do it", True),
        ("cafe", "un café", True),
        ("naïve", "NAIVE", True),
        ("strasse", "Straße", True),
        ("ΟΔΟΣ", "οδος", True),
        ("“bill gates”", "bill gates", True),
        ("10,000", "10 000 people", True),
        ("38%", "38 percent", True),
        ("新冠病毒", "这是新冠病毒", True),
        ("新冠病毒", "新的冠病毒", False),
        ("हिन्दी", "यह हिन्दी है", True),
        ("covid", "\U0001d5d6\U0001d5e2\U0001d5e9\U0001d5dc\U0001d5d7 is", True),
        ("mask", "unmasked", False),
        ("a AND b", "b a", True),
        ('url:"youtu.be/abcdefg"', "see https://www.youtube.com/watch?v=abcdefg&t=3", True),
        ("https://example.org/a?fbclid=1", "(http://www.example.org/a/)", True),
        ("https://example.org/a", "http://example.org/b", False),
    ],
)
def test_matches(query, text, matches):
    assert parse(query).matches(text) is matches


@pytest.mark.parametrize(
    ("query", "canonical"),
    [
        ("Trump  (Ship OR SENT)", "trump (ship OR sent)"),
        ("a OR b c", "a OR b c"),
        ("(a OR b) c", "(a OR b) c"),
        ("((a))", "a"),
        ("a a A", "a"),
        ("a (b (c OR d))", "a b (c OR d)"),
        ("Covid-19’s", '"covid 19 s"'),
        ("x -(a OR b)", "x -a -b"),
        ("x -(a b)", "x (-a OR -b)"),
        ("x --a", "x -a"),
        ("新冠 病毒", "新冠 病毒"),
        ("https://m.example.org/a/#x", 'url:"example.org/a"'),
    ],
)
def test_canonical(query, canonical):
    assert str(parse(query)) == canonical
    assert str(parse(canonical)) == canonical


@pytest.mark.parametrize(
    "query", ["", "  ", "()", "a OR", "OR a", "(a", "a)", '"a', "-a", "a OR -b", "-(a b)", "?!", "AND"]
)
def test_refused(query):
    with pytest.raises(InputError) as error:
        parse(query)
    assert "\n" not in str(error.value)


@given(queries())
def test_canonical_form_parses_to_itself(query):
    once = parse(query)
    assert str(parse(str(once))) == str(once)
    assert parse(str(once)).node == once.node


def obvious(query: str, text: str) -> bool:
    """The same rules, read by turning the query into a Python condition over the text's tokens."""
    cut = tokens(text)

    def has(term: str) -> bool:
        wanted = tokens(term)
        return any(cut[at : at + len(wanted)] == wanted for at in range(len(cut))) if wanted else False

    terms: list[str] = []
    pieces = re.findall(r'[()]|-?"[^"]*"|[^\s()]+', query.replace("’", "'"))
    written, joined = [], False
    for piece in pieces:
        if piece == "OR":
            written.append("or")
            joined = False
            continue
        if piece == ")":
            written.append(")")
            joined = True
            continue
        if joined:
            written.append("and")
        joined = piece != "("
        if piece == "(":
            written.append("(")
        else:
            minus = "not " if piece.startswith("-") else ""
            terms.append(piece.lstrip("-").strip('"'))
            written.append(f"{minus}has(terms[{len(terms) - 1}])")
    return bool(eval(" ".join(written), {"has": has, "terms": terms}))


@given(queries(), TEXTS)
def test_matches_like_the_obvious_reading(query, text):
    assert parse(query).matches(text) is obvious(query, text)


@given(st.text())
def test_tokens_are_their_own_tokens(text):
    cut = tokens(text)
    assert [one for token in cut for one in tokens(token)] == cut
    assert all(one and not any(map(str.isspace, one)) for one in cut)


def test_the_short_way_gives_the_same_tokens():
    for code in range(sys.maxunicode + 1):
        sign = chr(code)
        if tokeniser._SIMPLE.fullmatch(sign):
            text = f"Ab{sign}c 1{sign}2"
            assert tokens(text) == tokeniser._of_any_script(text), hex(code)


@given(queries(), st.sampled_from(["x", "bluesky", "mastodon"]), TEXTS, st.integers(20, 80))
def test_searches_find_at_least_what_the_expression_matches(query, platform, text, limit):
    whole = parse(query)
    searches = whole.render(platform, limit)
    assert searches
    assert all(len(one) <= limit for one in searches)
    if whole.matches(text):
        assert any(parse(one).matches(text) for one in searches)


QUORUMS = st.tuples(
    st.integers(1, 4),
    st.lists(queries(depth=1), min_size=2, max_size=5, unique_by=lambda one: str(parse(one))),
)


@settings(max_examples=300)
@given(QUORUMS, TEXTS)
def test_a_quorum_counts_its_parts(quorum, text):
    least, parts = quorum
    written = f"{least} of ({', '.join(parts)})"
    if least > len(parts):
        with pytest.raises(InputError, match=f"asks for {least} of {len(parts)} different"):
            parse(written)
        return
    whole = parse(written)
    assert parse(str(whole)) == whole
    assert str(parse(str(whole))) == str(whole)
    assert whole.matches(text) is (sum(parse(part).matches(text) for part in parts) >= least)
    assert parse(f"nothing -({written})").matches(f"nothing. {text}") is not whole.matches(f"nothing. {text}")
    for platform in ("x", "bluesky"):
        if whole.matches(text):
            assert any(parse(search).matches(text) for search in whole.render(platform))


@pytest.mark.parametrize(
    ("query", "canonical"),
    [
        ("2 of (garlic, (cure OR cures), covid-19)", '2 of (garlic, (cure OR cures), "covid 19")'),
        ("2 of (a b)", "2 of a b"),
        ("a , b", "a b"),
        ("(a , b) c", "a b c"),
        ("2 of (a, (b , c), d)", "2 of (a, b c, d)"),
        ("2 of 3 (a OR b)", "2 of 3 (a OR b)"),
        ("2 of (1,000, deaths, https://a.org/x)", '2 of ("1 000", deaths, url:"a.org/x")'),
        ("2 of (疫苗\uff0c新冠\uff0c死)", "2 of (疫苗, 新冠, 死)"),
        ("2 of (https://a.org/x,(b OR c),d)", '2 of (url:"a.org/x", (b OR c), d)'),
        ("2 of ((https://a.org/x_(y))\uff0cb\uff0cc)", '2 of (url:"a.org/x_(y)", b, c)'),
        ("2 of (https://a.org/x,y, b, c)", '2 of (url:"a.org/x,y", b, c)'),
        ("1 of (a, b)", "a OR b"),
        ("2 of (a, b)", "a b"),
        ("x -2 of (a, b, c)", "x 2 of (-a, -b, -c)"),
        ("3 of (2 of (a, b, c), d OR e, f g, h)", "3 of (2 of (a, b, c), (d OR e), f g, h)"),
    ],
)
def test_canonical_quorums(query, canonical):
    assert str(parse(query)) == canonical
    assert str(parse(canonical)) == canonical


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("3 of (a, b)", "a quorum asks for 3 of 2 different things. Ask for 1 to 2"),
        ("0 of (a, b)", "asks for 0 of 2"), ("2 of (a, A)", "asks for 2 of 1"), ("2 of (a, b", "not closed"),
        ("2 of (a,, b)", "a word is missing"), ("1 of (-a, b)", "only says what must be absent"),
        ("2 of (-a, -b, c)", "only says what must be absent"),
    ],
)  # fmt: skip
def test_quorums_that_ask_for_nothing_are_refused(query, why):
    with pytest.raises(InputError) as error:
        parse(query)
    assert why in str(error.value)


def test_x_is_asked_for_a_quorum_in_its_own_words():
    assert parse("2 of (a, b, c)").render("x") == ["(a (b OR c)) OR (b c)"]
    assert parse("2 of (a, b, c)").render("mastodon") == ["a b", "a c", "b c"]
    wide = parse(f"2 of ({', '.join(f'word{n:02}' for n in range(40))})")
    searches = wide.render("x")
    assert 1 < len(searches) <= 500
    assert all(len(search) <= 512 for search in searches)
    assert parse("z -2 of (a, b, c)").render("x") == ["z"]


def test_a_platform_wants_quotes_around_punctuation():
    assert parse("don’t (covid-19 OR flu) -hoax").render("x") == ['"don\'t" ("covid-19" OR flu) -hoax']
    assert parse("mask (covid-19 OR flu) -hoax").render("bluesky") == ['mask "covid-19"', "mask flu"]
    assert parse('url:"https://x.com/a/status/12"').render("x") == ["quotes_of_tweet_id:12"]
    assert parse("https://www.example.org/A?fbclid=2").render("x") == ['url:"example.org/A"']


@pytest.mark.parametrize(
    ("address", "written"),
    [
        ("https://hoax-alert.leadstories.com/1-b.html", ["hoax-alert.leadstories.com/1-b.html", "leadstories.com/hoax-alert/1-b.html"]),
        ("https://www.facebook.com/who/photos/a.1/23/?type=3&theater", ["facebook.com/who/photos/a.1/23", "facebook.com/photo?fbid=23"]),
        ("https://www.bbc.co.uk/news/health-1", ["bbc.co.uk/news/health-1", "bbc.com/news/health-1"]),
        ("https://youtu.be/gAVBZp6tPM4?t=188", ["youtu.be/gAVBZp6tPM4", "youtube.com/watch?v=gAVBZp6tPM4"]),
        ("https://example.org/a?page=2&id=1&utm_source=x", ["example.org/a?page=2&id=1", "example.org/a?id=1&page=2"]),
        ("https://www.example.org/a", ["example.org/a"]),
    ],
)  # fmt: skip
def test_a_platform_is_asked_for_addresses_as_posts_have_them(address, written):
    whole = as_written("news_url", address, str(parse(f'url:"{address}"')))
    (search,) = whole.render("x")
    assert search.strip("()") == " OR ".join(f'url:"{one}"' for one in written)
    assert whole.render("bluesky") == [f"https://{one}" for one in written]
    assert parse(search).node == whole.node


def test_a_post_on_x_is_linked_to_under_both_names():
    whole = as_written("news_url", "https://twitter.com/who/status/12?s=20", 'url:"x.com/status/12"')
    assert whole.render("x") == ["quotes_of_tweet_id:12"]
    assert whole.render("bluesky") == ["https://twitter.com/who/status/12", "https://x.com/who/status/12"]


def test_titles_keep_their_signs_for_a_platform():
    whole = as_written("title", 'Don’t “panic”: 10,000 say "no"', '"don t panic 10 000 say no"')
    assert whole.render("mastodon") == ['"Don\'t panic : 10,000 say no"']
    assert whole.node == parse('"don t panic 10 000 say no"').node


def test_what_x_would_read_more_narrowly_is_left_out():
    assert parse("garlic #covid").render("x") == ["garlic (#covid OR covid)"]
    assert parse("garlic -#covid").render("x") == ["garlic -#covid"]
    assert parse("garlic #covid").render("bluesky") == ["garlic covid"]
    assert parse("garlic -(flu tea)").render("x") == ["garlic"]
    assert parse("garlic -https://example.org/a").render("x") == ["garlic"]  # /a/b is another page


def test_addresses_that_are_too_long_are_cut_between_words():
    long = "https://example.org/" + "word-" * 200
    (search,) = parse(long).render("x")
    assert 480 < len(search) <= 512
    assert search.endswith('-word"')
    assert parse(long).render("bluesky") == [f"https://{spellings(long)[0]}"]
    (search,) = parse(f"garlic {long}").render("x")
    assert len(search) <= 512
    with pytest.raises(InputError, match="too long"):
        parse("https://example.org/" + "x" * 600).render("x")


def test_long_queries_are_split_between_alternatives():
    many = " OR ".join(f"word{number:03d}" for number in range(200))
    parts = parse(f"mask ({many})").render("x")
    assert len(parts) == 5
    assert all(part.startswith("mask (") and len(part) <= 512 for part in parts)
    assert sum(part.count("word") for part in parts) == 200


FORMS = [f"({' OR '.join(f'form{n}x{way}' for way in range(4))})" for n in range(12)]
MANY = f"({' OR '.join(f'word{n}' for n in range(9_999))})"


@pytest.mark.parametrize("platform", ["x", "bluesky", "mastodon"])
@pytest.mark.parametrize(
    ("query", "text"),
    [
        (f"2 of ({', '.join(FORMS)})", "form3x1 form7x2"),
        (f"6 of ({', '.join(FORMS)})", " ".join(f"form{n}x1" for n in range(2, 8))),
        (" ".join(FORMS[:6]), " ".join(f"form{n}x2" for n in range(6))),
        (f"60 of ({', '.join(f'w{n}' for n in range(99))})", " ".join(f"w{n}" for n in range(20, 90))),
        (f"4 of (-tea, -rum, {', '.join(f'w{n}' for n in range(60))})", "w41 w57"),
        (MANY, "word9876"),
        (f"z {MANY}", "z word9876"),
        (f"{' '.join(FORMS[:5])} OR z -tea OR {MANY}", "z"),
    ],
    ids=["quorum", "wide-quorum", "groups", "hundred", "absent", "many", "many-with", "mixed"],
)  # fmt: skip
def test_a_wide_query_is_broadened_or_split_and_never_refused(platform, query, text):
    whole = parse(query)
    assert whole.matches(text)
    searches = whole.render(platform)
    assert all(len(search) <= 512 for search in searches)
    assert any(parse(search).matches(text) for search in searches)
    assert len(searches) <= max(500, query.count(" OR ") + 2)


def test_a_query_within_the_number_of_searches_says_all_of_it():
    three = f"3 of ({', '.join(FORMS)})"
    assert all(search.count("(") > 2 for search in parse(three).render("x"))
    wide = "(" + " OR ".join(f"w{at}" for at in range(100)) + ")"
    three_groups = parse(" ".join(wide.replace("w", sign) for sign in "abc"))
    assert all(" (b" in search for search in three_groups.render("x", 512))
    with pytest.raises(InputError, match="more than 500"):
        three_groups.render("x", 40, broaden=False)
    with pytest.raises(InputError, match="more than 500"):
        three_groups.render("bluesky", broaden=False)
    assert len(three_groups.render("bluesky")) == 100


def test_a_word_that_no_search_takes_is_left_to_the_others():
    long = "x" * 600
    for platform in ("x", "bluesky"):
        assert parse(f"{long} garlic").render(platform) == ["garlic"]
        assert parse(f"garlic {long}").render(platform) == ["garlic"]
        with pytest.raises(InputError, match="longer than the 512 characters"):
            parse(long).render(platform)


@given(QUORUMS, queries(), TEXTS, st.integers(1, 6))
def test_a_broadened_query_finds_at_least_as_much(quorum, query, text, most):
    least, parts = quorum
    node = parse(f"{min(least, len(parts))} of ({', '.join(parts)}) OR {query}").node
    wider = broadened(node, most)
    assert conjunction_count(wider) <= max(most, conjunction_count(node))
    assert conjunction_count(wider) <= max(most, len(list(leaves(node))))
    if holds(node, seen(text)):
        assert holds(wider, seen(text))


def test_unknown_platform_names_the_nearest():
    with pytest.raises(InputError, match="bluesky"):
        parse("a").render("blusky")


def test_all_queries_of_the_covmis_list(data_home):
    with (data_home / "covmis/misinformation.csv").open(encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    quoted = 0
    for row in rows:
        whole = parse(row["keywords"])
        assert str(parse(str(whole))) == str(whole)
        (search,) = whole.render("x")
        quoted += '"' in search
        assert whole.render("bluesky")
        assert whole.render("mastodon")
    assert quoted == 36
