"""What a corpus is to us: a value with files, terms and a reader; and what its rows look like once read."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from pathlib import Path

COLUMNS = ("dataset", "id", "target_id", "target", "text", "label", "time", "split", "group")
"""The one shape. A row is what `id` (a post) says about `target_id` (a claim, topic, headline or rumour thread)."""


class Row(NamedTuple):
    """One labelled post; empty strings represent what a corpus does not say."""

    id: str
    label: str
    target_id: str = ""
    target: str = ""
    text: str = ""
    time: str = ""
    split: str = ""
    group: str = ""
    """What must not be torn apart: the claim, the event, the article."""


@dataclass(frozen=True, slots=True)
class File:
    """A file below the corpus' folder; with a checksum where the counts were taken from one state of it."""

    path: str
    sha256: str = ""
    url: str = ""
    """Where it may be downloaded from; empty where only the user may fetch it."""


@dataclass(frozen=True, slots=True)
class Layout:
    """One way in which a corpus lies on disk, and how to read it. The first complete layout is taken."""

    name: str
    files: tuple[File, ...]
    rows: Callable[[Path], Iterable[Row]]
    has_text: bool = False


@dataclass(frozen=True, slots=True)
class Published:
    """Scores that others published for a corpus' test part, by the names of our measures."""

    of: str
    """What was scored, and where it was published."""
    scores: tuple[tuple[str, str, float], ...]
    """System, measure, value."""
    gold: tuple[str, ...] = ()
    """SHA-256 of the files with the labels of that test part."""

    def sentence(self, measures: Collection[str] = ()) -> str:
        """The scores, in these measures or in all; empty if there are none."""
        told = [
            f"{system} {value:.4g} ({measure})"
            for system, measure, value in self.scores
            if not measures or measure in measures
        ]
        return f"Published for {self.of}: {', '.join(told)}." if told else ""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A corpus of others: never part of covmis, read from where the user has put it."""

    name: str
    title: str
    scheme: str
    """What its labels are: a name of `labels.SCHEMES`."""
    folder: str
    """Where its files lie below the home of all corpora."""
    layouts: tuple[Layout, ...]
    licence: str
    terms: str
    source: str
    instructions: str
    citation: str
    notes: tuple[str, ...] = ()
    """Traps, and what the reader does about them."""
    published: Published | None = None

    @property
    def fetchable(self) -> bool:
        """Whether any of its files may be downloaded."""
        return any(file.url for layout in self.layouts for file in layout.files)

    @property
    def sentences(self) -> list[str]:
        """What is to be known before it is used."""
        return [
            self.title, "", f"Licence: {self.licence}.", f"Terms: {self.terms}", f"Source: {self.source}",
            f"Cite: {self.citation}", *(f"Note: {note}" for note in self.notes),
            *([self.published.sentence()] if self.published else []),
        ]  # fmt: skip


EPOCH = 1288834974657
FIRST_SNOWFLAKE = 1 << 35


def post_time(post_id: str) -> str:
    """When a post of X was made, from its id; empty for older or other ids.

    >>> post_time("1250814876490665983"), post_time("12345")
    ('2020-04-16T15:54:40Z', '')
    """
    if not (post_id.isascii() and post_id.isdigit()) or not FIRST_SNOWFLAKE <= int(post_id) < 1 << 63:
        return ""
    return epoch_time(((int(post_id) >> 22) + EPOCH) // 1000)


def epoch_time(seconds: float) -> str:
    """Seconds since 1970 as our tables write times.

    >>> epoch_time(0)
    '1970-01-01T00:00:00Z'
    """
    return dt.datetime.fromtimestamp(int(seconds), dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
