"""The board: every round on a page that asks for nothing outside and changes nothing."""

from __future__ import annotations

import hashlib

import pytest

from covmis_build.errors import InputError
from covmis_build.study.study import open_study
from tests.annotation.small import HOSTILE, covmis, label_both, rows_of, study, write_rows


@pytest.fixture
def folder(tmp_path):
    study(tmp_path, "target = { at_least = 0.3 }\n")
    covmis(tmp_path, "round", "open")
    covmis(tmp_path, "round", "push")
    label_both(tmp_path, differ=lambda item: item[-1] in "13")
    sheet = tmp_path / "annotation" / "rounds" / "001" / "sheets" / "a2.csv"
    rows = rows_of(sheet)
    rows[0]["label"] = "pro"
    rows[-1]["label"] = rows[-1]["comment"] = ""
    write_rows(sheet, rows)
    covmis(tmp_path, "round", "pull", fails=1)
    covmis(tmp_path, "round", "open", "--claims", "1")
    return tmp_path


def content(folder):
    return {
        path: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()
    }


def test_the_board_has_rounds_people_agreement_disagreements_and_what_needs_an_eye(folder):
    before = content(folder)
    told = covmis(folder, "export", "board")
    assert told["page"] == "annotation/rounds/board.html"
    page = (folder / told["page"]).read_text("utf-8")
    for words in (
        "Next in round 002: <code>covmis round push</code>", "ask a2 to correct 1 answer", "To correct", "Cohen&#39;s kappa",
        "95% interval over", "Target 0.3 ", "Annotators", "Newest disagreements", "Needs attention",
        "unknown label &#39;pro&#39;", "Claims with the lowest agreement",
    ):  # fmt: skip
        assert words in page, words
    assert HOSTILE not in page
    assert "<script" not in page
    after = content(folder)
    assert {path.name for path in after if after[path] != before.get(path)} == {"board.html"}, "it only reads"


def test_a_study_without_rounds_has_no_board(tmp_path):
    study(tmp_path)
    assert "no round is open" in covmis(tmp_path, "export", "board", fails=2)["error"]
    with pytest.raises(InputError):
        open_study(tmp_path).round()
