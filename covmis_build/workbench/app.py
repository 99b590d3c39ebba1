"""The workbench as a web application, and the server that shows it to this machine alone."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from covmis_build.errors import CovmisError, NoClaim
from covmis_build.report.page import TEMPLATES
from covmis_build.workbench import (
    answers,
    claims,
    flow,
    label,
    links,
    operations,
    overview,
    plan,
    poster,
    posts,
    queries,
    release,
    results,
    rounds,
    settings,
    systems,
    take_figures,
    texts,
)
from covmis_build.workbench.bench import TEMPLATES as OWN
from covmis_build.workbench.bench import Bench, bench_of
from covmis_build.workbench.guard import Guard

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from starlette.requests import Request

HOST = "127.0.0.1"
LISTENING = 0.2
"""Seconds between two looks at what is at work."""


def application(folder: Path, port: int, *, read_only: bool = False) -> Guard:
    """The workbench of a study, for requests to this port; `.entrance` has the codes that open it."""
    app = Starlette(
        routes=[
            Route("/", overview.overview),
            Route("/posts", posts.posts),
            Route("/posts", posts.save, methods=["POST"]),
            Route("/posts/{name:path}", posts.add, methods=["PUT"]),
            Route("/claims", claims.claims),
            Route("/claims", claims.save, methods=["POST"]),
            Route("/claims/{name:path}", claims.add, methods=["PUT"]),
            Route("/claim", claims.type_in, methods=["POST"]),
            Route("/claim/{claim}", claims.edit, methods=["POST"]),
            Route("/queries", queries.queries),
            Route("/queries/{claim}", queries.queries),
            Route("/queries/{claim}", queries.save, methods=["POST"]),
            Route("/flow", flow.flow),
            Route("/story/{id:path}", flow.story),
            Route("/plan", plan.plan),
            Route("/plan", plan.save, methods=["POST"]),
            *(Route(f"/{kind}", texts.show) for kind in texts.TEXTS),
            *(Route(f"/{kind}", texts.save, methods=["POST"]) for kind in texts.TEXTS),
            Route("/rounds", rounds.rounds),
            Route("/rounds/{number}", rounds.rounds),
            Route("/rounds/{number}/decide", rounds.decide, methods=["POST"]),
            Route("/rounds/{number}/answers", answers.record, methods=["POST"]),
            Route("/rounds/{number}/answers/{name:path}", answers.add, methods=["PUT"]),
            Route("/rounds/{number}/label", label.begin, methods=["POST"]),
            Route("/rounds/{number}/label/{annotator}", label.label),
            Route("/rounds/{number}/label/{annotator}", label.save, methods=["POST"]),
            Route("/links", links.links),
            Route("/links", links.change, methods=["POST"]),
            Route("/links/sheet", links.sheet),
            Route("/results", results.results),
            Route("/poster", poster.poster),
            Route("/results/figures", take_figures.of_results),
            Route("/systems", systems.systems),
            Route("/systems", systems.put_away, methods=["POST"]),
            Route("/systems/{name:path}", systems.add, methods=["PUT"]),
            Route("/release", release.release),
            Route("/release.zip", release.packed),
            Route("/recall", operations.recall),
            Route("/purge", operations.purge),
            Route("/settings", settings.settings),
            Route("/settings", settings.save, methods=["POST"]),
            Route("/new", overview.new, methods=["POST"]),
            Route("/file/{name:path}", release.download),
            Route("/figures/{name:path}", take_figures.of_report),
            Route("/session", overview.session),
            Route("/session/{name}", overview.download),
            Route("/start/{name}", overview.start, methods=["POST"]),
            Route("/end", _end, methods=["POST"]),
            Route("/events", _events),
            Route("/static/style.css", _style),
            Route("/static/bench.js", _script),
            Mount("/static", StaticFiles(directory=OWN.parent / "static")),
        ],
        exception_handlers={CovmisError: _refused, HTTPException: _missing},
    )
    app.state.bench = bench = Bench(folder, read_only)
    return Guard(app, bench, port)


def _style(_: Request) -> Response:
    """The one style sheet of all pages, those of the reports among them."""
    return Response((TEMPLATES / "style.css").read_bytes(), media_type="text/css")


def _script(_: Request) -> Response:
    """The script of all pages; what a key stands for is also in the offline page's."""
    script = b"".join(path.read_bytes() for path in (TEMPLATES / "keys.js", OWN.parent / "static/bench.js"))
    return Response(script, media_type="text/javascript")


def _refused(request: Request, error: Exception) -> Response:
    """What the library refuses, in its words."""
    code, bench = 404 if isinstance(error, NoClaim) else 400, bench_of(request)
    if "x-part" in request.headers:
        return PlainTextResponse(bench.sentence_of(error), code)
    stale = request.method == "GET" and not bench.read_only and bench.is_stale()
    return bench.refused(request, "doctor", code=code, sentence=bench.sentence_of(error), stale=stale)


def _missing(request: Request, error: Exception) -> Response:
    code = error.status_code if isinstance(error, HTTPException) else 500
    return bench_of(request).refused(request, "status", code=code, sentence="There is no such page.")


async def _end(request: Request) -> Response:
    bench_of(request).jobs.end()
    return Response(status_code=204)


async def _events(request: Request) -> Response:
    """How far the work is, as server-sent events, until it has ended."""
    jobs = bench_of(request).jobs

    async def news() -> AsyncIterator[str]:
        heard = -1
        while jobs.last and not await request.is_disconnected():
            if heard != jobs.changes:
                heard = jobs.changes
                about = jobs.last.to_dict()
                yield f"data: {json.dumps(about)}\n\n"
                if about["state"] != "running":
                    return
            await anyio.sleep(LISTENING)

    return StreamingResponse(news(), media_type="text/event-stream")


def serve(guard: Guard, listener: socket.socket) -> None:
    """Show it until somebody ends it with Ctrl-C; what is at work ends, too."""
    threading.Thread(target=queries.warm, args=(guard.bench,), daemon=True).start()
    config = uvicorn.Config(guard, log_level="warning", server_header=False, timeout_graceful_shutdown=1)
    try:
        with suppress(KeyboardInterrupt):  # how people end it
            uvicorn.Server(config).run(sockets=[listener])
    finally:
        guard.entrance.close()
        guard.bench.jobs.end()
        if guard.bench.team:
            guard.bench.team.stop()
        for what in list(guard.bench.dropped):
            guard.bench.forget(what)


def listen(port: int) -> socket.socket:
    """A socket on this machine alone; port 0 is any free one."""
    listener = socket.create_server((HOST, port))
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # asyncio leaves it out here: 40 ms a page
    return listener
