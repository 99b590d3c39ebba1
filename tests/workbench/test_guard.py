"""Hostile requests are refused before any page sees them, and hostile texts stay texts."""

from __future__ import annotations

import http.client
import json
import os
import re
import tempfile
from functools import partial
from pathlib import Path

import httpx
import pytest

from covmis_build import new_study
from covmis_build.annotation import links
from tests.workbench.conftest import HOSTILE, OURS, client_of, opening, wait_for

PAGES = (
    "/",
    "/posts",
    "/posts?q=garlic",
    "/claims",
    "/settings",
    "/queries",
    "/queries/a?show=nearest",
    "/queries/b?q=%3Cscript%3E+or+(x",
    "/flow",
    "/flow?step=words",
    "/story/a",
    "/plan",
    "/guideline",
    "/rounds",
    "/links",
    "/results",
    "/systems",
    "/prompt",
    "/release",
    "/recall",
    "/purge",
    "/session",
)
WITHOUT_COOKIE = {"cookie": ""}


@pytest.mark.parametrize(
    ("method", "path", "headers", "code"),
    [
        ("GET", "/", {"host": "evil.example"}, 421),
        ("GET", "/", {"host": "127.0.0.1:80"}, 421),
        ("GET", "/", {"host": "127.0.0.1.evil.example:8111"}, 421),
        ("GET", "/", {"sec-fetch-site": "cross-site"}, 403),
        ("GET", "/", {"sec-fetch-site": "same-site"}, 403),
        ("POST", "/start/run", {"origin": "https://evil.example"}, 403),
        ("POST", "/start/run", {"origin": "null"}, 403),
        ("POST", "/start/run", {"origin": ""}, 403),
        ("POST", "/end", {"origin": "http://127.0.0.1:9"}, 403),
        ("POST", "/queries/a", {"origin": "https://evil.example"}, 403),
        ("DELETE", "/", {"origin": "https://evil.example"}, 403),
        ("GET", "/static/../guard.py", {}, 404),
        ("GET", "/static/%2e%2e/guard.py", {}, 404),
        ("GET", "/static/..%2f..%2fstudy.toml", {}, 404),
        ("GET", "/session/..%2f..%2fstudy.toml", {}, 404),
        ("GET", "/session/study.toml", {}, 400),
        ("GET", "/study.toml", {}, 404),
        ("GET", "/file/study.toml", {}, 404),
        ("GET", "/file/../study.toml", {}, 404),
        ("GET", "/file/data/release/%2e%2e/%2e%2e/study.toml", {}, 404),
        ("GET", "/file/data%2frelease%2f..%2f..%2fstudy.toml", {}, 404),
        ("GET", "/file//etc/passwd", {}, 404),
        ("GET", "/file/queries/claims.csv%00", {}, 404),
        ("GET", "/posts?file=../study.toml", {}, 400),
        ("GET", "/posts?file=/etc/passwd", {}, 400),
        ("GET", "/plan?posts=1e9", {}, 400),
        ("GET", "/plan?share=nan", {}, 400),
        ("POST", "/start/model", {}, 400),
        ("POST", "/start/round-open%20--study%20x", {}, 400),
    ],
)
def test_attacks_are_refused(client, method, path, headers, code):
    assert client.request(method, path, headers=headers, follow_redirects=False).status_code == code
    assert client.bench.jobs.last is None


@pytest.mark.parametrize("path", [*PAGES, "/events", "/static/bench.js", "/?code=guessed"])
def test_nothing_is_shown_without_the_cookie(study, path):
    client = client_of(study, greeted=False)
    assert client.get(path).status_code == 401
    assert client.get(path, headers={"cookie": "covmis8111=guessed"}).status_code == 401
    assert client.get(path, headers={"cookie": 'covmis8111="; a=b'}).status_code == 401


def test_a_code_becomes_a_cookie_once_and_in_its_time(study):
    """Wherever the link stood: the file that the browser is started with, a notebook, a terminal."""
    client = client_of(study, greeted=False)
    address, late = client.entrance.address(), client.entrance.address()
    told = []
    client.entrance.say = told.append
    answer = client.get(address, headers={"sec-fetch-site": "cross-site"})
    assert answer.status_code == 200
    assert '<meta http-equiv="refresh" content="0;url=/">' in answer.text
    cookie = answer.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", "Path=/"} == set(cookie.split("; ")[1:]), (
        "no age: it ends with the browser"
    )
    assert address.partition("code=")[2] not in cookie
    assert client.get("/").status_code == 200
    assert client.get(address).status_code == 200, "a tab that is loaded again"
    client.cookies.clear()
    assert client.get(address).status_code == 401
    assert told == [], "the last one that was printed works still"
    later = client.entrance._clock() + 601
    client.entrance._clock = lambda: later
    assert client.get(late).status_code == 401
    (new,) = told
    assert client.get(late).status_code == 401
    assert told == [new], "one at a time"
    assert client.get(new).status_code == 200
    assert client_of(study, greeted=False).get("/", headers={"cookie": cookie}).status_code == 401, (
        "of another process"
    )


BROWSER = """#!/bin/sh
echo "$1" > {told}
ls -ld "$(dirname "$1" | sed s,file://,,)" >> {told}
ls -l "$(echo "$1" | sed s,file://,,)" >> {told}
cp "$(echo "$1" | sed s,file://,,)" {told}.part && mv {told}.part {told}.html
"""


def test_another_account_of_the_machine_gets_nothing(study, tmp_path):
    """It sees the browser's command line and the port. The file that leads in is its owner's alone, and goes when it was used."""
    told, browser = tmp_path / "told", tmp_path / "browser"
    browser.write_text(BROWSER.format(told=told))
    browser.chmod(0o755)
    with opening(study.places.folder, browser=browser) as (address, _):
        wait_for(told.with_suffix(".html").exists)
        page, folder, file = told.read_text().splitlines()
        (inside,) = set(re.findall(r"http://[^\"]+", told.with_suffix(".html").read_text()))
        assert "http" not in page
        assert folder.startswith("drwx------")
        assert file.startswith("-rw-------")
        assert inside != address
        place = Path(page.strip().removeprefix("file://"))
        if os.geteuid() == 0:
            port = address.split(":")[2].split("/")[0]
            assert as_nobody(partial(of_workbench, place, int(port))) == ["PermissionError", "401", "401"]
        with httpx.Client(trust_env=False) as client:
            assert client.get(inside).status_code == 200
            wait_for(lambda: not place.parent.exists())
            assert client.get(f"http://127.0.0.1:{address.split(':')[2].split('/')[0]}/").status_code == 200
        with httpx.Client(trust_env=False) as client:
            assert client.get(inside).status_code == 401


def of_workbench(place, port):
    """What a process gets of the file that leads in and of the server."""
    answers = [opened(place)]
    for path in ("/", "/?code=guessed"):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("GET", path)
        answers.append(str(connection.getresponse().status))
    return answers


def opened(path):
    try:
        path.read_bytes()
    except OSError as error:
        return type(error).__name__
    return ""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another account")
def test_another_account_reads_no_file_of_a_new_study_and_no_list_of_visits():
    """A study that its owner opened to all keeps the addresses of annotators to itself."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "s")
        Path(scratch).chmod(0o755)
        study = new_study(folder, title="Small")
        links.make(folder / "annotation/links", ["a1"], now="2026-11-29T12:00:00Z")
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        assert len(files) > 5
        assert set(as_nobody(lambda: [opened(path) for path in files])) == {"PermissionError"}
        study.places.folder.chmod(0o755)
        read = [
            path
            for path, error in zip(files, as_nobody(lambda: [opened(path) for path in files]), strict=True)
            if not error
        ]
        assert {path.parent.name for path in set(files) - set(read)} == {"links"}
        assert folder / "study.toml" in read, "as the umask says"


def as_nobody(act):
    """What a process of another account gets by doing this."""
    "localhost".encode("idna")  # load the codec now: the other account cannot read root's Python
    reading, writing = os.pipe()
    if not (child := os.fork()):
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            os.write(writing, json.dumps(act()).encode())
        finally:
            os._exit(0)
    os.close(writing)  # without this, a child that failed is waited for for ever
    os.waitpid(child, 0)
    return json.loads(os.read(reading, 1 << 16))


@pytest.mark.parametrize("path", PAGES)
def test_every_page_escapes_and_allows_no_foreign_or_inline_thing(client, path):
    answer = client.get(path)
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert (answer.headers["referrer-policy"], answer.headers["cache-control"]) == ("same-origin", "no-store")
    assert HOSTILE not in answer.text
    assert "&lt;script&gt;" in answer.text
    assert not re.search(r"<[^>]* (style|on\w+)=", re.sub('"[^"]*"', '""', answer.text))
    assert re.findall(r"<script[^>]*>", answer.text) == ['<script src="/static/bench.js" defer>']
    assert not re.findall(r'(?:src|href|action)="(?!/|\?|"|data:,|\#)[^"]*"', answer.text)


def test_a_post_s_own_text_is_text(client):
    page = client.get("/flow?step=words").text
    assert HOSTILE not in page
    assert "garlic &lt;script&gt;document.title=" in page


def test_read_only_refuses_every_change_and_offers_none(study):
    study.change(cleaning={"minimum_words": 3})
    client = client_of(study, read_only=True)
    before = {path: path.read_bytes() for path in study.places.folder.rglob("*") if path.is_file()}
    changing = [(method, route.path) for route in client.app.app.routes for method in getattr(route, "methods", None) or ()
                if method not in {"GET", "HEAD"}]  # fmt: skip
    assert len(changing) >= 14
    for method, path in changing:
        place = re.sub(r"\{number\}", "001", re.sub(r"\{(?!number)[\w:]+\}", "a", path))
        for body in (b"", b"a=1", b"{}"):
            assert client.request(method, place, content=body).status_code == 403, (method, path)
    after = {path: path.read_bytes() for path in study.places.folder.rglob("*") if path.is_file()}
    assert after == before
    assert client.bench.jobs.last is None
    assert "Opened to read only" in client.get("/").text
    assert '<form method="post"' not in client.get("/").text
    assert '<form method="post"' in client_of(study).get("/").text


def test_a_form_goes_back_to_our_pages_alone(client, monkeypatch):
    monkeypatch.setattr(client.bench.jobs, "start", lambda *words, **how: None)
    for back in ("https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)"):
        answer = client.post("/start/run", data={"back": back}, follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert client.post("/start/run", content=b"a" * (1 << 21)).status_code == 400
    assert OURS.endswith("8111")
