"""A post as every reader gives it, before it is a row of the table `posts`."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import msgspec

from covmis_build.text.characters import whole_characters

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Claimed(msgspec.Struct, frozen=True, gc=False):
    """Who says that a post belongs to a claim, before it is matched: a collecting query, or a list of ids."""

    claim_id: str
    query_id: str = ""
    kind: str = "title"
    expression: str = ""


class Post(msgspec.Struct, gc=False):
    """One post; times are as the platform writes them until `iso`."""

    post_id: str
    native_id: str
    platform: str
    text: str = ""
    created_at: str = ""
    language: str = ""
    urls: list[str] = []
    cards: list[tuple[str, str, str]] = []
    media: list[tuple[str, str]] = []
    reply_to: str = ""
    parent_text: str = ""
    quote_of: str = ""
    quoted_text: str = ""
    repost_of: str = ""
    conversation: str = ""
    metrics: tuple[int | None, int | None, int | None, int | None] | None = None
    availability: str = "available"
    retrieved_at: str = ""
    claimed: tuple[Claimed, ...] = ()

    def __post_init__(self) -> None:
        """Mend halves of surrogate pairs: the post stays."""
        if not (
            self.text.isascii() and self.post_id.isascii() and self.native_id.isascii()
            and self.parent_text.isascii() and self.quoted_text.isascii() and self.conversation.isascii()
        ):  # fmt: skip
            for name in TEXTS:
                setattr(self, name, whole_characters(getattr(self, name)))
        if self.urls and not all(map(str.isascii, self.urls)):
            self.urls = [whole_characters(url) for url in self.urls]

    def empty_numbers(self) -> bool:
        """Leave out a count that no table can hold; whether there was one."""
        if not self.metrics or all(count is None or abs(count) <= LARGEST_COUNT for count in self.metrics):
            return False
        self.metrics = tuple(  # type: ignore[assignment]
            count if count is not None and abs(count) <= LARGEST_COUNT else None for count in self.metrics
        )
        return True


class Glances:
    """What matching needs of many posts, in columns: an object each would cost more than all that is done with it.

    `more` is what a form makes the whole post of, if it is one that matters, or that post; `places` is where each stands.
    Texts, addresses and titles may hold more than the post's own, which decide, but never less; `linking` and `titling`
    are the numbers of the posts that they belong to. What few posts have stands under their numbers.
    """

    __slots__ = (
        "claimed", "ids", "linking", "links", "more", "places", "quotes", "reposts", "retrieved", "texts", "titles",
        "titling",
    )  # fmt: skip

    def __init__(self) -> None:
        self.ids, self.texts, self.more, self.places = list[str](), list[str](), list[Any](), list[int]()
        self.links, self.linking = list[str](), list[int]()
        self.titles, self.titling = list[str](), list[int]()
        self.quotes, self.reposts, self.retrieved = dict[int, str](), dict[int, str](), dict[int, str]()
        self.claimed = dict[int, tuple[Claimed, ...]]()

    def __len__(self) -> int:
        return len(self.ids)

    def add(
        self, place: int, post_id: str, text: str, more: Any, urls: Sequence[str] = (),
        cards: Sequence[tuple[str, str, str]] = (), quote_of: str = "", repost_of: str = "",
    ) -> None:  # fmt: skip
        """One more post."""
        number = len(self.ids)
        self.ids.append(post_id)
        self.texts.append(text)
        self.more.append(more)
        self.places.append(place)
        if urls:
            self.links += urls
            self.linking += [number] * len(urls)
        for address, title, _ in cards:
            if address not in urls:
                self.links.append(address)
                self.linking.append(number)
            self.titles.append(title)
            self.titling.append(number)
        if quote_of:
            self.quotes[number] = quote_of
        if repost_of:
            self.reposts[number] = repost_of

    def add_post(self, place: int, post: Post) -> None:
        """One more post that is whole already."""
        if post.retrieved_at:
            self.retrieved[len(self)] = post.retrieved_at
        if post.claimed:
            self.claimed[len(self)] = post.claimed
        self.add(place, post.post_id, post.text, post, post.urls, post.cards, post.quote_of, post.repost_of)

    def shorten(self, count: int) -> None:
        """Forget all posts but the first."""
        for owned, owners in ((self.links, self.linking), (self.titles, self.titling)):
            kept = bisect_left(owners, count)
            del owned[kept:], owners[kept:]
        for column in (self.ids, self.texts, self.more, self.places):
            del column[count:]
        for few in (self.quotes, self.reposts, self.retrieved, self.claimed):
            for number in [number for number in few if number >= count]:
                del few[number]


NONE: list[Any] = []
"""No addresses or cards; nobody changes it."""

LARGEST_COUNT = 2**63 - 1
TEXTS = ("post_id", "native_id", "text", "parent_text", "quoted_text", "conversation")


class Stamp(msgspec.Struct, gc=False):
    """What `covmis collect` and twarc write on a page: which query asked, and when."""

    retrieved_at: str | None = ""
    query_id: str = ""
    claim_id: str = ""
    kind: str = ""
    expression: str = ""
    url: str | None = ""

    def mark(self, seen: Glances, first: int, *, asked: Iterable[str] = ()) -> None:
        """Note the stamp's time on the posts from the first on; on those whose ids were asked for also its query."""
        numbers = range(first, len(seen))
        seen.retrieved.update(dict.fromkeys(numbers, iso(self.retrieved_at or "")))
        if self.query_id:
            claimed, main = (
                (Claimed(self.claim_id, self.query_id, self.kind, self.expression),),
                set(asked),
            )
            seen.claimed.update((number, claimed) for number in numbers if seen.ids[number] in main)


def unescaped(text: str) -> str:
    """X escapes three characters, in all its interfaces."""
    if "&" not in text:
        return text
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


_MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"
_OF_V1 = re.compile(
    r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) (0[1-9]|1\d|2[0-8]) ((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d) \+0000 ([12]\d{3})",
    re.ASCII,
)
"""How interface 1.1 writes nearly all times; days that not every month has are read by the calendar."""
_IN_UTC = re.compile(
    r"([12]\d{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.\d{3}(?:\d{3})?)?(?:Z|\+00:00)",
    re.ASCII,
)
"""How nearly everybody else does."""


def iso(text: str) -> str:
    """A platform's time in UTC to the second; empty if it cannot be read.

    >>> iso("Wed Jan 01 03:59:03 +0000 2014"), iso("2020-04-22T14:34:56.000+02:00")
    ('2014-01-01T03:59:03Z', '2020-04-22T12:34:56Z')
    """
    if not text:
        return ""
    if in_utc := _IN_UTC.fullmatch(text):
        return f"{in_utc[1]}Z"
    if (parts := _OF_V1.fullmatch(text)) and (at := _MONTHS.find(parts[1])) >= 0:
        return f"{parts[4]}-{at // 3 + 1:02d}-{parts[2]}T{parts[3]}Z"
    try:
        if text[0].isalpha():
            day, month, date, clock, zone, year = text.split()
            when = parsedate_to_datetime(f"{day}, {date} {month} {year} {clock} {zone}")
        else:
            when = datetime.fromisoformat(text)
        if when.tzinfo is None:
            when = when.replace(tzinfo=UTC)
        return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError):
        return ""


def fingerprint(post: Post) -> str:
    """The content hash that tells copies of a post apart: everything but where, when and for what it was fetched."""
    own = post.retrieved_at, post.claimed
    if any(own):
        post.retrieved_at, post.claimed = "", ()
    content = _packed.encode(post)
    post.retrieved_at, post.claimed = own
    return hashlib.blake2b(content, digest_size=12).hexdigest()


_packed = msgspec.msgpack.Encoder()
