"""What `make test` shows a newcomer: what runs, how far it is, how much longer; and a last screen."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.conftest import ROOT
from tests.first import LIST, chosen
from tests.screen import Bar


def test_the_time_that_is_left_follows_what_tests_cost():
    now = 0.0
    bar = Bar({"a": 30.0, "b": 60.0, "c": 10.0}, clock=lambda: now)
    bar._begin(["a", "b", "c"])
    assert bar.left() == "", "nothing is known yet"
    now = 60.0
    bar.pytest_runtest_logfinish("a")
    assert (f"{bar.share():.2f}", bar.left()) == ("0.30", "about 2 minutes")
    now = 180.0
    bar.pytest_runtest_logfinish("b")
    assert (f"{bar.share():.2f}", bar.left()) == ("0.90", "about 20 s")
    bar.pytest_runtest_logfinish("c")
    assert (bar.share(), bar.left()) == (1.0, "")


def test_the_bar_and_the_last_screen(tmp_path):
    (tmp_path / "test_small.py").write_text(
        "import pytest\ndef test_a(): pass\ndef test_b(): assert 0\ndef test_c(): pytest.skip('needs luck')\ndef test_d(): assert 0\n"
    )
    (tmp_path / "list").write_text("".join(f"1 test_small.py::test_{name}\n" for name in "abc"))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", "-p", "tests.first", "-p", "tests.screen", "-n", "2", "-c", os.devnull,
         f"--rootdir={tmp_path}", f"--only={tmp_path / 'list'}", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "] 100%, 1 failed" in done.stdout, done.stdout + done.stderr
    assert "failed: test_small.py::test_b\n        assert 0" in done.stdout
    assert "1 passed, 1 FAILED" in done.stdout
    assert "1  needs luck" in done.stdout
    assert "test_small.py::test_b" in done.stdout.split("Repeat a failure alone:")[1]
    assert done.returncode == 1


def test_every_chosen_test_is_there(request):
    """After a test has another name: `python -m tests.choose`, or mend the line by hand."""
    files = {test.split("::")[0] for test in chosen(LIST)}
    assert sorted(files) == sorted(file for file in files if (ROOT / file).is_file())
    collected = {item.nodeid for item in request.session.items}
    if len(collected) > 5000:  # all tests run
        assert sorted(set(chosen(LIST)) - collected) == []


def test_continuous_integration_runs_all():
    def asked(ci: str) -> str:
        done = subprocess.run(
            ["make", "--dry-run", "test"], cwd=ROOT, env=os.environ | {"CI": ci}, capture_output=True, text=True, check=True
        )  # fmt: skip
        return done.stdout

    assert "--only" in asked("false")
    assert "--only" not in asked("true")
    assert "mypy" in asked("true")
    ours = (ROOT / ".ci" / "run").read_text("utf-8")
    assert ours.index("export CI=true") < ours.index("make test\n")
