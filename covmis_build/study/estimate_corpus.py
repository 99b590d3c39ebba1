"""Estimate from a corpus of others: with its own columns, and what other files of its release say of the draw."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from covmis_build.corpus.convert import corpus_file, read_corpus
from covmis_build.corpus.recount import read_beside
from covmis_build.corpus.release_facts import from_json
from covmis_build.corpus.resources import PAIRS, WEIGHTS
from covmis_build.errors import InputError
from covmis_build.estimation.differences import compared_parts
from covmis_build.estimation.page import check_formats, written
from covmis_build.estimation.scopes import check_scopes
from covmis_build.estimation.shares import CELL_VARIANCES, Estimates, estimates
from covmis_build.options import Labels, Sampling
from covmis_build.places import FACTS

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Sequence

    import pandas as pd


UNSEEN = (
    "without the study, large near-duplicate groups that were not sampled are not known: intervals for all posts may be "
    "too narrow"
)
"""A note for every estimate from a corpus alone."""
NO_DESIGN = (
    f"there is no {WEIGHTS}.csv in the corpus's folder: how each post was drawn, how likely each automatic label was to be checked, and the "
    "cells of known size are guessed from its rows, so these figures are not the study's. Keep the release's files together"
)
NO_PAIRS = (
    "posts of a claim were drawn together; errors are approximated here (Hájek). estimates.R and estimates.py of the release "
    "have those of the study"
)
NO_SETTINGS = (
    f"there is no {FACTS} in the corpus's folder: its labels are those that occur in it, or the paper's"
)
BESIDE = ("design", "p_audit", "cell", *CELL_VARIANCES.values())
"""Columns of the replicate weights that say how a post was drawn."""


def estimate_corpus(
    corpus: Path | str,
    *,
    by: str | Sequence[str] | None = None,
    between: Sequence[str] | None = None,
    before: str | dt.date = "",
    after: str | dt.date = "",
    level: float = 0.95,
    out: Sequence[Path | str] = (),
) -> Estimates:
    """Estimate from someone else's release (its folder, or its corpus): with its own design, without its target population."""
    files = [Path(file) for file in out]
    check_formats(files)
    path = corpus_file(Path(corpus))
    facts = from_json((path.parent / FACTS).read_bytes()) if (path.parent / FACTS).is_file() else None
    frame = read_corpus(path)
    labels = _labels(frame) if facts is None else list(facts.labels.values)
    frame, notes = _with_design(frame, path.parent)
    notes += [NO_SETTINGS] if facts is None else []
    frame = frame[frame["in_population"].fillna("") != "no"].reset_index(drop=True)
    figures = estimates(
        frame,
        labels,
        Sampling() if facts is None else facts.sampling,
        automatic=Labels().automatic if facts is None else facts.labels.automatic,
        by=check_scopes(by),
        between=compared_parts(between, before, after, labels=labels),
        level=level,
        stated=facts is not None,
    )
    return written(replace(figures, warnings=(*figures.warnings, UNSEEN, *notes)), files)


def _with_design(frame: pd.DataFrame, folder: Path) -> tuple[pd.DataFrame, list[str]]:
    """Add what the release's replicate weights say of each item's draw; and return what is not known here."""
    file = folder / f"{WEIGHTS}.csv"
    beside = read_beside(file)
    if beside is None or "rule" not in beside:
        return frame, [NO_DESIGN]
    known = beside.set_index("item_id")
    if missing := sorted(set(frame["item_id"]) - set(known.index)):
        raise InputError(
            f"has no row for the item {missing[0]} of the corpus",
            file=file,
            remedy="Use the files of one release",
        )
    known = known.loc[frame["item_id"]]
    names = [name for name in BESIDE if name in known]
    columns = {name: known[name].to_numpy() for name in names} | {"automatic_label": known["rule"].to_numpy()}
    frame = frame.assign(**columns).astype({name: float for name in names if name not in {"design", "cell"}})
    return frame, [NO_PAIRS] if (folder / f"{PAIRS}.csv").is_file() else []


def _labels(frame: pd.DataFrame) -> list[str]:
    """Return the label scheme of a corpus alone: the paper's if it fits, else the occurring labels."""
    usual = Labels().values  # noqa: PD011 - a setting of ours
    present = sorted(set(frame["label"].dropna().astype(str)))
    if set(present) <= set(usual):
        return list(usual)
    for label in present:
        for near in {*present, *usual}:
            if label != near and label.casefold() == near.casefold():
                raise InputError(
                    f"the label '{label}' of the corpus is '{near}' in another case", remedy="Write one"
                )
    return present
