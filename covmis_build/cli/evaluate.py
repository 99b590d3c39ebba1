"""`covmis evaluate`: scores, comparisons, meta-evaluation, splits, leakage, and the papers' figures recomputed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from covmis_build.cli.console import JsonOption, StudyOption, emit_json, grid, say, warn
from covmis_build.errors import CovmisError, InputError

if TYPE_CHECKING:
    import pandas as pd

    from covmis_build.evaluation.reading import Labelled

app = typer.Typer(
    help="Score systems, compare them honestly, and recompute the papers' tables.", no_args_is_help=True
)

GoldArgument = Annotated[str, typer.Argument(metavar="GOLD", help="Gold labels: FILE or FILE:COLUMN.")]
SystemsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="SYSTEM...",
        help="Predictions: [NAME=]FILE[:COLUMN]. The same name several times: runs (seeds) of one system.",
    ),
]
LabelsOption = Annotated[
    str, typer.Option(metavar="A,B,C", help="The label set (default: the study's, or all labels of gold).")
]
OrderOption = Annotated[str, typer.Option(metavar="A,B,C", help="The labels in order, for ordinal measures.")]
PolesOption = Annotated[str, typer.Option(metavar="A,B", help="The two poles, for F_avg.")]
WeightsOption = Annotated[
    str, typer.Option(metavar="A=0.4,B=…", help="Class weights with the sum 1, for wAUC, wF1, wF2.")
]
UndefinedOption = Annotated[str, typer.Option(help="An undefined ratio is zero, or skip, or nan.")]
MissingOption = Annotated[
    str, typer.Option(help="Missing predictions: refuse, or count as wrong in every measure.")
]
IdOption = Annotated[str, typer.Option("--id", metavar="COLUMN", help="The column of ids (default: found).")]
ClustersOption = Annotated[
    str,
    typer.Option(metavar="COLUMN", help="Resample by this column (default: claim_id if gold has it; none)."),
]
ReplicatesOption = Annotated[int, typer.Option(min=0, help="Bootstrap replicates; 0 for no intervals.")]
SeedOption = Annotated[int, typer.Option(help="The seed of all chance.")]
OutOption = Annotated[
    list[Path] | None,
    typer.Option("--out", metavar="FILE", help="Write .html, .csv, .json or .tex; repeatable."),
]
CLAIMS = ("claim_id", "mid", "event", "misconception_id")


@app.command()
def score(  # noqa: PLR0913, PLR0917 - the options of a command
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
    id_column: IdOption = "",
    clusters: ClustersOption = "",
    probabilities: Annotated[
        str,
        typer.Option(
            metavar="COLUMN", help="Inclusion probabilities (default: p_sample if gold has it; none)."
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
    from covmis_build.evaluation.rendering import Results, write

    data = _Input(gold, systems, id_column, labels, order, poles, study)
    chances = data.optional(probabilities, ("p_sample",))
    owners = data.optional(clusters, CLAIMS)
    table = scored(
        data.gold,
        data.systems,
        labels=data.labels,
        measures=_words(measures) or None,
        probabilities=chances,
        clusters=owners,
        order=data.order,
        poles=data.poles,
        class_weights=_weights(class_weights),
        undefined=undefined,  # type: ignore[arg-type]
        missing=missing,  # type: ignore[arg-type]
        by={name: data.group(name) for name in _words(by)},
        replicates=replicates,
        level=level,
        seed=seed,
    )
    shared = {"labels": data.labels, "missing": missing}
    results = Results(
        scores=table,
        classes=class_scores(data.gold, data.systems, **shared),
        confusions=confusions(data.gold, data.systems, **shared),
        labels=tuple(data.labels),
        level=level,
        replicates=replicates,
        clusters=len(set(owners)) if owners is not None else 0,
        undefined=undefined,
    )
    for file in out or []:
        write(file, results)
    if as_json:
        emit_json(results.to_dict())
        return
    _print_scores(results)
    _written(out)


@app.command()
def compare(  # noqa: PLR0913, PLR0917 - the options of a command
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
    id_column: IdOption = "",
    clusters: ClustersOption = "",
    replicates: Annotated[int, typer.Option(min=1, help="Replicates.")] = 2000,
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
    from covmis_build.evaluation.rendering import Comparison, write

    if interval not in {"percentile", "bca"}:
        raise InputError(f"--interval {interval}", remedy="Allowed: percentile, bca")
    data = _Input(gold, systems, id_column, labels, order, poles, study)
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
        class_weights=_weights(class_weights),
        undefined=undefined,  # type: ignore[arg-type]
        missing=missing,  # type: ignore[arg-type]
        level=level,
        interval=interval,  # type: ignore[arg-type]
    )
    results = Comparison(table, level)
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
def meta(  # noqa: PLR0913, PLR0917 - the options of a command
    gold: GoldArgument,
    systems: SystemsArgument,
    labels: LabelsOption = "",
    measures: Annotated[str, typer.Option(metavar="A,B", help="Measures (default: all whose needs are met).")] = "",
    order: OrderOption = "",
    poles: PolesOption = "",
    class_weights: WeightsOption = "",
    undefined: UndefinedOption = "zero",
    missing: MissingOption = "refuse",
    id_column: IdOption = "",
    trials: Annotated[int, typer.Option(min=2, help="Random halves, for consistency.")] = 1000,
    replicates: Annotated[int, typer.Option(min=1, help="Replicates of the test.")] = 2000,
    seed: SeedOption = 0,
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Evaluate the measures themselves: similarity, consistency, and whether they tell the classes apart.

    Example: covmis evaluate meta gold.csv a.csv b.csv c.csv --order favor,neither,against
    """
    from covmis_build.evaluation import meta as evaluated

    data = _Input(gold, systems, id_column, labels, order, poles, study)
    found = evaluated(
        data.gold,
        data.systems,
        labels=data.labels,
        measures=_words(measures) or None,
        order=data.order,
        poles=data.poles,
        class_weights=_weights(class_weights),
        undefined=undefined,  # type: ignore[arg-type]
        missing=missing,  # type: ignore[arg-type]
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
        ("Class distinguishing: tau-b with the ranking after merging two classes (low = it tells)", found.distinguishing),
    ):
        say("", title)
        grid(table.itertuples(index=False, name=None), list(table.columns))


@app.command()
def split(  # noqa: PLR0913, PLR0917 - the options of a command
    file: Annotated[str, typer.Argument(metavar="FILE", help="The items: FILE or FILE:COLUMN of labels.")],
    out: Annotated[Path, typer.Option(metavar="FILE.csv", help="Where the parts go: one row per item.")],
    scheme: Annotated[
        str, typer.Option(help="random, chronological, stratified_chronological, or leave_one_out.")
    ] = "random",
    fractions: Annotated[str, typer.Option(help="Train, dev and test.")] = "0.7,0.1,0.2",
    cuts: Annotated[str, typer.Option(metavar="A,B", help="Where dev and test begin: positions or times.")] = "",
    folds: Annotated[int, typer.Option(min=1, help="Folds of the random scheme; 1 for a single division.")] = 5,
    id_column: IdOption = "",
    time: Annotated[str, typer.Option(metavar="COLUMN", help="Times (default: found, or from post ids).")] = "",
    group: Annotated[str, typer.Option(metavar="COLUMN", help="What leave_one_out leaves out.")] = "",
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Divide items into train, dev and test: at random, in time, or by claim.

    Example: covmis evaluate split corpus.csv --scheme chronological --out parts.csv
    """
    from covmis_build import storage
    from covmis_build.evaluation import splits
    from covmis_build.evaluation.splitting import identities

    _, data = _read(file, id_column)
    parts = splits(
        data.table,
        scheme=scheme,  # type: ignore[arg-type]
        fractions=_three(fractions),
        cuts=_cuts(cuts),
        folds=folds,
        seed=seed,
        label=data.label_column,
        time=time,
        group=group,
        id=id_column,
    )
    table = parts.to_frame() if parts.ndim == 1 else parts
    ids = identities(data.table, id_column)
    header = [id_column or data.id_column or "row", *map(str, table.columns)]
    storage.write_bytes(out, storage.csv_bytes(header, ([one, *row] for one, row in zip(ids, table.to_numpy(), strict=True))))
    sizes = [
        {"division": str(name), **{part: int((table[name] == part).sum()) for part in ("train", "dev", "test")}}
        for name in table.columns
    ]
    if as_json:
        emit_json({"file": str(out), "divisions": sizes})
        return
    grid([list(one.values()) for one in sizes[:20]], ["division", "train", "dev", "test"])
    say(f"Written: {out}")


@app.command()
def leakage(  # noqa: PLR0913, PLR0917 - the options of a command
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Items with a text column (CSV, JSONL, Parquet).")],
    parts: Annotated[str, typer.Option(metavar="FILE[:COLUMN]", help="The parts, as `split` writes them.")],
    text: Annotated[str, typer.Option(metavar="COLUMN", help="The column of texts.")] = "text",
    edits: Annotated[int, typer.Option(min=0, help="Levenshtein distance below which texts count as near.")] = 20,
    similarity: Annotated[float, typer.Option(min=0, max=0.999, help="TF-IDF cosine above which they do.")] = 0.8,
    id_column: IdOption = "",
    as_json: JsonOption = False,
) -> None:
    """Say what the test part shares with train and dev: texts, near-copies, claims, time, missing classes.

    Example: covmis evaluate leakage corpus.csv --parts parts.csv
    """
    from covmis_build.evaluation import leakage as found_in
    from covmis_build.evaluation.reading import common_id
    from covmis_build.evaluation.splitting import times

    path, _, column = parts.rpartition(":") if ":" in parts and not Path(parts).exists() else (parts, "", "part")
    _, items = _read(str(file), id_column)
    divided = _read_parts(Path(path), column)
    by = common_id(items, divided) if divided.id_column else ""
    part = divided.labels(by)
    if by:
        known = dict(part.items())
        lacking = [one for one in items.labels(by).index if one not in known]
        if lacking:
            raise InputError(f"lacks the part of {lacking[0]}", file=divided.file, remedy="Divide the same items")
        part = [known[one] for one in items.labels(by).index]
    owners = next((name for name in CLAIMS if name in items.table.columns), "")
    try:
        when: list[int] | None = times(items.table)
    except InputError as error:
        warn(f"Times are not compared: {error}")
        when = None
    found = found_in(
        items.column(text),
        list(part),
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


@app.command()
def reproduce(
    which: Annotated[
        str, typer.Argument(metavar="[PAPER|TABLE]", help='Such as mu2023, "Table 12", or "mu2023 Table 3".')
    ] = "",
    out: Annotated[
        list[Path] | None, typer.Option("--out", metavar="FILE", help="Write .html, .csv or .json; repeatable.")
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
        say(f"{row['status']}: {row['paper']}, {row['where']}: published {row['published']}{computed}{reason}")
    say("")
    grid(results.summary().itertuples(index=False, name=None), list(results.summary().columns))
    _written(out)


class _Input:
    """Gold and systems as the command line names them, read and joined by their ids."""

    def __init__(  # noqa: PLR0913, PLR0917
        self,
        gold: str,
        systems: list[str],
        id_column: str,
        labels: str,
        order: str,
        poles: str,
        study: Path | None,
    ) -> None:
        from covmis_build.evaluation.reading import common_id

        _, self.table = _read(gold, id_column)
        read = [_read(one, id_column) for one in systems]
        joined = {common_id(self.table, one) for _, one in read}
        self.id_column = joined.pop() if len(joined) == 1 else ""
        if not self.id_column and self.table.id_column:
            lacking = [str(one.file) for _, one in read if not common_id(self.table, one)]
            if joined and any(joined):
                raise InputError(f"{lacking[0]} has no ids that the others have", remedy="Add them")
            warn("The systems have no ids: predictions are joined with gold row by row.")
        self.gold = self.table.labels(self.id_column)
        self.systems: dict[str, Any] = {}
        for name, one in read:
            self.systems.setdefault(name, []).append(one.labels(self.id_column))
        self.systems = {name: runs if len(runs) > 1 else runs[0] for name, runs in self.systems.items()}
        self.labels, self.order, self.poles = self._scheme(labels, order, poles, study)

    def _scheme(
        self, labels: str, order: str, poles: str, study: Path | None
    ) -> tuple[list[str], list[str] | None, list[str] | None]:
        declared = _words(labels)
        if not declared:
            scheme = _study_labels(study, self.table.file)
            if scheme is not None and set(self.gold) <= set(scheme.values):
                return (
                    list(scheme.values),
                    _words(order) or list(scheme.order) or None,
                    _words(poles) or list(scheme.poles) or None,
                )
            declared = _words(order) or sorted({str(one) for one in self.gold if str(one)})
            if not order:
                warn(f"The label set is taken from gold: {', '.join(declared)}. Say --labels to declare it.")
        return declared, _words(order) or None, _words(poles) or None

    def optional(self, column: str, defaults: tuple[str, ...]) -> pd.Series[str] | None:
        """A column that may be named, found, or refused with 'none'."""
        if column == "none":
            return None
        found = column or next((name for name in defaults if name in self.table.table.columns), "")
        return self._series(self.table.column(found)) if found else None

    def group(self, name: str) -> pd.Series[str]:
        if name in {"month", "year"} and name not in self.table.table.columns:
            from covmis_build.evaluation.splitting import moments

            ends = 7 if name == "month" else 4
            return self._series([one[:ends] for one in moments(self.table.table)])
        return self._series(self.table.column(name))

    def _series(self, values: list[Any]) -> pd.Series[str]:
        import pandas as pd

        return pd.Series(values, index=self.gold.index, dtype=object)


def _study_labels(folder: Path | None, file: Path) -> Any:
    from covmis_build.study import open_study

    if folder is not None:
        return open_study(folder).labels
    for place in (file.resolve().parent, *file.resolve().parents):
        if (place / "study.toml").is_file():
            try:
                return open_study(place).labels
            except CovmisError:
                return None
    return None


def _read(spec: str, id_column: str) -> tuple[str, Labelled]:
    """[NAME=]FILE[:COLUMN]; the name is the column or the file's unless given."""
    from covmis_build.evaluation.reading import read_labels

    name, equals, rest = spec.partition("=")
    if not equals or "/" in name or Path(spec).exists():
        name, rest = "", spec
    path, colon, column = rest.rpartition(":")
    if not colon or Path(rest).exists():
        path, column = rest, ""
    file = Path(path)
    shown = name or column or file.name.split(".")[0]
    return shown, read_labels(file, id_column=id_column, label_column=column)


def _words(text: str) -> list[str]:
    return [one.strip() for one in text.split(",") if one.strip()]


def _weights(text: str) -> dict[str, float] | None:
    made = {}
    for one in _words(text):
        label, equals, number = one.partition("=")
        try:
            made[label.strip()] = float(number)
        except ValueError:
            raise InputError(
                f"--class-weights {one}", remedy="Write label=weight, with commas between"
            ) from None
        if not equals:
            raise InputError(f"--class-weights {one}", remedy="Write label=weight, with commas between")
    return made or None


def _three(text: str) -> tuple[float, float, float]:
    try:
        one, two, three = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--fractions {text}", remedy="Write three numbers with the sum 1, as 0.7,0.1,0.2") from None
    return one, two, three


def _cuts(text: str) -> list[Any] | None:
    parts = _words(text)
    return [int(one) if one.isdecimal() and len(one) < 9 else one for one in parts] or None


def _read_parts(path: Path, column: str) -> Labelled:
    from covmis_build.evaluation.reading import read_labels

    return read_labels(path, label_column=column)


def _print_scores(results: Any) -> None:
    for title, frame in results.tables():
        say("", title)
        grid(frame.itertuples(index=False, name=None), list(frame.columns))


def _written(files: list[Path] | None) -> None:
    for file in files or []:
        say(f"Written: {file}")
