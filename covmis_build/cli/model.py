"""`covmis model …`: how hard is the corpus? Majority, linear models, and a language model's answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from covmis_build.cli.asking import IDS, LabelsOption, listed, posts, prompt
from covmis_build.cli.comparing import ablate, table
from covmis_build.cli.console import JsonOption, emit_json, grid, say
from covmis_build.cli.encoding import ALONE, KINDS, encoder_options, read_model, train_transformer
from covmis_build.cli.settings import (
    BeforeOption,
    DataArgument,
    MapOption,
    SetOption,
    label_set,
    linear_options,
    steps_before,
)
from covmis_build.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

app = typer.Typer(help="Stance models: train, predict, compare, ask a language model.", no_args_is_help=True)

ModelOption = Annotated[
    str,
    typer.Option(
        "--model",
        metavar="NAME",
        help="majority, bow, mu, mu-chinese, grams, vectors; sentence-bert, cross-encoder, bertscore-sbert, bertscore.",
    ),
]
app.command()(prompt)
app.command()(table)
app.command()(ablate)


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
    before: BeforeOption = None,
    maps: MapOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train a model: linear ones show their most telling features; transformers need the extra `models`.

    Transformers are `--model sentence-bert` or `cross-encoder` with `--set path=NAME`; a run that was stopped goes on
    where it was. `bertscore-sbert` also needs `--set unrelated=LABEL`: posts with a BERTScore below
    `--set threshold=0.4` get it, and a Sentence-BERT judges the others; `bertscore` gives these the most
    frequent of the other labels. With --dev, `--set patience=2` stops early. `--before` trains on other data first, in the order given;
    `--map` says what the labels there mean; the head of the model is kept from one dataset to the next if both have
    the same labels, and begins anew otherwise. `--start` goes on from a model that was trained so before.

    Example: covmis model train train.csv --model bow --dev dev.csv --out models/bow
    """
    from dataclasses import asdict, replace

    from covmis_build import models
    from covmis_build.models.run_card import rows_of, scored, versions
    from covmis_build.models.sequence import Step
    from covmis_build.models.storing import save

    frame = posts(data, labelled=True)
    values = label_set(labels, frame)
    steps = steps_before(before, maps)
    card: dict[str, Any] = {"data": data.name, **rows_of(frame), "model": model}
    if dev is not None:
        card["dev"] = {"data": dev.name}
    given = next((name for name, one in (("--start", start), ("--before", before)) if one), "")
    if given and model not in KINDS:
        raise InputError(f"{given} is for transformer models", remedy=f"Use --model {' or '.join(KINDS)}")
    if model == ALONE and dev is not None:
        raise InputError(
            "BERTScore alone has no use for --dev", remedy="Set its threshold: --set threshold=0.4"
        )
    if model in {*KINDS, ALONE}:
        steps.append(Step(data.stem, frame, posts(dev, labelled=True) if dev is not None else None))
        chosen = encoder_options(model, settings)
        return train_transformer(steps, out, chosen, values, card, start=start, as_json=as_json)
    options = linear_options(model, settings)
    card["versions"] = versions(transformer=False)
    part = posts(dev, labelled=True) if dev is not None else None
    if dev is not None and part is not None:
        candidates = [replace(options, C=one) for one in _numbers(choose)]
        options, found = models.choose(
            frame, part, candidates, measure=measure, labels=values, poles=listed(poles)
        )
        card["chosen"] = {
            "measure": measure,
            "values": [{"c": one.C, "value": value} for one, value in zip(candidates, found, strict=True)],
        }
    trained = models.train(frame, options, labels=values)
    if part is not None:
        card["dev"] |= {**rows_of(part), **scored(part["label"], trained.predict(part), values)}
    save(trained, out, card)
    telling = trained.telling(5)
    if as_json:
        named = {name.lower(): value for name, value in asdict(options).items()}
        return emit_json({"model": str(out), "options": named, **card, "telling": telling})
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

    trained = read_model(model)
    frame = posts(data, labelled=errors is not None)
    names = [f"p_{label}" for label in trained.labels]
    said, chances, likeness = _judged(trained, frame)
    given = next((name for name in IDS if name in frame.columns), "")
    ids = frame[given].tolist() if given else [str(at) for at in range(1, len(frame) + 1)]
    numbers = [list(line) for line in chances]
    if likeness is not None:
        names.append("bertscore")
        numbers = [[*line, one] for line, one in zip(numbers, likeness, strict=True)]
    rows = (
        [one, label, *(f"{number:.6f}" for number in line)]
        for one, label, line in zip(ids, said, numbers, strict=True)
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


def _judged(trained: Any, frame: pd.DataFrame) -> tuple[list[str], Any, Any]:
    """Labels, their probabilities, and the BERTScores of a model that goes by them."""
    from covmis_build.models import BertScoreModel

    if not isinstance(trained, BertScoreModel):
        return trained.predict(frame), trained.probabilities(frame), None
    likeness = trained.likeness(frame)
    chances = trained.probabilities(frame, likeness)
    return [trained.labels[at] for at in chances.argmax(axis=1)], chances, likeness


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


def _numbers(text: str) -> list[float]:
    try:
        numbers = [float(one) for one in listed(text)]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) <= 0:
        raise InputError(f"--choose {text} is not a list of numbers above 0", remedy="Write it like 0.1,1,10")
    return numbers
