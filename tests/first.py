"""The tests that `make test` runs: those that together reach most lines of covmis for the CPU seconds that they cost, and quick ones
that notice when a rule is broken.

`first.txt` names them, each with its CPU seconds; `python -m tests.choose` chooses anew.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_name("first.txt")
ROOM = 1.5e9
"""Bytes of memory that a process with tests may need."""


def chosen(file: str | Path) -> dict[str, float]:
    """The CPU seconds of each test that a list names."""
    lines = Path(file).read_text("utf-8").splitlines() if file else []
    return {test: float(seconds) for seconds, test in (line.split(" ", 1) for line in lines)}


def pytest_addoption(parser: pytest.Parser) -> None:
    """`make test` runs the tests of a list."""
    parser.addoption(
        "--only",
        default="",
        metavar="FILE",
        help="run the tests that this list names, such as tests/first.txt",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Read only the files that hold chosen tests."""
    if names := chosen(config.getoption("--only")):
        config.args = sorted({str(config.rootpath / test.split("::")[0]) for test in names})


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out all others."""
    if names := chosen(config.getoption("--only")):
        items[:] = [item for item in items if item.nodeid in names]


def pytest_xdist_auto_num_workers() -> int:
    """As many processes as there are processors, and free memory for."""
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        free = max(free, _available())  # what Linux keeps of files is free, too
    except (AttributeError, OSError, ValueError):  # a system that does not say
        return os.cpu_count() or 1
    return max(1, min(os.cpu_count() or 1, int(free / ROOM)))


def _available() -> int:
    for line in Path("/proc/meminfo").read_text("ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0
