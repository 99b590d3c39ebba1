"""Individual labels (annotations.csv and .parquet) and soft labels, so that disagreement is published.

Annotator codes are random for each release, times are grouped, and comments are not published because they quote posts.
"""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING

import pyarrow as pa

from covmis_build.keyed import uniform
from covmis_build.options import by_people, is_machine
from covmis_build.records import independent, meanings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

SCHEMA = pa.schema(
    [
        (name, pa.string())
        for name in (
            "annotation_id",
            "item_id",
            "claim_id",
            "post_id",
            "round",
            "phase",
            "annotator",
            "status",
            "label",
            "sub_label",
            "guideline",
            "time",
            "gold",
            "how",
        )
    ]
)
MEANINGS = {
    "annotation_id": "the annotation",
    **{name: meanings("items")[name] for name in ("item_id", "claim_id", "post_id")},
    "round": "the round of annotation",
    "phase": "independent (each without the others), discussion, or adjudication (a third person)",
    "annotator": "a person, by a code drawn for this release; `together` is a discussion, `model:…` a machine",
    "status": "given, or skipped: the person could not tell",
    "label": "the stance of the post towards the claim, as this person saw it",
    "sub_label": "a finer label, where the scheme has them",
    "guideline": "the version of the guideline that was in use",
    "time": "how long the person took, as a bucket; empty where not known",
    "gold": "the label that the corpus has in the end",
    "how": "how that came about",
}
TOGETHER = "together"
BUCKETS = ((5, "below 5 s"), (15, "5 to 15 s"), (30, "15 to 30 s"), (60, "30 to 60 s"), (180, "1 to 3 min"))
SOFT_MEANINGS = {
    "item_id": MEANINGS["item_id"],
    "how": "how the corpus' label came about",
    "people": "people who gave a label without seeing the others'",
}


def labels_of_people(labels: pd.DataFrame, corpus: pd.DataFrame, *, secret: str) -> pd.DataFrame:
    """Return the corpus items' labels that count, without information that identifies annotators.

    `labels` are all rounds' current usable ones. `secret`, known only to the study, shuffles the codes.
    """
    rows = labels[labels["status"].isin(["given", "skipped"]) & labels["item_id"].isin(corpus["item_id"])]
    open_codes = {code for code in rows["annotator"] if code == TOGETHER or is_machine(code)}
    codes = sorted(
        set(rows["annotator"]) - open_codes, key=lambda code: uniform(0, "annotator", secret, code)
    )
    pseudonyms = {code: f"p{at}" for at, code in enumerate(codes, 1)} | {code: code for code in open_codes}
    told = rows.assign(
        annotator=rows["annotator"].map(pseudonyms), time=[_bucket(seconds) for seconds in rows["seconds"]]
    )
    return beside_corpus(told, corpus)


def beside_corpus(rows: pd.DataFrame, corpus: pd.DataFrame) -> pd.DataFrame:
    """Return people's labels in their order, numbered, with what the corpus has of their items."""
    gold = corpus[["item_id", "claim_id", "post_id", "label", "how"]].rename(columns={"label": "gold"})
    own = [name for name in SCHEMA.names if name == "item_id" or name not in {*gold, "annotation_id"}]
    told = rows[own].merge(gold, on="item_id")
    told = told.sort_values(["item_id", "phase", "annotator"], kind="stable", ignore_index=True)
    told["annotation_id"] = [f"{item}|{at}" for item, at in zip(told["item_id"], _count(told), strict=True)]
    kept: pd.DataFrame = told[SCHEMA.names]
    return kept


def by_person(rows: pd.DataFrame) -> list[list[tuple[str, ...]]]:
    """Return what each person said, in an order that does not depend on their codes in a release."""
    told = (
        rows[[name for name in SCHEMA.names if name not in {"annotation_id", "annotator"}]]
        .fillna("")
        .astype(str)
    )
    open_codes = [code if code == TOGETHER or is_machine(code) else "" for code in rows["annotator"]]
    told = told.assign(annotator=open_codes)
    return sorted(
        sorted(part.itertuples(index=False, name=None)) for _, part in told.groupby(rows["annotator"])
    )


def in_corpus_labels(labels: pd.DataFrame, label_sets: Mapping[str, Mapping[str, str]]) -> pd.DataFrame:
    """Return people's labels with the corpus's in place of their round's own; `label_sets` as in facts.json."""
    if not label_sets:
        return labels
    pairs = zip(labels["round"], labels["label"], strict=True)
    return labels.assign(label=[label_sets.get(number, {}).get(label, label) for number, label in pairs])


def _count(rows: pd.DataFrame) -> list[int]:
    return [int(at) + 1 for at in rows.groupby("item_id").cumcount()]


def _bucket(seconds: float | None) -> str:
    if seconds is None or seconds != seconds:  # noqa: PLR0124 - NaN
        return ""
    at = bisect.bisect_right([limit for limit, _ in BUCKETS], seconds)
    return BUCKETS[at][1] if at < len(BUCKETS) else "above 3 min"


def soft_labels(labels: pd.DataFrame, corpus: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Return the share of annotators per label for each annotated item, before any discussion."""
    import pandas as pd

    mine = independent(by_people(labels))
    mine = mine[mine["item_id"].isin(set(corpus["item_id"]))]
    counts = pd.crosstab(mine["item_id"], mine["label"]).reindex(columns=list(names), fill_value=0)
    people = counts.sum(axis=1)
    shares = counts.div(people, axis=0).add_prefix("share_").reset_index()
    shares.insert(1, "people", people.to_numpy())
    shares.insert(1, "how", shares["item_id"].map(corpus.set_index("item_id")["how"]))
    shares.columns.name = None
    return shares.sort_values("item_id", ignore_index=True)


def soft_schema(names: Sequence[str]) -> pa.Schema:
    """Return the columns of soft_labels.csv."""
    shares = [(f"share_{name}", pa.float64()) for name in names]
    return pa.schema([("item_id", pa.string()), ("how", pa.string()), ("people", pa.int64()), *shares])


def soft_meanings(names: Sequence[str]) -> dict[str, str]:
    """Describe the columns of soft_labels.csv."""
    return SOFT_MEANINGS | {f"share_{name}": f"share of them that said {name}" for name in names}
