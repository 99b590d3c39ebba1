"""Predictions for every item of the target population: checked and aligned with the labels.

Predictions must not come from a model trained on the labels that they assist: the estimate's interval would be too
narrow. They must come from elsewhere (as the user declares), or be cross-fitted: each claim's predictions come from a
model that did not see that claim.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from covmis_build import keyed
from covmis_build.errors import InputError, nearest
from covmis_build.stats.over_posts import made_design, mean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    Train = Callable[[pd.DataFrame], Callable[[pd.DataFrame], pd.DataFrame]]

LABEL_COLUMNS = ("prediction", "predicted", "label")
FOLD = "fold"
"""Column with the fold of claims that the predicting model did not see."""


PLACEBO = 0.999
"""Level of the placebo test: valid predictions fail it with probability 0.001."""


@dataclass(frozen=True, slots=True)
class Predictions:
    """Each item's predicted probability of each label (index item_id), and warnings."""

    shares: pd.DataFrame
    warnings: tuple[str, ...] = ()


def predictions_for(
    pool: pd.DataFrame,
    frame: pd.DataFrame,
    labels: Sequence[str],
    *,
    elsewhere: bool = False,
    file: Path | str = "",
) -> Predictions:
    """Return the predictions of `frame` for every item of the population (columns item_id, post_id, claim_id).

    `frame` has item_id or post_id, and a number from 0 to 1 per label in p_<label> or <label>; or a column of predicted
    labels. `elsewhere` declares that the system never saw this study's labels. Otherwise the column `fold` is required: all
    posts of a claim are in one fold, and its model was trained on the others.
    """
    key = next((name for name in ("item_id", "post_id") if name in frame.columns), "")
    if not key:
        raise InputError(
            "has no column item_id", file=file, remedy="Give each prediction its item_id or post_id"
        )
    ids = frame[key].astype(str)
    if (again := ids.duplicated()).any():
        raise InputError(f"has {ids[again].iloc[0]} twice", file=file, remedy="Keep one row per item")
    if not elsewhere and FOLD not in frame.columns:
        raise InputError(
            "does not say what its model was trained on",
            file=file,
            remedy="Say elsewhere = true (--trained-elsewhere) if it never saw this study's labels; otherwise cross-fit by claim and "
            "name each row's part of the claims in a column 'fold'",
        )
    shares = _shares(frame, labels, file).set_axis(ids)
    wanted = pool[key].astype(str)
    missing = wanted[~wanted.isin(set(ids))]
    if len(missing):
        raise InputError(
            f"has no prediction for {len(missing):,} of {len(pool):,} items, the first is {missing.iloc[0]}",
            file=file,
            remedy="A missing prediction is not one of 0.5: predict every item of data/build/items.parquet",
        )
    if not elsewhere:
        _check_folds(
            pool["claim_id"].astype(str), frame[FOLD].astype(str).set_axis(ids).reindex(wanted), file
        )
    outside = len(set(ids) - set(wanted))
    warnings = (
        (f"{outside:,} predictions are for posts outside the pool; they count for nothing",)
        if outside
        else ()
    )
    return Predictions(shares.reindex(wanted).set_axis(pool["item_id"].astype(str)), warnings)


def check_not_leaked(shares: pd.DataFrame, labelled: pd.DataFrame, *, file: Path | str = "") -> None:
    """Refuse predictions of a model trained on the labels that they assist, by a placebo test.

    Valid predictions are a property of the population like any other. So the known population shares of each predicted
    label, and of its most confident half and tenth, lie in the sample's interval (99.9%, Bonferroni). A model that saw the
    labelled posts is more confident there. `shares` are the population's (index item_id); `labelled` has item_id, p_sample, p_claim.
    """
    sure, said = shares.max(axis=1), shares.to_numpy().argmax(axis=1)
    marks = {f"the share predicted {label}": said == at for at, label in enumerate(shares.columns)}
    marks |= {
        f"the share of the surest {part} of the posts": (sure > sure.quantile(1 - size)).to_numpy()
        for part, size in (("half", 0.5), ("tenth", 0.1))
    }
    marks = {name: mark for name, mark in marks.items() if 0 < mark.mean() < 1}
    place = shares.index.get_indexer(pd.Index(labelled["item_id"]))
    chances = (labelled["p_sample"] * labelled["p_claim"]).to_numpy(float)[place >= 0]
    for name, mark in marks.items():
        figure = mean(mark[place[place >= 0]].astype(float), made_design(chances))
        low, high = figure.ends(1 - (1 - PLACEBO) / len(marks))
        if mark.mean() < low or mark.mean() > high:
            raise InputError(
                f"fails the placebo test: {name} is {mark.mean():.1%} in the pool, and {figure.value:.1%} as the labelled "
                f"posts have it ({low:.1%} to {high:.1%}). The model has seen these labels",
                file=file,
                remedy="Give a model's folder: covmis trains it by claim, each on the others (--assisted-by FOLDER)",
            )


def _shares(frame: pd.DataFrame, labels: Sequence[str], file: Path | str) -> pd.DataFrame:
    """Return a column of probabilities per label; a predicted label has probability 1."""
    columns = [
        next((name for name in (f"p_{label}", label) if name in frame.columns), "") for label in labels
    ]
    if all(columns):
        shares = pd.DataFrame(
            {
                label: pd.to_numeric(frame[name], errors="coerce")
                for label, name in zip(labels, columns, strict=True)
            }
        )
        wrong = ~((shares >= 0) & (shares <= 1)).all(axis=1)
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0]) + 2
            raise InputError("has a probability that is no number from 0 to 1", file=file, row=row)
        return shares
    hard = next((name for name in LABEL_COLUMNS if name in frame.columns), "")
    if not hard:
        raise InputError(
            f"has no predictions of {', '.join(labels)}",
            file=file,
            remedy=f"Give the columns {', '.join(f'p_{label}' for label in labels)}, or 'prediction'",
        )
    said = frame[hard].astype(str).str.strip()
    for row, label in enumerate(said, 2):
        if label not in labels:
            raise InputError(
                f"has the unknown label '{label}'", file=file, row=row, remedy=nearest(label, labels)
            )
    return pd.DataFrame({label: (said == label).astype(float) for label in labels})


def _check_folds(claims: pd.Series, folds: pd.Series, file: Path | str) -> None:
    """Refuse folds that split a claim: the model would have been trained on some of its posts."""
    parts = folds.to_frame("fold").assign(claim=claims.to_numpy()).groupby("claim")["fold"].nunique()
    if (divided := parts > 1).any():
        raise InputError(
            f"divides claim {parts.index[divided][0]} among folds",
            file=file,
            remedy="Keep all posts of a claim in one fold: its model must not have seen the claim",
        )
    if folds.nunique() < 2:
        raise InputError(
            "has one fold: its model saw what it predicts",
            file=file,
            remedy="Divide the claims into two or more",
        )


def cross_fitted(
    labelled: pd.DataFrame, pool: pd.DataFrame, train: Train, *, folds: int = 5, seed: int = 0
) -> pd.DataFrame:
    """Return cross-fitted predictions for the population, for `predictions_for`, with the column `fold`.

    `train` takes labelled rows and returns a function from rows of the population to a frame with a column per label. Claims
    are assigned to folds by permanent random numbers, so a new claim does not move the others.
    """
    claims = {
        str(claim): str(int(keyed.uniform(seed, "cross-fitting", str(claim)) * folds))
        for claim in set(pool["claim_id"]) | set(labelled["claim_id"])
    }
    fold_of_label = labelled["claim_id"].astype(str).map(claims)
    fold_of_pool = pool["claim_id"].astype(str).map(claims)
    parts = []
    for fold in sorted(set(fold_of_pool)):
        others = labelled[fold_of_label != fold]
        if others.empty:
            raise InputError(
                "too few claims to cross-fit: a fold has no others to learn from",
                remedy="Use fewer folds, or label more claims",
            )
        rows = pool[fold_of_pool == fold]
        predicted = train(others)(rows).reset_index(drop=True)
        parts.append(predicted.assign(item_id=rows["item_id"].to_numpy(), fold=fold))
    return pd.concat(parts, ignore_index=True)
