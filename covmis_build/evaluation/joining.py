"""Join gold and predictions: by id if both have ids, otherwise by position."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from covmis_build.errors import InputError, counted, nearest
from covmis_build.evaluation.label_files import as_label, is_empty, other_spellings, remedy_for
from covmis_build.stats.confusion import cell_codes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Codes = NDArray[np.int64]

Missing = Literal["refuse", "wrong"]
Extra = Literal["refuse", "ignore"]
Invalid = Literal["refuse", "wrong", "missing"]
CHOICES = {"missing": get_args(Missing), "extra": get_args(Extra), "invalid": get_args(Invalid)}
NONE, INVALID = -1, -2
"""Codes of a missing prediction, and of an answer that is none of the labels."""


class Policy(NamedTuple):
    """What becomes of items without prediction, of predictions without gold, and of answers that are none of the labels."""

    missing: Missing
    extra: Extra
    invalid: Invalid

    def check(self) -> None:
        """Refuse what is no choice."""
        for name, choice in self._asdict().items():
            if choice not in CHOICES[name]:
                raise InputError(f"{name} = {choice!r}", remedy=f"Allowed: {', '.join(CHOICES[name])}")


@dataclass(frozen=True)
class JoinedLabels:
    """Gold and all runs of all systems as codes of the declared labels, or NONE or INVALID."""

    labels: tuple[str, ...]
    ids: tuple[Any, ...] | None
    gold: Codes
    runs: dict[str, tuple[Codes, ...]]
    outside: dict[str, Counter[str]] = field(default_factory=dict)
    """For each system with invalid answers: what it said instead of a label, and how often, over its runs."""

    @cached_property
    def unanswered(self) -> bool:
        """True if any system has missing predictions or invalid answers."""
        return any(bool((run < 0).any()) for runs in self.runs.values() for run in runs)

    def shares(self, name: str, inside: NDArray[np.bool_] | None = None) -> dict[str, float]:
        """Return the share of this system's items (or of those `inside`) without prediction, and with an invalid answer."""
        runs = [run if inside is None else run[inside] for run in self.runs[name]]
        codes = {"missing": NONE, "invalid": INVALID}
        return {what: float(np.mean([(run == code).mean() for run in runs])) for what, code in codes.items()}

    @property
    def remarks(self) -> Iterator[str]:
        """Say of each system how many items have no prediction, and how many answers are none of the labels, and which."""
        for name, runs in self.runs.items():
            items, several = len(self.gold) * len(runs), f", in {len(runs)} runs" if len(runs) > 1 else ""
            if absent := sum(int((run == NONE).sum()) for run in runs):
                yield f"{name} has no prediction for {absent:,} of {items:,} items ({absent / items:.1%}{several}); they count as wrong."
            if words := self.outside.get(name):
                answers = ", ".join(f"'{word}' {count:,}" for word, count in words.most_common(3))
                yield (
                    f"{words.total():,} of {items:,} answers of {name} ({words.total() / items:.1%}{several}) are none of the "
                    f"labels, and count as wrong: {answers}{' …' if len(words) > 3 else ''}."
                )
                if alike := other_spellings(words, self.labels):
                    yield f"Some differ from labels by case or punctuation alone. If they mean the same: {alike} (map=)."

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
    invalid: Invalid = "refuse",
) -> JoinedLabels:
    """Join gold labels and the systems' predictions, and check them.

    Labels are a list or array, or (with ids) a dict or a pandas Series. A system may be a list of several such runs. If
    both sides have ids, these are used; position only if one side has none. Predictions for items without gold are
    refused, or ignored with `extra`. `invalid`: answers that are none of the labels are refused, wrong in every measure, or
    as if they were missing.
    """
    declared = tuple(str(name) for name in labels)
    if len(set(declared)) != len(declared) or len(declared) < 2:
        raise InputError(
            f"the label set {list(declared)}", remedy="Give at least two labels, each of them once"
        )
    policy = Policy(missing, extra, invalid)
    policy.check()
    if not systems:
        raise InputError("there is no system to score", remedy="Give predictions of at least one")
    ids, words = _read(gold, "gold")
    codes = _encode(words, declared, "gold")
    if (codes < 0).any():
        row = int(np.argmax(codes < 0)) + 1
        raise InputError("gold has an item without a label", row=row, remedy="Remove or label it")
    if not len(codes):
        raise InputError("gold has no items", remedy="Give at least one labelled item")
    place = None if ids is None else {name: at for at, name in enumerate(ids)}
    runs, outside = {}, dict[str, Counter[str]]()
    for name, predictions in systems.items():
        several = _several(predictions)
        one_by_one, said = list(predictions) if several else [predictions], Counter[str]()
        runs[str(name)] = tuple(
            _joined(
                run,
                f"{name} (run {number})" if several else str(name),
                declared,
                len(codes),
                place,
                policy,
                said,
            )
            for number, run in enumerate(one_by_one, 1)
        )
        if said:
            outside[str(name)] = said
    return JoinedLabels(declared, ids, codes, runs, outside)


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


def _encode(words: Sequence[Any], labels: tuple[str, ...], what: str, invalid: Invalid = "refuse") -> Codes:
    """Return the codes of labels; an empty cell is NONE. `invalid` says what becomes of unknown ones."""
    # check each distinct word only once
    numbers, different = _factorize(words)
    known: dict[Any, int] = {label: code for code, label in enumerate(labels)}
    code_of = np.empty(len(different), dtype=np.int64)
    for number, word in enumerate(different):
        code = known.get(word, NONE if is_empty(word) else known.get(as_label(word)))
        if code is None:
            if invalid == "refuse":
                raise InputError(
                    f"{what} has the unknown label '{word}'",
                    row=int(np.argmax(numbers == number)) + 1,
                    remedy=remedy_for(as_label(word), labels)
                    if what != "gold"
                    else nearest(as_label(word), labels),
                )
            code = INVALID if invalid == "wrong" else NONE
        code_of[number] = code
    return code_of[numbers]


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
    policy: Policy,
    said: Counter[str],
) -> Codes:
    """Return the codes of one run in gold's order, and add its invalid answers to `said`."""
    ids, words = _read(values, name)
    codes = _encode(words, labels, name, policy.invalid)
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
        if surplus and policy.extra == "refuse":
            raise InputError(
                f"{name} has {_some(surplus)}, which gold lacks",
                remedy="Remove them, or ignore them: extra = ignore (--extra ignore)",
            )
        predicted = np.full(items, NONE, dtype=np.int64)
        inside = np.array([place.get(item, -1) for item in ids], dtype=np.int64)
        predicted[inside[inside >= 0]] = codes[inside >= 0]
        words = [word for word, at in zip(words, inside, strict=True) if at >= 0]
        codes = codes[inside >= 0]
    said.update(as_label(word) for word, code in zip(words, codes, strict=True) if code == INVALID)
    absent = int((predicted == NONE).sum())
    if absent and policy.missing == "refuse":
        of = (
            [item for item, at in place.items() if predicted[at] == NONE]
            if place
            else np.flatnonzero(predicted == NONE) + 1
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
