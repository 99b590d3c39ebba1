"""What makes PDF and PNG of figures, from a lock of its own: into the same environment as the core."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from tests import installing

what = "typst, which makes figures PDF and PNG"

LOCK = Path(__file__).parents[2] / "requirements" / "figures.lock"


def ready() -> bool:
    return importlib.util.find_spec("typst") is not None


def install() -> None:
    installing.install(LOCK)
