"""Published figures, each by what stands behind it: recomputed from data, consistent, possible, or circular.

The figures are data (figures/*.json): where a paper prints one, what it says, the computation behind it and that
computation's inputs. Nothing is tuned to agree: a figure that does not follow is reported with what does.
"""

from __future__ import annotations

import os
from dataclasses import astuple, dataclass, fields
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from covmis_build.errors import UnknownName, nearest
from covmis_build.evaluation.rendering import notebook, write
from covmis_build.evaluation.reproduction.recomputing import COMPUTATIONS
from covmis_build.evaluation.reproduction.released import FROM_FILES

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

PAPERS = {
    "covmis2022": "COVMis-Stance (2022)",
    "scarton2020": "Scarton et al. (2020)",
    "amemiya2021": "Amemiya & Sakai (2021)",
    "mu2023": "Mu et al. (2023)",
    "fnc2017": "Fake News Challenge (2017)",
}


class Class(StrEnum):
    """What a match of a figure is worth."""

    RECOMPUTED = "recomputed"
    """From files that the authors released."""
    CONSISTENT = "consistent"
    """It follows from other figures that the paper prints: totals, matrices, tests from printed means."""
    POSSIBLE = "possible"
    """Some data would give it: it keeps a bound, or is the nearest value that there can be."""
    CIRCULAR = "circular"
    """What it is computed from was reconstructed from figures of the same table, this one among them."""


WORDS = {
    Class.RECOMPUTED: "recomputed from data", Class.CONSISTENT: "consistent with what else is printed",
    Class.POSSIBLE: "possible (a bound is kept, or a nearest value is met)",
    Class.CIRCULAR: "circular (reconstructed from the figures they are compared with)",
}  # fmt: skip
POSSIBLE = {"odd_over_91", "half_sum", "floor_part", "block"}
CIRCULAR = {"marginal"}


class Status(StrEnum):
    """Whether a figure follows."""

    MATCH = "match"
    MISMATCH = "mismatch"
    NOT_COMPUTABLE = "not_computable"


EXPLAINED = "It does not follow from the paper's own figures."


class Figure(msgspec.Struct, frozen=True):
    """A published figure: where it stands, what it says, the computation behind it and that computation's inputs."""

    where: str
    published: float | int | str
    how: str
    given: dict[str, Any]
    rule: str = "rounded"
    """How the published value may differ from the computed one."""
    digits: int | None = None
    """Those behind the point, as printed."""
    spread: float = 0.0
    reason: str = ""
    derived: bool = False

    @property
    def unit(self) -> float:
        """One in the last printed digit."""
        return 10.0 ** -(self.digits or 0)


@dataclass(frozen=True, slots=True)
class Recomputed:
    """A figure beside what follows instead of it, or with it."""

    paper: str
    where: str
    published: float | int | str
    derived: bool
    computed: Any
    worth: str
    """Its class, or nothing."""
    status: str
    reason: str


COLUMNS = ["class" if column.name == "worth" else column.name for column in fields(Recomputed)]


def reproduce(which: str = "", *, data_home: Path | str | None = None) -> Reproduction:
    """Recompute the figures of one paper (`mu2023`), of one table (`mu2023 Table 3`, `Table 12`), or all of them.

    Figures that need released files are looked for in `data_home`, or `COVMIS_DATA_HOME`; without, they are not
    computable and say so.

    >>> figures = reproduce("scarton2020 Table 2").to_frame()
    >>> figures["status"].unique().tolist(), len(figures)
    (['match'], 24)
    """
    import pandas as pd

    folder = data_home or os.environ.get("COVMIS_DATA_HOME")
    home = Path(folder) if folder else None
    rows = [
        _recomputed(paper, figure, home) for paper, figure in figures() if _wanted(which, paper, figure.where)
    ]
    if not rows:
        raise UnknownName(
            f"nothing is known of '{which}'", remedy=f"Name a paper ({', '.join(PAPERS)}), a table, or both"
        )
    return Reproduction(pd.DataFrame([astuple(row) for row in rows], columns=COLUMNS, dtype=object))


@dataclass(frozen=True, slots=True)
class Reproduction:
    """The recomputed figures, as a page and as files."""

    table: pd.DataFrame

    def to_frame(self) -> pd.DataFrame:
        """One row a figure."""
        return self.table

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        rows = [row | {"class": row["class"] or None} for row in self.table.to_dict("records")]
        return {"figures": rows, "classes": self.classes().to_dict("records")}

    def write(self, path: Path | str) -> None:
        """Write the figures as .html, .csv, .json or .tex."""
        write(path, self)

    def _repr_html_(self) -> str:
        return notebook([("Published figures, recomputed", "", self.summary())])

    def sentences(self, *, everything: bool = False) -> list[str]:
        """A line a figure: those that do not follow, or all."""
        shown = self.table if everything else self.table[self.table["status"] != "match"]
        lines = []
        for row in shown.to_dict("records"):
            computed = "" if row["computed"] is None else f", computed {row['computed']}"
            reason = f": {row['reason']}" if row["reason"] else ""
            said = "derived" if row["derived"] else "published"
            lines.append(
                f"{' '.join(filter(None, (row['class'], row['status'])))}: {row['paper']}, {row['where']}: {said} "
                f"{row['published']}{computed}{reason}"
            )
        return lines

    def classes(self) -> pd.DataFrame:
        """How many figures of each class there are, and how many of them match."""
        import pandas as pd

        rows = []
        for kind in Class:
            of = self.table[self.table["class"] == kind]
            counts = of["status"].value_counts()
            told = {status: int(counts.get(status, 0)) for status in map(str, Status)}
            rows.append({"class": str(kind), "meaning": WORDS[kind], "figures": len(of), **told})
        return pd.DataFrame(rows)

    def summary(self) -> pd.DataFrame:
        """How many figures of each paper there are, by class and by status."""
        import pandas as pd

        rows = []
        for paper, of in self.table.groupby("paper", sort=False):
            counts = of["status"].value_counts()
            rows.append(
                {
                    "paper": paper,
                    "figures": len(of),
                    **{str(kind): int((of["class"] == kind).sum()) for kind in Class},
                    **{status: int(counts.get(status, 0)) for status in map(str, Status)},
                }
            )
        return pd.DataFrame(rows)

    def html(self) -> str:
        """A page for the papers' authors: what was recomputed and how, what does not follow first, then everything."""
        from covmis_build.report.page import Section, page, table_html

        names = {"not_computable": "not computable"}
        table = self.table.assign(computation=_computations(self.table))
        table["published"] = [
            f"{published} (derived)" if derived else published
            for published, derived in zip(table["published"], table["derived"], strict=True)
        ]
        sections = [
            Section("What a match is worth", body=table_html(self.classes(), names=names, headings=1)),
            Section("Summary", body=table_html(self.summary(), names=names, headings=1)),
        ]
        for paper, of in table.groupby("paper", sort=False):
            columns = [
                "where",
                "published",
                "computed",
                "class",
                "status",
                "reason",
                "computation",
            ]
            doubtful = of[of["status"] != "match"][columns]
            if len(doubtful):
                sections.append(
                    Section(
                        f"{PAPERS[str(paper)]}: what does not follow", body=table_html(_as_text(doubtful))
                    )
                )
            matching = of[of["status"] == "match"][columns]
            sections.append(
                Section(f"{PAPERS[str(paper)]}: what follows", body=table_html(_as_text(matching)))
            )
        return page(
            "Published figures, recomputed",
            sections,
            lead="Each figure is set beside what follows from the files that its authors released (recomputed), or from "
            "what else the paper prints (consistent, possible, circular): only the first is a recomputation. A match "
            "agrees to the last printed digit; a mismatch says what follows instead, and why. Figures that the paper "
            "does not print as such are marked derived. Nothing was tuned to agree.",
        )

    def latex(self) -> str:
        """The summary with booktabs' rules."""
        from covmis_build.report.page import table_latex

        return table_latex(self.summary(), caption="Published figures, recomputed.")


def _computations(table: pd.DataFrame) -> list[str]:
    """What was computed for each figure, in words."""
    behind = {(paper, figure.where): figure.how for paper, figure in figures()}
    known: dict[str, Any] = {**COMPUTATIONS, **FROM_FILES}
    sentences = []
    for paper, where in zip(table["paper"], table["where"], strict=True):
        described = known.get(behind[paper, where])
        sentences.append((described.__doc__ or "").split("\n")[0].rstrip(".") if described else "")
    return sentences


def _as_text(table: pd.DataFrame) -> pd.DataFrame:
    """Numbers as they are: a column of mixed precision must not be rounded alike."""
    return table.map(lambda cell: "" if cell is None or cell != cell else str(cell))  # noqa: PLR0124


def figures() -> list[tuple[str, Figure]]:
    """All published figures, paper by paper."""
    folder = files(__package__) / "figures"
    return [
        (paper, figure)
        for paper in PAPERS
        for figure in msgspec.json.decode((folder / f"{paper}.json").read_bytes(), type=list[Figure])
    ]


def _wanted(which: str, paper: str, where: str) -> bool:
    """Whether a figure belongs to what was asked for; 'Table 1' is not 'Table 12'."""
    words = which.strip()
    if not words:
        return True
    first, _, rest = words.partition(" ")
    if first in PAPERS:
        return first == paper and (not rest or _starts(where, rest))
    return words.lower() in PAPERS[paper].lower() or _starts(where, words)


def _starts(where: str, words: str) -> bool:
    rest = where.lower().removeprefix(words.lower().strip())
    return len(rest) < len(where) and not rest[:1].isdigit()


def class_of(how: str) -> str:
    """What a match by this computation is worth; empty for figures that nothing was given for."""
    if how == "not_given":
        return ""
    if how in FROM_FILES:
        return str(Class.RECOMPUTED)
    return str(Class.CIRCULAR if how in CIRCULAR else Class.POSSIBLE if how in POSSIBLE else Class.CONSISTENT)


def _recomputed(paper: str, figure: Figure, home: Path | None) -> Recomputed:
    def told(status: Status, reason: str, computed: Any = None) -> Recomputed:
        worth = class_of(figure.how)
        return Recomputed(
            paper, figure.where, figure.published, figure.derived, computed, worth, str(status), reason
        )

    if figure.how == "not_given":
        return told(Status.NOT_COMPUTABLE, figure.reason)
    if figure.how in FROM_FILES:
        if home is None:
            needs = "It needs the released files: set COVMIS_DATA_HOME to the folder that holds them."
            return told(Status.NOT_COMPUTABLE, needs)
        try:
            computed = FROM_FILES[figure.how](home, **figure.given)
        except FileNotFoundError as error:
            name = Path(str(error.filename)).name
            return told(Status.NOT_COMPUTABLE, f"The released file {name} is not in COVMIS_DATA_HOME.")
    else:
        if figure.how not in COMPUTATIONS:
            raise UnknownName(f"unknown computation '{figure.how}'", remedy=nearest(figure.how, COMPUTATIONS))
        computed = COMPUTATIONS[figure.how](**figure.given)
    matches, reason = _judged(figure, computed)
    if matches:
        return told(Status.MATCH, reason, _shown(figure, computed))
    return told(Status.MISMATCH, figure.reason or EXPLAINED, _shown(figure, computed))


def _judged(figure: Figure, computed: Any) -> tuple[bool, str]:
    """Whether the published figure follows from the computed value, by the figure's rule; and a note for readers."""
    published: Any = figure.published
    half, tiny = figure.unit / 2, 1e-9
    rules: dict[str, Callable[[], tuple[bool, str]]] = {
        "rounded": lambda: (abs(computed - published) <= half + tiny, ""),
        "truncated": lambda: (
            -tiny <= abs(computed) - abs(published) < figure.unit + tiny
            or abs(computed - published) <= half + tiny,
            "" if abs(computed - published) <= half + tiny else "Cut off, not rounded.",
        ),
        "either": lambda: (
            any(abs(ranking - published) <= half + tiny for ranking in computed),
            "By one of the two rankings.",
        ),
        "cells": lambda: (
            _follows_from_cells(figure, half, tiny),
            "Within the rounding of the printed cells.",
        ),
        "runs": lambda: (
            abs(computed - published) <= figure.spread + half + tiny,
            "Within the printed standard deviation of the runs.",
        ),
        "at_most": lambda: (published <= computed + 2 * half + tiny, "The printed value is possible."),
        "below_one": lambda: (computed < 1, ""),
        "significant": lambda: (computed < 0.05, ""),
        "not_significant": lambda: (computed > 0.05, ""),
    }
    return rules[figure.rule]()


def _follows_from_cells(figure: Figure, half: float, tiny: float) -> bool:
    """Whether some inputs that print as given lead to a value that prints as published.

    The computations used here rise with each input, so their extremes lie where all inputs are low or high. A last
    digit may have been cut off instead of rounded: then inputs and result may be up to one unit higher.
    """
    compute, given, published = COMPUTATIONS[figure.how], figure.given, figure.published
    low = compute(**given | {"values": [value - half for value in given["values"]]})
    high = compute(**given | {"values": [value + 2 * half for value in given["values"]]})
    assert isinstance(low, float)
    assert isinstance(high, float)
    assert not isinstance(published, str)
    return bool(low <= published + 2 * half + tiny and high >= published - half - tiny)


def _shown(figure: Figure, computed: Any) -> Any:
    digits = 2 + (4 if figure.digits is None else figure.digits)
    if isinstance(computed, tuple):
        return [round(value, digits) for value in computed]
    shown = round(float(computed), max(digits, 6) if "sig" in figure.rule else digits)
    return int(shown) if figure.digits == 0 and shown == int(shown) else shown
