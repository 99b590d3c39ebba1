"""The page of recall in a browser, with texts that attack it: nothing is cut, nothing is run, everything is there."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import pytest

from covmis_build.estimation.recall_page import recall_page
from covmis_build.estimation.recall_report import FrameFacts, report_of
from tests.annotation.browser import Browser
from tests.demonstration.test_pages_fit import WIDTHS, faults

ATTACK = "<script>document.title = 'attacked'</script> `code` &amp; " + "a-word-without-end" * 12


def a_page(**other):
    kinds = [["keywords"], ["keywords", "news_url"], ["title"], ["fact_check_url"]]
    rows = [
        {"item_id": f"c{at % 12}|x:{at}", "claim_id": f"c{at % 12}", "post_id": f"x:{at}", "found": at < 200, "kinds": kinds[at % 4] if at < 200 else [],
         "p_sample": 0.5 if at < 200 else 0.1, "probability": 0.5 if at < 200 else 0.1, "rank": at / 12, "drawn": at % 2 == 0 if at < 200 else at % 10 == 0,
         "relevant": float(at % 3 != 0), "stance": ("favor", "against", "")[at % 3]}
        for at in range(1200)
    ]  # fmt: skip
    facts = FrameFacts("BM25 and a model", "0123", 50, 12, 20_000, 200, 1000, 60, "f")
    report = report_of(facts, pd.DataFrame(rows), ("favor", "against"), rounds=("r001",), overruled=2)
    tables = {
        "examples": pd.DataFrame([(ATTACK, ATTACK), ("A claim", "A post")], columns=["claim", "post"]),
        "shared": pd.DataFrame([(ATTACK, ATTACK, 3, 5, 80)], columns=["claim", "words", "missed", "of_missed", "posts"]),
        "queries": pd.DataFrame(
            [(ATTACK, "wide", f"2 of ({ATTACK}, b, c)", 80, 5, 4, 5)],
            columns=["claim", "width", "expression", "posts", "finds", "held_out", "of_missed"],
        ),
        "told": [f"They link to {ATTACK} (3)."],
    }  # fmt: skip
    steps = [("near, or found by a query", 1200.0), ("found by a query", 200.0), ("missed", 600.0)]
    return recall_page(ATTACK, report, steps, **(tables | other))


def test_what_outsiders_wrote_is_text():
    html = a_page()
    assert "<script>document" not in html
    assert "&lt;script&gt;document" in html
    for part in ("news url", "fact check url", "perhaps missed", "by other kinds", "Missed posts"):
        assert part in html


def test_without_labelled_missed_posts_there_are_no_empty_tables():
    empty = dict.fromkeys(("examples", "shared", "queries"), pd.DataFrame())
    html = a_page(**empty, told=[])
    assert "Queries that would find them" not in html
    assert "Found and missed posts" in html


@pytest.mark.needs("chromium")
@pytest.mark.parametrize("width", WIDTHS, ids=WIDTHS.values())
def test_nothing_is_cut(tmp_path, width):
    path = tmp_path / "recall.html"
    path.write_text(a_page(), encoding="utf-8")
    browser = Browser(tmp_path, tmp_path / "profile")
    try:
        seen = faults(browser, path, width)
        assert browser.run("return document.title;") != "attacked"
        if look := os.environ.get("COVMIS_SCREENSHOTS"):
            browser.look(Path(look) / f"recall-{width}.png", width=width)
    finally:
        browser.close()
    assert [fault for fault in seen if not fault.startswith("` in")] == []
