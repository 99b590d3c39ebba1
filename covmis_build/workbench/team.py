"""What annotators reach: the labelling page of the one whose link it is, and nothing else of the study.

    /                    the link; its secret is behind #, which browsers send nowhere, and a script posts it
    /enter               the secret becomes a cookie
    /work                the person's rounds; one round is gone to at once
    /work/CODE/NUMBER    the labelling page, and where it sends answers

The application is another than the workbench's, at a port of its own: what it has no route for cannot be asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from covmis_build.errors import CovmisError, InputError, InUse
from covmis_build.study.links import language_of_pages, note_visit, rounds_of, whose
from covmis_build.study.round import NoWork
from covmis_build.workbench.bench import body_of
from covmis_build.workbench.guard import READING, with_headers
from covmis_build.workbench.inbox import Inbox
from covmis_build.workbench.label import answers_in
from covmis_build.workbench.one_page import one_page
from covmis_build.workbench.wrong_secrets import WrongSecrets

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from covmis_build.annotation.languages import Language
    from covmis_build.study.study import Study
    from covmis_build.workbench.bench import Bench
    from covmis_build.workbench.reach import Reach

DAYS = 90
"""How long a browser remembers whose link it opened."""


class Team:
    """The application for annotators: who may ask, and what is answered."""

    def __init__(self, bench: Bench, reach: Reach) -> None:
        self.bench, self.reach = bench, reach
        self.wrong = WrongSecrets()
        self.inbox = Inbox(bench)
        self.troubles: list[str] = []
        """Recent failures that the lead must know: annotators did not cause them."""
        self._seen: set[tuple[str, str]] = set()
        """Who came from where since the server runs: a line of the visits each."""
        self.app = Starlette(
            routes=[
                Route("/", self.link),
                Route("/favicon.ico", lambda _: Response(status_code=204)),
                Route("/enter", self.enter, methods=["POST"]),
                Route("/work", self.work),
                Route("/work/{annotator}/{number}", self.page),
                Route("/work/{annotator}/{number}", self.save, methods=["POST"]),
            ],
            exception_handlers={CovmisError: self._refused, HTTPException: self._missing},
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse what comes from elsewhere, or pass on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":  # websockets know no same-origin rule: none is answered
            answer = self._refusal(scope)
            await (answer or self.app)(scope, receive, with_headers(send))

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.getlist("host")
        if len(host) != 1 or host[0].lower() not in self.reach.hosts:
            return PlainTextResponse("This address is not served here.", 421)
        # People come from a mail or a chat, which is another site: to the first page, which shows nothing.
        if scope["path"] != "/" and headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}:
            return PlainTextResponse("Another site asks.", 403)
        if scope["method"] not in READING and headers.getlist("origin") != [self.reach.origin_of(host[0])]:
            return PlainTextResponse("Another site asks.", 403)
        return None

    def link(self, request: Request) -> Response:
        """The first page: its script posts the secret."""
        del request
        return one_page(self._render("link.html", problem=""))

    async def enter(self, request: Request) -> Response:
        """Give the cookie for the secret."""
        secret, address = (await body_of(request)).strip(), _address(request)
        if wait := self.wrong.wait(address):
            return self._later(wait)
        link = await run_in_threadpool(whose, self._study, secret)
        if link is None:
            return await run_in_threadpool(self._guessed, address)
        if link.closed_at:
            return PlainTextResponse(self._closed, 410)
        await run_in_threadpool(self._came, link.annotator, address)
        answer = PlainTextResponse("/work")
        answer.set_cookie(
            self.reach.cookie,
            secret,
            max_age=DAYS * 24 * 3600,
            httponly=True,
            samesite="strict",
            secure=self.reach.is_secure,
            path="/",
        )
        return answer

    def work(self, request: Request) -> Response:
        """The rounds of this person."""
        annotator = self._person(request)
        if not isinstance(annotator, str):
            return annotator
        work = rounds_of(self._study, annotator)
        places = {number: f"/work/{quote(annotator, safe='')}/{number}" for number in work}
        if len(work) == 1:
            return RedirectResponse(next(iter(places.values())), 303)
        return one_page(self._render("work.html", work=work, places=places, annotator=annotator))

    def page(self, request: Request) -> Response:
        """The labelling page."""
        annotator = self._person(request, request.path_params["annotator"])
        if not isinstance(annotator, str):
            return annotator
        work, number = rounds_of(self._study, annotator), request.path_params["number"]
        if number not in work:
            return RedirectResponse("/work", 303)
        back = "/work" if len(work) > 1 else ""
        round_ = self._study.round(number)
        return one_page(round_.label_page(annotator, save=request.url.path, back=back, by_link=True))

    async def save(self, request: Request) -> Response:
        """Record answers. What is acknowledged is on disk."""
        annotator = await run_in_threadpool(self._person, request, request.path_params["annotator"])
        if not isinstance(annotator, str):
            return annotator
        try:
            rows = answers_in(await body_of(request))
        except ClientDisconnect:
            return PlainTextResponse("The request did not come to its end.", 400)
        taken = await self.inbox.take(request.path_params["number"], annotator, rows)
        return JSONResponse(taken.to_dict())

    @property
    def _t(self) -> Language:
        return language_of_pages(self._study)

    @property
    def _closed(self) -> str:
        return self._t("This link was closed. Ask the person who leads the study for a new one.")

    @property
    def _study(self) -> Study:
        return self.bench.study

    def _person(self, request: Request, named: str = "") -> str | Response:
        """Whose link this browser has opened, or what to answer instead; `named` is who it must be."""
        address, secret = _address(request), request.cookies.get(self.reach.cookie, "")
        if not secret:
            return self._turned_away(
                request, self._t("Open the link that you got: this browser does not know whose it is."), 401
            )
        link = whose(self._study, secret)
        if link is None or (link.annotator, address) not in self._seen:
            if wait := self.wrong.wait(address):
                return self._later(wait)
            if link is None:
                return self._guessed(address)
        if link.closed_at:
            return self._turned_away(request, self._closed, 410)
        if named not in {"", link.annotator}:
            return self._turned_away(
                request,
                self._t(
                    "This browser has meanwhile opened the link of another person. Open your own link again; your answers are kept here"
                ),
                403,
            )
        self._came(link.annotator, address)
        return link.annotator

    def _came(self, annotator: str, address: str) -> None:
        if (annotator, address) not in self._seen:
            self._seen.add((annotator, address))
            note_visit(self._study, annotator, address)

    def _guessed(self, address: str) -> Response:
        if self.wrong.count(address):
            note_visit(self._study, "", address, "locked out after wrong links")
        return PlainTextResponse(
            self._t(
                "This link is not known. Open it as you got it, to the last letter; or ask for a new one."
            ),
            403,
        )

    def _turned_away(self, request: Request, why: str, code: int) -> Response:
        if request.method in READING:
            return one_page(self._render("link.html", problem=why), code)
        return PlainTextResponse(why, code)

    def _render(self, template: str, **context: object) -> str:
        title = self._study.settings.title
        html: str = self.bench.templates.get_template(template).render(
            title=title, study=title, t=self._t, **context
        )
        return html

    def _refused(self, request: Request, error: Exception) -> Response:
        """What the library refuses. Its words are the lead's; annotators hear what concerns them."""
        del request
        if isinstance(error, NoWork):
            return PlainTextResponse(self._t(error.message, **error.values), 409)
        if isinstance(error, InUse):
            return PlainTextResponse(self._t("The study is busy"), 503, {"retry-after": "2"})
        if isinstance(error, InputError) and error.problem in {
            "no answers of the page",
            "a form of more than 1 MB",
        }:
            return PlainTextResponse(
                self._t("The study cannot read these answers. Load the page again."), 400
            )
        self.troubles = [*self.troubles[-4:], self.bench.sentence_of(error)]
        return PlainTextResponse(
            self._t("the study cannot record answers now. Tell the person who leads the study"), 500
        )

    def _missing(self, request: Request, error: Exception) -> Response:
        del request
        code = error.status_code if isinstance(error, HTTPException) else 500
        return PlainTextResponse(self._t("There is no such page."), code)

    def _later(self, seconds: float) -> Response:
        minutes = max(1, round(seconds / 60))
        return PlainTextResponse(
            self._t(
                "Too many wrong links came from your network. Try again in {minutes} min", minutes=minutes
            ),
            429,
            {"retry-after": str(round(seconds) + 1)},
        )


def _address(request: Request) -> str:
    return request.client.host if request.client else ""
