"""`covmis doctor`: what is there, what is missing, and how to get it."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from importlib import metadata
from typing import Any

from covmis_build.cli.console import JsonOption, emit_json, grid, say

CORE = ("duckdb", "pyarrow", "pandas", "numpy", "scipy", "scikit-learn", "statsmodels", "numba", "langdetect")
EXTRAS = {
    "x": ("twarc", "collect posts from X"),
    "bluesky": ("atproto", "collect posts from Bluesky"),
    "mastodon": ("mastodon", "collect posts from Mastodon"),
    "snscrape": ("snscrape", "snscrape's own scrapers; its archives are read without it"),
    "language": ("pycld2", "faster language detectors"),
    "keyring": ("keyring", "keep credentials in the system's keyring"),
    "spark": ("pyspark", "run matching and cleaning on Apache Spark"),
    "models": ("torch", "neural stance models; linear ones work without"),
}
PROGRAMS = {
    "java": "Apache Spark needs Java 17: install a JRE",
    "chromium": "only for this project's own tests of pages: `make services`",
}


def doctor(as_json: JsonOption = False) -> None:
    """Say which parts of covmis are ready on this machine, and how to get the others.

    Example: covmis doctor
    """
    parts = [*_core(), *_extras(), *_programs(), *_credentials()]
    if as_json:
        emit_json({"parts": parts})
        return
    grid([(one["part"], one["state"], one["note"]) for one in parts], ("part", "state", "note"))
    missing = [one for one in parts if one["kind"] == "core" and one["state"] == "missing"]
    say("", "Something that covmis cannot do without is missing." if missing else "The core is complete.")


def _core() -> list[dict[str, Any]]:
    python = f"{sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}"
    found = [{"part": "Python", "kind": "core", "state": python, "note": ""}]
    for name in CORE:
        try:
            state = metadata.version(name)
        except metadata.PackageNotFoundError:
            state = "missing"
        note = "pip install covmis" if state == "missing" else ""
        found.append({"part": name, "kind": "core", "state": state, "note": note})
    return found


def _extras() -> list[dict[str, Any]]:
    return [
        {
            "part": f"extra {extra}",
            "kind": "extra",
            "state": "ready" if importlib.util.find_spec(module) else "not installed",
            "note": what if importlib.util.find_spec(module) else f'{what}: pip install "covmis[{extra}]"',
        }
        for extra, (module, what) in EXTRAS.items()
    ]


def _programs() -> list[dict[str, Any]]:
    return [
        {
            "part": name,
            "kind": "program",
            "state": "ready" if found else "not found",
            "note": "" if found else note,
        }
        for name, note in PROGRAMS.items()
        for found in [shutil.which(name)]
    ]


def _credentials() -> list[dict[str, Any]]:
    """Which credentials are set, in the environment or the keyring: their names, never their values."""
    from covmis_build.retrieval.credentials import NAMES, find

    return [
        {
            "part": name,
            "kind": "credential",
            "state": "set" if find(name) else "not set",
            "note": what,
        }
        for name, what in NAMES.items()
    ]
