"""Design-based regression of a label on covariates, from gold with probabilities, optionally with predictions.

The outcome is f + (gold - f)/π for labelled rows and the prediction f for others (design-based supervised learning,
Egami et al. 2023), so that wrong predictions cause no bias. Without predictions it is the weighted regression of R's
survey::svyglm. Standard errors are sandwich estimates over rows or claims.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from covmis_build.errors import InputError
from covmis_build.stats.intervals import FEWEST, ROUNDING, Estimate, Over, effective
from covmis_build.stats.over_claims import FEWEST_CLAIMS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

STEPS = 100
CLOSE = 1e-10
LARGE = 1e12
"""A larger condition number means that the columns do not determine the coefficients."""
LINEAR, LOGISTIC = "linear", "logistic"
FAMILIES = (LINEAR, LOGISTIC)
ANY = (-math.inf, math.inf)
SEPARATED = "some covariate determines the label, or all posts have it or none"


class Fit(NamedTuple):
    """The coefficients, in column order, and their covariance."""

    coefficients: list[Estimate]
    covariance: Floats


def regress(
    x: Floats,
    y: Floats,
    weights: Floats,
    *,
    family: str = LINEAR,
    n: int,
    chances: Floats,
    claims: NDArray[np.int64] | None = None,
    level: float = 0.95,
) -> Fit:
    """Regress y on the columns of x by weighted likelihood equations.

    `n` rows are labelled, with probabilities `chances`. `claims` has each row's claim number: errors are then over claims.
    """
    beta, bread, fitted = _solved(x, y, weights, family)
    score = x * (weights * (y - fitted))[:, None]
    if claims is not None:
        score = np.stack([np.bincount(claims, column) for column in score.T], axis=1)
    units = len(score)
    centred = score - score.mean(0)
    inverse = np.linalg.inv(bread)
    covariance = units / max(units - 1, 1) * inverse @ (centred.T @ centred) @ inverse
    if claims is None:
        degrees, over = effective(1 / chances) - x.shape[1], Over.POSTS
        why = (
            ""
            if degrees >= FEWEST - 1
            else "the effective number of posts is too small for so many coefficients"
        )
    else:
        degrees, over = units - 1.0, Over.CLAIMS
        why = "" if units >= FEWEST_CLAIMS and units > x.shape[1] else f"{units} claims are too few"
    if not why and np.min(np.diag(covariance)) <= ROUNDING:
        why = f"nothing varies: {SEPARATED}"
    coefficients = [
        Estimate(float(value), float(variance), n, math.inf, degrees, ANY, over, level, why)
        for value, variance in zip(beta, np.diag(covariance), strict=True)
    ]
    return Fit(coefficients, covariance)


def _solved(x: Floats, y: Floats, weights: Floats, family: str) -> tuple[Floats, Floats, Floats]:
    """Run Newton's iteration. Returns the coefficients, the derivative of the equations, and the fitted means."""
    beta = np.zeros(x.shape[1])
    for _ in range(STEPS):
        fitted, slope = _mean(x @ beta, family)
        bread = x.T @ (x * (weights * slope)[:, None])
        try:
            step = np.linalg.solve(bread, x.T @ (weights * (y - fitted)))
        except np.linalg.LinAlgError:
            raise _undetermined() from None
        beta = beta + step
        if np.abs(step).max() < CLOSE * (1 + np.abs(beta).max()):
            if np.linalg.cond(bread) > LARGE:
                raise _undetermined()
            fitted, slope = _mean(x @ beta, family)
            return beta, x.T @ (x * (weights * slope)[:, None]), fitted
    raise InputError(
        f"the logistic regression does not converge: {SEPARATED}",
        remedy="Leave it out, join its rare values, or fit a linear one",
    )


def _undetermined() -> InputError:
    return InputError(
        "the covariates do not determine the coefficients: one follows from the others, or a value has no labelled post",
        remedy="Leave one out, or join rare values",
    )


def _mean(linear: Floats, family: str) -> tuple[Floats, Floats]:
    if family == LINEAR:
        return linear, np.ones(len(linear))
    fitted = 1 / (1 + np.exp(-np.clip(linear, -30, 30)))
    return fitted, fitted * (1 - fitted)
