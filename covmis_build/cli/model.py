"""`covmis model …`: how hard is the corpus? Majority, linear models, transformers, and a language model's answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Exit, Option, Typer

import covmis_build as covmis
from covmis_build.cli.console import JsonOption, StudyOption, print_result, progress, tell, warn
from covmis_build.cli.options import (
    OrderOption,
    PolesOption,
    ShowOption,
    WeightsOption,
    listed,
    numbers,
    pairs_of,
    text_alone,
    weights_of,
    with_options,
)
from covmis_build.errors import InputError, counted

app = Typer(help="Train baselines, prompt LLMs, test LLM annotators.", no_args_is_help=True)

DataArgument = Annotated[
    Path,
    Argument(metavar="DATA", help="Posts: a table with text, label and, for pairs, target or claim."),
]
PostsArgument = Annotated[
    Path | None,
    Argument(metavar="DATA", help="Posts and claims (default: the study's frozen items)."),
]
LabelsOption = Annotated[str, Option(metavar="A,B,C", help="The label set (default: all labels of DATA).")]
SchemesOption = Annotated[
    str,
    Option(
        metavar="A,B",
        help="random, chronological, stratified_chronological, leave_one_out, given, zero_shot.",
    ),
]
SetOption = Annotated[
    list[str] | None,
    Option("--set", metavar="KEY=VALUE", help="Change a setting of the model; repeatable."),
]
BeforeOption = Annotated[
    list[Path] | None,
    Option("--before", metavar="FILE", help="Data to learn from before DATA; repeatable, in order."),
]
MapOption = Annotated[
    list[str] | None,
    Option("--map", metavar="OLD=NEW", help="What a label of --before says; repeatable."),
]


@dataclass(frozen=True)
class Comparison:
    """The options of `table` and `ablate`."""

    settings: SetOption = None
    before: BeforeOption = None
    maps: MapOption = None
    measures: Annotated[str, Option(metavar="A,B", help="The measures to show.")] = "accuracy,macro_f1"
    order: OrderOption = ""
    poles: PolesOption = ""
    class_weights: WeightsOption = ""
    labels: LabelsOption = ""
    show: ShowOption = ""
    by_label: Annotated[bool, Option("--by-label", help="Also precision, recall and F1 of each label.")] = (
        False
    )
    by: Annotated[str, Option(metavar="COLUMN", help="Also apart for each value, such as of kind.")] = ""
    folds: Annotated[int, Option(min=2, help="Folds of the random division.")] = 5
    seeds: Annotated[int, Option(min=1, help="Runs of each transformer, with a seed each.")] = 5
    seed: Annotated[int, Option(help="The seed of the random division.")] = 0
    cells: Annotated[
        Path | None, Option(metavar="DIR", help="Keep finished trainings here, and take them up again.")
    ] = None

    def arguments(self, schemes: str) -> dict[str, Any]:
        """What `compare_models` and `ablate` are told alike."""
        return {
            "settings": self.settings, "before": self.before or (), "maps": _maps(self.maps), "labels": listed(self.labels),
            "schemes": listed(schemes), "wanted": listed(self.measures), "order": listed(self.order),
            "poles": listed(self.poles), "class_weights": weights_of(self.class_weights), "by": self.by,
            "folds": self.folds, "seeds": self.seeds, "seed": self.seed, "cells": self.cells,
            "text_alone": text_alone(self.show),
        }  # fmt: skip


@dataclass(frozen=True)
class Questions:
    """The options of `prompt` and `ask`: which items, and how they are put."""

    template: Annotated[
        Path | None, Option(metavar="FILE", help="With {guideline} {claim} {post} {labels}.")
    ] = None
    labels: LabelsOption = ""
    show: ShowOption = ""
    study: StudyOption = None


@app.command()
def train(
    data: DataArgument,
    out: Annotated[Path, Option("--out", metavar="DIR", help="The folder to write the model to.")],
    model: Annotated[
        str,
        Option(
            "--model",
            metavar="NAME",
            help="majority, bow, mu, mu-chinese, grams, vectors; sentence-bert, cross-encoder, bertscore-sbert, bertscore, nli.",
        ),
    ] = "bow",
    settings: SetOption = None,
    labels: LabelsOption = "",
    dev: Annotated[
        Path | None, Option(metavar="FILE", help="Choose C on this part; the model is trained on DATA alone.")
    ] = None,
    choose: Annotated[str, Option(metavar="C,C", help="The values of C to choose from.")] = "0.1,1,10,100",
    measure: Annotated[str, Option(metavar="NAME", help="The measure to choose by.")] = "macro_f1",
    poles: Annotated[str, Option(metavar="A,B", help="The two poles, for f_avg.")] = "",
    start: Annotated[
        Path | None, Option(metavar="MODEL", help="Go on from this transformer model, trained on other data.")
    ] = None,
    before: BeforeOption = None,
    maps: MapOption = None,
    show: ShowOption = "",
    as_json: JsonOption = False,
) -> None:
    """Train a baseline model.

    Transformers are `--model sentence-bert` or `cross-encoder` with `--set path=NAME`; a run that was stopped goes on
    where it was. `bertscore-sbert` also needs `--set unrelated=LABEL`: posts with a BERTScore below
    `--set threshold=0.4` get it, and a Sentence-BERT judges the others; `bertscore` gives these the most
    frequent of the other labels. `nli` takes a model of inference as it is, or learns from `--set shots=8` rows of each
    label. With --dev, `--set patience=2` stops early. `--before` trains on other data first, in the order given;
    `--map` says what the labels there mean; the head of the model is kept from one dataset to the next if both have
    the same labels, and begins anew otherwise. `--start` goes on from a model that was trained so before.

    Example: covmis model train train.csv --model bow --dev dev.csv --out models/bow
    """
    with progress() as report:
        trained = covmis.train(
            data, model, out=out, settings=settings, labels=listed(labels), dev=dev, choose=numbers(choose, "--choose", float),
            measure=measure, poles=listed(poles), start=start, before=before or (), maps=_maps(maps), text_alone=text_alone(show), progress=report,
        )  # fmt: skip
    tell(
        {"model": str(out), **trained.to_dict()},
        [*trained.summary, f"Wrote {out}/. Next: `covmis model predict {out} DATA --out FILE`."],
        as_json=as_json,
    )


@app.command()
def predict(
    model: Annotated[Path, Argument(metavar="MODEL", help="A folder of `covmis model train`.")],
    data: Annotated[Path, Argument(metavar="DATA", help="Posts; labels are not looked at.")],
    out: Annotated[Path, Option("--out", metavar="FILE", help="The CSV file to write.")],
    errors: Annotated[
        Path | None, Option(metavar="FILE", help="Also a page on the errors (.html); DATA needs labels.")
    ] = None,
    show: ShowOption = "",
    as_json: JsonOption = False,
) -> None:
    """Predict labels with a trained model.

    With --errors, a page shows the most confident errors of each label, and accuracy by shared words and by kind of
    query. It has the posts' texts in it.

    Example: covmis model predict models/bow test.csv --out predictions.csv
    """
    count = len(covmis.predict(model, data, out=out, errors=errors, text_alone=text_alone(show)))
    page = str(errors) if errors is not None else None
    words = [f"Wrote {count:,} predictions to {out}."]
    words += [f"Wrote {page}. It has texts of posts in it: do not publish it."] if page else []
    tell({"predictions": count, "file": str(out), "errors_page": page}, words, as_json=as_json)


@app.command()
@with_options(Comparison)
def table(
    data: DataArgument,
    options: Comparison,
    models: Annotated[
        str, Option(metavar="NAME,NAME", help="The models to compare, as in `covmis model train`.")
    ] = "majority,bow",
    schemes: SchemesOption = "random,chronological,stratified_chronological",
    as_json: JsonOption = False,
) -> None:
    """Compare models across data splits.

    `given` follows the column split; with `zero_shot` every row is judged, and models learn from --before alone.
    --by-label has the shape of COVMis-Stance's Tables 9 and 12, --by kind that of Table 13. Measures that need an
    order, poles or class weights take them as `covmis evaluate score` does. A table that was stopped goes on where it
    was, if it has --cells.

    Example: covmis model table posts.csv --models majority,mu --cells cells
    """
    with progress() as report:
        compared = covmis.compare_models(data, listed(models), **options.arguments(schemes), progress=report)
    print_result(replace(compared, by_label=options.by_label), as_json=as_json)


@app.command()
@with_options(Comparison)
def ablate(
    data: DataArgument,
    options: Comparison,
    model: Annotated[str, Option("--model", metavar="NAME", help="As in `covmis model train`.")] = "bow",
    schemes: SchemesOption = "random",
    as_json: JsonOption = False,
) -> None:
    """Measure the effect of each part of a model.

    Each dataset of --before is left out in turn (of a mixture with a column part, each part too), then single settings
    are changed: for transformers the order of post and claim (Table 11), class weights, warm-up, the kind of model; for
    bertscore-sbert its threshold, and each of its two steps.

    Example: covmis model ablate posts.csv --model bow --cells cells
    """
    with progress() as report:
        compared = covmis.ablate(data, model, **options.arguments(schemes), progress=report)
    print_result(replace(compared, by_label=options.by_label), as_json=as_json)


@app.command()
@with_options(Questions)
def prompt(
    options: Questions,
    data: PostsArgument = None,
    out: Annotated[Path | None, Option("--out", metavar="FILE", help="What to write.")] = None,
    answers: Annotated[
        Path | None, Option(metavar="FILE", help="Read these answers and write predictions instead.")
    ] = None,
    form: Annotated[
        str, Option("--format", metavar="NAME", help="jsonl, or openai-batch (vLLM's run-batch, too).")
    ] = "jsonl",
    model: Annotated[str, Option("--model", help="Of a batch: the model that is to answer.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Write LLM requests, or read their answers.

    A request shows what annotators are shown. Requests are JSON lines with `item_id`, `template` (a hash) and `messages`,
    or those of a batch. Nothing is sent: posts leave this machine only if you send them. Answers are JSON lines with
    `item_id` and `answer`, or the output of a batch. JSON is read first; free text only where it says one thing; other
    answers are counted and left out. Predictions are never gold, and annotators never see them.

    Example: covmis model prompt --out requests.jsonl
    """
    from covmis_build.models.prompt import Sampling

    if out is None:
        raise InputError("--out names no file", remedy="Name the file to write")
    questions = _questions(options, data)
    if answers is None:
        alone = text_alone(options.show)
        asked = questions.write(out, options.template, form=form, sampling=Sampling(model), text_alone=alone)
    else:
        asked = questions.read(answers, out)
    print_result(asked, as_json=as_json)


@app.command()
@with_options(Questions)
def ask(
    options: Questions,
    url: Annotated[str, Option(help="An OpenAI-compatible address, as http://127.0.0.1:8080/v1.")],
    model: Annotated[str, Option("--model", help="The model, as the server calls it.")],
    journal: Annotated[Path, Option(metavar="FILE", help="Every answer is kept here; a later run goes on.")],
    out: Annotated[Path, Option("--out", metavar="FILE", help="The predictions.")],
    data: PostsArgument = None,
    yes: Annotated[bool, Option("--yes", help="Send it; without, only say what would be sent.")] = False,
    budget: Annotated[int, Option(min=0, help="The most requests of this journal; 0: no limit.")] = 0,
    key_env: Annotated[str, Option(metavar="NAME", help="The environment variable with the key.")] = "",
    temperature: Annotated[float, Option(min=0, max=2, help="Of sampling.")] = 0.0,
    max_tokens: Annotated[int, Option(min=1, help="The longest answer.")] = 400,
    seed: Annotated[int, Option(help="Each item's own seed follows from it.")] = 0,
    free_text: Annotated[bool, Option("--free-text", help="Do not send the schema of answers.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Send items to an LLM server and save the answers.

    Without --yes it says what would be sent to whom, and sends nothing. A run that was stopped goes on where it was; no
    item is asked about again once it is answered. The answers are read as `covmis model prompt --answers` reads them.

    Example: covmis model ask --url http://127.0.0.1:8080/v1 --model qwen --journal answers.jsonl --out predictions.csv --yes
    """
    from covmis_build.models.asking import Server
    from covmis_build.models.prompt import Sampling
    from covmis_build.study.prompt import key_of

    questions, server = _questions(options, data), Server(url, key_of(key_env))
    count = len(questions.items)
    warn(f"People's words go to {url} (model {model}): {counted(count, 'posts')} with their claims.")
    if not yes:
        tell({"sent": 0, "items": count}, ["Nothing was sent. Add --yes to send."], as_json=as_json)
        return
    with progress() as report:
        asked = questions.ask(
            server, Sampling(model, temperature, max_tokens, seed), journal, budget=budget, template=options.template,
            text_alone=text_alone(options.show), with_schema=not free_text, progress=report,
        )  # fmt: skip
    answered = questions.read(journal, out)
    tell(asked.to_dict() | answered.to_dict(), [*asked.summary, *answered.summary], as_json=as_json)
    if asked.left:
        raise Exit(3)


@app.command()
def admit(
    predictions: Annotated[
        Path, Argument(metavar="FILE", help="The machine's labels: item_id and prediction.")
    ],
    epsilon: Annotated[
        float,
        Option(
            min=0,
            max=0.99,
            help=".2 for experts, .15 for skilled people, .1 for a crowd; fix it before you look.",
        ),
    ],
    name: Annotated[str, Option(help="What the machine is called in the record.")],
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Test whether a model can replace an annotator.

    The alternative annotator test (Calderon et al. 2025).

    Each person is left out in turn, and machine and person are compared with the other people. A small ε is strict: at
    288 items, ε = .2 admits a machine with twice the people's error 94 times of 100, ε = .1 twice. The test on claims'
    sums decides from ten claims on: errors that come claim by claim make the test by items too sure. A machine's first
    ε is kept in annotation/admissions.jsonl; another one is refused afterwards.

    Example: covmis model admit predictions.csv --epsilon 0.1 --name my-model
    """
    admission = covmis.open_study(study).admit(predictions, name=name, epsilon=epsilon)
    tell(admission.to_dict(), admission.summary(), as_json=as_json)
    if not admission.passed:
        raise Exit(1)


def _questions(options: Questions, data: Path | None) -> Any:
    from covmis_build.study import prompt

    study = covmis.open_study(options.study) if data is None or options.study is not None else None
    return prompt.Questions.of(study, data, listed(options.labels))


def _maps(maps: list[str] | None) -> dict[str, str]:
    return pairs_of("--map", maps, "OLD=NEW, like entailment=favor")
