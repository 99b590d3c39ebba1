"""Take a file of posts out of the archive, and say what was made of it: the way back from `covmis posts add`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from covmis_build import storage
from covmis_build.addresses import place
from covmis_build.annotation.round_folder import all_rounds
from covmis_build.archive.walk import archive_files
from covmis_build.building.flow import ask
from covmis_build.errors import InputError, UnknownName, counted, nearest
from covmis_build.files.reading import read_table
from covmis_build.report.result import Result
from covmis_build.study.claims import GIVEN_POSTS
from covmis_build.study.import_posts import report_of
from covmis_build.study.intents import intent

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from covmis_build.archive.walk import ArchiveFile
    from covmis_build.report.summary import Summary
    from covmis_build.study.of_study import OfStudy

NAMED = 6
"""Claims and rounds that a sentence names."""


@dataclass(frozen=True, slots=True, repr=False)
class RemovedPosts(Result):
    """A file that was taken out, and what depended on its posts as the last run read them."""

    file: str
    posts: int
    """Posts that queries found in it, and in no other file."""
    claims: Sequence[str] = ()
    """Claims that have such posts after cleaning."""
    rounds: Sequence[str] = ()
    """Rounds that have frozen some of them."""
    settings: Sequence[str] = ()
    """Tables [[retrieval.columns]] that are for this file alone."""
    done_before: bool = False

    @property
    def summary(self) -> Summary:
        """Return what was taken out, and what depends on it."""
        if self.done_before:
            return [f"Done already: {self.file} is not in the archive. Nothing was changed."]
        told = [f"Removed {self.file}; {counted(self.posts, 'posts')} that queries found stood nowhere else."]
        if self.claims:
            told.append(f"Claims that lose posts at the next run: {_named(self.claims)}.")
        if self.rounds:
            told.append(
                f"Some are frozen in round {_named(self.rounds)}: there they stay, with their labels; `covmis estimate` "
                "says how many no query finds any more."
            )
        if self.settings:
            told.append(f'study.toml keeps its table [[retrieval.columns]] files = "{self.settings[0]}".')
        return [*told, "Next: `covmis run`."]


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + (", …" if len(names) > NAMED else "")


def remove_posts(study: OfStudy, file: str) -> RemovedPosts:
    """See `Study.remove_posts`."""
    places, command = study.places, "covmis posts remove"
    with study.locked(places.notes, command), study.locked(places.build, command):
        asked = intent(places, "posts remove", file)
        if asked.begun and not place(asked.begun, places.folder).exists():
            asked.finish()
            return RemovedPosts(asked.begun, 0, done_before=True)
        chosen = _chosen(study, file)
        _refuse_collected(study, chosen.path)
        removed = _what_depends(study, chosen)
        with asked.making(removed.file, lambda: not chosen.path.exists()):
            storage.remove(report_of(places, chosen.path))
            storage.remove(chosen.path)
    return removed


def _chosen(study: OfStudy, file: str) -> ArchiveFile:
    """Return the file of the archive that is meant: by its path, or by its name if no other has it."""
    files = archive_files(study.places.archives)
    paths = {file, str(study.places.folder / file)}
    exact = [each for each in files if {str(each.path), study.places.relative(each.path)} & paths]
    named = exact or [each for each in files if file in {each.name, each.path.name}]
    if len(named) == 1:
        return named[0]
    known = [study.places.relative(each.path) for each in named or files]
    if named:
        raise InputError(f"{len(named)} files are called '{file}'", remedy=f"Name one: {', '.join(known)}")
    raise UnknownName(f"no file of the archive is called '{file}'", remedy=nearest(file, known))


def _refuse_collected(study: OfStudy, path: Path) -> None:
    """Refuse what collecting has fetched: its notes say that it need not be fetched again."""
    for plan in study.places.notes.glob("*/plan.json"):
        if path.is_relative_to(study.places.collected / plan.parent.name):
            raise InputError(
                f"was fetched by `covmis collect {plan.parent.name}`, which would not fetch it again",
                file=study.places.relative(path),
                remedy="Queries and settings decide which posts are used; `covmis purge` deletes posts and authors",
            )


def _what_depends(study: OfStudy, chosen: ArchiveFile) -> RemovedPosts:
    """Say what the file's posts were used for, by the tables of the last run; of a file that it did not read, nothing."""
    places = study.places
    settings = [
        rule.files
        for rule in study.settings.retrieval.columns
        if rule.files in {chosen.name, chosen.path.name} and not set("*?[") & set(rule.files)
    ]
    alone, claims = set[str](), set[str]()
    if places.table("provenance").exists():
        tables = {"provenance": places.table("provenance"), "items": places.table("items")}
        alone = {post for (post,) in ask(ALONE, chosen.name, provenance=tables["provenance"])}
        claims = {claim for (claim,) in ask(OF_CLAIMS, chosen.name, **tables)}
    if chosen.path == places.archives[0] / GIVEN_POSTS:
        claims |= {row["claim_id"] for row in read_table(chosen.path, own=True).rows}
    rounds = [
        round_.number for round_ in all_rounds(places.rounds) if alone.intersection(round_.items()["post_id"])
    ]
    return RemovedPosts(places.relative(chosen.path), len(alone), sorted(claims), rounds, settings)


ALONE = "SELECT post_id FROM provenance GROUP BY post_id HAVING bool_and(file = ?)"
OF_CLAIMS = f"SELECT DISTINCT claim_id FROM items WHERE post_id IN ({ALONE})"
