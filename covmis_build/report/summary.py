"""A result's summary for terminals and notebooks: sentences with small tables."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

    Summary = Sequence["str | pd.DataFrame | Listing"]


class Listing(NamedTuple):
    """A small table for users; larger ones are DataFrames."""

    header: Sequence[str]
    rows: Iterable[Sequence[Any]]


def in_notebook(summary: Summary) -> str:
    """Return the summary as HTML.

    >>> in_notebook(["1 < 2", "", Listing(("post", "hits"), [("x:1", 2)])])
    '<p>1 &lt; 2</p><table><tr><th>post</th><th>hits</th></tr><tr><td>x:1</td><td>2</td></tr></table>'
    """
    parts = []
    for part in summary:
        if isinstance(part, str):
            parts.append(f"<p>{escape(part)}</p>" if part else "")
        elif isinstance(part, Listing):
            rows = [_row("th", part.header), *(_row("td", row) for row in part.rows)]
            parts.append(f"<table>{''.join(rows)}</table>")
        else:
            parts.append(part.to_html(index=False, na_rep=""))
    return "".join(parts)


def _row(tag: str, cells: Sequence[Any]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(str(cell))}</{tag}>' for cell in cells)}</tr>"
