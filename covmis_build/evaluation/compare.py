"""Compare every pair of systems: difference, interval, p-value, effect size, and a cautious sentence."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from covmis_build.errors import InputError, UnknownName, nearest
from covmis_build.evaluation.catalogue import measures
from covmis_build.evaluation.gold_and_systems import gold_and_systems, unit_of
from covmis_build.evaluation.joining import Extra, Invalid, Missing, claims_of_items, join
from covmis_build.evaluation.paired import PairedSystems
from covmis_build.evaluation.rendering import Evaluated, booktabs, escape, known, titled
from covmis_build.evaluation.setting import setting
from covmis_build.evaluation.significance import (
    mcnemar_p,
    randomisation_p,
    tukey_p,
    tukey_p_of_cells,
    welch,
)
from covmis_build.stats.many_tests import holm

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from covmis_build.report.page import Section
    from covmis_build.report.summary import Summary

    Array = NDArray[np.float64]


class Test(StrEnum):
    """The test of a difference between two systems."""

    INTERVAL = "interval"
    RANDOMISATION = "randomisation"
    TUKEY = "tukey"
    WELCH = "welch"


MCNEMAR = "McNemar's test is exact randomisation of accuracy: test = randomisation, exact (--test randomisation --exact)"
NAMES = {
    Test.INTERVAL: "interval and its inversion",
    Test.RANDOMISATION: "paired randomisation",
    Test.TUKEY: "randomised Tukey HSD",
    Test.WELCH: "Welch's t-test over runs",
}
MCNEMARS = "exact McNemar test"
EVERY = " of every arrangement"
"""What follows the name of a test that enumerates instead of drawing."""


COLUMNS = [
    "system_a", "system_b", "measure", "value_a", "value_b", "difference", "low", "high", "p",
    "p_adjusted", "effect", "test", "method", "units", "unit", "decisive", "replicates", "why",
]  # fmt: skip
"""Columns of the table shown next to the sentence."""
NOT_SHOWN = ["sentence", "measure", "test", "method", "units", "unit", "decisive", "replicates", "why"]
"""Columns that the text above the page's table covers."""
P_VALUES = ("p", "p_adjusted")
SHOWN = {
    "system_a": "A", "system_b": "B", "value_a": "of A", "value_b": "of B", "difference": "A - B",
    "p_adjusted": "p, adjusted", "effect": "effect size",
}  # fmt: skip


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Evaluated):
    """The result of `compare`. `.table` has one row per pair of systems."""

    table: pd.DataFrame
    level: float = 0.95
    study: str = ""
    remarks: tuple[str, ...] = ()
    """What is to be known of gold, as sentences."""

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair."""
        return self.table

    @property
    def sentences(self) -> list[str]:
        """Return a cautious sentence per pair."""
        return list(self.table["sentence"])

    @property
    def adjustment(self) -> str:
        """The adjustment that controls the error over all pairs."""
        return "controlled over all pairs" if self.table["test"].iloc[0] == Test.TUKEY else "adjusted by Holm"

    def matrix(self, column: str = "p_adjusted") -> pd.DataFrame:
        """Return the comparisons as a square table of systems."""
        return matrix(self.table, column)

    @property
    def summary(self) -> Summary:
        """Return the p-values of all pairs (if several) and the sentences."""
        square = self.matrix().rename_axis("").reset_index()
        several: Summary = [f"p-values, {self.adjustment}:", square] if len(self.table) > 1 else []
        return [*several, *self.sentences, *self.remarks]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "level": self.level,
            "notes": list(self.remarks),
            "comparisons": self.table.to_dict("records"),
        }

    @property
    def how(self) -> str:
        """The test and its unit."""
        row = self.table.to_dict("records")[0]
        return (
            f"{measures[row['measure']].title}; {row['method']}{_over(row)}"
            + (f", {row['replicates']:,} replicates." if row["replicates"] else ".")
            + f" Effect: the difference divided by the standard deviation of one {_singular(row['unit'])}'s contribution to it."
            + "".join(f" {remark}" for remark in self.remarks)
        )

    def html(self) -> str:
        """Return the page: p-values as a matrix, differences with intervals, sentences."""
        from covmis_build.report.page import page

        return page("Comparison of systems", self.sections, study=self.study)

    @property
    def sections(self) -> list[Section]:
        """Return the parts of the page."""
        from markupsafe import Markup

        from covmis_build.report.figures import forest
        from covmis_build.report.page import Section, table_html

        rows = [
            (
                f"{row['system_a']} - {row['system_b']}",
                known(row["difference"]),
                known(row["low"]),
                known(row["high"]),
            )
            for row in self.table.to_dict("records")
        ]
        words = Markup("").join(Markup("<p>{}</p>").format(sentence) for sentence in self.table["sentence"])
        square = matrix(self.table).rename_axis("system").reset_index()
        return [
            Section("In words", prose=self.how, body=words),
            Section(
                "p-values",
                prose="Adjusted over all pairs.",
                body=table_html(square, headings=1, p_values=square.columns),
            ),
            Section(
                "Differences",
                body=table_html(
                    self.table.drop(columns=NOT_SHOWN), names=SHOWN, headings=2, p_values=P_VALUES
                ),
                figures=[
                    forest(
                        rows[:60],
                        alt="Each difference with its interval",
                        reference=0.0,
                        unit=f"difference in {measures[self.table['measure'].iloc[0]].title}",
                    )
                ],
            ),
        ]

    def latex(self) -> str:
        """Return one row per pair as a LaTeX table (booktabs)."""
        from covmis_build.report.page import shown_p

        bounds = bool(np.isfinite(self.table["low"]).any())
        interval = [f"{self.level * 100:.0f}\\% interval"] if bounds else []
        header = ["A", "B", "$A$", "$B$", "$A-B$", *interval, "$p$", "$p$ (adj.)", "effect"]
        lines = [
            [
                escape(row["system_a"]),
                escape(row["system_b"]),
                *(f"{row[name]:.3f}" for name in ("value_a", "value_b", "difference")),
                *([_bounds(row)] if bounds else []),
                *(shown_p(row[name]).replace("<", "$<$") for name in ("p", "p_adjusted")),
                f"{row['effect']:.3f}",
            ]
            for row in self.table.to_dict("records")
        ]
        return booktabs(header, lines, titled(self.study, self.how), label="comparison")


def compare(  # noqa: PLR0913 - every option is named
    gold: Any,
    systems: Any,
    *,
    measure: str = "macro_f1",
    id: str | None = None,  # noqa: A002 - the column's name in every table
    label: str | None = None,
    labels: Sequence[Any] | None = None,
    test: str = Test.INTERVAL,
    clusters: Any = "",
    replicates: int = 2000,
    seed: int = 0,
    order: Sequence[str] | None = None,
    poles: Sequence[str] | None = None,
    class_weights: Mapping[str, float] | Sequence[float] | None = None,
    undefined: str = "zero",
    missing: Missing = "refuse",
    extra: Extra = "refuse",
    invalid: Invalid = "refuse",
    map: Mapping[str, str] | None = None,  # noqa: A002 - what everyone calls it
    by_position: bool = False,
    level: float = 0.95,
    exact: bool = False,
    title: str = "",
) -> Comparison:
    """Compare all pairs of systems in one measure: one row per pair. Gold and systems as in `score`.

    Columns: system_a, system_b, value_a, value_b, difference (a - b), low, high, p (two-sided), p_adjusted (Holm's, over
    the pairs; `tukey` controls the error over all pairs itself), effect (the difference divided by the standard deviation of
    one unit's contribution to it), test (as asked for), method (as computed), units, unit, decisive (of McNemar's test: items
    that only one system has right), replicates (drawn; 0 if none were), why, sentence.

    By default p inverts the interval, so the two never disagree. The interval is over claims (gold's claim column, or
    `clusters`), or over items if there are none (`clusters=None` requests this). If too little is known both are missing, and
    `why` gives the reason. Other tests are made on request (`test`) and have no interval: they swap or permute whole claims in
    `replicates`, or in every arrangement (`exact`) for very small data. Exact randomisation of accuracy over items is
    McNemar's test, for data of any size. `welch` compares runs (seeds) and does not generalise to other items.

    >>> gold = ["a", "b"] * 20
    >>> found = compare(gold, {"right": gold, "always a": ["a"] * 40}, measure="accuracy", labels=["a", "b"])
    >>> found.table.loc[0, "difference"], bool(found.table.loc[0, "p"] < 0.01)
    (np.float64(0.5), True)
    """
    import pandas as pd

    _refuse_unknown(test, replicates)
    given = gold_and_systems(gold, systems, id=id, label=label, by_position=by_position, map=map)
    joined = join(given.gold, given.systems, given.labels(labels, order, invalid), missing, extra, invalid)
    if len(joined.runs) < 2:
        raise InputError("there is one system", remedy="Give at least two to compare")
    chosen = setting(
        joined.labels,
        names=[measure],
        order=order,
        poles=poles,
        class_weights=class_weights,
        undefined=undefined,
    )
    clusters = given.claims(clusters)
    data = PairedSystems(joined, chosen, claims_of_items(clusters, joined))
    pairs = list(combinations(range(len(data.systems)), 2))
    figures = [data.difference(*pair, level) for pair in pairs]
    if test == Test.INTERVAL:
        p_values = np.array([figure.p() for figure in figures])
        adjusted = holm(p_values)
    else:
        p_values, adjusted = _p_values(data, test, replicates, seed, exact=exact)
    drawn = _permutes(test) and not exact
    mcnemar = _is_mcnemar(data, test, exact=exact)
    rows = [
        data.pair(*pair, figure, interval=test == Test.INTERVAL)
        | {
            "p": float(p_values[at]),
            "p_adjusted": float(adjusted[at]),
            "test": test,
            "method": MCNEMARS
            if mcnemar
            else NAMES[Test(test)] + (EVERY if exact and _permutes(test) else ""),
            "unit": unit_of(clusters),
            "decisive": sum(data.only_one(*pair)) if mcnemar else None,
            "replicates": replicates if drawn else 0,
        }
        for at, (pair, figure) in enumerate(zip(pairs, figures, strict=True))
    ]
    frame = pd.DataFrame(rows)[COLUMNS]
    title_of, higher = chosen.measures[0].title, chosen.measures[0].higher_is_better
    frame["sentence"] = [sentence(row, title_of, higher, level=level) for row in rows]
    return Comparison(frame, level, title, (*joined.remarks, *given.remarks(None)))


def _refuse_unknown(test: str, replicates: int) -> None:
    if test not in set(Test):
        raise UnknownName(
            f"unknown test '{test}'",
            remedy=MCNEMAR if "mcnemar" in str(test).lower() else nearest(str(test), Test),
        )
    if replicates < 1:
        raise InputError(f"replicates = {replicates}", remedy="Ask for at least one")


def _p_values(
    data: PairedSystems, test: str, replicates: int, seed: int, *, exact: bool
) -> tuple[Array, Array]:
    pairs = list(combinations(range(len(data.systems)), 2))
    if test == Test.WELCH:
        starts = np.cumsum([0, *(len(runs) for runs in data.systems)])
        each = [data.each_run[a:b] for a, b in pairwise(starts)]
        values = np.array([welch(each[a], each[b])[1] for a, b in pairs])
        return values, holm(values)
    if any(len(runs) > 1 for runs in data.systems):
        raise InputError(
            f"the test {test} exchanges predictions and needs one run of each system",
            remedy="Use interval, which averages runs, or welch, which compares them",
        )
    if test == Test.TUKEY:
        if data.owners is None and not exact:
            table = tukey_p_of_cells(data.cells, data.width, data.value, replicates=replicates, seed=seed)
        else:
            table = tukey_p(data.parts(), data.value, replicates=replicates, seed=seed, exact=exact)
        values = np.array([table[a, b] for a, b in pairs])
        return values, values
    if _is_mcnemar(data, test, exact=exact):
        values = np.array([mcnemar_p(*data.only_one(*pair)) for pair in pairs])
        return values, holm(values)
    values = randomisation_p(data.parts(), pairs, data.value, replicates=replicates, seed=seed, exact=exact)
    return values, holm(values)


def _permutes(test: str) -> bool:
    """True for tests that exchange predictions: drawn arrangements, or every one."""
    return test in {Test.RANDOMISATION, Test.TUKEY}


def _is_mcnemar(data: PairedSystems, test: str, *, exact: bool) -> bool:
    """True if exact randomisation has a closed form: accuracy over single items."""
    return exact and test == Test.RANDOMISATION and data.owners is None and data.measure == "accuracy"


def matrix(comparisons: pd.DataFrame, column: str = "p_adjusted") -> pd.DataFrame:
    """Return the comparisons as a square table of systems with an empty diagonal."""
    import pandas as pd

    names = list(dict.fromkeys([*comparisons["system_a"], *comparisons["system_b"]]))
    square = pd.DataFrame(np.nan, index=names, columns=names)
    for row in comparisons.to_dict("records"):
        square.loc[row["system_a"], row["system_b"]] = row[column]
        square.loc[row["system_b"], row["system_a"]] = row[column]
    return square


def sentence(row: Mapping[str, Any], title: str, higher: bool, *, level: float = 0.95) -> str:
    """Describe one comparison in a cautious sentence."""
    if not np.isfinite(row["difference"]):
        return (
            f"{title} is undefined for {row['system_a']} or {row['system_b']}: they cannot be compared in it."
        )
    turned = (row["difference"] > 0) != higher and row["difference"] != 0
    better_side, worse_side = ("b", "a") if turned else ("a", "b")
    sign = -1 if turned else 1
    low, high = sorted((sign * row["low"], sign * row["high"]))
    bounds = (
        f", {level:.0%} interval {low:+.3f} to {high:+.3f}"
        if np.isfinite(low)
        else f"; no interval: {row['why']}"
        if row["why"]
        else ""
    )
    drawn = f", {row['replicates']:,} replicates" if row["replicates"] else ""
    decisive = (
        f", of which {row['decisive']:,} are right in only one system"
        if row.get("decisive") is not None
        else ""
    )
    tested = (
        f"; {row['method']}{_over(row)}{decisive}{drawn}: {_p(row['p'])}{_adjusted(row)}"
        if np.isfinite(row["p"])
        else ""
    )
    values = (
        f"({row[f'value_{better_side}']:.3f} against {row[f'value_{worse_side}']:.3f}; "
        f"difference {sign * row['difference']:+.3f}{bounds}{tested})"
    )
    if row["difference"] == 0 and not row["effect"] > 0:
        return f"{row['system_a']} and {row['system_b']} do not differ in {title} ({row['value_a']:.3f})."
    better, worse = row[f"system_{better_side}"], row[f"system_{worse_side}"]
    if not row["p_adjusted"] < 1 - level:
        return f"These data do not decide between {better} and {worse} in {title} {values}."
    if row["test"] == Test.WELCH:
        return (
            f"The runs of {better} are better than those of {worse} in {title} {values}; "
            "this speaks of other seeds, not of other items."
        )
    return f"{better} is better than {worse} in {title} {values}."


def _singular(unit: str) -> str:
    return unit.removesuffix("s")


def _over(row: Mapping[Any, Any]) -> str:
    """Return the units of the test; Welch's are runs, which its name says."""
    return "" if row["test"] == Test.WELCH else f" over {row['units']:,} {row['unit']}"


def _bounds(row: Mapping[Any, Any]) -> str:
    return f"[{row['low']:.3f}, {row['high']:.3f}]" if np.isfinite(row["low"]) else "--"


def _adjusted(row: Mapping[str, Any]) -> str:
    if row["test"] == Test.TUKEY:
        return ", controlled over all pairs"
    return f", {_p(row['p_adjusted'])} after Holm's adjustment" if row["p_adjusted"] != row["p"] else ""


def _p(p: float) -> str:
    """Format a p-value.

    >>> _p(0.0009), _p(0.0123)
    ('p < 0.001', 'p = 0.012')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
