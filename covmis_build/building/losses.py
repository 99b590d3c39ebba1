"""Report the step that lost most posts, the responsible setting, and the effect of another value."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from covmis_build.building.counts import coded, counts
from covmis_build.building.flow import ask
from covmis_build.errors import counted
from covmis_build.text.language import language_code
from covmis_build.text.lengths import length_rule
from covmis_build.text.words import count_words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from covmis_build.building.flow import Step
    from covmis_build.options import Cleaning
    from covmis_build.places import Places
    from covmis_build.settings import Settings

KEPT_ENOUGH = 0.5
"""Share of pairs and of claims kept above which there is no advice."""
TENTH = 0.1
"""Minimum share of a language's posts lost to the minimum length that is reported."""
FEWEST = 50
"""Minimum number of a language's posts for this report."""


def losses(places: Places, settings: Settings, steps: Sequence[Step]) -> str:
    """Return the step that dropped most pairs, if few are kept. Near-duplicates are represented, not lost."""
    by_name = {step.name: step for step in steps}
    if not steps or not by_name["retrieve"].pairs:
        return ""
    pairs = (by_name["retrieve"].pairs or 0) + (by_name["retrieve"].dropped_pairs or 0)
    kept = by_name["minimum_posts"].pairs or 0
    copies = by_name["near_duplicates"].dropped_pairs or 0
    selected, died = by_name["select"].claims, by_name["minimum_posts"].dropped_claims
    unfound = by_name["retrieve"].dropped_claims
    if kept >= KEPT_ENOUGH * (pairs - copies) and died + unfound < KEPT_ENOUGH * selected:
        return ""
    candidates = [by_name[name] for name in ("retrieve", "one_claim_per_post", "language", "words")]
    worst = max(candidates, key=lambda step: step.dropped_pairs or 0)
    few = []
    if unfound:
        few.append(
            f"No post was found for {counted(unfound, 'claims')} of {selected:,}: `covmis queries try CLAIM` counts other words"
        )
    if died:
        few.append(
            f"{counted(died, 'claims')} of {selected:,} had fewer than minimum_posts = {settings.cleaning.minimum_posts} posts left"
        )
    least = KEPT_ENOUGH * (by_name["minimum_posts"].dropped_pairs or 0)
    if worst.dropped_pairs and worst.dropped_pairs >= least:
        taken = f"{worst.dropped_pairs:,} of {pairs:,} pairs of a claim and a post were dropped"
        few.insert(0, f"{taken}: {_advice(places, settings, worst)}")
    elif died:
        few.append(_with_fewer(places))
    return "".join(f"{sentence}. " for sentence in few if sentence).strip()


def advice(places: Places, settings: Settings, step: Step, short: str | None = None) -> str:
    """Return what another setting would keep of a step's dropped pairs, as a sentence; empty if no setting would.

    `short` is the result of `short_posts`, if known.
    """
    if not step.dropped_pairs:
        return ""
    if step.name == "minimum_posts":
        return _with_fewer(places)
    return (
        _advice(places, settings, step, short)
        if step.name in {"retrieve", "one_claim_per_post", "language", "words"}
        else ""
    )


def _with_fewer(places: Places) -> str:
    """Return the smaller minimum of posts that would keep half of the claims dropped for it."""
    by_claim = counts(places.table("dropped"), "unit", "step", "claim_id")
    sizes = sorted(size for (*of, _), size in by_claim.items() if of == ["pair", "minimum_posts"])
    if not sizes:
        return ""
    middle = sizes[len(sizes) // 2]
    kept = sum(size >= middle for size in sizes)
    return f"`[cleaning] minimum_posts = {middle}` would keep {counted(kept, 'claims')} of these"


OF_RETRIEVAL = {
    "repost": (
        'reposts. If their originals are not among your posts, set `[retrieval] reposts = "keep"` and `[cleaning] '
        'similar_without = ["retweet_mark", "urls"]`'
    ),
    "outside since and until": "outside `[retrieval]` since and until",
    "does not match locally": "posts do not match their query here. `[retrieval] require_match` says which kinds must",
}
"""Reasons of `retrieve`, and the settings behind them."""


def _advice(places: Places, settings: Settings, step: Step, short: str | None = None) -> str:
    """Return the most frequent reason of a step, and the responsible setting."""
    reason, count = max(step.reasons.items(), key=lambda pair: pair[1])
    most = "" if count == step.dropped_pairs else f"{count:,} "
    if reason in OF_RETRIEVAL:
        return f"{most}{OF_RETRIEVAL[reason]}"
    if step.name == "one_claim_per_post":
        return "posts of several claims stay with one. `[cleaning] one_claim_per_post = false` would keep them with all"
    if step.name == "language":
        languages = sorted(step.reasons.items(), key=lambda pair: -pair[1])
        shown = ", ".join(f"{name.removeprefix('language ')} {number:,}" for name, number in languages[:3])
        shown += f", {len(languages) - 3} more" * (len(languages) > 3)
        kept = f"`[cleaning] languages` is {', '.join(settings.cleaning.languages)}"
        kept += '; `undetermined = "keep"` would keep posts of unknown language' * (
            "language undetermined" in step.reasons
        )
        return f"other languages ({shown}). {kept}. Of short texts the detected language is often wrong"
    if step.name == "words":
        rule = f"`[cleaning] minimum_words` is {settings.cleaning.minimum_words}"
        short = short_posts(places, settings.cleaning) if short is None else short
        return f"too short. {short or rule}".rstrip(". ")
    return f"{most}{reason}"


def untagged(places: Places) -> bool:
    """True if the platform states no language for some posts, so that the detector names it."""
    posts = places.table("posts")
    return posts.exists() and bool(
        ask("SELECT 1 FROM posts WHERE coalesce(language, '') = '' LIMIT 1", posts=posts)
    )


def short_posts(places: Places, options: Cleaning) -> str:
    """Return languages in which the minimum length drops more than a tenth of the posts, and the length that drops a tenth."""
    files = {name: places.table(name) for name in ("items", "dropped", "posts")}
    if not all(path.exists() for path in files.values()):
        return ""
    # remaining posts without a tag have the settings' only language
    only = options.languages[0] if len(options.languages) == 1 else ""
    many = [row for row in _lengths_by_language(only, **files) if row[0] and row[1] >= FEWEST]
    losing = [row for row in many if row[2] > TENTH * row[1]]
    if not losing:
        return ""
    least = dict[str, int]()
    for language, _, _ in losing[:SHOWN]:
        rule = length_rule(language, options)
        texts = ask(TEXTS, only, language, **files)
        lengths = sorted(count_words(text, unit=rule.unit, without=rule.without) for (text,) in texts)
        code = language_code(language)  # posts may say English where settings say en
        least.setdefault(code, lengths[int(TENTH * len(lengths))])
    rules = ", ".join(f"{code} = {{ minimum = {number} }}" for code, number in least.items())
    setting = f"words = {{ {rules} }}"
    if len(many) == 1 and not options.words:
        setting = f"minimum_words = {_in_english(losing[0][0], min(least.values()), options)}"
    shown = ", ".join(f"{language} ({short:,} of {posts:,})" for language, posts, short in losing[:SHOWN])
    others = f" and {len(losing) - SHOWN} other languages" if len(losing) > SHOWN else ""
    return (
        f"The minimum length drops more than a tenth of the posts in {shown}{others}. "
        f"`[cleaning] {setting}` would drop about a tenth."
    )


def _lengths_by_language(only: str, items: Path, dropped: Path, posts: Path) -> list[tuple[str, int, int]]:
    """Return for each language its posts whose length was judged, and how many were too short; the most of these first."""
    (kept,) = coded(items, "post_id")
    unit, step, post = coded(dropped, "unit", "step", "post_id")
    known, language = coded(posts, "post_id", "language")
    judged = unit.rows("pair") & step.rows("words", "near_duplicates", "minimum_posts")
    place = np.concatenate([kept.places_in(known), post.places_in(known)[judged]])
    short = np.concatenate([np.zeros(len(kept.codes), bool), step.rows("words")[judged]])
    rows = np.unique(
        2 * place[place >= 0] + short[place >= 0]
    )  # each post once, and once more if it was also too short
    language_of = np.zeros(len(known.dictionary), np.int64)
    language_of[known.codes] = language.codes
    every, lost = (
        np.bincount(language_of[at // 2], minlength=len(language.values))
        for at in (rows, rows[rows % 2 == 1])
    )
    sizes = dict[str, tuple[int, int]]()
    for name, posts_of, short_of in zip(language.values, every.tolist(), lost.tolist(), strict=True):
        before = sizes.get(name or only, (0, 0))
        sizes[name or only] = (before[0] + posts_of, before[1] + short_of)
    return sorted(
        ((name, *size) for name, size in sizes.items() if size[0]), key=lambda row: (-row[2], row[0])
    )


def _in_english(language: str, least: int, options: Cleaning) -> int:
    """The largest `minimum_words`, a number of English words, that asks no more than this of the language."""
    numbers = range(options.minimum_words, 0, -1)
    lengths = (length_rule(language, replace(options, minimum_words=number)).minimum for number in numbers)
    return next((number for number, length in zip(numbers, lengths, strict=False) if length <= least), 0)


SHOWN = 3
JUDGED = """SELECT DISTINCT post_id, step = 'words' AS short FROM dropped
    WHERE unit = 'pair' AND step IN ('words', 'near_duplicates', 'minimum_posts') UNION SELECT post_id, false FROM items"""
TAGGED = "coalesce(nullif(language, ''), ?)"
TEXTS = f"""SELECT text FROM ({JUDGED}) JOIN posts USING (post_id) WHERE {TAGGED} = ? ORDER BY hash(post_id), post_id LIMIT 2000"""
"""Some of a language's posts, always the same ones."""
