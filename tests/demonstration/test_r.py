"""The demonstration's estimates beside those of R's survey package, from the released corpus and its probabilities."""

from __future__ import annotations

import numpy as np
import pytest

from covmis_build.corpus.convert import read_corpus
from covmis_build.estimation.shares import estimates
from covmis_build.options import Sampling
from tests.estimation.with_r import estimates_of_r, write_sample

pytestmark = pytest.mark.needs("r")
LABELS = ("favor", "against", "neither")


def test_shares_of_the_demonstration_are_those_of_r(built, tmp_path):
    """All labels, messages and posts: the pool, each kind of query, each claim, and the average claim."""
    corpus = read_corpus(built / "study/data/release/corpus.parquet")
    # the audit's part of the variance is ours alone; R is told of no known sizes (test_survey.py has these)
    corpus = corpus.assign(how="agreed").drop(columns=["weight", "weight_of_posts"])
    shares = estimates(corpus, LABELS, Sampling(), by=("kind", "claim")).shares
    p = (corpus["p_claim"] * corpus["p_sample"]).to_numpy(float)
    for label in LABELS:
        y = (corpus["label"] == label).to_numpy(int)
        rows = corpus[["kind"]].assign(p=p, y=y, x=corpus["group_size"].astype(float), d=1)
        for name, part in (("kind", corpus["kind"]), ("claim", "claim " + corpus["claim_id"].astype(str))):
            of_part = rows.assign(kind=part, K=(1 / rows["p"]).groupby(part).transform("sum"))
            write_sample(tmp_path, f"{label}-{name}", of_part)
    theirs, checked = estimates_of_r(tmp_path), 0
    for label in LABELS:
        claims = []
        for row in shares[shares["label"] == label].to_dict("records"):
            if row["scope"] == "average claim" or (row["estimand"] == "posts" and row["scope"] != "pool"):
                continue
            counted = "copies" if row["estimand"] == "posts" else "mean"
            figure = {
                "pool": (f"{label}-kind", counted), "kind": (f"{label}-kind", f"kind {row['name']}"),
                "claim": (f"{label}-claim", f"kind claim {row['name']}"),
            }[row["scope"]]  # fmt: skip
            value, error = theirs[figure]
            assert row["share"] == pytest.approx(value, rel=1e-9, abs=1e-12), figure
            assert row["standard_error"] == pytest.approx(error, rel=1e-8, abs=1e-9), figure
            claims += [(value, error)] if row["scope"] == "claim" else []
            checked += 1
        average = shares[(shares["label"] == label) & (shares["scope"] == "average claim")].iloc[0]
        values, errors = np.array(claims).T
        assert average["share"] == pytest.approx(values.mean())
        assert average["standard_error"] == pytest.approx(np.sqrt((errors**2).sum()) / len(errors))
    assert checked > 3 * 21
