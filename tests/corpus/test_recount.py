"""A release counted again by pandas alone: nothing of ours is imported, only what stands in the folder is read."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd


def table(folder, name) -> pd.DataFrame:
    return pd.read_csv(folder / f"{name}.csv", dtype=str, keep_default_na=False, encoding="utf-8-sig")


def test_people_parts_and_weights_add_up(annotated) -> None:
    folder = annotated / "data" / "release"
    corpus, people, soft = (table(folder, name) for name in ("corpus", "annotations", "soft_labels"))
    alone = people[(people["phase"] == "independent") & (people["status"] == "given")]
    shares = pd.crosstab(alone["item_id"], alone["label"], normalize="index")
    for row in soft.to_dict("records"):
        for label in shares.columns:
            assert float(row[f"share_{label}"]) == shares.loc[row["item_id"], label]
    unaudited = alone[alone["how"] != "audited"]
    pairs = unaudited.pivot_table("label", "item_id", "annotator", aggfunc="first").dropna()
    seen = (pairs.iloc[:, 0] == pairs.iloc[:, 1]).mean()
    by_chance = (
        pairs.iloc[:, 0].value_counts(normalize=True) * pairs.iloc[:, 1].value_counts(normalize=True)
    ).sum()
    facts = json.loads((folder / "facts.json").read_text("utf-8"))
    np.testing.assert_allclose(facts["kappa"]["value"], (seen - by_chance) / (1 - by_chance), rtol=1e-9)

    parts = table(folder, "splits").merge(corpus, on="item_id", validate="one_to_one")
    assert len(parts) == len(corpus)
    assert (parts.groupby("claim_id")["part"].agg(lambda of: len(set(of))) == 1).all()
    assert (parts.groupby("group")["part"].agg(lambda of: len(set(of))) == 1).all()
    hub = {path.stem: len(pd.read_parquet(path)) for path in (folder / "huggingface").glob("t*.parquet")}
    assert hub == {name: int((parts["part"] == name).sum()) for name in hub}

    weights = table(folder, "replicate_weights").filter(regex=r"^weight_").astype(float)
    claims = corpus["claim_id"].nunique()
    assert weights.shape[1] == claims
    assert ((weights > 0).sum(axis=1) == claims - 1).all(), (
        "each item is in every replicate but its claim's own"
    )
