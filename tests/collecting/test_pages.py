"""A page and its checkpoint are one write: whatever a kill leaves, the whole pages are found and nothing else."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from covmis_build.archive import pages
from covmis_build.credentials import Secret
from covmis_build.errors import InputError


def stamp(number: int, following: str = "t") -> pages.Stamp:
    return pages.Stamp(
        job="j", source="x", query_id="q", claim_id="c", kind="keywords", expression="mast", search="mast",
        since="", until="2020-01-01T00:00:00Z", page=number, next=following, url="", version="covmis",
        retrieved_at="2026-01-01T00:00:00Z",
    )  # fmt: skip


def written(path: Path, count: int) -> list[int]:
    """The file's size after each page."""
    sizes = []
    for number in range(1, count + 1):
        pages.append(path, {"data": [{"id": str(number), "text": "mast " * number}]}, stamp(number))
        sizes.append(path.stat().st_size)
    return sizes


@settings(max_examples=40)
@given(st.floats(0, 1))
def test_a_file_that_was_cut_anywhere_goes_on_after_its_last_whole_page(share):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "q.jsonl.zst"
        sizes = written(path, 4)
        cut = int(share * sizes[-1])
        path.write_bytes(path.read_bytes()[:cut])
        whole = sum(size <= cut for size in sizes)
        last = pages.resume(path)
        assert (last.page if last else 0) == whole
        assert path.stat().st_size == (sizes[whole - 1] if whole else 0)
        pages.append(path, {"data": []}, stamp(whole + 1, ""))
        assert [one.page for one in pages.stamps(path)] == [*range(1, whole + 2)]


def test_zeros_at_the_end_after_a_power_cut_are_cut_off(tmp_path):
    path = tmp_path / "q.jsonl.zst"
    sizes = written(path, 3)
    path.write_bytes(path.read_bytes()[: sizes[1]] + bytes(500))
    assert pages.resume(path).page == 2
    assert path.stat().st_size == sizes[1]


def test_damage_in_the_middle_is_refused_and_nothing_is_cut(tmp_path):
    path = tmp_path / "q.jsonl.zst"
    sizes = written(path, 3)
    data = bytearray(path.read_bytes())
    data[sizes[0] + 9] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(InputError, match="whole pages behind it"):
        pages.resume(path)
    assert path.read_bytes() == data


def test_pages_are_plain_zstd_lines_that_any_tool_reads(tmp_path):
    path = tmp_path / "q.jsonl.zst"
    written(path, 2)
    with path.open("rb") as file:
        text = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read()
    assert len(text.splitlines()) == 2


def test_half_a_surrogate_pair_and_an_echoed_secret_do_not_reach_the_file_as_they_are(tmp_path):
    path = tmp_path / "q.jsonl.zst"
    Secret("echoed-secret-1")
    pages.append(path, {"data": [{"text": "\ud83d broken"}], "echo": "Bearer echoed-secret-1"}, stamp(1))
    (line,) = pages.lines(path)
    assert line["data"][0]["text"] == "\ud83d broken"
    assert line["echo"] == "Bearer [hidden]"
