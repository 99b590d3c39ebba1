"""Choose the tests of `make test` anew: `python -m tests.choose`, by hand, after many tests have changed.

Every test that this machine can run without services is measured once: its CPU seconds, and the lines of covmis that
it runs (coverage.py is for this alone: `.venv/bin/uv pip install coverage`). Then those are chosen that together run
most lines for their cost: a line counts whole for the first test, and half as much for each further one. Lines do not
show values: quick tests that the list names already, many of which were added for a rule, stay (`tests.mutants` and
breaks by hand show which rules nothing holds).
"""

from __future__ import annotations

import functools
import heapq
import json
import os
import resource
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.first import LIST, ROOT, chosen

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PLACE = Path(os.environ.get("COVMIS_MEASURED", ROOT / "build" / "measured"))
SECONDS = 130.0
"""CPU seconds of the chosen tests, as they were measured: with coverage.py, which slows them."""
QUICK = 0.3
"""CPU seconds of a test that stays in the list."""
SETTINGS = """\
[run]
source_pkgs = covmis_build
parallel = true
context = ${COVMIS_TEST}
disable_warnings = no-data-collected,module-not-measured,couldnt-parse,module-not-imported
"""
Line = tuple[str, int]


@dataclass(frozen=True)
class Measured:
    """What one run of all tests has shown: seconds of a test, of a shared fixture; which test needs and runs what."""

    seconds: Mapping[str, float]
    shared: Mapping[str, float]
    needs: Mapping[str, frozenset[str]]
    lines: Mapping[str, frozenset[Line]]

    @functools.cached_property
    def by_line(self) -> Mapping[Line, list[str]]:
        """The tests that run a line."""
        found = defaultdict(list)
        for test, lines in self.lines.items():
            for line in lines:
                found[line].append(test)
        return found


def measured() -> Measured:
    """Read what the last run has written."""
    from coverage import CoverageData

    seconds, needs, shared = {}, {}, Counter[str]()
    for file in PLACE.glob("*.jsonl"):
        for row in map(json.loads, file.read_text("utf-8").splitlines()):
            for name, cost in row["made"]:
                shared[name] = max(cost, shared[name])
            if row["outcome"] == "passed" and row["id"].isprintable():
                seconds[row["id"]] = max(0.0, row["seconds"] - sum(cost for _, cost in row["made"]))
                needs[row["id"]] = frozenset(row["needs"])
    lines = defaultdict(set)
    for file in PLACE.glob(".coverage*"):
        data = CoverageData(basename=str(file))
        data.read()
        for path in data.measured_files():
            name = path[path.rindex("covmis_build/") :]
            for line, tests in data.contexts_by_lineno(path).items():
                for test in tests:
                    lines[test].add((name, line))
    loaded = lines.get("between", set())  # what every import runs
    return Measured(seconds, shared, needs, {test: frozenset(lines[test] - loaded) for test in seconds})


def choose(seen: Measured, budget: float, listed: Iterable[str] = ()) -> list[str]:
    """The quick ones of those `listed`; then always the test next that adds most for its cost.

    The fixtures that are not made yet are part of the cost.
    """
    picked = [test for test in listed if seen.seconds.get(test, budget) <= QUICK]
    made = {name for test in picked for name in seen.needs[test]}
    spent = sum(seen.seconds[test] for test in picked) + sum(seen.shared[name] for name in made)
    counted = Counter[Line](line for test in picked for line in seen.lines[test])

    def gain(test: str) -> tuple[float, float]:
        cost = 0.005 + seen.seconds[test] + sum(seen.shared[name] for name in seen.needs[test] - made)
        return sum(0.5 ** counted[line] for line in seen.lines[test]) / cost, cost

    heap = [(-gain(test)[0], test) for test in sorted(seen.seconds.keys() - set(picked))]
    heapq.heapify(heap)
    while heap:
        _, test = heapq.heappop(heap)
        worth, cost = gain(test)
        if heap and worth < -heap[0][0]:  # others have run its lines since
            heapq.heappush(heap, (-worth, test))
        elif spent + cost <= budget:
            picked.append(test)
            spent += cost
            made |= seen.needs[test]
            counted.update(seen.lines[test])
    return picked


def write(tests: Iterable[str], seen: Measured) -> None:
    """The list, by file."""
    LIST.write_text(
        "".join(f"{max(0.01, seen.seconds[test]):.2f} {test}\n" for test in sorted(tests)), "utf-8"
    )


# While tests run


def _cpu() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


class Watch:
    """Notes what each test costs and runs, also in the processes that it starts."""

    def __init__(self) -> None:
        from coverage import Coverage

        self.cover = Coverage(
            data_file=str(PLACE / ".coverage"),
            data_suffix=True,
            source_pkgs=["covmis_build"],
            config_file=False,
        )
        self.cover.start()
        os.environ["COVERAGE_PROCESS_START"] = str(
            PLACE / "coverage.ini"
        )  # for the processes that tests start
        self.made: list[tuple[str, float]] = []
        self.outcome = ""
        self.rows = (PLACE / f"{os.getpid()}.jsonl").open("w", encoding="utf-8")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> object:
        os.environ["COVMIS_TEST"] = item.nodeid
        self.cover.switch_context(item.nodeid)
        self.made, self.outcome, began = [], "", _cpu()
        result = yield
        needs = [
            _name(one)
            for many in item._fixtureinfo.name2fixturedefs.values()
            for one in many
            if one.scope != "function"
        ]
        row = {
            "id": item.nodeid,
            "seconds": _cpu() - began,
            "made": self.made,
            "needs": needs,
            "outcome": self.outcome,
        }
        self.rows.write(json.dumps(row) + "\n")
        self.cover.switch_context("between")
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> object:
        began = _cpu()
        result = yield
        if fixturedef.scope != "function":
            self.made.append((_name(fixturedef), _cpu() - began))
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            self.outcome = report.outcome

    def pytest_sessionfinish(self) -> None:
        self.rows.close()
        self.cover.stop()
        self.cover.save()


def _name(fixture: pytest.FixtureDef[object]) -> str:
    return f"{fixture.baseid}:{fixture.argname}"


def pytest_configure(config: pytest.Config) -> None:
    """Only where tests run: xdist's own process runs none."""
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(Watch(), "watch")


def main() -> None:
    """Measure, choose, write the list."""
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True)
    (PLACE / "coverage.ini").write_text(SETTINGS + f"data_file = {PLACE}/.coverage\n", "utf-8")
    (PLACE / "sitecustomize.py").write_text("import coverage\ncoverage.process_startup()\n", "utf-8")
    tests = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.choose",
        "-p",
        "tests.screen",
        "-n",
        "auto",
        "--dist",
        "worksteal",
    ]
    subprocess.run(
        [*tests, "-m", "not long", "tests"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(PLACE)},
        check=False,
    )
    seen = measured()
    write(choose(seen, SECONDS, chosen(LIST)), seen)


if __name__ == "__main__":
    main()
