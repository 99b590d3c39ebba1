"""The folder of a study: which file stands where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from covmis_build.addresses import Address, place
from covmis_build.far_tables import FarTables

if TYPE_CHECKING:
    from pathlib import Path

STUDY_TOML = "study.toml"
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
    """`[retrieval] archive`: the archives are wherever study.toml says."""
    against: tuple[str, ...] = ()
    """`[cleaning] against`: other corpora."""
    build_at: str = ""
    """`build`: the address where tables lie, if that is not data/build."""

    study_toml = _Below(STUDY_TOML)
    claims_csv = _Below("queries/claims.csv")
    """The claim list."""
    selection_csv = _Below("queries/selection.csv")
    """Why these claims are selected."""
    purge_csv = _Below("queries/purge.csv")
    """What is to be forgotten."""
    purge_journal = _Below("queries/purge-journal.jsonl")
    """A purge that has begun and not ended."""
    guideline = _Below("annotation/guideline.md")
    label_config = _Below("annotation/label_config.xml")
    """Label Studio's form."""
    rounds = _Below("annotation/rounds")
    """One folder a round."""
    notes = _Below("data/collect")
    """The notes of collecting, one folder a platform."""
    build = _Below("data/build")
    """What `covmis run` makes."""
    store = _Below("data/build/archive")
    """Every post of the archive, read once; where `build` is an address, copies of what is needed here."""
    scratch = _Below("data/build/.scratch")
    """Tables of a command that is at work; the holder of the lock of data/build may remove it."""
    release = _Below("data/release")
    deposit = _Below("data/deposit")
    """The release as a repository takes it."""

    @property
    def frozen(self) -> list[Path]:
        """The frozen items of every round, whatever it is for: they hold texts."""
        return sorted(self.rounds.parent.glob("*/*/items.parquet"))

    @property
    def archives(self) -> list[Path]:
        """Where posts are read from."""
        return [place(named, self.folder) for named in self.archive]

    @property
    def has_files(self) -> bool:
        """Whether there is a file in an archive, or one is a file."""
        return any(
            path.is_file() and not path.name.startswith(".")
            for archive in self.archives
            for path in (archive, *archive.rglob("*"))
        )

    @property
    def other_corpora(self) -> list[Path]:
        """Files of posts of which nothing may be found again."""
        return [place(named, self.folder) for named in self.against]

    @property
    def collected(self) -> Path:
        """Where collected posts go: the first archive that is a folder on this machine, or else the first in a store."""
        nearest_first = sorted(self.archives, key=lambda path: isinstance(path, Address))
        return next((path for path in nearest_first if not path.is_file()), self.folder / "data" / "archive")

    @property
    def far_store(self) -> Path:
        """Where the parts of the store are made: at the address of `build`, or in data/build/archive."""
        return self.far.address / "archive" if self.far else self.store

    @property
    def far(self) -> FarTables | None:
        """The tables in a store, where `build` names one."""
        address = place(self.build_at) if self.build_at else None
        return FarTables(address, self.build) if isinstance(address, Address) else None

    def table(self, name: str) -> Path:
        """The Parquet file of a stage's table on this machine; fetched from the store, if it lies there alone."""
        return self.far.here(name) if self.far else self.build / f"{name}.parquet"

    def relative(self, path: Path) -> str:
        """A path as messages show it: from the study's folder, if it lies inside."""
        return str(path.relative_to(self.folder)) if path.is_relative_to(self.folder) else str(path)
