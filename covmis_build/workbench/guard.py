"""Who may ask: this machine's browser with the cookie that it got for a code, and from our own pages alone."""

from __future__ import annotations

import hmac
import secrets
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse

from covmis_build.workbench.entrance import ENTERED, Entrance

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.types import Message, Receive, Scope, Send

    from covmis_build.workbench.bench import Bench

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY, "x-content-type-options": "nosniff", "cache-control": "no-store",
    "referrer-policy": "same-origin",  # with "no-referrer", browsers send "Origin: null" with our own forms
    "cross-origin-opener-policy": "same-origin", "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}  # fmt: skip
READING = {"GET", "HEAD"}


class Guard:
    """Refuses a request before any page sees it; adds the headers of HEADERS to every answer."""

    def __init__(self, app: Starlette, bench: Bench, port: int) -> None:
        self.app, self.bench = app, bench
        self.entrance, self.cookie = Entrance(f"http://127.0.0.1:{port}"), secrets.token_urlsafe(32)
        self.name = f"covmis{port}"  # cookies know no ports: two studies may be open at once
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, greet, or pass on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":  # websockets know no same-origin rule: none is answered
            headers = Headers(scope=scope)
            answer = self._foreign(headers) or self._greeting(scope, headers) or self._refusal(scope, headers)
            await (answer or self.app)(scope, receive, with_headers(send))

    def _foreign(self, headers: Headers) -> Response | None:
        host = headers.getlist("host")
        if len(host) != 1 or host[0] not in self.hosts:  # another name for this machine: a foreign page asks
            return PlainTextResponse("This address is not served here.", 421)
        return None

    def _greeting(self, scope: Scope, headers: Headers) -> Response | None:
        """The cookie for a code, wherever the link to it stood: who has a code may enter."""
        code = _code_of(scope)
        if not code or not self.entrance.enter(code):
            return None
        typed = headers.get("sec-fetch-site") == "none"
        answer: Response = RedirectResponse("/", 303) if typed else HTMLResponse(ENTERED)
        answer.set_cookie(self.name, self.cookie, httponly=True, samesite="strict", path="/")
        return answer

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        if _code_of(scope) and not self._has_cookie(headers):
            self.entrance.renew()
            why = (
                "This address was used already, or is too old. The terminal of `covmis open` shows a new one."
            )
            return PlainTextResponse(why, 401)
        if headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}:
            return PlainTextResponse("Another site asks.", 403)
        if scope["method"] not in READING:
            if headers.getlist("origin") != [f"http://{headers['host']}"]:
                return PlainTextResponse("Another site asks.", 403)
            if self.bench.read_only:
                return PlainTextResponse("Opened with --read-only: nothing is changed.", 403)
        if not self._has_cookie(headers):
            return PlainTextResponse("Open the address that `covmis open` printed.", 401)
        return None

    def _has_cookie(self, headers: Headers) -> bool:
        try:
            given = SimpleCookie(headers.get("cookie", "")).get(self.name)
        except CookieError:
            return False
        return given is not None and _same(given.value, self.cookie)


def _code_of(scope: Scope) -> str:
    if scope["path"] != "/" or scope["method"] != "GET":
        return ""
    return str(parse_qs(scope["query_string"].decode("latin-1")).get("code", [""])[0])


def _same(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), secret.encode())


def with_headers(send: Send) -> Send:
    """Add the headers of HEADERS to an answer that does not have them."""

    async def sender(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = message.get("headers", [])
            named = {name for name, _ in own}  # the label page has a policy of its own
            more = ((name.encode(), value.encode()) for name, value in HEADERS.items())
            message["headers"] = [*own, *(header for header in more if header[0] not in named)]
        await send(message)

    return sender
