"""What every test may ask for: third-party data, and components that `make services` sets up."""

from __future__ import annotations

import functools
import os
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest
import typer.main
import typer.testing

from covmis_build.errors import counted
from covmis_build.text.compiled import everything
from tests.screen import last_screen
from tests.services import SERVICES

if TYPE_CHECKING:
    from collections.abc import Iterable

# A busy machine takes longer than usual; that is no error of the code (nothing here depends on the load).
hypothesis.settings.register_profile(
    "unhurried", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)  # a busy machine is no fault
hypothesis.settings.load_profile("unhurried")
# A program makes its 70 commands once; tests, which call it some thousand times in one process, need not make them each time.
typer.main.get_command = typer.testing._get_command = functools.cache(typer.main.get_command)
ROOT = Path(__file__).parents[1]
DATA = os.environ.get("COVMIS_DATA_HOME") or (ROOT.parent / "shared" / "data")
IN_CI = os.environ.get("CI") == "true"
os.environ["OMP_NUM_THREADS"] = (
    "1"  # torch has as many processes here as there are processors; their threads would wait
)


def pytest_configure(config: pytest.Config) -> None:
    """Compile the text routines before any test: they say a line when they do it, and take their time."""
    if not hasattr(config, "workerinput"):
        everything()


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
        if not os.environ.get(
            "COVMIS_DATA_HOME"
        ):  # nothing that this project may pass on, nor set up: also not in CI
            pytest.skip("needs third-party corpora: set COVMIS_DATA_HOME to the folder that holds them")
        pytest.fail(f"COVMIS_DATA_HOME is no folder: {home}")
    return home


ADDRESS = re.compile(r"\bat 0x[0-9a-f]{6,}")


def chance_in_id(name: str, values: Iterable[object]) -> str:
    """Why another process may give this test another id: raw bytes (a packed file's header holds the time), an address."""
    if "\\x" in name and any(isinstance(value, bytes) for value in values):
        return "its id is made of raw bytes"
    return "its id holds an address of memory" if ADDRESS.search(name) else ""


WORDED = {"message", "problem", "refused", "said", "says", "told", "why", "words"}
"""Parameters that are what is printed: it may change, and the test keeps its name."""


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """The name of a parameter that holds the words of a message."""
    return argname if isinstance(val, str) and argname in WORDED else None


LONGEST = {
    "test_whole_way",
    "test_package",
    "test_site",
    "test_build",
    "test_tutorial",
    "test_guides",
    "test_pages_fit",
}
"""Files whose tests take long, and of which processes therefore run the first before all others: no test is the last one running."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest first. Refuse ids that two collections would not share: workers that collect different tests run none."""
    items.sort(key=lambda item: item.path.stem not in LONGEST)
    refused = [
        f"{item.nodeid}: {reason}"
        for item in items
        if (callspec := getattr(item, "callspec", None))
        and (reason := chance_in_id(callspec.id, callspec.params.values()))
    ]
    if refused:
        raise pytest.UsageError("\n".join([*refused, "Give explicit ids to @pytest.mark.parametrize"]))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip `@pytest.mark.needs("spark")` without Spark, `starts("git")` without git: before any fixture."""
    for mark in item.iter_markers("needs"):
        for name in mark.args:
            if not SERVICES[name].ready():
                lacking(SERVICES[name].what, "run `make services`")
    for mark in item.iter_markers("starts"):
        for program in mark.args:
            if shutil.which(program) is None:
                lacking(program, "install it with the system's packages")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """End by saying what passed, what could not be run here and why, and what to do next."""
    stats = terminalreporter.stats
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ") for report in terminalreporter.getreports("skipped")
    )
    if not terminalreporter.config.pluginmanager.hasplugin("bar"):  # not `make test`: only what was not run
        if reasons:
            terminalreporter.section("not run on this machine")
            for reason, count in reasons.most_common():
                terminalreporter.write_line(f"{counted(count, 'tests')}: {reason}")
        return
    failed = [report.nodeid for kind in ("failed", "error") for report in stats.get(kind, [])]
    terminalreporter.section("in short")
    passed, few = len(stats.get("passed", [])), bool(terminalreporter.config.getoption("--only", ""))
    for line in last_screen({"passed": passed}, reasons, list(dict.fromkeys(failed)), few=few):
        terminalreporter.write_line(line)
