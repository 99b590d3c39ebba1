"""The tables of `score` and `compare`: finished for a terminal, a page, LaTeX; the same numbers everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from covmis_build.evaluation.catalogue import measures
from covmis_build.evaluation.comparisons import NAMES, matrix
from covmis_build.evaluation.rendering import booktabs, bounded, cell, escape, known, latex_cell

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

WEIGHTED = (
    "Weighted: the pool that was sampled, each of its messages counting once (weights 1/probability; in a corpus of covmis p_claim·p_sample). "
    "Balanced: every claim counts the same. Neither is public opinion."
)


@dataclass(frozen=True, slots=True)
class Results:
    """The tables of `covmis evaluate score`."""

    scores: pd.DataFrame
    classes: pd.DataFrame
    confusions: Mapping[str, NDArray[np.float64]]
    labels: tuple[str, ...]
    level: float = 0.95
    replicates: int = 2000
    clusters: int = 0
    undefined: str = "zero"
    study: str = ""

    def frame(self) -> pd.DataFrame:
        """The scores, a row per system, measure and group."""
        return self.scores

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "labels": list(self.labels),
            "undefined": self.undefined,
            "level": self.level,
            "replicates": self.replicates,
            "clusters": self.clusters,
            "scores": self.scores.to_dict("records"),
            "classes": self.classes.to_dict("records"),
            "confusions": [
                {"system": name, "labels": list(self.labels), "matrix": matrix.tolist()}
                for name, matrix in self.confusions.items()
            ],
        }

    @property
    def how(self) -> str:
        """How the intervals were made."""
        unit = f"{self.clusters:,} claims" if self.clusters else "items"
        return (
            f"{self.level:.0%} intervals: paired bootstrap over {unit}, {self.replicates:,} replicates. "
            f"Undefined ratios: {self.undefined}.{' ± is the standard deviation over runs.' if self._runs else ''}"
        )

    @property
    def _runs(self) -> bool:
        return bool((self.scores["runs"] > 1).any())

    def overall(self) -> pd.DataFrame:
        """Systems by measures, values with their intervals, or over runs with their standard deviation."""
        chosen = self.scores[self.scores["group_by"] == ""]
        rows = []
        for name in dict.fromkeys(chosen["system"]):
            of = chosen[chosen["system"] == name].to_dict("records")
            rows.append({"system": name, **{_symbol(row["measure"]): cell(row) for row in of}})
        return _frame(rows)

    def by_measure(self) -> pd.DataFrame:
        """The same the other way round: measures by systems, for a narrow page."""
        table = self.overall().set_index("system").T
        return table.rename_axis("measure").reset_index().rename_axis(None, axis=1)

    def weighted(self) -> pd.DataFrame | None:
        """Unweighted, weighted and balanced values side by side, if there are probabilities."""
        if "weighted" not in self.scores:
            return None
        rows = []
        for row in self.scores[self.scores["group_by"] == ""].to_dict("records"):
            made = {"system": row["system"], "measure": _symbol(row["measure"]), "sample": cell(row)}
            for kind in ("weighted", "balanced"):
                if kind in row:
                    made[kind] = bounded(row[kind], row[f"{kind}_low"], row[f"{kind}_high"])
            rows.append(made)
        return _frame(rows)

    def groups(self) -> dict[str, pd.DataFrame]:
        """For each grouping: groups by measures."""
        made = {}
        for name in dict.fromkeys(self.scores["group_by"]):
            if not name:
                continue
            rows: dict[tuple[str, str], dict[str, Any]] = {}
            for row in self.scores[self.scores["group_by"] == name].to_dict("records"):
                line = rows.setdefault(
                    (row["system"], row["group"]),
                    {"system": row["system"], name: row["group"], "items": row["items"]},
                )
                line[_symbol(row["measure"])] = cell(row)
            made[name] = _frame(list(rows.values()))
        return made

    def tables(self) -> list[tuple[str, pd.DataFrame]]:
        """All tables with their titles, for a terminal."""
        narrow = self.scores["system"].nunique() <= 3
        made = [(f"Scores ({self.how})", self.by_measure() if narrow else self.overall())]
        weighted = self.weighted()
        if weighted is not None:
            made.append((WEIGHTED, weighted))
        made.append(("By class", self.classes))
        return made + [(f"By {name}", table) for name, table in self.groups().items()]

    def html(self) -> str:
        """The page: tables, forest plots and confusion matrices."""
        from covmis_build.report.page import Section, page, table_html

        sections = [
            Section(
                "Scores",
                prose=self.how,
                body=table_html(self.by_measure(), headings=1),
                figures=self._forests(),
            )
        ]
        weighted = self.weighted()
        if weighted is not None:
            sections.append(Section("Weighted by the design", prose=WEIGHTED, body=table_html(weighted)))
        sections.append(
            Section("By class", body=table_html(self.classes, headings=2), figures=self._matrices())
        )
        sections += [
            Section(f"By {name}", body=table_html(table, headings=2)) for name, table in self.groups().items()
        ]
        used = [measures[name] for name in dict.fromkeys(self.scores["measure"])]
        legend = _frame(
            [
                {
                    "symbol": one.symbol,
                    "measure": one.title,
                    "better": "higher" if one.higher_is_better else "lower",
                    "source": one.paper,
                }
                for one in used
            ]
        )
        sections.append(Section("The measures", body=table_html(legend)))
        return page("Evaluation", sections, study=self.study, lead=f"Labels: {', '.join(self.labels)}.")

    def _forests(self) -> Sequence[str]:
        from covmis_build.report.figures import forest

        chosen = self.scores[self.scores["group_by"] == ""]
        if chosen["system"].nunique() < 2:
            return []
        made = []
        for name in list(dict.fromkeys(chosen["measure"]))[:4]:
            of = chosen[chosen["measure"] == name].sort_values(
                "value", ascending=not measures[name].higher_is_better, kind="stable"
            )
            rows = [
                (row["system"], known(row["value"]), known(row["low"]), known(row["high"]))
                for row in of.to_dict("records")
            ]
            made.append(
                forest(
                    rows,
                    alt=f"{measures[name].title} of each system with its interval",
                    unit=measures[name].title,
                )
            )
        return made

    def _matrices(self) -> Sequence[str]:
        from covmis_build.report.figures import heat

        made = []
        for name, confusion in list(self.confusions.items())[:12]:
            extra = confusion.shape[1] > len(self.labels)
            made.append(
                heat(
                    confusion.tolist(),
                    list(self.labels),
                    [*self.labels, *(["no answer"] if extra else [])],
                    alt=f"Confusion matrix of {name}, gold in rows",
                    row_title="gold",
                    column_title=f"predicted by {name}",
                )
            )
        return made

    def latex(self) -> str:
        """Systems by measures with booktabs' rules; the best value of each column in bold."""
        chosen = self.scores[self.scores["group_by"] == ""]
        names = list(dict.fromkeys(chosen["measure"]))
        pivot = chosen.pivot_table(index="system", columns="measure", values="value")
        best = {
            name: pivot[name].max() if measures[name].higher_is_better else pivot[name].min()
            for name in names
        }
        lines = []
        for system in dict.fromkeys(chosen["system"]):
            rows = {row["measure"]: row for row in chosen[chosen["system"] == system].to_dict("records")}
            lines.append([escape(system), *(latex_cell(rows[name], best[name]) for name in names)])
        header = ["System", *(measures[name].latex or escape(measures[name].symbol) for name in names)]
        return booktabs(header, lines, titled(self.study, self.how))


def titled(study: str, caption: str) -> str:
    """A caption that names the study whose corpus was judged on."""
    return f"{study}. {caption}" if study else caption


@dataclass(frozen=True, slots=True)
class Comparison:
    """The table of `covmis evaluate compare`."""

    table: pd.DataFrame
    level: float = 0.95
    study: str = ""

    def frame(self) -> pd.DataFrame:
        """One row a pair."""
        return self.table

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"level": self.level, "comparisons": self.table.to_dict("records")}

    @property
    def how(self) -> str:
        """Which test, over what."""
        row = self.table.iloc[0]
        return (
            f"{measures[row['measure']].title}; {NAMES[row['test']]} over {row['units']:,} {row['unit']}, "
            f"{row['replicates']:,} replicates."
        )

    def html(self) -> str:
        """The page: the matrix of p-values, the differences with their intervals, the sentences."""
        from markupsafe import Markup

        from covmis_build.report.figures import forest
        from covmis_build.report.page import Section, page, table_html

        rows = [
            (
                f"{row['system_a']} - {row['system_b']}",
                known(row["difference"]),
                known(row["low"]),
                known(row["high"]),
            )
            for row in self.table.to_dict("records")
        ]
        words = Markup("").join(Markup("<p>{}</p>").format(one) for one in self.table["sentence"])
        square = matrix(self.table).rename_axis("system").reset_index()
        return page(
            "Comparison of systems",
            [
                Section("In words", prose=self.how, body=words),
                Section("p-values", prose="Adjusted over all pairs.", body=table_html(square, headings=1)),
                Section(
                    "Differences",
                    body=table_html(self.table.drop(columns=["sentence", "measure", "test"]), headings=2),
                    figures=[forest(rows[:60], alt="Each difference with its interval", reference=0.0)],
                ),
            ],
            study=self.study,
        )

    def latex(self) -> str:
        """A row a pair, with booktabs' rules."""
        header = [
            "A",
            "B",
            "$A$",
            "$B$",
            "$A-B$",
            f"{self.level * 100:.0f}\\% interval",
            "$p$",
            "$p$ (adj.)",
            "effect",
        ]
        lines = [
            [
                escape(row["system_a"]),
                escape(row["system_b"]),
                *(f"{row[name]:.3f}" for name in ("value_a", "value_b", "difference")),
                f"[{row['low']:.3f}, {row['high']:.3f}]",
                *(f"{row[name]:.3f}" for name in ("p", "p_adjusted", "effect")),
            ]
            for row in self.table.to_dict("records")
        ]
        return booktabs(header, lines, titled(self.study, self.how))


def _symbol(name: str) -> str:
    return measures[name].symbol


def _frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(rows)
