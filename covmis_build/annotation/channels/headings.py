"""The columns of a sheet, and their headings and hints in the annotators' language."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from covmis_build.annotation.languages import Language

FIXED = ("item_id", "claim", "post", "context")
CHECK = "check"
COLUMNS = (*FIXED, "label", CHECK, "sub_label", "comment")


def hints(t: Language) -> dict[str, str]:
    """Hints that Excel and LibreOffice show when a cell of these columns is selected."""
    return {
        "item_id": t(
            "The order of the posts differs between annotators. Compare sheets by this id, not by row."
        ),
        CHECK: t(
            "Made of your code, the row and the post, so that labels which moved to another row are found. Leave it as it is."
        ),
    }


def titles(t: Language) -> dict[str, str]:
    """Return column → heading in a language other than English: its word, then our name, by which any covmis reads it."""
    words = {
        "claim": t("claim"),
        "post": t("post"),
        "context": t("context"),
        "label": t("label"),
        CHECK: t("check"),
        "sub_label": t("sub_label"),
        "comment": t("comment"),
    }
    return {name: f"{word} ({name})" for name, word in words.items() if word != name}


def titled(header: Sequence[str]) -> dict[str, str]:
    """Return the headings in a language other than English, as `titles` writes them, with the column of each."""
    exact = {name.strip().casefold() for name in header}
    ends = {title.strip(): re.search(r" \((\w+)\)$", title.strip()) for title in header}
    return {
        title: end[1].casefold()
        for title, end in ends.items()
        if end and end[1].casefold() in COLUMNS and end[1].casefold() not in exact
    }
