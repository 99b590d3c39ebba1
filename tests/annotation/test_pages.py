"""The pages in a real browser: the offline page, the reports, and Label Studio's own labelling page."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from covmis_build.annotation import round_folder as record
from covmis_build.annotation.channels.label_studio import projects
from tests.annotation.conftest import Person
from tests.annotation.small import LABELS, covmis, label_both, study

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.timeout(240)]
LOOK = os.environ.get("COVMIS_SCREENSHOTS")
"""A folder: screenshots go there, to be looked at."""


def look(browser, name: str, **size) -> None:
    if LOOK:
        browser.look(Path(LOOK) / f"{name}.png", **size)


@pytest.fixture
def folder(tmp_path):
    study(tmp_path, settings='show = ["card", "quoted", "date", "parent", "media"]\n')
    text = (tmp_path / "study.toml").read_text()
    (tmp_path / "study.toml").write_text(
        text + '[labels]\nsub_labels = { neither = ["unrelated", "questions"] }\n'
    )
    covmis(tmp_path, "round", "open")
    return tmp_path


def test_the_offline_page_labels_saves_exports_and_comes_back(folder, browser):
    sheets = folder / "annotation" / "rounds" / "001" / "sheets"
    covmis(folder, "round", "push", "--channel", "html")
    page = sheets / "a1.html"
    browser.open(page)
    count = browser.run("return JSON.parse(document.getElementById('data').textContent).items.length")
    assert count == 11
    assert browser.run("return document.title") == "Round 001, a1 · Small & <b>bold</b>"
    assert browser.run("return document.images.length") == 0
    browser.press("1", "c")
    browser.press(*"why not", "Escape", "Enter")
    browser.press("3")
    assert browser.run("return [...document.querySelectorAll('#subs button')].map(b => b.textContent)") == [
        "unrelated",
        "questions",
    ]
    browser.run("document.querySelectorAll('#subs button')[1].click()")
    look(browser, "offline")
    browser.press("ArrowRight", "0", "Enter")
    assert _reopened(browser, page) == "3 answered"
    for _ in range(count - 3):
        browser.press("2", "n")
    browser.press("e")
    exported = browser.downloads / "a1-001.json"
    until = time.monotonic() + 20
    while not exported.exists() and time.monotonic() < until:
        time.sleep(0.1)
    assert {one for one in browser.requests() if not one.startswith(("file:", "blob:"))} == set()
    shutil.move(exported, sheets / "a1-001.json")
    found = covmis(folder, "round", "pull")
    assert (found["added"], found["answers"]) == (11, 11)
    assert covmis(folder, "round", "pull")["added"] == 0
    labels = record.find(folder / "annotation" / "rounds").labels()
    assert labels["status"].tolist() == ["given", "given", "skipped"] + ["given"] * 8
    assert labels["label"].tolist() == ["favor", "neither", ""] + ["against"] * 8
    assert labels["sub_label"].tolist()[:2] == ["", "questions"]
    assert labels["comment"].iloc[0] == "why not"
    assert set(labels["channel"]) == {"html"}
    assert (labels["seconds"] >= 0).all()
    items = json.loads(browser.run("return document.getElementById('data').textContent"))["items"]
    assert labels["item_id"].tolist() == [item["id"] for item in items]


def _reopened(browser, page) -> str:
    """How many are answered on the page opened anew; the browser's new process may look before the old one's store is there."""
    shown = ""
    for _ in range(20):
        browser.open(page)
        shown = browser.run("return document.getElementById('answered').textContent")
        if not shown.startswith("0"):
            break
        time.sleep(0.5)
    return shown


def test_a_page_that_is_open_twice_loses_no_answer(folder, browser):
    covmis(folder, "round", "push", "--channel", "html")
    browser.open(folder / "annotation" / "rounds" / "001" / "sheets" / "a2.html")
    browser.press("1", "ArrowRight")
    script = """
    const data = JSON.parse(document.getElementById('data').textContent);
    const name = ['covmis', data.round, data.annotator, data.items[0].shown].join('/');
    const kept = JSON.parse(localStorage.getItem(name));
    const other = (at, label, when) => {
      kept.answers[data.items[at].id] = {label, sub: '', comment: '', seconds: 1, at: when, shown: data.items[at].shown};
    };
    other(0, '', '');
    other(5, data.labels[0].label, '2020-01-01T00:00:00Z');
    localStorage.setItem(name, JSON.stringify(kept));
    document.dispatchEvent(new Event('visibilitychange'));
    return Object.values(JSON.parse(localStorage.getItem(name)).answers).filter((one) => one.label).length;
    """
    assert browser.run(script) == 2
    assert browser.run("return document.getElementById('answered').textContent") == "2 answered"


def test_a_page_that_is_sent_again_with_another_first_post_keeps_its_answers(folder, browser):
    covmis(folder, "round", "push", "--channel", "html")
    page = folder / "annotation" / "rounds" / "001" / "sheets" / "a1.html"
    browser.open(page)
    browser.press("1", "ArrowRight", "2", "ArrowRight", "3")
    first = browser.run("return JSON.parse(document.getElementById('data').textContent).items[0].id")
    record.forget(folder / "annotation" / "rounds", [first.partition("|")[2]])
    covmis(folder, "round", "push", "--channel", "html")
    assert _reopened(browser, page) == "2 answered"
    assert first not in browser.run("return document.getElementById('data').textContent")


def test_the_offline_page_on_a_phone_in_the_dark(folder, browser):
    covmis(folder, "round", "push", "--channel", "html")
    browser.prefer("dark")
    browser.open(folder / "annotation" / "rounds" / "001" / "sheets" / "a2.html")
    look(browser, "offline-dark-phone", width=500, height=900)
    assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")
    browser.prefer("light")


def test_an_exported_file_goes_on_in_another_browser(folder, browser):
    covmis(folder, "round", "push", "--channel", "html")
    browser.open(folder / "annotation" / "rounds" / "001" / "sheets" / "a2.html")
    script = """
    const data = JSON.parse(document.getElementById('data').textContent);
    const row = {id: data.items[4].id, label: 'against', sub: '', comment: '<b>x</b>', seconds: 2, at: '', shown: data.items[4].shown};
    const file = new File([JSON.stringify({format: data.format, round: data.round, annotator: data.annotator, answers: [row]})], 'a2.json');
    const moved = new DataTransfer(); moved.items.add(file);
    const input = document.getElementById('load'); input.files = moved.files; input.dispatchEvent(new Event('change'));
    """
    browser.run(script)
    browser.wait("return document.getElementById('answered').textContent === '1 answered'")


def test_an_older_export_takes_nothing_back(folder, browser):
    covmis(folder, "round", "push", "--channel", "html")
    browser.open(folder / "annotation" / "rounds" / "001" / "sheets" / "a2.html")
    load = """
    const data = JSON.parse(document.getElementById('data').textContent);
    const row = {id: data.items[0].id, label: LABEL, sub: '', comment: '', seconds: 2, at: AT, shown: data.items[0].shown};
    const file = new File([JSON.stringify({format: data.format, round: data.round, annotator: data.annotator, answers: [row]})], 'a2.json');
    const moved = new DataTransfer(); moved.items.add(file);
    const input = document.getElementById('load'); input.files = moved.files; input.dispatchEvent(new Event('change'));
    """
    for label, at, told in (
        ("against", "2026-01-01T11:00:00.000Z", "1 answers loaded."),
        ("favor", "2026-01-01T10:00:00.000Z", "0 answers loaded. 1 here are as new or newer, and stay."),
        ("neither", "2026-01-01T12:00:00.000Z", "1 answers loaded."),
    ):
        browser.run(load.replace("LABEL", repr(label)).replace("AT", repr(at)))
        browser.wait(f"return document.getElementById('message').textContent === {told!r}")
    chosen = "return document.querySelector('#choices button[aria-pressed=true]').textContent"
    assert browser.run(chosen).startswith("neither")


def test_the_guideline_is_read_as_it_is_written(folder, browser):
    text = (
        "# Rules\n\n**favor** holds it true <img src=x onerror=alert(1)>\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    )
    (folder / "annotation" / "guideline.md").write_text(text + "\n![p](https://example.org/p.png)\n")
    covmis(folder, "round", "push", "--channel", "html")
    browser.open(folder / "annotation" / "rounds" / "001" / "sheets" / "a2.html")
    inside = "document.querySelector('.guideline')"
    assert browser.run(f"return {inside}.querySelectorAll('h1, strong, td').length") == 4
    assert browser.run("return document.images.length") == 0
    assert "<img src=x" in browser.run(f"return {inside}.textContent")
    assert {one for one in browser.requests() if not one.startswith("file:")} == set()


def test_hostile_text_is_text_in_every_report(folder, browser):
    covmis(folder, "round", "push")
    label_both(folder, differ=lambda item: item[-1] in "123")
    covmis(folder, "round", "pull")
    covmis(folder, "round", "report")
    for name in ("001/report.html", "summary.html"):
        browser.open(folder / "annotation" / "rounds" / name)
        assert browser.run("return document.title").endswith("· Small & <b>bold</b>")
        assert browser.run("return document.scripts.length + document.images.length") == 0
        assert "<script>document.title='hacked'</script>" in browser.run("return document.body.innerText")
        assert browser.run("return document.querySelectorAll('svg[role=img] > title').length") >= 2
        assert {one for one in browser.requests() if not one.startswith("file:")} == set()
        look(browser, "report")
        look(browser, "report-phone", width=500, height=900)
        assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")
    browser.prefer("dark")
    look(browser, "report-dark")
    browser.prefer("light")


@pytest.mark.needs("label_studio", "label_studio_sdk")
def test_label_studios_page_is_worked_with_the_keyboard(folder, browser, ls):
    pushed = covmis(folder, "round", "push", "--channel", "label-studio")
    project = pushed["projects"][0]["project"]
    user = ls.users()["a1"]
    browser.open(f"{ls.address()}/user/login")
    browser.wait("return document.querySelector('input[name=email]')")
    browser.run(
        "document.querySelector('input[name=email]').value = arguments[0];"
        "document.querySelector('input[name=password]').value = arguments[1];"
        "document.querySelector('form').submit()",
        user["email"],
        user["password"],
    )
    browser.wait("return !location.pathname.includes('login')")
    browser.open(f"{ls.address()}/projects/{project}/data?labeling=1")
    browser.wait("return document.body.innerText.includes('Claim ')", 60)
    browser.wait("return document.body.innerText.toLowerCase().includes('favor')", 60)
    for name in ("quoted post", "date"):
        browser.wait(f"return document.body.innerText.toLowerCase().includes('{name}')")
    assert browser.run("return document.title") != "hacked"
    look(browser, "label-studio")
    browser.press("Escape")  # closes the guideline
    seen = "return [...document.querySelectorAll(arguments[0])].filter(e => e.offsetParent).length"
    assert browser.run(seen, ".lsf-tabs-panel, .lsf-sidepanels__wrapper") == 0, "no panels of regions"
    assert browser.run(seen, ".covmis-link u") == 1, "an address is seen"
    assert browser.run(seen, ".covmis-beside a, .covmis-post a") == 0, "and cannot be clicked"
    person = Person(ls, "a1")
    deadline = time.monotonic() + 60
    while not any(task["annotations"] for task in person.tasks(project).values()):
        assert time.monotonic() < deadline, "no label arrived"
        browser.press("2")
        time.sleep(0.5)
        browser.press("Control+Enter")
        time.sleep(1.0)
    look(browser, "label-studio-next")
    outside = {one for one in browser.requests() if not one.startswith((ls.address(), "data:", "blob:"))}
    assert outside == set()
    found = covmis(folder, "round", "pull")
    assert found["added"] >= 1
    labels = record.find(folder / "annotation" / "rounds").labels()
    assert set(labels["label"]) == {LABELS[1]}
    assert projects.known_projects(record.find(folder / "annotation" / "rounds"))["a1"]["project"] == project
