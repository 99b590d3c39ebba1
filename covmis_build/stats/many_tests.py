"""Many tests at once: p-values that hold together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def holm(p_values: Floats) -> Floats:
    """Return Holm's adjusted p-values in the given order; undefined ones are no tests.

    >>> holm(np.array([0.01, 0.04, np.nan, 0.03])).round(6).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    tested = np.isfinite(p_values)
    if tested.sum() < 2:  # nothing to adjust, nothing to load
        return p_values
    from statsmodels.stats.multitest import multipletests

    adjusted = p_values.copy()
    adjusted[tested] = multipletests(p_values[tested], method="holm")[1]
    return adjusted
