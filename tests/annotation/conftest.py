"""A real Label Studio for the tests: the migrated folder copied, started once a worker."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import httpx
import pytest

from covmis_build.annotation.channels.label_studio import server
from tests.services import label_studio as service

WATCH = """
import os, sys, time
from pathlib import Path
from covmis_build.annotation.channels.label_studio import server
while os.path.exists(f"/proc/{sys.argv[1]}"):
    time.sleep(1)
server.down(server.Server(Path(sys.argv[2])))
"""
"""Stops the server if the tests are killed before they can."""


def own_port():
    """A free port that no other worker's server looks for: one that restarts finds its port still free."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    return server._free(8500 + 100 * worker)


@pytest.fixture(scope="session")
def ls_home(tmp_path_factory):
    home = tmp_path_factory.mktemp("label-studio") / "home"
    home.mkdir(mode=0o700)
    for name in ("data", "users.json", "initialised"):
        source = service.HOME / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, home / name)
    (home / "env").symlink_to(service.ENVIRONMENT)
    one = server.Server(home)
    watch = subprocess.Popen(
        [sys.executable, "-c", WATCH, str(os.getpid()), str(home)], start_new_session=True
    )
    server.up(one, service.PEOPLE, port=own_port(), say=print)
    yield one
    server.down(one)
    watch.terminate()
    watch.wait()


@pytest.fixture
def ls(ls_home, monkeypatch):
    """The running server, known to the commands."""
    if not ls_home.address():
        server.up(ls_home, service.PEOPLE, port=own_port(), say=print)
    monkeypatch.setenv("COVMIS_LABEL_STUDIO_HOME", str(ls_home.home))
    return ls_home


CONNECTIONS: list = []
"""What a test has opened; closed after it."""


@pytest.fixture(autouse=True)
def _hang_up():
    yield
    while CONNECTIONS:
        CONNECTIONS.pop().close()


class Person:
    """Somebody who works on the server through its own interface."""

    def __init__(self, home: server.Server, code: str) -> None:
        token = json.loads(home.users_file.read_text())[code]["token"]
        self.client = httpx.Client(
            base_url=home.address(), headers={"Authorization": f"Token {token}"}, timeout=600, trust_env=False
        )
        CONNECTIONS.append(self.client)

    def tasks(self, project: int) -> dict[str, dict]:
        found = self.client.get(
            "/api/tasks/", params={"project": project, "page_size": 500, "fields": "all"}
        ).json()
        return {task["data"]["uid"]: task for task in found["tasks"]}

    def answer(
        self, task: int, label: str | list[str], comment: str = "", *, skip: bool = False, **more: str
    ) -> int:
        labels = [label] if isinstance(label, str) else label
        result = [part("label", choices=labels)] if labels and labels != [""] else []
        result += [part("comment", text=[comment])] if comment else []
        result += [part(name, choices=[value]) for name, value in more.items()]
        body = {"result": result, "was_cancelled": skip, "lead_time": 3.5}
        answer = self.client.post(f"/api/tasks/{task}/annotations/", json=body)
        answer.raise_for_status()
        return int(answer.json()["id"])

    def change(self, annotation: int, label: str) -> None:
        body = {"result": [part("label", choices=[label])]}
        self.client.patch(f"/api/annotations/{annotation}/", json=body).raise_for_status()


def part(name: str, **value):
    kind = "choices" if "choices" in value else "textarea"
    return {"from_name": name, "to_name": "post", "type": kind, "value": value}


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    from tests.annotation.browser import Browser

    made = Browser(tmp_path_factory.mktemp("downloads"), tmp_path_factory.mktemp("profile"))
    yield made
    made.close()
