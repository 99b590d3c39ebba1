"""Files that annotators sent back, dropped in on their round: shown as they would be recorded, and then recorded."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse

from covmis_build.errors import CovmisError
from covmis_build.study.add_posts import safe_name
from covmis_build.workbench.bench import ROUNDS, Bench, back_to, bench_of, blocks_of, form_of, pairs_of
from covmis_build.workbench.shown import shown_in

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from starlette.requests import Request
    from starlette.responses import Response

    from covmis_build.study.round import Round

PEOPLE = "people"
"""The field in which people say who is which annotator, NAME=CODE on each line."""


class Returned(NamedTuple):
    """A file that came back: how it would be recorded, or why it cannot be."""

    name: str
    is_ours: bool
    """True for a sheet or page that covmis wrote, False for labels that were made in another tool."""
    lines: list[str]
    problems: list[str]
    refused: str = ""


async def add(request: Request) -> Response:
    """Take a file in, to be looked at; it is no part of the study yet."""
    bench, number, name = bench_of(request), request.path_params["number"], request.path_params["name"]
    number = bench.study.round(number).number
    path = await run_in_threadpool(bench.take, _what(number, safe_name(name)), name, blocks_of(request))
    return PlainTextResponse(f"/rounds/{number}?file={path.parent.name}#returned")


def _what(number: str, name: str) -> str:
    """What a file that was dropped in on a round is kept as."""
    return f"answers {number} {name}"


def returned(bench: Bench, round_: Round, asked: Mapping[str, str]) -> list[Returned]:
    """The files that were dropped in on this round, each as it would be recorded."""
    people = asked.get(PEOPLE, "")
    return [
        bench.keep(f"{path} {people}", ROUNDS, partial(_look, bench, round_, path, people))
        for what, path in bench.dropped.items()
        if what.startswith(_what(round_.number, ""))
    ]


def _look(bench: Bench, round_: Round, path: Path, people: str) -> Returned:
    is_named = any(path.name.startswith(code) for code in round_.annotators)
    try:
        pulled = round_.look_at_answers(path)
    except CovmisError as error:
        if is_named:
            return Returned(path.name, True, [], [], bench.sentence_of(error))
    else:
        usable = pulled.answers - pulled.to_correct
        lines = [f"{usable} answers can be used, {pulled.to_correct} are to be corrected."]
        return Returned(path.name, True, lines, [str(problem) for problem in pulled.problems])
    try:
        imported = round_.import_labels(path, people=pairs_of(people))
    except CovmisError as error:
        return Returned(path.name, False, [], [], bench.sentence_of(error))
    labels = [
        f"{code}: {', '.join(f'{label} {count}' for label, count in own.items())}"
        for code, own in imported.labels.items()
    ]
    matched = f"{imported.form}: {imported.by_id} matched by id, {imported.by_text} by text, {imported.unmatched} of other posts."
    return Returned(path.name, False, [matched, *labels, *imported.notes], imported.problems)


async def record(request: Request) -> Response:
    """Record the answers of a file that was looked at, or put the file away."""
    bench, form = bench_of(request), await form_of(request)
    round_ = bench.study.round(request.path_params["number"])
    what = _what(round_.number, form.get("file", ""))
    path, shown = bench.file(what), shown_in(form, "dropped", what)
    if form.get("do") == "record":
        given: dict[str, Any] = {"labels": path.name, "people": pairs_of(form.get(PEOPLE, "")), "yes": True}
        if form.get("ours"):
            given = {"files": [path.name]} | ({"as_it_stands": True} if form.get("as_it_stands") else {})
            pulled = await bench.write(round_.pull, [path], as_it_stands="as_it_stands" in given, shown=shown)
            bench.said = " ".join([*pulled.sentences, *pulled.warnings])
            bench.did("round pull", given, number=round_.number)
        else:
            imported = await bench.write(
                round_.import_labels, path, people=given["people"], yes=True, shown=shown
            )
            bench.said = " ".join([f"{imported.added} new in the record.", *imported.warnings])
            bench.did("round import", given, number=round_.number, dropped="labels")
    bench.forget(what)
    return back_to(f"/rounds/{round_.number}")
