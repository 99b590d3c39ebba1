"""The placebo test: predictions that saw the sample's labels are refused, honest ones pass, whatever the chances."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from covmis_build.errors import InputError
from covmis_build.estimation.predictions import check_not_leaked

CASES = json.loads((Path(__file__).parents[1] / "vectors" / "inference.json").read_text())["leak_test"]


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_the_vectors(case):
    shares = pd.DataFrame(case["predicted"], columns=["favor", "against", "neither"])
    shares.index = [f"1|x:{at}" for at in range(len(shares))]
    drawn = np.flatnonzero(case["labelled"])
    p = np.broadcast_to(np.asarray(case["p"], dtype=float), len(shares))
    labelled = pd.DataFrame({"item_id": shares.index[drawn], "p_sample": p[drawn], "p_claim": 1.0})
    if case["leaked"]:
        with pytest.raises(InputError, match="fails the placebo test"):
            check_not_leaked(shares, labelled)
    else:
        check_not_leaked(shares, labelled)
