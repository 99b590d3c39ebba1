"""Parse a language model's answer: JSON first, free text only if it is unambiguous.

A refused answer is counted with its outcome, and its item has no prediction. A guess would look like a label.
"""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from covmis_build.label_words import MARKS, NO_ALIASES, bare, spellings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


class AnswerOutcome(StrEnum):
    """How an answer was parsed, or why it was refused."""

    JSON = "json"
    TEXT = "text"
    EMPTY = "empty"
    CUT = "cut off"
    REFUSAL = "refuses to answer"
    NO_LABEL = "names no label"
    SEVERAL = "names several labels"
    PROSE = "names a label only within a sentence"


@dataclass(frozen=True, slots=True)
class Reading:
    """The label in an answer, or none; `confidence` from 0 to 1 as stated by the model."""

    outcome: AnswerOutcome
    label: str = ""
    confidence: float | None = None


FIELDS = ("label", "stance", "answer", "classification", "prediction", "verdict")
"""Keys of a JSON object that may contain the label, in order of preference."""
HEADS = (
    "label", "stance", "answer", "classification", "class", "category", "verdict", "prediction", "output", "result",
    "decision", "judgement", "judgment", "conclusion", "antwort", "haltung", "ergebnis", "klasse", "réponse", "étiquette",
    "position", "respuesta", "etiqueta", "postura", "clasificación", "resposta", "classificação", "risposta",
    "etichetta", "antwoord", "odpowiedź", "ответ", "метка", "позиция", "答案", "标签", "立场", "回答", "ラベル", "답변", "라벨",
    "الإجابة", "التصنيف", "cevap", "etiket",
)  # fmt: skip
"""Words that announce the label: `Answer: favor`."""
_HEAD = rf"(?:(?:the|my|final|correct|best|most|likely|appropriate|overall|predicted|post'?s|tweet'?s)\s+){{0,4}}(?:{'|'.join(HEADS)})"
STATED = re.compile(
    rf"(?:(?:so|therefore|thus|hence|overall|in conclusion|in summary)\s*,?\s*)?{_HEAD}"
    r"\s*(?:[:\uff1a=→]|->|=>|(?:is|would be|should be|must be|ist|est|es|is:|would be:)\s)\s*(?P<label>.+)",
    re.IGNORECASE,
)
SAID = re.compile(
    r"(?:so|therefore|thus|hence|overall)?\s*,?\s*(?:i|we)(?:\s+would|'d|\s+will|'ll)?\s+(?:label|classify|code|categori[sz]e|mark|rate)"
    r"\s+(?:this|it|the|that)(?:\s+(?:post|tweet|message|item|stance|text|one))?\s+as\s*:?\s*(?P<label>.+)",
    re.IGNORECASE,
)
RETRACTED = re.compile(
    r"\b(wait|actually|correction|on reflection|on second thought|scratch that|i was wrong|let me re|however|or rather|instead)\b",
    re.IGNORECASE,
)
REFUSED = re.compile(
    r"(\b(i'?m|i am) (sorry|unable|not able)|\bi (can(no|')t|cannot|can not|won'?t|will not|must decline|decline)\b"
    r"|\bas an ai\b|\bapologi[sz]e|\bunable to (assist|comply|classify|determine|answer)|es tut mir leid|lo siento|je suis désolé"
    r"|对不起|抱歉|извините|申し訳|죄송)",
    re.IGNORECASE,
)
THINKING = re.compile(r"<(think|thinking|reasoning|analysis)>.*?</\1>", re.DOTALL | re.IGNORECASE)
THINKING_OPENS = re.compile(r"<(think|thinking|reasoning|analysis)>", re.IGNORECASE)
THINKING_CLOSES = re.compile(r"</(think|thinking|reasoning|analysis)>", re.IGNORECASE)
WHOLE_FIELD = re.compile(rf'"(?:{"|".join(FIELDS)})"\s*:\s*"(?P<label>[^"\\]*)"', re.IGNORECASE)


def schema(labels: Sequence[str]) -> dict[str, Any]:
    """Return the JSON schema of an answer. The label comes first, so that a truncated answer still has it."""
    return {
        "type": "object",
        "properties": {
            "label": {"type": "string", "enum": list(labels)},
            "confidence": {"type": "number"},
            "reason": {"type": "string"},
        },
        "required": ["label", "confidence", "reason"],
        "additionalProperties": False,
    }


def read_answer(
    answer: object, labels: Sequence[str], aliases: Mapping[str, Sequence[str]] = NO_ALIASES
) -> Reading:
    """Parse an answer: text, a JSON object, or None. A label may be named by an alias.

    >>> read_answer('{"label": "against", "confidence": 0.8}', ["favor", "against"])
    Reading(outcome=<AnswerOutcome.JSON: 'json'>, label='against', confidence=0.8)
    >>> read_answer("Not in favor of it.", ["favor", "against"]).outcome
    <AnswerOutcome.PROSE: 'names a label only within a sentence'>
    """
    known = spellings(labels, aliases)
    if isinstance(answer, dict):
        return _object(answer, known)
    if not isinstance(answer, str) or not answer.strip():
        return Reading(AnswerOutcome.EMPTY)
    text = THINKING.sub("", answer)
    if closed := list(THINKING_CLOSES.finditer(text)):
        text = text[closed[-1].end() :]  # some servers return only the end mark of the thinking
    if THINKING_OPENS.search(text):
        return Reading(AnswerOutcome.CUT)
    if not text.strip():
        return Reading(AnswerOutcome.EMPTY)
    return _json(text, known) or _words(text, known)


def _json(text: str, known: dict[str, str]) -> Reading | None:
    """Parse the JSON objects in a text, if any."""
    readings = [_object(found, known) for found in _objects(text) if _field(found) is not None]
    given = {reading.label for reading in readings if reading.label}
    if len(given) > 1 or any(reading.outcome is AnswerOutcome.SEVERAL for reading in readings):
        return Reading(AnswerOutcome.SEVERAL)
    if readings:
        return readings[-1] if given and readings[-1].label else readings[0]
    if "{" not in text:
        return None
    # truncated JSON: accept only a complete label, including quotes
    labels = {known.get(bare(match["label"]), "") for match in WHOLE_FIELD.finditer(text)}
    if len(labels) == 1 and (label := labels.pop()):
        return Reading(AnswerOutcome.JSON, label)
    return Reading(AnswerOutcome.CUT) if re.match(r"\s*(```\w*\s*)?\{", text) else None


def _objects(text: str) -> Iterator[dict[str, Any]]:
    decoder = json.JSONDecoder()
    at = text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if isinstance(value, dict):
                yield value
        at = text.find("{", end)


def _field(answer: dict[str, Any]) -> str | None:
    lower = {str(key).casefold().strip(): str(key) for key in answer}
    return next((lower[name] for name in FIELDS if name in lower), None)


def _object(answer: dict[str, Any], known: dict[str, str]) -> Reading:
    key = _field(answer)
    value = answer.get(key) if key is not None else None
    if isinstance(value, list):
        if len({bare(str(part)) for part in value}) > 1:
            return Reading(AnswerOutcome.SEVERAL)
        value = value[0] if value else None
    if not isinstance(value, str) or bare(value) not in known:
        several = isinstance(value, str) and len(_named(value, known)) > 1
        return Reading(AnswerOutcome.SEVERAL if several else AnswerOutcome.NO_LABEL)
    confidence = answer.get("confidence")
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        confidence = None
    return Reading(AnswerOutcome.JSON, known[bare(value)], confidence)


def _words(text: str, known: dict[str, str]) -> Reading:
    """Return the label that a text states: alone, in its first or last line, or announced (`Answer: favor`)."""
    lines = [line for line in text.splitlines() if line.strip(MARKS)]
    stated: list[str] = []
    for number, line in enumerate(lines):
        label = _stated(line, known)
        if label is None and number in {0, len(lines) - 1}:
            label = known.get(bare(line))
        elif label == "":
            return Reading(AnswerOutcome.SEVERAL)
        stated += [label] if label else []
    named = _named(text, known)
    if len(set(stated)) == 1:
        doubtful = len(named) > 1 and RETRACTED.search(text) and not _stated(lines[-1], known)
        return Reading(AnswerOutcome.SEVERAL) if doubtful else Reading(AnswerOutcome.TEXT, stated[0])
    if len(set(stated)) > 1:
        return Reading(AnswerOutcome.SEVERAL)
    if REFUSED.search(text):
        return Reading(AnswerOutcome.REFUSAL)
    if len(named) > 1:
        return Reading(AnswerOutcome.SEVERAL)
    return Reading(AnswerOutcome.PROSE if named else AnswerOutcome.NO_LABEL)


def _stated(line: str, known: dict[str, str]) -> str | None:
    """Return the label that a line announces; empty for several, None for no announcement."""
    plain = line.strip(MARKS)
    match = STATED.fullmatch(plain.replace("*", "").replace("`", "")) or SAID.fullmatch(
        plain.replace("*", "")
    )
    if match is None:
        return None
    value = match["label"]
    if bare(value) in known:
        return known[bare(value)]
    # `Answer: favor (the post says so)`: the rest of the line must not name another label
    first = re.split(r"\s+[-–—(]|[.;,(]\s*|\s+because\b|\s+since\b", value, maxsplit=1, flags=re.IGNORECASE)[
        0
    ]
    if bare(first) in known:
        return known[bare(first)] if len(_named(value, known)) == 1 else ""
    return "" if len(_named(value, known)) > 1 else None


def _named(text: str, known: dict[str, str]) -> list[str]:
    """Return the labels named in a text as whole words; a longer label hides one within it."""
    plain = re.sub(r"[_\-]", " ", unicodedata.normalize("NFKC", text).casefold()).replace("favour", "favor")
    # A name without a letter (the alias "1") is in many texts that do not mean it.
    longest = sorted(
        (name for name in known if known[name] == name or any(map(str.isalpha, name))), key=len, reverse=True
    )
    pattern = "|".join(rf"(?<!\w){re.escape(label)}(?!\w)" for label in longest)
    return list(dict.fromkeys(known[match] for match in re.findall(pattern, " ".join(plain.split()))))
