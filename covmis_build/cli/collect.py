"""`covmis collect`: fetch what the queries ask for from a platform, or look up a list of ids.

The only commands that use platforms or spend money. Everything that was fetched is on disk at once; a command that
was stopped in any way goes on with `--resume`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from covmis_build import storage
from covmis_build.cli.console import JsonOption, StudyOption, detail, emit_json, grid, progress, say, warn
from covmis_build.errors import InputError, ServiceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from covmis_build.retrieval.crawl import Crawl, Crawled, Fetch, Job, Platform
    from covmis_build.study import Study

app = typer.Typer(help="Fetch posts from a platform into data/archive/.", no_args_is_help=True)

EstimateOption = Annotated[
    bool, typer.Option("--estimate", help="Say what it would find and cost; fetch no posts.")
]
BudgetOption = Annotated[
    str,
    typer.Option(metavar="AMOUNT", help="Stop before this is passed: 25 (dollars), 10000posts, 500requests."),
]
ResumeOption = Annotated[
    bool,
    typer.Option("--resume", help="Finish the last plan with its windows of time, and plan nothing new."),
]
ClaimOption = Annotated[list[str] | None, typer.Option(metavar="ID", help="Only this claim's queries.")]
KindOption = Annotated[list[str] | None, typer.Option(help="Only queries of this kind.")]
PricesOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A price list of your own (default: the one of covmis).")
]


@app.command("x")
def collect_x(
    estimate: EstimateOption = False,
    budget: BudgetOption = "",
    resume: ResumeOption = False,
    recent: Annotated[
        bool, typer.Option(help="Search the last seven days only, not the full archive.")
    ] = False,
    expand: Annotated[
        list[str] | None, typer.Option(help="Also fetch: referenced, authors (both billed), media.")
    ] = None,
    claim: ClaimOption = None,
    kind: KindOption = None,
    prices: PricesOption = None,
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search X for every query of the study. It costs money, so it needs a --budget.

    The token stands in the environment variable X_BEARER_TOKEN or in the keyring. `--estimate` asks X for counts,
    which is billed itself; it says how much before it asks, and keeps to the budget, too.

    Example: covmis collect x --estimate --budget 5
    """
    from covmis_build.retrieval import credentials
    from covmis_build.retrieval.sources import x

    if not budget:
        raise InputError(
            "collecting from X costs money, and so does an estimate",
            remedy="Say how much you allow: --budget 25 (dollars); with --estimate, only the estimate spends",
        )
    mode = "recent" if recent else "all"
    session = x.connect(credentials.need("X_BEARER_TOKEN"), expand or ())
    with contextlib.closing(session):
        platform = x.platform(mode, expand or ())
        task = _Task(study, platform, budget, prices, claim or [], kind or [], as_json)
        jobs = task.jobs(resume, x.LENGTHS[mode], mode)
        if estimate:
            task.estimate_x(jobs, session)
        else:
            task.crawl(jobs, x.searcher(session))


@app.command("bluesky")
def collect_bluesky(
    estimate: EstimateOption = False,
    budget: BudgetOption = "",
    resume: ResumeOption = False,
    claim: ClaimOption = None,
    kind: KindOption = None,
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search Bluesky for every query of the study. It costs nothing but time.

    The account stands in BLUESKY_HANDLE and BLUESKY_APP_PASSWORD, in the environment or in the keyring.

    Example: covmis collect bluesky --budget 20000posts
    """
    from covmis_build.retrieval import credentials
    from covmis_build.retrieval.sources import bluesky

    task = _Task(study, bluesky.platform(), budget, None, claim or [], kind or [], as_json)
    jobs = task.jobs(resume, None, "")
    if estimate:
        task.estimate_free(jobs)
        return
    handle = credentials.plain("BLUESKY_HANDLE")
    session = bluesky.connect(handle, credentials.need("BLUESKY_APP_PASSWORD"))
    with contextlib.closing(session):
        task.crawl(jobs, bluesky.searcher(session), session.log_in)


@app.command("mastodon")
def collect_mastodon(
    server: Annotated[str, typer.Option(help="The server to ask, like https://mastodon.social.")],
    estimate: EstimateOption = False,
    budget: BudgetOption = "",
    resume: ResumeOption = False,
    claim: ClaimOption = None,
    kind: KindOption = None,
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search one Mastodon server for every query of the study. It costs nothing but time.

    The token of an app on that server stands in MASTODON_ACCESS_TOKEN, in the environment or in the keyring.

    Example: covmis collect mastodon --server https://mastodon.social
    """
    from covmis_build.retrieval import credentials
    from covmis_build.retrieval.sources import mastodon

    task = _Task(study, mastodon.platform(), budget, None, claim or [], kind or [], as_json)
    jobs = task.jobs(resume, None, mastodon.address_of(server).partition("://")[2])
    if estimate:
        task.estimate_free(jobs)
        return
    session = mastodon.connect(server, credentials.need("MASTODON_ACCESS_TOKEN"))
    with contextlib.closing(session):
        task.crawl(jobs, mastodon.searcher(session))


@app.command("ids")
def collect_ids(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="A post id a line, or a CSV file with post_id.")
    ] = None,
    estimate: EstimateOption = False,
    budget: BudgetOption = "",
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the last list; needs no FILE.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Look up once more today what was looked up earlier.")
    ] = False,
    prices: PricesOption = None,
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look up posts by their ids, on X, Bluesky and Mastodon, with an outcome for each id.

    Outcomes (available, deleted, protected, suspended, unknown) stand in data/collect/outcomes.csv.

    Example: covmis collect ids tweet-ids.txt --budget 15
    """
    from covmis_build.cli import _hydrate

    if (file is None) != resume:
        raise InputError(
            "name a file of ids, or go on with --resume", remedy="Like covmis collect ids ids.txt"
        )
    wanted = _hydrate.Wanted(file, study, budget, prices, as_json, again)
    if estimate:
        _hydrate.estimate(wanted)
    else:
        _hydrate.look_up(wanted)


@app.command("snscrape")
def collect_snscrape() -> None:
    """Say why snscrape can no longer search X, and what can be done instead.

    Example: covmis collect snscrape
    """
    from covmis_build.retrieval.sources import snscrape

    snscrape.search_twitter("every query of the study")


class _Task:
    """What the commands share: the study's queries as jobs, the plan, the crawl, and the report on it."""

    def __init__(
        self, study: Path | None, platform: Platform, budget: str, prices: Path | None,
        claims: list[str], kinds: list[str], as_json: bool,
    ) -> None:  # fmt: skip
        from covmis_build.retrieval.prices import read_budget, read_prices
        from covmis_build.study import open_study

        self.study, self.platform, self.as_json = open_study(study), platform, as_json
        self.claims, self.kinds = claims, kinds
        self.prices = read_prices(platform.name, prices)
        self.budget = read_budget(budget)
        if self.prices.free and self.budget.dollars is not None:
            raise InputError(
                f"{platform.name} costs no money", remedy="Give the budget as 10000posts or 500requests"
            )
        self.folder = archive_of(self.study) / platform.name
        self.notes = self.study.folder / "data" / "collect" / platform.name

    def jobs(self, resume: bool, limit: int | None, mode: str) -> list[Job]:
        """What remains to be done: the last plan's rest, or that and what the queries now ask for beyond it."""
        from covmis_build.retrieval import plans

        self.begun = plans.known(self.folder)
        before = plans.read_plan(self.notes / "plan.json")
        if resume:
            rest = [job for job in before if job.id not in self.begun or not self.begun[job.id].finished]
            # a plan of Mastodon's belongs to one server
            return [job for job in rest if self.platform.name != "mastodon" or job.mode == mode]
        now = dt.datetime.now(dt.UTC)
        settings = self.study.retrieval
        since, until = plans.windows(settings.since, settings.until, now)
        if mode == "recent" and until < since_recent(now):
            raise InputError(
                f"--recent finds the last seven days, and the study ends with {settings.until}",
                remedy="Leave --recent out to search the full archive",
            )
        if mode == "recent":
            since = max(since, since_recent(now))
        wanted = plans.jobs_of(
            self._queries(), self.platform.name, limit=limit, since=since, until=until, mode=mode
        )
        forgotten = {one.partition(":")[2] for one in self._forget().posts}
        wanted = [job for job in wanted if job.search not in forgotten]
        return plans.plan(wanted, self.begun, before)

    def _queries(self) -> Any:
        from covmis_build.claims import read_claims
        from covmis_build.queries import build_queries

        claims = read_claims(self.study.claims_csv)
        for one in self.claims:
            if one not in set(claims["claim_id"]):
                raise InputError(f"no claim has the id {one}")
        claims = claims[claims["selected"].astype(bool)]
        queries = build_queries(claims[claims["claim_id"].isin(self.claims)] if self.claims else claims)
        return queries[queries["kind"].isin(self.kinds)] if self.kinds else queries

    def _forget(self) -> Any:
        from covmis_build.purge import read_list

        return read_list(self.study.purge_csv)

    def how(self, fetch: Fetch, renew: Callable[[], None] | None = None) -> Crawl:
        """The settings of a crawl that talks to a person, and keeps nothing that is to be forgotten."""
        from covmis_build.retrieval.crawl import Crawl

        return Crawl(
            fetch, self.platform, self.prices, self.budget,
            notice=say if not self.as_json else detail, keep=self._forget().without, renew=renew,
        )  # fmt: skip

    def crawl(self, jobs: list[Job], fetch: Fetch, renew: Callable[[], None] | None = None) -> None:
        """Carry out the plan and report."""
        from covmis_build.retrieval import plans
        from covmis_build.retrieval.crawl import crawl

        tell = detail if self.as_json else say
        if not jobs:
            tell("Nothing remains to be collected: every query is covered up to now.")
        with storage.locked(self.notes / ".lock", f"covmis collect {self.platform.name}"):
            plans.write_plan(self.notes / "plan.json", jobs)
            if jobs:
                priced = "no cost" if self.prices.free else f"prices of {self.prices.date}"
                tell(f"searches: {len(jobs):,}; budget: {self.budget}; {priced}")
            with progress() as report:
                done = crawl(jobs, self.folder, self.how(fetch, renew), report)
            gaps = [dataclasses.astuple(one) for one in done.gaps]
            header = ("query_id", "claim_id", "search", "since", "until", "reason")
            storage.write_bytes(self.notes / "gaps.csv", storage.csv_bytes(header, gaps))
        report_on(self, done)

    def estimate_x(self, jobs: list[Job], session: Any) -> None:
        """Say what the estimate costs, ask, and say what the crawl would cost."""
        from covmis_build.retrieval import estimate
        from covmis_build.retrieval.sources import x

        how = self.how(x.searcher(session))
        memory = self.notes / "counts.json"
        known = estimate.read_counts(memory)
        requests, dollars = estimate.price_of_asking(jobs, self.begun, known, self.prices, how.clock.now())
        if not self.as_json:
            say(
                f"The estimate itself is billed: {requests:,} counts requests, ${dollars:,.2f}, within {self.budget}."
            )
        with storage.locked(self.notes / ".lock", "covmis collect x --estimate"), progress() as report:
            found = estimate.estimate_x(jobs, self.begun, session, how, memory, report)
        self._say_estimate(found)
        if found.stopped and not found.stopped.startswith("the budget"):
            raise ServiceError(found.stopped)

    def estimate_free(self, jobs: list[Job]) -> None:
        """Say how many searches there are: the platform tells no counts, and costs nothing."""
        from covmis_build.retrieval.estimate import estimate_free

        self._say_estimate(estimate_free(jobs, self.prices))

    def _say_estimate(self, found: Any) -> None:
        if self.as_json:
            emit_json({"platform": self.platform.name, **dataclasses.asdict(found)})
            return
        posts = "unknown (the platform does not count)" if found.posts is None else f"about {found.posts:,}"
        cost = f"cost: about ${found.dollars:,.2f} at the prices of {found.prices_date}"
        say(
            f"searches: {found.searches:,}",
            f"posts: {posts}",
            f"requests: at least {found.requests:,}",
            "cost: nothing" if self.prices.free else cost,
            f"spent on this estimate: ${found.estimate_dollars:,.2f} ({found.estimate_requests:,} requests)",
        )
        for one in (*found.not_accepted, *([found.stopped] if found.stopped else [])):
            warn(one)


def since_recent(now: dt.datetime) -> str:
    """How far back X's recent search goes."""
    return (now - dt.timedelta(days=7) + dt.timedelta(minutes=5)).strftime("%Y-%m-%dT%H:%M:00Z")


def archive_of(study: Study) -> Path:
    """The folder that collected posts go to: the study's first archive that is one."""
    return next((one for one in study.archives if not one.is_file()), study.folder / "data" / "archive")


def report_on(task: Any, done: Crawled) -> None:
    """Say what was done, what was spent, what is missing; a platform's lasting fault is an error after that."""
    spent = done.spent
    if task.as_json:
        emit_json(
            {
                "platform": task.platform.name, "searches": done.jobs, "finished": done.finished + done.already,
                "posts": spent.posts, "requests": spent.requests, "dollars": spent.dollars,
                "budget": str(task.budget), "prices_date": task.prices.date, "stopped": done.stopped,
                "gaps": [dataclasses.asdict(one) for one in done.gaps],
            }
        )  # fmt: skip
    elif done.jobs:
        money = "" if task.prices.free else f", ${spent.dollars:,.2f} spent"
        say(
            f"Searches complete: {done.finished + done.already:,} of {done.jobs:,}. Posts: {spent.posts:,}, "
            f"requests: {spent.requests:,}{money}."
        )
        if done.gaps:
            say("", f"Gaps: {len(done.gaps):,} (data/collect/{task.platform.name}/gaps.csv)")
            shown = [
                (one.query_id, one.since or "the beginning", one.until, one.reason) for one in done.gaps[:10]
            ]
            grid(shown, ("query", "missing from", "to", "why"))
        if done.stopped:
            say("Go on with --resume.")
    if done.stopped and done.fault != "budget":
        raise ServiceError(done.stopped)
