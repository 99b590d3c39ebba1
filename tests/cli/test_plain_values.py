"""Values of options that are taken as they are, are those that typer would have read."""

import itertools
import os
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from covmis_build.cli.command import Commands
from covmis_build.report.result import PlainResult
from tests.cli.test_help import loaded

VALUES = [
    "",
    "7",
    "-7",
    "007",
    "+7",
    "7.0",
    "1_000",
    "99999999999999999999",
    "é",
    "x",
    "~",
    ".",
    "no/such",
    "true",
]


def told(kind, more, words, *, plain):
    """What a command with an option and two arguments of this kind is given, or how it is refused."""
    app = Commands() if plain else typer.Typer()

    def show(value: Annotated[kind | None, typer.Option("--value", **more)] = None, every: list[kind] = ()):
        given = repr((value, list(every)))
        if plain:
            return PlainResult({}, [given])
        print(given)
        return None

    app.command()(show)
    done = CliRunner().invoke(app, words)
    return done.exit_code, done.output.replace("Global options: see `covmis --help`.", "")


@pytest.mark.parametrize(
    ("kind", "more"), [(str, {}), (int, {}), (int, {"min": 0, "max": 8}), (Path, {}), (Path, {"exists": True}), (float, {}), (float, {"min": 0.5, "max": 7})]
)  # fmt: skip
def test_values_are_what_typer_reads(kind, more, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for pair in itertools.pairwise(VALUES):
        words = ["--value", pair[0], "--", *pair]
        assert told(kind, more, words, plain=True) == told(kind, more, words, plain=False), pair
    assert told(kind, more, [], plain=True) == told(kind, more, [], plain=False)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_nobody_may_read_is_refused(tmp_path):
    (tmp_path / "shut").touch(mode=0)
    assert told(Path, {}, ["--value", str(tmp_path / "shut")], plain=True)[0] == 2


def test_no_command_needs_pydantic_for_plain_values():
    assert "pydantic" not in loaded("round", "status", "--round", "3", "--study", "no/such", "--json")
