"""Fact-checks as the web publishes them: schema.org ClaimReview (JSON, JSON-LD, DataFeed) and Google's answers."""

from __future__ import annotations

import hashlib
import re
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from covmis_build.claims.claim import claim
from covmis_build.claims.verdicts import is_misinformation
from covmis_build.errors import InputError
from covmis_build.text.urls import canonical_url

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Vocabulary(StrEnum):
    """Whose words a file of fact-checks uses."""

    SCHEMA_ORG = "claim_review"
    GOOGLE = "fact_check"


def vocabulary(documents: list[Any]) -> Vocabulary | None:
    """Google's answers name reviews `claimReview`, schema.org has ClaimReviews; None where there is neither."""
    if any(True for document in documents for _ in _answers(document)):
        return Vocabulary.GOOGLE
    return Vocabulary.SCHEMA_ORG if any(True for document in documents for _ in _reviews(document)) else None


def claims(documents: list[Any], path: Path, *, google: bool) -> list[dict[str, Any]]:
    """One claim for each text that was reviewed; several reviews of it bring several fact-check addresses."""
    return merged(
        facts
        for document in documents
        for facts in (google_reviews(document) if google else _schema_org(document, path))
    )


def merged(reviews: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    """Reviews of the same claim as one claim; ids come from the claim's own words, so that they do not move."""
    claims: dict[str, dict[str, Any]] = {}
    for review in reviews:
        text = " ".join(review["text"].split())
        if not text:
            continue
        key = hashlib.sha256(text.casefold().encode("utf-8", "replace")).hexdigest()[:10]
        row = claims.setdefault(key, claim(f"c{key}", text))
        for name in ("titles", "news_urls", "fact_check_urls"):
            known = {canonical_url(address) or address: address for address in row[name]}
            for address in review[name]:
                if address:
                    known.setdefault(canonical_url(address) or address, address)
            row[name] = list(known.values())
        row["language"] = row["language"] or review["language"]
        row["verdict"] = row.get("verdict") or review["verdict"]
        row["misinformation"] = is_misinformation(row["verdict"])
        days = [day for day in (row["first_seen"], review["first_seen"]) if day]
        row["first_seen"] = min(days, default="")
    return list(claims.values())


def _answers(document: Any) -> Iterator[dict[str, Any]]:
    pages = document if isinstance(document, list) else [document]
    for page in pages:
        listed = page.get("claims", [page]) if isinstance(page, dict) else []
        yield from (
            one for one in _list(listed) if isinstance(one, dict) and isinstance(one.get("claimReview"), list)
        )


def google_reviews(document: Any) -> Iterator[dict[str, Any]]:
    """Claims of `claims:search`, or of a list of such pages."""
    for answer in _answers(document):
        reviews = [review for review in answer["claimReview"] if isinstance(review, dict)]
        yield {
            "text": _text(answer.get("text")),
            "titles": [],
            "news_urls": [],
            "fact_check_urls": [_text(review.get("url")) for review in reviews],
            "language": next((_text(review.get("languageCode")) for review in reviews), ""),
            "first_seen": _day(answer.get("claimDate")),
            "verdict": next((_text(review.get("textualRating")) for review in reviews), ""),
        }


def _schema_org(document: Any, path: Path) -> Iterator[dict[str, Any]]:
    any_review = False
    for review in _reviews(document):
        any_review = True
        item = _first(review.get("itemReviewed"))
        shown = [*_list(item.get("appearance")), *_list(item.get("firstAppearance"))]
        yield {
            "text": _text(review.get("claimReviewed")) or _text(item.get("name")),
            "titles": [_text(one.get("headline")) for one in shown if isinstance(one, dict)],
            "news_urls": [_address(one) for one in shown],
            "fact_check_urls": [_address(review)],
            "language": _text(review.get("inLanguage")),
            "first_seen": _day(item.get("datePublished")) or _day(review.get("datePublished")),
            "verdict": _text(_first(review.get("reviewRating")).get("alternateName")),
        }
    if not any_review:
        raise InputError(
            "has no ClaimReview in it", file=path, remedy="A CSV is read too: see `covmis claims import -h`"
        )


def _reviews(node: Any) -> Iterator[dict[str, Any]]:
    """Every ClaimReview anywhere in a document: a graph, a feed, a list, or inside another thing."""
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
    return next((one for one in _list(node) if isinstance(one, dict)), {})


def _day(value: Any) -> str:
    """The day of an ISO 8601 time, as schema.org wants them; what is none is left out."""
    day = re.match(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(?!\d)", _text(value))
    return day[0] if day else ""


def _text(node: Any) -> str:
    if isinstance(node, list):
        return _text(node[0]) if node else ""
    if isinstance(node, dict):
        return _text(node.get("@value"))
    return str(node).strip() if isinstance(node, str | int) else ""
