"""Collect posts for a study: its queries as searches, pages into its archive, without posts on its purge list."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from dataclasses import asdict, astuple, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covmis_build import storage
from covmis_build.building.purge import read_list
from covmis_build.collecting import cost, plans
from covmis_build.collecting.crawl import Crawl, Crawled, Gap, Job, crawl
from covmis_build.collecting.prices import Budget, Prices, Spent, read_budget, read_prices
from covmis_build.collecting.searching import Connection, Searchable, Source, account, searchable
from covmis_build.collecting.sources import ids as id_lists
from covmis_build.engine import silent, unheard
from covmis_build.errors import InputError, NoClaim, ServiceError, counted
from covmis_build.report.result import Result
from covmis_build.report.summary import Listing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd

    from covmis_build.archive.forgetting import Forget
    from covmis_build.collecting.cost import Estimate
    from covmis_build.collecting.sources.ids import Hydrated, IdList
    from covmis_build.engine import Notice, Progress
    from covmis_build.report.summary import Summary
    from covmis_build.study.of_study import OfStudy

GAPS = ("query_id", "claim_id", "search", "since", "until", "reason")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to collect, the budget, and the progress callback."""

    budget: str = ""
    resume: bool = False
    recent: bool = False
    expand: Sequence[str] = ()
    claims: Sequence[str] = ()
    kinds: Sequence[str] = ()
    prices: Path | str | None = None
    server: str = ""
    notice: Notice = unheard
    warn: Notice = unheard
    progress: Progress = silent


@dataclass(frozen=True, slots=True, repr=False)
class Collected(Result):
    """The result of a crawl: cost, gaps, and the reason if it stopped early."""

    platform: str
    budget: Budget
    prices: Prices
    crawled: Crawled

    @property
    def gaps(self) -> list[Gap]:
        """Return the time ranges that a search did not cover."""
        return self.crawled.gaps

    def to_dict(self) -> dict[str, Any]:
        """As `covmis collect --json` prints it."""
        crawled, spent = self.crawled, self.crawled.spent
        return {
            "platform": self.platform,
            "searches": crawled.jobs,
            "finished": crawled.finished + crawled.already,
            "posts": spent.posts,
            "requests": spent.requests,
            "dollars": spent.dollars,
            "budget": str(self.budget),
            "prices_date": self.prices.date,
            "stopped": crawled.stopped,
            "gaps": [asdict(gap) for gap in crawled.gaps],
        }

    @property
    def summary(self) -> Summary:
        """Return what was fetched and spent, and the first gaps; empty if nothing was left to do."""
        crawled, spent = self.crawled, self.crawled.spent
        if not crawled.jobs:
            return []
        money = "" if self.prices.free else f", ${spent.dollars:,.2f} spent"
        complete = f"Searches complete: {crawled.finished + crawled.already:,} of {crawled.jobs:,}."
        used = f"Posts: {spent.posts:,}, requests: {spent.requests:,}{money}."
        parts: list[str | Listing] = [f"{complete} {used}"]
        if self.gaps:
            rows = [
                (gap.query_id, gap.since or "the beginning", gap.until, gap.reason) for gap in self.gaps[:10]
            ]
            parts += ["", f"Gaps: {len(self.gaps):,} (data/collect/{self.platform}/gaps.csv)"]
            parts.append(Listing(("query", "missing from", "to", "why"), rows))
        return [*parts, *(["Go on with --resume."] if crawled.stopped else [])]

    def check(self) -> None:
        """Raise a permanent platform error. An exhausted budget is not an error."""
        if self.crawled.stopped and self.crawled.fault != "budget":
            raise ServiceError(self.crawled.stopped)


@dataclass(frozen=True, slots=True)
class _Task:
    """One platform of a study, with the plan of its remaining work."""

    search: Searchable
    prices: Prices
    budget: Budget
    forget: Forget
    folder: Path
    notes: Path
    begun: Mapping[str, plans.Begun]
    jobs: list[Job]
    since: str
    """When the plan was made. Its budget counts from then on."""

    def crawl(self, connection: Connection, wanted: Wanted) -> Crawl:
        """Return the crawl settings for this platform. Posts on the purge list are not stored."""
        return Crawl(
            connection.fetch,
            self.search.platform,
            self.prices,
            self.budget,
            notice=wanted.notice,
            keep=self.forget.without,
            renew=connection.renew,
            earlier=plans.spent_since(self.folder, self.since),
        )


def _archive_here(study: OfStudy) -> Path:
    """Return the archive for collected posts."""
    folder = study.places.collected
    if folder not in study.places.archives:
        raise InputError(
            "[retrieval] archive names no folder for what is collected",
            file=study.places.study_toml,
            remedy='Add "data/archive" to it',
        )
    return folder


def _task(study: OfStudy, source: str, wanted: Wanted) -> _Task:
    """Plan the remaining work: that of the last plan, plus new requests by the queries."""
    if source == Source.X and not wanted.budget:
        raise InputError(
            "collecting from X costs money, and so does an estimate",
            remedy="Say how much you allow: --budget 25 (dollars); with --estimate, only the estimate spends",
        )
    search = searchable(source, recent=wanted.recent, expand=wanted.expand, server=wanted.server)
    prices, budget = _affordable(source, wanted)
    places, forget = study.places, read_list(study.places.purge_csv)
    folder, notes = _archive_here(study) / source, places.notes / source
    begun, before = plans.known(folder), plans.read_plan(notes / "plan.json")
    now = storage.moment()
    since = plans.begun_at(notes / "plan.json") if wanted.resume else now
    if wanted.resume:
        jobs = plans.rest_of_plan(search, begun, before)
    else:
        jobs = plans.remaining(
            _queries(study, wanted),
            search,
            since=study.settings.retrieval.since,
            until=study.settings.retrieval.until,
            begun=begun,
            before=before,
            forgotten={post_id.partition(":")[2] for post_id in forget.posts},
            now=dt.datetime.now(dt.UTC),
        )
    return _Task(search, prices, budget, forget, folder, notes, begun, jobs, since)


def _affordable(source: str, wanted: Wanted) -> tuple[Prices, Budget]:
    prices, budget = read_prices(source, wanted.prices), read_budget(wanted.budget)
    if prices.free and budget.dollars is not None:
        raise InputError(f"{source} costs no money", remedy="Give the budget as 10000posts or 500requests")
    return prices, budget


def _queries(study: OfStudy, wanted: Wanted) -> pd.DataFrame:
    """Return the queries of the selected claims, or of the named ones."""
    from covmis_build.claims.lists import read_claims
    from covmis_build.queries.build import build_queries

    claims = read_claims(study.places.claims_csv)
    for claim_id in wanted.claims:
        if claim_id not in set(claims["claim_id"]):
            raise NoClaim.of(claim_id, claims["claim_id"])
    claims = claims[claims["selected"].astype(bool)]
    queries = build_queries(claims[claims["claim_id"].isin(wanted.claims)] if wanted.claims else claims)
    return queries[queries["kind"].isin(wanted.kinds)] if wanted.kinds else queries


def collect(study: OfStudy, source: str, wanted: Wanted) -> Collected:
    """Fetch posts that the queries request and that are missing. Every page is saved before the next request."""
    return _crawled(study, source, _task(study, source, wanted), wanted)


def collect_account(study: OfStudy, module: str, query: str, wanted: Wanted) -> Collected:
    """Fetch the posts of one public channel or account since [retrieval] since that are missing.

    Every page is saved before the next request. The same call again finishes what was interrupted and adds newer posts;
    `resume` only finishes.
    """
    search, asked = account(module, query)
    source, settings = search.platform.name, study.settings.retrieval
    prices, budget = _affordable(source, wanted)
    folder, notes = _archive_here(study) / source, study.places.notes / source
    begun, before = plans.known(folder), plans.read_plan(notes / "plan.json")
    since, until = plans.windows(settings.since, settings.until, dt.datetime.now(dt.UTC))
    job = Job(source, "", "", module, asked, asked, since, until, module)
    jobs = plans.plan([job], begun, before)
    if wanted.resume:
        planned = {*begun, *(earlier.id for earlier in before)}
        jobs = [job for job in jobs if job.id in planned]
    since_plan = plans.begun_at(notes / "plan.json") if wanted.resume else storage.moment()
    forget = read_list(study.places.purge_csv)
    task = _Task(search, prices, budget, forget, folder, notes, begun, jobs, since_plan)
    return _crawled(study, source, task, wanted)


def _crawled(study: OfStudy, source: str, task: _Task, wanted: Wanted) -> Collected:
    if not task.jobs:
        wanted.notice("Nothing remains to be collected: every query is covered up to now.")
    with (
        study.locked(task.notes, f"covmis collect {source}"),
        task.search.connect() as connection,
    ):
        plans.write_plan(task.notes / "plan.json", task.jobs, task.since)
        if task.jobs:
            priced = "no cost" if task.prices.free else f"prices of {task.prices.date}"
            wanted.notice(f"searches: {len(task.jobs):,}; budget: {task.budget}; {priced}")
        crawled = crawl(task.jobs, task.folder, task.crawl(connection, wanted), wanted.progress)
        rows = [astuple(gap) for gap in crawled.gaps]
        storage.write_bytes(task.notes / "gaps.csv", storage.csv_bytes(GAPS, rows))
    return Collected(source, task.budget, task.prices, crawled)


def estimate(study: OfStudy, source: str, wanted: Wanted) -> Estimate:
    """Estimate the posts and cost of a crawl. Only X offers (and bills) counts; other platforms are not contacted."""
    task = _task(study, source, wanted)
    if source != Source.X:
        return replace(cost.estimate_free(task.jobs, task.prices), platform=source)
    memory = task.notes / "counts.json"
    with task.search.connect() as connection:
        how = task.crawl(connection, wanted)
        requests, dollars = cost.price_of_asking(
            task.jobs, task.begun, cost.read_counts(memory), task.prices, how.clock.now()
        )
        wanted.notice(
            f"The estimate itself is billed: {requests:,} counts requests, ${dollars:,.2f}, within {task.budget}."
        )
        with study.locked(task.notes, f"covmis collect {source} --estimate"):
            asked = cost.estimate_x(task.jobs, task.begun, connection.session, how, memory, wanted.progress)
            return replace(asked, platform=source)


@dataclass(frozen=True, slots=True, repr=False)
class LookedUp(Result):
    """The result of looking up a list of ids: outcomes and cost."""

    listed: IdList
    outcomes: dict[str, tuple[str, str]]
    """Post id → outcome, and when it was found."""
    parts: list[Hydrated] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        """Return the number of ids per outcome."""
        counted = Counter(outcome for outcome, _ in self.outcomes.values())
        return {outcome: counted[outcome] for outcome in id_lists.OUTCOMES}

    @property
    def left(self) -> int:
        """Return the number of ids not looked up yet."""
        return len(self.listed.post_ids) - len(self.outcomes)

    @property
    def spent(self) -> Spent:
        """Return the cost."""
        return self.parts[-1].passes[-1].spent if self.parts else Spent()

    @property
    def stopped(self) -> str:
        """Return why it stopped early; empty if it did not."""
        return next((part.stopped for part in self.parts if part.stopped), "")

    def to_dict(self) -> dict[str, Any]:
        """As `covmis collect ids --json` prints it."""
        return {
            "ids": len(self.listed.post_ids),
            "not_looked_up": self.left,
            "requests": self.spent.requests,
            "dollars": self.spent.dollars,
            "outcomes": self.counts,
            "stopped": self.stopped,
        }

    @property
    def summary(self) -> Summary:
        """Return the outcomes, the cost, and what is left."""
        spent = f"{self.spent.requests:,} requests, ${self.spent.dollars:,.2f} spent."
        why = f": {self.stopped}" if self.stopped else ""
        left = [f"{self.left:,} ids are not looked up yet{why}. Go on with --resume."] if self.left else []
        table = Listing(("outcome", "ids"), self.counts.items())
        return [table, "", f"{spent} Each id stands in data/collect/outcomes.csv.", *left]

    def check(self) -> None:
        """Raise a permanent platform error. An exhausted budget is not an error."""
        if {crawled.fault for part in self.parts for crawled in part.passes} - {"", "budget"}:
            raise ServiceError(self.stopped)


@dataclass(frozen=True, slots=True, repr=False)
class PricedList(Result):
    """The maximum cost of looking up a list. No request was made."""

    ids: int
    on_x: int
    dollars: float
    prices_date: str

    def to_dict(self) -> dict[str, Any]:
        """As `covmis collect ids --estimate --json` prints it."""
        return asdict(self) | {"estimate_dollars": 0.0}

    @property
    def summary(self) -> Summary:
        """Return the number of ids and X's price, and that nothing was spent."""
        cost = f"at most ${self.dollars:,.2f} at the prices of {self.prices_date}"
        return [
            f"ids: {self.ids:,}, of which {self.on_x:,} on X",
            f"cost: {cost}; posts that are gone are not billed",
            "spent on this estimate: nothing",
        ]


def price_of_ids(study: OfStudy, file: Path | str | None, wanted: Wanted) -> PricedList:
    """Compute the maximum cost of looking up this list, or the rest of the last one."""
    listed, _, _ = _list(study, file, again=False, wanted=wanted)
    return _priced(listed, wanted)


def _priced(listed: IdList, wanted: Wanted) -> PricedList:
    prices, on_x = read_prices(Source.X, wanted.prices), len(listed.of("x"))
    return PricedList(len(listed.post_ids), on_x, prices.cost(posts=on_x), prices.date)


def collect_ids(study: OfStudy, file: Path | str | None, wanted: Wanted, *, again: bool = False) -> LookedUp:
    """Look up all remaining ids of a list and record the outcomes. Without a file: the last list."""
    listed, day, begun = _list(study, file, again=again, wanted=wanted)
    priced = _priced(listed, wanted)
    if priced.on_x and not wanted.budget:
        raise InputError(
            f"looking up {counted(priced.on_x, 'posts')} on X costs up to ${priced.dollars:,.2f}",
            remedy=f"Say how much you allow: --budget {priced.dollars:.2f}",
        )
    notes = study.places.notes
    _archive_here(study)
    looked_up = LookedUp(listed, {})
    with study.locked(notes, "covmis collect ids"):
        id_lists.write_list(notes / "ids.json", listed, day, begun)
        for prefix, part in _parts(study, listed, wanted, day, "" if file else begun):
            looked_up.parts.append(part)
            found = {f"{prefix}{native}": state for native, state in part.outcomes.items()}
            looked_up.outcomes.update(
                {post_id: found[post_id] for post_id in listed.post_ids if post_id in found}
            )
            id_lists.write_outcomes(notes / "outcomes.csv", looked_up.outcomes)
    return looked_up


def _list(study: OfStudy, file: Path | str | None, *, again: bool, wanted: Wanted) -> tuple[IdList, str, str]:
    """Return the list without purged ids, the day that identifies it, and when it was registered."""
    day = dt.datetime.now(dt.UTC).strftime("%Y-%m-%d") if again else ""
    if file is not None:
        listed, begun = id_lists.read_ids(Path(file)), storage.moment()
    else:
        listed, day, begun = id_lists.last_list(study.places.notes / "ids.json")
    forget = read_list(study.places.purge_csv)
    kept = tuple(post_id for post_id in listed.post_ids if post_id not in forget.posts)
    if len(kept) < len(listed.post_ids):
        left_out = len(listed.post_ids) - len(kept)
        wanted.warn(f"{left_out:,} ids stand in queries/purge.csv and are left out")
    return id_lists.IdList(kept), day, begun


def _parts(
    study: OfStudy, listed: IdList, wanted: Wanted, day: str, begun: str
) -> Iterator[tuple[str, Hydrated]]:
    """Return each platform's part with its outcomes. They share one budget; dollars matter only if posts cost some.

    The cost from before an interruption counts.
    """
    budget, forget, spent = read_budget(wanted.budget), read_list(study.places.purge_csv), Spent()
    earlier = plans.spent_since(study.places.collected, begun, "*/*.jsonl.zst", mode="ids")
    for part in id_lists.lookups(listed):
        name = part.platform.name
        prices = read_prices(name, wanted.prices if name == Source.X else None)
        allowed = Budget(None, budget.posts, budget.requests) if prices.free else budget
        how = Crawl(
            part.look(part.ids),
            part.platform,
            prices,
            allowed,
            notice=wanted.notice,
            keep=forget.without,
            renew=part.renew,
            spent=spent,
            earlier=earlier,
        )
        yield (
            part.prefix,
            id_lists.hydrate(part, study.places.collected / name, how, wanted.progress, again=day),
        )
