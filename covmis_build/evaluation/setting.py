"""Settings for a table of scores besides the labels: order, poles, class weights, policies. Checked once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from covmis_build.errors import InputError, UnknownName, nearest
from covmis_build.evaluation.catalogue import chosen, measures
from covmis_build.evaluation.measure import Need, policy_of
from covmis_build.stats.confusion import Counts

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from covmis_build.evaluation.measure import Measure

    Array = NDArray[np.float64]

UNRELATED = "unrelated"
"""The class that the FNC-1 score treats separately."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Measures with their requirements, for one declared label set."""

    labels: tuple[str, ...]
    measures: tuple[Measure, ...]
    undefined: str = "zero"
    order: tuple[str, ...] = ()
    poles: tuple[str, ...] = ()
    class_weights: tuple[float, ...] = ()

    @property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """Range of each measure. Errors in steps are at most the number of steps of the order."""
        return {
            measure.name: (measure.range[0], min(measure.range[1], len(self.labels) - 1.0))
            for measure in self.measures
        }

    def values(self, confusion: Array) -> dict[str, Array]:
        """Compute every measure on a stack of confusion matrices in label order."""
        counted: dict[tuple[int, ...], Counts] = {}
        results = {}
        for measure in self.measures:
            turned = self._turned(measure)
            if turned not in counted:
                counted[turned] = Counts(_turn(confusion, turned))
            weights = [self.class_weights[c] for c in turned] if self.class_weights else None
            results[measure.name] = measure.of(counted[turned], weights, self.undefined)
        return results

    def _turned(self, measure: Measure) -> tuple[int, ...]:
        """Return the class order that this measure needs."""
        place = {label: at for at, label in enumerate(self.labels)}
        if Need.ORDER in measure.needs and self.order:
            return tuple(place[label] for label in self.order)
        if Need.POLES in measure.needs and self.poles:
            inner = [at for label, at in place.items() if label not in self.poles]
            return (place[self.poles[0]], *inner, place[self.poles[1]])
        if Need.UNRELATED_LAST in measure.needs and UNRELATED in place:
            return (*(at for label, at in place.items() if label != UNRELATED), place[UNRELATED])
        return tuple(range(len(self.labels)))


def _turn(confusion: Array, turned: tuple[int, ...]) -> Array:
    if turned == tuple(range(len(turned))):
        return confusion
    columns = [*turned, *range(len(turned), confusion.shape[-1])]
    return confusion[..., list(turned), :][..., columns]


def setting(
    labels: Sequence[str],
    *,
    names: Sequence[str] | None = None,
    order: Sequence[str] | None = None,
    poles: Sequence[str] | None = None,
    class_weights: Mapping[str, float] | Sequence[float] | None = None,
    undefined: str = "zero",
) -> Setting:
    """Return the checked setting; without names, every measure whose requirements are met."""
    declared = tuple(str(label) for label in labels)
    weights = _weights(class_weights, declared)
    ordered = tuple(str(label) for label in order or ())
    ends = tuple(str(label) for label in poles or ())
    if ordered and sorted(ordered) != sorted(declared):
        raise InputError(
            f"the order {list(ordered)} is not an order of the labels", remedy=f"Order {', '.join(declared)}"
        )
    if ends and (len(ends) != 2 or not set(ends) <= set(declared) or ends[0] == ends[1]):
        raise InputError(f"the poles {list(ends)}", remedy=f"Name two of {', '.join(declared)}")
    met = {
        Need.ORDER: bool(ordered),
        Need.POLES: bool(ends),
        Need.CLASS_WEIGHTS: bool(weights),
        Need.UNRELATED_LAST: UNRELATED in declared and len(declared) == 4,
    }
    if names is None:
        picked = [measure for measure in measures.values() if all(met[need] for need in measure.needs)]
    else:
        picked = chosen([names] if isinstance(names, str) else names)
        if not picked:
            raise InputError("no measure is named", remedy=nearest("", measures))
    for measure in picked:
        if Need.CLASS_WEIGHTS in measure.needs and not weights:
            raise InputError(
                f"the measure {measure.name} needs class weights", remedy="Give a weight for each label"
            )
    return Setting(declared, tuple(picked), policy_of(undefined), ordered, ends, weights)


def _weights(
    given: Mapping[str, float] | Sequence[float] | None, labels: tuple[str, ...]
) -> tuple[float, ...]:
    if given is None or not len(given):
        return ()
    if isinstance(given, Mapping):
        for label in given:
            if label not in labels:
                raise UnknownName(f"a weight for the unknown label '{label}'", remedy=nearest(label, labels))
        return tuple(float(given.get(label, 0.0)) for label in labels)
    return tuple(float(part) for part in given)
