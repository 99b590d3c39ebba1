"""The stage `clean`: from hits to items in five steps, in the paper's order (section 3.1).

1. one_claim_per_post  assign a post matched for several claims to one of them, by a permanent random number
2. language            drop posts in other languages
3. words               drop short posts
4. near_duplicates     keep one of several posts with nearly the same text, by a permanent random number
5. minimum_posts       drop claims with too few posts left

The unit is the claim-post pair: each becomes an item or a row of `dropped`, which is checked. Items frozen by an opened
round are kept whatever the steps decide, and represent their cluster. Each step is a module; this one combines
them. Joins are SQL; functions over blocks of rows analyse texts and compute random numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from covmis_build import keyed, tables
from covmis_build.cleaning import language, minimum, near_duplicates, one_claim, words
from covmis_build.cleaning.step import Pair, rows
from covmis_build.engine import silent
from covmis_build.errors import CheckFailed
from covmis_build.options import RANKED
from covmis_build.records import Dropped
from covmis_build.text.lengths import length_rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from covmis_build.engine import Engine, Progress, Table
    from covmis_build.options import Cleaning

ITEMS = tables.SCHEMAS["items"]
PASSED = sorted({*ITEMS.names} - {"item_id", "kind", "other_claims", "group", "p_claim"})
"""Columns of items that have the same names in `counted`."""
DROPPED = tables.SCHEMAS["dropped"]

STEPS = (one_claim.STEP, language.STEP, words.STEP, near_duplicates.STEP)
"""The reason is the first step that drops a pair; `minimum` counts the remaining pairs."""

BY_NAME = {step.name: step for step in (*STEPS, minimum.STEP)}

OF_HITS, OF_POSTS = ("claim_id", "post_id", "kind"), ("post_id", "text", "language")
"""The columns that cleaning uses."""

POSTS = """
SELECT c.post_id, p.text, p.language
FROM (SELECT DISTINCT post_id FROM chosen WHERE {stays}) AS c LEFT JOIN posts AS p ON p.post_id = c.post_id"""

MEASURED = pa.schema(
    [
        ("post_id", tables.STRING),
        ("detected_language", tables.STRING),
        ("language_fits", tables.COUNT),
        ("least_length", tables.STRING),
        ("long_enough", tables.COUNT),
        ("draw_number", tables.REAL),
    ]
)

STEP_OF_PAIR = """
SELECT *, CASE WHEN frozen = 1 THEN '' ELSE step_if_not_frozen END AS step FROM (
  SELECT c.claim_id, c.post_id, c.kinds, c.ranked, c.frozen, c.n_claims, c.first_claim, m.detected_language, m.least_length,
    g.group_id, g.kept, g.similarity, CASE {cases} ELSE '' END AS step_if_not_frozen
  FROM chosen AS c LEFT JOIN measured AS m ON m.post_id = c.post_id
  LEFT JOIN members AS g ON g.post_id = c.post_id {and_claim}) AS every"""
"""`step_if_not_frozen` is the steps' result for every pair; `step` is empty for frozen items, which are always kept."""

OTHERS = (
    "SELECT post_id, array_sort(array_agg(claim_id)) AS claims FROM pairs WHERE n_claims > 1 GROUP BY post_id"
)

KEPT = f"""
SELECT c.*, o.claims FROM counted AS c LEFT JOIN ({OTHERS}) AS o ON o.post_id = c.post_id
WHERE c.step = '' AND c.frozen = 0"""

FROZEN = """
SELECT f.*, CASE WHEN c.step_if_not_frozen = '' THEN c.kinds END AS found_by
FROM frozen AS f LEFT JOIN counted AS c ON c.claim_id = f.claim_id AND c.post_id = f.post_id"""

OVERRULED = """
SELECT claim_id, post_id, first_claim, detected_language, least_length, group_id, kept, similarity,
  step_if_not_frozen AS step
FROM counted WHERE frozen = 1 AND kinds IS NOT NULL AND step_if_not_frozen <> '' ORDER BY claim_id, post_id"""


@dataclass(frozen=True, slots=True)
class Cleaned:
    """The result: items, dropped pairs with reasons, and the largest near-duplicate clusters.

    `overruled` has frozen items that were matched again and that a step would drop; they are kept.
    """

    items: Table
    dropped: Table
    chains: Table
    overruled: Table


def clean(
    engine: Engine,
    hits: Table,
    posts: Table,
    frozen: Table,
    options: Cleaning,
    *,
    seed: int,
    progress: Progress = silent,
    others: Table | None = None,
) -> Cleaned:
    """Clean the hits. The result does not depend on row order, engine, or number of workers.

    `hits` and `posts` are the tables of that name; `frozen` are items of opened rounds, in the columns of `items`; `others`
    are posts (post_id, text) of other corpora, whose near-duplicates are dropped.
    """
    progress("one claim per post", 0, 0)
    frozen = engine.map(as_items, frozen, ITEMS)
    pairs = engine.sql(one_claim.PAIRS, hits=hits, frozen=frozen)
    pairs = engine.map(partial(one_claim.draw, seed=seed), pairs, one_claim.DRAWN)
    chosen = engine.sql(one_claim.CHOSEN, pairs=pairs)
    stays = "frozen = 1 OR rank_in_post = 1" if options.one_claim_per_post else "frozen IN (0, 1)"
    progress("language and words", 0, 0)
    left = engine.sql(POSTS.format(stays=stays), chosen=chosen, posts=posts)
    measured = engine.map(partial(measure, options=options, seed=seed), left, MEASURED)
    progress("near-duplicates", 0, 0)
    groups = near_duplicates.groups(engine, chosen, measured, posts, others, options, stays=stays)
    progress("posts of each claim", 0, 0)
    cases = " ".join(f"WHEN {step.drops(options)} THEN '{step.name}'" for step in STEPS)
    and_claim = "AND g.claim_id = c.claim_id" if options.scope == "claim" else ""
    steps = engine.sql(
        STEP_OF_PAIR.format(cases=cases, and_claim=and_claim),
        chosen=chosen,
        measured=measured,
        members=groups.members,
    )
    counted = engine.sql(minimum.counted(options), steps=steps)
    items = _items(engine, counted, pairs, frozen, options, seed)
    dropped = _dropped(engine, counted, options)
    _check(engine, pairs, items, dropped)
    overruled = engine.map(
        partial(dropped_pairs, options=options), engine.sql(OVERRULED, counted=counted), DROPPED
    )
    return Cleaned(items, dropped, groups.chains, overruled)


def measure(block: pa.Table, *, options: Cleaning, seed: int) -> pa.Table:
    """Return each post's language, whether it fits and is long enough, and its random number among near-duplicates.

    All in one pass over the texts.
    """
    texts = [text or "" for text in block.column("text").to_pylist()]
    languages = language.languages(texts, block.column("language").to_pylist(), options)
    fits = {tag: language.fits(tag, options) for tag in set(languages)}
    rules = {tag: length_rule(tag, options) for tag in set(languages)}
    post_ids = block.column("post_id").to_pylist()
    columns = {
        "post_id": post_ids,
        "detected_language": languages,
        "language_fits": [int(fits[tag]) for tag in languages],
        "least_length": [rules[tag].in_full for tag in languages],
        "long_enough": [
            int(words.long_enough(text, rules[tag])) for text, tag in zip(texts, languages, strict=True)
        ],
        "draw_number": near_duplicates.draw_numbers(post_ids, seed),
    }
    return pa.table(columns, schema=MEASURED)


def as_items(block: pa.Table) -> pa.Table:
    """Return frozen items with exactly the columns and types of `items`, even if there are none."""
    columns = []
    for field in ITEMS:
        column = block.column(field.name)
        known = column.null_count < len(column)
        columns.append(column.cast(field.type) if known else pa.nulls(len(column), field.type))
    return pa.table(columns, schema=ITEMS)


def _items(
    engine: Engine, counted: Table, pairs: Table, frozen: Table, options: Cleaning, seed: int
) -> Table:
    kept = engine.sql(KEPT, counted=counted, pairs=pairs)
    items = engine.map(partial(_new_items, seed=seed, drawn=options.one_claim_per_post), kept, ITEMS)
    frozen = engine.map(
        partial(_as_found, seed=seed), engine.sql(FROZEN, frozen=frozen, counted=counted), ITEMS
    )
    return engine.sql(
        "SELECT * FROM (SELECT * FROM made UNION ALL SELECT * FROM frozen) AS u ORDER BY item_id",
        made=items,
        frozen=frozen,
    )


def _new_items(block: pa.Table, *, seed: int, drawn: bool) -> pa.Table:
    """Return items from the kept pairs, with the columns that were counted per pair.

    A post matched by several query types belongs to one stratum, chosen among its types by a permanent random number.
    """
    ids, kinds, others = [], [], []
    for claim, post, found_by, claims in rows(block, "claim_id", "post_id", "kinds", "claims"):
        ids.append(f"{claim}|{post}")
        kinds.append(_stratum(ids[-1], found_by, seed))
        others.append([other for other in claims or () if other != claim])
    n_claims = block.column("n_claims").to_pylist()
    columns = {
        "item_id": ids,
        "kind": kinds,
        "other_claims": others,
        "group": block.column("group_id"),
        "p_claim": [1 / n if drawn else 1.0 for n in n_claims],
    }
    return _in_columns(columns | {name: block.column(name) for name in PASSED if name in block.column_names})


def _stratum(item: str, kinds: Sequence[str], seed: int) -> str:
    at = int(keyed.uniform(seed, "stratum", item) * len(kinds)) if len(kinds) > 1 else 0
    return kinds[at]


def _as_found(block: pa.Table, *, seed: int) -> pa.Table:
    """Return frozen items; a ranked one that a query now matches and no step drops gets that query's stratum.

    The same happens to unsampled posts: otherwise probabilities would depend on what was sampled.
    """
    frozen = block.select(ITEMS.names).to_pylist()
    for item, kinds in zip(frozen, block.column("found_by").to_pylist(), strict=True):
        if item["kind"] == RANKED and kinds and RANKED not in kinds:
            item |= {"kind": _stratum(item["item_id"], kinds, seed), "kinds": kinds}
    return pa.Table.from_pylist(frozen, schema=ITEMS)


def _dropped(engine: Engine, counted: Table, options: Cleaning) -> Table:
    gone = engine.sql(f"SELECT {', '.join(Pair._fields)} FROM counted WHERE step <> ''", counted=counted)
    pairs = engine.map(partial(dropped_pairs, options=options), gone, DROPPED)
    empty = engine.sql(minimum.EMPTY_CLAIMS, counted=counted)
    claims = engine.map(partial(dropped_claims, options=options), empty, DROPPED)
    return engine.sql(
        "SELECT * FROM (SELECT * FROM pairs UNION ALL SELECT * FROM claims) AS u "
        "ORDER BY unit, claim_id, post_id, step",
        pairs=pairs,
        claims=claims,
    )


def dropped_pairs(block: pa.Table, *, options: Cleaning) -> pa.Table:
    """Return rows of `dropped` for pairs."""
    dropped = []
    for pair in map(Pair._make, rows(block, *Pair._fields)):
        step = BY_NAME[pair.step]
        similarity = pair.similarity if step is near_duplicates.STEP else None
        dropped.append(
            Dropped(
                "pair",
                pair.claim_id,
                pair.post_id,
                pair.step,
                reason=step.reason(pair, options),
                kept_instead=step.kept_instead(pair),
                similarity=similarity,
                group=pair.group_id or "",
            )
        )
    return tables.of_records(dropped, "dropped")


def dropped_claims(block: pa.Table, *, options: Cleaning) -> pa.Table:
    """Return rows of `dropped` for claims without any item left."""
    few, none = f"fewer than {options.minimum_posts} posts left", "no posts left"
    return tables.of_records(
        [
            Dropped("claim", claim, "", minimum.STEP.name, reason=few if posts_left else none)
            for claim, posts_left in rows(block, "claim_id", "posts_left")
        ],
        "dropped",
    )


def _in_columns(columns: Mapping[str, Any]) -> pa.Table:
    """Return items from columns by name, with the table's order and types; columns of later versions may be missing."""
    typed = {
        name: values.cast(ITEMS.field(name).type)
        if isinstance(values, pa.ChunkedArray)
        else pa.array(values, ITEMS.field(name).type)
        for name, values in columns.items()
    }
    return tables.with_later(pa.table(typed), "items").select(ITEMS.names).cast(ITEMS)


def _check(engine: Engine, pairs: Table, items: Table, dropped: Table) -> None:
    """Check pair by pair that input = kept + dropped."""
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
