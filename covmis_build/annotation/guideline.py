"""The guideline and its versions: what changed since a label was given, and which labels may need another look."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any

from covmis_build.annotation.answers import present
from covmis_build.annotation.record import guideline_path, guideline_version
from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd


def read_guideline(path: Path) -> str:
    """The guideline's text; a missing file is an error, because labels refer to it."""
    try:
        return path.read_text("utf-8-sig").replace("\r\n", "\n")
    except FileNotFoundError:
        raise InputError("is missing", file=path, remedy="Write down how to label, in Markdown") from None
    except UnicodeDecodeError:
        raise InputError("is not UTF-8", file=path, remedy="Save it as UTF-8 text") from None
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}",
            file=path,
            remedy="Put the guideline's text there, in Markdown",
        ) from None


def check(
    rounds: Path, labels: pd.DataFrame, text: str, scheme_labels: Sequence[str]
) -> list[dict[str, Any]]:
    """One row for each earlier version with labels: what was changed since, and whose labels it may touch.

    A label may need another look if a changed line names it. If changed lines name no label, all of that version may.
    """
    current = guideline_version(text)
    given = present(labels)
    given = given[given["status"] == "given"]
    found = []
    for version, rows in given.groupby("guideline", sort=False):
        if version == current:
            continue
        path = guideline_path(rounds, str(version))
        before = path.read_text("utf-8") if path.exists() else None
        changed = difference(before, text) if before is not None else []
        named = [label for label in scheme_labels if mentioned(label, changed)]
        again = (
            rows[rows["label"].isin(named)] if named else (rows if changed or before is None else rows[:0])
        )
        found.append(
            {
                "version": str(version),
                "rounds": sorted(rows["round"].unique().tolist()),
                "labels": len(rows),
                "diff": changed,
                "text_kept": before is not None,
                "names": named,
                "look_again": again["label_id"].tolist(),
                "items": sorted(again["item_id"].unique().tolist()),
            }
        )
    return found


def difference(before: str, after: str) -> list[str]:
    """The changed lines, marked - and +, with no context; blank lines and spaces do not count."""
    old, new = ([line.strip() for line in text.splitlines() if line.strip()] for text in (before, after))
    return [
        line
        for line in difflib.unified_diff(old, new, lineterm="", n=0)
        if line[:1] in {"-", "+"} and not line.startswith(("---", "+++"))
    ]


def mentioned(label: str, lines: Sequence[str]) -> bool:
    """Whether one of the lines names this label as a word."""
    pattern = re.compile(rf"(?<!\w){re.escape(label)}(?!\w)", re.IGNORECASE)
    return any(pattern.search(line) for line in lines)
