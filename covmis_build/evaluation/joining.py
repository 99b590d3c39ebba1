"""Join gold and predictions: by id if both have ids, otherwise by position."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from covmis_build.errors import InputError, counted, nearest
from covmis_build.evaluation.label_files import as_label, is_empty
from covmis_build.stats.confusion import cell_codes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Codes = NDArray[np.int64]

Missing = Literal["refuse", "wrong"]
Extra = Literal["refuse", "ignore"]


@dataclass(frozen=True)
class JoinedLabels:
    """Gold and all runs of all systems as codes of the declared labels; -1 is a missing prediction."""

    labels: tuple[str, ...]
    ids: tuple[Any, ...] | None
    gold: Codes
    runs: dict[str, tuple[Codes, ...]]

    @cached_property
    def unanswered(self) -> bool:
        """True if any system has missing predictions."""
        return any(bool((run < 0).any()) for runs in self.runs.values() for run in runs)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of a confusion matrix: gold's classes, and one more column for missing predictions if there are any."""
        return len(self.labels), len(self.labels) + self.unanswered

    @cached_property
    def cells(self) -> Codes:
        """Each item's cell of the confusion matrix, one column per run of each system: (items, runs)."""
        columns = (
            cell_codes(self.gold, run, len(self.labels), unanswered=self.unanswered)
            for runs in self.runs.values()
            for run in runs
        )
        return np.stack(list(columns), axis=1)


def join(
    gold: Any,
    systems: Mapping[str, Any],
    labels: Sequence[str],
    missing: Missing = "refuse",
    extra: Extra = "refuse",
) -> JoinedLabels:
    """Join gold labels and the systems' predictions, and check them.

    Labels are a list or array, or (with ids) a dict or a pandas Series. A system may be a list of several such runs. If
    both sides have ids, these are used; position only if one side has none. Predictions for items without gold are
    refused, or ignored with `extra`.
    """
    declared = tuple(str(name) for name in labels)
    if len(set(declared)) != len(declared) or len(declared) < 2:
        raise InputError(
            f"the label set {list(declared)}", remedy="Give at least two labels, each of them once"
        )
    if missing not in {"refuse", "wrong"}:
        raise InputError(f"missing = {missing!r}", remedy="Allowed: refuse, wrong")
    if extra not in {"refuse", "ignore"}:
        raise InputError(f"extra = {extra!r}", remedy="Allowed: refuse, ignore")
    if not systems:
        raise InputError("there is no system to score", remedy="Give predictions of at least one")
    ids, words = _read(gold, "gold")
    codes = _encode(words, declared, "gold", gaps=False)
    if not len(codes):
        raise InputError("gold has no items", remedy="Give at least one labelled item")
    place = None if ids is None else {name: at for at, name in enumerate(ids)}
    runs = {}
    for name, predictions in systems.items():
        several = _several(predictions)
        one_by_one = list(predictions) if several else [predictions]
        runs[str(name)] = tuple(
            _joined(
                run,
                f"{name} (run {number})" if several else str(name),
                declared,
                len(codes),
                place,
                missing,
                extra,
            )
            for number, run in enumerate(one_by_one, 1)
        )
    return JoinedLabels(declared, ids, codes, runs)


def _several(predictions: Any) -> bool:
    """True for a list of predictions: several runs of one system."""
    if isinstance(predictions, Mapping) or (
        hasattr(predictions, "index") and hasattr(predictions, "to_numpy")
    ):
        return False
    if isinstance(predictions, np.ndarray):
        return predictions.ndim == 2
    return bool(len(predictions)) and not isinstance(
        predictions[0], str | int | float | type(None) | np.generic
    )


def _read(values: Any, what: str) -> tuple[tuple[Any, ...] | None, list[Any]]:
    """Return the ids (if any) and the labels."""
    if getattr(values, "ndim", 1) != 1:
        raise InputError(f"{what} has {values.ndim} dimensions", remedy="Give one column of labels")
    if isinstance(values, Mapping):
        ids, words = tuple(values), list(values.values())
    elif hasattr(values, "index") and hasattr(values, "to_numpy"):
        ids, words = tuple(values.index), values.tolist()
    else:
        return None, values.tolist() if isinstance(values, np.ndarray) else list(values)
    if len(set(ids)) != len(ids):
        seen: set[Any] = set()
        twice = [item for item in ids if item in seen or seen.add(item)]  # type: ignore[func-returns-value]
        raise InputError(f"{what} has {_some(twice)} more than once", remedy="Keep one row per item")
    return ids, words


def _encode(words: Sequence[Any], labels: tuple[str, ...], what: str, *, gaps: bool) -> Codes:
    # check each distinct word only once
    numbers, different = _factorize(words)
    known: dict[Any, int] = {label: code for code, label in enumerate(labels)}
    code_of = np.empty(len(different), dtype=np.int64)
    for number, word in enumerate(different):
        code = known.get(word, -1 if is_empty(word) else known.get(as_label(word)))
        if code is None:
            raise InputError(
                f"{what} has the unknown label '{word}'",
                row=int(np.argmax(numbers == number)) + 1,
                remedy=nearest(as_label(word), labels),
            )
        code_of[number] = code
    codes = code_of[numbers]
    if not gaps and (codes < 0).any():
        row = int(np.argmax(codes < 0)) + 1
        raise InputError(f"{what} has an item without a label", row=row, remedy="Remove or label it")
    return codes


def _factorize(words: Sequence[Any]) -> tuple[Codes, list[Any]]:
    """Return each word's number, and the distinct words in order of first occurrence."""
    import pandas as pd

    column = np.empty(len(words), dtype=object)
    column[:] = words
    numbers, different = pd.factorize(column, use_na_sentinel=False)
    return np.asarray(numbers, dtype=np.int64), list(different)


def _joined(
    values: Any,
    name: str,
    labels: tuple[str, ...],
    items: int,
    place: dict[Any, int] | None,
    missing: Missing,
    extra: Extra,
) -> Codes:
    ids, words = _read(values, name)
    codes = _encode(words, labels, name, gaps=True)
    if ids is None or place is None:
        if len(codes) != items:
            raise InputError(
                f"{name} has {len(codes)} predictions for {items} items",
                remedy="Give one prediction per item, or ids on both sides",
            )
        predicted = codes
    else:
        if not all(item in place for item in ids) and not any(item in place for item in ids):
            # one side parsed its ids as numbers, the other as text
            place, ids = {str(item): at for item, at in place.items()}, tuple(str(item) for item in ids)
        surplus = [item for item in ids if item not in place]
        if surplus and extra == "refuse":
            raise InputError(
                f"{name} has {_some(surplus)}, which gold lacks",
                remedy="Remove them, or ignore them: extra = ignore (--extra ignore)",
            )
        predicted = np.full(items, -1, dtype=np.int64)
        inside = np.array([place.get(item, -1) for item in ids], dtype=np.int64)
        predicted[inside[inside >= 0]] = codes[inside >= 0]
    absent = int((predicted < 0).sum())
    if absent and missing == "refuse":
        of = (
            [item for item, at in place.items() if predicted[at] < 0]
            if place
            else np.flatnonzero(predicted < 0) + 1
        )
        raise InputError(
            f"{name} has no prediction for {absent} of {items} items: {_some(list(of), count=False)}",
            remedy="Complete it, or count missing predictions as wrong: missing = wrong (--missing wrong)",
        )
    return predicted


def _some(ids: Sequence[Any], *, count: bool = True) -> str:
    """Format up to three ids, and their total number."""
    shown = ", ".join(str(item) for item in ids[:3]) + (", …" if len(ids) > 3 else "")
    return f"{counted(len(ids), 'items')} ({shown})" if count else shown


def grouping(values: Any, joined: JoinedLabels, what: str) -> tuple[Codes, list[Any]]:
    """Return one value per item (claim, kind, month) as codes, and the sorted values of the codes.

    >>> joined = join({"x": "a", "y": "b"}, {"s": {"x": "a", "y": "b"}}, ["a", "b"])
    >>> grouping({"y": "c2", "x": "c1"}, joined, "claims")
    (array([0, 1]), ['c1', 'c2'])
    """
    ids, words = _read(values, what)
    if ids is not None and joined.ids is not None:
        by_id = dict(zip(ids, words, strict=True))
        if any(item not in by_id for item in joined.ids):
            by_id = {str(item): word for item, word in by_id.items()}
        words = [by_id.get(item, by_id.get(str(item))) for item in joined.ids]
    if len(words) != len(joined.gold):
        raise InputError(
            f"{what} has {len(words)} values for {len(joined.gold)} items", remedy="Give one per item"
        )
    if any(word is None or word != word for word in words):  # noqa: PLR0124 - only NaN differs from itself
        over_items = ", or ask for intervals over items: clusters = none" if what == "clusters" else ""
        raise InputError(f"{what} lacks a value for some items", remedy=f"Give one per item{over_items}")
    known = sorted(set(words), key=str)
    names = {word: code for code, word in enumerate(known)}
    return np.array([names[word] for word in words], dtype=np.int64), known


def claims_of_items(clusters: Any, joined: JoinedLabels) -> Codes | None:
    """Return each item's claim number if claims are given; an empty cell is no claim."""
    if clusters is None:
        return None
    codes, known = grouping(clusters, joined, "clusters")
    if any(is_empty(claim) for claim in known):
        raise InputError(
            "clusters lacks a value for some items",
            remedy="Give one per item, or ask for intervals over items: clusters = none",
        )
    return codes


NUMBERS = {"probabilities": "an inclusion probability", "copies": "a number of copies"}
"""Names of the numbers that items can have."""


def numbers_of_items(
    values: Any, joined: JoinedLabels, what: str, *, most: float = np.inf
) -> NDArray[np.float64]:
    """Return a number per item, above 0 and at most `most`."""
    codes, known = grouping(values, joined, what)
    wrong = next((cell for cell in known if not _is_number(cell)), None)
    if wrong is not None:
        raise InputError(f"'{wrong}' is not {NUMBERS[what]}", remedy="Name a column of numbers above 0")
    numbers = np.array([float(cell) for cell in known])[codes]
    outside = numbers[~((numbers > 0) & (numbers <= most))]
    if len(outside):
        reach = f" and at most {most:g}" if most < np.inf else ""
        raise InputError(
            f"{NUMBERS[what]} must be above 0{reach}, not {outside[0]:g}",
            remedy=f"Give {what} of every item",
        )
    return np.asarray(numbers)


def _is_number(cell: Any) -> bool:
    try:
        return bool(np.isfinite(float(cell)))
    except (TypeError, ValueError):
        return False


def over_runs(values: NDArray[np.float64], runs: Sequence[int]) -> NDArray[np.float64]:
    """Average the runs of each system: (…, runs of all systems) to (…, systems).

    >>> over_runs(np.array([0.2, 0.5, 0.6]), [2, 1]).tolist()
    [0.35, 0.6]
    """
    if max(runs) == 1:
        return values
    parts = np.split(values, np.cumsum(runs)[:-1], axis=-1)
    return np.stack([part.mean(axis=-1) for part in parts], axis=-1)
