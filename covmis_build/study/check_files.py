"""Read every file that a study's numbers come from, and say which are not what was written.

A failing disk or a careless copy changes bytes without anybody's doing. Tables have their own hash (`checked_parquet`), lines and
records of rounds theirs; files of the archive are compared with their hash when they were read.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from covmis_build import checked_parquet
from covmis_build.addresses import Address
from covmis_build.annotation import label_lines, sendings
from covmis_build.annotation.round_folder import RoundFolder, RoundKind, guideline_version, rounds_of_kind
from covmis_build.annotation.seal import verify_chain
from covmis_build.archive import stage, words_file
from covmis_build.archive.walk import archive_files
from covmis_build.building import ledger
from covmis_build.building.run import damaged_inputs
from covmis_build.errors import CovmisError, InputError, counted
from covmis_build.report.result import Result
from covmis_build.report.summary import Listing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from covmis_build.places import Places
    from covmis_build.report.summary import Summary
    from covmis_build.study.of_study import OfStudy

SHOWN = 3
"""Tables that the summary names."""
AGAIN = "`covmis run` makes it again"
WHEN_NEEDED = "it is made again when it is needed"
FROM_LINES = "remove it: it is made again from the lines when labels are recorded"
RESTORE = "restore it from a copy: it cannot be made again"


@dataclass(frozen=True, slots=True)
class DamagedFile:
    """A file that is not what was written, and what makes it right."""

    file: str
    problem: str
    remedy: str


@dataclass(frozen=True, slots=True, repr=False)
class CheckedFiles(Result):
    """What was read, and what of it is damaged."""

    read: int
    damaged: tuple[DamagedFile, ...]
    without_hash: tuple[str, ...]
    """Tables of earlier versions, whose damage shows only if they cannot be read."""
    not_checked: tuple[str, ...]
    """Files without a hash to compare with: archives elsewhere."""

    @property
    def summary(self) -> Summary:
        """Return the damaged files, with what makes them right."""
        rows = [(each.file, each.problem, each.remedy) for each in self.damaged]
        counts = f"{counted(self.read, 'files')} read, {len(self.damaged)} damaged."
        table = [Listing(("file", "problem", "remedy"), rows)] if rows else []
        more = " …" * (len(self.without_hash) > SHOWN)
        old = (
            f"{counted(len(self.without_hash), 'tables')} of an earlier version have no hash: "
            f"{', '.join(self.without_hash[:SHOWN])}{more}. Their damage shows only if they cannot be read."
        )
        rest = f"Nothing to compare with: {', '.join(self.not_checked)}."
        return [counts, *table, *([old] if self.without_hash else []), *([rest] if self.not_checked else [])]

    @property
    def exit_code(self) -> int:
        """1 if a file is damaged."""
        return int(bool(self.damaged))

    def to_dict(self) -> dict[str, Any]:
        """As `covmis check --json` prints it."""
        damaged = [
            {"file": each.file, "problem": each.problem, "remedy": each.remedy} for each in self.damaged
        ]
        return {
            "read": self.read,
            "damaged": damaged,
            "without_hash": list(self.without_hash),
            "not_checked": list(self.not_checked),
        }


def check_files(study: OfStudy) -> CheckedFiles:
    """Read all tables, records and files of the archive; change nothing."""
    places = study.places
    damaged, read, old = list[DamagedFile](), 0, list[str]()
    for path in _tables(places):
        read += 1
        remedy = _remedy(places, path)
        problem = _problem(_read_table, path)
        if problem:
            damaged.append(DamagedFile(places.relative(path), problem, remedy))
        elif not checked_parquet.is_marked(path):
            old.append(places.relative(path))
    records = [(path, act, RESTORE) for path, act in _records(places)]
    indexes = words_file.in_folder(places.store / words_file.FOLDER)
    for path, act, remedy in [*records, *((path, _check_words, WHEN_NEEDED) for path in indexes)]:
        read += 1
        problem = _problem(act, path)
        if problem:
            damaged.append(DamagedFile(places.relative(path), problem, remedy))
    damaged += [DamagedFile(places.relative(path), what, RESTORE) for path, what in _seals(places)]
    known = {each.file for each in damaged}
    for path in damaged_inputs(places):
        name = places.relative(path)
        if name not in known and path.suffix != ".parquet":
            damaged.append(DamagedFile(name, stage.DAMAGED, stage.UNDAMAGED))
    try:
        archived, away = [file.path for file in archive_files(places.archives)], ""
    except InputError as error:  # such as in a study that came without its posts
        archived, away = [], error.problem
    far = [str(path) for path in archived if isinstance(path, Address)]
    unchecked = [
        *([f"{counted(len(far), 'files')} of archives elsewhere"] if far else []),
        *([f"the archive ({away})"] if away else []),
    ]
    return CheckedFiles(read + len(archived) - len(far), tuple(damaged), tuple(old), tuple(unchecked))


def _tables(places: Places) -> list[Path]:
    """Return covmis's tables: those that are made, and those of rounds."""
    annotation = places.rounds.parent
    return sorted([*places.build.rglob("*.parquet"), *annotation.rglob("*.parquet")])


def _read_table(path: Path) -> None:
    checked_parquet.check_again(path, RESTORE)
    with checked_parquet.reading(path, RESTORE) as file:
        for group in range(file.num_row_groups):
            file.read_row_group(group)


def _remedy(places: Places, path: Path) -> str:
    if path.is_relative_to(places.store):
        return f"remove it: {AGAIN}"  # a run does not read parts of the store that it does not need
    if path.is_relative_to(places.build):
        return AGAIN
    from_lines = path.name in {"labels.parquet", "decisions.parquet"} and label_lines.files(path.parent)
    return FROM_LINES if from_lines else RESTORE


def _records(places: Places) -> Iterator[tuple[Path, Callable[[Path], Any]]]:
    """Yield each record that is text, with what reads and checks it."""
    for folder in _rounds(places):
        yield folder / "round.json", _check_round
        for path in label_lines.files(folder):
            yield path, label_lines.check
        if (folder / "guideline.md").exists():
            yield folder / "guideline.md", _check_guideline
        if (folder / sendings.SENT).exists():
            yield folder / sendings.SENT, _check_sendings
    for path in sorted(places.rounds.parent.glob("*/guidelines/*.md")):
        yield path, _check_version
    if (places.build / "ledger.jsonl").exists():
        yield places.build / "ledger.jsonl", ledger.read


def _rounds(places: Places) -> list[Path]:
    live = places.rounds.parent.glob("*/*/round.json")
    return sorted(path.parent for path in [*live, *places.discarded.glob("*/*/*/round.json")])


def _check_round(path: Path) -> None:
    RoundFolder.at(path.parent)


def _check_sendings(path: Path) -> None:
    sendings.read(path.parent)


def _check_words(path: Path) -> None:
    if not words_file.is_whole(path):
        raise CovmisError("is not what was written")


def _check_guideline(path: Path) -> None:
    round_ = RoundFolder.at(path.parent)
    version = guideline_version(path.read_text("utf-8", "surrogatepass"))
    if version != round_.guideline:
        raise CovmisError(f"is not the guideline {round_.guideline} that was sent out")


def _check_version(path: Path) -> None:
    if guideline_version(path.read_text("utf-8", "surrogatepass")) != path.stem:
        raise CovmisError("is not the version of the guideline in its name")


def _seals(places: Places) -> Iterator[tuple[Path, str]]:
    """Yield each sealed round whose content is not what was sealed, with what differs."""
    for kind in (RoundKind.STANCE, RoundKind.RECALL, RoundKind.RELABEL):
        with suppress(CovmisError):  # a damaged file, named already
            for check in verify_chain(rounds_of_kind(places.rounds, kind)):
                if check.sealed and not check.stands:
                    yield kind.folder(places.rounds) / check.round / "seal.json", check.sentence


def _problem(act: Callable[[Path], Any], path: Path) -> str:
    """Return what is wrong, in one line without the file's name; empty if nothing is."""
    try:
        act(path)
    except CovmisError as error:
        return error.problem
    except (OSError, ValueError) as error:
        return f"cannot be read: {str(error).splitlines()[0][:120]}"
    return ""
