"""The platforms' client libraries, from a lock that agrees with the core's: beside it in one environment."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from tests import installing

what = "the platforms' client libraries (twarc, atproto, Mastodon.py, snscrape)"

LOCK = Path(__file__).parents[2] / "requirements" / "clients.lock"


def ready() -> bool:
    return all(importlib.util.find_spec(name) for name in ("twarc", "atproto", "mastodon", "snscrape"))


def install() -> None:
    installing.install(LOCK)
