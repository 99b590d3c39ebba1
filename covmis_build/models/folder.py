"""A model's folder: `model.json` (settings, labels, card), and `weights-…`, named by their content.

`model.json` names the valid weights and is written last: after any interruption, the previous model is intact.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from covmis_build import storage

if TYPE_CHECKING:
    from pathlib import Path

NAME = "model.json"
COURSE = "course.json"
"""Written last into a training checkpoint and deleted first: a checkpoint without it is incomplete and ignored."""


def activate(folder: Path, whole: dict[str, Any]) -> None:
    """Make the weights named in `whole`, which are already written, the valid ones; delete all others."""
    storage.write_text(folder / NAME, json.dumps(whole, ensure_ascii=False, indent=1) + "\n")
    for old in [*folder.glob("weights-*"), *folder.glob(".weights-*.part")]:
        if old.name != whole["weights"]:
            storage.remove(old)


def read_description(folder: Path) -> dict[str, Any]:
    """Return the content of `model.json`; empty if missing or unreadable."""
    try:
        whole = json.loads((folder / NAME).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return whole if isinstance(whole, dict) else {}
