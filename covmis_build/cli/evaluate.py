"""`covmis evaluate`: scores, comparisons, meta-evaluation, splits, leakage, and the papers' figures recomputed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from covmis_build.cli.console import JsonOption, StudyOption, emit_json, grid, say
from covmis_build.cli.dividing import leakage, split
from covmis_build.cli.judging import (
    CLAIMS,
    ClustersOption,
    ExtraOption,
    GoldArgument,
    IdOption,
    Judgement,
    LabelsOption,
    MissingOption,
    OrderOption,
    OutOption,
    PolesOption,
    PositionOption,
    ReplicatesOption,
    SeedOption,
    SystemsArgument,
    UndefinedOption,
    WeightsOption,
    weights_of,
    words,
)
from covmis_build.errors import InputError

app = typer.Typer(
    help="Score systems, compare them honestly, and recompute the papers' tables.", no_args_is_help=True
)


@app.command()
def score(
    gold: GoldArgument,
    systems: SystemsArgument,
    labels: LabelsOption = "",
    measures: Annotated[
        str, typer.Option(metavar="A,B", help="Measures (default: all whose needs are met).")
    ] = "",
    order: OrderOption = "",
    poles: PolesOption = "",
    class_weights: WeightsOption = "",
    undefined: UndefinedOption = "zero",
    missing: MissingOption = "refuse",
    extra: ExtraOption = "refuse",
    id_column: IdOption = "",
    by_position: PositionOption = False,
    clusters: ClustersOption = "",
    probabilities: Annotated[
        str,
        typer.Option(
            metavar="COLUMN",
            help="Inclusion probabilities (default: p_claim · p_sample if gold has them; none).",
        ),
    ] = "",
    by: Annotated[
        str,
        typer.Option(
            metavar="A,B", help="Also by these columns of gold; month and year come from created_at."
        ),
    ] = "",
    replicates: ReplicatesOption = 2000,
    level: Annotated[float, typer.Option(min=0.5, max=0.999, help="The intervals' level.")] = 0.95,
    seed: SeedOption = 0,
    out: OutOption = None,
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Score systems against gold: systems by measures, with intervals, per class and per group.

    The released corpus serves as gold as it is: its claims are resampled together, and its probabilities give the
    design-weighted values beside the unweighted ones.

    Example: covmis evaluate score data/release/corpus.csv mine=predictions.csv --by kind
    """
    from covmis_build.evaluation import class_scores, confusions
    from covmis_build.evaluation import score as scored
    from covmis_build.evaluation.rendering import write
    from covmis_build.evaluation.results import Results

    data = Judgement(gold, systems, id_column, labels, order, poles, study, by_position=by_position)
    chances = data.chances(probabilities)
    owners = data.optional(clusters, CLAIMS)
    table = scored(
        data.gold,
        data.systems,
        labels=data.labels,
        measures=words(measures) or None,
        probabilities=chances,
        clusters=owners,
        order=data.order,
        poles=data.poles,
        class_weights=weights_of(class_weights),
        undefined=undefined,  # type: ignore[arg-type]
        missing=missing,  # type: ignore[arg-type]
        extra=extra,  # type: ignore[arg-type]
        by={name: data.group(name) for name in words(by)},
        replicates=replicates,
        level=level,
        seed=seed,
    )
    results = Results(
        scores=table,
        classes=class_scores(data.gold, data.systems, labels=data.labels, missing=missing, extra=extra),  # type: ignore[arg-type]
        confusions=confusions(data.gold, data.systems, labels=data.labels, missing=missing, extra=extra),  # type: ignore[arg-type]
        labels=tuple(data.labels),
        level=level,
        replicates=replicates,
        clusters=len(set(owners)) if owners is not None else 0,
        undefined=undefined,
        study=data.title,
    )
    for file in out or []:
        write(file, results)
    if as_json:
        emit_json(results.to_dict())
        return
    _print_scores(results)
    _written(out)


@app.command()
def compare(
    gold: GoldArgument,
    systems: SystemsArgument,
    measure: Annotated[str, typer.Option(help="The measure to compare in.")] = "macro_f1",
    test: Annotated[
        str, typer.Option(help="bootstrap, randomisation, tukey, or welch (over runs).")
    ] = "bootstrap",
    labels: LabelsOption = "",
    order: OrderOption = "",
    poles: PolesOption = "",
    class_weights: WeightsOption = "",
    undefined: UndefinedOption = "zero",
    missing: MissingOption = "refuse",
    extra: ExtraOption = "refuse",
    id_column: IdOption = "",
    by_position: PositionOption = False,
    clusters: ClustersOption = "",
    replicates: Annotated[int, typer.Option(min=1, max=1_000_000, help="Replicates.")] = 2000,
    interval: Annotated[str, typer.Option(help="percentile or bca.")] = "percentile",
    level: Annotated[float, typer.Option(min=0.5, max=0.999, help="The intervals' level.")] = 0.95,
    seed: SeedOption = 0,
    out: OutOption = None,
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare every pair of systems: difference, interval, p-value, effect size, and a careful sentence.

    Example: covmis evaluate compare gold.csv a=a.csv b=b.csv --measure macro_f1 --test tukey
    """
    from covmis_build.evaluation import compare as compared
    from covmis_build.evaluation.comparisons import matrix
    from covmis_build.evaluation.rendering import write
    from covmis_build.evaluation.results import Comparison

    if interval not in {"percentile", "bca"}:
        raise InputError(f"--interval {interval}", remedy="Allowed: percentile, bca")
    data = Judgement(gold, systems, id_column, labels, order, poles, study, by_position=by_position)
    table = compared(
        data.gold,
        data.systems,
        measure=measure,
        labels=data.labels,
        test=test,  # type: ignore[arg-type]
        clusters=data.optional(clusters, CLAIMS),
        replicates=replicates,
        seed=seed,
        order=data.order,
        poles=data.poles,
        class_weights=weights_of(class_weights),
        undefined=undefined,  # type: ignore[arg-type]
        missing=missing,  # type: ignore[arg-type]
        extra=extra,  # type: ignore[arg-type]
        level=level,
        interval=interval,  # type: ignore[arg-type]
    )
    results = Comparison(table, level, data.title)
    for file in out or []:
        write(file, results)
    if as_json:
        emit_json(results.to_dict())
        return
    if len(data.systems) > 2:
        square = matrix(table)
        say(f"p-values, {'controlled over all pairs' if test == 'tukey' else 'adjusted by Holm'}:")
        grid([[name, *square.loc[name]] for name in square.index], ["", *square.columns])
    for line in table["sentence"]:
        say(line)
    _written(out)


@app.command()
def meta(
    gold: GoldArgument,
    systems: SystemsArgument,
    labels: LabelsOption = "",
    measures: Annotated[
        str, typer.Option(metavar="A,B", help="Measures (default: all whose needs are met).")
    ] = "",
    order: OrderOption = "",
    poles: PolesOption = "",
    class_weights: WeightsOption = "",
    undefined: UndefinedOption = "zero",
    missing: MissingOption = "refuse",
    extra: ExtraOption = "refuse",
    id_column: IdOption = "",
    by_position: PositionOption = False,
    trials: Annotated[int, typer.Option(min=2, help="Random halves, for consistency.")] = 1000,
    replicates: Annotated[int, typer.Option(min=1, max=1_000_000, help="Replicates of the test.")] = 2000,
    seed: SeedOption = 0,
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Evaluate the measures themselves: similarity, consistency, and whether they tell the classes apart.

    Example: covmis evaluate meta gold.csv a.csv b.csv c.csv --order favor,neither,against
    """
    from covmis_build.evaluation import meta as evaluated

    data = Judgement(gold, systems, id_column, labels, order, poles, study, by_position=by_position)
    found = evaluated(
        data.gold,
        data.systems,
        labels=data.labels,
        measures=words(measures) or None,
        order=data.order,
        poles=data.poles,
        class_weights=weights_of(class_weights),
        undefined=undefined,  # type: ignore[arg-type]
        missing=missing,  # type: ignore[arg-type]
        extra=extra,  # type: ignore[arg-type]
        trials=trials,
        replicates=replicates,
        seed=seed,
    )
    if as_json:
        emit_json(found.to_dict())
        return
    for title, table in (
        (f"Similarity: tau-b of the rankings of {found.systems} systems", found.similarity),
        (f"Consistency: mean tau-b over {trials:,} random halves", found.consistency),
        ("Differences in consistency (randomised Tukey HSD)", found.tests),
        (
            "Class distinguishing: tau-b with the ranking after merging two classes (low = it tells)",
            found.distinguishing,
        ),
    ):
        say("", title)
        grid(table.itertuples(index=False, name=None), list(table.columns))


app.command()(split)
app.command()(leakage)


@app.command()
def reproduce(
    which: Annotated[
        str, typer.Argument(metavar="[PAPER|TABLE]", help='Such as mu2023, "Table 12", or "mu2023 Table 3".')
    ] = "",
    out: Annotated[
        list[Path] | None,
        typer.Option("--out", metavar="FILE", help="Write .html, .csv or .json; repeatable."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="List the matches too.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Recompute published figures: match, mismatch with its reason, or not computable with its reason.

    Figures that need released files are looked for in the folder that COVMIS_DATA_HOME names.

    Example: covmis evaluate reproduce "scarton2020 Table 2" --all
    """
    from covmis_build.evaluation import reproduce as recomputed
    from covmis_build.evaluation.rendering import write
    from covmis_build.evaluation.reproduction import Reproduction

    results = Reproduction(recomputed(which))
    for file in out or []:
        write(file, results)
    if as_json:
        emit_json(results.to_dict())
        return
    shown = results.table if everything else results.table[results.table["status"] != "match"]
    for row in shown.to_dict("records"):
        computed = "" if row["computed"] is None else f", computed {row['computed']}"
        reason = f": {row['reason']}" if row["reason"] else ""
        say(
            f"{row['status']}: {row['paper']}, {row['where']}: published {row['published']}{computed}{reason}"
        )
    say("")
    grid(results.summary().itertuples(index=False, name=None), list(results.summary().columns))
    _written(out)


def _print_scores(results: Any) -> None:
    for title, frame in results.tables():
        say("", title)
        grid(frame.itertuples(index=False, name=None), list(frame.columns))


def _written(files: list[Path] | None) -> None:
    for file in files or []:
        say(f"Written: {file}")
