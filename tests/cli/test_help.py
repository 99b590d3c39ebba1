"""The command line explains itself, and loads little for it."""

import subprocess
import sys
from pathlib import Path

import pytest
import typer

from covmis_build.cli import app
from covmis_build.cli.panels import PANELS, line

HEAVY = (
    "pandas",
    "sklearn",
    "statsmodels",
    "scipy",
    "numba",
    "duckdb",
    "pyarrow",
    "numpy",
    "torch",
    "rich",
)
REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "commands.md"


def commands(command=None, path=()):
    command = command or typer.main.get_command(app)
    if hasattr(command, "commands"):
        for name, child in sorted(command.commands.items()):
            yield from commands(child, (*path, name))
    else:
        yield " ".join(path), command


COMMANDS = dict(commands())


def test_every_command_has_an_example_and_helps_its_options():
    for name, command in COMMANDS.items():
        told = " ".join((command.help or "").replace("\b", "").split())
        assert f"Example: covmis {name}" in told, name
        for parameter in command.params:
            helped = parameter.name == "help" or getattr(parameter, "help", "x")
            assert helped, f"{name}: {parameter.name} has no help"


def test_every_command_stands_in_one_panel_with_one_complete_line():
    listed = [name for names in PANELS.values() for name in names]
    program = typer.main.get_command(app)
    assert sorted(listed) == sorted(program.commands)
    for command in [*program.commands.values(), *COMMANDS.values()]:
        assert 10 <= len(line(command)) <= 60, command.name


@pytest.mark.parametrize("width", ["60", "80", "120"])
def test_nothing_is_cut(width):
    from typer.testing import CliRunner

    for words in ([], ["round"], ["model"], ["evaluate", "score"]):
        shown = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": width}).output
        lines = [part for part in shown.splitlines() if not part.startswith("Usage")]
        assert not [part for part in lines if part.rstrip().endswith("...")]
        assert max(map(len, shown.splitlines())) <= 100


def test_the_reference_is_what_the_commands_say():
    from tests.cli.reference import reference

    assert REFERENCE.read_text() == reference(), "run `python -m tests.cli.reference`"


ROOMS = {
    "building", "claims", "queries", "archive", "matching", "ranking", "cleaning", "sampling", "collecting", "annotation",
    "estimation", "corpus", "evaluation", "models", "datasets", "stats", "text", "tables",
}  # fmt: skip
"""What help needs nothing of: how commands look is said in cli."""


def loaded(*words):
    """The modules that a program loads to say this."""
    probe = f"""
import sys
sys.argv = ["covmis", *{words!r}]
from covmis_build.cli import main
try:
    main()
except SystemExit:
    pass
print(*sys.modules, file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize("words", [("--help",), ("collect", "x", "--help")], ids=" ".join)
def test_help_loads_nothing_heavy(words):
    """How long it takes stands in benchmarks/starting.py: seconds depend on the machine, imports do not."""
    modules = loaded(*words)
    assert modules & set(HEAVY) == set()
    rooms = {name.split(".")[1] for name in modules if name.startswith("covmis_build.")}
    assert rooms & ROOMS == set()
