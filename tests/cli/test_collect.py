"""`covmis collect` from the outside: a study, a platform's server, and what stands on disk afterwards."""

from __future__ import annotations

import contextlib
import csv
import json
import logging
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from covmis_build import addresses
from covmis_build.archive import pages
from covmis_build.cli import app
from covmis_build.collecting.sources import bluesky, x
from covmis_build.errors import InputError, ServiceError
from covmis_build.study.study import open_study
from tests.servers.bluesky import Bluesky
from tests.servers.bluesky import posts as skeets
from tests.servers.loopback import says
from tests.servers.mastodon import Mastodon
from tests.servers.mastodon import posts as toots
from tests.servers.public_pages import PublicPages
from tests.servers.x import TYPE, X, posts
from tests.services import object_store

pytestmark = pytest.mark.needs("clients")

TOKEN = "AAAAplanted-token-7f3kQ9zX"
CLAIMS = """claim_id,text,language,keywords,titles,news_urls,fact_check_urls
c1,Masts spread the virus.,en,mast virus,The masts came,https://example.org/masts,
c2,Towers spread it.,en,tower,,https://twitter.com/a/status/1250000000000005065,
"""


@pytest.fixture
def bucket():
    """A store with a bucket, found by this process; asked for before `study`, which lets nobody sleep."""
    with object_store.store("bucket") as environment, pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        addresses._system.cache_clear()
        yield
    addresses._system.cache_clear()


@pytest.fixture
def study(tmp_path, monkeypatch):
    (tmp_path / "study.toml").write_text(
        'title = "t"\n[retrieval]\nsince = "2020-01-01"\nuntil = "2024-12-31"\n'
    )
    (tmp_path / "queries").mkdir()
    (tmp_path / "queries" / "claims.csv").write_text(CLAIMS)
    (tmp_path / "data" / "archive").mkdir(parents=True)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    monkeypatch.setenv("X_BEARER_TOKEN", TOKEN)
    monkeypatch.setenv("BLUESKY_HANDLE", "nobody.test")
    monkeypatch.setenv("BLUESKY_APP_PASSWORD", TOKEN)
    monkeypatch.setenv("MASTODON_ACCESS_TOKEN", TOKEN)
    return tmp_path


@pytest.fixture
def on_x(monkeypatch):
    with X(posts(60)) as server:
        monkeypatch.setenv(x.ADDRESS, server.address)
        monkeypatch.setattr(x, "PAGES", {"all": 20, "recent": 20, "ids": 20})
        yield server


def covmis(study, *words, fails=None):
    result = CliRunner().invoke(app, [*words, "--study", str(study)])
    if fails:
        assert isinstance(result.exception, fails), result.output
        return str(result.exception)
    if result.exception:
        raise result.exception
    return result.stdout


def table(path):
    return list(csv.DictReader(path.read_text("utf-8-sig").splitlines()))


def collected(study):
    return [
        post["id"]
        for path in sorted((study / "data/archive").rglob("*.zst"))
        for page in pages.lines(path)
        for post in page.get("data", [])
    ]


def test_x_needs_a_budget_and_a_token(study, monkeypatch):
    assert "--budget 25" in covmis(study, "collect", "x", fails=InputError)
    monkeypatch.delenv("X_BEARER_TOKEN")
    assert "X_BEARER_TOKEN" in covmis(study, "collect", "x", "--budget", "1", fails=InputError)
    assert not list((study / "data").rglob("*.zst"))


def test_the_price_is_known_before_it_is_paid_and_no_count_is_paid_twice(study, on_x):
    words = ("collect", "x", "--estimate", "--budget", "10", "--json")
    first = json.loads(covmis(study, *words))
    assert first["posts"] == 60 + 1  # the keywords find all; one post is looked up
    assert first["dollars"] == pytest.approx(0.005 * 61)
    assert first["estimate_dollars"] == pytest.approx(0.01 * first["estimate_requests"])
    assert first["prices_date"]
    asked = len(on_x.requests)
    again = json.loads(covmis(study, *words))
    assert (again["posts"], again["estimate_requests"], len(on_x.requests)) == (61, 0, asked)
    assert "itself is billed" in covmis(study, "collect", "x", "--estimate", "--budget", "10")
    assert not collected(study)


def test_an_estimate_keeps_to_the_budget(study, on_x):
    found = json.loads(covmis(study, "collect", "x", "--estimate", "--budget", "0.6", "--json"))
    assert "budget" in found["stopped"]
    assert found["estimate_dollars"] <= 0.6


def test_a_budget_stops_the_crawl_cleanly_and_resume_goes_on(study, on_x):
    first = json.loads(covmis(study, "collect", "x", "--budget", "0.2", "--json"))
    assert first["dollars"] <= 0.2
    assert "budget" in first["stopped"]
    rows = table(study / "data/collect/x/gaps.csv")
    assert len(rows) == len(first["gaps"]) > 0
    assert "0.20" in rows[0]["reason"]
    text = covmis(study, "collect", "x", "--budget", "5", "--resume")
    assert "Searches complete" in text
    found = collected(study)
    assert len(found) == 61
    requests = len(on_x.requests)
    assert "Nothing remains" in covmis(study, "collect", "x", "--budget", "5")
    assert len(on_x.requests) == requests


def test_a_changed_claim_list_fetches_only_what_is_new(study, on_x):
    covmis(study, "collect", "x", "--budget", "5")
    requests = len(on_x.requests)
    with (study / "queries/claims.csv").open("a") as file:
        file.write("c3,Posts.,en,post,,,\n")
    covmis(study, "collect", "x", "--budget", "5")
    new = on_x.requests[requests:]
    assert {one.query["query"] for one in new} == {"post"}


def test_outages_end_in_exit_code_3_with_everything_kept(study, on_x):
    on_x.faults.extend([None, None, None, says(402, {"type": TYPE + "credits", "title": "CreditsDepleted"})])
    message = covmis(study, "collect", "x", "--budget", "5", fails=ServiceError)
    assert "no credit left" in message
    assert len(collected(study)) == 20
    covmis(study, "collect", "x", "--budget", "5", "--resume")
    assert len(collected(study)) == 61


def test_what_was_collected_is_matched_by_the_study(study, on_x):
    covmis(study, "collect", "x", "--budget", "5")
    from covmis_build.building.run import run
    from covmis_build.collecting.plans import known, uncollected
    from covmis_build.storage import read_table
    from covmis_build.study.study import open_study

    opened = open_study(study)
    run(opened.places, opened.settings, ["retrieve"])
    hits = read_table(opened.places.table("hits"), "hits")
    assert set(hits["claim_id"]) >= {"c1"}
    assert len(read_table(opened.places.table("posts"), "posts")) == 60
    queries = read_table(opened.places.table("queries"), "queries")
    assert uncollected(study / "data/archive/x", queries) == []
    assert len(known(study / "data/archive/x")) == 6
    assert "not been collected" not in covmis(study, "status")
    with (study / "queries/claims.csv").open("a") as file:
        file.write("c3,Posts.,en,post,,,\n")
    run(opened.places, opened.settings, ["queries"])
    assert "1 query not collected to the end from x" in covmis(study, "status")
    queries.loc[0, "expression"] = "changed"
    assert uncollected(study / "data/archive/x", queries) == [queries.loc[0, "query_id"]]


@pytest.mark.long  # beside a whole suite the store did not always begin to answer
@pytest.mark.needs("object_store")
def test_a_bucket_is_collected_into_stopped_resumed_and_run_as_a_folder_is(
    bucket, study, on_x, tmp_path_factory
):
    """Two studies, the same but for where their archive is: the same hits, items and sample, and nothing of it here."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    shutil.copytree(study / "queries", elsewhere / "queries")
    settings = (study / "study.toml").read_text() + "[cleaning]\nminimum_posts = 4\nminimum_words = 2\n"
    (study / "study.toml").write_text(settings)
    settings = settings.replace("[retrieval]\n", '[retrieval]\narchive = ["s3://bucket/archive"]\n')
    (elsewhere / "study.toml").write_text(settings)
    for folder in (study, elsewhere):
        stopped = json.loads(covmis(folder, "collect", "x", "--budget", "0.2", "--json"))
        assert "budget" in stopped["stopped"]
        assert "Searches complete" in covmis(folder, "collect", "x", "--budget", "5", "--resume")
        requests = len(on_x.requests)
        assert "Nothing remains" in covmis(folder, "collect", "x", "--budget", "5")
        assert len(on_x.requests) == requests
        covmis(folder, "run")
    here, there = open_study(study), open_study(elsewhere)
    held = [str(path) for path in there.places.archives[0].rglob()]
    assert len(held) == len(list((study / "data/archive").rglob("*.zst"))) > 0  # joined: a file a search
    assert "not been collected" not in covmis(elsewhere, "status")
    assert not any(outcome.made for outcome in there.run().stages)
    assert not list(elsewhere.rglob("*.zst"))
    assert len(here.sample) > 10
    for name in ("queries", "hits", "items", "sample", "dropped"):
        assert there.places.table(name).read_bytes() == here.places.table(name).read_bytes(), name
    assert there.posts.drop(columns="retrieved_at").equals(here.posts.drop(columns="retrieved_at"))
    assert there.status().to_dict()["flow"] == here.status().to_dict()["flow"]


def test_bluesky_and_mastodon_cost_nothing(study, monkeypatch):
    with Bluesky(skeets(30)) as server, Mastodon(toots(30)) as other:
        monkeypatch.setenv(bluesky.ADDRESS, server.address)
        assert "costs no money" in covmis(study, "collect", "bluesky", "--budget", "5", fails=InputError)
        done = json.loads(covmis(study, "collect", "bluesky", "--json"))
        assert (done["dollars"], done["stopped"]) == (0, "")
        assert "belongs to no server yet and is not sent to" in covmis(
            study, "collect", "mastodon", "--server", other.address, fails=InputError
        )
        monkeypatch.setenv("MASTODON_SERVER", other.address)
        done = json.loads(covmis(study, "collect", "mastodon", "--server", other.address, "--json"))
        assert done["posts"] == 30
        assert "Nothing remains" in covmis(
            study, "collect", "mastodon", "--server", other.address, "--resume"
        )
        server_name = "https://elsewhere.test"
        left = json.loads(
            covmis(study, "collect", "mastodon", "--server", server_name, "--estimate", "--json")
        )
        assert left["searches"] == 6  # a post on X has two addresses: twitter.com and x.com
        estimate = json.loads(covmis(study, "collect", "bluesky", "--estimate", "--json"))
        assert estimate["posts"] is None


def test_every_id_gets_an_outcome_and_what_is_not_found_is_asked_for_twice(study, on_x):
    names = [one["id"] for one in on_x.corpus]
    on_x.gone.update(
        {names[0]: "flickering", names[1]: "resource-not-found", names[2]: "not-authorized-for-resource",
         names[3]: "suspended", names[4]: "silent"}
    )  # fmt: skip
    file = study / "ids.csv"
    file.write_text("tweet_id,note\n" + "".join(f"{one},n\n" for one in names))
    assert "up to $0.30" in covmis(study, "collect", "ids", str(file), fails=InputError)
    free = json.loads(covmis(study, "collect", "ids", str(file), "--estimate", "--json"))
    assert (free["dollars"], len(on_x.requests)) == (0.3, 0)
    stopped = json.loads(covmis(study, "collect", "ids", str(file), "--budget", "0.15", "--json"))
    assert stopped["not_looked_up"] > 0
    done = json.loads(covmis(study, "collect", "ids", "--resume", "--budget", "1", "--json"))
    assert done["outcomes"] == {"available": 56, "deleted": 1, "protected": 1, "suspended": 1, "unknown": 1}
    rows = table(study / "data/collect/outcomes.csv")
    states = {row["post_id"]: row["outcome"] for row in rows}
    assert states[f"x:{names[0]}"] == "available"
    assert states[f"x:{names[1]}"] == "deleted"
    assert len(states) == 60
    assert all(row["checked_at"] for row in rows)
    requests = len(on_x.requests)
    covmis(study, "collect", "ids", str(file), "--budget", "1")
    assert len(on_x.requests) == requests
    covmis(study, "collect", "ids", str(file), "--budget", "1", "--again")
    assert len(on_x.requests) > requests


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1.2E+18\n", "neither|not a post id|lacks the column|broken by a spreadsheet"),
        ("tweet_id\n1.2E+18\n", "broken by a spreadsheet"),
        ("tweet_id\n1250000000000000000\n1251000000000000000\n1252000000000000000\n", "rounded"),
        ("name\nx\n", "lacks the column"),
        ("", "empty"),
        ("tweet_id\n125\nsomething\n", "row 3"),
    ],
)
def test_broken_ids_are_refused_before_anything_is_asked(study, on_x, text, words):
    import re

    file = study / "ids.csv"
    file.write_text(text)
    message = covmis(study, "collect", "ids", str(file), "--budget", "1", fails=InputError)
    assert re.search(words, message), message
    assert not on_x.requests


def echoing(request, right):
    """A server that repeats the secret in its error, as gateways do."""
    from tests.servers.loopback import Answer

    told = f"bad header: {request.headers.get('authorization')}"
    return Answer(400, {"title": "Invalid Request", "type": TYPE + "invalid-request", "detail": told})


def test_the_token_is_found_nowhere(study, on_x, caplog, tmp_path):
    """Real processes with everything that can go wrong; then every file, output and argument is searched."""
    caplog.set_level(logging.DEBUG)
    on_x.faults.extend(
        [
            echoing,
            lambda request, right: right.__class__(
                200, {"data": [], "meta": {}, "echo": request.headers["authorization"]}
            ),
            says(200, b"<html>"),
            says(401, {"title": "Unauthorized"}),
        ]
    )
    arguments = []

    def look(number):
        for one in Path("/proc").iterdir():
            with contextlib.suppress(OSError):  # processes of other tests come and go
                arguments.append((one / "cmdline").read_bytes() if one.name.isdigit() else b"")

    on_x.before = look
    crash = "import sys,time,logging;logging.basicConfig(level=0);time.sleep=lambda s:None;"
    runs = [
        crash + "from covmis_build.cli import main;main()",
        crash + "from covmis_build.collecting import crawl\ndef boom(*a): raise RuntimeError('boom')\n"
        "crawl.pages.append=boom\nfrom covmis_build.cli import main;main()",
    ]
    outputs = []
    for run in runs:
        command = [
            sys.executable,
            "-X",
            "dev",
            "-c",
            run,
            "collect",
            "x",
            "--budget",
            "5",
            "--study",
            str(study),
        ]
        done = subprocess.run(
            command, capture_output=True, cwd=Path(__file__).parents[2], timeout=600, check=False
        )
        outputs += [done.stdout, done.stderr]
        assert done.returncode
    assert b"boom" in outputs[-1]
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    for path in tmp_path.rglob("*.zst"):
        files += [json.dumps(page).encode() for page in pages.lines(path)]
    assert len(files) > 4
    assert on_x.requests[0].headers["authorization"] == f"Bearer {TOKEN}"
    for text in (*outputs, *files, *arguments, caplog.text.encode()):
        assert TOKEN.encode() not in text


def test_a_budget_counts_over_all_resumes(study, on_x):
    covmis(study, "collect", "x", "--budget", "0.2")
    there = len(collected(study))
    requests = len(on_x.requests)
    again = json.loads(covmis(study, "collect", "x", "--budget", "0.2", "--resume", "--json"))
    assert "used up" in again["stopped"]
    assert (len(collected(study)), len(on_x.requests)) == (there, requests)
    covmis(study, "collect", "x", "--budget", "1", "--resume")
    assert len(collected(study)) == 61


def test_a_budget_of_look_ups_counts_over_all_resumes(study, on_x):
    file = study / "ids.csv"
    file.write_text("tweet_id\n" + "".join(f"{one['id']}\n" for one in on_x.corpus))
    first = json.loads(covmis(study, "collect", "ids", str(file), "--budget", "0.15", "--json"))
    assert (first["not_looked_up"], first["dollars"]) == (30, 0.15)
    requests = len(on_x.requests)
    done = json.loads(covmis(study, "collect", "ids", "--resume", "--budget", "0.15", "--json"))
    assert "used up" in done["stopped"]
    assert (done["not_looked_up"], len(on_x.requests)) == (30, requests)
    more = json.loads(covmis(study, "collect", "ids", "--resume", "--budget", "0.2", "--json"))
    assert (more["not_looked_up"], more["dollars"]) == (20, 0.05)
    covmis(study, "collect", "ids", "--resume", "--budget", "0.45")
    assert len(collected(study)) == 60


def test_a_notebook_collects_as_the_command_line_does(study, on_x):
    opened = open_study(study)
    assert opened.estimate_collecting("x", budget="10").posts == 61
    told = []
    done = opened.collect("x", budget="5", notice=told.append)
    assert (done.crawled.finished, len(collected(study))) == (6, 61)
    assert "budget: $5.00" in told[0]
    with pytest.raises(InputError, match="no platform is called 'twitter'"):
        opened.collect("twitter")


@pytest.fixture
def channel(monkeypatch):
    with PublicPages({"durov": 50}) as server:
        server.answer_for_all(monkeypatch)
        yield server


CHANNEL = ("collect", "snscrape", "telegram-channel", "durov")


def test_a_channel_is_collected_within_a_budget_resumed_and_read(study, channel):
    first = json.loads(covmis(study, *CHANNEL, "--budget", "25posts", "--json"))
    assert (first["posts"], first["stopped"][:10], first["gaps"][0]["until"]) == (
        20,
        "the budget",
        "2024-01-01T00:31:00Z",
    )
    done = json.loads(covmis(study, *CHANNEL, "--resume", "--json"))
    assert (done["posts"], done["finished"], done["dollars"]) == (30, 1, 0)
    asked = len(channel.requests)
    assert "Nothing remains" in covmis(study, *CHANNEL)
    assert len(channel.requests) == asked
    covmis(study, "run", "read")
    posts = open_study(study).archive.to_pandas(["post_id"])
    assert sorted(posts["post_id"]) == sorted(f"telegram:durov/{number}" for number in range(1, 51))


def test_newer_posts_of_a_channel_are_added(study, channel):
    path = study / "study.toml"
    whole = path.read_text()
    path.write_text(whole.replace("2024-12-31", "2024-06-30"))
    covmis(study, *CHANNEL)
    path.write_text(whole)
    asked = len(channel.requests)
    channel.channels["durov"] = 55
    assert json.loads(covmis(study, *CHANNEL, "--resume", "--json"))["posts"] == 0
    assert json.loads(covmis(study, *CHANNEL, "--json"))["posts"] == 20
    assert len(channel.requests) == asked + 1


@pytest.mark.parametrize(
    "module", ["twitter-search", "facebook-group", "instagram-user", "reddit-user", "telegram"]
)
def test_what_snscrape_cannot_collect_is_refused_in_one_line(study, channel, module):
    told = covmis(study, "collect", "snscrape", module, "x", fails=InputError)
    assert "\n" not in told
    assert channel.requests == []
    assert "costs no money" in covmis(study, *CHANNEL, "--budget", "5", fails=InputError)
