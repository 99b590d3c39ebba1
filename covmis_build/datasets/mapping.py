"""Map the labels of a corpus to another scheme."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.datasets.catalogue import find
from covmis_build.datasets.labels import label_map
from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd


def map_labels(
    frame: pd.DataFrame, target: str | Mapping[str, str], *, source: str | None = None
) -> pd.DataFrame:
    """Map the frame's labels to this scheme, or through the user's own map.

    Each row's scheme is that of its corpus, unless `source` names it.
    """
    mapped = frame.copy()
    mapped.attrs = dict(frame.attrs)
    for name, part in frame.groupby("dataset", sort=False):
        scheme = source or scheme_of(frame, str(name))
        mapping = label_map(scheme, target) if isinstance(target, str) else dict(target)
        unknown = sorted(set(part["label"]) - set(mapping))
        if unknown:
            raise InputError(
                f"{name} has the label '{unknown[0]}', which the map does not name",
                remedy="Known: " + ", ".join(mapping),
            )
        mapped.loc[part.index, "label"] = part["label"].map(mapping)
    return mapped


def scheme_of(frame: pd.DataFrame, name: str) -> str:
    """Return the scheme of a corpus in a frame: as noted when read, otherwise from the corpus's description."""
    return str(frame.attrs.get("scheme") or find(name).scheme)
