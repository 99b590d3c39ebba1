"""What cleaning does row by row: draw, measure, and put into words; pure functions from rows to rows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from covmis_build import keyed, tables
from covmis_build.text import words

if TYPE_CHECKING:
    from collections.abc import Callable

    from covmis_build.options import Cleaning

ITEMS = tables.SCHEMAS["items"]
DROPPED = tables.SCHEMAS["dropped"]
LOTS = pa.schema(
    [
        ("claim_id", tables.STRING),
        ("post_id", tables.STRING),
        ("kinds", tables.STRINGS),
        ("frozen", tables.COUNT),
        ("n_claims", tables.COUNT),
        ("lot", tables.REAL),
    ]
)
MEASURED = pa.schema(
    [
        ("post_id", tables.STRING),
        ("spoken", tables.STRING),
        ("language_fits", tables.COUNT),
        ("needed", tables.STRING),
        ("long_enough", tables.COUNT),
        ("lot", tables.REAL),
    ]
)

UNDETERMINED = re.compile(r"und|zxx|mul|mis|art|q[a-z]{2}", re.IGNORECASE)
"""Tags with which platforms say that there is no language to be told (X: und, qme for media, qht for hashtags …)."""

RENAMED = {"iw": "he", "in": "id", "ji": "yi"}
"""Codes that X still uses and ISO 639 has renamed."""


def as_items(block: pa.Table) -> pa.Table:
    """Frozen items in the exact columns and types of `items`, also where there are none."""
    columns = []
    for field in ITEMS:
        column = block.column(field.name)
        known = column.null_count < len(column)
        columns.append(column.cast(field.type) if known else pa.nulls(len(column), field.type))
    return pa.table(columns, schema=ITEMS)


def lots(block: pa.Table, *, seed: int) -> pa.Table:
    """The pair's keyed number in the draw of one claim per post; 0 where there is nothing to draw."""
    numbers = [
        keyed.uniform(seed, "claim", f"{claim}|{post}") if among > 1 else 0.0
        for claim, post, among in _rows(block, "claim_id", "post_id", "n_claims")
    ]
    return _with(block, LOTS, frozen=block.column("frozen"), lot=numbers)


def measure(block: pa.Table, *, options: Cleaning, seed: int) -> pa.Table:
    """Each post's language, whether it fits and is long enough, and its number in the draw among duplicates."""
    texts = [text or "" for text in block.column("text").to_pylist()]
    spoken = _languages(texts, block.column("language").to_pylist(), options)
    fits = {language: _fits(language, options) for language in set(spoken)}
    rules = {language: _length_rule(language, options) for language in set(spoken)}
    asked = [rules[language] for language in spoken]
    enough = [
        minimum == 0 or words.count_words(text, unit=unit, without=without) >= minimum
        for text, (minimum, unit, without) in zip(texts, asked, strict=True)
    ]
    ids = block.column("post_id").to_pylist()
    made = {
        "post_id": ids,
        "spoken": spoken,
        "language_fits": [int(fits[language]) for language in spoken],
        "needed": [f"{minimum} {unit}" for minimum, unit, _ in asked],
        "long_enough": [int(one) for one in enough],
        "lot": [keyed.uniform(seed, "near_duplicates", one) for one in ids],
    }
    return pa.table(made, schema=MEASURED)


def _languages(texts: list[str], tags: list[str | None], options: Cleaning) -> list[str]:
    """The platform's tag, "" where it says that there is none; the detector's where it says nothing."""
    from covmis_build.text.language import detect_languages

    if options.language_source == "detector":
        return detect_languages(texts, options.detector)
    found = ["" if not tag or UNDETERMINED.fullmatch(tag) else _code(tag) for tag in tags]
    untagged = [at for at, tag in enumerate(tags) if not tag]
    detected = detect_languages([texts[at] for at in untagged], options.detector) if untagged else []
    for at, language in zip(untagged, detected, strict=True):
        found[at] = language
    return found


def _code(tag: str) -> str:
    """A tag, or a code from the settings, in the one spelling in which they are compared."""
    code = tag.lower().replace("_", "-")
    return RENAMED.get(code, code)


def _fits(language: str, options: Cleaning) -> bool:
    if not language:
        return options.undetermined == "keep"
    wanted = {_code(one) for one in options.languages}
    return not wanted or language in wanted or language.partition("-")[0] in wanted


def _length_rule(language: str, options: Cleaning) -> tuple[int, str, tuple[str, ...]]:
    """The least length, its unit, and what does not count, in this language."""
    told = {_code(one): rule for one, rule in options.words.items()}
    rule: dict[str, Any] = told.get(language) or told.get(language.partition("-")[0]) or {}
    unit = rule.get("unit", words.default_unit(language))
    return rule.get("minimum", options.minimum_words), unit, tuple(rule.get("without", ()))


def items(block: pa.Table, *, seed: int, drawn: bool) -> pa.Table:
    """Items from the pairs that stay.

    A post found by several kinds of query belongs to one stratum, drawn among its kinds by a keyed number.
    """
    made: dict[str, list[Any]] = {name: [] for name in ITEMS.names}
    rows = _rows(block, "claim_id", "post_id", "kinds", "claims", "n_claims", "group_id", "group_size")
    for claim, post, kinds, claims, among, group, size in rows:
        item = f"{claim}|{post}"
        kind = kinds[int(keyed.uniform(seed, "stratum", item) * len(kinds))] if len(kinds) > 1 else kinds[0]
        row = (item, claim, post, kind, kinds, [one for one in claims or () if one != claim], group, size)
        for name, value in zip(ITEMS.names, (*row, 1 / among if drawn else 1.0), strict=True):
            made[name].append(value)
    return pa.table(made, schema=ITEMS)


REASONS: dict[str, Callable[[Any, Cleaning], str]] = {
    "one_claim_per_post": lambda row, _: f"drawn for another of its {row['n_claims']} claims",
    "language": lambda row, _: f"language {row['spoken']}" if row["spoken"] else "language undetermined",
    "words": lambda row, _: f"fewer than {row['needed']}",
    "near_duplicates": lambda _row, _: "near-identical to a post that stays",
    "minimum_posts": lambda _row, options: f"its claim has fewer than {options.minimum_posts} posts left",
}
"""Why a pair was dropped, in words; few different ones, since they are counted."""


def dropped_pairs(block: pa.Table, *, options: Cleaning) -> pa.Table:
    """Rows of `dropped` for pairs."""
    rows = []
    for row in block.to_pylist():
        step, kept = row["step"], ""
        if step == "one_claim_per_post":
            kept = f"{row['first_claim']}|{row['post_id']}"
        elif step == "near_duplicates":
            kept = row["kept"]
        alike = row["similarity"] if step == "near_duplicates" else None
        reason = REASONS[step](row, options)
        rows.append(
            ("pair", row["claim_id"], row["post_id"], step, reason, kept, alike, row["group_id"] or "")
        )
    return _dropped(rows)


def dropped_claims(block: pa.Table, *, options: Cleaning) -> pa.Table:
    """Rows of `dropped` for claims of which no item is left."""
    return _dropped(
        [
            ("claim", claim, "", "minimum_posts",
             f"fewer than {options.minimum_posts} posts left" if left else "no posts left", "", None, "")
            for claim, left in _rows(block, "claim_id", "posts_left")
        ]
    )  # fmt: skip


def _dropped(rows: list[tuple[Any, ...]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(DROPPED)
    return pa.table(
        [pa.array(column, kind) for column, kind in zip(columns, DROPPED.types, strict=True)], schema=DROPPED
    )


def _rows(block: pa.Table, *names: str) -> zip[tuple[Any, ...]]:
    return zip(*(block.column(name).to_pylist() for name in names), strict=True)


def _with(block: pa.Table, schema: pa.Schema, **columns: Any) -> pa.Table:
    made = [columns[name] if name in columns else block.column(name) for name in schema.names]
    return pa.table(
        [one if isinstance(one, pa.ChunkedArray) else pa.array(one) for one in made], schema.names
    ).cast(schema)
