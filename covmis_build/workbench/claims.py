"""The claim list: bringing one in, after a look at how its columns are read; typing claims, and changing their texts."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse

from covmis_build.errors import CovmisError, InputError
from covmis_build.study.claims import FIELDS, has_examples
from covmis_build.study.edit_claims import columns_of_list
from covmis_build.workbench.bench import back_to, bench_of, blocks_of, form_of
from covmis_build.workbench.shown import shown_in, text_shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from starlette.requests import Request
    from starlette.responses import Response

    from covmis_build.study.claims import LookedAt
    from covmis_build.workbench.bench import Bench

MOST_SHOWN = 200
SWITCHES = {
    "header": "Line of the column names; 0: there are none",
    "separator": "Sign between cells, such as ; or \\t",
    "encoding": "Encoding, such as cp1251",
    "path": "Place of the rows in JSON, such as data.claims[]",
}
"""How people say that a file is a table, where it does not say so itself: parameters of the import."""


def claims(request: Request) -> Response:
    """The claims, and a list that was dropped in, as it is read; for `x-part: live` only that."""
    bench = bench_of(request)
    words = ["claims", "lint"]
    dropped = bench.dropped.get("claims")
    seen = _seen(bench, dropped, request.query_params) if dropped else _Seen()
    if dropped and seen.looked:
        words = bench.words("claims import", _given(dropped, seen), dropped="claims")
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
        looked=seen.looked,
        problem=seen.problem,
        columns=seen.columns,
        switches=SWITCHES,
        switched=seen.switched,
    )


class _Seen(NamedTuple):
    """A list that was dropped in: its columns, which of them were chosen, how it is read so, or why it cannot be."""

    columns: Sequence[str] = ()
    chosen: Mapping[str, str] = {}
    switched: Mapping[str, str | int] = {}
    looked: LookedAt | None = None
    problem: str = ""


def _seen(bench: Bench, path: Path, asked: Mapping[str, str]) -> _Seen:
    looked, own, problem, switched = None, None, "", _switched(asked)
    try:
        looked = bench.study.look_at_claims(path, **switched)
        own = looked.understood.columns
        columns = list(filter(None, dict.fromkeys([*own.values(), *looked.understood.left_over])))
    except CovmisError as error:  # its columns are not recognised: people choose them
        problem, columns = bench.sentence_of(error), []
        with suppress(CovmisError):
            columns = columns_of_list(path, **switched)
    chosen = _chosen(own, {name: asked.get(f"as:{name}") for name in columns})
    if chosen:
        try:
            looked, problem = bench.study.look_at_claims(path, columns=chosen, **switched), ""
        except CovmisError as error:
            looked, problem = None, bench.sentence_of(error)
    return _Seen(columns, chosen, switched, looked, problem)


def _switched(asked: Mapping[str, str]) -> dict[str, Any]:
    """What the form says of the table."""
    typed: dict[str, Any] = {name: asked[name] for name in SWITCHES if asked.get(name, "").strip()}
    if not str(typed.get("header", 0)).strip().isdecimal():
        raise InputError(f"'{typed['header'][:20]}' is no line", remedy="0 if there are no names of columns")
    return typed | ({"header": int(typed["header"])} if "header" in typed else {})


def _chosen(own: Mapping[str, str] | None, given: Mapping[str, str | None]) -> dict[str, str]:
    """The columns that were chosen otherwise than the list's own names say; all where these say nothing."""
    read_as = {column: field for column, field in given.items() if field is not None}
    chosen = {}
    for name in FIELDS if read_as else ():
        columns = [column for column, field in read_as.items() if field == name]
        fresh = [column for column in columns if own is None or column != own.get(name)]
        if fresh or own is None or (own.get(name) in read_as and not columns):
            chosen[name] = fresh[0] if fresh else ""
    return chosen


def _given(path: Path, seen: _Seen) -> dict[str, Any]:
    """What the import of the dropped list is given."""
    return {"claims": path.name} | ({"columns": seen.chosen} if seen.chosen else {}) | dict(seen.switched)


async def add(request: Request) -> Response:
    """Take a list in, to be looked at; it is no part of the study yet."""
    await run_in_threadpool(bench_of(request).take, "claims", request.path_params["name"], blocks_of(request))
    return PlainTextResponse("/claims")


async def save(request: Request) -> Response:
    """Import the list that was looked at."""
    bench, form = bench_of(request), await form_of(request)
    path, study = bench.file("claims"), bench.study
    seen = await run_in_threadpool(_seen, bench, path, form)
    was_read, shown = study.stages()["read"], shown_in(form, "dropped", "claims")
    brought = await bench.write(study.import_claims, path, shown=shown, columns=seen.chosen, **seen.switched)
    if (
        was_read
    ):  # only files that name claims are read again; if another command is at work, the next run does it
        with suppress(CovmisError):
            await run_in_threadpool(lambda: bench.study.run(["read"]))
    bench.said = "; ".join(brought.sentences[:-1])  # the last names the next command
    bench.did("claims import", _given(path, seen), dropped="claims")
    bench.forget("claims")
    return back_to("/claims")


async def type_in(request: Request) -> Response:
    """Add claims that were typed, one a line."""
    bench, form = bench_of(request), await form_of(request)
    texts = [line for line in form.get("texts", "").splitlines() if line.strip()]
    brought = await bench.write(bench.study.add_claims, texts)
    bench.said = "; ".join(brought.sentences[:-1])
    bench.did("claims add", {"texts": texts})
    return back_to("/claims")


async def edit(request: Request) -> Response:
    """Change a claim's text, unless somebody has changed it since the page was shown."""
    bench, form, claim = bench_of(request), await form_of(request), request.path_params["claim"]
    text = form.get("text", "")
    edited = await bench.write(bench.study.edit_claim, claim, text, instead_of=text_shown(form))
    bench.said = " ".join(edited.sentences[:-1])
    bench.did("claims edit", {"claim": claim, "text": edited.text})
    return back_to(f"/queries/{quote(claim, safe='')}")
