"""`covmis label-studio up|down|status`: a Label Studio on this machine."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option, prompt

from covmis_build.cli.command import Commands
from covmis_build.cli.console import say
from covmis_build.engine import Progress, silent
from covmis_build.report.result import PlainResult, Result
from covmis_build.study.study import Study

app = Commands(no_args_is_help=True, help="Start or stop a local Label Studio.")


@app.command()
def up(
    study: Study,
    port: Annotated[int, Option(min=0, help="The port (0: 8092, or the next free one).")] = 0,
    adjudicator: Annotated[str, Option(help="The adjudicator's code.")] = "adjudicator",
    progress: Progress = silent,
    as_json: bool = False,
) -> Result:
    """Start a local Label Studio with a user per annotator.

    It answers to this machine alone and connects to nothing outside. Passwords are in a file that only
    you can read.

    Example: covmis label-studio up
    """
    from covmis_build.annotation.channels.label_studio import server

    mine = server.local_server()
    notice = (lambda _: None) if as_json else say
    people = [*study.settings.annotation.people, adjudicator]
    url = server.up(mine, people, port=port, say=notice, progress=progress)
    words = [
        f"Label Studio answers at {url}.",
        f"Give each annotator their own address and password from {mine.users_file}, and nobody the others'.",
        "Next: `covmis round push`. Stop it with `covmis label-studio down`; nothing is lost.",
    ]
    result = {"url": url, "users": sorted(mine.users()), "users_file": str(mine.users_file)}
    return PlainResult(result, words)


@app.command()
def login(
    address: Annotated[
        str, Argument(metavar="URL", help="Your Label Studio, as `label_studio_url` names it.")
    ],
) -> None:
    """Store the token of your Label Studio in the keyring.

    The token is typed without being shown, and sent to this URL only. Or set the environment
    variables LABEL_STUDIO_API_KEY and LABEL_STUDIO_URL.

    Example: covmis label-studio login https://labels.example.org
    """
    from covmis_build.study.label_studio import login

    here = login(address, lambda server: prompt(f"Access token for {server}", hide_input=True))
    say(f"Stored; it is sent to {here} alone.")


@app.command()
def down() -> Result:
    """Stop the local Label Studio; data is kept.

    Example: covmis label-studio down
    """
    from covmis_build.annotation.channels.label_studio import server

    was = server.down(server.local_server())
    return PlainResult({"stopped": was}, ["Stopped." if was else "It was not running."])


@app.command()
def status() -> Result:
    """Show whether Label Studio runs, and its URL.

    Example: covmis label-studio status
    """
    from covmis_build.annotation.channels.label_studio import server

    mine = server.local_server()
    return PlainResult(mine.to_dict(), mine.sentences)
