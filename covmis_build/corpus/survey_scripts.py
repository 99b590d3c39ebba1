"""Scripts for R (survey) and Python (numpy; svy) that estimate from a release alone, without covmis."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMES = ("estimates.R", "estimates.py", "estimates_svy.py")


def scripts(labels: Sequence[str]) -> dict[str, str]:
    """The scripts by name, for these labels."""
    folder = files(__package__) / "scripts"
    written = ", ".join(json.dumps(label, ensure_ascii=False) for label in labels)
    for_r, *for_python = (
        folder.joinpath(name if name.endswith(".R") else f"{name}.txt").read_text("utf-8") for name in NAMES
    )
    texts = [for_r.replace("labels <- LABELS", f"labels <- c({written})")]
    texts += [text.replace('["LABELS"]', f"[{written}]") for text in for_python]
    return dict(zip(NAMES, texts, strict=True))
