"""The claim list: bringing one in, after a look at how its columns are read."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse

from covmis_build.errors import CovmisError, InputError
from covmis_build.study.claims import FIELDS, has_examples
from covmis_build.workbench.bench import back_to, bench_of, blocks_of, form_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from starlette.requests import Request
    from starlette.responses import Response

from covmis_build.study.claims import LookedAt

MOST_SHOWN = 200


def claims(request: Request) -> Response:
    """The claims, and a list that was dropped in, as it is read; for `x-part: live` only that."""
    bench, asked = bench_of(request), request.query_params
    shown: dict[str, Any] = {"looked": None, "problem": "", "columns": []}
    words = ["claims", "lint"]
    dropped = bench.dropped.get("claims")
    if dropped:
        try:
            looked = bench.study.look_at_claims(dropped)
            seen = looked.understood
            shown["columns"] = list(filter(None, dict.fromkeys([*seen.columns.values(), *seen.left_over])))
            chosen = _chosen(looked, asked)
            shown["looked"] = bench.study.look_at_claims(dropped, columns=chosen) if chosen else looked
            words = bench.words("claims import", _given(dropped, chosen), dropped="claims")
        except CovmisError as error:
            shown["problem"] = str(error)
    name = dropped.name if dropped else ""
    template = "claims_seen.html" if request.headers.get("x-part") else "claims.html"
    return bench.page(
        request,
        template,
        *words,
        name=name,
        fields=FIELDS,
        claims=bench.claims[:MOST_SHOWN],
        all=len(bench.claims),
        examples=has_examples(bench.study),
        **shown,
    )


def _chosen(looked: LookedAt, given: Mapping[str, str]) -> dict[str, str]:
    """The columns that were chosen otherwise than the list's own names say."""
    own = looked.understood.columns
    read_as = {key.removeprefix("as:"): given[key] for key in given if key.startswith("as:")}
    chosen = {}
    for name in FIELDS if read_as else ():
        columns = [column for column, field in read_as.items() if field == name]
        fresh = [column for column in columns if column != own.get(name)]
        if fresh or (own.get(name) in read_as and not columns):
            chosen[name] = fresh[0] if fresh else ""
    return chosen


def _given(path: Path, chosen: Mapping[str, str]) -> dict[str, Any]:
    """What the import of the dropped list is given."""
    return {"claims": path.name} | ({"columns": chosen} if chosen else {})


async def add(request: Request) -> Response:
    """Take a list in, to be looked at; it is no part of the study yet."""
    await run_in_threadpool(bench_of(request).take, "claims", request.path_params["name"], blocks_of(request))
    return PlainTextResponse("/claims")


async def save(request: Request) -> Response:
    """Import the list that was looked at."""
    bench, form = bench_of(request), await form_of(request)
    path, study = bench.dropped.get("claims"), bench.study
    if path is None:
        raise InputError("no list of claims was dropped in", remedy="Drop it in once more")
    chosen = _chosen(await run_in_threadpool(study.look_at_claims, path), form)
    was_read = study.stages()["read"]
    brought = await bench.write(study.import_claims, path, columns=chosen)
    if (
        was_read
    ):  # only files that name claims are read again; if another command is at work, the next run does it
        with suppress(CovmisError):
            await run_in_threadpool(lambda: bench.study.run(["read"]))
    bench.said = "; ".join(brought.sentences[:-1])  # the last names the next command
    bench.did("claims import", _given(path, chosen), dropped="claims")
    bench.forget("claims")
    return back_to("/claims")
