"""Croissant's own checker and Hugging Face's loader, in an environment of their own, for tests of releases."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

what = "Croissant's checker and Hugging Face's loader (mlcroissant, datasets)"

ROOT = Path(__file__).parents[2]
HOME = ROOT / ".venvs" / "croissant"
PYTHON = HOME / "bin" / "python"
LOCK = ROOT / "requirements" / "croissant.lock"
READY = HOME / ".ready"


def ready() -> bool:
    return READY.exists() and READY.read_text() == LOCK.read_text()


def install() -> None:
    pip = [sys.executable, "-m", "pip"]
    index = subprocess.run(
        [*pip, "config", "get", "global.index-url"], check=False, capture_output=True, text=True
    )
    address = index.stdout.strip() or os.environ.get("PIP_INDEX_URL", "")
    uv = [sys.executable, "-m", "uv"]
    subprocess.run([*uv, "venv", "-q", "--clear", "--python", sys.executable, str(HOME)], check=True)
    subprocess.run(
        [*uv, "pip", "install", "-q", "--python", str(PYTHON), "--require-hashes", "-r", str(LOCK)],
        check=True,
        env=os.environ | {"UV_DEFAULT_INDEX": address},
    )
    READY.write_text(LOCK.read_text())
