"""`covmis claims`: bring a claim list in, check it, choose from it."""

from __future__ import annotations

from covmis_build.cli.command import Commands
from covmis_build.cli.verbs import verbs

app = Commands(help="Import, check and select claims.", no_args_is_help=True)

verbs(app, "claims")
