"""How many items, claims and labels a width or a difference asks for, before anybody has labelled anything.

Posts about one claim are alike: n of them tell as much as n/deff independent ones, deff = 1 + (m - 1) rho.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from covmis_build.errors import InputError
from covmis_build.stats.coefficients import cohen_influence, cohen_kappa
from covmis_build.stats.intervals import reach_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

RHO = 0.05
"""How alike the influence of posts of one claim is, until the study's own rounds say it (.10 where agreement is high)."""
SHARES = (0.38, 0.52, 0.10)
"""The published corpus' labels; kappa's width depends on the classes' shares."""
TARGET_KAPPA = 0.67
Z95, POWER80 = reach_of(0.95), 0.8416212335729143


def clustering(sizes: ArrayLike, rho: float = RHO) -> float:
    """The design effect of claims with these sizes: how much worse than independent posts theirs are.

    >>> round(clustering([24] * 12), 2), round(clustering([12] * 24), 2)
    (2.15, 1.55)
    """
    counts = np.asarray(sizes, dtype=float)
    return float(1 + (np.sum(counts**2) / counts.sum() - 1) * rho)


def table_of_kappa(shares: Sequence[float], kappa: float) -> Floats:
    """The table of two equally careful people whose errors follow the classes' shares, with this kappa."""
    if not 0 < kappa < 1:
        raise InputError(f"kappa = {kappa} cannot be planned for", remedy="Choose one between 0 and 1")
    of = np.asarray(shares, dtype=float) / np.sum(shares)
    low, high = 0.0, 1.0
    for _ in range(60):  # the greater the share of errors, the smaller kappa
        errors = (low + high) / 2
        says = (1 - errors) * np.eye(len(of)) + errors * of[None, :]
        table = np.einsum("t,ti,tj->ij", of, says, says)
        low, high = (errors, high) if cohen_kappa(table) > kappa else (low, errors)
    return np.asarray(table, dtype=np.float64)


def items_for_difference(difference: float, differing: float, deff: float = 1.0) -> int:
    """How many items show this difference of two systems' accuracy with 80% power, at 5%, two-sided.

    `differing` is the share of items on which exactly one of them is right.

    >>> items_for_difference(0.05, 0.2)
    621
    """
    if not 0 < difference <= differing <= 1:
        raise InputError("a difference is above 0 and at most the share of items that differ")
    return math.ceil((Z95 + POWER80) ** 2 * (differing - difference**2) / difference**2 * deff)


def labels_for_share(share: float, width: float, deff: float = 1.0, r_squared: float = 0.0) -> int:
    """How many labels give a share a 95% interval of this width; predictions that explain R² save that part of them.

    >>> labels_for_share(0.5, 0.1), labels_for_share(0.5, 0.1, r_squared=0.3)
    (385, 269)
    """
    return math.ceil(4 * Z95**2 * share * (1 - share) / width**2 * deff * (1 - r_squared))


@dataclass(frozen=True, slots=True)
class Precision:
    """What a round of so many claims and posts can tell, and how many labels an interval of ten points needs."""

    claims: int
    posts: int
    deff: float
    worth: float
    """How many independent items the round is worth."""
    kappa: float
    kappa_half_width: float
    labels_for_ten_points: int
    labels_with_predictions: int
    r_squared: float
    items_for_five_points: int
    """Items that tell two systems five points of accuracy apart."""

    def to_dict(self) -> dict[str, Any]:
        """The fields by name."""
        return asdict(self)

    @property
    def sentences(self) -> list[str]:
        """The same in words."""
        return [
            (
                f"A full round of {self.claims} claims with {self.posts} posts each would give the precision of {self.worth:.0f} independent items "
                f"(design effect {self.deff:.2f} for posts of one claim): a kappa of {self.kappa:.2f} comes out "
                f"± {self.kappa_half_width:.3f}. More claims help more than more posts per claim."
            ),
            (
                f"For a 95% interval of ± 5 points you need {self.labels_for_ten_points:,} labels in this design (without "
                f"finite population correction), {self.labels_with_predictions:,} with predictions that explain "
                f"R² = {self.r_squared:.2f}."
            ),
            (
                "To detect a difference of 5 points in accuracy between two systems, of which exactly one is right on a fifth of "
                f"the items, you need {self.items_for_five_points:,} items."
            ),
        ]


def precision(
    *, claims: int, posts: int, share: float = 0.5, design_effect: float = 1.0, r_squared: float = 0.3
) -> Precision:
    """Plans for kappa, a share and a difference; `design_effect` is that of the sample's weights."""
    deff = clustering([posts] * claims)
    variance = cohen_influence(table_of_kappa(SHARES, TARGET_KAPPA))
    return Precision(
        claims, posts, deff, claims * posts / deff, TARGET_KAPPA, Z95 * math.sqrt(variance * deff / (claims * posts)),
        labels_for_share(share, 0.1, design_effect), labels_for_share(share, 0.1, design_effect, r_squared), r_squared,
        items_for_difference(0.05, 0.2, deff),
    )  # fmt: skip
