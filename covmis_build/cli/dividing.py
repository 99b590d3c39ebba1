"""`covmis evaluate split` and `leakage`: parts of items, and what they share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from covmis_build.cli.console import JsonOption, emit_json, grid, say, warn
from covmis_build.cli.judging import CLAIMS, IdOption, SeedOption, cuts_of, read, read_parts, three
from covmis_build.errors import InputError


def split(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The items: FILE or FILE:COLUMN of labels.")],
    out: Annotated[Path, typer.Option(metavar="FILE.csv", help="Where the parts go: one row per item.")],
    scheme: Annotated[
        str, typer.Option(help="random, chronological, stratified_chronological, or leave_one_out.")
    ] = "random",
    fractions: Annotated[str, typer.Option(help="Train, dev and test.")] = "0.7,0.1,0.2",
    cuts: Annotated[
        str, typer.Option(metavar="A,B", help="Where dev and test begin: positions or times.")
    ] = "",
    folds: Annotated[
        int, typer.Option(min=1, help="Folds of the random scheme; 1 for a single division.")
    ] = 5,
    id_column: IdOption = "",
    time: Annotated[
        str, typer.Option(metavar="COLUMN", help="Times (default: found, or from post ids).")
    ] = "",
    group: Annotated[str, typer.Option(metavar="COLUMN", help="What leave_one_out leaves out.")] = "",
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Divide items into train, dev and test: at random, in time, or by claim.

    Example: covmis evaluate split corpus.csv --scheme chronological --out parts.csv
    """
    import pandas as pd

    from covmis_build import storage
    from covmis_build.evaluation import splits
    from covmis_build.evaluation.splitting import identities

    _, data = read(file, id_column)
    parts = splits(
        data.table,
        scheme=scheme,  # type: ignore[arg-type]
        fractions=three(fractions),
        cuts=cuts_of(cuts),
        folds=folds,
        seed=seed,
        label=data.label_column,
        time=time,
        group=group,
        id=id_column,
    )
    table = pd.DataFrame(parts)
    ids = identities(data.table, id_column)
    header = [id_column or data.id_column or "row", *map(str, table.columns)]
    storage.write_bytes(
        out, storage.csv_bytes(header, ([one, *row] for one, row in zip(ids, table.to_numpy(), strict=True)))
    )
    sizes = [
        {
            "division": str(name),
            **{part: int((table[name] == part).sum()) for part in ("train", "dev", "test")},
        }
        for name in table.columns
    ]
    if as_json:
        emit_json({"file": str(out), "divisions": sizes})
        return
    grid([list(one.values()) for one in sizes[:20]], ["division", "train", "dev", "test"])
    say(f"Written: {out}")


def leakage(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Items with a text column (CSV, JSONL, Parquet).")
    ],
    parts: Annotated[str, typer.Option(metavar="FILE[:COLUMN]", help="The parts, as `split` writes them.")],
    text: Annotated[str, typer.Option(metavar="COLUMN", help="The column of texts.")] = "text",
    edits: Annotated[
        int, typer.Option(min=0, help="Levenshtein distance below which texts count as near.")
    ] = 20,
    similarity: Annotated[
        float, typer.Option(min=0, max=0.999, help="TF-IDF cosine above which they do.")
    ] = 0.8,
    id_column: IdOption = "",
    as_json: JsonOption = False,
) -> None:
    """Say what the test part shares with train and dev: texts, near-copies, claims, time, missing classes.

    Example: covmis evaluate leakage corpus.csv --parts parts.csv
    """
    from covmis_build.evaluation import leakage as found_in
    from covmis_build.evaluation.reading import common_id
    from covmis_build.evaluation.splitting import times

    path, _, column = (
        parts.rpartition(":") if ":" in parts and not Path(parts).exists() else (parts, "", "part")
    )
    _, items = read(str(file), id_column)
    divided = read_parts(Path(path), column)
    by = common_id(items, divided) if divided.id_column else ""
    part = list(divided.labels())
    if not by and items.id_column:
        raise InputError(
            f"has no ids that {file.name} has ({items.id_column})",
            file=divided.file,
            remedy="Make the parts of these items with `covmis evaluate split`",
        )
    if len(part) != len(items.table) and not by:
        raise InputError(
            f"has {len(part)} rows, {file.name} has {len(items.table)}",
            file=divided.file,
            remedy="Divide the same items",
        )
    if by:
        known = dict(divided.labels(by).items())
        lacking = [one for one in items.labels(by).index if one not in known]
        if lacking:
            raise InputError(
                f"lacks the part of {lacking[0]}", file=divided.file, remedy="Divide the same items"
            )
        part = [known[one] for one in items.labels(by).index]
    owners = next((name for name in CLAIMS if name in items.table.columns), "")
    try:
        when: list[int] | None = times(items.table)
    except InputError as error:
        warn(f"Times are not compared: {error}")
        when = None
    found = found_in(
        items.column(text),
        part,
        edits=edits,
        similarity=similarity,
        claims=items.column(owners) if owners else None,
        times=when,
        labels=list(items.labels()),
    )
    if as_json:
        emit_json(found.to_dict())
        return
    grid(found.summary.itertuples(index=False, name=None), list(found.summary.columns))
    for line in found.findings or ["Nothing is shared."]:
        say(line)
