"""Automatic labels: items found by a fact-check's URL are Against."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from covmis_build.options import Labels


def automatic_label(kinds: Iterable[str], labels: Labels) -> str:
    """Return an item's automatic label, or none.

    It is the label of a listed query type among those that matched the item, whatever its stratum; none if they disagree.

    >>> from covmis_build.options import Labels
    >>> automatic_label(["keywords", "fact_check_url"], Labels()), automatic_label(["keywords"], Labels())
    ('against', '')
    >>> automatic_label(["title", "news_url"], Labels(automatic={"title": "favor", "news_url": "against"}))
    ''
    """
    # Posts that are found through a fact-check's URL are labelled Against without people (3.1).
    given = {labels.automatic[kind] for kind in kinds if kind in labels.automatic}
    return given.pop() if len(given) == 1 else ""
