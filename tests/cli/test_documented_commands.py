"""Every command that a page shows exists, with its options."""

from __future__ import annotations

import re
import shlex
from itertools import takewhile

import pytest
import typer
from typer._click import core, exceptions

from covmis_build.cli import app, in_order
from tests.conftest import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINE = re.compile(r"^(?:\$ )?(covmis .*)$", re.MULTILINE)


def documented(text: str) -> list[str]:
    """The commands in the fenced blocks of a page."""
    blocks = re.findall(r"^ *```([\w{}-]*).*?\n(.*?)^ *```$", text, re.DOTALL | re.MULTILINE)
    shown = [block for kind, block in blocks if kind in {"", "console", "text"}]
    return [command for block in shown for command in LINE.findall(block)]


def parsed(command: str) -> None:
    """Parse a command line without running it."""
    typed = shlex.split(command, comments=True)[1:]
    words = in_order(list(takewhile(lambda word: word not in {"|", "2>&1"}, typed)))
    words = [word for word in words if word not in {"--json", "-q", "--help", "--version"}]
    if "--study" in words:
        at = words.index("--study")
        del words[at : at + 2]
    program = typer.main.get_command(app)
    context = core.Context(program, info_name="covmis", **program.context_settings)
    while hasattr(program, "commands") and words:
        program = program.commands[words.pop(0)]
        context = core.Context(program, parent=context, **program.context_settings)
    program.make_parser(context).parse_args(words)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_of_a_page_exist(page):
    for command in documented(page.read_text("utf-8")):
        parsed(command)


@pytest.mark.parametrize("wrong", ["covmis estimat", "covmis estimate --nothing", "covmis round opens"])
def test_a_wrong_command_is_seen(wrong):
    with pytest.raises((exceptions.UsageError, KeyError)):
        parsed(wrong)


def test_pages_have_commands():
    assert sum(len(documented(page.read_text("utf-8"))) for page in PAGES) > 150
