"""Small figures of the pages: SVG without inline styles, coloured by classes of bench.css, as wide as their place."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from covmis_build.stats.intervals import Interval


def bar(value: float, most: float, kind: str = "c1") -> Markup:
    """A horizontal bar."""
    width = f"{100 * min(value / most, 1) if most else 0:.2f}"
    body = f'<rect class="track" width="100" height="10"/><rect class="{kind}" width="{width}" height="10"/>'
    return Markup(  # noqa: S704 - numbers and words of ours alone
        f'<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">{body}</svg>'
    )


def ruler(value: float, interval: Interval | None, name: str, target: float | None = None) -> Markup:
    """A coefficient between 0 and 1 with its interval, on a ruler with the target."""

    def at(number: float) -> str:
        return f"{12 + 446 * min(max(number, 0.0), 1.0):.1f}"

    ticks = "".join(
        f'<line class="grid" x1="{at(tick / 5)}" x2="{at(tick / 5)}" y1="8" y2="30"/>'
        f'<text class="tick mid" x="{at(tick / 5)}" y="45">{tick / 5:g}</text>'
        for tick in range(6)
    )
    goal = (
        f'<line class="goal" x1="{at(target)}" x2="{at(target)}" y1="2" y2="34"/>'
        if target is not None
        else ""
    )
    whisker = (
        f'<line class="whisker c1" x1="{at(interval.low)}" x2="{at(interval.high)}" y1="19" y2="19"/>'
        if interval
        else ""
    )
    return Markup(  # noqa: S704 - numbers and words of ours alone
        f'<svg class="ruler" viewBox="0 0 470 48" role="img" aria-label="{escape(name)} {value:.2f}">{ticks}{goal}{whisker}'
        f'<circle class="c1" cx="{at(value)}" cy="19" r="5.5"/></svg>'
    )


def interval(share: float, low: float, high: float, series: int) -> Markup:
    """A share with its interval, between 0 and 1."""

    def at(place: float) -> str:
        return f"{2 + 96 * min(max(place, 0.0), 1.0):.2f}"

    grid = "".join(
        f'<line class="grid" x1="{at(tick / 4)}" x2="{at(tick / 4)}" y1="0" y2="12"/>' for tick in range(5)
    )
    known = math.isfinite(low) and math.isfinite(high)
    whisker = (
        f'<line class="whisker c{series}" x1="{at(low)}" x2="{at(high)}" y1="6" y2="6"/>' if known else ""
    )
    dot = (
        f'<rect class="c{series}" x="{at(share - 0.0057)}" y="2" width="1.1" height="8"/>'
        if math.isfinite(share)
        else ""
    )
    return Markup(  # noqa: S704 - numbers and words of ours alone
        f'<svg class="interval" viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">{grid}{whisker}{dot}</svg>'
    )


def scale() -> Markup:
    """The numbers under the ticks of intervals, in a row of their own."""
    numbers = Markup("").join(Markup("<span>{}%</span>").format(25 * tick) for tick in range(5))
    return Markup('<span class="scale" aria-hidden="true">{}</span>').format(numbers)


FEW = 10
"""Labelled posts below which a point in time is drawn hollow."""


def over_time(rows: Sequence[Any], series: int, name: str) -> Markup:
    """A share in each month (YYYY-MM) that has any, with its interval where that is known; neighbouring months are joined."""
    known = {_month(row.name): row for row in rows if math.isfinite(row.share)}
    width, height, left, top, bottom = 300, 150, 42, 10, 22
    first, span = min(known, default=0), max(known, default=0) - min(known, default=0) + 1

    def x(month: int) -> str:
        return f"{left + (width - left - 8) * (month - first + 0.5) / span:.1f}"

    def y(share: float) -> str:
        return f"{top + (height - top - bottom) * (1 - min(max(share, 0.0), 1.0)):.1f}"

    parts = [
        f'<line class="grid" x1="{left}" x2="{width - 8}" y1="{y(tick)}" y2="{y(tick)}"/>'
        f'<text class="tick end" x="{left - 5}" y="{float(y(tick)) + 3.5:.1f}">{tick:.0%}</text>'
        for tick in (0, 0.5, 1)
    ]
    for month, row in sorted(known.items()):
        if math.isfinite(row.low) and math.isfinite(row.high):
            parts.append(
                f'<line class="whisker c{series}" x1="{x(month)}" x2="{x(month)}" y1="{y(row.low)}" y2="{y(row.high)}"/>'
            )
        if after := known.get(month + 1):
            parts.append(
                f'<line class="line c{series}" x1="{x(month)}" x2="{x(month + 1)}" y1="{y(row.share)}" y2="{y(after.share)}"/>'
            )
    parts += [
        f'<circle class="c{series}{" hollow" if row.n < FEW else ""}" cx="{x(month)}" cy="{y(row.share)}" r="3.1">'
        f"<title>{escape(row.name)}: {row.share:.0%} ({row.why or f'{row.low:.0%} to {row.high:.0%}'}), n {row.n:.0f}</title></circle>"
        for month, row in known.items()
    ]
    parts += [
        f'<text class="tick mid" x="{x(month)}" y="{height - 6}">{month // 12 % 100:02}-{month % 12 + 1:02}</text>'
        for month in range(first, first + span, -(-span // 4))
    ]
    return Markup(  # noqa: S704 - numbers of ours, and names that are escaped
        f'<svg class="plot" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(name)}">{"".join(parts)}</svg>'
    )


def _month(name: str) -> int:
    """The number of a month since the year 0."""
    year, _, month = name.partition("-")
    return 12 * int(year) + int(month) - 1


def trade_off(rows: Sequence[Any], chosen: int) -> Markup:
    """Half-width of the interval against hours, a point for each number of posts a claim; the chosen one is filled."""
    width, height, left, right, top, bottom = 420, 230, 40, 12, 16, 40
    most_hours = max(row.hours for row in rows) * 1.05 or 1.0
    widest = max(row.half_width_pool for row in rows) * 1.12 or 1.0

    def x(hours: float) -> str:
        return f"{left + (width - left - right) * hours / most_hours:.1f}"

    def y(half: float) -> str:
        return f"{top + (height - top - bottom) * (1 - half / widest):.1f}"

    step = next(step for step in (0.01, 0.02, 0.05, 0.1, 0.2) if widest / step <= 6)
    grid = "".join(
        f'<line class="grid" x1="{left}" x2="{width - right}" y1="{y(at * step)}" y2="{y(at * step)}"/>'
        f'<text class="tick end" x="{left - 6}" y="{float(y(at * step)) + 4:.1f}">±{100 * at * step:.0f}</text>'
        for at in range(int(widest / step) + 1)
    )
    hours = 10.0 ** math.ceil(math.log10(most_hours / 8))
    hours = next(hours * part for part in (0.1, 0.2, 0.5, 1) if most_hours / (hours * part) <= 8)
    grid += "".join(
        f'<text class="tick mid" x="{x(at * hours)}" y="{height - 20}">{at * hours:g}</text>'
        for at in range(int(most_hours / hours) + 1)
    )
    own = next(row for row in rows if row.per_claim == chosen)
    guide = f"{left},{y(own.half_width_pool)} {x(own.hours)},{y(own.half_width_pool)} {x(own.hours)},{height - bottom}"
    line = " ".join(f"{x(row.hours)},{y(row.half_width_pool)}" for row in rows)
    dots = "".join(
        f'<circle class="c1{"" if row is own else " hollow"}" cx="{x(row.hours)}" cy="{y(row.half_width_pool)}" r="{6 if row is own else 3.2}">'
        f"<title>{row.per_claim} posts per claim: {row.hours:.1f} hours, ±{100 * row.half_width_pool:.1f} points</title></circle>"
        for row in rows
    )
    return Markup(  # noqa: S704 - numbers and words of ours alone
        f'<svg class="plot" viewBox="0 0 {width} {height}" role="img" aria-label="Half-width of the interval against hours">{grid}'
        f'<polyline class="guide" points="{guide}"/><polyline class="line c1" points="{line}"/>{dots}'
        f'<text class="tick mid" x="{(left + width - right) / 2:.0f}" y="{height - 4}">hours of labelling, all annotators</text></svg>'
    )
