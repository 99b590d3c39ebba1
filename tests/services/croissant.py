"""Croissant's own checker and Hugging Face's loader, in an environment of their own, for tests of releases."""

from __future__ import annotations

from pathlib import Path

from tests import installing

what = "Croissant's checker and Hugging Face's loader (mlcroissant, datasets)"

ROOT = Path(__file__).parents[2]
HOME = ROOT / ".venvs" / "croissant"
PYTHON = HOME / "bin" / "python"
LOCK = ROOT / "requirements" / "croissant.lock"
READY = HOME / ".ready"


def ready() -> bool:
    return READY.exists() and READY.read_text() == LOCK.read_text()


def install() -> None:
    installing.environment(HOME, LOCK)
    READY.write_text(LOCK.read_text())
