"""CPU seconds until a command has started: `python benchmarks/starting.py [STUDY]`, least of five on a quiet machine.

STUDY: a folder in which `make demo` has been run; without it, what needs a study is left out.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile

EMPTY = "pass"
GROUPS = (
    "from covmis_build.text.near_duplicates import near_duplicate_groups; near_duplicate_groups(['ab', 'ba'])"
)
SCAN = """
import numpy as np, pyarrow as pa
from covmis_build.text.scan import Owned, Sought
Sought.of({}, links=True).look(pa.array([""]), Owned(pa.array([], pa.string()), np.zeros(0, np.int64)), [])"""
ALL = "from covmis_build.text.every_routine import use; use()"


def cpu(words: list[str], folder: str | None = None, **environment: str) -> float:
    """User and system seconds of one process and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        words, cwd=folder, env=os.environ | environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def show(what: str, words: list[str], folder: str | None = None) -> None:
    """Print the least of five."""
    print(f"{what:40}{min(cpu([sys.executable, *words], folder) for _ in range(5)):6.2f}")


def main() -> None:
    """Run from the command line."""
    with tempfile.TemporaryDirectory() as place:
        seconds = cpu([sys.executable, "-c", ALL], NUMBA_CACHE_DIR=place)
        print(f"{'every routine, nothing compiled before':40}{seconds:6.2f}")
    cpu([sys.executable, "-c", ALL])
    for what, code in (
        ("python -c pass", EMPTY),
        ("load one routine", GROUPS),
        ("load the prefilter", SCAN),
        ("load every routine", ALL),
    ):
        show(what, ["-c", code])
    covmis = ["-m", "covmis_build"]
    show("covmis --help", [*covmis, "--help"])
    if sys.argv[1:]:
        for command in ("status", "run", "estimate"):
            show(f"covmis {command}", [*covmis, command], sys.argv[1])


main()
