"""Label Studio's client, from a lock that agrees with the core's: beside it in one environment."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from tests import installing

what = "Label Studio's client (label-studio-sdk)"

LOCK = Path(__file__).parents[2] / "requirements" / "label-studio-sdk.lock"


def ready() -> bool:
    return importlib.util.find_spec("label_studio_sdk") is not None


def install() -> None:
    installing.install(LOCK)
