"""Tables published next to the corpus: people's labels, splits, weights, claims."""

from __future__ import annotations

import csv
import hashlib
from typing import TYPE_CHECKING

import pandas as pd

from covmis_build import storage, tables
from covmis_build.annotation.answers import usable
from covmis_build.corpus.publish import Beside
from covmis_build.corpus.release_facts import Parts
from covmis_build.errors import InputError
from covmis_build.estimation.replicates import FEWEST_CLAIMS, replicate_weights
from covmis_build.estimation.shares import design_in_pool, pairs_drawn
from covmis_build.evaluation.leakage import leakage
from covmis_build.evaluation.split import release_splits
from covmis_build.study.population import pool_of
from covmis_build.text.near_duplicates import near_duplicate_pairs

CELL_VARIANCES = ("cell_variance", "cell_variance_of_posts")

if TYPE_CHECKING:
    from collections.abc import Sequence

    from covmis_build.annotation.newest import Newest
    from covmis_build.corpus.design import Drawn
    from covmis_build.options import Sampling
    from covmis_build.settings import Settings
    from covmis_build.study.of_study import OfStudy


def beside_corpus(
    study: OfStudy,
    now: Newest,
    corpus: pd.DataFrame,
    frozen: pd.DataFrame,
    governed: Sampling,
    cells: pd.DataFrame,
    drawn: Drawn,
) -> tuple[Beside, Parts | None]:
    """Return the tables to publish next to this corpus, and its splits.

    `governed` are the settings used for the rounds, `cells` those of known size (`Estimates.weights`), `drawn` the posts that the
    labelled ones represent.
    """
    labels, secret = current_labels(now)
    counted = frozen[~frozen["pilot"].astype(bool)].drop_duplicates("item_id").set_index("item_id")
    texts = counted["text"].reindex(corpus["item_id"]).fillna("").tolist()
    divided, parts = divide(study.settings, corpus, texts, _owners(study, corpus))
    weights, pairs = weights_of(corpus, pool_of(study), governed, cells)
    claims = study.claims if study.places.table("claims").is_file() else None
    return Beside(labels, secret, claims, divided, weights, pairs, drawn), parts


def current_labels(now: Newest) -> tuple[pd.DataFrame, str]:
    """Return the newest labels of the rounds that count, in their own words, with the salts that are only in the study."""
    counted = [(each.items, each.labels) for each in now.rounds]
    labels = [usable(labels, items) for items, labels in counted] or [tables.empty("labels")]
    salts = sorted(salt for items, _ in counted for salt in items["salt"])
    return pd.concat(labels, ignore_index=True), hashlib.sha256("".join(salts).encode()).hexdigest()


def divide(
    settings: Settings, corpus: pd.DataFrame, texts: Sequence[str], owners: Sequence[str] | None
) -> tuple[pd.DataFrame | None, Parts | None]:
    """Compute the splits that [release] splits requests, and what they share. Checked before anything is written."""
    asked = settings.release.splits
    if not asked or corpus.empty:
        return None, None
    scheme, by = asked.scheme, asked.by
    similarity = settings.cleaning.similarity if asked.similarity is None else asked.similarity
    known = [text for text in texts if text]
    divided = release_splits(
        corpus,
        scheme=scheme,
        owners=owners,
        texts=texts if known else None,
        similarity=similarity,
        seed=settings.seed,
        fractions=asked.fractions,
    )
    part = divided["part"].to_numpy()
    near: int | None = None
    findings: list[str] = []
    if known:
        first, second, _ = near_duplicate_pairs(list(texts), threshold=similarity)
        near = int((part[first] != part[second]).sum())
        if near and scheme != "chronological":
            raise AssertionError("parts that tear near-copies")  # release_splits guarantees it
        if {"train", "test"} <= set(part):
            shared = leakage(
                texts,
                part.tolist(),
                similarity=similarity,
                keys={"claim": corpus["claim_id"]},
                labels=corpus["label"].tolist(),
            )
            findings = shared.findings
    what = "The posts of a claim" if by == "claim" else f"Posts of one {by.removeprefix('_')}"
    together = {"grouped": f"{what}, and near-copies,", "stratified": "Near-copies", "chronological": ""}[
        scheme
    ]
    return divided, Parts(scheme, together, near, findings)


def _owners(study: OfStudy, corpus: pd.DataFrame) -> list[str]:
    """Return each item's group that splits keep together: its claim, or a column of the claim list."""
    splits = study.settings.release.splits
    by = splits.by if splits else "claim"
    claims = [str(claim) for claim in corpus["claim_id"]]
    if by == "claim":
        return claims
    path = study.places.claims_csv
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    if not rows or by not in rows[0]:
        raise InputError(
            f"has no column {by}", file=path, remedy='[release] splits names it; by = "claim" needs none'
        )
    key = "mid" if "mid" in rows[0] else "claim_id"
    owner = {storage.restored(row[key]): row[by] for row in rows}
    return [owner.get(claim) or f"claim {claim}" for claim in claims]


def weights_of(
    corpus: pd.DataFrame,
    pool: pd.DataFrame | None,
    governed: Sampling,
    cells: pd.DataFrame,
) -> tuple[pd.DataFrame | None, pd.DataFrame | None]:
    """Return replicate weights, further data for estimates, and pair probabilities of fixed-size draws.

    Returns nothing for fewer than three claims.
    """
    if corpus["claim_id"].nunique() < FEWEST_CLAIMS:
        return None, None
    weights, _ = replicate_weights(corpus)
    told = {"claim_id": corpus["claim_id"].to_numpy()}
    known = cells.set_index("item_id").reindex(corpus["item_id"])
    if "audit_cell" in known:
        told["audit_cell"] = known["audit_cell"].fillna("").to_numpy()
    if "cell" in known:
        told["cell"] = known["cell"].fillna("").to_numpy()
        told |= {name: known[name].fillna(0.0).to_numpy(float) for name in CELL_VARIANCES}
    weights = pd.concat([weights[["item_id"]], pd.DataFrame(told), weights.drop(columns="item_id")], axis=1)
    pairs = pairs_drawn(corpus["item_id"].tolist(), design_in_pool(corpus, pool, governed))
    return weights, pairs if len(pairs) else None
