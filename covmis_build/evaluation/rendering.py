"""Write results as page, CSV, JSON and LaTeX (booktabs), with the pages' common figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covmis_build import storage
from covmis_build.errors import InputError
from covmis_build.evaluation.catalogue import measures
from covmis_build.report.result import Result
from covmis_build.report.terminal import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd
    from markupsafe import Markup

    from covmis_build.report.summary import Summary


class Evaluated(Result):
    """A result of titled tables that can be written as page, CSV, JSON or LaTeX (booktabs)."""

    __slots__ = ()

    def tables(self) -> list[tuple[str, pd.DataFrame]]:
        """Return the tables with their titles for the terminal."""
        raise NotImplementedError

    def html(self) -> str:
        """Return the page."""
        raise NotImplementedError

    def latex(self) -> str:
        """Return the main table in LaTeX (booktabs)."""
        raise NotImplementedError

    @property
    def summary(self) -> Summary:
        """Return each title and table, separated by empty lines."""
        return [part for title, table in self.tables() for part in ("", title, table)][1:]

    def write(self, file: Path | str) -> None:
        """Write the results in the format of the file's extension: .html, .csv, .json or .tex."""
        path = Path(file)
        kind = path.suffix.lower()
        if kind == ".html":
            storage.write_text(path, self.html())
        elif kind == ".json":
            text = json.dumps(plain(self.to_dict()), ensure_ascii=False, indent=1, allow_nan=False)
            storage.write_text(path, text + "\n")
        elif kind == ".csv":
            table = self.to_frame()
            rows = (
                [None if _missing(cell) else cell for cell in row]
                for row in table.itertuples(index=False, name=None)
            )
            storage.write_bytes(path, storage.csv_bytes([str(column) for column in table.columns], rows))
        elif kind == ".tex":
            storage.write_text(path, self.latex())
        else:
            raise InputError(
                f"cannot be written as '{path.suffix}'", file=path, remedy="Use .html, .csv, .json or .tex"
            )


def cell(row: Mapping[Any, Any], digits: int = 3) -> str:
    """Format a value with its interval, or over runs with its standard deviation."""
    shown = bounded(row["value"], row["low"], row["high"], digits)
    return f"{shown} ± {row['sd']:.3f}" if row.get("runs", 1) > 1 and not _missing(row["sd"]) else shown


def bounded(value: float, low: float, high: float, digits: int = 3) -> str:
    """Format a value with its interval, if any."""
    if _missing(value):
        return "–"
    shown = f"{value:z.{digits}f}"
    return shown if _missing(low) else f"{shown} [{low:z.3f}, {high:z.3f}]"


def telling_digits(values: Iterable[float]) -> int:
    """Return the number of decimals needed to distinguish different values, from 3 to 6.

    >>> telling_digits([0.825, 0.8194]), telling_digits([0.82041, 0.82034, 0.7])
    (3, 4)
    """
    different = {round(float(value), 6) for value in values if not _missing(value)}
    return next((n for n in (3, 4, 5) if len({round(value, n) for value in different}) == len(different)), 6)


def booktabs(header: list[str], lines: list[list[str]], caption: str, *, label: str = "") -> str:
    """Return a table. Cells must be valid LaTeX; the caption is escaped here. `label` names it for references."""
    body = [" & ".join(line) + r" \\" for line in lines]
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{escape(caption)}}}",
            *([rf"\label{{tab:{label}}}"] if label else []),
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
    """Escape text for LaTeX."""
    from covmis_build.report.page import latex_escape

    return latex_escape(text)


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)  # noqa: PLR0124


def known(value: float) -> float | None:
    """Return the value, or None if undefined."""
    return None if _missing(value) else value


def titled(study: str, caption: str) -> str:
    """Return a caption with the study whose corpus was used."""
    return f"{study}. {caption}" if study else caption


MOST = 4
"""Maximum number of measures in figures; the tables have all."""


def forests(table: pd.DataFrame) -> list[Markup]:
    """Draw each of the first measures: every system's value with its interval, the best first, on one scale."""
    from covmis_build.report.figures import forest

    names = list(dict.fromkeys(table["measure"]))[:MOST]
    shared = table[table["measure"].isin([name for name in names if measures[name].range[1] == 1])]
    limits = (min(0.0, *shared["value"].dropna(), *shared["low"].dropna()), 1.0) if len(shared) else None
    figures = []
    for name in names:
        of = table[table["measure"] == name].sort_values(
            "value", ascending=not measures[name].higher_is_better, kind="stable"
        )
        rows = [
            (row["system"], known(row["value"]), known(row["low"]), known(row["high"]))
            for row in of.to_dict("records")
        ]
        figures.append(
            forest(
                rows,
                alt=f"{measures[name].title} of each system with its interval",
                unit=measures[name].title,
                limits=limits if measures[name].range[1] == 1 else None,
            )
        )
    return figures


def legend(names: Iterable[str]) -> pd.DataFrame:
    """Explain these measures: name, direction, and source."""
    import pandas as pd

    used = [measures[name] for name in dict.fromkeys(names)]
    return pd.DataFrame(
        {
            "symbol": [measure.symbol for measure in used],
            "measure": [measure.title for measure in used],
            "better": ["higher" if measure.higher_is_better else "lower" for measure in used],
            "source": [str(measure.cite) for measure in used],
        }
    )
