"""Mastodon through Mastodon.py: search for posts on one server, and look-up of posts by id.

A server finds only posts that it knows, if it runs the search engine, and if the authors allow it. Pages go backwards by
post id. Ids grow with time, so a time window is an id range.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from covmis_build.bounds import is_public
from covmis_build.collecting.answers import MastodonAnswer, Unread, decoded, moment_of, parsed, seconds_of
from covmis_build.collecting.crawl import Job, Page, Platform
from covmis_build.collecting.retries import Fault
from covmis_build.collecting.sources.wire import version, whole
from covmis_build.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from covmis_build.credentials import Secret

PAGE = 40
BATCH = 1
EMPTIES = 3
"""Maximum number of empty pages to skip: a server hides posts after counting the page."""


@dataclass(slots=True)
class Session:
    """A client of one server; `answers` holds the unchanged last response."""

    client: Any
    server: str
    answers: list[Any] = field(default_factory=list)

    @property
    def host(self) -> str:
        """The server's name, as in post ids."""
        return urlsplit(self.server).netloc

    def close(self) -> None:
        """Close the connection."""
        self.client.session.close()


def connect(server: str, token: Secret | None) -> Session:
    """Return a session with a server; nothing is sent yet. Without a token only public look-ups work."""
    try:
        import requests
        from mastodon import Mastodon
    except ImportError:
        raise MissingExtra.of("mastodon", "collecting from Mastodon") from None
    address = address_of(server)

    class Wire(requests.Session):  # type: ignore[misc] # requests has no types here
        def send(self, request: Any, **how: Any) -> Any:
            """Limit length and time of responses, because ids can name any server."""
            return whole(super().send(request, **{**how, "stream": True}))

    wire = Wire()
    wire.max_redirects = 0
    wire.trust_env = (
        False  # otherwise a .netrc would replace the token; proxies and certificates stay the system's
    )
    wire.proxies.update(requests.utils.get_environ_proxies(address))
    wire.verify = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE") or True
    session = Session(None, address)
    wire.hooks["response"].append(lambda answer, **_: session.answers.append(answer))
    session.client = Mastodon(
        access_token=token.reveal() if token else None,
        api_base_url=session.server,
        version_check_mode="none",
        ratelimit_method="throw",
        request_timeout=60,
        session=wire,
    )
    # Mastodon.py 2.3 forgets the known version and requests it again, endlessly if the server does not report it.
    session.client.mastodon_major, session.client.mastodon_minor = 4, 2
    session.client._Mastodon__version_check_tried = session.client._Mastodon__version_check_worked = True  # noqa: SLF001
    return session


def address_of(server: str) -> str:
    """Return a server's URL: `https://` and its name; without encryption only on this machine, for tests."""
    known = "://" in server
    here = server.startswith(("127.0.0.1:", "localhost:"))
    try:
        parts = urlsplit(server if known else f"{'http' if here else 'https'}://{server}")
    except ValueError:  # a bracket that is not closed
        parts = urlsplit("")
    local = parts.hostname in {"127.0.0.1", "localhost", "::1"}
    secure = parts.scheme == "https" or (local and parts.scheme == "http")
    if not parts.netloc or not secure or parts.username:
        raise InputError(f"{server} is not a Mastodon server", remedy="Like --server https://mastodon.social")
    return f"{parts.scheme}://{parts.netloc}"


def refuse_inner(server: str) -> None:
    """Prevent requests to this machine or its private network because of ids in a list."""
    address = address_of(server)
    declared = os.environ.get("MASTODON_SERVER", "")
    if not is_public(address) and not (declared and address_of(declared) == address):
        raise InputError(
            f"ids name the server {server}, which is no public one",
            remedy=f"If it is your own, set MASTODON_SERVER={address}",
        )


def platform(*, ids: bool = False) -> Platform:
    """Return the platform's properties: 300 requests in five minutes are allowed."""
    return Platform("mastodon", version("Mastodon.py"), BATCH if ids else PAGE, 1, 1.0)


def searcher(session: Session) -> Callable[[Job, str, int], Page]:
    """Return a fetch for `crawl`: one page of posts older than the last one."""

    def fetch(job: Job, cursor: str, most: int) -> Page:
        at: dict[str, Any] = {"below": _id_at(job.until), "offset": 0}
        at = json.loads(cursor) if cursor else at
        payload = _call(
            session,
            lambda: session.client.search_v2(
                job.search,
                resolve=False,
                result_type="statuses",
                limit=most,
                min_id=_id_at(job.since),
                max_id=at["below"],
                offset=at["offset"] or None,
            ),
        )
        try:
            posts = decoded(payload, MastodonAnswer).statuses
        except Unread as error:
            raise Fault("malformed", str(error)) from None
        if posts:
            numbers = [int(post.id) for post in posts if str(post.id).isdecimal()]
            # other servers with this API have ids of letters; their pages also go backwards
            following = json.dumps({"below": str(min(numbers) if numbers else posts[-1].id), "offset": 0})
        elif at["offset"] < (EMPTIES - 1) * most and cursor:
            following = json.dumps({"below": at["below"], "offset": at["offset"] + most})
        else:
            following = ""
        times = sorted(filter(None, (moment_of(post.created_at) for post in posts)))
        span = (times[0], times[-1]) if times else ("", "")
        return Page(dict(payload), following, len(posts), 0, *span, f"{session.server}/api/v2/search")

    return fetch


def looker(session: Session, ids: Sequence[str]) -> Callable[[Job, str, int], Page]:
    """Return a fetch for `crawl`: posts by their id on this server, one at a time."""

    def fetch(job: Job, cursor: str, most: int) -> Page:  # noqa: ARG001 - the face of a fetch
        number = int(cursor or 0)
        wanted = ids[number]
        state, statuses = "available", []
        try:
            statuses = [_call(session, lambda: session.client.status(wanted))]
        except _Absent as absent:
            state = absent.state
        payload = {"statuses": statuses, "asked": {wanted: state}}
        following = str(number + 1) if number + 1 < len(ids) else ""
        return Page(payload, following, len(statuses), url=f"{session.server}/api/v1/statuses")

    return fetch


def outcomes(payload: Mapping[str, Any]) -> dict[str, str]:
    """Return the outcome of each requested post."""
    return {str(post): str(state) for post, state in payload.get("asked", {}).items()}


class _Absent(Exception):
    """A post that the server does not show."""

    def __init__(self, state: str) -> None:
        super().__init__(state)
        self.state = state


def _id_at(moment: str) -> str | None:
    """Return the smallest possible id of a post of this time."""
    if not moment:
        return None
    return str(int(dt.datetime.fromisoformat(moment).timestamp() * 1000) << 16)


def _call(session: Session, call: Callable[[], Any]) -> Any:
    """Return the unchanged JSON response. Errors become faults without the client's texts, which contain the body."""
    session.answers.clear()
    try:
        call()
        trouble = ""
    except Exception as error:  # noqa: BLE001 - the client trips over answers of another shape; we look at them ourselves
        trouble = type(error).__name__
    answer = session.answers[-1] if session.answers else None
    if answer is None:
        raise Fault("outage", f"no answer ({trouble})")
    if answer.ok and trouble in {"MastodonNetworkError", "MastodonReadTimeout"}:
        raise Fault("outage", "the answer broke off")
    if answer.status_code == 200:
        body = parsed(answer.content)
        if not isinstance(body, dict):
            raise Fault("malformed", "a successful answer that is not JSON")
        return body
    raise _fault(answer)


def _fault(answer: Any) -> Exception:
    """Return the meaning of a refusal."""
    looked_up = "/statuses/" in answer.url
    status, headers = answer.status_code, answer.headers
    if looked_up and status in {404, 410}:
        return _Absent("deleted")
    if looked_up and status in {401, 403} and "json" in headers.get("content-type", ""):
        return _Absent("protected")
    if status == 429:
        return Fault("rate_limit", "the server's rate limit is reached", wait=_wait(headers))
    if status >= 500 or status in {408, 425}:
        return Fault("outage", f"{status} {answer.reason}")
    if status in {400, 422}:
        return Fault("bad_query", f"{status} {answer.reason}")
    return Fault("refused", f"{status} {answer.reason}")


def _wait(headers: Any) -> float | None:
    """Return the waiting time that the server requests, in either format."""
    text = str(headers.get("x-ratelimit-reset", ""))
    try:
        reset = seconds_of(text) or dt.datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return None
    return min(960.0, max(2.0, reset - time.time() + 1.0))
