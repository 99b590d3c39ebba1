"""What is on the purge list does not come back, whoever puts it into the archive again, in whatever form."""

from __future__ import annotations

import json
import shutil

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from covmis_build.archive import pages, reader, streams
from covmis_build.archive.forgetting import Forget
from covmis_build.building.run import current
from covmis_build.building.run import run as bring_up_to_date
from covmis_build.cli import app
from covmis_build.study.study import open_study
from tests.archive.test_formats import V1
from tests.forgettable import page
from tests.matching.test_stage import FACES, FIRST, name, pairs, reasons, run, tweet, write
from tests.small_study import ROOT

SECRET = "garlic cures coronavirus, the planted words"
GONE = Forget(frozenset({name(1)}))
USER = {"id_str": "905", "screen_name": "planted"}


def version_1(tmp_path):
    rows = [
        tweet(1, SECRET, user=USER), tweet(2, "garlic and coronavirus"),
        tweet(3, "garlic coronavirus, look", quoted_status=tweet(1, SECRET, user=USER),
              quoted_status_id_str=str(FIRST + 1)),
        tweet(4, f"RT @planted: {SECRET}", retweeted_status=tweet(1, SECRET, user=USER)),
    ]  # fmt: skip
    return write(tmp_path / "archive/a.jsonl", rows)


def version_2(tmp_path):
    one = {"id": str(FIRST + 1), "text": SECRET, "author_id": "905"}
    other = {"id": str(FIRST + 2), "text": "garlic and coronavirus", "author_id": "7"}
    quoting = {"id": str(FIRST + 3), "text": "garlic coronavirus, look", "author_id": "8",
               "referenced_tweets": [{"type": "quoted", "id": str(FIRST + 1)}]}  # fmt: skip
    (tmp_path / "archive").mkdir()
    pages.append(tmp_path / "archive/q.jsonl.zst", *page(one, other, quoting))
    return tmp_path / "archive"


def snscrape(tmp_path):
    def scraped(number, text, **more):
        one = {"_type": "snscrape.modules.twitter.Tweet", "id": FIRST + number, "rawContent": text, "lang": "en",
               "date": "2020-04-22T12:34:56+00:00", "user": {"username": "u", "id": 7}}  # fmt: skip
        return one | more

    planted = scraped(1, SECRET, user={"username": "planted", "id": 905})
    rows = [planted, scraped(2, "garlic and coronavirus"),
            scraped(3, "garlic coronavirus, look", quotedTweet=planted)]  # fmt: skip
    return write(tmp_path / "archive/a.jsonl", rows)


def sheet(tmp_path):
    rows = ["tweet_id,text,author_id", f'{FIRST + 1},"{SECRET}",905', f"{FIRST + 2},garlic and coronavirus,7",
            f'{FIRST + 3},"garlic coronavirus, look",8']  # fmt: skip
    return write(tmp_path / "archive/posts.csv", rows)


@pytest.mark.parametrize("made", [version_1, version_2, snscrape, sheet])
@pytest.mark.parametrize(
    "forget", [GONE, Forget(authors=frozenset({"author:x:905"}))], ids=["post", "author"]
)
def test_a_purged_post_that_is_put_back_is_dropped_as_purged(tmp_path, made, forget):
    place = made(tmp_path)
    before = run(place)
    assert {("1", name(1)), ("1", name(2)), ("1", name(3))} <= pairs(before["hits"])
    after = run(place, forget=forget)
    assert pairs(after["hits"]) == {("1", name(2)), ("1", name(3))}
    assert set(after["posts"]["post_id"]) == {name(2), name(3)}
    assert reasons(after["dropped"])["", name(1)] == "purged"
    assert "planted" not in json.dumps({face: after[face].to_dict("records") for face in FACES}, default=str)


def test_an_id_that_a_claim_list_names_is_a_dropped_pair(tmp_path):
    place = write(tmp_path / "ids.csv", ["tweet_id,claim_id", f"{FIRST + 1},2", f"{FIRST + 2},2"])
    dropped = reasons(run(place, version_1(tmp_path), forget=GONE, claims={"2"})["dropped"])
    assert dropped["2", name(1)] == "purged"
    assert ("2", name(2)) not in dropped


def test_a_line_that_has_nothing_to_do_with_it_is_as_it_was(tmp_path):
    place = version_1(tmp_path)
    before, after = run(place), run(place, forget=Forget(frozenset({"x:1"}), frozenset({"author:x:99"})))
    for face in FACES:
        assert before[face].equals(after[face])


@pytest.fixture
def study(tmp_path):
    """A study whose archive has the planted post; built."""
    (tmp_path / "queries").mkdir()
    shutil.copy(ROOT / "study.toml", tmp_path)
    (tmp_path / "queries/claims.csv").write_text(
        "claim_id,text,keywords,selected\n1,Garlic,garlic coronavirus,yes\n"
    )
    write(tmp_path / "data/archive/a.jsonl", [tweet(1, SECRET), tweet(2, "garlic and coronavirus")])
    study = open_study(tmp_path)
    bring_up_to_date(study.places, study.settings, workers=1)
    return study


def built(study) -> str:
    tables = [
        pq.read_table(path, partitioning=None).to_pylist() for path in study.places.build.glob("*.parquet")
    ]
    rest = [
        path.read_bytes().decode("utf-8", "replace")
        for path in study.places.build.rglob("*")
        if path.is_file()
    ]
    return str(tables) + "".join(rest)


def covmis(study, *words) -> dict:
    done = CliRunner().invoke(
        app, [*words, "--study", str(study.places.folder), "--json"], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_the_purge_list_is_an_input_of_the_stage(study):
    assert "planted" in built(study)
    assert all(current(study.places, study.settings).values())
    study.places.purge_csv.write_text(f"id\n{name(1)}\n")
    stages = {one["stage"]: one["current"] for one in covmis(study, "status")["stages"]}
    assert stages == {
        "read": False,
        "claims": True,
        "queries": True,
        "retrieve": False,
        "clean": False,
        "sample": False,
    }
    covmis(study, "run")
    assert "planted" not in built(study)
    assert all(current(study.places, study.settings).values())
    assert covmis(study, "explain", name(1))["sentences"] == [
        "In the archive it was dropped at retrieve: purged."
    ]


def test_what_is_purged_and_put_back_comes_back_neither_by_run_nor_in_the_index(study):
    archive = study.places.folder / "data/archive/a.jsonl"
    copy = archive.read_bytes()
    covmis(study, "queries", "try", "garlic")
    covmis(study, "purge", name(1))
    archive.write_bytes(copy)
    covmis(study, "run")
    assert "planted" not in built(study)
    assert covmis(study, "queries", "try", "garlic")["posts_in_archive"] == 1
    with study.words() as index:
        assert index.frequency("planted") == 0


@pytest.mark.parametrize(
    "number", ["1" + "0" * 30, "1e999", "-1e999", "1e30", "9" * 5000, str(2**63)], ids=range(6)
)
def test_a_number_out_of_range_empties_its_field_and_is_counted(tmp_path, number):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({**V1, "favorite_count": "@"}).replace('"@"', number) + "\n")
    (job,) = streams.jobs([(path, path.name)])
    (line,) = reader.read(job)
    assert (line.problem, line.note) == ("", reader.EMPTIED)
    assert line.posts[0].metrics == (1, 3, None, 2)
    assert line.posts[0].post_id == "x:1252934402983763968"


def test_the_same_in_a_table(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        f"id,timestamp_utc,user_screen_name,text,like_count\n5,1587549600,a,garlic,{'9' * 5000}\n"
    )
    (job,) = streams.jobs([(path, path.name)])
    (line,) = reader.read(job)
    assert (line.problem, line.note, line.posts[0].metrics) == ("", reader.EMPTIED, (None, None, None, None))
