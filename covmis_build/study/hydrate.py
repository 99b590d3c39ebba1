"""Hydrate a release: restore its texts from the reader's own posts."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from covmis_build import tables
from covmis_build.archive.forgetting import Forget
from covmis_build.archive.intake import Intake, files_of
from covmis_build.archive.parts import Parts
from covmis_build.archive.stage import read_archive
from covmis_build.building.purge import read_list
from covmis_build.corpus import hydrate as texts
from covmis_build.corpus.convert import once, read_corpus, write_corpus
from covmis_build.corpus.hydrate import read_plain, write_plain
from covmis_build.corpus.provenance import WORKFLOW
from covmis_build.engine import open_engine, silent
from covmis_build.files import toml_file
from covmis_build.matching.stage import retrieve
from covmis_build.options import Retrieval
from covmis_build.report.result import Result
from covmis_build.settings import parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from covmis_build.engine import Progress
    from covmis_build.report.summary import Summary
    from covmis_build.study.of_study import OfStudy


@dataclass(frozen=True, slots=True, repr=False)
class Hydration(Result):
    """The result: restored posts, the corpus, and the list of missing posts."""

    rows: int
    gone: int
    corpus: Path
    list: Path
    reasons: dict[str, int]
    intake: Intake
    """What was detected and imported from each archive file."""

    @property
    def found(self) -> int:
        """Number of posts with restored text."""
        return self.rows - self.gone

    def to_dict(self) -> dict[str, Any]:
        """As `covmis hydrate --json` prints it."""
        reasons = [{"reason": why, "count": count} for why, count in self.reasons.items()]
        return {
            "rows": self.rows,
            "found": self.found,
            "gone": self.gone,
            "corpus": str(self.corpus),
            "list": str(self.list),
            "reasons": reasons,
            "intake": [file.to_dict() for file in self.intake.files],
        }

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what the user should check."""
        return ("texts are for your own work: the platforms' terms apply.",)

    @property
    def summary(self) -> Summary:
        """Return the number of restored texts, the reasons for missing ones, and notes on the archive files."""
        told = ", ".join(f"{count:,} {why}" for why, count in self.reasons.items())
        gone = [f"{self.gone:,} without text ({told}): {self.list}"] if self.gone else []
        there = f"{self.found:,} of {self.rows:,} posts have their text again: {self.corpus}"
        return [there, *gone, *self.intake.told()]

    def check(self) -> None:
        """Refuse unreadable archive files: their posts are not missing but unread."""
        self.intake.check()


def hydrate(
    file: Path | None = None,
    archives: Sequence[Path] = (),
    *,
    into: Path | None = None,
    study: OfStudy | None = None,
    mask: bool = True,
    progress: Progress = silent,
) -> Hydration:
    """Restore texts of a corpus of ids (default: the study's) from these archives (default: the study's).

    A study is not required; if there is one, its purge list applies. Files are parsed with the study's settings, or the
    release's settings.toml. A table with only an id column (such as tweet_id, label) returns with a text column.
    """
    source = file or (study.places.release / "corpus.parquet" if study else Path("corpus.parquet"))
    beside = study.places.build if study and file is None else source.parent
    folder = into or beside / "hydrated"
    plain = read_plain(source)
    corpus = once(read_corpus(source), source) if plain is None else plain
    how = study.settings.retrieval if study else Retrieval()
    of_release = source.parent / WORKFLOW
    if plain is None and of_release.is_file():
        stated = toml_file.read(of_release).get("retrieval", {})
        reading = {key: stated[key] for key in ("columns", "forms") if key in stated}
        theirs = parse({"title": "release", "retrieval": reading}, file=of_release).retrieval
        known = {form.name for form in how.forms}
        others = [form for form in theirs.forms if form.name not in known]
        how = replace(how, columns=(*how.columns, *theirs.columns), forms=(*how.forms, *others))
    there = posts_of(
        corpus,
        archives or (study.places.archives if study else []),
        how,
        progress,
        study.places.purge_csv if study else None,
    )
    hydrated = texts.hydrate(corpus, there.posts, mask=mask)
    name = f"corpus{source.suffix}" if plain is None else f"{source.stem}.csv"
    target, gone = folder / name, folder / "gone.csv"
    if plain is None:
        write_corpus(target, hydrated.corpus, text=True)
    else:
        write_plain(target, hydrated.corpus)
    texts.write_gone(gone, hydrated.gone)
    return Hydration(len(corpus), len(hydrated.gone), target, gone, hydrated.reasons, there.intake)


class There(NamedTuple):
    """The posts found in the archives, and what was detected in each file."""

    posts: pd.DataFrame
    intake: Intake


def posts_of(
    items: pd.DataFrame,
    archives: Sequence[Path],
    options: Retrieval,
    progress: Progress = silent,
    purge_list: Path | None = None,
) -> There:
    """Return these items' posts from the archives: the same copy that `covmis run` chooses.

    Only the options for parsing files matter, not those for selecting posts.

    A post that is missing, no longer available on its platform, or on the purge list becomes a row without text;
    `availability` gives the reason.
    """
    forget = read_list(purge_list) if purge_list else Forget()
    wanted = items[["claim_id", "post_id"]].drop_duplicates()
    options = replace(options, since="", until="", reposts="keep", require_match=(), ranked=None)
    with (
        tempfile.TemporaryDirectory() as scratch,
        open_engine("duckdb", scratch=Path(scratch)) as engine,
    ):
        store = Path(scratch) / "store"
        archive = read_archive(
            engine, archives, Parts(store, store), options, forget=forget, progress=progress
        )
        hits = retrieve(
            engine, archive.store, tables.empty("queries"), options, progress=progress, given=wanted
        )
        posts, dropped = hits.posts.to_pandas(), hits.dropped.to_pandas()
        intake = Intake(files_of(archive.intake.to_arrow().to_pylist()), options.unreadable)
    lost = dropped.loc[dropped["unit"] == "pair", ["post_id", "reason"]].drop_duplicates("post_id")
    gone = lost.rename(columns={"reason": "availability"}).assign(text="")
    columns = ["post_id", "text", "availability"]
    return There(pd.concat([posts[columns], gone[columns]], ignore_index=True), intake)
