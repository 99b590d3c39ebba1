"""Small figures of the pages: SVG without inline styles, coloured by classes of bench.css, as wide as their place."""

from __future__ import annotations

from markupsafe import Markup


def bar(value: float, most: float, kind: str = "c1") -> Markup:
    """A horizontal bar."""
    width = f"{100 * min(value / most, 1) if most else 0:.2f}"
    body = f'<rect class="track" width="100" height="10"/><rect class="{kind}" width="{width}" height="10"/>'
    return Markup(  # noqa: S704 - numbers and words of ours alone
        f'<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">{body}</svg>'
    )
