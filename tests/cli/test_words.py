"""Words that people read: one of a thing, near names, options on either side, what to do about a wrong file."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from covmis_build.cli import app, in_order
from covmis_build.errors import InputError, UnknownName, counted
from covmis_build.evaluation.catalogue import chosen


def test_one_thing_is_singular():
    assert [counted(1, word) for word in ("lines", "queries", "posts", "replies")] == [
        "1 line",
        "1 query",
        "1 post",
        "1 reply",
    ]
    assert counted(0, "lines") == "0 lines"
    assert counted(12_345, "queries") == "12,345 queries"


@pytest.mark.parametrize(
    ("name", "meant"), [("f1", "macro_f1"), ("precision", "macro_precision"), ("acuracy", "accuracy")]
)
def test_a_measure_that_is_meant_is_proposed(name, meant):
    with pytest.raises(UnknownName, match=f"Did you mean '{meant}'"):
        chosen([name])


@pytest.mark.parametrize(
    ("typed", "run"),
    [
        ("--study X status", "status --study X"),
        ("--study=X -q round status", "-q round status --study=X"),
        ("--json status", "status --json"),
        ("-q --version", "-q --version"),
        ("status --study X", "status --study X"),
        ("--study X", "--study X"),
        ("--study X explain -- -1", "explain --study X -- -1"),
        ("", ""),
    ],
)
def test_options_may_stand_before_the_command(typed, run):
    assert " ".join(in_order(typed.split())) == run


def test_agreement_says_what_a_file_needs(tmp_path):
    (tmp_path / "wrong.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="a row for each label, with the columns item, annotator and label"):
        CliRunner().invoke(app, ["agreement", str(tmp_path / "wrong.csv")], catch_exceptions=False)
