"""Where posts went: each step with what it dropped and why, and the whole story of a post."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.study.status import chain_texts
from covmis_build.workbench.bench import TABLES, bench_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


def flow(request: Request) -> Response:
    """The flow, and the posts that one step dropped."""
    bench, asked = bench_of(request), request.query_params
    status, study = bench.status(), bench.study
    step, reason, claim = (asked.get(name, "") for name in ("step", "reason", "claim"))
    dropped, command = None, ["status"]
    if step:
        dropped = bench.keep(
            f"dropped {step} {reason} {claim}",
            TABLES,
            lambda: study.dropped_posts(step, reason=reason, claim=claim, status=status),
        )
        command += ["--dropped", step]
        command += ["--reason", reason] * bool(reason) + ["--claim", claim] * bool(claim)
    chains = status.chains[:5] if step in {"", "near_duplicates"} else []
    texts = bench.keep("texts of chains", TABLES, lambda: chain_texts(study, chains)) if chains else {}
    steps = [each for each in status.flow if each.pairs is not None]
    return bench.page(
        request,
        "flow.html",
        *command,
        steps=steps,
        step=step,
        reason=reason,
        claim=claim,
        dropped=dropped,
        chains=chains,
        texts=texts,
        current=all(status.stages.values()),
    )


def story(request: Request) -> Response:
    """What `explain` tells of a claim, a post or an item."""
    bench, wanted = bench_of(request), request.path_params["id"]
    return bench.page(
        request, "story.html", "explain", wanted, wanted=wanted, lines=bench.study.explain(wanted).sentences
    )
