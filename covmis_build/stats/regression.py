"""Design-based regression of a label on covariates, from gold with probabilities, optionally with predictions.

The outcome is f + (gold - f)/π for labelled rows and the prediction f for others (design-based supervised learning,
Egami et al. 2023), so that wrong predictions cause no bias. Without predictions it is the weighted regression of R's
survey::svyglm. Errors are those of other claims (CR2, Satterthwaite's degrees), or those of the draw of posts.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from covmis_build.errors import InputError
from covmis_build.stats.intervals import FEWEST, ROUNDING, Estimate, Over
from covmis_build.stats.over_claims import FEWEST_CLAIMS
from covmis_build.stats.sandwich import Pulls, over_claims, over_posts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

STEPS = 100
CLOSE = 1e-10
SAME = 1e-12
"""A smaller deviation of a covariate, relative to its mean, is rounding error."""
LARGE = 1e12
"""A larger condition number means that the columns do not determine the coefficients."""
MOST_ALONE = 0.05
"""The largest part of a coefficient that may rest on units which alone have a value: their errors are not seen."""
LINEAR, LOGISTIC = "linear", "logistic"
FAMILIES = (LINEAR, LOGISTIC)
ANY = (-math.inf, math.inf)
SEPARATED = "some covariate determines the label, or all posts have it or none"


class Drawn(NamedTuple):
    """How the labelled posts of a regression were drawn, for its errors over posts."""

    rows: NDArray[np.intp]
    """Their rows."""
    chances: Floats
    """Their probabilities."""
    loose: Floats
    """How far each one's label is left to chance: 0 if it was certain."""
    variance: Callable[[Floats, Floats], float]
    """The design's variance of a sum, given each labelled post's part per unit of its outcome, and its expected outcome."""
    predicted: Floats | None = None
    """What predictions say of every row: then only the labelled posts' differences from these are left to the draw."""
    why: str = ""
    """Why nothing is known of what the draw left out, if so."""


def regress(
    x: Floats,
    y: Floats,
    weights: Floats,
    *,
    family: str = LINEAR,
    n: int,
    claims: NDArray[np.int64] | None = None,
    drawn: Drawn | None = None,
    level: float = 0.95,
) -> list[Estimate]:
    """Regress y on the columns of x by weighted likelihood equations; return the coefficients in column order.

    `n` rows are labelled. `claims` has each row's claim number: errors are then over claims; otherwise over the posts `drawn`.
    """
    scaled, back = _standardised(x)
    fit = _fitted(scaled, y, weights, family)
    mean, spread = fit.fittedvalues, np.ones(len(y))
    if family == LOGISTIC:
        spread = np.sqrt(mean * (1 - mean))
    # the linear model that the last step of the iteration solves: columns and residuals with the same spread of errors
    working, residuals = scaled * spread[:, None], (y - mean) / spread
    if claims is not None:
        errors = _of_claims(working, residuals, weights, claims, back)
    else:
        assert drawn is not None
        errors = _of_posts(working, mean, weights, spread, drawn, back)
    varies = _smallest(working, residuals, weights) > ROUNDING
    over = Over.POSTS if claims is None else Over.CLAIMS
    return [
        Estimate(
            float(value), variance, n, math.inf, degrees, ANY, over, level,
            why if varies else f"nothing varies: {SEPARATED}",
        )
        for value, (variance, degrees, why) in zip(back @ fit.params, errors, strict=True)
    ]  # fmt: skip


def _smallest(x: Floats, residuals: Floats, weights: Floats) -> float:
    """Return the smallest variance of a coefficient of these columns, if all posts were independent: 0 if none has an error."""
    bread = np.linalg.inv(x.T @ (x * weights[:, None]))
    return float(np.min(np.sum(((x * (weights * residuals)[:, None]) @ bread) ** 2, axis=0)))


def _of_claims(
    x: Floats, residuals: Floats, weights: Floats, claims: NDArray[np.int64], back: Floats
) -> list[tuple[float, float, str]]:
    """Return each coefficient's variance, degrees, and why it has none, if so."""
    units = int(claims.max()) + 1
    sandwich = over_claims(x, residuals, weights, claims, back)
    few = "" if units >= FEWEST_CLAIMS else f"{units} claims are too few"
    return [
        (float(variance), float(degrees), few or _why(degrees, alone, "claim"))
        for variance, degrees, alone in zip(
            np.diag(sandwich.covariance), sandwich.degrees, sandwich.alone, strict=True
        )
    ]


def _of_posts(
    x: Floats, mean: Floats, weights: Floats, spread: Floats, drawn: Drawn, back: Floats
) -> list[tuple[float, float, str]]:
    """Return the same over posts: the variance is the design's, of the posts' pulls on each coefficient."""
    loose = np.zeros(len(x))
    loose[drawn.rows] = drawn.loose
    if drawn.predicted is None:
        moved, expected = over_posts(x, weights, loose, back), mean
    else:
        bread = np.linalg.inv(x.T @ (x * weights[:, None]))
        pulls = (x * weights[:, None]) @ bread @ back.T
        pulls[drawn.rows] /= drawn.chances[:, None]
        moved, expected = _left_to_chance(pulls, loose), drawn.predicted
    errors = []
    for pull, degrees, alone in zip(moved.pulls.T, moved.degrees, moved.alone, strict=True):
        variance = drawn.variance((pull / spread)[drawn.rows], expected[drawn.rows])
        errors.append((variance, float(degrees), drawn.why or _why(degrees, alone, "post")))
    return errors


def _left_to_chance(pulls: Floats, loose: Floats) -> Pulls:
    """Return the pulls of labelled posts beside predictions, which follow no label: their number decides the degrees."""
    squares = (loose[:, None] * pulls) ** 2
    below = (squares**2).sum(0)
    degrees = np.divide(squares.sum(0) ** 2, below, out=np.full(len(below), np.inf), where=below > 0)
    return Pulls(pulls, degrees, np.zeros(len(below)))


def _why(degrees: float, alone: float, unit: str) -> str:
    """Return why a coefficient has no interval; empty if it has one."""
    if alone > MOST_ALONE:
        return f"a single {unit} has what distinguishes it, and shows no error"
    if degrees < FEWEST - 1 - 1e-9:
        return f"too few {unit}s, or a few with most of the weight, decide it"
    return ""


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
