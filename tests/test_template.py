"""The repository's root is a study of the shape that `covmis new` makes."""

from __future__ import annotations

import dataclasses
import json
import tomllib
from pathlib import Path

import pytest

from covmis_build.annotation.guideline import mentioned, undefined
from covmis_build.settings import TABLES, Settings, settings_toml
from covmis_build.study.new import OF_NEW, new_study
from covmis_build.study.study import read_study

ROOT = Path(__file__).parents[1]
TEMPLATE = ROOT / "covmis_build" / "template"
OF_ITS_OWN = {"annotation.audit", "cleaning.scope", "cleaning.similar_words",
    "title", "annotation.channel", "release.simulated",
    "retrieval.unreadable",  # two of the demonstration's 124 pages are damaged, and meant to be
}  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "new"
    new_study(folder, "")
    return folder


def stated(folder: Path) -> dict[str, object]:
    found = tomllib.loads((folder / "study.toml").read_text("utf-8"))
    flat = {f"{table}.{key}": value for table in TABLES for key, value in found.pop(table).items()}
    return found | flat


def test_root_has_every_file_of_a_new_study(made):
    names = {str(path.relative_to(made)) for path in made.rglob("*") if path.is_file()}
    assert names == {".gitattributes", ".gitignore", "README.md", "study.toml", "queries/claims.csv", "annotation/guideline.md",
                     "data/README.md", "data/archive/.gitkeep"}  # fmt: skip
    assert [name for name in names if not (ROOT / name).is_file()] == []


def test_a_new_study_states_every_default(made):
    settings = read_study(made).settings
    assert settings == Settings("new", cleaning=OF_NEW)
    every = {
        f"{table}.{option.name}" for table, kind in TABLES.items() for option in dataclasses.fields(kind)
    }
    assert {*stated(made)} == every - {
        "retrieval.columns",
        "retrieval.forms",
        "labels.changes",
        "labels.aliases",
    } | {
        "title",
        "seed",
        "build",
    }


def test_the_study_at_the_root_differs_where_it_is_meant_to(made):
    root, new = stated(ROOT), stated(made)
    assert list(root) == list(new)
    assert {key for key in root if root[key] != new[key]} == OF_ITS_OWN
    assert (ROOT / "study.toml").read_text("utf-8") == settings_toml(
        read_study(ROOT).settings, explained=True
    )


def test_same_guideline_and_columns():
    for name in ("annotation/guideline.md",):
        assert (ROOT / name).read_bytes() == (TEMPLATE / name).read_bytes()
    headers = [
        (folder / "queries/claims.csv").read_text("utf-8").splitlines()[0] for folder in (ROOT, TEMPLATE)
    ]
    assert headers[0] == headers[1]


def test_what_is_built_is_not_kept():
    ignored = (ROOT / ".gitignore").read_text("utf-8").splitlines()
    assert [
        line for line in (TEMPLATE / ".gitignore").read_text("utf-8").split() if line not in ignored
    ] == []
    assert (ROOT / ".gitattributes").read_bytes() == (TEMPLATE / ".gitattributes").read_bytes()
    assert "simulated" in read_study(ROOT).settings.title


def test_new_tells_as_json_what_it_made(tmp_path):
    from typer.testing import CliRunner

    from covmis_build.cli import app

    words = ["new", str(tmp_path / "mine"), "--title", "Mine", "--json"]
    done = json.loads(CliRunner().invoke(app, words, catch_exceptions=False).stdout)
    assert done["folder"] == str(tmp_path / "mine")
    assert done["title"] == read_study(tmp_path / "mine").settings.title == "Mine"
    assert sorted(done["files"]) == sorted(
        str(path.relative_to(tmp_path / "mine")) for path in (tmp_path / "mine").rglob("*") if path.is_file()
    )


def test_the_guideline_of_a_new_study_waits_for_a_definition_of_each_label_of_its_own(tmp_path):
    new_study(tmp_path / "s", "", labels="a favor, en contra, neither")
    study = read_study(tmp_path / "s")
    text = study.places.guideline.read_text("utf-8")
    assert study.settings.labels.values == ("a favor", "en contra", "neither")
    assert undefined(study.settings.labels.values, text) == ["a favor", "en contra"]
    assert not mentioned("favor", [text.replace("a favor", "")])
    assert not mentioned("against", [text])
    written = text.replace("| **a favor** | … |", "| **a favor** | says that it is true |")
    assert undefined(study.settings.labels.values, written) == ["en contra"]


def test_the_guideline_of_the_usual_labels_is_the_template(made):
    assert (made / "annotation/guideline.md").read_bytes() == (
        TEMPLATE / "annotation/guideline.md"
    ).read_bytes()
