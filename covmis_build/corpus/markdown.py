"""External text and tables as literal Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

SPECIAL = re.compile(r"([\\`*_{}\[\]#|~$])")
LINE_ENDS = re.compile(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")


def markdown(text: object) -> str:
    r"""Escape external text for Markdown: one line, no markup, no HTML.

    >>> print(markdown("a|b <script> *x*"))
    a\|b &lt;script&gt; \*x\*
    """
    line = LINE_ENDS.sub(" ", str(text)).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return SPECIAL.sub(r"\\\1", line)


def markdown_table(frame: pd.DataFrame, shown: Any, names: Mapping[str, str] | None = None) -> str:
    """Return a DataFrame as a Markdown table with all text escaped; `shown` formats a cell."""
    header = [str((names or {}).get(str(name), name)) for name in frame.columns]
    numeric = [_is_numeric(frame.iloc[:, at]) for at in range(frame.shape[1])]
    rule = ["---:" if number else "---" for number in numeric]
    rows = [[str(shown(cell)) for cell in row] for row in frame.itertuples(index=False, name=None)]
    lines = [[markdown(cell) for cell in header], rule, *([markdown(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _is_numeric(column: pd.Series[Any]) -> bool:
    import pandas as pd

    return bool(pd.api.types.is_numeric_dtype(column))
