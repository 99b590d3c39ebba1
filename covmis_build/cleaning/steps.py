"""The stage `clean`: from hits to items in five steps, in the paper's order (section 3.1).

1. one_claim_per_post  assign a post matched for several claims to one of them, by a permanent random number
2. language            drop posts in other languages
3. words               drop short posts
4. near_duplicates     keep one of several posts with nearly the same text, by a permanent random number
5. minimum_posts       drop claims with too few posts left

The unit is the claim-post pair: each becomes an item or a row of `dropped`, which is checked. An item that an opened round
has frozen represents the near-duplicates that today's queries find for its claim; if there are none, it is no item of today.
Each step is a module; this one combines them. Joins are SQL; functions over blocks of rows analyse texts and compute
random numbers.
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
from covmis_build.records import Dropped
from covmis_build.text.lengths import length_rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from covmis_build.engine import Engine, Progress, Table
    from covmis_build.options import Cleaning

ITEMS = tables.SCHEMAS["items"]
PASSED = sorted({*ITEMS.names} - {"item_id", "kind", "other_claims", "group"})
"""Columns of items that have the same names in `counted`."""
DROPPED = tables.SCHEMAS["dropped"]

OF_ONE_PAIR = (one_claim.STEP, language.STEP, words.STEP)
"""The reason is the first step that drops a pair."""

BY_NAME = {step.name: step for step in (*OF_ONE_PAIR, near_duplicates.STEP, minimum.STEP)}

FROZEN = pa.schema([("claim_id", tables.STRING), ("post_id", tables.STRING), ("text", tables.STRING)])
"""The columns of the items of opened rounds."""
OF_HITS, OF_POSTS = ("claim_id", "post_id", "kind"), ("post_id", "text", "language")
"""The columns that cleaning uses."""

POSTS = """
SELECT c.post_id, COALESCE(p.text, f.text) AS text, p.language
FROM (SELECT DISTINCT post_id FROM chosen WHERE {stays}) AS c LEFT JOIN posts AS p ON p.post_id = c.post_id
LEFT JOIN {texts_of_frozen} AS f ON f.post_id = c.post_id"""

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

NOT_FOUND = "not found"
"""A frozen item that no query finds now: neither an item of today nor dropped."""

JUDGED = """
SELECT c.claim_id, c.post_id, c.kinds, c.ranked, c.frozen, c.n_claims, c.first_claim, m.detected_language, m.least_length,
  COALESCE(m.draw_number, 0) + 2 * c.ranked AS priority, g.group_id, g.kept AS nearest, g.similarity,
  CASE WHEN c.kinds IS NULL THEN '{not_found}' {cases} ELSE '' END AS step_before,
  CASE WHEN c.kinds IS NOT NULL AND (c.rank_in_post = 1 OR {all_stay}) AND m.language_fits = 1 AND m.long_enough = 1 THEN 1 ELSE 0
    END AS copy
FROM chosen AS c LEFT JOIN measured AS m ON m.post_id = c.post_id
LEFT JOIN members AS g ON g.post_id = c.post_id {and_claim}"""
"""`step_before` is the first step that drops the pair for itself: those before near-duplicates.

`copy` marks what groups count: within claims also posts that stay with another claim, since their texts are this one's, too.
"""

GROUPED = """
SELECT *, CASE WHEN frozen = 1 AND group_id IS NOT NULL AND here > 0 THEN 1 ELSE 0 END AS stands,
  CASE WHEN step_before = '' THEN 0 ELSE 1 END AS lost, CASE WHEN nearest LIKE '% %' THEN 1 ELSE 0 END AS elsewhere
FROM (SELECT *, COUNT(CASE WHEN step_before = '' THEN 1 END) OVER (PARTITION BY claim_id, group_id) AS here,
        SUM(copy) OVER (PARTITION BY claim_id, group_id) AS group_size,
        MIN(CASE WHEN copy = 1 THEN n_claims END) OVER (PARTITION BY claim_id, group_id) AS least_claims,
        SUM(CASE WHEN copy = 1 AND n_claims > 1 THEN LN(1 - CAST(1 AS DOUBLE) / n_claims) ELSE 0 END)
          OVER (PARTITION BY claim_id, group_id) AS missed
      FROM judged) AS sized"""
"""`group_size` counts the posts found for this claim; `stands` marks a frozen item that represents some of them.

`missed` is the logarithm of the probability that all of them stay with other claims, by chance.
"""

OF_POST, OF_GROUP = (
    "CAST(1 AS DOUBLE) / CASE WHEN lost = 0 THEN n_claims ELSE first_n_claims END",
    "CASE WHEN least_claims = 1 THEN CAST(1 AS DOUBLE) ELSE ROUND(1 - EXP(missed), 12) END",
)
"""The probability that the item's post stays with this claim; within claims, that a post of its group does."""

STEP_OF_PAIR = """
SELECT claim_id, post_id, frozen, first_claim, step_before, detected_language, least_length, group_id, group_size, group_items,
  CASE WHEN elsewhere = 1 THEN nearest ELSE first_post END AS kept,
  CASE WHEN elsewhere = 1 OR nearest = first_post THEN similarity END AS similarity,
  CASE WHEN lost = 0 THEN kinds ELSE first_kinds END AS kinds,
  CASE WHEN lost = 0 THEN n_claims ELSE first_n_claims END AS n_claims, {p_claim} AS p_claim,
  CASE WHEN lost = 0 THEN ranked ELSE first_ranked END AS ranked,
  MAX(stays) OVER (PARTITION BY claim_id, group_id) AS represented,
  CASE WHEN stays = 1 THEN '' WHEN lost = 1 THEN step_before ELSE '{near_duplicates}' END AS step_so_far
FROM (SELECT *, CASE WHEN stands = 1 AND group_stands > 1 THEN group_stands ELSE 1 END AS group_items,
        CASE WHEN elsewhere = 1 THEN 0 WHEN stands = 1 OR (lost = 0 AND post_id = first_post) THEN 1 ELSE 0 END AS stays
      FROM (SELECT *,
              SUM(stands) OVER (PARTITION BY claim_id, group_id) AS group_stands,
              FIRST_VALUE(kinds) OVER (PARTITION BY claim_id, group_id ORDER BY lost, priority, post_id) AS first_kinds,
              FIRST_VALUE(n_claims) OVER (PARTITION BY claim_id, group_id ORDER BY lost, priority, post_id) AS first_n_claims,
              FIRST_VALUE(ranked) OVER (PARTITION BY claim_id, group_id ORDER BY lost, priority, post_id) AS first_ranked,
              FIRST_VALUE(post_id) OVER (PARTITION BY {scope} ORDER BY stands DESC, lost, priority, post_id) AS first_post
            FROM grouped) AS placed) AS kept"""
"""One post of each group stays: those frozen, or the one with the smallest random number, matched before ranked ones.

What stands for posts that are found though it is not found itself has their query types.
"""

OTHERS = (
    "SELECT post_id, array_sort(array_agg(claim_id)) AS claims FROM pairs "
    "WHERE n_claims > 1 AND kinds IS NOT NULL GROUP BY post_id"
)

KEPT = f"""
SELECT c.*, o.claims FROM counted AS c LEFT JOIN ({OTHERS}) AS o ON o.post_id = c.post_id
WHERE c.step = '' ORDER BY c.claim_id, c.post_id"""


@dataclass(frozen=True, slots=True)
class Cleaned:
    """The result: items, dropped pairs with reasons, and the largest near-duplicate clusters."""

    items: Table
    dropped: Table
    chains: Table


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

    `hits` and `posts` are the tables of that name; `frozen` has FROZEN of the items of opened rounds, whose text counts where
    no query finds the post: copies of it may be found; `others` are posts (post_id, text) of other corpora, whose near-duplicates are dropped.
    """
    progress("one claim per post", 0, 0)
    pairs = engine.sql(one_claim.PAIRS, hits=hits, frozen=frozen)
    pairs = engine.map(partial(one_claim.draw, seed=seed), pairs, one_claim.DRAWN)
    chosen = engine.sql(one_claim.CHOSEN, pairs=pairs)
    stays = "frozen = 1 OR rank_in_post = 1" if options.one_claim_per_post else "frozen IN (0, 1)"
    progress("language and words", 0, 0)
    of_posts = POSTS.format(stays=stays, texts_of_frozen=near_duplicates.TEXTS_OF_FROZEN)
    left = engine.sql(of_posts, chosen=chosen, posts=posts, frozen=frozen)
    measured = engine.map(partial(measure, options=options, seed=seed), left, MEASURED)
    progress("near-duplicates", 0, 0)
    groups = near_duplicates.groups(engine, chosen, measured, posts, frozen, others, options, stays=stays)
    progress("posts of each claim", 0, 0)
    cases = " ".join(f"WHEN {step.drops(options)} THEN '{step.name}'" for step in OF_ONE_PAIR)
    of_claim = options.scope == "claim"
    same_claim = "AND g.claim_id = c.claim_id" if of_claim else ""
    judged = engine.sql(
        JUDGED.format(
            cases=cases,
            not_found=NOT_FOUND,
            and_claim=same_claim,
            all_stay="1 = 1" if of_claim or not options.one_claim_per_post else "1 = 0",
        ),
        chosen=chosen,
        measured=measured,
        members=groups.members,
    )
    scope = "claim_id, group_id" if of_claim else "group_id"
    grouped = engine.sql(GROUPED, judged=judged)
    steps = engine.sql(
        STEP_OF_PAIR.format(
            scope=scope,
            near_duplicates=near_duplicates.STEP.name,
            p_claim="CAST(1 AS DOUBLE)"
            if not options.one_claim_per_post
            else OF_GROUP
            if of_claim
            else OF_POST,
        ),
        grouped=grouped,
    )
    counted = engine.sql(minimum.counted(options, NOT_FOUND), steps=steps)
    kept = engine.sql(KEPT, counted=counted, pairs=pairs)
    items = engine.map(partial(as_items, seed=seed), kept, ITEMS)
    items = engine.sql("SELECT * FROM items ORDER BY item_id", items=items)
    dropped = _dropped(engine, counted, options)
    _check(engine, pairs, items, dropped)
    return Cleaned(items, dropped, groups.chains)


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


def as_items(block: pa.Table, *, seed: int) -> pa.Table:
    """Return items from the kept pairs, with the columns that were counted per pair.

    A post matched by several query types belongs to one stratum, chosen among its types by a permanent random number.
    """
    ids, kinds, others = [], [], []
    for claim, post, found_by, claims in rows(block, "claim_id", "post_id", "kinds", "claims"):
        ids.append(f"{claim}|{post}")
        kinds.append(_stratum(ids[-1], found_by, seed))
        others.append([other for other in claims or () if other != claim])
    columns = {
        "item_id": ids,
        "kind": kinds,
        "other_claims": others,
        "group": block.column("group_id"),
    }
    return _in_columns(columns | {name: block.column(name) for name in PASSED if name in block.column_names})


def _stratum(item: str, kinds: Sequence[str], seed: int) -> str:
    at = int(keyed.uniform(seed, "stratum", item) * len(kinds)) if len(kinds) > 1 else 0
    return kinds[at]


def _dropped(engine: Engine, counted: Table, options: Cleaning) -> Table:
    gone = engine.sql(
        f"SELECT {', '.join(Pair._fields)} FROM counted WHERE step NOT IN ('', '{NOT_FOUND}')",
        counted=counted,
    )
    pairs = engine.map(partial(dropped_pairs, options=options), gone, DROPPED)
    empty = engine.sql(minimum.EMPTY_CLAIMS.format(not_found=NOT_FOUND), counted=counted)
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
             SELECT claim_id, post_id, 1 AS came FROM pairs WHERE kinds IS NOT NULL
             UNION ALL SELECT i.claim_id, i.post_id, -1 AS came FROM items AS i JOIN pairs AS p
               ON p.claim_id = i.claim_id AND p.post_id = i.post_id AND p.kinds IS NOT NULL
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
