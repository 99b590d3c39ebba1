"""Apache Spark, from a lock that agrees with the core's: beside it in one environment. Java comes from the system."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

what = "Apache Spark (pyspark, and Java 17 or later)"

LOCK = Path(__file__).parents[2] / "requirements" / "spark.lock"


def ready() -> bool:
    return importlib.util.find_spec("pyspark") is not None and _java() is not None


def install() -> None:
    if _java() is None:
        subprocess.run(["apt-get", "update", "-q"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(
            ["apt-get", "install", "-q", "-y", "--no-install-recommends", "openjdk-17-jre-headless"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
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


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
