"""Pages: outside text is text, nothing is loaded, the same input gives the same bytes."""

from __future__ import annotations

import re
from pathlib import Path

import jinja2
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covmis_build.report import figures
from covmis_build.report import page as page_module
from covmis_build.report.page import Section, latex_escape, page, render, rows_html, table_html, table_latex

HOSTILE = "<script>alert('x')</script><img src=http://example.org/x onerror=alert(1)> & \"quoted\" $x^2$"


def test_a_text_from_outside_is_set_by_its_letters_and_only_what_is_typed_by_its_first():
    package = Path(page_module.__file__).parents[1]
    for path in [*package.rglob("*.html"), *package.rglob("*.js")]:
        by_first = re.findall(r'<(\w+)[^<>]*dir="auto"|\.dir = "auto"', path.read_text("utf-8"))
        assert set(by_first) <= {"textarea"}, path


def whole_page() -> str:
    frame = pd.DataFrame({"post": [HOSTILE, "plain"], "n": [1200, 3], "share": [0.5, None]})
    return page(
        f"Report {HOSTILE}",
        [
            Section(
                f"Labels {HOSTILE}",
                prose=f"First.\n\nSecond {HOSTILE}",
                body=table_html(frame, caption=HOSTILE, headings=1),
                figures=[
                    figures.bars([(HOSTILE, 3.0), ("b", 1.0)], alt=HOSTILE, unit=HOSTILE),
                    figures.stacked(["c1"], {HOSTILE: [3], "against": [5]}, alt=HOSTILE),
                    figures.forest(
                        [("r1", 0.6, 0.5, 0.7), ("r2", None, None, None)], alt="f", reference=0.67
                    ),
                    figures.heat([[5, 1], [0, 0]], ["a", HOSTILE], ["a", "b"], alt="h", row_title=HOSTILE),
                    figures.course(
                        ["1", "2"], {"k": [0.5, None]}, bands={"k": ([0.4, None], [0.6, None])}, alt="c"
                    ),
                ],
            )
        ],
        study=HOSTILE,
        lead=HOSTILE,
        tiles=[(HOSTILE, HOSTILE, HOSTILE)],
    )


def test_outside_text_is_text_everywhere():
    made = whole_page()
    assert "<script" not in made
    assert "<img" not in made
    assert made.count("&lt;script&gt;") >= 10


def test_nothing_is_loaded_from_anywhere():
    made = whole_page()
    assert "default-src 'none'" in made
    assert not re.search(r'<[^>]+\s(?:src|href|action|data)="(?!#)', made)
    assert not re.search(r"@import|url\((?!#)", made)


def test_the_same_input_gives_the_same_bytes():
    assert whole_page() == whole_page()


def test_ids_are_unique_on_a_page_with_two_equal_looking_figures():
    drawn = [figures.bars([("a", 1.0)], alt=alt) for alt in ("one", "two")]
    ids = re.findall(r'\bid="([^"]+)"', "".join(drawn))
    assert len(ids) == len(set(ids))
    for target in re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', "".join(drawn)):
        assert (target[0] or target[1]) in ids


def test_every_figure_has_a_text_alternative_and_follows_the_mode():
    drawn = figures.bars([("a", 1.0)], alt="Bars: a has one post")
    assert "<title" in drawn
    assert "Bars: a has one post" in drawn
    assert "var(--c1)" in drawn
    assert 'role="img"' in drawn


def test_a_missing_name_is_an_error_not_a_blank():
    with pytest.raises(jinja2.UndefinedError):
        render("page.html", title="x")


def test_numbers_read_as_numbers():
    made = table_html(pd.DataFrame({"n": [1200], "share": [-0.25], "none": [None], "flag": [True]}))
    assert "1,200" in made
    assert "\N{MINUS SIGN}0.250" in made
    assert "\N{EN DASH}" in made
    assert "yes" in made


@given(st.text())
def test_latex_has_no_bare_special_character(text):
    escaped = latex_escape(text)
    for command in (r"\\text[a-z]+\{\}", r"\\[{}$&%#_]"):
        escaped = re.sub(command, "", escaped)
    assert not set(escaped) & set("\\{}$&%#_~^")


def test_a_latex_table_has_as_many_columns_as_the_frame():
    made = table_latex(pd.DataFrame({"a_b": ["x & y"], "n": [3]}), caption="50%", label="tab:x")
    assert r"\begin{tabular}{lr}" in made
    assert r"x \& y & 3 \\" in made
    assert r"\caption{50\%}" in made


def test_no_p_value_is_nothing():
    frame = pd.DataFrame({"p": [0.0004, 0.04], "effect": [0.0001, 1.0]})
    html = table_html(frame, p_values=["p"])
    assert "&lt; 0.001" in html
    assert html.count("0.000") == 1  # the effect's
    assert "&lt; 0.001" in rows_html(["pair", "p"], [("a1 and a2", 0.0004)], p_values=["p"])


def test_regions_of_tables_have_names_of_their_own():
    """Readers of screens list them by name."""
    tables = [table_html(pd.DataFrame({name: [1]})) for name in ("claim", "kind")]
    names = [re.search('role="group" aria-label="([^"]+)"', table)[1] for table in tables]
    assert names == ["Table: claim", "Table: kind"]
