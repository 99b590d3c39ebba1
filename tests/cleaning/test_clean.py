"""The five steps, one by one and together."""

from __future__ import annotations

import random
from dataclasses import replace

import pyarrow as pa
import pytest

from covmis_build import keyed
from covmis_build.cleaning import near_duplicates, steps
from covmis_build.cleaning.steps import clean
from covmis_build.engine import duck, open_engine
from covmis_build.errors import CheckFailed
from covmis_build.options import Cleaning, Words
from tests.cleaning.corpora import ALL_FACES, LONG, cleaned, frozen_item, full, generated, hit, post, rows

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


def test_frozen_items_stay_as_they_are():
    hits, posts = copies(9)
    frozen = [
        frozen_item("a", "x:8"),  # a copy: stands for its group
        frozen_item("a", "x:de"),  # another language
        frozen_item("b", "x:gone"),  # no longer in the archive, no longer found
        frozen_item("b", "x:7"),  # found for a as well; frozen for b
    ]
    posts.append(post("x:de", GERMAN, "de"))
    items, dropped, _ = cleaned([*hits, hit("a", "x:de")], posts, Cleaning(), frozen=frozen)
    assert items.to_pylist() == sorted(frozen, key=lambda one: one["item_id"])
    found = dropped_as(dropped)
    assert found["pair", "a", "x:7"][0] == "one_claim_per_post"
    instead = {
        one: kept
        for one, step, kept in rows(dropped, "post_id", "step", "kept_instead")
        if step == "near_duplicates"
    }
    assert set(instead) == {f"x:{k}" for k in range(7)}
    assert set(instead.values()) <= {"x:7", "x:8"}
    assert ("claim", "b", "") not in found


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
            for some, name in (([hit("a", "x:1")], "hits"), ([post("x:1")], "posts"), ([], "items"))
        ]
        clean(engine, *args, ALL, seed=1, progress=lambda *step: told.append(step[0]))
    assert told == [
        "one claim per post",
        "language and words",
        "near-duplicates",
        "posts of each claim",
    ]


def test_what_the_steps_say_of_frozen_items_is_told_beside():
    posts = [post(f"x:{k}", distinct(k)) for k in range(30)]
    posts += [post("x:de", distinct(91), "de"), post("x:short", "too short"), post("x:copy", distinct(0))]
    hits = [hit("a", one["post_id"]) for one in posts] + [hit("b", "x:1"), hit("b", "x:2")]
    frozen = [
        frozen_item("a", "x:0"), frozen_item("a", "x:copy"),  # near-identical, both in a round
        frozen_item("a", "x:de"), frozen_item("a", "x:short"), frozen_item("a", "x:5"),
        frozen_item("a", "x:1"), frozen_item("b", "x:1"),  # one post in two claims' rounds
        frozen_item("b", "x:2"),  # of a claim with too few posts
        frozen_item("b", "x:gone"),  # not found any more: no step of this stage says anything of it
    ]  # fmt: skip
    items, dropped, _, overruled = cleaned(
        hits, posts, Cleaning(minimum_posts=3), frozen=frozen, faces=ALL_FACES
    )
    told = dropped_as(overruled)
    loser = "b" if told.get(("pair", "b", "x:1"), ("", ""))[0] == "one_claim_per_post" else "a"
    few = ("minimum_posts", "its claim has fewer than 3 posts left")
    expected = {
        ("pair", "a", "x:de"): ("language", "language de"),
        ("pair", "a", "x:short"): ("words", "fewer than 10 words"),
        ("pair", "b", "x:2"): few,
        ("pair", loser, "x:1"): ("one_claim_per_post", "stays with another of its claims"),
    }
    if loser == "a":
        expected["pair", "b", "x:1"] = few
    twins = {key: told.pop(key) for key in [("pair", "a", "x:0"), ("pair", "a", "x:copy")] if key in told}
    assert list(twins.values()) == [("near_duplicates", "near-identical to a post that stays")]
    assert told == expected
    assert {one["item_id"] for one in frozen} <= set(items.column("item_id").to_pylist())
    assert not {(c, p) for _, c, p in dropped_as(dropped)} & {
        (one["claim_id"], one["post_id"]) for one in frozen
    }


def test_without_rounds_nothing_is_overruled():
    hits, posts = generated(200)
    *_, overruled = cleaned(hits, posts, Cleaning(minimum_posts=20), faces=ALL_FACES)
    assert len(overruled) == 0


def test_empty_frozen_items_have_the_right_types():
    untyped = pa.table({name: pa.nulls(0) for name in steps.ITEMS.names})
    assert steps.as_items(untyped).schema == steps.ITEMS


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
