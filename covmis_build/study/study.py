"""A study: a folder with a study.toml, and all operations on it.

A method takes the lock, checks whether the tables are current, and calls another module. It computes nothing itself.
"""

from __future__ import annotations

import functools
import tomllib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covmis_build import storage
from covmis_build.engine import silent
from covmis_build.errors import InputError, StaleTables, UnknownName
from covmis_build.places import STUDY_TOML, Places
from covmis_build.settings import changed, parse, read_settings

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    import pandas as pd

    from covmis_build.annotation.guideline import GuidelineCheck
    from covmis_build.archive.counted import CountedPosts
    from covmis_build.archive.intake import Intake
    from covmis_build.archive.words import Words
    from covmis_build.building.dropped_posts import DroppedPosts
    from covmis_build.building.purging import Purged
    from covmis_build.claims.lint import Findings
    from covmis_build.claims.selection import Selection
    from covmis_build.collecting.cost import Estimate
    from covmis_build.corpus.deposit import ReleaseCheck
    from covmis_build.engine import Progress
    from covmis_build.estimation.regression import Regression
    from covmis_build.estimation.shares import Estimates
    from covmis_build.evaluation.over_posts import ScoresOverPosts
    from covmis_build.evaluation.scores import Scores
    from covmis_build.models.admission import Admission
    from covmis_build.queries.suggest import Suggestions
    from covmis_build.queries.tuning import Tuned
    from covmis_build.settings import Settings
    from covmis_build.study.add_posts import AddedPosts
    from covmis_build.study.archive import ArchivePosts
    from covmis_build.study.claims import ImportedClaims, LookedAt
    from covmis_build.study.collect import Collected, LookedUp, PricedList
    from covmis_build.study.hydrate import Hydration
    from covmis_build.study.import_posts import ImportedPosts
    from covmis_build.study.keywords import SavedKeywords
    from covmis_build.study.look import Look
    from covmis_build.study.plan_sample import SamplePlan
    from covmis_build.study.prompt import Questions
    from covmis_build.study.queries import ShownQueries, Trial
    from covmis_build.study.rebuilding import BesidePublished, Rebuilding
    from covmis_build.study.recall import Recall
    from covmis_build.study.release import Released
    from covmis_build.study.round import Round
    from covmis_build.study.rounds import VerifiedRounds
    from covmis_build.study.run import Ran
    from covmis_build.study.status import Status


@dataclass(frozen=True)
class Study:
    """A study: its settings, file locations, tables, and the operations of the command line."""

    folder: Path

    @property
    def settings(self) -> Settings:
        """The current settings in study.toml."""
        file = self.folder / STUDY_TOML
        seen = file.stat() if file.is_file() else None
        return _read_settings(file, (seen.st_mtime_ns, seen.st_size, seen.st_ino) if seen else ())

    @property
    def places(self) -> Places:
        """The locations of the study's files."""
        settings = self.settings
        return Places(self.folder, settings.retrieval.archive, settings.cleaning.against, settings.build)

    def __repr__(self) -> str:
        return f"<Study '{self.settings.title}' in {self.places.folder}>"

    def _repr_html_(self) -> str:
        return self.status()._repr_html_()

    def change(self, **settings: Any) -> Study:
        """Change settings in study.toml, with immediate effect: `study.change(cleaning={"minimum_posts": 12})`.

        Comments and other settings are kept. Invalid values are refused, and nothing is written.
        """
        path = self.places.folder / STUDY_TOML
        with self.locked_inputs("study.change"):
            text = changed(path.read_text("utf-8"), settings)
            parse(tomllib.loads(text), file=path)
            storage.write_text(path, text)
        return self

    # Tables of data/build, loaded on access

    @property
    def archive(self) -> ArchivePosts:
        """The archive's posts as the last run imported them, for your own queries."""
        from covmis_build.study.archive import ArchivePosts

        return ArchivePosts(self.places)

    @property
    def claims(self) -> pd.DataFrame:
        """The claim list as the last run read it."""
        return self._table("claims")

    @property
    def queries(self) -> pd.DataFrame:
        """The queries of the selected claims."""
        return self._table("queries")

    @property
    def posts(self) -> pd.DataFrame:
        """The posts that a query matched; `created_at` is a time."""
        from covmis_build.tables import with_times

        return with_times(self._table("posts"))

    @property
    def hits(self) -> pd.DataFrame:
        """Which query matched which post."""
        return self._table("hits")

    @property
    def items(self) -> pd.DataFrame:
        """The claim × post pairs that cleaning kept."""
        return self._table("items")

    @property
    def sample(self) -> pd.DataFrame:
        """The sampled items with their probabilities."""
        return self._table("sample")

    @property
    def dropped(self) -> pd.DataFrame:
        """Everything that was dropped, with step and reason."""
        return self._table("dropped")

    def _table(self, name: str) -> pd.DataFrame:
        path = self.places.table(name)
        if not path.exists():
            raise InputError("is missing", file=path, remedy="Make it with `covmis run`")
        return storage.read_table(path, name)

    # From claim list to sample

    def run(
        self,
        stages: str | Sequence[str] = (),
        *,
        force: bool = False,
        engine: str = "duckdb",
        master: str = "",
        settings: Mapping[str, str] | None = None,
        workers: int = 0,
        progress: Progress = silent,
    ) -> Ran:
        """Build what is out of date. `master` and `settings` are for Spark."""
        from covmis_build.study.run import run

        conf = _of_spark(engine, master, settings)
        return run(
            self, _several(stages), force=force, engine=engine, conf=conf, workers=workers, progress=progress
        )

    def need_current(self, *, run: bool = False, progress: Progress = silent) -> None:
        """Refuse tables that are out of date, or rebuild them with `run`."""
        names = [name for name, is_current in self.stages().items() if not is_current]
        if names and run:
            self.run(progress=progress)
        elif names:
            raise StaleTables(
                f"the tables in data/build are out of date (to be made: {', '.join(names)})",
                remedy="Run `covmis run` first",
            )

    def stages(self) -> dict[str, bool]:
        """Return for each stage whether its tables match the current settings and files. Fast; nothing is built."""
        from covmis_build.building.run import current

        return current(self.places, self.settings)

    def status(self) -> Status:
        """Return the study's state and the next step."""
        from covmis_build.study.status import status

        return status(self)

    def beside_published(self, files: Path | str) -> BesidePublished:
        """Compare with a published corpus that this study rebuilds. `files`: the folder of its authors' files."""
        from covmis_build.study.rebuilding import beside_published

        return beside_published(self, Path(files))

    @property
    def intake(self) -> Intake:
        """Return what was detected and imported from each archive file; no files before the first run."""
        from covmis_build.archive.intake import Intake, files_of
        from covmis_build.building.store import copies

        files = files_of(storage.read_rows(self.places.table("intake"), "intake"))
        return Intake(files, self.settings.retrieval.unreadable, copies(self.places))

    @property
    def advice(self) -> str:
        """Return advice about the settings."""
        from covmis_build.cleaning.near_duplicates import advice

        return advice(self.settings.cleaning)

    def dropped_posts(
        self, step: str, *, reason: str = "", claim: str = "", limit: int = 20, status: Status | None = None
    ) -> DroppedPosts:
        """Return some of the posts that a step of the flow dropped, with their texts; of one reason or claim, or of all.

        `status`: the study's status, if you have it already.
        """
        from covmis_build.building.dropped_posts import dropped_posts

        return dropped_posts(
            self.places,
            self.settings,
            step,
            reason=reason,
            claim=claim,
            limit=limit,
            steps=status.flow if status else (),
            short=status.short_posts if status else None,
        )

    def explain(self, wanted: str | int) -> list[str]:
        """Explain the history of a claim, a post or an item in sentences."""
        from covmis_build.building.explain import explain

        return explain(self.places, str(wanted))

    # Collecting and purging posts

    def collect(self, source: str, **options: Any) -> Collected:
        """Fetch missing posts that the queries request, from x, bluesky or mastodon, within a budget.

        Options are the fields of `study.collect.Wanted`.
        """
        from covmis_build.study.collect import Wanted, collect

        return collect(self, source, Wanted(**options))

    def estimate_collecting(self, source: str, **options: Any) -> Estimate:
        """Estimate the posts and cost of `collect`. X bills requests for counts."""
        from covmis_build.study.collect import Wanted, estimate

        return estimate(self, source, Wanted(**options))

    def collect_ids(self, file: Path | str | None = None, *, again: bool = False, **options: Any) -> LookedUp:
        """Look up every id of a list (or of the last one), with an outcome for each."""
        from covmis_build.study.collect import Wanted, collect_ids

        return collect_ids(self, file, Wanted(**options), again=again)

    def price_of_ids(self, file: Path | str | None = None, **options: Any) -> PricedList:
        """Return the maximum cost of `collect_ids`. No request is made."""
        from covmis_build.study.collect import Wanted, price_of_ids

        return price_of_ids(self, file, Wanted(**options))

    def purge(
        self,
        *,
        posts: str | Iterable[str] = (),
        authors: str | Iterable[str] = (),
        outside: bool = False,
        progress: Progress = silent,
    ) -> Purged:
        """Delete these posts and authors, and those on queries/purge.csv, everywhere in the study.

        `outside`: also rewrite archives outside the study's folder; otherwise these are refused.
        """
        from covmis_build.study.purge import purge

        return purge(
            self, posts=_several(posts), authors=_several(authors), outside=outside, progress=progress
        )

    # Files of posts

    def look(self, path: Path | str) -> Look:
        """Preview a file of posts: its detected format and content. Nothing is changed."""
        from covmis_build.study.look import look

        return look(path, self)

    def set_columns(self, files: str, **rule: Any) -> Study:
        """Write how columns of such files are read, as a table [[retrieval.columns]]; `look` proposes one.

        Example: `study.set_columns("posts.csv", platform="forum", id="nr", text="body")`.
        A table for the same `files` is replaced. The new table comes first.
        """
        document = tomllib.loads((self.places.folder / STUDY_TOML).read_text("utf-8"))
        before = document.get("retrieval", {}).get("columns", [])
        others = [row for row in before if row.get("files") != files]
        return self.change(retrieval={"columns": [{"files": files, **rule}, *others]})

    def add_posts(self, file: Path | str | Iterable[bytes], name: str = "") -> AddedPosts:
        """Copy a file of posts unchanged into the archive; `name`: its name there."""
        from covmis_build.study.add_posts import add_posts

        return add_posts(self, file, name)

    def import_posts(self, path: Path | str, *, progress: Progress = silent) -> ImportedPosts:
        """Convert a file of posts to covmis's own format in the archive, with a report."""
        from covmis_build.study.import_posts import import_posts

        return import_posts(self, path, progress)

    # The claim list and its queries

    def import_claims(
        self,
        claims: pd.DataFrame | Path | str | None = None,
        *,
        columns: Mapping[str, str] | None = None,
        form: str = "",
        search: str = "",
        language: str = "",
    ) -> ImportedClaims:
        """Add claims from a file or DataFrame, or from Google's fact-checks for `search`, to queries/claims.csv."""
        from covmis_build.study.claims import import_claims

        listed = Path(claims) if isinstance(claims, str) else claims
        return import_claims(self, listed, columns=columns or {}, form=form, search=search, language=language)

    def look_at_claims(
        self, path: Path | str, *, columns: Mapping[str, str] | None = None, form: str = ""
    ) -> LookedAt:
        """Preview a file of claims. Nothing is written."""
        from covmis_build.claims.lists import read_list
        from covmis_build.study.claims import LookedAt

        return LookedAt(read_list(Path(path), form, columns or {}))

    def lint_claims(self, *, accept: str | Sequence[str] = ()) -> Findings:
        """Check the claim list (compound claims, quotations, shared URLs, …); proposals of the findings named in `accept` are carried out first."""
        from covmis_build.study.claims import lint_claims

        return lint_claims(self, accept=_several(accept))

    def select_claims(self, top: int) -> Selection:
        """Select the claims with most posts found through titles and URLs."""
        from covmis_build.study.claims import select_claims

        return select_claims(self, top)

    def show_queries(self, claim: str = "", *, platform: str = "", limit: int = 0) -> ShownQueries:
        """Return the claim list's queries, as a platform's searches if one is named."""
        from covmis_build.study.queries import show_queries

        return show_queries(self, claim, platform=platform, limit=limit)

    def words(self, progress: Progress = silent) -> Words:
        """Return the index of the archive's words, updated if the archive changed."""
        from covmis_build.building.store import words_of

        self._read(progress)
        return words_of(self.places, self.settings, progress)

    def counted_posts(self, progress: Progress = silent) -> CountedPosts:
        """Return the archive's posts that queries can match, updated if the archive changed."""
        from covmis_build.building.store import counted_posts

        self._read(progress)
        return counted_posts(self.places, self.settings)

    def _read(self, progress: Progress) -> None:
        from covmis_build.building.purge import refuse_unfinished
        from covmis_build.building.run import current

        refuse_unfinished(self.places)
        if not current(self.places, self.settings)["read"]:
            self.run(["read"], progress=progress)

    def try_queries(self, text: str = "", *, samples: int = 3, progress: Progress = silent) -> Trial:
        """Count the archive posts that match keywords, a claim's queries (by its id), or all queries.

        Posts are counted as in `covmis run`. If the archive has changed, it is imported again first.
        """
        from covmis_build.study.queries import try_queries

        return try_queries(self, text, samples=samples, progress=progress)

    def tune_keywords(
        self, keywords: str | Sequence[str], saved: Sequence[str] = (), *, progress: Progress = silent
    ) -> Tuned:
        """Compare keywords (or a claim's, by id) with the `saved` ones, and show each word's effect. Nothing is saved."""
        from covmis_build.study.keywords import tune

        return tune(self, keywords, saved, progress=progress)

    def set_keywords(
        self, claim: str, keywords: str | Sequence[str], *, instead_of: Sequence[str] | None = None
    ) -> SavedKeywords:
        """Save a claim's keywords in queries/claims.csv. The claim's edits record the previous ones.

        `instead_of`: the keywords that you saw. If they were changed since, nothing is saved.
        """
        from covmis_build.study.keywords import set_keywords

        return set_keywords(self, claim, keywords, instead_of=instead_of)

    def suggest_queries(
        self, claim: str, *, read: Sequence[int] = (5, 25, 100), samples: int = 2, progress: Progress = silent
    ) -> Suggestions:
        """Suggest a precise, a balanced and a broad query for a claim (id or text), for these numbers of posts to `read`."""
        from covmis_build.study.queries import suggest_queries

        return suggest_queries(self, claim, read=read, samples=samples, progress=progress)

    # Annotation

    @property
    def rounds(self) -> list[Round]:
        """All rounds, in order."""
        from covmis_build.annotation.round_folder import all_rounds
        from covmis_build.study.round import Round

        return [Round(self, round_.folder) for round_ in all_rounds(self.places.rounds)]

    def round(self, number: str | int = "") -> Round:
        """Return the round with this number, or the last one opened."""
        from covmis_build.annotation.round_folder import find
        from covmis_build.study.round import Round

        name = f"{number:03}" if isinstance(number, int) else number
        return Round(self, find(self.places.rounds, name).folder)

    def open_round(  # noqa: PLR0913 - each is an option of the command
        self,
        claims: int | Sequence[str] = 0,
        *,
        pilot: bool = False,
        training: bool = False,
        run: bool = False,
        items: int = 20,
        pass_mark: float | None = None,
        gold: str | Path | None = None,
        predictions: str | Path | Sequence[str | Path] = (),
        progress: Progress = silent,
    ) -> Round:
        """Freeze the next claims' sampled posts as a round; `claims`: how many (0: as set), or which.

        A training round has `items` posts with known gold from sealed rounds, or from the sheet `gold` (item_id, label,
        reason); `pass_mark` is the required share of right answers. Files of `predictions` registered when the first round is
        opened are thereby proven to be independent of its labels (`estimate(assisted_by=…)`).
        """
        from covmis_build.study.open_round import open_round, open_training

        files = [predictions] if isinstance(predictions, str | Path) else list(predictions)
        if training and files:
            raise InputError(
                "a training round registers no predictions", remedy="Register them with the first round"
            )
        if training:
            return open_training(self, items, pass_mark, Path(gold) if gold else None)
        return open_round(
            self, claims, pilot=pilot, run=run, predictions=[Path(file) for file in files], progress=progress
        )

    def verify_rounds(self, *, label_studio: bool = False) -> VerifiedRounds:
        """Check every round against its seal, and each seal against the previous one. Recall rounds form a separate chain.

        With `label_studio` (must be running), also count labels there that differ from the record.
        """
        from covmis_build.study.rounds import verify_rounds

        return verify_rounds(self, label_studio=label_studio)

    def check_guideline(self) -> GuidelineCheck:
        """Return the guideline's changes since each label was given, and labels that may need a second look."""
        from covmis_build.annotation.guideline import check, read_guideline
        from covmis_build.annotation.round_folder import all_labels

        places = self.places
        return check(
            places.rounds,
            all_labels(places.rounds),
            read_guideline(places.guideline),
            self.settings.labels.values,
        )

    # Estimates for all posts found

    def plan_sample(self, **options: Any) -> SamplePlan:
        """Return the current draw, and the cost of other targets: see `study.plan_sample`."""
        from covmis_build.study.plan_sample import plan_sample

        return plan_sample(self, **options)

    def estimate(  # noqa: PLR0913 - every option is named
        self,
        *,
        by: str | Sequence[str] | None = None,
        assisted_by: pd.DataFrame | Path | str | None = None,
        elsewhere: bool = False,
        calibrated: bool = False,
        between: Sequence[str] | None = None,
        before: str | dt.date = "",
        after: str | dt.date = "",
        corpus: Path | str | None = None,
        level: float = 0.95,
        run: bool = False,
        progress: Progress = silent,
    ) -> Estimates:
        """Estimate the share and total of each label among the posts found; printing it shows `.warnings`, too.

        `by`: "claim", "kind" (query type), "platform", "year", "month" or "day", or several. `between`: two parts
        (`"claim:1"`) or two labels (`"label:favor"`); `before` or `after`: a day that divides the posts. `assisted_by`:
        predictions for all posts. `calibrated`: weights meet the known number of posts of each query type.
        """
        from covmis_build.study.estimate import estimate

        return estimate(
            self,
            by=by,
            assisted_by=assisted_by,
            elsewhere=elsewhere,
            calibrated=calibrated,
            between=between,
            before=before,
            after=after,
            corpus=corpus,
            level=level,
            run=run,
            progress=progress,
        )

    def regress(self, formula: str, **options: Any) -> Regression:
        """Regress a label on known properties of posts: see `study.estimate.regress`."""
        from covmis_build.study.estimate import regress

        return regress(self, formula, **options)

    def recall(self) -> Recall:
        """Estimate the recall of the queries: `.plan()`, `.draw()`, `.report()`."""
        from covmis_build.study.recall import Recall

        return Recall(self)

    def gold(self) -> pd.DataFrame:
        """The gold labels of all rounds that count. A sealed round's are its decisions; a broken seal is refused."""
        from covmis_build.annotation.gold import gold_of
        from covmis_build.annotation.round_folder import all_rounds

        return gold_of(all_rounds(self.places.rounds))

    # Publishing

    def release(
        self,
        *,
        text: bool | None = None,
        bundle: bool = False,
        deposit: bool = False,
        sign: Path | str | None = None,
        run: bool = False,
        progress: Progress = silent,
    ) -> Released:
        """Write data/release from the frozen and decided rounds; `.folder` is its place, and printing it shows warnings.

        `text`: include posts' texts (default: as [release] says). `bundle`: add bundle.zip, for a rebuild elsewhere.
        `deposit`: also create data/deposit: files to upload to a repository, and a list of what is missing.
        `sign`: an SSH key that signs the checksums.
        Refused if a round was changed after sealing, or if tables are out of date (unless `run` rebuilds them).
        """
        from covmis_build.study.release import release

        return release(self, text=text, bundle=bundle, deposit=deposit, sign=sign, run=run, progress=progress)

    def release_checks(self) -> list[ReleaseCheck]:
        """Check the requirements of a release, with a remedy for each one not met."""
        from covmis_build.study.release import checks

        return checks(self)

    def bundle(self) -> Path:
        """Release with a bundle.zip that contains everything for a rebuild. Returns its path."""
        from covmis_build.corpus.publish import BUNDLE

        return self.release(bundle=True).folder / BUNDLE

    def hydrate(
        self, corpus: Path | str | None = None, *, into: Path | str | None = None, mask: bool = True
    ) -> Hydration:
        """Restore the texts of a corpus of ids (default: the study's own) from the study's archive."""
        from covmis_build.study.hydrate import hydrate

        file, folder = (Path(path) if path else None for path in (corpus, into))
        return hydrate(file, into=folder, study=self, mask=mask)

    # Systems

    def score(self, systems: Any, *, over: str = "items", **options: Any) -> Scores | ScoresOverPosts:
        """Score systems ({name: predictions}) against the rounds' gold, or over all posts; options as in `covmis.score`."""
        from covmis_build.study.score import score

        return score(self, systems, over=over, **options)

    def questions(self, posts: Any = None, *, labels: Sequence[str] = ()) -> Questions:
        """Return posts to ask a language model about (default: the rounds' items): `.write()`, `.ask()`, `.read()`."""
        from covmis_build.study.prompt import Questions

        return Questions.of(self, posts, list(labels))

    def admit(self, predictions: Path | str, *, name: str, epsilon: float) -> Admission:
        """Test whether this model can replace an annotator. Its first epsilon is recorded; another one is refused."""
        from covmis_build.study.admit import admit_in_study

        return admit_in_study(self, Path(predictions), name=name, epsilon=epsilon)

    # Locks against simultaneous changes

    def need_whole(self) -> None:
        """Refuse a study with an unfinished purge."""
        if self.places.purge_journal.exists():
            from covmis_build.building.purge import refuse_unfinished

            refuse_unfinished(self.places)

    @contextmanager
    def locked(self, folder: Path, command: str, name: str = ".lock") -> Iterator[None]:
        """Prevent other commands, especially a purge, from changing the same files until this one ends."""
        with storage.locked(folder / name, command):
            self.need_whole()  # a purge may have begun since the study was opened
            yield

    def locked_rounds(self, command: str) -> AbstractContextManager[None]:
        """Prevent changes of the study's rounds by others until this command ends."""
        return self.locked(self.places.build, command, ".rounds.lock")

    def locked_inputs(self, command: str) -> AbstractContextManager[None]:
        """Prevent changes of study.toml and queries/claims.csv by others between this command's reading and writing."""
        return self.locked(self.places.build, command, ".inputs.lock")


def _several(names: str | Iterable[str]) -> list[str]:
    """Return one name or several as a sequence."""
    return [names] if isinstance(names, str) else list(names)


def new_study(folder: Path | str, *, title: str = "") -> Study:
    """Create a study's folder: settings, an example claim list, a guideline and a README."""
    from covmis_build.study.new import new_study

    new_study(Path(folder), title)
    return open_study(folder)


def rebuild_published(
    folder: Path | str,
    source: str,
    files: Path | str | None,
    *,
    title: str = "",
    releases: Path | str | None = None,
) -> Rebuilding:
    """Create a study that rebuilds a published corpus from its authors' files: `covmis-stance`."""
    from covmis_build.study.rebuilding import new_from_published

    if source != "covmis-stance":
        raise UnknownName(f"no recipe is called '{source}'", remedy="Allowed: covmis-stance")
    if files is None:
        raise InputError(
            "the published files are yours to give", remedy="Name their folder: files (--files DIR)"
        )
    coaid = Path(releases) if releases else None
    return new_from_published(Path(folder), Path(files), open_study, title=title, releases=coaid)


def open_study(folder: Path | str | None = None, *, half_purged: bool = False) -> Study:
    """Open the study in this folder, or the one whose study.toml is nearest upwards.

    A study with an unfinished purge is refused unless `half_purged`: a part of it still contains what another part has
    deleted.
    """
    start = Path(folder or Path.cwd()).resolve()
    if folder is not None and not (start / STUDY_TOML).is_file():
        raise InputError("no study.toml here", file=folder, remedy="Make a study with `covmis new DIR`")
    home = _nearest(start)
    if home is None:
        raise InputError(
            "no study.toml here or above",
            remedy="Make a study with `covmis new DIR`, or name one with --study",
        )
    return read_study(home, half_purged=half_purged)


def study_of(file: Path, folder: Path | None = None, *, half_purged: bool = False) -> Study | None:
    """Return the named study, or the one whose folder contains this file, if any."""
    home = folder or _nearest(file.resolve())
    return open_study(home, half_purged=half_purged) if home else None


def _of_spark(engine: str, master: str, settings: Mapping[str, str] | None) -> dict[str, str]:
    """Return Spark's settings including its master. Other engines have none."""
    conf = {**(settings or {}), **({"spark.master": master} if master else {})}
    if conf and engine == "duckdb":
        raise InputError(
            "master and settings (--conf) are for Spark", remedy="Use engine = spark (--engine spark)"
        )
    return conf


@functools.lru_cache(maxsize=16)
def _read_settings(file: Path, _seen: tuple[int, ...]) -> Settings:
    """Read settings, cached until the file changes."""
    return read_settings(file)


def _nearest(start: Path) -> Path | None:
    return next((place for place in (start, *start.parents) if (place / STUDY_TOML).is_file()), None)


def read_study(folder: Path, *, half_purged: bool = False) -> Study:
    """Open the study in this folder."""
    study = Study(folder)
    read_settings(folder / STUDY_TOML)  # refuse invalid settings immediately
    if not half_purged:
        study.need_whole()
    return study
