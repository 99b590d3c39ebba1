"""A model at an OpenAI-compatible address: faults, kills, a budget; every item asked once, every answer kept."""

import json
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from covmis_build import storage
from covmis_build.cli.model import app
from covmis_build.errors import InputError, ServiceError
from covmis_build.models import asking
from covmis_build.models.asking import Server, ask
from covmis_build.models.prompt import Sampling, prompt, read_answers
from tests.models.killable import ITEMS, LABELS
from tests.servers.loopback import says, tears
from tests.servers.openai import OpenAI

TOY = Sampling("toy")
waits: list[float] = []


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(asking.time, "sleep", waits.append)
    waits.clear()
    with OpenAI() as running:
        running.url = f"{running.address}/v1"
        yield running


def answers(journal):
    rows = [json.loads(line) for line in journal.read_text().splitlines()]
    return [row for row in rows if "answer" in row]


def test_every_item_is_asked_once_and_every_answer_kept(server, tmp_path):
    journal = tmp_path / "a.jsonl"
    requests = prompt(ITEMS, LABELS)
    asked = ask(requests, Server(server.url), TOY, journal)
    assert (asked.asked, asked.left, asked.tokens) == (60, 0, 600)
    assert server.contents == [request.content for request in requests]
    kept = answers(journal)
    assert [row["item_id"] for row in kept] == sorted(ITEMS["item_id"])
    assert {row["model"] for row in kept} == {"toy-2026"}
    assert kept[0]["raw"]["usage"] == {"total_tokens": 10}
    assert kept[0]["parameters"] == {"model": "toy", "temperature": 0.0, "max_tokens": 400, "seed": 0}
    assert kept[0]["at"].startswith("20")
    again = ask(requests, Server(server.url), TOY, journal)
    assert (again.asked, again.already, len(server.requests)) == (0, 60, 60)
    assert read_answers(journal, LABELS).predictions["label"].tolist() == ["favor"] * 60


def test_parameters_and_schema_are_sent_and_seeds_are_keyed(server, tmp_path):
    ask(prompt(ITEMS, LABELS), Server(server.url, "secret"), Sampling("toy", 0.7, 50, 3), tmp_path / "a")
    bodies = [json.loads(request.body) for request in server.requests]
    assert bodies[0]["temperature"] == 0.7
    assert bodies[0]["response_format"]["json_schema"]["schema"]["properties"]["label"]["enum"] == LABELS
    assert len({body["seed"] for body in bodies}) == 60
    assert server.requests[0].headers["authorization"] == "Bearer secret"
    assert "secret" not in (tmp_path / "a").read_text()
    ask(prompt(ITEMS[:1], LABELS), Server(server.url), TOY, tmp_path / "b", with_schema=False)
    assert "response_format" not in json.loads(server.requests[-1].body)


def test_faults_are_waited_out(server, tmp_path):
    server.faults.extend(
        [
            says(429, {"error": "slow down"}, retry_after="7"), says(503), tears(), says(200, b"<html>"), says(200, {}),
            None, says(429, {}, retry_after="soon"), says(200, {"choices": []}),
        ]
    )  # fmt: skip
    asked = ask(prompt(ITEMS, LABELS), Server(server.url), TOY, tmp_path / "a")
    assert (asked.asked, asked.left, asked.requests) == (60, 0, 67)
    assert 7 in waits
    assert len(server.contents) == 60


def test_refusals_and_wrong_json_are_answers_too(server, tmp_path):
    said = iter(["I'm sorry, I cannot help.", '{"label": "fav', "favor"])
    server.says = lambda body: next(said)
    ask(prompt(ITEMS[:3], LABELS), Server(server.url), TOY, tmp_path / "a")
    read = read_answers(tmp_path / "a", LABELS)
    assert read.predictions["item_id"].tolist() == ["c|x:002"]
    assert read.failures["reason"].tolist() == ["refuses to answer", "cut off"]


def test_a_budget_holds_over_all_runs(server, tmp_path):
    server.faults.append(says(500))
    requests = prompt(ITEMS, LABELS)
    first = ask(requests, Server(server.url), TOY, tmp_path / "a", budget=10)
    assert (first.asked, first.left, len(server.requests)) == (9, 51, 10)
    assert "budget" in first.why
    ask(requests, Server(server.url), TOY, tmp_path / "a", budget=10)
    assert len(server.requests) == 10
    ask(requests, Server(server.url), TOY, tmp_path / "a", budget=11)
    assert len(server.requests) == 11


def test_what_the_server_refuses_is_said_and_what_was_answered_stays(server, tmp_path):
    server.faults.extend([None, None, says(401, {"error": {"message": "wrong key"}})])
    with pytest.raises(ServiceError, match=r"status 401.*wrong key"):
        ask(prompt(ITEMS, LABELS), Server(server.url), TOY, tmp_path / "a")
    assert len(answers(tmp_path / "a")) == 2
    server.close()
    with pytest.raises(ServiceError, match="no answer from"):
        ask(prompt(ITEMS, LABELS), Server(server.url), TOY, tmp_path / "a")
    server.__enter__()


def test_a_server_that_never_answers_one_item_leaves_it(server, tmp_path):
    server.faults.extend([says(500)] * asking.ATTEMPTS)
    asked = ask(prompt(ITEMS[:3], LABELS), Server(server.url), TOY, tmp_path / "a")
    assert (asked.asked, asked.left) == (2, 1)
    assert ask(prompt(ITEMS[:3], LABELS), Server(server.url), TOY, tmp_path / "a").left == 0


def test_a_journal_belongs_to_one_question(server, tmp_path):
    requests = prompt(ITEMS[:2], LABELS)
    ask(requests, Server(server.url), TOY, tmp_path / "a")
    for other in (Sampling("other"), Sampling("toy", 1.0)):
        with pytest.raises(InputError, match="another model, template or sampling"):
            ask(requests, Server(server.url), other, tmp_path / "a")
    with pytest.raises(InputError, match="another model"):
        ask(prompt(ITEMS[:2], LABELS, guideline="new"), Server(server.url), TOY, tmp_path / "a")
    (tmp_path / "b").write_text("no journal\n")
    with pytest.raises(InputError, match="row 1: is no line"):
        ask(requests, Server(server.url), TOY, tmp_path / "b")


@pytest.mark.parametrize(
    ("url", "key", "message"),
    [
        ("localhost:8080", "", "is no address"),
        ("ftp://a/v1", "", "is no address"),
        ("http://example.org/v1", "k", "unencrypted"),
        ("https://me:pw@example.org/v1", "", "name or password"),
    ],
)
def test_odd_addresses_are_refused(url, key, message):
    with pytest.raises(InputError, match=message):
        Server(url, key)


@pytest.mark.parametrize("kills", [4, pytest.param(20, marks=pytest.mark.long)])
def test_kills_at_any_moment_lose_no_answer_and_ask_nothing_twice(tmp_path, kills):
    """Killed while the server answers, between request and journal, and between items."""
    journal, chance = tmp_path / "a.jsonl", random.Random(5)
    with OpenAI() as running:
        command = [sys.executable, "-m", "tests.models.killable", f"{running.address}/v1", str(journal)]
        for _ in range(kills):
            child = subprocess.Popen(command, cwd=Path.cwd())
            at = len(running.requests) + chance.randrange(1, 4)
            during = chance.random() < 0.5
            over = threading.Event()

            def kill(number, at=at, child=child, over=over):
                if number == at:
                    child.send_signal(signal.SIGKILL)
                    over.set()

            running.before, running.after = (
                (kill, lambda number: None) if during else (lambda number: None, kill)
            )
            child.wait()
            if not over.is_set():
                break
        running.before = running.after = lambda number: None
        assert subprocess.run(command, check=False, cwd=Path.cwd()).returncode == 0
        assert len(running.contents) == len(set(running.contents)) == 60
    kept = answers(journal)
    assert sorted(row["item_id"] for row in kept) == sorted(ITEMS["item_id"])
    raws = {row["raw"]["id"] for row in kept}
    assert len(raws) == 60


def test_the_command_says_what_would_be_sent_and_sends_it_only_when_told(server, tmp_path, monkeypatch):
    ITEMS.rename(columns={"text": "post"}).to_csv(tmp_path / "posts.csv", index=False)
    words = ["ask", tmp_path / "posts.csv", "--url", server.url, "--model", "toy", "--journal", tmp_path / "a.jsonl",
             "--out", tmp_path / "p.csv", "--labels", "favor,against,neither"]  # fmt: skip

    def run(*more):
        return CliRunner().invoke(app, [*map(str, words), *more])

    told = run()
    assert "Posts are sent to" in told.stderr
    assert "60 posts with their claims" in told.stderr
    assert server.url in told.stderr
    assert not server.requests
    assert not (tmp_path / "a.jsonl").exists()
    told = run("--yes", "--json", "--budget", "20")
    assert told.exit_code == 3
    assert json.loads(told.stdout)["left"] == 40
    told = run("--yes", "--json")
    assert told.exit_code == 0
    assert json.loads(told.stdout)["predictions"] == 60
    assert len((tmp_path / "p.csv").read_text().splitlines()) == 61
    monkeypatch.delenv("NO_KEY", raising=False)
    assert isinstance(run("--yes", "--key-env", "NO_KEY").exception, InputError)


@pytest.mark.parametrize(
    ("reply", "label", "reason"),
    [
        (r'{"choices": [{"message": {"content": "favor \ud83d"}}]}', "", "names a label only within a sentence"),
        ('{"choices": [{"message": {"content": null, "tool_calls": [{"id": "favor"}]}}]}', "", "empty"),
        ('{"choices": [{"message": {"content": "against", "reasoning_content": "favor?"}}]}', "against", ""),
        (
            ('{"choices": [{"message": {"content": [{"type": "thinking", "thinking": "favor"}, '
            '{"type": "text", "text": "against"}]}}]}'), "against", "",
        ),
        ('{"choices": [{"text": "favor"}]}', "", "empty"),
        ('{"choices": [null]}', "", "empty"),
        ('{"model": {}, "usage": {"total_tokens": "9"}, "choices": [{"message": {"content": "favor"}}]}', "favor", ""),
    ],
    ids=["half a character", "tool calls", "reasoning", "parts", "old interface", "null", "odd fields"],
)  # fmt: skip
def test_odd_answers_are_kept_and_read(server, tmp_path, reply, label, reason):
    server.faults.append(says(200, reply.encode()))
    asked = ask(prompt(ITEMS[:2], LABELS), Server(server.url), TOY, tmp_path / "a")
    assert (asked.asked, asked.requests) == (2, 2)
    read = read_answers(tmp_path / "a", LABELS)
    assert [*read.predictions["label"]] == ([label, "favor"] if label else ["favor"])
    assert [*read.failures["reason"]] == ([reason] if reason else [])
    assert ask(prompt(ITEMS[:2], LABELS), Server(server.url), TOY, tmp_path / "a").already == 2


def test_what_is_too_long_too_deep_or_drips_is_no_answer(server, tmp_path, monkeypatch):
    long = json.dumps({"choices": [{"message": {"content": "favor " * 100_000}}]}).encode()
    monkeypatch.setattr(asking, "LONGEST_ANSWER", len(long) - 1)
    server.faults.extend([says(200, long), says(200, b'{"choices": ' + b"[" * 200_000)])
    asked = ask(prompt(ITEMS[:1], LABELS), Server(server.url), TOY, tmp_path / "a")
    assert (asked.asked, asked.requests) == (1, 3)
    clock = iter(range(0, 10**6, 200))
    monkeypatch.setattr(asking, "LONGEST_ANSWER", len(long))
    monkeypatch.setattr(asking.time, "monotonic", lambda: next(clock))  # each block takes 200 seconds
    server.faults.append(says(200, long))
    asked = ask(prompt(ITEMS[:1], LABELS), Server(server.url), TOY, tmp_path / "b")
    assert (asked.asked, asked.requests) == (1, 2)


def test_a_server_that_answers_nothing_gets_no_more_posts(server, tmp_path):
    server.faults.extend([says(200, b"<html>Sign in</html>")] * 1000)
    asked = ask(prompt(ITEMS, LABELS), Server(server.url), TOY, tmp_path / "a")
    assert (asked.asked, asked.left, asked.requests) == (0, 60, asking.SILENT * asking.ATTEMPTS)
    assert "3 items in a row" in asked.why


def test_an_answer_ends_a_row_of_silences(server, tmp_path):
    silent = [says(200, b"<html>Sign in</html>")] * ((asking.SILENT - 1) * asking.ATTEMPTS)
    server.faults.extend([*silent, says(200, {"choices": [{"message": {"content": "favor"}}]}), *silent])
    asked = ask(prompt(ITEMS, LABELS), Server(server.url), TOY, tmp_path / "a")
    assert (asked.asked, asked.left) == (60 - 2 * (asking.SILENT - 1), 2 * (asking.SILENT - 1))


def test_a_server_that_repeats_the_key_gives_nobody_the_key(server, tmp_path):
    echo = {"choices": [{"message": {"content": "favor"}}], "echo": "Bearer sk-secret"}
    server.faults.extend([says(200, echo), says(401, {"error": "wrong key sk-secret"})])
    with pytest.raises(ServiceError, match="wrong key …"):
        ask(prompt(ITEMS[:2], LABELS), Server(server.url, "sk-secret"), TOY, tmp_path / "a")
    assert "Bearer …" in (tmp_path / "a").read_text("utf-8")
    assert "sk-secret" not in (tmp_path / "a").read_text("utf-8")


def test_a_redirect_is_not_followed_and_says_where_it_leads(server, tmp_path):
    server.faults.append(says(307, b"", location="http://elsewhere.example/v1"))
    with pytest.raises(ServiceError, match=r"status 307.*elsewhere"):
        ask(prompt(ITEMS, LABELS), Server(server.url), TOY, tmp_path / "a")
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "key", ["sk-1\n", "sk 1", "sk-é", "sk-\x1b[31m"], ids=["end", "space", "letter", "escape"]
)
def test_a_key_that_no_header_can_hold_is_refused_without_being_shown(key):
    with pytest.raises(InputError, match="the key has a character") as refused:
        Server("https://example.org/v1", key)
    assert key not in str(refused.value)


def test_two_runs_do_not_ask_for_the_same_journal(server, tmp_path):
    with (
        storage.locked(tmp_path / ".a.lock", "covmis model ask"),
        pytest.raises(InputError, match="a is in use by `covmis model ask`"),
    ):
        ask(prompt(ITEMS, LABELS), Server(server.url), TOY, tmp_path / "a")
    assert not server.requests


def test_a_post_under_two_claims_is_refused_before_it_is_sent(server, tmp_path):
    rows = "post_id,claim,text,\nx:1,Masks kill,so true\nx:1,Masks help,so true\n"
    (tmp_path / "posts.csv").write_text(rows.replace(",\n", "\n"))
    words = ["ask", tmp_path / "posts.csv", "--url", server.url, "--model", "toy", "--journal", tmp_path / "a",
             "--out", tmp_path / "p.csv", "--labels", "favor,against", "--yes"]  # fmt: skip
    refused = CliRunner().invoke(app, [*map(str, words)]).exception
    assert isinstance(refused, InputError)
    assert "x:1 under several claims" in str(refused)
    assert not server.requests
