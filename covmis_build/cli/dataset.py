"""`covmis dataset …`: the corpora of others, listed, fetched, read, mapped and mixed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

import covmis_build as covmis
from covmis_build.cli.command import Commands
from covmis_build.cli.console import say
from covmis_build.cli.options import pairs_of
from covmis_build.errors import InputError, counted
from covmis_build.report.result import PlainResult, Result
from covmis_build.report.summary import Listing

app = Commands(no_args_is_help=True, help="Get and convert published stance corpora.")

HomeOption = Annotated[
    Path | None,
    Option("--home", metavar="DIR", help="Folder of the corpora (default: COVMIS_DATA_HOME, or ./corpora)."),
]
NameArgument = Annotated[str, Argument(metavar="NAME", help="As `covmis dataset list` prints it.")]


@app.command("list")
def list_(home: HomeOption = None) -> Result:
    """List the corpora that covmis can read.

    Example: covmis dataset list --home ~/corpora
    """
    folder = covmis.datasets.corpora_folder(home)
    rows = covmis.datasets.overview(folder)
    shown = [(row["name"], row["layout"] or "", row["scheme"], row["licence"]) for row in rows]
    listing = Listing(("name", "here as", "labels", "licence"), shown)
    more = "`covmis dataset show NAME` has terms, source and traps; `covmis dataset get NAME` fetches it or says how."
    return PlainResult({"home": str(folder), "datasets": rows}, [listing, "", more])


@app.command()
def show(name: NameArgument, home: HomeOption = None) -> Result:
    """Show licence, source, files and labels of a corpus.

    Example: covmis dataset show covidlies-v0.2
    """
    return covmis.datasets.described(name, covmis.datasets.corpora_folder(home))


@app.command()
def get(
    name: NameArgument,
    accept: Annotated[bool, Option("--accept", help="You have read and accept licence and terms.")] = False,
    home: HomeOption = None,
    as_json: bool = False,
) -> Result:
    """Download a corpus, or explain how to get it.

    Licence and terms are shown first; nothing is fetched without --accept.

    Example: covmis dataset get covidlies-v0.2 --accept
    """
    dataset = covmis.datasets.find(name, covmis.datasets.corpora_folder(home))
    if not as_json:
        say(*dataset.sentences, "")
    if not accept and dataset.fetchable:
        raise InputError(
            f"licence ({dataset.licence}) and terms of {dataset.title} are not accepted",
            remedy=f"Read them with `covmis dataset show {name}`, then add --accept",
        )
    paths = covmis.datasets.fetch(name, covmis.datasets.corpora_folder(home))
    words = [f"Fetched {path}" for path in paths] or ["Everything is here already."]
    return PlainResult({"name": name, "files": [str(path) for path in paths]}, words)


@app.command()
def convert(
    names: Annotated[list[str], Argument(metavar="NAME...", help="One corpus, or several to mix.")],
    out: Annotated[Path, Option("--out", metavar="FILE", help=".csv, .jsonl or .parquet.")],
    to: Annotated[str, Option(metavar="SCHEME", help="Map the labels, e.g. to covmis.")] = "",
    own: Annotated[
        list[str] | None,
        Option("--map", metavar="OLD=NEW", help="Your own label map; repeatable, one per label."),
    ] = None,
    expected: Annotated[
        list[str] | None,
        Option(metavar="NAME=N", help="Sample about N rows of each class except --keep; repeatable."),
    ] = None,
    keep: Annotated[str, Option(help="The class that keeps all rows.")] = "against",
    drop_denied: Annotated[
        bool, Option("--drop-denied", help="RumourEval: omit replies to posts that deny the rumour.")
    ] = False,
    split: Annotated[str, Option(metavar="A,B", help="Only these splits, e.g. train,dev.")] = "",
    covid_twitter: Annotated[
        bool, Option("--covid-twitter", help="Prepare texts as for COVID-Twitter-BERT.")
    ] = False,
    seed: Annotated[int, Option(help="The seed of undersampling.")] = 20220405,
    layout: Annotated[str, Option(help="Read this layout (default: the first that is complete).")] = "",
    unchecked: Annotated[bool, Option("--unchecked", help="Read files whose checksum differs.")] = False,
    home: HomeOption = None,
) -> Result:
    """Convert corpora to one format.

    Several corpora become a mixture; the column `part` has the origin of each row. A label map that makes no sense is an
    error. COVMis-Stance's training data, without MNLI:

    Example: covmis dataset convert rumoureval-2019 covidlies-v0.2 --to covmis --drop-denied --expected rumoureval-2019=550 --expected covidlies-v0.2=400 --out mixture.csv
    """
    mixed = covmis.datasets.convert(
        names,
        covmis.datasets.corpora_folder(home),
        labels=pairs_of("--map", own, "OLD=NEW") or to,
        expected=pairs_of("--expected", expected, f"NAME=N, like {names[0]}=400", float),
        keep=keep,
        drop_denied=drop_denied,
        split=split.split(",") if split else (),
        covid_twitter=covid_twitter,
        seed=seed,
        layout=layout,
        check=not unchecked,
    )
    covmis.datasets.write(mixed, out)
    shared = mixed.attrs["shared"]
    counts = mixed.groupby(["part", "label"], sort=False).size().reset_index(name="rows")
    also = f"; {counted(shared, 'posts')} in more than one corpus" if shared else ""
    return PlainResult(
        {"file": str(out), "rows": len(mixed), "shared": shared, "counts": counts},
        [counts.rename(columns={"part": "corpus"}), "", f"{counted(len(mixed), 'rows')} in {out}{also}"],
    )
