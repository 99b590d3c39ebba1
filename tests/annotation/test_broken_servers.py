"""A Label Studio that is down, fails, is something else, or has lost a project: one line, and nothing is lost."""

from __future__ import annotations

import copy
import gzip
import hashlib
import shutil
import sys

import pytest

from covmis_build import storage
from covmis_build.annotation.channels.label_studio import client as label_studio
from tests.annotation.small import covmis, study
from tests.servers.label_studio import LabelStudio
from tests.servers.loopback import says

pytestmark = pytest.mark.needs("label_studio_sdk")
TOKEN = "planted-token-7f3kQ9zX"
PAGE = b"<!doctype html><html><title>Sign in</title>" + b"<p>login</p>" * 500
HTML = {"content_type": "text/html"}
BROKEN = {
    "always 500": (says(500, {"detail": "a traceback"}), "does not answer (status 500)"),
    "502 with a page": (says(502, PAGE, **HTML), "does not answer (status 502)"),
    "a login page": (says(200, PAGE, **HTML), "does not speak as Label Studio does (status 200, text/html)"),
    "a redirect": (
        says(302, PAGE, location="http://127.0.0.1:9/login", **HTML),
        "does not speak as Label Studio",
    ),
    "no JSON": (says(200, b"{half"), "does not speak as Label Studio"),
    "a packed answer": (
        says(200, gzip.compress(b"[]"), content_encoding="gzip"),
        "does not answer (DecodingError)",
    ),
    "nothing": (says(200, b""), "does not speak as Label Studio"),
    "another list": (says(200, [{"name": "not ours"}]), "does not speak as Label Studio"),
    "another object": (says(200, {"message": "hello"}), "does not speak as Label Studio"),
    "null": (says(200, b"null"), "does not speak as Label Studio"),
    "an expired token": (says(401, {"detail": "Invalid token."}), "refuses the token (status 401)"),
}
COMMANDS = {
    "push": ("round", "push"), "pull": ("round", "pull"), "adjudicate": ("round", "adjudicate"),
}  # fmt: skip


@pytest.fixture(scope="module")
def pushed(tmp_path_factory):
    """A study with an open round, pushed, labelled by one of two, and pulled once; and what its server holds."""
    folder = tmp_path_factory.mktemp("pushed")
    with LabelStudio() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("LABEL_STUDIO_API_KEY", TOKEN)
        patch.setenv("LABEL_STUDIO_URL", server.address)
        study(folder, f'label_studio_url = "{server.address}"\n')
        settings = folder / "study.toml"
        settings.write_text(settings.read_text().replace('channel = "csv"', 'channel = "label-studio"'))
        covmis(folder, "round", "open")
        covmis(folder, "round", "push")
        server.label(1, "a1", "favor")
        assert covmis(folder, "round", "pull")["added"] == 11
        return folder, server.address, server.projects, server.tasks


@pytest.fixture
def fake(pushed, monkeypatch):
    monkeypatch.setattr(label_studio, "PATIENCE", 0.1)
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", TOKEN)
    with LabelStudio() as server:
        monkeypatch.setenv("LABEL_STUDIO_URL", server.address)
        server.projects, server.tasks = copy.deepcopy(pushed[2:])
        yield server


@pytest.fixture
def folder(pushed, tmp_path, fake):
    made = shutil.copytree(pushed[0], tmp_path / "study")
    for name in ("study.toml", "annotation/rounds/001/label_studio.json"):
        (made / name).write_text((made / name).read_text().replace(pushed[1], fake.address))
    return made


def content(folder):
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((folder / "annotation").rglob("*"))
        if path.is_file()
    }


def refused(folder, *words, code=3) -> str:
    """The one line with which this command ends, having changed nothing."""
    before = content(folder)
    told = covmis(folder, *words, fails=code)["error"]
    assert content(folder) == before
    assert "\n" not in told
    assert len(told) < 300
    assert TOKEN not in told
    return told


@pytest.mark.parametrize(
    ("command", "fault"),
    [("pull", fault) for fault in BROKEN]
    + [(command, fault) for command in ("push", "adjudicate") for fault in ("always 500", "a login page")],
)
def test_whatever_answers_is_one_line_and_nothing_is_lost(folder, fake, command, fault):
    answer, told = BROKEN[fault]
    fake.faults.extend([answer] * 100)
    assert told in refused(folder, *COMMANDS[command])
    fake.faults.clear()
    fake.label(2, "a2", "favor")
    covmis(folder, "round", "push")
    assert covmis(folder, "round", "pull")["added"] == 11


@pytest.mark.parametrize("command", COMMANDS)
def test_without_its_client_the_extra_is_named(folder, monkeypatch, command):
    monkeypatch.setitem(sys.modules, "label_studio_sdk.client", None)
    told = refused(folder, *COMMANDS[command], code=2)
    assert told == (
        """Label Studio needs the extra 'label-studio'. Install it: pip install ".[label-studio]" in the folder of covmis; """
        "or send sheets, which need nothing: `covmis round push --channel csv`"
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_a_server_that_is_down_is_one_line(folder, fake, command):
    fake.close()
    assert "does not answer (ConnectError); is it running?" in refused(folder, *COMMANDS[command])
    fake.__enter__()


def test_making_a_project_that_never_succeeds_ends(folder, fake):
    fake.remove(2)
    post = fake.answer

    def answer(request):
        making = request.method == "POST" and request.path == "/api/projects/"
        return says(500)(request, None) if making else post(request)

    fake.answer = answer
    assert "does not answer (status 500)" in refused(folder, "round", "push")


def test_an_import_that_succeeds_and_says_that_it_failed_is_read_before_it_is_repeated(folder, fake):
    """The makers' client repeats what fails with 408, 409, 429, 5xx of its own accord: 30 tasks were once 90."""
    fake.remove(2)
    right, imports = fake.answer, []

    def answer(request):
        answered = right(request)
        if not request.path.endswith("/import"):
            return answered
        imports.append(request)
        return says(503, retry_after="0")(request, None)

    fake.answer = answer
    covmis(folder, "round", "push")
    assert (len(imports), len(fake.tasks[2])) == (1, 11)


def test_a_deleted_project_costs_nobody_elses_labels(folder, fake):
    fake.label(2, "a2", "against")
    fake.remove(1)
    done = covmis(folder, "round", "pull", fails=1)
    assert done["added"] == 11
    assert done["problems"] == [
        "a1: the project 1 is not on Label Studio any more. `covmis round push` makes it again"
    ]
    labels = storage.read_table(folder / "annotation/rounds/001/labels.parquet", "labels")
    assert labels["annotator"].value_counts().to_dict() == {"a1": 11, "a2": 11}
    pushed = covmis(folder, "round", "push")["projects"]
    assert {row["annotator"]: row["added"] for row in pushed} == {"a1": 0, "a2": 0}, "a1 has answered all"


def test_a_project_made_anew_has_what_is_open_and_not_what_is_done(folder, fake):
    item = fake.tasks[1][0]["data"]["uid"]
    fake.tasks[1][0]["annotations"] = []
    pulled = covmis(folder, "round", "pull")
    assert (pulled["added"], pulled["withdrawn"]) == (1, 1)
    fake.remove(1)
    covmis(folder, "round", "pull", fails=1)
    pushed = covmis(folder, "round", "push")["projects"]
    assert {row["annotator"]: row["added"] for row in pushed} == {"a1": 1, "a2": 0}
    assert [task["data"]["uid"] for task in fake.tasks[pushed[0]["project"]]] == [item]
    fake.label(pushed[0]["project"], "a1", "against")
    pulled = covmis(folder, "round", "pull")
    assert (pulled["added"], pulled["withdrawn"]) == (1, 0)


def test_a_task_that_was_deleted_is_no_reason_to_wait_but_is_sent_again(folder, fake):
    fake.label(2, "a2", "favor")
    gone, answered = fake.tasks[2][3], fake.tasks[2][5]
    gone["annotations"] = []
    fake.tasks[2] = [task for task in fake.tasks[2] if task not in (gone, answered)]
    covmis(folder, "round", "pull")
    fake.tasks[2] = fake.tasks[2][:6]  # their answers are in the record
    covmis(folder, "round", "pull")
    status = covmis(folder, "round", "status")
    assert [row["without_task"] for row in status["annotators"]] == [0, 2]
    assert "`covmis round push`, because posts are not on Label Studio: a2 (2 posts)" in status["next"]
    pushed = covmis(folder, "round", "push")["projects"]
    assert {row["annotator"]: row["added"] for row in pushed} == {"a1": 0, "a2": 2}
    assert "wait for a2 (2 posts)" in covmis(folder, "round", "status")["next"]


def test_the_remembered_project_counts_whoever_else_says_that_it_is_this_one(folder, fake):
    fake.projects[7] = {**fake.projects[2], "id": 7}
    fake.tasks[7] = []
    fake.label(2, "a2", "favor")
    assert [row["project"] for row in covmis(folder, "round", "push")["projects"]] == [1, 2]
    assert covmis(folder, "round", "pull")["added"] == 11
    (folder / "annotation/rounds/001/label_studio.json").unlink()
    assert "projects 2 and 7" in covmis(folder, "round", "push", fails=1)["error"]


def test_an_annotation_that_was_removed_is_taken_back_and_the_post_is_open_again(folder, fake):
    labelled = fake.tasks[1][3]
    kept, labelled["annotations"] = labelled["annotations"], []
    pulled = covmis(folder, "round", "pull")
    assert (pulled["added"], pulled["withdrawn"]) == (1, 1)
    assert covmis(folder, "round", "status")["annotators"][0]["left"] == 1
    assert covmis(folder, "round", "pull")["added"] == 0
    labelled["annotations"] = [{**kept[0], "updated_at": "2099-01-01T12:00:00Z"}]
    assert covmis(folder, "round", "pull")["added"] == 1
    assert covmis(folder, "round", "status")["annotators"][0]["left"] == 0


def answer_all(fake, folder):
    fake.label(2, "a2", "favor")
    covmis(folder, "round", "pull")


def change(task, label, at):
    task["annotations"][0]["updated_at"] = at
    task["annotations"][0]["result"][0]["value"]["choices"] = [label]


def test_a_server_restored_from_an_older_copy_is_told_and_the_record_counts(folder, fake):
    change(fake.tasks[1][0], "against", "2026-11-01T12:00:00Z")
    pulled = covmis(folder, "round", "pull", fails=1)
    assert pulled["added"] == 0
    assert "1 label there unlike the record's, and older" in pulled["problems"][0]
    assert covmis(folder, "round", "pull", fails=1)["told_before"] == 1


def test_after_the_seal_pull_and_verify_say_how_many_labels_differ_there(folder, fake):
    answer_all(fake, folder)
    covmis(folder, "round", "seal")
    assert covmis(folder, "round", "pull")["added"] == 0
    told = covmis(folder, "round", "verify", "--label-studio")["label_studio"]
    assert told == [{"round": "001", "labels": 22, "differ": []}]
    item = fake.tasks[1][0]["data"]["uid"]
    change(fake.tasks[1][0], "against", "2099-01-01T12:00:00Z")
    fake.tasks[2][1]["annotations"] = []
    before = content(folder)
    pulled = covmis(folder, "round", "pull", fails=1)
    assert "2 labels on Label Studio differ from the record's 22" in pulled["problems"][0]
    told = covmis(folder, "round", "verify", "--label-studio")
    assert told["rounds"][0]["stands"]
    assert sorted(told["label_studio"][0]["differ"]) == sorted([item, fake.tasks[2][1]["data"]["uid"]])
    assert covmis(folder, "round", "verify")["label_studio"] is None
    assert content(folder) == before, "nothing is taken"


def test_a_purge_reaches_the_projects_that_are_left(folder, fake):
    fake.remove(1)
    (one,) = {task["data"]["uid"].partition("|")[2] for task in fake.tasks[2][:1]}
    places = {row["place"]: row["count"] for row in covmis(folder, "purge", one)["places"]}
    assert places["Label Studio"] == 1
