"""Sampling with known probabilities, what a plan costs, and estimates that use the probabilities."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from covmis_build.sampling.draw import Sampled, sample
    from covmis_build.sampling.history import combined_probabilities
    from covmis_build.sampling.inclusion import (
        expected_size,
        inclusion_probabilities,
        joint_probabilities,
        size_variance,
    )
    from covmis_build.sampling.plan import costs, counts_of, seconds_per_label
    from covmis_build.sampling.shares import Estimates, estimates
    from covmis_build.sampling.strata import strata_by
    from covmis_build.stats.horvitz_thompson import Estimate, estimate
    from covmis_build.stats.linearised import measure_estimate, variance_of_measure, weighted_confusion

__all__ = [
    "Estimate",
    "Estimates",
    "Sampled",
    "combined_probabilities",
    "costs",
    "counts_of",
    "estimate",
    "estimates",
    "expected_size",
    "inclusion_probabilities",
    "joint_probabilities",
    "measure_estimate",
    "sample",
    "seconds_per_label",
    "size_variance",
    "strata_by",
    "variance_of_measure",
    "weighted_confusion",
]

HOMES = {
    "Estimate": "covmis_build.stats.horvitz_thompson",
    "Estimates": "covmis_build.sampling.shares",
    "Sampled": "covmis_build.sampling.draw",
    "combined_probabilities": "covmis_build.sampling.history",
    "counts_of": "covmis_build.sampling.plan",
    "estimate": "covmis_build.stats.horvitz_thompson",
    "estimates": "covmis_build.sampling.shares",
    "costs": "covmis_build.sampling.plan",
    "measure_estimate": "covmis_build.stats.linearised",
    "sample": "covmis_build.sampling.draw",
    "seconds_per_label": "covmis_build.sampling.plan",
    "strata_by": "covmis_build.sampling.strata",
    "variance_of_measure": "covmis_build.stats.linearised",
    "weighted_confusion": "covmis_build.stats.linearised",
}
"""Where a name lives if not in `inclusion`; the heavy ones load when they are first used."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(HOMES.get(name, f"{__name__}.inclusion")), name)
