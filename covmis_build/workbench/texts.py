"""Texts of the study, edited in the page: the guideline, next to its labels, and what a language model is asked, next to its cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from covmis_build.errors import CovmisError, InputError
from covmis_build.study.guideline import changed_lines, shown_version, text_of
from covmis_build.study.open_round import guideline_html
from covmis_build.study.prompt import prompt_of
from covmis_build.workbench.bench import back_to, bench_of, form_of
from covmis_build.workbench.shown import text_shown

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from covmis_build.workbench.bench import Bench

LETTERS_A_TOKEN = 4
"""Of English; other languages and scripts have fewer."""


def show(request: Request) -> Response:
    """A text as it is now, and what covmis says of it."""
    return _page(request)


def _page(request: Request, typed: str | None = None, problem: str = "") -> Response:
    """The page; with what was typed, and the lines that differ from the file, if that was refused."""
    bench, kind = bench_of(request), request.url.path.strip("/")
    now_of, about, words = TEXTS[kind]
    now = now_of(bench.study)
    context: dict[str, Any] = {}
    try:
        context = about(bench)
    except CovmisError as error:  # there is no guideline, or no round
        problem = problem or bench.sentence_of(error)
    return bench.page(
        request,
        f"{kind}.html",
        *words,
        code=200 if typed is None else 400,
        text=now if typed is None else typed,
        version=shown_version(now),
        differing=[] if typed is None else changed_lines(now, typed),
        problem=problem,
        labels=bench.study.settings.labels,
        act=bench.last_act("covmis model ask"),
        **{"check": None, "questions": (), **context},
    )


def _of_guideline(bench: Bench) -> dict[str, Any]:
    return {"check": bench.study.check_guideline(), "html": guideline_html(bench.study)}


def _of_prompt(bench: Bench) -> dict[str, Any]:
    """All requests, as they would be sent."""
    questions = bench.study.questions().requests()
    letters = sum(len(question.content) for question in questions)
    return {"questions": questions, "letters": letters, "tokens": letters // LETTERS_A_TOKEN}


TEXTS = {
    "guideline": (text_of, _of_guideline, ("guideline", "check")),
    "prompt": (prompt_of, _of_prompt, ("model", "ask")),
}
"""By the page's address: the text as it is now, what is shown next to it, and the command that shows that."""


async def save(request: Request) -> Response:
    """Write a text, unless somebody has changed it since the page was shown."""
    bench, form, kind = bench_of(request), await form_of(request), request.url.path.strip("/")
    text = form.get("text", "")
    write = bench.study.set_prompt if kind == "prompt" else bench.study.set_guideline
    try:
        await bench.write(write, text, instead_of=text_shown(form))
    except InputError as error:
        return _page(request, text, bench.sentence_of(error))
    bench.note(python=f"study.{write.__name__}({text.replace(chr(13), '')!r})")
    bench.said = "Saved."
    return back_to(request.url.path)
