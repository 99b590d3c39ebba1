"""Planning the sample: hours and widths of intervals, by sliders; and writing the settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from covmis_build.errors import CovmisError, InputError
from covmis_build.study.plan_sample import to_plan
from covmis_build.study.written_settings import SHOWN, written_settings
from covmis_build.workbench.bench import ROUNDS, back_to, bench_of, form_of
from covmis_build.workbench.settings import save_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from covmis_build.settings import Settings
    from covmis_build.study.plan_sample import ToPlan
    from covmis_build.workbench.bench import Bench

CURVE = (6, 12, 18, 24, 30, 36, 48, 60, 72, 96)
"""Posts a claim for which the curve has a point."""
POSTS, PEOPLE = "sampling.per_claim", "annotation.per_item"
"""The settings that the sliders write."""
SECONDS = 20.0
"""What a label takes until the rounds say it."""


@dataclass(frozen=True)
class Asked:
    """Where the sliders stand."""

    posts: int
    people: int
    seconds: float
    share: float


def _asked(given: Mapping[str, str], settings: Settings, seconds: float) -> Asked:
    try:
        asked = Asked(
            int(given.get("posts", settings.sampling.per_claim)),
            int(given.get("people", settings.annotation.per_item)),
            float(given.get("seconds", seconds)),
            float(given.get("share", 0.5)),
        )
    except ValueError as error:
        raise InputError(f"a slider has a value that is no number: {error}") from None
    if not (
        0 < asked.posts <= 1000
        and 0 < asked.people <= 20
        and 0 < asked.seconds <= 3600
        and 0 < asked.share < 1
    ):
        raise InputError("a slider has a value outside its range")
    return asked


def to_weigh(bench: Bench) -> ToPlan:
    """What plans of every size are computed from."""
    return bench.keep("to plan", ("data/build/*.parquet", *ROUNDS), lambda: to_plan(bench.study))


def plan(request: Request) -> Response:
    """What a sample costs and tells; for `x-part: live` only what changes with the sliders."""
    bench = bench_of(request)
    study = bench.study
    settings = study.settings
    try:
        known = to_weigh(bench)
    except CovmisError as error:  # nothing is sampled yet
        stale = bench.is_stale() and not bench.read_only
        sentence = bench.sentence_of(error)
        return bench.refused(request, "sample", "--plan", sentence=sentence, code=200, stale=stale)
    timed = known.cost.seconds
    asked = _asked(request.query_params, settings, max(round(timed or SECONDS), 1))
    plans = known.plans(
        [*CURVE, asked.posts], seconds=asked.seconds, share=asked.share, per_item=asked.people
    )
    rows = list(plans.itertuples(index=False))
    written = ((row.name, row.text) for row in written_settings(settings))
    own = next(row for row in rows if row.per_claim == asked.posts)
    words = ("sample", "--plan", "--targets", str(asked.posts), "--per-item", str(asked.people), "--seconds")
    return bench.page(
        request,
        "planned.html" if request.headers.get("x-part") else "plan.html",
        *words,
        f"{asked.seconds:g}",
        "--share",
        f"{asked.share:g}",
        asked=asked,
        least=max(min(settings.sampling.quotas, settings.sampling.per_claim), 1),
        own=own,
        rows=rows,
        timed=timed,
        written={name: text for name, text in written if name in {POSTS, PEOPLE}},
        before=SHOWN,
        changed=(asked.posts, asked.people) != (settings.sampling.per_claim, settings.annotation.per_item),
    )


async def save(request: Request) -> Response:
    """Write posts a claim and people a post into study.toml."""
    bench, form = bench_of(request), await form_of(request)
    asked = _asked(form, bench.study.settings, SECONDS)
    await save_settings(bench, {**form, POSTS: str(asked.posts), PEOPLE: str(asked.people)})
    return back_to("/plan")
