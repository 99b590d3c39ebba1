"""What the option parser refuses is one `error:` line that names it and the remedy, for every command."""

from __future__ import annotations

import shutil
import sys

import pytest

from covmis_build import cli, new_study
from covmis_build.errors import InputError
from tests.cli.test_help import COMMANDS

REFUSED = {
    ("run", "--fast"): ("--fast", "covmis run --help"),
    ("run", "--workers", "many"): ("--workers", "covmis run --help"),
    ("run", "--workers", "-1"): ("--workers", "covmis run --help"),
    ("run", "--workers"): ("--workers", "covmis run --help"),
    ("explain",): ("ID", "covmis explain --help"),
    ("explain", "1", "2"): ("2", "covmis explain --help"),
    ("stauts",): ("stauts", "covmis --help"),
    ("round", "opne"): ("opne", "covmis round --help"),
    ("round", "open", "--claims", "x"): ("--claims", "covmis round open --help"),
    ("rnu\x1b[31m",): (r"\x1b", "covmis --help"),
    ("--no-such",): ("--no-such", "covmis --help"),
}


def main(monkeypatch, capsys, *words: str):
    """What the program ends with, and what it printed."""
    monkeypatch.setattr(sys, "argv", ["covmis", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return ended.value.code, *capsys.readouterr()


def test_quiet_prints_results(monkeypatch, capsys, tmp_path):
    (tmp_path / "labels.csv").write_text("item,annotator,label\n1,a,x\n1,b,x\n2,a,y\n2,b,x\n")
    monkeypatch.chdir(tmp_path)
    code, out, _ = main(monkeypatch, capsys, "-q", "agreement", "labels.csv")
    assert code == 0
    assert "kappa" in out


def one_line(told: str) -> bool:
    return told.startswith("error: ") and told.count("\n") == 1 and "\x1b" not in told


@pytest.mark.parametrize("words", REFUSED, ids=" ".join)
def test_a_refusal_is_one_line_that_names_it_and_the_remedy(monkeypatch, capsys, words):
    code, out, told = main(monkeypatch, capsys, *words)
    assert (code, out) == (2, "")
    assert one_line(told), told
    for part in REFUSED[words]:
        assert part in told


def test_no_command_knows_an_unknown_option(monkeypatch, capsys):
    for name in COMMANDS:
        code, out, told = main(monkeypatch, capsys, *name.split(), "--no-such-option")
        assert (code, out) == (2, "")
        assert one_line(told), told
        of_query = (
            name in {"queries try", "queries set"} and "the query only says what must be absent" in told
        )
        assert of_query or told.endswith(f"Try `covmis {name} --help`\n"), told


@pytest.mark.parametrize("words", [("--help",), ("round", "--help"), ("run", "-h"), ("--version",)])
def test_help_stays_help(monkeypatch, capsys, words):
    code, out, told = main(monkeypatch, capsys, *words)
    assert (code, told) == (0, "")
    assert out.startswith(("Usage: covmis", "covmis "))


@pytest.mark.parametrize("words", [(), ("round",)])
def test_a_group_without_a_command_shows_its_help(monkeypatch, capsys, words):
    code, out, told = main(monkeypatch, capsys, *words)
    assert code == 2
    assert "Usage: covmis" in out + told


@pytest.mark.parametrize(
    ("raised", "code", "line"),
    [(InputError("is wrong", file="a.csv"), 2, "error: a.csv: is wrong\n"),
     (KeyboardInterrupt(), 130, "error: interrupted; nothing is half-written, run the same command again\n"),
     (PermissionError(13, "Permission denied", "f"), 2, "error: f: Permission denied\n"),
     (OSError(28, "Error writing bytes to file. Detail: [errno 28] No space left on device"), 2,
      "error: No space left on device. Free some disk space and run the command again; nothing was changed\n")],
    ids=["input", "interrupt", "permission", "disk"],
)  # fmt: skip
def test_what_a_command_raises_is_one_line(monkeypatch, capsys, raised, code, line):
    def fails(*_, **__):
        raise raised

    monkeypatch.setattr("covmis_build.cli.verbs.open_study", fails)
    assert main(monkeypatch, capsys, "status") == (code, "", line)


WITHOUT_POSTS = (
    "claims lint", "claims select", "claims select 5", "estimate", "explain vitamin-c", "hydrate", "queries show", "queries try",
    "queries suggest", "recall plan", "recall draw", "recall report", "release", "round open", "round open --pilot",
    "round open --training", "round push", "round pull", "round report", "round adjudicate", "round seal", "round status",
    "round verify", "round reopen", "round board", "sample", "sample --plan", "status", "export flow", "verify",
    "guideline check", "model prompt", "agreement queries/claims.csv", "purge x:1",
    "evaluate score queries/claims.csv a=queries/claims.csv", "evaluate split queries/claims.csv",
    "evaluate leakage queries/claims.csv", "run",
)  # fmt: skip


@pytest.fixture(scope="module")
def study_without_posts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("empty") / "study"
    new_study(folder).run()
    return folder


@pytest.mark.parametrize("command", WITHOUT_POSTS)
def test_a_study_without_posts_is_told_what_it_lacks(
    monkeypatch, capsys, tmp_path, study_without_posts, command
):
    monkeypatch.chdir(shutil.copytree(study_without_posts, tmp_path / "study"))
    code, _, told = main(monkeypatch, capsys, *command.split())
    assert code in {0, 1, 2}
    assert "Traceback" not in told
    if code:
        assert sum(line.startswith("error: ") for line in told.splitlines()) == 1, told
