"""Which posts of a block may match: their texts, titles and addresses go through one compiled pass together."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from covmis_build.matching import matcher as matching

if TYPE_CHECKING:
    from covmis_build.archive.formats.post import Glances
    from covmis_build.matching.matcher import Matcher
    from covmis_build.text.scan import Cut, Sought

WORTH = 8_000
"""Posts of a process from which on compiled code is worth loading, which takes as long as looking at so many without."""
SCAN = "covmis_build.text.scan"


def load() -> None:
    """Have the compiled code at hand; processes that this one forks have it, too."""
    from covmis_build.text.scan import Sought

    Sought.of({}, links=True).look([""], links=[""], linking=[0])


class Candidate(NamedTuple):
    """A post that may match: whether by an address, and what was seen in the text that was looked at, if that is sure."""

    number: int
    linked: bool = True
    cut: Cut | None = None


class Prefilter:
    """Ask it which posts of a block `Matcher.match` must see; it never leaves out one that matches."""

    def __init__(self, matcher: Matcher) -> None:
        self.matcher, self.seen = matcher, 0
        self.sought: Sought | None = None

    def __call__(self, seen: Glances) -> list[Candidate]:
        """The posts, by number."""
        matcher = self.matcher
        self.seen += len(seen)
        if matcher.seen < matching.LEARNED:
            return [Candidate(number) for number in range(len(seen))]
        if self.sought is None and self.seen < WORTH and SCAN not in sys.modules:
            return [Candidate(number) for number in sorted(matcher.possible(seen))]
        from covmis_build.text.scan import ASLEEP, LINK, UNSURE_CUT

        if self.sought is None:
            self.sought = matcher.sought()
        flags, cuts = self.sought.look(seen.texts, seen.titles, seen.titling, seen.links, seen.linking)
        if matcher.posts and (named := matcher.named(seen)):
            flags[list(named)] |= LINK
        (places,) = flags.nonzero()
        return [
            Candidate(number, bool(flag & LINK), None if flag & UNSURE_CUT else cuts.get(number, ASLEEP))
            for number, flag in zip(places.tolist(), flags[places].tolist(), strict=True)
        ]
