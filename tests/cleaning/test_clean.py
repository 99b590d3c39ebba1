"""The five steps, one by one and together."""

from __future__ import annotations

import random
from dataclasses import replace

import pyarrow as pa
import pytest

from covmis_build import keyed
from covmis_build.cleaning import near_duplicates
from covmis_build.cleaning.steps import clean
from covmis_build.engine import duck, open_engine
from covmis_build.errors import CheckFailed
from covmis_build.options import Cleaning, Words
from tests.cleaning.corpora import LONG, cleaned, frozen_item, full, generated, hit, post, rows

ALL = Cleaning(minimum_posts=0)


def distinct(k):
    return " ".join(f"w{k}x{n}" for n in range(12))


def dropped_as(table):
    return {
        (unit, claim, post): (step, reason)
        for unit, claim, post, step, reason in rows(table, "unit", "claim_id", "post_id", "step", "reason")
    }


def test_kept_and_dropped_are_what_came_in():
    hits, posts = generated(400)
    items, dropped, _ = cleaned(hits, posts, Cleaning(minimum_posts=20))
    came = sorted({(one["claim_id"], one["post_id"]) for one in hits})
    gone = [
        (claim, post) for unit, claim, post in rows(dropped, "unit", "claim_id", "post_id") if unit == "pair"
    ]
    assert sorted(rows(items, "claim_id", "post_id") + gone) == came
    assert set(dropped.column("step").to_pylist()) >= {
        "one_claim_per_post",
        "language",
        "words",
        "near_duplicates",
    }
    assert items.column("item_id").to_pylist() == sorted(
        f"{c}|{p}" for c, p in rows(items, "claim_id", "post_id")
    )


GERMAN = "Die Zahl der Menschen im Krankenhaus ist in der dritten Woche in Folge deutlich gesunken."
ENGLISH = "The number of people in hospital has fallen clearly for the third week in a row."


@pytest.mark.parametrize(
    ("options", "tag", "text", "reason"),
    [
        ({}, "en", GERMAN, None),  # the platform is believed
        ({}, "de", ENGLISH, "language de"),
        ({}, "EN-gb", ENGLISH, None),
        ({}, "und", ENGLISH, "language undetermined"),
        ({}, "qme", ENGLISH, "language undetermined"),
        ({}, "Unknown", ENGLISH, "language undetermined"),
        ({}, "English", ENGLISH, None),
        ({}, "German (Austria)", ENGLISH, "language de"),
        ({"undetermined": "keep"}, "und", ENGLISH, None),
        ({}, "", ENGLISH, None),  # the detector is asked
        ({}, None, GERMAN, "language de"),
        ({}, None, "12 34 56 78 90 12 34 56 78 90", "language undetermined"),
        ({"language_source": "detector"}, "en", GERMAN, "language de"),
        ({"language_source": "detector"}, "de", ENGLISH, None),
        ({"languages": ("de", "fr")}, "de", GERMAN, None),
        ({"languages": ("he",)}, "iw", ENGLISH, None),
        ({"languages": ("IW",)}, "iw", ENGLISH, None),
        ({"languages": ("iw",)}, "he", ENGLISH, None),
        ({}, "en_GB", ENGLISH, None),
        ({"languages": ("zh",), "minimum_words": 0}, "zh-TW", "好", None),
        ({"languages": ()}, "de", GERMAN, None),
    ],
)
def test_languages(options, tag, text, reason):
    _, dropped, _ = cleaned([hit("a", "x:1")], [post("x:1", text, tag)], replace(ALL, **options))
    assert dropped_as(dropped).get(("pair", "a", "x:1")) == (("language", reason) if reason else None)


@pytest.mark.parametrize(
    ("options", "tag", "text", "reason"),
    [
        ({}, "en", LONG, None),
        ({}, "en", LONG[:-4], "fewer than 10 words"),
        ({"minimum_words": 0}, "en", "", None),
        ({"words": {"en": Words(minimum=3)}}, "en", "only two", "fewer than 3 words"),
        (
            {"words": {"en": Words(without=("urls",))}},
            "en",
            f"{LONG[:-4]} https://t.co/x",
            "fewer than 10 words",
        ),
        ({"words": {"EN": Words(minimum=3)}}, "en-GB", "only two", "fewer than 3 words"),
        ({"languages": (), "words": {"pt-BR": Words(minimum=3)}}, "pt-BR", "só dois", "fewer than 3 words"),
        ({"languages": (), "words": {"pt-BR": Words(minimum=3)}}, "pt", "só dois", "fewer than 10 words"),
        ({"languages": ("de",)}, "de", "eins zwei drei vier fünf sechs sieben acht neun", None),
        (
            {"languages": ("de",)},
            "de",
            "eins zwei drei vier fünf sechs sieben acht",
            "fewer than 9 words (as much text as 10 English words)",
        ),
        ({"languages": ("de",), "minimum_words": 5}, "de", "eins zwei drei vier", "fewer than 5 words"),
        (
            {"languages": ("zh",), "minimum_words": 1},
            "zh-TW",
            "好",
            "fewer than 2 characters (as much text as 1 English word)",
        ),
        (
            {"languages": ("iw",)},
            "iw",
            "אחת שתיים שלוש ארבע חמש שש",
            "fewer than 7 words (as much text as 10 English words)",
        ),
        ({"languages": ("hi",)}, "hi", "एक दो तीन चार पांच छह सात आठ नौ दस", None),
        (
            {"languages": ("ja",)},
            "ja",
            "五Gが原因ですという噂です",
            "fewer than 22 characters (as much text as 10 English words)",
        ),
        ({"languages": ("ja",), "words": {"ja": Words(minimum=12)}}, "ja", "五Gが原因ですという噂です", None),
        (
            {"languages": ("ja",), "words": {"ja": Words(minimum=25, unit="characters")}},
            "ja",
            "五Gが原因です",
            "fewer than 25 characters",
        ),
        (
            {"languages": ("ja",), "words": {"ja": Words(unit="words")}},
            "ja",
            "五Gが原因ですという噂です",
            "fewer than 10 words",
        ),
    ],
)
def test_words(options, tag, text, reason):
    _, dropped, _ = cleaned([hit("a", "x:1")], [post("x:1", text, tag)], replace(ALL, **options))
    assert dropped_as(dropped).get(("pair", "a", "x:1")) == (("words", reason) if reason else None)


def copies(n, claim="a"):
    hits = [hit(claim, f"x:{k}") for k in range(n)] + [hit(claim, "x:other")]
    return hits, [post(f"x:{k}", f"{LONG} {'!' * k}") for k in range(n)] + [post("x:other", distinct(1))]


def test_one_of_each_group_stays_by_key():
    items, dropped, chains = cleaned(*copies(9), ALL, seed=4)
    kept = min((f"x:{k}" for k in range(9)), key=lambda one: keyed.uniform(4, "near_duplicates", one))
    assert rows(items, "post_id", "group", "group_size") == sorted(
        [(kept, "x:0", 9), ("x:other", "x:other", 1)]
    )
    for step, instead, similarity, group in rows(dropped, "step", "kept_instead", "similarity", "group"):
        assert (step, instead, similarity, group) == ("near_duplicates", kept, 1.0, "x:0")
    assert rows(chains, "group", "size", "weakest") == [("x:0", 9, 1.0)]


def test_greedy_keeps_what_only_a_chain_connects():
    words = [f"w{k}" for k in range(60)]
    posts = [post(f"x:{k:02}", " ".join(words[k : k + 20])) for k in range(40)]
    hits = [hit("a", one["post_id"]) for one in posts]
    chained, _, chains = cleaned(hits, posts, replace(ALL, similarity=0.7))
    stars, dropped, _ = cleaned(hits, posts, replace(ALL, similarity=0.7, grouping="greedy"))
    assert len(chained) == 1 < len(stars)
    assert chains.column("weakest").to_pylist() == [0.0]
    assert min(dropped.column("similarity").to_pylist()) > 0.7


@pytest.mark.parametrize("scope", ["study", "claim"])
def test_frozen_items_represent_what_is_found_today(scope):
    posts = [post(f"x:{k}", distinct(k)) for k in range(6)]
    posts += [post("x:copy", distinct(0)), post("x:again", distinct(9)), post("x:de", distinct(10), "de")]
    hits = [hit("a", f"x:{k}", "title") for k in range(6)] + [hit("b", "x:2"), hit("b", "x:3", "title")]
    hits += [hit("a", "x:copy"), hit("a", "x:again", "news_url"), hit("a", "x:de")]
    frozen = [
        frozen_item("a", "x:0"), frozen_item("a", "x:copy"),  # one group, since the settings changed
        frozen_item("a", "x:gone", distinct(9)),  # no query finds it, but a copy of it
        frozen_item("a", "x:de"), frozen_item("a", "x:lost", distinct(11)),  # another language; found no more
        frozen_item("b", "x:1"), frozen_item("b", "x:2"),  # found for a alone; for both
    ]  # fmt: skip
    items, dropped, _ = cleaned(hits, posts, replace(ALL, scope=scope), frozen=frozen)
    told = {row["item_id"]: row for row in items.to_pylist()}
    assert {item for item in told if item not in {"a|x:3", "b|x:3"}} == {
        "a|x:0", "a|x:copy", "a|x:gone", "a|x:1", "b|x:2", "a|x:4", "a|x:5",
    }  # fmt: skip
    assert [(told[item]["group_items"], told[item]["group_size"]) for item in ("a|x:0", "a|x:copy", "a|x:1")] == [
        (2, 2), (2, 2), (1, 1),
    ]  # fmt: skip
    assert (told["a|x:gone"]["kind"], told["a|x:gone"]["group_size"]) == ("news_url", 1)
    assert (told["a|x:1"]["p_claim"], told["b|x:2"]["p_claim"]) == (1.0, 0.5)
    fates = dropped_as(dropped)
    assert fates["pair", "a", "x:de"] == ("language", "language de")
    assert fates["pair", "a", "x:2"][0] == "one_claim_per_post"
    assert fates["pair", "a", "x:again"] == ("near_duplicates", near_duplicates.SAME)
    assert ("x:again", "x:gone") in rows(dropped, "post_id", "kept_instead")
    assert not any(post in {"x:lost", "x:gone"} for _, _, post in fates)
    assert ("claim", "b", "") not in fates
    few = replace(ALL, scope=scope, minimum_posts=100)  # what is not found is not dropped either
    items, dropped, _ = cleaned(hits, posts, few, frozen=frozen)
    assert not len(items)
    assert not any(post in {"x:lost", "x:gone"} for _, _, post in dropped_as(dropped))


def test_what_is_like_another_claims_post_is_counted_or_labelled_for_its_own():
    """The study's groups leave no item of the claim whose copies go; groups within claims keep one of each."""
    posts = [post("x:0", distinct(0)), post("x:1", distinct(0)), post("x:2", distinct(0))]
    hits = [hit("a", "x:0"), hit("b", "x:1"), hit("b", "x:2")]
    frozen = [frozen_item("a", "x:0")]
    items, dropped, _ = cleaned(hits, posts, ALL, frozen=frozen)
    assert rows(items, "item_id", "group_size") == [("a|x:0", 1)]
    assert dropped_as(dropped)["pair", "b", "x:1"] == ("near_duplicates", near_duplicates.ELSEWHERE)
    items, dropped, _ = cleaned(hits, posts, replace(ALL, scope="claim"), frozen=frozen)
    assert sorted(rows(items, "claim_id", "group_size")) == [("a", 1), ("b", 2)]
    assert {reason for _, reason in dropped_as(dropped).values()} == {near_duplicates.SAME}


@pytest.mark.parametrize("grouping", ["components", "greedy"])
@pytest.mark.parametrize("scope", ["study", "claim"])
def test_order_of_rows_and_number_of_workers_change_no_byte(monkeypatch, grouping, scope):
    hits, posts = generated(250, seed=2)
    options = Cleaning(minimum_posts=10, grouping=grouping, scope=scope)
    expected = cleaned(hits, posts, options)
    random.Random(1).shuffle(hits)
    random.Random(2).shuffle(posts)
    monkeypatch.setattr(duck, "BLOCK", 60)
    again = cleaned(hits, posts, options, workers=1)
    assert all(one.equals(other) for one, other in zip(expected, again, strict=True))


def test_nothing_comes_in():
    items, dropped, chains = cleaned([], [], Cleaning())
    assert (len(items), len(dropped), len(chains)) == (0, 0, 0)


def test_doubled_posts_are_caught():
    with pytest.raises(CheckFailed, match=r"doubled 1 pairs, first a\|x:1"):
        cleaned([hit("a", "x:1")], [post("x:1"), post("x:1")], ALL)


def test_progress_is_told():
    told = []
    with open_engine() as engine:
        args = [
            engine.table(full(some, name))
            for some, name in (([hit("a", "x:1")], "hits"), ([post("x:1")], "posts"), ([], "frozen"))
        ]
        clean(engine, *args, ALL, seed=1, progress=lambda *step: told.append(step[0]))
    assert told == [
        "one claim per post",
        "language and words",
        "near-duplicates",
        "posts of each claim",
    ]


SAME_BUT_FOR = {
    "urls": ("https://t.co/abcdefgh", "https://t.co/zyxwvuts"),
    "mentions": ("@somebody", "@another @person"),
    "retweet_mark": ("RT @somebody:", ""),
    "entities": ("&amp; &quot;", '& "'),
}


@pytest.mark.parametrize("kind", SAME_BUT_FOR)
def test_what_people_see_as_the_same_message_is_the_same_if_the_study_says_so(kind):
    first, second = SAME_BUT_FOR[kind]
    text = "wash hands"  # so short that the difference decides
    posts = [post("x:1", f"{first} {text}"), post("x:2", f"{second} {text}"), post("x:3", distinct(3))]
    hits = [hit("a", one["post_id"]) for one in posts]
    options = replace(ALL, minimum_words=0, similarity=0.95)
    literal, *_ = cleaned(hits, posts, options)
    bare, dropped, _ = cleaned(hits, posts, replace(options, similar_without=(kind,)))
    assert (len(literal), len(bare)) == (3, 2)
    assert [one for one in dropped.column("step").to_pylist() if one] == ["near_duplicates"]


def test_posts_of_which_nothing_is_left_are_compared_as_they_stand():
    posts = [post("x:1", "@one https://a.org/1"), post("x:2", "@two https://b.org/2")]
    options = replace(ALL, minimum_words=0, similar_without=("urls", "mentions"))
    items, *_ = cleaned([hit("a", one["post_id"]) for one in posts], posts, options)
    assert len(items) == 2


def test_what_another_corpus_has_already_goes_with_its_twin():
    posts = [post(f"x:{k}", distinct(k)) for k in range(4)]
    hits = [hit("a", one["post_id"]) for one in posts]
    others = pa.table(
        {"post_id": ["old.csv x:9", "old.csv x:2"], "text": [distinct(1) + " more", distinct(2)]}
    )
    items, dropped, _ = cleaned(hits, posts, ALL, others=others)
    assert items.column("post_id").to_pylist() == ["x:0", "x:3"]
    told = rows(dropped, "post_id", "step", "reason", "kept_instead")
    assert told == [
        ("x:1", "near_duplicates", "near-identical to a post of old.csv", "x:9"),
        ("x:2", "near_duplicates", "near-identical to a post of old.csv", "x:2"),
    ]


def test_chains_are_warned_of_where_they_join_stories():
    assert near_duplicates.advice(Cleaning()) == ""
    assert near_duplicates.advice(Cleaning(similarity=0.5, grouping="greedy")) == ""
    assert 'grouping = "greedy"' in near_duplicates.advice(Cleaning(similarity=0.5))
