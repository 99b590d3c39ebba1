"""`covmis recall …`: the share of relevant posts that the queries find."""

from __future__ import annotations

from covmis_build.cli.command import Commands
from covmis_build.cli.verbs import verbs

app = Commands(no_args_is_help=True, help="Estimate how many relevant posts the queries miss.")

verbs(app, "recall")
