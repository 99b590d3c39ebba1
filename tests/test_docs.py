"""The page of tables is made of the records, and links lead somewhere."""

import re
from pathlib import Path

from tests import tables_page

DOCS = Path(__file__).parents[1] / "docs"


def test_the_page_of_tables_is_what_the_records_say():
    assert tables_page.PAGE.read_text("utf-8") == tables_page.page(), "renew it: python -m tests.tables_page"


def test_links_lead_somewhere():
    pages = [*DOCS.rglob("*.md"), DOCS.parent / "README.md", DOCS.parent / "CONTRIBUTING.md"]
    targets = [
        (page, target) for page in pages for target in re.findall(r"\]\(([^)#\s]+)\)", page.read_text())
    ]
    outside = ("http:", "https:", "mailto:")
    broken = [
        (page.name, target)
        for page, target in targets
        if not target.startswith(outside) and not (page.parent / target).exists()
    ]
    assert broken == []


def test_files_that_the_pages_name_exist():
    root = DOCS.parent
    pages = [*DOCS.rglob("*.md"), *root.glob("*.md"), *(root / "benchmarks").glob("*.md")]
    named = re.compile(r"\b(?:tests|covmis_build|benchmarks|docs|requirements|recipe)/[\w./-]*\.\w+")
    lost = [
        (page.name, name)
        for page in pages
        if page.name != "CHANGELOG.md"  # which also names what has gone
        for name in named.findall(page.read_text("utf-8"))
        if not (root / name).exists()
    ]
    assert lost == []
