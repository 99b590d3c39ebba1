"""`covmis label-studio up|down|status`, and how the round's commands reach a Label Studio."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from covmis_build.cli.console import JsonOption, StudyOption, emit_json, say
from covmis_build.errors import InputError, ServiceError

if TYPE_CHECKING:
    from covmis_build.annotation.label_studio import LabelStudio
    from covmis_build.annotation.record import Round
    from covmis_build.annotation.steps import Pulled
    from covmis_build.study import Study

app = typer.Typer(no_args_is_help=True, help="A local Label Studio: start, stop, look.")

TOKEN = "LABEL_STUDIO_API_KEY"  # noqa: S105 - the variable's name


@app.command()
def up(
    port: Annotated[int, typer.Option(min=0, help="The port (0: 8092, or the next free one).")] = 0,
    adjudicator: Annotated[str, typer.Option(help="The third person's code.")] = "adjudicator",
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Start a Label Studio on this machine, with a user for each annotator; the first start sets it up.

    It answers to this machine alone and connects to nothing outside. Its users' passwords stand in a file that only
    you can read.

    Example: covmis label-studio up
    """
    from covmis_build.annotation import server
    from covmis_build.study import open_study

    opened = open_study(study)
    mine = server.local_server()
    tell = (lambda _: None) if as_json else say
    url = server.up(mine, [*opened.annotation.annotators, adjudicator], port=port, say=tell)
    if as_json:
        emit_json({"url": url, "users": sorted(mine.users()), "users_file": str(mine.users_file)})
        return
    say(
        f"Label Studio answers at {url}.",
        f"Give each annotator their own address and password from {mine.users_file}, and nobody the others'.",
        "Next: `covmis round push`. Stop it with `covmis label-studio down`; nothing is lost.",
    )


@app.command()
def down(as_json: JsonOption = False) -> None:
    """Stop the local Label Studio; its data stays.

    Example: covmis label-studio down
    """
    from covmis_build.annotation import server

    was = server.down(server.local_server())
    if as_json:
        emit_json({"stopped": was})
        return
    say("Stopped." if was else "It was not running.")


@app.command()
def status(as_json: JsonOption = False) -> None:
    """Say whether the local Label Studio runs, and where.

    Example: covmis label-studio status
    """
    from covmis_build.annotation import server

    mine = server.local_server()
    url = mine.address()
    result: dict[str, Any] = {
        "running": bool(url), "url": url or None, "folder": str(mine.home), "users": sorted(mine.users()),
        "installed": (mine.environment / "bin" / "label-studio").exists(),
    }  # fmt: skip
    if as_json:
        emit_json(result)
        return
    say(f"Running at {url}." if url else "Not running. Start it with `covmis label-studio up`.")
    say(f"Users: {', '.join(result['users']) or 'none yet'}. Its folder: {mine.home}")


def connected(opened: Study) -> LabelStudio:
    """The study's Label Studio: the one that it names, with the token of the environment, or the local one."""
    from covmis_build.annotation import server
    from covmis_build.annotation.label_studio import LabelStudio

    url = opened.annotation.label_studio_url.rstrip("/")
    if url:
        token = os.environ.get(TOKEN, "") or _from_keyring()
        if not token:
            raise InputError(
                f"no token for {url}",
                remedy=f"Put the lead's access token into the environment variable {TOKEN}",
            )
        return LabelStudio(url, token)
    mine = server.local_server()
    address = mine.address()
    if not address:
        raise ServiceError("the local Label Studio is not running. Start it with `covmis label-studio up`")
    return LabelStudio(address, mine.users()[server.ADMIN]["token"])


def _from_keyring() -> str:
    try:
        import keyring
    except ImportError:
        return ""
    return keyring.get_password("covmis", TOKEN) or ""


def push_round(opened: Study, one: Round, who: dict[str, list[str]]) -> list[dict[str, Any]]:
    """`covmis round push` to Label Studio."""
    from covmis_build.annotation import projects
    from covmis_build.annotation.guideline import read_guideline
    from covmis_build.annotation.label_config import study_config

    config = study_config(opened.label_config, one.scheme)
    guideline = read_guideline(opened.guideline)
    server = connected(opened)
    _ensure_users(opened, list(who))
    try:
        return projects.push_round(server, one, who, study=opened.title, config=config, guideline=guideline)
    finally:
        server.close()


def _ensure_users(opened: Study, codes: list[str]) -> None:
    """On the local server, everybody who gets a project is a user."""
    from covmis_build.annotation import server

    if not opened.annotation.label_studio_url:
        server.up(server.local_server(), codes, say=say)


def pull_round(opened: Study, one: Round) -> Pulled:
    """`covmis round pull` from Label Studio."""
    from covmis_build.annotation import projects, record

    server = connected(opened)
    try:
        return projects.pull_round(server, one, now=record.moment())
    finally:
        server.close()


def adjudicate_round(opened: Study, one: Round, adjudicator: str, *, discuss: bool) -> Pulled:
    """`covmis round adjudicate` on Label Studio."""
    from covmis_build.annotation import projects, record
    from covmis_build.annotation.guideline import read_guideline

    server = connected(opened)
    _ensure_users(opened, [adjudicator])
    try:
        return projects.adjudicate_round(
            server, one, adjudicator, study=opened.title, guideline=read_guideline(opened.guideline),
            seed=opened.seed, discuss=discuss, now=record.moment(),
        )  # fmt: skip
    finally:
        server.close()


def forget(opened: Study, post_ids: list[str]) -> int:
    """`covmis purge`: remove these posts' tasks from all projects; how many."""
    from covmis_build.annotation import projects, record

    rounds = [one for one in record.all_rounds(opened.rounds) if projects.known_projects(one)]
    if not rounds:
        return 0
    server = connected(opened)
    try:
        return projects.forget_tasks(server, rounds, post_ids)
    finally:
        server.close()
