"""Scores of posts' relevance from ranks; they only set sampling probabilities, so wrong ones cause no bias."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FEWEST = 10
"""Minimum number of relevant and of irrelevant labels for fitting; below it the score is 1/rank."""


@dataclass(frozen=True, slots=True)
class Guide:
    """A logistic regression on ranks and scores, fitted to labels; without coefficients it is 1/rank."""

    labels: int = 0
    intercept: float = 0.0
    coefficients: tuple[float, ...] = ()

    def guess(self, posts: pd.DataFrame) -> Floats:
        """Return the relative relevance score of each of these ranked posts."""
        if not self.coefficients:
            return 1.0 / posts["rank"].to_numpy(dtype=np.float64)
        linear = self.intercept + _features(posts) @ np.array(self.coefficients)
        return np.asarray(1 / (1 + np.exp(-np.clip(linear, -30, 30))), dtype=np.float64)

    @property
    def sentence(self) -> str:
        """Describe what determines the draw."""
        if not self.coefficients:
            return "Probabilities follow the rank only: the study has too few labels for a better score."
        return f"Probabilities follow a score learned from {self.labels:,} labels of found posts."


def fit(posts: pd.DataFrame, relevant: Mapping[str, bool]) -> Guide:
    """Fit the scores to labelled posts of a ranking; `relevant` maps items (claim|post) to whether they are relevant."""
    items = posts["claim_id"] + "|" + posts["post_id"]
    known = items.isin(relevant).to_numpy()
    y = np.array([relevant[item] for item in items[known]], dtype=int)
    if min(y.sum(), len(y) - y.sum()) < FEWEST:
        return Guide()
    from sklearn.linear_model import LogisticRegression

    # weak ridge regression; Newton's method gives almost the same result on all machines
    model = LogisticRegression(C=100, solver="newton-cholesky", tol=1e-9, max_iter=200)
    model.fit(_features(posts)[known], y)
    coefficients = tuple(round(float(weight), 9) for weight in model.coef_[0])
    return Guide(len(y), round(float(model.intercept_[0]), 9), coefficients)


def _features(posts: pd.DataFrame) -> Floats:
    best = posts.groupby("claim_id")["bm25"].transform("max").clip(lower=1e-9)
    score, rank = posts["bm25"].to_numpy(np.float64), posts["bm25_rank"].to_numpy(np.float64)
    columns = [np.log(rank), score / best.to_numpy(np.float64), score]
    if posts["model_rank"].notna().all():
        columns += [np.log(posts["model_rank"].to_numpy(np.float64)), posts["model"].to_numpy(np.float64)]
    return np.column_stack(columns)
