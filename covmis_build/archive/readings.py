"""Every way in which bytes may be a text: encodings, and escapes of JSON, HTML, addresses and mails."""

from __future__ import annotations

import html
import quopri
import re
import urllib.parse
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

LEGACY = (
    "cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1256", "gb18030", "big5", "shift_jis", "euc_kr",
)  # fmt: skip
"""Encodings of texts that are not Unicode."""
TIMES = 3
"""How often escapes may be escaped again: JSON in JSON in a page."""

_CONTROL = bytes({*range(1, 9), *range(14, 27), *range(28, 32), 127})
_MOSTLY, _NEARLY = 0.6, 0.9
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})|\\[nrtbfv0\"'/\\]")
_TAG = re.compile(r"</?[A-Za-z!?][^<>]{0,2000}>")
_QUOTED = re.compile(r"=(?:[0-9A-F]{2}|\r?\n)")
_SURROGATES = re.compile(r"[\ud800-\udbff][\udc00-\udfff]")
_HAN_AND_HANGUL = [0x00, 0x30, 0xFF, *range(0x4E, 0xA0), *range(0xAC, 0xD8)]


def readings(data: bytes) -> Iterator[str]:
    """Yield the texts that these bytes may be, each also without its escapes."""
    for text in _decoded(data):
        yield text
        for _ in range(TIMES):
            plain = _unescaped(text)
            if plain == text:
                break
            yield (text := plain)


def is_binary(data: bytes) -> bool:
    """True if bytes are no text in any encoding."""
    return (len(data.translate(None, _CONTROL)) < len(data) * 0.98 or b"\0" in data) and not _as_utf_16(data)


def _decoded(data: bytes) -> Iterator[str]:
    start = next((at for at, byte in enumerate(data[:4]) if byte & 0xC0 != 0x80), 0)
    text = data[start:].decode("utf-8", "ignore")
    yield text
    lost = len(data) - start - len(text.encode())
    if b"\0" in data or lost > 3:  # a piece may end within a letter
        for encoding, at in _as_utf_16(data):
            yield data[at:].decode(encoding, "ignore")
    if lost > 3 and not is_binary(data):
        for encoding in LEGACY:
            yield data.decode(encoding, "ignore")


def _as_utf_16(data: bytes) -> list[tuple[str, int]]:
    """Return how these bytes may be UTF-16: every other byte is one of few, or one of Chinese or Korean letters."""
    ways = []
    for at in (0, 1):
        even = np.frombuffer(data[at : at + ((len(data) - at) & ~1)], np.uint8).reshape(-1, 2)
        if not len(even):
            continue
        for column, encoding in ((0, "utf-16-be"), (1, "utf-16-le")):
            counts = np.bincount(even[:, column], minlength=256)
            few, own = np.sort(counts)[-3:].sum(), counts[_HAN_AND_HANGUL].sum()
            kinds = np.count_nonzero(np.bincount(even[:, 1 - column], minlength=256))
            if kinds > 3 and (few > len(even) * _MOSTLY or own > len(even) * _NEARLY):
                ways.append((encoding, at))
    return ways


def _unescaped(text: str) -> str:
    if "\\" in text:
        text = _ESCAPE.sub(_character, text)
        if _SURROGATES.search(text):
            text = _SURROGATES.sub(_pair, text)
    if "<" in text:
        text = _TAG.sub("", text)
    if "&" in text:
        text = html.unescape(text)
    if "%" in text:
        text = urllib.parse.unquote(text, errors="ignore")
    if "=" in text and _QUOTED.search(text):
        text = quopri.decodestring(text.encode("utf-8", "ignore")).decode("utf-8", "ignore")
    return text


def _character(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2]
    if code:
        return chr(int(code, 16))
    return escape[0][1] if escape[0][1] in "\"'/\\" else "\n"


def _pair(both: re.Match[str]) -> str:
    return both[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")
