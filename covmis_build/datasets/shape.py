"""The description of a corpus (files, terms, reader), and the format of its rows."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from pathlib import Path

COLUMNS = ("dataset", "id", "target_id", "target", "text", "label", "time", "split", "group")
"""The common format. A row is the label of `id` (a post) about `target_id` (a claim, topic, headline or rumour thread)."""


class Row(NamedTuple):
    """One labelled post; empty strings are values that a corpus does not provide."""

    id: str
    label: str
    target_id: str = ""
    target: str = ""
    text: str = ""
    time: str = ""
    split: str = ""
    group: str = ""
    """Group that splits should keep together: the claim, the event, the article."""


@dataclass(frozen=True, slots=True)
class File:
    """A file in the corpus's folder; with a checksum if the published counts belong to one version."""

    path: str
    sha256: str = ""
    url: str = ""
    """Download URL; empty if only users may get it."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A file layout of a corpus, and its reader. The first complete layout is used."""

    name: str
    files: tuple[File, ...]
    rows: Callable[[Path], Iterable[Row]]
    has_text: bool = False


@dataclass(frozen=True, slots=True)
class Published:
    """Others' published scores for a corpus's test part, by the names of our measures."""

    of: str
    """What was scored, and where it was published."""
    scores: tuple[tuple[str, str, float], ...]
    """System, measure, value."""
    gold: tuple[str, ...] = ()
    """SHA-256 of the files with that test part's labels."""

    def sentence(self, measures: Collection[str] = ()) -> str:
        """Return the scores in these measures or in all; empty if there are none."""
        told = [
            f"{system} {value:.4g} ({measure})"
            for system, measure, value in self.scores
            if not measures or measure in measures
        ]
        return f"Published for {self.of}: {', '.join(told)}." if told else ""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A corpus by others: never distributed with covmis, read from the user's folder."""

    name: str
    title: str
    scheme: str
    """Its label scheme: a name of `labels.SCHEMES`."""
    folder: str
    """Its folder within the corpora folder."""
    layouts: tuple[Layout, ...]
    licence: str
    terms: str
    source: str
    instructions: str
    citation: str
    notes: tuple[str, ...] = ()
    """Pitfalls, and how the reader handles them."""
    published: Published | None = None

    @property
    def fetchable(self) -> bool:
        """True if any of its files may be downloaded."""
        return any(file.url for layout in self.layouts for file in layout.files)

    @property
    def sentences(self) -> list[str]:
        """Return what users should know first."""
        return [
            self.title,
            "",
            f"Licence: {self.licence}.",
            f"Terms: {self.terms}",
            f"Source: {self.source}",
            f"Cite: {self.citation}",
            *(f"Note: {note}" for note in self.notes),
            *([self.published.sentence()] if self.published else []),
        ]


EPOCH = 1288834974657
FIRST_SNOWFLAKE = 1 << 35


def post_time(post_id: str) -> str:
    """Return an X post's time from its id; empty for older or other ids.

    >>> post_time("1250814876490665983"), post_time("12345")
    ('2020-04-16T15:54:40Z', '')
    """
    if not (post_id.isascii() and post_id.isdigit()) or not FIRST_SNOWFLAKE <= int(post_id) < 1 << 63:
        return ""
    return epoch_time(((int(post_id) >> 22) + EPOCH) // 1000)


def epoch_time(seconds: float) -> str:
    """Convert seconds since 1970 to the time format of our tables.

    >>> epoch_time(0)
    '1970-01-01T00:00:00Z'
    """
    return dt.datetime.fromtimestamp(int(seconds), dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
