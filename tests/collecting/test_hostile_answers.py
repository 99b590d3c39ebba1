"""Whatever a platform answers, a crawl ends: a sentence, an exit, nothing lost, no traceback and no endless wait."""

from __future__ import annotations

import gzip
import itertools
import json
from types import SimpleNamespace

import pytest

from covmis_build import bounds
from covmis_build.archive import pages
from covmis_build.collecting.retries import LONGEST_ADVICE, MOST_WAITING
from covmis_build.collecting.sources import bluesky, mastodon, wire, x
from covmis_build.credentials import Secret
from tests.servers.bluesky import Bluesky
from tests.servers.loopback import says
from tests.servers.mastodon import Mastodon
from tests.servers.x import X, posts

pytestmark = pytest.mark.needs("clients")

DEEP = b'{"data": ' + b"[" * 5000 + b"]" * 5000 + b"}"
BODIES = {
    "NaN": b'{"data": [{"id": NaN}], "meta": {}}',
    "beyond floats": b'{"data": [{"id": 1e999}], "meta": {}}',
    "meta null": b'{"data": [{"id": "1"}], "meta": null}',
    "meta a list": b'{"data": [{"id": "1"}], "meta": [1]}',
    "data a string": b'{"data": "posts", "meta": {}}',
    "data of numbers": b'{"data": [1, 2], "meta": {}}',
    "data of nulls": b'{"data": [null], "meta": {}}',
    "errors of integers": b'{"errors": [1], "meta": {}}',
    "includes a list": b'{"data": [], "includes": [1], "meta": {}}',
    "token a number": b'{"data": [{"id": "1"}], "meta": {"next_token": 7}}',
    "a strange time": b'{"data": [{"id": "1", "created_at": "0000-99-99"}], "meta": {"next_token": "a"}}',
    "deep": DEEP,
    "brackets": b"[" * 1_000_000,
    "UTF-16": '{"data": []}'.encode("utf-16"),
    "a list": b"[]",
    "a number": b"7",
    "half a surrogate": b'{"data": [{"id": "1", "text": "\\ud800"}], "meta": {}}',
    "their stamp": b'{"__covmis": {"job": "evil"}, "__twarc": 3, "data": [], "meta": {}}',
    "posts of numbers": b'{"posts": [1], "statuses": [1]}',
    "posts null": b'{"posts": null, "statuses": null}',
    "ids of letters": b'{"posts": [{"uri": "x"}], "statuses": [{"id": "AbC"}], "cursor": 5}',
    "strange records": b'{"posts": [{"uri": "x", "record": 7, "indexedAt": {}}], "statuses": [{"id": null}]}',
    "hits of words": b'{"posts": [], "hitsTotal": "many", "statuses": [{"id": 7, "created_at": 5}]}',
}  # fmt: skip
SOURCES = ("x", "bluesky", "mastodon")


@pytest.fixture
def source(monkeypatch):
    """By name: a server, a fetch, the platform."""
    opened = []

    def start(name):
        if name == "x":
            server = X(posts(5)).__enter__()
            monkeypatch.setenv(x.ADDRESS, server.address)
            session = x.connect(Secret("token-of-nobody"))
            made = server, x.searcher(session), x.platform("all")
        elif name == "bluesky":
            server = Bluesky([]).__enter__()
            monkeypatch.setenv(bluesky.ADDRESS, server.address)
            session = bluesky.connect("nobody.test", Secret("password-of-nobody"))
            session.log_in()
            made = server, bluesky.searcher(session), bluesky.platform()
        else:
            server = Mastodon([]).__enter__()
            session = mastodon.connect(server.address, Secret("token-of-nobody"))
            made = server, mastodon.searcher(session), mastodon.platform()
        opened.extend([server, session])
        return made

    yield start
    for closable in reversed(opened):
        closable.close()


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("body", BODIES)
def test_a_crawl_ends_whatever_is_answered(source, run, job, tmp_path, time, name, body):
    server, fetch, platform = source(name)
    until = "2021-01-01T00:00:00Z"
    server.faults.extend([says(200, BODIES[body])] * 50)
    done = run([job(source=name, until=until)], fetch, platform)
    assert done.finished == 1 or done.stopped
    assert len(server.requests) < 50
    assert sum(time.waited) < 600
    for path in (tmp_path / "archive").rglob("*.zst"):
        stamps = list(pages.stamps(path))
        assert all(stamp.job == job(source=name, until=until).id for stamp in stamps)
        assert all(line[pages.STAMP]["source"] == name for line in pages.lines(path))


def test_an_answer_that_may_be_billed_is_kept_and_asked_for_again(source, run, job, tmp_path):
    server, fetch, platform = source("x")
    server.faults.append(says(200, b'{"data": [{"id": "1", "text": "billed"}, 7], "meta": {}}'))
    done = run([job()], fetch, platform)
    assert (done.fault, done.spent.posts) == ("malformed", 2)
    (path,) = (tmp_path / "archive").rglob("*.zst")
    (line,) = pages.lines(path)
    assert line["data"][0]["text"] == "billed"
    assert pages.resume(path) is None
    done = run([job()], fetch, platform)
    assert done.finished == 1
    assert len(list(pages.lines(path))) == 2


HEADERS = {
    "twenty digits": {"retry_after": "9" * 20, "x_rate_limit_reset": "9" * 20, "ratelimit_reset": "9" * 20,
                      "x_ratelimit_reset": "9" * 20},
    "a superscript": dict.fromkeys(("retry_after", "x_rate_limit_reset", "x_rate_limit_remaining"), "²"),
    "words": dict.fromkeys(("retry_after", "x_rate_limit_reset", "ratelimit_reset", "x_ratelimit_reset"), "soon"),
    "a year of seven digits": {"x_ratelimit_reset": "9999999-01-01T00:00:00Z"},
    "negative": dict.fromkeys(("retry_after", "x_rate_limit_reset", "ratelimit_reset", "x_ratelimit_reset"), "-5"),
}  # fmt: skip


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("headers", HEADERS)
def test_no_wait_is_endless(source, run, job, time, name, headers, status):
    server, fetch, platform = source(name)
    server.faults.extend([says(status, {}, **HEADERS[headers])] * 100_000)
    done = run([job(source=name, until="2021-01-01T00:00:00Z")], fetch, platform)
    assert done.stopped
    assert max(time.waited) <= LONGEST_ADVICE
    assert sum(time.waited) <= MOST_WAITING + LONGEST_ADVICE


SPACES = b'{"data": [], "posts": [], "statuses": []' + b" " * (4 << 20) + b"}"


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
def test_an_answer_has_a_length(source, run, job, time, monkeypatch, name, packed):
    for module in (wire, bluesky):
        monkeypatch.setattr(module, "LARGEST", 1 << 20)
    server, fetch, platform = source(name)
    body, how = (gzip.compress(SPACES), {"content_encoding": "gzip"}) if packed else (SPACES, {})
    server.faults.extend([says(200, body, **how)] * 50)
    done = run([job(source=name, until="2021-01-01T00:00:00Z")], fetch, platform)
    assert (done.fault, done.finished) == ("outage", 0)


@pytest.mark.parametrize("name", SOURCES)
def test_an_answer_has_a_time(source, run, job, time, monkeypatch, name):
    server, fetch, platform = source(name)
    each = itertools.count(0, 400)  # each block takes 400 seconds
    monkeypatch.setattr(bounds, "time", SimpleNamespace(monotonic=lambda: next(each)))
    server.faults.extend([says(200, b'{"data": [], "posts": [], "statuses": [], "meta": {}}')] * 50)
    done = run([job(source=name, until="2021-01-01T00:00:00Z")], fetch, platform)
    assert (done.fault, done.finished) == ("outage", 0)


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("where", ["loopback", "file:///etc/passwd", "a line end"])
def test_nobody_is_sent_elsewhere(source, run, job, time, name, where):
    with Bluesky([]) as elsewhere:
        there = {"loopback": f"{elsewhere.address}/sink", "a line end": f"/x\r\n {elsewhere.address}"}
        server, fetch, platform = source(name)
        server.faults.extend(
            [says(status, b"", location=there.get(where, where)) for status in (301, 302, 307)] * 20
        )
        done = run([job(source=name, until="2021-01-01T00:00:00Z")], fetch, platform)
        assert (bool(done.stopped), done.finished) == (True, 0)
        assert not elsewhere.requests


def test_a_suspended_author_is_suspended_whatever_the_type_says():
    payload = {
        "errors": [
            {"resource_id": "5", "type": "…/resource-not-found", "detail": "User has been suspended: [5]."}
        ]
    }
    assert x.outcomes(payload) == {"5": "suspended"}
    assert x.outcomes({"data": "junk"}) == {}


def test_our_stamp_counts_and_theirs_does_not(tmp_path):
    stamp = pages.Stamp(
        job="ours", source="x", query_id="q", claim_id="c", kind="keywords", expression="e", search="s", since="",
        until="", page=1, next="", url="", version="v", retrieved_at="t",
    )  # fmt: skip
    pages.append(tmp_path / "a.zst", {"data": [float("nan")], pages.STAMP: {"job": "theirs"}}, stamp)
    (line,) = pages.lines(tmp_path / "a.zst")
    assert line[pages.STAMP]["job"] == "ours"
    assert json.dumps(line["data"]) == "[null]"
