"""The index counts what the matcher finds."""

from __future__ import annotations

import json
import resource
import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covmis_build import keyed
from covmis_build.engine import open_engine
from covmis_build.errors import InputError
from covmis_build.matching.plain_posts import ALL, Drawn, plain_posts, state
from covmis_build.queries.index import Index, build
from covmis_build.queries.index import open_index as made_index
from covmis_build.text.expression import parse
from covmis_build.text.nodes import holds, seen
from tests import killing
from tests.text.test_expression import TEXTS, queries


def open_index(path, archive, *, engine="duckdb", workers=1, drawn=ALL):
    def posts(unread):
        with open_engine(engine, workers=workers) as its:
            yield from plain_posts(its, archive, unread=unread, drawn=drawn)

    return made_index(path, state(archive, drawn=drawn), posts, drawn.share)


def indexed(folder, texts, **more):
    path = folder / "search.sqlite"
    build(
        path,
        [(f"x:{at}", text, [], [], "") if isinstance(text, str) else text for at, text in enumerate(texts)],
        **more,
    )
    return Index(path)


@settings(max_examples=60, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=8), st.lists(queries(), min_size=1, max_size=4))
def test_it_counts_what_matches(tmp_path_factory, texts, written):
    with indexed(tmp_path_factory.mktemp("index"), texts) as index:
        for query in written:
            matching = {f"x:{at}" for at, text in enumerate(texts) if parse(query).matches(text)}
            assert index.count(query) == len(matching)
            assert {post.post_id for post in index.sample(query, 99)} == matching


@settings(max_examples=60, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=8), st.lists(queries(depth=1), min_size=3, max_size=5, unique_by=lambda one: str(parse(one))), st.integers(1, 3))  # fmt: skip
def test_it_counts_quorums(tmp_path_factory, texts, parts, least):
    query = f"{least} of ({', '.join(parts)}) OR mask -({parts[0]})"
    with indexed(tmp_path_factory.mktemp("index"), texts) as index:
        matching = {f"x:{at}" for at, text in enumerate(texts) if parse(query).matches(text)}
        assert {post.post_id for post in index.sample(query, 99)} == matching


def test_no_query_is_too_wide_to_be_counted(tmp_path):
    with indexed(tmp_path, [f"word{n} other{n}" for n in range(50)]) as index:
        assert index.count(" OR ".join(f"word{n}" for n in range(10_000))) == 50
        groups = [
            "(" + " OR ".join(f"{word}{n}" for n in range(1000)) + ")" for word in ("word", "other", "third")
        ]
        assert index.count(f"2 of ({', '.join(groups)})") == 50
        assert index.count(" ".join(groups[:2])) == 50
        assert index.count(" ".join(groups)) == 0


def test_links_and_titles(tmp_path):
    posts = [
        ("x:1", "see", ["http://www.example.org/a/?fbclid=1"], ["Garlic cures it", "all"], ""),
        ("x:2", "example.org/a garlic cures it", [], [], ""),
    ]
    with indexed(tmp_path, posts) as index:
        assert index.count('url:"example.org/a"') == 2
        assert index.count('"garlic cures it"') == 1
        assert index.count('"garlic cures it"', "title") == 2
        assert index.count('"it all"', "title") == 0
        assert index.frequency("garlic") == 1
        assert index.beginning_with("gar") == {"garlic": 1}


def test_real_queries_count_the_same(tmp_path, data_home):
    from covmis_build.claims.lists import read_claims
    from covmis_build.queries.build import build_queries

    texts = [
        f"{text} {at}"
        for at, text in enumerate(
            ["Coronavirus is just like the flu", "5G and COVID-19", "Bill Gates’ vaccine", "x"] * 5
        )
    ]
    made = build_queries(read_claims(data_home / "covmis/misinformation.csv"))
    with indexed(tmp_path, texts) as index:
        for expression in [*made["expression"], "coronavirus flu", "5g OR gates", "covid-19 -flu"]:
            node = parse(expression).node
            assert index.count(expression) == sum(holds(node, seen(text)) for text in texts)


def write(path, rows):
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_it_is_built_when_the_archive_changes(tmp_path):
    path, archive = tmp_path / "search.sqlite", tmp_path / "archive"
    write(
        archive / "a.jsonl",
        [
            {"id_str": "1", "full_text": "garlic"},
            {"id_str": "2", "full_text": "RT", "retweeted_status": {"id_str": "1", "full_text": "garlic"}},
        ],
    )
    with open_index(path, [archive]) as index:
        assert (index.size, index.count("garlic")) == (1, 1)
    before = path.stat().st_mtime_ns
    open_index(path, [archive]).close()
    assert path.stat().st_mtime_ns == before
    write(
        archive / "b.jsonl",
        [{"id_str": "1", "full_text": "garlic, and much more of it"}, {"id_str": "3", "full_text": "garlic"}],
    )
    with open_index(path, [archive]) as index:
        assert (index.size, index.count("garlic"), index.count("much")) == (2, 2, 1)


def many(archive):
    """Posts in three forms, some of them several times, of different lengths and times."""
    words = ["garlic", "masks", "5G", "vaccines"]
    write(
        archive / "a.jsonl",
        [
            {"id_str": str(at % 50 + 1), "full_text": f"{words[at % 4]} {'x' * (at % 7)}", "created_at": AT}
            for at in range(120)
        ],
    )
    flat = [{"id": str(at + 40), "text": f"about {words[at % 3]}", "author_id": "1"} for at in range(30)]
    write(archive / "b.jsonl", [*flat, {"nothing": 1}])
    rows = "".join(f"{at + 60},{words[at % 4]} and more,2020-04-22\n" for at in range(40))
    (archive / "c.csv").write_text(f"tweet_id,text,created_at\n{rows}")


AT = "Wed Apr 22 12:34:56 +0000 2020"


def content(path):
    with sqlite3.connect(path) as connection:
        return {
            table: connection.execute(f"SELECT * FROM {table}").fetchall()
            for table in ("posts", "vocabulary", "unread")
        }


def test_it_is_the_same_whoever_makes_it(tmp_path):
    archive = tmp_path / "archive"
    many(archive)
    with open_index(tmp_path / "one", [archive]) as one, open_index(tmp_path / "two", [archive], workers=2):
        assert (one.size, len(one.unread)) == (99, 1)
        assert one.count("garlic") > 20
    assert content(tmp_path / "one") == content(tmp_path / "two")


def test_times_are_in_utc_whatever_the_platform_writes(tmp_path):
    write(tmp_path / "archive/a.jsonl", [{"id_str": "1", "full_text": "garlic", "created_at": AT}])
    (tmp_path / "archive/b.csv").write_text("tweet_id,text,created_at\n2,garlic,2020-04-22 14:00:00+02:00\n")
    with open_index(tmp_path / "search.sqlite", [tmp_path / "archive"]) as index:
        times = {post.post_id: post.created_at for post in index.sample("garlic")}
        assert times == {"x:1": "2020-04-22T12:34:56Z", "x:2": "2020-04-22T12:00:00Z"}
        assert len(index.between("2020-04-22T12:00:00Z", "2020-04-23T00:00:00Z")) == 2


@settings(max_examples=20, deadline=None)
@given(st.floats(0.05, 1), st.integers(0, 99))
def test_a_share_is_drawn_by_ids_alone(tmp_path_factory, share, seed):
    folder = tmp_path_factory.mktemp("share")
    many(folder / "archive")
    with open_index(folder / "all", [folder / "archive"]) as every:
        ids = {post.post_id for post in every.sample("garlic OR masks OR 5G OR vaccines", 200)}
    with open_index(folder / "some", [folder / "archive"], drawn=Drawn(share, seed)) as some:
        drawn = {post.post_id for post in some.sample("garlic OR masks OR 5G OR vaccines", 200)}
        assert some.of_all(some.size) == round(len(drawn) / share)
    assert drawn == {post for post in ids if keyed.uniform(seed, "index", post) < share}


def test_what_could_not_be_read_is_told_again_and_again(tmp_path):
    path, archive = tmp_path / "search.sqlite", tmp_path / "archive"
    write(archive / "a.jsonl", [{"id_str": "1", "full_text": "garlic"}, {"nothing": 1}, {"id_str": 5}])
    (archive / "b.csv").write_text("id,text\n5,garlic\n")
    for _ in range(2):
        with open_index(path, [archive]) as index:
            table, lines = index.unread
            assert table == "archive/b.csv is not searched: whose ids are these? 5 …: no platform is named"
            assert lines.startswith("archive/a.jsonl: 2 lines could not be read")


def test_an_index_that_is_none_is_made_again(tmp_path):
    path, archive = tmp_path / "search.sqlite", tmp_path / "archive"
    write(archive / "a.jsonl", [{"id_str": "1", "full_text": "garlic"}])
    path.write_bytes(b"not a database, but long enough to be taken for one" * 100)
    with open_index(path, [archive]) as index:
        assert index.count("garlic") == 1
    with pytest.raises(sqlite3.OperationalError), open_index(path, [archive]) as index:
        index.connection.execute("DELETE FROM posts")


def test_a_full_disk_is_one_line_and_what_was_there_stays(tmp_path):
    """A limit on the size of files stands for the disk: both refuse to write on."""
    texts = [f"post {number} about garlic and {number * 7919}" for number in range(3000)]
    with indexed(tmp_path, texts[:1]) as index:
        size = index.size

    def full():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        posts = [(f"x:{at}", text, [], [], "") for at, text in enumerate(texts)]
        with pytest.raises(InputError, match="cannot write") as told:
            made_index(tmp_path / "search.sqlite", "another", lambda _: posts)
        assert len(str(told.value).splitlines()) == 1

    killing.done(full)
    assert [path.name for path in tmp_path.iterdir()] == ["search.sqlite"]
    with Index(tmp_path / "search.sqlite") as index:
        assert index.size == size == 1
