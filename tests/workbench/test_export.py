"""A page as one file: what the workbench shows, without anything that leads or loads from elsewhere."""

from __future__ import annotations

import re

import pytest

from covmis_build.errors import CovmisError, UnknownName
from covmis_build.workbench.export import export_page
from tests.annotation.browser import Browser
from tests.workbench.conftest import HOSTILE, client_of
from tests.workbench.test_results import labelled  # noqa: F401 - a fixture

PAGES = (
    "overview", "posts?q=garlic", "claims", "queries/a", "flow", "flow?step=words", "story/a", "plan", "rounds", "results", "release",
)  # fmt: skip


@pytest.mark.parametrize("page", PAGES)
def test_an_exported_page_is_one_file_that_leads_nowhere(study, page):
    study.open_round()
    path = export_page(study.places.folder, page)
    html = path.read_text("utf-8")
    assert path.parent == study.places.build
    assert HOSTILE not in html
    assert "default-src 'none'" in html
    assert "<script" not in html
    assert not re.findall(r'(?:src|href|action)="(?!data:,|#)[^"]*"', html)
    main = re.search(
        "<h1.*?</h1>",
        client_of(study, read_only=True).get(f"/{page}".replace("overview", "")).text,
        re.DOTALL,
    )
    assert main[0] in html


def test_a_poster_has_flow_agreement_and_shares_with_numbers_at_their_ticks(labelled):  # noqa: F811
    html = export_page(labelled.places.folder, "poster").read_text("utf-8")
    shares = labelled.estimate(by=["claim"]).shares.query("estimand == 'unique_posts'")
    for heading in ("to the sample", "Agreement between annotators", "Shares of unique posts"):
        assert heading in html
    for row in shares[shares["scope"] == "pool"].itertuples():
        assert f'<span class="k">{row.label}</span><div class="big">{row.share:.0%}' in html
    assert (
        html.count('class="interval"')
        == len(shares.query("scope == 'pool'")) + shares.query("scope == 'claim'")["name"].nunique()
    )
    assert html.count("<span>0%</span><span>25%</span>") == len(shares[shares["scope"] == "pool"]) + 1


def test_another_place_and_what_is_no_page(study, tmp_path):
    assert "<h1>Where posts went" in export_page(
        study.places.folder, "flow", tmp_path / "here.html"
    ).read_text("utf-8")
    for page in ("settings", "session", "static/bench.js", "../study.toml", "file/study.toml", ""):
        with pytest.raises(UnknownName):
            export_page(study.places.folder, page)
    for page in ("story/nobody", "queries/nobody", "flow?step=nonsense", "rounds/007"):
        with pytest.raises(CovmisError):
            export_page(study.places.folder, page)


@pytest.mark.needs("chromium")
def test_it_shows_in_a_browser_from_the_disk(study, tmp_path):
    path = export_page(study.places.folder, "queries/a")
    browser = Browser(tmp_path / "downloads", tmp_path / "profile")
    try:
        for width in (390, 1280):
            browser.size(width, 900)
            browser.open(path)
            assert browser.run("return document.documentElement.scrollWidth") <= width
            assert browser.run("return getComputedStyle(document.querySelector('mark')).fontWeight") == "600"
        assert browser.requests() == [path.as_uri()]
    finally:
        browser.close()
