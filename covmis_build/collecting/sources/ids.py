"""Lists of post ids: read, checked, and looked up until each id has an outcome.

Outcomes: available, deleted, protected, suspended, unknown. "Not found" is not final: such ids are requested again at
the end.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import msgspec

from covmis_build import credentials, storage
from covmis_build.archive import pages
from covmis_build.archive.ids import post_id
from covmis_build.collecting.crawl import Crawl, Crawled, Fetch, Job, Platform, crawl
from covmis_build.errors import InputError
from covmis_build.files.columns import POSTS, need
from covmis_build.files.ids import check_ids, check_rounded, not_of_x
from covmis_build.files.reading import read_table, report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from covmis_build.engine import Progress

OUTCOMES = ("available", "deleted", "protected", "suspended", "unknown")
UNRESOLVED = frozenset({"deleted", "unknown"})


@dataclass(frozen=True, slots=True)
class IdList:
    """The ids of a file, each once and in order."""

    post_ids: tuple[str, ...]

    def of(self, prefix: str) -> list[str]:
        """Return the native ids of one platform: `x`, `bsky` or `masto`."""
        return [post_id.partition(":")[2] for post_id in self.post_ids if post_id.startswith(f"{prefix}:")]


def read_ids(path: Path) -> IdList:
    """Read the ids from a text file (one per line) or a CSV file with a column such as `post_id` or `tweet_id`."""
    sheet = read_table(path)
    name = need(path, sheet.header, POSTS["id"])
    cells = [row[name].strip().strip("\"'") for row in sheet.whole(path)]
    report(path, sheet)
    check_rounded(path, sheet.rounded, [name])
    check_ids(path, [cell.removeprefix("x:") for cell in cells], rows=sheet.numbers)
    if why := not_of_x(cells):
        raise InputError(
            why, file=path, remedy="Write x: in front of those that are X's; covmis fetches no others"
        )
    post_ids: dict[str, None] = {}
    for row, cell in zip(sheet.numbers, cells, strict=True):
        read = post_id(cell)
        if cell and not read:
            raise InputError(
                f"'{cell[:60]}' is not a post id",
                file=path,
                row=row,
                remedy="Like 1255000000000000000, bsky:did:plc:…/rkey, or masto:server/id",
            )
        if read:
            post_ids[read] = None
    return IdList(tuple(post_ids))


@dataclass(slots=True)
class Hydrated:
    """Each id's outcome with its time, and the results of both passes."""

    outcomes: dict[str, tuple[str, str]] = field(default_factory=dict)
    passes: list[Crawled] = field(default_factory=list)

    @property
    def stopped(self) -> str:
        """Why it stopped early; empty if it did not."""
        return next((crawled.stopped for crawled in self.passes if crawled.stopped), "")


def hydrate(part: Lookup, folder: Path, how: Crawl, progress: Progress, *, again: str = "") -> Hydrated:
    """Look up a platform's ids, and again those not found. Pages are kept, so it can be resumed.

    A list is looked up once; `again` (such as a day) marks a repetition.
    """
    hydrated = Hydrated()
    source = part.platform.name

    def one_pass(ids: Sequence[str], which: str) -> dict[str, tuple[str, str]]:
        job = _job(ids, source, again, f"{part.prefix} {which}")
        hydrated.passes.append(crawl([job], folder, replace(how, fetch=part.look(ids)), progress))
        return _read(job, folder, part.outcomes)

    hydrated.outcomes = one_pass(part.ids, "first pass")
    if hydrated.passes[0].gaps:
        return hydrated
    rest = [native for native in part.ids if hydrated.outcomes.get(native, ("unknown", ""))[0] in UNRESOLVED]
    later = one_pass(rest, "second pass") if rest else {}
    if hydrated.passes[-1].gaps:
        return hydrated
    hydrated.outcomes.update({native: state for native, state in later.items() if state[0] != "unknown"})
    when = max((at for _, at in hydrated.outcomes.values()), default=storage.moment(how.clock.now()))
    hydrated.outcomes = {native: hydrated.outcomes.get(native, ("unknown", when)) for native in part.ids}
    return hydrated


def _job(ids: Sequence[str], source: str, again: str, which: str) -> Job:
    text = hashlib.sha256("\n".join(ids).encode()).hexdigest()[:16]
    return Job(source, "", "", "ids", text, f"{len(ids)} ids, {which}", again, "", "ids")


def _read(
    job: Job, folder: Path, outcomes: Callable[[Mapping[str, Any]], dict[str, str]]
) -> dict[str, tuple[str, str]]:
    states: dict[str, tuple[str, str]] = {}
    for page in pages.lines(job.path(folder)):
        when = str(page[pages.STAMP]["retrieved_at"])
        states.update({native: (state, when) for native, state in outcomes(page).items()})
    return states


def write_outcomes(path: Path, outcomes: Mapping[str, tuple[str, str]]) -> None:
    """Add these outcomes, by post id, to the file of all outcomes. Later outcomes replace earlier ones."""
    rows = {}
    if path.exists():
        for row in read_table(path, own=True).rows:
            rows[row["post_id"]] = (row["outcome"], row["checked_at"])
    rows.update(outcomes)
    cells = ([post_id, *state] for post_id, state in sorted(rows.items()))
    storage.write_bytes(path, storage.csv_bytes(("post_id", "outcome", "checked_at"), cells))


def write_list(path: Path, listed: IdList, day: str, begun: str) -> None:
    """Save a list for `--resume`; `day` identifies a repetition.

    `begun` is when it was registered: its budget counts from then on.
    """
    storage.write_text(path, json.dumps({"ids": listed.post_ids, "again": day, "begun": begun}) + "\n")


class _LastList(msgspec.Struct):
    ids: tuple[str, ...]
    again: str
    begun: str = ""


def last_list(path: Path) -> tuple[IdList, str, str]:
    """Return the last list, its day, and when it was registered."""
    if not path.exists():
        raise InputError("there is no list to go on with", remedy="Name a file: covmis collect ids FILE")
    try:
        last = msgspec.json.decode(path.read_bytes(), type=_LastList)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise InputError(
            "is damaged", file=path, remedy="Name the list again: covmis collect ids FILE"
        ) from None
    return IdList(last.ids), last.again, last.begun


@dataclass(frozen=True, slots=True)
class Lookup:
    """One platform's part of a list: ids, request function, and outcome function."""

    prefix: str
    ids: tuple[str, ...]
    platform: Platform
    look: Callable[[Sequence[str]], Fetch]
    outcomes: Callable[[Mapping[str, Any]], dict[str, str]]
    renew: Callable[[], None] | None = None


def lookups(listed: IdList) -> Iterator[Lookup]:
    """Yield the parts of a list, each with its own session, which is closed before the next part."""
    for part in (_on_x, _on_bluesky, _on_mastodon):
        yield from part(listed)


def _on_x(listed: IdList) -> Iterator[Lookup]:
    from covmis_build.collecting.sources import x

    if native := listed.of("x"):
        with closing(x.connect(credentials.need("X_BEARER_TOKEN"))) as session:
            yield Lookup(
                "x:", tuple(native), x.platform("ids"), lambda part: x.looker(session, part), x.outcomes
            )


def _on_bluesky(listed: IdList) -> Iterator[Lookup]:
    from covmis_build.collecting.sources import bluesky

    if native := listed.of("bsky"):
        handle = credentials.plain("BLUESKY_HANDLE")
        with closing(bluesky.connect(handle, credentials.need("BLUESKY_APP_PASSWORD"))) as session:

            def look(part: Sequence[str]) -> Fetch:
                return bluesky.looker(session, [bluesky.uri_of(native) for native in part])

            yield Lookup(
                "bsky:", tuple(native), bluesky.platform(ids=True), look, bluesky.outcomes, session.log_in
            )


def _on_mastodon(listed: IdList) -> Iterator[Lookup]:
    from covmis_build.collecting.sources import mastodon

    by_server: dict[str, list[str]] = {}
    for native in listed.of("masto"):
        server, _, number = native.partition("/")
        by_server.setdefault(server, []).append(number)
    for server, numbers in by_server.items():
        # A token belongs to one server; public posts can be looked up without one. Ids can name any server.
        mastodon.refuse_inner(server)
        with closing(mastodon.connect(server, None)) as session:

            def look(part: Sequence[str], session: Any = session) -> Fetch:
                return mastodon.looker(session, part)

            platform = mastodon.platform(ids=True)
            yield Lookup(f"masto:{server}/", tuple(numbers), platform, look, mastodon.outcomes)
