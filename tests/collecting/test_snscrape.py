"""snscrape reads public pages of a server on this machine, which limits, fails and breaks off."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys

import pytest

from covmis_build.archive import formats, pages
from covmis_build.archive.forgetting import Forget
from covmis_build.archive.formats import mastodon
from covmis_build.archive.formats.snscrape import read, recognises_line
from covmis_build.collecting.prices import Budget
from covmis_build.collecting.sources import snscrape
from covmis_build.errors import InputError
from tests.servers.loopback import says, tears
from tests.servers.public_pages import PublicPages

pytestmark = pytest.mark.needs("clients")
TELEGRAM, PROFILE = "telegram-channel", "mastodon-profile"


@pytest.fixture
def serve(monkeypatch):
    opened = []

    def start(*args, **settings):
        opened.append(server := PublicPages(*args, **settings).__enter__())
        server.answer_for_all(monkeypatch)
        return server

    yield start
    for one in opened:
        one.close()


def go(run, job, tmp_path, module, query, **how):
    window = {name: how.pop(name) for name in ("since", "until") if name in how}
    asked = snscrape.known(module, query)
    task = job(asked, source="snscrape", query="", mode=module, **window)
    done = run([task], snscrape.searcher(module), snscrape.platform(module), **how)
    paths = list(tmp_path.rglob("*.zst"))
    return done, [item for path in paths for page in pages.lines(path) for item in page["items"]]


def urls(numbers, place="https://t.me/s/durov"):
    return [f"{place}/{number}" for number in numbers]


def test_every_page_of_a_channel_is_kept_as_snscrape_writes_it(serve, run, job, tmp_path):
    server = serve({"durov": 50})
    done, items = go(run, job, tmp_path, TELEGRAM, "@durov")
    assert [item["url"] for item in items] == urls(range(50, 0, -1))
    assert (done.finished, [one.query.get("before") for one in server.requests]) == (1, [None, "31", "11"])
    loaded = snscrape.load("telegram").TelegramChannelScraper("durov")
    assert items == [json.loads(item.json()) for item in loaded.get_items()]


def test_an_account_of_mastodon_is_followed_to_its_end(serve, run, job, tmp_path):
    serve({}, statuses=45)
    done, items = go(run, job, tmp_path, PROFILE, "@ada@social.example")
    assert [item["url"] for item in items] == urls(range(45, 0, -1), "https://social.example/@ada")
    assert done.finished == 1


@pytest.mark.parametrize(
    ("module", "query", "ids"),
    [(TELEGRAM, "durov", "telegram:durov/{}"), (PROFILE, "@ada@social.example", "masto:social.example/{}")],
)
def test_the_archive_reads_what_was_collected(serve, run, job, tmp_path, module, query, ids):
    serve({"durov": 25}, statuses=25)
    go(run, job, tmp_path, module, query)
    (path,) = tmp_path.rglob("*.zst")
    for page in pages.lines(path):
        assert recognises_line(page)
        line = json.dumps(page, separators=(",", ":")).encode()
        assert formats.KNOWN.detect(line) == "snscrape"
        posts = read(line)
        assert len(posts) == len(page["items"]) > 0
        for post, item in zip(posts, page["items"], strict=True):
            number = item["url"].rpartition("/")[2]
            assert post.post_id == ids.format(number)
            assert f"post {number} about mast" in post.text
            assert post.created_at.startswith("2024-01-01T00:")
            assert f"https://news.example/{number}" in post.urls
            assert post.retrieved_at


PASSING = {
    "rate limit": says(429, b"", retry_after="7"),
    "outage": says(500, b"<html></html>"),
    "torn": tears(0.5),
}


@pytest.mark.parametrize("fault", PASSING)
def test_a_passing_fault_costs_nothing_but_time(serve, run, job, tmp_path, time, fault):
    server = serve({"durov": 50})
    server.faults.extend([None, PASSING[fault]])
    done, items = go(run, job, tmp_path, TELEGRAM, "durov")
    assert [item["url"] for item in items] == urls(range(50, 0, -1))
    assert (done.finished, len(server.requests)) == (1, 4)
    assert (7.0 if fault == "rate limit" else 4.0) in time.waited


def test_an_outage_stops_and_the_crawl_goes_on_where_it_was(serve, run, job, tmp_path):
    server = serve({"durov": 50})
    server.faults.extend([None, *[says(500, b"")] * 6])
    done, items = go(run, job, tmp_path, TELEGRAM, "durov")
    assert (done.fault, len(items)) == ("outage", 20)
    asked = len(server.requests)
    done, items = go(run, job, tmp_path, TELEGRAM, "durov")
    assert [item["url"] for item in items] == urls(range(50, 0, -1))
    assert [one.query.get("before") for one in server.requests[asked:]] == ["31", "11"]


def test_a_budget_is_not_passed(serve, run, job, tmp_path):
    serve({"durov": 50})
    done, items = go(run, job, tmp_path, TELEGRAM, "durov", budget=Budget(posts=45))
    assert (done.fault, len(items)) == ("budget", 40)
    done, items = go(run, job, tmp_path, TELEGRAM, "durov", budget=Budget(requests=1))
    assert (done.finished, len(items)) == (1, 50)


def test_pages_older_than_the_window_are_not_asked_for(serve, run, job, tmp_path):
    server = serve({"durov": 100})
    go(run, job, tmp_path, TELEGRAM, "durov", since="2024-01-01T01:15:00Z")
    assert [one.query.get("before") for one in server.requests] == [None, "81", "61"]


def test_an_empty_channel_is_complete_and_a_missing_one_is_told(serve, run, job, tmp_path):
    serve({"empty": 0})
    done, items = go(run, job, tmp_path, TELEGRAM, "empty")
    assert (done.finished, items, done.gaps) == (1, [], [])
    done, _ = go(run, job, tmp_path, TELEGRAM, "missing")
    assert (done.finished, done.fault) == (0, "")
    assert "Telegram shows no posts of this name" in done.gaps[0].reason
    done, _ = go(run, job, tmp_path, PROFILE, "@nobody@social.example")
    assert "does not exist" in done.gaps[0].reason


def test_a_page_of_another_shape_is_told(serve, run, job, tmp_path):
    serve({}, statuses=5).faults.append(says(200, b"<html><div id='mastodon'></div></html>"))
    done, _ = go(run, job, tmp_path, PROFILE, "@ada@social.example")
    assert "cannot read" in done.gaps[0].reason


@pytest.mark.parametrize(
    ("module", "query", "words"),
    [
        ("twitter-search", "mast", "X has required a login since 2023"),
        ("facebook-user", "a", "requires a login"),
        ("instagram-hashtag", "a", "requires a login"),
        ("reddit-search", "mast", "has required a login"),
        ("telegram", "durov", "no module"),
        (TELEGRAM, "two words", "nothing for telegram-channel"),
        (PROFILE, "ada", "nothing for mastodon-profile"),
    ],
)
def test_what_cannot_work_is_refused_before_it_starts(module, query, words):
    with pytest.raises(InputError, match=words) as refused:
        snscrape.known(module, query)
    assert refused.value.exit_code == 2
    assert "\n" not in str(refused.value)


def test_snscrape_loads_on_pythons_without_find_module():
    """Its own package does not, from 3.12 on; what the loader's absence does can be shown on 3.11, too."""
    place = importlib.util.find_spec("snscrape").submodule_search_locations[0]
    probe = (
        "import importlib.machinery as m; m.FileFinder.__dict__.get('find_module') and delattr(m.FileFinder, 'find_module')\n"
        "try:\n import snscrape.modules\nexcept AttributeError as error:\n print('find_module' in str(error))\n"
        "from covmis_build.collecting.sources.snscrape import load\n"
        "print(load('telegram').TelegramChannelScraper.name, load('mastodon').MastodonProfileScraper.name)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", probe], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "telegram-channel", "mastodon-profile"], (place, done.stderr)


def test_a_boost_a_warning_and_a_line_of_snscrape_itself():
    toot = {
        "_type": "snscrape.modules.mastodon.Toot", "url": "https://social.example/@ada/7", "id": "7", "date": "2024-01-01T00:07:00+00:00",
        "text": "a warning", "spoilerText": "hidden words", "links": None, "attachments": [{"name": "a.png", "url": "https://x/a.png"}],
        "user": {"_type": "snscrape.modules.mastodon.User", "account": "@ada@social.example"},
    }  # fmt: skip
    boost = {
        "_type": "snscrape.modules.mastodon.Boost",
        "user": {"account": "@bob@social.example"},
        "toot": toot,
    }
    for row in (toot, boost):
        line = json.dumps(row).encode()
        assert formats.KNOWN.detect(line) == "mastodon"
        (post,) = mastodon.read(line)
        assert (post.post_id, post.text) == ("masto:social.example/7", "a warning\n\nhidden words")


def test_purged_posts_and_people_are_not_kept():
    page = {
        "items": [
            {
                "_type": "snscrape.modules.telegram.TelegramPost",
                "url": "https://t.me/s/durov/12",
                "content": "a",
            },
            {
                "_type": "snscrape.modules.telegram.TelegramPost",
                "url": "https://t.me/s/durov/13",
                "content": "b",
            },
            {
                "_type": "snscrape.modules.mastodon.Toot",
                "url": "https://s.example/@ada/7",
                "user": {"account": "@ada@s.example"},
            },
        ]
    }
    left = Forget(frozenset({"telegram:durov/12"}), frozenset({"author:masto:s.example/ada"})).without(page)
    assert [item["url"] for item in left["items"]] == ["https://t.me/s/durov/13"]
