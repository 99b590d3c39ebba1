"""A flipped bit in a file of a study is noticed by whoever reads the file, or changes nothing that is read."""

import json
import os
import random
from pathlib import Path

import pytest

from covmis_build import checked_parquet, storage
from covmis_build.annotation import label_lines, sendings
from covmis_build.annotation.json_records import read_record, read_seal
from covmis_build.building.flow import ask
from covmis_build.errors import CovmisError, DamagedTable
from covmis_build.study.study import open_study
from tests.annotation.small import covmis, sealed
from tests.once import once
from tests.small_study import small_study

FLIPS = 150


@once
def built(folder: Path) -> None:
    """A study whose tables are made."""
    small_study(folder, 1500).run()


def flip(path: Path, place: int, bit: int) -> None:
    """Change one bit as a failing disk does: size and times stay."""
    before, data = path.stat(), bytearray(path.read_bytes())
    data[place] ^= 1 << bit
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def silent(path: Path, read, flips: int = FLIPS) -> list[tuple[int, int]]:
    """Return the flips after which reading the file gives something else without an error."""
    whole, chance, others = path.read_bytes(), random.Random(path.name), []
    told = read()
    for _ in range(flips):
        place, bit = chance.randrange(len(whole)), chance.randrange(8)
        flip(path, place, bit)
        try:
            if read() != told:
                others.append((place, bit))
        except CovmisError:
            pass
        path.write_bytes(whole)
    return others


def records(path: Path):
    return lambda: storage.read_parquet(path, [], storage.RESTORED).to_pylist()


@pytest.mark.parametrize("name", ["items", "claims", "sample", "archive"])
def test_no_flip_in_a_table_is_silent(tmp_path, name):
    built(tmp_path)
    build = tmp_path / "data/build"
    path = next((build / "archive").glob("*.parquet")) if name == "archive" else build / f"{name}.parquet"
    assert checked_parquet.is_marked(path)
    assert silent(path, records(path)) == []
    assert silent(path, lambda: ask("SELECT * FROM t ORDER BY ALL", t=path), FLIPS // 3) == [], (
        "DuckDB's reads, too"
    )


def test_no_flip_in_a_round_is_silent(tmp_path):
    sealed(tmp_path)
    folder = tmp_path / "annotation/rounds/001"
    tables = sorted(folder.glob("*.parquet"))
    lines = label_lines.files(folder)
    assert len(tables) >= 3
    assert len(lines) >= 2
    assert {path.name for path in tables if not checked_parquet.is_marked(path)} == set()
    silents = {path.name: silent(path, records(path)) for path in tables}
    silents |= {path.name: silent(path, lambda: label_lines.read(folder)) for path in lines}
    silents["round.json"] = silent(folder / "round.json", lambda: read_record(folder / "round.json"))
    silents["seal.json"] = silent(folder / "seal.json", lambda: read_seal(folder / "seal.json"))
    silents["sent.jsonl"] = silent(folder / "sent.jsonl", lambda: sendings.read(folder))
    assert {name: flips for name, flips in silents.items() if flips} == {}


@pytest.mark.parametrize("name", ["items.parquet", "archive/*.parquet"])
def test_a_run_makes_a_damaged_table_again(tmp_path, name):
    built(tmp_path)
    study, path = open_study(tmp_path), next((tmp_path / "data/build").glob(name))
    whole, claims = path.read_bytes(), tmp_path / "queries/claims.csv"
    flip(path, len(whole) // 2, 3)
    assert [each.file for each in study.check_files().damaged] == [str(path.relative_to(tmp_path))]
    claims.write_text("\n".join(claims.read_text().splitlines()[:-1]) + "\n")  # so that a run reads the store
    study.run()
    assert path.read_bytes() == whole or name == "items.parquet", "with a claim fewer it is another table"
    assert study.check_files().damaged == ()


def test_what_people_recorded_is_refused_and_the_check_names_what_is_damaged(tmp_path):
    sealed(tmp_path)
    assert covmis(tmp_path, "check")["damaged"] == []
    folder = tmp_path / "annotation/rounds/001"
    path = folder / "items.parquet"
    flip(path, path.stat().st_size // 2, 5)
    with pytest.raises(
        DamagedTable, match=r"is damaged: it is not what was written at 20.*Restore it from a copy"
    ):
        open_study(tmp_path).round("001").report()
    guideline = folder / "guideline.md"
    guideline.write_text(guideline.read_text() + " ")
    told = covmis(tmp_path, "check", fails=1)
    assert {"annotation/rounds/001/items.parquet", "annotation/rounds/001/guideline.md"} <= {
        each["file"] for each in told["damaged"]
    }


def test_a_study_without_its_posts_is_checked(tmp_path):
    built(tmp_path / "s")
    folder = tmp_path / "s"
    (folder / "data" / "archive").rename(tmp_path / "elsewhere")
    checked = open_study(folder).check_files()
    assert checked.damaged == ()
    assert "the archive (the archive is missing)" in checked.not_checked


def test_a_file_of_the_archive_that_nobody_wrote_to_is_found(tmp_path):
    built(tmp_path)
    study = open_study(tmp_path)
    path = next(each for each in (tmp_path / "data/archive").iterdir() if each.suffix in {".gz", ".zst"})
    os.utime(path, (1, 1))
    study.run()
    cache = tmp_path / "data/build/.files.json"
    assert str(path) in json.loads(cache.read_text())
    flip(path, 100, 1)  # this sets the time of change, which a failing disk does not
    known = json.loads(cache.read_text())
    assert study.stages()["read"] is False, "a file that was replaced with its old time is read again"
    known[str(path)][:-1] = storage.state_of(path)
    cache.write_text(json.dumps(known))
    assert [each.file for each in study.check_files().damaged] == [str(path.relative_to(tmp_path))]
