"""`estimate`: estimate a mean or total in the target population from a sample with known probabilities."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from covmis_build.errors import InputError
from covmis_build.estimation.assisted import assisted_estimate, deviations, strength
from covmis_build.estimation.post_strata import merged
from covmis_build.stats.intervals import UNIT, effective, reach_of
from covmis_build.stats.over_claims import mean_over_claims
from covmis_build.stats.over_posts import Design, PostStrata, made_design, mean
from covmis_build.tables import in_order_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from covmis_build.options import DesignName
    from covmis_build.stats.intervals import Estimate
    from covmis_build.stats.over_posts import Joint

    Floats = NDArray[np.float64]


SKEWED = "a few large values decide the mean of so few units: no interval is known"


def estimate(  # noqa: PLR0913 - what is known about a sample, by name
    values: ArrayLike,
    probabilities: ArrayLike,
    *,
    design: DesignName = "poisson",
    totals: float | Mapping[str, float] | None = None,
    kinds: ArrayLike | None = None,
    assisted_by: tuple[ArrayLike, ArrayLike] | None = None,
    domain: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    bounds: tuple[float, float] | None = (0.0, 1.0),
    clusters: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    strata: ArrayLike | None = None,
    joint: Joint | None = None,
    level: float = 0.95,
) -> Estimate:
    """Estimate the mean (or total) of values in the target population from a sample with these probabilities.

    `totals` is the number of units in the population (or domain): the estimate is then of the total. A mapping gives the
    number by group, and `kinds` each unit's group: weights sum to these numbers (a group with a single unit, or none, joins the
    one nearest in size).
    `assisted_by` is a pair: predictions of the values for the sample, and for the whole population (or their mean there).
    `domain` marks the units of interest. `clusters` names each unit's claim, so that the interval is over claims instead of
    posts. With `assisted_by` both are pairs for sample and population. `bounds` are those of possible values, None for values of any
    size: their mean has an interval unless they are too skewed for its sample. For the fixed-size design, `strata` (claims) were
    sampled independently, and `joint` has the probabilities of pairs.

    >>> found = estimate([1, 1, 1, 0, 1, 0], [1, .5, .5, .5, .25, .25])
    >>> round(found.value, 6), round(found.variance, 6), round(found.low, 3), round(found.high, 3)
    (0.6, 0.033778, 0.167, 0.918)
    """
    reach_of(level)  # refuses an invalid level
    y = _within(_numbers(values, "value"), bounds)
    chances = _numbers(in_order_of(values, probabilities, "probabilities"), "probability")
    _same_length(y, len(chances), "values", "probabilities")
    drawn = made_design(
        chances,
        design=design,
        joint=joint,
        strata=None if strata is None else _groups(values, strata, "strata"),
    )
    if isinstance(totals, Mapping):
        groups = _known_groups(values, kinds, clusters=clusters, predictions=assisted_by)
        drawn = post_stratified(drawn, {str(name): float(size) for name, size in totals.items()}, groups)
    if assisted_by is not None:
        figure = _with_predictions(values, y, drawn, assisted_by, domain, clusters, bounds, level)
    else:
        here = _marks(values, domain)
        figure = mean(y, drawn, domain=here, level=level, bounded=bounds is not None)
        if clusters is not None:
            figure = _over_claims(figure, y, drawn, _groups(values, clusters, "clusters"), here, level)
        figure = figure if bounds else _unless_skewed(figure, y[here], drawn.weights[here])
    if bounds not in {None, UNIT}:
        figure = _scaled(figure, bounds[1] - bounds[0], bounds[0])
    if totals is None or isinstance(totals, Mapping):
        return figure
    if not totals > 0:
        raise InputError(f"totals = {totals} is not a number of units", remedy="Give a number above 0")
    return times(figure, float(totals))


def _with_predictions(
    values: Any,
    y: Floats,
    drawn: Design,
    assisted_by: tuple[ArrayLike, ArrayLike],
    domain: Any,
    clusters: Any,
    bounds: tuple[float, float] | None,
    level: float,
) -> Estimate:
    """Return the mean of `y` with the help of predictions of the sample's and the population's units in the domain."""
    f, pool = (_rescaled(each, bounds) for each in _predicted(assisted_by, values))
    here, there = _marks_of_both(values, pool, domain)
    figure = _assisted(y, drawn, (f, pool[there]), here, level, bounded=bounds is not None)
    if clusters is not None:
        of_sample, of_pool = _claims_of_both(values, assisted_by, clusters)
        claims = of_sample, of_pool[there]
        figure = _assisted_over_claims(figure, y, drawn, (f, pool[there]), claims, here, level)
    residuals = (y - figure.strength * f)[here]
    return figure if bounds else _unless_skewed(figure, residuals, drawn.weights[here])


def _known_groups(values: Any, kinds: Any, **others: Any) -> NDArray[Any]:
    """Return each unit's group, if totals by group are given. They do not go together with `others`."""
    if given := [name for name, value in others.items() if value is not None]:
        raise InputError(f"{given[0]} do not go together with totals by group", remedy="Choose one")
    if kinds is None:
        raise InputError("totals by group need each unit's group", remedy="Name them with kinds=")
    return _groups(values, kinds, "kinds")


def _within(values: Floats, bounds: tuple[float, float] | None) -> Floats:
    """Return the values in units of the range between the bounds. A value outside is an error."""
    if bounds is None:
        return values
    low, high = bounds
    if not low < high:
        raise InputError(
            f"bounds = {bounds} is no range", remedy="Give the lowest and the highest possible value"
        )
    if outside := values[(values < low) | (values > high)].tolist():
        raise InputError(
            f"the value {outside[0]:g} is not between {low:g} and {high:g}",
            remedy="`bounds=None` is for values of any size, `bounds=(1, 5)` for a scale from 1 to 5",
        )
    return _rescaled(values, bounds)


def _rescaled(values: Floats, bounds: tuple[float, float] | None) -> Floats:
    return values if bounds is None else (values - bounds[0]) / (bounds[1] - bounds[0])


def _unless_skewed(figure: Estimate, y: Floats, weights: Floats) -> Estimate:
    """Return the mean of values of any size, with words instead of an interval if they are too skewed for their number.

    "n > 25 G²", with Fisher's measure of skewness G, gives 95% intervals that fail at most 6 times in 100 (Cochran 1977, 2.15).
    """
    shares = weights / weights.sum()
    deviations_of_y = y - float(np.sum(shares * y))
    spread = float(np.sum(shares * deviations_of_y**2))
    skewness = float(np.sum(shares * deviations_of_y**3)) / spread**1.5 if spread > 0 else 0.0
    if figure.why or min(figure.worth, effective(weights)) > 25 * skewness**2 or math.isinf(figure.worth):
        return figure
    return replace(figure, why=SKEWED)


def times(share: Estimate, count: float) -> Estimate:
    """Return the total: the share and its interval times the known number of units."""
    return _scaled(share, count)


def _scaled(figure: Estimate, by: float, moved: float = 0.0) -> Estimate:
    """Return the figure on another scale: times `by`, plus `moved`."""
    low, high = figure.bounds
    least, most = figure.possible
    return replace(
        figure,
        possible=(least * by + moved, most * by + moved),
        value=figure.value * by + moved,
        variance=figure.variance * by**2,
        floor=figure.floor * by**2,
        bounds=(low * by + moved, high * by + moved),
    )


def _numbers(values: Any, what: str) -> Floats:
    """Return a one-dimensional array of finite numbers from a list, array or Series."""
    try:
        numbers = np.asarray(list(values.values()) if isinstance(values, dict) else values, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"a {what} is not a number", remedy="Give numbers, such as 0 and 1") from None
    if numbers.ndim != 1:
        raise InputError(f"a {what} for each unit is needed, one after the other")
    if not np.all(np.isfinite(numbers)):
        raise InputError(f"a {what} is missing or infinite")
    return numbers


def _same_length(values: Any, wanted: int, what: str, of: str) -> None:
    if len(values) != wanted:
        raise InputError(f"{len(values)} {what} have {wanted} {of}")


def _marks(values: Any, domain: Any) -> NDArray[np.bool_]:
    """Return which units are in the domain: all, or the marked ones."""
    if domain is None:
        return np.ones(len(values), dtype=bool)
    marks = np.asarray(in_order_of(values, domain, "marks of the domain"), dtype=object)
    _same_length(marks, len(values), "marks of the domain", "values")
    if not all(mark in {True, False} for mark in marks.tolist()):
        raise InputError("a mark of the domain is neither true nor false")
    return marks.astype(bool)


def _groups(values: Any, given: Any, what: str) -> NDArray[Any]:
    """Return each value's group name."""
    names = np.asarray(in_order_of(values, given, what), dtype=object)
    _same_length(names, len(values), what, "values")
    if any(name is None or name != name for name in names.tolist()):  # noqa: PLR0124 - NaN
        raise InputError(f"{what} lack a name for some values", remedy="Give one for each")
    return names.astype(str)


def _marks_of_both(values: Any, pool: Floats, domain: Any) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which units of the sample and of the population are in the domain."""
    if domain is None:
        return _marks(values, None), np.ones(len(pool), dtype=bool)
    if not isinstance(domain, tuple) or len(domain) != 2:
        raise InputError(
            "a domain with assisted_by is a pair",
            remedy="Mark the units of the sample, and those of the whole population: their predictions differ",
        )
    there = np.asarray(domain[1], dtype=object)
    if len(pool) != len(there):
        raise InputError(
            f"{len(there)} marks of the domain have {len(pool)} predictions for the population",
            remedy="Predict and mark each of its units",
        )
    there = _marks(there.tolist(), there.tolist())
    if not there.any():
        raise InputError("no unit of the population is in the domain")
    return _marks(values, domain[0]), there


def _claims_of_both(values: Any, predictions: Any, clusters: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the claims of the sample and of the whole population."""
    if not isinstance(clusters, tuple) or len(clusters) != 2:
        raise InputError(
            "clusters with assisted_by are a pair",
            remedy="Give the claims of the sample's units, and those of the whole pool's",
        )
    of_sample, of_pool = clusters
    pool = predictions[1] if np.ndim(predictions[1]) else [predictions[1]]
    return _groups(values, of_sample, "clusters"), _groups(pool, of_pool, "clusters of the pool")


def _predicted(given: tuple[ArrayLike, ArrayLike], values: Any) -> tuple[Floats, Floats]:
    """Return the predictions for the sample and the population."""
    try:
        of_sample, of_pool = given
    except (TypeError, ValueError):
        raise InputError(
            "assisted_by is a pair", remedy="Give predictions for the sample, and for the whole pool"
        ) from None
    f = _numbers(in_order_of(values, of_sample, "predictions"), "prediction")
    pool = _numbers(np.atleast_1d(np.asarray(of_pool)), "prediction")
    _same_length(f, len(values), "predictions", "values")
    return f, pool


def _assisted(
    y: Floats,
    drawn: Design,
    given: tuple[Floats, Floats],
    here: NDArray[np.bool_],
    level: float,
    bounded: bool = True,
) -> Estimate:
    f, pool = given
    scale = here / float(np.sum(drawn.weights * here))
    shares = drawn.weights * scale
    centres = (np.full(len(y), np.sum(shares * y)), np.full(len(y), np.sum(shares * f)))
    moved = strength(deviations(y, centres[0], scale), deviations(f, centres[1], scale, f), drawn)
    return assisted_estimate(
        y,
        f,
        centres,
        scale,
        drawn,
        n=int(here.sum()),
        pool_mean=float(pool.mean()),
        moved=moved,
        level=level,
        bounded=bounded,
    )


def _assisted_over_claims(
    figure: Estimate,
    y: Floats,
    drawn: Design,
    given: tuple[Floats, Floats],
    claims: tuple[NDArray[Any], NDArray[Any]],
    here: NDArray[np.bool_],
    level: float,
) -> Estimate:
    """Return the same value with an interval over claims: each is left out of sample and population, with λ recomputed."""
    f, pool = given
    of_sample, of_pool = claims
    names, inverse = np.unique(of_sample[here], return_inverse=True)
    left_out = []
    for claim in names:
        rest, beyond = of_sample != claim, of_pool != claim
        usable = bool((here & rest).any()) and bool(beyond.any())
        parts = (y[rest], drawn.part(rest), (f[rest], pool[beyond]), here[rest], level)
        left_out.append(_assisted(*parts).value if usable else math.nan)
    return _with_claims(figure, y[here], drawn.weights[here], inverse, level, np.array(left_out))


def post_stratified(drawn: Design, known: Mapping[str, float], groups: NDArray[Any]) -> Design:
    """Return the design with weights that sum to the known number of units of each group."""
    if unknown := sorted(set(groups) - set(known)):
        raise InputError(f"the kind '{unknown[0]}' has no total")
    cell_of = merged({name: int((groups == name).sum()) for name in known}, known)
    names, cells = np.unique([cell_of[name] for name in groups.tolist()], return_inverse=True)
    sizes = np.zeros(len(names))
    for name, number in known.items():
        sizes[np.searchsorted(names, cell_of[name])] += number
    factors = sizes / np.bincount(cells, drawn.weights)
    return replace(drawn, strata=PostStrata(cells, factors[cells], np.ones(len(cells)), np.zeros(len(names))))


def _over_claims(
    figure: Estimate, y: Floats, drawn: Design, claims: NDArray[Any], here: NDArray[np.bool_], level: float
) -> Estimate:
    """Return the same value with an interval over claims (jackknife)."""
    _, inverse = np.unique(claims[here], return_inverse=True)
    return _with_claims(figure, y[here], drawn.weights[here], inverse, level)


def _with_claims(
    figure: Estimate,
    y: Floats,
    weights: Floats,
    claims: NDArray[np.intp],
    level: float,
    left_out: Floats | None = None,
) -> Estimate:
    over = mean_over_claims(
        y,
        weights / weights.sum(),
        claims,
        left_out=left_out,
        value=figure.value,
        bounds=figure.bounds,
        level=level,
    )
    return replace(
        figure,
        variance=over.variance,
        worth=over.worth,
        degrees=over.degrees,
        interval=over.interval,
        why=over.why,
    )
