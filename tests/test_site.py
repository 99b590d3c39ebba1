"""The site builds without a warning, its links lead somewhere, and its gallery has every page."""

from __future__ import annotations

import fcntl
import re
from urllib.parse import unquote

import pytest

from tests.demonstration.pages import PAGES
from tests.site import site

pytestmark = pytest.mark.needs("docs")
TARGET = re.compile(r'(?:href|src)="([^"#?]+)(?:[?#][^"]*)?"')


@pytest.fixture(scope="session")
def built_site(tmp_path_factory):
    """The site, built once, whichever worker needs it first."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if base.name.startswith("popen-") else base) / "site"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        told = folder / "told"
        if not told.exists():
            (folder / "extra" / "gallery").mkdir(parents=True)
            for page in PAGES:
                (folder / "extra" / "gallery" / f"{page.name}.html").write_text("a page", "utf-8")
            told.write_text(site(folder / "html", folder / "extra"), "utf-8")
    assert told.read_text("utf-8") == ""
    return folder / "html"


def test_links_lead_somewhere(built_site):
    broken = [
        (page.name, target)
        for page in built_site.rglob("*.html")
        for target in TARGET.findall(page.read_text("utf-8"))
        if not target.startswith(("http:", "https:", "mailto:", "data:"))
        and not (page.parent / unquote(target)).exists()
    ]
    assert broken == []


def test_nothing_of_the_repository_is_a_bare_mention(built_site):
    """What was measured, the changelog and the security contact are pages, not names of files."""
    text = (built_site / "guides" / "evaluation.html").read_text("utf-8")
    assert 'href="../project/results.html' in text


def test_python_page_has_every_public_name(built_site):
    import covmis_build

    text = (built_site / "reference" / "python.html").read_text("utf-8")
    named = set(re.findall(r'id="covmis_build\.(\w+)"', text))
    assert set(covmis_build.__all__) - named <= {"measures", "datasets"}, "say it in docs/reference/python.md"


def test_the_gallery_shows_every_page(built_site):
    text = (built_site / "gallery.html").read_text("utf-8")
    assert [page.name for page in PAGES if text.count(f'"gallery/{page.name}.html"') != 2] == []


def test_every_message_is_told(built_site):
    text = (built_site / "reference" / "errors.html").read_text("utf-8")
    assert text.count("<tr") > 400
    assert "must be an ISO date" in re.sub("<[^>]+>", "", text)


def test_machines_are_told_of_pages_that_there_are(built_site):
    told = (built_site / "llms.txt").read_text("utf-8")
    pages = re.findall(r"\]\((.*?)\)", told)
    assert len(pages) > 8
    assert [page for page in pages if not (built_site / page).is_file()] == []
