"""Labelling right here: an annotator's offline page, whose answers go straight into the study."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.responses import HTMLResponse, Response

from covmis_build.errors import InputError
from covmis_build.workbench.bench import back_to, bench_of, body_of, form_of
from covmis_build.workbench.guard import POLICY

if TYPE_CHECKING:
    from starlette.requests import Request


async def begin(request: Request) -> Response:
    """Push the round as offline pages, and go to one person's."""
    bench, form = bench_of(request), await form_of(request)
    round_ = bench.study.round(request.path_params["number"])
    sent = await bench.write(round_.push, "html")
    if sent.written:
        bench.did("round push", {"channel": "html"}, number=round_.number)
    return back_to(f"/rounds/{round_.number}/label/{quote(form.get('annotator', ''), safe='')}")


def label(request: Request) -> Response:
    """The page of one person; its own script and style are named by their hashes."""
    round_ = bench_of(request).study.round(request.path_params["number"])
    html = round_.label_page(
        request.path_params["annotator"], save=request.url.path, back=f"/rounds/{round_.number}"
    )
    policy = POLICY
    for kind, tag in (("script-src", "script"), ("style-src", "style")):
        inline = re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)[-1]
        digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
        policy = policy.replace(f"{kind} 'self'", f"{kind} 'sha256-{digest}'")
    return HTMLResponse(html, headers={"content-security-policy": policy})


async def save(request: Request) -> Response:
    """Take answers of the page into the study."""
    bench, annotator = bench_of(request), request.path_params["annotator"]
    try:
        answers = list(json.loads(await body_of(request))["answers"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError("no answers of the page", remedy="Load the page again") from None
    round_ = bench.study.round(request.path_params["number"])
    await bench.write(round_.take_answers, annotator, answers)
    file = f"annotation/rounds/{round_.number}/sheets/{annotator}-{round_.number}.json"
    bench.did("round pull", {"files": [file]}, number=round_.number, once=True)
    return Response(status_code=204)
