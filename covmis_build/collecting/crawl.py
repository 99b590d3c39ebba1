"""Run searches to their end within a budget: page by page, each on disk before the next request.

The stored pages show what was fetched. An interrupted crawl can therefore be resumed: at most the one page in transfer is
requested again.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from covmis_build import storage
from covmis_build.archive import pages
from covmis_build.collecting.prices import Budget, Prices, Spent
from covmis_build.collecting.retries import STOPPING, Clock, Fault, persistently
from covmis_build.errors import counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from covmis_build.engine import Progress

PATIENCE = 1000
"""Maximum number of consecutive empty pages: an empty page is not the end, but a search must end."""

OFTEN = 20
"""Number of pages between progress reports of a long search."""


@dataclass(frozen=True, slots=True)
class Job:
    """One search in one time window; `expression` is the study's, `search` the one sent to the platform."""

    source: str
    query_id: str
    claim_id: str
    kind: str
    expression: str
    search: str
    since: str
    until: str
    mode: str = ""

    @property
    def id(self) -> str:
        """The same id for the same search and window in every run."""
        text = json.dumps(list(asdict(self).values()), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def path(self, folder: Path) -> Path:
        """Return the path of its pages."""
        readable = re.sub(r"[^A-Za-z0-9._-]+", "_", self.query_id).strip("._")[:60] or self.kind or "query"
        return folder / f"{readable}-{self.id}.jsonl.zst"


@dataclass(frozen=True, slots=True)
class Page:
    """One response, unchanged, with what the crawl needs. `next` is the next position; empty at the end.

    `lost` is content that the platform has but does not show.
    """

    payload: dict[str, Any]
    next: str = ""
    posts: int = 0
    users: int = 0
    oldest: str = ""
    newest: str = ""
    url: str = ""
    notes: tuple[str, ...] = ()
    lost: str = ""
    unread: str = ""
    """Why a response that may have been billed cannot be parsed. It is stored; `--resume` requests it again."""


Fetch = Callable[[Job, str, int], Page]
"""Request one page: the job, the position, and the maximum number of posts."""


@dataclass(frozen=True, slots=True)
class Platform:
    """Properties of a source: posts per page, seconds between requests, billed authors per post."""

    name: str
    version: str
    most: int
    least: int = 1
    pace: float = 0.0
    users_each: int = 0


@dataclass(frozen=True, slots=True)
class Gap:
    """A time range that a search did not cover, with the reason."""

    query_id: str
    claim_id: str
    search: str
    since: str
    until: str
    reason: str


@dataclass(slots=True)
class Crawled:
    """The result of a crawl: cost, gaps, and the reason if it stopped early."""

    jobs: int = 0
    finished: int = 0
    already: int = 0
    spent: Spent = field(default_factory=Spent)
    gaps: list[Gap] = field(default_factory=list)
    stopped: str = ""
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Crawl:
    """Settings of a crawl: fetch function, prices, budget, callback, and cost so far."""

    fetch: Fetch
    platform: Platform
    prices: Prices
    budget: Budget = Budget()
    clock: Clock = Clock()
    notice: Callable[[str], None] = lambda _: None
    keep: Callable[[dict[str, Any]], dict[str, Any]] = lambda payload: payload
    renew: Callable[[], None] | None = None
    spent: Spent = field(default_factory=Spent)
    earlier: Spent = field(default_factory=Spent)
    """Cost of the same plan before it was stopped."""


def crawl(jobs: Sequence[Job], folder: Path, how: Crawl, progress: Progress) -> Crawled:
    """Fetch all pages of all jobs that are not on disk. Stops cleanly at the budget or a permanent error."""
    crawled = Crawled(jobs=len(jobs), spent=how.spent)
    pages.join_ended(folder)
    for number, job in enumerate(jobs):
        progress(how.platform.name, number, len(jobs))
        path = job.path(folder)
        last = pages.resume(path)
        if last is not None and not last.next:
            crawled.already += 1
            continue
        if crawled.stopped:
            crawled.gaps.append(_gap(job, last, crawled.stopped))
            continue
        before = crawled.spent.posts
        reason = ""
        try:
            if not _fetched(job, path, last, how, crawled):
                crawled.fault, reason = "budget", f"the budget ({how.budget}) is used up"
        except Fault as fault:
            reason = f"not accepted: {fault.detail}"
            if fault.kind in STOPPING:
                crawled.fault, reason = fault.kind, _sentence(how.platform.name, fault)
        if reason:
            how.notice(reason)
            crawled.gaps.append(_gap(job, pages.resume(path), reason))
            crawled.stopped = reason if crawled.fault else ""
        else:
            crawled.finished += 1
            pages.join(path)
            how.notice(_line(job, crawled.spent.posts - before, how, len(jobs) - number - 1))
    progress(how.platform.name, len(jobs), len(jobs))
    return crawled


def _fetched(job: Job, path: Path, last: pages.Stamp | None, how: Crawl, crawled: Crawled) -> bool:
    """Fetch the rest of one search. True if it reached its end, false at the budget's limit."""
    cursor, number, empty = (last.next, last.page + 1, 0) if last else ("", 1, 0)
    reached = last.oldest if last else ""
    spent, platform, visited = crawled.spent, how.platform, {cursor}
    while True:
        most = spent.allows(
            how.budget.less(how.earlier),
            how.prices,
            most=platform.most,
            least=platform.least,
            users_each=platform.users_each,
        )
        if not most:
            return False
        tried = spent.requests
        page = persistently(
            lambda cursor=cursor, most=most: _paced_request(job, cursor, most, how, spent),  # type: ignore[misc]
            clock=how.clock,
            notice=how.notice,
            renew=how.renew,
        )
        cost = how.prices.cost(posts=page.posts, users=page.users, requests=1)
        spent.posts, spent.users = spent.posts + page.posts, spent.users + page.users
        spent.dollars = round(spent.dollars + cost, 6)
        notes, following = list(page.notes), page.next
        empty = 0 if page.posts else empty + 1
        reached = min(filter(None, (reached, page.oldest)), default="")
        if following and (following in visited or empty >= PATIENCE):
            notes.append("gave up: the platform sends the same pages again and again")
            how.notice(
                f"{job.query_id}: the platform sends the same pages again and again; what remains of this search is not fetched"
            )
            following = ""
            crawled.gaps.append(
                _gap(job, None, "the platform sends the same pages again and again", until=reached)
            )
        if page.lost:
            notes.append(page.lost)
            crawled.gaps.append(_gap(job, None, page.lost, until=reached))
        stamp = pages.Stamp(
            job=job.id,
            source=job.source,
            query_id=job.query_id,
            claim_id=job.claim_id,
            kind=job.kind,
            expression=job.expression,
            search=job.search,
            since=job.since,
            until=job.until,
            page=number,
            next=following,
            url=page.url,
            version=platform.version,
            retrieved_at=storage.moment(how.clock.now()),
            posts=page.posts,
            users=page.users,
            cost=cost,
            requests=spent.requests - tried,
            oldest=reached,
            newest=page.newest,
            notes=notes,
            mode=job.mode,
            unread=page.unread,
        )
        pages.append(path, how.keep(page.payload), stamp)
        if page.unread:
            raise Fault("malformed", page.unread)
        if not following:
            return True
        visited.add(following)
        if number % OFTEN == 0:
            how.notice(f"{job.query_id}: page {number:,}, down to {reached or 'no post yet'}{_money(how)}")
        cursor, number = following, number + 1


def _paced_request(job: Job, cursor: str, most: int, how: Crawl, spent: Spent) -> Page:
    """Make one request at the platform's allowed rate."""
    if how.platform.pace and spent.requests:
        how.clock.sleep(how.platform.pace)
    spent.requests += 1
    return how.fetch(job, cursor, most)


def _gap(job: Job, last: pages.Stamp | None, reason: str, *, until: str = "") -> Gap:
    """Return the missing part of a search: pages come newest first, so it is the time before the oldest post."""
    reached = until or (last.oldest if last else "")
    return Gap(job.query_id, job.claim_id, job.search, job.since, reached or job.until, reason)


def _line(job: Job, posts: int, how: Crawl, remaining: int) -> str:
    name = f"{job.query_id} ({job.kind})" if job.query_id else job.search
    return f"{name}: {counted(posts, 'posts')}{_money(how)}; searches left: {remaining:,}"


def _money(how: Crawl) -> str:
    return "" if how.prices.free else f"; spent ${how.spent.dollars:,.2f} of {how.budget}"


def _sentence(platform: str, fault: Fault) -> str:
    remedy = {
        "usage_cap": "the plan's monthly cap is used up; go on with --resume when it is renewed",
        "no_credit": "the account has no credit left; add some and go on with --resume",
        "refused": "the platform does not accept the credentials",
        "outage": "the platform cannot be reached; go on later with --resume",
        "malformed": "the platform's answers cannot be read; go on later with --resume",
        "rate_limit": "the platform's rate limit does not end; go on later with --resume",
        "expired": "the session expired and was not renewed; go on with --resume",
    }
    return f"{platform}: {remedy[fault.kind]} ({fault.detail})"
