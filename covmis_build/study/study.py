"""A study: a folder with a study.toml, and all operations on it.

A method takes the lock, checks whether the tables are current, and calls another module. It computes nothing itself.
"""

from __future__ import annotations

import functools
import tomllib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from covmis_build import storage
from covmis_build.engine import silent
from covmis_build.errors import InputError, StaleTables, UnknownName
from covmis_build.operations import About
from covmis_build.options import TARGETS
from covmis_build.places import STUDY_TOML, Places
from covmis_build.settings import changed, parse, read_settings

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    import pandas as pd

    from covmis_build.annotation.guideline import GuidelineCheck
    from covmis_build.annotation.importing import ImportedLabels
    from covmis_build.annotation.merging import Merged
    from covmis_build.archive.counted import CountedPosts
    from covmis_build.archive.intake import Intake
    from covmis_build.archive.words import Words
    from covmis_build.building.dropped_posts import DroppedPosts
    from covmis_build.building.explain import Story
    from covmis_build.building.purging import Purged
    from covmis_build.claims.lint import Findings
    from covmis_build.claims.selection import Selection
    from covmis_build.collecting.cost import Estimate
    from covmis_build.engine import Progress
    from covmis_build.estimation.regression import Regression
    from covmis_build.estimation.shares import Estimates
    from covmis_build.evaluation.compare import Comparison
    from covmis_build.evaluation.over_posts import ScoresOverPosts
    from covmis_build.evaluation.scores import Scores
    from covmis_build.models.admission import Admission
    from covmis_build.operations import Level, Rebuild, Spark
    from covmis_build.queries.suggest import Suggestions
    from covmis_build.queries.tuning import Tuned
    from covmis_build.settings import Settings
    from covmis_build.study.add_posts import AddedPosts
    from covmis_build.study.archive import ArchivePosts
    from covmis_build.study.check_files import CheckedFiles
    from covmis_build.study.check_release import CheckedRelease
    from covmis_build.study.claims import ImportedClaims, LookedAt
    from covmis_build.study.collect import Collected, LookedUp, PricedList
    from covmis_build.study.discard_round import Discarded
    from covmis_build.study.edit_claims import EditedClaim
    from covmis_build.study.hydrate import Hydration
    from covmis_build.study.import_posts import ImportedPosts
    from covmis_build.study.keywords import SavedKeywords
    from covmis_build.study.links import Links
    from covmis_build.study.look import Look
    from covmis_build.study.plan_sample import SamplePlan
    from covmis_build.study.prompt import Questions
    from covmis_build.study.queries import ShownQueries, Trial
    from covmis_build.study.rebuilding import BesidePublished, Rebuilding
    from covmis_build.study.recall import Recall
    from covmis_build.study.release import Released
    from covmis_build.study.remove_claims import RemovedClaims
    from covmis_build.study.remove_posts import RemovedPosts
    from covmis_build.study.round import Round
    from covmis_build.study.rounds import VerifiedRounds
    from covmis_build.study.run import Ran
    from covmis_build.study.status import Status
    from covmis_build.tables import Frame

ClaimsFile = Annotated[
    Path | str,
    About("CSV, TSV, JSON, JSON lines, xlsx; or a folder of CoAID releases.", metavar="FILE", argument=True),
]
ClaimsText = Annotated[str, About("The column with the claims' texts.", metavar="COLUMN")]
ClaimsColumns = Annotated[
    "Mapping[str, str] | None",
    About(
        "The column of another field (FIELD=: none); repeatable.",
        flag="--column",
        metavar="FIELD=COLUMN",
        may_be_empty=True,
    ),
]
ClaimsForm = Annotated[
    str, About("csv, coaid, claim_review, fact_check, liar, … (default: detected).", flag="--format")
]
TableSeparator = Annotated[
    str, About("The sign between cells, like ';' (default: detected).", metavar="SIGN")
]
TableHeader = Annotated[
    int | None,
    About("The line of the header; 0: none, columns are numbers (default: detected).", at_least=0),
]
TableEncoding = Annotated[str, About("Like cp1251 or gb18030 (default: detected).", metavar="NAME")]
TableLines = Annotated[bool, About("Each line of the file is a text.")]
TablePath = Annotated[
    str,
    About(
        "Where the rows are in JSON, like data.claims[] (default: its list).", flag="--path", metavar="PATH"
    ),
]
Keywords = Annotated[
    str, About("Keywords, a claim's id, or nothing: all queries.", metavar="EXPRESSION", argument=True)
]
Samples = Annotated[int, About("How many posts to show of each.", at_least=0)]
PostsFile = Annotated[
    str | Path,
    About("A file of posts, compressed or not; local or s3://….", metavar="FILE", argument=True),
]
Assisted = Annotated[
    "Path | str | pd.DataFrame | None",
    About("Predictions for all items (or a model's folder), to narrow intervals.", metavar="PREDICTIONS"),
]
Elsewhere = Annotated[
    bool, About("Confirm: the model never saw this study's labels.", flag="--trained-elsewhere")
]
OfPopulation = Annotated[
    str,
    About("today: posts that the queries find now (default); drawn: those of the draws.", metavar="NAME"),
]


@dataclass(frozen=True)
class Study:
    """A study: its settings, file locations, tables, and the operations of the command line."""

    folder: Path

    @property
    def settings(self) -> Settings:
        """The current settings in study.toml."""
        file = self.folder / STUDY_TOML
        return _read_settings(file, storage.state_of(file) if file.is_file() else ())

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
        """The claim list as the last run read it; before the first run, as it is."""
        if self.places.table("claims").exists() or not self.places.claims_csv.exists():
            return self._table("claims")
        from covmis_build.claims.lists import read_claims

        return read_claims(self.places.claims_csv)

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
        stages: Annotated[
            Sequence[str] | str, About("Default: all stages.", metavar="STAGE", argument=True)
        ] = (),
        *,
        force: Annotated[
            bool, About("Make them again even if nothing changed.", flag="--force/--no-force")
        ] = False,
        engine: Annotated[str, About("duckdb, or spark (an extra).")] = "duckdb",
        master: Annotated[str, About("Spark's master, like local[2] or spark://host:7077.")] = "",
        settings: Spark = None,
        workers: Annotated[int, About("Processes to use (0: one per processor).", at_least=0)] = 0,
        progress: Progress = silent,
    ) -> Ran:
        """Build all tables, from claims to the sample.

        Only stages whose input or settings changed are built again. Stages, in order: read, claims, queries, retrieve, clean,
        sample. Safe to interrupt and repeat. Exit code 1 if too many lines of a file cannot be read.

        Example: covmis run
        """
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
        """Show progress and the next step.

        With --published, also writes each claim and query type to data/build/published.csv.

        Example: covmis status
        """
        from covmis_build.study.status import status

        return status(self)

    def beside_published(
        self,
        files: Annotated[
            Path | str,
            About(
                "Compare with the published corpus that this study rebuilds.",
                flag="--published",
                metavar="DIR",
            ),
        ],
    ) -> BesidePublished:
        """Compare with a published corpus that this study rebuilds, by the folder of its authors' files."""
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
        self,
        step: Annotated[
            str,
            About(
                "Instead: the posts dropped by this step, or for this reason, as `status` prints them.",
                flag="--dropped",
                metavar="STEP",
            ),
        ],
        *,
        reason: Annotated[str, About("Of this reason alone.")] = "",
        claim: Annotated[str, About("Of this claim alone.")] = "",
        limit: int = 20,
        status: Status | None = None,
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

    def explain(
        self,
        wanted: Annotated[
            str | int,
            About("A claim id, a post id, or an item id (claim|post).", metavar="ID", argument=True),
        ],
    ) -> Story:
        """Show why a post was found, dropped or sampled.

        Example: covmis explain x:1255000000000000000
        """
        from covmis_build.building.explain import explain

        return explain(self.places, str(wanted))

    # Collecting and purging posts

    def collect(self, source: str, **options: Any) -> Collected:
        """Fetch missing posts that the queries request, from x, bluesky or mastodon, within a budget.

        Options are the fields of `study.collect.Wanted`.
        """
        from covmis_build.study.collect import Wanted, collect

        return collect(self, source, Wanted(**options))

    def collect_account(
        self, module: str, query: str, *, budget: str = "", resume: bool = False, **options: Any
    ) -> Collected:
        """Fetch missing posts of one public Telegram channel or Mastodon account through snscrape, without a login.

        `module` is snscrape's: telegram-channel, mastodon-profile or mastodon-toot; `query` names the channel, account or
        post. `budget` is like "10000posts" or "500requests". `resume` finishes what was interrupted and adds no newer posts.
        Other options are the fields of `study.collect.Wanted`.
        """
        from covmis_build.study.collect import Wanted, collect_account

        return collect_account(self, module, query, Wanted(budget=budget, resume=resume, **options))

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

    def check_files(self) -> CheckedFiles:
        """Read all tables, records and posts; say what is damaged.

        A failing disk or a careless copy changes bytes unseen. Says of each damaged file what makes it right: `covmis run`
        makes tables again; what people recorded must come from a copy. Changes nothing. Exit code 1 if a file is damaged.

        Example: covmis check
        """
        from covmis_build.study.check_files import check_files

        return check_files(self)

    def purge(
        self,
        *,
        posts: Annotated[
            Sequence[str] | str,
            About("Post ids and author keys, in addition to purge.csv.", metavar="KEY", argument=True),
        ] = (),
        authors: str | Iterable[str] = (),
        outside: Annotated[bool, About("Also rewrite archives outside the study's folder.")] = False,
        leave: Annotated[
            Sequence[str] | str,
            About("Keep this file, which a purge has named and you have looked at.", metavar="FILE"),
        ] = (),
        progress: Progress = silent,
    ) -> Purged:
        """Delete posts or authors from the whole study.

        Takes the ids and keys in queries/purge.csv and those given here, which are put on that list, so that collecting
        never brings them back. Models that were trained in the study are removed if they may have learned from such a post. Then covmis searches everything in the study's folder. It names files of your own that still hold something and does not change them. The exit code is 1 until there are none. An author key is author:x:ID, author:bsky:DID, author:masto:SERVER/NAME, or a pseudonym.

        Example: covmis purge x:1255000000000000000 author:x:12
        """
        from covmis_build.study.purge import purge

        return purge(
            self,
            posts=_several(posts),
            authors=_several(authors),
            outside=outside,
            leave=_several(leave),
            progress=progress,
        )

    # Files of posts

    def look(self, path: PostsFile | Frame) -> Look:
        """Preview how covmis reads a file; changes nothing.

        In Python it may be a data frame.

        Example: covmis posts look export.csv
        """
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

    def add_posts(self, file: PostsFile | Iterable[bytes] | Frame, name: str = "") -> AddedPosts:
        """Copy a file of posts into the archive, unchanged.

        A file of the same name is not replaced. In Python it may be a data frame (pandas, polars, Arrow). `covmis run` reads files as they are: --convert is not needed before it.

        Example: covmis posts add ../posts.csv
        """
        from covmis_build.study.add_posts import add_posts

        return add_posts(self, file, name)

    def import_posts(self, file: PostsFile, *, progress: Progress = silent) -> ImportedPosts:
        """Convert a file of posts to covmis's own format in the archive, with a report."""
        from covmis_build.study.import_posts import import_posts

        return import_posts(self, file, progress)

    def import_labels(
        self,
        labels: Path | str | pd.DataFrame | Frame,
        *,
        people: Mapping[str, str] | None = None,
        question: str = "",
        yes: bool = False,
        number: str = "",
    ) -> ImportedLabels:
        """Import labels that annotators gave in another tool into a round (default: the last): `Round.import_labels`."""
        return self.round(number).import_labels(labels, people=people, question=question, yes=yes)

    def remove_posts(
        self,
        file: Annotated[
            str,
            About("A file of the archive, as `covmis posts add` named it.", metavar="FILE", argument=True),
        ],
    ) -> RemovedPosts:
        """Take a file of posts out of the archive, and delete it.

        Names the claims that lose posts, and the rounds in which some are frozen: these keep them.

        Example: covmis posts remove posts.csv
        """
        from covmis_build.study.remove_posts import remove_posts

        return remove_posts(self, file)

    # The claim list and its queries

    def import_claims(  # noqa: PLR0913 - a list, how it is read, and what is searched in its place
        self,
        claims: ClaimsFile | pd.DataFrame | Frame | None = None,
        *,
        text: ClaimsText = "",
        columns: ClaimsColumns = None,
        form: ClaimsForm = "",
        separator: TableSeparator = "",
        header: TableHeader = None,
        encoding: TableEncoding = "",
        lines: TableLines = False,
        path: TablePath = "",
        search: Annotated[str, About("Search Google Fact Check Tools instead of reading a file.")] = "",
        language: Annotated[str, About("With --search: only reviews in this language.")] = "",
    ) -> ImportedClaims:
        """Add claims from a list (CSV, Excel, JSON, ClaimReview).

        Columns are detected by their names; --look shows the result. A FIELD is claim_id, titles, news_urls, fact_check_urls,
        language, keywords, first_seen, verdict or posts. The column misinformation translates verdicts to yes, no or empty.

        Post ids in the list (CoAID, FakeNewsNet) go to data/archive/given-posts.csv and match as query type title.
        --search needs GOOGLE_FACT_CHECK_KEY in the environment.

        Example: covmis claims import misinformation.csv
        """
        from covmis_build.files.table import Switches
        from covmis_build.study.claims import import_claims

        listed = Path(claims) if isinstance(claims, str) else claims
        chosen = _chosen(columns, text)
        return import_claims(
            self,
            listed,
            columns=chosen,
            form=form,
            search=search,
            language=language,
            switches=Switches.given(separator, header, encoding, lines=lines, path=path),
        )

    def look_at_claims(  # noqa: PLR0913 - the options of the import
        self,
        claims: ClaimsFile,
        *,
        text: ClaimsText = "",
        columns: ClaimsColumns = None,
        form: ClaimsForm = "",
        separator: TableSeparator = "",
        header: TableHeader = None,
        encoding: TableEncoding = "",
        lines: TableLines = False,
        path: TablePath = "",
    ) -> LookedAt:
        """Preview a file of claims. Nothing is written."""
        from covmis_build.claims.lists import read_list
        from covmis_build.files.table import Switches
        from covmis_build.study.claims import LookedAt

        return LookedAt(
            read_list(
                Path(claims),
                form,
                _chosen(columns, text),
                Switches.given(separator, header, encoding, lines=lines, path=path),
            )
        )

    def add_claims(
        self,
        texts: Annotated[
            Sequence[str] | str, About("Claims, each a sentence.", metavar="TEXT...", argument=True)
        ],
    ) -> ImportedClaims:
        """Add claims that you type.

        Their ids are made: claim-0001 and so on. A claim that is there already stays as it is. The first ones replace the examples of
        `covmis new`.

        Example: covmis claims add "Garlic cures the virus."
        """
        from covmis_build.study.edit_claims import add_claims

        return add_claims(self, _several(texts))

    def edit_claim(
        self,
        claim: Annotated[str, About("The claim's id.", metavar="ID", argument=True)],
        text: Annotated[str, About("Its new text.", metavar="TEXT", argument=True)],
        *,
        instead_of: str | None = None,
    ) -> EditedClaim:
        """Change the text of a claim.

        Posts in rounds keep the text that they were labelled by. `instead_of` is the text that you saw: the new one is refused
        if it changed.

        Example: covmis claims edit claim-0001 "Garlic cures the virus."
        """
        from covmis_build.study.edit_claims import edit_claim

        return edit_claim(self, claim, text, instead_of=instead_of)

    def remove_claims(
        self,
        claims: Annotated[Sequence[str] | str, About("Ids of claims.", metavar="ID...", argument=True)],
    ) -> RemovedClaims:
        """Take claims out of the claim list.

        Labels that people gave their posts stay in the record, and are in no figure. To leave a claim out for now, write
        `no` into its column `selected`.

        Example: covmis claims remove 12
        """
        from covmis_build.study.remove_claims import remove_claims

        return remove_claims(self, _several(claims))

    def lint_claims(
        self,
        *,
        accept: Annotated[
            Sequence[str] | str,
            About("Carry out this finding's proposal; may be repeated.", metavar="FINDING"),
        ] = (),
    ) -> Findings:
        """Check the claim list and propose corrections.

        Accepted edits are written to queries/claims.csv, with what stood there before in the column edits.

        Example: covmis claims lint --accept simplify:538
        """
        from covmis_build.study.claims import lint_claims

        return lint_claims(self, accept=_several(accept))

    def select_claims(
        self, top: Annotated[int, About("How many claims to keep selected.", at_least=1, flag="--top")]
    ) -> Selection:
        """Select the claims with the most posts.

        Writes the column `selected` of queries/claims.csv, and counts, ranks and ties to queries/selection.csv.

        Example: covmis claims select --top 200
        """
        from covmis_build.study.claims import select_claims

        return select_claims(self, top)

    def show_queries(
        self,
        claim: Annotated[str, About("Only this claim's queries.", metavar="CLAIM", argument=True)] = "",
        *,
        platform: Annotated[str, About("Also as searches for x, bluesky or mastodon.")] = "",
        limit: Annotated[int, About("Characters a search may have (0: the platform's).", at_least=0)] = 0,
    ) -> ShownQueries:
        """Show the queries made from the claim list.

        Example: covmis queries show 12 --platform x
        """
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

    def try_queries(
        self, keywords: Keywords = "", *, samples: Samples = 3, progress: Progress = silent
    ) -> Trial:
        """Count the posts that each query finds.

        Posts are counted as `covmis run` counts them. New files are read first.

        Example: covmis queries try "garlic (covid-19 OR coronavirus)"
        """
        from covmis_build.study.queries import try_queries

        return try_queries(self, keywords, samples=samples, progress=progress)

    def tune_keywords(
        self,
        keywords: Keywords | Sequence[str] = "",
        saved: Sequence[str] = (),
        *,
        progress: Progress = silent,
    ) -> Tuned:
        """Compare keywords (or a claim's, by id) with the `saved` ones, and show each word's effect. Nothing is saved."""
        from covmis_build.study.keywords import tune

        return tune(self, keywords, saved, progress=progress)

    def set_keywords(
        self,
        claim: Annotated[str, About("A claim's id.", metavar="CLAIM", argument=True)],
        keywords: Annotated[
            Sequence[str] | str,
            About("One query each; none with ''.", metavar="KEYWORDS...", argument=True),
        ],
        *,
        instead_of: Sequence[str] | None = None,
    ) -> SavedKeywords:
        """Save a claim's keywords in the claim list.

        They replace those that the claim has; these are noted in its column `edits`.

        Example: covmis queries set 12 "garlic (covid-19 OR coronavirus)"
        """
        from covmis_build.study.keywords import set_keywords

        return set_keywords(self, claim, keywords, instead_of=instead_of)

    def suggest_queries(
        self,
        claim: Annotated[str, About("A claim's id, or the text of a claim.", metavar="CLAIM", argument=True)],
        *,
        read: Annotated[
            Sequence[int],
            About(
                "Maximum number of posts for the precise, the balanced and the broad query.",
                flag="--posts",
                metavar="N,N,N",
                commas=True,
            ),
        ] = (5, 25, 100),
        samples: Samples = 2,
        progress: Progress = silent,
    ) -> Suggestions:
        """Suggest keyword queries for a claim.

        Queries combine names, numbers and word forms, the rarest in your archive first. A broader query finds all
        that a more precise one finds. Without an archive, rarity comes from the claim list.

        Example: covmis queries suggest 12 --posts 10,50,200
        """
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
        claims: Annotated[
            int | Sequence[str], About("Claims to open (0: [annotation] claims_per_round).", at_least=0)
        ] = 0,
        *,
        pilot: Annotated[bool, About("A practice round, excluded from gold labels and agreement.")] = False,
        training: Annotated[bool, About("A practice round of posts with known labels.")] = False,
        items: Annotated[int, About("With --training: number of posts.", at_least=1)] = 20,
        pass_mark: Annotated[
            float | None,
            About("With --training: the accuracy required to pass.", at_least=0, at_most=1),
        ] = None,
        gold: Annotated[
            Path | str | None, About("With --training: your own labels (item_id, label, reason).")
        ] = None,
        predictions: Annotated[
            Sequence[Path | str] | Path | str,
            About("Register a file of predictions for `covmis estimate`; repeatable.", metavar="FILE"),
        ] = (),
        run: Rebuild = False,
        progress: Progress = silent,
    ) -> Round:
        """Freeze the posts of the next claims for annotation.

        Takes the next claims in the order of queries/claims.csv.

        Later runs cannot change a frozen post. Fails if the tables are out of date: run `covmis run` first, or add `--run`.

        Example: covmis round open
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

    def relabel(
        self,
        items: Annotated[
            Sequence[str], About("Also these posts, as claim|post.", metavar="ITEM...", argument=True)
        ] = (),
        *,
        every: Annotated[bool, About("Also all posts that could not get a new label.", flag="--all")] = False,
    ) -> Round:
        """Label posts again that a change of [labels] concerns.

        These are posts of sealed rounds to which somebody gave a label that was split or left out. For a new label, name posts or
        say `--all`. The round closes like any other; from its seal on its labels count, and the old ones stay in their rounds.

        Example: covmis round relabel
        """
        from covmis_build.study.relabel import relabel

        return relabel(self, [items] if isinstance(items, str) else list(items), every=every)

    def discard_round(
        self,
        which: Annotated[
            str | int, About("The round: 2, t1 (training) or r1 (recall).", metavar="N", argument=True)
        ],
        *,
        archive: Annotated[
            bool, About("Keep its labels in annotation/discarded/, which only `covmis purge` reads.")
        ] = False,
    ) -> Discarded:
        """Take back the round that was opened last.

        Its posts are drawn again as if it had never been opened. A round with labels is refused, unless --archive keeps them.

        Example: covmis round discard 2
        """
        from covmis_build.study.discard_round import discard_round

        return discard_round(self, str(which), archive=archive)

    def verify_rounds(
        self,
        *,
        label_studio: Annotated[
            bool, About("Also count labels on Label Studio that differ from the record.")
        ] = False,
        authorities: Annotated[
            Path | str | None,
            About(
                "Certificates (PEM): one of these authorities must have made the time stamps.", metavar="FILE"
            ),
        ] = None,
    ) -> VerifiedRounds:
        """Check that sealed rounds are unchanged.

        Example: covmis round verify
        """
        from covmis_build.study.rounds import verify_rounds

        return verify_rounds(self, label_studio=label_studio, authorities=authorities)

    def merge(
        self,
        other: Annotated[
            Path | str, About("The folder with the other copy of the study.", metavar="OTHER", argument=True)
        ],
    ) -> Merged:
        """Add the labels and decisions of another copy of this study.

        For two people who worked apart, without git. Both copies can be merged into each other, in any order, with the same
        result. Exit code 1 if two people decided an item differently: it has no final label until one decides again.

        Example: covmis round merge ../study-of-ana
        """
        from covmis_build.study.rounds import merge

        return merge(self, Path(other))

    def links(
        self,
        *,
        new: Annotated[
            Iterable[str] | str,
            About("Make a link for this annotator; an earlier one is closed.", metavar="CODE"),
        ] = (),
        close: Annotated[
            Iterable[str] | str, About("Close this annotator's link at once.", metavar="CODE")
        ] = (),
    ) -> Links:
        """List the annotators' links, make new ones, close them.

        `covmis open --team` serves them, and makes one for each annotator who has none. A new link is shown once: covmis keeps
        only its hash. Answers that were given through a link stay when it is closed.

        Example: covmis round links --close a2
        """
        from covmis_build.study.links import links

        return links(self, _several(new), _several(close))

    def check_guideline(
        self,
        *,
        strict: Annotated[
            bool, About("End with exit code 1 if a label is not defined or may need another look.")
        ] = False,
    ) -> GuidelineCheck:
        """List undefined labels and those that a change may affect.

        That is a change of the guideline, and of [labels]: posts of a split label, and posts that could not get a new one.

        Example: covmis guideline check
        """
        from covmis_build.annotation.guideline import check, read_guideline
        from covmis_build.annotation.round_folder import all_rounds

        places = self.places
        text = read_guideline(places.guideline)
        return check(places.rounds, all_rounds(places.rounds), text, self.settings.labels, strict=strict)

    def set_guideline(self, text: str, *, instead_of: str | None = None) -> None:
        """Write annotation/guideline.md; `instead_of` is the version that you saw: the text is refused if it changed."""
        from covmis_build.study.guideline import set_guideline

        set_guideline(self, text, instead_of=instead_of)

    def set_prompt(self, text: str, *, instead_of: str | None = None) -> None:
        """Write annotation/prompt.md, what language models are asked; `instead_of` is as of `set_guideline`."""
        from covmis_build.study.guideline import set_prompt

        set_prompt(self, text, instead_of=instead_of)

    # Estimates for all posts found

    def show_sample(self) -> SamplePlan:
        """Show the sample, or plan its size.

        The draw shown is that of the study's present items, settings and opened rounds; `covmis run` makes it.

        Example: covmis sample --plan
        """
        from covmis_build.study.plan_sample import plan_sample

        return plan_sample(self, with_costs=False)

    def plan_sample(
        self,
        *,
        targets: Annotated[
            Sequence[int], About("The targets per claim to plan for.", metavar="N,N", commas=True)
        ] = TARGETS,
        seconds: Annotated[
            float, About("Seconds a label takes (default: as in the rounds so far).", at_least=0)
        ] = 0.0,
        share: Annotated[
            float, About("The share that widths are planned for.", at_least=0.01, at_most=0.99)
        ] = 0.5,
        per_item: Annotated[
            int, About("Annotators for each item (0: [annotation] per_item).", at_least=0)
        ] = 0,
        r_squared: float = 0.3,
    ) -> SamplePlan:
        """Return the current draw, and hours and interval widths of smaller and bigger samples.

        `r_squared`: the share of the variance that predictions are expected to explain.
        """
        from covmis_build.study.plan_sample import plan_sample

        return plan_sample(
            self, targets=targets, seconds=seconds, share=share, per_item=per_item, r_squared=r_squared
        )

    def estimate(  # noqa: PLR0913 - every option is named
        self,
        corpus: Annotated[
            Path | str | None,
            About(
                "A released corpus, or the folder of a release of others (default: the rounds' gold labels).",
                metavar="CORPUS",
                argument=True,
            ),
        ] = None,
        *,
        by: Annotated[
            Sequence[str] | str | None,
            About(
                "Also per claim, kind, platform, year, month or day; several with commas.",
                metavar="claim,kind",
                commas=True,
            ),
        ] = ("kind",),
        assisted_by: Assisted = None,
        elsewhere: Elsewhere = False,
        population: OfPopulation = "today",
        between: Annotated[
            tuple[str, str] | Sequence[str] | None,
            About("Compare two groups or labels: claim:1 claim:2, label:favor label:against.", metavar="A B"),
        ] = None,
        before: Annotated[
            str | dt.date,
            About("Compare posts before this day with posts from this day on.", metavar="DAY"),
        ] = "",
        after: Annotated[
            str | dt.date,
            About("With --before: first day of the second period (default: the same day).", metavar="DAY"),
        ] = "",
        level: Level = 0.95,
        out: Annotated[
            Sequence[Path | str],
            About("Write .html, .csv or .json (--model: .csv, .tex, .json); repeatable.", metavar="FILE"),
        ] = (),
        run: Rebuild = False,
        progress: Progress = silent,
    ) -> Estimates:
        """Estimate the share of each label, with 95% CIs.

        Reports unique posts (near-duplicates counted once) and all posts.

        Shares are weighted by 1/(p_claim·p_sample) and the known number of posts of each claim and query type, and corrected
        for errors of automatic labels. Results describe the posts that the queries find, not public opinion. Method:
        docs/guides/estimates.md.

        --between and --before print a difference with its interval and p. --model fits a weighted regression. With
        --assisted-by MODEL, covmis trains the model again without the claims that it predicts.

        Example: covmis estimate --by claim,month --out estimates.html
        """
        from covmis_build.study.estimate import estimate

        return estimate(
            self,
            by=by,
            assisted_by=assisted_by,
            elsewhere=elsewhere,
            population=population,
            between=between,
            before=before,
            after=after,
            corpus=corpus,
            level=level,
            out=[Path(file) for file in out],
            run=run,
            progress=progress,
        )

    def regress(  # noqa: PLR0913 - each is an option of the command
        self,
        formula: Annotated[
            str,
            About(
                'Regress a label on covariates: "favor ~ platform + month".',
                flag="--model",
                metavar="FORMULA",
            ),
        ],
        *,
        family: Annotated[str, About("Logistic or linear.")] = "logistic",
        over: Annotated[str, About("Standard errors over claims or over posts.")] = "claims",
        of: str = "unique_posts",
        covariates: Annotated[
            Path | str | pd.DataFrame | None,
            About("More covariates, by item_id, post_id or claim_id.", metavar="FILE"),
        ] = None,
        assisted_by: Assisted = None,
        elsewhere: Elsewhere = False,
        population: OfPopulation = "today",
        level: Level = 0.95,
        out: Sequence[Path | str] = (),
        run: Rebuild = False,
        progress: Progress = silent,
    ) -> Regression:
        """Regress a label on known properties of posts."""
        from covmis_build.study.estimate import regress

        return regress(
            self,
            formula,
            family=family,
            over=over,
            of=of,
            covariates=covariates,
            assisted_by=assisted_by,
            elsewhere=elsewhere,
            population=population,
            level=level,
            out=[Path(file) for file in out],
            run=run,
            progress=progress,
        )

    def recall(self) -> Recall:
        """Estimate the recall of the queries: `.plan()`, `.draw()`, `.report()`."""
        from covmis_build.study.recall import Recall

        return Recall(self)

    def gold(self) -> pd.DataFrame:
        """The gold labels of all rounds that count, in the labels that the rounds have in common.

        A sealed round's are its decisions; a broken seal is refused.
        """
        from covmis_build.annotation.newest import newest
        from covmis_build.annotation.round_folder import all_rounds

        return newest(all_rounds(self.places.rounds), self.settings.labels.changes).gold()

    # Publishing

    def release(
        self,
        *,
        text: Annotated[
            bool | None,
            About("Include texts, or only ids (default: [release] text).", flag="--text/--ids-only"),
        ] = None,
        bundle: Annotated[
            bool, About("Also write bundle.zip, the reproduction package without texts.")
        ] = False,
        deposit: Annotated[bool, About("Also write data/deposit: files to upload, and a checklist.")] = False,
        sign: Annotated[
            Path | str | None, About("Sign the checksums with this SSH key.", metavar="KEY")
        ] = None,
        anchor: Annotated[
            str,
            About("Have this time-stamping authority stamp the root hash (RFC 3161).", metavar="URL"),
        ] = "",
        run: Rebuild = False,
        progress: Progress = silent,
    ) -> Released:
        """Write the corpus, dataset card and methods text.

        The corpus comes in three formats, with statistics, metadata and checksums, in data/release/.

        Uses the posts as they were frozen in the rounds. Purged posts are excluded and counted. Fails if a sealed round was
        changed. --check names what the release does not tell of the study as it is now.

        Example: covmis release --bundle
        """
        from covmis_build.study.release import release

        return release(
            self,
            text=text,
            bundle=bundle,
            deposit=deposit,
            sign=sign,
            anchor=anchor,
            run=run,
            progress=progress,
        )

    def check_release(self) -> CheckedRelease:
        """Compare data/release with the study as it is now; write nothing. Exit code 1 if they differ."""
        from covmis_build.study.check_release import check_release

        return check_release(self)

    def differing_release(self) -> list[str]:
        """Return what data/release does not tell of the study as it is now, a sentence each; nothing without a release."""
        if not any(self.places.release.glob("*")):
            return []
        from covmis_build.study.release_age import glance_at

        glance = glance_at(self)
        if glance.complete or glance.unreadable:
            return glance.differences
        from covmis_build.study.check_release import differences

        return differences(self)

    def bundle(self) -> Path:
        """Release with a bundle.zip that contains everything for a rebuild. Returns its path."""
        from covmis_build.corpus.publish import BUNDLE

        return self.release(bundle=True).folder / BUNDLE

    def hydrate(
        self,
        corpus: Annotated[
            Path | str | None,
            About(
                "A released corpus, a table of ids (tweet_id,label), or a bundle (default: the study's corpus).",
                metavar="FILE",
                argument=True,
            ),
        ] = None,
        *,
        archive: Annotated[
            Sequence[Path | str],
            About("A folder or file of posts; repeatable (default: the study's archive).", metavar="PATH"),
        ] = (),
        into: Annotated[
            Path | str | None,
            About("Output folder (default: hydrated/ next to FILE, or in data/build).", metavar="DIR"),
        ] = None,
        mask: Annotated[bool, About("Keep account names in the texts.", flag="--as-posted")] = True,
        progress: Progress = silent,
    ) -> Hydration:
        """Restore texts in a release that has only ids.

        Fetch the posts first: `covmis collect ids corpus.csv`. A bundle becomes a study in --into DIR.
        Put the posts into its archive; then `covmis run` and `covmis release` build the same corpus.

        Example: covmis hydrate corpus.csv --archive posts/ --into with-texts/
        """
        from covmis_build.study.hydrate import hydrate

        file, folder = (Path(path) if path else None for path in (corpus, into))
        archives = [Path(path) for path in archive]
        return hydrate(file, archives, into=folder, study=self, mask=mask, progress=progress)

    # Systems

    def score(self, systems: Any, *, over: str = "items", **options: Any) -> Scores | ScoresOverPosts:
        """Score systems ({name: predictions}) against the rounds' gold, or over all posts; options as in `covmis.score`."""
        from covmis_build.study.score import score

        return score(self, systems, over=over, **options)

    def compare(self, systems: Any, **options: Any) -> Comparison:
        """Compare systems ({name: predictions}) on the rounds' gold, each with each; options as in `covmis.compare`."""
        from covmis_build.study.score import compare

        return compare(self, systems, **options)

    def questions(self, posts: Any = None, *, labels: Sequence[str] = ()) -> Questions:
        """Return posts to ask a language model about (default: the rounds' items): `.write()`, `.ask()`, `.read()`."""
        from covmis_build.study.prompt import Questions

        return Questions.of(self, posts, list(labels))

    def admit(
        self,
        predictions: Annotated[
            Path | str,
            About("The model's labels: item_id and prediction.", metavar="FILE", argument=True),
        ],
        *,
        epsilon: Annotated[
            float,
            About(
                "0.2 for experts, 0.15 for trained annotators, 0.1 for crowd workers.",
                at_least=0,
                at_most=0.99,
            ),
        ],
        name: Annotated[str, About("The model's name, for `model:NAME`.")],
    ) -> Admission:
        """Test whether a model can replace an annotator.

        The alternative annotator test (Calderon et al. 2025) removes each person in turn, and compares person and model with
        the other people. From ten claims on, the test is over claims.

        Choose ε before you see results: covmis records the first value and refuses another. More: docs/guides/models.md.

        Example: covmis model admit predictions.csv --epsilon 0.1 --name my-model
        """
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


def _chosen(columns: Mapping[str, str] | None, text: str) -> dict[str, str]:
    """Return which columns of a list of claims were chosen."""
    return {**(columns or {}), **({"text": text} if text else {})}


def _several(names: str | Iterable[str]) -> list[str]:
    """Return one name or several as a sequence."""
    return [names] if isinstance(names, str) else list(names)


def new_study(
    folder: Path | str, *, title: str = "", labels: Sequence[str] | str = (), language: str = "en"
) -> Study:
    """Create a study's folder: settings, an example claim list, a guideline that is to define these labels, and a README.

    `language` is what annotators read, such as "es": the guideline, and the pages and sheets of rounds.
    """
    from covmis_build.study.new import new_study

    new_study(Path(folder), title, labels=labels, language=language)
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
