"""Which posts of a block may match: their texts, titles and addresses go through one compiled pass together."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

from covmis_build.matching import matcher as matching

if TYPE_CHECKING:
    from covmis_build.archive.formats.post import Glances
    from covmis_build.matching.matcher import Matcher
    from covmis_build.text.scan import Sought

WORTH = 8_000
"""Posts of a process from which on compiled code is worth loading, which takes as long as looking at so many without."""
SCAN = "covmis_build.text.scan"


def load() -> None:
    """Have the compiled code at hand; processes that this one forks have it, too."""
    from covmis_build.text.scan import Sought

    Sought.of({}, links=True).look([""], links=[""], linking=[0])


class Prefilter:
    """Ask it which posts of a block `Matcher.match` must see; it never leaves out one that matches."""

    def __init__(self, matcher: Matcher) -> None:
        self.matcher, self.seen = matcher, 0
        self.sought: Sought | None = None

    def __call__(self, seen: Glances) -> list[tuple[int, bool]]:
        """The numbers of the posts, and whether one of their addresses may be asked for."""
        matcher = self.matcher
        self.seen += len(seen)
        if matcher.seen < matching.LEARNED:
            return [(number, True) for number in range(len(seen))]
        if self.sought is None and self.seen < WORTH and SCAN not in sys.modules:
            return [(number, True) for number in sorted(matcher.possible(seen))]
        flags = self._scanned(seen)
        places = np.flatnonzero(flags)
        return list(zip(places.tolist(), (flags[places] > 1).tolist(), strict=True))

    def _scanned(self, seen: Glances) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        if self.sought is None:
            self.sought = self.matcher.sought()
        flags: np.ndarray[tuple[int], np.dtype[np.uint8]] = self.sought.look(
            seen.texts, seen.titles, seen.titling, seen.links, seen.linking
        )
        if self.matcher.posts and (named := self.matcher.named(seen)):
            flags[list(named)] |= 2
        return flags
