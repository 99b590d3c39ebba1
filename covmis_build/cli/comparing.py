"""`covmis model table` and `covmis model ablate`: grids of trainings that go on where they were stopped."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from covmis_build.cli.asking import LabelsOption, listed, posts
from covmis_build.cli.console import JsonOption, emit_json, grid, progress, say
from covmis_build.cli.encoding import ALONE, KINDS, encoder_options, known_settings
from covmis_build.cli.judging import OrderOption, PolesOption, WeightsOption, weights_of
from covmis_build.cli.settings import (
    BeforeOption,
    DataArgument,
    MapOption,
    SetOption,
    label_set,
    linear_options,
    steps_before,
)
from covmis_build.errors import InputError, nearest

if TYPE_CHECKING:
    import pandas as pd

    from covmis_build.models import BertScore, Encoder, Linear, Setting

SchemesOption = Annotated[
    str,
    typer.Option(
        metavar="A,B",
        help="random, chronological, stratified_chronological, leave_one_out, given, zero_shot.",
    ),
]
MeasuresOption = Annotated[str, typer.Option(metavar="A,B", help="The measures to show.")]
ByLabelOption = Annotated[
    bool, typer.Option("--by-label", help="Also precision, recall and F1 of each label.")
]
ByOption = Annotated[str, typer.Option(metavar="COLUMN", help="Also apart for each value, such as of kind.")]
FoldsOption = Annotated[int, typer.Option(min=2, help="Folds of the random division.")]
SeedsOption = Annotated[int, typer.Option(min=1, help="Runs of each transformer, with a seed each.")]
SeedOption = Annotated[int, typer.Option(help="The seed of the random division.")]
CellsOption = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Keep finished trainings here, and take them up again.")
]


def table(
    data: DataArgument,
    models: Annotated[
        str, typer.Option(metavar="NAME,NAME", help="The models to compare, as in `covmis model train`.")
    ] = "majority,bow",
    schemes: SchemesOption = "random,chronological,stratified_chronological",
    settings: SetOption = None,
    before: BeforeOption = None,
    maps: MapOption = None,
    measures: MeasuresOption = "accuracy,macro_f1",
    order: OrderOption = "",
    poles: PolesOption = "",
    class_weights: WeightsOption = "",
    labels: LabelsOption = "",
    by_label: ByLabelOption = False,
    by: ByOption = "",
    folds: FoldsOption = 5,
    seeds: SeedsOption = 5,
    seed: SeedOption = 0,
    cells: CellsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare models across ways of dividing the data, in the shape of Mu et al.'s Table 4, with Welch's t-tests.

    `given` follows the column split; with `zero_shot` every row is judged, and models learn from --before alone.
    --by-label has the shape of COVMis-Stance's Tables 9 and 12, --by kind that of Table 13. Measures that need an
    order, poles or class weights take them as `covmis evaluate score` does. A table that was stopped goes on where it
    was, if it has --cells.

    Example: covmis model table posts.csv --models majority,mu --cells cells
    """
    names = listed(models)
    chosen = _chosen(names, settings)
    frame, values, steps = _setup(data, labels or order, before, maps)
    scored = _scored(measures, order, poles, class_weights)
    _compare(
        frame, values, scored, steps, chosen, listed(schemes), by_label=by_label, by=by, against="", folds=folds,
        seeds=seeds, seed=seed, cells=cells, as_json=as_json,
    )  # fmt: skip


def ablate(
    data: DataArgument,
    model: Annotated[
        str, typer.Option("--model", metavar="NAME", help="As in `covmis model train`.")
    ] = "bow",
    schemes: SchemesOption = "random",
    settings: SetOption = None,
    before: BeforeOption = None,
    maps: MapOption = None,
    measures: MeasuresOption = "accuracy,macro_f1",
    order: OrderOption = "",
    poles: PolesOption = "",
    class_weights: WeightsOption = "",
    labels: LabelsOption = "",
    by_label: ByLabelOption = False,
    by: ByOption = "",
    folds: FoldsOption = 5,
    seeds: SeedsOption = 5,
    seed: SeedOption = 0,
    cells: CellsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change one thing about a model at a time, and see what it was worth: COVMis-Stance's Table 14.

    Each dataset of --before is left out in turn (of a mixture with a column part, each part too), then single settings
    are changed: for transformers the order of post and claim (Table 11), class weights, warm-up, the kind of model; for
    bertscore-sbert its threshold, and each of its two steps.

    Example: covmis model ablate posts.csv --model bow --cells cells
    """
    from covmis_build.models import Setting, ablations
    from covmis_build.models.ablating import WHOLE

    (options,) = _chosen([model], settings).values()
    frame, values, steps = _setup(data, labels or order, before, maps)
    chosen = ablations(Setting(options, tuple(steps)))
    if "zero_shot" in listed(schemes):
        chosen = {name: one for name, one in chosen.items() if one.before}
    _compare(
        frame, values, _scored(measures, order, poles, class_weights), [], chosen, listed(schemes), by_label=by_label,
        by=by, against=WHOLE, folds=folds, seeds=seeds, seed=seed, cells=cells, as_json=as_json,
    )  # fmt: skip


def _chosen(names: list[str], settings: list[str] | None) -> dict[str, Linear | Encoder | BertScore]:
    """Each model with the settings that it knows, such as those of transformers; one that none knows is an error."""
    if not names:
        raise InputError("--models names no model", remedy="For example: --models majority,bow")
    known = {name: _known(name) for name in names}
    every = {key for one in known.values() for key in one}
    for one in settings or ():
        if "=" in one and one.partition("=")[0] not in every:
            key = one.partition("=")[0]
            raise InputError(f"no model here has a setting '{key}'", remedy=nearest(key, every))
    made: dict[str, Linear | Encoder | BertScore] = {}
    for name in names:
        mine = [one for one in settings or () if one.partition("=")[0] in known[name] or "=" not in one]
        made[name] = (encoder_options if name in {*KINDS, ALONE} else linear_options)(name, mine)
    return made


def _known(name: str) -> set[str]:
    """The settings that a model has."""
    from dataclasses import fields

    from covmis_build.models import Linear

    if name in {*KINDS, ALONE}:
        return set(known_settings(name))
    return set() if name == "majority" else {one.name for one in fields(Linear)}


def _setup(
    data: Path, labels: str, before: list[Path] | None, maps: list[str] | None
) -> tuple[pd.DataFrame, list[str], list[Any]]:
    """The rows, the label set, and the datasets before."""
    frame = posts(data, labelled=True)
    values = label_set(labels, frame)
    return frame, values, steps_before(before, maps)


def _scored(measures: str, order: str, poles: str, class_weights: str) -> dict[str, Any]:
    """The measures to show, and what they need."""
    wanted = listed(measures)
    if not wanted:
        raise InputError("--measures names no measure", remedy="For example: --measures accuracy,macro_f1")
    weights = weights_of(class_weights)
    return {"wanted": wanted, "order": listed(order), "poles": listed(poles), "class_weights": weights}


def _compare(
    frame: pd.DataFrame,
    labels: list[str],
    scored: dict[str, Any],
    before: list[Any],
    chosen: dict[str, Any],
    schemes: list[str],
    *,
    by_label: bool,
    by: str,
    against: str,
    folds: int,
    seeds: int,
    seed: int,
    cells: Path | None,
    as_json: bool,
) -> None:
    from covmis_build import models
    from covmis_build.models import Setting

    if not schemes:
        raise InputError("--schemes names no scheme", remedy="For example: --schemes random,chronological")
    settings: dict[str, Setting] = {
        name: one if isinstance(one, Setting) else Setting(one, tuple(before)) for name, one in chosen.items()
    }
    with progress() as report:
        found = models.grid(
            frame, settings, labels=labels, schemes=schemes, by=by, against=against, folds=folds, seeds=seeds, seed=seed,
            cells=cells, progress=report, **scored,
        )  # fmt: skip
    if as_json:
        made = {"cells": found.cells, "tests": found.tests}
        made |= {"labels": found.labels} if by_label else {}
        made |= {"groups": found.groups} if by else {}
        return emit_json(made)
    wanted = scored["wanted"]
    _show(found.cells, ["model", "scheme", "runs", "items"], wanted)
    if by_label:
        say("")
        wide = _wide(found.labels, labels)
        grid(wide, ["model", "scheme", *(f"{label} {one}" for label in labels for one in ("P", "R", "F1"))])
    if by:
        say("")
        _show(found.groups, ["model", "scheme", "group", "items"], wanted)
    tested = found.tests[found.tests["t"].notna()] if len(found.tests) else found.tests
    if len(tested):
        say("", "Differences between means of runs, by Welch's t-test:")
        columns = [name for name in tested.columns if tested[name].astype(str).ne("").any()]
        grid(tested[columns].itertuples(index=False), columns)
    if len(tested) < len(found.tests):
        say("", "No t-test where a side has one run: such a model is the same with every seed.")
    return None


def _show(frame: pd.DataFrame, columns: list[str], wanted: list[str]) -> None:
    """Each measure as mean and standard deviation in one cell."""
    rows = [
        [*(row[name] for name in columns), *(_spread(row[name], row[f"{name}_sd"]) for name in wanted)]
        for row in frame.to_dict("records")
    ]
    grid(rows, [name.replace("_", " ") for name in (*columns, *wanted)])


def _wide(frame: pd.DataFrame, labels: list[str]) -> list[list[str]]:
    """A row a model, with precision, recall and F1 of each label side by side."""
    made = []
    for (model, scheme), rows in frame.groupby(["model", "scheme"], sort=False):
        there = {row["label"]: row for row in rows.to_dict("records")}
        cells = [
            _spread(there[label][name], there[label][f"{name}_sd"])
            for label in labels
            for name in ("precision", "recall", "f1")
        ]
        made.append([str(model), str(scheme), *cells])
    return made


def _spread(mean: float, deviation: float) -> str:
    return f"{mean:.4f}" if math.isnan(deviation) else f"{mean:.4f} ± {deviation:.4f}"
