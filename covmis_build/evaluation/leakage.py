"""Overlap of the test part with the parts for training: texts, near-duplicates, claims, authors, time, classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from covmis_build.engine.port import silent
from covmis_build.errors import InputError, UnknownName, nearest
from covmis_build.evaluation.keys import check_texts, values_of, words_of
from covmis_build.evaluation.times import milliseconds
from covmis_build.report.summary import in_notebook
from covmis_build.tables import in_order_of
from covmis_build.text.edits import nearest_texts
from covmis_build.text.near_duplicates import near_duplicate_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from covmis_build.engine.port import Progress
    from covmis_build.evaluation.keys import Values

    Pairs = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
    """Near-duplicates, as `near_duplicate_pairs` gives them."""


NOTHING = "Nothing is shared."
EDITS = 20
"""Levenshtein distance below which two texts are similar."""


@dataclass(frozen=True, slots=True, repr=False)
class Leakage:
    """The result of a leakage check.

    `summary` has one row per pair of parts. `nearest` has one row per dev and test item with the distance of the most
    similar text, if below the limits. `keys` has one row per key (claim, author, …) and pair of parts.
    """

    summary: pd.DataFrame
    nearest: pd.DataFrame
    keys: pd.DataFrame | None = None
    missing_labels: dict[str, list[str]] = field(default_factory=dict)
    times: pd.DataFrame | None = None
    edits: int = EDITS
    similarity: float = 0.8
    empty: int = 0
    """Number of empty texts, which are no duplicates."""

    @property
    def findings(self) -> list[str]:
        """Return the findings as sentences; empty if the parts share nothing."""
        return _sentences(self)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair of parts."""
        return self.summary

    def _repr_html_(self) -> str:
        return in_notebook([*(self.findings or [NOTHING]), self.summary])

    def __repr__(self) -> str:
        return f"<Leakage: {(self.findings or [NOTHING])[0]}>"

    def to_dict(self) -> dict[str, Any]:
        """Return everything except items as plain values."""
        return {
            "edits": self.edits,
            "similarity": self.similarity,
            "empty": self.empty,
            "pairs": self.summary.to_dict("records"),
            "keys": [] if self.keys is None else self.keys.to_dict("records"),
            "missing_labels": self.missing_labels,
            "times": None if self.times is None else self.times.to_dict("records"),
            "findings": self.findings,
        }


def leakage(  # noqa: PLR0913 - every option is named
    texts: Any,
    parts: Any,
    *,
    text: str = "text",
    edits: int = EDITS,
    similarity: float = 0.8,
    keys: Mapping[str, Any] | Sequence[str] = (),
    times: Any = None,
    labels: Any = None,
    progress: Progress = silent,
) -> Leakage:
    """Compare the test part (and dev) with train, and test with train and dev together.

    For each pair of parts `summary` counts identical texts; items whose nearest Levenshtein distance is below `edits`, and at
    most `edits`; items whose distance is below 0.2 of the longer text, because 20 edits mean little in short posts; and
    near-duplicates with TF-IDF cosine above `similarity`. `keys` are other properties that items may share: a value per item
    (or a list of values) by the key's name. Keys, times and labels are optional. If `texts` is a frame, `text` is its text
    column; parts, times and labels may be column names, and `keys` a list of them. Dicts are joined by their ids.

    >>> leak = leakage(["the same words", "another text", "the same words"], ["train", "train", "test"])
    >>> leak.summary[["part", "against", "identical", "below"]].to_dict("records")
    [{'part': 'test', 'against': 'train', 'identical': 1, 'below': 1}]
    """
    if texts is None:
        raise InputError("the texts are missing", remedy="Give a list, a Series, a dict or a DataFrame")
    parts, times, labels = (
        _column(texts, what, given)
        for what, given in (("parts", parts), ("times", times), ("labels", labels))
    )
    named = (
        keys
        if isinstance(keys, Mapping)
        else {name: name for name in ([keys] if isinstance(keys, str) else keys)}
    )
    values = {name: values_of(_column(texts, name, given)) for name, given in named.items()}
    texts = _column(texts, "texts", text if hasattr(texts, "columns") else texts)
    words = words_of(texts)
    part = _parts(parts, len(words))
    check_texts(words)
    for what, given in (*values.items(), ("times", times), ("labels", labels)):
        if given is not None and len(given) != len(part):
            raise InputError(f"{len(given)} {what} for {len(part)} items", remedy="Give one per item")
    pairs = near_duplicate_pairs(words, threshold=similarity)
    return compared(
        words, part, pairs, edits, similarity, values, times=times, labels=labels, progress=progress
    )


def compared(  # noqa: PLR0913 - what both callers have, by name
    words: list[str],
    part: NDArray[np.object_],
    pairs: Pairs,
    edits: int,
    similarity: float,
    values: Mapping[str, Values],
    *,
    times: Any = None,
    labels: Any = None,
    progress: Progress = silent,
) -> Leakage:
    """Compare the parts, given the near-duplicates among all items."""
    import pandas as pd

    comparisons: list[tuple[str, tuple[str, ...]]] = [("test", ("train",))]
    if (part == "dev").any():
        comparisons = [("dev", ("train",)), *comparisons, ("test", ("train", "dev"))]
    pieces = list(dict.fromkeys(one for _, against in comparisons for one in against))
    nearest = {
        (tested, other): _nearest(words, part, tested, other, edits, progress)
        for tested in dict.fromkeys(tested for tested, _ in comparisons)
        for other in pieces
        if tested != other
    }
    rows, items = [], []
    for tested, against in comparisons:
        closest = _closest([nearest[tested, other] for other in against])
        copies = _near(*pairs, part, tested, against, len(words))
        closest["cosine"] = copies[closest["row"].to_numpy()]
        rows.append(_counts(closest, words, part, tested, against, edits))
        items.append(closest.assign(part=tested, against=" and ".join(against)))
    return Leakage(
        summary=pd.DataFrame(rows),
        nearest=pd.concat(items, ignore_index=True),
        keys=pd.DataFrame(_shared(values, part, comparisons)) if values else None,
        missing_labels=_missing(labels, part),
        times=None if times is None else _overlap(times, part),
        edits=edits,
        similarity=similarity,
        empty=sum(not text.strip() for text in words),
    )


def _parts(parts: Any, texts: int) -> NDArray[np.object_]:
    """Return each text's part, after a check of the split."""
    if parts is None:
        raise InputError("the parts are missing", remedy="Give train, dev or test for each text")
    part = np.array([str(name) for name in parts], dtype=object)
    if texts != len(part):
        raise InputError(f"{texts} texts for {len(part)} parts", remedy="Give one part per text")
    known = [name for name in dict.fromkeys(part) if name not in {"train", "dev", "test"}]
    if known:
        raise UnknownName(f"unknown part '{known[0]}'", remedy="Allowed: train, dev, test")
    for needed in ("train", "test"):
        if not (part == needed).any():
            raise InputError(f"the part {needed} is empty", remedy="Give a division with train and test")
    return part


def _column(texts: Any, what: str, given: Any) -> Any:
    """Return one value per text: as given, by the texts' ids, or from the frame's column of this name."""
    if not isinstance(given, str):
        return in_order_of(texts, given, what)
    if not hasattr(texts, "columns"):
        raise InputError(f"{what} = '{given}' names a column", remedy="Give a DataFrame instead of texts")
    if given not in texts.columns:
        raise UnknownName(f"there is no column '{given}'", remedy=nearest(given, map(str, texts.columns)))
    return list(texts[given])


def _nearest(
    words: list[str], part: Any, tested: str, against: str, edits: int, progress: Progress
) -> pd.DataFrame:
    """Return the nearest item of the part `against` for each item of this part."""
    import pandas as pd

    written = np.array([bool(text.strip()) for text in words])  # an empty text is similar to nothing
    here, there = np.flatnonzero(written & (part == tested)), np.flatnonzero(written & (part == against))
    nearest = nearest_texts([words[row] for row in here], [words[row] for row in there], edits, progress)
    place = np.append(there, -1)
    distances = pd.DataFrame(
        {
            "distance": nearest.edits,
            "nearest": place[nearest.edits_to],
            "normalised": nearest.share,
            "normalised_nearest": place[nearest.share_to],
        },
        index=pd.Index(here, name="row"),
    ).reindex(np.flatnonzero(part == tested))
    where = ["nearest", "normalised_nearest"]
    return distances.assign(**distances[where].fillna(-1).astype(np.int64)).rename_axis("row").reset_index()


def _closest(several: list[pd.DataFrame]) -> pd.DataFrame:
    """Return the nearest over several parts."""
    closest = several[0].copy()
    for more in several[1:]:
        for value, where in (("distance", "nearest"), ("normalised", "normalised_nearest")):
            closer = ~(more[value] >= closest[value]) & more[value].notna()
            closest[value] = np.where(closer, more[value], closest[value])
            closest[where] = np.where(closer, more[where], closest[where])
    return closest


def _near(
    first: Any, second: Any, cosine: Any, part: Any, tested: str, against: tuple[str, ...], size: int
) -> Any:
    """Return each item's highest similarity to an item of the other parts; NaN below the threshold."""
    best = np.full(size, -1.0)
    for a, b in ((first, second), (second, first)):
        crossing = (part[a] == tested) & np.isin(part[b], against)
        np.maximum.at(best, np.asarray(a)[crossing], np.asarray(cosine)[crossing])
    return np.where(best < 0, np.nan, best)


def _counts(
    closest: pd.DataFrame, words: list[str], part: Any, tested: str, against: tuple[str, ...], edits: int
) -> dict[str, Any]:
    lengths = np.array([len(words[row]) for row in closest["row"] if words[row].strip()])
    return {
        "part": tested,
        "against": " and ".join(against),
        "items": len(closest),
        "others": int(np.isin(part, against).sum()),
        "identical": int((closest["distance"] == 0).sum()),
        "below": int((closest["distance"] < edits).sum()),
        "at_most": int((closest["distance"] <= edits).sum()),
        "short": int((lengths < 2 * edits).sum()),
        "normalised": int(closest["normalised"].notna().sum()),
        "similar": int(closest["cosine"].notna().sum()),
    }


def _shared(
    keys: Mapping[str, Values], part: Any, comparisons: Sequence[tuple[str, tuple[str, ...]]]
) -> list[dict[str, Any]]:
    """Return the number of shared values per key and pair of parts, and of test items with a shared value."""
    rows = []
    for key, values in keys.items():
        for tested, against in comparisons:
            known = {value for at in np.flatnonzero(np.isin(part, against)).tolist() for value in values[at]}
            own = [values[at] for at in np.flatnonzero(part == tested).tolist()]
            distinct = {value for several in own for value in several}
            rows.append(
                {
                    "key": key,
                    "part": tested,
                    "against": " and ".join(against),
                    "items": len(own),
                    "items_shared": sum(not known.isdisjoint(several) for several in own),
                    "values": len(distinct),
                    "values_shared": len(distinct & known),
                }
            )
    return rows


def _missing(labels: Sequence[Any] | None, part: Any) -> dict[str, list[str]]:
    if labels is None:
        return {}
    words = np.array([str(label) for label in labels], dtype=object)
    lacking = {
        name: [label for label in sorted(set(words)) if label not in set(words[part == name])]
        for name in ("train", "dev", "test")
        if (part == name).any()
    }
    return {name: gone for name, gone in lacking.items() if gone}


def _overlap(times: Sequence[Any], part: Any) -> pd.DataFrame:
    """Return first and last time of each part, and the number of its items not later than train's last."""
    import pandas as pd

    when = np.array(milliseconds(list(times)))
    rows = []
    for name in ("train", "dev", "test"):
        inside = when[part == name]
        if len(inside):
            ends = pd.to_datetime([inside.min(), inside.max()], unit="ms", utc=True)
            rows.append(
                {
                    "part": name,
                    "first": ends[0].strftime("%Y-%m-%dT%H:%M:%SZ"),
                    "last": ends[1].strftime("%Y-%m-%dT%H:%M:%SZ"),
                    "not_later_than_train": 0
                    if name == "train"
                    else int((inside <= when[part == "train"].max()).sum()),
                }
            )
    return pd.DataFrame(rows)


def _sentences(leak: Leakage) -> list[str]:
    lines = [f"Empty texts, which are copies of nothing: {leak.empty:,}."] if leak.empty else []
    # test is compared with all parts for training; its overlap with train alone is in the table
    widest = {row["part"]: row["against"] for row in leak.summary.to_dict("records")}
    for row in leak.summary.to_dict("records"):
        if row["against"] != widest[row["part"]]:
            continue
        for count, what in (
            (row["identical"], "have the same text as an item of"),
            (row["below"], f"are fewer than {leak.edits} edits from an item of"),
            (row["normalised"], "have a near-copy (fewer than one character in five changed) in"),
            (row["similar"], f"have a TF-IDF cosine above {leak.similarity:g} with an item of"),
        ):
            if count:
                lines.append(
                    f"{count:,} of {row['items']:,} {row['part']} items ({count / row['items']:.1%}) "
                    f"{what} {row['against']}."
                )
        if row["below"] and row["short"]:
            lines.append(
                f"{row['short']:,} of {row['items']:,} {row['part']} items are shorter than {2 * leak.edits} "
                f"characters: for them, {leak.edits} edits say little."
            )
    shared = [] if leak.keys is None else leak.keys.to_dict("records")
    lines += [
        f"{row['items_shared']:,} of {row['items']:,} {row['part']} items ({row['items_shared'] / row['items']:.1%}) share "
        f"their {row['key']} with an item of {row['against']} ({row['values_shared']:,} of {row['values']:,} values)."
        for row in shared
        if row["items_shared"] and row["against"] == widest[row["part"]]
    ]
    if leak.times is not None:
        lines += [
            f"Items of {row['part']} that are not later than the last item of train: {row['not_later_than_train']:,}."
            for row in leak.times.to_dict("records")
            if row["not_later_than_train"]
        ]
    lines += [f"The part {part} lacks {', '.join(gone)}." for part, gone in leak.missing_labels.items()]
    return lines
