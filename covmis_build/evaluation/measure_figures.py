"""What pages show of measures: a forest plot of each, and the list of what they are and whose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.evaluation.catalogue import measures
from covmis_build.evaluation.rendering import known

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd
    from markupsafe import Markup

MOST = 4
"""So many measures are drawn; the tables have all."""


def forests(table: pd.DataFrame) -> list[Markup]:
    """Each of the first measures: its value for every system with its interval, the best first, on one scale."""
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
    """What these measures are called, which way is better, and where they are from."""
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
