"""The stage `clean`: from hits to items in five steps, in the paper's order (section 3.1).

1. one_claim_per_post  a post found for several claims stays with one of them, drawn by a keyed number
2. language            posts in other languages go
3. words               short posts go
4. near_duplicates     of posts with nearly the same text one stays, drawn by a keyed number
5. minimum_posts       claims with too few posts left go, with their posts

The unit is the pair of a claim and a post: what came in is an item or a row of `dropped`, and this is checked.
Items frozen by an opened round stay as they are whatever the steps say, and stand for their group of duplicates.
Joins are SQL; everything that looks into a text or draws a number is a kernel (`kernels.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from covmis_build.cleaning import kernels
from covmis_build.engine import silent
from covmis_build.errors import CheckFailed

if TYPE_CHECKING:
    from covmis_build.engine import Engine, Groups, Progress, Table
    from covmis_build.options import Cleaning

PAIRS = """
SELECT e.claim_id, e.post_id, k.kinds, CASE WHEN f.item_id IS NULL THEN 0 ELSE 1 END AS frozen,
  COUNT(*) OVER (PARTITION BY e.post_id) AS n_claims
FROM (SELECT claim_id, post_id FROM hits UNION SELECT claim_id, post_id FROM frozen) AS e
LEFT JOIN (SELECT claim_id, post_id, array_sort(array_agg(DISTINCT kind)) AS kinds
           FROM hits GROUP BY claim_id, post_id) AS k ON k.claim_id = e.claim_id AND k.post_id = e.post_id
LEFT JOIN frozen AS f ON f.claim_id = e.claim_id AND f.post_id = e.post_id
ORDER BY post_id, claim_id"""

CHOSEN = """
SELECT *,
  ROW_NUMBER() OVER (PARTITION BY post_id ORDER BY frozen DESC, lot, claim_id) AS place,
  FIRST_VALUE(claim_id) OVER (PARTITION BY post_id ORDER BY frozen DESC, lot, claim_id) AS first_claim
FROM pairs ORDER BY post_id, claim_id"""

POSTS = """
SELECT c.post_id, p.text, p.language
FROM (SELECT DISTINCT post_id FROM chosen WHERE {stays}) AS c LEFT JOIN posts AS p ON p.post_id = c.post_id
ORDER BY post_id"""

TEXTS = """
SELECT {keys}, p.text, CASE WHEN c.frozen = 1 THEN m.lot - 1.0 ELSE m.lot END AS priority
FROM (SELECT {keys}, MAX(frozen) AS frozen FROM chosen WHERE {stays} GROUP BY {keys}) AS c
JOIN measured AS m USING (post_id) JOIN posts AS p USING (post_id)
WHERE c.frozen = 1 OR (m.language_fits = 1 AND m.long_enough = 1)
ORDER BY {keys}"""

FATES = """
SELECT *, CASE WHEN frozen = 1 THEN '' ELSE judged END AS step FROM (
  SELECT c.claim_id, c.post_id, c.kinds, c.frozen, c.n_claims, c.first_claim, m.spoken, m.needed,
    g.group_id, g.kept, g.similarity,
    CASE WHEN {lost} THEN 'one_claim_per_post'
         WHEN m.language_fits = 0 THEN 'language'
         WHEN m.long_enough = 0 THEN 'words'
         WHEN g.kept <> c.post_id THEN 'near_duplicates'
         ELSE '' END AS judged
  FROM chosen AS c LEFT JOIN measured AS m ON m.post_id = c.post_id
  LEFT JOIN members AS g ON g.post_id = c.post_id {and_claim}) AS every"""
"""`judged` is what the steps say of every pair, `step` what drops it: frozen items stay whatever is said."""

COUNTED = """
SELECT claim_id, post_id, kinds, frozen, n_claims, first_claim, spoken, needed, group_id, kept, similarity,
  group_size, posts_left, CASE WHEN judged = '' AND posts_judged < {minimum} THEN 'minimum_posts' ELSE judged END AS judged,
  CASE WHEN step = '' AND frozen = 0 AND posts_left < {minimum} THEN 'minimum_posts' ELSE step END AS step
FROM (SELECT *,
        COUNT(CASE WHEN step = '' THEN 1 END) OVER (PARTITION BY claim_id) AS posts_left,
        COUNT(CASE WHEN judged = '' THEN 1 END) OVER (PARTITION BY claim_id) AS posts_judged,
        COUNT(CASE WHEN step IN ('', 'near_duplicates') THEN 1 END)
          OVER (PARTITION BY claim_id, group_id) AS group_size
      FROM fates) AS counted
ORDER BY claim_id, post_id"""

CLAIMS = """
SELECT claim_id, MAX(posts_left) AS posts_left FROM counted GROUP BY claim_id
HAVING COUNT(CASE WHEN step = '' THEN 1 END) = 0 ORDER BY claim_id"""

OTHERS = (
    "SELECT post_id, array_sort(array_agg(claim_id)) AS claims FROM pairs WHERE n_claims > 1 GROUP BY post_id"
)

KEPT = f"""
SELECT c.*, o.claims FROM counted AS c LEFT JOIN ({OTHERS}) AS o ON o.post_id = c.post_id
WHERE c.step = '' AND c.frozen = 0 ORDER BY c.claim_id, c.post_id"""


OVERRULED = """
SELECT claim_id, post_id, n_claims, first_claim, spoken, needed, group_id, kept, similarity, judged AS step
FROM counted WHERE frozen = 1 AND kinds IS NOT NULL AND judged <> '' ORDER BY claim_id, post_id"""


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What the stage gives: the items, what was dropped and why, and the largest groups of duplicates.

    `overruled` has the frozen items that were found again and that a step would drop: they stay nevertheless.
    """

    items: Table
    dropped: Table
    chains: Table
    overruled: Table


def clean(
    engine: Engine, hits: Table, posts: Table, frozen: Table, options: Cleaning, *, seed: int,
    progress: Progress = silent,
) -> Cleaned:  # fmt: skip
    """Clean the hits; the result does not depend on the order of rows, on the engine, or on its number of workers.

    `hits` and `posts` are the tables of that name; `frozen` are items of opened rounds, in the columns of `items`.
    """
    progress("one claim per post", 0, 0)
    frozen = engine.map(kernels.as_items, frozen, kernels.ITEMS)
    pairs = engine.sql(PAIRS, hits=hits, frozen=frozen)
    pairs = engine.map(partial(kernels.lots, seed=seed), pairs, kernels.LOTS)
    chosen = engine.sql(CHOSEN, pairs=pairs)
    stays = "frozen = 1 OR place = 1" if options.one_claim_per_post else "frozen IN (0, 1)"
    progress("language and words", 0, 0)
    found = engine.sql(POSTS.format(stays=stays), chosen=chosen, posts=posts)
    measured = engine.map(partial(kernels.measure, options=options, seed=seed), found, kernels.MEASURED)
    progress("near-duplicates", 0, 0)
    groups = _near_duplicates(engine, chosen, measured, posts, options, stays)
    progress("claims with too few posts", 0, 0)
    and_claim = "AND g.claim_id = c.claim_id" if options.scope == "claim" else ""
    lost = "c.place > 1" if options.one_claim_per_post else "1 = 0"
    fates = engine.sql(
        FATES.format(lost=lost, and_claim=and_claim),
        chosen=chosen,
        measured=measured,
        members=groups.members,
    )
    counted = engine.sql(COUNTED.format(minimum=options.minimum_posts), fates=fates)
    items = _items(engine, counted, pairs, frozen, options, seed)
    dropped = _dropped(engine, counted, options)
    _check(engine, pairs, items, dropped)
    overruled = engine.map(
        partial(kernels.dropped_pairs, options=options),
        engine.sql(OVERRULED, counted=counted),
        kernels.DROPPED,
    )
    return Cleaned(items, dropped, groups.chains, overruled)


def _near_duplicates(
    engine: Engine, chosen: Table, measured: Table, posts: Table, options: Cleaning, stays: str
) -> Groups:
    keys = "claim_id, post_id" if options.scope == "claim" else "post_id"
    texts = engine.sql(TEXTS.format(keys=keys, stays=stays), chosen=chosen, measured=measured, posts=posts)
    return engine.near_duplicates(
        texts,
        threshold=options.similarity,
        grouping=options.grouping,
        scope="claim_id" if options.scope == "claim" else "",
    )


def _items(
    engine: Engine, counted: Table, pairs: Table, frozen: Table, options: Cleaning, seed: int
) -> Table:
    kept = engine.sql(KEPT, counted=counted, pairs=pairs)
    drawn = options.one_claim_per_post
    made = engine.map(partial(kernels.items, seed=seed, drawn=drawn), kept, kernels.ITEMS)
    return engine.sql(
        "SELECT * FROM (SELECT * FROM made UNION ALL SELECT * FROM frozen) AS u ORDER BY item_id",
        made=made,
        frozen=frozen,
    )


def _dropped(engine: Engine, counted: Table, options: Cleaning) -> Table:
    gone = engine.sql("SELECT * FROM counted WHERE step <> '' ORDER BY claim_id, post_id", counted=counted)
    pairs = engine.map(partial(kernels.dropped_pairs, options=options), gone, kernels.DROPPED)
    empty = engine.sql(CLAIMS, counted=counted)
    claims = engine.map(partial(kernels.dropped_claims, options=options), empty, kernels.DROPPED)
    return engine.sql(
        "SELECT * FROM (SELECT * FROM pairs UNION ALL SELECT * FROM claims) AS u "
        "ORDER BY unit, claim_id, post_id, step",
        pairs=pairs,
        claims=claims,
    )


def _check(engine: Engine, pairs: Table, items: Table, dropped: Table) -> None:
    """Kept + dropped = came in, pair by pair."""
    odd = engine.sql(
        """SELECT claim_id, post_id FROM (
             SELECT claim_id, post_id, 1 AS came FROM pairs
             UNION ALL SELECT claim_id, post_id, -1 AS came FROM items
             UNION ALL SELECT claim_id, post_id, -1 AS came FROM dropped WHERE unit = 'pair') AS u
           GROUP BY claim_id, post_id HAVING SUM(came) <> 0 ORDER BY claim_id, post_id""",
        pairs=pairs,
        items=items,
        dropped=dropped,
    )
    if len(odd):
        first = odd.to_pandas().iloc[0]
        raise CheckFailed(
            f"cleaning lost or doubled {len(odd)} pairs, first {first['claim_id']}|{first['post_id']}: "
            "a hit table with doubled posts, or a bug; please report it"
        )
