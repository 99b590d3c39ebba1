"""The results: shares with their intervals, and scores of systems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse

from covmis_build.errors import CovmisError
from covmis_build.report.page import table_html
from covmis_build.workbench.bench import ROUNDS, TABLES, bench_of, blocks_of

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from starlette.requests import Request
    from starlette.responses import Response

    from covmis_build.estimation.shares import Estimates
    from covmis_build.study.study import Study
    from covmis_build.workbench.bench import Bench

BASED_ON = (*TABLES, *ROUNDS, "annotation/recall/*/*", "annotation/relabel/*/*", "data/release/checksums.txt")


def results(request: Request) -> Response:
    """Shares by claim and over time, and scores."""
    from covmis_build.study.estimate import COUNTED

    bench, asked = bench_of(request), request.query_params
    study = bench.study
    labels = study.settings.labels.values  # noqa: PD011 - a setting of ours
    label = asked["label"] if asked.get("label") in labels else labels[0]
    of = asked["of"] if asked.get("of") in COUNTED else "unique_posts"
    stages = study.stages()
    shown: dict[str, Any] = {"estimates": None, "problem": "", "scores": ()}
    try:
        figures = estimated(bench)
        rows = figures.shares[figures.shares["estimand"] == of]
        labels = tuple(dict.fromkeys(rows.loc[rows["scope"] == "pool", "label"]))
        label = asked["label"] if asked.get("label") in labels else labels[0]
        shown |= {"estimates": figures, "pool": of_scope(rows, "pool")}
        shown["claims"] = sorted(of_scope(rows, "claim", label), key=lambda row: (-row.share, row.name))
        shown["months"] = {name: of_scope(rows, "month", name) for name in labels}
    except CovmisError as error:
        shown["problem"] = str(error)
    shown["scores"] = scored(bench)
    return bench.page(
        request,
        "results.html",
        "estimate",
        "--by",
        "claim,month",
        labels=labels,
        label=label,
        of=of,
        estimands=COUNTED,
        current=all(stages.values()),
        **shown,
    )


def scored(bench: Bench) -> list[tuple[str, str]]:
    """Scores of the predictions that were dropped in: tables with a sentence each."""
    systems = {path.stem: path for what, path in bench.dropped.items() if what.startswith("predictions ")}
    if not systems:
        return []
    try:
        scores = bench.keep(
            f"scores {sorted(systems.items())}", BASED_ON, lambda: _scores(bench.study, systems)
        )
    except CovmisError as error:  # gold labels may have come that these predictions lack
        return [(bench.sentence_of(error), "")]
    tables = (*scores.tables(), ("The measures", scores.legend()))
    return [(title, table_html(table, headings=2)) for title, table in tables]


def estimated(bench: Bench) -> Estimates:
    """The estimates that the page shows, made again when the study has changed."""
    study = bench.study
    state = f"estimates {sorted(study.stages().items())}"
    return bench.keep(state, BASED_ON, lambda: study.estimate(by=["claim", "month"]))


def _scores(study: Study, systems: dict[str, Path]) -> Any:
    """Scores on the final labels; predictions of posts that have none, as of all posts found, do not count."""
    return study.score(systems, extra="ignore")


async def add(request: Request) -> Response:
    """Take a file of predictions in, to be scored; it is no part of the study."""
    bench, name = bench_of(request), request.path_params["name"]

    def take() -> Path:
        path = bench.take(f"predictions {name}", name, blocks_of(request))
        try:
            _scores(bench.study, {path.stem: path})
        except CovmisError:
            bench.forget(f"predictions {name}")
            raise
        return path

    path = await run_in_threadpool(take)
    return PlainTextResponse(f"/results?scored={path.parent.name}#scores")


def of_scope(shares: pd.DataFrame, scope: str, label: str = "") -> list[Any]:
    """The rows of a scope by name, of one label or of all."""
    rows = shares[shares["scope"] == scope]
    rows = rows[rows["label"] == label] if label else rows
    return list(rows.sort_values("name", kind="stable").itertuples(index=False))
