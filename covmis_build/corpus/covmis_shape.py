"""A corpus in the published format of COVMis-Stance: ids and labels, and the claims with their queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

STANCE = {
    "source": "the kind of query that found the post",
    "mid": "the claim",
    "mis": "the claim's sentence",
    "tweet_id": "the post's id as its platform writes it",
    "label": "the stance of the post towards the claim",
    "auto": "True where a rule set the label and nobody judged it",
}
MISINFORMATION = {
    "mid": "the claim",
    "mis": "the claim's sentence",
    "keywords": "queries of words",
    "titles": "queries by the news' title",
    "news_urls": "queries by the news' address",
    "fact_check_urls": "queries by the fact-check's address",
}


def stance(corpus: pd.DataFrame) -> pd.DataFrame:
    """Return covmis_stance.csv: one row per post, with its platform's own id.

    >>> import pandas as pd
    >>> rows = {"kind": "title", "claim_id": "1", "claim": "c", "native_id": ["5", "6"], "label": "against"}
    >>> stance(pd.DataFrame(rows | {"how": ["automatic", "audited"]}))[["tweet_id", "auto"]].to_numpy().tolist()
    [['5', 'True'], ['6', 'False']]
    """
    renamed = corpus.rename(
        columns={"kind": "source", "claim_id": "mid", "claim": "mis", "native_id": "tweet_id"}
    )
    rows: pd.DataFrame = renamed.assign(
        auto=(corpus["how"] == "automatic").map({True: "True", False: "False"})
    )
    return rows[list(STANCE)].sort_values(["mid", "source", "tweet_id"], kind="stable", ignore_index=True)


def misinformation(claims: pd.DataFrame, corpus: pd.DataFrame) -> pd.DataFrame:
    """Return misinformation.csv: the corpus's claims with their queries, several of one type on separate lines."""
    import pandas as pd

    frozen = corpus.drop_duplicates("claim_id").set_index("claim_id")["claim"]
    known = claims.set_index("claim_id")
    rows = {"mid": sorted(frozen.index), "mis": [frozen[claim] for claim in sorted(frozen.index)]}
    for kind in ("keywords", "titles", "news_urls", "fact_check_urls"):
        cells = [known[kind].get(claim) for claim in rows["mid"]]
        rows[kind] = ["" if cell is None else "\n".join(map(str, cell)) for cell in cells]
    return pd.DataFrame(rows, columns=list(MISINFORMATION))
