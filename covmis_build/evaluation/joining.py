"""Gold and predictions put side by side: by id where both have ids, by position otherwise; nothing guessed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from covmis_build.errors import InputError, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Codes = NDArray[np.int64]

Missing = Literal["refuse", "wrong"]
Extra = Literal["refuse", "ignore"]


@dataclass(frozen=True, slots=True)
class Judged:
    """Gold and every run of every system as codes of the declared labels; -1 is a missing prediction."""

    labels: tuple[str, ...]
    ids: tuple[Any, ...] | None
    gold: Codes
    runs: dict[str, tuple[Codes, ...]]

    @property
    def unanswered(self) -> bool:
        """Whether any system left an item out."""
        return any(bool((run < 0).any()) for runs in self.runs.values() for run in runs)


def judged(
    gold: Any,
    systems: Mapping[str, Any],
    labels: Sequence[str],
    missing: Missing = "refuse",
    extra: Extra = "refuse",
) -> Judged:
    """Gold labels and the systems' predictions, joined and checked.

    Labels come as a list or array, or with ids as a dict or a pandas Series. A system may be a list of several such
    runs. With ids on both sides they are joined on them; positions are used only where one side has none.
    Predictions of items that gold lacks are refused, or ignored if `extra` says so.
    """
    declared = tuple(str(one) for one in labels)
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
    place = None if ids is None else {one: at for at, one in enumerate(ids)}
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
    return Judged(declared, ids, codes, runs)


def _several(predictions: Any) -> bool:
    """A list whose elements are themselves predictions: several runs of one system."""
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
    """The ids (if there are any) and the labels."""
    if getattr(values, "ndim", 1) != 1:
        raise InputError(f"{what} has {values.ndim} dimensions", remedy="Give one column of labels")
    if isinstance(values, Mapping):
        ids, words = tuple(values), list(values.values())
    elif hasattr(values, "index") and hasattr(values, "to_numpy"):
        ids, words = tuple(values.index), list(values.to_numpy())
    else:
        return None, list(values)
    if len(set(ids)) != len(ids):
        seen: set[Any] = set()
        twice = [one for one in ids if one in seen or seen.add(one)]  # type: ignore[func-returns-value]
        raise InputError(f"{what} has {_some(twice)} more than once", remedy="Keep one row per item")
    return ids, words


def _encode(words: Sequence[Any], labels: tuple[str, ...], what: str, *, gaps: bool) -> Codes:
    known: dict[Any, int] = {label: code for code, label in enumerate(labels)}
    codes = np.empty(len(words), dtype=np.int64)
    for at, word in enumerate(words):
        code = known.get(word)
        if code is None:
            empty = word is None or word != word or word == ""  # noqa: PLR0124 - nan is unlike itself
            whole = isinstance(word, float) and word.is_integer()  # 1.0 is how a gap in a column leaves 1
            code = -1 if empty else known.get(str(int(word) if whole else word))
            if code is None:
                raise InputError(
                    f"{what} has the unknown label '{word}'", row=at + 1, remedy=nearest(str(word), labels)
                )
            known[word] = code
        if code < 0 and not gaps:
            raise InputError(f"{what} has an item without a label", row=at + 1, remedy="Remove or label it")
        codes[at] = code
    return codes


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
        made = codes
    else:
        if not all(one in place for one in ids) and not any(one in place for one in ids):
            # one side read its ids as numbers, the other as text
            place, ids = {str(one): at for one, at in place.items()}, tuple(str(one) for one in ids)
        surplus = [one for one in ids if one not in place]
        if surplus and extra == "refuse":
            raise InputError(
                f"{name} has {_some(surplus)}, which gold lacks",
                remedy="Remove them, or ignore them: extra = ignore (--extra ignore)",
            )
        made = np.full(items, -1, dtype=np.int64)
        inside = np.array([place.get(one, -1) for one in ids], dtype=np.int64)
        made[inside[inside >= 0]] = codes[inside >= 0]
    absent = int((made < 0).sum())
    if absent and missing == "refuse":
        of = [one for one, at in place.items() if made[at] < 0] if place else np.flatnonzero(made < 0) + 1
        raise InputError(
            f"{name} has no prediction for {absent} of {items} items: {_some(list(of), count=False)}",
            remedy="Complete it, or count missing predictions as wrong: missing = wrong (--missing wrong)",
        )
    return made


def _some(ids: Sequence[Any], *, count: bool = True) -> str:
    """Up to three ids by name, and how many there are."""
    shown = ", ".join(str(one) for one in ids[:3]) + (", …" if len(ids) > 3 else "")
    return f"{len(ids)} items ({shown})" if count else shown


def grouping(values: Any, of: Judged, what: str) -> tuple[Codes, list[Any]]:
    """One value per item (claim, kind, month) as codes, and the values behind the codes, in order."""
    ids, words = _read(values, what)
    if ids is not None and of.ids is not None:
        by_id = dict(zip(ids, words, strict=True))
        if any(one not in by_id for one in of.ids):
            by_id = {str(one): word for one, word in by_id.items()}
        words = [by_id.get(one, by_id.get(str(one))) for one in of.ids]
    if len(words) != len(of.gold):
        raise InputError(
            f"{what} has {len(words)} values for {len(of.gold)} items", remedy="Give one per item"
        )
    if any(word is None or word != word for word in words):  # noqa: PLR0124
        raise InputError(f"{what} lacks a value for some items", remedy="Give one per item")
    known = sorted(set(words), key=str)
    names = {word: code for code, word in enumerate(known)}
    return np.array([names[word] for word in words], dtype=np.int64), known


def in_any_order(cells: Codes, owners: Codes | None) -> Codes:
    """The items in an order of their own: chance then does not depend on the order of the rows.

    Where items have owners (claims), the draws are of owners, which are numbered by name already.
    """
    return cells if owners is not None else cells[np.lexsort(cells.T)]
