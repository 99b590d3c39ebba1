"""Apache Spark, from a lock that agrees with the core's: beside it in one environment. Java comes from the system."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

from tests import installing

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
    installing.install(LOCK)


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
