"""The guideline of a new study: a row to fill for each label, and the rules that hold for these labels."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from covmis_build.annotation.guideline import TO_WRITE, mentioned
from covmis_build.options import Labels

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROW = re.compile(r"^\| \*\*(.+?)\*\* \|.*\n", re.MULTILINE)
_RULE = re.compile(r"^\d+\. .*\n(?: {3}.*\n)*", re.MULTILINE)


def first_guideline(text: str, labels: Sequence[str]) -> str:
    """Return this guideline for favor, against and neither as one for these labels.

    A label that it does not define gets a row to fill. Rules about a label that is not among them go.
    """
    defined = {row[1]: row[0] for row in _ROW.finditer(text)}
    rows = "".join(defined.get(label, f"| **{label}** | {TO_WRITE} |\n") for label in labels)
    strange = [label for label in Labels().values if label not in labels]
    rules = [
        re.sub(r"^\d+", "N", rule[0])
        for rule in _RULE.finditer(text)
        if not any(mentioned(label, [rule[0]]) for label in strange)
    ]
    text = _in_place(_ROW, text, rows)
    return _in_place(_RULE, text, "".join(f"{at}{rule[1:]}" for at, rule in enumerate(rules, 1)))


def _in_place(part: re.Pattern[str], text: str, parts: str) -> str:
    """Put these parts where the text has its own."""
    places = list(part.finditer(text))
    return text[: places[0].start()] + parts + text[places[-1].end() :]
