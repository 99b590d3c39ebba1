"""Statistics of the corpus: the paper's Table 4, per claim, per month, lengths, weights, estimates."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from covmis_build.options import KINDS
from covmis_build.records import Estimand
from covmis_build.report.terminal import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

SOURCES = {"title": "Title", "news_url": "URL", "fact_check_url": "URL", "keywords": "Keywords"}
"""Row groups of the paper's Table 4, which combines both kinds of URL."""

ESTIMANDS = {
    Estimand.UNIQUE_POSTS: f"{Estimand.UNIQUE_POSTS.in_words} that were retrieved and kept",
    Estimand.POSTS: f"{Estimand.POSTS.in_words}, near-duplicates included",
}


@dataclass(frozen=True)
class Statistics:
    """The finished tables; `to_dict` is the content of statistics.json."""

    labels: tuple[str, ...]
    rows: int
    claims: int
    by_source: pd.DataFrame
    """Title, URL, Keywords and Total, as in the paper's Table 4."""
    by_kind: pd.DataFrame
    """Rows per label for each query type: all, automatic, and by people."""
    by_how: pd.DataFrame
    per_claim: pd.DataFrame
    claim_sizes: pd.DataFrame
    """Rows per claim: mean, standard deviation, minimum, maximum; overall and by query type."""
    per_month: pd.DataFrame
    lengths: pd.DataFrame
    """Words and characters per text by label; empty without texts."""
    weights: pd.DataFrame
    shares: pd.DataFrame
    """Estimated share of each label with a 95% interval, for both estimands, as in `covmis estimate`."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers, null if undefined."""
        return {table.name: plain(getattr(self, table.name)) for table in fields(self)}


def shares_shown(numbers: Statistics) -> pd.DataFrame:
    """Return the shares for people to read. Their design effect is in statistics.json: next to the effective n it misleads."""
    shown = numbers.shares.drop(columns="design_effect")
    return shown.assign(estimand=shown["estimand"].map(ESTIMANDS))


def statistics(
    corpus: pd.DataFrame,
    labels: Sequence[str],
    texts: pd.Series[Any] | None = None,
    shares: pd.DataFrame | None = None,
) -> Statistics:
    """Count the corpus. `labels` gives their order; `texts` (by item_id) replaces texts that are not released.

    `shares` are the study's estimates (as printed by `covmis estimate`), of which those for the target population are used.
    """
    import pandas as pd

    frame = corpus.assign(
        source=corpus["kind"].map(SOURCES).fillna(corpus["kind"]),
        month=corpus["created_at"].fillna("").str[:7].replace("", "unknown"),
        automatic=corpus["how"] == "automatic",
    )
    names = [*labels, *sorted(set(corpus["label"]) - set(labels))]
    kinds = [*KINDS, *sorted(set(corpus["kind"]) - set(KINDS))]
    by_kind = _crossed(frame, "kind", kinds, names)
    automatic = frame.groupby("kind")["automatic"].sum().reindex(kinds, fill_value=0).astype(int)
    by_kind["automatic"] = [*automatic.tolist(), int(automatic.sum())]
    by_kind["manual"] = by_kind["total"] - by_kind["automatic"]
    per_claim = _crossed(frame, "claim_id", list(dict.fromkeys(frame["claim_id"])), names, total=False)
    claims = frame.drop_duplicates("claim_id").set_index("claim_id")["claim"]
    per_claim.insert(1, "claim", per_claim["claim_id"].map(claims))
    if texts is None:
        texts = frame.set_index("item_id")["text"]
    return Statistics(
        labels=tuple(names),
        rows=len(frame),
        claims=frame["claim_id"].nunique(),
        by_source=_crossed(frame, "source", list(dict.fromkeys([*SOURCES.values(), *kinds[4:]])), names),
        by_kind=by_kind,
        by_how=frame["how"].value_counts().sort_index().rename_axis("how").reset_index(name="rows"),
        per_claim=per_claim,
        claim_sizes=_claim_sizes(frame, kinds),
        per_month=_crossed(frame, "month", sorted(set(frame["month"])), names, total=False),
        lengths=_lengths(frame, texts, names),
        weights=_weights(frame),
        shares=pd.DataFrame(columns=SHARES) if shares is None else of_the_pool(shares),
    )


def _crossed(
    frame: pd.DataFrame, by: str, rows: list[str], columns: list[str], *, total: bool = True
) -> pd.DataFrame:
    """Cross-tabulate rows of the corpus by this column and by label, including zeros."""
    import pandas as pd

    counts = pd.crosstab(frame[by], frame["label"]).reindex(index=rows, columns=columns, fill_value=0)
    if total:
        counts = pd.concat([counts, counts.sum().to_frame("Total").T])
    counts["total"] = counts.sum(axis=1)
    counts.columns.name = None
    return counts.astype(int).rename_axis(by).reset_index()


def _claim_sizes(frame: pd.DataFrame, kinds: list[str]) -> pd.DataFrame:
    import pandas as pd

    sizes = pd.crosstab(frame["claim_id"], frame["kind"]).reindex(columns=kinds, fill_value=0)
    sizes["all"] = sizes.sum(axis=1)
    table = pd.DataFrame(
        {
            "mean": sizes.mean(),
            "sd": sizes.std(ddof=1),
            "smallest": sizes.min(),
            "largest": sizes.max(),
            "claims": (sizes > 0).sum(),
        }
    )
    table.columns.name = None
    return table.rename_axis("kind").reset_index()


def _lengths(frame: pd.DataFrame, texts: pd.Series[Any], names: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    known = frame.assign(text=frame["item_id"].map(texts)).dropna(subset=["text"])
    rows = []
    for name in [*names, "all"]:
        part = (known if name == "all" else known[known["label"] == name])["text"]
        for unit, measure in (("words", _words), ("characters", len)) if len(part) else ():
            length = part.map(measure)
            quarters = length.quantile([0.25, 0.5, 0.75])
            rows.append(
                (
                    name,
                    unit,
                    len(part),
                    length.mean(),
                    length.std(ddof=1),
                    length.min(),
                    *quarters,
                    length.max(),
                )
            )
    columns = "label unit texts mean sd smallest quarter median three_quarters largest".split()  # noqa: SIM905
    return pd.DataFrame(rows, columns=columns)


def _words(text: str) -> int:
    return len(text.split())


def _weights(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the weights' sum (unique posts represented), range, and Kish's design effect n·Σw²/(Σw)²."""
    import pandas as pd

    weight = frame["weight"].astype(float)
    if not len(weight):
        return pd.DataFrame(columns=["sum", "smallest", "mean", "largest", "design_effect"])
    effect = len(weight) * (weight**2).sum() / weight.sum() ** 2
    values = (weight.sum(), weight.min(), weight.mean(), weight.max(), effect)
    return pd.DataFrame([values], columns=["sum", "smallest", "mean", "largest", "design_effect"])


SHARES = [
    "estimand", "label", "unweighted", "share", "low", "high", "over", "n", "effective_n", "design_effect", "flagged", "why",
]  # fmt: skip


def of_the_pool(shares: pd.DataFrame) -> pd.DataFrame:
    """Return the population's shares, with the same types whether computed or read from statistics.json."""
    whole = shares[shares["scope"] == "pool"] if "scope" in shares else shares
    whole = whole.reindex(columns=SHARES).reset_index(drop=True)
    words = {name: whole[name].fillna("").astype(str) for name in ("estimand", "label", "over", "why")}
    reals = ("unweighted", "share", "low", "high", "effective_n", "design_effect")
    numbers = {name: whole[name].astype(float) for name in reals}
    return whole.assign(**words, **numbers, n=whole["n"].astype(int), flagged=whole["flagged"].astype(bool))
