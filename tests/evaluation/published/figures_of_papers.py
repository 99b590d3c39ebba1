"""Published figures of five papers, computed again by covmis's measures: from released files, or from what else is printed.

The figures are data (figures/*.json): where a paper prints one, what it says, the computation behind it and that
computation's inputs. Nothing is tuned to agree. `python -m tests.evaluation.published.figures_of_papers` writes the table of those that do not
follow into docs/explanation/published-figures.md; it needs COVMIS_DATA_HOME.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from tests.evaluation.published.recomputing import COMPUTATIONS
from tests.evaluation.published.released import FROM_FILES

if TYPE_CHECKING:
    from collections.abc import Callable

PAPERS = {
    "covmis2022": "COVMis-Stance (2022)",
    "scarton2020": "Scarton et al. (2020)",
    "amemiya2021": "Amemiya & Sakai (2021)",
    "mu2023": "Mu et al. (2023)",
    "fnc2017": "Fake News Challenge (2017)",
}
CLASSES = {
    "recomputed": "from files that the authors released",
    "consistent": "from other figures that the paper prints: totals, matrices, tests from printed means",
    "possible": "a bound is kept, or the nearest value that there can be is met",
}
BOUNDS = {"odd_over_91", "half_sum", "floor_part", "block"}
EXPLAINED = "It does not follow from the paper's own figures."
PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "published-figures.md"
BEGIN = "<!-- made by python -m tests.evaluation.published.figures_of_papers -->\n"


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


class Recomputed(NamedTuple):
    """A published figure, and what was computed in its place."""

    paper: str
    where: str
    published: float | int | str
    computed: Any
    kind: str
    """Its class; empty where nothing can be computed."""
    status: str
    """match, mismatch, or not computed."""
    reason: str


def figures() -> list[tuple[str, Figure]]:
    """All published figures, paper by paper."""
    folder = Path(__file__).parent / "figures"
    return [
        (paper, figure)
        for paper in PAPERS
        for figure in msgspec.json.decode((folder / f"{paper}.json").read_bytes(), type=list[Figure])
    ]


def recompute(home: Path | None) -> list[Recomputed]:
    """Every figure; those of released files only with the folder that holds them."""
    return [_recomputed(paper, figure, home) for paper, figure in figures()]


def class_of(how: str) -> str:
    """What a match by this computation says."""
    if how == "not_given":
        return ""
    return "recomputed" if how in FROM_FILES else "possible" if how in BOUNDS else "consistent"


def _recomputed(paper: str, figure: Figure, home: Path | None) -> Recomputed:
    about = (paper, figure.where, figure.published)
    if figure.how == "not_given":
        return Recomputed(*about, None, "", "not computed", figure.reason)
    kind = class_of(figure.how)
    if figure.how in FROM_FILES:
        if home is None:
            return Recomputed(*about, None, kind, "not computed", "needs the released files")
        computed = FROM_FILES[figure.how](home, **figure.given)
    else:
        computed = COMPUTATIONS[figure.how](**figure.given)
    matches, reason = _judged(figure, computed)
    status, reason = ("match", reason) if matches else ("mismatch", figure.reason or EXPLAINED)
    return Recomputed(*about, _shown(figure, computed), kind, status, reason)


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


def page(rows: list[Recomputed]) -> str:
    """The page, with its tables made again."""
    head = PAGE.read_text("utf-8").partition(BEGIN)[0]
    counts = Counter((row.kind, row.status) for row in rows)
    lines = ["| class | a match says | match | mismatch |", "|---|---|---|---|"]
    lines += [
        f"| {kind} | {about} | {counts[kind, 'match']} | {counts[kind, 'mismatch']} |"
        for kind, about in CLASSES.items()
    ]
    lines += ["", "| paper | figure | printed | computed | class | why |", "|---|---|---|---|---|---|"]
    before = ""
    for row in rows:
        if row.status == "mismatch":
            why, before = "as above" if row.reason == before else row.reason, row.reason
            lines += [
                f"| {PAPERS[row.paper]} | {row.where} | {row.published} | {row.computed} | {row.kind} | {why} |"
            ]
    return head + BEGIN + "\n" + "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(recompute(Path(os.environ["COVMIS_DATA_HOME"]))), "utf-8")
