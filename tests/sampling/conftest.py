"""A made-up table of items: many claims, four kinds, any counts."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from covmis_build.options import KINDS

VECTORS = Path(__file__).parents[1] / "vectors"


@pytest.fixture(scope="session")
def vectors():
    return lambda name: json.loads((VECTORS / f"{name}_vectors.json").read_text())


@pytest.fixture(scope="session")
def make_items():
    def make(counts: dict[str, dict[str, int]], *, also: str = "") -> pd.DataFrame:
        """Items with these counts by claim and kind; `also` is a further kind that all were found by."""
        rows = [
            {
                "item_id": f"{claim}|x:{kind}{at}",
                "claim_id": claim,
                "post_id": f"x:{kind}{at}",
                "kind": kind,
                "kinds": sorted({kind, also} - {""}),
                "other_claims": [],
                "group": f"x:{kind}{at}",
                "group_size": 1 + at % 5,
                "p_claim": 1.0 if at % 3 else 0.5,
            }
            for claim, kinds in counts.items()
            for kind in KINDS
            for at in range(kinds.get(kind, 0))
        ]
        columns = ["item_id", "claim_id", "post_id", "kind", "kinds", "other_claims", "group", "group_size"]
        return pd.DataFrame(rows, columns=[*columns, "p_claim"])

    return make
