"""Label Studio's server in an environment of its own, with a migrated data folder that tests copy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

what = "Label Studio's server (1 GB)"
ROOT = Path(__file__).parents[2]
ENVIRONMENT = ROOT / ".venvs" / "label-studio"
HOME = ROOT / ".venvs" / "label-studio-home"
LOCK = ROOT / "requirements" / "label-studio.lock"
PEOPLE = ("a1", "a2", "a3", "adjudicator")


def ready() -> bool:
    return (ENVIRONMENT / "bin" / "label-studio").exists() and (HOME / "ready").exists()


def install() -> None:
    if not (ENVIRONMENT / "bin" / "label-studio").exists():
        _environment()
    from covmis_build.annotation import server

    HOME.mkdir(parents=True, exist_ok=True)
    if not (HOME / "env").exists():
        (HOME / "env").symlink_to(ENVIRONMENT)
    one = server.Server(HOME)
    server.up(one, PEOPLE, say=print)
    server.down(one)
    (HOME / "ready").touch()


def _environment() -> None:
    uv = Path(sys.executable).with_name("uv")
    python = ENVIRONMENT / "bin" / "python"
    index = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"],
        capture_output=True,
        check=False,
        text=True,
    ).stdout.strip()
    env = {**os.environ, **({"UV_DEFAULT_INDEX": index} if index else {})}
    subprocess.run([uv, "venv", "-q", "--clear", "--python", sys.executable, ENVIRONMENT], check=True)
    subprocess.run(
        [uv, "pip", "install", "-q", "--python", python, "--require-hashes", "-r", LOCK], check=True, env=env
    )
