"""Figures of a page as files: what the page shows, in its light colours; a page of others cannot bring anything else."""

from __future__ import annotations

import re
import struct
from xml.etree import ElementTree as ET

import pytest

from covmis_build.errors import InputError, MissingExtra, UnknownName
from covmis_build.report import figures
from covmis_build.report.figure_files import SVG, FigureFormat, figures_in
from covmis_build.report.page import Section, page
from covmis_build.workbench.export import export, export_figures
from tests.program import covmis

HOSTILE = '<script>alert(1)</script> & "a" \N{GREEK SMALL LETTER ALPHA}大蒜'


def whole_page() -> str:
    drawn = [
        figures.bars([(HOSTILE, 3.0), ("b", 1.0)], alt=HOSTILE, unit=HOSTILE),
        figures.stacked(["c1"], {HOSTILE: [3], "against": [5]}, alt=HOSTILE),
        figures.forest([("r1", 0.6, 0.5, 0.7), ("r2", None, None, None)], alt=HOSTILE, reference=0.67),
        figures.heat([[5, 1], [0, 0]], ["a", HOSTILE], ["a", "b"], alt=HOSTILE, row_title=HOSTILE),
        figures.course(["1", "2"], {"k": [0.5, 0.6]}, bands={"k": ([0.4, 0.5], [0.6, 0.7])}, alt=HOSTILE),
        figures.steps([("posts", "12", ()), ("items", "3", (HOSTILE,))], alt=HOSTILE, last=True),
    ]
    return page(
        "Report", [Section(f"Shares {HOSTILE}", figures=drawn[:3]), Section("Ü/..", figures=drawn[3:])]
    )


def texts(root: ET.Element) -> list[str]:
    return [text.text for text in root.iter(f"{{{SVG}}}text")]


def test_every_figure_of_a_page_is_taken_with_its_shapes_and_texts():
    html = whole_page()
    taken = figures_in(html)
    on_page = [ET.fromstring(svg) for svg in re.findall(r"<svg .*?</svg>", html, re.DOTALL)]
    assert len(taken) == len(on_page) == 6
    for figure, before in zip(taken, on_page, strict=True):
        root = ET.fromstring(figure.svg)
        assert texts(root) == texts(before)
        assert [shape.tag for shape in root] == [shape.tag for shape in before]
        assert figure.alt == HOSTILE
        assert not re.search(rb"var\(|currentColor|<script", figure.svg)
    assert b"#2f6db3" in taken[0].svg  # the first colour of the light page
    names = [figure.file_name(FigureFormat.SVG) for figure in taken]
    assert names[0] == "01-shares-script-alert-1-script-a-α大蒜.svg"
    assert names[3] == "04-ü.svg"
    assert figures_in(html) == taken


@pytest.mark.needs("figures")
def test_a_figure_becomes_pdf_and_png(tmp_path):
    (tmp_path / "report.html").write_text(whole_page(), "utf-8")
    for wanted, begins in (("pdf", b"%PDF"), ("png", b"\x89PNG")):
        written = export_figures(str(tmp_path / "report.html"), wanted).files
        data = [(tmp_path / "report-figures" / name).read_bytes() for name in written]
        assert len(data) == 6
        assert all(each.startswith(begins) for each in data)
        again = export_figures(str(tmp_path / "report.html"), wanted, tmp_path / "again").files
        assert [(tmp_path / name).read_bytes() for name in again] == data
    width, height = struct.unpack(">II", data[0][16:24])
    assert width == pytest.approx(300 * (285 + 8) / 72, abs=2)
    assert 0.2 < height / width < 1


def test_without_the_extra_the_error_names_it(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "typst", None)
    (tmp_path / "report.html").write_text(whole_page(), "utf-8")
    with pytest.raises(MissingExtra, match="needs the extra 'figures'"):
        export_figures(str(tmp_path / "report.html"), "pdf")
    assert not (tmp_path / "report-figures").exists()


FORGED = {
    "script": "<script>alert(1)</script>",
    "picture": '<image href="http://example.org/x.png"/>',
    "event": '<rect onclick="alert(1)"/>',
    "link": '<rect style="fill:url(http://example.org/x)"/>',
    "inside": "<text><tspan>a</tspan></text>",
    "colour": '<rect style="fill:var(--unknown)"/>',
    "entity": "&unknown;",
    "foreign": "<foreignObject/>",
}


@pytest.mark.parametrize("kind", FORGED)
def test_a_figure_that_covmis_did_not_draw_is_not_taken(kind):
    html = whole_page()
    at = html.index("<rect", html.index("<figure>"))
    with pytest.raises(InputError, match="covmis did not draw"):
        figures_in(html[:at] + FORGED[kind] + html[at:], "report.html")


@pytest.mark.parametrize("size", ["381 10", "380 1e7", "nan 10", "380 inf", "0 10", "380 -1", "380"])
def test_a_figure_of_a_size_that_covmis_does_not_draw_is_not_taken(size):
    html, count = re.subn(r'viewBox="[^"]*"', f'viewBox="0 0 {size}"', whole_page(), count=1)
    assert count == 1
    with pytest.raises(InputError, match="covmis did not draw"):
        figures_in(html, "report.html")


@pytest.mark.needs("figures")
def test_the_picture_of_a_tall_figure_is_coarser():
    rows = [(f"claim {number}", 0.5, 0.4, 0.6) for number in range(400)]
    (tall,) = figures_in(page("T", [Section("Shares", figures=[figures.forest(rows, alt="tall")])]))
    width, height = struct.unpack(">II", tall.in_format(FigureFormat.PNG)[16:24])
    assert (tall.height > 17_000, height <= 30_100, width > 600) == (True, True, True)


def test_a_figure_of_an_earlier_page_is_named(tmp_path):
    (tmp_path / "report.html").write_text(whole_page(), "utf-8")
    first = export_figures(str(tmp_path / "report.html"), "svg")
    assert first.warnings == export_figures(str(tmp_path / "report.html"), "svg").warnings == ()
    drawn = [figures.bars([("a", 3.0)], alt="now")]
    (tmp_path / "report.html").write_text(page("Report", [Section("Other", figures=drawn)]), "utf-8")
    changed = export_figures(str(tmp_path / "report.html"), "svg")
    assert len(changed.warnings) == 6
    assert changed.warnings[0].endswith("is no figure of report.html as it is now")
    assert len(list((tmp_path / "report-figures").iterdir())) == 7


def test_what_has_no_figures_and_what_is_no_page(tmp_path):
    (tmp_path / "plain.html").write_text(page("T", [Section("No figures")]))
    (tmp_path / "latin.html").write_bytes(b"<p>\xe9</p>")
    for name, told in (
        ("plain.html", "has no figures that can be taken"),
        ("latin.html", "is not UTF-8"),
        ("gone.html", "is no file"),
    ):
        with pytest.raises(InputError, match=told):
            export_figures(str(tmp_path / name), "svg")
    with pytest.raises(UnknownName, match=r"Did you mean 'svg'\?"):
        export_figures(str(tmp_path / "plain.html"), "SVG")
    with pytest.raises(UnknownName, match="--format svg"):
        export(str(tmp_path / "plain.html"))


def test_the_command_writes_beside_the_page_and_says_where(tmp_path):
    (tmp_path / "report.html").write_text(whole_page(), "utf-8")
    code, told, _ = covmis("export", tmp_path / "report.html", "--format", "svg")
    files = sorted((tmp_path / "report-figures").iterdir())
    assert (code, len(files)) == (0, 6)
    assert all(str(path) in told.replace("\n", "") for path in files)
    code, _, error = covmis("export", tmp_path / "report.html", "--format", "tiff")
    assert code == 2
    assert "Allowed: svg, pdf, png" in error
