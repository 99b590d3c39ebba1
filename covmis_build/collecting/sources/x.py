"""X (Twitter) through twarc: full-archive and recent search, counts, look-up of ids.

twarc prepares requests, pages and stamps. This module handles errors, because twarc endlessly repeats a request refused by
the monthly cap, and fails on a rate limit without headers. Both namings of X's fields are supported: `tweet.fields`
with `referenced_tweets`, and since August 2026 `post.fields` with `referenced_posts`.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from covmis_build.collecting.answers import (
    Unread,
    XAnswer,
    XCounts,
    XIncludes,
    XRefusal,
    decoded,
    moment_of,
    parsed,
    seconds_of,
)
from covmis_build.collecting.crawl import Job, Page, Platform
from covmis_build.collecting.retries import Fault
from covmis_build.collecting.sources.wire import version, whole
from covmis_build.errors import InputError, MissingExtra, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from covmis_build.credentials import Secret

API = "https://api.twitter.com/"
ADDRESS = "COVMIS_X_URL"
"""Another URL of the API: a gateway, or a test server."""

BEGINNING = "2006-03-21T00:00:00Z"
"""The time of the first post. Without a start X silently searches only the last 30 days."""

LENGTHS = {"all": 1024, "recent": 512}
"""Maximum number of characters of a search."""

PAGES = {"all": 500, "recent": 100, "ids": 100}
FIELDS = (
    "id", "text", "note_tweet", "created_at", "lang", "author_id", "conversation_id", "in_reply_to_user_id",
    "referenced_tweets", "entities", "attachments", "public_metrics", "edit_history_tweet_ids", "withheld",
)  # fmt: skip
EXPANSIONS = {
    "referenced": ("referenced_tweets.id",),
    "authors": ("author_id",),
    "media": ("attachments.media_keys",),
}
"""Optional additions to the posts. They are requested only on demand, because referenced posts and authors are billed."""


@dataclass(slots=True)
class Session:
    """A twarc client, the requested additions, and the field naming that X was found to use."""

    client: Any
    expand: tuple[str, ...] = ()
    new_naming: bool = True
    switched: bool = field(default=False, repr=False)

    def fields(self) -> dict[str, str]:
        """The parameters for the content of a response."""
        names = {"post.fields" if self.new_naming else "tweet.fields": ",".join(FIELDS)}
        wanted = [expansion for name in self.expand for expansion in EXPANSIONS[name]]
        if wanted:
            names["expansions"] = ",".join(wanted)
        if "authors" in self.expand:
            names["user.fields"] = "id,username"
        if "media" in self.expand:
            names["media.fields"] = "media_key,type,alt_text"
        if not self.new_naming:
            return names
        return {name: value.replace("referenced_tweets", "referenced_posts") for name, value in names.items()}

    def close(self) -> None:
        """Close the connection."""
        self.client.client.close()


def connect(token: Secret, expand: Iterable[str] = ()) -> Session:
    """Return a session with X; nothing is sent yet."""
    return Session(_client(token), known_expansions(expand))


def known_expansions(expand: Iterable[str]) -> tuple[str, ...]:
    """Return the requested additions, each once. Names not in EXPANSIONS are refused."""
    wanted = tuple(dict.fromkeys(expand))
    for name in wanted:
        if name not in EXPANSIONS:
            raise InputError(f"--expand {name} is not known", remedy=nearest(name, EXPANSIONS))
    return wanted


def platform(mode: str, expand: Sequence[str] = ()) -> Platform:
    """Return the platform's properties: page sizes, X's rate of one search per second, and what is billed."""
    users = (1 + ("referenced" in expand)) if "authors" in expand else 0
    least = 1 if mode == "ids" else 10
    return Platform("x", version("twarc"), PAGES[mode], least, 0.3 if mode == "ids" else 1.0, users)


def searcher(session: Session) -> Callable[[Job, str, int], Page]:
    """Return a fetch for `crawl`: one page of a job of mode `all` or `recent`; `ids` looks up the ids in its search."""

    def fetch(job: Job, cursor: str, most: int) -> Page:
        if job.mode == "ids":
            return looker(session, job.search.split(","))(job, cursor, most)
        at = json.loads(cursor) if cursor else {}
        params = {
            "query": job.search,
            "max_results": min(most, PAGES[job.mode]),
            "start_time": max(job.since, BEGINNING),
            "end_time": at.get("until") or job.until or None,
            "next_token": at.get("token"),
            "sort_order": "recency",
        }
        try:
            payload = _get(session, f"2/tweets/search/{job.mode}", params)
        except _StaleToken:
            # Tokens expire. The remaining part is older than the oldest post seen.
            if not at.get("oldest"):
                raise Fault("bad_query", "X no longer knows the page to go on with") from None
            params |= {"end_time": _after(at["oldest"]), "next_token": None}
            at["until"] = params["end_time"]
            payload = _get(session, f"2/tweets/search/{job.mode}", params)
        try:
            answer = decoded(payload, XAnswer)
        except Unread as error:
            return _unread(payload, str(error))
        if answer.meta is None:
            return _unread(payload, "an answer without meta")
        oldest, newest = _span(answer)
        token = answer.meta.next_token
        following = {"token": token, "until": at.get("until"), "oldest": oldest or at.get("oldest", "")}
        return _page(payload, answer, json.dumps(following) if token else "", oldest, newest)

    return fetch


def looker(session: Session, ids: Sequence[str]) -> Callable[[Job, str, int], Page]:
    """Return a fetch for `crawl`: the posts of these native ids, a hundred at a time."""

    def fetch(job: Job, cursor: str, most: int) -> Page:  # noqa: ARG001 - the face of a fetch
        start = int(cursor or 0)
        batch = ids[start : start + most]
        payload = _get(session, "2/tweets", {"ids": ",".join(batch)})
        try:
            answer = decoded(payload, XAnswer)
        except Unread as error:
            return _unread(payload, str(error))
        if answer.data is None and answer.errors is None:
            return _unread(payload, "an answer with neither data nor errors")
        end = start + len(batch)
        oldest, newest = _span(answer)
        return _page(payload, answer, str(end) if end < len(ids) else "", oldest, newest)

    return fetch


REASONS = {"resource-not-found": "deleted", "not-authorized-for-resource": "protected"}


def outcomes(payload: Mapping[str, Any]) -> dict[str, str]:
    """Return the outcome of each post in a look-up's response, by native id."""
    try:
        answer = decoded(dict(payload), XAnswer)
    except Unread:
        return {}
    states = {str(post.id): "available" for post in answer.data or () if post.id}
    for problem in answer.errors or ():
        native = str(problem.resource_id or problem.value or "")
        state = REASONS.get((problem.type or "").rsplit("/", 1)[-1], "unknown")
        # whatever the type says: a suspended author's posts are neither deleted nor protected
        suspended = "suspended" in (problem.detail or "").lower()
        states.setdefault(native, "suspended" if suspended else state)
    return states


def count(session: Session, job: Job, ask: Callable[[Callable[[], dict[str, Any]]], dict[str, Any]]) -> int:
    """Return X's number of posts for this search; `ask` makes each request, since each is billed."""
    total, visited = 0, set[str]()
    params: dict[str, Any] = {
        "query": job.search,
        "granularity": "day",
        "start_time": max(job.since, BEGINNING),
        "end_time": job.until or None,
    }
    while True:
        payload = ask(lambda: _get(session, f"2/tweets/counts/{job.mode}", params, bare=True))
        try:
            answer = decoded(payload, XCounts)
        except Unread as error:
            raise Fault("malformed", str(error)) from None
        total += sum(max(0, day.post_count or day.tweet_count) for day in answer.data or ())
        token = answer.meta.next_token if answer.meta else None
        if not token or token in visited:
            return total
        visited.add(token)
        params["next_token"] = token


def counts_requests(job: Job, now: dt.datetime) -> int:
    """Return the number of counts requests for a search: each covers 31 days."""
    if job.mode == "recent":
        return 1
    start = dt.datetime.fromisoformat(job.since or BEGINNING)
    end = dt.datetime.fromisoformat(job.until) if job.until else now
    return max(1, -(-max(0, (end - start).days) // 31))


class _StaleToken(Exception):
    """The platform no longer accepts a pagination token."""


def _page(payload: dict[str, Any], answer: XAnswer, following: str, oldest: str, newest: str) -> Page:
    includes = answer.includes or XIncludes()
    notes = tuple(
        f"{problem.title or 'error'}: {problem.resource_id or problem.value or ''}"
        for problem in answer.errors or ()
    )
    return Page(
        payload,
        following,
        posts=len(answer.data or ()) + len(includes.posts or includes.tweets or ()),
        users=len(includes.users or ()),
        oldest=oldest,
        newest=newest,
        url=_url(payload),
        notes=notes[:20],
    )


def _unread(payload: dict[str, Any], reason: str) -> Page:
    """Return a page for an unexpected response: one that may have been billed is stored, an empty one is requested again."""
    if not any(payload.get(name) for name in ("data", "includes", "errors")):
        raise Fault("malformed", reason)
    data = payload.get("data")
    billed = len(data) if isinstance(data, list) else 0
    return Page(payload, posts=billed, url=_url(payload), unread=reason)


def _url(payload: dict[str, Any]) -> str:
    stamp = payload.get("__twarc")
    return str(stamp.get("url", "")) if isinstance(stamp, dict) else ""


def _span(answer: XAnswer) -> tuple[str, str]:
    times = sorted(filter(None, (moment_of(post.created_at) for post in answer.data or ())))
    return (times[0], times[-1]) if times else ("", "")


def _after(time_text: str) -> str:
    """Return the next full second: X's `end_time` is exclusive, and a second can have several posts."""
    moment = dt.datetime.fromisoformat(time_text).replace(microsecond=0) + dt.timedelta(seconds=1)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _get(session: Session, path: str, params: dict[str, Any], *, bare: bool = False) -> dict[str, Any]:
    """Make one request through twarc. If X refuses the field names, switch the naming once."""
    while True:
        wanted = {name: value for name, value in params.items() if value is not None}
        wanted |= {} if bare else session.fields()
        try:
            payload = next(session.client.get_paginated(API + path, params=wanted))
        except Fault as fault:
            if fault.kind == "bad_query" and "next_token" in fault.detail and params.get("next_token"):
                raise _StaleToken from None
            if fault.kind != "bad_query" or session.switched or ".fields" not in fault.detail:
                raise
            session.switched, session.new_naming = True, not session.new_naming
            continue
        if not isinstance(payload, dict):
            raise Fault("malformed", "an answer that is not an object")
        return payload


def _client(token: Secret) -> Any:
    """Return a twarc client with our session and error handling. Its log is off, because it would show the token."""
    try:
        import requests
        from twarc.client2 import Twarc2
    except ImportError:
        raise MissingExtra.of("x", "collecting from X") from None
    logging.getLogger("twarc").setLevel(logging.CRITICAL + 1)
    address = os.environ.get(ADDRESS, "")

    class Rewriting(requests.adapters.HTTPAdapter):  # type: ignore[misc]
        """Replaces the URL, for which twarc has no setting."""

        def send(self, request: Any, **settings: Any) -> Any:
            request.url = address.rstrip("/") + "/" + request.url.removeprefix(API)
            return super().send(request, **settings)

    class Client(Twarc2):  # type: ignore[misc]
        """Connects without logging and without retries, which `retries.persistently` handles."""

        def connect(self) -> None:
            self.client = requests.Session()
            self.client.headers["Authorization"] = f"Bearer {token.reveal()}"
            self.client.headers["User-Agent"] = "covmis"
            self.client.auth = lambda request: request  # otherwise a .netrc would replace the token
            if address:
                self.client.mount(API, Rewriting())

        def get(self, url: str, **settings: Any) -> Any:
            try:
                answer = whole(
                    self.client.get(url, timeout=(10, 60), allow_redirects=False, stream=True, **settings)
                )
            except requests.exceptions.RequestException as error:
                self.connect()
                raise Fault("outage", f"no answer ({type(error).__name__})") from None
            return checked(answer)

    return Client(bearer_token=token.reveal())


def checked(answer: Any) -> Any:
    """Return a valid response, or raise the Fault for its status, headers and problem type."""
    body = parsed(answer.content)
    if answer.status_code == 200:
        if not isinstance(body, dict):
            raise Fault("malformed", "a successful answer that is not JSON")
        answer.encoding = None  # decode by content: twarc would use the header's encoding
        return answer
    try:
        refusal = decoded(body, XRefusal)
    except Unread:
        refusal = XRefusal()
    errors = " ".join(
        f"{error.message or ''} {' '.join(map(str, error.parameters)) if isinstance(error.parameters, dict) else ''}"
        for error in refusal.errors or ()
    )
    words = f"{answer.status_code} {refusal.title or ''} {refusal.detail or ''} {errors}"
    raise _fault_of(
        answer.status_code, (refusal.type or "").rsplit("/", 1)[-1], " ".join(words.split()), answer.headers
    )


def _fault_of(status: int, problem: str, detail: str, headers: Any) -> Fault:
    """Return the fault for a refusal, by problem type first and status second.

    >>> _fault_of(429, "usage-capped", "429 UsageCapExceeded", {}).kind, _fault_of(429, "", "429", {}).wait
    ('usage_cap', 60.0)
    """
    capped = problem == "usage-capped" or "UsageCap" in detail or "SpendCap" in detail
    if capped:
        return Fault("usage_cap", detail)
    if status == 402 or problem == "credits" or "CreditsDepleted" in detail:
        return Fault("no_credit", detail)
    if status == 429:
        return Fault("rate_limit", "X's rate limit is reached", wait=_wait(headers))
    if status >= 500 or status in {408, 425}:
        return Fault("outage", detail, wait=seconds_of(headers.get("retry-after")))
    if status == 400 or problem == "invalid-request":
        return Fault("bad_query", detail)
    return Fault("refused", detail)


def _wait(headers: Any) -> float:
    """Return the time until the window opens; five seconds if calls remain (the limit per second), a minute without header."""
    if seconds_of(headers.get("x-rate-limit-remaining")):
        return 5.0
    reset = seconds_of(headers.get("x-rate-limit-reset"))
    if reset is not None:
        return min(960.0, max(2.0, reset - time.time() + 2.0))
    advised = seconds_of(headers.get("retry-after"))
    return 60.0 if advised is None else advised
