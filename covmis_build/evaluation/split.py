"""Split items into train, dev and test: randomly, by time, by claim (Mu et al. 2023), or by whole groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from covmis_build import keyed
from covmis_build.errors import InputError, UnknownName, nearest
from covmis_build.evaluation.keys import (
    check_texts,
    divide_groups,
    kept_together,
    keys_of,
    near_copies,
    values_of,
    words_of,
)
from covmis_build.evaluation.times import milliseconds, times
from covmis_build.files.columns import IDS, KEYS
from covmis_build.tables import frame_of

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from covmis_build.evaluation.keys import Values


Scheme = Literal["random", "grouped", "chronological", "stratified_chronological", "leave_one_out"]
SCHEMES: tuple[str, ...] = get_args(Scheme)
PARTS = ("train", "dev", "test")

Cuts = Sequence[Any] | Mapping[str, Sequence[Any]]


def splits(  # noqa: PLR0913 - every option is named
    given: Any,
    *,
    scheme: Scheme = "random",
    fractions: tuple[float, float, float] = (0.7, 0.1, 0.2),
    cuts: Cuts | None = None,
    folds: int = 5,
    seed: int = 0,
    label: str = "label",
    time: str = "",
    group: str | Sequence[str] = (),
    text: str = "text",
    similarity: float | None = None,
    id: str = "",  # noqa: A002 - the column's name in every table
) -> pd.Series[str] | pd.DataFrame:
    """Return the part (train, dev, test) of every row, with the frame's index.

    `random`: stratified by label; one column per fold, so that every item is tested once (`folds=1`: one split by the
    fractions, as a Series). `chronological`: by (time, id), cut at floor(0.7 n) and floor(0.8 n);
    `stratified_chronological`: the same within each label. `cuts` sets the two cut points: positions, or times; for
    the stratified scheme also per label. `leave_one_out`: one column per claim or event, which is its test part.
    `grouped`: by the fractions, with similar label shares, and no claim in two parts.

    `group` names one or more columns (claim, author, thread, URLs; `day` is computed from the time): items that share a value
    stay in one part, in every scheme but `stratified_chronological`. By time, a group goes to the part of its first item.
    With `similarity`, texts (column `text`) with a higher TF-IDF cosine stay in one part. Times come from the column, or
    else from the post ids. Random numbers depend on ids: the order of rows does not matter.

    >>> import pandas as pd
    >>> posts = pd.DataFrame({"id": list("abcdefghij"), "time": range(10), "label": ["x", "y"] * 5})
    >>> splits(posts, scheme="chronological").value_counts().to_dict()
    {'train': 7, 'test': 2, 'dev': 1}
    >>> splits(posts, folds=5).shape
    (10, 5)
    """
    import pandas as pd

    shares = _checked_shares(scheme, fractions, cuts)
    frame = frame_of(given)
    ids = identities(frame, id)
    named = [group] if isinstance(group, str) and group else list(group)
    if scheme == "leave_one_out":
        return _leave_one_out(frame, named)
    together = _groups_to_keep(frame, scheme, named, time, id, text, similarity)
    if scheme in {"chronological", "stratified_chronological"}:
        return _in_time(frame, ids, times(frame, time, id), together, scheme, cuts, shares, label)
    labels = _column(frame, (label,), "labels")
    if together is not None:
        return _groups(frame, ids, labels, together, shares, 1 if scheme == "grouped" else folds, seed)
    if folds == 1:
        import pandas as pd

        return pd.Series(list(_random(ids, labels, shares, seed)), index=frame.index, name="part")
    return _folds(frame, ids, labels, shares, folds, seed)


def _checked_shares(scheme: str, fractions: Sequence[float], cuts: Cuts | None) -> list[Fraction]:
    if scheme not in SCHEMES:
        raise UnknownName(f"unknown scheme '{scheme}'", remedy=nearest(str(scheme), SCHEMES))
    try:
        shares = [Fraction(str(share)) for share in fractions]
    except (ValueError, ZeroDivisionError):  # nan, inf
        shares = []
    if len(shares) != 3 or min(shares) < 0 or sum(shares) != 1:
        raise InputError(f"fractions {tuple(fractions)}", remedy="Give three, none negative, with the sum 1")
    if cuts is not None and scheme in {"random", "grouped", "leave_one_out"}:
        raise InputError(
            f"the scheme {scheme} has no cuts", remedy="Use chronological or stratified_chronological"
        )
    return shares


def _groups_to_keep(
    frame: pd.DataFrame,
    scheme: str,
    group: list[str],
    time: str,
    id_column: str,
    text: str,
    similarity: float | None,
) -> NDArray[np.int64] | None:
    """Return items that must stay in one part; None without such groups."""
    if scheme == "stratified_chronological" and (group or similarity is not None):
        raise InputError(
            "stratified_chronological cuts each label at its own time, and would divide groups",
            remedy="Use grouped, or chronological",
        )
    if not group and scheme == "grouped" and similarity is None:
        group = [_found(frame, KEYS["claim"], "claims or events")]
    if not group and similarity is None:
        return None
    keys = list(keys_of(frame, group, time=time, id_column=id_column).values())
    if similarity is not None:
        words = words_of(frame[_found(frame, (text,), "texts")])
        check_texts(words)
        keys.append(near_copies(words, similarity))
    return kept_together(keys, len(frame))


def _in_time(
    frame: pd.DataFrame,
    ids: list[str],
    when: list[int],
    together: NDArray[np.int64] | None,
    scheme: str,
    cuts: Cuts | None,
    shares: list[Fraction],
    label: str,
) -> pd.Series[str]:
    """Split by (time, id), overall or per label. A group goes to the part of its first item."""
    import pandas as pd

    labels = _column(frame, (label,), "labels") if scheme == "stratified_chronological" else None
    parts = np.empty(len(frame), dtype=object)
    for stratum in [""] if labels is None else dict.fromkeys(labels):
        rows = np.arange(len(frame)) if labels is None else np.flatnonzero(labels == stratum)
        ordered = sorted(rows, key=lambda row: (when[row], len(ids[row]), ids[row]))
        first, second = _cut_points(cuts, str(stratum), [when[row] for row in ordered], shares)
        begins: dict[int, int] = {}
        if together is not None:
            for row in ordered:
                begins.setdefault(int(together[row]), len(begins))
            ordered.sort(key=lambda row: begins[int(together[row])])
            begins = {int(together[row]): at for at, row in reversed(list(enumerate(ordered)))}
        for position, row in enumerate(ordered):
            at = position if together is None else begins[int(together[row])]
            parts[row] = PARTS[(at >= first) + (at >= second)]
    return pd.Series(list(parts), index=frame.index, name="part")


def _groups(
    frame: pd.DataFrame,
    ids: list[str],
    labels: NDArray[np.object_],
    together: NDArray[np.int64],
    shares: list[Fraction],
    folds: int,
    seed: int,
) -> pd.DataFrame | pd.Series[str]:
    """Return folds of whole groups, or one split."""
    import pandas as pd

    def divided(rows: NDArray[np.intp], parts: Sequence[float]) -> NDArray[np.int64]:
        own = np.unique(together[rows], return_inverse=True)[1]
        return divide_groups(own, [ids[row] for row in rows], labels[rows].tolist(), parts, seed)

    everything = np.arange(len(ids))
    if folds == 1:
        numbers = divided(everything, [float(share) for share in shares])
        for number, part in enumerate(PARTS):
            if shares[number] and not (numbers == number).any():
                raise InputError(
                    f"the largest group leaves no item for {part}",
                    remedy="Keep fewer columns together (group, --group), or only more similar texts (similarity, "
                    "--similarity); or use the scheme leave_one_out",
                )
        return pd.Series([PARTS[number] for number in numbers], index=frame.index, name="part")
    count = len(set(together.tolist()))
    if not 2 <= folds <= count:
        raise InputError(f"{folds} folds of {count} groups", remedy="Give at least 2, at most one per group")
    fold = divided(everything, [1 / folds] * folds)
    rest = shares[0] + shares[1]
    inner = [float(shares[0] / rest), float(shares[1] / rest)] if rest else [1.0, 0.0]
    columns = {}
    for number in range(folds):
        parts = np.full(len(ids), "test", dtype=object)
        others = np.flatnonzero(fold != number)
        parts[others] = [PARTS[part] for part in divided(others, inner)]
        columns[f"fold_{number + 1}"] = parts
    return pd.DataFrame(columns, index=frame.index)


def _cut_points(cuts: Cuts | None, stratum: str, when: list[int], shares: list[Fraction]) -> tuple[int, int]:
    size = len(when)
    given = cuts.get(stratum) if isinstance(cuts, Mapping) else cuts
    if given is None:
        if isinstance(cuts, Mapping):
            raise InputError(
                f"there are no cuts for '{stratum}'", remedy="Give two cut points for each label"
            )
        return int(shares[0] * size), int((shares[0] + shares[1]) * size)
    if len(given) != 2:
        raise InputError(f"cuts {list(given)}", remedy="Give two: where dev begins and where test begins")
    if all(isinstance(cut, int | np.integer) for cut in given):
        first, second = int(given[0]), int(given[1])
    else:
        moments = milliseconds(list(given))
        first, second = (int(np.searchsorted(np.array(when), cut, side="left")) for cut in moments)
    if not 0 <= first <= second <= size:
        raise InputError(f"cuts {list(given)} for {size} items", remedy="Give them in order, within the data")
    return first, second


def identities(frame: pd.DataFrame, column: str = "") -> list[str]:
    """Return every row's unique id as text; without an id column, the index."""
    names = (column,) if column else IDS
    source = next((name for name in names if name in frame.columns), None)
    if column and source is None:
        raise UnknownName(f"there is no column '{column}'", remedy=nearest(column, map(str, frame.columns)))
    values = [str(cell) for cell in (frame.index if source is None else frame[source])]
    if len(set(values)) != len(values):
        raise InputError(
            f"ids occur more than once in {source or 'the index'}", remedy="Keep one row per item"
        )
    return values


def _column(frame: pd.DataFrame, names: tuple[str, ...], what: str) -> NDArray[np.object_]:
    return np.array([str(cell) for cell in frame[_found(frame, names, what)]], dtype=object)


def _found(frame: pd.DataFrame, names: tuple[str, ...], what: str) -> str:
    """Return the first of these columns that the frame has."""
    source = next((name for name in names if name in frame.columns), None)
    if source is None and len(names) == 1:
        near = nearest(names[0], map(str, frame.columns))
        raise UnknownName(f"there is no column '{names[0]}' of {what}", remedy=near)
    if source is None:
        raise UnknownName(f"there is no column of {what}", remedy=f"Add one of: {', '.join(names)}")
    return source


def _random(
    ids: list[str], labels: NDArray[np.object_], shares: list[Fraction], seed: int
) -> NDArray[np.object_]:
    parts = np.empty(len(ids), dtype=object)
    place = {item: row for row, item in enumerate(ids)}
    for label in dict.fromkeys(labels):
        members = keyed.order(seed, "split", (ids[row] for row in np.flatnonzero(labels == label)))
        first, second = int(shares[0] * len(members)), int((shares[0] + shares[1]) * len(members))
        for position, item in enumerate(members):
            parts[place[item]] = PARTS[(position >= first) + (position >= second)]
    return parts


def _folds(
    frame: pd.DataFrame,
    ids: list[str],
    labels: NDArray[np.object_],
    shares: list[Fraction],
    folds: int,
    seed: int,
) -> pd.DataFrame:
    import pandas as pd

    if not 2 <= folds <= len(ids):
        raise InputError(f"{folds} folds of {len(ids)} items", remedy="Give at least 2, at most one per item")
    place = {item: row for row, item in enumerate(ids)}
    fold = np.empty(len(ids), dtype=np.int64)
    start = 0
    for label in sorted(set(labels)):  # continue after the last fold: sizes differ by at most one item
        members = keyed.order(seed, "split", (ids[row] for row in np.flatnonzero(labels == label)))
        for position, item in enumerate(members):
            fold[place[item]] = (start + position) % folds
        start += len(members)
    rest = shares[0] + shares[1]
    inner = (
        [shares[0] / rest, shares[1] / rest, Fraction(0)] if rest else [Fraction(1), Fraction(0), Fraction(0)]
    )
    columns = {}
    for number in range(folds):
        parts = np.full(len(ids), "test", dtype=object)
        others = np.flatnonzero(fold != number)
        parts[others] = _random([ids[row] for row in others], labels[others], inner, seed)
        columns[f"fold_{number + 1}"] = parts
    return pd.DataFrame(columns, index=frame.index)


def _leave_one_out(frame: pd.DataFrame, group: list[str]) -> pd.DataFrame:
    import pandas as pd

    if len(group) > 1:
        raise InputError("leave_one_out leaves out the values of one column", remedy="Name one as the group")
    column = _found(frame, (*group,) or KEYS["claim"], "values to leave out" if group else "claims or events")
    owners = np.array([str(cell) for cell in frame[column]], dtype=object)
    if len(set(owners)) < 2:
        raise InputError(f"there is one value of {column}", remedy="Leaving one out needs at least two")
    return pd.DataFrame(
        {owner: np.where(owners == owner, "test", "train") for owner in sorted(set(owners))},
        index=frame.index,
    )


FRACTIONS = (0.7, 0.1, 0.2)


def release_splits(
    corpus: pd.DataFrame,
    *,
    scheme: str,
    fractions: Sequence[float] = FRACTIONS,
    owners: Sequence[str] | None,
    texts: Sequence[str] | None,
    similarity: float,
    seed: int,
) -> pd.DataFrame:
    """Return item_id, part and group of every item.

    `grouped` keeps the items of an owner (a claim, an event) together; `stratified` and `chronological` do not. The
    first two keep near-duplicates together. By time, later near-duplicates of a training item may be in test.
    """
    import pandas as pd

    in_time = scheme == "chronological"
    keys: list[Values] = [values_of(owners)] if scheme == "grouped" and owners is not None else []
    keys += [] if in_time or texts is None else [near_copies(texts, similarity)]
    groups = kept_together(keys, len(corpus))
    items = corpus["item_id"].astype(str)
    first = items.groupby(groups).transform("min")
    frame = corpus[["item_id", "label", "created_at", "native_id"]].assign(group=first)
    parts = splits(
        frame,
        scheme="chronological" if in_time else "grouped",
        fractions=tuple(fractions),  # type: ignore[arg-type]
        group=() if in_time else "group",
        seed=seed,
    )
    return pd.DataFrame({"item_id": frame["item_id"], "part": parts, "group": frame["group"]})
