"""Sentences from numbers: what card and methods share, and how outside text stands in Markdown and BibTeX."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

SPECIAL = re.compile(r"([\\`*_{}\[\]#|~$])")
LINE_ENDS = re.compile(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")
KINDS = {
    "title": "titles",
    "news_url": "links to the news",
    "fact_check_url": "links to fact-checks",
    "keywords": "keywords",
}
HOW = {
    "automatic": "set by a rule, judged by nobody",
    "audited": "set by a rule, then judged by people who could not tell",
    "agreed": "annotators agreed without talking",
    "discussed": "annotators agreed after discussion",
    "majority": "most annotators agreed",
    "adjudicated": "decided by a third person",
    "single": "labelled by one annotator",
}


def markdown(text: object) -> str:
    r"""Outside text that Markdown prints as it is: one line, no markup, no HTML.

    >>> print(markdown("a|b <script> *x*"))
    a\|b &lt;script&gt; \*x\*
    """
    line = LINE_ENDS.sub(" ", str(text)).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return SPECIAL.sub(r"\\\1", line)


def markdown_table(frame: pd.DataFrame, shown: Any, names: Mapping[str, str] | None = None) -> str:
    """A DataFrame as a Markdown table, all text escaped; `shown` formats a cell."""
    header = [str((names or {}).get(str(name), name)) for name in frame.columns]
    numeric = [_is_numeric(frame.iloc[:, at]) for at in range(frame.shape[1])]
    rule = ["---:" if one else "---" for one in numeric]
    rows = [[str(shown(cell)) for cell in row] for row in frame.itertuples(index=False, name=None)]
    lines = [[markdown(cell) for cell in header], rule, *([markdown(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _is_numeric(column: pd.Series[Any]) -> bool:
    import pandas as pd

    return bool(pd.api.types.is_numeric_dtype(column))


def listed(words: Iterable[object], last: str = "and") -> str:
    """Words as a list in a sentence.

    >>> listed(["a", "b", "c"]), listed(["a"]), listed([])
    ('a, b and c', 'a', 'none')
    """
    given = [str(word) for word in words]
    if len(given) < 2:
        return given[0] if given else "none"
    return f"{', '.join(given[:-1])} {last} {given[-1]}"


def share(part: float, whole: float) -> str:
    """A share in percent, with one decimal; a dash where there is nothing to share.

    >>> share(1, 3), share(0, 0)
    ('33.3%', '–')
    """
    return f"{100 * part / whole:.1f}%" if whole else "–"


def share_interval(part: int, whole: int) -> str:
    """A share in percent with Wilson's 95% interval.

    >>> share_interval(1, 20)
    '5.0%, 95% interval 0.9% to 23.6%'
    """
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(part, whole, method="wilson")
    return f"{share(part, whole)}, 95% interval {share(max(low, 0), 1)} to {share(min(high, 1), 1)}"


def count(number: int, one: str, many: str = "") -> str:
    """A number with its noun.

    >>> count(1, "claim"), count(1200, "reply", "replies")
    ('1 claim', '1,200 replies')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def interval(value: Mapping[str, Any], digits: int = 2) -> str:
    """A coefficient with its 95% interval; empty where it is undefined.

    >>> interval({"value": 0.6712, "low": 0.6, "high": 0.74})
    '0.67 (95% interval 0.60 to 0.74)'
    """
    number, low, high = (value.get(name) for name in ("value", "low", "high"))
    if not isinstance(number, int | float):
        return ""
    shown = f"{number:.{digits}f}"
    if isinstance(low, int | float) and isinstance(high, int | float):
        shown += f" (95% interval {low:.{digits}f} to {high:.{digits}f})"
    return shown


def label_counts(names: Sequence[str], counts: Mapping[str, int]) -> str:
    """Counts by label in a sentence: `1,276 favor (48.5%), …`."""
    whole = sum(counts.get(name, 0) for name in names)
    return listed(f"{counts.get(name, 0):,} {name} ({share(counts.get(name, 0), whole)})" for name in names)
