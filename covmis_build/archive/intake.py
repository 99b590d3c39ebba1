"""What was detected in each file of an archive, and what could not be read, as sentences."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from covmis_build.errors import CheckFailed, counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ENOUGH_LINES = 100
"""Minimum number of lines for a meaningful share."""
MOST_FILES = 20
HINT = 0.05


class Outcome(StrEnum):
    """The subject of a count in the table `intake`."""

    LINES = "lines"
    POSTS = "posts"
    REPOSTS = "reposts"
    SKIPPED = "skipped"
    NOTED = "noted"
    UNREADABLE = "unreadable"
    REFUSED = "refused"


WORDS = {
    Outcome.REPOSTS: "reposts, detected {reason}",
    Outcome.SKIPPED: "{reason}: skipped",
    Outcome.NOTED: "{reason}",
    Outcome.UNREADABLE: "skipped: {reason}",
    Outcome.REFUSED: "skipped: {reason}",
}


@dataclass(frozen=True, slots=True)
class Count:
    """How often something occurred in a file, with the first place."""

    outcome: Outcome
    reason: str
    count: int
    offset: int
    example: str


@dataclass(slots=True)
class FileIntake:
    """The intake of one file."""

    file: str
    formats: list[str] = field(default_factory=list)
    lines: int = 0
    posts: int = 0
    counts: list[Count] = field(default_factory=list)

    @property
    def unreadable(self) -> int:
        """The number of unreadable lines."""
        return sum(count.count for count in self.counts if count.outcome is Outcome.UNREADABLE)

    @property
    def refused(self) -> str:
        """Why the whole file was refused; empty if it was not."""
        return next((count.reason for count in self.counts if count.outcome is Outcome.REFUSED), "")

    def why_not(self, share: float) -> str:
        """Return why the run must stop for this file: refused, nothing imported, or too many unreadable lines. Empty if fine."""
        if self.refused:
            return self.refused
        if self.unreadable and not self.posts:
            return "nothing in it could be read"
        if self.lines >= ENOUGH_LINES and self.unreadable > share * self.lines:
            return f"{self.unreadable:,} of its {self.lines:,} lines could not be read"
        return ""

    def told(self) -> list[str]:
        """Return one line about the file, and one per finding with an example, the most frequent first."""
        form = ", ".join(self.formats) or "not read"
        lines = [f"{self.file}   {form}   {counted(self.lines, 'lines')} → {counted(self.posts, 'posts')}"]
        for seen in sorted(self.counts, key=lambda seen: -seen.count):
            if seen.outcome is Outcome.NOTED and not seen.offset:
                lines.append(f"            {seen.reason}"[:240])
                continue
            # the example of a refused file is a setting for study.toml, which `posts look` prints in full
            example = "" if seen.outcome is Outcome.REFUSED else seen.example
            at = "row" if "table" in self.formats else "at"
            reason, where = in_words(seen.reason, seen.offset, example, at=at)
            large = seen.outcome is Outcome.UNREADABLE and seen.count > HINT * self.lines
            hint = "   (over 5%)" if large else ""
            lines.append(
                f"  {seen.count:>9,} {WORDS[seen.outcome].format(reason=reason)}{hint}   {where}"[
                    :240
                ].rstrip()
            )
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return the intake as a dictionary."""
        counts = [{**asdict(count), "outcome": count.outcome.value} for count in self.counts]
        own = {"file": self.file, "formats": self.formats, "lines": self.lines, "posts": self.posts}
        return {**own, "counts": counts}


def in_words(reason: str, place: int, example: str, *, at: str = "at") -> tuple[str, str]:
    """Return finding, place and example as text. An example that begins with the reason is its uncut version.

    The place is a byte, or a "row" if `at` says so.
    """
    whole = example if example.startswith(reason) else reason
    where = f"e.g. {at} {place:,}" if place else ""
    return whole, where if example in {"", whole} else f"{where}: {example}"


def files_of(rows: Iterable[Mapping[Any, Any]]) -> list[FileIntake]:
    """Return the files in the rows of the table `intake`."""
    files: dict[str, FileIntake] = {}
    for row in rows:
        file = files.setdefault(row["file"], FileIntake(row["file"]))
        outcome = Outcome(row["outcome"])
        if row["format"] and row["format"] not in file.formats:
            file.formats.append(row["format"])
        if outcome is Outcome.LINES:
            file.lines += row["count"]
        elif outcome is Outcome.POSTS:
            file.posts += row["count"]
        else:
            file.counts.append(Count(outcome, row["reason"], row["count"], row["offset"], row["example"]))
    return list(files.values())


@dataclass(frozen=True, slots=True)
class Intake:
    """The files of an archive. `share` is the maximum unreadable share of a file."""

    files: list[FileIntake]
    share: float
    copies: int = 0
    """Rows with the id of another row's post."""

    def told(self) -> list[str]:
        """Return the files with findings, the worst first."""
        worth = [
            file for file in self.files if any(seen.outcome is not Outcome.REPOSTS for seen in file.counts)
        ]
        worth.sort(key=lambda file: (not file.why_not(self.share), -file.unreadable, file.file))
        lines = [line for file in worth[:MOST_FILES] for line in file.told()]
        lines += [f"… and {len(worth) - MOST_FILES:,} more files"] if len(worth) > MOST_FILES else []
        copies = f"rows of all files with the id of another row, which count once with it: {self.copies:,}"
        return [*lines, copies] if self.copies else lines

    def check(self) -> None:
        """Refuse unreadable files."""
        wrong = [f"{file.file}: {why}" for file in self.files if (why := file.why_not(self.share))]
        if wrong:
            more = f" (and {counted(len(wrong) - 1, 'more files')}, see above)" if len(wrong) > 1 else ""
            remedy = (
                "Look at a file with `covmis posts look FILE`; mend or move it, say how it is to be read with "
                f"[[retrieval.columns]], or raise [retrieval] unreadable = {self.share:g}"
            )
            raise CheckFailed(wrong[0] + more, remedy=remedy)
