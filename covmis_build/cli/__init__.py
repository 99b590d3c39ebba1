"""The command line: thin, and the only part that prints.

One file a command group. A group with several commands (`covmis claims import|lint|select`) is a file with an
`app = typer.Typer(...)`; single commands are plain functions. Both are listed in `GROUPS` and `COMMANDS` below,
and loaded when the program starts: so no file of this package imports anything heavy outside its functions.
Every command's docstring is its help: one sentence, more if needed, and an `Example:` paragraph that starts with
a backspace-free line like `Example: covmis run --force`. Options shared by all stand in `console.py`.
"""

from __future__ import annotations

import importlib
import sys
from typing import Annotated

import typer

from covmis_build import __version__
from covmis_build.cli import console
from covmis_build.errors import CovmisError

GROUPS = (
    "claims",
    "queries",
    "collect",
    "label_studio",
    "round",
    "guideline",
    "dataset",
    "evaluate",
    "model",
)
"""Files with an `app`: `covmis claims …`. An underscore in the file's name is a hyphen in the command's."""

COMMANDS = {
    "new": "study", "run": "study", "status": "study", "explain": "study", "doctor": "doctor", "purge": "purge",
    "sample": "sample", "estimate": "estimate", "agreement": "agreement", "release": "release",
    "hydrate": "release", "verify": "release",
}  # fmt: skip
"""Single commands and the file in which each stands, as a function of the same name."""

app = typer.Typer(
    name="covmis",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"covmis {__version__}")
        raise typer.Exit


@app.callback()
def program(
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but results and errors.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Say more.")] = False,
    version: Annotated[  # noqa: ARG001 - its callback has done the work
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Build a stance corpus from a list of claims, and judge systems on it.

    Start with `covmis new my-study`; `covmis status` always says what to do next.
    """
    console.loudness = verbose - quiet


for _name in GROUPS:
    app.add_typer(importlib.import_module(f"covmis_build.cli.{_name}").app, name=_name.replace("_", "-"))
for _name, _file in COMMANDS.items():
    app.command(_name)(getattr(importlib.import_module(f"covmis_build.cli.{_file}"), _name))


def main() -> None:
    """Run the program: a CovmisError is one line and its exit code, never a traceback."""
    try:
        app()
    except CovmisError as error:
        print(f"error: {console.printable(str(error))}", file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:  # a folder in a file's place, no permission, no space: nobody's bug
        file = f"{error.filename}: " if error.filename else ""
        print(f"error: {console.printable(f'{file}{error.strerror or error}')}", file=sys.stderr)
        sys.exit(2)
