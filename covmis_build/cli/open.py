"""`covmis open`: the study in the browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

from typer import Option

from covmis_build.cli.console import StudyOption, say, tell, warn
from covmis_build.cli.verbs import made


def open(  # noqa: A001 - the command's name
    read_only: Annotated[bool, Option("--read-only", help="Show the study; refuse every change.")] = False,
    port: Annotated[int, Option(min=0, max=65535, help="The port (0: any free one).")] = 0,
    no_browser: Annotated[
        bool, Option("--no-browser", help="Print the address, and open no browser.")
    ] = False,
    team: Annotated[
        bool,
        Option(
            "--team", help="Also serve links: each annotator labels their own posts, and sees nothing else."
        ),
    ] = False,
    address: Annotated[
        str, Option(help="With --team: this machine's address in the network, such as 192.168.1.5.")
    ] = "127.0.0.1",
    team_port: Annotated[
        int, Option(min=0, max=65535, help="With --team: the port of the links (0: any free one).")
    ] = 0,
    public: Annotated[
        str, Option(metavar="URL", help="With --team: how people reach it behind a reverse proxy.")
    ] = "",
    certificate: Annotated[
        Path | None, Option(metavar="FILE", help="With --team: the certificate for https (PEM).")
    ] = None,
    key: Annotated[Path | None, Option(metavar="FILE", help="With --team: its private key (PEM).")] = None,
    which: Annotated[
        str,
        Option("--round", metavar="N", help="With --team: the round to send (default: the last one opened)."),
    ] = "",
    folder: StudyOption = None,
) -> None:
    """Open the study in the browser, on this machine alone.

    In an empty folder, the first page makes a study. With --team, annotators label through a link each.

    The printed address works once, within ten minutes. Who opens it first can change the study from this machine. If you open it
    again later, covmis prints a new one. Ctrl-C ends it.

    Example: covmis open
    """
    from covmis_build.errors import InputError
    from covmis_build.study.study import open_study
    from covmis_build.workbench import app, team_server
    from covmis_build.workbench.reach import Reach

    reach = Reach(address, team_port, public, certificate, key)
    if not team and (which or reach != Reach()):
        raise InputError("these options are for links to annotators", remedy="Add --team")
    if team and read_only:
        raise InputError("--team records labels, and --read-only refuses them", remedy="Leave one out")

    place = (folder or Path()).resolve()
    try:
        study = open_study(folder, half_purged=True)
        place, title = study.places.folder, study.settings.title
    except InputError:
        if place.exists() and (not place.is_dir() or any(place.iterdir())):
            raise
        title = "A new study"
    with app.listen(port) as listener:
        guard = app.application(place, listener.getsockname()[1], read_only=read_only)
        guard.entrance.say = lambda address: say(f"A new address: {address}")
        served = team_server.serve_links(guard.bench, reach, which) if team else None
        say(f"{title}: {guard.entrance.address()}", "Only this machine can open it, once. Ctrl-C ends it.")
        if served:
            warn(*served.warnings)
            tell(served.to_dict(), served.summary, as_json=False)
        if not no_browser:
            webbrowser.open(guard.entrance.page().as_uri())
        app.serve(guard, listener)


export = made("export")
