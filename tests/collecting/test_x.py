"""twarc talks to a server of X's interface that fails in every way that X is known to fail."""

from __future__ import annotations

import pytest

from covmis_build.archive import pages
from covmis_build.collecting.prices import Budget
from covmis_build.collecting.sources import x
from covmis_build.credentials import Secret
from tests.servers.loopback import says, tears
from tests.servers.x import TYPE, X, posts

pytestmark = pytest.mark.needs("clients")


@pytest.fixture
def serve(monkeypatch):
    """A server, and a session that talks to it; pages of 10 so that small corpora have many."""
    opened = []

    def start(*args, expand=(), **settings):
        server = X(*args, **settings).__enter__()
        monkeypatch.setenv(x.ADDRESS, server.address)
        monkeypatch.setattr(x, "PAGES", {"all": 10, "recent": 10, "ids": 10})
        session = x.connect(Secret("token-of-nobody"), expand)
        opened.extend([server, session])
        return server, session

    yield start
    for one in reversed(opened):
        one.close()


def ids(folder):
    return [
        one["id"]
        for path in sorted(folder.rglob("*.zst"))
        for page in pages.lines(path)
        for one in page.get("data", [])
    ]


def collect(run, session, jobs, tmp_path, **settings):
    done = run(jobs, x.searcher(session), x.platform("all", session.expand), **settings)
    return done, ids(tmp_path / "archive")


@pytest.mark.parametrize("new", [True, False])
def test_every_page_is_fetched_once_and_kept_as_it_came(serve, run, job, tmp_path, new):
    server, session = serve(posts(95), new=new)
    done, found = collect(run, session, [job()], tmp_path)
    assert sorted(found) == sorted(one["id"] for one in server.corpus)
    assert done.finished == 1
    assert not done.stopped
    tokens = [one.query.get("next_token") for one in server.requests]
    assert len(tokens) == 10 + (not new)  # the old naming costs one refused request, once
    assert not any("expansions" in one.query for one in server.requests)
    line = next(pages.lines(next(tmp_path.rglob("*.zst"))))
    assert list(line) == ["__covmis", "data", "meta", "__twarc"]
    assert line["__covmis"]["query_id"] == "c1-keywords"
    assert "twarc" in line["__covmis"]["version"]
    again, _ = collect(run, session, [job()], tmp_path)
    assert again.already == 1
    assert len(server.requests) == len(tokens)


def test_an_empty_page_is_not_the_end(serve, run, job, tmp_path):
    server, session = serve(posts(35), empties=(10, 30), repeat=2)
    done, found = collect(run, session, [job()], tmp_path)
    assert set(found) == {one["id"] for one in server.corpus}
    assert done.spent.requests == 6


def problem(kind, title=""):
    return {"type": TYPE + kind, "title": title or kind}


PASSING = {
    "rate limit with reset": says(
        429, problem("rate-limit"), x_rate_limit_remaining="0", x_rate_limit_reset="1"
    ),
    "rate limit with calls left": says(429, problem("rate-limit"), x_rate_limit_remaining="3"),
    "rate limit without headers": says(429, b""),
    "outage": says(503, b"<html>over capacity</html>"),
    "malformed": says(200, b'{"data": [{"id"'),
    "empty success": says(200, b""),
    "HTML success": says(200, b"<html>hello</html>", content_type="text/html"),
    "reset in mid-page": tears(0.5),
    "reset at once": tears(0.0),
}


@pytest.mark.parametrize("fault", PASSING)
def test_a_passing_fault_costs_nothing_but_time(serve, run, job, tmp_path, time, fault):
    server, session = serve(posts(25))
    server.faults.extend([None, PASSING[fault], None])
    done, found = collect(run, session, [job()], tmp_path)
    assert (len(found), done.finished, done.stopped) == (25, 1, "")
    assert sum(time.waited) > 3
    assert run.notices


def test_a_burst_of_outages_is_sat_out_and_a_lasting_one_stops_cleanly(serve, run, job, tmp_path):
    server, session = serve(posts(25))
    server.faults.extend([says(503, b"")] * 5)
    assert collect(run, session, [job()], tmp_path)[0].finished == 1
    server.faults.extend([None] + [says(503, b"")] * 99)
    done, _ = collect(run, session, [job("post", query="c2"), job("virus", query="c3")], tmp_path)
    assert done.fault == "outage"
    assert [gap.query_id for gap in done.gaps] == ["c2", "c3"]
    assert done.gaps[0].until == "2020-04-01T00:15:00.000Z"
    server.faults.clear()
    done, found = collect(run, session, [job("post", query="c2"), job("virus", query="c3")], tmp_path)
    assert done.finished == 2
    assert len(found) == 75


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (says(429, problem("usage-capped", "UsageCapExceeded"), x_rate_limit_remaining="0"), "usage_cap"),
        (says(402, problem("credits", "CreditsDepleted")), "no_credit"),
        (says(401, problem("about:blank", "Unauthorized")), "refused"),
        (says(403, b"<html>forbidden</html>", content_type="text/html"), "refused"),
    ],
)
def test_a_lasting_fault_stops_at_once_and_says_which(serve, run, job, tmp_path, time, fault, kind):
    server, session = serve(posts(25))
    server.faults.extend([None, fault])
    done, found = collect(run, session, [job()], tmp_path)
    assert (done.fault, len(server.requests), len(found)) == (kind, 2, 10)
    assert sum(time.waited) < 5
    assert collect(run, session, [job()], tmp_path)[0].finished == 1
    assert len(server.requests) == 4


def test_a_query_that_x_cannot_read_does_not_hold_up_the_others(serve, run, job, tmp_path):
    _, session = serve(posts(5))
    done, found = collect(run, session, [job("broken(", query="c0"), job()], tmp_path)
    assert (done.finished, len(found), done.stopped) == (1, 5, "")
    assert "mismatched input" in done.gaps[0].reason


def test_the_budget_is_never_passed_and_the_rest_comes_later(serve, run, job, tmp_path):
    server, session = serve(posts(40))
    done, found = collect(run, session, [job()], tmp_path, budget=Budget(dollars=0.12))
    assert (len(found), done.fault) == (20, "budget")
    assert done.spent.dollars <= 0.12
    done, found = collect(run, session, [job()], tmp_path, budget=Budget(posts=20))
    assert (done.finished, len(found), len(set(found))) == (1, 40, 40)
    assert len(server.requests) == 4


def test_a_token_that_x_has_forgotten_is_replaced_by_a_window(serve, run, job, tmp_path):
    server, session = serve(posts(40))
    collect(run, session, [job()], tmp_path, budget=Budget(posts=20))
    server.stale.add("t20")
    done, found = collect(run, session, [job()], tmp_path)
    assert done.finished == 1
    assert set(found) == {one["id"] for one in server.corpus}
    assert len(found) == 41  # the second at the seam is asked for again, so that none of its posts is lost


def test_a_platform_that_leads_in_a_circle_is_left(serve, run, job, tmp_path):
    server, session = serve(posts(25))
    circle = says(200, {"data": posts(1), "meta": {"next_token": "t10"}})
    server.faults.extend([circle, circle])
    done, _ = collect(run, session, [job()], tmp_path)
    assert "the same pages" in done.gaps[0].reason
    assert len(server.requests) == 2


def test_counts_are_added_up_and_each_request_is_paid(serve, job):
    server, session = serve(posts(3000))
    paid = []
    assert x.count(session, job(), lambda call: paid.append(1) or call()) == 3000
    assert len(paid) == len(server.requests) == 2


def test_expansions_are_asked_for_by_name_only(serve, run, job, tmp_path):
    server, session = serve(posts(5), expand=("referenced", "authors"))
    collect(run, session, [job()], tmp_path)
    assert server.requests[-1].query["expansions"] == "referenced_posts.id,author_id"
    assert x.platform("all", ("referenced", "authors")).users_each == 2
