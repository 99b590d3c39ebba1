"""Figures as inline SVG, drawn by one template: colours follow the page's light or dark mode, text stays text.

Figures are designed for a phone's width: labels are above the elements that they name, so that text is readable at 390
pixels. Every figure needs `alt`, a sentence for readers who cannot see it. Equal input gives equal bytes.
"""

from __future__ import annotations

import hashlib
import math
import textwrap
import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from markupsafe import Markup

from covmis_build.report.page import render

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

T = TypeVar("T")
INK, SOFT, LINE, CARD = "currentColor", "var(--soft)", "var(--line)", "var(--card)"
SERIES = tuple(f"var(--c{number})" for number in range(1, 7))
WIDTH = 380.0
"""Width of a figure in units; a unit is 0.87 pixels on a phone, 1.18 on a wide screen."""
SIZE = 13.0
"""Font size."""
ROW = 44.0
"""Height of a label and the element below it."""


class Shape(NamedTuple):
    """An element of a figure: its tag, its attributes, and its text."""

    tag: str
    attributes: Sequence[tuple[str, str]]
    text: str = ""


@dataclass(slots=True)
class _Drawing:
    """A canvas with shapes."""

    width: float = WIDTH
    height: float = 0.0
    shapes: list[Shape] = field(default_factory=list)

    def rectangle(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        colour: str,
        opacity: float = 1,
        *,
        edge: str = "none",
    ) -> None:
        style = f"fill:{colour};fill-opacity:{opacity:.3g};stroke:{edge}"
        self._add("rect", x=x, y=y, width=width, height=height, style=style)

    def line(
        self,
        x: float,
        y: float,
        to_x: float,
        to_y: float,
        colour: str,
        width: float = 1,
        *,
        dashed: bool = False,
    ) -> None:
        dashes = ";stroke-dasharray:4 3" if dashed else ""
        self._add(
            "line", x1=x, y1=y, x2=to_x, y2=to_y, style=f"stroke:{colour};stroke-width:{width:g}{dashes}"
        )

    def dot(self, x: float, y: float, colour: str) -> None:
        self._add("circle", cx=x, cy=y, r=4.5, style=f"fill:{colour};stroke:{CARD}")

    def path(self, points: Sequence[tuple[float, float]], style: str) -> None:
        self._add("path", d="M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points), style=style)

    def text(
        self, x: float, y: float, text: str, anchor: str = "start", colour: str = INK, *, bold: bool = False
    ) -> None:
        """Draw text centred vertically on y."""
        weight = ";font-weight:600" if bold else ""
        self._add("text", text, x=x, y=y, dy="0.35em", style=f"fill:{colour};text-anchor:{anchor}{weight}")

    def _add(self, tag: str, text: str = "", /, **attributes: float | str) -> None:
        written = [
            (name, f"{value:.1f}" if isinstance(value, float | int) else value)
            for name, value in attributes.items()
        ]
        self.shapes.append(Shape(tag, written, text))

    def svg(self, alt: str) -> Markup:
        """Return the figure as an SVG element for a page, with a unique id and a title for screen readers."""
        own = hashlib.sha256(repr((self.shapes, alt)).encode("utf-8", "replace")).hexdigest()[:8]
        natural = 28 * self.width / WIDTH
        drawn = render(
            "figure.svg",
            shapes=self.shapes,
            alt=_plain(alt, 2000),
            own=own,
            width=self.width,
            height=self.height,
            size=SIZE,
            natural=natural,
        )
        return Markup(drawn)  # noqa: S704 - the template has escaped every text


def bars(rows: Sequence[tuple[str, float]], *, alt: str, unit: str = "") -> Markup:
    """Draw horizontal bars with their values on the right, from top to bottom."""
    drawing, values = _Drawing(), [value for _, value in rows]
    scale = _Scale.of(0, max([*values, 0]), 0, WIDTH, whole=True)
    for y, (label, value) in _rows(rows):
        number = f"{value:,.0f}"
        drawing.text(0, y, _fitting(label, WIDTH - _width(number) - 10))
        drawing.text(WIDTH, y, number, "end", SOFT)
        drawing.rectangle(0, y + 11, scale.at(value), 16, SERIES[0])
    _unit(drawing, 4 + ROW * len(rows), unit)
    return drawing.svg(alt)


def stacked(
    labels: Sequence[str], series: Mapping[str, Sequence[float]], *, alt: str, unit: str = ""
) -> Markup:
    """Draw horizontal stacked bars, one colour per part, with a legend."""
    drawing, totals = _Drawing(), [sum(values) for values in zip(*series.values(), strict=True)]
    scale = _Scale.of(0, max([*totals, 0]), 0, WIDTH, whole=True)
    top = _legend(drawing, [*series])
    _axis(drawing, scale, len(labels), unit, top=top)
    for at, (y, label) in enumerate(_rows(labels, top)):
        drawing.text(0, y, _fitting(label))
        before = 0.0
        for number, values in enumerate(series.values()):
            begin, end = scale.at(before), scale.at(before + values[at])
            drawing.rectangle(begin, y + 11, end - begin, 16, SERIES[number % len(SERIES)])
            before += values[at]
    return drawing.svg(alt)


def forest(
    rows: Sequence[tuple[str, float | None, float | None, float | None]],
    *,
    alt: str,
    unit: str = "",
    reference: float | None = None,
    limits: tuple[float, float] | None = None,
) -> Markup:
    """Draw values with intervals, one per row: (label, value, low, high); a row without value is empty."""
    drawing = _Drawing()
    known = [value for _, *values in rows for value in [*values, reference] if value is not None]
    low, high = limits or (min(known, default=0.0), max(known, default=1.0))
    scale = _Scale.of(low, high, 5, WIDTH - 5)
    _axis(drawing, scale, len(rows), unit, grid=True)
    if reference is not None:
        drawing.line(scale.at(reference), 4, scale.at(reference), len(rows) * ROW + 4, SOFT, dashed=True)
    for y, (label, value, begin, end) in _rows(rows):
        name = _fitting(label)
        drawing.rectangle(0, y - 9, _width(name), 18, CARD)  # no grid line behind letters
        drawing.text(0, y, name)
        if begin is not None and end is not None:
            drawing.line(scale.at(begin), y + 20, scale.at(end), y + 20, SERIES[0], 2.5)
        if value is not None:
            drawing.dot(scale.at(value), y + 20, SERIES[0])
    return drawing.svg(alt)


def course(
    x: Sequence[str],
    series: Mapping[str, Sequence[float | None]],
    *,
    alt: str,
    unit: str = "",
    bands: Mapping[str, tuple[Sequence[float | None], Sequence[float | None]]] | None = None,
) -> Markup:
    """Draw values over an ordered axis, one line per series, with intervals as bands if given."""
    drawing = _Drawing()
    top = _legend(drawing, [*series]) if len(series) > 1 else 6.0
    sides = [side for pair in (bands or {}).values() for side in pair]
    known = [value for values in (*series.values(), *sides) for value in values if value is not None]
    bottom = top + 190
    scale = _Scale.of(min(known, default=0.0), max(known, default=1.0), bottom, top)
    ticks = [*scale.ticks()]
    left = 10 + max(_width(label) for _, label in ticks)
    for tick, label in ticks:
        drawing.line(left, scale.at(tick), WIDTH, scale.at(tick), LINE)
        drawing.text(left - 8, scale.at(tick), label, "end", SOFT)
    names = [_fitting(name, 90) for name in x]
    room = max(map(_width, names), default=0.0)
    first, last = left + max(room / 2, 8), WIDTH - max(room / 2, 8)
    places = [first + (last - first) * at / max(len(x) - 1, 1) for at in range(len(x))]
    every = math.ceil((room + 10) * (len(x) - 1) / (last - first)) or 1
    for banded, (low, high) in (bands or {}).items():
        colour = SERIES[[*series].index(banded) % len(SERIES)]
        for piece in _pieces(places, list(zip(low, high, strict=True))):
            up = [(place, scale.at(value)) for place, (value, _) in piece]
            down = [(place, scale.at(value)) for place, (_, value) in reversed(piece)]
            drawing.path([*up, *down], f"fill:{colour};fill-opacity:.16")
    for at, values in enumerate(series.values()):
        colour = SERIES[at % len(SERIES)]
        for piece in _pieces(places, [(value,) for value in values]):
            points = [(place, scale.at(value)) for place, (value,) in piece]
            drawing.path(points, f"fill:none;stroke:{colour};stroke-width:1.8")
            for point in points:
                drawing.dot(*point, colour)
    for place, name in [*zip(places, names, strict=True)][::every]:
        drawing.text(place, bottom + 16, name, "middle", SOFT)
    _unit(drawing, bottom + 26, unit)
    return drawing.svg(alt)


def heat(
    matrix: Sequence[Sequence[float]],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    alt: str,
    row_title: str = "",
    column_title: str = "",
) -> Markup:
    """Draw a confusion matrix: numbers in cells, darker for larger shares of their row."""
    left = min(16 + max(map(_width, map(_plain, [*rows, row_title])), default=0.0), WIDTH / 3)
    cell = min(96.0, (WIDTH - left - 6) / max(len(columns), 1))
    drawing = _Drawing(width=left + cell * len(columns) + 6)
    drawing.text(
        left + cell * len(columns) / 2, 10, _fitting(column_title, cell * len(columns)), "middle", SOFT
    )
    names = [_wrapped(column, cell - 4) for column in columns]
    top = 30 + 16 * max(map(len, names), default=1)
    drawing.text(left - 10, top - 16, _fitting(row_title, left - 10), "end", SOFT)
    for at, lines in enumerate(names):
        for line, text in enumerate(lines):
            drawing.text(left + cell * (at + 0.5), top - 16 * (len(lines) - line), text, "middle")
    for at, (name, row) in enumerate(zip(rows, matrix, strict=True)):
        y = top + 44 * at
        lines = _wrapped(name, left - 10)
        for line, text in enumerate(lines):
            drawing.text(left - 10, y + 22 + 16 * (line - (len(lines) - 1) / 2), text, "end")
        total = sum(value for value in row if value > 0) or 1
        for to, value in enumerate(row):
            x = left + cell * to
            drawing.rectangle(x + 1.5, y + 1.5, cell - 3, 41, SERIES[0], 0.06 + 0.6 * max(value, 0) / total)
            drawing.text(x + cell / 2, y + 22, f"{value:,.0f}", "middle")
    drawing.height = top + 44 * len(rows) + 6
    return drawing.svg(alt)


def steps(rows: Sequence[tuple[str, str, Sequence[str]]], *, alt: str, last: bool = False) -> Markup:
    """Draw steps from top to bottom: (what it keeps, numbers, what it dropped before that); `last` fills the last box."""
    drawing, y = _Drawing(), 2.0
    for at, (words, numbers, dropped) in enumerate(rows):
        lines = [line for text in dropped for line in _wrapped(text, WIDTH - 44)]
        if at:
            gap = max(16 * len(lines) + 14, 30)
            drawing.line(22, y, 22, y + gap - 5, SOFT)
            drawing.path([(18, y + gap - 7), (26, y + gap - 7), (22, y + gap - 1)], f"fill:{SOFT}")
            for line, text in enumerate(lines):
                drawing.text(38, y + gap / 2 + 16 * (line - (len(lines) - 1) / 2), text, colour=SOFT)
            y += gap
        filled = last and at == len(rows) - 1
        fill, edge = ("var(--accent-soft)", "var(--accent)") if filled else (CARD, LINE)
        drawing.rectangle(1, y, WIDTH - 2, 48, fill, edge=edge)
        drawing.text(14, y + 15, _fitting(words, WIDTH - 24), bold=True)
        drawing.text(14, y + 34, _fitting(numbers, WIDTH - 24), colour=SOFT)
        y += 48
    drawing.height = y + 2
    return drawing.svg(alt)


class _Scale(NamedTuple):
    """A linear scale: from `low`, drawn at `left`, to `high`, drawn at `right`."""

    low: float
    high: float
    left: float
    right: float
    whole: bool = False

    @classmethod
    def of(cls, low: float, high: float, left: float, right: float, *, whole: bool = False) -> _Scale:
        """Return a scale with margins at ends other than zero and one."""
        if high <= low:
            high = low + 1
        room = 0.04 * (high - low)
        begin = low if low in {0, 1} else low - room
        end = high if whole or high in {0, 1} else high + room
        return cls(begin, end, left, right, whole)

    def at(self, value: float) -> float:
        """Return the position of a value."""
        return self.left + (self.right - self.left) * (value - self.low) / (self.high - self.low)

    def ticks(self) -> Iterator[tuple[float, str]]:
        """Return up to about six round values with their labels."""
        rough = (self.high - self.low) / (5 if self.high < 10_000 else 3)
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
        if self.whole:
            step = max(step, 1.0)
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
        first = math.ceil(self.low / step - 1e-9)
        for number in range(first, math.floor(self.high / step + 1e-9) + 1):
            yield number * step, f"{number * step:z,.{digits}f}".replace("-", "\N{MINUS SIGN}")


def _axis(
    drawing: _Drawing, scale: _Scale, rows: int, unit: str, *, top: float = 4.0, grid: bool = False
) -> None:
    """Draw the axis labels below the rows, and the unit."""
    bottom = top + rows * ROW
    for tick, label in scale.ticks():
        x, half = scale.at(tick), _width(label) / 2
        drawing.line(x, top if grid else bottom, x, bottom + (0 if grid else 4), LINE)
        drawing.text(min(max(x, half), WIDTH - half), bottom + 16, label, "middle", SOFT)
    drawing.line(scale.left, bottom, scale.right, bottom, LINE)
    _unit(drawing, bottom + 26, unit)


def _unit(drawing: _Drawing, top: float, unit: str) -> None:
    """Draw the unit below the values, as the last lines of a figure."""
    lines = _wrapped(unit, WIDTH, most=4)
    for at, line in enumerate(lines):
        drawing.text(WIDTH / 2, top + 12 + 18 * at, line, "middle", SOFT)
    drawing.height = top + 4 + 18 * len(lines)


def _rows(rows: Sequence[T], top: float = 4.0) -> Iterator[tuple[float, T]]:
    """Return the position of each row's label; its element is 20 units below."""
    return ((top + ROW * at + 11, row) for at, row in enumerate(rows))


def _legend(drawing: _Drawing, names: Sequence[str]) -> float:
    """Draw a legend from the left. Returns where the rows begin."""
    x, y = 0.0, 10.0
    for at, name in enumerate(_fitting(name, WIDTH - 20) for name in names):
        room = 20 + _width(name)
        if x + room > WIDTH and x > 0:
            x, y = 0.0, y + 20
        drawing.rectangle(x, y - 6, 14, 12, SERIES[at % len(SERIES)])
        drawing.text(x + 20, y, name)
        x += room + 14
    return y + 16


def _pieces(
    places: Sequence[float], values: Sequence[tuple[float | None, ...]]
) -> Iterator[list[tuple[float, tuple[float, ...]]]]:
    """Return the stretches of an axis without missing values."""
    piece: list[tuple[float, tuple[float, ...]]] = []
    for place, value in [*zip(places, values, strict=True), (0.0, (None,))]:
        known = tuple(part for part in value if part is not None and math.isfinite(part))
        if len(known) == len(value):
            piece.append((place, known))
        elif piece:
            yield piece
            piece = []


def _width(text: str) -> float:
    """Estimate a text's width: letters differ, Chinese and Japanese characters count double."""
    return SIZE * 0.6 * sum(1 + (unicodedata.east_asian_width(sign) in "WF") for sign in text)


def _fitting(text: str, room: float = WIDTH) -> str:
    """Return a label valid in XML, shortened to this width."""
    kept = _plain(text, 200)
    if _width(kept) <= room:
        return kept
    while kept and _width(kept + "…") > room:
        kept = kept[:-1]
    return kept + "…"


def _wrapped(text: str, room: float, most: int = 2) -> list[str]:
    """Wrap a text into at most this many lines of this width."""
    lines = textwrap.wrap(_plain(text, 200), max(int(room / (0.6 * SIZE)), 3))
    kept = [*lines[: most - 1], " ".join(lines[most - 1 :])] if len(lines) > most else lines
    return [_fitting(line, max(room, 3 * 0.6 * SIZE)) for line in kept]


def _plain(text: str, longest: int = 46) -> str:
    """Return text valid in XML, cut to this length."""
    kept = "".join(letter for letter in str(text) if unicodedata.category(letter) not in {"Cc", "Cs", "Cn"})
    return kept if len(kept) <= longest else kept[: longest - 1] + "…"
