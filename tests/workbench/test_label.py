"""Labelling right here: the offline page, whose answers are in the record at once, checked as a pull checks them."""

from __future__ import annotations

import itertools
import json
import os
import re
import threading
import time
from contextlib import suppress

import httpx
import pytest

from covmis_build import storage
from covmis_build.study.study import open_study
from tests.annotation.browser import Browser
from tests.annotation.small import covmis, label_both, rows_of, study, write_rows
from tests.workbench.conftest import client_of, opening
from tests.workbench.test_attacks import browser_of
from tests.workbench.test_in_chromium import console

ADDRESS = "/rounds/001/label/a1"


@pytest.fixture
def folder(tmp_path):
    study(tmp_path)
    covmis(tmp_path, "round", "open", "--pilot")
    return tmp_path


def shown(client) -> list[dict]:
    page = client.get(ADDRESS).text
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page)[1])[
        "items"
    ]


def answer(item: dict, label: str, at: str = "2030-01-01T10:00:00.000Z", **more) -> dict:
    row = {
        "id": item["id"],
        "label": label,
        "sub": "",
        "comment": "",
        "flag": False,
        "seconds": 3.5,
        "at": at,
    }
    return row | {"times": {"label": at}, "shown": item["shown"]} | more


def test_answers_of_the_page_are_labels_as_if_its_file_had_been_pulled(folder):
    client = client_of(open_study(folder))
    begun = client.post("/rounds/001/label", data={"annotator": "a1"}, follow_redirects=False)
    assert begun.headers["location"] == ADDRESS
    page = client.get(ADDRESS)
    assert "unsafe" not in page.headers["content-security-policy"]
    assert page.headers.get_list("content-security-policy") == [page.headers["content-security-policy"]]
    first, second, third, *_ = shown(client)
    taken = client.post(ADDRESS, json={"answers": [answer(first, "favor")]})
    assert taken.json() == {"later": [], "refused": {}}
    later = "2030-01-01T11:00:00.000Z"
    client.post(
        ADDRESS,
        json={"answers": [answer(second, "against"), answer(first, "", later, times={"label": later})]},
    )
    cut = json.dumps({"answers": [answer(third, "skip", comment="cut \ud83d"), answer(second, "against")]})
    assert client.post(ADDRESS, content=cut).json() == {"later": [], "refused": {}}
    late = answer(second, "favor", "2029-01-01T10:00:00.000Z")
    (counts,) = client.post(ADDRESS, json={"answers": [late]}).json()["later"]
    assert counts["label"] == "against", "what came was of another tab, and older: its page hears what counts"
    labels = open_study(folder).round().labels
    said = {shown: list(rows["status"]) for shown, rows in labels.groupby("shown")}
    assert said == {
        first["shown"]: ["given", "withdrawn"],
        second["shown"]: ["given"],
        third["shown"]: ["skipped"],
    }
    assert set(labels["channel"]) == {"html"}
    assert [item.get("given", {}).get("label") for item in shown(client)[:4]] == ["", "against", "skip", None]
    assert covmis(folder, "round", "pull")["added"] == 0, "the file is there, and says the same"
    script = client.get("/session/session.sh").text
    assert script.count("covmis round pull annotation/rounds/001/sheets/a1-001.json --round 001") == 1
    assert "covmis round push --channel html --round 001" in script
    assert "Label here" in client.get("/rounds").text
    assert "Label here" not in client_of(open_study(folder), read_only=True).get("/rounds").text


def test_answers_of_another_channel_are_shown_and_do_not_come_back(folder):
    covmis(folder, "round", "push")
    label_both(folder)
    covmis(folder, "round", "pull")
    client = client_of(open_study(folder))
    items = shown(client)
    rows = {row["item_id"]: row["label"] for row in rows_of(folder / "annotation/rounds/001/sheets/a1.csv")}
    assert {item["id"]: item["given"]["label"] for item in items} == rows
    before = len(open_study(folder).round().labels)
    new = next(name for name in ("favor", "against") if name != rows[items[0]["id"]])
    client.post(ADDRESS, json={"answers": [answer(items[0], new)]})
    assert len(open_study(folder).round().labels) == before + 1
    sheet = folder / "annotation/rounds/001/sheets/a1.csv"
    write_rows(sheet, [row | {"label": "neither"} for row in rows_of(sheet)])
    os.utime(sheet, (2_000_000_000, 2_000_000_000))  # filled in after the answer of the page
    covmis(folder, "round", "pull", fails=1)
    given = {item["id"]: item["given"] for item in shown(client)}
    assert {row["label"] for row in given.values()} == {"neither"}, "the later answer is shown, as it counts"
    assert given[items[0]["id"]]["channel"] == "csv"


def test_what_is_no_answer_to_what_was_shown_is_refused(folder):
    client = client_of(open_study(folder))
    client.post("/rounds/001/label", data={"annotator": "a1"})
    right = answer(shown(client)[0], "favor")
    wrong = ({"label": 3}, {"at": None})
    bodies = ["", "[]", '{"answers": 3}', '{"answers": [3]}', "[" * 5000, "a" * (1 << 21)]
    bodies += [json.dumps({"answers": [right, right | change]}) for change in wrong]
    assert [client.post(ADDRESS, content=body).status_code for body in bodies] == [400] * len(bodies)
    assert not len(open_study(folder).round().labels)
    assert not (folder / "annotation/rounds/001/sheets/a1-001.json").exists()
    for place in ("/rounds/001/label/nobody", "/rounds/001/label/..%2f..%2fx", "/rounds/007/label/a1"):
        assert client.get(place).status_code in {400, 404}
        assert client.post(place, json={"answers": []}).status_code in {400, 404}
    second, third, fourth = (answer(item, "favor") for item in shown(client)[1:4])
    unfit = [second | {"shown": "0" * 64}, third | {"id": "nobody|x:1"}, fourth | {"label": "agrees"}]
    refused = client.post(ADDRESS, json={"answers": [right, *unfit]}).json()["refused"]
    assert refused.keys() == {second["id"], "nobody|x:1", fourth["id"]}
    assert refused[fourth["id"]] == "'agrees' is no label of round 001"
    assert list(open_study(folder).round().labels["item_id"]) == [right["id"]], (
        "the right one beside them counts"
    )


@pytest.mark.needs("chromium")
def test_a_pilot_is_labelled_with_one_key_a_post(folder, tmp_path):
    browser = Browser(tmp_path / "downloads", tmp_path / "profile")
    saved = "return document.body.dataset.saved === 'yes'"
    try:
        with opening(folder) as (address, _):
            browser.open(address)
            browser.open(address.split("/?")[0] + "/rounds")
            browser.run("document.querySelector('.people button').click()")
            browser.wait(saved)
            count = browser.run("return JSON.parse(document.getElementById('data').textContent).items.length")
            browser.press("1", "2", "Backspace", "3", "j", "k")
            browser.wait(saved)
            assert browser.run("return document.getElementById('answered').textContent") == "2 answered"
            for scheme in ("light", "dark"):
                browser.prefer(scheme)
                for width in (390, 1280):
                    browser.size(width, 900)
                    assert browser.run("return document.documentElement.scrollWidth") <= width
            browser.run("location.reload()")
            browser.wait(saved)
            assert browser.run("return document.getElementById('answered').textContent") == "2 answered"
            browser.press(*"1" * (count - 2))
            browser.wait(saved + " && !document.getElementById('end').hidden")
            labels = open_study(folder).round().labels
            current = labels[~labels["label_id"].isin(set(labels["supersedes"]))]
            assert list(current["label"].value_counts().sort_index().items()) == [
                ("favor", count - 1),
                ("neither", 1),
            ]
            assert console(browser) == []
            open_study(folder).round().push("csv")
            storage.write_text(folder / "annotation/rounds/001/seal.json", "{}")
            browser.press("ArrowLeft", "2")
            browser.wait("return !document.getElementById('trouble').hidden")
            assert "not in the study" in browser.run("return document.getElementById('lost').textContent")
            browser.run("window.onbeforeunload = null; document.querySelector('#end a')?.remove()")
    finally:
        browser.kill()


def test_a_killed_server_loses_and_doubles_no_label(folder):
    """What was answered is in the round's files, and a pull brings it into the record, once."""
    open_study(folder).round().push("html")
    items, told, clock = shown(client_of(open_study(folder))), [], itertools.count()

    def save(address):
        with suppress(httpx.HTTPError), browser_of(address) as client:
            for at in range(500):
                second = next(clock)
                moment = f"2030-01-01T10:{second // 60:02}:{second % 60:02}.000Z"
                row = answer(items[at % len(items)], ("favor", "against", "neither")[at % 3], moment)
                sent = client.post(ADDRESS, json={"answers": [row]})
                if sent.status_code == 200:
                    told.append(row)

    for wait in (0.0, 0.13, 0.31):
        del told[:]
        with opening(folder) as (address, server):
            saver = threading.Thread(target=save, args=(address,))
            saver.start()
            while len(told) < 2:
                time.sleep(0.01)
            time.sleep(wait)
            server.kill()
            server.wait()
            saver.join()
        covmis(folder, "round", "pull")
        labels = open_study(folder).round().labels
        assert labels["label_id"].is_unique
        current = labels[~labels["label_id"].isin(set(labels["supersedes"]))]
        assert current["item_id"].is_unique
        given = dict(zip(current["item_id"], current["label"], strict=True))
        last = {row["id"]: row["label"] for row in told}
        last.pop(
            items[len(told) % len(items)]["id"], None
        )  # the next one: perhaps written, and not answered any more
        assert last.items() <= given.items()
        assert covmis(folder, "round", "pull")["added"] == 0
