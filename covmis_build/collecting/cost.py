"""Estimate the posts and cost of a crawl, from the platform if it offers counts, and the cost of the estimate."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from covmis_build import storage
from covmis_build.collecting.prices import Spent
from covmis_build.collecting.retries import Fault, persistently
from covmis_build.collecting.sources import x
from covmis_build.errors import ServiceError
from covmis_build.report.result import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from covmis_build.collecting.crawl import Crawl, Job
    from covmis_build.collecting.plans import Begun
    from covmis_build.collecting.prices import Prices
    from covmis_build.engine import Progress
    from covmis_build.report.summary import Summary


@dataclass(frozen=True, slots=True, repr=False)
class Estimate(Result):
    """Posts (None: unknown), requests and dollars of a crawl, and the cost of the estimate itself."""

    searches: int
    posts: int | None
    requests: int
    dollars: float | None
    prices_date: str
    estimate_requests: int
    estimate_dollars: float
    stopped: str = ""
    not_accepted: tuple[str, ...] = ()
    budget_used_up: bool = False
    """True if the budget was exhausted. Otherwise, if it stopped, the platform failed."""
    platform: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As `covmis collect --estimate --json` prints it."""
        return {name: value for name, value in Result.to_dict(self).items() if name != "budget_used_up"}

    @property
    def warnings(self) -> list[str]:
        """Return what X refused, and why the estimate stopped early."""
        return [*self.not_accepted, *([self.stopped] if self.stopped else [])]

    @property
    def summary(self) -> Summary:
        """Return searches, posts, requests and cost."""
        posts = "unknown (the platform does not count)" if self.posts is None else f"about {self.posts:,}"
        cost = f"about ${self.dollars:,.2f} at the prices of {self.prices_date}"
        return [
            f"searches: {self.searches:,}",
            f"posts: {posts}",
            f"requests: at least {self.requests:,}",
            f"cost: {'nothing' if self.posts is None else cost}",
            f"spent on this estimate: ${self.estimate_dollars:,.2f} ({self.estimate_requests:,} requests)",
        ]

    def check(self) -> None:
        """Raise a permanent platform error. An exhausted budget is not an error."""
        if self.stopped and not self.budget_used_up:
            raise ServiceError(self.stopped)


def price_of_asking(
    jobs: Sequence[Job], begun: Mapping[str, Begun], remembered: Mapping[str, int], prices: Prices, now: float
) -> tuple[int, float]:
    """Return the number of counts requests for an estimate, and their price."""
    moment = dt.datetime.fromtimestamp(now, dt.UTC)
    left = [_rest(job, begun) for job in jobs if job.mode != "ids" and _key(job, begun) not in remembered]
    requests = sum(x.counts_requests(job, moment) for job in left)
    return requests, prices.cost(counts=requests)


def estimate_x(
    jobs: Sequence[Job],
    begun: Mapping[str, Begun],
    session: x.Session,
    how: Crawl,
    memory: Path,
    progress: Progress,
) -> Estimate:
    """Request X's counts for the remaining searches. They are stored, so that no count is paid for twice."""
    remembered = read_counts(memory)
    spent = Spent()
    stopped, refused, used_up = "", [], False
    for number, job in enumerate(jobs):
        progress("counts", number, len(jobs))
        if job.mode == "ids" or _key(job, begun) in remembered:
            continue
        left = how.budget.dollars
        price = how.prices.cost(
            counts=x.counts_requests(job, dt.datetime.fromtimestamp(how.clock.now(), dt.UTC))
        )
        if left is not None and spent.dollars + price > left + 1e-9:
            used_up, stopped = True, f"the budget ({how.budget}) does not allow the rest of the estimate"
            break
        try:
            remembered[_key(job, begun)] = _counted(_rest(job, begun), session, how, spent)
        except Fault as fault:
            if fault.kind != "bad_query":
                stopped = f"x: {fault.detail}"
                break
            refused.append(f"{job.query_id}: {fault.detail}")
        storage.write_text(memory, json.dumps(remembered, indent=0, sort_keys=True) + "\n")
    progress("counts", len(jobs), len(jobs))
    summed = _summed(jobs, begun, remembered, how, spent)
    return replace(summed, stopped=stopped, not_accepted=tuple(refused), budget_used_up=used_up)


def _counted(job: Job, session: x.Session, how: Crawl, spent: Spent) -> int:
    def ask(call: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        def once() -> dict[str, Any]:
            if how.platform.pace and spent.requests:
                how.clock.sleep(how.platform.pace)
            spent.requests += 1
            spent.dollars = how.prices.cost(counts=spent.requests)
            return call()

        return persistently(once, clock=how.clock, notice=how.notice)

    return x.count(session, job, ask)


def _summed(
    jobs: Sequence[Job],
    begun: Mapping[str, Begun],
    remembered: Mapping[str, int],
    how: Crawl,
    spent: Spent,
) -> Estimate:
    """Compute requests and dollars from the counts; a crawl needs at least one request per search."""
    posts = requests = 0
    for job in jobs:
        posts_of_job = 1 if job.mode == "ids" else remembered.get(_key(job, begun), 0)
        posts += posts_of_job
        requests += max(1, -(-posts_of_job // how.platform.most))
    users = posts * how.platform.users_each
    dollars = how.prices.cost(posts=posts, users=users, requests=requests)
    return Estimate(len(jobs), posts, requests, dollars, how.prices.date, spent.requests, spent.dollars)


def estimate_free(jobs: Sequence[Job], prices: Prices) -> Estimate:
    """Return an estimate for platforms without cost and counts: at least one request per search."""
    return Estimate(len(jobs), None, len(jobs), 0.0, prices.date, 0, 0.0)


def read_counts(memory: Path) -> dict[str, int]:
    """Read the stored counts. An unreadable file is an error, otherwise they would be paid for again."""
    try:
        return {str(name): int(value) for name, value in json.loads(memory.read_text("utf-8")).items()}
    except (FileNotFoundError, ValueError, AttributeError):
        return {}


def _rest(job: Job, begun: Mapping[str, Begun]) -> Job:
    """Return the remaining part of an incomplete window: pages come newest first."""
    known = begun.get(job.id)
    return replace(job, until=known.reached[:19] + "Z") if known and known.reached else job


def _key(job: Job, begun: Mapping[str, Begun]) -> str:
    return _rest(job, begun).id
