"""`covmis doctor`: what is there, what is missing, and how to get it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from importlib import metadata
from typing import Any

from covmis_build.cli.console import JsonOption, emit_json, grid, say
from covmis_build.errors import CheckFailed

CORE = (
    "duckdb", "httpx", "jinja2", "langdetect", "llvmlite", "matplotlib", "msgspec", "numba", "numpy", "pandas", "pyarrow", "rich",
    "scikit-learn", "scipy", "statsmodels", "typer", "zstandard",
)  # fmt: skip
"""What pyproject.toml names."""
EXTRAS = {
    "x": (("twarc",), "collect posts from X"),
    "bluesky": (("atproto",), "collect posts from Bluesky"),
    "mastodon": (("mastodon",), "collect posts from Mastodon"),
    "snscrape": (("snscrape",), "snscrape's own scrapers; its archives are read without it"),
    "language": (("py3langid", "pycld2"), "faster language detectors"),
    "keyring": (("keyring",), "keep credentials in the system's keyring"),
    "spark": (("pyspark",), "run matching and cleaning on Apache Spark"),
    "models": (("torch", "transformers"), "neural stance models; linear ones work without"),
}
OF_SERVICES = {
    "GOOGLE_FACT_CHECK_KEY": "the key of `covmis claims import --search`",
    "LABEL_STUDIO_API_KEY": "the token of a Label Studio server of your own; the local one needs none",
}
"""Credentials that only the environment holds."""
PROGRAMS = {
    "java": "Apache Spark needs Java 17: install a JRE",
    "chromium": "only for this project's own tests of pages: `make services`",
}


def doctor(as_json: JsonOption = False) -> None:
    """Say which parts of covmis are ready on this machine, and how to get the others.

    Ends with exit code 1 if a part of the core is missing. Of credentials only says whether they are set.

    Example: covmis doctor
    """
    parts = [*_core(), *_extras(), *_programs(), *_credentials()]
    missing = [str(one["part"]) for one in parts if one["kind"] == "core" and one["state"] == "missing"]
    if as_json:
        emit_json({"parts": parts, "complete": not missing})
    else:
        grid([(one["part"], one["state"], one["note"]) for one in parts], ("part", "state", "note"))
    if missing:
        raise CheckFailed(f"covmis cannot do without {', '.join(missing)}: pip install covmis")
    if not as_json:
        say("", "The core is complete.")


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
    """An extra is ready if all of its modules are there."""
    found = []
    for extra, (modules, what) in EXTRAS.items():
        missing = [one for one in modules if importlib.util.find_spec(one) is None]
        state = "ready" if not missing else "not installed" if len(missing) == len(modules) else "incomplete"
        note = f'{what}: pip install "covmis[{extra}]"' if missing else what
        found.append({"part": f"extra {extra}", "kind": "extra", "state": state, "note": note})
    return found


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

    there = {name: (bool(find(name)), what) for name, what in NAMES.items()}
    there |= {name: (bool(os.environ.get(name, "").strip()), what) for name, what in OF_SERVICES.items()}
    return [
        {"part": name, "kind": "credential", "state": "set" if is_set else "not set", "note": what}
        for name, (is_set, what) in there.items()
    ]
