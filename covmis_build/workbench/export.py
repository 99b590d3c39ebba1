"""A page of the workbench as one file that loads nothing, to send or to keep; and the figures of a report, for a paper."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from starlette.requests import Request
from starlette.routing import Match, Route

from covmis_build import storage
from covmis_build.errors import InputError, UnknownName
from covmis_build.operations import About
from covmis_build.report.figure_files import figure_format, figures_of
from covmis_build.report.page import TEMPLATES
from covmis_build.report.result import Result
from covmis_build.study.rounds import write_board
from covmis_build.study.study import open_study
from covmis_build.workbench.app import application
from covmis_build.workbench.bench import TEMPLATES as OWN

if TYPE_CHECKING:
    from starlette.applications import Starlette

PAGES = (
    "overview",
    "posts",
    "claims",
    "queries",
    "flow",
    "story",
    "plan",
    "rounds",
    "results",
    "poster",
    "release",
)


@dataclass(frozen=True, repr=False)
class Exported(Result):
    """A page that was written."""

    page: str

    @property
    def summary(self) -> list[str]:
        """Return its place."""
        return [f"Written: {self.page}"]


@dataclass(frozen=True, repr=False)
class ExportedFigures(Result):
    """Figures that were written."""

    files: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    @property
    def summary(self) -> list[str]:
        """Return their places."""
        return [f"Written: {file}" for file in self.files]


def export(
    page: Annotated[
        str,
        About(
            "overview, posts, claims, queries/CLAIM, flow, story/ID, plan, rounds/NUMBER, board, results, poster, release; with --format "
            "a page that covmis wrote, FILE.html.",
            argument=True,
        ),
    ],
    out: Annotated[
        Path | None,
        About(
            "Default: data/build/PAGE.html of the study, or the folder FILE-figures next to FILE.html.",
            metavar="PATH",
        ),
    ] = None,
    *,
    study: Path | str | None = None,
) -> Exported:
    """Write a page as one file, or the figures of a report.

    A page of `covmis open` becomes a file that loads nothing, to send. It may hold texts of posts: send it only to people
    who may read them. `board` has all rounds on one page, and is written to annotation/rounds/board.html.

    Figures are written as they are on a page that covmis wrote: after `covmis estimate --out shares.html`, `covmis export shares.html
    --format pdf` writes a folder of them. PDF and PNG need the extra `figures`.

    Example: covmis export flow
    """
    if page.endswith(".html"):
        raise UnknownName(
            f"{page} is a file, and no page of `covmis open`",
            remedy="`--format svg`, pdf or png writes its figures",
        )
    opened = open_study(study)
    written = write_board(opened, out) if page == "board" else export_page(opened.places.folder, page, out)
    return Exported(opened.places.relative(written))


def export_figures(
    page: Annotated[str, About("A page that covmis wrote.", argument=True)],
    format: Annotated[str, About("svg, pdf or png: write the figures of FILE.html.")],  # noqa: A002 - the option's name
    out: Annotated[Path | None, About("A folder (default: FILE-figures, next to the page).")] = None,
) -> ExportedFigures:
    """Write the figures of a page that covmis wrote into a folder, a file for each."""
    path, wanted = Path(page), figure_format(format)
    if not path.is_file():
        raise InputError(
            "is no file",
            file=path,
            remedy="Figures are those of a page that covmis wrote, such as data/release/statistics.html",
        )
    figures = figures_of(path)
    if not figures:
        raise InputError("has no figures that can be taken", file=path)
    folder = out or path.with_name(f"{path.stem}-figures")
    drawn = {folder / figure.file_name(wanted): figure.in_format(wanted) for figure in figures}
    for target, data in drawn.items():
        storage.write_bytes(target, data)
    old = sorted(set(folder.glob(f"[0-9][0-9]-*.{wanted}")) - drawn.keys())
    warnings = [f"{earlier}: is no figure of {path.name} as it is now" for earlier in old]
    return ExportedFigures(tuple(map(str, drawn)), tuple(warnings))


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
