"""Sampling with known probabilities, what a plan costs, and estimates that use the probabilities."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from covmis_build.sampling.draw import Sampled, sample
    from covmis_build.sampling.inclusion import (
        expected_size,
        inclusion_probabilities,
        joint_probabilities,
        size_variance,
    )
    from covmis_build.stats.horvitz_thompson import Estimate, estimate

__all__ = [
    "Estimate",
    "Sampled",
    "estimate",
    "expected_size",
    "inclusion_probabilities",
    "joint_probabilities",
    "sample",
    "size_variance",
]

HOMES = {
    "Estimate": "covmis_build.stats.horvitz_thompson",
    "estimate": "covmis_build.stats.horvitz_thompson",
    "Sampled": "covmis_build.sampling.draw",
    "sample": "covmis_build.sampling.draw",
}
"""Where a name lives if not in `inclusion`; the heavy ones load when they are first used."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(HOMES.get(name, f"{__name__}.inclusion")), name)
