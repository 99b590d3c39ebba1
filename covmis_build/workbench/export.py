"""A page of the workbench as one file that loads nothing: to send, or to keep."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from starlette.requests import Request
from starlette.routing import Match, Route

from covmis_build import storage
from covmis_build.errors import UnknownName
from covmis_build.operations import About
from covmis_build.report.page import TEMPLATES
from covmis_build.report.result import Result
from covmis_build.study.rounds import write_board
from covmis_build.study.study import open_study
from covmis_build.workbench.app import application
from covmis_build.workbench.bench import TEMPLATES as OWN

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.applications import Starlette

PAGES = ("overview", "posts", "claims", "queries", "flow", "story", "plan", "rounds", "results", "release")


@dataclass(frozen=True, repr=False)
class Exported(Result):
    """A page that was written."""

    page: str

    @property
    def summary(self) -> list[str]:
        """Return its place."""
        return [f"Written: {self.page}"]


def export(
    page: Annotated[
        str,
        About(
            "overview, posts, claims, queries/CLAIM, flow, story/ID, plan, rounds/NUMBER, board, results, release.",
            argument=True,
        ),
    ],
    out: Annotated[
        Path | None, About("Default: data/build/PAGE.html of the study.", metavar="FILE.html")
    ] = None,
    *,
    study: Path | str | None = None,
) -> Exported:
    """Write a page of `covmis open` as one file, to send.

    The file loads nothing. It may hold texts of posts: send it only to people who may read them. `board` has all rounds
    on one page, and is written to annotation/rounds/board.html.

    Example: covmis export flow
    """
    opened = open_study(study)
    written = write_board(opened, out) if page == "board" else export_page(opened.places.folder, page, out)
    return Exported(opened.places.relative(written))


def export_page(folder: Path, page: str, out: Path | None = None) -> Path:
    """Write a page; `page` is its address without the host, like "flow?step=words" or "rounds/001". Its path."""
    name = page.strip("/")
    if re.split("[/?]", name)[0] not in PAGES:
        raise UnknownName(f"no page is called '{page}'", remedy=f"Pages: {', '.join((*PAGES, 'board'))}")
    app = application(folder, 0, read_only=True).app
    styles = (TEMPLATES / "style.css", OWN.parent / "static" / "bench.css")
    app.state.bench.templates.globals["styles"] = [path.read_text("utf-8") for path in styles]
    path, _, query = name.partition("?")
    html = _page(app, "/" if path == "overview" else f"/{path}", query)
    # links of the workbench lead nowhere; quotation marks in texts are escaped
    html = re.sub(r' (href|action)="[/?][^"]*"', "", html)
    html = re.sub(r"<(input|select|textarea|button)\b", r"<\1 disabled", html)
    target = out or folder / "data" / "build" / f"{re.sub('[^A-Za-z0-9.]+', '-', name)}.html"
    storage.write_text(target, html)
    return target


def _page(app: Starlette, path: str, query: str) -> str:
    """What the page's own function answers to a browser's request."""
    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "root_path": "",
        "query_string": query.encode(),
        "headers": [],
        "app": app,
    }
    for route in app.routes:
        match, more = route.matches(scope)
        if isinstance(route, Route) and match == Match.FULL:
            return bytes(route.endpoint(Request({**scope, **more})).body).decode()
    raise UnknownName(f"no page is called '{path}'")
