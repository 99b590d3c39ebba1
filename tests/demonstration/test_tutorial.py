"""Every command of the tutorial, run again in a built copy of the study, prints what the tutorial says."""

from __future__ import annotations

import difflib
import re
import shutil

import pytest

from tests.demonstration.tutorial import BLOCK, RUN, TUTORIAL, again, lasting

BLOCKS = [block[1] for block in BLOCK.finditer(TUTORIAL.read_text("utf-8"))] if TUTORIAL.exists() else []


def test_blocks_print_what_the_tutorial_says(built, tmp_path):
    study = shutil.copytree(built / "study", tmp_path / "study")
    differ = []
    for block in BLOCKS:
        told, now = lasting(block), lasting(again(block, study))
        differ += [
            line for line in difflib.ndiff(told.splitlines(), now.splitlines()) if line[:2] in {"- ", "+ "}
        ]
    assert differ == [], "renew it: python -m tests.demonstration.tutorial STUDY"


def test_tutorial_shows_commands():
    commands = [line for block in BLOCKS for line in block.splitlines() if line.startswith("$ ")]
    assert sum(line[2:].startswith(RUN) for line in commands) > 12


@pytest.mark.parametrize("wrong", ["$ covmis status | head -1\nanother title\n"])
def test_a_wrong_output_is_seen(built, wrong):
    assert lasting(again(wrong, built / "study")) != lasting(wrong)


def test_what_make_demo_saw(built):
    told = re.findall(r"```text\n(.*?)```", TUTORIAL.read_text("utf-8"), re.DOTALL)
    log = (built / "log").read_text("utf-8")
    assert len(told) > 1
    assert [block for block in told if block not in log] == []
