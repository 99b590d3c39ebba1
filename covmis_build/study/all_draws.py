"""The frozen items of all rounds, each with the probability that it had over all draws that were opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.annotation.frozen_items import frozen_items
from covmis_build.sampling.ledger import over_draws, read_ledger
from covmis_build.study.round_settings import audits_of_rounds, strata_of_rounds

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

    from covmis_build.annotation.round_folder import RoundFolder


def with_all_draws(folder: Path, rounds: Sequence[RoundFolder]) -> pd.DataFrame:
    """The frozen items of the rounds in this folder, with the probabilities of all opened draws of a claim as p_sample.

    Rounds that kept no share of checked items with each item had one share, which their settings tell.
    """
    frozen = frozen_items(folder)
    counted = frozen[~frozen["pilot"].astype(bool)]
    raised: dict[str, float] = {}
    for round_ in rounds:
        for item, p in (round_.about.raised or {}).items():
            raised[item] = max(p, raised.get(item, 0.0))
    over = over_draws(counted, read_ledger(folder), strata_of_rounds(rounds), raised)
    p_sample = [over.get(item, p) for item, p in zip(frozen["item_id"], frozen["p_sample"], strict=True)]
    checked = frozen["round"].map(audits_of_rounds(rounds)).where(frozen["automatic_label"] != "", 0.0)
    return frozen.assign(p_sample=p_sample, p_audit=frozen["p_audit"].fillna(checked))
