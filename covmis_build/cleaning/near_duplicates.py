"""Keep one post of each near-duplicate cluster (step 4 of the paper's five); text/near_duplicates.py computes TF-IDF."""

from __future__ import annotations

import html
import re
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from covmis_build import keyed
from covmis_build.cleaning.step import Pair, Step
from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from covmis_build.engine import Engine, Groups, Table
    from covmis_build.options import Cleaning

TEXTS_OF_FROZEN = "(SELECT post_id, MAX(text) AS text FROM frozen GROUP BY post_id)"

TEXTS = """
SELECT {keys}, COALESCE(p.text, f.text) AS text, m.draw_number - CASE WHEN c.frozen = 1 THEN 1.0 ELSE 0.0 END
  + CASE WHEN c.ranked = 1 THEN 2.0 ELSE 0.0 END + CASE WHEN {apart} THEN 4.0 ELSE 0.0 END AS priority
FROM (SELECT {keys}, MAX(frozen) AS frozen, MIN(ranked) AS ranked, MIN(rank_in_post) AS place FROM chosen WHERE {stays} GROUP BY {keys}) AS c
JOIN measured AS m USING (post_id) LEFT JOIN posts AS p USING (post_id) LEFT JOIN {texts_of_frozen} AS f USING (post_id)
WHERE (p.post_id IS NOT NULL OR f.text <> '') AND (c.frozen = 1 OR (m.language_fits = 1 AND m.long_enough = 1))"""
"""Posts left by the steps before, and frozen items, which represent their cluster and precede all others.

A matched post represents its near-duplicates that no query matches, and one that stays with its claim those that do not.
"""


def draw_numbers(post_ids: Iterable[str], seed: int) -> list[float]:
    """Return the posts' random numbers: the smallest of a cluster is kept."""
    # The same ones are clustered, and one of a cluster is kept at random (3.1).
    return keyed.uniforms(seed, "near_duplicates", post_ids)


PATTERNS = {
    "retweet_mark": re.compile(r"^\s*RT\b:?(?:\s*[@＠]\w+:?)?"),  # noqa: RUF001 - the full-width sign is meant
    "urls": re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE),
    "mentions": re.compile(r"(?<!\w)[@＠]\w+"),  # noqa: RUF001 - likewise
}
"""Parts that are removed before comparison, in this order, after decoding entities (`&amp;`)."""


def compared(text: str, without: Collection[str]) -> str:
    """Return a text for comparison; if nothing would be left, the unchanged text.

    >>> compared("RT @who: wash &amp; dry https://t.co/x", ["urls", "retweet_mark", "entities"])
    'wash & dry'
    """
    bare = html.unescape(text) if "entities" in without else text
    for name, pattern in PATTERNS.items():
        bare = pattern.sub(" ", bare) if name in without else bare
    return bare.strip() or text


def _compared(block: pa.Table, *, without: Collection[str]) -> pa.Table:
    texts = [compared(text or "", without) for text in block.column("text").to_pylist()]
    return block.set_column(block.schema.get_field_index("text"), "text", pa.array(texts, pa.string()))


OTHER = " "
"""Separator of file and id in ids of other corpora's posts; our ids do not contain it."""

WITH_OTHERS = """
SELECT post_id, text, priority FROM ours UNION ALL SELECT post_id, text, -2.0 AS priority FROM others"""
"""Posts of other corpora represent their clusters before all of ours."""


def groups(
    engine: Engine,
    chosen: Table,
    measured: Table,
    posts: Table,
    frozen: Table,
    others: Table | None,
    options: Cleaning,
    *,
    stays: str,
) -> Groups:
    """Return near-duplicate clusters, in the study or within each claim, including posts of other corpora."""
    # Same content: TF-IDF fitted on all posts, a cosine greater than 80% (3.1).
    keys = "claim_id, post_id" if options.scope == "claim" else "post_id"
    if options.scope == "claim":
        stays = "frozen IN (0, 1)"
    apart = "c.place > 1" if options.one_claim_per_post else "1 = 0"
    of_texts = TEXTS.format(keys=keys, stays=stays, apart=apart, texts_of_frozen=TEXTS_OF_FROZEN)
    texts = engine.sql(of_texts, chosen=chosen, measured=measured, posts=posts, frozen=frozen)
    if others is not None:
        if options.scope == "claim":
            raise InputError("[cleaning] against compares whole studies", remedy='Set scope = "study"')
        texts = engine.sql(WITH_OTHERS, ours=texts, others=others)
    if options.similar_without:
        texts = engine.map(partial(_compared, without=options.similar_without), texts, texts.schema)
    return engine.near_duplicates(
        texts,
        threshold=options.similarity,
        grouping=options.grouping,
        words=options.similar_words,
        scope="claim_id" if options.scope == "claim" else "",
    )


CHAINED = 0.7


def advice(options: Cleaning) -> str:
    """Return advice on the settings: with a low threshold, chains of similar posts connect different stories."""
    if options.grouping == "greedy" or options.similarity >= CHAINED:
        return ""
    return (
        f'[cleaning] similarity = {options.similarity:g} with grouping = "components" joins different stories in '
        'chains of similar posts; grouping = "greedy" keeps to posts that are like the first of their group'
    )


def _reason(pair: Pair) -> str:
    if OTHER in pair.kept:
        return f"near-identical to a post of {pair.kept.partition(OTHER)[0]}"
    return SAME if pair.represented else ELSEWHERE


SAME = "near-identical to a post that stays"

ELSEWHERE = "near-identical to a post that stays with another claim"
"""With scope = "study": no item of its own claim represents it, so no share includes it."""

STEP = Step(
    name="near_duplicates",
    drops=lambda _options: "stays = 0",
    reason=lambda pair, _: _reason(pair),
    kept_instead=lambda pair: pair.kept.rpartition(OTHER)[2],
)
