"""A.1 in English: what marks a claim as compound, as a correction, as a quotation, or as no statement at all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_PREFIX = re.compile(
    r"^(?:fact[- ]?check(?:ed)?|false|fake(?: news)?|hoax(?: alert)?|debunked|myth|verified|misleading|partly false|no)"
    r"\s*[:,\u2014\u2013-]+\s*",
    re.IGNORECASE,
)
_NO_EVIDENCE = re.compile(
    r"^(?:there (?:is|'s|was) )?(?:still )?no (?:scientific |credible )?(?:evidence|proof|indication|sign)"
    r"(?: that| to suggest that| showing(?: that)?| whatsoever that)?\s+",
    re.IGNORECASE,
)
_FALSELY = re.compile(r"\b(?:falsely|wrongly|baselessly|misleadingly|without evidence)\s+", re.IGNORECASE)
_DENIAL = re.compile(
    r"\b(do|does|did|is|are|was|were|will|can|could|should|has|have|had)(?:n't|\s+(?:not|NOT))\b"
    r"|\b(cannot|won't|can't)\b"
)
_DEBUNK = re.compile(
    r"\b(?:debunk(?:s|ed|ing)?|hoax|fabricated|unproven|baseless|untrue|conspiracy theor(?:y|ies)|myths?|misinformation"
    r"|incorrect(?:ly)?)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[\"“][^\"”]{3,}[\"”]|(?:^|\s)[‘'][^’']{10,}[’'](?=\W|$)")
_QUESTION = re.compile(r"\?\s*$")
_SENTENCES = re.compile(r"(?<=[a-z0-9)\"”’])[.!;]\s+(?=[A-Z\"“])")
_ABBREVIATION = re.compile(
    r"(?:\b(?:Drs?|Gov|Sen|Rep|Mr|Mrs|Ms|St|Jr|Sr|Prof|Gen|Lt|Col|Capt|Pres|Hon|Rev|No|vs|Inc|Co)|\b[A-Z])$"
)
_VERB = (
    r"(?:is|are|was|were|will|would|can|could|may|might|must|should|has|have|had|does|do|did|says?|said|claims?|claimed|"
    r"causes?|caused|kills?|killed|cures?|cured|prevents?|prevented|spreads?|contains?|shows?|showed|makes?|made|"
    r"plans?|planned|bans?|banned|orders?|ordered|\w{3,}ed)"
)
_JOINED = re.compile(
    rf"^(?P<first>.+?\b{_VERB}\b.{{8,}}?),?\s+(?:and|while|but)\s+(?P<second>(?:that\s+)?(?:[A-Z]\w+|the|it|he|she|they|this|these|a|an)\b"
    rf"(?:\s+\w+){{0,5}}?\s+{_VERB}\b.{{4,}})$"
)


def check(text: str) -> Iterator[tuple[str, str, str]]:
    """Findings about one claim: the rule, what is found, and a text to put in its place (empty if none can be made)."""
    yield from _correction(text)
    yield from _compound(text)
    if _QUOTED.search(text):
        plain = re.sub(r"[\"“”]", "", text)
        yield (
            "simplify",
            "has a quotation in it: say plainly who claims what",
            _sentence(plain) if plain != text else "",
        )
    if _QUESTION.search(text):
        yield "correct", "is a question, not a statement", _statement(text)


def _correction(text: str) -> Iterator[tuple[str, str, str]]:
    """A title that is itself the correction becomes the rumour."""
    rumour = _NO_EVIDENCE.sub("", _PREFIX.sub("", text))
    rumour = _FALSELY.sub("", rumour)
    if rumour != text:
        rumour = re.sub(r"\s+(?:NOT|Not)\b", "", rumour, count=1)
        yield "correct", "is a correction, not the rumour", _sentence(rumour)
        return
    denial = _DENIAL.search(text)
    if denial and re.search(r"\b(?:NOT|Not)\b", text):
        positive = re.sub(r"\s+(?:NOT|Not)\b", "", text, count=1)
        yield "correct", "denies the rumour", _sentence(positive)
    elif _DEBUNK.search(text):
        yield "correct", f"calls the rumour by its name ('{_DEBUNK.search(text)[0]}')", ""  # type: ignore[index]


def _compound(text: str) -> Iterator[tuple[str, str, str]]:
    sentences = [_sentence(part) for part in _parts(text)]
    if len(sentences) > 1:
        yield "split", f"has {len(sentences)} statements in it", "\n".join(sentences)
        return
    joined = _JOINED.match(text)
    if joined:
        second = re.sub(r"^that\s+", "", joined["second"])
        yield "split", "joins two statements", f"{_sentence(joined['first'])}\n{_sentence(second)}"


def _parts(text: str) -> list[str]:
    """The statements of a text; the full stop of a title or an initial ends none, quotation marks go."""
    parts: list[str] = []
    for piece in _SENTENCES.split(re.sub(r"[\"“”]", "", text)):
        if parts and _ABBREVIATION.search(parts[-1]):
            parts[-1] += ". " + piece
        elif piece.strip():
            parts.append(piece)
    return parts


def _statement(text: str) -> str:
    """A question turned into what it asks about, where its form allows it.

    >>> _statement("Did a vaccine kill seven children?")
    ''
    >>> _statement("Can 5G alter hemoglobin?")
    '5G can alter hemoglobin.'
    """
    found = re.match(
        r"^(Can|Could|Will|Is|Are|Was|Were|Does|Do)\s+((?:the\s+|a\s+|an\s+)?\S+)\s+(.+?)\?\s*$", text
    )
    if not found or found[1] in {"Does", "Do"}:
        return ""
    return _sentence(f"{found[2]} {found[1].lower()} {found[3]}")


def _sentence(text: str) -> str:
    text = " ".join(text.split()).strip(" ;,")
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?", "…", ".”", '."')) else text + "."
