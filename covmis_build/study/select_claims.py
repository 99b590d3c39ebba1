"""Selecting the claims with most posts, from the hits of the last run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build import storage
from covmis_build.claims.claim import claims_csv
from covmis_build.claims.lists import read_claims
from covmis_build.claims.selection import Selection, select
from covmis_build.errors import InputError

if TYPE_CHECKING:
    from covmis_build.study.study import Study


def select_claims(study: Study, top: int) -> Selection:
    """Set `selected` in queries/claims.csv; counts, ranks and ties go to queries/selection.csv next to it."""
    if not study.places.table("hits").exists():
        raise InputError("there are no hits yet", remedy="Select all claims, then `covmis run retrieve`")
    with study.locked_inputs("covmis claims select"):
        selection = select(read_claims(study.places.claims_csv, "csv"), study.hits, top)
        storage.write_bytes(study.places.claims_csv, claims_csv(selection.claims))
        rows = selection.counts.to_numpy().tolist()
        storage.write_bytes(
            study.places.selection_csv, storage.csv_bytes(list(selection.counts.columns), rows)
        )
    return selection
