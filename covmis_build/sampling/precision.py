"""Numbers of items, claims and labels required for an interval width or a detectable difference, before any labelling.

Posts about one claim are correlated: n of them correspond to n/deff independent ones, deff = 1 + (m - 1) rho.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from covmis_build.errors import InputError
from covmis_build.stats.coefficients import cohen_details, cohen_kappa
from covmis_build.stats.intervals import reach_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

RHO = 0.05
"""Intraclass correlation of posts of one claim, until the study's own rounds estimate it (.10 with high agreement)."""
SHARES = (0.38, 0.52, 0.10)
"""Label shares of the published corpus, on which kappa's width depends."""
TARGET_KAPPA = 0.67
Z95, POWER80 = reach_of(0.95), 0.8416212335729143


def _clustering(sizes: ArrayLike, rho: float = RHO) -> float:
    """Return the design effect of claims with these sizes, relative to independent posts.

    >>> round(_clustering([24] * 12), 2), round(_clustering([12] * 24), 2)
    (2.15, 1.55)
    """
    counts = np.asarray(sizes, dtype=float)
    return float(1 + (np.sum(counts**2) / counts.sum() - 1) * rho)


def _table_of_kappa(shares: Sequence[float], kappa: float) -> Floats:
    """Return the table of two equally accurate annotators with this kappa, whose errors follow the label shares."""
    if not 0 < kappa < 1:
        raise InputError(f"kappa = {kappa} cannot be planned for", remedy="Choose one between 0 and 1")
    of = np.asarray(shares, dtype=float) / np.sum(shares)
    low, high = 0.0, 1.0
    for _ in range(60):  # kappa decreases with the error rate
        errors = (low + high) / 2
        says = (1 - errors) * np.eye(len(of)) + errors * of[None, :]
        table = np.einsum("t,ti,tj->ij", of, says, says)
        low, high = (errors, high) if cohen_kappa(table) > kappa else (low, errors)
    return np.asarray(table, dtype=np.float64)


def _items_for_difference(difference: float, differing: float, deff: float = 1.0) -> int:
    """Return the items needed to detect this difference in accuracy of two systems with 80% power, at 5%, two-sided.

    `differing` is the share of items on which exactly one system is correct.

    >>> _items_for_difference(0.05, 0.2)
    621
    """
    if not 0 < difference <= differing <= 1:
        raise InputError("a difference is above 0 and at most the share of items that differ")
    return math.ceil((Z95 + POWER80) ** 2 * (differing - difference**2) / difference**2 * deff)


def _labels_for_share(share: float, width: float, deff: float = 1.0, r_squared: float = 0.0) -> int:
    """Return the labels needed for a 95% interval of this width; predictions save the share R² of them.

    >>> _labels_for_share(0.5, 0.1), _labels_for_share(0.5, 0.1, r_squared=0.3)
    (385, 269)
    """
    return math.ceil(4 * Z95**2 * share * (1 - share) / width**2 * deff * (1 - r_squared))


@dataclass(frozen=True, slots=True)
class Precision:
    """The precision of a round with this many claims and posts, and the labels for an interval of ten points."""

    claims: int
    posts: int
    deff: float
    worth: float
    """Effective sample size of the round."""
    kappa: float
    kappa_half_width: float
    labels_for_ten_points: int
    labels_with_predictions: int
    r_squared: float
    items_for_five_points: int
    """Items needed to distinguish two systems that differ by five points of accuracy."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return asdict(self)

    @property
    def sentences(self) -> list[str]:
        """Return the same as text."""
        return [
            (
                f"A full round of {self.claims} claims with {self.posts} posts each would give the precision of {self.worth:.0f} independent items "
                f"(design effect {self.deff:.2f}, from an assumed correlation of {RHO} between posts of one claim): a kappa of {self.kappa:.2f} would "
                f"have an interval of about ± {self.kappa_half_width:.3f}. More claims help more than more posts per claim."
            ),
            (
                f"For a 95% interval of ± 5 points in a much larger population you need {self.labels_for_ten_points:,} labels in "
                f"this design, or {self.labels_with_predictions:,} if a model's predictions explain, for example, R² = {self.r_squared:.2f}."
            ),
            (
                "To detect a difference of 5 points in accuracy between two systems that differ on a fifth of the items (one right, "
                f"the other wrong), you need {self.items_for_five_points:,} items."
            ),
        ]


def precision(
    *, claims: int, posts: int, share: float = 0.5, design_effect: float = 1.0, r_squared: float = 0.3
) -> Precision:
    """Compute plans for kappa, a share and a difference; `design_effect` is that of the sample's weights."""
    deff = _clustering([posts] * claims)
    error = cohen_details(_table_of_kappa(SHARES, TARGET_KAPPA)).error  # of one item: the table holds shares
    return Precision(
        claims,
        posts,
        deff,
        claims * posts / deff,
        TARGET_KAPPA,
        Z95 * error * math.sqrt(deff / (claims * posts)),
        _labels_for_share(share, 0.1, design_effect),
        _labels_for_share(share, 0.1, design_effect, r_squared),
        r_squared,
        _items_for_difference(0.05, 0.2, deff),
    )
