"""Take an opened round's files back, with its hidden checks; what people did in it is found first.

items.parquet goes first: without it the folder is no round, so that an interruption leaves none that is half there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build import storage
from covmis_build.annotation import round_folder as record
from covmis_build.annotation.answers import RETURNED_AS
from covmis_build.annotation.channels.sheets import read_rows
from covmis_build.annotation.json_records import read_json
from covmis_build.annotation.round_folder import RoundKind
from covmis_build.errors import CovmisError, counted

if TYPE_CHECKING:
    from pathlib import Path

    from covmis_build.annotation.round_folder import RoundFolder

FILLED_IN = ("label", "sub_label", "comment", "reason", "error_class", "prediction")
"""Columns of sheets that people and models fill in."""
OURS = {".html", *RETURNED_AS, ".json"}


def work_in(round_: RoundFolder) -> list[str]:
    """Return what people have done in this round, in words: labels, a seal, sheets and pages that came back filled in."""
    labels = len(round_.answers())
    files = [path.name for path in sorted(round_.sheets.glob("*")) if _is_filled(path)]
    return [
        *(["a seal"] if round_.sealed or round_.about.reopened else []),
        *([counted(labels, "labels")] if labels else []),
        *([f"answers in {', '.join(files)}"] if files and not labels else []),
    ]


def _is_filled(path: Path) -> bool:
    """True if a file of the folder sheets/ may hold somebody's answers; what cannot be read may."""
    kind = path.suffix.casefold()
    if kind not in OURS:
        return not path.name.startswith(".")
    try:
        if kind == ".json":
            return bool(read_json(path).get("answers"))
        if kind == ".html":
            return False  # answers are in the browser, and come back as another file
        rows = read_rows(path, ("item_id",)).rows
    except CovmisError:
        return True
    return any(row.get(name, "").strip() for row in rows for name in FILLED_IN)


def take_back(rounds: Path, number: str, archive: Path | None) -> None:
    """Remove a round and its checks, or move both into this folder. Repeated, it finishes what is left."""
    kind = record.kind_of(number)
    checks = {} if kind else {RoundKind.CHECKS: f"{RoundKind.CHECKS}{number}"}
    for of_kind, name in (checks | {kind: number}).items():  # the round last: its checks never outlive it
        folder = of_kind.folder(rounds) / name
        if archive and folder.exists():
            goes_to = archive / folder.parent.name / name
            storage.remove(goes_to)  # a power cut may leave a moved folder in both places
            storage.move(folder, goes_to)
        elif not archive:
            storage.remove(folder / "items.parquet")
            storage.remove(folder)
            _remove_guidelines(rounds, of_kind)
    if archive and not kind:
        for path in rounds.glob("summary.*"):  # agreement over all rounds, of which there is one less
            storage.remove(path)


def _remove_guidelines(rounds: Path, kind: RoundKind) -> None:
    """Remove the versions of the guideline that no round of this kind was sent out with."""
    used: set[str] = set()
    for round_ in record.rounds_of_kind(rounds, kind):
        used |= {round_.guideline, *(sent.version for sent in round_.guidelines)}
        used |= set(round_.labels()["guideline"])
    for path in (kind.folder(rounds) / "guidelines").glob("*.md"):
        if path.stem not in used:
            storage.remove(path)
