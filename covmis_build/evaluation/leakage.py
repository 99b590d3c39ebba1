"""What a test part shares with the parts that a system learns from: texts, near-duplicates, claims, time, classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from covmis_build.errors import InputError, UnknownName, nearest
from covmis_build.evaluation.rendering import notebook
from covmis_build.text.near_duplicates import near_duplicate_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

NEAR = 0.2
"""A normalised distance below this is a near-duplicate: one character in five changed."""


COMPARED = 4_000_000
"""So many edit distances are computed at once, which bounds the memory."""


@dataclass(frozen=True, slots=True)
class Leakage:
    """What was found. `summary` has a row for each pair of parts; `nearest` a row for each dev and test item."""

    summary: pd.DataFrame
    nearest: pd.DataFrame
    shared_claims: dict[str, list[str]] = field(default_factory=dict)
    missing_labels: dict[str, list[str]] = field(default_factory=dict)
    times: pd.DataFrame | None = None
    edits: int = 20
    similarity: float = 0.8

    @property
    def findings(self) -> list[str]:
        """What was found, in sentences; empty if the parts share nothing."""
        return _sentences(self)

    def to_frame(self) -> pd.DataFrame:
        """A row for each pair of parts."""
        return self.summary

    def _repr_html_(self) -> str:
        return notebook([("Leakage", " ".join(self.findings) or "Nothing is shared.", self.summary)])

    def to_dict(self) -> dict[str, Any]:
        """Everything but the items, as plain values."""
        return {
            "edits": self.edits,
            "similarity": self.similarity,
            "pairs": self.summary.to_dict("records"),
            "shared_claims": self.shared_claims,
            "missing_labels": self.missing_labels,
            "times": None if self.times is None else self.times.to_dict("records"),
            "findings": self.findings,
        }


def leakage(
    texts: Any,
    parts: Any,
    *,
    text: str = "text",
    edits: int = 20,
    similarity: float = 0.8,
    claims: Any = None,
    times: Any = None,
    labels: Any = None,
) -> Leakage:
    """Compare the test part (and dev) with train, and test with train and dev together.

    `summary` counts, per pair of parts: identical texts; items whose nearest Levenshtein distance is below `edits`
    and at most `edits`; items whose distance is below 0.2 of the longer text, because 20 edits say nothing about
    short posts; near-duplicates by TF-IDF cosine above `similarity`. Claims, times and labels are optional. Where
    `texts` is a frame, `text` is its column of texts, and parts, claims, times and labels may be columns, too. Dicts
    are joined by the ids that are their keys.

    >>> leak = leakage(["the same words", "another text", "the same words"], ["train", "train", "test"])
    >>> leak.summary[["part", "against", "identical", "below"]].to_dict("records")
    [{'part': 'test', 'against': 'train', 'identical': 1, 'below': 1}]
    """
    import pandas as pd

    if texts is None:
        raise InputError("the texts are missing", remedy="Give a list, a Series, a dict or a DataFrame")
    parts, claims, times, labels = (
        _column(texts, what, given)
        for what, given in (("parts", parts), ("claims", claims), ("times", times), ("labels", labels))
    )
    texts = _column(texts, "texts", text if hasattr(texts, "columns") else texts)
    words = ["" if cell is None or cell != cell else str(cell) for cell in texts]  # noqa: PLR0124
    part = _parts(parts, len(words))
    for what, values in (("claims", claims), ("times", times), ("labels", labels)):
        if values is not None and len(values) != len(part):
            raise InputError(f"{len(values)} {what} for {len(part)} items", remedy="Give one per item")
    first, second, cosine = near_duplicate_pairs(words, threshold=similarity)
    comparisons: list[tuple[str, tuple[str, ...]]] = [("test", ("train",))]
    if (part == "dev").any():
        comparisons = [("dev", ("train",)), *comparisons, ("test", ("train", "dev"))]
    rows, items = [], []
    known_distances: dict[tuple[str, str], pd.DataFrame] = {}
    for tested, against in comparisons:
        closest = _nearest_of_all(words, part, tested, against, known_distances)
        copies = _near(first, second, cosine, part, tested, against, len(words))
        closest["cosine"] = copies[closest["row"].to_numpy()]
        rows.append(_counts(closest, words, part, tested, against, edits))
        items.append(closest.assign(part=tested, against=" and ".join(against)))
    return Leakage(
        summary=pd.DataFrame(rows),
        nearest=pd.concat(items, ignore_index=True),
        shared_claims=_shared(claims, part),
        missing_labels=_missing(labels, part),
        times=None if times is None else _overlap(times, part),
        edits=edits,
        similarity=similarity,
    )


def _parts(parts: Any, texts: int) -> NDArray[np.object_]:
    """The part of each text, if it is a division."""
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
    """One value per text: as given, by the texts' ids, or the frame's column of this name."""
    if isinstance(given, Mapping) and isinstance(texts, Mapping):
        if lacking := [item for item in texts if item not in given]:
            raise InputError(f"{what} lack the item {lacking[0]}", remedy="Give every text one")
        return [given[item] for item in texts]
    if not isinstance(given, str):
        return given
    if not hasattr(texts, "columns"):
        raise InputError(f"{what} = '{given}' names a column", remedy="Give a DataFrame instead of texts")
    if given not in texts.columns:
        raise UnknownName(f"there is no column '{given}'", remedy=nearest(given, map(str, texts.columns)))
    return list(texts[given])


def _nearest_of_all(
    words: list[str],
    part: Any,
    tested: str,
    against: tuple[str, ...],
    known: dict[tuple[str, str], pd.DataFrame],
) -> pd.DataFrame:
    """The nearest over several parts; each pair of parts is compared once."""
    for part_name in against:
        if (tested, part_name) not in known:
            known[tested, part_name] = _nearest(words, part, tested, (part_name,))
    closest = known[tested, against[0]]
    for part_name in against[1:]:
        more, merged = known[tested, part_name], closest.copy()
        for value, where in (("distance", "nearest"), ("normalised", "normalised_nearest")):
            closer = (more[value] < closest[value]).to_numpy()
            merged[value] = np.where(closer, more[value], closest[value])
            merged[where] = np.where(closer, more[where], closest[where])
        closest = merged
    return closest


def _nearest(words: list[str], part: Any, tested: str, against: tuple[str, ...]) -> pd.DataFrame:
    import pandas as pd

    here = np.flatnonzero(part == tested)
    there = np.flatnonzero(np.isin(part, against))
    absolute, where, relative, relative_where = fewest_edits(
        [words[row] for row in here], [words[row] for row in there]
    )
    return pd.DataFrame(
        {
            "row": here,
            "distance": absolute,
            "nearest": there[where],
            "normalised": relative,
            "normalised_nearest": there[relative_where],
        }
    )


def _near(
    first: Any, second: Any, cosine: Any, part: Any, tested: str, against: tuple[str, ...], size: int
) -> Any:
    """The highest similarity of each item of the part to one of the other parts; nan below the threshold."""
    best = np.full(size, -1.0)
    for a, b in ((first, second), (second, first)):
        crossing = (part[a] == tested) & np.isin(part[b], against)
        np.maximum.at(best, np.asarray(a)[crossing], np.asarray(cosine)[crossing])
    return np.where(best < 0, np.nan, best)


def _counts(
    closest: pd.DataFrame, words: list[str], part: Any, tested: str, against: tuple[str, ...], edits: int
) -> dict[str, Any]:
    lengths = np.array([len(words[row]) for row in closest["row"]])
    return {
        "part": tested,
        "against": " and ".join(against),
        "items": len(closest),
        "others": int(np.isin(part, against).sum()),
        "identical": int((closest["distance"] == 0).sum()),
        "below": int((closest["distance"] < edits).sum()),
        "at_most": int((closest["distance"] <= edits).sum()),
        "short": int((lengths < 2 * edits).sum()),
        "normalised": int((closest["normalised"] < NEAR).sum()),
        "similar": int(closest["cosine"].notna().sum()),
    }


def _shared(claims: Sequence[Any] | None, part: Any) -> dict[str, list[str]]:
    if claims is None:
        return {}
    owners = np.array([str(claim) for claim in claims], dtype=object)
    train = set(owners[part == "train"])
    return {
        name: [claim for claim in dict.fromkeys(owners[part == name]) if claim in train]
        for name in ("dev", "test")
        if (part == name).any()
    }


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
    """First and last time of each part, and how many of its items are not later than train's last."""
    import pandas as pd

    from covmis_build.evaluation.split import milliseconds

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
    lines = []
    for row in leak.summary.to_dict("records"):
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
    lines += [
        f"Claims of {part} that also occur in train: {len(claims):,}."
        for part, claims in leak.shared_claims.items()
        if claims
    ]
    if leak.times is not None:
        lines += [
            f"Items of {row['part']} that are not later than the last item of train: {row['not_later_than_train']:,}."
            for row in leak.times.to_dict("records")
            if row["not_later_than_train"]
        ]
    lines += [f"The part {part} lacks {', '.join(gone)}." for part, gone in leak.missing_labels.items()]
    return lines


def fewest_edits(
    texts: Sequence[str], among: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """For each text the smallest Levenshtein distance to any of `among`, and where; then the same for the normalised distance.

    Normalised: divided by the length of the longer text (two empty texts are at 0). Ties go to the first.

    >>> fewest_edits(["abcd"], ["xyz", "abce"])[:2]
    (array([1]), array([1]))
    """
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cdist

    lengths = np.fromiter(map(len, among), np.int64, len(among))
    rows = max(1, COMPARED // max(1, len(among)))
    absolute, where = np.empty(len(texts), np.int64), np.empty(len(texts), np.int64)
    relative, relative_where = np.empty(len(texts)), np.empty(len(texts), np.int64)
    for begin in range(0, len(texts), rows):
        here = slice(begin, begin + rows)
        block = texts[here]
        apart = cdist(block, among, scorer=Levenshtein.distance, dtype=np.int32, workers=-1)
        longer = np.maximum(np.maximum.outer([len(text) for text in block], lengths), 1)
        for values, least, place in ((apart, absolute, where), (apart / longer, relative, relative_where)):
            place[here] = values.argmin(axis=1)
            least[here] = values.min(axis=1)
    return absolute, where, relative, relative_where
