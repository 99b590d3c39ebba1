"""Figures as inline SVG: same input, same bytes; colours follow the page's light or dark mode; text stays text.

Every figure needs `alt`, the sentence that says what it shows to whoever cannot see it.
"""

from __future__ import annotations

import hashlib
import io
import textwrap
import unicodedata
import warnings
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, cast
from xml.etree import ElementTree as ET

from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, SOFT, LINE, CARD = "#010201", "#010202", "#010203", "#010204"
SERIES = ("#020101", "#020102", "#020103", "#020104", "#020105", "#020106")
COLOURS = {
    INK: "currentColor",
    SOFT: "var(--soft)",
    LINE: "var(--line)",
    CARD: "var(--card)",
    **{code: f"var(--c{at + 1})" for at, code in enumerate(SERIES)},
}
"""Codes that are drawn with, and the page's colours that take their place."""

WIDTH = 7.2
SETTINGS = {
    "svg.hashsalt": "covmis",
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": LINE,
    "axes.labelcolor": SOFT,
    "xtick.color": SOFT,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "grid.color": LINE,
    "grid.linewidth": 0.8,
    "axes.axisbelow": True,
}


def bars(rows: Sequence[tuple[str, float]], *, alt: str, unit: str = "", digits: int = 0) -> Markup:
    """Horizontal bars with their values at the end, top to bottom."""
    with _drawing(len(rows) * 0.34 + 0.7) as (figure, axes):
        values = [value for _, value in rows]
        drawn = axes.barh(range(len(rows)), values, color=SERIES[0], height=0.64)
        axes.bar_label(drawn, [f"{value:,.{digits}f}" for value in values], padding=4, color=SOFT)
        axes.margins(x=0.1)
        _counted(axes)
        _rows(axes, [label for label, _ in rows])
        _quiet(axes, unit)
        return _svg(figure, alt)


def stacked(
    labels: Sequence[str], series: Mapping[str, Sequence[float]], *, alt: str, unit: str = ""
) -> Markup:
    """Horizontal bars made of parts, one colour a part, with a legend."""
    with _drawing(len(labels) * 0.34 + 1.1) as (figure, axes):
        left = [0.0] * len(labels)
        for at, (name, values) in enumerate(series.items()):
            axes.barh(
                range(len(labels)),
                values,
                left=left,
                color=SERIES[at % len(SERIES)],
                height=0.64,
                label=_plain(name),
            )
            left = [before + value for before, value in zip(left, values, strict=True)]
        _counted(axes)
        _rows(axes, labels)
        _quiet(axes, unit)
        axes.legend(
            loc="lower left", bbox_to_anchor=(0, 1), ncols=4, frameon=False, borderaxespad=0.2, handlelength=1
        )
        return _svg(figure, alt)


def forest(
    rows: Sequence[tuple[str, float | None, float | None, float | None]],
    *,
    alt: str,
    unit: str = "",
    reference: float | None = None,
    limits: tuple[float, float] | None = None,
) -> Markup:
    """Values with their intervals, one a row: (label, value, low, high); a row without a value stays empty."""
    with _drawing(len(rows) * 0.36 + 0.8) as (figure, axes):
        if reference is not None:
            axes.axvline(reference, color=SOFT, linewidth=1, linestyle=(0, (4, 3)))
        for at, (_, value, low, high) in enumerate(rows):
            if low is not None and high is not None:
                axes.plot(
                    [low, high], [at, at], color=SERIES[0], linewidth=2, solid_capstyle="round", clip_on=False
                )
            if value is not None:
                axes.plot(
                    [value],
                    [at],
                    marker="o",
                    markersize=6.5,
                    color=SERIES[0],
                    markeredgecolor=CARD,
                    clip_on=False,
                )
        axes.xaxis.grid(visible=True)
        if limits:
            axes.set_xlim(*limits)
        _rows(axes, [label for label, *_ in rows])
        _quiet(axes, unit)
        return _svg(figure, alt)


def course(
    x: Sequence[str],
    series: Mapping[str, Sequence[float | None]],
    *,
    alt: str,
    unit: str = "",
    bands: Mapping[str, tuple[Sequence[float | None], Sequence[float | None]]] | None = None,
) -> Markup:
    """Values over an ordered axis, a line a series, with its interval as a band where there is one."""
    with _drawing(3.1) as (figure, axes):
        nan = float("nan")
        for at, (name, values) in enumerate(series.items()):
            colour = SERIES[at % len(SERIES)]
            if bands and name in bands:
                low, high = ([nan if value is None else value for value in side] for side in bands[name])
                axes.fill_between(range(len(x)), low, high, color=colour, alpha=0.16, linewidth=0)
            line = [nan if value is None else value for value in values]
            axes.plot(range(len(x)), line, color=colour, marker="o", markersize=4, label=_plain(name))
        axes.set_xticks(range(len(x)), [_plain(tick) for tick in x])
        if len(x) > 12:
            axes.tick_params(axis="x", rotation=60)
        axes.yaxis.grid(visible=True)
        axes.set_ylabel(_plain(unit))
        axes.tick_params(length=0)
        axes.spines["left"].set_visible(False)
        if len(series) > 1:
            axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=4, frameon=False, handlelength=1.2)
        return _svg(figure, alt)


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
    size = (0.62 * len(rows) + 0.9, min(WIDTH, 1.05 * len(columns) + 1.9))
    with _drawing(*size) as (figure, axes):
        for at, row in enumerate(matrix):
            total = sum(value for value in row if value > 0) or 1
            for to, value in enumerate(row):
                share = max(value, 0) / total
                axes.add_patch(_cell(to, at, share))
                axes.text(to, at, f"{value:,.{digits}f}", ha="center", va="center", fontsize=11)
        axes.set_xlim(-0.5, len(columns) - 0.5)
        _rows(axes, rows)
        axes.set_xticks(range(len(columns)), [_plain(column) for column in columns])
        axes.xaxis.tick_top()
        axes.xaxis.set_label_position("top")
        axes.set_xlabel(_plain(column_title))
        axes.set_ylabel(_plain(row_title))
        axes.tick_params(length=0, axis="both")
        for spine in axes.spines.values():
            spine.set_visible(False)
        return _svg(figure, alt)


def _cell(column: int, row: int, share: float) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle(
        (column - 0.48, row - 0.47), 0.96, 0.94, facecolor=SERIES[0], alpha=0.06 + 0.6 * share, linewidth=0
    )


@contextmanager
def _drawing(height: float, width: float = WIDTH) -> Iterator[tuple[Figure, Axes]]:
    """A figure and its axes under our settings, which are put back afterwards."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(cast("Any", SETTINGS)), warnings.catch_warnings():
        # A script that our font lacks is drawn by the reader's browser, which has others.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing")
        warnings.filterwarnings("ignore", message=r".*constrained_layout not applied.*")
        figure = Figure(figsize=(width, max(height, 1.2)), layout="constrained")
        yield figure, figure.add_subplot()


def _rows(axes: Axes, labels: Sequence[str]) -> None:
    axes.set_yticks(range(len(labels)), [_plain(label) for label in labels])
    axes.set_ylim(len(labels) - 0.5, -0.5)


def _counted(axes: Axes) -> None:
    """Whole numbers below the bars, thousands apart as in the tables."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))
    axes.xaxis.set_major_formatter("{x:,.0f}")


def _quiet(axes: Axes, unit: str) -> None:
    axes.set_xlabel("\n".join(textwrap.wrap(_plain(unit, 200), 60)))
    axes.tick_params(length=0)
    axes.spines["left"].set_visible(False)


def _plain(text: str, longest: int = 46) -> str:
    """A label that XML can hold and an axis has room for."""
    kept = "".join(letter for letter in str(text) if unicodedata.category(letter) not in {"Cc", "Cs", "Cn"})
    return kept if len(kept) <= longest else kept[: longest - 1] + "…"


_drawn: ContextVar[bool] = ContextVar("drawn", default=True)


@contextmanager
def without_drawing() -> Iterator[None]:
    """Leave figures empty while the block runs: for who needs a page's words and numbers alone."""
    before = _drawn.set(False)
    try:
        yield
    finally:
        _drawn.reset(before)


def _svg(figure: Figure, alt: str) -> Markup:
    """The figure as an SVG element for a page: no prolog, ids of its own, a title for readers' voices."""
    if not _drawn.get():
        return Markup("<svg></svg>")
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None}, transparent=True)
    root = ET.fromstring(out.getvalue())  # noqa: S314 - matplotlib's own output of a moment ago
    own = hashlib.sha256(out.getvalue().encode() + alt.encode("utf-8", "replace")).hexdigest()[:8]
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        for name in list(element.attrib):
            value = element.attrib.pop(name)
            element.set(name.rpartition("}")[2], _own(value, own, is_id=name == "id"))
    for parent in list(root.iter()):
        for child in [child for child in parent if child.tag in {"metadata", "title"}]:
            parent.remove(child)
    title = ET.Element("title", {"id": f"{own}-title"})
    title.text = _plain(alt, 2000)
    root.insert(0, title)
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    natural = 46 * figure.get_size_inches()[0] / WIDTH
    root.set("style", f"max-width: {natural:.1f}rem; --natural: {0.85 * natural:.1f}rem")
    root.set("role", "img")
    root.set("aria-labelledby", f"{own}-title")
    root.set("xmlns", "http://www.w3.org/2000/svg")
    text = ET.tostring(root, encoding="unicode")
    for code, colour in COLOURS.items():
        text = text.replace(code, colour)
    text = text.replace("'DejaVu Sans'", "system-ui, 'DejaVu Sans', sans-serif")
    return Markup(text)  # noqa: S704 - serialised by ElementTree, which escapes


def _own(value: str, own: str, *, is_id: bool) -> str:
    """Ids and what points to them, with the figure's own prefix: several figures stand on one page."""
    if is_id:
        return f"{own}-{value}"
    if value.startswith("#") and not value[1:2].isdigit():
        return value if value in COLOURS else f"#{own}-{value[1:]}"
    return value.replace("url(#", f"url(#{own}-")
