"""Croissant's own checker and Hugging Face's loader, in an environment of their own, for tests of releases."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

what = "Croissant's checker and Hugging Face's loader (mlcroissant, datasets)"

HOME = Path(__file__).parents[2] / ".venvs" / "croissant"
PYTHON = HOME / "bin" / "python"
PACKAGES = ("mlcroissant==1.1.1", "datasets==5.2.0")


def ready() -> bool:
    return (HOME / ".ready").exists()


def install() -> None:
    subprocess.run([sys.executable, "-m", "venv", str(HOME)], check=True)
    subprocess.run(
        [str(PYTHON), "-m", "pip", "install", "-q", "--disable-pip-version-check", *PACKAGES], check=True
    )
    (HOME / ".ready").touch()
