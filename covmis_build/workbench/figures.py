"""Small figures of the pages: SVG without inline styles, coloured by classes of bench.css, as wide as their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup, escape

if TYPE_CHECKING:
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
