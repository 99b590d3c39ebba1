"""The pages in a real browser: the offline page, the reports, and Label Studio's own labelling page."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from covmis_build import storage
from covmis_build.annotation import round_folder as record
from covmis_build.annotation.channels.label_studio import projects
from tests.annotation.conftest import Person
from tests.annotation.small import HOSTILE, LABELS, as_if_run, covmis, fill, label_both, study

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.timeout(240)]
LOOK = os.environ.get("COVMIS_SCREENSHOTS")
"""A folder: screenshots go there, to be looked at."""


ODD = (
    HOSTILE,
    "\u202e\u2066" + "evil.exe \u202d turns the rest of the page around",
    "هذا الادعاء كاذب: لا يوجد دليل على أن 5G يسبب المرض، انظر https://example.org/ar #كورونا",
    "זה לא נכון. Garlic (שום) does not cure it, אומר ארגון הבריאות",
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft" * 4,
    "Z" + "\u0335\u0321\u0322\u0327\u031b\u0300\u0301\u0302\u0303\u0304" * 12 + "a\u0338\u0326\u0348l\u0337\u0300g\u0334o",
    "A very long post. " * 400,
    "one\n\n\n\n\n\ntwo\n" + "\n".join(f"line {number}" for number in range(30)),
    "=SUM(A1:A9) 😷😷😷👨‍👩‍👧‍👦 \U0001d523\U0001d52f\U0001d51e\U0001d528 ﷽﷽﷽ \u200b\u200b\u200d",
    "日本語の投稿です。" * 40,
    "https://example.org/" + "a" * 300,
)  # fmt: skip
"""Posts that break pages: scripts, directions, marks upon marks, words and texts without end."""


def wait_for(download: Path) -> None:
    """Until it is there, however busy the machine is; the test's own limit ends what never comes."""
    while not download.exists():
        time.sleep(0.1)


def look(browser, name: str, **size) -> None:
    if LOOK:
        browser.look(Path(LOOK) / f"{name}.png", **size)


def look_everywhere(browser, name: str) -> None:
    """On a desktop, a phone and in the dark; it fits everywhere."""
    for device, size in (("desktop", (1280, 900)), ("phone", (390, 844))):
        for scheme in ("light", "dark"):
            browser.prefer(scheme)
            browser.size(*size)
            wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert browser.run(wide) <= 0, (name, device)
            look(browser, f"{name}-{device}-{scheme}", width=size[0], height=size[1])
    browser.prefer("light")
    browser.size(1280, 900)


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
    wait_for(exported)
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


ANSWERED = "return document.getElementById('answered').textContent"


def _reopened(browser, page) -> str:
    """How many are answered on the page opened anew; the browser's new process may look before the old one's store is there."""
    shown = ""
    for _ in range(20):
        browser.open(page)
        shown = browser.run(ANSWERED)
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
    assert browser.run(ANSWERED) == "2 answered"


@pytest.fixture
def odd(folder):
    """A study all of whose posts are odd; their claims, quoted and answered posts, cards and comments, too."""
    folder = folder.with_name("odd")
    study(folder, settings='show = ["card", "quoted", "date", "parent", "media"]\n', per_claim=12)
    build = folder / "data" / "build"
    posts = storage.read_table(build / "posts.parquet", "posts")
    texts = [ODD[at % len(ODD)] for at in range(len(posts))]
    after = [*texts[1:], texts[0]]
    cards = [
        [{"url": "https://example.org/" + "b" * 200, "title": text[:300], "description": text[:600]}]
        for text in after
    ]
    posts = posts.assign(text=texts, quoted_text=after, parent_text=after[::-1], cards=cards)
    storage.write_table(build / "posts.parquet", posts, "posts")
    claims = storage.read_table(build / "claims.parquet", "claims")
    storage.write_table(build / "claims.parquet", claims.assign(text=ODD[1:5]), "claims")
    as_if_run(folder)
    covmis(folder, "round", "open")
    return folder


def test_odd_posts_fit_on_every_page(odd, browser):
    covmis(odd, "round", "push", "--channel", "html")
    sheets = odd / "annotation" / "rounds" / "001" / "sheets"
    browser.open(sheets / "a1.html")
    count = browser.run("return JSON.parse(document.getElementById('data').textContent).items.length")
    for at in range(count):
        wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        browser.size(390, 844)
        assert browser.run(wide) <= 0, at
        if LOOK and at < len(ODD):
            look_everywhere(browser, f"offline-{at:02d}")
        browser.press("1", "ArrowRight")
    look_everywhere(browser, "offline-last")
    covmis(odd, "round", "push")
    for who, label in (("a1", "favor"), ("a2", "against")):
        fill(sheets / f"{who}.csv", lambda row, label=label: (label, row["post"][:400]))
    covmis(odd, "round", "pull")
    covmis(odd, "round", "report")
    covmis(odd, "round", "board")
    for name in ("001/report.html", "summary.html", "board.html"):
        browser.open(odd / "annotation" / "rounds" / name)
        assert browser.run("return document.scripts.length + document.images.length") == 0
        look_everywhere(browser, f"odd-{Path(name).stem}")


def test_a_page_that_is_sent_again_with_another_first_post_keeps_its_answers(folder, browser):
    covmis(folder, "round", "push", "--channel", "html")
    page = folder / "annotation" / "rounds" / "001" / "sheets" / "a1.html"
    browser.open(page)
    for _ in range(20):  # a browser may drop keys until it has painted the page
        browser.press("1", "ArrowRight", "2", "ArrowRight", "3")
        if browser.run(ANSWERED) != "0 answered":
            break
        time.sleep(0.5)
    assert browser.run(ANSWERED) == "3 answered"
    first = browser.run("return JSON.parse(document.getElementById('data').textContent).items[0].id")
    record.forget(folder / "annotation" / "rounds", [first.partition("|")[2]])
    covmis(folder, "round", "push", "--channel", "html")
    assert _reopened(browser, page) == "2 answered"
    assert first not in browser.run("return document.getElementById('data').textContent")


def test_the_offline_page_on_a_phone_in_the_dark(folder, browser):
    covmis(folder, "round", "push", "--channel", "html")
    browser.prefer("dark")
    browser.open(folder / "annotation" / "rounds" / "001" / "sheets" / "a2.html")
    look(browser, "offline-dark-phone", width=390, height=844)
    assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")
    browser.prefer("light")


def test_only_offline_pages_have_a_size(folder):
    done = covmis(folder, "round", "push", "--channel", "csv", "--page-size", "4", fails=2)
    assert "is for offline pages" in done["error"]


def test_pages_of_a_few_posts_hold_all_work_and_come_back(folder, browser):
    sent = covmis(folder, "round", "push", "--channel", "html", "--page-size", "4")["written"]
    assert [Path(name).name for name in sent] == [
        f"{who}-part-{part}.html" for who in ("a1", "a2") for part in (1, 2, 3)
    ]
    sheets, items = folder / "annotation" / "rounds" / "001" / "sheets", []
    browser.size(390, 844)
    for part in (1, 2, 3):
        browser.open(sheets / f"a1-part-{part}.html")
        assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")
        assert f"part {part}" in browser.run("return document.title")
        own = json.loads(browser.run("return document.getElementById('data').textContent"))["items"]
        items += [item["id"] for item in own]
        for _ in own:
            browser.press("1", "ArrowRight")
        browser.press("e")
        look(browser, f"offline-part-{part}", width=390, height=844)
        exported = browser.downloads / f"a1-001-part-{part}.json"
        wait_for(exported)
        shutil.move(exported, sheets / exported.name)
    browser.size(1280, 900)
    assert covmis(folder, "round", "pull")["added"] == len(items) == len(set(items)) == 11


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
        ("against", "2026-01-01T11:00:00.000Z", "Answers loaded: 1."),
        ("favor", "2026-01-01T10:00:00.000Z", "Answers loaded: 0. As new or newer here, and kept: 1."),
        ("neither", "2026-01-01T12:00:00.000Z", "Answers loaded: 1."),
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
        look(browser, "report-phone", width=390, height=844)
        assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")
    browser.prefer("dark")
    look(browser, "report-dark")
    browser.prefer("light")


def _log_in(browser, ls, who: str = "a1") -> None:
    user = ls.users()[who]
    browser.open(f"{ls.address()}/user/login")
    if browser.run("return !location.pathname.includes('login')"):
        return
    browser.wait("return document.querySelector('input[name=email]')")
    browser.run(
        "document.querySelector('input[name=email]').value = arguments[0];"
        "document.querySelector('input[name=password]').value = arguments[1];"
        "document.querySelector('form').submit()",
        user["email"],
        user["password"],
    )
    browser.wait("return !location.pathname.includes('login')")


@pytest.mark.needs("label_studio", "label_studio_sdk")
def test_odd_posts_are_text_on_label_studios_page(odd, browser, ls):
    pushed = covmis(odd, "round", "push", "--channel", "label-studio")
    project = pushed["projects"][0]["project"]
    _log_in(browser, ls)
    person = Person(ls, "a1")
    wide = "const e = document.querySelector('.covmis-post'); return e.scrollWidth - e.clientWidth"
    seen = "return document.querySelector('.covmis-post').innerText"
    before = ""
    for at in range(len(ODD) if LOOK else 2):
        browser.size(1280, 900)
        browser.open(f"{ls.address()}/projects/{project}/data?labeling=1")
        browser.wait(f"{seen} !== {before!r}", 60)
        browser.wait(seen.replace("innerText", "innerText.length > 6"), 60)
        time.sleep(1)
        browser.press("Escape")
        before = browser.run(seen)
        assert browser.run("return document.title") != "hacked"
        assert browser.run(wide) <= 1
        browser.size(390, 844)
        ends = (
            "return Math.max(...[...document.querySelectorAll('.covmis-claim, .covmis-post, .covmis-beside')]"
        )
        assert browser.run(ends + ".map(e => e.getBoundingClientRect().right))") <= 390
        if LOOK:
            for theme in ("Light", "Dark"):
                browser.run("document.body.dataset.colorScheme = arguments[0]", theme.lower())
                for device, size in (("desktop", (1280, 900)), ("phone", (390, 844))):
                    look(browser, f"ls-{at:02d}-{device}-{theme.lower()}", width=size[0], height=size[1])
        task = next(
            task
            for task in sorted(person.tasks(project).values(), key=lambda task: task["id"])
            if not task["annotations"]
        )
        person.answer(task["id"], "favor")
    browser.size(1280, 900)


@pytest.mark.needs("label_studio", "label_studio_sdk")
def test_label_studios_page_is_worked_with_the_keyboard(folder, browser, ls):
    pushed = covmis(folder, "round", "push", "--channel", "label-studio")
    project = pushed["projects"][0]["project"]
    _log_in(browser, ls)
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
    while not any(task["annotations"] for task in person.tasks(project).values()):
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
    assert projects.known_projects(record.find(folder / "annotation" / "rounds"))["a1"].project == project
