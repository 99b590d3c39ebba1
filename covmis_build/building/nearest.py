"""The posts of the archive that are nearest to each claim: by their words, and by a sentence model if one is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build import storage
from covmis_build.archive import words_file
from covmis_build.archive.intake import Outcome
from covmis_build.archive.stage import read_archive
from covmis_build.archive.words import FOLDER, Counting, Words
from covmis_build.building.purge import read_list, refuse_unfinished
from covmis_build.engine import open_engine, silent
from covmis_build.errors import InputError, counted
from covmis_build.matching.stage import span
from covmis_build.options import Nearest
from covmis_build.queries.units import terms_of
from covmis_build.ranking.rank import FIRST, Asked, Ranking, rank

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd

    from covmis_build.archive.stage import Archive
    from covmis_build.archive.words import Rows
    from covmis_build.engine import Engine, Progress
    from covmis_build.options import Retrieval
    from covmis_build.places import Places
    from covmis_build.settings import Settings

LOCK = ".search.lock"
"""In data/build: held while words of the archive are made."""


def need_all_posts(settings: Settings) -> None:
    """All posts are always looked at: nothing to refuse."""


def search_index(
    places: Places, settings: Settings, progress: Progress = silent, *, engine: Engine | None = None
) -> Words:
    """The words of the archive's posts; what of the archive has changed is read first."""
    folder = places.build / "archive"
    with storage.locked(places.build / LOCK, "indexing the archive"):  # above all against a purge meanwhile
        refuse_unfinished(places)
        with engine or open_engine() as its:
            archive = _read(places, settings, its, progress)
            if not archive.parts:
                raise InputError("the archive has no files", remedy="Put posts into data/archive")
            older = words_file.older_copies(folder / FOLDER, archive.parts, archive.older.to_arrow)
            unread = _unread(archive)
        words_file.sweep(folder / FOLDER, archive.parts)
        return Words(folder, archive.parts, older, counting(settings.retrieval), unread, progress)


def counting(options: Retrieval) -> Counting:
    """Which posts count, as these settings say."""
    return Counting(options.reposts == "keep", *span(options))


def _read(places: Places, settings: Settings, engine: Engine, progress: Progress) -> Archive:
    forget = read_list(places.purge_csv)
    return read_archive(
        engine,
        places.archives,
        places.build / "archive",
        settings.retrieval,
        forget=forget,
        progress=progress,
    )


def _unread(archive: Archive) -> list[str]:
    """What could not be read, a sentence for each file."""
    seen = archive.intake.to_arrow().to_pylist()
    lines: dict[str, int] = {}
    for row in seen:
        if row["outcome"] == Outcome.UNREADABLE:
            lines[row["file"]] = lines.get(row["file"], 0) + row["amount"]
    refused = (row for row in seen if row["outcome"] == Outcome.REFUSED)
    return [
        *(f"{row['file']} is not searched: {row['reason']}" for row in refused),
        *(
            f"{file}: {counted(count, 'lines')} could not be read and {'is' if count == 1 else 'are'} not searched "
            "(`covmis posts look FILE` says why)"
            for file, count in lines.items()
        ),
    ]


def nearest(
    index: Words, claims: pd.DataFrame, places: Places, *, found: Mapping[str, Rows] | None = None,
    first: int = FIRST, model: str = "", progress: Progress = silent,
) -> Ranking:  # fmt: skip
    """Rank the archive's posts for each of these claims; `model` is a sentence model's folder, or its name on the hub.

    `found` are the numbers of posts that queries find, for each claim: `first` of all are ranked, and as many of the
    others.
    """

    def asked() -> Iterator[Asked]:
        for at, claim in enumerate(claims.itertuples()):
            progress("ranking by words", at, len(claims))
            text = str(claim.text)
            terms = terms_of(text, index, str(claim.language or "en"))
            known = (found or {}).get(str(claim.claim_id))
            yield Asked(str(claim.claim_id), text, index.nearest(terms, first, besides=known))

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
        known = dict.fromkeys(claims["claim_id"], index.numbers(matched))
        ranking = nearest(
            index, claims[claims["selected"].astype(bool)], places, found=known, model=options.model, progress=progress,
        )  # fmt: skip
    rows = ranking.posts[~ranking.posts["post_id"].isin(matched)].groupby("claim_id").head(options.depth)
    told = rows[["claim_id", "post_id", "rank", "score"]].assign(
        ranked_by=ranking.name, version=ranking.version
    )
    return pd.DataFrame(told).sort_values(["claim_id", "post_id"], ignore_index=True)
