"""Cohen's kappa of system and gold: agreement beyond chance, plain and weighted by distance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.evaluation.measure import Citation, Measure, Need
from covmis_build.stats.coefficients import cohen_kappa

if TYPE_CHECKING:
    from covmis_build.evaluation.measure import Array
    from covmis_build.stats.confusion import Counts


def kappa(counts: Counts) -> Array:
    """Cohen's kappa; a missing prediction is an additional class."""
    return cohen_kappa(counts.tables)


def kappa_linear(counts: Counts) -> Array:
    """Kappa weighted by the distance of classes; a missing prediction has the largest possible distance."""
    return cohen_kappa(counts.tables, "linear")


def kappa_quadratic(counts: Counts) -> Array:
    """Kappa weighted by the squared distance of classes; a missing prediction has the largest possible distance."""
    return cohen_kappa(counts.tables, "quadratic")


BEYOND = (-1.0, 1.0)
ORDERED = frozenset({Need.ORDER})
MEASURES = (
    Measure(
        "kappa",
        "κ",
        "Cohen's kappa",
        Citation("cohen1960"),
        kappa,
        "1 - N Σ W M / Σ W G Q, W = 1 off the diagonal",
        range=BEYOND,
        latex="$\\kappa$",
    ),
    Measure(
        "kappa_linear",
        "κ-LIN",
        "Linearly weighted kappa",
        Citation("amemiya2021"),
        kappa_linear,
        "the same, W = distance of the classes",
        range=BEYOND,
        needs=ORDERED,
        latex="$\\kappa_{lin}$",
    ),
    Measure(
        "kappa_quadratic",
        "κ-QUAD",
        "Quadratically weighted kappa",
        Citation("cohen1968"),
        kappa_quadratic,
        "the same, W = squared distance",
        range=BEYOND,
        needs=ORDERED,
        latex="$\\kappa_{quad}$",
    ),
)
