"""Ctrl-C: one line, exit code 130, nothing half-written; the same command then ends as if nothing had been."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from covmis_build import __main__, cli
from covmis_build.building.run import run
from covmis_build.building.stages import STAGES
from covmis_build.study.study import open_study
from tests.small_study import small_study

PROGRAM = [sys.executable, "-m", "covmis_build"]


def _heard() -> None:
    """What a shell starts in the background ignores interruptions, and so does all that it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def interrupted(*words: object, when, **environment: str) -> str:
    """Start this command in a group of its own, and interrupt the group once `when()` holds; its last words."""
    with subprocess.Popen(
        [*PROGRAM, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, env=os.environ | environment, preexec_fn=_heard,  # noqa: PLW1509 - one thread
    ) as process:  # fmt: skip
        while not when() and process.poll() is None:
            time.sleep(0.01)
        assert process.poll() is None, "it ended before it could be interrupted"
        os.killpg(process.pid, signal.SIGINT)
        _, told = process.communicate()
    assert process.returncode in {130, -signal.SIGINT}, told  # an import that was hit ends so; shells say 130
    lines = [one for one in told.splitlines() if "(after" not in one]
    assert len(lines) == 1, told
    assert lines[0].startswith("error: interrupted")
    return lines[0]


def any_table(folder) -> bool:
    """Whether there is a Parquet file below; folders may go while one looks."""
    return any(name.endswith(".parquet") for _, _, names in os.walk(folder) for name in names)


def half_written(folder) -> list[str]:
    return [str(path) for path in folder.rglob(".*") if path.suffix in {".part", ".new"}]


def tables(study) -> dict[str, bytes]:
    return {name: study.places.table(name).read_bytes() for stage in STAGES for name in stage.makes}


def test_a_run_that_is_interrupted_ends_with_the_same_tables(tmp_path):
    study = small_study(tmp_path / "study", 800)
    scratch = study.places.build / ".scratch"
    interrupted("run", "--study", study.places.folder, when=lambda: any_table(scratch))
    interrupted("run", "--study", study.places.folder, when=lambda: study.places.table("hits").exists())
    assert half_written(study.places.folder) == []
    run(study.places, study.settings, workers=1)
    undisturbed = small_study(tmp_path / "undisturbed", 800)
    run(undisturbed.places, undisturbed.settings, workers=1)
    assert tables(open_study(study.places.folder)) == tables(undisturbed)


def test_an_interruption_while_the_program_loads_is_one_line(monkeypatch, capsys):
    def interrupted_import():
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "main", interrupted_import)
    with pytest.raises(SystemExit) as ended:
        __main__.main()
    assert (ended.value.code, capsys.readouterr().err) == (130, "error: interrupted\n")


@pytest.mark.parametrize("told", [RuntimeError("Query interrupted"), KeyboardInterrupt()], ids=repr)
def test_whichever_part_notices_it(monkeypatch, capsys, told):
    def fails(*_, **__):
        raise told

    monkeypatch.setattr("covmis_build.cli.verbs.open_study", fails)
    monkeypatch.setattr(sys, "argv", ["covmis", "status"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 130
    assert capsys.readouterr().err.count("\n") == 1
