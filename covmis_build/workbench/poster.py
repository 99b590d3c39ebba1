"""The study on one page, for a wall or a talk: where posts went, agreement, shares and scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.errors import CovmisError
from covmis_build.workbench.bench import bench_of
from covmis_build.workbench.results import estimated, of_scope
from covmis_build.workbench.rounds import agreement_of
from covmis_build.workbench.systems import scored

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from covmis_build.report.page import Section
    from covmis_build.workbench.bench import Bench

CLAIMS = 12
"""The claims with most labels are shown."""


def poster(request: Request) -> Response:
    """All on one page; what is not there yet is refused with what is next."""
    bench = bench_of(request)
    figures, status = estimated(bench), bench.status()
    rows = figures.shares[figures.shares["estimand"] == "unique_posts"]
    pool = of_scope(rows, "pool")
    labels = [row.label for row in pool]
    claims = sorted(of_scope(rows, "claim", labels[0]), key=lambda row: (-row.n, row.name))
    rounds = [(round_.number, agreement_of(bench, round_)) for round_ in bench.study.rounds]
    return bench.page(
        request,
        "poster.html",
        "export",
        "poster",
        steps=[step for step in status.flow if step.pairs is not None],
        rounds=[(number, found) for number, found in rounds if found and found.items_with_two_labels],
        target=bench.study.settings.annotation.target,
        estimates=figures,
        pool=pool,
        labels=labels,
        claims=sorted(claims[:CLAIMS], key=lambda row: (-row.share, row.name)),
        all=len(claims),
        scores=_scores(bench),
    )


def _scores(bench: Bench) -> list[Section]:
    """The table of scores, if the predictions that were dropped in have any without further settings."""
    try:
        return scored(bench)[:1]
    except CovmisError:
        return []
