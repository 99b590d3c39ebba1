"""Suggest keyword queries for a claim: a precise, a balanced and a broad one, each a quorum of its most informative units.

A.2 recommends names first, then words for the relation or action, then the whole sentence. A quorum covers all three: a post
matches with two of the claim's few rarest units, or three of some more. The rarest unit is always included but not required,
because people leave it out. One threshold t determines the quorum: k units suffice if each is informative enough that
k like it reach t. A common unit (the archive's topic) is never enough alone, but adds its weight. So a broader query
matches everything that a narrower one matches, and the number of posts to read selects t. A unit missing in the archive
is the most informative one, because queries are also used elsewhere; but its frequency is unknown, so it is never
enough alone.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from covmis_build.errors import InputError
from covmis_build.errors import counted as so_many
from covmis_build.queries.units import STOP_WORDS, Unit, code_of, units_of
from covmis_build.report.result import Result
from covmis_build.text.nodes import And, Node, Or, Term, at_least, conjunction_count, joined
from covmis_build.text.tokens import tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from covmis_build.archive.counted import SamplePost
    from covmis_build.archive.words import Words
    from covmis_build.report.summary import Summary

Width = Literal["precise", "balanced", "broad"]
WIDTHS: tuple[Width, ...] = ("precise", "balanced", "broad")
READ = (5, 25, 100)
"""Maximum number of matches of the precise, the balanced and the broad query."""

UNITS, UNSEEN, COMMON, LARGEST = 12, 4, 4, 3
"""Maximum number of a claim's units, of units missing in the archive, of common units, and of units required
together.
"""

MOST_CONJUNCTIONS = 400
"""Maximum number of plain searches for a suggestion; beyond it, word forms are dropped."""
FORMS_OF_COMMON = 2
"""Number of forms of a common word that are dropped last."""


class Quorum(NamedTuple):
    """Require k of the claim's `of` most informative units, with a number of common ones."""

    least: int
    of: int
    common: int = 0

    def asks(self, known: list[Unit]) -> list[int]:
        """Return the units of the quorum; for k = 1 only those in the archive."""
        return [at for at, unit in enumerate(known[: self.of]) if unit.seen or self.least > 1]

    def is_in(self, wider: Quorum, known: list[Unit]) -> bool:
        """True if posts with these units always match the wider quorum."""
        further = len(set(self.asks(known)) - set(wider.asks(known))) if self.of > wider.of else 0
        return self.common >= wider.common and self.least - further >= wider.least


class Asked(NamedTuple):
    """The claim's units in use, the most informative first; common ones only in combination."""

    telling: list[Unit]
    common: Sequence[Unit] = ()


@dataclass(frozen=True, slots=True)
class Proposal:
    """A suggested query: its matches, and its explanation."""

    width: Width
    expression: str
    posts: int | None
    """None without an archive."""
    reason: str
    samples: list[SamplePost]


@dataclass(frozen=True, slots=True)
class UnitShown:
    """A part of the claim as searched, and the posts that have it."""

    unit: str
    forms: list[str]
    posts: int

    @property
    def line(self) -> str:
        """Return its forms; for a name of several words also the whole name."""
        forms = " OR ".join(self.forms)
        return forms if self.unit in forms.replace('"', "") else f'{forms} (from "{self.unit}")'


@dataclass(frozen=True, slots=True, repr=False)
class Suggestions(Result):
    """The suggestions for a claim, the narrowest first, and their units, the most informative first."""

    claim: str
    proposals: list[Proposal]
    units: list[UnitShown]
    left_out: dict[str, str]
    """Word of the claim in no suggestion → why."""
    posts_in_archive: int
    claim_id: str = ""
    """The claim's id; empty for the text of a claim."""

    def to_frame(self) -> pd.DataFrame:
        """Return one row per suggestion: width, expression, posts, reason."""
        import pandas as pd

        rows = [[row.width, row.expression, row.posts, row.reason] for row in self.proposals]
        return pd.DataFrame(rows, columns=["width", "expression", "posts", "reason"])

    def to_dict(self) -> dict[str, Any]:
        """Return what `covmis queries suggest --json` prints."""
        suggestions = [
            {
                "expression": row.expression,
                "width": row.width,
                "posts": row.posts,
                "reason": row.reason,
                "samples": [post._asdict() for post in row.samples],
            }
            for row in self.proposals
        ]
        return {
            "claim": self.claim,
            "posts_in_archive": self.posts_in_archive,
            "suggestions": suggestions,
            "units": [asdict(unit) for unit in self.units],
            "left_out": self.left_out,
        }

    @property
    def summary(self) -> Summary:
        """Return each suggestion with reason and examples, then the units with their forms."""
        lines, there, last = [], {proposal.width: proposal for proposal in self.proposals}, ""
        for width in WIDTHS if there else ():
            if proposal := there.get(width):
                lines += [f"{width}: {proposal.expression}", f"    {proposal.reason}"]
                lines += [f"    {post.line}" for post in proposal.samples]
                last = width
            else:
                lines.append(f"{width}: as {last}")
        if self.units:
            lines.append("Posts that contain each of these words:")
        lines += [f"{unit.posts:>9,}  {unit.line}" for unit in self.units]
        for reason in dict.fromkeys(self.left_out.values()):
            words = [word for word, why in self.left_out.items() if why == reason]
            lines.append(f"Left out ({reason}): {', '.join(words)}")
        command = f"covmis queries set {self.claim_id or 'CLAIM'} 'KEYWORDS'"
        return [*lines, f"Choose one, or write your own: `{command}`."]


def suggest(
    text: str,
    index: Words,
    *,
    language: str = "",
    read: Sequence[int] = READ,
    samples: int = 2,
    counted: bool = True,
) -> Suggestions:
    """Suggest queries for a claim; `counted` is false if the index only shows word frequencies, not posts."""
    if len(read) != len(WIDTHS) or list(read) != sorted(read) or read[0] < 1:
        raise InputError("the posts to read are three ascending numbers", remedy="Write them like 5,25,100")
    code = code_of(language, text)
    units = units_of(text, index, code)
    asked = _asked_for(units, code, counted=counted)
    proposals: dict[str, Proposal] = {}
    for width, quorums in zip(WIDTHS, _profiles(asked, read, counted=counted), strict=True):
        node = bounded(asked, quorums) if asked.telling else _of_unknown(text, units)
        if node is None:
            break
        rows = index.rows(node) if counted else None
        posts = None if rows is None else len(rows)
        shown = [] if rows is None else index.posts.samples([rows], samples)[0]
        reason = _reason(asked, quorums, posts) if asked.telling else "no part of the claim is in the archive"
        proposals.setdefault(str(node), Proposal(width, str(node), posts, reason, shown))
    listed = [
        UnitShown(" ".join(unit.words), [str(way) for way in unit.ways], len(unit.rows)) for unit in units
    ]
    left_out = _left_out(text, units, asked, code)
    return Suggestions(text, list(proposals.values()), listed, left_out, index.size if counted else 0)


def _asked_for(units: list[Unit], code: str, *, counted: bool) -> Asked:
    """Return the units to search for; none if the archive has none of them.

    A common word is not searched for in languages without a list of function words.
    """
    units = [unit for unit in units if unit.name or not unit.common or code in STOP_WORDS]
    common = [unit for unit in units if unit.common and counted]
    telling = [unit for unit in units if unit not in common]
    if not any(unit.seen for unit in telling):  # then only common units can match
        telling, common = units, []
    unseen = [unit.words for unit in telling if not unit.seen][UNSEEN:]
    known = [unit for unit in telling if unit.words not in unseen][:UNITS]
    return Asked(known, common[:COMMON]) if any(unit.seen for unit in known) else Asked([])


def _left_out(text: str, units: list[Unit], asked: Asked, code: str) -> dict[str, str]:
    """Return the words of the claim in no suggestion, and why."""
    left_out = dict[str, str]()
    in_units = {word for unit in units for word in unit.words}
    forms = {way.tokens[0]: unit.words[0] for unit in units for way in unit.ways if len(way.tokens) == 1}
    for word in tokens(text):
        if word in in_units:
            continue
        if word in STOP_WORDS.get(code, ()):
            left_out[word] = "function word"
        else:
            left_out[word] = f"form of {forms[word]}" if word in forms else "single character"
    for unit in units if asked.telling else ():
        if unit not in asked.telling and unit not in asked.common:
            why = f"more than {UNITS} words"
            if unit.common:
                why = "in every fifth post, as function words are"
            elif not unit.seen:
                why = f"more than {UNSEEN} words that no post has"
            left_out[" ".join(unit.words)] = why
    return left_out


def _profiles(asked: Asked, read: Sequence[int], *, counted: bool) -> list[tuple[Quorum, ...]]:
    """Return for each width the widest quorums within the number of posts to read; at least one post if possible."""
    known = len(asked.telling)
    if not known:
        return [()] * len(read)
    if not counted:
        fixed = ((3, 5), (2, 4), (2, 6))
        return [(Quorum(min(least, known), min(of, known)),) for least, of in fixed]
    posts = np.unique(np.concatenate([unit.rows for unit in asked.telling]))
    has_unit = posts_by_units(asked.telling)
    has_common = np.sum([np.isin(posts, unit.rows) for unit in asked.common], axis=0)
    found = [
        (quorums, count) for quorums in thresholds(asked) if (count := _count(has_unit, has_common, quorums))
    ]
    return [
        max((entry for entry in found if entry[1] <= size), key=lambda entry: entry[1], default=found[0])[0]
        for size in read
    ]


def thresholds(asked: Asked) -> Iterator[tuple[Quorum, ...]]:
    """Return quorums from narrow to wide: numbers of units and common units that reach t, for every relevant t."""
    known = asked.telling
    weights = [unit.weight for unit in known]
    each = min((unit.weight for unit in asked.common), default=0.0)
    shapes = [(k, j) for k in range(1, LARGEST + 1) for j in range(min(LARGEST - k, len(asked.common)) + 1)]
    before: tuple[Quorum, ...] = ()
    for least_sum in sorted({k * weight + j * each for k, j in shapes for weight in weights}, reverse=True):
        enough = [sum(weight >= (least_sum - j * each) / k - 1e-9 for weight in weights) for k, j in shapes]
        every = [Quorum(k, of, j) for (k, j), of in zip(shapes, enough, strict=True)]
        possible = [quorum for quorum in every if len(quorum.asks(known)) >= quorum.least]
        quorums = tuple(
            quorum
            for quorum in possible
            if not any(quorum.is_in(wider, known) for wider in possible if wider != quorum)
        )
        if quorums and quorums != before:
            before = quorums
            yield before


def posts_by_units(known: list[Unit]) -> NDArray[np.int8]:
    """Return for each post with any unit, how many of the first 1, 2, … units it has."""
    posts = np.unique(np.concatenate([unit.rows for unit in known]))
    has_unit = np.zeros((len(posts), len(known)), np.int8)
    for column, unit in enumerate(known):
        has_unit[np.searchsorted(posts, unit.rows), column] = 1
    return has_unit.cumsum(axis=1, dtype=np.int8)


def _count(has_unit: NDArray[np.int8], has_common: NDArray[np.int64], quorums: Sequence[Quorum]) -> int:
    hits = [(has_unit[:, of - 1] >= least) & (has_common >= common) for least, of, common in quorums]
    return int(np.logical_or.reduce(hits).sum())


def bounded(asked: Asked, quorums: Sequence[Quorum]) -> Node:
    """Return the query of these quorums. Word forms are dropped, the rarest first, while it needs too many searches."""
    ways = [list(unit.ways) for unit in (*asked.telling, *asked.common)]
    while True:
        parts = [joined(Or, forms) for forms in ways]
        node = joined(Or, [_quorum(quorum, parts, asked) for quorum in quorums])
        longest = max(ways[len(asked.telling) :], key=len, default=[])
        if len(longest) <= FORMS_OF_COMMON:
            longest = max(ways, key=len)
        if conjunction_count(node) <= MOST_CONJUNCTIONS or len(longest) == 1:
            return node
        longest.pop()


def _quorum(quorum: Quorum, parts: Sequence[Node], asked: Asked) -> Node:
    """Return the expression of a quorum from the parts of informative units and the common ones after them."""
    telling = at_least(quorum.least, [parts[at] for at in quorum.asks(asked.telling)])
    if not quorum.common:
        return telling
    return joined(And, [at_least(quorum.common, parts[len(asked.telling) :]), telling])


def _of_unknown(text: str, units: list[Unit]) -> Node | None:
    """Handle a claim whose units occur nowhere: half of them, at most three; without units, its words as a phrase."""
    if units:
        few = units[:UNITS]
        return at_least(min(LARGEST, (len(few) + 1) // 2), [unit.node for unit in few])
    cut = tuple(tokens(text))
    return Term(cut) if cut else None


def _reason(asked: Asked, quorums: Sequence[Quorum], posts: int | None) -> str:
    """Explain this query in one line."""
    said = []
    for quorum in quorums:
        words = _how_many(quorum.least, [asked.telling[at].shown for at in quorum.asks(asked.telling)])
        common = [unit.shown for unit in asked.common]
        said.append(f"{words} and {_how_many(quorum.common, common)}" if quorum.common else words)
    finds = (
        so_many(posts, "posts")
        if posts is not None
        else "no posts yet that can be read, rarity from the claim list"
    )
    return f"{finds}: {', or '.join(said)}"


def _how_many(least: int, words: Sequence[str]) -> str:
    if len(words) == 1:
        return words[0]
    return f"{'all' if least == len(words) else least} of ({', '.join(words)})"
