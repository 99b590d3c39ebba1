"""A thousand flipped bits in each kind of file of a study: `python -m tests.flips STUDY`, for a copy of the demonstration.

A failing disk changes one bit and neither size nor times. Each flip is either refused by what reads the file, made again by covmis to the
same bytes, or changes nothing that is read; a flip after which somebody reads something else without being told is silent.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from covmis_build import storage
from covmis_build.annotation import label_lines, sendings
from covmis_build.annotation.json_records import read_seal
from covmis_build.annotation.round_folder import RoundFolder
from covmis_build.archive import words_file
from covmis_build.archive.stage import _refuse_damaged
from covmis_build.archive.words_file import segments
from covmis_build.building import ledger
from covmis_build.building.flow import ask
from covmis_build.corpus.verify import check_cited, check_release
from covmis_build.errors import CovmisError, InputError
from covmis_build.study.check_files import check_files
from covmis_build.study.study import open_study

if TYPE_CHECKING:
    from collections.abc import Callable

REFUSED, SAME, SILENT = "refused", "nothing that is read changes", "silent"


class Kind(NamedTuple):
    """Files of a study, and what reads one of them: it returns what the file says, or raises an error of covmis."""

    name: str
    files: str
    read: Callable[[Path, Path], object]


def flip(path: Path, place: int, bit: int) -> None:
    """Change one bit as a failing disk does: size and times stay."""
    before, data = path.stat(), bytearray(path.read_bytes())
    data[place] ^= 1 << bit
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def flipped(path: Path, read: Callable[[], object], flips: int, key: str = "") -> Counter[str]:
    """What these flips of a file ended in; the silent ones with place and bit."""
    whole, chance, ends = path.read_bytes(), random.Random(path.name + key), Counter[str]()
    told = read()
    for _ in range(flips):
        place, bit = chance.randrange(len(whole)), chance.randrange(8)
        flip(path, place, bit)
        try:
            ends[SAME if read() == told else f"{SILENT}: {path.name} byte {place} bit {bit}"] += 1
        except CovmisError:
            ends[REFUSED] += 1
        path.write_bytes(whole)
    return ends


def rows(_: Path, path: Path) -> object:
    """Arrow's reader."""
    return storage.read_parquet(path, [], storage.RESTORED).to_pylist()


def asked(_: Path, path: Path) -> object:
    """DuckDB's reader, which compares no checksums itself."""
    return ask("SELECT * FROM t ORDER BY ALL", t=path)


def of_round(read: Callable[[Path], object]) -> Callable[[Path, Path], object]:
    """What reads a whole round."""
    return lambda _, path: read(path.parent)


def words(study: Path, path: Path) -> object:
    """What looks for words: a damaged index is made again, to the same bytes."""
    part = study / "data/build/archive" / f"{path.name.partition('-')[0]}.parquet"
    found = [[list(map(str, column)) for column in segment] for segment in segments(part, path.parent)]
    return found, path.read_bytes()


def read_again(study: Path, path: Path) -> object:
    """A file of the archive, when covmis reads it again although nobody wrote to it."""
    _refuse_damaged({str(path)}, {str(path): HASHES[path]})
    return None


def stands(study: Path, path: Path) -> object:
    """Records that are only compared: `covmis check` names them, or the seal that names them."""
    if damaged := check_files(open_study(study)).damaged:
        raise InputError(damaged[0].problem, file=path)
    return None


def stages(study: Path, path: Path) -> object:
    """What remembers hashes: a stage whose files seem to be others is made again."""
    if not all(open_study(study).stages().values()):
        raise InputError("is not current", file=path)
    return None


def verified(study: Path, path: Path) -> object:
    """A release, with the root hash that a paper has."""
    folder = study / "data/release"
    checks = [*check_release(folder), *check_cited(folder, HASHES[folder], None)]
    failed = [check.what for check in checks if not check.passed]
    if failed:
        raise InputError(failed[0], file=path)
    return None


def pull(study: Path, path: Path) -> object:
    """A sheet that was pulled, when it is pulled again: the record, unless the command says that an answer is new or odd."""
    folder = path.parents[1]
    round_ = open_study(study).round(folder.name)
    before = {each: each.read_bytes() for each in folder.iterdir() if each.is_file()}
    try:
        told = round_.pull()
        if told.problems or told.added or told.withdrawn:
            raise InputError("the command says what differs", file=path)
        return label_lines.read(folder)
    finally:
        for each in [each for each in folder.iterdir() if each.is_file()]:
            each.unlink()
        for each, data in before.items():
            each.write_bytes(data)


HASHES: dict[Path, str] = {}
"""What was noted of files of the archive and of the release before the first flip."""
KINDS = (
    Kind("tables of the stages, Arrow", "data/build/*.parquet", rows),
    Kind("tables of the stages, DuckDB", "data/build/*.parquet", asked),
    Kind("store", "data/build/archive/**/*.parquet", rows),
    Kind("indexes of words", "data/build/archive/words/*.arrow", words),
    Kind("ledger", "data/build/ledger.jsonl", lambda _, path: ledger.read(path)),
    Kind("hashes of files that were read", "data/build/.files.json", stages),
    Kind("archive, whole or read again", "data/archive/*.*z*", read_again),
    Kind("tables of rounds", "annotation/rounds/**/*.parquet", rows),
    Kind("labels and decisions", "annotation/rounds/*/*s.*.jsonl", of_round(label_lines.read)),
    Kind("sent.jsonl", "annotation/rounds/*/sent.jsonl", of_round(sendings.read)),
    Kind("round.json", "annotation/rounds/*/round.json", of_round(RoundFolder.at)),
    Kind("seal.json", "annotation/rounds/*/seal.json", lambda _, path: read_seal(path)),
    Kind("guideline of a round", "annotation/rounds/*/guideline.md", of_round(lambda folder: RoundFolder.at(folder).guideline_sent())),
    Kind("earlier guidelines", "annotation/rounds/guidelines/*.md", stands),
    Kind("report that was sealed", "annotation/rounds/*/report.json", stands),
    Kind("sheets that were pulled", "annotation/rounds/*/sheets/a?.csv", pull),
    Kind("release", "data/release/**/*", verified),
)  # fmt: skip


def tried(study: Path, kind: Kind, flips: int) -> Counter[str]:
    """What flips in files of this kind ended in, evenly over the files."""
    files = [path for path in sorted(study.glob(kind.files)) if path.is_file()]
    ends = Counter[str]()
    for number, path in enumerate(files):
        share = flips // len(files) + (number < flips % len(files))
        ends += flipped(path, lambda path=path: kind.read(study, path), share, kind.name)
    return ends


def note(study: Path) -> None:
    """Note what somebody knows before a disk fails, and make what is made when it is needed."""
    for path in (study / "data/archive").glob("*"):
        HASHES[path] = storage.sha256_of(path)
    facts = study / "data/release/facts.json"
    if facts.exists():
        HASHES[facts.parent] = json.loads(facts.read_text())["root"]
    if HASHES:
        open_study(study).run()
    for path in (study / "data/build/archive").glob("*.parquet"):
        segments(path, path.parent / words_file.FOLDER)


def main() -> None:
    """Run from the command line."""
    options = argparse.ArgumentParser(description="Flip bits in every kind of file of a copy of a study.")
    options.add_argument("study", type=Path)
    options.add_argument("--flips", type=int, default=1000)
    options.add_argument("--only", default="")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        study = Path(shutil.copytree(given.study, Path(scratch, "study")))
        note(study)
        unsealed = Path(shutil.copytree(study, Path(scratch, "unsealed")))
        for path in unsealed.glob("annotation/rounds/*/seal.json"):
            path.unlink()
        for kind in KINDS:
            if given.only in kind.name:
                began, ends = (
                    time.process_time(),
                    tried(unsealed if kind.read is pull else study, kind, given.flips),
                )
                silent = [end for end in ends if end.startswith(SILENT)]
                counts = (ends.total(), ends[REFUSED], ends[SAME], len(silent))
                print(
                    f"| {kind.name} | {' | '.join(map(str, counts))} |",
                    f"{time.process_time() - began:.0f} s",
                    *silent[:9],
                    flush=True,
                )


if __name__ == "__main__":
    main()
