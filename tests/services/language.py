"""The optional language detectors, from a lock that agrees with the core's: beside it in one environment."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

what = "the language detectors py3langid and pycld2"

LOCK = Path(__file__).parents[2] / "requirements" / "language.lock"


def ready() -> bool:
    return all(importlib.util.find_spec(name) for name in ("py3langid", "pycld2"))


def install() -> None:
    index = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"],
        capture_output=True,
        text=True,
        check=False,
    )
    address = index.stdout.strip() or os.environ.get("PIP_INDEX_URL", "")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "uv",
            "pip",
            "install",
            "-q",
            "--python",
            sys.executable,
            "--require-hashes",
            "-r",
            str(LOCK),
        ],
        check=True,
        env=os.environ | {"UV_DEFAULT_INDEX": address},
    )
    importlib.invalidate_caches()
