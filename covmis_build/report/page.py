"""One HTML file per page, without scripts and external requests, for phones, print and dark mode.

`render` fills one of our templates: texts are escaped, and a missing name is an error. `page` is a shortcut for a page of
headings, prose, tables and figures:

    page("Statistics", [Section("Posts per claim", prose="…", body=table_html(frame))], study="My study")
"""

from __future__ import annotations

import math
import numbers
import unicodedata
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from covmis_build import __version__
from covmis_build.report.direction import direction

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    import jinja2
    import pandas as pd

TEMPLATES = Path(__file__).parent / "templates"

UNDEFINED = "\N{EN DASH}"
"""Shown instead of a missing number."""

LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "\n": " ",
    "\t": " ",
}


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page: a heading, plain prose, HTML below it, and figures (inline SVG)."""

    title: str
    prose: str = ""
    body: str = Markup("")
    figures: Sequence[str] = ()


def render(template: str, **context: Any) -> str:
    """Fill a template from templates/: texts are escaped, missing names refused."""
    return _environment().get_template(template).render(version=__version__, **context)


def page(
    title: str,
    sections: Iterable[Section | tuple[str, str]],
    *,
    study: str = "",
    lead: str = "",
    tiles: Sequence[tuple[str, str, str]] = (),
) -> str:
    """Return a whole page. A tuple is (heading, HTML); a tile is (name, value, small print) at the top.

    HTML must be marked as such (`Markup`, `table_html`, figures of `report.figures`); plain text is escaped.
    """
    parts = [part if isinstance(part, Section) else Section(part[0], body=part[1]) for part in sections]
    return render(
        "page.html", title=title, sections=parts, study=study, lead=lead, tiles=tiles, contents=len(parts) > 4
    )


def table_html(
    frame: pd.DataFrame,
    *,
    caption: str = "",
    digits: int = 3,
    names: Mapping[str, str] | None = None,
    headings: int = 0,
    p_values: Collection[str] = (),
    longest: int = 0,
) -> Markup:
    """Return a DataFrame as an HTML table: numbers right-aligned, missing ones as a dash, all text escaped.

    `names` renames columns for readers; the first `headings` columns are row headings; `p_values` columns are never shown as
    "0.000". A table with more than `longest` rows is collapsible, if requested.
    """
    columns = [str((names or {}).get(name, name)) for name in frame.columns]
    numeric = [_is_numeric(frame.iloc[:, at].tolist()) for at in range(len(columns))]
    of_cell = [shown_p if name in p_values else partial(shown, digits=digits) for name in frame.columns]
    rows = [
        [show(cell) for show, cell in zip(of_cell, row, strict=True)]
        for row in frame.itertuples(index=False, name=None)
    ]
    folded = bool(longest) and len(rows) > longest
    html = render(
        "table.html",
        columns=columns,
        numeric=numeric,
        rows=rows,
        caption=caption,
        headings=headings,
        folded=folded,
    )
    return Markup(html)  # noqa: S704 - the template has escaped every cell


LONG = 20
"""Maximum number of rows of a table that is not collapsed."""


def rows_html(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, p_values: Collection[str] = ()
) -> Markup:
    """Return rows of cells as such a table; first cells are row headings, and a long table is collapsed."""
    import pandas as pd

    frame = pd.DataFrame(list(rows), columns=list(columns), dtype=object)
    return table_html(frame, headings=1, p_values=p_values, longest=LONG)


def table_latex(
    frame: pd.DataFrame,
    *,
    caption: str = "",
    label: str = "",
    digits: int = 3,
    names: Mapping[str, str] | None = None,
) -> str:
    """Return a DataFrame as a LaTeX table (booktabs) with all text escaped."""
    numeric = [_is_numeric(frame.iloc[:, at].tolist()) for at in range(frame.shape[1])]

    def line(cells: Iterable[Any]) -> str:
        return " & ".join(latex_escape(str(shown(cell, digits))) for cell in cells) + r" \\"

    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            *([rf"\caption{{{latex_escape(caption)}}}"] if caption else []),
            *([rf"\label{{{label}}}"] if label else []),
            rf"\begin{{tabular}}{{{''.join('r' if right else 'l' for right in numeric)}}}",
            r"\toprule",
            line((names or {}).get(name, name) for name in frame.columns),
            r"\midrule",
            *(line(row) for row in frame.itertuples(index=False, name=None)),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def latex_escape(text: str) -> str:
    r"""Escape text for LaTeX.

    >>> print(latex_escape("50% of $x_1$ & co"))
    50\% of \$x\_1\$ \& co
    """
    return "".join(
        LATEX.get(letter, "" if unicodedata.category(letter) in {"Cc", "Cs"} else letter) for letter in text
    )


def shown(cell: Any, digits: int = 3) -> Any:
    """Format a cell: numbers rounded, missing values as a dash, lists joined.

    >>> shown(0.63647), shown(1200), shown(["a", "b"]), shown(True), shown(None) == UNDEFINED
    ('0.636', '1,200', 'a, b', 'yes', True)
    """
    if cell is None or cell != cell:  # noqa: PLR0124 - only what is not a number differs from itself
        return UNDEFINED
    if isinstance(cell, list | tuple):
        return ", ".join(str(part) for part in cell)
    if _is_flag(cell):
        return "yes" if cell else "no"
    if _is_number(cell):
        whole = isinstance(cell, numbers.Integral)
        return f"{int(cell):,}" if whole else signed(float(cell), digits).replace("-", "\N{MINUS SIGN}")
    return cell if isinstance(cell, Markup) else str(cell)


def shown_p(p: Any) -> Any:
    """Format a p-value as in papers, never as 0.

    >>> shown_p(0.0004999), shown_p(0.0312)
    ('< 0.001', '0.031')
    """
    return "< 0.001" if _is_number(p) and p < 0.001 else shown(p)


def as_integer(value: float) -> int | None:
    """Round a number for a table; None where there is none."""
    return round(value) if math.isfinite(value) else None


def signed(value: float, digits: int = 3) -> str:
    """Format a number with this many decimals; a rounded zero has no sign.

    >>> signed(-0.0004), signed(-0.5), signed(1200.0, 0)
    ('0.000', '-0.500', '1200')
    """
    return f"{value:z.{digits}f}"


def in_prose(text: str) -> Markup:
    """Return our own paragraph as escaped HTML, with text between backticks as code.

    >>> str(in_prose("`covmis run` & <b>"))
    '<code>covmis run</code> &amp; &lt;b&gt;'
    """
    parts = str(escape(text)).split("`")
    if len(parts) % 2 == 0:
        return Markup("`").join(Markup(part) for part in parts)  # noqa: S704 - escaped above
    told = (part if at % 2 == 0 else f"<code>{part}</code>" for at, part in enumerate(parts))
    return Markup("".join(told))  # noqa: S704 - escaped above


def _is_flag(cell: Any) -> bool:
    return isinstance(cell, bool) or type(cell).__name__ == "bool"


def _is_number(cell: Any) -> bool:
    return isinstance(cell, numbers.Real) and not _is_flag(cell)


def _is_numeric(cells: list[Any]) -> bool:
    known = [cell for cell in cells if cell is not None]
    return bool(known) and all(_is_number(cell) for cell in known)


@cache
def _environment() -> jinja2.Environment:
    return environment_of()


def environment_of(*folders: Path) -> jinja2.Environment:
    """Return the environment for these template folders and ours: texts escaped, missing names refused."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([*folders, TEMPLATES]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["shown"] = shown
    environment.filters["latex"] = latex_escape
    environment.filters["breakable"] = lambda name: Markup("_<wbr>").join(map(escape, name.split("_")))
    environment.filters["direction"] = direction
    environment.filters["prose"] = in_prose
    environment.filters["lines"] = lambda text: Markup("<br>").join(
        escape(line) for line in str(text).split("\n")
    )
    return environment
