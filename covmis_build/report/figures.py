"""Figures as inline SVG, drawn by one template: colours follow the page's light or dark mode, text stays text.

Every figure needs `alt`, the sentence that says what it shows to readers who cannot see it. Same input, same bytes.
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
WIDTH = 720.0
"""Units across a page; a unit is a pixel where the page has room."""
SIZE = 13.0
"""Height of letters."""
ROW = 30.0


class Shape(NamedTuple):
    """An element of a figure: its tag, its attributes, and the text in it."""

    tag: str
    attributes: Sequence[tuple[str, str]]
    text: str = ""


@dataclass(slots=True)
class _Drawing:
    """Shapes on a canvas."""

    width: float = WIDTH
    height: float = 0.0
    shapes: list[Shape] = field(default_factory=list)

    def rectangle(
        self, x: float, y: float, width: float, height: float, colour: str, opacity: float = 1
    ) -> None:
        self._add(
            "rect", x=x, y=y, width=width, height=height, style=f"fill:{colour};fill-opacity:{opacity:.3g}"
        )

    def line(self, x: float, y: float, to_x: float, to_y: float, colour: str, width: float = 1, *, dashed: bool = False) -> None:  # fmt: skip
        dashes = ";stroke-dasharray:4 3" if dashed else ""
        self._add(
            "line", x1=x, y1=y, x2=to_x, y2=to_y, style=f"stroke:{colour};stroke-width:{width:g}{dashes}"
        )

    def dot(self, x: float, y: float, colour: str) -> None:
        self._add("circle", cx=x, cy=y, r=4.5, style=f"fill:{colour};stroke:{CARD}")

    def path(self, points: Sequence[tuple[float, float]], style: str) -> None:
        self._add("path", d="M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points), style=style)

    def text(self, x: float, y: float, text: str, anchor: str = "start", colour: str = INK, *, turned: bool = False) -> None:  # fmt: skip
        """Text whose letters stand around this height."""
        places: dict[str, float | str] = {"transform": f"rotate(-90 {x:.1f} {y:.1f})"} if turned else {}
        self._add("text", text, x=x, y=y, dy="0.35em", style=f"fill:{colour};text-anchor:{anchor}", **places)

    def _add(self, tag: str, text: str = "", /, **attributes: float | str) -> None:
        written = [(name, f"{value:.1f}" if isinstance(value, float | int) else value) for name, value in attributes.items()]  # fmt: skip
        self.shapes.append(Shape(tag, written, text))

    def svg(self, alt: str) -> Markup:
        """The figure as an SVG element for a page, with an id of its own and a title for readers' voices."""
        own = hashlib.sha256(repr((self.shapes, alt)).encode("utf-8", "replace")).hexdigest()[:8]
        natural = 46 * self.width / WIDTH
        drawn = render(
            "figure.svg", shapes=self.shapes, alt=_plain(alt, 2000), own=own, width=self.width, height=self.height,
            size=SIZE, natural=natural,
        )  # fmt: skip
        return Markup(drawn)  # noqa: S704 - the template has escaped every text


def bars(rows: Sequence[tuple[str, float]], *, alt: str, unit: str = "", digits: int = 0) -> Markup:
    """Horizontal bars with their values at the end, top to bottom."""
    drawing, values = _Drawing(), [value for _, value in rows]
    scale = _Scale.of(0, max([*values, 0]), _left(label for label, _ in rows), WIDTH - 70, whole=True)
    _axis(drawing, scale, len(rows), unit)
    for y, (label, value) in _rows(rows):
        drawing.text(scale.left - 10, y, _plain(label), "end")
        drawing.rectangle(scale.left, y - 10, scale.at(value) - scale.left, 20, SERIES[0])
        drawing.text(scale.at(value) + 6, y, f"{value:,.{digits}f}", colour=SOFT)
    return drawing.svg(alt)


def stacked(
    labels: Sequence[str], series: Mapping[str, Sequence[float]], *, alt: str, unit: str = ""
) -> Markup:
    """Horizontal bars made of parts, one colour a part, with a legend."""
    drawing, totals = _Drawing(), [sum(values) for values in zip(*series.values(), strict=True)]
    scale = _Scale.of(0, max([*totals, 0]), _left(labels), WIDTH - 20, whole=True)
    top = _legend(drawing, [*series])
    _axis(drawing, scale, len(labels), unit, top=top)
    for at, (y, label) in enumerate(_rows(labels, top)):
        drawing.text(scale.left - 10, y, _plain(label), "end")
        before = 0.0
        for number, values in enumerate(series.values()):
            begin, end = scale.at(before), scale.at(before + values[at])
            drawing.rectangle(begin, y - 10, end - begin, 20, SERIES[number % len(SERIES)])
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
    """Values with their intervals, one a row: (label, value, low, high); a row without a value stays empty."""
    drawing = _Drawing()
    known = [value for _, *values in rows for value in [*values, reference] if value is not None]
    low, high = limits or (min(known, default=0.0), max(known, default=1.0))
    scale = _Scale.of(low, high, _left(label for label, *_ in rows), WIDTH - 20)
    _axis(drawing, scale, len(rows), unit, grid=True)
    if reference is not None:
        drawing.line(scale.at(reference), 4, scale.at(reference), len(rows) * ROW + 4, SOFT, dashed=True)
    for y, (label, value, begin, end) in _rows(rows):
        drawing.text(scale.left - 10, y, _plain(label), "end")
        if begin is not None and end is not None:
            drawing.line(scale.at(begin), y, scale.at(end), y, SERIES[0], 2.5)
        if value is not None:
            drawing.dot(scale.at(value), y, SERIES[0])
    return drawing.svg(alt)


def course(
    x: Sequence[str],
    series: Mapping[str, Sequence[float | None]],
    *,
    alt: str,
    unit: str = "",
    bands: Mapping[str, tuple[Sequence[float | None], Sequence[float | None]]] | None = None,
) -> Markup:
    """Values over an ordered axis, a line a series, with its interval as a band where there is one."""
    drawing = _Drawing()
    top = _legend(drawing, [*series]) if len(series) > 1 else 6.0
    sides = [side for pair in (bands or {}).values() for side in pair]
    known = [value for values in (*series.values(), *sides) for value in values if value is not None]
    bottom, left = top + 190, 70.0
    scale = _Scale.of(min(known, default=0.0), max(known, default=1.0), bottom, top)
    for tick, label in scale.ticks():
        drawing.line(left, scale.at(tick), WIDTH - 10, scale.at(tick), LINE)
        drawing.text(left - 8, scale.at(tick), label, "end", SOFT)
    drawing.text(12, (top + bottom) / 2, _plain(unit), "middle", SOFT, turned=True)
    room = max((_width(_plain(name)) for name in x), default=0.0)
    turned = (room + 6) * len(x) > WIDTH - left
    step = (WIDTH - left - 10 - (10 if turned else max(10, room / 2))) / max(len(x) - 1, 1)
    places = [left + 10 + step * at for at in range(len(x))]
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
    for place, name in zip(places, x, strict=True):
        y = bottom + (12 + room / 2 if turned else 16)
        drawing.text(place, y, _plain(name), "middle", SOFT, turned=turned)
    drawing.height = bottom + (room + 18 if turned else 30)
    return drawing.svg(alt)


def heat(
    matrix: Sequence[Sequence[float]],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    alt: str,
    row_title: str = "",
    column_title: str = "",
    digits: int = 0,
) -> Markup:
    """A confusion matrix: the number in every cell, darker where there are more of its row."""
    left = _left(rows) + 24
    cell = min(max(86.0, *(_width(_plain(column)) + 12 for column in columns)), (WIDTH - left - 6) / max(len(columns), 1))  # fmt: skip
    drawing = _Drawing(width=left + cell * len(columns) + 6, height=52 + 44 * len(rows))
    drawing.text(left + cell * len(columns) / 2, 10, _plain(column_title), "middle", SOFT)
    drawing.text(12, 46 + 22 * len(rows), _plain(row_title, 6 * len(rows)), "middle", SOFT, turned=True)
    room = max(int(cell / (0.6 * SIZE)), 3)
    for at, column in enumerate(columns):
        drawing.text(left + cell * (at + 0.5), 32, _plain(column, room), "middle")
    for at, (name, row) in enumerate(zip(rows, matrix, strict=True)):
        y = 46 + 44 * at
        drawing.text(left - 10, y + 22, _plain(name), "end")
        total = sum(value for value in row if value > 0) or 1
        for to, value in enumerate(row):
            x = left + cell * to
            drawing.rectangle(x + 1.5, y + 1.5, cell - 3, 41, SERIES[0], 0.06 + 0.6 * max(value, 0) / total)
            drawing.text(x + cell / 2, y + 22, f"{value:,.{digits}f}", "middle")
    return drawing.svg(alt)


class _Scale(NamedTuple):
    """Values on an axis: from `low`, drawn at `left`, to `high`, drawn at `right`."""

    low: float
    high: float
    left: float
    right: float
    whole: bool = False

    @classmethod
    def of(cls, low: float, high: float, left: float, right: float, *, whole: bool = False) -> _Scale:
        """An axis with some room at ends that are not zero or one."""
        if high <= low:
            high = low + 1
        room = 0.04 * (high - low)
        begin = low if low in {0, 1} else low - room
        end = high if whole or high in {0, 1} else high + room
        return cls(begin, end, left, right, whole)

    def at(self, value: float) -> float:
        """Where a value is drawn."""
        return self.left + (self.right - self.left) * (value - self.low) / (self.high - self.low)

    def ticks(self) -> Iterator[tuple[float, str]]:
        """Round values, at most about six, as they are written."""
        rough = (self.high - self.low) / 5
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
    """The values below the rows, and what they are."""
    bottom = top + rows * ROW
    for tick, label in scale.ticks():
        drawing.line(
            scale.at(tick), top if grid else bottom, scale.at(tick), bottom + (0 if grid else 4), LINE
        )
        drawing.text(scale.at(tick), bottom + 16, label, "middle", SOFT)
    drawing.line(scale.left, bottom, scale.right, bottom, LINE)
    middle = (scale.left + scale.right) / 2
    words = textwrap.wrap(_plain(unit, 200), max(20, int((scale.right - scale.left) / (0.6 * SIZE))))
    for at, line in enumerate(words):
        drawing.text(middle, bottom + 38 + 18 * at, line, "middle", SOFT)
    drawing.height = bottom + 30 + 18 * len(words)


def _rows(rows: Sequence[T], top: float = 4.0) -> Iterator[tuple[float, T]]:
    return ((top + ROW * (at + 0.5), row) for at, row in enumerate(rows))


def _legend(drawing: _Drawing, names: Sequence[str]) -> float:
    """Colours and names from the left; where the rows below begin."""
    x, y = 6.0, 12.0
    for at, name in enumerate(map(_plain, names)):
        room = 24 + _width(name) + 18
        if x + room > WIDTH and x > 6:
            x, y = 6.0, y + 20
        drawing.rectangle(x, y - 6, 14, 12, SERIES[at % len(SERIES)])
        drawing.text(x + 20, y, name)
        x += room
    return y + 16


def _pieces(
    places: Sequence[float], values: Sequence[tuple[float | None, ...]]
) -> Iterator[list[tuple[float, tuple[float, ...]]]]:
    """The stretches of an axis in which nothing is missing."""
    piece: list[tuple[float, tuple[float, ...]]] = []
    for place, value in [*zip(places, values, strict=True), (0.0, (None,))]:
        known = tuple(part for part in value if part is not None and math.isfinite(part))
        if len(known) == len(value):
            piece.append((place, known))
        elif piece:
            yield piece
            piece = []


def _left(labels: Sequence[str] | Iterator[str]) -> float:
    """Where the rows begin, beyond their labels."""
    return 16 + max((_width(_plain(label)) for label in labels), default=0.0)


def _width(text: str) -> float:
    """About how wide a text is: letters differ, Chinese and Japanese signs are as wide as two."""
    return SIZE * 0.6 * sum(1 + (unicodedata.east_asian_width(sign) in "WF") for sign in text)


def _plain(text: str, longest: int = 46) -> str:
    """A label that XML can hold and an axis has room for."""
    kept = "".join(letter for letter in str(text) if unicodedata.category(letter) not in {"Cc", "Cs", "Cn"})
    return kept if len(kept) <= longest else kept[: longest - 1] + "…"
