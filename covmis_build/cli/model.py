"""`covmis model …`: how hard is the corpus? Majority, linear models, and a language model's answers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from covmis_build.cli.asking import IDS, LabelsOption, listed, posts, prompt
from covmis_build.cli.console import JsonOption, emit_json, grid, progress, say
from covmis_build.cli.encoding import KINDS, encoder_options, train_transformer
from covmis_build.errors import InputError, nearest

if TYPE_CHECKING:
    import pandas as pd

    from covmis_build.models import Linear

app = typer.Typer(help="Stance models: train, predict, compare, ask a language model.", no_args_is_help=True)

DataArgument = Annotated[
    Path,
    typer.Argument(metavar="DATA", help="Posts: a table with text, label and, for pairs, target or claim."),
]
ModelOption = Annotated[
    str,
    typer.Option(
        "--model",
        metavar="NAME",
        help="majority, bow, mu, mu-chinese, grams, vectors; sentence-bert, cross-encoder.",
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a setting of the model; repeatable."),
]

app.command()(prompt)


@app.command()
def train(
    data: DataArgument,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder to write the model to.")],
    model: ModelOption = "bow",
    settings: SetOption = None,
    labels: LabelsOption = "",
    dev: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Choose C on this part; the model is trained on DATA alone."),
    ] = None,
    choose: Annotated[
        str, typer.Option(metavar="C,C", help="The values of C to choose from.")
    ] = "0.1,1,10,100",
    measure: Annotated[str, typer.Option(metavar="NAME", help="The measure to choose by.")] = "macro_f1",
    poles: Annotated[str, typer.Option(metavar="A,B", help="The two poles, for f_avg.")] = "",
    start: Annotated[
        Path | None,
        typer.Option(metavar="MODEL", help="Go on from this transformer model, trained on other data."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Train a model: linear ones show their most telling features; transformers need the extra `models`.

    Transformers are `--model sentence-bert` or `cross-encoder` with `--set path=NAME`; a run that was stopped goes on
    where it was, and `--start` goes on from a model trained on other data. With --dev, `--set patience=2` stops early.

    Example: covmis model train train.csv --model bow --dev dev.csv --out models/bow
    """
    from dataclasses import asdict, replace

    from covmis_build import models
    from covmis_build.models.storing import save

    frame = posts(data, labelled=True)
    values = listed(labels) or sorted(set(frame["label"]))
    card: dict[str, Any] = {"data": data.name, "rows": len(frame), "model": model}
    if model in KINDS:
        part = posts(dev, labelled=True) if dev is not None else None
        chosen = encoder_options(model, settings)
        return train_transformer(frame, part, out, chosen, values, card, start=start, as_json=as_json)
    if start is not None:
        raise InputError("--start is for transformer models", remedy=f"Use --model {' or '.join(KINDS)}")
    options = _options(model, settings)
    if dev is not None:
        candidates = [replace(options, C=one) for one in _numbers(choose)]
        options, found = models.choose(
            frame, posts(dev, labelled=True), candidates, measure=measure, labels=values, poles=listed(poles)
        )
        card["chosen"] = {
            "measure": measure,
            "values": [{"c": one.C, "value": value} for one, value in zip(candidates, found, strict=True)],
        }
    trained = models.train(frame, options, labels=values)
    save(trained, out, card)
    telling = trained.telling(5)
    if as_json:
        return emit_json({"model": str(out), "options": asdict(options), **card, "telling": telling})
    if dev is not None:
        say(f"C = {options.C:g} does best on {dev.name}: {measure} {max(found):.4f}.")
    if not telling.empty:
        columns = ["label", "column", "feature", "weight"]
        grid(telling.sort_values("label", kind="stable")[columns].itertuples(index=False), columns)
    say(f"Trained on {len(frame):,} rows. Wrote {out}/. Next: `covmis model predict {out} DATA --out FILE`.")
    return None


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A folder of `covmis model train`.")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Posts; labels are not looked at.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The CSV file to write.")],
    errors: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also a page on the errors (.html); DATA needs labels."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Predict a label for every row: a CSV file that `covmis evaluate score` reads.

    With --errors, a page shows the most confident errors of each label, and accuracy by shared words and by kind of
    query. It has the posts' texts in it.

    Example: covmis model predict models/bow test.csv --out predictions.csv
    """
    from covmis_build import storage
    from covmis_build.models.encoders import is_encoder, load_encoder
    from covmis_build.models.storing import load

    trained = load_encoder(model) if is_encoder(model) else load(model)
    frame = posts(data, labelled=errors is not None)
    chances = trained.probabilities(frame)
    names = [f"p_{label}" for label in trained.labels]
    given = next((name for name in IDS if name in frame.columns), "")
    ids = frame[given].tolist() if given else [str(at) for at in range(1, len(frame) + 1)]
    rows = (
        [one, label, *(f"{chance:.6f}" for chance in line)]
        for one, label, line in zip(ids, trained.predict(frame), chances, strict=True)
    )
    storage.write_bytes(out, storage.csv_bytes([given or "row", "prediction", *names], rows))
    if errors is not None:
        storage.write_text(errors, _errors_page(frame, chances, trained.labels, model.name))
    if as_json:
        page = str(errors) if errors is not None else None
        return emit_json({"predictions": len(frame), "file": str(out), "errors_page": page})
    say(f"Wrote {len(frame):,} predictions to {out}.")
    if errors is not None:
        say(f"Wrote {errors}. It has texts of posts in it: do not publish it.")
    return None


def _errors_page(frame: pd.DataFrame, chances: Any, labels: tuple[str, ...], name: str) -> str:
    """The page on a model's errors."""
    from covmis_build.models.mistakes import mistakes
    from covmis_build.report.page import Section, page, table_html

    found = mistakes(frame, chances, labels)
    columns = ["predicted", "probability", "overlap", "target", "text"]
    sections = [
        Section(f"Surest errors on {label}", body=table_html(rows[columns]))
        for label, rows in found.confident.groupby("gold", sort=False)
    ]
    heads = {"part": "", "mean_probability": "mean probability"}
    if len(found.overlap):
        prose = "The part of the claim's words that the post has."
        sections.append(Section("Shared words", prose, table_html(found.overlap, names=heads)))
    if len(found.kinds):
        sections.append(Section("Kind of query", body=table_html(found.kinds, names=heads)))
    return page(f"Errors of {name}", sections, lead="Contains texts of posts: for local use.")


@app.command()
def table(
    data: DataArgument,
    models: Annotated[str, typer.Option(metavar="NAME,NAME", help="The models to compare.")] = "majority,bow",
    schemes: Annotated[
        str,
        typer.Option(metavar="A,B", help="random, chronological, stratified_chronological, leave_one_out."),
    ] = "random,chronological,stratified_chronological",
    settings: SetOption = None,
    measures: Annotated[str, typer.Option(metavar="A,B", help="The measures to show.")] = "accuracy,macro_f1",
    labels: LabelsOption = "",
    folds: Annotated[int, typer.Option(min=2, help="Folds of the random division.")] = 5,
    seed: Annotated[int, typer.Option(help="The seed of the random division.")] = 0,
    cells: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep finished trainings here, and take them up again.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare models across ways of dividing the data, in the shape of Mu et al.'s Table 4.

    Example: covmis model table posts.csv --models majority,mu --cells cells
    """
    chosen = {name: _options(name, settings if name != "majority" else None) for name in listed(models)}
    _compare(data, chosen, listed(schemes), measures, labels, folds, seed, cells, as_json=as_json)


@app.command()
def ablate(
    data: DataArgument,
    model: ModelOption = "bow",
    schemes: Annotated[
        str, typer.Option(metavar="A,B", help="Ways of dividing; see `covmis model table`.")
    ] = "random",
    settings: SetOption = None,
    measures: Annotated[str, typer.Option(metavar="A,B", help="The measures to show.")] = "accuracy,macro_f1",
    labels: LabelsOption = "",
    folds: Annotated[int, typer.Option(min=2, help="Folds of the random division.")] = 5,
    seed: Annotated[int, typer.Option(help="The seed of the random division.")] = 0,
    cells: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep finished trainings here, and take them up again.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Change one setting of a linear model at a time, and see what it was worth.

    Example: covmis model ablate posts.csv --model bow --cells cells
    """
    from covmis_build.models import ablations

    chosen = ablations(_options(model, settings))
    _compare(data, chosen, listed(schemes), measures, labels, folds, seed, cells, as_json=as_json)


def _compare(
    data: Path,
    chosen: dict[str, Linear],
    schemes: list[str],
    measures: str,
    labels: str,
    folds: int,
    seed: int,
    cells: Path | None,
    *,
    as_json: bool,
) -> None:
    from covmis_build import models
    from covmis_build.evaluation import measures as known

    wanted = listed(measures)
    for name in wanted:
        if name not in known or known[name].needs:
            raise InputError(f"the measure '{name}' cannot be shown here", remedy=nearest(name, known))
    frame = posts(data, labelled=True)
    values = listed(labels) or sorted(set(frame["label"]))
    with progress() as report:
        found = models.grid(
            frame, chosen, labels=values, schemes=schemes, wanted=wanted, folds=folds, seed=seed, cells=cells,
            progress=report,
        )  # fmt: skip
    if as_json:
        return emit_json({"cells": found})
    grid(found.itertuples(index=False), [name.replace("_", " ") for name in found.columns])
    return None


def _options(name: str, settings: list[str] | None) -> Linear:
    """A preset with changed settings: numbers, true or false, words; several values with a plus sign."""
    from covmis_build.models.linear import preset

    changes: dict[str, Any] = {}
    for one in settings or ():
        key, separator, value = one.partition("=")
        if not separator:
            raise InputError(f"--set {one} is not KEY=VALUE", remedy="For example: --set C=10")
        changes[key] = _value(key, value)
    if "vectors" in changes:
        changes["vectors"] = os.fspath(Path(changes["vectors"]).absolute())
    return preset(name, **changes)


def _value(key: str, text: str) -> Any:
    kinds = {"min_df": int, "max_features": int, "C": float}
    try:
        if key in kinds:
            return kinds[key](text)
        if key in {"word_span", "character_span"}:
            first, last = (int(one) for one in text.split("+"))
            return (first, last)
    except ValueError:
        raise InputError(f"--set {key}={text} is not a number", remedy="Spans are like 1+3") from None
    if key in {"sublinear", "target", "per_target"}:
        if text not in {"true", "false"}:
            raise InputError(f"--set {key}={text}", remedy="It is true or false")
        return text == "true"
    return tuple(text.split("+")) if key == "features" else text


def _numbers(text: str) -> list[float]:
    try:
        numbers = [float(one) for one in listed(text)]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) <= 0:
        raise InputError(f"--choose {text} is not a list of numbers above 0", remedy="Write it like 0.1,1,10")
    return numbers
