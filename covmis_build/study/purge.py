"""Purge posts and authors from every place of a study: what is refused, what is locked, and the order of the steps.

An archive outside the study's folder is rewritten only on request.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from covmis_build import storage
from covmis_build.archive.reader import ReadingOptions
from covmis_build.archive.walk import archive_files
from covmis_build.building import purge as journal
from covmis_build.building import purge_search, purging
from covmis_build.engine import silent
from covmis_build.errors import InputError, counted
from covmis_build.study import label_studio

if TYPE_CHECKING:
    from collections.abc import Iterable

    from covmis_build.building.purging import Purged
    from covmis_build.engine import Progress
    from covmis_build.study.of_study import OfStudy


@dataclass(frozen=True)
class PurgeState:
    """What is on the list of a study's purges, and what is unfinished."""

    keys: list[str]
    """Post ids and author keys, sorted."""
    unfinished: str

    @property
    def sentences(self) -> list[str]:
        """Return both in words."""
        told = [f"queries/purge.csv has {counted(len(self.keys), 'posts and people')}."] if self.keys else []
        return [*told, *([f"{self.unfinished}."] if self.unfinished else [])] or ["The list is empty."]


def state_of_purge(study: OfStudy) -> PurgeState:
    """Return what is on the list, and whether a purge is unfinished; also of a study that cannot be opened for it."""
    listed, begun = journal.read_list(study.places.purge_csv), journal.unfinished(study.places)
    return PurgeState(sorted({*listed.posts, *listed.authors}), str(begun) if begun else "")


def purge(
    study: OfStudy,
    *,
    posts: Iterable[str] = (),
    authors: Iterable[str] = (),
    outside: bool = False,
    leave: Iterable[str | Path] = (),
    progress: Progress = silent,
) -> Purged:
    """Add these posts and authors to the study's list, then delete everything on it, and all unfinished purges.

    Archives outside the study's folder are rewritten only with `outside`. Files to `leave` are not named again.
    """
    places = study.places
    more = journal.read_keys([*posts, *authors])
    archives = [path for path in places.archives if path.exists()]
    foreign = [path for path in archives if not purging.is_ours(places, path)]
    foreign = foreign or [
        file.path for file in archive_files(archives, hidden=True) if not purging.is_ours(places, file.path)
    ]
    if foreign and not outside:
        raise InputError(
            f"an archive lies outside the study's folder: {', '.join(map(str, foreign[:3]))}",
            remedy="A purge rewrites its files. If they are yours to change, say so: `covmis purge --outside`",
        )
    begun = journal.unfinished(places)
    if begun is None and not more and not journal.read_list(places.purge_csv):
        raise InputError(
            "there is nothing to delete",
            remedy="Name post ids or author keys, or list them in queries/purge.csv",
        )
    purged = purging.Purged()
    with ExitStack() as locks:
        for folder in (places.notes, *sorted(path for path in places.notes.glob("*") if path.is_dir())):
            locks.enter_context(storage.locked(folder / ".lock", "covmis purge"))
        for name in (".lock", ".rounds.lock", ".inputs.lock"):
            locks.enter_context(storage.locked(places.build / name, "covmis purge"))
        if looked_at := [Path(path) for path in leave]:
            purge_search.leave(places, looked_at)
        keys = journal.add_to_list(places.purge_csv, more)
        how = ReadingOptions.of(study.settings.retrieval)
        files = purging.files_of_archives(places)
        unfinished = purging.find(purged, places, keys, files, how)
        forget_tasks = partial(label_studio.forget, study)
        traces, with_words = purging.forget(purged, places, unfinished, files, how, forget_tasks, progress)
        purging.search(purged, places, traces, files, with_words)
        if unfinished.forget.authors:
            purging.note_nameless(purged, places, files, how)
        if purged.left and not purged.problems:
            journal.keep_for_named(places, unfinished)
        elif not purged.problems:
            storage.remove(places.purge_journal)
    purged.posts = len(unfinished.forget.posts)
    return purged
