"""The optional language detectors, from a lock that agrees with the core's: beside it in one environment."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from tests import installing

what = "the language detectors py3langid and pycld2"

LOCK = Path(__file__).parents[2] / "requirements" / "language.lock"


def ready() -> bool:
    return all(importlib.util.find_spec(name) for name in ("py3langid", "pycld2"))


def install() -> None:
    installing.install(LOCK)
