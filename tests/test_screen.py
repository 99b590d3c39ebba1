"""The last screen of `make test`, for a newcomer."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.screen import last_screen


def test_all_is_well():
    not_run = {"needs Spark: run `make services`": 12, "takes long: run `make test-all`": 34}
    told = "\n".join(last_screen({"passed": 9000}, not_run, []))
    assert "9,000 passed, none failed" in told
    assert "46 not run (that is no failure)" in told
    assert "12  needs Spark" in told
    assert "34  takes long" in told
    assert "  make services  " in told
    assert "  make test-all  " in told
    assert "make demo" in told
    assert "test-all" not in "".join(last_screen({"passed": 9000}, {}, []))


def test_a_failure_names_the_command_that_repeats_it():
    told = "\n".join(last_screen({"passed": 1}, {}, ["tests/test_a.py::test_b[two words]"]))
    assert "1 passed, 1 FAILED" in told
    assert ".venv/bin/python -m pytest -n 0 'tests/test_a.py::test_b[two words]'" in told
    assert "make demo" not in told


@pytest.mark.parametrize("workers", ["0", "2"])
def test_one_bar_and_the_screen(tmp_path, workers):
    (tmp_path / "test_small.py").write_text(
        "import pytest\ndef test_a(): pass\ndef test_b(): assert 0\ndef test_c(): pytest.skip('needs luck')\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", "-p", "tests.screen", "-n", workers, "-c", os.devnull,
         str(tmp_path / "test_small.py")],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "3 of 3 tests, 1 failed" in done.stdout, done.stdout + done.stderr
    assert "1 passed, 1 FAILED" in done.stdout
    assert "1  needs luck" in done.stdout
    assert "test_small.py::test_b" in done.stdout.split("Repeat a failure alone:")[1]
    assert done.returncode == 1


@pytest.mark.parametrize(("asked", "passed"), [("--quick", 1), ("-q", 2)])
def test_only_make_test_leaves_out_what_takes_long(tmp_path, asked, passed):
    (tmp_path / "test_small.py").write_text(
        "import pytest\ndef test_a(): pass\n@pytest.mark.slow\ndef test_b(): pass\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", asked, "-p", "tests.conftest", "-p", "tests.screen", "-n", "0", "-c", os.devnull,
         str(tmp_path / "test_small.py")],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert f"{passed} passed, none failed" in done.stdout, done.stdout + done.stderr
    assert ("1  takes long: run `make test-all`" in done.stdout) is (passed == 1)


def test_continuous_integration_runs_all():
    def asked(ci: str) -> str:
        told = subprocess.run(
            ["make", "--dry-run", "test"], cwd=ROOT, env=os.environ | {"CI": ci}, capture_output=True, text=True, check=True
        )  # fmt: skip
        return told.stdout

    assert "--quick" in asked("false")
    assert "--quick" not in asked("true")
    assert "mypy" in asked("true")
    ours = (ROOT / ".ci" / "run").read_text("utf-8")
    assert ours.index("export CI=true") < ours.index("make test\n")
