"""The figures of a page that covmis wrote, as files for a paper: SVG, PDF or PNG, in the page's light colours.

Pages hold their figures whole. They are taken from there, not drawn a second time, so that a paper shows what the page
shows. A page may come from elsewhere: only the shapes that `figures.py` draws are taken.
"""

from __future__ import annotations

import importlib
import re
from enum import StrEnum
from functools import cache
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree as ET

from covmis_build.children import in_child
from covmis_build.errors import InputError, MissingExtra, UnknownName, nearest
from covmis_build.report.figures import SIZE, WIDTH
from covmis_build.report.page import TEMPLATES

if TYPE_CHECKING:
    from pathlib import Path

MOST_BYTES = 64 * 2**20
"""Size of the largest page that is read; ours have a few megabytes at most."""
SVG = "http://www.w3.org/2000/svg"
FONTS = "'DejaVu Sans', Arial, Helvetica, sans-serif"
ATTRIBUTES = frozenset({"x", "y", "width", "height", "style", "x1", "y1", "x2", "y2", "cx", "cy", "r", "d", "dy"})  # fmt: skip
SHAPES = frozenset({"rect", "line", "circle", "path", "text"})
POINTS_OF_A_UNIT = 0.75
"""A figure is 285 points wide in a PDF, about a column of a paper."""
DOTS_PER_INCH = 300
MOST_UNITS = 1_000_000
"""Height of the tallest figure that is taken; a claim takes 44."""
MOST_PIXELS = 30_000
"""Height of a picture that most programs can open; a taller figure becomes a coarser one."""


class FigureFormat(StrEnum):
    """Formats of a figure's file."""

    SVG = "svg"
    PDF = "pdf"
    PNG = "png"


def figure_format(name: str) -> FigureFormat:
    """Return the format of this name."""
    if name not in set(FigureFormat):
        raise UnknownName(f"'{name}' is no format of figures", remedy=nearest(name, list(FigureFormat)))
    return FigureFormat(name)


class Figure(NamedTuple):
    """A figure of a page."""

    name: str
    """Its number and the heading above it, as a file's name."""
    alt: str
    svg: bytes
    width: float
    height: float
    """In units; about a pixel."""

    def file_name(self, wanted: FigureFormat) -> str:
        """Return the name of its file."""
        return f"{self.name}.{wanted}"

    def in_format(self, wanted: FigureFormat) -> bytes:
        """Return the bytes of its file. Equal figures give equal bytes on one machine; letters are the machine's fonts."""
        return self.svg if wanted == FigureFormat.SVG else _typeset(self, wanted)


def figures_of(page: Path) -> list[Figure]:
    """Return the figures of this page, in order. It is read in a child process, as all that may come from elsewhere."""
    return in_child(_figures_of, page)


def _figures_of(page: Path) -> list[Figure]:
    if page.stat().st_size > MOST_BYTES:
        raise InputError(f"has more than {MOST_BYTES:,} bytes, which no page of covmis has", file=page)
    try:
        html = page.read_bytes().decode()
    except UnicodeDecodeError:
        raise InputError("is no page of covmis: it is not UTF-8", file=page) from None
    return figures_in(html, page)


def figures_in(html: str, page: Path | str = "") -> list[Figure]:
    """Return the figures of a page's text; `page` is its file, for messages."""
    drawings = _Drawings(html)
    return [
        _figure(f"{number:02d}-{_file_name(heading)}".rstrip("-"), drawn, page)
        for number, (heading, drawn) in enumerate(drawings.found, 1)
    ]


class _Drawings(HTMLParser):
    """The text of each figure's SVG element, with the heading above it."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, str]] = []
        self._html = html
        self._starts = [0, *(match.end() for match in re.finditer("\n", html))]
        self._heading, self._in_heading = "", False
        self._in_figure, self._begin = False, -1
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        if tag in {"h1", "h2", "h3"}:
            self._heading, self._in_heading = "", True
        self._in_figure |= tag == "figure"
        if tag == "svg" and self._in_figure and self._begin < 0:
            self._begin = self._place()

    def handle_endtag(self, tag: str) -> None:
        self._in_heading &= tag not in {"h1", "h2", "h3"}
        self._in_figure &= tag != "figure"
        if tag == "svg" and self._begin >= 0:
            self.found.append((self._heading, self._html[self._begin : self._place()] + "</svg>"))
            self._begin = -1

    def handle_data(self, data: str) -> None:
        if self._in_heading:
            self._heading += data

    def _place(self) -> int:
        line, column = self.getpos()
        return self._starts[line - 1] + column


def _figure(name: str, drawn: str, page: Path | str) -> Figure:
    """Return the figure with these shapes, in light colours and with a size."""
    try:
        root = ET.fromstring(drawn)  # noqa: S314 - begins with <svg: a document type, and so an entity, cannot be declared
        *_, width, height = map(float, root.get("viewBox", "").split())
    except (ET.ParseError, ValueError):
        raise _not_ours(page) from None
    if not (0 < width <= WIDTH and 0 < height <= MOST_UNITS):
        raise _not_ours(page)
    kept = ET.Element(
        f"{{{SVG}}}svg",
        {"viewBox": f"0 0 {width:.1f} {height:.1f}", "width": f"{width:.1f}", "height": f"{height:.1f}",
         "font-family": FONTS, "font-size": f"{SIZE:g}"},
    )  # fmt: skip
    title, *shapes = list(root) or [ET.Element("")]
    if title.tag != f"{{{SVG}}}title":
        raise _not_ours(page)
    ET.SubElement(kept, f"{{{SVG}}}title").text = title.text
    for shape in shapes:
        tag = shape.tag.removeprefix(f"{{{SVG}}}") if isinstance(shape.tag, str) else ""
        if tag not in SHAPES or len(shape) or not ATTRIBUTES.issuperset(shape.attrib):
            raise _not_ours(page)
        attributes = {name: _in_colour(value, page) for name, value in shape.attrib.items()}
        ET.SubElement(kept, shape.tag, attributes).text = shape.text
    ET.register_namespace("", SVG)
    return Figure(
        name, title.text or "", ET.tostring(kept, "utf-8", xml_declaration=True) + b"\n", width, height
    )


def _in_colour(value: str, page: Path | str) -> str:
    """Return a value of an attribute with the light page's colours in place of their names."""
    if "(" in re.sub(r"var\(--[\w-]+\)", "", value):
        raise _not_ours(page)
    try:
        value = re.sub(r"var\(--([\w-]+)\)", lambda match: _light()[match[1]], value)
    except KeyError:
        raise _not_ours(page) from None
    return value.replace("currentColor", _light()["ink"])


@cache
def _light() -> dict[str, str]:
    """Return the colours of the light page by name, from its style sheet."""
    first = (TEMPLATES / "style.css").read_text("utf-8").partition(":root {")[2].partition("}")[0]
    return dict(re.findall(r"--([\w-]+): ([^;]+);", first))


def _not_ours(page: Path | str) -> InputError:
    return InputError(
        "has a figure that covmis did not draw",
        file=page,
        remedy="Take the page from the command that wrote it",
    )


def _file_name(heading: str) -> str:
    """Return letters and digits of a heading, for a file's name.

    >>> _file_name("Share of “favor” / 3rd")
    'share-of-favor-3rd'
    """
    return "-".join(re.findall(r"\w+", heading.lower()))[:60]


TYPESET = b"""
#set document(title: sys.inputs.alt, date: none)
#set page(width: auto, height: auto, margin: 4pt, fill: white)
#image("figure.svg", width: float(sys.inputs.width) * 1pt, alt: sys.inputs.alt)
"""


def _typeset(figure: Figure, wanted: FigureFormat) -> bytes:
    """Return the figure as PDF or PNG."""
    try:
        typst: Any = importlib.import_module("typst")
    except ImportError:
        raise MissingExtra.of("figures", f"a figure as {wanted.upper()}") from None
    typeset = typst.compile(
        {"main.typ": TYPESET, "figure.svg": figure.svg},
        format=str(wanted),
        ppi=min(DOTS_PER_INCH, 72 * MOST_PIXELS / (figure.height * POINTS_OF_A_UNIT)),
        sys_inputs={"alt": figure.alt, "width": f"{figure.width * POINTS_OF_A_UNIT:.2f}"},
    )
    return bytes(typeset)
