"""Published fact-checks: schema.org ClaimReview (JSON, JSON-LD, DataFeed) and Google's responses."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from covmis_build.claims.claim import Claim
from covmis_build.errors import InputError
from covmis_build.text.urls import canonical_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path


class Vocabulary(StrEnum):
    """The vocabulary of a file of fact-checks."""

    SCHEMA_ORG = "claim_review"
    GOOGLE = "fact_check"


def vocabulary(documents: list[Any]) -> Vocabulary | None:
    """Detect the vocabulary: Google's responses have `claimReview`, schema.org ClaimReview objects; None for neither."""
    if any(True for document in documents for _ in _answers(document)):
        return Vocabulary.GOOGLE
    return Vocabulary.SCHEMA_ORG if any(True for document in documents for _ in _reviews(document)) else None


def claims(documents: list[Any], path: Path, *, google: bool) -> list[Claim]:
    """Return one claim per reviewed text, with the URLs of all its reviews."""
    return merged(
        review
        for document in documents
        for review in (google_reviews(document) if google else _schema_org(document, path))
    )


@dataclass(frozen=True, kw_only=True)
class Review:
    """What fact-checkers state about a claim, in the claim list's fields."""

    text: str
    titles: Sequence[str] = ()
    news_urls: Sequence[str] = ()
    fact_check_urls: Sequence[str]
    language: str
    first_seen: str
    verdict: str


def merged(reviews: Iterable[Review]) -> list[Claim]:
    """Merge reviews of the same claim. Ids are computed from the claim's words, so that they do not change."""
    claims: dict[str, Claim] = {}
    for review in reviews:
        text = " ".join(review.text.split())
        if not text:
            continue
        key = hashlib.sha256(text.casefold().encode("utf-8", "replace")).hexdigest()[:10]
        claim = claims.setdefault(key, Claim(f"c{key}", text))
        claim.titles = _union(claim.titles, review.titles)
        claim.news_urls = _union(claim.news_urls, review.news_urls)
        claim.fact_check_urls = _union(claim.fact_check_urls, review.fact_check_urls)
        claim.language = claim.language or review.language
        claim.verdict = claim.verdict or review.verdict
        claim.misinformation = is_misinformation(claim.verdict)
        claim.first_seen = min(filter(None, (claim.first_seen, review.first_seen)), default="")
    return list(claims.values())


def _union(known: Sequence[str], more: Sequence[str]) -> list[str]:
    """Add URLs that are not known in any spelling."""
    first: dict[str, str] = {}
    for address in filter(None, (*known, *more)):
        first.setdefault(canonical_url(address) or address, address)
    return list(first.values())


def _answers(document: Any) -> Iterator[dict[str, Any]]:
    pages = document if isinstance(document, list) else [document]
    for page in pages:
        listed = page.get("claims", [page]) if isinstance(page, dict) else []
        yield from (
            item
            for item in _list(listed)
            if isinstance(item, dict) and isinstance(item.get("claimReview"), list)
        )


def google_reviews(document: Any) -> Iterator[Review]:
    """Return the claims of a `claims:search` response, or of a list of such pages."""
    for answer in _answers(document):
        reviews = [review for review in answer["claimReview"] if isinstance(review, dict)]
        yield Review(
            text=_text(answer.get("text")),
            fact_check_urls=[_text(review.get("url")) for review in reviews],
            language=next((_text(review.get("languageCode")) for review in reviews), ""),
            first_seen=_day(answer.get("claimDate")),
            verdict=next((_text(review.get("textualRating")) for review in reviews), ""),
        )


def _schema_org(document: Any, path: Path) -> Iterator[Review]:
    any_review = False
    for review in _reviews(document):
        any_review = True
        item = _first(review.get("itemReviewed"))
        shown = [*_list(item.get("appearance")), *_list(item.get("firstAppearance"))]
        yield Review(
            text=_text(review.get("claimReviewed")) or _text(item.get("name")),
            titles=[_text(article.get("headline")) for article in shown if isinstance(article, dict)],
            news_urls=[_address(article) for article in shown],
            fact_check_urls=[_address(review)],
            language=_text(review.get("inLanguage")),
            first_seen=_day(item.get("datePublished")) or _day(review.get("datePublished")),
            verdict=_text(_first(review.get("reviewRating")).get("alternateName")),
        )
    if not any_review:
        raise InputError(
            "has no ClaimReview in it", file=path, remedy="A CSV is read too: see `covmis claims import -h`"
        )


def _reviews(node: Any) -> Iterator[dict[str, Any]]:
    """Return every ClaimReview in a document, at any depth: in a graph, a feed, a list, or another object."""
    if isinstance(node, list):
        for entry in node:
            yield from _reviews(entry)
    elif isinstance(node, dict):
        kinds = {re.sub(r"^.*[/:]", "", _text(kind)) for kind in _list(node.get("@type") or node.get("type"))}
        if "ClaimReview" in kinds or "claimReviewed" in node:
            yield node
        else:
            for entry in node.values():
                if isinstance(entry, dict | list):
                    yield from _reviews(entry)


def _address(node: Any) -> str:
    if isinstance(node, dict):
        return _text(node.get("url")) or (_text(node.get("@id")) if "://" in _text(node.get("@id")) else "")
    return _text(node)


def _list(node: Any) -> list[Any]:
    return node if isinstance(node, list) else [] if node is None else [node]


def _first(node: Any) -> dict[str, Any]:
    return next((item for item in _list(node) if isinstance(item, dict)), {})


def _day(value: Any) -> str:
    """Return the day of an ISO 8601 time, as schema.org requires; other values are omitted."""
    day = re.match(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(?!\d)", _text(value))
    return day[0] if day else ""


def _text(node: Any) -> str:
    if isinstance(node, list):
        return _text(node[0]) if node else ""
    if isinstance(node, dict):
        return _text(node.get("@value"))
    return str(node).strip() if isinstance(node, str | int) else ""


MISINFORMATION = frozenset({
    "altered", "barely true", "decontextualized", "debunked", "disinformation", "doctored", "fabricated", "fake", "false",
    "fiction", "four pinocchios", "full flop", "hoax", "inaccurate", "incorrect", "labeled satire", "lie", "manipulated",
    "manipulated media", "manipulated photo", "manipulated video", "misattributed", "misbar", "miscaptioned", "misinformation",
    "misleading", "misrepresented", "missing context", "mostly false", "no evidence", "not true", "out of context",
    "pants fire", "pants on fire", "partly false", "photoshopped", "rumor", "satire", "scam", "spins the facts", "three pinocchios",
    "totally false", "unfounded", "unsupported", "untrue", "wrong",
    "falsch", "grösstenteils falsch", "größtenteils falsch", "irreführend", "manipuliert",
    "falso", "engañoso", "bulo", "mayormente falso", "fals", "enganoso", "distorcido", "falsa", "engañosa",
    "faux", "trompeur", "infox", "plutôt faux", "خطأ", "زائف", "مضلل", "भ्रामक", "झूठ", "गलत", "फर्जी", "错误", "虚假", "谣言",
})  # fmt: skip
NOT_MISINFORMATION = frozenset({
    "accurate", "correct", "correct attribution", "fact", "geppetto checkmark", "mostly accurate", "mostly correct", "mostly true",
    "real", "true", "wahr", "richtig", "größtenteils richtig", "verdadero", "cierto", "verdadeiro", "vrai", "plutôt vrai", "صحيح",
    "सच", "सही", "正确", "属实", "真实",
})  # fmt: skip


def is_misinformation(verdict: str) -> str:
    """Return `yes`, `no`, or an empty string for verdicts in between and unknown ones.

    >>> is_misinformation("Pants on Fire!"), is_misinformation("mostly-true"), is_misinformation("half-true")
    ('yes', 'no', '')
    """
    words = " ".join(re.findall(r"\w+", verdict.casefold()))
    return "yes" if words in MISINFORMATION else "no" if words in NOT_MISINFORMATION else ""
