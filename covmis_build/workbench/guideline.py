"""The guideline, edited beside the labels that it defines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.errors import CovmisError, InputError
from covmis_build.study.guideline import changed_lines, shown_version, text_of
from covmis_build.study.open_round import guideline_html
from covmis_build.workbench.bench import back_to, bench_of, form_of
from covmis_build.workbench.shown import text_shown

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


def guideline(request: Request) -> Response:
    """The guideline as it is, and what `covmis guideline check` says of it."""
    return _page(request)


def _page(request: Request, typed: str | None = None, problem: str = "") -> Response:
    """The page; with what was typed, and the lines that differ from the file, if that was refused."""
    bench = bench_of(request)
    study, now = bench.study, text_of(bench.study)
    try:
        check = study.check_guideline()
    except CovmisError as error:  # there is none
        check, problem = None, problem or bench.sentence_of(error)
    return bench.page(
        request,
        "guideline.html",
        "guideline",
        "check",
        code=400 if typed is not None else 200,
        text=now if typed is None else typed,
        version=shown_version(now),
        differing=changed_lines(now, typed) if typed is not None else [],
        problem=problem,
        check=check,
        html=guideline_html(study) if check else "",
        labels=study.settings.labels,
    )


async def save(request: Request) -> Response:
    """Write the guideline, unless somebody has changed it since the page was shown."""
    bench, form = bench_of(request), await form_of(request)
    text = form.get("text", "")
    try:
        await bench.write(bench.study.set_guideline, text, instead_of=text_shown(form))
    except InputError as error:
        return _page(request, text, bench.sentence_of(error))
    bench.note(python=f"study.set_guideline({text.replace(chr(13), '')!r})")
    bench.said = "Saved."
    return back_to("/guideline")
