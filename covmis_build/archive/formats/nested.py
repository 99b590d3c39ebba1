"""JSON in which lists of posts are nested in other data, such as claims: suggest a command that extracts the posts."""

from __future__ import annotations

from typing import Any

DEEPEST = 5
TEXTS = ("text", "full_text", "content", "body", "message", "tweet")
"""Keys of a post's text. A list of objects without texts, inside an object with one, is part of a post."""
FILE = "FILE"
"""Placeholder for the file's path in `way_out`; `for_file` replaces it."""
TAKE_OUT = (
    "import json; out = lambda v: v.get('KEY') or sum(map(out, v.values()), []) if isinstance(v, dict) else "
    "sum(map(out, v), []) if isinstance(v, list) else []; text = open('FILE', encoding='utf-8').read().replace('}\\n{', '},{'); "
    "json.dump(out(json.loads('[' + text + ']')), open('FILE.posts.json', 'w'))"
)


def key_of(value: Any, depth: int = 0) -> str:
    """Return the key of the deepest list of objects on the first path; empty if there is none."""
    if depth > DEEPEST or not isinstance(value, dict | list):
        return ""
    if isinstance(value, list):
        return next((key for part in value[:20] if (key := key_of(part, depth + 1))), "")
    for name, part in value.items():
        if (
            isinstance(part, list)
            and part
            and all(isinstance(each, dict) for each in part)
            and _is_plain(name)
        ):
            inner = name if _has_text(part[0]) else key_of(part, depth + 1)
            if inner or not _has_text(value):
                return inner or name
    return next((key for part in value.values() if (key := key_of(part, depth + 1))), "")


def _has_text(value: dict[str, Any]) -> bool:
    return any(isinstance(value.get(name), str) for name in TEXTS)


def _is_plain(name: str) -> bool:
    """True if a key can be used in a command."""
    return name.isascii() and name.replace("_", "").replace("-", "").isalnum()


def way_out(key: str) -> str:
    """Return the message for a file with posts nested in lists of this key, with an extraction command."""
    command = TAKE_OUT.replace("KEY", key)
    return f'posts are nested in lists called {key}: put the file that this writes in its place: python3 -c "{command}"'


def for_file(said: str, path: str) -> str:
    """Insert the file's path, unless its name would need shell quoting."""
    return said if set("'\"$`\\!") & set(path) else said.replace(FILE, path)
