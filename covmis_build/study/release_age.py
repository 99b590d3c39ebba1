"""What a release does not tell of its study now, at a glance: by settings, seals and hashes, without loading what computes.

Of a study whose rounds are all sealed that is nearly all: labels cannot change under a seal. `check_release` compares the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import msgspec

from covmis_build import storage
from covmis_build.annotation.round_folder import RoundKind, all_rounds, rounds_of_kind
from covmis_build.building import ledger
from covmis_build.corpus.bundle import TABLES
from covmis_build.corpus.phrases import listed
from covmis_build.errors import CovmisError, InputError
from covmis_build.options import Release, kept
from covmis_build.places import CHECKSUMS, FACTS
from covmis_build.study.wordings import reworded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.study.of_study import OfStudy

AS_ASKED = {"text"}
"""Settings of [release] that the command may override: what is in the files says how it was asked for."""


class _Round(msgspec.Struct, frozen=True):
    name: str
    seal: str = ""


class _Stage(msgspec.Struct, frozen=True):
    tables: dict[str, str] = {}


class _Reworded(msgspec.Struct, frozen=True):
    claim: str
    judged: str
    now: str


class _Told(msgspec.Struct, frozen=True):
    """What of facts.json is compared here, in releases of every version that has it."""

    title: str
    release: dict[str, Any] = {}
    rounds: list[_Round] = []
    stages: list[_Stage] = []
    reworded: list[_Reworded] = []
    data_statement: str = ""
    licence_text: str = ""


@dataclass(frozen=True)
class Glance:
    """What differs, and whether more might: labels of rounds that are not sealed, and recall."""

    differences: list[str]
    complete: bool = True
    unreadable: bool = False


def glance_at(study: OfStudy) -> Glance:
    """Compare the release's own facts with the study; nothing without a release. Never an error."""
    places, folder = study.places, study.places.release
    if not (folder / CHECKSUMS).is_file():
        begun = (folder / FACTS).exists() or any(folder.glob("corpus.*"))
        return Glance(["it was not finished: `covmis release` was interrupted"] * begun)
    if not (folder / FACTS).exists():
        return Glance([], complete=False)  # of 0.1: its rows are all there is to compare
    try:
        told = msgspec.json.decode((folder / FACTS).read_bytes(), type=_Told)
        rounds = all_rounds(places.rounds)
        differing = [*_of_settings(study, told), *_of_seals(told, rounds), *_of_tables(study, told, rounds)]
    except (msgspec.MsgspecError, CovmisError) as error:
        where = (
            "" if isinstance(error, CovmisError) else f"{places.relative(folder / FACTS)}: cannot be read: "
        )
        return Glance([f"{where}{error}".rstrip(".")], unreadable=True)
    is_open = any(not round_.sealed and not round_.pilot for round_ in rounds)
    return Glance(differing, complete=not is_open and not rounds_of_kind(places.rounds, RoundKind.RECALL))


def _of_settings(study: OfStudy, told: _Told) -> Iterator[str]:
    if told.title != study.settings.title:
        yield "the title was changed since"
    was, now = msgspec.convert(kept(told.release), Release), study.settings.release
    names = [at.name for at in fields(now) if at.name not in AS_ASKED]
    differing = [name for name in names if getattr(was, name) != getattr(now, name)]
    fresh = [name for name in differing if not getattr(was, name)]
    for which, what in ((fresh, "set"), ([name for name in differing if name not in fresh], "changed")):
        if which:
            yield f"[release] {listed(which, last='and')} {what} since"
    texts = {
        "data_statement": (told.data_statement, data_statement_of(study, now.data_statement)),
        "licence": (told.licence_text, licence_text(study, now.licence)),
    }
    for name, (then, today) in texts.items():
        if then != today and name not in differing:
            yield f"the file that [release] {name} names was changed since"


def _of_seals(told: _Told, rounds: Sequence[RoundFolder]) -> Iterator[str]:
    then = {round_.name: round_.seal for round_ in told.rounds}
    now = {round_.number: str((round_.seal() or {}).get("seal", "")) for round_ in rounds}
    yield from (f"round {name} was taken back since" for name in then if name not in now)
    for name, seal in now.items():
        if name not in then:
            yield f"round {name} was opened{' and sealed' * bool(seal)} since"
        elif then[name] != seal:
            what = "was reopened" if not seal else "was sealed anew" if then[name] else "was sealed"
            yield f"round {name} {what} since"


def _of_tables(study: OfStudy, told: _Told, rounds: Sequence[RoundFolder]) -> Iterator[str]:
    places = study.places
    known = {(each.claim, each.judged, each.now) for each in told.reworded}
    for each in reworded(places, rounds):
        if (each.claim, each.judged, each.now) not in known:
            yield f"claim {each.claim}'s text was changed since; published is the one that people judged"
    now = {table: digest for _, _, tables in built_tables(study) for table, digest in tables.items()}
    then = {table: digest for stage in told.stages for table, digest in stage.tables.items()}
    to_make = [name for name, is_current in study.stages().items() if not is_current] if now else []
    if to_make:
        yield f"claims, queries, posts or settings were changed since, and `covmis run` has not been run (to be made: {', '.join(to_make)})"
    again = [table for table in TABLES if now.get(table) != then.get(table)] if now and then else []
    if again:
        yield f"tables were made again since, with other rows: {', '.join(again)}"
    upload = places.deposit / "upload" / CHECKSUMS
    if upload.is_file() and upload.read_bytes() != (places.release / CHECKSUMS).read_bytes():
        yield f"{places.relative(upload.parent)} is of another release: `covmis release --deposit` writes both"


def built_tables(study: OfStudy) -> list[tuple[str, str, dict[str, str]]]:
    """Return of each stage that is done its name, covmis's version, and its tables' hashes, from the ledger."""
    entries = ledger.read(study.places.build / "ledger.jsonl")
    done = {entry.stage: entry for entry in entries if entry.done}
    return [
        (name, entry.covmis, {table: facts.sha256 for table, facts in entry.tables.items()})
        for name, entry in done.items()
    ]


def data_statement_of(study: OfStudy, name: str) -> str:
    """Return the study's own data statement; empty if [release] names none."""
    return _file_of(study, name, "data_statement")


def _file_of(study: OfStudy, name: str, setting: str) -> str:
    """Return the text of a file that [release] names."""
    if not name:
        return ""
    try:
        return storage.inside(study.places.folder, study.places.folder / name).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"cannot be read: {error}", file=name, remedy=f"[release] {setting} names a file of the study"
        ) from None


def licence_text(study: OfStudy, licence: str) -> str:
    """Return the file that [release] licence names if it exists in the study; it may also be a licence's name."""
    named = bool(licence) and (study.places.folder / licence).is_file()
    return _file_of(study, licence, "licence") if named or "/" in licence else ""
