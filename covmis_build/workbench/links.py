"""The annotators' links: who has one and how far each is, new and closed links, and a sheet of them to print."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup
from starlette.concurrency import run_in_threadpool

from covmis_build.errors import InputError
from covmis_build.study.links import language_of_pages, rounds_by_link
from covmis_build.workbench.bench import back_to, bench_of, form_of
from covmis_build.workbench.reach import LOOPBACK, Reach
from covmis_build.workbench.shown import shown_in
from covmis_build.workbench.team_server import own_address, serve_links

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from covmis_build.workbench.bench import Bench
    from covmis_build.workbench.shown import Shown


def links(request: Request) -> Response:
    """Everybody's link and progress; links that were made since the workbench was opened are shown as long."""
    bench = bench_of(request)
    study, team = bench.study, bench.team
    rounds = rounds_by_link(study)
    sent = [round_ for round_ in rounds if round_.folder.pushed_at]
    workers = {
        round_.number: {worker.annotator: worker for worker in bench.progress(round_).workers}
        for round_ in sent
    }
    return bench.page(
        request,
        "links.html",
        "round",
        "links",
        links=study.links(),
        new=bench.new_links,
        served=team.reach if team and team.is_at_work else None,
        troubles=team.team.troubles if team else [],
        workers=workers,
        unsent=[round_.number for round_ in rounds if not round_.folder.pushed_at],
        own=own_address(),
        loopback=LOOPBACK,
    )


async def change(request: Request) -> Response:
    """Serve links or end that, send a round, make or close a link."""
    bench, form = bench_of(request), await form_of(request)
    act, of = form.get("act", ""), form.get("of", "")
    if act == "serve":
        reach = Reach(form.get("address", "").strip(), _port(form.get("port", "")))
        await run_in_threadpool(serve_links, bench, reach, of)
    elif act == "end" and bench.team:
        await run_in_threadpool(bench.team.stop)
    elif act == "send":
        await bench.write(bench.study.round(of).send_by_links)
    elif act in {"new", "close"}:
        await _of_person(bench, act, shown_in(form, "link", of))
    return back_to("/links")


async def _of_person(bench: Bench, act: str, shown: Shown) -> None:
    """Make or close this person's link. What was closed is shown no longer."""
    code = shown.of
    given = {act: [code]}
    changed = await bench.write(lambda: bench.study.links(**given), shown=shown)
    bench.new_links.pop(code, None)
    bench.new_links |= changed.new
    bench.did("round links", given)


def sheet(request: Request) -> Response:
    """A page to print and cut: a slip a person."""
    bench = bench_of(request)
    if not bench.new_links:
        raise InputError("there is no new link to print", remedy="Make one: links are shown once")
    codes = {code: _qr(url, code) for code, url in bench.new_links.items()}
    t = language_of_pages(bench.study)
    return bench.page(request, "links_sheet.html", "round", "links", new=bench.new_links, codes=codes, t=t)


def _qr(url: str, code: str) -> Markup:
    """A link as a QR code; nothing where the extra is not installed."""
    try:
        import segno
    except ImportError:
        return Markup("")
    drawing = segno.make(url, micro=False).svg_inline(scale=4, light="#fff", title=f"Link of {code}")
    return Markup(drawing)  # noqa: S704 - segno's own drawing, of squares; it escapes the title


def _port(text: str) -> int:
    if not text.strip():
        return 0
    if not text.strip().isdecimal() or int(text) > 65535:
        raise InputError(f"'{text[:20]}' is no port", remedy="A number up to 65535; empty: any free one")
    return int(text)
