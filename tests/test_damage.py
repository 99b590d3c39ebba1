"""A flipped bit in a file of a study is noticed by whoever reads the file, or changes nothing that is read."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from covmis_build import checked_parquet, storage
from covmis_build.annotation import label_lines, sendings
from covmis_build.annotation.json_records import read_record, read_seal
from covmis_build.building.flow import ask
from covmis_build.errors import CovmisError, DamagedTable
from covmis_build.study.study import open_study
from tests.annotation.small import covmis, pulled, sealed
from tests.flips import KINDS, REFUSED, SAME, SILENT, flip, flipped, note, pull, tried
from tests.once import once
from tests.small_study import small_study

FLIPS = 60


@once
def built(folder: Path) -> None:
    """A study whose tables are made."""
    small_study(folder, 1500).run()


def silent(path: Path, read, flips: int = FLIPS) -> list[str]:
    """Flips after which reading the file gives something else without an error."""
    return [end for end in flipped(path, read, flips) if end.startswith(SILENT)]


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


@pytest.mark.parametrize(
    "kind",
    [kind for kind in KINDS if kind.files.startswith("data/") and "release" not in kind.files],
    ids=lambda kind: kind.name,
)
def test_a_dozen_flips_of_each_kind_of_file_that_is_made_or_given(tmp_path, kind):
    """A thousand of each: `python -m tests.flips`, whose figures are in benchmarks/RESULTS.md."""
    built(tmp_path)
    note(tmp_path)
    ends = tried(tmp_path, kind, 12)
    assert ends.total() == 12
    assert set(ends) <= {REFUSED, SAME}


def test_a_dozen_flips_of_each_kind_of_file_of_a_round(tmp_path):
    sealed(tmp_path / "sealed")
    pulled(tmp_path / "open")
    ends = Counter()
    for kind in KINDS:
        if kind.files.startswith("annotation/"):
            ends += tried(tmp_path / ("open" if kind.read is pull else "sealed"), kind, 12)
    assert ends.total() == 12 * 9
    assert set(ends) <= {REFUSED, SAME}


def test_a_file_of_the_archive_that_lost_a_bit_is_not_read_again_as_if_it_were_whole(tmp_path):
    """A run by force made posts of the damaged file, under the name of the whole one."""
    built(tmp_path)
    study, cache = open_study(tmp_path), tmp_path / "data/build/.files.json"
    path = next(each for each in (tmp_path / "data/archive").iterdir() if each.suffix in {".gz", ".zst"})
    os.utime(path, (1, 1))
    study.run()
    flip(path, 100, 1)
    known = json.loads(cache.read_text())
    known[str(path)][:-1] = storage.state_of(
        path
    )  # writing sets the time of change, which a failing disk does not
    cache.write_text(json.dumps(known))
    with pytest.raises(CovmisError, match="its content changed, but not its size and times"):
        study.run(force=True)


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
