"""Packed files that end before their end: what is there is read, and that more was there is told."""

from __future__ import annotations

import io
import tarfile

import pytest
import zstandard

from covmis_build.archive import streams
from covmis_build.archive.reader import read

POST = '{{"id_str": "12529344029837639{number:02}", "full_text": "Garlic cures, {number}", "created_at": "Wed Apr 22 12:16:54 +0000 2020"}}\n'
POSTS = "".join(POST.format(number=number) for number in range(60)).encode()


def outcome(path):
    """How many posts can be read, and what is told."""
    lines = [line for job in streams.jobs([(path, path.name)]) for line in read(job)]
    return sum(len(line.posts) for line in lines), [line.problem for line in lines if line.problem]


def frame(data, **options):
    return zstandard.ZstdCompressor(**options).compress(data)


def streamed(data, *, checksum=False):
    """A frame of several blocks that does not say how long it is."""
    out = io.BytesIO()
    machine = zstandard.ZstdCompressor(write_checksum=checksum, write_content_size=False)
    with machine.stream_writer(out, closefd=False) as writer:
        for at in range(0, len(data), 1000):
            writer.write(data[at : at + 1000])
            writer.flush(zstandard.FLUSH_BLOCK)
    return out.getvalue()


SKIPPED = b"\x53\x2a\x4d\x18" + (7).to_bytes(4, "little") + b"nothing"


@pytest.mark.parametrize(
    "packed",
    [
        frame(POSTS), frame(POSTS, write_checksum=True), frame(POSTS, write_content_size=False), streamed(POSTS),
        streamed(POSTS, checksum=True), frame(POSTS[:0]) + frame(POSTS), SKIPPED + frame(POSTS) + SKIPPED,
        b"".join(frame(line + b"\n", write_checksum=True) for line in POSTS.splitlines()), frame(POSTS + b"\n" * 300_000),
    ],
)  # fmt: skip
def test_every_frame_of_a_whole_zstd_file_is_read(tmp_path, packed):
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(packed)
    assert outcome(path) == (60, [])


@pytest.mark.parametrize("checksum", [False, True])
def test_a_torn_zstd_file_is_told_wherever_it_is_torn(tmp_path, checksum):
    path, packed = tmp_path / "a.jsonl.zst", streamed(POSTS, checksum=checksum)
    path.write_bytes(packed)
    assert outcome(path) == (60, [])
    for left in {*range(20, len(packed), 97), *range(len(packed) - 12, len(packed))}:
        path.write_bytes(packed[:left])
        posts, problems = outcome(path)
        assert problems, f"torn behind {left} bytes of {len(packed)}"
        assert "damaged" in problems[-1] or "cannot be read" in problems[-1] or posts < 60


def tar(*names):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = len(POSTS)
            archive.addfile(member, io.BytesIO(POSTS))
    return out.getvalue()


@pytest.mark.parametrize("packed", [False, True])
def test_a_tar_file_without_its_end_is_told(tmp_path, packed):
    whole = tar("a.jsonl", "b.jsonl")
    path = tmp_path / ("a.tar.zst" if packed else "a.tar")
    member = len(tar("a.jsonl").rstrip(b"\0")) // 512 * 512 + 512
    for left, posts in ((len(whole), 120), (member, 60), (member + 100, 60)):
        path.write_bytes(frame(whole[:left]) if packed else whole[:left])
        there, problems = outcome(path)
        assert (there, bool(problems)) == (posts, left < len(whole))
