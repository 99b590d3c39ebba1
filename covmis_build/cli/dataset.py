"""`covmis dataset …`: the corpora of others, listed, fetched, read, mapped and mixed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from covmis_build.cli.console import JsonOption, detail, emit_json, grid, say
from covmis_build.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from covmis_build.datasets import Dataset

app = typer.Typer(
    no_args_is_help=True, help="The field's stance and rumour corpora: list, show, get, convert."
)

HomeOption = Annotated[
    Path | None,
    typer.Option(
        "--home", metavar="DIR", help="Where corpora lie (default: COVMIS_DATA_HOME, else ./corpora)."
    ),
]
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="As `covmis dataset list` prints it.")]


def _home(home: Path | None) -> Path:
    return home or Path(os.environ.get("COVMIS_DATA_HOME") or "corpora")


@app.command("list")
def list_(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """List the corpora that covmis knows: labels, licence, and whether they are here.

    Example: covmis dataset list --home ~/corpora
    """
    from covmis_build.datasets import DATASETS
    from covmis_build.datasets.labels import SCHEMES
    from covmis_build.datasets.reading import complete_layout

    rows = []
    for one in DATASETS:
        layout = complete_layout(one, _home(home))
        rows.append(
            {
                "name": one.name, "title": one.title, "scheme": one.scheme, "labels": list(SCHEMES[one.scheme]),
                "licence": one.licence, "here": layout is not None, "layout": layout.name if layout else None,
            }
        )  # fmt: skip
    if as_json:
        emit_json({"home": str(_home(home)), "datasets": rows})
        return
    shown = [(row["name"], row["layout"] or "", row["scheme"], row["licence"]) for row in rows]
    grid(shown, ("name", "here as", "labels", "licence"))
    say(
        "",
        "`covmis dataset show NAME` has terms, source and traps; `covmis dataset get NAME` fetches it or says how.",
    )


@app.command()
def show(name: NameArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Show what a corpus is: licence, terms, source, files, labels, traps; its counts if it is here.

    Example: covmis dataset show covidlies-v0.2
    """
    from covmis_build.datasets import find, read
    from covmis_build.datasets.reading import complete_layout

    one = find(name)
    here = complete_layout(one, _home(home))
    counts = read(name, _home(home))["label"].value_counts().to_dict() if here else None
    if as_json:
        emit_json({**_described(one), "here": here.name if here else None, "counts": counts})
        return
    say(*_words(one))
    say("Files, below " + str(_home(home) / one.folder) + ":")
    for layout in one.layouts:
        files = ", ".join(file.path for file in layout.files[:4]) + (" …" if len(layout.files) > 4 else "")
        say(f"  {layout.name}{' (here)' if layout is here else ''}: {files}")
    if counts is not None:
        say("Rows: " + ", ".join(f"{count:,} {label}" for label, count in counts.items()))
    else:
        say("", f"Not here. {one.instructions}")


def _described(one: Dataset) -> dict[str, Any]:
    from covmis_build.datasets.labels import SCHEMES

    return {
        "name": one.name, "title": one.title, "scheme": one.scheme, "labels": list(SCHEMES[one.scheme]),
        "licence": one.licence, "terms": one.terms, "source": one.source, "instructions": one.instructions,
        "citation": one.citation, "notes": list(one.notes), "folder": one.folder,
        "layouts": [
            {
                "name": layout.name, "has_text": layout.has_text,
                "files": [{"path": file.path, "sha256": file.sha256, "url": file.url} for file in layout.files],
            }
            for layout in one.layouts
        ],
    }  # fmt: skip


def _words(one: Dataset) -> list[str]:
    return [
        one.title, "", f"Licence: {one.licence}.", f"Terms: {one.terms}", f"Source: {one.source}", f"Cite: {one.citation}",
        *(f"Note: {note}" for note in one.notes),
    ]  # fmt: skip


@app.command()
def get(
    name: NameArgument,
    accept: Annotated[
        bool, typer.Option("--accept", help="You have read licence and terms, and accept them.")
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fetch a corpus whose licence allows it, with its checksums; for the others, say how to get it.

    Licence and terms are shown first; nothing is fetched without --accept.

    Example: covmis dataset get covidlies-v0.2 --accept
    """
    from covmis_build.datasets import fetch, find

    one = find(name)
    if not as_json:
        say(*_words(one), "")
    if not accept and any(file.url for layout in one.layouts for file in layout.files):
        raise InputError(
            f"licence ({one.licence}) and terms of {one.title} are not accepted",
            remedy=f"Read them with `covmis dataset show {name}`, then add --accept",
        )
    made = fetch(name, _home(home))
    if as_json:
        emit_json({"name": name, "files": [str(path) for path in made]})
        return
    say(*(f"Fetched {path}" for path in made) if made else ("Everything is here already.",))


@app.command()
def convert(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="One corpus, or several to mix.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help=".csv, .jsonl or .parquet.")],
    to: Annotated[str, typer.Option(metavar="SCHEME", help="Map the labels, e.g. to covmis.")] = "",
    own: Annotated[
        list[str] | None,
        typer.Option(
            "--map", metavar="OLD=NEW", help="Map labels as you define; repeatable, one for every label."
        ),
    ] = None,
    expected: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=N", help="Undersample: N rows expected of each class but --keep; repeatable."
        ),
    ] = None,
    keep: Annotated[str, typer.Option(help="The class that undersampling leaves whole.")] = "against",
    drop_denied: Annotated[
        bool,
        typer.Option("--drop-denied", help="RumourEval: without replies to sources that deny the rumour."),
    ] = False,
    split: Annotated[str, typer.Option(metavar="A,B", help="Only these splits, e.g. train,dev.")] = "",
    covid_twitter: Annotated[
        bool, typer.Option("--covid-twitter", help="Prepare texts as for COVID-Twitter-BERT.")
    ] = False,
    seed: Annotated[int, typer.Option(help="The seed of undersampling.")] = 20220405,
    layout: Annotated[str, typer.Option(help="Read this layout (default: the first that is complete).")] = "",
    unchecked: Annotated[
        bool, typer.Option("--unchecked", help="Read files whose checksum differs.")
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write corpora in one shape: dataset, id, target_id, target, text, label, time, split, group, part.

    Labels are mapped where a map makes sense, and refused where it does not. Several corpora become a mixture in
    which `part` says where a row is from. COVMis-Stance's training data, without MNLI:

    Example: covmis dataset convert rumoureval-2019 covidlies-v0.2 --to covmis --drop-denied --expected rumoureval-2019=550 --expected covidlies-v0.2=400 --out mixture.csv
    """
    from covmis_build import datasets

    wanted = dict(_pair(one, names) for one in expected or ())
    parts = {}
    for name in names:
        frame = datasets.read(name, _home(home), layout=layout, check=not unchecked)
        detail(f"{name}: {len(frame):,} rows")
        if split:
            frame = frame[frame["split"].isin(split.split(","))].reset_index(drop=True)
        if drop_denied and datasets.find(name).scheme == "sdqc":
            frame = datasets.without_replies_to_denying_sources(frame)
        if to or own:
            frame = datasets.map_labels(frame, _own_map(own) if own else to)
        if name in wanted:
            frame = datasets.undersample(frame, expected=wanted[name], seed=seed, keep=(keep,))
        if covid_twitter:
            frame = frame.assign(text=[datasets.preprocess(text) for text in frame["text"]])
        parts[name] = frame
    labels = list(dict.fromkeys(label for frame in parts.values() for label in frame["label"]))
    _check_one_scheme(names, mapped=bool(to or own))
    mixed = datasets.combine(parts, labels)
    _write(mixed, out)
    counts = mixed.groupby(["part", "label"], sort=False).size().reset_index(name="rows")
    if as_json:
        emit_json({"file": str(out), "rows": len(mixed), "shared": mixed.attrs["shared"], "counts": counts})
        return
    grid(counts.itertuples(index=False), ("corpus", "label", "rows"))
    say("", f"{len(mixed):,} rows in {out}" + _shared(mixed.attrs["shared"]))


def _shared(count: int) -> str:
    return f"; {count:,} posts stand in more than one corpus" if count else ""


def _pair(text: str, names: list[str]) -> tuple[str, float]:
    name, _, number = text.partition("=")
    try:
        value = float(number)
    except ValueError:
        raise InputError(f"--expected {text}: write NAME=N, like {names[0]}=400") from None
    if name not in names:
        raise InputError(f"--expected {text}: {name} is not among the corpora", remedy=", ".join(names))
    return name, value


def _own_map(given: list[str]) -> dict[str, str]:
    pairs = [one.partition("=") for one in given]
    for old, equals, new in pairs:
        if not (old and equals and new):
            raise InputError(f"--map {old}{equals}{new}: write OLD=NEW")
    return {old: new for old, _, new in pairs}


def _check_one_scheme(names: list[str], *, mapped: bool) -> None:
    """Corpora of different schemes are mixed only through a map."""
    from covmis_build.datasets import find

    schemes = {find(name).scheme for name in names}
    if len(schemes) > 1 and not mapped:
        raise InputError(
            f"these corpora have different labels: {', '.join(sorted(schemes))}",
            remedy="Map them with --to or --map",
        )


def _write(frame: pd.DataFrame, path: Path) -> None:
    from covmis_build import storage, tables

    if path.suffix == ".csv":
        storage.write_bytes(path, storage.csv_bytes(list(frame.columns), frame.itertuples(index=False)))
    elif path.suffix == ".jsonl":
        import json

        lines = (json.dumps(row, ensure_ascii=True) + "\n" for row in frame.to_dict("records"))
        storage.write_text(path, "".join(lines))
    elif path.suffix == ".parquet":
        import pyarrow.parquet as pq

        with storage.replacing(path) as beside:
            pq.write_table(tables.arrow(frame), beside, compression="zstd")
    else:
        raise InputError("is no format to write", file=path, remedy="Use .csv, .jsonl or .parquet")
