"""The results: shares with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from covmis_build.errors import CovmisError
from covmis_build.workbench.bench import ROUNDS, TABLES, bench_of

if TYPE_CHECKING:
    import pandas as pd
    from starlette.requests import Request
    from starlette.responses import Response

    from covmis_build.estimation.shares import Estimates
    from covmis_build.workbench.bench import Bench

BASED_ON = (*TABLES, *ROUNDS, "annotation/recall/*/*", "annotation/relabel/*/*", "data/release/checksums.txt")


def results(request: Request) -> Response:
    """Shares by claim and over time."""
    from covmis_build.study.estimate import COUNTED

    bench, asked = bench_of(request), request.query_params
    study = bench.study
    labels = study.settings.labels.values  # noqa: PD011 - a setting of ours
    label = asked["label"] if asked.get("label") in labels else labels[0]
    of = asked["of"] if asked.get("of") in COUNTED else "unique_posts"
    stages = study.stages()
    shown: dict[str, Any] = {"estimates": None, "problem": ""}
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


def estimated(bench: Bench) -> Estimates:
    """The estimates that the page shows, made again when the study has changed."""
    study = bench.study
    state = f"estimates {sorted(study.stages().items())}"
    return bench.keep(state, BASED_ON, lambda: study.estimate(by=["claim", "month"]))


def of_scope(shares: pd.DataFrame, scope: str, label: str = "") -> list[Any]:
    """The rows of a scope by name, of one label or of all."""
    rows = shares[shares["scope"] == scope]
    rows = rows[rows["label"] == label] if label else rows
    return list(rows.sort_values("name", kind="stable").itertuples(index=False))
