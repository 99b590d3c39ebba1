"""Pages in a real browser: odd posts on all of them, the reports, and Label Studio's own labelling page."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from covmis_build import storage
from covmis_build.annotation import round_folder as record
from covmis_build.annotation.channels.label_studio import projects
from tests.annotation.conftest import Person
from tests.annotation.small import HOSTILE, LABELS, as_if_run, covmis, fill, label_both, study

pytestmark = pytest.mark.needs("chromium")
LOOK = os.environ.get("COVMIS_SCREENSHOTS")
"""A folder: screenshots go there, to be looked at."""


BEGINS_LATIN = "@WHO #covid https://example.org/a Corona " + "لا يوجد دليل على هذا الادعاء " * 30
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
    BEGINS_LATIN,
)  # fmt: skip
"""Posts that break pages: scripts, directions, marks upon marks, words and texts without end."""


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
    set_in = "return [...document.querySelectorAll(arguments[0])].map((one) => [one.textContent.trim(), getComputedStyle(one).direction])"
    directions = []
    for at in range(count):
        directions += browser.run(set_in, ".part.post p")
        wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        browser.size(390, 844)
        assert browser.run(wide) <= 0, at
        if LOOK and at < len(ODD):
            look_everywhere(browser, f"offline-{at:02d}")
        browser.press("1")
    assert dict(directions)[BEGINS_LATIN.strip()] == "rtl", "most letters are Arabic"
    assert dict(directions)[ODD[0]] == "ltr"
    look_everywhere(browser, "offline-last")
    covmis(odd, "round", "push")
    for who, label in (("a1", "favor"), ("a2", "against")):
        fill(sheets / f"{who}.csv", lambda row, label=label: (label, row["post"][:400]))
    covmis(odd, "round", "pull")
    covmis(odd, "round", "report")
    covmis(odd, "export", "board")
    for name in ("001/report.html", "summary.html", "board.html"):
        browser.open(odd / "annotation" / "rounds" / name)
        assert browser.run("return document.scripts.length + document.images.length") == 0
        look_everywhere(browser, f"odd-{Path(name).stem}")
        if name != "board.html":
            assert dict(browser.run(set_in, ".told .outside"))[BEGINS_LATIN.strip()] == "rtl"


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
        place = "return document.querySelector(arguments[0]).getBoundingClientRect()"
        post, asked = browser.run(place, ".covmis-post"), browser.run(place, ".covmis-asked")
        assert asked["left"] >= post["right"], "the answer is right of the post"
        assert asked["right"] > 1200
        browser.size(390, 844)
        assert browser.run(place, ".covmis-asked")["left"] < 40, "on a phone it is below the post"
        ends = "return Math.max(...[...document.querySelectorAll('.covmis *, .lsf-controls button')]"
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
