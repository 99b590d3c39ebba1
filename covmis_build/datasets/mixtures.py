"""The paper's training mixtures (section 5.2): undersampling, class weights, combinations, RumourEval's replies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build import keyed
from covmis_build.datasets.shape import COLUMNS
from covmis_build.errors import InputError
from covmis_build.stats.class_weights import class_weights

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import pandas as pd

__all__ = ["class_weights", "combine", "undersample", "without_replies_to_denying_sources"]

DENYING = ("deny", "against")


def undersample(
    frame: pd.DataFrame, *, expected: float, seed: int, keep: Collection[str] = ("against",)
) -> pd.DataFrame:
    """Undersample each class to about `expected` rows: a row is kept with probability expected/frequency, at most 1.

    Classes in `keep` stay complete (the paper's Against). A row's random number depends only on corpus, target and id, so added
    or removed rows do not change others. The paper expected 400 for COVIDLies, 550 for RumourEval.
    """
    if not expected > 0:
        raise InputError(
            "expected must be above 0", remedy="The paper has 400 for COVIDLies, 550 for RumourEval"
        )
    unknown = sorted(set(keep) - set(frame["label"]))
    if unknown and len(frame):
        raise InputError(
            f"no row has the label '{unknown[0]}', which is to be kept whole",
            remedy="Map the labels first, or name the label as it is here",
        )
    counts = frame["label"].value_counts()
    chosen = [
        label in keep or keyed.uniform(seed, "undersample", name, about, post) < expected / counts[label]
        for name, about, post, label in zip(
            frame["dataset"], frame["target_id"], frame["id"], frame["label"], strict=True
        )
    ]
    return frame.loc[chosen].reset_index(drop=True)


def without_replies_to_denying_sources(frame: pd.DataFrame) -> pd.DataFrame:
    """RumourEval for claims: remove replies in threads whose source denies the rumour (section 5.2).

    A reply that supports such a source denies the rumour, which its label does not show. The sources stay.
    """
    is_source = frame["id"] == frame["target_id"]
    if len(frame) and not is_source.any():
        raise InputError(
            "no row is the source of its thread",
            remedy="Read RumourEval from a layout with threads: `covmis dataset show rumoureval-2017`",
        )
    denying = set(frame.loc[is_source & frame["label"].isin(DENYING), "id"])
    return frame[is_source | ~frame["target_id"].isin(denying)].reset_index(drop=True)


def combine(parts: Mapping[str, pd.DataFrame], labels: Sequence[str]) -> pd.DataFrame:
    """Combine tables, with a column `part` for the source; labels outside `labels` are refused.

    `item_id` tells the rows apart: a post has one for each target that it is about.

    Posts in several parts are kept and counted in `attrs["shared"]`, because a part may be a test set.
    """
    import pandas as pd

    pieces = []
    for name, frame in parts.items():
        lacking = [column for column in COLUMNS if column not in frame]
        unknown = sorted(set(frame["label"]) - set(labels)) if not lacking else []
        if lacking or unknown:
            raise InputError(
                f"{name} lacks the column '{lacking[0]}'"
                if lacking
                else f"{name} has the label '{unknown[0]}'",
                remedy="Map its labels first: " + ", ".join(labels),
            )
        pieces.append(frame[list(COLUMNS)].assign(part=name))
    mixture = pd.concat(pieces, ignore_index=True) if pieces else pd.DataFrame(columns=[*COLUMNS, "part"])
    mixture.insert(0, "item_id", _ids_of_pairs(mixture, several=len(pieces) > 1))
    homes = mixture.groupby("id")["part"].nunique() if len(mixture) else pd.Series(dtype=int)
    mixture.attrs = {"shared": int((homes > 1).sum())}
    return mixture


def _ids_of_pairs(mixture: pd.DataFrame, *, several: bool) -> list[str]:
    """Return `target|post`, or the post's id where there is no target; in a mixture of `several` corpora after the part's name."""
    rows = mixture[["part", "target_id", "id"]].astype(str).itertuples(index=False, name=None)
    return [
        f"{f'{part}:' if several else ''}{f'{target}|' if target else ''}{post}"
        for part, target, post in rows
    ]
