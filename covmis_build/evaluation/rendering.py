"""Results as files: a page, CSV, JSON, LaTeX with booktabs' rules."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from covmis_build import storage
from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd


class Rendered(Protocol):
    """What can be written to a file."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""

    def to_frame(self) -> pd.DataFrame:
        """The table for CSV."""

    def html(self) -> str:
        """The page."""

    def latex(self) -> str:
        """The table with booktabs' rules."""


def write(file: Path | str, results: Rendered) -> None:
    """Write the results in the form that the file's name asks for."""
    path = Path(file)
    kind = path.suffix.lower()
    if kind == ".html":
        storage.write_text(path, results.html())
    elif kind == ".json":
        text = json.dumps(plain(results.to_dict()), ensure_ascii=False, indent=1, allow_nan=False)
        storage.write_text(path, text + "\n")
    elif kind == ".csv":
        table = results.to_frame()
        rows = (
            [None if _missing(cell) else cell for cell in row]
            for row in table.itertuples(index=False, name=None)
        )
        storage.write_bytes(path, storage.csv_bytes([str(column) for column in table.columns], rows))
    elif kind == ".tex":
        storage.write_text(path, results.latex())
    else:
        raise InputError(
            f"cannot be written as '{path.suffix}'", file=path, remedy="Use .html, .csv, .json or .tex"
        )


def plain(value: Any) -> Any:
    """Values that JSON knows; what is undefined or infinite is null."""
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def in_turn(tables: Sequence[tuple[str, pd.DataFrame]]) -> list[str | pd.DataFrame]:
    """Each title and its table, and an empty line before the next, as a result's summary."""
    return [part for title, table in tables for part in ("", title, table)][1:]


def cell(row: Mapping[Any, Any], digits: int = 3) -> str:
    """A value with its interval; over runs with its standard deviation."""
    shown = bounded(row["value"], row["low"], row["high"], digits)
    return f"{shown} ± {row['sd']:.3f}" if row.get("runs", 1) > 1 and not _missing(row["sd"]) else shown


def bounded(value: float, low: float, high: float, digits: int = 3) -> str:
    """A value with its interval, if there is one."""
    if _missing(value):
        return "–"
    shown = f"{value:z.{digits}f}"
    return shown if _missing(low) else f"{shown} [{low:z.3f}, {high:z.3f}]"


def telling_digits(values: Iterable[float]) -> int:
    """As many decimals as different values need to look different: 3 at least, 6 at most.

    >>> telling_digits([0.825, 0.8194]), telling_digits([0.82041, 0.82034, 0.7])
    (3, 4)
    """
    different = {round(float(value), 6) for value in values if not _missing(value)}
    return next((n for n in (3, 4, 5) if len({round(value, n) for value in different}) == len(different)), 6)


def latex_cell(row: Mapping[Any, Any], best: float, digits: int = 3) -> str:
    """A value for LaTeX, the best one in bold, with its standard deviation over runs."""
    if _missing(row["value"]):
        return "--"
    shown = f"{row['value']:.{digits}f}"
    if row["value"] == best:
        shown = f"\\textbf{{{shown}}}"
    return shown + (f" $\\pm$ {row['sd']:.3f}" if row["runs"] > 1 else "")


def booktabs(header: list[str], lines: list[list[str]], caption: str) -> str:
    """A table; its cells are finished LaTeX, the caption is escaped here."""
    body = [" & ".join(line) + r" \\" for line in lines]
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{escape(caption)}}}",
            rf"\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}",
            r"\toprule",
            " & ".join(header) + r" \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def escape(text: str) -> str:
    """Text that LaTeX prints as it is."""
    from covmis_build.report.page import latex_escape

    return latex_escape(text)


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)  # noqa: PLR0124


def known(value: float) -> float | None:
    """The value, or nothing where it is undefined."""
    return None if _missing(value) else value


def titled(study: str, caption: str) -> str:
    """A caption that names the study whose corpus was judged on."""
    return f"{study}. {caption}" if study else caption
