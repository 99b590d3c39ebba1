"""A study that was run, and a browser's requests to its workbench without a browser."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import warnings
from contextlib import contextmanager
from html.parser import HTMLParser

import pytest

import covmis_build as covmis
from covmis_build.workbench.app import application
from tests.annotation import small

with warnings.catch_warnings():  # it asks for httpx2, which is httpx under another name
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

PORT = 8111
OURS = f"http://127.0.0.1:{PORT}"
HOSTILE = "<script>document.title='hacked'</script><img src=x onerror=alert(1)>"
CLAIMS = f"""claim_id,text,keywords
a,Garlic cures the virus {HOSTILE},garlic
b,Onions cure the virus,onion
"""


def client_of(study, *, read_only=False, greeted=True) -> TestClient:
    guard = application(study.places.folder, PORT, read_only=read_only)
    client = TestClient(guard, base_url=OURS, headers={"origin": OURS})
    client.bench, client.entrance = guard.bench, guard.entrance
    if greeted:
        client.get(guard.entrance.address())
    return client


class _Forms(HTMLParser):
    """The fields of a form, as a browser would send them untouched: no button is pressed."""

    def __init__(self):
        super().__init__()
        self.fields, self.filling = {}, ("", "")

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        name = given.get("name", "")
        if tag in {"textarea", "select"}:
            self.filling = (tag, name)
            self.fields[name] = None if tag == "select" else ""
        elif tag == "option" and (self.fields[self.filling[1]] is None or "selected" in given):
            self.fields[self.filling[1]] = given.get("value", "")
        elif tag == "input" and name and ("checked" in given or given["type"] not in {"checkbox", "radio"}):
            before, value = self.fields.get(name), given.get("value", "")
            self.fields[name] = f"{before}, {value}" if before else value

    def handle_data(self, text):
        if self.filling[0] == "textarea":
            self.fields[self.filling[1]] += text.removeprefix("\n")

    def handle_endtag(self, tag):
        if tag == self.filling[0]:
            self.filling = ("", "")


def fields_of(form):
    read = _Forms()
    read.feed(form)
    return read.fields


def forms_of(page):
    """The forms of a page that change something: where each is sent, what it would send untouched, and its HTML."""
    forms = re.findall(r'(<form[^>]*method="post"[^>]*>.*?</form>)', page, re.DOTALL)
    return [(re.search(r'action="([^"]*)"', form)[1], fields_of(form), form) for form in forms]


def send(client, at, action, typed, *, having="", **how):
    """Fill in the form of a page as it is now (of several the one that has this in its HTML), and send it."""
    (fields, *_) = [
        fields for place, fields, form in forms_of(client.get(at).text) if place == action and having in form
    ]
    return client.post(action, data=fields | typed, **how)


@pytest.fixture
def folder(tmp_path):
    """A study with an opened round that is not sent."""
    small.study(tmp_path / "s")
    small.covmis(tmp_path / "s", "round", "open")
    return tmp_path / "s"


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Two claims, thirty posts about each, some of them too short or in another language, one hostile."""
    study = covmis.new_study(tmp_path_factory.mktemp("made") / "s", title=f"Study {HOSTILE}")
    study.places.claims_csv.write_text(CLAIMS)
    texts = [f"{plant} number {at} of these quite long posts cures the new virus for sure {'abcdefgh'[at % 8] * 9}"
             for plant in ("garlic", "onion") for at in range(30)]  # fmt: skip
    texts += [
        f"garlic {HOSTILE}",
        "garlic yes",
        "l'ail garlic est une plante que tous les gens du pays aiment bien manger",
    ]
    rows = [{"id_str": str(1250000000000000000 + 4194304 * at), "created_at": "Tue Apr 14 10:00:00 +0000 2020",
             "lang": "fr" if "ail" in text else "en", "entities": {"urls": []}, "full_text": text}
            for at, text in enumerate(texts)]  # fmt: skip
    (study.places.folder / "data/archive/posts.jsonl").write_text("\n".join(map(json.dumps, rows)))
    study = study.change(cleaning={"minimum_posts": 2, "similarity": 0.99})
    study.run(workers=1)
    return study.places.folder


@pytest.fixture
def study(made, tmp_path):
    return covmis.open_study(shutil.copytree(made, tmp_path / "s"))


@pytest.fixture
def client(study):
    return client_of(study)


def wait_for(what, seconds=30):
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until
        time.sleep(0.05)


@contextmanager
def opening(folder, browser=None):
    """The address at which a `covmis open` of its own shows the study, and its process."""
    without = [] if browser else ["--no-browser"]
    command = [sys.executable, "-m", "covmis_build", "open", *without, "--study", folder]
    env = {**os.environ, "PYTHONUNBUFFERED": "1", "BROWSER": f"{browser} %s"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as server:
        try:
            yield re.search(r"http://\S+", server.stdout.readline())[0], server
            if server.poll() is None:
                server.send_signal(signal.SIGINT)
                assert server.wait(60) == 0
        finally:
            server.kill()
