"""The stage: the same tables whatever the order, the cut and the engine; what was dropped, and why."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pytest

from covmis_build import tables
from covmis_build.archive import streams
from covmis_build.archive.forgetting import Forget
from covmis_build.archive.parts import Parts
from covmis_build.archive.reader import Read
from covmis_build.archive.stage import Tally, read_archive
from covmis_build.claims.claim import Claim, checked
from covmis_build.engine import open_engine
from covmis_build.errors import InputError
from covmis_build.matching.stage import retrieve
from covmis_build.options import Retrieval
from covmis_build.queries.build import build_queries

FACES = ("posts", "hits", "provenance", "unreadable", "intake", "dropped")
CLAIMS = checked(
    [
        Claim("1", "Garlic cures it.", keywords=["garlic (covid-19 OR coronavirus)"], titles=["Garlic kills the virus"]),
        Claim("2", "The story.", news_urls=["https://example.org/a", "https://twitter.com/a/status/1252934402983763960"]),
        Claim("3", "Nobody said it.", keywords=["unicorn"]),
    ],
    "claims.csv",
)  # fmt: skip
QUERIES = build_queries(CLAIMS)
FIRST = 1252934402983763968


def tweet(number: int, text: str, **more):
    return {
        "id_str": str(FIRST + number),
        "full_text": text,
        "created_at": "Wed Apr 22 12:34:56 +0000 2020",
        "lang": "en",
        **more,
    }


def name(number: int) -> str:
    return f"x:{FIRST + number}"


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


def run(
    *archive,
    queries=QUERIES,
    options=None,
    workers=1,
    engine="duckdb",
    claims=(),
    forget=None,
    **more,
):
    """The tables of both stages, `read` and `retrieve`, and what the table `intake` counts."""
    ids, options = {*claims, *queries["claim_id"]}, options or Retrieval()
    with TemporaryDirectory() as store, open_engine(engine, workers=workers) as opened:
        read = read_archive(
            opened,
            list(archive),
            Parts(Path(store), Path(store)),
            options,
            claims=ids,
            forget=forget or Forget(),
        )
        found = retrieve(opened, read.store, queries, options, **more)
        made = {face: getattr(found, face).to_pandas() for face in ("posts", "hits", "provenance", "dropped")}
        made |= {face: getattr(read, face).to_pandas() for face in ("unreadable", "intake")}
    for face in FACES:
        tables.conform(made[face], face)
    counts = made["intake"].groupby("outcome")["count"].sum()
    return made | {
        "counts": {name: int(counts.get(name, 0)) for name in ("lines", "posts", "reposts", "unreadable")}
    }


def pairs(frame):
    return set(zip(frame["claim_id"], frame["post_id"], strict=True))


def reasons(frame):
    return {(row["claim_id"], row["post_id"]): row["reason"] for row in frame.to_dict("records")}


def test_hits_posts_and_where_they_came_from(tmp_path):
    rows = [
        tweet(1, "Garlic cures Covid-19 &amp; all"), tweet(2, "nothing"),
        tweet(3, "read", entities={"urls": [{"expanded_url": "http://www.example.org/a/?fbclid=1"}]}),
        tweet(4, "“Garlic kills the virus”, garlic, coronavirus"), tweet(-8, "I am the story"), "{broken", "",
    ]  # fmt: skip
    made = run(write(tmp_path / "archive/a.jsonl", rows))
    hits = {(row["post_id"], row["query_id"]): row for row in made["hits"].to_dict("records")}
    assert set(hits) == {
        (name(1), "1:keywords:1"), (name(3), "2:news_url:1"), (name(4), "1:keywords:1"), (name(4), "1:title:1"),
        (name(-8), "2:news_url:2"),
    }  # fmt: skip
    assert hits[name(1), "1:keywords:1"]["matched"] == ["garlic", "covid 19"]
    assert hits[name(3), "2:news_url:1"]["matched"] == ["example.org/a"]
    assert set(made["hits"]["verified"]) == {"yes"}
    posts = made["posts"].set_index("post_id")
    assert list(posts.index) == sorted({post for post, _ in hits})
    assert posts.loc[name(1), "text"] == "Garlic cures Covid-19 & all"
    assert posts.loc[name(1), "created_at"] == "2020-04-22T12:34:56Z"
    assert posts.loc[name(1), "availability"] == "available"
    assert made["provenance"][["file", "format"]].drop_duplicates().to_numpy().tolist() == [
        ["a.jsonl", "x_v1"]
    ]
    assert made["unreadable"]["problem"].tolist() == ["not JSON"]
    offset = made["unreadable"]["offset"][0]
    assert (tmp_path / "archive/a.jsonl").read_bytes()[offset : offset + 7] == b"{broken"
    assert made["counts"] == {"lines": 6, "posts": 5, "reposts": 0, "unreadable": 1}


MOMENTS = [
    "21 23:59:59", "22 00:00:00", "22 12:34:55", "22 12:34:56", "22 12:34:57", "22 23:59:59", "23 00:00:00",
]  # fmt: skip


@pytest.mark.parametrize(
    ("since", "until", "inside"),
    [
        ("2020-04-22", "2020-04-22", MOMENTS[1:6]),
        ("2020-04-22T16:34:56+04:00", "2020-04-22T12:34:56Z", MOMENTS[3:4]),
        ("2020-04-22T12:34:57Z", "", MOMENTS[4:]),
        ("", "2020-04-21", MOMENTS[:1]),
    ],
)
def test_since_and_until(tmp_path, since, until, inside):
    rows = [
        tweet(at, "garlic coronavirus", created_at=f"Wed Apr {moment} +0000 2020")
        for at, moment in enumerate(MOMENTS)
    ]
    made = run(write(tmp_path / "a.jsonl", rows), options=Retrieval(since=since, until=until))
    assert pairs(made["hits"]) == {("1", name(at)) for at, moment in enumerate(MOMENTS) if moment in inside}
    assert len(made["hits"]) + len(made["dropped"]) == len(MOMENTS)
    assert set(made["dropped"]["reason"]) == {"outside since and until"}


def test_a_date_that_is_none(tmp_path):
    with pytest.raises(InputError, match="since is 'April'"):
        run(write(tmp_path / "a.jsonl", []), options=Retrieval(since="April"))


def test_context_is_filled_in_from_the_archive(tmp_path):
    answer = tweet(
        1,
        "garlic against covid-19",
        in_reply_to_status_id_str=str(FIRST + 2),
        quoted_status_id_str=str(FIRST + 3),
    )
    write(tmp_path / "archive/a.jsonl", [answer])
    write(tmp_path / "archive/b.jsonl", [tweet(2, "the parent"), tweet(3, "the quoted"), tweet(4, "another")])
    made = run(tmp_path / "archive")
    (post,) = made["posts"].to_dict("records")
    assert (post["parent_text"], post["quoted_text"]) == ("the parent", "the quoted")


def test_outcomes(tmp_path):
    rows = [
        tweet(1, "garlic coronavirus"), {"delete": {"status": {"id_str": str(FIRST + 1)}}}, {"delete": {"status": {"id_str": "77"}}},
        tweet(2, "nothing"), {"delete": {"status": {"id_str": str(FIRST + 2)}}},
    ]  # fmt: skip
    made = run(write(tmp_path / "a.jsonl", rows))
    assert made["posts"]["availability"].tolist() == ["deleted"]
    assert made["dropped"][["unit", "post_id", "reason"]].to_numpy().tolist() == [["post", "x:77", "deleted"]]


@pytest.mark.parametrize(
    ("looked_up", "fate"), [("2026-11-22", "deleted"), ("2026-11-21", "deleted"), ("2026-11-20", "available")]
)
def test_what_became_of_a_post_is_what_was_seen_last(tmp_path, looked_up, fate):
    problem = {
        "resource_type": "tweet",
        "resource_id": str(FIRST + 1),
        "type": "https://a.test/resource-not-found",
    }
    stamp = {"source": "x", "retrieved_at": f"{looked_up}T10:00:00Z"}
    rows = [
        stamped(1, "garlic coronavirus"),
        {"errors": [problem], "meta": {"result_count": 0}, "__covmis": stamp},
    ]
    assert run(write(tmp_path / "a.jsonl", rows))["posts"]["availability"].tolist() == [fate]


def stamped(
    number, text, query="1:keywords:1", expression='garlic ("covid 19" OR coronavirus)', kind="keywords"
):
    stamp = {
        "source": "x",
        "query_id": query,
        "claim_id": "1",
        "kind": kind,
        "expression": expression,
        "retrieved_at": "2026-11-21T10:00:00Z",
    }
    return {
        "data": [{"id": str(FIRST + number), "text": text}],
        "meta": {"result_count": 1},
        "__covmis": stamp,
    }


def test_what_a_platform_found_must_match_here_if_its_kind_must(tmp_path):
    title = '"garlic kills the virus"'
    rows = [
        stamped(1, "garlic coronavirus"), stamped(2, "the platform is fuzzy"), stamped(3, "found by a title", "1:title:1", title, "title"),
        stamped(4, "by a query that has changed", expression="onions"), stamped(5, "Garlic kills the virus!", "1:title:1", title, "title"),
    ]  # fmt: skip
    made = run(write(tmp_path / "a.jsonl", rows))
    verified = {row["post_id"]: row["verified"] for row in made["hits"].to_dict("records")}
    assert verified == {name(1): "yes", name(3): "no", name(5): "yes"}
    assert reasons(made["dropped"]) == {("1", name(2)): "does not match locally"}
    assert set(made["provenance"]["query"]) == {"1:keywords:1", "1:title:1"}
    loose = run(write(tmp_path / "a.jsonl", rows), options=Retrieval(require_match=()))
    assert {row["post_id"]: row["verified"] for row in loose["hits"].to_dict("records")} == {
        **verified,
        name(2): "no",
    }


def test_posts_that_a_list_gives(tmp_path):
    write(tmp_path / "archive/a.jsonl", [tweet(1, "anything"), tweet(2, "garlic coronavirus")])
    (tmp_path / "archive/given.csv").write_text(f"post_id,claim_id\n{name(1)},3\nx:5,3\n")
    given = pd.DataFrame({"claim_id": ["1", "1", "2"], "post_id": [str(FIRST + 2), "6", name(1)]})
    made = run(tmp_path / "archive", given=given, claims={"1", "2", "3"})
    found = {
        (row["claim_id"], row["post_id"], row["query_id"]): row["verified"]
        for row in made["hits"].to_dict("records")
    }
    assert found == {
        ("1", name(2), ""): "not_applicable", ("1", name(2), "1:keywords:1"): "yes", ("2", name(1), ""): "not_applicable",
        ("3", name(1), ""): "not_applicable",
    }  # fmt: skip
    assert set(made["hits"]["kind"][made["hits"]["query_id"] == ""]) == {"title"}
    assert reasons(made["dropped"]) == {
        ("3", "x:5"): "not in the archive",
        ("1", "x:6"): "not in the archive",
    }


def test_of_two_kinds_that_lists_name_for_a_post_the_first_counts_whatever_the_order(tmp_path):
    head = "claim_id,kind,tweet_id\n"
    for order in (("title", "news_url"), ("news_url", "title")):
        folder = tmp_path / order[0]
        write(folder / "posts.jsonl", [tweet(number, "anything") for number in range(40)])
        for name_of_file, kind in zip("ab", order, strict=True):
            listed = "".join(f"3,{kind},{FIRST + number}\n" for number in range(40))
            (folder / f"{name_of_file}.csv").write_text(head + listed)
        assert run(folder, claims={"3"})["hits"]["kind"].tolist() == ["title"] * 40


def test_the_first_of_two_places_is_the_smallest_whatever_came_first():
    """A packed archive may hold two files of one name."""
    for order in ((2, 0), (0, 2)):
        tally = Tally()
        for place in order:
            tally.see(Read("t.tar!a.jsonl", place, "x_v2", [], skipped={"other events": 5}))
        assert tally.table().to_pydict() == {
            "file": ["t.tar!a.jsonl"] * 2, "form": ["x_v2"] * 2, "outcome": ["skipped", "lines"], "reason": ["other events", ""],
            "amount": [10, 2], "place": [0, 0], "example": ["", ""],
        }  # fmt: skip


def test_nothing_vanishes(tmp_path, archive):
    made = run(archive)
    kept, dropped = pairs(made["hits"]), pairs(made["dropped"][made["dropped"]["unit"] == "pair"])
    assert not kept & dropped
    everything = run(archive, options=Retrieval(reposts="keep", require_match=()))
    missing = pairs(everything["hits"]) - kept - dropped
    assert not missing
    assert set(made["posts"]["post_id"]) == set(made["hits"]["post_id"]) == set(made["provenance"]["post_id"])


@pytest.fixture
def rows():
    chance = random.Random(7)
    words = ["garlic", "covid-19", "coronavirus", "mask", "the", "cures", "unicorn", "https://example.org/a"]
    made = []
    for number in range(400):
        text = " ".join(chance.choices(words, k=6))
        more = (
            {"in_reply_to_status_id_str": str(FIRST + chance.randrange(400))} if chance.random() < 0.3 else {}
        )
        made.append(tweet(number, text, **more))
    reposts = [tweet(1000 + at, "RT", retweeted_status=chance.choice(made)) for at in range(60)]
    copies = [
        row
        | {
            "full_text": row["full_text"] + " garlic",
            "__twarc": {"retrieved_at": "2023-01-01T00:00:00+00:00"},
        }
        for row in made[:80]
    ]
    lost = [{"delete": {"status": {"id_str": str(FIRST + at)}}} for at in range(0, 500, 50)]
    return [*made, *reposts, *copies, *lost, "{broken"]


@pytest.fixture
def archive(tmp_path, rows):
    write(tmp_path / "archive/a.jsonl", rows)
    return tmp_path / "archive"


def test_order_cut_and_processes_change_nothing(tmp_path, rows, archive, monkeypatch):
    expected = run(archive)
    shuffled = random.Random(1).sample(rows, len(rows))
    for at in range(4):
        write(tmp_path / f"other/sub{at}/{at}.jsonl{'.gz' if at % 2 else ''}", shuffled[at::4])
    monkeypatch.setattr(streams, "RANGE", 10_000)
    made = run(tmp_path / "other", workers=2)
    for face in ("posts", "hits", "dropped"):
        pd.testing.assert_frame_equal(made[face], expected[face])
    assert made["counts"] == expected["counts"]
    assert len(expected["hits"]) > 50
    assert (expected["posts"]["repost_count"] > 0).any()
    assert (expected["posts"]["parent_text"] != "").any()


@pytest.mark.needs("spark")
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_spark_gives_the_same_tables(archive):
    expected, made = run(archive), run(archive, engine="spark")
    for face in FACES:
        keys = [
            one
            for one in expected[face].columns
            if one not in {"matched", "urls", "cards", "media", "metrics"}
        ]
        one, other = (frame[face].sort_values(keys, ignore_index=True) for frame in (expected, made))
        assert one.to_dict("records") == other.to_dict("records") or one.astype(str).equals(other.astype(str))


def test_places_that_are_no_archives(tmp_path):
    with pytest.raises(InputError, match="the archive is missing"):
        run(tmp_path / "nowhere")
    (tmp_path / "archive").mkdir()
    made = run(tmp_path / "archive")
    assert [len(made[face]) for face in FACES] == [0] * 6


def test_broken_ids_stop_before_anything_is_read(tmp_path):
    (tmp_path / "ids.csv").write_text("tweet_id\n1.25E+18\n")
    with pytest.raises(InputError, match=r"ids\.csv, row 2: the id 1\.25E\+18 was broken by a spreadsheet"):
        run(tmp_path)


def test_files_that_hold_no_posts_are_listed(tmp_path):
    (tmp_path / "notes.csv").write_text("a,b\n1,2\n")
    (tmp_path / "other.json").write_text('{"some": "thing"}')
    (tmp_path / ".hidden.jsonl").write_text("nothing")
    (tmp_path / "binary.gz").write_bytes(b"\x1f\x8bxxxxxxxxxxxxxxxxxx")
    made = run(tmp_path)
    assert {file.rsplit("/", 1)[-1] for file in made["unreadable"]["file"]} == {
        "notes.csv",
        "other.json",
        "binary.gz",
    }
    assert len(made["unreadable"]) == 3


def test_forms_may_be_mixed_in_a_file(tmp_path):
    rows = [
        tweet(1, "garlic coronavirus"),
        {"id": "10", "text": "garlic coronavirus", "edit_history_tweet_ids": ["10"]},
        tweet(2, "garlic covid-19"),
    ]
    made = run(write(tmp_path / "a.jsonl", rows))
    assert made["provenance"]["format"].tolist() == ["x_v2", "x_v1", "x_v1"]


def test_files_of_one_name_in_two_places_are_told_apart(tmp_path):
    for place in ("one", "two"):
        write(tmp_path / place / "archive/a.jsonl", [tweet(1, "garlic coronavirus")])
    made = run(tmp_path / "one/archive", tmp_path / "two/archive")
    assert sorted(made["provenance"]["file"]) == ["one/archive/a.jsonl", "two/archive/a.jsonl"]


def test_names_tell_no_more_of_a_path_than_it_takes(tmp_path):
    for place in ("p/b/x", "q/x", "r/b/x"):
        write(tmp_path / place / "a.jsonl", [tweet(1, "garlic coronavirus")])
    write(tmp_path / "q/x/only.jsonl", [tweet(2, "garlic coronavirus")])
    made = run(tmp_path / "p/b/x", tmp_path / "q/x", tmp_path / "r/b")
    names = sorted(made["provenance"]["file"])
    assert names == ["b/x/a.jsonl", "p/b/x/a.jsonl", "q/x/a.jsonl", "x/only.jsonl"]


def test_a_file_whose_name_is_no_text_is_told(tmp_path):
    """No table can hold it: what is read of it could not be found again."""
    write(tmp_path / "archive/b\udcff.jsonl", [tweet(1, "garlic coronavirus")])
    made = run(tmp_path / "archive")
    assert "rename it" in made["unreadable"]["problem"][0]
    assert not len(made["posts"])
