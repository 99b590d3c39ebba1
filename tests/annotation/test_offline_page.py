"""The offline page in a real browser: one key a post, and no answer that is lost."""

from __future__ import annotations

import contextlib
import json
import shutil
import time
from pathlib import Path

import pytest

from covmis_build.annotation import round_folder as record
from covmis_build.report.page import TEMPLATES
from covmis_build.workbench import app
from tests.annotation.browser import Browser
from tests.annotation.small import covmis, study
from tests.annotation.test_pages import folder, look, look_everywhere  # noqa: F401 - a fixture

STATIC = Path(app.__file__).parent / "static"
pytestmark = pytest.mark.needs("chromium")
ANSWERED = "return document.getElementById('answered').textContent"
MESSAGE = "return document.getElementById('message').textContent"
SAVED = "return document.body.dataset.saved === 'yes'"
DATA = "const data = JSON.parse(document.getElementById('data').textContent);"
LOAD = (
    DATA
    + """
    const rows = arguments[0].map((row) => ({id: data.items[0].id, shown: data.items[0].shown, seconds: 2, ...row}));
    const file = new File([JSON.stringify({format: data.format, round: data.round, annotator: data.annotator, answers: rows})], 'a.json');
    const moved = new DataTransfer(); moved.items.add(file);
    const input = document.getElementById('load'); input.files = moved.files; input.dispatchEvent(new Event('change'));
    """
)


@pytest.fixture
def page(folder):  # noqa: F811
    covmis(folder, "round", "push", "--channel", "html")
    return folder / "annotation" / "rounds" / "001" / "sheets" / "a1.html"


def opened(browser, page: Path) -> None:
    browser.open(page)
    browser.wait(SAVED)


def exported(browser, name: str = "a1-001.json") -> Path:
    """The file that the page saves. Chromium makes an empty one first, and removes it again if it is closed."""
    path = browser.downloads / name
    path.unlink(missing_ok=True)
    browser.press("e")
    while True:
        with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
            json.loads(path.read_text())
            return path
        time.sleep(0.1)


def answers(browser) -> list[dict]:
    return json.loads(exported(browser).read_text())["answers"]


def test_it_labels_with_one_key_saves_exports_and_comes_back(folder, page, browser):  # noqa: F811
    opened(browser, page)
    count = browser.run(f"{DATA} return data.items.length")
    assert count == 11
    assert browser.run("return document.title") == "Round 001, a1 · Small & <b>bold</b>"
    assert browser.run("return document.images.length") == 0
    browser.press("c", *"why not", "Enter", "1", "3")
    subs = "return [...document.querySelectorAll('#subs button')].map(b => b.textContent)"
    assert browser.run(subs) == ["unrelated", "questions"]
    browser.press("s")
    look(browser, "offline")
    browser.press("f", "0")
    browser.wait(SAVED)
    opened(browser, page)
    assert browser.run(ANSWERED) == "3 answered"
    browser.press(*"2" * (count - 3))
    assert browser.run("return document.getElementById('end').hidden") is False
    look_everywhere(browser, "offline-end")
    file = exported(browser)
    assert browser.run("return document.getElementById('end').hidden") is True
    assert {one for one in browser.requests() if not one.startswith(("file:", "blob:"))} == set()
    shutil.move(file, page.with_name("a1-001.json"))
    found = covmis(folder, "round", "pull")
    assert (found["added"], found["answers"], found["notes"]) == (11, 11, [])
    assert covmis(folder, "round", "pull")["added"] == 0
    order = browser.run(f"{DATA} return data.items.map((one) => one.id)")
    labels = record.find(folder / "annotation" / "rounds").labels().set_index("item_id").loc[order]
    assert labels["status"].tolist() == ["given", "given", "skipped"] + ["given"] * 8
    assert labels["label"].tolist() == ["favor", "neither", ""] + ["against"] * 8
    assert labels["sub_label"].tolist()[:2] == ["", "questions"]
    assert labels["comment"].tolist()[:3] == ["why not", "", "flagged"]
    assert set(labels["channel"]) == {"html"}
    assert (labels["seconds"].dropna() > 0).all()
    assert len(labels) == len(order)


def test_a_session_of_300_posts_needs_a_key_a_post_and_survives_kills(tmp_path):
    study(tmp_path, claims=13, per_claim=24)
    covmis(tmp_path, "round", "open", "--claims", "13")
    covmis(tmp_path, "round", "push", "--channel", "html")
    page = tmp_path / "annotation" / "rounds" / "001" / "sheets" / "a1.html"
    keys, labelled, given = 0, 0, "123213121"
    for part in (70, 80, 75, 75):
        browser = Browser(tmp_path, tmp_path / "profile")
        opened(browser, page)
        assert browser.run(ANSWERED) == f"{labelled} answered"
        pressed = ["c", *"hm", "Enter", "f", "3", "Backspace", *(given[at % 9] for at in range(part))]
        browser.press(*pressed)
        keys, labelled = keys + len(pressed), labelled + part
        browser.wait(SAVED)
        if labelled < 300:
            browser.kill()
    assert browser.run(ANSWERED) == "300 answered"
    assert keys / labelled < 1.2
    file = exported(browser)
    browser.close()
    shutil.move(file, page.with_name("a1-001.json"))
    assert covmis(tmp_path, "round", "pull")["added"] == 300
    labels = record.find(tmp_path / "annotation" / "rounds").labels()
    assert labels["comment"].value_counts().to_dict() == {"": 296, "flagged: hm": 4}


def test_two_windows_keep_label_sub_label_comment_and_flag_of_each_other(page, browser):
    opened(browser, page)
    first = browser.window()
    browser.press("3")
    browser.wait(SAVED)
    second = browser.another_window()
    browser.switch(second)
    opened(browser, page)
    browser.press("ArrowLeft", "ArrowLeft", "c", *"hm", "Enter")
    browser.wait(SAVED)
    browser.switch(first)
    browser.press("a")
    browser.wait(SAVED)
    browser.switch(second)
    browser.press("ArrowLeft", "f")
    browser.wait(SAVED)
    browser.switch(first)
    row = next(row for row in answers(browser) if row["comment"])
    assert [row[name] for name in ("label", "sub", "comment", "flag")] == ["neither", "unrelated", "hm", True]
    browser.switch(second)
    browser._post("/window", {"handle": second})
    browser.client.delete(browser.session + "/window")
    browser.switch(first)


def test_what_was_added_elsewhere_is_loaded_field_by_field_and_nothing_older(page, browser):
    opened(browser, page)
    base = {"label": "against", "sub": "", "comment": "", "flag": False}
    old, new, newest = (f"20{year}-01-01T10:00:00.000Z" for year in (20, 21, 22))
    for row, told in (
        ({**base, "at": new}, "Answers loaded: 1."),  # of a page before fields had times
        ({**base, "label": "favor", "at": old}, "Answers loaded: 0. As new or newer here, and kept: 1."),
        ({**base, "comment": "hm", "at": newest, "times": {"label": old, "comment": newest}}, "Answers loaded: 1."),
        ({**base, "label": "neither", "sub": "questions", "at": newest, "times": {"label": newest, "sub": newest}}, "Answers loaded: 1."),
    ):  # fmt: skip
        browser.run(LOAD, [row])
        browser.wait(f"{MESSAGE} === {told!r}")
    browser.wait(SAVED)
    opened(browser, page)
    row = answers(browser)[0]
    assert [row[name] for name in ("label", "sub", "comment")] == ["neither", "questions", "hm"]


def test_a_clock_that_was_ahead_hides_no_correction(page, browser):
    opened(browser, page)
    browser.run("window.right = Date.now; Date.now = () => window.right() + 86400000")
    browser.press("1", "1", "1")
    browser.run("Date.now = window.right")
    browser.press("ArrowLeft", "ArrowLeft", "ArrowLeft", "2")
    browser.wait(SAVED)
    opened(browser, page)
    assert [row["label"] for row in answers(browser)[:3]] == ["against", "favor", "favor"]


def test_trouble_with_the_storage_stays_on_screen_until_it_is_solved(page, browser):
    opened(browser, page)
    hidden = "return document.getElementById('trouble').hidden"
    browser.run("localStorage.setItem('covmis/001/a1/another program', 'not JSON')")
    browser.press("1")
    browser.wait(SAVED)
    assert browser.run(hidden), "what is not ours is passed over"
    browser.run(
        "window.put = IDBObjectStore.prototype.put; window.setItem = Storage.prototype.setItem;"
        "const full = () => { throw new DOMException('full', 'QuotaExceededError'); };"
        "IDBObjectStore.prototype.put = full; Storage.prototype.setItem = full;"
    )
    browser.press("1", "2")
    browser.wait("return document.getElementById('lost').textContent.startsWith('2 answers are not saved')")
    browser.press("ArrowRight")
    look_everywhere(browser, "offline-trouble")
    assert not browser.run(hidden)
    browser.run("IDBObjectStore.prototype.put = window.put; document.getElementById('again').click()")
    browser.wait(SAVED)
    assert browser.run(hidden)
    opened(browser, page)
    assert browser.run(ANSWERED) == "3 answered"


def test_undo_flags_list_and_guideline_by_key(folder, browser):  # noqa: F811
    text = (
        "# Rules\n\n**favor** holds it true <img src=x onerror=alert(1)>\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    )
    (folder / "annotation" / "guideline.md").write_text(text + "\n![p](https://example.org/p.png)\n")
    covmis(folder, "round", "push", "--channel", "html")
    opened(browser, folder / "annotation" / "rounds" / "001" / "sheets" / "a1.html")
    browser.press("1", "2", "Backspace")
    assert (browser.run(ANSWERED), browser.run(MESSAGE)) == ("1 answered", "Taken back.")
    browser.press("f", "g")
    inside = "document.querySelector('.guideline')"
    assert browser.run(f"return {inside}.querySelectorAll('h1, strong, td').length") == 4
    assert "<img src=x" in browser.run(f"return {inside}.textContent")
    look_everywhere(browser, "offline-guideline")
    browser.press("l")
    assert browser.run("return document.getElementById('guideline').hidden")
    filters = "return [...document.querySelectorAll('#filters button')].map((one) => one.textContent)"
    assert browser.run(filters) == ["all (11)", "open (10)", "flagged (1)", "commented (0)"]
    browser.run("document.querySelectorAll('#filters button')[2].click()")
    rows = "return [...document.querySelectorAll('#rows button')].map((one) => one.textContent.slice(0, 16))"
    assert browser.run(rows) == ["2. open, flagged"]
    look_everywhere(browser, "offline-list")
    browser.press("l")
    browser.run("document.getElementById('onwards').click()")
    place = "return document.getElementById('place').textContent"
    browser.press("1")
    assert browser.run(place).startswith("Post 2 "), "it stays where it is not to go on"
    browser.run("document.getElementById('onwards').click()")
    assert browser.run("return document.images.length") == 0
    assert {one for one in browser.requests() if not one.startswith(("file:", "blob:"))} == set()


def test_digits_of_any_script_and_letters_of_any_layout_are_its_keys(folder, page, browser):  # noqa: F811
    opened(browser, page)
    arabic, persian, wide = (
        "\N{ARABIC-INDIC DIGIT ONE}",
        "\N{EXTENDED ARABIC-INDIC DIGIT TWO}",
        "\N{FULLWIDTH DIGIT ZERO}",
    )
    browser.type_on((arabic, "Digit1"), (persian, "Digit2"), (wide, "Digit0"))
    assert browser.run(ANSWERED) == "3 answered"
    browser.type_on(("\N{ARABIC LETTER NOON}", "KeyK"), ("\N{ARABIC LETTER BEH}", "KeyF"))
    assert browser.run("return document.getElementById('flag').getAttribute('aria-pressed')") == "true"
    browser.type_on(("\N{CYRILLIC SMALL LETTER PE}", "KeyG"))
    assert browser.run("return document.getElementById('guideline').hidden") is False
    browser.type_on(("\N{ARABIC LETTER MEEM}", "KeyL"))
    assert browser.run("return document.getElementById('list').hidden") is False
    browser.type_on(("y", "KeyG"), ("\N{LATIN SMALL LETTER O WITH DIAERESIS}", "Semicolon"))
    assert browser.run("return document.getElementById('list').hidden") is False, "a Latin letter is itself"
    browser.type_on(("\N{ARABIC LETTER WAW WITH HAMZA ABOVE}", "KeyC"))
    assert browser.run("return document.activeElement.id") == "comment"
    browser.press("Escape")
    given = [row["label"] for row in answers(browser)]
    assert given == ["favor", "against", "skip"]


def test_both_pages_have_one_way_to_read_a_key():
    scripts = [*TEMPLATES.glob("*.js"), *STATIC.glob("*.js")]
    assert sum(path.read_text().count("function keyOf(") for path in scripts) == 1


def test_a_label_taken_back_after_it_was_sent_opens_the_post_again(folder, page, browser):  # noqa: F811
    opened(browser, page)
    browser.press("1", "2")
    browser.wait(SAVED)
    shutil.move(exported(browser), page.with_name("a1-001.json"))
    assert covmis(folder, "round", "pull")["added"] == 2
    time.sleep(1.1)  # the record's times are whole seconds
    browser.press("Backspace")
    shutil.move(exported(browser), page.with_name("a1-001.json"))
    assert covmis(folder, "round", "pull")["withdrawn"] == 1
    assert covmis(folder, "round", "pull")["added"] == 0


def test_a_page_that_is_sent_again_with_another_first_post_keeps_its_answers(folder, page, browser):  # noqa: F811
    opened(browser, page)
    browser.press("1", "2", "3", "Enter")
    browser.wait(SAVED)
    assert browser.run(ANSWERED) == "3 answered"
    first = browser.run(f"{DATA} return data.items[0].id")
    record.forget(folder / "annotation" / "rounds", [first.partition("|")[2]])
    covmis(folder, "round", "push", "--channel", "html")
    opened(browser, page)
    assert browser.run(ANSWERED) == "2 answered"
    assert first not in browser.run("return document.getElementById('data').textContent")


def test_only_offline_pages_have_a_size(folder):  # noqa: F811
    done = covmis(folder, "round", "push", "--channel", "csv", "--page-size", "4", fails=2)
    assert "is for offline pages" in done["error"]


def test_pages_of_a_few_posts_hold_all_work_and_come_back(folder, browser):  # noqa: F811
    sent = covmis(folder, "round", "push", "--channel", "html", "--page-size", "4")["written"]
    assert [Path(name).name for name in sent] == [
        f"{who}-part-{part}.html" for who in ("a1", "a2") for part in (1, 2, 3)
    ]
    sheets, items = folder / "annotation" / "rounds" / "001" / "sheets", []
    browser.size(390, 844)
    for part in (1, 2, 3):
        opened(browser, sheets / f"a1-part-{part}.html")
        assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")
        assert f"part {part}" in browser.run("return document.title")
        own = browser.run(f"{DATA} return data.items.map((one) => one.id)")
        items += own
        browser.press(*"1" * len(own))
        file = exported(browser, f"a1-001-part-{part}.json")
        shutil.move(file, sheets / file.name)
    browser.size(1280, 900)
    assert covmis(folder, "round", "pull")["added"] == len(items) == len(set(items)) == 11
