"""Which items are in a part of the population: a claim, query type, platform or time window, or before or from a day."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from covmis_build.errors import InputError
from covmis_build.estimation import differences
from covmis_build.estimation.scopes import SCOPES, Scope
from covmis_build.options import STRATA
from covmis_build.sampling.strata import divided

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from covmis_build.estimation.differences import Part

    Mask = NDArray[np.bool_]


def in_part(items: pd.DataFrame, part: Part) -> Mask:
    """Return which items are in this part: a claim, query type, platform or time window, or before or from a day."""
    if part.scope in {differences.BEFORE, differences.FROM}:
        _need_times(items)
        days = items["created_at"].fillna("").astype(str).str[:10].to_numpy(dtype=str)
        days_inside = [
            bool(day) and (day < part.name) == (part.scope == differences.BEFORE) for day in days.tolist()
        ]
        return np.array(days_inside, dtype=bool)
    return np.equal(names_of_parts(items, part.scope), part.name).astype(bool)


def names_of_parts(items: pd.DataFrame, scope: str) -> NDArray[np.object_]:
    """Return each item's part: its claim, query type, platform or time window."""
    if scope in STRATA:
        _need_times(items)
    return np.array(divided(items, items, scope), dtype=object)


def with_parts(items: pd.DataFrame) -> pd.DataFrame:
    """Add a column for each possible division of the items: claim, query type, platform and time windows."""
    scopes = SCOPES if "created_at" in items.columns else (Scope.CLAIM, Scope.KIND)
    return items.assign(**{str(scope): names_of_parts(items, scope) for scope in scopes})


def _need_times(items: pd.DataFrame) -> None:
    if missing := {"post_id", "created_at"} - set(items.columns):
        raise InputError(f"the corpus lacks the columns {', '.join(sorted(missing))}")
