"""`covmis queries`: show queries, try expressions on the archive, have keywords suggested."""

from __future__ import annotations

from covmis_build.cli.command import Commands
from covmis_build.cli.verbs import verbs

app = Commands(help="Show, test, save and suggest search queries.", no_args_is_help=True)

verbs(app, "queries")
