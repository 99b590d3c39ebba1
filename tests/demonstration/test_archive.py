"""The archive in git is what its generator makes, and holds what it is meant to hold."""

from __future__ import annotations

import gzip
import json
import random
import re
from functools import cache

import pytest
import zstandard

from covmis_build.claims.lists import read_claims
from tests.demonstration import generate, shapes
from tests.demonstration.stories import ROOT, UNFOUND, posts, unfound
from tests.demonstration.truth import true_stance, truth
from tests.demonstration.words import CLAIMS, PHRASES, Chance, clause, say


@cache
def committed(name: str) -> bytes:
    archive = ROOT / "data" / "archive"
    if name == generate.X:
        with (archive / f"{name}.zst").open("rb") as file:
            return zstandard.ZstdDecompressor().stream_reader(file).read()
    return gzip.decompress((archive / f"{name}.gz").read_bytes())


@cache
def rows() -> tuple[list[dict], list[dict], int]:
    """Every post of the X pages, every row of snscrape's, and how many lines cannot be read."""
    found: dict[str, list[dict]] = {generate.X: [], generate.SNSCRAPE: []}
    unreadable = 0
    for name, kept in found.items():
        for line in committed(name).splitlines():
            try:
                kept.append(json.loads(line))
            except ValueError:
                unreadable += bool(line)
    pages = [post for page in found[generate.X] for post in page.get("data", ())]
    return pages, [row for row in found[generate.SNSCRAPE] if isinstance(row, dict)], unreadable


@cache
def everything() -> list:
    return [*posts(generate.POSTS), *unfound(generate.POSTS)]


EVERY = generate.POSTS + generate.POSTS // UNFOUND


@pytest.mark.parametrize("name", [generate.X, generate.SNSCRAPE])
def test_committed_archive_is_what_the_generator_makes(name):
    made = b"".join(piece for file, piece in generate.archives(generate.POSTS) if file == name)
    assert made == committed(name)


def test_a_few_megabytes():
    assert sum(path.stat().st_size for path in (ROOT / "data" / "archive").iterdir()) < 4_000_000


def test_every_post_is_in_an_archive_and_some_in_both():
    pages, lines, unreadable = rows()
    here, there = {int(one["id"]) for one in pages}, {one["id"] for one in lines if "date" in one}
    there.discard(1250000000000003841)  # half a character: json reads it, UTF-8 has no room for it
    assert here | there == {post.id for post in everything()}
    assert 300 < len(here & there) < 1000
    assert len(here | there) == EVERY
    assert unreadable >= 3


def test_truth_for_every_post_and_stances_of_the_scheme():
    known = truth()
    assert len(known) == EVERY
    assert {stance for one in known.values() for stance in one.values()} == {"favor", "against", "neither"}
    about = next(post for post in everything() if post.stances)
    assert true_stance(f"x:{about.id}", next(iter(about.stances))) == next(iter(about.stances.values()))
    assert true_stance(f"x:{about.id}", "orange-peel") == "neither"


def test_copies_mean_what_the_original_means():
    reposts = [post for post in everything() if post.repost_of]
    assert len(reposts) > 500
    assert all(post.stances == post.repost_of.stances for post in reposts)


def test_ids_that_no_platform_gave():
    assert {(post.id & 0xFFF) >= 0xF00 for post in everything()} == {True}
    assert all((post.id >> 22) + generate.shapes.EPOCH == post.time for post in everything())


def test_hostile_texts_are_really_there():
    texts = [one["text"] for one in rows()[0]]
    texts += [one.get("rawContent", one.get("content", "")) for one in rows()[1]]
    for snippet in PHRASES["hostile"]["after"]:
        assert any(snippet in post.text for post in everything()), snippet
    for start in PHRASES["hostile"]["before"]:
        assert any(post.text.startswith(start) for post in everything()), start
    assert any("<script>" in text or "&lt;script&gt;" in text for text in texts)
    assert any("\u202e" in text for text in texts)
    assert any(text.startswith("=") for text in texts)
    assert any(max(map(ord, text), default=0) > 0xFFFF for text in texts)


def test_everything_that_the_study_must_cope_with():
    every = everything()
    about = [post for post in every if post.stances]
    assert 0.3 < len(about) / len(every) < 0.6
    assert sum(len(post.stances) == 2 for post in about) > 100
    assert sum(post.reply_to is not None for post in about) > 100
    assert sum(post.quotes is not None for post in about) > 50
    assert sum(len(post.text.split()) < 10 for post in about) > 200
    assert len({post.language for post in about}) > 8
    kinds = {row["_type"].rsplit(".", 1)[1] for row in rows()[1]}
    assert kinds == {"Tweet", "Tombstone", "TweetRef"}
    assert any("note_tweet" in post for post in rows()[0])
    assert any("referenced_posts" in post for post in rows()[0])
    assert any("outlinks" in row for row in rows()[1])


def test_claims_are_read():
    claims = read_claims(ROOT / "queries" / "claims.csv")
    assert len(claims) == 24
    assert set(claims["claim_id"]) - set(CLAIMS) == {"orange-peel"}
    for column in ("news_urls", "fact_check_urls"):
        for url in claims[column].explode().dropna():
            own = re.match(r"https://((www|news|blog)\.example\.org|twitter\.com/sim_)", url)
            assert (own is not None) == (column == "news_urls"), url


def test_larger_archives_begin_like_smaller_ones_in_kind():
    pieces = list(generate.archives(3000, seed=7))
    assert {name for name, _ in pieces} == {generate.X, generate.SNSCRAPE}
    assert pieces == list(generate.archives(3000, seed=7))
    assert pieces != list(generate.archives(3000, seed=8))


def test_problems_name_the_post_that_is_gone():
    gone = [
        post.reply_to for post in everything() if post.reply_to and post.reply_to.availability == "deleted"
    ]
    assert gone
    assert shapes.problem(gone[0])["resource_id"] == str(gone[0].id)


def test_every_clause_matches_its_claims_keywords():
    from covmis_build.text.expression import parse

    claims = read_claims(ROOT / "queries" / "claims.csv")
    for claim_id, (expression,) in zip(claims["claim_id"], claims["keywords"], strict=True):
        query = parse(expression)
        for seed in range(60 if claim_id in CLAIMS else 0):
            chance = Chance(random.Random(seed).random)
            beside = CLAIMS[claim_id]["beside"]
            for said in (clause(claim_id, chance), *(say(one, chance) for one in beside)):
                assert query.matches(said), (claim_id, said)


def test_what_no_query_finds_is_about_the_claims():
    from covmis_build.text.expression import parse

    claims = read_claims(ROOT / "queries" / "claims.csv")
    queries = [parse(expression) for (expression,) in claims["keywords"]]
    queries += [parse(f'"{title}"') for titles in claims["titles"] for title in titles if '"' not in title]
    texts = [post.text for post in unfound(generate.POSTS)]
    assert not any(query.matches(text) for query in queries for text in texts)
    assert not any(post.links for post in unfound(generate.POSTS))
    about = {claim for post in unfound(generate.POSTS) for claim in post.stances}
    assert about >= set(CLAIMS) - {"street-lions"}, "the rarest may have none"
