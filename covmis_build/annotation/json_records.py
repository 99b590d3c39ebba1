"""Records of a round that are JSON objects, which have a hash of themselves: round.json and seal.json."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from covmis_build import storage
from covmis_build.errors import BrokenSeal, InputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def own_hash(content: Mapping[str, Any], name: str) -> str:
    """Return the hash of a record's content without its own hash, which has this name: that of a seal is cited by the next one."""
    rest = {key: value for key, value in content.items() if key != name}
    text = json.dumps(rest, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def read_json(path: Path) -> dict[str, Any]:
    """Read one of our JSON objects; a key that stands twice is refused, because readers differ in which one counts."""
    try:
        content = json.loads(path.read_text("utf-8"), object_pairs_hook=_once)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"cannot be read: {why}", file=path, remedy="Restore it from a copy") from None
    if not isinstance(content, dict):
        raise InputError("is not a JSON object", file=path)
    return content


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} stands twice")
    return content


def read_record(path: Path) -> dict[str, Any]:
    """Read a record whose hash is in `sha256`; records of versions before 0.3.0 have none."""
    content = read_json(path)
    if content.get("sha256", own_hash(content, "sha256")) != own_hash(content, "sha256"):
        raise InputError(
            f"is damaged, or was changed by hand: it is not what was written at {storage.moment(path.stat().st_mtime)}",
            file=path,
            remedy='Restore it from a copy. If the change is meant, delete the line with "sha256"',
        )
    return content


def read_seal(path: Path) -> dict[str, Any]:
    """Read a seal, whose own hash is in `seal`."""
    content = read_json(path)
    if content.get("seal") != own_hash(content, "seal"):
        raise BrokenSeal(
            "is not the seal that was written: its own hash is another",
            file=path,
            remedy="Restore it from a copy; `covmis round verify` says what else differs",
        )
    return content
