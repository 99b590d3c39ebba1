"""Systems: predictions that were dropped in, scored on the final labels, compared, and tested as annotators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse

from covmis_build.errors import CovmisError
from covmis_build.study.add_posts import safe_name
from covmis_build.workbench.bench import PREDICTIONS, back_to, bench_of, blocks_of, form_of, pairs_of
from covmis_build.workbench.results import BASED_ON
from covmis_build.workbench.shown import shown_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from covmis_build.report.page import Section
    from covmis_build.workbench.bench import Bench

GOLD = "data/release/corpus.csv"
REFUSED = "refuse"
READ = {
    "missing": ("A prediction that is missing", {REFUSED: "is refused", "wrong": "counts as wrong"}),
    "invalid": (
        "An answer that is none of the labels",
        {REFUSED: "is refused", "wrong": "counts as wrong", "missing": "is a missing prediction"},
    ),
}
"""How predictions are read: options of the commands."""


def systems(request: Request) -> Response:
    """The systems, their scores, the comparison of each two, and the test of one as an annotator."""
    from covmis_build.study.score import MEASURES, TESTS

    bench, asked = bench_of(request), request.query_params
    measure, test = asked.get("measure", "macro_f1"), asked.get("test", next(iter(TESTS)))
    read = {name: asked.get(name, "") or REFUSED for name in READ}
    of_systems, problem = bench.predictions, ""
    kept = {
        name: bench.study.places.relative(path)
        for name, path in of_systems.items()
        if path.is_relative_to(bench.folder)
    }
    named = [kept.get(name, name) for name in of_systems]
    options = [word for name, value in read.items() if value != REFUSED for word in (f"--{name}", value)]
    words = ["score", GOLD, *(named or ["PREDICTIONS.csv"])]
    scores: list[Section] = []
    compared: list[Section] = []
    try:
        if names := pairs_of(asked.get("map", "")):
            options += [word for old, new in names.items() for word in ("--map", f"{old}={new}")]
        scores = scored(bench, map=names or None, **read)
        if len(named) > 1:
            words = ["compare", GOLD, *named, "--measure", measure, "--test", test]
            compared = _compared(bench, measure=measure, test=test, map=names or None, **read)
    except CovmisError as error:
        problem = bench.sentence_of(error)
    return bench.page(
        request,
        "systems.html",
        "evaluate",
        *words,
        "--extra",
        "ignore",
        *options,
        files=list(of_systems),
        dropped=PREDICTIONS,
        kept=kept,
        problem=problem,
        measures=MEASURES,
        tests=TESTS,
        measure=measure,
        test=test,
        read=read,
        reading=READ,
        map=asked.get("map", ""),
        scores=scores,
        compared=compared,
        act=bench.last_act("covmis model admit"),
    )


def scored(bench: Bench, **how: Any) -> list[Section]:
    """Scores of the predictions, as on the page of the command."""
    return _judged(bench, bench.study.score, 1, how)


def _compared(bench: Bench, **how: Any) -> list[Section]:
    """Each two of them compared, as on the page of the command."""
    return _judged(bench, bench.study.compare, 2, how)


def _judged(bench: Bench, judge: Callable[..., Any], least: int, how: dict[str, Any]) -> list[Section]:
    systems = {path.stem: path for path in bench.predictions.values()}
    if len(systems) < least:
        return []
    same = f"{judge.__name__} {sorted(systems.items())} {how}"
    sections: list[Section] = bench.keep(
        same, (*BASED_ON, "data/models/*.csv"), lambda: judge(systems, extra="ignore", **how).sections
    )
    return sections


async def add(request: Request) -> Response:
    """Take a file of predictions in; it is no part of the study."""
    bench, name = bench_of(request), request.path_params["name"]
    await run_in_threadpool(bench.take, f"{PREDICTIONS}{safe_name(name)}", name, blocks_of(request))
    return PlainTextResponse("/systems")


async def put_away(request: Request) -> Response:
    """Put predictions away again."""
    bench, form = bench_of(request), await form_of(request)
    what = f"{PREDICTIONS}{form.get('file', '')}"
    await bench.write(bench.forget, what, shown=shown_in(form, "dropped", what))
    return back_to("/systems")
