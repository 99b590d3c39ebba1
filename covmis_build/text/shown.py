"""The parts of an item that annotators (in every channel), prompts and models see.

They never include the query type, an automatic label or a prediction.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Parts = list[tuple[str, str]]


HEADINGS = ("Claim", "Post", "Fact-check of the claim", "Date", "Link", "Quoted post", "In reply to", "Media")
"""Headings of shown parts, in English as they are hashed. Pages and sheets of annotators translate them."""


def shown_parts(item: Mapping[str, Any]) -> Parts:
    """Return a frozen item's shown parts as (heading, text). Its column `show` lists the parts besides claim and post."""
    parts = [("Claim", text_of(item["claim"])), ("Post", text_of(item["text"]))]
    parts.append(("Fact-check of the claim", text_of(item.get("fact_check"))))
    if "date" in item["show"] and item["created_at"]:
        parts.append(("Date", item["created_at"][:10]))
    parts += [("Link", _lines(card, "title", "description", "url")) for card in list_of(item["cards"])]
    parts += [("Quoted post", item["quoted"])] if item["quoted"] else []
    parts += [("In reply to", item["parent"])] if item["parent"] else []
    parts += [
        ("Media", _lines(medium, "type", "alt_text", between=": ")) for medium in list_of(item["media"])
    ]
    return [(heading, text) for heading, text in parts if text or heading in {"Claim", "Post"}]


def shown_text(item: Mapping[str, Any], *, text_alone: bool = False) -> str:
    r"""Return the post as one text for prompts and models: its words, then all other shown parts with headings.

    `text_alone` is the setting of the papers: what a post links to, quotes or answers is left out.

    >>> item = {"claim": "c", "text": "Look!", "show": ["date"], "created_at": "2020-03-01", "cards": [],
    ...         "quoted": "Masks kill", "parent": "", "media": []}
    >>> shown_text(item), shown_text(item, text_alone=True)
    ('Look!\n\nDate: 2020-03-01\n\nQuoted post: Masks kill', 'Look!')
    """
    if text_alone or "show" not in item:
        return text_of(item["text"])
    _, (_, post), *others = shown_parts(item)
    return "\n\n".join([post, *(f"{heading}: {text}" for heading, text in others)])


def shown_hash(salt: str, parts: Iterable[tuple[str, str]]) -> str:
    """Return the hash of what is shown. Without the salt, texts cannot be tested against it."""
    told = json.dumps([salt, [list(part) for part in parts]], ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(told.encode()).hexdigest()


def _lines(record: Mapping[str, Any], *names: str, between: str = "\n") -> str:
    return between.join(value for value in (record.get(name) for name in names) if value)


def text_of(value: Any) -> str:
    """Return a cell's text, or an empty text."""
    return value if isinstance(value, str) else ""


def list_of(value: Any) -> list[Any]:
    """Return a cell's list, or an empty list."""
    return list(value) if value is not None and not isinstance(value, float | str) else []
