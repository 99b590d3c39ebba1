"""All measures, by name, in the order in which tables print them."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from covmis_build.errors import InputError, nearest
from covmis_build.evaluation.families import chance, ordinal, per_class, tasks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from covmis_build.evaluation.measure import Measure

measures: Mapping[str, Measure] = MappingProxyType(
    {one.name: one for family in (per_class, chance, ordinal, tasks) for one in family.MEASURES}
)
"""Every measure: `measures["gmr"](confusion, class_weights=None, undefined="zero")`.

>>> measures["gmr"].symbol, measures["mae_macro"].higher_is_better, sorted(measures["wf2"].needs)
('GMR', False, ['class_weights'])
"""


def chosen(names: Iterable[str]) -> list[Measure]:
    """The measures of these names; an unknown name is an error that says what is near."""
    found = []
    for name in names:
        if name not in measures:
            raise InputError(f"unknown measure '{name}'", remedy=nearest(name, measures))
        found.append(measures[name])
    return found
