"""A real browser: the way through the pages with mouse and keys, nothing from elsewhere, nothing that sticks out."""

from __future__ import annotations

import json

import pytest

from covmis_build.study.study import open_study
from tests.annotation import small
from tests.annotation.browser import Browser
from tests.demonstration.test_pages_fit import axe, violations  # noqa: F401 - a fixture
from tests.workbench.conftest import opening, wait_for

pytestmark = pytest.mark.needs("chromium")


@pytest.fixture
def opened(study):
    with opening(study.places.folder) as (address, _):
        yield address


@pytest.fixture
def browser(tmp_path):
    browser = Browser(tmp_path / "downloads", tmp_path / "profile")
    yield browser
    browser.close()


def console(browser):
    """What the browser complains of, but for requests that the page aborted."""
    return [
        entry["message"]
        for entry in browser._post("/se/log", {"type": "browser"})
        if entry["level"] == "SEVERE"
    ]


def test_the_file_that_starts_the_browser_leads_in(study, browser, tmp_path):
    page, program = tmp_path / "page.html", tmp_path / "browser"
    program.write_text(
        f'#!/bin/sh\ncp "$(echo "$1" | sed s,file://,,)" {page}.part && mv {page}.part {page}\n'
    )
    program.chmod(0o755)
    with opening(study.places.folder, browser=program) as (address, _):
        wait_for(page.exists)
        browser.open(page.as_uri())
        browser.wait("return document.querySelector('.path a[href=\"/flow\"]')")
        assert browser.run("return location.href") == f"{address.split('/?')[0]}/"


def test_the_way_from_what_is_next_to_a_post_and_a_run(opened, browser, study):
    browser.open(opened)
    base = opened.split("/?")[0]
    assert browser.run("return location.href") == f"{base}/"
    assert browser.run("return document.cookie") == ""
    browser.run("document.querySelector('.path a[href=\"/flow\"]').click()")
    browser.wait("return location.pathname === '/flow' && document.querySelector('.flow')")
    browser.run(
        "[...document.querySelectorAll('.gone a')].find((a) => a.textContent.includes('fewer than')).click()"
    )
    browser.wait("return document.querySelectorAll('.post').length === 2")
    browser.press("j", "j")
    assert browser.run("return [...document.querySelectorAll('.post')].indexOf(document.activeElement)") == 1
    browser.type_on(("\N{ARABIC LETTER NOON}", "KeyK"))
    assert browser.run("return [...document.querySelectorAll('.post')].indexOf(document.activeElement)") == 0
    for key, code in (("?", "Shift+Slash"), ("\N{ARABIC QUESTION MARK}", "Shift+Slash")):
        browser.type_on((key, code))
        assert browser.run("return document.querySelector('#keys').open")
        browser.press("Escape")
    assert browser.run("return document.title").startswith("Flow")
    browser.run("document.querySelector('.post .about a').click()")
    browser.wait("return document.querySelector('.tale li')")
    browser.open(f"{base}/queries/a")
    browser.type_on(("\N{ARABIC LETTER ZAH}", "Slash"))
    browser.press("x", "Backspace", " ", "y", "e", "s")
    browser.wait("return document.querySelector('.count b').textContent === '1'")
    assert (
        browser.run("return document.querySelector('.cli code').textContent")
        == "covmis queries try --words 'garlic yes'"
    )
    assert browser.run("return document.querySelectorAll('mark').length") == 2
    browser.run("document.querySelector('.count button.main').click()")
    browser.wait("return document.querySelector('.count .state')")
    assert study.set_keywords("a", "garlic yes").before == ["garlic yes"]
    study.set_keywords("a", "garlic")
    study.change(cleaning={"minimum_words": 3})
    browser.open(f"{base}/")
    browser.run("document.querySelector('.next button').click()")
    browser.wait("return document.querySelector('.work')")
    browser.wait("return document.querySelector('.work').dataset.state === 'done'", 90)
    assert "sample" in browser.run("return document.querySelector('.work pre').textContent")
    browser.open(f"{base}/session")
    assert "covmis run" in browser.run("return document.querySelector('main').textContent")
    assert [url for url in browser.requests() if not url.startswith((base, "data:"))] == []
    assert console(browser) == []


def test_a_slider_moves_the_figures_and_is_saved(opened, browser, study):
    browser.open(opened)
    browser.open(opened.split("/?")[0] + "/plan")
    hours = "return document.querySelector('.big').textContent"
    before = browser.run(hours)
    browser.run("document.querySelector('#people').focus()")
    browser.press("ArrowLeft")
    browser.wait(f"{hours} !== {before!r}")
    assert browser.run("return document.querySelector('output[for=people]').value") == "1"
    browser.run("document.querySelector('#live button').click()")
    browser.wait("return document.querySelector('#live .state')")
    assert open_study(study.places.folder).settings.annotation.per_item == 1
    assert console(browser) == []


def test_a_disagreement_is_decided_by_its_key(browser, tmp_path):
    folder = small.pushed(tmp_path / "s")
    small.label_both(folder, differ=lambda item: item.endswith(("3", "4")))
    small.covmis(folder, "round", "pull")
    round_ = open_study(folder).round()
    before, (first, second, *_) = len(round_.labels), round_.cases().rows
    with opening(folder) as (opened, _):
        browser.open(opened)
        browser.open(opened.split("/?")[0] + "/rounds")
        counts = "return document.querySelector('.filters[data-fresh]').textContent"
        none_decided = browser.run(counts)
        browser.run("document.querySelector('.case [name=reason]').focus()")
        browser.press(*"why", "Enter")
        assert browser.run("return document.activeElement.className") == "case", "Enter decides nothing"
        browser.run("document.activeElement.blur()")
        browser.type_on(("\N{ARABIC LETTER TEH}", "KeyJ"), ("\N{ARABIC-INDIC DIGIT TWO}", "Digit2"))
        browser.wait("return document.querySelectorAll('.case.done').length === 1")
        browser.wait(f"{counts} !== {json.dumps(none_decided)}", 60)
        assert (
            browser.run("return document.activeElement.querySelector('[name=item]').value") == second.item_id
        )
        assert f"adjudicate '{first.item_id}' --label against" in browser.run(
            "return document.querySelector('.cli code').textContent"
        )
        round_.decide(second.item_id, "neither")
        browser.press("1")
        browser.wait("return document.querySelector('.case .warning')")
        assert "has changed since: neither" in browser.run(
            "return document.querySelector('.case .warning').textContent"
        )
        assert [entry for entry in console(browser) if "400" not in entry] == []
    labels = round_.labels
    assert (len(labels), list(labels["label"][-2:])) == (before + 2, ["against", "neither"])
    assert list(labels["reason"][-2:]) == ["why", ""]


def test_keys_that_are_pressed_faster_than_answers_come_are_all_saved(browser, tmp_path):
    folder = small.pushed(tmp_path / "s")
    small.label_both(folder, differ=lambda item: True)
    small.covmis(folder, "round", "pull")
    round_ = open_study(folder).round()
    cases = [case.item_id for case in round_.cases().rows]
    assert len(cases) > 10
    with opening(folder) as (opened, _):
        browser.open(opened)
        browser.open(opened.split("/?")[0] + "/rounds")
        browser.press("j", *("123"[at % 3] for at in range(len(cases))))
        browser.wait(f"return document.querySelectorAll('.case.done').length === {len(cases)}", 90)
        assert console(browser) == []
    decided = {case.item_id: case.label for case in round_.cases().rows if case.label}
    assert decided == {item: small.LABELS[at % 3] for at, item in enumerate(cases)}


PATHS = (
    "/", "/posts", "/posts?q=garlic", "/claims?header=0&separator=%3B", "/claims", "/queries/a?q=garlic+-yes", "/flow?step=words", "/story/a", "/session",
    "/plan?posts=36&people=3", "/guideline", "/rounds", "/links", "/results", "/systems", "/prompt", "/release", "/recall", "/purge", "/settings", "/nothing",
)  # fmt: skip


def everywhere(browser, base):
    """Each page, light and dark, at the width of a phone and of a desk."""
    for scheme in ("light", "dark"):
        browser.prefer(scheme)
        for width in (390, 1280):
            browser.size(width, 900)
            for path in PATHS:
                browser.open(base + path)
                yield path, width, scheme


def test_nothing_sticks_out_and_axe_finds_no_violation(opened, browser, axe):  # noqa: F811
    browser.open(opened)
    for path, width, scheme in everywhere(browser, opened.split("/?")[0]):
        wide = browser.run("return document.documentElement.scrollWidth")
        assert wide <= width, json.dumps([path, width, scheme])
        assert violations(browser, axe) == [], json.dumps([path, width, scheme])
