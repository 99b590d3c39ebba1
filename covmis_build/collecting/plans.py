"""Plan the remaining searches: the study's queries in the platform's syntax, for time not yet covered.

A plan is saved before anything is fetched, so an interrupted crawl resumes with the same windows. A new plan finishes
incomplete windows and adds only uncovered time. Nothing is fetched twice, however often a study is collected.
"""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from covmis_build import storage
from covmis_build.archive import pages
from covmis_build.collecting.crawl import Job
from covmis_build.collecting.prices import Spent
from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from covmis_build.collecting.searching import Searchable

DELAY = dt.timedelta(seconds=60)
"""Posts of the last minute are left for the next time, because platforms need time to index them."""


@dataclass(frozen=True, slots=True)
class Begun:
    """The state of a window: finished, or fetched back to a certain time."""

    job: Job
    finished: bool
    reached: str
    posts: int


RECENT = dt.timedelta(days=7) - dt.timedelta(minutes=5)
"""Range of X's recent search, minus a margin for the duration of the request."""


def remaining(
    queries: pd.DataFrame,
    search: Searchable,
    *,
    since: str,
    until: str,
    begun: Mapping[str, Begun],
    before: Sequence[Job],
    forgotten: Collection[str],
    now: dt.datetime,
) -> list[Job]:
    """Return the searches from `since` to `until` that no window covers, without look-ups of purged posts."""
    start, end = windows(since, until, now)
    if search.mode == "recent":
        earliest = (now - RECENT).strftime("%Y-%m-%dT%H:%M:00Z")
        if end < earliest:
            raise InputError(
                f"--recent finds the last seven days, and the study ends with {until}",
                remedy="Leave --recent out to search the full archive",
            )
        start = max(start, earliest)
    wanted = jobs_of(
        queries, search.platform.name, limit=search.longest, since=start, until=end, mode=search.mode
    )
    return plan([job for job in wanted if job.search not in forgotten], begun, before)


def rest_of_plan(search: Searchable, begun: Mapping[str, Begun], before: Sequence[Job]) -> list[Job]:
    """Return the rest of the last plan, with its time windows."""
    rest = [job for job in before if job.id not in begun or not begun[job.id].finished]
    return [job for job in rest if search.platform.name != "mastodon" or job.mode == search.mode]


def windows(since: str, until: str, now: dt.datetime) -> tuple[str, str]:
    """Convert the study's first and last day to times; an open or future end is now.

    >>> windows("2020-01-22", "2020-01-22", dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    ('2020-01-22T00:00:00Z', '2020-01-23T00:00:00Z')
    """
    latest = now - DELAY
    end = latest
    if until:
        end = min(latest, _moment(until) + (dt.timedelta(days=1) if len(until) == 10 else dt.timedelta()))
    start = _text(_moment(since)) if since else ""
    if start and start >= _text(end):
        raise InputError(
            f"[retrieval] since = {since} leaves no time to collect from", remedy="It must lie in the past"
        )
    return start, _text(end)


def jobs_of(
    queries: pd.DataFrame, source: str, *, limit: int | None, since: str, until: str, mode: str = ""
) -> list[Job]:
    """Return one job per search of the queries on this platform.

    A query for a post on X (`x.com/status/…`) finds posts that quote it, and looks up the post itself.
    """
    from covmis_build.text.expression import as_written
    from covmis_build.text.nodes import Address

    jobs: dict[str, Job] = {}
    for row in queries.to_dict("records"):
        # the platform gets the author's spelling; the canonical form is for comparisons
        expression = as_written(row["kind"], row["text"], row["expression"])
        base = Job(
            source, row["query_id"], row["claim_id"], row["kind"], row["expression"], "", since, until, mode
        )
        try:
            searches = expression.render(source, limit)  # type: ignore[arg-type]
        except InputError as error:
            raise InputError(f"query {row['query_id']}: {error}") from error
        planned = [replace(base, search=search) for search in searches]
        node = expression.node
        if source == "x" and isinstance(node, Address) and node.key.startswith("x.com/status/"):
            native = node.key.rpartition("/")[2]
            planned.append(replace(base, search=native, mode="ids", since="", until=""))
        jobs.update((job.id, job) for job in planned)
    return list(jobs.values())


def known(folder: Path) -> dict[str, Begun]:
    """Return every window with pages in this folder, by its job's id."""
    begun: dict[str, Begun] = {}
    for files in pages.searches(folder):
        last, posts = None, 0
        for stamp in chain.from_iterable(map(pages.stamps, files)):
            last, posts = (last if stamp.unread else stamp), posts + stamp.posts
        if last is not None:
            job = Job(
                last.source,
                last.query_id,
                last.claim_id,
                last.kind,
                last.expression,
                last.search,
                last.since,
                last.until,
                last.mode,
            )
            begun[job.id] = Begun(job, not last.next, last.oldest, posts)
    return begun


def plan(wanted: Iterable[Job], begun: Mapping[str, Begun], before: Sequence[Job]) -> list[Job]:
    """Return the remaining work for these searches: incomplete or planned windows, and uncovered time."""
    earlier = {**{job.id: job for job in before}, **{name: known.job for name, known in begun.items()}}
    by_search: dict[tuple[str, ...], list[Job]] = {}
    for job in earlier.values():
        by_search.setdefault(_search(job), []).append(job)
    remaining: list[Job] = []
    for job in wanted:
        there = by_search.get(_search(job), [])
        remaining += [alike for alike in there if alike.id not in begun or not begun[alike.id].finished]
        remaining += [replace(job, since=since, until=until) for since, until in _uncovered(job, there)]
    return list({job.id: job for job in remaining}.values())


def _search(job: Job) -> tuple[str, ...]:
    return (job.source, job.query_id, job.expression, job.search, job.mode)


def _uncovered(job: Job, there: Sequence[Job]) -> list[tuple[str, str]]:
    """Return the job's window without covered parts. Times are text that sorts chronologically."""
    left = [(job.since, job.until)]
    for window in there:
        cut = []
        for since, until in left:
            if since < window.since:
                cut.append((since, min(until, window.since)))
            if until > window.until:
                cut.append((max(since, window.until), until))
        left = [(since, until) for since, until in cut if since < until]
    return left if there else [(job.since, job.until)]


def write_plan(path: Path, jobs: Sequence[Job], begun: str = "") -> None:
    """Write the complete plan; its budget counts from `begun`, when it was made."""
    rows = [asdict(job) for job in jobs]
    plan = {"version": 1, "begun": begun, "jobs": rows}
    storage.write_text(path, json.dumps(plan, ensure_ascii=False, indent=1) + "\n")


def begun_at(path: Path) -> str:
    """Return when the last plan was made; empty for plans of older versions."""
    try:
        return str(json.loads(path.read_text("utf-8")).get("begun", ""))
    except (FileNotFoundError, ValueError, AttributeError):
        return ""


def spent_since(folder: Path, begun: str, files: str = "*.jsonl.zst", *, mode: str = "") -> Spent:
    """Return the cost of all pages fetched since this time; with `mode`, of such searches only."""
    spent = Spent()
    for paths in pages.searches(folder, files) if begun else ():
        for stamp in chain.from_iterable(map(pages.stamps, paths)):
            if stamp.retrieved_at >= begun and mode in {"", stamp.mode}:
                spent.posts, spent.users = spent.posts + stamp.posts, spent.users + stamp.users
                spent.requests += stamp.requests
                spent.dollars = round(spent.dollars + stamp.cost, 6)
    return spent


def read_plan(path: Path) -> list[Job]:
    """Read the last plan; empty if there was none."""
    if not path.exists():
        return []
    try:
        data: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return [Job(**row) for row in data["jobs"]]
    except (ValueError, KeyError, TypeError):
        raise InputError(
            "is damaged", file=path, remedy="Delete it: planning again asks for nothing that is there already"
        ) from None


def uncollected(folder: Path, queries: pd.DataFrame) -> list[str]:
    """Return ids of queries not completely collected since their last change."""
    finished: set[tuple[str, str]] = set()
    open_ones: set[tuple[str, str]] = set()
    for begun in known(folder).values():
        (finished if begun.finished else open_ones).add((begun.job.query_id, begun.job.expression))
    done = finished - open_ones
    return [
        query_id
        for query_id, expression in zip(queries["query_id"], queries["expression"], strict=True)
        if (query_id, expression) not in done
    ]


def _moment(text: str) -> dt.datetime:
    moment = dt.datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)


def _text(moment: dt.datetime) -> str:
    return moment.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
