"""Design-based regression of a label on covariates, from gold with probabilities, optionally with predictions.

The outcome is f + (gold - f)/π for labelled rows and the prediction f for others (design-based supervised learning,
Egami et al. 2023), so that wrong predictions cause no bias. Without predictions it is the weighted regression of R's
survey::svyglm. Standard errors are sandwich estimates over rows or claims.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from covmis_build.errors import InputError
from covmis_build.stats.intervals import FEWEST, ROUNDING, Estimate, Over, effective
from covmis_build.stats.over_claims import FEWEST_CLAIMS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

STEPS = 100
CLOSE = 1e-10
SAME = 1e-12
"""A smaller deviation of a covariate, relative to its mean, is rounding error."""
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
    from statsmodels.stats.sandwich_covariance import cov_cluster, cov_white_simple

    scaled, back = _standardised(x)
    fit = _fitted(scaled, y, weights, family)
    units = len(x) if claims is None else int(claims.max()) + 1
    sandwich = (
        cov_white_simple(fit, use_correction=False)
        if claims is None
        else cov_cluster(fit, claims, use_correction=False)
    )
    of_scaled = units / max(units - 1, 1) * sandwich
    covariance = back @ of_scaled @ back.T
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
    if not why and np.min(np.diag(of_scaled)) <= ROUNDING:
        why = f"nothing varies: {SEPARATED}"
    coefficients = [
        Estimate(float(value), float(variance), n, math.inf, degrees, ANY, over, level, why)
        for value, variance in zip(back @ fit.params, np.diag(covariance), strict=True)
    ]
    return Fit(coefficients, covariance)


def _standardised(x: Floats) -> tuple[Floats, Floats]:
    """Return the columns with mean 0 and deviation 1, and the matrix that turns their coefficients into those of x.

    So a covariate's unit decides nothing: seconds since 1970 are fitted as well as years. The first column is the constant.
    """
    middle, spread = x.mean(0), x.std(0)
    # equal values, but for rounding: they follow from the constant, and are refused below
    spread = np.where(spread > SAME * np.abs(middle), spread, 1.0)
    middle[0], spread[0] = 0.0, 1.0
    back = np.diag(1 / spread)
    back[0] -= middle / spread
    return (x - middle) / spread, back


def _fitted(x: Floats, y: Floats, weights: Floats, family: str) -> Any:
    """Fit the generalised linear model by Newton's iteration."""
    from statsmodels.genmod.families import Binomial, Gaussian
    from statsmodels.genmod.generalized_linear_model import GLM

    if np.linalg.cond(x.T @ (x * weights[:, None])) > LARGE:
        raise _undetermined()
    model = GLM(y, x, Binomial() if family == LOGISTIC else Gaussian(), var_weights=weights)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of separation, which is looked for below
        # With predictions, outcomes lie outside 0 to 1: their deviance says nothing. The sandwich needs no scale.
        fit = model.fit(
            start_params=np.zeros(x.shape[1]),
            maxiter=STEPS,
            tol_criterion="params",
            atol=CLOSE,
            rtol=CLOSE,
            scale=1.0,
        )
        bread = model.hessian(fit.params)
    if not (fit.converged and np.isfinite(bread).all() and np.linalg.cond(bread) <= LARGE):
        raise InputError(
            f"the logistic regression does not converge: {SEPARATED}",
            remedy="Leave it out, join its rare values, or fit a linear one",
        )
    return fit


def _undetermined() -> InputError:
    return InputError(
        "the covariates do not determine the coefficients: one follows from the others, or a value has no labelled post",
        remedy="Leave one out, or join rare values",
    )
