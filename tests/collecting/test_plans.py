"""Plans: no time twice, no time left out, whatever was begun before."""

from __future__ import annotations

import datetime as dt
import errno
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covmis_build.collecting import cost, plans
from covmis_build.collecting.crawl import Job
from covmis_build.collecting.plans import Begun
from covmis_build.collecting.prices import Budget, Prices, Spent, read_budget, read_prices
from covmis_build.collecting.searching import searchable
from covmis_build.errors import InputError

NOW = dt.datetime(2026, 11, 21, 12, 0, tzinfo=dt.UTC)


def day(number: int) -> str:
    return f"{dt.date(2020, 1, 1) + dt.timedelta(days=number)}T00:00:00Z"


def the_job(since: int, until: int) -> Job:
    return Job("x", "q", "c", "keywords", "mast", "mast", day(since), day(until), "all")


windows = st.tuples(st.integers(0, 20), st.integers(1, 10)).map(
    lambda pair: the_job(pair[0], pair[0] + pair[1])
)


@given(windows, st.lists(windows, max_size=4))
def test_what_is_planned_covers_the_rest_once(wanted, finished):
    begun = {one.id: Begun(one, True, "", 0) for one in finished}
    planned = plans.plan([wanted], begun, [])

    def days(jobs):
        return [one for job in jobs for one in map(day, range(40)) if job.since <= one < job.until]

    assert sorted(days(planned)) == sorted(set(days([wanted])) - set(days(finished)))


def test_a_window_that_was_begun_is_finished_and_a_changed_query_starts_anew():
    begun = the_job(0, 10)
    known = {begun.id: Begun(begun, False, day(5), 3)}
    assert plans.plan([the_job(0, 12)], known, []) == [begun, the_job(10, 12)]
    other = replace(the_job(0, 12), expression="tower", search="tower")
    assert plans.plan([other], known, []) == [other]
    assert plans.plan([the_job(0, 12)], {}, [begun]) == [begun, the_job(10, 12)]


def test_a_plan_is_read_back_as_it_was(tmp_path):
    jobs = [the_job(0, 3), replace(the_job(3, 9), search="Straße “x”")]
    plans.write_plan(tmp_path / "plan.json", jobs)
    assert plans.read_plan(tmp_path / "plan.json") == jobs
    (tmp_path / "plan.json").write_text("{")
    with pytest.raises(InputError, match="damaged"):
        plans.read_plan(tmp_path / "plan.json")


def test_days_are_whole_and_the_future_is_not_asked_for():
    assert plans.windows("", "", NOW) == ("", "2026-11-21T11:59:00Z")
    assert plans.windows("2020-01-22", "2030-01-01", NOW) == ("2020-01-22T00:00:00Z", "2026-11-21T11:59:00Z")
    with pytest.raises(InputError, match="no time"):
        plans.windows("2027-01-01", "", NOW)


def test_a_recent_search_begins_seven_days_ago_and_never_before():
    queries = pd.DataFrame({
        "query_id": ["c:keywords:1"], "claim_id": "c", "kind": "keywords", "text": "mast", "expression": "mast",
        "language": "en",
    })  # fmt: skip

    def window(since, until="", **search):
        more = {"begun": {}, "before": [], "forgotten": (), "now": NOW}
        (job,) = plans.remaining(queries, searchable("x", **search), since=since, until=until, **more)
        return job.since, job.until

    assert window("2020-01-22", recent=True) == ("2026-11-14T12:05:00Z", "2026-11-21T11:59:00Z")
    assert window("2026-11-18", recent=True)[0] == "2026-11-18T00:00:00Z"
    assert window("2020-01-22")[0] == "2020-01-22T00:00:00Z"
    with pytest.raises(InputError, match="the last seven days, and the study ends with 2026-11-13"):
        window("2020-01-22", "2026-11-13", recent=True)


def test_queries_become_searches_in_the_platforms_words():
    queries = pd.DataFrame(
        {
            "query_id": ["c:keywords:1", "c:news_url:1"],
            "claim_id": "c",
            "kind": ["keywords", "news_url"],
            "text": ["don’t (covid-19 OR flu)", "https://twitter.com/x/status/1255"],
            "expression": ['"don t" ("covid 19" OR flu)', 'url:"x.com/status/1255"'],
            "language": "en",
        }
    )
    searches = [
        (one.search, one.mode)
        for one in plans.jobs_of(queries, "x", limit=1024, since="", until=day(1), mode="all")
    ]
    assert searches == [
        ('"don\'t" ("covid-19" OR flu)', "all"),
        ("quotes_of_tweet_id:1255", "all"),
        ("1255", "ids"),
    ]
    assert len(plans.jobs_of(queries, "bluesky", limit=None, since="", until=day(1))) == 4


def test_budgets_and_prices_are_checked(tmp_path):
    assert str(read_budget("12.5, 100 posts")) == "$12.50 and 100 posts"
    left = Budget(dollars=5.0, posts=10).less(Spent(posts=4, dollars=2.0))
    assert left == Budget(dollars=3.0, posts=6)
    for wrong in ("much", "-3", "3 apples"):
        with pytest.raises(InputError, match="not an amount"):
            read_budget(wrong)
    assert read_prices("x").cost(posts=1000, users=10, counts=1) == pytest.approx(5.11)
    assert read_prices("mastodon").free
    (tmp_path / "p.toml").write_text('date = "2027-01-01"\n[x]\npost = -1\n')
    with pytest.raises(InputError, match="post is not a price"):
        read_prices("x", tmp_path / "p.toml")


@given(st.floats(0, 3), st.integers(0, 500), st.integers(0, 2))
def test_no_request_may_cost_more_than_is_left(dollars, posts, users):
    prices = Prices("2026-08-01", post=0.005, user=0.01)
    spent = Spent(posts=posts, dollars=prices.cost(posts=posts))
    most = spent.allows(Budget(dollars=dollars), prices, most=500, least=10, users_each=users)
    assert most == 0 or 10 <= most <= 500
    assert not most or spent.dollars + prices.cost(posts=most, users=most * users) <= dollars + 1e-6


@pytest.mark.parametrize("read", [cost.read_counts, plans.begun_at])
def test_what_was_paid_is_not_forgotten_because_its_file_cannot_be_read_now(tmp_path, monkeypatch, read):
    memory = tmp_path / "memory.json"
    assert not read(memory)
    memory.write_text("{}")

    def no_more_files(*_):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(Path, "read_text", no_more_files)
    with pytest.raises(OSError, match="Too many open files"):
        read(memory)
