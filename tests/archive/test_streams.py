"""Files of lines, packed in every way: the same lines with the same offsets, and nothing lost without a word."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile
import zlib

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from covmis_build.archive import reader, streams
from covmis_build.files import packed

LINES = [b'{"a": 1}', b"", b'{"b": "' + b"x" * 300 + b'"}', b"not json", b'{"c": 3}']
TEXT = b"\n".join(LINES) + b"\n"
PACK = {
    "jsonl": lambda data: data,
    "jsonl.gz": gzip.compress,
    "jsonl.bz2": bz2.compress,
    "jsonl.xz": lzma.compress,
    "jsonl.zst": zstandard.ZstdCompressor().compress,
    "frames.zst": lambda data: b"".join(zstandard.ZstdCompressor().compress(part + b"\n") for part in data[:-1].split(b"\n")),
    "misnamed.txt.json": gzip.compress,
}  # fmt: skip


def read(path):
    return [line for job in streams.jobs([(path, path.name)]) for line in streams.lines(job)]


@pytest.mark.parametrize("name", PACK)
def test_packed_in_any_way_the_lines_are_the_same(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(PACK[name](TEXT))
    found = read(path)
    assert [line for _, _, line, _ in found] == LINES
    assert [TEXT[offset : offset + len(line)] for _, offset, line, _ in found] == LINES
    assert {file for file, *_ in found} == {name}


@given(
    st.lists(st.binary(max_size=40).filter(lambda line: b"\n" not in line), max_size=30),
    st.integers(1, 64),
    st.booleans(),
)
def test_ranges_cut_no_line(tmp_path_factory, lines, size, ended):
    data = b"{}\n" + b"\n".join(lines) + (b"\n" if ended else b"")
    path = tmp_path_factory.mktemp("range") / "a.jsonl"
    path.write_bytes(data)
    found = []
    for start in range(0, len(data), size):
        job = streams.Job(str(path), "a", "", start, min(start + size, len(data)))
        found += [line for block in streams._range(path, job, packed.Limits()) for line in block.lines()]
    assert b"\n".join(line for _, _, line, _ in found) == data.removesuffix(b"\n")
    assert all(data[offset : offset + len(line)] == line for _, offset, line, _ in found)
    assert len({offset for _, offset, *_ in found}) == len(found)


@pytest.mark.parametrize(
    ("suffix", "mode"),
    [("tar", "w"), ("tar.gz", "w:gz"), ("tgz", "w:gz"), ("tar.bz2", "w:bz2"), ("tar.xz", "w:xz")],
)
def test_members_of_tar_files(tmp_path, suffix, mode):
    path = tmp_path / f"grab.{suffix}"
    with tarfile.open(path, mode) as tar:
        for name, data in {
            "2020/04/01.json": TEXT,
            "2020/04/02.json.bz2": bz2.compress(TEXT),
            "03.json.gz": gzip.compress(TEXT * 9),
        }.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    found = read(path)
    for name, times in (("2020/04/01.json", 1), ("2020/04/02.json.bz2", 1), ("03.json.gz", 9)):
        assert [line for file, _, line, _ in found if file == f"grab.{suffix}!{name}"] == LINES * times


def test_zst_tar_and_long_windows(tmp_path):
    path = tmp_path / "long.jsonl.zst"
    settings = zstandard.ZstdCompressionParameters.from_level(1, window_log=27, enable_ldm=True)
    machine = zstandard.ZstdCompressor(compression_params=settings).compressobj()
    path.write_bytes(machine.compress(TEXT) + machine.flush())
    assert [line for _, _, line, _ in read(path)] == LINES
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        info = tarfile.TarInfo("a.json")
        info.size = len(TEXT)
        tar.addfile(info, io.BytesIO(TEXT))
    path = tmp_path / "grab.tar.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(packed.getvalue()))
    assert [line for _, _, line, _ in read(path)] == LINES


@pytest.mark.parametrize("name", ["jsonl.gz", "jsonl.bz2", "jsonl.xz", "jsonl.zst"])
def test_a_torn_stream_gives_what_it_has_and_says_so(tmp_path, name):
    path = tmp_path / name
    packed = PACK[name](b"".join(b'{"n": %d, "x": "%d"}\n' % (n, n * 7919 % 1000003) for n in range(20_000)))
    path.write_bytes(packed[: len(packed) * 2 // 3])
    found = read(path)
    if name == "jsonl.zst":  # its last frame ends without notice; the lines before are there
        assert found
        return
    assert found[-1][3]
    assert "\n" not in found[-1][3]


def test_damage_is_a_line_with_a_reason(tmp_path):
    for name, data in {
        "bad.gz": b"\x1f\x8b" + b"x" * 50,
        "bad.tar": b"x" * 257 + b"ustar" + b"y" * 900,
    }.items():
        path = tmp_path / name
        path.write_bytes(data)
        found = read(path)
        assert found
        assert all(problem or not line for *_, line, problem in found) or name == "bad.tar"


def test_documents_are_read_by_element(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"a": 1}, {"b": 2}], indent=2))
    assert [(offset, json.loads(line)) for _, offset, line, _ in read(path)] == [(0, {"a": 1}), (1, {"b": 2})]
    path.write_text(json.dumps({"data": [{"id": "1"}]}, indent=2))
    assert [json.loads(line) for _, _, line, _ in read(path)] == [{"data": [{"id": "1"}]}]
    path.write_text('[{"a": 1}, ')
    assert [problem.split(":")[0] for *_, problem in read(path)] == ["not JSON"]
    path.write_text("")
    assert read(path) == []


LIMITS = packed.Limits(longest_line=300_000, unpacked_ratio=1000)
LONG = [b'{"a": 1}', b"x" * 600_000, b'{"b": 2}', b"y" * 600_000, b'{"c": 3}', b"z" * 900_000]


@pytest.mark.parametrize("name", PACK)
@pytest.mark.parametrize("size", [1 << 30, 100_000])
def test_a_line_that_is_too_long_is_told_and_the_others_are_read(tmp_path, name, size):
    path = tmp_path / name
    data = b"\n".join(LONG) + b"\n"
    path.write_bytes(PACK[name](data))
    jobs = streams.jobs([(path, name)])
    if name == "jsonl":
        jobs = [job._replace(start=at, end=min(at + size, len(data))) for job in jobs
                for at in range(0, len(data), size)]  # fmt: skip
    found = [line for job in jobs for line in streams.lines(job, LIMITS)]
    assert [line for _, _, line, problem in found if not problem] == LONG[::2]
    told = [(offset, problem) for _, offset, _, problem in found if problem]
    assert [offset for offset, _ in told] == [data.index(LONG[at]) for at in (1, 3, 5)]
    assert all("longest_line" in problem for _, problem in told)


@pytest.mark.parametrize("name", ["jsonl.gz", "jsonl.bz2", "jsonl.xz", "jsonl.zst"])
@pytest.mark.parametrize("line", [b"\0" * 1000, b"\0" * 999 + b"\n"], ids=["one line", "lines"])
def test_a_bomb_is_left_at_the_ratio(tmp_path, name, line, monkeypatch):
    """30 KB may hold a gigabyte of zeros: nobody reads them all, nor keeps them in memory."""
    monkeypatch.setattr(packed, "SMALLEST_ROOM", 1 << 10)
    path = tmp_path / name
    path.write_bytes(PACK[name](line * 40_000))
    assert path.stat().st_size * 300 < len(line) * 40_000
    limits = packed.Limits(longest_line=1 << 20, unpacked_ratio=100)
    found = [line for job in streams.jobs([(path, name)]) for line in streams.lines(job, limits)]
    assert "unpacked_ratio" in found[-1][3]
    assert sum(len(line) for _, _, line, _ in found) <= 100 * max(path.stat().st_size, 1 << 10)


def test_brackets_without_end_are_no_post(tmp_path):
    path = tmp_path / "deep.json"
    path.write_bytes(b"[" * 1_000_000)
    assert ["not JSON" in problem for _, _, _, problem in read(path)] == [True]


def test_a_zip_file_of_many_files_is_one_job_and_of_many_tables_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "MOST_MEMBERS", 3)
    path = tmp_path / "many.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(4):
            archive.writestr(f"{number}.jsonl", f'{{"a": {number}}}\n')
            archive.writestr(f"{number}.jsonl.gz", gzip.compress(b'{"b": 1}\n', mtime=0))
    (job,) = streams.jobs([(path, "many.zip")])
    read = [(file, line) for file, _, line, problem in streams.lines(job) if not problem]
    assert read[:2] == [("many.zip!0.jsonl", b'{"a": 0}'), ("many.zip!0.jsonl.gz", b'{"b": 1}')]
    assert len(read) == 8
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(4):
            archive.writestr(f"{number}.csv", "id,text\n1,a\n")
    (job,) = streams.jobs([(path, "many.zip")])
    assert [problem for *_, problem in streams.lines(job)] == [
        "the packed file is damaged: more than 100 tables: unpack it"
    ]


def test_zst_files_that_begin_with_a_frame_to_skip_are_read(tmp_path):
    path, skipped = tmp_path / "a.jsonl.zst", b"\x50\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"hello"
    path.write_bytes(skipped + zstandard.compress(b'{"a": 1}\n') + skipped)
    assert [line for job in streams.jobs([(path, "a")]) for _, _, line, _ in streams.lines(job)] == [
        b'{"a": 1}'
    ]


@pytest.mark.parametrize("packing", ["zip", "tar"])
def test_a_large_table_in_a_packed_file_is_not_cut_in_silence(tmp_path, monkeypatch, packing):
    monkeypatch.setattr(streams, "LONGEST_DOCUMENT", 5_000_000)
    data = b"tweet_id,text\n" + b"".join(
        b"12550000000000%05d,%s\n" % (number, b"garlic" * 40) for number in range(40_000)
    )
    path = tmp_path / f"a.{packing}"
    if packing == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("posts.csv", data)
    else:
        with tarfile.open(path, "w") as tar:
            member = tarfile.TarInfo("posts.csv")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    (told,) = (read for job in streams.jobs([(path, path.name)]) for read in reader.read(job))
    assert told.file.endswith("!posts.csv")
    assert "in a packed file: unpack it" in told.problem


@pytest.mark.parametrize("name", ["jsonl.gz", "jsonl.bz2", "jsonl.xz", "jsonl.zst"])
def test_what_stands_behind_the_last_stream_is_said(tmp_path, name):
    """Python's own readers take the damaged beginning of a second bz2 or xz stream for the end of all."""
    whole = [line for _, _, line, _ in read_of(tmp_path, name, PACK[name](TEXT))]
    assert [(line, problem) for _, _, line, problem in read_of(tmp_path, name, PACK[name](TEXT) * 2)] == [
        (line, "") for line in whole * 2
    ]
    *lines, (_, _, _, problem) = read_of(tmp_path, name, PACK[name](TEXT) + b"JUNKJUNKJUNK")
    assert [line for _, _, line, _ in lines] == whole
    assert "damaged" in problem


@pytest.mark.parametrize("name", ["jsonl.gz", "jsonl.bz2", "jsonl.xz"])
def test_zeros_behind_the_last_stream_are_nothing(tmp_path, name):
    lines = read_of(tmp_path, name, PACK[name](TEXT) + b"\0" * 512)
    assert lines == read_of(tmp_path, name, PACK[name](TEXT))


def read_of(tmp_path, name, data):
    path = tmp_path / name
    path.write_bytes(data)
    return read(path)


def test_an_xz_file_that_asks_for_too_much_memory_is_refused(tmp_path):
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 30}]
    data = bytearray(lzma.compress(TEXT, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20}]))
    small, large = (
        lzma._encode_filter_properties(how[0])
        for how in ([{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20}], filters)
    )
    at = data.index(small, 12)
    data[at] = large[0]
    size = (data[12] + 1) * 4
    data[12 + size - 4 : 12 + size] = zlib.crc32(bytes(data[12 : 12 + size - 4])).to_bytes(4, "little")
    ((_, _, _, problem),) = read_of(tmp_path, "a.jsonl.xz", bytes(data))
    assert "emory" in problem


def test_two_files_of_one_name_in_a_zip_are_said(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.jsonl", TEXT)
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("a.jsonl", TEXT)
    ((_, _, _, problem),) = read(path)
    assert "two files of one name" in problem
