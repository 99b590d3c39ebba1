"""One large file keeps every process busy: its parts give the tables that the whole gives, to the byte."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import tarfile
import zipfile
from itertools import chain

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from covmis_build.archive import parts, reader, streams, table_files
from covmis_build.archive.reader import How
from covmis_build.engine import open_engine
from covmis_build.matching import passes
from covmis_build.matching.stage import _elsewhere, _stream, retrieve
from covmis_build.options import Columns, Retrieval
from tests.matching.test_stage import FIRST, QUERIES, tweet

TABLES = ("posts", "hits", "provenance", "unreadable", "intake", "dropped")
COUNT = 600


def text(number: int) -> str:
    said = (
        "garlic\nagainst “coronavirus”, they say",
        "é nothing; here",
        'he said "garlic", covid-19',
        "RT @a: nothing",
    )
    return f"{said[number % 4]} {number}"


def rows() -> list[dict[str, str]]:
    return [
        {"tweet_id": str(FIRST + number), "text": text(number), "created_at": f"2020-04-{number % 28 + 1:02d}", "link": ""}
        for number in range(COUNT)
    ]  # fmt: skip


def tweets() -> list[dict[str, object]]:
    answering = {"in_reply_to_status_id_str": str(FIRST + 1)}
    return [tweet(number, text(number), **(answering if number % 9 == 0 else {})) for number in range(COUNT)]


def lines(indent: int | None = None) -> bytes:
    told = [json.dumps(row, indent=indent) for row in tweets()]
    told[50] = told[301] = "{broken"
    told[77] = json.dumps({"did": "did:plc:a", "commit": {"collection": "app.bsky.feed.post"}})
    return "\n".join(told).encode()


def sheet(separator: str = ",", end: str = "\r\n", encoding: str = "utf-8", *, columns: int = 4) -> bytes:
    made = io.StringIO()
    writer = csv.writer(made, delimiter=separator, lineterminator=end)
    named = [list(row.values())[:columns] for row in rows()]
    writer.writerows(
        [list(rows()[0])[:columns], *named[:40], [], ["1", *["too many"] * 9][: columns + 2], *named[40:]]
    )
    return made.getvalue().encode(encoding)


def zipped(name: str, data: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("few.jsonl", lines()[:3000])
        archive.writestr(name, data)
    return made.getvalue()


def tarred(mode: str, data: bytes) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=mode) as archive:
        member = tarfile.TarInfo("inside/a.jsonl")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return made.getvalue()


def arrow(writer) -> bytes:
    made = io.BytesIO()
    table = pa.Table.from_pylist(rows())
    writer(table, made)
    return made.getvalue()


def feather(table: pa.Table, made: io.BytesIO) -> None:
    with pa.ipc.new_file(made, table.schema) as writer:
        writer.write_table(table, max_chunksize=100)


CUT = {
    "a.jsonl.gz": lambda: gzip.compress(lines()),
    "a.jsonl.zst": lambda: zstandard.ZstdCompressor().compress(lines()),
    "a.jsonl.bz2": lambda: bz2.compress(lines()),
    "a.jsonl.xz": lambda: lzma.compress(lines()),
    "torn.jsonl.gz": lambda: gzip.compress(lines())[:-2000],
    "lines.zip": lambda: zipped("a.jsonl", lines()),
    "packed.zip": lambda: zipped("a.jsonl.gz", gzip.compress(lines())),
    "a.tar": lambda: tarred("w", lines()),
    "a.tar.gz": lambda: tarred("w:gz", lines()),
    "list.json": lambda: json.dumps(tweets()).encode(),
    "pretty.json": lambda: json.dumps(tweets(), indent=2).encode(),
    "pretty.json.zst": lambda: zstandard.ZstdCompressor().compress(json.dumps(tweets(), indent=1).encode()),
    "a.csv": sheet,
    "unix.csv": lambda: sheet(end="\n"),
    "marked.csv": lambda: sheet(";", encoding="utf-8-sig"),
    "western.csv": lambda: sheet("\t", encoding="cp1252"),
    "ids.csv": lambda: sheet(columns=1).split(b"\r\n", 1)[1],
    "a.csv.gz": lambda: gzip.compress(sheet()),
    "a.csv.xz": lambda: lzma.compress(sheet()),
    "sheet.zip": lambda: zipped("a.csv", sheet()),
    "rows.jsonl": lambda: pd.DataFrame(rows()).to_json(orient="records", lines=True).encode(),
    "a.parquet": lambda: arrow(lambda table, made: pq.write_table(table, made, row_group_size=100)),
    "a.arrow": lambda: arrow(feather),
}
NOTHING = _stream(QUERIES.iloc[:0])
WHOLE = {
    "wide.csv": lambda: sheet(encoding="utf-16"),
    "told.csv": lambda: b"sep=,\r\n" + sheet(),
}


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(parts, "LARGE", 1)
    monkeypatch.setattr(streams, "CHUNK", 4096)
    monkeypatch.setattr(parts, "LARGE_PART", 2048)
    monkeypatch.setattr(table_files, "CHUNK", 4096)
    monkeypatch.setattr(table_files, "PIECE", 512)
    monkeypatch.setattr(table_files, "TOGETHER", 16)
    reader._SEEN.clear()


def made(archive, folder, workers, options=Retrieval()):  # noqa: B008
    with open_engine("duckdb", workers=workers) as engine:
        found = retrieve(engine, [archive], QUERIES, options)
        for name in TABLES:
            getattr(found, name).write(folder / f"{name}.{workers}")
        return found.counts


def written(folder, data):
    folder.mkdir(exist_ok=True)
    for name, content in data.items():
        (folder / name).write_bytes(content())
    return folder


def jobs_of(archive):
    return streams.jobs([(path, path.name) for path in sorted(archive.iterdir())])


def seen(job, part=None):
    """Everything that is told of posts and lines, in order."""
    glances = list(reader.glance(job, part=part))
    posts = [
        (one.file, one.form, place, one.whole(number))
        for one in glances
        for number, place in enumerate(one.seen.places)
    ]
    told = [line for one in glances for line in one.told if not line.skipped]
    skipped = sum(sum(line.skipped.values()) for one in glances for line in one.told)
    return posts, told, skipped, sum(one.lines for one in glances)


@pytest.mark.parametrize("name", [*CUT, *WHOLE])
def test_parts_hold_what_the_whole_holds(name, tmp_path, small):
    jobs = jobs_of(written(tmp_path, {name: (CUT | WHOLE)[name]}))
    parts_of = {job: list(parts.parts(job, How())) for job in parts.to_cut(jobs, cores=9)}
    for job, its in parts_of.items():
        posts, told, skipped, lines = zip(*(seen(job, part) for part in its or [None]), strict=True)
        together = [*chain.from_iterable(posts)], [*chain.from_iterable(told)], sum(skipped), sum(lines)
        assert together == seen(job)
        assert together[0]
    assert (max(map(len, parts_of.values())) > 2) == (name in CUT)


def test_two_processes_make_the_tables_of_one(tmp_path, small, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    archive = written(tmp_path / "archive", CUT | WHOLE)
    counts = made(archive, tmp_path, workers=1)
    assert counts == made(archive, tmp_path, workers=2)
    assert counts["posts"] > COUNT * len(CUT)
    assert counts["unreadable"] > len(CUT)
    for table in TABLES:
        one, two = ((tmp_path / f"{table}.{workers}").read_bytes() for workers in (1, 2))
        assert one == two, table


def test_a_file_is_read_again_once_however_many_parts_it_had(tmp_path, small):
    archive = written(
        tmp_path / "archive", {name: CUT[name] for name in ("a.jsonl.gz", "a.jsonl.zst", "a.csv")}
    )
    jobs, how = jobs_of(archive), How()
    cut = [
        part
        for at in range(len(jobs))
        for part in passes.cut(passes.jobs_table(jobs).slice(at, 1), how=how, jobs=frozenset(jobs))
    ]
    with open_engine("duckdb", workers=1) as engine:
        found = engine.table(
            pa.concat_tables(rows for part in cut for rows in passes.find(part, queries=NOTHING, how=how))
        )
        wanted = engine.table(
            pa.table({"post_id": [f"x:{FIRST + number}" for number in range(0, COUNT, 7)]})
        )  # 86
        lines, _ = _elsewhere(engine, found, passes.jobs_table(jobs), wanted)
    assert len(cut) > 9
    assert lines.column("number").to_pylist() == [0, 1, 2]
    copies = [passes.gather(lines.slice(at, 1)) for at in range(3)]
    assert [len(copy) for copy in copies] == [86, 84, 84]  # two of the lines are no posts of X


def test_times_of_ids_are_counted_once(tmp_path, small):
    archive = written(tmp_path / "archive", {"a.csv": CUT["a.csv"]})
    options = Retrieval(columns=(Columns(files="*", time_from_id=True, created_at="link"),))
    one, two = (made(archive, tmp_path, workers, options) for workers in (1, 2))
    assert one == two
    assert not any(list(parts.parts(job, How.of(options))) for job in jobs_of(archive))


def test_what_unpacks_slowly_is_left_to_the_others_where_there_is_much_of_it(tmp_path, small):
    packed = {
        "a.jsonl.bz2": CUT["a.jsonl.bz2"],
        "b.jsonl.xz": CUT["a.jsonl.xz"],
        "c.jsonl.gz": lambda: 4 * CUT["a.jsonl.gz"](),
    }
    jobs = jobs_of(written(tmp_path / "archive", packed))
    assert {job.name for job in parts.to_cut(jobs, cores=2)} == {"c.jsonl.gz"}
    assert len(parts.to_cut(jobs, cores=3)) == 3
    assert not parts.to_cut(2 * jobs[2:], cores=2), "a whole one for each: none has to hand on"


CELLS = st.text(st.sampled_from('a;"é\n\r ,\u2028x'), max_size=12)


@given(
    st.lists(st.lists(CELLS, min_size=1, max_size=3), min_size=1, max_size=60),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["utf-8", "utf-8-sig"]),
    st.integers(1, 40),
)
def test_parts_of_a_sheet_are_its_rows(cells, end, encoding, size):
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=end).writerows([["one", "two", "three"], *cells])
    data = text.getvalue().encode(encoding)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(table_files, "CHUNK", len(data) if size % 2 else 20)
        patched.setattr(table_files, "PIECE", size)
        patched.setattr(table_files, "TOGETHER", 2)
        table = table_files.open_table(lambda: io.BytesIO(data))
        whole = list(table.rows())
        assert whole == list(table.settled(2, list(csv.reader(io.StringIO(text.getvalue(), newline="")))[1:]))
        if table.cutting is None:
            assert end == "\r"
            return
        cut = list(table.cutting.parts())
        assert list(chain.from_iterable(table.cutting.table(part).rows() for part in cut)) == whole
