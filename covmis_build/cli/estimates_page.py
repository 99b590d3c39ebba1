"""What `covmis estimate --out` writes: the numbers as JSON or CSV, or a page with a forest plot of each label."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import pandas as pd

    from covmis_build.study import Study


FORMATS = (".html", ".csv", ".json")


def check_formats(paths: Iterable[Path]) -> None:
    """Refuse a name before anything is computed, printed or written."""
    for path in paths:
        if path.suffix not in FORMATS:
            raise InputError("is not a format of estimates", file=path, remedy="Use .html, .csv or .json")


def write_estimates(path: Path, result: dict[str, Any], frame: pd.DataFrame, home: Study | None) -> None:
    """One file of the result, in the format of its name, which is one of FORMATS."""
    import json

    import pandas as pd

    from covmis_build import storage
    from covmis_build.cli.console import _plain

    rows = pd.DataFrame(result["estimates"] if "estimates" in result else result["measures"])
    if path.suffix == ".json":
        storage.write_text(path, json.dumps(_plain(result), ensure_ascii=False, indent=1) + "\n")
    elif path.suffix == ".csv":
        storage.write_bytes(
            path, storage.csv_bytes(list(rows.columns), rows.itertuples(index=False, name=None))
        )
    else:
        storage.write_text(path, _page(result, rows, frame, home))


def _page(result: dict[str, Any], rows: pd.DataFrame, frame: pd.DataFrame, home: Study | None) -> str:
    """The estimates as a page: methods, a forest plot of each label, and the tables."""
    from covmis_build.report.figures import forest
    from covmis_build.report.page import Section, page, table_html

    title = home.title if home is not None else ""
    if "measures" in result:
        names = [str(one) for one in rows["measure"]]
        drawn = forest(_points(names, rows, "value"), alt="Each measure with its interval")
        return page(
            "Measures over all posts found", [Section("Measures", "", table_html(rows), [drawn])], study=title
        )
    claims = dict(zip(frame["claim_id"], frame["claim"], strict=True))
    sections = [Section("In words", " ".join(result["sentences"]))]
    for label in rows["label"].unique():
        chosen = rows[(rows["label"] == label) & (rows["estimand"] == "messages")]
        names = [_row_name(row, claims) for row in chosen.to_dict("records")]
        alt = (
            f"The estimated share of {label} with its interval, in the pool, the average claim and each part"
        )
        drawn = forest(
            _points(names, chosen, "share"), alt=alt, unit="share of distinct messages", limits=(0.0, 1.0)
        )
        sections.append(Section(f"Share of {label}", figures=[drawn]))
    heads = {name: name.replace("_", " ") for name in rows.columns}
    sections.append(Section("All estimates", body=table_html(rows, names=heads)))
    if len(result["audit"]):
        sections.append(Section("The audit of automatic labels", body=table_html(result["audit"])))
    return page(
        "Estimates", sections, study=title, lead="What the labelled sample says about all posts found."
    )


def _points(
    names: list[str], rows: pd.DataFrame, value: str
) -> list[tuple[str, float | None, float | None, float | None]]:
    """Rows of a forest plot; what is undefined is left empty."""
    whole = rows[[value, "low", "high"]].astype(float)
    columns = [[None if math.isnan(one) else one for one in whole[name]] for name in whole.columns]
    return list(zip(names, *columns, strict=True))


def _row_name(row: dict[Any, Any], claims: dict[str, Any]) -> str:
    if row["scope"] == "claim":
        return str(claims.get(row["name"]) or row["name"])
    return str(row["name"] or row["scope"])
