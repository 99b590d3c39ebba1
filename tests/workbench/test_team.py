"""Links for annotators: whose link, whose posts; what is acknowledged is in the record, once, whatever happens in between."""

from __future__ import annotations

import itertools
import json
import threading
import time
from contextlib import suppress

import httpx
import pytest

from covmis_build import storage
from covmis_build.annotation.label_lines import read as lines_of
from covmis_build.study.study import open_study
from tests.annotation.browser import Browser
from tests.annotation.small import covmis
from tests.workbench.team import serving, shown
from tests.workbench.test_in_chromium import console
from tests.workbench.test_label import answer

WORK = "/work/a1/001"
SAVED = "return document.body.dataset.saved === 'yes'"
ANSWERED = "return document.getElementById('answered').textContent"


def counting(folder, number="001", who="a1") -> dict[str, str]:
    """Item → label, as it counts in the record."""
    labels = open_study(folder).round(number).labels
    current = labels[~labels["label_id"].isin(set(labels["supersedes"])) & (labels["annotator"] == who)]
    assert current["item_id"].is_unique
    return dict(zip(current["item_id"], current["label"], strict=True))


def test_a_link_leads_to_its_person_s_posts_and_answers_are_lines_at_once(folder):
    with serving(folder) as team, team.client() as client:
        assert set(team.links) == {"a1", "a2"}
        entry = client.get("/", headers={"sec-fetch-site": "cross-site"})
        assert entry.status_code == 200, "a link in a mail"
        assert "Small" not in entry.text + client.get("/work").text, "strangers learn no title"
        assert client.get("/work").status_code == client.get(WORK).status_code == 401
        entered = client.post("/enter", content=team.secret("a1"))
        assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(entered.headers["set-cookie"].split("; "))
        assert client.get("/work", follow_redirects=False).headers["location"] == WORK
        own = open_study(folder).round().open_items()
        first, second, *_ = items = shown(client)
        assert [item["id"] for item in items] == own["a1"]
        assert "unsafe" not in client.get(WORK).headers["content-security-policy"]
        assert client.post(WORK, json={"answers": [answer(first, "favor")]}).json() == {
            "later": [],
            "refused": {},
        }
        (line,) = lines_of(folder / "annotation/rounds/001")
        assert (line.by, line.item, line.label, line.channel) == ("a1", first["id"], "favor", "html")
        again = [answer(first, "favor"), answer(second, "skip")]
        for _ in range(2):
            client.post(WORK, json={"answers": again})
        assert len(lines_of(folder / "annotation/rounds/001")) == 2, "what is sent again is no second answer"
        others = answer(
            {"id": next(iter(set(own["a2"]) - set(own["a1"])), "c|x:1"), "shown": "0" * 64}, "favor"
        )
        assert client.post(WORK, json={"answers": [others]}).json()["refused"].keys() == {others["id"]}
    links = (folder / "annotation/links/links.json").read_text()
    visits = (folder / "annotation/links/visits.jsonl").read_text().splitlines()
    assert [json.loads(line)["annotator"] for line in visits] == ["a1"]
    everything = [path for path in folder.rglob("*") if path.is_file()]
    assert not [
        path for path in everything for who in team.links if team.secret(who).encode() in path.read_bytes()
    ]
    assert (folder / "annotation/links/.gitignore").read_text() == "*\n"
    assert team.secret("a1") not in links
    assert covmis(folder, "round", "pull")["added"] == 0


def test_closed_and_replaced_links_and_other_people_s_browsers_are_turned_away(folder):
    with serving(folder) as team, team.person("a1") as first, team.person("a2") as second:
        items = shown(first)
        refused = second.post(WORK, json={"answers": [answer(items[0], "favor")]})
        assert (refused.status_code, counting(folder)) == (403, {}), "another's browser"
        assert second.get(WORK).status_code == 403
        new = covmis(folder, "round", "links", "--new", "a1", "--close", "a2")["new"]["a1"]
        assert first.post(WORK, json={"answers": [answer(items[0], "favor")]}).status_code == 410
        assert "was closed" in second.get("/work").text
        with team.client() as client:
            assert client.post("/enter", content=team.secret("a1")).status_code == 410
            assert client.post("/enter", content=team.secret("a2")).status_code == 410
            assert client.post("/enter", content=new.split("#")[1]).status_code == 200
            assert client.post(WORK, json={"answers": [answer(items[0], "against")]}).status_code == 200
    assert counting(folder) == {items[0]["id"]: "against"}
    people = {row["annotator"]: row for row in covmis(folder, "round", "links")["people"]}
    assert [bool(people[who]["closed_at"]) for who in ("a1", "a2")] == [False, True]
    assert "no annotator 'a9'" in covmis(folder, "round", "links", "--new", "a9", fails=2)["error"]


def test_a_round_that_changes_while_links_are_open_says_so_and_records_nothing_wrong(folder):
    with serving(folder) as team, team.person("a1") as client:
        first, second, *_ = items = shown(client)
        client.post(WORK, json={"answers": [answer(item, "favor") for item in items]})
        with team.person("a2") as other:
            other.post(
                "/work/a2/001", json={"answers": [answer(item, "favor") for item in shown(other, "a2")]}
            )
        covmis(folder, "round", "seal")
        late = "2031-01-01T10:00:00.000Z"
        sealed = client.post(WORK, json={"answers": [answer(first, "against", late)]})
        assert (sealed.status_code, sealed.text) == (409, "round 001 is closed, and records nothing more")
        assert "Nothing to label now" in client.get("/work").text
        covmis(folder, "round", "reopen", second["id"], "--reason", "read the wrong claim")
        assert [item["id"] for item in shown(client)] == [second["id"]]
        answers = [answer(first, "against", late), answer(second, "against", late)]
        assert client.post(WORK, json={"answers": answers}).json()["refused"].keys() == {first["id"]}
        now = counting(folder)
        assert (now[first["id"]], now[second["id"]]) == ("favor", "against")
        covmis(folder, "round", "adjudicate", second["id"], "--label", "against")
        covmis(folder, "round", "seal")
        covmis(folder, "round", "open")
        assert "Nothing to label now" in client.get("/work").text, "opened, and not sent yet"
        open_study(folder).round("002").send_by_links()
        other_items = shown(client, number="002")
        covmis(folder, "round", "discard", "2")
        gone = client.post("/work/a1/002", json={"answers": [answer(other_items[0], "favor")]})
        assert (gone.status_code, gone.text) == (
            409,
            "round 002 was taken back, and its answers count nowhere",
        )
        covmis(folder, "round", "open", "--training", "--items", "2")
        open_study(folder).round("t1").send_by_links()
        assert client.get("/work", follow_redirects=False).headers["location"] == "/work/a1/t001"
        assert client.post("/work/a1/t001", json={"answers": [answer(other_items[0], "favor")]}).json()[
            "refused"
        ]


def test_a_killed_server_loses_nothing_that_it_acknowledged(folder):
    clock, told, links = itertools.count(), [], None

    def save(team, items):
        with suppress(httpx.HTTPError), team.person("a1") as client:
            for at in range(500):
                second = next(clock)
                moment = f"2030-01-01T10:{second // 60:02}:{second % 60:02}.000Z"
                row = answer(items[at % len(items)], ("favor", "against", "neither")[at % 3], moment)
                if client.post(WORK, json={"answers": [row]}).status_code == 200:
                    told.append(row)

    port = "0"
    for wait in (0.0, 0.2):
        del told[:]
        with serving(folder, "--team-port", port, links=links) as team:
            links, port = team.links, team.base.rpartition(":")[2]
            with team.person("a1") as client:
                items = shown(client)
            saver = threading.Thread(target=save, args=(team, items))
            saver.start()
            while len(told) < 2:
                time.sleep(0.01)
            time.sleep(wait)
            team.process.kill()
            team.process.wait()
            saver.join()
        last = {row["id"]: row["label"] for row in told}
        last.pop(items[len(told) % len(items)]["id"], None)  # perhaps written, and not answered any more
        assert last.items() <= counting(folder).items()


@pytest.mark.needs("chromium")
def test_on_a_phone_answers_outlive_the_connection_the_page_and_the_server(folder, tmp_path):
    browser = Browser(tmp_path / "downloads", tmp_path / "profile")
    lost = (
        "return document.getElementById('trouble').hidden ? '' : document.getElementById('lost').textContent"
    )
    try:
        browser.size(390, 800)
        with serving(folder) as team:
            port = team.base.rpartition(":")[2]
            browser.open(team.links["a1"])
            browser.wait(SAVED)
            assert browser.run("return location.href") == team.base + WORK, "the secret has left the address"
            count = browser.run("return JSON.parse(document.getElementById('data').textContent).items.length")
            browser.press("1")
            browser.wait(SAVED)
            for scheme in ("light", "dark"):
                browser.prefer(scheme)
                assert browser.run("return document.documentElement.scrollWidth") <= 390
            assert console(browser) == []
            team.process.kill()
            team.process.wait()
        browser.press("2", "3")
        assert browser.wait(lost).startswith("No connection: ")
        assert browser.run(ANSWERED) == "3 answered", "work goes on"
        with serving(folder, "--team-port", port, links=team.links) as team:
            browser.wait(SAVED, 90)
            assert sorted(counting(folder).values()) == ["against", "favor", "neither"]
            browser._cdp("Network.enable")
            browser._cdp(
                "Network.emulateNetworkConditions",
                offline=True,
                latency=0,
                downloadThroughput=0,
                uploadThroughput=0,
            )
            browser.press(*"1" * (count - 3))
            browser.wait(
                f"return document.getElementById('lost').textContent.includes(': {count - 3} answers wait')"
            )
            browser.kill()  # a flat battery, while there was no connection
            browser = Browser(tmp_path / "downloads", tmp_path / "profile")
            browser.size(390, 800)
            assert len(counting(folder)) == 3
            browser.open(team.links["a1"])
            browser.wait(SAVED + " && !document.getElementById('end').hidden")
            assert browser.run(ANSWERED) == f"{count} answered"
            labels = counting(folder)
            assert (len(labels), len(lines_of(folder / "annotation/rounds/001"))) == (count, count)
            kept = "const request = indexedDB.open('covmis', 1); window.kept = -1; request.onsuccess = () => { const all = "
            browser.run(
                kept
                + "request.result.transaction('answers').objectStore('answers').count(); all.onsuccess = () => { window.kept = all.result; }; };"
            )
            assert browser.wait("return window.kept >= 0 && [window.kept]") == [0], (
                "what the study has, the phone forgets"
            )
            storage.write_text(folder / "annotation/rounds/001/seal.json", "{}")
            browser.press("ArrowLeft", "2")
            assert "round 001 is closed" in browser.wait(lost)
    finally:
        browser.kill()
