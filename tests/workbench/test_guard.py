"""Hostile requests are refused before any page sees them, and hostile texts stay texts."""

from __future__ import annotations

import re

import pytest

from tests.workbench.conftest import HOSTILE, OURS, client_of

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
    "/rounds",
    "/results",
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
        ("POST", "/start/purge", {}, 400),
        ("POST", "/start/round-open%20--study%20x", {}, 400),
    ],
)
def test_attacks_are_refused(client, method, path, headers, code):
    assert client.request(method, path, headers=headers, follow_redirects=False).status_code == code
    assert client.bench.jobs.last is None


@pytest.mark.parametrize("path", [*PAGES, "/events", "/static/bench.js", "/?token=guessed"])
def test_nothing_is_shown_without_the_cookie(study, path):
    client = client_of(study, greeted=False)
    assert client.get(path).status_code == 401
    assert client.get(path, headers={"cookie": "covmis8111=guessed"}).status_code == 401
    assert client.get(path, headers={"cookie": 'covmis8111="; a=b'}).status_code == 401


def test_the_secret_becomes_a_cookie_that_scripts_and_other_sites_do_not_get(study):
    client = client_of(study, greeted=False)
    answer = client.get(f"/?token={client.token}", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(answer.headers["set-cookie"].split("; "))
    assert client.token not in answer.headers["set-cookie"]
    assert client.get("/").status_code == 200


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
    for path in ("/start/run", "/end", "/queries/a"):
        assert client.post(path).status_code == 403
    assert "Opened to read only" in client.get("/").text
    assert '<form method="post"' not in client.get("/").text
    assert '<form method="post"' in client_of(study).get("/").text


def test_a_form_goes_back_to_our_pages_alone(client, monkeypatch):
    monkeypatch.setattr(client.bench.jobs, "start", lambda *words: None)
    for back in ("https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)"):
        answer = client.post("/start/run", data={"back": back}, follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert client.post("/start/run", content=b"a" * (1 << 21)).status_code == 400
    assert OURS.endswith("8111")
