"""The posts of the archive that are nearest to each claim: the full-text index, a sentence model if one is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build import storage
from covmis_build.archive.reader import How
from covmis_build.building.purge import read_list, refuse_unfinished
from covmis_build.engine import open_engine, silent
from covmis_build.errors import InputError
from covmis_build.matching.plain_posts import Drawn, plain_posts, state
from covmis_build.matching.stage import span
from covmis_build.options import Nearest
from covmis_build.queries.index import open_index
from covmis_build.queries.units import terms_of
from covmis_build.ranking.rank import FIRST, Asked, Ranking, rank

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd

    from covmis_build.engine import Engine, Progress
    from covmis_build.places import Places
    from covmis_build.queries.index import Index, Indexed, Rows
    from covmis_build.settings import Settings

LOCK = ".search.lock"
"""In data/build: held while the index of the archive is looked at and made."""


SCRATCH = ".search.scratch"
"""In data/build: tables of whoever makes the index."""


def need_all_posts(settings: Settings) -> None:
    """Refuse an index of a share of the posts."""
    share = settings.queries.share
    if share < 1:
        raise InputError(
            f"[queries] share = {share:g} leaves posts out of the index, and this looks at all",
            remedy="Set it to 1; the index is made again",
        )


def search_index(
    places: Places, settings: Settings, progress: Progress = silent, *, engine: Engine | None = None,
    whole: bool = True,
) -> Index:  # fmt: skip
    """The archive in a full-text index, made first where it is missing or older than the archive.

    `whole` refuses an index of a share of the posts: whoever ranks posts, or looks for given ones, needs all.
    """
    if whole:
        need_all_posts(settings)
    drawn = Drawn(settings.queries.share, settings.seed)
    scratch = places.build / SCRATCH

    def posts(unread: list[str]) -> Iterator[Indexed]:
        storage.remove(scratch)  # of a killed command
        try:
            with engine or open_engine(scratch=scratch) as its:
                yield from plain_posts(its, places.archives, progress, forget, how, unread, drawn)
        finally:
            storage.remove(scratch)

    with storage.locked(places.build / LOCK, "indexing the archive"):  # above all against a purge meanwhile
        refuse_unfinished(places)
        forget, how = read_list(places.purge_csv), How.of(settings.retrieval)
        return open_index(
            places.build / "search.sqlite",
            state(places.archives, forget, how, drawn),
            posts,
            drawn.share,
        )


def nearest(
    index: Index, claims: pd.DataFrame, places: Places, *, found: Mapping[str, Rows] | None = None,
    among: Rows | None = None, first: int = FIRST, model: str = "", progress: Progress = silent,
) -> Ranking:  # fmt: skip
    """Rank the archive's posts for each of these claims; `model` is a sentence model's folder, or its name on the hub.

    `found` are the numbers of posts that queries find, for each claim: `first` of all are ranked, and as many of the
    others. `among` are the only ones to look at (default: all).
    """

    def asked() -> Iterator[Asked]:
        for at, claim in enumerate(claims.itertuples()):
            progress("ranking by words", at, len(claims))
            text = str(claim.text)
            terms = terms_of(text, index, str(claim.language or "en"))
            known = (found or {}).get(str(claim.claim_id))
            yield Asked(str(claim.claim_id), text, index.nearest(terms, first, among=among, besides=known))

    if not model:
        return rank(asked())
    from covmis_build.models.sentences import sentence_model
    from covmis_build.ranking.vectors import SentenceModel, Vectors

    def texts(post_ids: Sequence[str]) -> dict[str, str]:
        return {post.post_id: post.text for post in index.posts(post_ids)}

    with Vectors(SentenceModel(*sentence_model(model)), places.build) as vectors:
        return rank(asked(), vectors, texts, progress)


def candidates(
    places: Places, settings: Settings, matched: Sequence[str], progress: Progress = silent,
    engine: Engine | None = None,
) -> pd.DataFrame:  # fmt: skip
    """The table `candidates`: each claim's nearest posts of those that are not `matched` for any, as `[retrieval] ranked` asks.

    Ranks are places among all posts, found or not: where found ones come first, chances fall as little as nearness does.
    """
    import pandas as pd

    options = settings.retrieval.nearest or Nearest()
    claims = storage.read_table(places.table("claims"), "claims")
    with search_index(places, settings, progress, engine=engine) as index:
        among = index.between(*span(settings.retrieval))
        known = dict.fromkeys(claims["claim_id"], index.numbers(matched))
        ranking = nearest(
            index, claims[claims["selected"].astype(bool)], places, found=known, among=among, model=options.model,
            progress=progress,
        )  # fmt: skip
    rows = ranking.posts[~ranking.posts["post_id"].isin(matched)].groupby("claim_id").head(options.depth)
    told = rows[["claim_id", "post_id", "rank", "score"]].assign(
        ranked_by=ranking.name, version=ranking.version
    )
    return pd.DataFrame(told).sort_values(["claim_id", "post_id"], ignore_index=True)
