"""The three steps of a purge. An interrupted one can be resumed, because every step can be repeated.

`find` finds everything to delete and records it in the journal (`purge.py`). `forget` deletes it in each place, and `search`
searches all bytes of the study. Files that others made are named, not changed.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from covmis_build import storage
from covmis_build.addresses import Address
from covmis_build.annotation.round_folder import RoundKind
from covmis_build.archive import rewriting
from covmis_build.archive.forgetting import Forget
from covmis_build.archive.stretches import Stretches, stretches_of
from covmis_build.archive.taking_out import take_out
from covmis_build.archive.traces import Traces
from covmis_build.archive.unpacking import DAMAGED
from covmis_build.archive.walk import archive_files, unfinished_writes
from covmis_build.building import purge as journal
from covmis_build.building import purge_search
from covmis_build.children import each_in_child
from covmis_build.errors import CheckFailed, CovmisError, InputError, counted
from covmis_build.models import folder as model_folder
from covmis_build.models.asking import is_journal
from covmis_build.report.result import Result
from covmis_build.report.summary import Listing

if TYPE_CHECKING:
    from collections.abc import Callable

    from covmis_build.archive.reader import ReadingOptions
    from covmis_build.engine import Progress
    from covmis_build.places import Places
    from covmis_build.report.summary import Summary

T = TypeVar("T")

KNOWN_FORMS = {".parquet", ".csv", ".json", ".jsonl", ".txt", ".md", ".html", ".zst", ".gz"}
"""File types in data/build that the search can read. The content of other types is unknown."""

KEPT_OF_BUILD = {".lock", ".rounds.lock", ".inputs.lock", "ledger.jsonl", ".files.json"}

MOST_SHOWN = 20
OUTSIDE = (
    "Copies elsewhere (backups, releases given to others, Label Studio's own database files) are not reached."
)


@dataclass(slots=True, repr=False)
class Purged(Result):
    """The result: actions by place, failures, and files that covmis does not change."""

    posts: int = 0
    places: list[tuple[str, int, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    """Files of your own that hold something of it."""
    not_searched: list[str] = field(default_factory=list)
    """Files that nothing can be found in, with the reason."""
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """As `covmis purge --json` prints it."""
        places = [{"place": place, "count": count, "note": note} for place, count, note in self.places]
        return {**asdict(self), "places": places}

    @property
    def warnings(self) -> list[str]:
        """Return failures, and what the user should check."""
        more = len(self.not_searched) - MOST_SHOWN
        shown = [f"not searched: {about}" for about in self.not_searched[:MOST_SHOWN]]
        cut = [f"not searched: {counted(more, 'more files')}; `--json` names all"] if more > 0 else []
        return [*self.problems, *self.left, *shown, *cut, *self.notes]

    @property
    def summary(self) -> Summary:
        """Return the actions by place, and what no command can delete."""
        told = f"To be deleted: {counted(self.posts, 'posts')}."
        return [told, Listing(("place", "count", "what"), self.places), OUTSIDE]

    def check(self) -> None:
        """Raise an error if a place could not be purged."""
        if self.problems:
            raise CheckFailed(
                f"{len(self.problems)} places could not be purged; mend them and run `covmis purge` again"
            )
        if self.left:
            raise CheckFailed(
                f"{counted(len(self.left), 'files')} of your own: something of it is left there. Take it out and run `covmis purge` again, "
                "or, if a file may stay: `covmis purge --leave FILE`"
            )

    def took(self, place: str, answer: T | CovmisError, otherwise: T) -> T:
        """Return the answer of an action. If it failed, record the error and continue with the other places."""
        if isinstance(answer, CovmisError):
            self.problems.append(f"{place}: {answer}")
            return otherwise
        return answer

    def attempt(self, place: str, act: Callable[[], T], otherwise: T) -> T:
        """Run one action. If it fails, record the error and continue with the other places."""
        try:
            return act()
        except CovmisError as error:
            return self.took(place, error, otherwise)
        except DAMAGED as error:
            self.problems.append(f"{place}: cannot be changed ({type(error).__name__})")
        return otherwise


def is_ours(places: Places, path: Path) -> bool:
    """True if a path is inside the study's folder after resolving links."""
    return not isinstance(path, Address) and path.resolve().is_relative_to(places.folder.resolve())


def files_of_archives(places: Places) -> list[Path]:
    """Return every file of the archives, including hidden ones. Leftovers of interrupted writes are deleted at once."""
    there = [place for place in places.archives if place.exists()]
    for path in unfinished_writes(there):
        storage.remove(path)
    files = [file.path for file in archive_files(there, hidden=True)]
    return [*dict.fromkeys(path.resolve() if path.is_symlink() else path for path in files)]


def find(
    purged: Purged, places: Places, forget: Forget, files: list[Path], how: ReadingOptions
) -> journal.Unfinished:
    """Find everything to delete, and the posts that show part of it. Recorded on disk before any change."""
    from covmis_build.annotation.forgetting import in_context

    begun = journal.unfinished(places)
    posts = set(forget.posts) | (begun.forget.posts if begun else set())
    authors = forget.authors | (begun.forget.authors if begun else set())
    wanted = Forget(frozenset(posts), authors)
    if wanted.authors:
        given = [(path, wanted, how.own_forms) for path in files]
        for path, theirs in zip(files, each_in_child(rewriting.posts_of_authors, given), strict=True):
            posts |= purged.took(places.relative(path), theirs, set())
    posts |= _of_authors_by_id(places, wanted)
    known = _showing(places, posts)
    known["quoted"] |= begun.quoting if begun else set()
    known["parent"] |= begun.answering if begun else set()
    showing = purged.attempt("annotation", partial(in_context, places.rounds, posts, known), known)
    words = _words(places, posts) | purge_search.words_of(files, posts, how)
    journal.note(
        places,
        journal.Entry(
            at=storage.moment(),
            posts=sorted(posts),
            authors=sorted(authors),
            quoting=sorted(known["quoted"] | showing["quoted"]),
            answering=sorted(known["parent"] | showing["parent"]),
            long=journal.packed(words),
            short=list(words.short),
        ),
    )
    whole = journal.unfinished(places)
    if whole is None:
        raise InputError(
            "the journal of this purge was removed while it was written", file=places.purge_journal
        )
    return whole


def note_nameless(purged: Purged, places: Places, files: list[Path], how: ReadingOptions) -> None:
    """Report where an author's posts can be found only by id."""
    answers = each_in_child(rewriting.names_no_authors, [(path, how.own_forms) for path in files])
    for path, nameless in zip(files, answers, strict=True):
        if purged.took(places.relative(path), nameless, otherwise=False):
            purged.notes.append(
                f"{places.relative(path)}: was imported and does not say who wrote a post; posts of these authors that stand "
                "nowhere else are forgotten only by their ids: name them, too"
            )


def _of_authors_by_id(places: Places, forget: Forget) -> set[str]:
    """Return frozen posts whose id contains their author (Bluesky), even if no longer in the archive."""
    people = {
        author.removeprefix("author:") for author in forget.authors if author.startswith("author:bsky:")
    }
    tables = [places.table("posts"), *places.frozen] if people else []
    return {
        post_id
        for path in tables
        if path.exists()
        for post_id in storage.read_column(path, "post_id")
        if post_id.rpartition("/")[0] in people
    }


def _showing(places: Places, posts: set[str]) -> dict[str, set[str]]:
    """Return the posts that quote or answer a purged one, according to the build."""
    path = places.table("posts")
    if not path.exists():
        return {"quoted": set(), "parent": set()}
    frame = storage.read_columns(path, ["post_id", "quote_of", "reply_to"])
    return {
        "quoted": set(frame.loc[frame["quote_of"].isin(posts), "post_id"]),
        "parent": set(frame.loc[frame["reply_to"].isin(posts), "post_id"]),
    }


def _words(places: Places, posts: set[str]) -> Stretches:
    """Return stretches of the purged texts, where tables have them, for the final search."""
    texts: set[str] = set()
    for path in [places.table("posts"), *places.frozen]:
        if path.exists():
            frame = storage.read_columns(path, ["post_id", "text"])
            texts |= set(frame.loc[frame["post_id"].isin(posts), "text"])
    return stretches_of(texts)


def forget(
    purged: Purged,
    places: Places,
    unfinished: journal.Unfinished,
    files: list[Path],
    how: ReadingOptions,
    forget_tasks: Callable[[list[str]], int],
    progress: Progress,
) -> tuple[Traces, tuple[Path, ...]]:
    """Delete in each place, even if another place fails. `forget_tasks` deletes posts on Label Studio.

    Returns what to search for in the end, and the files of posts to search for words: words that other posts have as well are
    no trace.
    """
    from covmis_build.annotation import round_folder as record
    from covmis_build.annotation.forgetting import forget_context, forget_pairs

    keys = unfinished.forget
    posts = sorted(keys.posts)
    # Copies of the archive first: once a file is rewritten, no later purge would look for them after an interruption.
    for store in dict.fromkeys((places.far_store, places.store)):
        purged.attempt("build", partial(storage.remove, store), None)
    lines = changed = 0
    for number, (path, answer) in enumerate(zip(files, take_out(files, keys, how), strict=True), 1):
        count = purged.took(places.relative(path), answer, 0)
        lines, changed = lines + count, changed + bool(count)
        progress("archive", number, len(files))
    purged.places.append(
        ("archive", lines, f"lines or pages changed, in {changed:,} of {len(files):,} files")
    )
    showing = {"quoted": unfinished.quoting, "parent": unfinished.answering}
    # Before the rounds: afterwards it is unknown which models learned from such a post.
    learned = purged.attempt("models", partial(_models, places, set(posts)), list[str]())
    purged.places.append(("models", len(learned), "trained models removed; train them again"))
    purged.notes += [f"{name}: removed, since it may have been trained on such a post" for name in learned]
    context = partial(forget_context, places.rounds, posts, showing, keys.without_addresses)
    traces, with_words = _traces(purged, places, unfinished, files, how)
    quoting = purged.attempt("annotation", context, 0)
    blank = purged.attempt("annotation", partial(record.forget, places.rounds, posts), 0)
    purged.places.append(("frozen items", blank, "texts emptied; seals still verify"))
    stray = partial(_unreadable_sheets, places, traces)
    for path, error in purged.attempt("annotation", stray, list[tuple[Path, InputError]]()):
        purged.problems.append(
            f"sheets: {places.relative(path)} holds something of it and is no sheet ({error.problem}): remove the file, or the post from it"
        )
    pairs = purged.attempt("recall", partial(forget_pairs, places.rounds, posts), 0)
    purged.places.append(("recall", pairs, "pairs of a frame that were not drawn have lost their id"))
    purged.places.append(("their quotations", quoting, "other posts' items, which keep their own texts"))
    build = purged.attempt("build", partial(_build, places, traces), 0)
    purged.places.append(("build", build, "tables and indexes removed; `covmis run` rebuilds them"))
    notes = purged.attempt("collect", partial(_notes, places.notes, keys), 0)
    purged.places.append(("collect", notes, "notes of collecting changed"))
    tasks = purged.attempt(
        "Label Studio",
        partial(forget_tasks, [*posts, *unfinished.quoting, *unfinished.answering]),
        0,
    )
    purged.places.append(("Label Studio", tasks, "tasks removed"))
    release = purged.attempt("release", partial(_release, places, traces), 0)
    purged.places.append(("release", release, "files removed; `covmis release` rebuilds them"))
    outputs = purged.attempt("outputs", partial(_outputs, places, traces), 0)
    purged.places.append(
        ("outputs", outputs, "files elsewhere in the study removed, or without what they held of it")
    )
    leftovers = [
        path for path in purge_search.of_study(places) if storage.is_unfinished(path)
    ] + _half_removed(places)
    for path in leftovers:
        purged.attempt(places.relative(path), partial(storage.remove, path), None)
    purged.places.append(
        ("leftovers", len(leftovers), "half-written and half-removed files of killed commands removed")
    )
    return traces, with_words


def _traces(
    purged: Purged, places: Places, unfinished: journal.Unfinished, files: list[Path], how: ReadingOptions
) -> tuple[Traces, tuple[Path, ...]]:
    keys, claims = unfinished.forget, places.table("claims")
    frozen = [
        (post_id, text)
        for path in places.frozen
        for post_id, text in storage.read_columns(path, ["post_id", "text"]).itertuples(index=False)
    ]
    others = purge_search.words_of_others(files, frozen, unfinished.words, keys.posts, how)
    if others.words:
        purged.notes.append(
            f"other posts have words of it, too ({', '.join(others.post_ids)}): these words are not searched for"
        )
    of_claims = unfinished.words.among(storage.read_column(claims, "text") if claims.exists() else ())
    return Traces(keys.posts, keys.authors, unfinished.words - others.words - of_claims), others.files


def _half_removed(places: Places) -> list[Path]:
    """Return folders of rounds that a killed `covmis round discard` has begun to remove: without items, without anybody's work."""
    folders = [
        path for kind in RoundKind for path in kind.folder(places.rounds).glob(f"{kind}[0-9][0-9][0-9]")
    ]
    kept = ("items.parquet", "labels.parquet", "seal.json", "labels.*.jsonl", "decisions.*.jsonl")
    return [path for path in folders if not any(next(path.glob(name), None) for name in kept)]


def _unreadable_sheets(places: Places, traces: Traces) -> list[tuple[Path, InputError]]:
    """Return files among the sheets that are no sheets and hold something of a purged post, such as a damaged copy."""
    from covmis_build.annotation import round_folder as record

    unread = [
        pair for round_ in record.kept_rounds(places.rounds) for pair in record.unreadable_sheets(round_)
    ]
    held = purge_search.holding([path for path, _ in unread], traces)
    return [(path, error) for path, error in unread if path in held]


def _build(places: Places, traces: Traces) -> int:
    """Delete files that contain traces, and files of unknown content, since vectors of texts name no post."""
    files = [path for path in places.build.rglob("*") if path.is_file() and path.name not in KEPT_OF_BUILD]
    known = [path for path in files if path.suffix in KNOWN_FORMS]
    holds = [path for path in files if path.suffix not in KNOWN_FORMS] + purge_search.holding(known, traces)
    holds += [path for path in files if path.suffix in {".new", ".part"} and path.name.startswith(".")]
    for path in dict.fromkeys(holds):
        storage.remove(path)
    # The same tables in a store: the local ones were searched; any other table there was not.
    far = (
        [path for path in places.far.objects() if not (places.build / path.name).exists()]
        if places.far
        else []
    )
    for path in far:
        storage.remove(path)
    return len(set(holds)) + len(far)


def _notes(folder: Path, forget: Forget) -> int:
    """Remove these posts from outcomes, gaps, plans and lists of ids."""
    changed = 0
    for path in sorted(folder.rglob("*.csv")):
        changed += bool(rewriting.rewrite(path, forget))
    natives = {post_id.partition(":")[2] for post_id in forget.posts}
    for path in sorted(folder.rglob("*.json")):
        before = json.loads(path.read_text("utf-8"))
        after = forget.without(before)
        if isinstance(before.get("jobs"), list):
            after = {**before, "jobs": [job for job in before["jobs"] if job["search"] not in natives]}
        if after != before:
            storage.write_text(path, json.dumps(after, ensure_ascii=False, indent=1) + "\n")
            changed += 1
    return changed


def _release(places: Places, traces: Traces) -> int:
    """Delete a release that contains such a post. Its place is free for the next release."""
    folders = (places.release, places.deposit)
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    if not purge_search.holding(files, traces):
        return 0
    for path in files:
        storage.remove(path)
    return len(files)


def _outputs(places: Places, traces: Traces) -> int:
    """Delete outputs that commands wrote elsewhere in the study. A journal of paid answers loses only lines."""
    files = [path for path in storage.outputs_of(places.folder) if path.is_file()]
    holds = purge_search.holding(files, traces)
    for path in holds:
        if is_journal(path):
            lines = path.read_bytes().splitlines(keepends=True)
            kept = [line for line in lines if not traces.in_line(line)]
            storage.write_bytes(path, b"".join(kept))
        else:
            storage.remove(path)
    return len(holds)


def _models(places: Places, posts: set[str]) -> list[str]:
    """Delete models trained in this study if a frozen post is purged whose text still exists.

    A model contains words of its training posts, in its vocabulary or weights, where no search finds them.
    """
    columns = ["post_id", "salt"]
    frozen = (storage.read_columns(path, columns) for path in places.frozen)
    if not any((items["post_id"].isin(posts) & (items["salt"] != "")).any() for items in frozen):
        return []
    outputs = storage.outputs_of(places.folder)
    files = [path for path in outputs if path.name == model_folder.NAME]
    folders = [path.parent for path in files if path.exists() or any(path.parent.glob("weights-*"))]
    stopped = [path.parent for path in outputs if path.name == model_folder.COURSE and path.parent.is_dir()]
    for folder in stopped:
        storage.remove(folder)
    for folder in folders:
        for path in [*folder.glob("weights-*"), folder / model_folder.NAME]:  # model.json goes last
            storage.remove(path)
    return [places.relative(folder) for folder in [*folders, *stopped]]


def search(
    purged: Purged, places: Places, traces: Traces, files: list[Path], with_words: tuple[Path, ...]
) -> None:
    """Search all bytes of the study and report what is left."""
    left = purge_search.search(places, traces, files, with_words)
    purged.problems += left.problems
    purged.left += left.named
    purged.not_searched += left.not_searched
