"""Where the study stands, the one thing to do now, and the commands that a page may start."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse

from covmis_build.errors import CovmisError, UnknownName
from covmis_build.study import verbs
from covmis_build.study.new import FOR_ANNOTATORS, is_study, new_study
from covmis_build.workbench.bench import Bench, back_to, bench_of, form_of
from covmis_build.workbench.commands import start_of
from covmis_build.workbench.shown import shown_in

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

BUTTONS = {"run": "Bring the study up to date"}
LEADS = (
    ("put posts", "/posts", "Add posts"), ("more posts", "/flow", "See where posts were lost"),
    ("claims import", "/claims", "Add claims"), ("queries", "/queries", "Go to the queries"),
    ("posts look", "/posts", "Look at the posts"), ("round open", "/rounds", "Go to the rounds"), ("estimate", "/results", "See the results"),
    ("release", "/release", "Go to the release"),
)  # fmt: skip
"""How a next step or its command begins, and the page where it is done."""


def overview(request: Request) -> Response:
    """The first page; where there is no study yet, one that makes it."""
    bench = bench_of(request)
    if not is_study(bench.folder):
        return bench.page(request, "new.html", "new", ".", languages=FOR_ANNOTATORS)
    status = bench.status()
    rounds = [(round_, bench.progress(round_)) for round_ in bench.study.rounds]
    workers = [worker for _, progress in rounds for worker in progress.workers]
    answers = sum(worker.items - worker.left for worker in workers)
    return bench.page(
        request,
        "overview.html",
        "status",
        status=status,
        steps={step.name: step for step in status.flow},
        rounds=rounds,
        answers=answers,
        claims=_claims(bench),
        files=bench.study.intake.files,
        next=_next(status.next),
    )


def _claims(bench: Bench) -> int | None:
    """How many claims there are now; None where the list cannot be read."""
    try:
        return len(bench.claims)
    except CovmisError:
        return None


def _next(sentence: str) -> dict[str, str]:
    """What the library says is next, and what of it is a button: a command to start, or the page that leads on."""
    asked = re.search(r"`covmis ([a-z ]+)", sentence)
    command = asked[1].strip() if asked else ""
    unfinished = re.search(r"finish round (\w+)", sentence)
    place, text = "", BUTTONS.get(command, "")
    if unfinished:
        place, text = f"/rounds/{unfinished[1]}", f"Go on with round {unfinished[1]}"
    elif not text:
        leads = (lead for start, *lead in LEADS if sentence.startswith(start) or command.startswith(start))
        place, text = next(leads, ("", ""))
    return {"sentence": sentence, "command": command * (command in BUTTONS), "place": place, "text": text}


async def new(request: Request) -> Response:
    """Make the study in its empty folder."""
    bench, form = bench_of(request), await form_of(request)
    title = form.get("title", "").strip() or bench.folder.name
    labels = form.get("labels", "").strip()
    language = form.get("language") or "en"
    await run_in_threadpool(new_study, bench.folder, title, labels=labels, language=language)
    name = bench.folder.name
    chosen = {"labels": labels} if labels else {}
    chosen |= {"language": language} if language != "en" else {}
    words = [word for option, value in chosen.items() for word in (f"--{option}", value)]
    options = ", ".join(f"{option}={value!r}" for option, value in {"title": title, **chosen}.items())
    bench.note("new", name, "--title", title, *words, python=f"study = covmis.new_study({name!r}, {options})")
    return back_to("/posts")


async def start(request: Request) -> Response:
    """Start a command."""
    bench, form = bench_of(request), await form_of(request)
    asked = start_of(request.path_params["name"].replace("-", " "))
    command, given, number = asked.command, asked.given(form), ""
    if verbs.VERBS[command].operation.owner == "Round":
        number = bench.study.round(form.get("round", "")).number
    typed = (at.name for at in asked.parameters if at.kind is str and at.name != asked.of)
    request.state.written = [form[name] for name in typed if form.get(name, "").strip()]
    shown = shown_in(form, asked.shows, form.get(asked.of, "")) if asked.shows else None
    real, dropped = given, ""
    if asked.shows == "predictions":
        path = bench.predictions.get(given[asked.of])
        if path is None:
            raise UnknownName(f"no predictions are called '{given[asked.of]}'")
        is_own = path.is_relative_to(bench.folder)
        named = bench.study.places.relative(path) if is_own else path.name
        dropped = "" if is_own else asked.of
        given, real = given | {asked.of: named}, given | {asked.of: str(path)}
    called = bench.words(command, given, number=number, dropped=dropped)
    words = verbs.words(command, real, number=number)
    job = await bench.write(bench.jobs.start, *words, called=called, shown=shown)
    bench.did(command, given, number=number, dropped=dropped, job=job)
    return back_to(form.get("back", "/"))


def session(request: Request) -> Response:
    """What was done in this session, as a shell script and as Python."""
    bench = bench_of(request)
    return bench.page(request, "session.html", "open", scripts=scripts(bench))


PEOPLE = "# What follows needs labels, which only this study has: copy its folder annotation/ instead of running it."


def scripts(bench: Bench) -> dict[str, str]:
    """The session as two scripts, by their files' names; what needs labels of a round that it opens is commented out."""
    is_new = bool(bench.acts) and bench.acts[0].command.startswith("covmis new ")
    place = "In a folder with nothing but" if is_new else "In the study's folder, as it was before, with"
    about = (
        "Does again what was done in the browser; what was edited elsewhere, as in study.toml, is not in it.",
        f"{place} the files that were dropped in.",
    )
    shell = ["#!/bin/sh", *(f"# {line}" for line in about), "set -e"]
    python = [f'"""{about[0]}', "", f"{about[1]}", '"""', "", "import covmis_build as covmis", ""]
    python += [] if is_new else ["study = covmis.open_study()"]
    opened = explained = False
    for act in (act for act in bench.acts if not act.failed):
        needs_labels = opened and act.command.startswith(("covmis round", "covmis release", "covmis verify"))
        if needs_labels and not explained:
            shell.append(PEOPLE)
            python.append(PEOPLE)
            explained = True
        shell.append("# " * needs_labels + act.command)
        python.append("# " * needs_labels + act.python)
        opened = opened or act.command.startswith("covmis round open")
    if is_new:
        shell.insert(5, f"cd {shlex.quote(bench.folder.name)}")
    return {"session.sh": "\n".join(shell) + "\n", "session.py": "\n".join(python) + "\n"}


def download(request: Request) -> Response:
    """One of the scripts as a file."""
    name, known = request.path_params["name"], scripts(bench_of(request))
    if name not in known:
        raise UnknownName(f"no script is called '{name}'", remedy=f"There are {', '.join(known)}")
    return PlainTextResponse(known[name], headers={"content-disposition": f'attachment; filename="{name}"'})
