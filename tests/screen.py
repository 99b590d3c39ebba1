"""What `make test` shows: one progress bar, and a last screen that says what was seen and what to do next."""

from __future__ import annotations

import shlex
import shutil
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from covmis_build.errors import counted
from tests.first import chosen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

WIDTH = 30
ENOUGH = 5.0
"""Seconds after which the time that is left can be said."""


class Bar:
    """What is running, how far it is, how much longer it takes: one line on a terminal; a line for each tenth elsewhere.

    Tests count by the seconds that they cost where that is known. Failures are shown as they come.
    """

    def __init__(self, costs: Mapping[str, float], clock: Callable[[], float] = time.monotonic) -> None:
        self.costs, self.clock = costs, clock
        self.began = 0.0
        self.tests: Sequence[str] = ()
        self.all = self.done = 0.0
        self.failed = self.tenth = 0
        self.announced = False
        self.live = sys.stdout.isatty()

    def _begin(self, tests: Sequence[str]) -> None:
        if len(tests) >= len(self.tests):
            self.began = self.clock()
            self.tests, self.all = tests, sum(map(self._cost, tests))

    def _cost(self, test: str) -> float:
        return self.costs.get(test, 0) + 0.01

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if session.items:  # not where processes of xdist collect
            self._begin([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: object, ids: Sequence[str]) -> None:
        self._begin(ids)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """No letter for each test: the bar counts."""
        if report.when == "call" or report.skipped or report.failed:
            return ("error" if report.failed and report.when != "call" else report.outcome, "", "")
        return "", "", ""

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        if self.live:
            self._print(self.line(), in_words(nodeid))

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.done += self._cost(nodeid)
        if not self.announced and self.clock() - self.began > ENOUGH:
            self.announced = True
            self._print(
                f"{len(self.tests):,} tests: {self.left() or 'some minutes'} on this machine", end="\n"
            )
        tenth = int(self.share() * 10)
        if not self.live and tenth > self.tenth:
            self._print(self.line(), end="\n")
        self.tenth = tenth

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed += 1
            self._print(f"failed: {report.nodeid}", end="\n")
            crash = getattr(report.longrepr, "reprcrash", None)
            if crash:
                self._print(f"        {crash.message.splitlines()[0]}", end="\n")

    def pytest_sessionfinish(self) -> None:
        if self.live:
            self._print(self.line(), end="\n")

    def share(self) -> float:
        """How much of the work is done, from 0 to 1."""
        return min(1.0, self.done / self.all) if self.all else 0.0

    def left(self) -> str:
        """How much longer it takes, judged by the time so far; nothing at the beginning and at the end."""
        spent, share = self.clock() - self.began, self.share()
        if spent < ENOUGH or not 0 < share < 1:
            return ""
        seconds = spent * (1 - share) / share
        return (
            f"about {counted(round(seconds / 60), 'minutes')}"
            if seconds > 90
            else f"about {max(1, round(seconds))} s"
        )

    def line(self) -> str:
        """How far it is."""
        full = int(WIDTH * self.share())
        left = f", {self.left()} left" if self.left() else ""
        failed = f", {self.failed} failed" if self.failed else ""
        return f"[{'=' * full}{' ' * (WIDTH - full)}] {self.share():.0%}{left}{failed}"

    def _print(self, text: str, more: str = "", end: str = "") -> None:
        if self.live:
            columns = shutil.get_terminal_size().columns - 1
            text = "\r" + (f"{text}  {more}" if more else text)[:columns].ljust(columns)
        print(text, end=end, flush=True)


def in_words(test: str) -> str:
    """A test's room and name as words: `sampling: a draw that adds nothing leaves a row`."""
    path, _, name = test.partition("::")
    room = path.removeprefix("tests/").split("/")[0].removesuffix(".py").removeprefix("test_")
    return f"{room}: {name.rpartition('::')[2].split('[')[0].removeprefix('test_').replace('_', ' ')}"


def pytest_configure(config: pytest.Config) -> None:
    """Only the process that people look at has a bar."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Bar(chosen(config.getoption("--only", ""))), "bar")


def last_screen(
    counts: Mapping[str, int], not_run: Mapping[str, int], failed: Sequence[str], *, few: bool
) -> Iterator[str]:
    """What a newcomer wants to know: how many passed, what was not run and why, what to do next."""
    bad = len(failed)
    yield f"{counts.get('passed', 0):,} passed" + (f", {bad:,} FAILED" if bad else ", none failed")
    if not_run:
        yield f"{sum(not_run.values()):,} not run (that is no failure):"
        yield from (f"  {count:>6,}  {reason}" for reason, count in Counter(not_run).most_common())
    yield ""
    if failed:
        yield "Repeat a failure alone:"
        yield from (f"  .venv/bin/python -m pytest -n 0 {shlex.quote(name)}" for name in failed[:10])
        yield from [f"  … and {bad - 10:,} more, listed above"] if bad > 10 else []
        yield "If you have changed nothing, please report it with what it printed: CONTRIBUTING.md says where."
        return
    yield "covmis works on this machine. Next:"
    yield "  make demo                     a demonstration corpus, end to end; then docs/tutorial.md"
    yield "  .venv/bin/covmis new ../mine  a study of your own; docs/guides/your-own-posts.md"
    if any("make services" in reason for reason in not_run):
        yield "  make services                 sets up what some of the tests that were not run need"
    if few:
        yield "  make test-all                 every test, style and types (some forty minutes on two cores)"
