"""The command line: thin, and the only part that prints.

One file a command group. A group with several commands (`covmis claims import|lint|select`) is a file with an
`app = typer.Typer(...)`; single commands are plain functions. Both are listed in `GROUPS` and `COMMANDS` below. A start
loads only the file of the command that was asked for; no file of this package imports anything heavy outside its functions.
Every command's docstring is its help: one sentence, more if needed, and an `Example:` paragraph that starts with
a backspace-free line like `Example: covmis run --force`. `command.py` gives each what all have.
"""

from __future__ import annotations

import errno
import importlib
import logging
import os
import sys
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, cast

import typer

from covmis_build import __version__
from covmis_build.cli import console
from covmis_build.cli.command import Commands
from covmis_build.cli.panels import Group, Program
from covmis_build.cli.renamed import renamed
from covmis_build.errors import CovmisError
from covmis_build.report.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

GROUPS = (
    "claims",
    "posts",
    "queries",
    "collect",
    "label_studio",
    "round",
    "recall",
    "guideline",
    "dataset",
    "evaluate",
    "model",
)
"""Files with an `app`: `covmis claims …`. An underscore in the file's name is a hyphen in the command's."""

COMMANDS = {
    "new": "study", "open": "open", "run": "study", "status": "study", "explain": "study", "check": "study", "doctor": "study", "purge": "study",
    "sample": "estimate", "estimate": "estimate", "agreement": "round", "release": "release",
    "hydrate": "release", "verify": "release", "export": "open",
}  # fmt: skip
"""Single commands and the file in which each stands, as a function of the same name."""


class _Commands(MutableMapping[str, Any]):
    """The commands by name; each is made when it is asked for."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            if name not in list(self):
                raise KeyError(name)
            self._made[name] = _group(name) if name not in COMMANDS else _single(name)
        return self._made[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._made[name] = value

    def __delitem__(self, name: str) -> None:
        del self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter([*(name.replace("_", "-") for name in GROUPS), *COMMANDS])

    def __len__(self) -> int:
        return len(GROUPS) + len(COMMANDS)


def _group(name: str) -> Any:
    """A group of commands from its file."""
    group = importlib.import_module(f"covmis_build.cli.{name.replace('-', '_')}").app
    info = typer.models.TyperInfo(group, name=name, cls=Group)
    return typer.main.get_group_from_info(
        info, pretty_exceptions_short=True, suggest_commands=True, rich_markup_mode=None
    )


def _single(name: str) -> Any:
    """A command that is in no group."""
    function = getattr(importlib.import_module(f"covmis_build.cli.{COMMANDS[name]}"), name)
    alone = Commands(add_completion=False, rich_markup_mode=None)
    alone.command(name)(function)
    return typer.main.get_command(alone)


class _Program(Program):
    """The program with its commands."""

    def __init__(self, **named: Any) -> None:
        super().__init__(**named)
        self.commands = cast("dict[str, Any]", _Commands())


app = typer.Typer(
    name="covmis",
    cls=_Program,
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
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only results and errors.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Say more.")] = False,
    version: Annotated[  # noqa: ARG001 - its callback has done the work
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Build a stance corpus from a list of claims, and evaluate classifiers on it.

    Start with `covmis new my-study`. `covmis status` shows what to do next.
    """
    console.loudness = verbose - quiet
    if quiet:
        logging.getLogger("covmis").setLevel(logging.ERROR)


REFUSED = cast("type[Exception]", typer.BadParameter.__mro__[2])
"""The parent of all errors of the option parser, also in the copy of Click that typer contains."""
INTERRUPTED = 130


def main() -> None:
    """Run the program: whatever a person can cause or cure is one line and an exit code, never a traceback."""
    console.escape_unknown_characters()
    sys.argv[1:], said = renamed(in_order(sys.argv[1:]))
    console.warn(*([said] if said else []))
    try:
        code = app(standalone_mode=False, prog_name="covmis")
    except CovmisError as error:
        _end(str(error), error.exit_code)
    except REFUSED as error:
        _refuse(error)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except RuntimeError as error:
        if "Query interrupted" not in str(error):  # DuckDB's word for an interruption at the keyboard
            raise
        code = INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:  # a folder in a file's place, no permission, no space: no bug of ours
        file = f"{error.filename}: " if error.filename else ""
        full = error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
        remedy = ". Free some disk space and run the command again; nothing was changed" if full else ""
        _end(f"{file}{os.strerror(error.errno or 0) if full else error.strerror or error}{remedy}", 2)
    if code == INTERRUPTED:
        _end("interrupted; nothing is half-written, run the same command again", INTERRUPTED)
    sys.exit(code if isinstance(code, int) else 0)


OF_COMMANDS = ("--study", "--json")
"""Options of commands that people also write before the command."""
OF_PROGRAM = ("-q", "--quiet", "-v", "--verbose")
"""Options of the program that people also write behind the command."""


def in_order(words: Sequence[str]) -> list[str]:
    """The same words with options of the command behind it and the program's before it, wherever they were written.

    >>> in_order(["-q", "--study", "mine", "round", "status", "-v"])
    ['-v', '-q', 'round', 'status', '--study', 'mine']
    """
    before_dashes = list(words[: words.index("--")] if "--" in words else words)
    at = next((at for at, word in enumerate(before_dashes) if not word.startswith("-")), len(before_dashes))
    loud = [word for word in before_dashes[at:] if word in OF_PROGRAM]
    kept = [word for word in before_dashes[at:] if word not in OF_PROGRAM]
    words = [*loud, *before_dashes[:at], *kept, *words[len(before_dashes) :]]
    before: list[str] = []
    moved: list[str] = []
    left = list(words)
    while left and left[0].startswith("-") and left[0] != "--":
        word = left.pop(0)
        chosen = moved if word.partition("=")[0] in OF_COMMANDS else before
        chosen.append(word)
        if word == "--study" and left:
            moved.append(left.pop(0))
    end = left.index("--") if "--" in left else len(left)
    return [*before, *left[:end], *moved, *left[end:]] if left else list(words)


def _refuse(error: Any) -> NoReturn:
    """An option or argument that there is not, or that is missing or wrong: one line that names it."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()  # a group without a command: its help
        sys.exit(error.exit_code)
    problem = error.format_message().strip().rstrip(".")
    _end(f"{problem}{'' if problem.endswith('?') else '.'} Try `{_asked()} --help`", error.exit_code)


def _asked() -> str:
    """The command that was asked for, as far as there is one."""
    here: Any = typer.main.get_command(app)
    path = ["covmis"]
    for word in sys.argv[1:]:
        if word in getattr(here, "commands", {}):
            here = here.commands[word]
            path.append(word)
    return " ".join(path)


def _end(problem: str, code: int) -> NoReturn:
    print(f"error: {printable(' '.join(problem.split()))}", file=sys.stderr)
    sys.exit(code)
