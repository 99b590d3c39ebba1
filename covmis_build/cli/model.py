"""`covmis model …`: how hard is the corpus? Majority, linear models, transformers, and a language model's answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

import covmis_build as covmis
from covmis_build.cli.command import Commands
from covmis_build.cli.console import StudyOption
from covmis_build.cli.options import (
    LabelsOption,
    OrderOption,
    PolesOption,
    ShowOption,
    WeightsOption,
    listed,
    numbers,
    pairs_of,
    scheme_of,
    text_alone,
)
from covmis_build.cli.verbs import verbs
from covmis_build.engine import Progress, silent
from covmis_build.errors import InputError
from covmis_build.report.result import PlainResult, Result

if TYPE_CHECKING:
    from covmis_build.study.prompt import Questions as Asking

app = Commands(help="Train baselines, prompt LLMs, test LLM annotators.", no_args_is_help=True)

DataArgument = Annotated[
    Path,
    Argument(metavar="DATA", help="Posts: a table with text, label and, for pairs, target or claim."),
]
PostsArgument = Annotated[
    Path | None,
    Argument(metavar="DATA", help="Posts and claims (default: the study's frozen items)."),
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
    """How models are compared."""

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
        Path | None, Option(metavar="DIR", help="Folder for finished trainings; reused by later runs.")
    ] = None

    def arguments(self, schemes: str) -> dict[str, Any]:
        """The arguments that `compare_models` and `ablate` share."""
        labels = scheme_of(self.labels, self.order, self.poles, self.class_weights)
        return {
            "settings": self.settings,
            "before": self.before or (),
            "maps": _maps(self.maps),
            "labels": labels.values,
            "schemes": listed(schemes),
            "wanted": listed(self.measures),
            "order": labels.order,
            "poles": labels.poles,
            "class_weights": labels.class_weights,
            "by": self.by,
            "folds": self.folds,
            "seeds": self.seeds,
            "seed": self.seed,
            "cells": self.cells,
            "text_alone": text_alone(self.show),
        }


@dataclass(frozen=True)
class Questions:
    """Items and template."""

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
        Path | None, Option(metavar="MODEL", help="Continue training this transformer model.")
    ] = None,
    before: BeforeOption = None,
    maps: MapOption = None,
    show: ShowOption = "",
    progress: Progress = silent,
) -> Result:
    """Train a baseline model.

    Transformers need `--set path=NAME`. An interrupted training resumes with the same command.

    `bertscore` and `bertscore-sbert` need `--set unrelated=LABEL` for posts with a BERTScore below `--set threshold=0.4`.
    `nli` needs no training, or uses `--set shots=8` rows per label. With --dev, `--set patience=2` stops early.

    `--before` trains on other data first, in this order; `--map` translates their labels. The classification head is kept
    if the labels are the same. More: docs/guides/models.md.

    Example: covmis model train train.csv --model bow --dev dev.csv --out models/bow
    """
    trained = covmis.train(
        data,
        model,
        out=out,
        settings=settings,
        labels=scheme_of(labels).values,
        dev=dev,
        choose=numbers(choose, "--choose", float),
        measure=measure,
        poles=listed(poles),
        start=start,
        before=before or (),
        maps=_maps(maps),
        text_alone=text_alone(show),
        progress=progress,
    )
    wrote = f"Wrote {out}/. Next: `covmis model predict {out} DATA --out FILE`."
    return PlainResult({"model": str(out), **trained.to_dict()}, [*trained.summary, wrote])


@app.command()
def predict(
    model: Annotated[Path, Argument(metavar="MODEL", help="A folder of `covmis model train`.")],
    data: Annotated[Path, Argument(metavar="DATA", help="Posts; labels are not looked at.")],
    out: Annotated[Path, Option("--out", metavar="FILE", help="The CSV file to write.")],
    errors: Annotated[
        Path | None, Option(metavar="FILE", help="Also a page on the errors (.html); DATA needs labels.")
    ] = None,
    show: ShowOption = "",
) -> Result:
    """Predict labels with a trained model.

    With --errors, a page shows the most confident errors of each label, and accuracy by shared words and by kind of
    query. It has the posts' texts in it.

    Example: covmis model predict models/bow test.csv --out predictions.csv
    """
    count = len(covmis.predict(model, data, out=out, errors=errors, text_alone=text_alone(show)))
    page = str(errors) if errors is not None else None
    words = [f"Wrote {count:,} predictions to {out}."]
    words += [f"Wrote {page}. It has texts of posts in it: do not publish it."] if page else []
    return PlainResult({"predictions": count, "file": str(out), "errors_page": page}, words)


@app.command()
def compare(
    data: DataArgument,
    options: Comparison,
    models: Annotated[
        str | None,
        Option(
            "--models",
            "--model",
            metavar="NAME,NAME",
            help="As in `covmis model train` (default: majority,bow; with --ablate: bow).",
        ),
    ] = None,
    schemes: Annotated[
        str,
        Option(
            metavar="A,B",
            help="random, chronological, stratified_chronological, leave_one_out, given, zero_shot (default: the first three; with --ablate: random).",
        ),
    ] = "",
    ablate: Annotated[
        bool, Option("--ablate", help="Instead: one model without each of its parts in turn.")
    ] = False,
    progress: Progress = silent,
) -> Result:
    """Compare models, or a model without each of its parts.

    `given` uses the column split. With `zero_shot`, models learn from --before only and label every row. With --cells, an
    interrupted comparison resumes.

    --ablate omits each dataset of --before in turn, and each value of its column part. Then it changes one setting at a time:
    for transformers the order of post and claim, class weights, warm-up and model; for bertscore-sbert its threshold and
    its two steps.

    Example: covmis model compare posts.csv --models majority,mu --cells cells
    """
    names = listed(models or "")
    if ablate:
        if len(names) > 1:
            raise InputError("--ablate takes one model", remedy=f"Name one: --models {names[0]}")
        how = options.arguments(schemes or "random")
        compared = covmis.ablate(data, *names, **how, progress=progress)
    else:
        how = options.arguments(schemes or "random,chronological,stratified_chronological")
        compared = covmis.compare_models(data, *([] if models is None else [names]), **how, progress=progress)
    return replace(compared, by_label=options.by_label)


@app.command()
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
    model: Annotated[str, Option("--model", help="With openai-batch: the model that answers.")] = "",
) -> Result:
    """Write LLM requests, or read their answers.

    A request contains what annotators see. Nothing is sent: posts leave this computer only if you send them. Requests are
    JSON lines with `item_id`, `template` (a hash) and `messages`, or a batch. Answers are JSON lines with `item_id` and
    `answer`, or the output of a batch. Answers without a clear label are counted and not used.

    Example: covmis model prompt --out requests.jsonl
    """
    from covmis_build.models.prompt import Sampling

    if out is None:
        raise InputError("--out names no file", remedy="Name the file to write")
    questions = _questions(options, data)
    if answers is not None:
        return questions.read(answers, out)
    alone = text_alone(options.show)
    return questions.write(out, options.template, form=form, sampling=Sampling(model), text_alone=alone)


verbs(app, "model")


def _questions(options: Questions, data: Path | None) -> Asking:
    from covmis_build.study import prompt

    study = covmis.open_study(options.study) if data is None or options.study is not None else None
    return prompt.Questions.of(study, data, list(scheme_of(options.labels).values))


def _maps(maps: list[str] | None) -> dict[str, str]:
    return pairs_of("--map", maps, "OLD=NEW, like entailment=favor")
