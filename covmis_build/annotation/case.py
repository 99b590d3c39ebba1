"""A post as reports show it to those who have to think about it: what was shown, and what each person said of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

    from covmis_build.text.shown import Parts


@dataclass(frozen=True, slots=True)
class Said:
    """What one person said of the post."""

    annotator: str
    label: str
    sub_label: str
    comment: str


@dataclass(frozen=True, slots=True)
class Case:
    """A post, and everybody's label of it."""

    item_id: str
    kind: str
    parts: Parts
    said: tuple[Said, ...]


def cases_html(cases: Sequence[Case]) -> Markup:
    """The cases one below the other."""
    from markupsafe import Markup

    from covmis_build.report.page import render

    return Markup(render("disagreements.html", rows=cases))  # noqa: S704 - the template escapes
