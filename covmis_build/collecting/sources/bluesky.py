"""Bluesky through atproto: search in time windows, and look-up of posts.

A search returns at most 10,000 results in a slightly unstable order. Larger windows are therefore halved until they are small
enough. Posts found twice are recognised later by their ids.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from covmis_build.bounds import bounding
from covmis_build.collecting.answers import BlueskyAnswer, BlueskyPost, Unread, decoded, seconds_of
from covmis_build.collecting.crawl import Job, Page, Platform
from covmis_build.collecting.retries import Fault
from covmis_build.collecting.sources.wire import LARGEST, LONGEST, version
from covmis_build.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from covmis_build.credentials import Secret

SERVER = "https://bsky.social"
ADDRESS = "COVMIS_BLUESKY_URL"
"""URL of another server: one's own, a gateway, or a test server."""

BEGINNING = "2022-11-01T00:00:00Z"
CEILING = 10_000
"""Maximum number of results of a search."""

SAFE = 9_000
"""Windows with more announced results are halved, because the announced number is an estimate."""

BATCH = 25
"""Maximum number of posts per look-up."""

PLATFORM_PAGE = 100


@dataclass(slots=True)
class Session:
    """An atproto client, and its log-in."""

    client: Any
    handle: str
    password: Secret

    def log_in(self) -> None:
        """Open the session, or open it again after it expired; tokens stay in memory."""
        _call(lambda: self.client.login(self.handle, self.password.reveal(), fetch_bsky_profile=False))

    def close(self) -> None:
        """Close the connection."""
        self.client.request.close()


def connect(handle: str, password: Secret) -> Session:
    """Return a session with the account's server. It logs in at the first request."""
    try:
        from atproto_client import Client
    except ImportError:
        raise MissingExtra.of("bluesky", "collecting from Bluesky") from None
    client = Client(os.environ.get(ADDRESS, "") or SERVER)
    wire = client.request._client  # noqa: SLF001 - atproto has no settings for these
    wire.follow_redirects = False
    wire.headers["accept-encoding"] = "identity"
    wire.event_hooks = {"response": [bounding(LARGEST, LONGEST)]}
    return Session(client, handle.removeprefix("@"), password)


def platform(*, ids: bool = False) -> Platform:
    """Return the platform's properties: 3,000 requests in five minutes are allowed, so fewer than ten per second."""
    return Platform("bluesky", version("atproto"), BATCH if ids else PLATFORM_PAGE, 1, 0.1)


def searcher(session: Session) -> Callable[[Job, str, int], Page]:
    """Return a fetch for `crawl`: one page of the newest unfinished window."""

    def fetch(job: Job, cursor: str, most: int) -> Page:
        whole: dict[str, Any] = {
            "windows": [[job.since or BEGINNING, job.until]],
            "at": "",
            "seen": 0,
            "oldest": "",
        }
        state = json.loads(cursor) if cursor else whole
        since, until = state["windows"][0]
        asked: dict[str, Any] = {"sort": "latest", "limit": most, "since": since, "until": until}
        asked |= {"q": "*", "url": job.search} if _is_address(job.search) else {"q": job.search}
        asked |= {"cursor": state["at"]} if state["at"] else {}
        payload = _query(session, "app.bsky.feed.searchPosts", asked)
        answer = _understood(payload)
        posts = answer.posts
        times = sorted(_moments(posts))
        following = _next(state, answer, len(posts), times[0] if times else "")
        lost = "more posts in one second than a search shows" if following.pop("lost", False) else ""
        text = json.dumps(following) if following["windows"] else ""
        url = f"{session.client._base_url}/app.bsky.feed.searchPosts"  # noqa: SLF001 - it has no other name
        span = (times[0], times[-1]) if times else ("", "")
        return Page(payload, text, len(posts), 0, *span, url, lost=lost)

    return fetch


def _understood(payload: dict[str, Any]) -> BlueskyAnswer:
    try:
        return decoded(payload, BlueskyAnswer)
    except Unread as error:
        raise Fault("malformed", str(error)) from None


def _next(state: dict[str, Any], answer: BlueskyAnswer, posts: int, oldest: str) -> dict[str, Any]:
    """Return the next position: further in this window, in a half of it, or in the next window."""
    (since, until), rest = state["windows"][0], state["windows"][1:]
    seen, at = state["seen"] + posts, answer.cursor or ""
    oldest = min(filter(None, (state["oldest"], oldest)), default="")
    total = answer.hits_total
    middle = _middle(since, until)
    if not state["at"] and total and total > SAFE and middle:
        return {"windows": [[middle, until], [since, middle], *rest], "at": "", "seen": 0, "oldest": ""}
    if at and seen < CEILING:
        return {"windows": [[since, until], *rest], "at": at, "seen": seen, "oldest": oldest}
    if seen >= CEILING - PLATFORM_PAGE and oldest:  # near enough: the last page may be incomplete
        edge = _second_after(oldest)
        if since < edge < until:
            return {"windows": [[since, edge], *rest], "at": "", "seen": 0, "oldest": ""}
        return {"windows": rest, "at": "", "seen": 0, "oldest": "", "lost": True}
    return {"windows": rest, "at": "", "seen": 0, "oldest": ""}


def looker(session: Session, uris: Sequence[str]) -> Callable[[Job, str, int], Page]:
    """Return a fetch for `crawl`: the posts of these `at://` URIs, 25 at a time."""

    def fetch(job: Job, cursor: str, most: int) -> Page:  # noqa: ARG001 - the face of a fetch
        start = int(cursor or 0)
        batch = list(uris[start : start + most])
        payload = _query(session, "app.bsky.feed.getPosts", {"uris": batch})
        answer = _understood(payload)
        end = start + len(batch)
        return Page({**payload, "asked": batch}, str(end) if end < len(uris) else "", len(answer.posts))

    return fetch


def _is_address(search: str) -> bool:
    return search.startswith("https://") and " " not in search


def _moments(posts: list[BlueskyPost]) -> list[str]:
    """Return when posts were written, or indexed if earlier, which is the order of the search."""
    moments = []
    for post in posts:
        created = post.record.created_at if post.record else None
        times = [_utc(moment) for moment in (created, post.indexed_at) if moment]
        moments += [min(filter(None, times), default="")]
    return [moment for moment in moments if moment]


def _utc(text: str) -> str:
    try:
        return dt.datetime.fromisoformat(text).astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError):
        return ""


def _middle(since: str, until: str) -> str:
    """Return the middle second, or nothing if the window is too narrow."""
    start, end = dt.datetime.fromisoformat(since), dt.datetime.fromisoformat(until)
    middle = (start + (end - start) / 2).replace(microsecond=0)
    return middle.strftime("%Y-%m-%dT%H:%M:%SZ") if start < middle < end else ""


def _second_after(text: str) -> str:
    return (dt.datetime.fromisoformat(text) + dt.timedelta(seconds=1)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _query(session: Session, method: str, asked: dict[str, Any]) -> dict[str, Any]:
    """Make one request; the first one logs in."""
    from atproto_client.models.dot_dict import DotDict

    if session.client._session is None:  # noqa: SLF001 - atproto has no public way to ask
        session.log_in()
    answer = _call(
        lambda: session.client.invoke_query(method, params=DotDict(asked), output_encoding="application/json")
    )
    if not isinstance(answer.content, dict):
        raise Fault("malformed", "a successful answer that is not JSON")
    return dict(answer.content)


def _call(call: Callable[[], Any]) -> Any:
    """Return the call's result, or raise atproto's errors as faults. Their texts may contain the response, so they are not shown."""
    from atproto_client import exceptions

    try:
        return call()
    except exceptions.RequestErrorBase as error:
        fault = _fault(error)
    except exceptions.AtProtocolError as error:
        fault = Fault("malformed", f"an answer that atproto cannot read ({type(error).__name__})")
    except ValueError:
        fault = Fault("malformed", "a successful answer that is not JSON")
    except Exception as error:  # noqa: BLE001 - the client trips over answers of another shape
        import httpx

        if isinstance(error, httpx.HTTPError):
            fault = Fault("outage", f"no answer ({type(error).__name__})")
        else:
            fault = Fault("malformed", f"an answer that atproto cannot read ({type(error).__name__})")
    raise fault


def _fault(error: Any) -> Fault:
    """Return the meaning of a refusal."""
    response = error.response
    if response is None:
        return Fault("outage", f"no answer ({type(error).__name__})")
    name = str(getattr(response.content, "error", "") or "")
    words = f"{response.status_code} {name} {getattr(response.content, 'message', '') or ''}".strip()
    status, headers = response.status_code, response.headers
    if name == "ExpiredToken":
        return Fault("expired", words)
    if status == 429:
        reset = seconds_of(headers.get("ratelimit-reset"))
        wait = None if reset is None else max(2.0, reset - time.time() + 1.0)
        return Fault("rate_limit", "Bluesky's rate limit is reached", wait=wait)
    if status >= 500 or status in {408, 409, 425}:
        return Fault("outage", words)
    if status == 400 and name not in {"InvalidToken", "AuthMissing", "AccountTakedown"}:
        return Fault("bad_query", words)
    return Fault("refused", words)


def uri_of(native: str) -> str:
    """Return the URI of a post `did/rkey`."""
    did, slash, key = native.partition("/")
    if not slash or not did.startswith("did:") or not key:
        raise InputError(f"{native} is not a Bluesky post", remedy="Write bsky:did:plc:…/rkey")
    return f"at://{did}/app.bsky.feed.post/{key}"


def outcomes(payload: Mapping[str, Any]) -> dict[str, str]:
    """Return the outcome of each requested post. Bluesky does not give reasons for missing ones."""
    found = {post.uri for post in decoded(dict(payload), BlueskyAnswer).posts}
    return {
        uri.removeprefix("at://").replace("/app.bsky.feed.post", ""): "available"
        if uri in found
        else "unknown"
        for uri in payload.get("asked", [])
    }
