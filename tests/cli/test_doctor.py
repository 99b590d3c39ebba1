"""`covmis doctor`: what it says is what is there, and a missing part of the core is a failure."""

from __future__ import annotations

import json
import re
import tomllib
from importlib import metadata, util
from pathlib import Path

import pytest
from typer.testing import CliRunner

from covmis_build.addresses import Address
from covmis_build.building import purge
from covmis_build.cli import app
from covmis_build.errors import CheckFailed, ServiceError, UnfinishedPurge
from covmis_build.study import doctor
from covmis_build.study.study import open_study

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
VALUES = {name: f"value-of-{name}" for name in doctor.OF_SERVICES}


def asked() -> dict:
    done = CliRunner().invoke(app, ["doctor", "--json"], catch_exceptions=False)
    assert not any(value in done.output for value in VALUES.values())
    return json.loads(done.stdout)


MODULES = {"label-studio-sdk": "label_studio_sdk"}


def named(requirement: str) -> str:
    return re.match(r"[\w.-]+", requirement)[0].lower()


def test_the_core_and_the_extras_are_those_of_the_project() -> None:
    assert sorted(doctor.CORE) == sorted(map(named, PROJECT["dependencies"]))
    extras = {name: rows for name, rows in PROJECT["optional-dependencies"].items() if rows and name != "all"}
    assert set(doctor.EXTRAS) == set(extras)
    for name, rows in extras.items():
        modules = [MODULES.get(named(row), named(row)).removesuffix(".py") for row in rows]
        assert sorted(modules) == sorted(doctor.EXTRAS[name][0])


def test_a_missing_part_of_the_core_is_a_failure(monkeypatch) -> None:
    assert asked()["complete"] is True
    real = metadata.version

    def version(name: str) -> str:
        if name == "zstandard":
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "version", version)
    with pytest.raises(CheckFailed, match="cannot do without zstandard") as caught:
        CliRunner().invoke(app, ["doctor"], catch_exceptions=False)
    assert caught.value.exit_code == 1


def test_an_extra_is_ready_only_if_all_of_it_is_there(monkeypatch) -> None:
    monkeypatch.setattr(util, "find_spec", lambda name: None if name == "pycld2" else object())
    states = {one["part"]: one["state"] for one in asked()["parts"]}
    assert states["extra language"] == "incomplete"
    assert states["extra models"] == "ready"
    monkeypatch.setattr(util, "find_spec", lambda _: None)
    assert {one["part"]: one["state"] for one in asked()["parts"]}["extra language"] == "not installed"


def test_credentials_are_set_or_not_and_never_shown(monkeypatch) -> None:
    for name in doctor.OF_SERVICES:
        monkeypatch.delenv(name, raising=False)
    states = {one["part"]: one["state"] for one in asked()["parts"]}
    assert {states[name] for name in doctor.OF_SERVICES} == {"not set"}
    for name, value in VALUES.items():
        monkeypatch.setenv(name, value)
    states = {one["part"]: one["state"] for one in asked()["parts"]}
    assert {states[name] for name in doctor.OF_SERVICES} == {"set"}


def test_the_stores_of_a_study_are_asked(tmp_path, monkeypatch) -> None:
    (tmp_path / "study.toml").write_text(
        'title = "t"\n[retrieval]\narchive = ["s3://bucket/posts", "here"]\n'
    )
    answers = iter([True, False, ServiceError("s3://bucket/posts cannot be read: 403")])

    def exists(_: Address) -> bool:
        answer = next(answers)
        if isinstance(answer, ServiceError):
            raise answer
        return answer

    monkeypatch.setattr(Address, "exists", exists)
    monkeypatch.chdir(tmp_path)
    for state, note in [("ready", ""), ("empty", "nothing"), ("no answer", "403")]:
        (part,) = [part for part in asked()["parts"] if part["kind"] == "archive"]
        assert (part["part"], part["state"]) == ("s3://bucket/posts", state)
        assert note in part["note"]


def test_whoever_has_to_end_a_purge_may_ask(tmp_path, monkeypatch) -> None:
    (tmp_path / "study.toml").write_text('title = "t"\n')
    study = open_study(tmp_path)
    purge.note(study.places, purge.Entry("2026-11-22T10:00:00Z", posts=["x:1"]))
    with pytest.raises(UnfinishedPurge):
        open_study(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert asked()["parts"]


@pytest.mark.parametrize(
    ("version", "state"), [("1.8.0_392", "too old"), ("17.0.15", "ready"), ("21", "ready")]
)
def test_an_old_java_is_not_ready(tmp_path, monkeypatch, version, state) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(java.parent))
    assert {part["part"]: part["state"] for part in asked()["parts"]}["java"] == state
