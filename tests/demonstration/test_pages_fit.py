"""Every page that covmis makes, in a browser at the width of a desk and of a phone: nothing is cut, nothing sticks out."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from covmis_build.report import figures
from covmis_build.report.page import Section, page
from tests.annotation.browser import Browser
from tests.demonstration.pages import PAGES, render

pytestmark = pytest.mark.needs("chromium")
LOOK = os.environ.get("COVMIS_SCREENSHOTS")
"""A folder: screenshots go there, to be looked at."""
WIDTHS = {1280: "desk", 390: "phone"}
FAULTS = """
const found = [], wide = document.documentElement.clientWidth;
if (document.documentElement.scrollWidth > wide) found.push("the page scrolls sideways");
const scrolls = e => e.closest(".scroll, pre, .guideline");
for (const e of document.querySelectorAll("body *")) {
  const box = e.getBoundingClientRect(), style = getComputedStyle(e);
  if (!box.width || style.position === "absolute") continue;
  if (!scrolls(e) && box.right > wide + 1) found.push("sticks out: " + e.tagName + " " + e.textContent.trim().slice(0, 40));
  if (!scrolls(e) && e.scrollWidth > e.clientWidth + 1 && style.overflowX !== "visible" && e.clientWidth) found.push("cut: " + e.tagName + " " + e.textContent.trim().slice(0, 40));
}
for (const text of document.querySelectorAll("svg text")) {
  const box = text.getBoundingClientRect(), frame = text.closest("svg").getBoundingClientRect();
  if (box.left < frame.left - 2 || box.right > frame.right + 2) found.push("cut in a figure: " + text.textContent);
  if (box.width && box.height < 11) found.push("too small to read: " + text.textContent);
}
if (wide > 1000) for (const box of document.querySelectorAll(".scroll")) if (box.scrollWidth > box.clientWidth + 1) found.push("a table is wider than the page: " + box.textContent.trim().slice(0, 60));
for (const mark of ["`", "-0.000", "\\u22120.000"]) for (const p of document.querySelectorAll("p, td, .lead")) if (!p.closest(".outside, .told") && p.textContent.includes(mark)) found.push(mark + " in: " + p.textContent.slice(0, 60));
return [...new Set(found)];
"""


def faults(browser: Browser, page: Path, width: int) -> list[str]:
    """What a reader would miss or stumble over on this page at this width."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser._post("/goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": size})
    browser.open(page)
    return browser.run(FAULTS)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """One browser for all pages."""
    folder = tmp_path_factory.mktemp("browser")
    started = Browser(folder, folder / "profile")
    yield started
    started.close()


@pytest.fixture(scope="module")
def pages(built, tmp_path_factory):
    """The folder with every page."""
    folder = tmp_path_factory.mktemp("pages")
    render(shutil.copytree(built / "study", folder / "study"), folder)
    return folder


@pytest.mark.parametrize("width", WIDTHS, ids=WIDTHS.values())
@pytest.mark.parametrize("name", [page.name for page in PAGES])
def test_nothing_is_cut(browser, pages, name, width):
    if LOOK:
        browser.open(pages / f"{name}.html")
        browser.look(Path(LOOK) / f"{name}-{width}.png", width=width)
    assert faults(browser, pages / f"{name}.html", width) == []


def test_figures_of_any_data_fit(browser, tmp_path):
    """Long and Chinese labels, large numbers, many rows, series, months and classes."""
    long, wide = "Whoever can hold their breath for ten seconds does not have it", "疫苗" * 30
    names = [long, wide, *"abcdefghij"]
    months = [f"{year}-{month:02}" for year in range(2015, 2025) for month in range(1, 13)]
    classes = ["supporting", "does not support at all", wide, "querying", "commenting", "unrelated"]
    drawn = [
        figures.bars([(name, 10.0**at) for at, name in enumerate(names)], alt="a", unit=long * 3),
        figures.stacked(names, {name: [1e6] * len(names) for name in names}, alt="b", unit=wide),
        figures.forest([(name, 0.5, 0.0, 1.0) for name in names], alt="c", unit=long, limits=(0, 1)),
        figures.forest([(long, -2.5e5, -1e6, 3e6)], alt="d", reference=0),
        figures.course(months, {name: [float(at) for at in range(120)] for name in names}, alt="e"),
        figures.course([long, wide, "c"], {"k": [1e7, None, 2e7]}, alt="f", unit=long),
        figures.heat([[1000, 2, 3, 4, 5, 6]] * 6, classes, classes, alt="g", row_title=long, column_title=long),
        figures.heat([[1, 2], [3, 4]], ["a", "b"], ["a", "b"], alt="h", row_title="a1", column_title="a2"),
        figures.steps([(long, long * 2, [long * 3, wide]), (wide, wide, []), ("a", "b", ["c"])], alt="i", last=True),
    ]  # fmt: skip
    made = tmp_path / "figures.html"
    made.write_text(page("Figures", [Section("All", figures=drawn)]))
    for width in WIDTHS:
        if LOOK:
            browser.open(made)
            browser.look(Path(LOOK) / f"figures-{width}.png", width=width)
        assert faults(browser, made, width) == [], width


def test_a_fault_is_seen(browser, tmp_path):
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<meta name=viewport content='width=device-width'><p style='width:2000px'>wide</p><p>run `this`</p><td>-0.000</td>"
    )
    seen = faults(browser, bad, 390)
    assert any("sideways" in fault for fault in seen)
    assert any("`" in fault for fault in seen)


AXE = """
window.violations = null;
axe.run(document, {resultTypes: ["violations"]}).then(
  result => window.violations = result.violations.map(v => v.id + ": " + v.nodes.map(n => n.target).join(", ")),
  error => window.violations = ["axe failed: " + error]);
"""


@pytest.fixture(scope="module")
def axe():
    """axe-core, which checks contrast, names and focus; this project neither holds nor fetches it."""
    file = os.environ.get("COVMIS_AXE")
    if not file:
        pytest.skip("needs axe-core: set COVMIS_AXE to its axe.min.js")
    return Path(file).read_text("utf-8")


def violations(browser: Browser, axe: str) -> list[str]:
    """What axe finds on the page that is open."""
    browser.run(axe + AXE)
    browser.wait("return window.violations !== null")
    return browser.run("return window.violations")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", [page.name for page in PAGES])
def test_axe_finds_no_violation(browser, pages, axe, name, scheme):
    browser.prefer(scheme)
    try:
        for width in WIDTHS:
            browser.size(width, 900)
            browser.open(pages / f"{name}.html")
            if name == "offline":
                browser.press("1", "f")
            assert violations(browser, axe) == [], width
    finally:
        browser.prefer("light")


def test_axe_sees_a_violation(browser, axe, tmp_path):
    bad = tmp_path / "bad.html"
    bad.write_text("<html lang=en><title>t</title><main><h1>t</h1><p style='color:#999;background:#aaa'>grey</p><button></button>")  # fmt: skip
    browser.open(bad)
    assert {found.split(":")[0] for found in violations(browser, axe)} == {"button-name", "color-contrast"}
