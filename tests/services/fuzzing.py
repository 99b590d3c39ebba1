"""Atheris, a fuzzer that follows the code's branches, for `make fuzz`: beside the core in one environment."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from tests import installing

what = "Atheris (coverage-guided fuzzing)"

LOCK = Path(__file__).parents[2] / "requirements" / "fuzzing.lock"


def ready() -> bool:
    return importlib.util.find_spec("atheris") is not None


def install() -> None:
    installing.install(LOCK)
