"""Labelling right here: an annotator's page, whose answers go straight into the study."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec
from starlette.responses import JSONResponse

from covmis_build.errors import InputError
from covmis_build.workbench.bench import back_to, bench_of, body_of, form_of
from covmis_build.workbench.one_page import one_page

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


class _Row(msgspec.Struct):
    """An answer as the page sends it."""

    id: str
    label: str
    sub: str
    comment: str
    at: str
    shown: str
    flag: bool = False
    seconds: float = 0
    times: dict[str, str] = {}


class _Rows(msgspec.Struct):
    answers: list[_Row]


async def begin(request: Request) -> Response:
    """Push the round as offline pages, and go to one person's."""
    bench, form = bench_of(request), await form_of(request)
    round_ = bench.study.round(request.path_params["number"])
    sent = await bench.write(round_.push, "html")
    if sent.written:
        bench.did("round push", {"channel": "html"}, number=round_.number)
    return back_to(f"/rounds/{round_.number}/label/{quote(form.get('annotator', ''), safe='')}")


def label(request: Request) -> Response:
    """The page of one person."""
    round_ = bench_of(request).study.round(request.path_params["number"])
    annotator, back = request.path_params["annotator"], f"/rounds/{round_.number}"
    return one_page(round_.label_page(annotator, save=request.url.path, back=back))


async def save(request: Request) -> Response:
    """Take answers of the page into the study."""
    bench, annotator = bench_of(request), request.path_params["annotator"]
    answers = answers_in(await body_of(request))
    round_ = bench.study.round(request.path_params["number"])
    taken = await bench.write(round_.take_answers, annotator, answers)
    file = f"annotation/rounds/{round_.number}/sheets/{annotator}-{round_.number}.json"
    bench.did("round pull", {"files": [file]}, number=round_.number, once=True)
    return JSONResponse(taken.to_dict())


def answers_in(body: str) -> list[dict[str, Any]]:
    """What the page sent; anything else is refused."""
    try:
        # Half of a pair of surrogates, as a cut emoji leaves it, is no text that a file can have.
        whole = json.dumps(json.loads(body), ensure_ascii=False).encode("utf-8", "replace")
        rows: list[dict[str, Any]] = msgspec.to_builtins(msgspec.json.decode(whole, type=_Rows).answers)
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors, too
        raise InputError("no answers of the page", remedy="Load the page again") from None
    return rows
