"""A server of its own, asked by many at once and killed while it saves: nothing is lost, nothing doubled."""

from __future__ import annotations

import asyncio
import csv
import random
import resource
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import httpx
import pytest

from covmis_build import storage
from covmis_build.claims.lists import read_claims
from covmis_build.errors import InputError
from covmis_build.study.study import open_study
from tests.annotation.small import covmis, label_both, pushed, rows_of, write_rows
from tests.workbench.conftest import HOSTILE, client_of, opening

pytestmark = pytest.mark.timeout(600)
PAGES = ("/", "/queries", "/flow", "/rounds", "/results", "/session", "/static/bench.js", "/nothing")
POST = """{"id_str": "1250000000000000000", "created_at": "Tue Apr 14 10:00:00 +0000 2020", "lang": "en",
 "entities": {"urls": []}, "full_text": "garlic"}""".replace("\n", "")


@pytest.fixture
def folder(tmp_path):
    """A round with four disagreements, and two claims; scripts in a claim, a comment and a file's name."""
    pushed(tmp_path)
    label_both(tmp_path, differ=lambda item: item.endswith(("3", "4")))
    sheet = tmp_path / "annotation/rounds/001/sheets/a1.csv"
    write_rows(sheet, [row | {"comment": HOSTILE} for row in rows_of(sheet)])
    covmis(tmp_path, "round", "pull")
    with (tmp_path / "queries/claims.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [("claim_id", "text", "keywords"), ("a", HOSTILE, "garlic"), ("b", "x", "onion")]
        )
    (tmp_path / "data/archive/<img src=x onerror=alert(1)>.jsonl").write_text(POST)
    covmis(tmp_path, "run", "read")
    return tmp_path


@contextmanager
def browser_of(address):
    base = address.split("/?")[0]
    with httpx.Client(base_url=base, headers={"origin": base}, trust_env=False, timeout=120) as client:
        client.get(address)
        yield client


def test_scripts_in_a_comment_a_claim_and_a_file_s_name_stay_text(folder):
    client = client_of(open_study(folder))
    for path in PAGES:
        page = client.get(path).text
        assert HOSTILE not in page
        assert "<img src=x" not in page
    assert "&lt;script&gt;" in client.get("/rounds").text.partition('id="cases"')[2]
    assert "&lt;script&gt;" in client.get("/queries").text
    assert "&lt;img src=x onerror=alert(1)&gt;.jsonl" in client.get("/").text
    with pytest.raises(InputError):
        open_study(folder).change(annotation={"annotators": [HOSTILE, "a2"]})


@pytest.fixture
def many_files():
    """A connection is a file, here and at the server."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_hundreds_at_once_are_answered_and_one_of_many_decisions_counts(folder, many_files):
    case = open_study(folder).round().cases().rows[0]
    before = len(open_study(folder).round().labels)
    labels = ("favor", "against", "neither")

    async def all_at_once(address, cookies):
        """Hundreds of requests, none of which waits for another."""
        limits = httpx.Limits(
            max_connections=None, max_keepalive_connections=0
        )  # no old one, which may end just now
        async with httpx.AsyncClient(
            base_url=address.split("/?")[0], cookies=cookies, trust_env=False, timeout=600, limits=limits
        ) as client:
            return await asyncio.gather(
                *(client.get(PAGES[at % len(PAGES)]) for at in range(30 * len(PAGES)))
            )

    with opening(folder) as (address, server), browser_of(address) as client, ThreadPoolExecutor(16) as pool:
        answers = asyncio.run(all_at_once(address, client.cookies))
        assert Counter((answer.url.path, answer.status_code) for answer in answers) == {
            (path, 404 if path == "/nothing" else 200): 30 for path in PAGES
        }

        def decide(at):
            """Decide, again as long as another decision is being written."""
            form = {"item": case.item_id, "label": labels[at % 3], "shown": "to discuss"}
            for _ in range(1000):
                answer = client.post("/rounds/001/decide", data=form, headers={"x-part": "case"})
                if "is in use by" not in answer.text:
                    break
            return answer.status_code

        assert sorted(pool.map(decide, range(16))) == [200] + [400] * 15
        assert server.poll() is None
    assert len(open_study(folder).round().labels) == before + 1


def save(client, case, sent, turn):
    """Save keywords and a decision again and again, until the server is gone."""
    shown = case.outcome
    with suppress(httpx.HTTPError):
        for at in range(500):
            sent.append(f"garlic turn{turn} word{at}")
            client.post("/queries/a", data={"q": sent[-1], "shown": sent[-2]})
            label = ("favor", "against")[at % 2]
            decided = {"item": case.item_id, "label": label, "shown": shown}
            if client.post("/rounds/001/decide", data=decided).status_code == 200:
                shown = label


def test_a_killed_server_loses_and_doubles_nothing(folder):
    """Killed while it saves keywords and a decision, at any moment: the files are as they were, or as they were to be."""
    study, wait = open_study(folder), random.Random(20220405)
    item = study.round().cases().rows[0].item_id
    before, now, edits = len(study.round().labels), ["garlic"], 0
    for turn in range(3):
        with opening(folder) as (address, server), browser_of(address) as client:
            sent = list(now)
            saver = threading.Thread(target=save, args=(client, study.round().cases().of(item), sent, turn))
            saver.start()
            while len(sent) < 3:
                time.sleep(0.01)
            time.sleep(wait.uniform(0, 0.5))
            server.kill()
            server.wait()
            saver.join()
        row = read_claims(study.places.claims_csv, "csv").set_index("claim_id").loc["a"]
        now = row["keywords"]
        assert now[0] in sent[-2:], "the last that was answered, or the one after it"
        edits += sent.index(now[0])
        assert len(row["edits"]) == edits, "one note a change"
        labels = storage.read_table(study.round().folder.folder / "labels.parquet", "labels")
        own = labels.iloc[before:]
        assert labels["label_id"].is_unique
        assert set(own["item_id"]) == {item}
        assert list(own["supersedes"]) == ["", *own["label_id"]][: len(own)], "each replaces the one before"
    study.set_keywords("a", "garlic")
    assert study.round().decide(item, "neither").label == "neither"
