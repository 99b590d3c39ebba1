"""Class weights: the weight of rare classes in a loss or a score."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def class_weights(labels: Iterable[str], values: Sequence[str] | None = None) -> dict[str, float]:
    """Return weight 1 for the largest class, and inversely proportional weights for others. `values` must all occur.

    >>> class_weights(["favor"] * 4 + ["against"] * 2, ["favor", "against"])
    {'favor': 1.0, 'against': 2.0}
    """
    counts = Counter(str(label) for label in labels)
    declared = list(counts) if values is None else list(values)
    if unknown := sorted(counts.keys() - set(declared)):
        raise InputError(f"the label '{unknown[0]}' is not declared")
    if absent := [label for label in declared if not counts[label]]:
        raise InputError(f"no row has the label '{absent[0]}': its weight would be infinite")
    # w_k = max(x)/x_k (COVMis-Stance, 5.2)
    return {label: max(counts.values()) / counts[label] for label in declared}
