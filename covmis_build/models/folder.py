"""A model's folder: `model.json` (settings, labels, card) and next to it `weights-…`, named after their content.

`model.json` says which weights count and is written last: killed anywhere, the model that was there still is.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from covmis_build import storage

if TYPE_CHECKING:
    from pathlib import Path

NAME = "model.json"
COURSE = "course.json"
"""Written last into the checkpoint of a training, and removed first: what has none is half written, and does not count."""


def settle(folder: Path, whole: dict[str, Any]) -> None:
    """Let the weights that `whole` names, which are there already, be those that count; all others go."""
    storage.write_text(folder / NAME, json.dumps(whole, ensure_ascii=False, indent=1) + "\n")
    for old in [*folder.glob("weights-*"), *folder.glob(".weights-*.part")]:
        if old.name != whole["weights"]:
            storage.remove(old)


def told(folder: Path) -> dict[str, Any]:
    """What `model.json` says; nothing where there is none that can be read."""
    try:
        whole = json.loads((folder / NAME).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return whole if isinstance(whole, dict) else {}
