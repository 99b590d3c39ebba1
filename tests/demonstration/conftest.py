"""A built copy of the demonstration, made once, whichever worker needs it first."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.demonstration.stories import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def copy_study(folder: Path) -> Path:
    """The root's study as git has it, without anything built."""
    shutil.copytree(ROOT / "queries", folder / "queries")
    shutil.copytree(ROOT / "data" / "archive", folder / "data" / "archive")
    (folder / "annotation").mkdir()
    for name in ("study.toml", "annotation/guideline.md"):
        shutil.copyfile(ROOT / name, folder / name)
    return folder


def build(study: Path, log: Path) -> str:
    """Run the builder on a study; what it printed."""
    with log.open("w", encoding="utf-8") as file:
        subprocess.run(
            [sys.executable, "-u", "-m", "tests.demonstration.build", "--study", study],
            cwd=ROOT, stdout=file, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
    return log.read_text("utf-8")


@pytest.fixture(scope="session")
def built(tmp_path_factory) -> Path:
    """A folder with `study`, the demonstration built end to end, and `log`, what the builder printed."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if base.name.startswith("popen-") else base
    folder = shared / "demonstration"
    with (shared / "demonstration.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "log").exists():
            copy_study(folder / "study")
            build(folder / "study", folder / "log.part")
            (folder / "log.part").rename(folder / "log")
    return folder
