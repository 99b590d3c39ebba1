"""Pictures of every page of `covmis open` in each state, light and dark, at the width of a desk and of a phone, to be looked at.

python -m tests.workbench.pictures STUDY FOLDER    a built study (it is copied), and where the pictures go
python -m tests.workbench.pictures STUDY           README's first picture, docs/images/queries.webp
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import covmis_build as covmis
from tests.annotation.browser import Browser
from tests.workbench.conftest import opening

README = Path(__file__).parents[2] / "docs" / "images" / "queries.webp"
CLAIM = "garlic"
QUERY = "garlic (coronavirus OR covid OR virus OR cures) -recipe"
PAGES = {
    "overview": "/", "posts": "/posts", "search": "/posts?q=garlic", "claims": "/claims", "queries": f"/queries/{CLAIM}",
    "typing": f"/queries/{CLAIM}?q={QUERY.replace(' ', '+')}", "nearest": f"/queries/{CLAIM}?show=nearest", "flow": "/flow",
    "dropped": "/flow?step=near_duplicates#posts", "story": f"/story/{CLAIM}", "plan": "/plan?posts=36&people=2", "guideline": "/guideline", "round": "/rounds/001", "links": "/links",
    "results": "/results", "systems": "/systems", "prompt": "/prompt", "release": "/release", "recall": "/recall", "purge": "/purge", "settings": "/settings", "session": "/session", "nothing": "/nothing",
}  # fmt: skip
FEW = ("overview", "posts", "claims", "queries", "flow", "plan", "round", "results", "release")


def take(study: Path, folder: Path) -> None:
    """All pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        here = Path(place)
        states = {
            name: shutil.copytree(study, here / name) for name in ("finished", "stale", "failed", "running")
        }
        states["none"] = here / "none"
        states["empty"] = here / "empty"
        covmis.new_study(states["empty"], title="A new study")
        covmis.open_study(states["stale"]).change(cleaning={"minimum_words": 4})
        (states["failed"] / "queries/claims.csv").write_text("nonsense\n1\n")
        shutil.rmtree(states["running"] / "data/build")
        browser = Browser(here / "downloads", here / "profile")
        stack.callback(browser.kill)
        for state, home in states.items():
            address, _ = stack.enter_context(opening(home))
            base = address.split("/?")[0]
            browser.open(address)
            names = (
                PAGES
                if state == "finished"
                else ("overview",)
                if state in {"none", "running", "failed"}
                else FEW
            )
            for name in names:
                for width in (1280, 390):
                    for scheme in ("light", "dark"):
                        browser.prefer(scheme)
                        browser.size(width, 900)
                        if state in {"failed", "running"}:
                            browser.open(base + "/")
                            browser.run(
                                "if (!document.querySelector('.work')) document.querySelector('.next form').submit()"
                            )
                            browser.wait("return document.querySelector('.work')")
                        else:
                            browser.open(base + PAGES[name])
                        if state == "failed":
                            browser.wait("return document.querySelector('.work').dataset.state === 'failed'")
                        browser.look(folder / f"{state}-{name}-{width}-{scheme}.png", width)


def readme(study: Path) -> None:
    """The queries page while somebody types; WebP has few bytes."""
    with tempfile.TemporaryDirectory() as place, opening(study) as (address, _):
        browser = Browser(Path(place) / "downloads", Path(place) / "profile")
        try:
            browser.size(1240, 1120)
            browser.open(address)
            browser.open(address.split("/?")[0] + PAGES["typing"])
            browser.look(README, 1240, 1120, whole=False)
        finally:
            browser.kill()


if __name__ == "__main__":
    take(*map(Path, sys.argv[1:])) if len(sys.argv) > 2 else readme(Path(sys.argv[1]))
