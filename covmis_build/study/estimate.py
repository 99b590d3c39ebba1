"""Estimating: gold of the rounds, the items they were drawn from, and perhaps predictions; rooms are called in order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from covmis_build import storage
from covmis_build.annotation import round_folder
from covmis_build.annotation.gold import check_seals, decisions_of, undecided_items
from covmis_build.annotation.label_sets import unknown_meaning
from covmis_build.annotation.looks import after_a_look
from covmis_build.annotation.newest import newest, scheme_of_rounds
from covmis_build.corpus.convert import corpus_file, read_corpus
from covmis_build.corpus.design import drawn_of
from covmis_build.engine import silent
from covmis_build.errors import InputError, counted, nearest
from covmis_build.estimation.checks import said_by_rules
from covmis_build.estimation.differences import LABEL, compared_parts
from covmis_build.estimation.label_error import answers_table
from covmis_build.estimation.page import check_formats, written
from covmis_build.estimation.parts import with_parts
from covmis_build.estimation.predictions import Predictions, check_not_leaked, cross_fitted, predictions_for
from covmis_build.estimation.regression import (
    FORMATS,
    Formula,
    Regression,
    Sampled,
    regression,
    with_covariates,
)
from covmis_build.estimation.scopes import check_scopes, untimed
from covmis_build.estimation.shares import WEIGHTS, Estimates, estimates, with_chances
from covmis_build.estimation.unlabelled import with_bounds
from covmis_build.evaluation.label_files import read_rows
from covmis_build.records import Estimand
from covmis_build.sampling import audit as audits
from covmis_build.sampling.ledger import read_ledger
from covmis_build.stats.over_posts import MOST_EXPLAINED
from covmis_build.stats.regression import LOGISTIC
from covmis_build.study.labelled import labelled_items
from covmis_build.study.later_labels import with_later_labels
from covmis_build.study.population import Frame, Population, frame_of, pool_of, population_of
from covmis_build.study.recall_report import report_of_rounds
from covmis_build.study.round_settings import settings_of_rounds, with_all_draws

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Sequence

    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.corpus.design import Drawn
    from covmis_build.engine import Progress
    from covmis_build.options import Sampling
    from covmis_build.settings import Settings
    from covmis_build.study.of_study import OfStudy

COUNTED = {str(each): each.in_words for each in (Estimand.UNIQUE_POSTS, Estimand.POSTS)}
"""What shares of a sample can be of, and its name for people."""
FOLDS = 5
"""Parts of the claims when a model is cross-fitted."""


def estimate(  # noqa: PLR0913 - every option is named
    study: OfStudy,
    *,
    by: str | Sequence[str] | None = None,
    assisted_by: pd.DataFrame | Path | str | None = None,
    corpus: Path | str | None = None,
    elsewhere: bool = False,
    population: str = str(Population.TODAY),
    between: Sequence[str] | None = None,
    before: str | dt.date = "",
    after: str | dt.date = "",
    level: float = 0.95,
    out: Sequence[Path] = (),
    run: bool = False,
    progress: Progress = silent,
) -> Estimates:
    """The share and total of each label among the posts found, from the rounds' gold and probabilities.

    `assisted_by` are predictions for every item of the pool, or a model's folder; `elsewhere` says that the model
    never saw this study's labels. Otherwise predictions tell their folds, and a folder's kind of model is trained again
    for each part of the claims on the others. `corpus` is a release of this study, in place of gold. `population` is today's
    posts, or those of the draws. `between` compares two parts (`claim:1`, `kind:title`) or two labels
    (`label:favor`); `before` a day, with what was posted from then on, or from `after` on.
    """
    check_formats(out)
    scopes, whose = check_scopes(by), population_of(population)
    if run or study.places.table("sample").exists():
        study.need_current(run=run, progress=progress)
    rounds = round_folder.all_rounds(study.places.rounds)
    settings, frame, warnings = _asked(study, rounds, whose, corpus)
    sets, _ = scheme_of_rounds(rounds, study.settings.labels.changes)
    compared = compared_parts(between, before, after, labels=settings.labels.values)
    for part in compared or ():
        sets.check_everywhere(part.name if part.scope == LABEL else "")
    predictions = None
    if assisted_by is not None:
        predictions = _predictions(study, assisted_by, frame, settings, elsewhere=elsewhere)
    figures = figures_of(
        study.places.rounds,
        rounds,
        frame,
        settings,
        by=scopes,
        level=level,
        predicted=None if predictions is None else predictions.shares,
        between=compared,
    )
    if recall_rounds := round_folder.rounds_of_kind(study.places.rounds, round_folder.RoundKind.RECALL):
        report = report_of_rounds(recall_rounds, study.gold(), settings.labels, study.places, level=level)
        figures = figures.with_frame(report)
    warnings += untimed(scopes, frame.labelled["created_at"].fillna(""))
    if (figures.shares["r_squared"] >= MOST_EXPLAINED).any():
        warnings.append(
            "the predictions explain almost all of some share's variance, which hardly any model does: make sure that it "
            "has not seen these labels"
        )
    warnings += predictions.warnings if predictions else ()
    figures = replace(figures, warnings=(*figures.warnings, *warnings))
    return written(figures, out, title=study.settings.title)


def _asked(
    study: OfStudy, rounds: Sequence[RoundFolder], population: Population, corpus: Path | str | None = None
) -> tuple[Settings, Frame, list[str]]:
    """The settings that these rounds were drawn with, the labelled posts of this population, and what to warn of."""
    settings, differences = settings_of_rounds(study.settings, rounds)
    frozen = with_all_draws(study.places.rounds, rounds, study.settings.labels.changes)
    if corpus is None:
        labelled = labelled_items(study)
    else:
        check_seals(rounds)
        labelled = read_corpus(corpus_file(Path(corpus)))
    frame = frame_of(population, as_drawn(labelled, frozen), frozen, pool_of(study), rounds, study.places)
    warnings = [
        f"{difference}; the estimates are for the settings that the rounds were drawn with"
        for difference in differences
        if difference.setting.startswith(("[sampling]", "[labels] automatic"))
    ]
    warnings += unknown_meaning(rounds, study.settings.labels)
    return settings, frame, [*warnings, *provisional(rounds)]


def provisional(rounds: Sequence[RoundFolder]) -> list[str]:
    """Which rounds have posts without a final label, and what that means for estimates: a warning each."""
    return [
        f"{len(waiting):,} of {counted(len(round_.items()), 'posts')} of round {round_.number} have no final label. The labelled "
        "posts are not a random sample, so these estimates may be biased, especially towards automatic labels. Finish the round"
        for round_ in rounds
        if not round_.pilot and (waiting := undecided_items(round_.items(), decisions_of(round_)))
    ]


def as_drawn(labelled: pd.DataFrame, frozen: pd.DataFrame) -> pd.DataFrame:
    """The labelled items with how they were drawn, as the rounds have it; a release of others as it is."""
    frozen = frozen[~frozen["pilot"].astype(bool)]
    if not set(labelled["item_id"]) <= set(frozen["item_id"]):
        return labelled
    known = frozen.drop_duplicates("item_id").set_index("item_id").reindex(labelled["item_id"])
    names = ("design", "automatic_label", "p_sample", "p_audit")
    return labelled.assign(**{name: known[name].to_numpy() for name in names})


def figures_of(
    folder: Path,
    rounds: Sequence[RoundFolder],
    frame: Frame,
    settings: Settings,
    **how: Any,
) -> Estimates:
    """The one estimate of these rounds' gold: `covmis estimate` prints it, and a release's card, methods and statistics."""
    # Disputed posts are not in `labelled` yet: without them, annotators would seem to agree on everything.
    newest_answers = newest(rounds, settings.labels.changes)
    answers = None if provisional(rounds) else answers_table(newest_answers.said_by_people())
    draws = read_ledger(folder)
    figures = estimates(
        frame.labelled,
        settings.labels.values,
        settings.sampling,
        automatic=settings.labels.automatic,
        pool=frame.posts,
        answers=answers,
        draws=draws,
        apart=[label.name for label in newest_answers.sets.later],
        **how,
    )
    figures = with_bounds(figures, frame.labelled, frame.missing, settings.sampling, frame.posts, draws)
    figures = with_later_labels(
        figures, newest_answers, frame.labelled, settings, pool=frame.posts, draws=draws
    )
    return replace(
        figures,
        population=str(frame.population),
        methods=(frame.statement, *figures.methods),
        warnings=(*frame.notes, *after_a_look(rounds), *figures.warnings),
    )


def design_of_frame(frame: Frame, rounds: Sequence[RoundFolder], options: Sampling, folder: Path) -> Drawn:
    """Return the posts that the labelled ones of this population represent, as a release tells of them."""
    pool = frame.posts
    if pool is not None and set(frame.labelled["item_id"]) <= set(pool["item_id"]):
        pool = with_chances(pool, frame.labelled, options, read_ledger(folder))
    complete = not provisional(rounds)
    return drawn_of(frame.labelled, pool, frame.missing, complete=complete, by=options.strata_by)


def _predictions(
    study: OfStudy,
    given: pd.DataFrame | Path | str,
    frame: Frame,
    settings: Settings,
    *,
    elsewhere: bool,
) -> Predictions:
    pool, labelled = frame.posts, frame.labelled
    if pool is None:
        raise InputError(
            "predictions need the items that were drawn from, and data/build has none",
            remedy="Run `covmis run` first",
        )
    registered = not isinstance(given, pd.DataFrame) and _is_registered(study, Path(given))
    elsewhere = elsewhere or registered
    file = given if isinstance(given, str | Path) else ""
    if not isinstance(given, str | Path):
        table = given
    elif Path(given).is_dir():
        table = _predicted_by(study, Path(given), pool, labelled, settings.labels.values, elsewhere=elsewhere)
    else:
        table = read_rows(Path(given)).frame()
    predictions = predictions_for(pool, table, settings.labels.values, elsewhere=elsewhere, file=file)
    cross_fitted_here = isinstance(given, str | Path) and Path(given).is_dir() and not elsewhere
    if not cross_fitted_here and not registered:
        check_not_leaked(predictions.shares, labelled, file=file)
    return predictions


def _is_registered(study: OfStudy, file: Path) -> bool:
    """Whether this very file was there before the first label: its hash was noted when a round was opened, at the latest the first that counts."""
    rounds = round_folder.all_rounds(study.places.rounds)
    first = next((round_.number for round_ in rounds if not round_.pilot), "")
    noted = {
        sha256
        for round_ in rounds
        if round_.number <= first
        for sha256 in (round_.about.predictions or {}).values()
    }
    return bool(noted) and file.is_file() and storage.sha256_of(file) in noted


def _predicted_by(
    study: OfStudy,
    folder: Path,
    pool: pd.DataFrame,
    labelled: pd.DataFrame,
    labels: Sequence[str],
    *,
    elsewhere: bool,
) -> pd.DataFrame:
    """What a model's folder says of the pool: the model as it is, if it was trained elsewhere.

    Otherwise models of its kind and settings, each trained on the claims that it does not predict: cross-fitted.
    """
    from covmis_build.models.predict import predict
    from covmis_build.models.stored import load
    from covmis_build.models.train import train

    model = load(folder)
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


def regress(  # noqa: PLR0913 - every option is named
    study: OfStudy,
    formula: str,
    *,
    family: str = LOGISTIC,
    over: str = "claims",
    of: str = str(Estimand.UNIQUE_POSTS),
    assisted_by: pd.DataFrame | Path | str | None = None,
    elsewhere: bool = False,
    covariates: pd.DataFrame | Path | str | None = None,
    population: str = str(Population.TODAY),
    level: float = 0.95,
    out: Sequence[Path] = (),
    run: bool = False,
    progress: Progress = silent,
) -> Regression:
    """Which posts have a label, by what is known of them: `formula` is such as "favor ~ platform + month".

    Covariates are claim, kind, platform, year, month, day, group_size, and the columns of `covariates` (a table with
    item_id, post_id or claim_id). Errors are over claims like these, or over the posts of this pool. `of` counts each
    message once, or as often as it was posted. `assisted_by` and `population` are those of `estimate`.
    """
    check_formats(out, FORMATS)
    whose = population_of(population)
    of = str(Estimand.UNIQUE_POSTS) if of == "messages" else of  # its name in 0.2
    if of not in COUNTED:
        raise InputError(f"of = {of!r}", remedy=nearest(of, COUNTED))
    if run or study.places.table("sample").exists():
        study.need_current(run=run, progress=progress)
    rounds = round_folder.all_rounds(study.places.rounds)
    settings, frame, warnings = _asked(study, rounds, whose)
    labelled, pool = frame.labelled, frame.posts
    predictions = None
    if assisted_by is not None:
        predictions = _predictions(study, assisted_by, frame, settings, elsewhere=elsewhere).shares
    rows = (
        labelled
        if predictions is None or pool is None
        else pool.set_index("item_id").loc[predictions.index].reset_index()
    )
    table = read_rows(Path(covariates)).frame() if isinstance(covariates, str | Path) else covariates
    rows = with_covariates(with_parts(rows), table)
    asked = Formula.read(formula, settings.labels.values, list(rows.columns))
    scheme_of_rounds(rounds, study.settings.labels.changes)[0].check_everywhere(asked.label)
    gold = labelled.set_index("item_id").reindex(rows["item_id"])
    known = gold["label"].notna().to_numpy()
    figures = figures_of(study.places.rounds, rounds, frame, settings)
    weight = figures.weights[WEIGHTS[Estimand(of)]].to_numpy(float)
    sample = figures.samples[Estimand(of)]
    audit = audits.audit_of(labelled, settings.labels.automatic, weight)
    y, rule = (audit.labels == asked.label).astype(float), said_by_rules(audit, asked.label)
    told = pd.Series(sample.phase.values(y, rule), labelled["item_id"]).reindex(rows["item_id"])
    places = np.asarray(pd.Index(rows["item_id"]).get_indexer(pd.Index(labelled["item_id"])), dtype=np.intp)
    sampled = Sampled(places, sample.design, sample.expected, sample.phase, sample.people, y, rule)
    sizes = 1 / rows["p_claim"].to_numpy(float)
    if of == Estimand.POSTS:
        sizes = sizes * rows["group_size"].to_numpy(float)
    if predictions is None:
        # Weights as for shares. With predictions all posts count, and their number needs no estimate.
        sizes = weight * gold["p_sample"].to_numpy(float)
    fitted = regression(
        asked,
        np.asarray(told, dtype=np.float64),
        rows,
        labelled=known,
        chances=gold["p_sample"].fillna(1.0).to_numpy(float),
        sizes=sizes,
        predicted=None if predictions is None else predictions[asked.label].to_numpy(float),
        sampled=sampled,
        family=family,
        over=over,
        level=level,
    )
    warnings = [*figures.warnings, *warnings]
    fitted = replace(fitted, population=str(whose), statement=frame.statement, warnings=tuple(warnings))
    for path in out:
        fitted.write(path)
    return replace(fitted, files=tuple(map(str, out)))
