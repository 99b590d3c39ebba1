"""Search the bytes of files for purged data, whatever wrote them: ids as whole tokens, texts by stretches of their letters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from covmis_build.archive.forgetting import SHORT, account_names
from covmis_build.archive.readings import readings
from covmis_build.archive.stretches import Finder, Stretches
from covmis_build.archive.unpacking import parts
from covmis_build.children import got_on

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

NAMES_A_PERSON = 9
"""Minimum digits of an author number to search for; shorter ones could be counts of followers or likes."""
IN_GROUPS = 15
"""Minimum digits of an id that is also found if it is written in groups or wrapped: `1,255,000,000,000,000,003`."""

FEW = 16
_TOKEN = re.compile(rb"[0-9A-Za-z_]{%d,}" % SHORT)
_GROUPS = re.compile(
    rb"\d(?:(?:[ ,.'_=-]|\xc2\xa0|\xe2\x80[\x89\xaf]|\r?\n){0,2}\d){%d,40}" % (IN_GROUPS - 1)
)


class Seen(NamedTuple):
    """What a file holds of purged posts and authors, and what of it could not be read."""

    ids: bool = False
    people: bool = False
    texts: bool = False
    unread: tuple[str, ...] = ()
    damaged: bool = False

    @property
    def holds(self) -> bool:
        """True if anything was found."""
        return self.ids or self.people or self.texts


class Names:
    """Ids of posts, or authors, to search for: as whole tokens, names of accounts anywhere."""

    def __init__(self, keys: Iterable[str]) -> None:
        self.tokens: set[bytes] = set()
        needles: set[str] = set()
        short: set[str] = set()
        for key in keys:
            platform, _, name = key.removeprefix("author:").partition(":")
            native = name.rpartition("/")[2].encode()
            if key.startswith("author:"):
                if platform == "x" and len(name) >= NAMES_A_PERSON:
                    self.tokens.add(native)
                elif platform == "masto":
                    needles |= set(account_names(name))
                elif platform == "bsky":
                    needles.add(name)
            elif _TOKEN.fullmatch(native):
                self.tokens.add(native)
            else:
                short.add(key)
        self._needles = _any_of(name.encode() for name in needles)
        self._short = _any_of((key.encode() for key in short), whole=True)
        self._long = {len(token) for token in self.tokens if len(token) >= IN_GROUPS and token.isdigit()}

    def within(self, data: bytes, *, in_groups: bool = False) -> bool:
        """True if the bytes name a purged post or author. `in_groups`: also if digits of an id stand apart."""
        for wanted in (self._needles, self._short):
            if wanted is not None and wanted.search(data) is not None:
                return True
        if (
            len(self.tokens) <= FEW
        ):  # searching for a few ids is much faster than splitting the bytes into tokens
            if any(token in data for token in self.tokens) and not self.tokens.isdisjoint(
                _TOKEN.findall(data)
            ):
                return True
        elif not self.tokens.isdisjoint(_TOKEN.findall(data)):
            return True
        return in_groups and bool(self._long) and self._in_groups(data)

    def _in_groups(self, data: bytes) -> bool:
        for grouped in _GROUPS.finditer(data):
            digits = re.sub(rb"\D", b"", grouped[0])
            if len(digits) != len(grouped[0]) and any(
                digits[at : at + length] in self.tokens
                for length in self._long
                for at in range(len(digits) - length + 1)
            ):
                return True
        return False


class Traces:
    """Everything to search for: ids of posts, authors, and stretches of texts."""

    def __init__(
        self, posts: Iterable[str] = (), authors: Iterable[str] = (), words: Stretches | None = None
    ) -> None:
        self._posts, self._people, self._texts = Names(posts), Names(authors), Finder(words or Stretches())

    def of_name(self, name: str) -> Seen:
        """Search the name of a file."""
        data = name.encode("utf-8", "ignore")
        return Seen(
            self._posts.within(data, in_groups=True),
            self._people.within(data),
            bool(self._texts) and self._texts.within(name),
        )

    def of_file(self, path: Path, *, ids: bool = True, texts: bool = True, ours: bool = False) -> Seen:
        """Search all that a file holds, up to the first trace of each kind that is looked for.

        `ours`: a file of posts or a table of covmis, in which ids stand as they are.
        """
        seen, unread = Seen(), list[str]()
        for part in parts(path):
            got_on()
            if part.unread:
                unread.append(part.unread)
                seen = seen._replace(damaged=seen.damaged or part.damaged)
                continue
            texts_too = texts and not seen.texts and bool(self._texts)
            seen = self._with(seen, part.data, raw=part.raw, ids=ids, texts=texts_too, ours=ours)
            if (seen.ids or not ids) and (seen.texts or not texts or not self._texts):
                break
        return seen._replace(unread=tuple(dict.fromkeys(unread)))

    def _with(self, seen: Seen, data: bytes, *, raw: bool, ids: bool, texts: bool, ours: bool) -> Seen:
        """What was seen so far, and what these bytes hold."""
        if ids:
            seen = self._named(seen, data, ours=ours)
        if ours and not texts:
            return seen
        if raw:  # names and texts in ASCII or UTF-16 stand in them between other bytes
            plain = data.translate(None, b"\0")
            if ids and len(plain) < len(data):
                seen = self._named(seen, plain, ours=ours)
            if texts:
                seen = seen._replace(texts=self._texts.within(plain.decode("ascii", "ignore")))
            return seen
        for number, text in enumerate(readings(data)):
            if ids and number and not ours:
                seen = self._named(seen, text.encode("utf-8", "ignore"), ours=False)
            if texts and not seen.texts and self._texts.within(text):
                seen = seen._replace(texts=True)
        return seen

    def _named(self, seen: Seen, data: bytes, *, ours: bool) -> Seen:
        return seen._replace(
            ids=seen.ids or self._posts.within(data, in_groups=not ours),
            people=seen.people or self._people.within(data),
        )

    def in_line(self, line: bytes) -> bool:
        """True if a line of a journal holds anything."""
        return self._with(Seen(), line, raw=False, ids=True, texts=bool(self._texts), ours=True).holds


def _any_of(needles: Iterable[bytes], *, whole: bool = False) -> re.Pattern[bytes] | None:
    """Find any term. `whole`: only without a letter or digit before or after (forum:1 is not part of forum:17)."""
    alternatives = b"|".join(map(re.escape, sorted(set(needles))))
    if not alternatives:
        return None
    return re.compile(rb"(?<!\w)(?:%s)(?!\w)" % alternatives if whole else alternatives)
