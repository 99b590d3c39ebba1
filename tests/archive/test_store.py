"""The store: each file is read once, again when it has changed, and what is there is what the files hold."""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from covmis_build import children, tables
from covmis_build.archive import reader, stage, streams
from covmis_build.archive.forgetting import Forget
from covmis_build.archive.parts import Parts, noted
from covmis_build.archive.post import Post
from covmis_build.archive.stage import read_archive
from covmis_build.archive.store import STORE, rows
from covmis_build.engine import open_engine
from covmis_build.errors import InputError
from covmis_build.options import Columns, Retrieval

FIRST = 1252934402983763968


def tweet(number, text="a post", **more):
    return {
        "id_str": str(FIRST + number),
        "full_text": text,
        "created_at": "Wed Apr 22 12:34:56 +0000 2020",
        **more,
    }


def write(path, *posts):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(post) + "\n" for post in posts))
    return path


class Reads:
    """Reads an archive and says which files were opened to be read."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.note = folder, folder / "read.txt"
        plain = reader.read

        def noting(job, *given):
            with self.note.open("a") as file:
                file.write(f"{reader.file_of(job)}\n")
            return plain(job, *given)

        monkeypatch.setattr(stage, "read", noting)

    def __call__(self, *, options=None, **more):
        self.note.write_text("")
        with open_engine(workers=1) as engine:
            store = Parts(self.folder / "store", self.folder / "store")
            archive = read_archive(engine, [self.folder / "archive"], store, options or Retrieval(), **more)
            self.posts = archive.store.posts.to_arrow().to_pylist()
            self.older = archive.store.older.to_arrow().to_pylist()
            self.intake = archive.intake.to_arrow().to_pylist()
            self.unreadable = archive.unreadable.to_arrow().to_pylist()
        return self.note.read_text().splitlines()

    @property
    def texts(self):
        return sorted(post["text"] for post in self.posts)


@pytest.fixture
def reads(tmp_path, monkeypatch):
    return Reads(tmp_path, monkeypatch)


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """Every file is a part of its own."""
    monkeypatch.setattr(stage, "SMALL", 0)


def test_a_file_is_read_once_and_again_when_it_has_changed(tmp_path, reads):
    one, two = (
        write(tmp_path / f"archive/{name}.jsonl", tweet(at, name)) for at, name in enumerate(("one", "two"))
    )
    assert reads() == ["archive/one.jsonl", "archive/two.jsonl"]
    assert reads() == []
    assert reads.texts == ["one", "two"]
    write(two, tweet(2, "two again"))
    write(tmp_path / "archive/three.jsonl", tweet(3, "three"))
    assert reads() == ["archive/three.jsonl", "archive/two.jsonl"]
    one.unlink()
    assert reads() == []
    assert reads.texts == ["three", "two again"]
    assert len(list((tmp_path / "store").glob("*.parquet"))) == 2
    assert len(list((tmp_path / "store/intake").glob("*.parquet"))) == 2


def test_small_files_are_read_together(tmp_path, reads, monkeypatch):
    monkeypatch.setattr(stage, "SMALL", 1 << 20)
    monkeypatch.setattr(stage, "MOST_FILES", 4)
    for number in range(40):
        write(tmp_path / f"archive/{number:02d}.jsonl", tweet(number, f"post {number}"))
    assert len(reads()) == 40
    parts = len(list((tmp_path / "store").glob("*.parquet")))
    assert 4 < parts < 30
    write(tmp_path / "archive/20.jsonl", tweet(20, "another"))
    again = reads()
    assert "archive/20.jsonl" in again
    assert len(again) < 20
    assert reads.texts.count("another") == 1
    assert len(reads.texts) == 40


def test_what_concerns_a_file_is_part_of_its_name(tmp_path, reads):
    """The rule for its columns, the bounds of reading, the version of the reader; nobody else's rules."""
    write(tmp_path / "archive/a.jsonl", tweet(1))
    (tmp_path / "archive/b.csv").write_text("tweet_id,text\n1,hello\n")
    reads()
    rule = Columns(files="b.csv", text="text")
    assert reads(options=Retrieval(columns=(rule,))) == ["archive/b.csv"]
    assert reads(options=Retrieval(columns=(rule, Columns(files="c.csv")))) == []
    assert len(reads(options=Retrieval(columns=(rule,), longest_line="1 MB"))) == 2


def test_another_version_of_the_reader_reads_everything(tmp_path, reads, monkeypatch):
    write(tmp_path / "archive/a.jsonl", tweet(1))
    reads()
    monkeypatch.setattr(stage, "READER", 99)
    assert reads() == ["archive/a.jsonl"]


def test_claims_matter_to_files_that_may_name_them(tmp_path, reads):
    write(tmp_path / "archive/a.jsonl", tweet(1))
    (tmp_path / "archive/b.csv").write_text("tweet_id,text,claim_id\n1,hello,c1\n")
    reads(claims={"c1"})
    assert [post["claimed"] for post in reads.posts if post["claimed"]] == [
        [{"claim_id": "c1", "query_id": "", "kind": "title", "expression": ""}]
    ]
    assert reads(claims={"c1"}) == []
    assert reads(claims={"c2"}) == ["archive/b.csv"]
    assert not any(post["claimed"] for post in reads.posts)


def test_what_is_to_be_forgotten_is_read_again_where_it_stands(tmp_path, reads):
    write(tmp_path / "archive/a.jsonl", tweet(1, "secret"), tweet(2, "other"))
    write(tmp_path / "archive/b.jsonl", tweet(3, "elsewhere"))
    reads()
    forget = Forget(frozenset({f"x:{FIRST + 1}"}))
    assert reads(forget=forget) == ["archive/a.jsonl"]
    assert reads.texts == ["", "elsewhere", "other"]
    assert reads(forget=forget) == []
    more = Forget(forget.posts | {f"x:{FIRST + 9}"})
    assert reads(forget=more) == ["archive/a.jsonl"], "another list: what was left out may come back"
    assert reads() == ["archive/a.jsonl"]
    assert reads.texts == ["elsewhere", "other", "secret"]


def test_which_copy_counts(tmp_path, reads):
    def at(day, row):
        return row | {"__twarc": {"retrieved_at": f"2023-01-0{day}T00:00:00+00:00"}}

    write(
        tmp_path / "archive/a.jsonl",
        at(1, tweet(1, "the longer text")),
        tweet(2, "short"),
        tweet(3),
        tweet(4, "b"),
    )
    write(
        tmp_path / "archive/b.jsonl",
        at(2, tweet(1, "later")),
        tweet(2, "longer"),
        tweet(4, "a"),
        tweet(4, "a"),
    )
    reads()
    older = {(row["part"], row["row"]) for row in reads.older}
    counts = sorted(post["text"] for post in reads.posts if (post["part"], post["row"]) not in older)
    assert counts == ["a post", "b", "later", "longer"]
    assert len(older) == 4


def test_posts_are_rows_with_all_that_they_have():
    post = Post(
        "x:1", "1", "x", "half \ud83d a character", "2020-04-22T14:34:56+02:00", "en", ["https://example.org/\udc00"],
        [("https://a.org", "title", "description")], [("photo", "alt")], "x:2", "parent", "x:3", "quoted", "x:4", "x:5",
        (1, None, 3, 4), "available", "2020-05-01T00:00:00Z",
    )  # fmt: skip
    (row,) = rows([post], [7], [("a.jsonl", "x_v1")], "part", 3).to_pylist()
    assert row | {"text": "", "urls": []} == {
        "post_id": "x:1", "native_id": "1", "platform": "x", "text": "", "created_at": "2020-04-22T12:34:56Z", "language": "en",
        "urls": [], "cards": [{"url": "https://a.org", "title": "title", "description": "description"}],
        "media": [{"type": "photo", "alt_text": "alt"}], "reply_to": "x:2", "parent_text": "parent", "quote_of": "x:3",
        "quoted_text": "quoted", "repost_of": "x:4", "conversation": "x:5",
        "metrics": {"replies": 1, "reposts": None, "likes": 3, "quotes": 4}, "availability": "available",
        "retrieved_at": "2020-05-01T00:00:00Z", "has_content": True, "claimed": [], "query": "", "file": "a.jsonl",
        "place": 7, "form": "x_v1", "part": "part", "row": 3,
    }  # fmt: skip
    assert set(tables.SCHEMAS["posts"].names) - set(STORE.names) == {"repost_count"}


@pytest.mark.parametrize("how", ["killed", "memory", "crash", "endless"])
def test_a_file_that_ends_the_process_that_reads_it_is_one_that_cannot_be_read(
    tmp_path, reads, monkeypatch, how
):
    monkeypatch.setattr(stage, "SMALL", 1 << 20)
    write(tmp_path / "archive/bad.jsonl", tweet(1))
    write(tmp_path / "archive/good.jsonl", tweet(2, "good"))
    plain = stage.read

    def failing(job, *given):
        if "bad" in job.name:
            if how == "memory":
                monkeypatch.setattr(children, "ROOM", 0.001)
                bytearray(1 << 46)
            if how == "endless":
                children.resource.setrlimit(children.resource.RLIMIT_CPU, (1, 1 << 20))
                while True:
                    pass
            faulthandler.disable()
            os.kill(os.getpid(), signal.SIGKILL if how == "killed" else signal.SIGSEGV)
        return plain(job, *given)

    monkeypatch.setattr(stage, "read", failing)
    reads()
    assert reads.texts == ["good"]
    (line,) = reads.unreadable
    assert line["file"] == "archive/bad.jsonl"
    why = {"crash": "signal 11", "endless": "did not get on in 10 minutes"}
    assert why.get(how, "more memory than") in line["problem"]
    assert {row["outcome"] for row in reads.intake if row["file"] == "archive/bad.jsonl"} == {"refused"}


def test_one_broken_id_in_a_hundred_costs_only_its_row(tmp_path, reads):
    rows = [f"{1250812508125081253 + 4099 * at},garlic {at}" for at in range(150)]
    rows[77] = "10920481672128635e+18,broken"
    write(tmp_path / "archive/a.jsonl", tweet(1))
    (tmp_path / "archive/b.csv").write_text("\n".join(["tweet_id,text", *rows]))
    reads()
    assert len(reads.texts) == 150
    (line,) = reads.unreadable
    assert (line["offset"], line["problem"]) == (
        79,
        "the id 10920481672128635e+18 was broken by a spreadsheet",
    )


def test_a_broken_id_is_named_with_its_own_row(tmp_path, reads):
    (tmp_path / "archive").mkdir(exist_ok=True)
    (tmp_path / "archive/b.csv").write_text(
        "tweet_id,text\n,no id\n\n1250812508125081253,garlic\n1.25E+18,hello\n"
    )
    with pytest.raises(
        InputError, match=r"archive/b\.csv, row 5: the id 1\.25E\+18 was broken by a spreadsheet"
    ):
        reads()


def test_broken_ids_are_an_error_wherever_they_stand(tmp_path, reads):
    write(tmp_path / "archive/a.jsonl", tweet(1))
    (tmp_path / "archive/b.csv").write_text("tweet_id,text\n1.25E+18,hello\n")
    with pytest.raises(
        InputError, match=r"archive/b\.csv, row 2: the id 1\.25E\+18 was broken by a spreadsheet"
    ):
        reads()


def test_a_refused_file_is_not_opened_again_but_told_again(tmp_path, reads):
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive/b.csv").write_text("nothing,known\n1,2\n")
    reads()
    first = reads.intake, reads.unreadable
    assert reads() == []
    assert (reads.intake, reads.unreadable) == first
    assert reads.intake[0]["outcome"] == "refused"
    assert "[[retrieval.columns]]" in reads.intake[0]["example"]


def test_members_of_a_packed_file_are_parts(tmp_path, reads):
    (tmp_path / "archive").mkdir()
    with zipfile.ZipFile(tmp_path / "archive/a.zip", "w") as archive:
        for number in range(3):
            archive.writestr(f"{number}.jsonl", json.dumps(tweet(number, f"post {number}")))
    reads()
    assert {post["file"] for post in reads.posts} == {f"archive/a.zip!{number}.jsonl" for number in range(3)}
    assert len({post["part"] for post in reads.posts}) >= 1
    assert all(noted(path)[0].forgot is False for path in (tmp_path / "store/intake").glob("*.parquet"))


def test_large_files_are_ranges_and_rows_keep_their_places(tmp_path, reads, monkeypatch):
    monkeypatch.setattr(streams, "RANGE", 5_000)
    posts = [tweet(number, f"post {number}") for number in range(200)]
    path = write(tmp_path / "archive/a.jsonl", *posts)
    reads()
    assert len({post["part"] for post in reads.posts}) > 3
    assert len({(post["part"], post["row"]) for post in reads.posts}) == 200
    data = path.read_bytes()
    for post in reads.posts:
        assert json.loads(data[post["place"] :].split(b"\n")[0])["full_text"] == post["text"]


def test_what_a_kill_has_left_is_read_again_and_nothing_else(tmp_path, reads):
    for name in ("a", "b"):
        write(tmp_path / f"archive/{name}.jsonl", tweet(1, name))
    reads()
    part = next(
        path
        for path in (tmp_path / "store").glob("*.parquet")
        if pq.read_table(path)["text"].to_pylist() == ["b"]
    )
    whole = part.read_bytes()
    part.unlink()
    assert reads() == ["archive/b.jsonl"]
    assert part.read_bytes() == whole, "equal files, equal bytes"


@pytest.mark.parametrize("where", ["", "intake"])
@pytest.mark.parametrize("left", [None, 0, 100, "changed"])
def test_a_part_that_is_lost_or_damaged_is_made_again(tmp_path, reads, where, left):
    write(tmp_path / "archive/a.jsonl", tweet(1, "a post"))
    reads()
    (path,) = (tmp_path / "store" / where).glob("*.parquet")
    whole = path.read_bytes()
    path.unlink()
    if left == "changed":  # at the same size
        path.write_bytes(
            whole[:20] + bytes([whole[20] ^ 1]) + whole[21:] if where == "" else bytes(len(whole))
        )
    elif left is not None:
        path.write_bytes(whole[:left])
    assert reads() == ["archive/a.jsonl"]
    assert path.read_bytes() == whole
    assert reads.texts == ["a post"]


def test_a_store_without_posts_has_its_columns(tmp_path, reads):
    (tmp_path / "archive").mkdir()
    assert reads() == []
    with open_engine(workers=1) as engine:
        store = Parts(tmp_path / "store", tmp_path / "store")
        archive = read_archive(engine, [tmp_path / "archive"], store, Retrieval())
        assert archive.store.posts.to_arrow().schema.equals(pa.schema(STORE))
