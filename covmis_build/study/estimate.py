"""Estimating: gold of the rounds, the items they were drawn from, and perhaps predictions; rooms are called in order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from covmis_build import storage
from covmis_build.annotation import round_folder
from covmis_build.annotation.frozen_items import frozen_items
from covmis_build.annotation.gold import check_seals, gold_of, said_by_people, undecided_items
from covmis_build.building.purge import read_list
from covmis_build.corpus.convert import read_corpus
from covmis_build.corpus.release import make_corpus
from covmis_build.engine import silent
from covmis_build.errors import InputError
from covmis_build.estimation.label_error import answers_table
from covmis_build.estimation.predictions import Predictions, cross_fitted, predictions_for
from covmis_build.estimation.scopes import check_scopes
from covmis_build.estimation.shares import Estimates, estimates
from covmis_build.evaluation.label_files import read_rows
from covmis_build.options import RANKED
from covmis_build.study.beside import pool_of
from covmis_build.study.recall import report_of_rounds
from covmis_build.study.release import with_all_draws
from covmis_build.study.round_settings import settings_of_rounds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.engine import Progress
    from covmis_build.study.study import Study

FOLDS = 5
"""Parts of the claims when a model is cross-fitted."""


def estimate(  # noqa: PLR0913 - every option is named
    study: Study,
    *,
    by: str | Sequence[str] | None = None,
    assisted_by: pd.DataFrame | Path | str | None = None,
    corpus: Path | str | None = None,
    elsewhere: bool = False,
    calibrated: bool = False,
    level: float = 0.95,
    run: bool = False,
    progress: Progress = silent,
) -> Estimates:
    """The share and total of each label among the posts found, from the rounds' gold and probabilities.

    `assisted_by` are predictions for every item of the pool, or a model's folder; `elsewhere` says that the model
    never saw this study's labels. Otherwise predictions tell their folds, and a folder's kind of model is trained anew
    for each part of the claims on the others. `corpus` is a release of this study, in place of gold. `calibrated` weights meet
    the known number of posts of each kind.
    """
    scopes = check_scopes(by)
    if run or study.places.table("sample").exists():
        study.need_current(run=run, progress=progress)
    rounds = round_folder.all_rounds(study.places.rounds)
    settings, differences = settings_of_rounds(study.settings, rounds)
    frozen = with_all_draws(frozen_items(study.places.rounds), rounds)
    frozen = frozen[~frozen["pilot"].astype(bool)]
    if corpus is None:
        if not rounds:
            raise InputError(
                "no round has been opened yet",
                remedy="`covmis round open` makes one, `covmis status` says what is next",
            )
        purged = read_list(study.places.purge_csv).posts
        # gold refuses a round that is not as it was sealed
        labelled = make_corpus(gold_of(rounds), frozen, study.settings.release, purged=purged)
    else:
        check_seals(rounds)
        labelled = read_corpus(corpus)
    if set(labelled["item_id"]) <= set(frozen["item_id"]):
        known = frozen.drop_duplicates("item_id").set_index("item_id").reindex(labelled["item_id"])
        drawn = {name: known[name].to_numpy() for name in ("design", "automatic_label", "p_sample")}
        labelled = labelled.assign(**drawn)
    pool = pool_of(study)
    if pool is not None:  # a post that a query finds since it was drawn by its rank is in that query's part
        now = dict(zip(pool["item_id"], pool["kind"], strict=True))
        kinds = zip(labelled["item_id"], labelled["kind"], strict=True)
        labelled = labelled.assign(
            kind=[now.get(item, kind) if kind == RANKED else kind for item, kind in kinds]
        )
    predictions = None
    if assisted_by is not None:
        predictions = _predictions(study, assisted_by, pool, labelled, elsewhere=elsewhere)
    figures = estimates(
        labelled, study.settings.labels.values, settings.sampling,
        automatic=settings.labels.automatic, pool=pool, by=scopes, level=level,
        predicted=None if predictions is None else predictions.shares, answers=_answers(rounds),
        calibrated=calibrated,
    )  # fmt: skip
    if recall_rounds := round_folder.rounds_of_kind(study.places.rounds, round_folder.RoundKind.RECALL):
        report = report_of_rounds(recall_rounds, study.gold(), settings.labels, level=level)
        figures = figures.with_frame(report)
    warnings = [
        f"{difference}; the estimates are for the settings that the rounds were drawn with"
        for difference in differences
        if difference.setting.startswith(("[sampling]", "[labels] automatic"))
    ]
    warnings += [
        f"posts of round {round_.number} have no label yet ({len(waiting):,} of {len(round_.items()):,}), and those that have "
        "one are no sample of it: the figures lean on them, automatic labels above all. Finish the round"
        for round_ in rounds
        if not round_.pilot and (waiting := undecided_items(round_))
    ]
    return replace(figures, warnings=(*warnings, *(predictions.warnings if predictions else ())))


def _answers(rounds: Sequence[RoundFolder]) -> pd.DataFrame:
    """What people said of each item on their own, in rounds that count."""
    given = [(item, label) for item, labels in said_by_people(rounds).items() for label in labels]
    return answers_table([item for item, _ in given], [label for _, label in given])


def _predictions(
    study: Study,
    given: pd.DataFrame | Path | str,
    pool: pd.DataFrame | None,
    labelled: pd.DataFrame,
    *,
    elsewhere: bool,
) -> Predictions:
    if pool is None:
        raise InputError(
            "predictions need the items that were drawn from, and data/build has none",
            remedy="Run `covmis run` first",
        )
    inside = pool[pool["claim_id"].isin(set(labelled["claim_id"]))]
    file = given if isinstance(given, str | Path) else ""
    if not isinstance(given, str | Path):
        table = given
    elif Path(given).is_dir():
        table = _predicted_by(study, Path(given), inside, labelled, elsewhere=elsewhere)
    else:
        table = read_rows(Path(given)).frame()
    return predictions_for(inside, table, study.settings.labels.values, elsewhere=elsewhere, file=file)


def _predicted_by(
    study: Study, folder: Path, pool: pd.DataFrame, labelled: pd.DataFrame, *, elsewhere: bool
) -> pd.DataFrame:
    """What a model's folder says of the pool: the model as it is, if it was trained elsewhere.

    Otherwise models of its kind and settings, each trained on the claims that it does not predict: cross-fitted.
    """
    from covmis_build.models.predict import predict
    from covmis_build.models.stored import load
    from covmis_build.models.train import train

    model, labels = load(folder), study.settings.labels.values  # noqa: PD011 - a setting of ours
    posts = storage.read_columns(study.places.table("posts"), ["post_id", "text"])
    claims = storage.read_columns(study.places.table("claims"), ["claim_id", "text"])
    texts = pool[["item_id", "claim_id", "post_id"]].merge(posts, on="post_id")
    texts = texts.merge(claims.rename(columns={"text": "claim"}), on="claim_id")
    if elsewhere:
        return predict(model, texts)
    known = texts.merge(labelled[["item_id", "label"]], on="item_id")

    def trained(rows: pd.DataFrame) -> Callable[[pd.DataFrame], pd.DataFrame]:
        return train(rows, model.options, labels=labels).predict

    predictions = cross_fitted(known, texts, trained, folds=FOLDS, seed=study.settings.seed)
    return predictions.drop(columns=["prediction"])
