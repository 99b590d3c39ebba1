"""Typed decoding of lines, and what can go wrong with one."""

from __future__ import annotations

import json
from typing import Any

import msgspec

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError)


def decoded(decoder: msgspec.json.Decoder[Any], line: bytes) -> Any:
    """A line as the decoder's type; halves of surrogate pairs, which JSON can say and text cannot, become marks."""
    try:
        return decoder.decode(line)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        if b"\\ud" not in line.lower():
            raise
        text = json.dumps(json.loads(line), ensure_ascii=False).encode("utf-16", "surrogatepass")
        return decoder.decode(text.decode("utf-16", "replace").encode())
