"""`covmis evaluate`: scores, comparisons, meta-evaluation, splits and leakage."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

import covmis_build as covmis
from covmis_build.cli.command import Commands
from covmis_build.cli.options import (
    ClustersOption,
    GoldArgument,
    IdOption,
    Judging,
    LevelOption,
    MeasuresOption,
    OutOption,
    SeedOption,
    SystemsArgument,
    TextOption,
    listed,
    three,
    unless_none,
)
from covmis_build.engine import Progress, silent
from covmis_build.errors import counted
from covmis_build.report.result import PlainResult, Result

if TYPE_CHECKING:
    from covmis_build.report.summary import Summary

app = Commands(help="Score and compare classifiers; make and check splits.", no_args_is_help=True)


@app.command()
def score(
    gold: GoldArgument,
    systems: SystemsArgument,
    options: Judging,
    measures: MeasuresOption = "",
    clusters: ClustersOption = "",
    probabilities: Annotated[
        str,
        Option(metavar="COLUMN", help="Inclusion probabilities (default: gold's p_claim · p_sample; none)."),
    ] = "",
    by: Annotated[
        str, Option(metavar="A,B", help="Also per value of these columns of gold, month or year.")
    ] = "",
    over: Annotated[
        str, Option(help="items (those with gold) or posts (all that were sampled from).")
    ] = "items",
    people: Annotated[
        str,
        Option(
            metavar="FILE",
            help="One row per person and item (default: a release's annotations.csv; or none).",
        ),
    ] = "",
    soft: Annotated[
        bool, Option("--soft", help="GOLD has one row per person and item; systems give shares.")
    ] = False,
    level: LevelOption = 0.95,
    out: OutOption = None,
) -> Result:
    """Score classifiers, with confidence intervals.

    With a released corpus as gold, intervals are over its claims, and its probabilities give weighted scores for all posts
    found. --over posts prints these only, for unique posts and for all posts. If the labels of each person are known, the
    table also has human performance and a ceiling.

    Example: covmis evaluate score data/release/corpus.csv mine=predictions.csv --by kind
    """
    from covmis_build.study.evaluate import published_scores, score_files, score_soft_files

    how: dict[str, Any] = {
        "measures": listed(measures) or None,
        "clusters": unless_none(clusters),
        "probabilities": unless_none(probabilities),
        "level": level,
    }
    read: dict[str, Any] | None = None
    if soft:
        options.refuse_with("--soft", by=by, people=people, over="" if over == "items" else over)
        scores: Any = score_soft_files(gold, systems, extra=options.extra, **options.scheme, **how)
    else:
        files, judging = options.read(gold, systems)
        scores = score_files(files, over, by=listed(by), people=people, **how, **judging)
        theirs = published_scores(Path(files.gold.file), set(scores.to_frame()["measure"]))
        read = options.how_read(files) | ({"published": theirs} if theirs else {})
    return _printed(scores, ["", *scores.summary], out, read=read)


@app.command()
def compare(
    gold: GoldArgument,
    systems: SystemsArgument,
    options: Judging,
    measure: Annotated[str, Option(help="The measure to compare in.")] = "macro_f1",
    test: Annotated[
        str,
        Option(help="interval (p inverts it), randomisation (exact: McNemar), tukey, or welch (over runs)."),
    ] = "interval",
    clusters: ClustersOption = "",
    replicates: Annotated[
        int, Option(min=1, max=1_000_000, help="Replicates of randomisation and tukey.")
    ] = 2000,
    exact: Annotated[
        bool,
        Option(
            "--exact", help="Every arrangement, none drawn; of accuracy by randomisation: McNemar's test."
        ),
    ] = False,
    level: LevelOption = 0.95,
    out: OutOption = None,
) -> Result:
    """Test differences between classifiers.

    Example: covmis evaluate compare gold.csv a=a.csv b=b.csv --measure macro_f1 --test tukey
    """
    files, how = options.read(gold, systems)
    comparison = covmis.compare(
        files.gold,
        files.systems,
        measure=measure,
        test=test,
        clusters=unless_none(clusters),
        replicates=replicates,
        exact=exact,
        level=level,
        title=files.title,
        **how,
    )
    return _printed(comparison, comparison.summary, out, read=options.how_read(files))


@app.command()
def meta(
    gold: GoldArgument,
    systems: SystemsArgument,
    options: Judging,
    measures: MeasuresOption = "",
    trials: Annotated[int, Option(min=2, help="Random halves, for consistency.")] = 1000,
    replicates: Annotated[int, Option(min=1, max=1_000_000, help="Replicates of the test.")] = 2000,
) -> Result:
    """Compare evaluation measures with each other.

    Example: covmis evaluate meta gold.csv a.csv b.csv c.csv --labels study.toml
    """
    files, how = options.read(gold, systems)
    result = covmis.meta(
        files.gold,
        files.systems,
        measures=listed(measures) or None,
        trials=trials,
        replicates=replicates,
        **how,
    )
    return _printed(result, ["", *result.summary], read=options.how_read(files))


@app.command()
def split(
    file: Annotated[str, Argument(metavar="FILE", help="The items: FILE or FILE:COLUMN of labels.")],
    out: Annotated[Path, Option(metavar="FILE.csv", help="Where the parts go: one row per item.")],
    scheme: Annotated[
        str, Option(help="random, grouped, chronological, stratified_chronological, or leave_one_out.")
    ] = "random",
    fractions: Annotated[str, Option(help="Train, dev and test.")] = "0.7,0.1,0.2",
    cuts: Annotated[str, Option(metavar="A,B", help="Where dev and test begin: positions or times.")] = "",
    folds: Annotated[int, Option(min=1, help="Folds of the random scheme; 1 for a single division.")] = 5,
    id_column: IdOption = "",
    time: Annotated[str, Option(metavar="COLUMN", help="Times (default: found, or from post ids).")] = "",
    group: Annotated[
        str,
        Option(
            metavar="A,B",
            help="Columns whose values stay in one part; day (default: the column group; none).",
        ),
    ] = "",
    similarity: Annotated[
        float | None,
        Option(min=0, max=0.999, help="Keep texts above this TF-IDF cosine in one part, too."),
    ] = None,
    text: TextOption = "text",
    seed: SeedOption = 0,
    progress: Progress = silent,
) -> Result:
    """Split data into train, dev and test.

    Items that share a value of a --group column (a claim, an author, a thread, an address, a day) come into one part;
    with --similarity, similar texts do, too. Chains of such items are one group. The command prints how large these
    groups are, and compares the parts as `leakage` does before it writes them.

    Example: covmis evaluate split corpus.csv --scheme grouped --group claim_id,author --similarity 0.8 --out parts.csv
    """
    from covmis_build.study.evaluate import split_file

    # a position is a small number, a time is not
    places = [int(part) if part.isdecimal() and len(part) < 9 else part for part in listed(cuts)]
    return split_file(
        file,
        out,
        id_column=id_column,
        scheme=scheme,
        fractions=three(fractions),
        cuts=places or None,
        folds=folds,
        seed=seed,
        time=time,
        group=listed(group),
        similarity=similarity,
        text=text,
        progress=progress,
    )


@app.command()
def leakage(
    file: Annotated[Path, Argument(metavar="FILE", help="Items with a text column (CSV, JSONL, Parquet).")],
    parts: Annotated[str, Option(metavar="FILE[:COLUMN]", help="The parts, as `split` writes them.")],
    text: TextOption = "text",
    edits: Annotated[int, Option(min=0, help="Levenshtein distance below which texts count as near.")] = 20,
    similarity: Annotated[float, Option(min=0, max=0.999, help="TF-IDF cosine above which they do.")] = 0.8,
    group: Annotated[
        str,
        Option(
            metavar="A,B",
            help="Other columns to compare; day (default: claim, author, thread, address and event as found; none).",
        ),
    ] = "",
    id_column: IdOption = "",
    progress: Progress = silent,
) -> Result:
    """Find overlap between train and test.

    Compares texts, and the values of other columns: which share of the test items has an author, a claim, a thread, an
    address or an event that train has, too.

    Example: covmis evaluate leakage corpus.csv --parts parts.csv --group claim_id,author
    """
    from covmis_build.study.evaluate import leakage_of_files

    shared, notes = leakage_of_files(
        file,
        parts,
        text=text,
        id_column=id_column,
        edits=edits,
        similarity=similarity,
        group=listed(group),
        progress=progress,
    )
    keys: Summary = [] if shared.keys is None else ["", shared.keys, ""]
    return PlainResult(
        shared.to_dict(), [shared.to_frame(), *keys, *(shared.findings or ["Nothing is shared."])], notes
    )


def _printed(
    results: Any, parts: Iterable[Any], files: list[Path] | None = None, *, read: dict[str, Any] | None
) -> PlainResult:
    """Write the results to files, and print them with what was read and joined."""
    for file in files or ():
        results.write(file)
    ends = [f"Written: {file}" for file in files or ()]
    if read:
        ends = [*([read["published"]] if "published" in read else []), *ends]
        places = dict.fromkeys(f"{column['file']}:{column['column']}" for column in read["columns"])
        joined = " and ".join(read["joined_by"])
        ends.insert(
            0, f"Labels read from {', '.join(places)}. {counted(read['rows'], 'rows')} joined by {joined}."
        )
    return PlainResult(results.to_dict() | (read or {}), [*parts, *ends])
