"""What `make test` shows: one progress bar, and a last screen that says what was seen and what to do next."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

WIDTH = 40


class Bar:
    """One line that fills up on a terminal; a line for each tenth elsewhere. Failures are told as they come."""

    def __init__(self) -> None:
        self.total = self.done = self.failed = 0
        self.live = sys.stdout.isatty()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.total = max(self.total, len(session.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: object, ids: Sequence[str]) -> None:
        self.total = max(self.total, len(ids))

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """No letter for each test: the bar counts."""
        if report.when == "call" or report.skipped or report.failed:
            return ("error" if report.failed and report.when != "call" else report.outcome, "", "")
        return "", "", ""

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.done += 1
        self.show()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed += 1
            print(f"{chr(13) if self.live else ''}failed: {report.nodeid}{' ' * WIDTH if self.live else ''}")

    def show(self) -> None:
        """The bar as it is now."""
        total = max(self.total, self.done)
        full = WIDTH * self.done // total
        told = f"[{'=' * full}{' ' * (WIDTH - full)}] {self.done:,} of {total:,} tests"
        failed = f", {self.failed} failed" if self.failed else ""
        if self.live:
            print(f"\r{told}{failed}", end="\n" if self.done == total else "", flush=True)
        elif self.done * 10 // total > (self.done - 1) * 10 // total:
            print(f"{told}{failed}", flush=True)


def pytest_configure(config: pytest.Config) -> None:
    """Only the process that people look at has a bar."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Bar(), "bar")


def last_screen(
    counts: Mapping[str, int], not_run: Mapping[str, int], failed: Sequence[str]
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
    if any("make test-all" in reason for reason in not_run):
        yield "  make test-all                 those that take long, too; style and types (some twenty minutes)"
