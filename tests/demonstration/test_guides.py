"""What guides show of the demonstration is what their commands print in it. A cut ("…") may hide the rest of a line, or lines."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.demonstration.stories import ROOT
from tests.demonstration.tutorial import BLOCK, lasting, output

if TYPE_CHECKING:
    from pathlib import Path

ELSEWHERE = {
    "covmis agreement one.csv": "a file of one annotator",
    "covmis claims": "a list with a correction in it",
    "covmis collect": "answers of platforms, and their prices",
    "covmis dataset": "corpora that are downloaded",
    "covmis label-studio": "a server",
    "covmis open": "an address that is drawn",
    "covmis posts look data/archive/board.json": "a study with a form of its own (tests/archive/test_own_forms.py)",
    "covmis round open": "a study without rounds",
    "covmis round pull": "a round that is being labelled",
}
"""Beginnings of commands whose output needs something else than the built demonstration."""


def shown(text: str) -> list[tuple[str, list[str]]]:
    """Every command of a page that has an output, and the lines of that output."""
    found: list[tuple[str, list[str]]] = []
    for block in BLOCK.findall(text):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif line.strip():
                found[-1][1].append(line)
    return [(command, lines) for command, lines in found if lines]


def differs(lines: list[str], printed: str) -> str:
    """The first line of a page that the command does not print where it should; nothing if there is none."""
    rest = [line for line in printed.splitlines() if line.strip()]
    anywhere = False
    for line in lines:
        if line.strip() == "…":
            anywhere = True
            continue
        start = re.sub(r"\s*…$", "", line)
        fits = [at for at, own in enumerate(rest) if own.startswith(start) if start != line or own == line]
        if not fits or (fits[0] and not anywhere):
            return line
        rest, anywhere = rest[fits[0] + 1 :], False
    return "" if anywhere or not rest else f"(then) {rest[0]}"


def shown_here(page: Path) -> list[tuple[str, list[str]]]:
    """Those that the demonstration can print."""
    return [one for one in shown(page.read_text("utf-8")) if not one[0].startswith(tuple(ELSEWHERE))]


GUIDES = [page for page in sorted((ROOT / "docs" / "guides").glob("*.md")) if shown_here(page)]


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_a_guide_shows_what_is_printed(built, tmp_path, guide):
    study = shutil.copytree(built / "study", tmp_path / "study")
    for predictions in (study / "data" / "build" / "demonstration").glob("*.csv"):
        shutil.copy(predictions, study)
    wrong = {
        command: line
        for command, lines in shown_here(guide)
        if (line := differs(lasting("\n".join(lines)).splitlines(), lasting(output(command, study))))
    }
    assert wrong == {}


@pytest.mark.parametrize(
    "lines", [["a b"], ["a", "b"], ["a b c"], ["a …", "c"], ["…", "d", "a b c"], ["b …", "d"]]
)
def test_another_output_is_seen(lines):
    assert differs(lines, "a b c\nd\n")


def test_what_is_cut_may_be_anything():
    assert not differs(["a …", "…", "f"], "a b c\nd\ne\nf\n")
    assert not differs(["a b c", "…"], "a b c\nd\n")
    assert len(GUIDES) > 7
