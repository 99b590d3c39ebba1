"""All measures by name, in the order of tables. Each module holds one measure or a family."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.errors import UnknownName, nearest
from covmis_build.evaluation.catalogue import (
    accuracy,
    alpha,
    cem_ord,
    f_avg,
    fnc,
    gmr,
    kappa,
    macro,
    mae,
    mcc,
    weighted,
)
from covmis_build.evaluation.measure import Measure
from covmis_build.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Iterable

FILES = (accuracy, macro, gmr, weighted, kappa, alpha, mcc, mae, cem_ord, f_avg, fnc)


def _measure(name: str, value: object) -> Measure:
    """Return a measure from another package if it is valid and has this name, which tables print."""
    if not isinstance(value, Measure):
        raise TypeError(f"it is no Measure but a {type(value).__name__}")
    if value.name != name:
        raise ValueError(f"it calls itself '{value.name}'")
    return value


measures: Registry[Measure] = Registry(
    {measure.name: measure for file in FILES for measure in file.MEASURES},
    "covmis.measures",
    "measure",
    _measure,
)
"""Every measure: `measures["gmr"](confusion, class_weights=None, undefined="zero")`.

Other packages add theirs as entry points of the group `covmis.measures`: they are used where they are named.

>>> measures["gmr"].symbol, measures["mae_macro"].higher_is_better, measures["gmr"].takes
('GMR', False, ('policy',))
"""


def chosen(names: Iterable[str]) -> list[Measure]:
    """Return the measures of these names. The error for an unknown name suggests similar ones."""
    picked = []
    for name in names:
        if name not in measures:
            macro = f"macro_{name}"  # f1, precision, recall: the mean over classes is meant
            remedy = f"Did you mean '{macro}'?" if macro in measures else nearest(name, measures.names)
            raise UnknownName(f"unknown measure '{name}'", remedy=remedy)
        picked.append(measures[name])
    return picked
