"""Which posts of a block may match: their texts, titles and addresses go through one compiled pass together."""

from __future__ import annotations

import sys
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from covmis_build.matching import matcher as matching
from covmis_build.tables import utf8

if TYPE_CHECKING:
    from collections.abc import Sequence

    from covmis_build.archive.formats.post import AnyPost
    from covmis_build.matching.matcher import Matcher
    from covmis_build.text.scan import Sought

WORTH = 8_000
"""Posts of a process from which on compiled code is worth loading, which takes as long as looking at so many without."""
SCAN = "covmis_build.text.scan"


def load() -> None:
    """Have the compiled code at hand; processes that this one forks have it, too."""
    from covmis_build.text.scan import Sought

    nothing, nobody = utf8([]), np.empty(0, np.int64)
    Sought.of({}, links=True).look(nothing, nothing, nobody, nobody, 0)


class Prefilter:
    """Ask it which posts of a block `Matcher.match` must see; it never leaves out one that matches."""

    def __init__(self, matcher: Matcher) -> None:
        self.matcher, self.seen = matcher, 0
        self.sought: Sought | None = None

    def __call__(self, posts: Sequence[AnyPost]) -> list[tuple[int, bool]]:
        """The numbers of the posts, and whether one of their addresses may be asked for."""
        matcher = self.matcher
        self.seen += len(posts)
        if matcher.seen < matching.LEARNED:
            return [(number, True) for number in range(len(posts))]
        if self.sought is None and self.seen < WORTH and SCAN not in sys.modules:
            return [(number, True) for number, post in enumerate(posts) if matcher.possible(post)]
        flags = self._scanned(posts)
        places = np.flatnonzero(flags)
        return list(zip(places.tolist(), (flags[places] > 1).tolist(), strict=True))

    def _scanned(self, posts: Sequence[AnyPost]) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        if self.sought is None:
            self.sought = self.matcher.sought()
        texts, titles = [post.text for post in posts], list[str]()
        links, linking, titling = list[str](), list[int](), list[int]()
        for number, post in enumerate(posts):
            if urls := post.urls:
                links += urls
                linking += [number] * len(urls)
            for address, title, _ in post.cards:
                if address not in urls:
                    links.append(address)
                    linking.append(number)
                titles.append(title)
                titling.append(number)
        whose = np.concatenate([np.arange(len(posts)), np.array(titling, np.int64)])
        flags: np.ndarray[tuple[int], np.dtype[np.uint8]] = self.sought.look(
            utf8(texts + titles), utf8(links), whose, np.array(linking, np.int64), len(posts)
        )
        if named := self.matcher.posts.keys():
            ids = [(post.post_id, post.quote_of, post.repost_of) for post in posts]
            if not named.isdisjoint(chain.from_iterable(ids)):
                flags[[number for number, its in enumerate(ids) if not named.isdisjoint(its)]] |= 2
        return flags
