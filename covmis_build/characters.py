"""Replace unpaired surrogates (from JSON or percent encoding), which UTF-8 cannot encode."""

from __future__ import annotations

from typing import Any


def whole_characters(text: str) -> str:
    r"""Return a text without unpaired surrogates.

    >>> whole_characters("a\ud83d")
    'a\ufffd'
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def whole_in_json(value: Any) -> Any:
    r"""Return a decoded document without unpaired surrogates in its texts.

    >>> whole_in_json({"a": [1, None, "x\ud83e"]})
    {'a': [1, None, 'x\ufffd']}
    """
    if isinstance(value, str):
        return whole_characters(value)
    if isinstance(value, list):
        return [whole_in_json(part) for part in value]
    if isinstance(value, dict):
        return {whole_characters(name): whole_in_json(part) for name, part in value.items()}
    return value
