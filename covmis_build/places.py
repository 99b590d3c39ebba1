"""The paths of a study's files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from covmis_build.addresses import Address, place
from covmis_build.far_tables import FarTables

if TYPE_CHECKING:
    from pathlib import Path

STUDY_TOML = "study.toml"
CHECKSUMS, FACTS, DESIGN = "checksums.txt", "facts.json", "design.json"
"""In a release: the mark that it is finished, what it tells of itself, and how its posts were drawn."""
DRAWS = "draws.parquet"
"""The ledger of opened draws, in the folder of the rounds."""


class _Below:
    """A path below the study's folder."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, places: Places, owner: type[Places]) -> Path:
        return places.folder / self.name


@dataclass(frozen=True)
class Places:
    """The paths of one study."""

    folder: Path
    archive: tuple[str, ...] = ("data/archive",)
    """`[retrieval] archive`: the archives."""
    against: tuple[str, ...] = ()
    """`[cleaning] against`: other corpora."""
    build_at: str = ""
    """`build`: the URL of the tables, if they are not in data/build."""

    study_toml = _Below(STUDY_TOML)
    claims_csv = _Below("queries/claims.csv")
    """The claim list."""
    selection_csv = _Below("queries/selection.csv")
    """The ranking that led to the selection."""
    purge_csv = _Below("queries/purge.csv")
    """The purge list."""
    purge_journal = _Below("queries/purge-journal.jsonl")
    """The journal of an unfinished purge."""
    purge_left = _Below("queries/purge-left.csv")
    """Files that a purge named and somebody has looked at."""
    guideline = _Below("annotation/guideline.md")
    prompt = _Below("annotation/prompt.md")
    models = _Below("data/models")
    label_config = _Below("annotation/label_config.xml")
    """Label Studio's form."""
    rounds = _Below("annotation/rounds")
    """One folder per round."""
    discarded = _Below("annotation/discarded")
    """Rounds that were taken back with their labels: only a purge reads them."""
    intents = _Below("data/intents")
    """What commands that are at work have begun; see `study/intents.py`."""
    notes = _Below("data/collect")
    """The records of collecting, one folder per platform."""
    build = _Below("data/build")
    """The tables of `covmis run`."""
    store = _Below("data/build/archive")
    """Every post of the archive, read once; if `build` is a URL, local copies of the needed parts."""
    scratch = _Below("data/build/.scratch")
    """Temporary tables of a running command; only the holder of data/build's lock may delete it."""
    release = _Below("data/release")
    deposit = _Below("data/deposit")
    """The release prepared for a repository."""

    @property
    def frozen(self) -> list[Path]:
        """Frozen items of all rounds of every kind, also of those taken back; they contain texts."""
        live = self.rounds.parent.glob("*/*/items.parquet")
        return [*sorted(live), *sorted(self.discarded.glob("*/*/*/items.parquet"))]

    @property
    def archives(self) -> list[Path]:
        """The archives with the posts."""
        return [place(named, self.folder) for named in self.archive]

    @property
    def has_files(self) -> bool:
        """True if an archive is a file or contains one."""
        return any(
            path.is_file() and not path.name.startswith(".")
            for archive in self.archives
            for path in (archive, *archive.rglob("*"))
        )

    @property
    def other_corpora(self) -> list[Path]:
        """Files of posts in other corpora, whose near-duplicates are dropped."""
        return [place(named, self.folder) for named in self.against]

    @property
    def collected(self) -> Path:
        """Destination of collected posts: the first archive that is a local folder, otherwise the first in a store."""
        nearest_first = sorted(self.archives, key=lambda path: isinstance(path, Address))
        return next((path for path in nearest_first if not path.is_file()), self.folder / "data" / "archive")

    @property
    def far_store(self) -> Path:
        """Location of the store's parts: at the URL of `build`, or in data/build/archive."""
        return self.far.address / "archive" if self.far else self.store

    @property
    def far(self) -> FarTables | None:
        """The tables in an object store, if `build` names one."""
        address = place(self.build_at) if self.build_at else None
        return FarTables(address, self.build) if isinstance(address, Address) else None

    def table(self, name: str) -> Path:
        """Return a table's local Parquet file, downloaded from the store if necessary."""
        return self.far.here(name) if self.far else self.build / f"{name}.parquet"

    def relative(self, path: Path) -> str:
        """Return a path for messages: relative to the study's folder if inside."""
        return str(path.relative_to(self.folder)) if path.is_relative_to(self.folder) else str(path)
