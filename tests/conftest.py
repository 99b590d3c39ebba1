"""What every test may ask for: third-party data, and components that `make services` sets up."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from tests.services import SERVICES

ROOT = Path(__file__).parents[1]
DATA = os.environ.get("COVMIS_DATA_HOME") or (ROOT.parent / "shared" / "data")
IN_CI = os.environ.get("CI") == "true"


def lacking(what: str, remedy: str) -> None:
    """Skip, saying how to make the test possible; in CI, where everything is set up, fail."""
    message = f"needs {what}: {remedy}"
    if IN_CI:
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="session")
def data_home() -> Path:
    """The folder of third-party corpora."""
    home = Path(DATA)
    if not home.is_dir():
        lacking("third-party corpora", "set COVMIS_DATA_HOME to the folder that holds them")
    return home


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """`@pytest.mark.needs("spark")`: run only where `make services` has set this component up, asked before any fixture."""
    for mark in item.iter_markers("needs"):
        for name in mark.args:
            if not SERVICES[name].ready():
                lacking(SERVICES[name].what, "run `make services`")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """End by saying what could not be run here, and what would make it possible."""
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ") for report in terminalreporter.getreports("skipped")
    )
    if reasons:
        terminalreporter.section("not run on this machine")
        for reason, count in reasons.most_common():
            terminalreporter.write_line(f"{count} test{'s' if count > 1 else ''}: {reason}")
