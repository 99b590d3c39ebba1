"""A release counted again by pandas alone: nothing of ours is imported, only what stands in the folder is read."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd


def table(folder, name) -> pd.DataFrame:
    return pd.read_csv(folder / f"{name}.csv", dtype=str, keep_default_na=False, encoding="utf-8-sig")


def test_every_count_of_the_statistics_is_that_of_the_rows(annotated) -> None:
    folder = annotated / "data" / "release"
    corpus, told = table(folder, "corpus"), json.loads((folder / "statistics.json").read_text("utf-8"))
    assert corpus.columns[0] == "post_id"
    assert (told["rows"], told["claims"]) == (len(corpus), corpus["claim_id"].nunique())
    for row in told["by_kind"][:-1]:
        of = corpus[corpus["kind"] == row["kind"]]
        assert row["total"] == len(of)
        assert row["automatic"] == (of["how"] == "automatic").sum()
        assert {label: row[label] for label in told["labels"]} == {
            label: int((of["label"] == label).sum()) for label in told["labels"]
        }
    for row in told["per_claim"]:
        assert row["total"] == (corpus["claim_id"] == row["claim_id"]).sum()
    for row in told["per_month"]:
        assert row["total"] == (corpus["created_at"].str[:7] == row["month"]).sum()
    weight = 1 / (corpus["p_claim"].astype(float) * corpus["p_sample"].astype(float))
    np.testing.assert_allclose(corpus["weight"].astype(float), weight, rtol=1e-12)
    np.testing.assert_allclose(told["weights"][0]["sum"], weight.sum(), rtol=1e-12)
    for row in told["shares"]:
        here = corpus["label"] == row["label"]
        np.testing.assert_allclose(row["unweighted"], here.mean(), rtol=1e-9, atol=1e-12)
        assert row["low"] is None or row["low"] <= row["share"] <= row["high"]


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
