"""Rounds on a real Label Studio server, and everything that is known to go wrong there."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import sqlite3
import stat
import threading
import time
from pathlib import Path

import httpx
import pytest
from sklearn.metrics import cohen_kappa_score

from covmis_build.annotation import round_folder as record
from covmis_build.annotation.agreement import agreement
from covmis_build.annotation.channels.label_studio import client as label_studio
from covmis_build.annotation.channels.label_studio import projects, server
from covmis_build.annotation.channels.label_studio.client import LabelStudio
from covmis_build.annotation.exports import read_export
from covmis_build.errors import ServiceError
from covmis_build.study.study import open_study
from tests.annotation.conftest import CONNECTIONS, Person, part
from tests.annotation.small import LABELS, covmis, study
from tests.services import label_studio as service

pytestmark = pytest.mark.needs("label_studio", "label_studio_sdk")


@pytest.fixture
def folder(tmp_path, ls):
    study(tmp_path)
    text = (tmp_path / "study.toml").read_text().replace('channel = "csv"', 'channel = "label-studio"')
    (tmp_path / "study.toml").write_text(text)
    return tmp_path


def label_of(item: str, who: str) -> str:
    at = sum(map(ord, item)) % 3
    return LABELS[(at + (who == "a2" and item.endswith(("3", "4")))) % 3]


def project_of(pushed: dict, who: str) -> int:
    return next(row["project"] for row in pushed["projects"] if row["annotator"] == who)


def label_all(home, pushed: dict, who: str) -> None:
    person = Person(home, who)
    for item, task in person.tasks(project_of(pushed, who)).items():
        person.answer(task["id"], label_of(item, who), f"from {who}")


def content(folder):
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((folder / "annotation").rglob("*"))
        if path.is_file()
    }


def twice(folder, *words, fails=0):
    """Run a command twice: the second time nothing changes."""
    first = covmis(folder, *words, fails=fails)
    before = content(folder)
    covmis(folder, *words, fails=fails)
    assert content(folder) == before
    return first


def test_two_rounds_with_two_annotators_and_an_adjudicator(folder, ls):
    for number in ("001", "002"):
        assert covmis(folder, "round", "open")["round"] == number
        pushed = twice(folder, "round", "push")
        assert [row["added"] for row in pushed["projects"]] in ([11, 11], [10, 10])
        assert [row["added"] for row in covmis(folder, "round", "push")["projects"]] == [0, 0]
        for who in ("a1", "a2"):
            label_all(ls, pushed, who)
        pulled = twice(folder, "round", "pull")
        assert pulled["added"] == pulled["answers"] == sum(pushed["items"].values())
        report = twice(folder, "round", "report")
        assert report["round"]["time"][0]["median_seconds"] == 3.5
        found = covmis(folder, "round", "adjudicate")
        assert found["to_discuss"] == 4
        one = record.find(folder / "annotation" / "rounds")
        talk = projects.known_projects(one)["discussion"].project
        first = Person(ls, "a1")
        for item, task in first.tasks(talk).items():
            said = task["data"]["said"]
            assert said.startswith("A: ")
            assert "a1:" not in said
            agreed = item.endswith("3")
            more = {} if agreed else {"error_class": "guideline"}
            first.answer(task["id"], "neither" if agreed else "undecided", "talked it over", **more)
        found = covmis(folder, "round", "adjudicate")
        assert (found["discussed"], found["to_adjudicate"]) == (2, 2)
        third = Person(ls, "adjudicator")
        for task in third.tasks(projects.known_projects(one)["third person"].project).values():
            assert "Discussion: talked it over" in task["data"]["said"]
            third.answer(task["id"], "favor")
        found = twice(folder, "round", "adjudicate")
        assert (found["adjudicated"], found["to_discuss"], found["to_adjudicate"]) == (2, 0, 0)
        twice(folder, "round", "seal")
    rows = covmis(folder, "round", "verify")["rounds"]
    assert [row["stands"] for row in rows] == [True, True]
    labels = record.find(folder / "annotation" / "rounds", "1").labels()
    assert set(labels["phase"]) == {"independent", "discussion", "adjudication"}
    assert set(labels.loc[labels["phase"] == "independent", "comment"]) == {"from a1", "from a2"}
    assert "guideline" in set(labels["error_class"])


def test_what_covmis_decides_itself_is_not_asked_on_label_studio(folder, ls):
    covmis(folder, "round", "open")
    pushed = covmis(folder, "round", "push")
    for who in ("a1", "a2"):
        label_all(ls, pushed, who)
    covmis(folder, "round", "pull")
    before, after, *_ = (
        row["item_id"] for row in covmis(folder, "round", "adjudicate", "--list")["disagreements"]
    )
    covmis(folder, "round", "adjudicate", before, "--label", "favor")
    assert covmis(folder, "round", "adjudicate")["to_discuss"] == 3
    talk = projects.known_projects(record.find(folder / "annotation" / "rounds"))["discussion"].project
    assert len(Person(ls, "a1").tasks(talk)) == 3
    covmis(folder, "round", "adjudicate", after, "--label", "against")
    found = twice(folder, "round", "adjudicate")
    assert (found["discussed"], found["to_discuss"], found["problems"]) == (2, 2, [])
    told = covmis(folder, "round", "adjudicate", "--list")["disagreements"]
    assert {row["item_id"]: row["label"] for row in told if row["label"]} == {
        before: "favor",
        after: "against",
    }


@pytest.fixture
def pushed(folder):
    covmis(folder, "round", "open")
    return covmis(folder, "round", "push")


def warned(folder) -> str:
    return covmis(folder, "round", "pull", fails=1)["warnings"]


def test_each_project_holds_one_persons_work_and_nothing_that_gives_away(ls, pushed):
    numbers = {row["project"] for row in pushed["projects"]}
    assert len(numbers) == 2
    tasks = Person(ls, "a1").tasks(project_of(pushed, "a1"))
    fields = {"uid", "claim", "post", "context", "beside"}
    assert {name for task in tasks.values() for name in task["data"]} == fields
    assert not any(task["predictions"] for task in tasks.values())
    told = repr([task["data"] for task in tasks.values()])
    assert "keywords" not in told
    assert "fact_check_url" not in told
    orders = [list(Person(ls, who).tasks(project_of(pushed, who))) for who in ("a1", "a2")]
    assert sorted(orders[0]) == sorted(orders[1])
    assert orders[0] != orders[1]


def test_unknown_labels_and_empty_results_are_refused_in_words(folder, ls, pushed):
    a1 = Person(ls, "a1")
    tasks = list(a1.tasks(project_of(pushed, "a1")).values())
    a1.answer(tasks[0]["id"], "pro")
    a1.answer(tasks[1]["id"], "")
    a1.answer(tasks[2]["id"], ["favor", "against"])
    told = warned(folder)
    assert "unknown label 'pro'" in told
    assert "empty answer" in told
    assert "several labels: favor, against" in told
    labels = record.find(folder / "annotation" / "rounds").labels()
    assert labels["status"].tolist() == ["invalid"] * 3
    assert labels["label"].tolist() == [""] * 3


def test_a_label_changed_by_somebody_else_does_not_count_until_its_owner_confirms_it(folder, ls, pushed):
    a1, admin = Person(ls, "a1"), Person(ls, "admin")
    item, task = next(iter(a1.tasks(project_of(pushed, "a1")).items()))
    number = a1.answer(task["id"], "favor")
    assert covmis(folder, "round", "pull")["added"] == 1
    admin.change(number, "against")
    assert "changed by another user (admin)" in warned(folder)
    a1.change(number, "neither")
    assert covmis(folder, "round", "pull")["added"] == 1
    labels = record.find(folder / "annotation" / "rounds").labels()
    assert labels["status"].tolist() == ["given", "invalid", "given"]
    assert labels["label"].tolist() == ["favor", "", "neither"]
    assert (labels["item_id"] == item).all()


def test_an_answer_in_somebody_elses_project_does_not_count(folder, ls, pushed):
    a1, a2 = Person(ls, "a1"), Person(ls, "a2")
    task = next(iter(a2.tasks(project_of(pushed, "a1")).values()))
    a2.answer(task["id"], "favor")
    assert "a2 answered" in warned(folder)
    a1.answer(task["id"], "against")
    warned(folder)
    labels = record.find(folder / "annotation" / "rounds").labels()
    assert labels[["annotator", "label"]].to_numpy().tolist() == [["a1", "against"]]


def test_two_answers_by_one_person_must_be_one(folder, ls, pushed):
    a1 = Person(ls, "a1")
    first, second = list(a1.tasks(project_of(pushed, "a1")).values())[:2]
    a1.answer(first["id"], "favor")
    a1.answer(first["id"], "against")
    a1.answer(second["id"], "favor")
    a1.answer(second["id"], "favor")
    told = warned(folder)
    assert "two answers: favor and against" in told
    labels = record.find(folder / "annotation" / "rounds").labels()
    assert sorted(zip(labels["status"], labels["label"], strict=True)) == [
        ("given", "favor"),
        ("invalid", ""),
    ]


def test_skipped_tasks_are_skipped_whatever_their_result_says(folder, ls, pushed):
    a1 = Person(ls, "a1")
    task = next(iter(a1.tasks(project_of(pushed, "a1")).values()))
    a1.answer(task["id"], "favor", skip=True)
    covmis(folder, "round", "pull")
    labels = record.find(folder / "annotation" / "rounds").labels()
    assert labels[["status", "label"]].to_numpy().tolist() == [["skipped", ""]]


def alter(ls, task: dict) -> None:
    changed = {**task["data"], "post": "Something else"}
    Person(ls, "admin").client.patch(f"/api/tasks/{task['id']}/", json={"data": changed}).raise_for_status()


def usable_labels(folder) -> int:
    return covmis(folder, "round", "report")["round"]["answers"]


@pytest.mark.parametrize("pulled_before_the_repair", [True, False])
def test_a_label_of_an_altered_text_stays_stale_until_it_is_saved_again(
    folder, ls, pushed, pulled_before_the_repair
):
    a1 = Person(ls, "a1")
    task = next(iter(a1.tasks(project_of(pushed, "a1")).values()))
    alter(ls, task)
    number = a1.answer(task["id"], "favor")
    if pulled_before_the_repair:
        assert "was shown with another text" in warned(folder)
    covmis(folder, "round", "push")
    assert a1.tasks(project_of(pushed, "a1"))[task["data"]["uid"]]["data"] == task["data"]
    for _ in range(2):
        told = covmis(folder, "round", "pull", fails=1)["problems"]
        assert "its label is not used until a1 saves it again" in told[0]
        assert usable_labels(folder) == 0
    person = covmis(folder, "round", "status")["annotators"][0]
    assert (person["given"], person["invalid"], person["left"]) == (0, 1, 11)
    page = (folder / covmis(folder, "export", "board")["page"]).read_text()
    link = f'<a href="{ls.address()}/projects/{project_of(pushed, "a1")}/data">{task["data"]["uid"]}</a>'
    assert link in page.replace("&amp;", "&")
    assert "the text was altered when this label was given: save the label again" in page
    time.sleep(1.1)  # the record's times are whole seconds
    a1.change(number, "favor")
    assert covmis(folder, "round", "pull")["added"] == 1
    assert usable_labels(folder) == 1
    covmis(folder, "round", "push")
    assert covmis(folder, "round", "pull")["added"] == 0


def test_a_label_in_the_record_stays_good_when_its_task_is_altered_later(folder, ls, pushed):
    a1 = Person(ls, "a1")
    task = next(iter(a1.tasks(project_of(pushed, "a1")).values()))
    a1.answer(task["id"], "favor")
    assert covmis(folder, "round", "pull")["added"] == 1
    alter(ls, task)
    assert "shows another text since it was labelled" in warned(folder)
    assert usable_labels(folder) == 1
    covmis(folder, "round", "push")
    assert covmis(folder, "round", "pull")["added"] == 0
    assert usable_labels(folder) == 1


def test_push_makes_a_deleted_user_again(folder, ls, pushed):
    admin = Person(ls, "admin")
    email = ls.users()["a1"]["email"]
    number = next(user["id"] for user in admin.client.get("/api/users/").json() if user["email"] == email)
    admin.client.delete(f"/api/users/{number}/").raise_for_status()
    assert "a1: is no user of this Label Studio" in warned(folder)
    assert covmis(folder, "round", "status")["annotators"][0]["missing"]
    covmis(folder, "round", "push")
    assert not covmis(folder, "round", "status")["annotators"][0]["missing"]
    a1 = Person(ls, "a1")
    a1.answer(next(iter(a1.tasks(project_of(pushed, "a1")).values()))["id"], "favor")
    assert covmis(folder, "round", "pull")["added"] == 1


def test_two_copies_of_a_task_that_were_answered_differently_count_as_no_answer(folder, ls, pushed):
    a1, number = Person(ls, "a1"), project_of(pushed, "a1")
    first, second = list(a1.tasks(number).values())[:2]
    copies = [{"data": task["data"]} for task in (first, second)]
    Person(ls, "admin").client.post(f"/api/projects/{number}/import", json=copies).raise_for_status()
    found = a1.client.get("/api/tasks/", params={"project": number, "page_size": 500}).json()["tasks"]
    for task in found:
        if task["data"]["uid"] in {first["data"]["uid"], second["data"]["uid"]}:
            differ = task["data"] == first["data"] and task["id"] != first["id"]
            a1.answer(task["id"], "against" if differ else "favor")
    assert "two answers" not in warned(folder)
    labels = record.find(folder / "annotation" / "rounds").labels().set_index("item_id")
    assert labels.loc[first["data"]["uid"], ["status", "label"]].tolist() == ["invalid", ""]
    assert labels.loc[second["data"]["uid"], ["status", "label"]].tolist() == ["given", "favor"]


def test_drafts_are_told_and_are_no_answers(folder, ls, pushed):
    a1 = Person(ls, "a1")
    first, second, *_ = a1.tasks(project_of(pushed, "a1")).values()
    for task in (first, second):
        body = {"result": [part("label", choices=["favor"])], "lead_time": 2}
        a1.client.post(f"/api/tasks/{task['id']}/drafts", json=body).raise_for_status()
    a1.answer(second["id"], "favor")
    found = covmis(folder, "round", "pull")
    assert found["added"] == 1
    (note,) = found["notes"]
    assert note.startswith(f"a1: 1 draft saved and never submitted, as of {first['data']['uid']}")
    told = covmis(folder, "round", "status")
    assert told["next"].startswith(
        "ask for drafts to be submitted: a1 (1); wait for a1 (10 posts), a2 (11 posts)"
    )
    assert told["annotators"][0]["drafts"] == 1


def test_a_time_that_cannot_be_is_no_time(folder, ls, pushed):
    a1 = Person(ls, "a1")
    tasks = list(a1.tasks(project_of(pushed, "a1")).values())[:4]
    for task, seconds in zip(tasks, (-5, 10**9, 0, 12.5), strict=True):
        body = {"result": [part("label", choices=["favor"])], "lead_time": seconds}
        a1.client.post(f"/api/tasks/{task['id']}/annotations/", json=body).raise_for_status()
    assert covmis(folder, "round", "pull")["added"] == 4
    labels = record.find(folder / "annotation" / "rounds").labels().set_index("item_id")
    assert labels["seconds"].dropna().tolist() == [12.5]


def test_a_task_that_was_sent_before_there_was_a_field_counts_as_it_is(folder, ls, pushed):
    a1, admin = Person(ls, "a1"), Person(ls, "admin")
    task = next(iter(a1.tasks(project_of(pushed, "a1")).values()))
    older = {name: text for name, text in task["data"].items() if name != "beside"}
    admin.client.patch(f"/api/tasks/{task['id']}/", json={"data": older}).raise_for_status()
    a1.answer(task["id"], "favor")
    assert covmis(folder, "round", "pull")["added"] == 1


def test_a_form_that_somebody_changed_is_put_right(folder, ls, pushed):
    admin, number = Person(ls, "admin"), project_of(pushed, "a1")
    before = admin.client.get(f"/api/projects/{number}/").json()["label_config"]
    other = before.replace('value="neither"', 'value="unsure"')
    admin.client.patch(f"/api/projects/{number}/", json={"label_config": other}).raise_for_status()
    covmis(folder, "round", "push")
    assert admin.client.get(f"/api/projects/{number}/").json()["label_config"] == before


class Flaky(httpx.HTTPTransport):
    """A connection that breaks when told to: after the server has done its work, or before."""

    def __init__(self, breaks) -> None:
        super().__init__()
        self.breaks = breaks
        self.imports = 0

    def handle_request(self, request):
        if request.method == "POST" and request.url.path.endswith(("/import", "/projects/")):
            self.imports += 1
            return self.breaks(self, request, super().handle_request)
        return super().handle_request(request)


def flaky(ls, breaks) -> LabelStudio:
    made = connected_to(ls)
    made._http = httpx.Client(transport=Flaky(breaks), timeout=30)
    return made


def connected_to(ls) -> LabelStudio:
    made = LabelStudio(ls.address(), ls.users()["admin"]["token"], patience=150)
    CONNECTIONS.append(made)
    return made


def pushing(folder, client):
    """Push the open round through this connection."""
    opened = open_study(folder)
    one = record.find(opened.places.rounds)
    from covmis_build.annotation.channels.label_studio.label_config import label_config

    who = opened.round().work()
    config = label_config(opened.settings.labels)
    return projects.push_round(client, one, who, study=opened.settings.title, config=config, guideline="G")


def counted(ls, rows) -> list[tuple[int, int]]:
    found = []
    for row in rows:
        tasks = [uid for uid, tasks in connected_to(ls).by_uid(row.project).items() for _ in tasks]
        found.append((len(tasks), len(set(tasks))))
    return found


def test_an_answer_that_never_arrives_makes_no_duplicate(folder, ls):
    """The server has done its work, the connection breaks before it can say so: every request, the first time."""
    covmis(folder, "round", "open")

    def lose_answers(self, request, send):
        send(request).read()
        if self.imports % 2:
            raise httpx.ReadTimeout("lost")
        return send(request)

    def lose_first(self, request, send):
        answer = send(request)
        if self.imports in {1, 2, 3}:
            answer.read()
            raise httpx.ReadTimeout("lost")
        return answer

    rows = pushing(folder, flaky(ls, lose_first))
    assert counted(ls, rows) == [(11, 11), (11, 11)]
    assert len({row.project for row in rows}) == 2
    again = pushing(folder, flaky(ls, lose_answers))
    assert [row.added for row in again] == [0, 0]


def test_an_import_that_ran_twice_is_mended(folder, ls):
    """The worst case: the server itself has imported everything twice; answered copies stay."""
    covmis(folder, "round", "open")

    def double(self, request, send):
        if request.url.path.endswith("/import"):
            send(request).read()
        return send(request)

    rows = pushing(folder, flaky(ls, double))
    assert counted(ls, rows) == [(11, 11), (11, 11)]


def test_an_import_cut_in_half_is_completed(folder, ls, monkeypatch):
    covmis(folder, "round", "open")
    monkeypatch.setattr(label_studio, "BATCH", 4)

    def die_later(self, request, send):
        if self.imports > 3:
            raise KeyboardInterrupt
        return send(request)

    with pytest.raises(KeyboardInterrupt):
        pushing(folder, flaky(ls, die_later))
    rows = pushing(folder, connected_to(ls))
    assert counted(ls, rows) == [(11, 11), (11, 11)]
    assert [row.added for row in rows] == [3, 11]


def test_the_server_restarts_in_mid_push(folder, ls, monkeypatch):
    covmis(folder, "round", "open")
    monkeypatch.setattr(label_studio, "BATCH", 4)
    port = int(ls.address().rpartition(":")[2])
    started = []

    def restart(self, request, send):
        if self.imports == 3 and not started:
            server.down(ls)
            started.append(
                threading.Thread(target=server.up, args=(ls, []), kwargs={"port": port, "say": print})
            )
            started[0].start()
        return send(request)

    rows = pushing(folder, flaky(ls, restart))
    started[0].join()
    assert counted(ls, rows) == [(11, 11), (11, 11)]


def test_pulling_while_people_save_loses_nothing(folder, ls, pushed):
    workers = [threading.Thread(target=label_all, args=(ls, pushed, who)) for who in ("a1", "a2")]
    for one in workers:
        one.start()
    pulls = 0
    while any(one.is_alive() for one in workers):
        pulls += covmis(folder, "round", "pull")["added"]
    pulls += covmis(folder, "round", "pull")["added"]
    labels = record.find(folder / "annotation" / "rounds").labels()
    assert pulls == len(labels) == 22
    assert not labels.duplicated(["item_id", "annotator"]).any()
    assert (labels["supersedes"] == "").all()


def test_a_purge_removes_the_tasks(folder, ls, pushed):
    one = record.find(folder / "annotation" / "rounds")
    item = next(iter(Person(ls, "a1").tasks(project_of(pushed, "a1"))))
    removed = projects.forget_tasks(connected_to(ls), [one], [item.partition("|")[2]])
    assert removed == 2
    assert item not in Person(ls, "a1").tasks(project_of(pushed, "a1"))


def test_texts_are_never_left_in_exports(folder, ls, pushed):
    covmis(folder, "round", "pull")
    assert not list((ls.data / "export").iterdir())


def test_errors_are_one_line_whatever_the_server_answers(ls):
    with pytest.raises(ServiceError) as caught:
        connected_to(ls).settings(999_999_999)
    assert len(str(caught.value)) < 200
    stranger = LabelStudio(ls.address(), "f" * 40)
    CONNECTIONS.append(stranger)
    with pytest.raises(ServiceError, match="refuses the token"):
        stranger.users()
    token = ls.users()["admin"]["token"]
    assert token not in repr(connected_to(ls))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # about how the makers read the short one
def test_a_personal_access_token_is_traded_for_a_short_one(ls):
    admin = Person(ls, "admin").client
    switched = {"api_tokens_enabled": True, "legacy_api_tokens_enabled": True, "api_token_ttl_days": 30}
    admin.post("/api/jwt/settings", json=switched).raise_for_status()
    made = admin.post("/api/token/", json={})
    made.raise_for_status()
    token = made.json()["token"]
    assert token.count(".") == 2
    connection = LabelStudio(ls.address(), token)
    CONNECTIONS.append(connection)
    assert "admin" in {mail.partition("@")[0] for mail in connection.users().values()}
    assert token not in repr(connection)
    stranger = LabelStudio(ls.address(), token[:-4] + "AAAA")
    CONNECTIONS.append(stranger)
    with pytest.raises(ServiceError, match="refuses the token"):
        stranger.users()


def test_what_would_be_seen_of_others_is_switched_off(ls, pushed):
    settings = Person(ls, "admin").client.get(f"/api/projects/{project_of(pushed, 'a1')}/").json()
    assert (settings["show_collab_predictions"], settings["maximum_annotations"]) == (False, 1)
    assert settings["enable_empty_annotation"] is False


def test_the_users_file_is_the_owners_alone(ls):
    assert stat.S_IMODE(ls.users_file.stat().st_mode) == 0o600
    assert stat.S_IMODE(ls.home.stat().st_mode) == 0o700


def test_annotators_are_ordinary_users_on_this_machine_alone(ls):
    port = int(ls.address().rpartition(":")[2])
    import socket

    outside = socket.gethostbyname(socket.gethostname())
    if not outside.startswith("127."):
        with socket.socket() as probe:
            probe.settimeout(2)
            assert probe.connect_ex((outside, port)) != 0
    with sqlite3.connect(ls.data / "label_studio.sqlite3") as database:
        rows = database.execute("SELECT email, is_superuser FROM htx_user").fetchall()
    database.close()
    assert {mail: bool(admin) for mail, admin in rows if not mail.startswith("admin")} == {
        f"{code}@covmis.invalid": False for code in ("a1", "a2", "a3", "adjudicator")
    }


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example"])
def test_a_page_elsewhere_whose_name_leads_here_is_told_nothing(ls, host):
    """DNS rebinding: the address is ours, the Host header says whose page asks."""
    for path in ("/user/login/", "/api/projects/", "/"):
        answer = httpx.get(ls.address() + path, headers={"Host": host}, trust_env=False)
        assert answer.status_code == 400, path
    assert httpx.get(ls.address() + "/user/login/", trust_env=False).status_code == 200


@pytest.mark.parametrize(
    "path",
    ["/user/signup/", "/user/signup", "//user/signup/?token=x", "/metrics/", "/metrics", "/x/metrics/"],
)
def test_nobody_signs_up_or_reads_metrics(ls, path):
    assert httpx.get(ls.address() + path, trust_env=False).status_code == 404
    assert httpx.post(ls.address() + path, trust_env=False, data={"email": "a@b.c"}).status_code == 404


def test_without_a_server_the_message_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("COVMIS_LABEL_STUDIO_HOME", str(tmp_path / "none"))
    study(tmp_path / "study")
    covmis(tmp_path / "study", "round", "open")
    found = covmis(tmp_path / "study", "round", "push", "--channel", "label-studio", fails=3)
    assert "covmis label-studio up" in found["error"]


def connections(pid: int) -> set[tuple[str, int]]:
    """Where this process is connected to right now, beyond its own listening socket."""
    inodes = set()
    for one in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            inodes.add(one.readlink().name.partition("[")[2].rstrip("]"))
    found = set()
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]:
            cells = line.split()
            if cells[9] in inodes and cells[3] != "0A":
                address, port = cells[2].split(":")
                found.add((address, int(port, 16)))
    return found


@pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="needs /proc")
def test_the_server_connects_to_nothing_outside(folder, ls):
    pid = json.loads(ls.running_file.read_text())["pid"]
    seen: set[tuple[str, int]] = set()
    done = threading.Event()

    def watch():
        while not done.is_set():
            with contextlib.suppress(OSError):
                seen.update(connections(pid))
            done.wait(0.002)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        covmis(folder, "round", "open")
        pushed = covmis(folder, "round", "push")
        label_all(ls, pushed, "a1")
        covmis(folder, "round", "pull")
    finally:
        done.set()
        watcher.join()
    loopback = {"0100007F", "0000000000000000FFFF00000100007F"}
    assert seen, "the watcher saw our own connections"
    assert {address for address, _ in seen} <= loopback
    assert 9 not in {port for _, port in seen}, "nothing even tried"


def test_a_port_that_another_server_takes_meanwhile_is_not_ours(ls, monkeypatch, tmp_path):
    """The other one answers there, but it does not know our token."""
    port = int(ls.address().rpartition(":")[2])
    home = server.Server(tmp_path / "home")
    home.home.mkdir()
    for name in ("data", "users.json", "initialised"):
        source = service.HOME / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, home.home / name)
    (home.home / "env").symlink_to(service.ENVIRONMENT)
    users = json.loads(home.users_file.read_text())
    users["admin"]["token"] = "0" * 40
    home.users_file.write_text(json.dumps(users))
    with sqlite3.connect(home.data / "label_studio.sqlite3") as database:
        database.execute("UPDATE authtoken_token SET key = ? WHERE user_id = 1", ("0" * 40,))
    database.close()
    free = server._free
    wanted = iter([port])
    monkeypatch.setattr(server, "_free", lambda first: next(wanted, None) or free(first))
    try:
        url = server.up(home, [], say=print)
        assert url != ls.address()
        other = LabelStudio(url, "0" * 40)
        CONNECTIONS.append(other)
        assert other.users()
    finally:
        server.down(home)


@pytest.mark.parametrize("kind", ["JSON", "JSON_MIN", "CSV"])
def test_what_label_studio_exports_is_read_as_the_round_is(folder, ls, pushed, kind):
    for who in ("a1", "a2"):
        label_all(ls, pushed, who)
    exports = folder / "exports"
    exports.mkdir()
    for row in pushed["projects"]:
        address = f"/api/projects/{row['project']}/export"
        answer = Person(ls, "admin").client.get(address, params={"exportType": kind})
        answer.raise_for_status()
        (exports / f"project-{row['project']}.{kind.partition('_')[0].lower()}").write_bytes(answer.content)
    export = read_export(exports, "label")
    assert export
    of_export = agreement(export.frame(), labels=LABELS)
    items = Person(ls, "a1").tasks(project_of(pushed, "a1"))
    both = [[label_of(item, who) for item in items] for who in ("a1", "a2")]
    assert of_export.kappa.value == pytest.approx(cohen_kappa_score(*both))
    assert of_export.items_with_two_labels == len(items)
    # the same labels come in as answers of the round, and pulling them then adds nothing
    people = [
        option
        for row in pushed["projects"]
        for option in ("--people", f"{users(ls)[row['annotator']]}={row['annotator']}")
    ]
    imported = covmis(folder, "round", "import", str(exports), "--question", "label", *people, "--yes")
    assert (imported["by_id"], imported["unmatched"], imported["problems"]) == (2 * len(items), 0, [])
    labels = open_study(folder).round().labels.set_index(["annotator", "item_id"])["label"]
    assert labels.to_dict() == {(who, item): label_of(item, who) for who in ("a1", "a2") for item in items}


def users(ls) -> dict[str, int]:
    """The server's number of each person."""
    known = {
        user["email"].partition("@")[0]: user["id"]
        for user in Person(ls, "admin").client.get("/api/users/").json()
    }
    return {who: next(number for name, number in known.items() if name.endswith(who)) for who in ("a1", "a2")}
