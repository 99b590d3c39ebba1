"""A real browser: the way through the pages with mouse and keys, nothing from elsewhere, nothing that sticks out."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys

import pytest

from tests.annotation.browser import Browser

pytestmark = pytest.mark.needs("chromium")


@pytest.fixture
def opened(study):
    """The address at which `covmis open` shows the study."""
    command = [sys.executable, "-m", "covmis_build", "open", "--no-browser", "--study", study.places.folder]
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as server:
        yield re.search(r"http://\S+", server.stdout.readline())[0]
        server.send_signal(signal.SIGINT)
        assert server.wait(30) == 0


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
    browser.press("?")
    assert browser.run("return document.querySelector('#keys').open")
    browser.press("Escape")
    assert browser.run("return document.title").startswith("Flow")
    browser.run("document.querySelector('.post .about a').click()")
    browser.wait("return document.querySelector('.tale li')")
    browser.open(f"{base}/queries/a")
    browser.press("/", "x", "Backspace", " ", "y", "e", "s")
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


def test_nothing_sticks_out_on_a_phone_or_a_desk(opened, browser):
    browser.open(opened)
    base = opened.split("/?")[0]
    for scheme in ("light", "dark"):
        browser.prefer(scheme)
        for width in (390, 1280):
            browser.size(width, 900)
            for path in (
                "/",
                "/queries/a?q=garlic+-yes",
                "/flow?step=words",
                "/story/a",
                "/session",
                "/nothing",
            ):
                browser.open(base + path)
                wide = browser.run("return document.documentElement.scrollWidth")
                assert wide <= width, json.dumps([path, width, scheme])
