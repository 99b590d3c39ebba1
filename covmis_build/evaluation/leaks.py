"""What a test part shares with the parts that a system learns from: texts, near-copies, claims, time, classes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from covmis_build.errors import InputError
from covmis_build.text import edits as edit_distance
from covmis_build.text.near_duplicates import near_duplicate_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

NEAR = 0.2
"""A normalised distance below this is a near-copy: one character in five changed."""


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
    texts: Sequence[str],
    parts: Sequence[str],
    *,
    edits: int = 20,
    similarity: float = 0.8,
    claims: Sequence[Any] | None = None,
    times: Sequence[Any] | None = None,
    labels: Sequence[Any] | None = None,
) -> Leakage:
    """Compare the test part (and dev) with train, and test with train and dev together.

    `summary` counts, per pair of parts: identical texts; items whose nearest Levenshtein distance is below `edits`
    and at most `edits`; items whose distance is below 0.2 of the longer text, because 20 edits say nothing about
    short posts; near-duplicates by TF-IDF cosine above `similarity`. Claims, times and labels are optional.

    >>> found = leakage(["the same words", "another text", "the same words"], ["train", "train", "test"])
    >>> found.summary[["part", "against", "identical", "below"]].to_dict("records")
    [{'part': 'test', 'against': 'train', 'identical': 1, 'below': 1}]
    """
    import pandas as pd

    words = ["" if one is None or one != one else str(one) for one in texts]  # noqa: PLR0124
    part = np.array([str(one) for one in parts], dtype=object)
    if len(words) != len(part):
        raise InputError(f"{len(words)} texts for {len(part)} parts", remedy="Give one part per text")
    known = [one for one in dict.fromkeys(part) if one not in {"train", "dev", "test"}]
    if known:
        raise InputError(f"unknown part '{known[0]}'", remedy="Allowed: train, dev, test")
    for needed in ("train", "test"):
        if not (part == needed).any():
            raise InputError(f"the part {needed} is empty", remedy="Give a division with train and test")
    for what, values in (("claims", claims), ("times", times), ("labels", labels)):
        if values is not None and len(values) != len(part):
            raise InputError(f"{len(values)} {what} for {len(part)} items", remedy="Give one per item")
    first, second, cosine = near_duplicate_pairs(words, threshold=similarity)
    comparisons: list[tuple[str, tuple[str, ...]]] = [("test", ("train",))]
    if (part == "dev").any():
        comparisons = [("dev", ("train",)), *comparisons, ("test", ("train", "dev"))]
    rows, items = [], []
    known_distances: dict[tuple[str, str], pd.DataFrame] = {}
    for one, against in comparisons:
        found = _nearest_of_all(words, part, one, against, known_distances)
        copies = _near(first, second, cosine, part, one, against, len(words))
        found["cosine"] = copies[found["row"].to_numpy()]
        rows.append(_counts(found, words, part, one, against, edits))
        items.append(found.assign(part=one, against=" and ".join(against)))
    return Leakage(
        summary=pd.DataFrame(rows),
        nearest=pd.concat(items, ignore_index=True),
        shared_claims=_shared(claims, part),
        missing_labels=_missing(labels, part),
        times=None if times is None else _overlap(times, part),
        edits=edits,
        similarity=similarity,
    )


def _nearest_of_all(
    words: list[str],
    part: Any,
    one: str,
    against: tuple[str, ...],
    known: dict[tuple[str, str], pd.DataFrame],
) -> pd.DataFrame:
    """The nearest over several parts; each pair of parts is compared once."""
    for other in against:
        if (one, other) not in known:
            known[one, other] = _nearest(words, part, one, (other,))
    found = known[one, against[0]]
    for other in against[1:]:
        more, merged = known[one, other], found.copy()
        for value, where in (("distance", "nearest"), ("normalised", "normalised_nearest")):
            closer = (more[value] < found[value]).to_numpy()
            merged[value] = np.where(closer, more[value], found[value])
            merged[where] = np.where(closer, more[where], found[where])
        found = merged
    return found


def _nearest(words: list[str], part: Any, one: str, against: tuple[str, ...]) -> pd.DataFrame:
    import pandas as pd

    here = np.flatnonzero(part == one)
    there = np.flatnonzero(np.isin(part, against))
    absolute, where, relative, relative_where = edit_distance.nearest(
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
    first: Any, second: Any, cosine: Any, part: Any, one: str, against: tuple[str, ...], size: int
) -> Any:
    """The highest similarity of each item of the part to one of the other parts; nan below the threshold."""
    best = np.full(size, -1.0)
    for a, b in ((first, second), (second, first)):
        crossing = (part[a] == one) & np.isin(part[b], against)
        np.maximum.at(best, np.asarray(a)[crossing], np.asarray(cosine)[crossing])
    return np.where(best < 0, np.nan, best)


def _counts(
    found: pd.DataFrame, words: list[str], part: Any, one: str, against: tuple[str, ...], edits: int
) -> dict[str, Any]:
    lengths = np.array([len(words[row]) for row in found["row"]])
    return {
        "part": one,
        "against": " and ".join(against),
        "items": len(found),
        "others": int(np.isin(part, against).sum()),
        "identical": int((found["distance"] == 0).sum()),
        "below": int((found["distance"] < edits).sum()),
        "at_most": int((found["distance"] <= edits).sum()),
        "short": int((lengths < 2 * edits).sum()),
        "normalised": int((found["normalised"] < NEAR).sum()),
        "similar": int(found["cosine"].notna().sum()),
    }


def _shared(claims: Sequence[Any] | None, part: Any) -> dict[str, list[str]]:
    if claims is None:
        return {}
    owners = np.array([str(one) for one in claims], dtype=object)
    train = set(owners[part == "train"])
    return {
        one: [claim for claim in dict.fromkeys(owners[part == one]) if claim in train]
        for one in ("dev", "test")
        if (part == one).any()
    }


def _missing(labels: Sequence[Any] | None, part: Any) -> dict[str, list[str]]:
    if labels is None:
        return {}
    words = np.array([str(one) for one in labels], dtype=object)
    lacking = {
        one: [label for label in sorted(set(words)) if label not in set(words[part == one])]
        for one in ("train", "dev", "test")
        if (part == one).any()
    }
    return {one: gone for one, gone in lacking.items() if gone}


def _overlap(times: Sequence[Any], part: Any) -> pd.DataFrame:
    """First and last time of each part, and how many of its items are not later than train's last."""
    import pandas as pd

    from covmis_build.evaluation.splitting import milliseconds

    when = np.array(milliseconds(list(times)))
    rows = []
    for one in ("train", "dev", "test"):
        inside = when[part == one]
        if len(inside):
            ends = pd.to_datetime([inside.min(), inside.max()], unit="ms", utc=True)
            rows.append(
                {
                    "part": one,
                    "first": ends[0].strftime("%Y-%m-%dT%H:%M:%SZ"),
                    "last": ends[1].strftime("%Y-%m-%dT%H:%M:%SZ"),
                    "not_later_than_train": 0
                    if one == "train"
                    else int((inside <= when[part == "train"].max()).sum()),
                }
            )
    return pd.DataFrame(rows)


def _sentences(found: Leakage) -> list[str]:
    lines = []
    for row in found.summary.to_dict("records"):
        for count, what in (
            (row["identical"], "have the same text as an item of"),
            (row["below"], f"are fewer than {found.edits} edits from an item of"),
            (row["normalised"], "have a near-copy (fewer than one character in five changed) in"),
            (row["similar"], f"have a TF-IDF cosine above {found.similarity:g} with an item of"),
        ):
            if count:
                lines.append(
                    f"{count:,} of {row['items']:,} {row['part']} items ({count / row['items']:.1%}) "
                    f"{what} {row['against']}."
                )
        if row["below"] and row["short"]:
            lines.append(
                f"{row['short']:,} of {row['items']:,} {row['part']} items are shorter than {2 * found.edits} "
                f"characters: for them, {found.edits} edits say little."
            )
    lines += [
        f"{len(claims):,} claims of {part} also occur in train."
        for part, claims in found.shared_claims.items()
        if claims
    ]
    if found.times is not None:
        lines += [
            f"{row['not_later_than_train']:,} items of {row['part']} are not later than the last item of train."
            for row in found.times.to_dict("records")
            if row["not_later_than_train"]
        ]
    lines += [f"The part {part} lacks {', '.join(gone)}." for part, gone in found.missing_labels.items()]
    return lines
