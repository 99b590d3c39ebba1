"""Sandwich variances that hold for few and unequal units: CR2, with Satterthwaite's degrees of freedom.

Bell and McCaffrey (2002), Pustejovsky and Tipton (2018). Residuals of a claim that pulls the line are too small: they are
multiplied by the inverse root of what the model leaves of them. The degrees are those of the χ² with the variance's mean and
variance, if errors are independent and equally large. Of a claim only its columns matter: no matrix of its rows is made.

Coefficients are those of x, or what `back` makes of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

NOTHING_LEFT = 1e-10
"""Where the model leaves less of a claim's errors, its residuals are rounding errors, and say nothing."""
SEEN = 1e-6
"""A smaller part of a claim's pull is rounding error."""
SAME = 1e-12
"""Columns that differ by less, relative to the largest, are one."""


class Sandwich(NamedTuple):
    """The covariance of coefficients, and for each one how much is known of its error."""

    covariance: Floats
    degrees: Floats
    alone: Floats
    """The part of the pull of whole units that comes from units which the model fits whatever they are: their errors are not seen."""


class _Unit(NamedTuple):
    """What a claim adds to a sandwich, as far as its columns tell."""

    moved: Floats
    """Its weighted columns, times the inverse root of what the model leaves of its errors."""
    lost: Floats
    """Its weighted columns, as far as the model leaves nothing there."""


def over_claims(
    x: Floats, residuals: Floats, weights: Floats, claims: NDArray[np.int64], back: Floats | None = None
) -> Sandwich:
    """Return CR2 and its degrees of a weighted regression on the columns of x, of which the first is the constant."""
    bread, middle = _bread(x, weights)
    turn = bread if back is None else bread @ back.T
    order = np.argsort(claims, kind="stable")
    scores, squares, across, along, pulls, most, exact = [], [], [], [], [], [], []
    for rows in np.split(order, np.flatnonzero(np.diff(claims[order])) + 1):
        of, w = x[rows], weights[rows]
        unit = _unit(of, w, bread, middle)
        moved, weighted = unit.moved @ turn, (of * w[:, None]) @ turn
        scores.append(moved.T @ residuals[rows])
        squares.append((moved**2).sum(0))
        across.append(bread @ (of.T @ (moved * w[:, None])))
        along.append(of.T @ moved)
        pulls.append((of[:, 0] @ weighted) ** 2)
        most.append((np.abs(of[:, 0]) @ np.abs(weighted)) ** 2)
        exact.append(((unit.lost @ turn) ** 2).sum(0) > SEEN * (weighted**2).sum(0))
    meat = np.array(scores)
    degrees = [
        _degrees(np.array(squares)[:, at], np.array(across)[:, :, at], np.array(along)[:, :, at], middle)
        for at in range(x.shape[1])
    ]
    return Sandwich(meat.T @ meat, np.array(degrees), _part(np.array(pulls), np.array(exact), np.array(most)))


class Pulls(NamedTuple):
    """How far the error of each post moves each coefficient, and how much is known of what it moves."""

    pulls: Floats
    """One row per post: of an error as large as the post's residual would be if the model did not follow it."""
    degrees: Floats
    alone: Floats


def over_posts(x: Floats, weights: Floats, loose: Floats, back: Floats) -> Pulls:
    """Return each post's pull on the coefficients, and degrees of freedom.

    `loose` is how far each post's label is left to chance: 0 for posts that were certain to be labelled, which decide no degrees.
    """
    bread, middle = _bread(x, weights)
    weighted = (x * weights[:, None]) @ (bread @ back.T)
    left = 1 - 2 * weights * np.sum((x @ bread) * x, axis=1) + np.sum((x @ middle) * x, axis=1)
    seen = left > NOTHING_LEFT
    factor = np.where(seen, 1 / np.sqrt(np.maximum(left, NOTHING_LEFT)), 0.0)
    moved, chance = weighted * factor[:, None], loose[:, None]
    degrees = np.full(len(back), np.inf)
    for at, pull in enumerate((moved * chance).T):
        if pull.any():
            across, along = (x * (weights * pull)[:, None]) @ bread, x * pull[:, None]
            degrees[at] = _degrees(pull**2, across, along, middle)
    lost = np.broadcast_to(~seen[:, None], weighted.shape)
    return Pulls(moved, degrees, _part((weighted * chance) ** 2, lost, weighted**2))


def _bread(x: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return (X'WX)⁻¹, and with W² in place of W between two of them."""
    bread = np.asarray(np.linalg.inv(x.T @ (x * weights[:, None])), dtype=np.float64)
    return bread, bread @ (x.T @ (x * weights[:, None] ** 2)) @ bread


def _part(pulls: Floats, exact: NDArray[np.bool_], most: Floats) -> Floats:
    """Return each coefficient's part of the pull (at most `most`) that units have which the model fits exactly."""
    whole, lost = pulls.sum(0), (pulls * exact).sum(0)
    # errors that a whole claim shares do not move a coefficient within claims: what is left of them is rounding
    told = whole > SAME * most.sum(0)
    return np.asarray(np.divide(lost, whole, out=np.zeros(len(whole)), where=told), dtype=np.float64)


def _unit(x: Floats, w: Floats, bread: Floats, middle: Floats) -> _Unit:
    """Return a claim's weighted columns, times the inverse root of (I - H)(I - H)' of its rows.

    That matrix is I + Z K Z' with Z = [x, wx], so that its root needs only as many rows as Z has columns.
    """
    wx, k = x * w[:, None], x.shape[1]
    base, sizes, turned = np.linalg.svd(np.hstack([x, wx]), full_matrices=False)
    kept = sizes > SAME * sizes.max()
    base, root = base[:, kept], sizes[kept, None] * turned[kept]
    kernel = np.block([[middle, -bread], [-bread, np.zeros((k, k))]])
    left = np.eye(len(root)) + root @ kernel @ root.T
    values, vectors = np.linalg.eigh((left + left.T) / 2)
    left_over = values > NOTHING_LEFT
    inverse = np.where(left_over, 1 / np.sqrt(np.maximum(values, NOTHING_LEFT)), 0.0)
    inside = base.T @ wx
    change = (vectors * inverse) @ vectors.T - np.eye(len(root))
    nothing = vectors[:, ~left_over]
    return _Unit(
        np.asarray(wx + base @ (change @ inside), dtype=np.float64), base @ (nothing @ (nothing.T @ inside))
    )


def _degrees(squares: Floats, across: Floats, along: Floats, middle: Floats) -> float:
    """Return (trace)²/(sum of squares) of the variance as a quadratic form in independent, equal errors; 0 if it is none.

    The form is diag(squares) + L C L', with L = [across, along]: no matrix of units by units is made.
    """
    k = across.shape[1]
    wide = np.hstack([across, along])
    core = np.block([[np.zeros((k, k)), -np.eye(k)], [-np.eye(k), middle]])
    added = np.sum((wide @ core) * wide, axis=1)
    inner = core @ (wide.T @ wide)
    below = float(np.sum(squares**2) + 2 * np.sum(squares * added) + np.trace(inner @ inner))
    return float((squares.sum() + added.sum()) ** 2 / below) if below > 0 else 0.0
