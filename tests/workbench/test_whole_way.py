"""A real browser goes the whole way, to a sealed round, estimates and a release, without a terminal: a new study from
posts that nobody here made. The script of the session then makes the same tables elsewhere.
"""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from covmis_build.keyed import uniform
from covmis_build.study.study import open_study
from tests.annotation.browser import Browser
from tests.demonstration import simulate
from tests.workbench.conftest import opening
from tests.workbench.test_in_chromium import console

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.timeout(1800)]
CLAIMS = {
    "The police shot an unarmed teenager in Ferguson.": "ferguson (police OR shot OR shooting)",
    "The hostages in Sydney are held by one man.": "sydney (hostage OR hostages OR gunman)",
    "The pilot of the Germanwings flight was locked out of the cockpit.": "(germanwings OR 4u9525) -ferguson",
}
"""Written for rumours of 2014 and 2015."""
TABLES = ("claims", "queries", "posts", "hits", "items", "dropped", "sample")
ENDED = "return document.querySelector('.work')?.dataset.state"


class Lead:
    """The one who leads a study, at a browser."""

    def __init__(self, browser: Browser, address: str) -> None:
        self.browser, self.base = browser, address.split("/?", maxsplit=1)[0]
        browser.open(address)

    def go(self, place: str) -> None:
        self.browser.open(self.base + place)

    def click(self, text: str) -> None:
        """Click on the button or link with this text."""
        script = "[...document.querySelectorAll('main :is(button, a, label.button)')].find((one) => one.textContent.trim() === arguments[0])"
        self.browser.wait(f"return Boolean({script.replace('arguments[0]', repr(text))})")
        self.browser.run("document.body.dataset.left = 'no'")
        self.browser.run(script + ".click()", text)
        self.browser.wait("return document.body?.dataset.left !== 'no' && document.readyState === 'complete'")

    def start(self, text: str) -> None:
        """Click on a button that starts a command, and wait for its end."""
        self.click(text)
        assert self.browser.wait(f"{ENDED} !== 'running' && ({ENDED.removeprefix('return ')})") == "done", (
            self.browser.run("return document.querySelector('.work').textContent")
        )

    def fill(self, selector: str, text: str) -> None:
        """Write into a box, as a person types."""
        self.browser.run(
            "const box = document.querySelector(arguments[0]); box.value = arguments[1]; box.dispatchEvent(new Event('input', { bubbles: true }))",
            selector, text,
        )  # fmt: skip

    def drop(self, place: str, file: Path) -> None:
        """Choose a file where files are dropped in."""
        self.go(place)
        self.browser.run("document.body.dataset.left = 'no'")
        self.browser.choose(".drop input", file)
        self.browser.wait("return document.body?.dataset.left !== 'no' && document.readyState === 'complete'")

    def label(self, number: str, person: str, opinion) -> None:
        """Label all posts of a round as one person, one key a post."""
        self.go(f"/rounds/{number}")
        self.browser.run("document.querySelector(`.people button[value=${arguments[0]}]`).click()", person)
        saved = "document.body?.dataset.saved === 'yes'"
        self.browser.wait(f"return {saved}")
        items = self.browser.run(
            "return JSON.parse(document.getElementById('data').textContent).items.map((one) => one.id)"
        )
        self.browser.press(*(str(simulate.LABELS.index(opinion(item, person)) + 1) for item in items))
        self.browser.wait(f"return {saved} && !document.getElementById('end').hidden")
        self.click("Back to the round")

    def decide(self, number: str) -> None:
        """Decide all disagreements by key, each as one of the labels."""
        left = "document.querySelectorAll('.case:not(.done)').length"
        self.go(f"/rounds/{number}")
        while count := self.browser.run(f"return {left}"):
            self.browser.press("j")
            for at in range(count):
                self.browser.press("123"[at % 3])
                self.browser.wait(f"return {left} === {count - at - 1}")
            self.go(f"/rounds/{number}")


@pytest.fixture
def browser(tmp_path):
    browser = Browser(tmp_path / "downloads", tmp_path / "profile")
    yield browser
    browser.kill()


def scripts_of(lead: Lead, tmp_path: Path) -> dict[str, str]:
    """The scripts of the session, as the page shows them."""
    lead.go("/session")
    shell, python = lead.browser.run(
        "return [...document.querySelectorAll('pre')].map((one) => one.textContent)"
    )
    return {"session.sh": shell, "session.py": python}


def run(script: str, text: str, folder: Path) -> None:
    (folder / script).write_text(text)
    program = "sh" if script.endswith(".sh") else sys.executable
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run([program, script], cwd=folder, env=env, check=False, capture_output=True, text=True)
    assert not done.returncode, done.stderr


def same_tables(here: Path, there: Path) -> None:
    for table in TABLES:
        path = f"data/build/{table}.parquet"
        assert (here / path).read_bytes() == (there / path).read_bytes(), table


def shown_shares(lead: Lead) -> list[str]:
    lead.go("/results")
    return lead.browser.run(
        "return [...document.querySelectorAll('.three .big')].map((one) => one.textContent)"
    )


def shares_of(folder: Path) -> list[str]:
    shares = open_study(folder).estimate().shares.query("estimand == 'unique_posts' and scope == 'pool'")
    return [f"{share:.0%}" for share in shares.sort_values("name", kind="stable")["share"]]


def test_a_new_study_from_posts_that_nobody_here_made(browser, tmp_path, data_home):  # noqa: PLR0915 - one way
    given, folder = tmp_path / "given", tmp_path / "rumours"
    given.mkdir()
    posts = shutil.copyfile(data_home / "mu_temporality" / "pheme_2603.csv", given / "pheme.csv")
    with (given / "rumours.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("statement", "source"), *((text, "a newspaper") for text in CLAIMS)])
    with opening(folder) as (address, _):
        lead = Lead(browser, address)
        lead.fill("#title", "Rumours of 2014")
        lead.click("Make the study")
        lead.drop("/posts", posts)
        assert browser.run("return document.querySelector('.file .state').textContent") == "can be read"
        lead.start("Read the files")
        lead.drop("/claims", given / "rumours.csv")
        browser.wait(
            "return document.querySelector('#live [role=status]').textContent.startsWith('3 claims')"
        )
        lead.click("Import")
        lead.go("/queries")
        for at, keywords in enumerate(CLAIMS.values(), start=1):
            lead.go(f"/queries/rumours-{at:04}")
            lead.fill("#q", keywords)
            browser.wait("return document.querySelector('.count button.main')")
            lead.click("Save")
        lead.go("/settings")
        lead.fill("[name='cleaning.minimum_posts']", "10")
        lead.click("Save what I changed")
        lead.go("/plan")
        lead.start("Bring the study up to date")
        lead.go("/plan")
        lead.fill("#posts", "30")
        browser.wait("return document.querySelector('#live button')?.textContent.startsWith('Save 30 posts')")
        browser.run("document.querySelector('#live button').click()")
        browser.wait("return document.querySelector('#live .state')")
        lead.go("/")
        lead.start("Bring the study up to date")
        lead.go("/")
        lead.click("Go to the rounds")
        lead.start("Open the first round")
        for person in ("a1", "a2"):
            lead.label(
                "001",
                person,
                lambda item, person: simulate.LABELS[
                    int(3 * uniform(1, item)) - (uniform(2, item, person) < 0.2)
                ],
            )
        assert "so far" in browser.run("return document.querySelector('main').textContent")
        lead.decide("001")
        browser.run("document.querySelector('details.seal').open = true")
        lead.start("Seal")
        assert shown_shares(lead) == shares_of(folder)
        lead.go("/")
        lead.click("Go to the release")
        lead.start("Write the release")
        lead.start("Verify the release")
        assert [url for url in browser.requests() if not url.startswith((lead.base, "data:"))] == []
        scripts = scripts_of(lead, tmp_path)
        assert console(browser) == []
    study = open_study(folder)
    assert study.round().sealed
    assert (folder / "data/release/checksums.txt").exists()
    assert len(study.sample) > 25
    elsewhere = shutil.copytree(given, tmp_path / "elsewhere")
    run("session.sh", scripts["session.sh"], elsewhere)
    same_tables(folder, elsewhere / "rumours")
    shutil.rmtree(elsewhere / "rumours/annotation")
    shutil.copytree(folder / "annotation", elsewhere / "rumours/annotation")
    assert shares_of(elsewhere / "rumours") == shares_of(folder)
