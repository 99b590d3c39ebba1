"""The most similar archive posts for each claim: by words, and by a sentence model if one is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build import storage
from covmis_build.building.store import words_of
from covmis_build.engine import silent
from covmis_build.options import Nearest
from covmis_build.queries.units import terms_of
from covmis_build.ranking.rank import FIRST, Asked, Ranking, rank

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd

    from covmis_build.archive.counted import Rows
    from covmis_build.archive.words import Words
    from covmis_build.engine import Progress
    from covmis_build.places import Places
    from covmis_build.settings import Settings


def nearest(
    index: Words,
    claims: pd.DataFrame,
    places: Places,
    *,
    found: Mapping[str, Rows] | None = None,
    first: int = FIRST,
    model: str = "",
    progress: Progress = silent,
) -> Ranking:
    """Rank the archive's posts for each of these claims; `model` is a sentence model's folder, or its name on the hub.

    `found` are the numbers of matched posts per claim. `first` posts of all are ranked, and as many of the others.
    """

    def asked() -> Iterator[Asked]:
        for at, claim in enumerate(claims.itertuples()):
            progress("ranking by words", at, len(claims))
            text = str(claim.text)
            terms = terms_of(text, index, str(claim.language or ""))
            known = (found or {}).get(str(claim.claim_id))
            yield Asked(str(claim.claim_id), text, index.nearest(terms, first, besides=known))

    if not model:
        return rank(asked())
    from covmis_build.models.sentences import sentence_model
    from covmis_build.ranking.vectors import SentenceModel, Vectors

    def texts(post_ids: Sequence[str]) -> dict[str, str]:
        return {post.post_id: post.text for post in index.posts.by_id(post_ids)}

    with Vectors(SentenceModel(*sentence_model(model)), places.build) as vectors:
        return rank(asked(), vectors, texts, progress)


def candidates(
    places: Places, settings: Settings, matched: Sequence[str], progress: Progress = silent
) -> pd.DataFrame:
    """Return the table `candidates`: each claim's most similar posts that are not `matched`, as `[retrieval] ranked` requests.

    Ranks count all posts, matched or not: where matched ones come first, probabilities decrease as slowly as similarity.
    """
    import pandas as pd

    options = settings.retrieval.ranked or Nearest()
    claims = storage.read_table(places.table("claims"), "claims")
    with words_of(places, settings, progress, lock=False) as index:  # the run holds the lock
        known = dict.fromkeys(claims["claim_id"], index.posts.numbers(matched))
        ranking = nearest(
            index,
            claims[claims["selected"].astype(bool)],
            places,
            found=known,
            model=options.model,
            progress=progress,
        )
    rows = ranking.posts[~ranking.posts["post_id"].isin(matched)].groupby("claim_id").head(options.depth)
    told = rows[["claim_id", "post_id", "rank", "score"]].assign(
        ranked_by=ranking.name, version=ranking.version
    )
    return pd.DataFrame(told).sort_values(["claim_id", "post_id"], ignore_index=True)
