"""`covmis queries`: show queries, try expressions on the archive, have keywords suggested."""

from __future__ import annotations

from typer import Typer

from covmis_build.cli.verbs import verbs

app = Typer(help="Show, test, save and suggest search queries.", no_args_is_help=True)

verbs(app, "queries")
