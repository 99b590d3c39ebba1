"""Mastodon.py talks to a server that hides posts, limits and fails."""

from __future__ import annotations

import pytest

from covmis_build.archive import pages
from covmis_build.collecting.sources import mastodon
from covmis_build.credentials import Secret
from covmis_build.errors import InputError
from tests.servers.loopback import says, tears
from tests.servers.mastodon import Mastodon, posts

pytestmark = pytest.mark.needs("clients")


@pytest.fixture
def serve():
    opened = []

    def start(*args, token="of-nobody", **settings):
        server = Mastodon(*args, **settings).__enter__()
        session = mastodon.connect(server.address, Secret(token) if token else None)
        opened.extend([server, session])
        return server, session

    yield start
    for one in reversed(opened):
        one.close()


def collect(run, session, jobs, tmp_path):
    done = run(jobs, mastodon.searcher(session), mastodon.platform())
    found = [
        one for path in tmp_path.rglob("*.zst") for page in pages.lines(path) for one in page["statuses"]
    ]
    return done, found


def the_job(job, **window):
    return job("mast", source="mastodon", mode="", **window)


def test_pages_are_followed_and_kept_as_they_came(serve, run, job, tmp_path):
    server, session = serve(posts(100))
    done, found = collect(run, session, [the_job(job)], tmp_path)
    assert found == list(reversed(server.corpus))
    assert done.finished == 1
    (path,) = tmp_path.rglob("*.zst")
    assert next(pages.stamps(path)).url.startswith(server.address)


@pytest.mark.parametrize("token", ["of-nobody", ""])
def test_a_netrc_is_not_read_and_proxies_are(tmp_path, monkeypatch, token):
    import requests

    (tmp_path / "netrc").write_text("machine social.example login me password of-the-netrc\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    asked = requests.Request("GET", "https://social.example/api/v1/statuses/1")
    assert "Authorization" in requests.Session().prepare_request(asked).headers, "requests alone reads it"
    session = mastodon.connect("https://social.example", Secret(token) if token else None)
    wire = session.client.session
    assert "Authorization" not in wire.prepare_request(asked).headers
    assert wire.proxies["https"] == "http://127.0.0.1:9"
    session.close()


def test_a_window_of_time_is_one_of_ids(serve, run, job, tmp_path):
    server, session = serve(posts(100))
    window = {"since": "2024-01-01T00:10:00Z", "until": "2024-01-01T00:20:00Z"}
    _, found = collect(run, session, [the_job(job, **window)], tmp_path)
    assert [one["id"] for one in found] == [one["id"] for one in reversed(server.corpus[11:20])]


def test_posts_behind_a_page_of_hidden_ones_are_found(serve, run, job, tmp_path):
    server, session = serve(posts(140), hidden=range(30, 90))
    _, found = collect(run, session, [the_job(job)], tmp_path)
    assert len(found) == 80
    assert any(one.query.get("offset") for one in server.requests)


PASSING = {
    "rate limit": says(429, {"error": "Too many requests"}, x_ratelimit_reset="2020-01-01T00:00:00.000000Z"),
    "rate limit without headers": says(429, {"error": "Too many requests"}),
    "outage": says(503, b"<html></html>"),
    "malformed": says(200, b'{"statuses": [{'),
    "empty": says(200, b""),
    "HTML": says(200, b"<html></html>"),
    "torn": tears(0.5),
}


@pytest.mark.parametrize("fault", PASSING)
def test_a_passing_fault_costs_nothing_but_time(serve, run, job, tmp_path, time, fault):
    server, session = serve(posts(90))
    server.faults.extend([None, PASSING[fault]])
    done, found = collect(run, session, [the_job(job)], tmp_path)
    assert (len(found), done.finished, done.stopped) == (90, 1, "")
    assert run.notices


def test_a_refusal_stops_at_once(serve, run, job, tmp_path):
    server, session = serve(posts(5), token="")
    done, _ = collect(run, session, [the_job(job)], tmp_path)
    assert (done.fault, len(server.requests)) == ("refused", 1)


def test_posts_are_looked_up_and_each_has_an_outcome(serve, run, job, tmp_path):
    corpus = posts(3)
    names = [one["id"] for one in corpus]
    _, session = serve(corpus, gone={names[1]: 404, names[2]: 403})
    run([job("ids", source="mastodon")], mastodon.looker(session, names), mastodon.platform(ids=True))
    states = {}
    for page in pages.lines(next(tmp_path.rglob("*.zst"))):
        states |= mastodon.outcomes(page)
    assert states == dict(zip(names, ["available", "deleted", "protected"], strict=True))


@pytest.mark.parametrize("server", ["http://social.test", "", "https://user:secret@social.test"])
def test_a_server_is_an_https_address(server):
    with pytest.raises(InputError, match="not a Mastodon server"):
        mastodon.connect(server, None)


@pytest.mark.parametrize(
    "server",
    [
        "127.0.0.1:6379",
        "localhost",
        "localhost:8080",
        "10.0.0.7",
        "192.168.1.1",
        "[::1]",
        "169.254.169.254",
        "127.1",
        "0x7f.0.0.1",
        "127.0.0.1.",
        "printer",
        "nas.local",
    ],
)
def test_ids_send_nobody_to_an_inner_server(server, monkeypatch):
    monkeypatch.delenv("MASTODON_SERVER", raising=False)
    with pytest.raises(InputError, match="which is no public one"):
        mastodon.refuse_inner(server)
    monkeypatch.setenv("MASTODON_SERVER", mastodon.address_of(server))
    mastodon.refuse_inner(server)
    mastodon.refuse_inner("mastodon.social")
