"""Chromium and chromedriver from the system's packages, for tests that look at pages."""

from __future__ import annotations

import shutil
import subprocess

what = "Chromium and its driver"


def ready() -> bool:
    return all(shutil.which(program) for program in ("chromium", "chromedriver"))


def install() -> None:
    subprocess.run(["apt-get", "update", "-q"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(
        [
            "apt-get",
            "install",
            "-q",
            "-y",
            "--no-install-recommends",
            "chromium",
            "chromium-driver",
            "fonts-dejavu-core",
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )
