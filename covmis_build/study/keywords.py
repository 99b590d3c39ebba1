"""A claim's keywords: compare with the saved ones, and save."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from covmis_build import storage
from covmis_build.claims.claim import claims_csv
from covmis_build.claims.edits import with_keywords
from covmis_build.claims.lists import read_claims
from covmis_build.engine import silent
from covmis_build.errors import CovmisError, InputError, NoClaim
from covmis_build.matching.find import asked_table, numbers_found
from covmis_build.matching.matcher import Row
from covmis_build.queries.build import common_language, keywords_of
from covmis_build.queries.suggest import Suggestions, suggest
from covmis_build.queries.tuning import (
    Tuned,
    effects,
    excludes_from_one,
    lines_of,
    read_keywords,
    readable_keywords,
)
from covmis_build.queries.units import LAST_LATIN, STOP_WORDS, languages_of_function_words, terms_of
from covmis_build.report.result import Result
from covmis_build.text import turkish
from covmis_build.text.expression import foreign
from covmis_build.text.nodes import Address, Or, all_leaves, joined
from covmis_build.text.places import spans

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

    from covmis_build.archive.counted import Rows
    from covmis_build.archive.words import Words
    from covmis_build.engine import Progress
    from covmis_build.report.summary import Summary
    from covmis_build.study.of_study import OfStudy
    from covmis_build.text.nodes import Node


@dataclass(frozen=True, slots=True, repr=False)
class SavedKeywords(Result):
    """A claim's new and previous keywords."""

    claim_id: str
    keywords: list[str]
    before: list[str]

    @property
    def warnings(self) -> list[str]:
        """Return remarks on ambiguous keywords."""
        return remarks_on(self.keywords)

    @property
    def summary(self) -> Summary:
        """Return what was saved and the next step."""
        if self.keywords == self.before:
            return [f"Claim {self.claim_id} has these keywords already."]
        was = " | ".join(self.before) or "none"
        return [
            f"Claim {self.claim_id}: {' | '.join(self.keywords) or 'no keywords'} (was {was}).",
            "Next: `covmis queries try`, then `covmis run`.",
        ]


def remarks_on(queries: Iterable[str]) -> list[str]:
    """Return remarks on syntax of other search languages and ambiguous exclusions, each once."""
    remarks: list[str] = []
    for line in queries:
        remarks += foreign(line)
        if excludes_from_one(line):
            remarks.append(
                f"'{line}' excludes from its own alternative only: write (a OR b) -c to exclude from all"
            )
    return list(dict.fromkeys(remarks))


def set_keywords(
    study: OfStudy, claim: str, keywords: str | Sequence[str], *, instead_of: Sequence[str] | None
) -> SavedKeywords:
    """Save a claim's keywords in queries/claims.csv. Its `edits` record the previous ones."""
    kept = readable_keywords(keywords)
    path = study.places.claims_csv
    with study.locked_inputs("covmis queries set"):
        claims = read_claims(path, "csv")
        before = _keywords_now(claims, claim)
        if instead_of is not None and before != list(instead_of):
            raise InputError(
                f"the keywords of claim {claim} have changed since: {' | '.join(before) or 'none'}",
                file=path,
                remedy="Look at the new ones, and save again",
            )
        if kept != before:
            storage.write_bytes(path, claims_csv(with_keywords(claims, claim, kept)))
    return SavedKeywords(claim, kept, before)


def _keywords_now(claims: pd.DataFrame, claim: str) -> list[str]:
    """Return a claim's keywords in the claim list."""
    row = claims[claims["claim_id"] == claim]
    if row.empty:
        raise NoClaim.of(claim, claims["claim_id"])
    return list(row.iloc[0]["keywords"])


def tune(
    study: OfStudy, keywords: str | Sequence[str], saved: Sequence[str] = (), *, progress: Progress = silent
) -> Tuned:
    """Compare the matches of keywords (or a claim's) with the saved ones, and the effect of each word."""
    lines = lines_of(keywords)
    path = study.places.claims_csv
    language = ""
    if path.exists():
        claims = read_claims(path, "csv")
        own = claims[claims["claim_id"].eq(lines[0])] if len(lines) == 1 else claims[:0]
        language = common_language((claims if own.empty else own)["language"])
        if not own.empty:
            lines = saved = _keywords_now(claims, lines[0])
    if not lines:
        raise InputError(
            "no keywords to look at",
            remedy="Write those of one query, or the id of a claim that has keywords",
        )
    with study.words(progress) as words:
        return tuned(words, lines, saved, language)


def tuned(words: Words, keywords: Sequence[str], saved: Sequence[str], language: str = "") -> Tuned:
    """The same for an open word index and keywords in this language."""
    node, before = read_keywords(keywords, language), numbers_of(words, read_keywords(saved, language))
    rows = numbers_of(words, node)
    words_do = effects(node, rows, lambda rest: numbers_of(words, rest)) if node is not None else []
    new, lost = (len(np.setdiff1d(*pair, assume_unique=True)) for pair in ((rows, before), (before, rows)))
    return Tuned("" if node is None else str(node), len(rows), new, lost, words.size, words_do, bool(saved))


def count(words: Words, keywords: Sequence[str], language: str = "") -> int:
    """Count the posts that keywords match."""
    return len(numbers_of(words, read_keywords(keywords, language)))


def numbers_of(words: Words, node: Node | None) -> Rows:
    """Return the numbers of the posts that `covmis run` would match with this query, ascending."""
    if node is None:
        return np.empty(0, np.int64)
    pages = list(dict.fromkeys(leaf for leaf in all_leaves(node) if isinstance(leaf, Address)))
    if not pages:
        return words.rows(node)
    rows = [Row(f"q{at}", "q", "keywords", str(page)) for at, page in enumerate(pages)]
    numbers = numbers_found(words.posts, asked_table(rows))
    return words.rows(node, dict(zip(pages, numbers, strict=True)))


@dataclass(frozen=True, slots=True)
class MarkedPost:
    """A post as pieces of text, each with whether it matches the query."""

    post_id: str
    created_at: str
    pieces: list[tuple[str, bool]]


def suggested(words: Words, text: str, language: str) -> Suggestions:
    """Suggest queries for a claim's text from an open word index."""
    return suggest(text, words, language=language, samples=0)


def marked_posts(
    words: Words, claim: Claim, keywords: Sequence[str], which: str = "found", most: int = 20
) -> list[MarkedPost]:
    """Return some posts that match the keywords, only these (new), or only the saved ones (lost).

    `nearest`: the posts most similar to the claim in words that match neither.
    """
    node, saved = (read_keywords(lines, claim.language) for lines in (keywords, claim.keywords))
    rows, before = numbers_of(words, node), numbers_of(words, saved)
    if which == "nearest":
        terms = terms_of(claim.text, words, claim.language)
        known = np.union1d(rows, before)
        near = [post for post, _ in words.nearest(terms, most, besides=known)]
        numbers = words.posts.numbers(near)
        missed = [post for post, is_known in zip(near, np.isin(numbers, known), strict=True) if not is_known]
        asked, posts = joined(Or, terms) if terms else None, words.posts.by_id(missed[:most])
    else:
        chosen = {
            "new": np.setdiff1d(rows, before, assume_unique=True),
            "lost": np.setdiff1d(before, rows, assume_unique=True),
        }.get(which, rows)
        asked = saved if which == "lost" else node
        (posts,) = words.posts.samples([chosen], most)
    return [MarkedPost(post.post_id, post.created_at, _pieces(post.text, asked)) for post in posts]


def marked_text(text: str, claim: Claim) -> list[tuple[str, bool]]:
    """Return a text in pieces, each with whether the claim's keywords ask for it; keywords that cannot be read mark nothing."""
    try:
        node = read_keywords(claim.keywords, claim.language)
    except CovmisError:
        node = None
    return _pieces(text, node)


def _pieces(text: str, node: Node | None) -> list[tuple[str, bool]]:
    pieces, place = list[tuple[str, bool]](), 0
    for begin, end in spans(text, node) if node is not None else ():
        pieces += [(text[place:begin], False), (text[begin:end], True)]
        place = end
    return [(piece, is_asked) for piece, is_asked in (*pieces, (text[place:], False)) if piece]


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim with what its keywords need."""

    claim_id: str
    text: str
    language: str
    keywords: list[str]

    def tagged(self, lines: Sequence[str]) -> str:
        """Add the claim's language to keywords if the meaning of their characters depends on it."""
        tag = f"[{self.language}] " if turkish.is_one(self.language) else ""
        return "\n".join(line if keywords_of(line)[1] else tag + line for line in lines)


def claim_language(study: OfStudy, text: str, language: str | None) -> str:
    """Return a claim's language; where none is given, the study's language that has most function words in it.

    The only language of a study, if written in Latin letters, is also that of a claim without function words. Else empty.
    """
    if language:
        return language
    own = study.settings.cleaning.languages
    likely = languages_of_function_words(text, least=1 if len(own) == 1 else 2)
    words = "".join(STOP_WORDS.get(own[0], "")) if len(own) == 1 else ""
    without = (
        bool(words)
        and not likely
        and all(letter <= LAST_LATIN for letter in text + words if letter.isalpha())
    )
    return next((code for code in own if code in likely or without), "")


def claims_of(study: OfStudy) -> list[Claim]:
    """Return the claims of the current claim list."""
    path = study.places.claims_csv
    if not path.exists():
        return []
    rows = read_claims(path, "csv")[["claim_id", "text", "language", "keywords"]]
    return [
        Claim(claim, text, claim_language(study, text, language), list(lines))
        for claim, text, language, lines in rows.itertuples(index=False)
    ]
