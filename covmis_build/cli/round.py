"""`covmis round …`: annotation, a dozen claims at a time."""

from __future__ import annotations

from covmis_build.cli.command import Commands
from covmis_build.cli.verbs import made, verbs

app = Commands(no_args_is_help=True, help="Run annotation rounds.")

verbs(app, "round")
agreement = made("agreement")
