"""Labels and decisions of a round as lines of text, which merge: one line per recorded answer, only added.

labels.CODE.jsonl has an annotator's labels, decisions.LEAD.jsonl the decisions that one lead recorded. A line's `id` is a
hash of its content, so a changed line is noticed and two copies of a line are one. The state follows from the set of
lines, whatever their order or file: of an annotator's lines about an item the last by (seq, at, id) counts. So two copies
of a study merge as sets of lines, by `git merge` (union) or `covmis round merge`.

labels.parquet and decisions.parquet are made from the lines. In rounds of versions before 0.3.0, which have no lines,
labels.parquet is the record itself; the first new answer takes its rows over as lines.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from covmis_build import storage, tables
from covmis_build.annotation.answers import Phase
from covmis_build.errors import InputError
from covmis_build.options import MACHINE, file_stem
from covmis_build.records import Label
from covmis_build.settings import CODE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

LEAD = "COVMIS_LEAD"
"""The environment variable with the code of the person who records decisions on this computer; default: the login name."""
EARLIER = "labels.earlier-version.jsonl"
"""The rows that were taken over from the table of an earlier version."""
UNHASHED: dict[str, Any] = {"id": "", "comment": "", "reason": "", "row": 0}
"""What the id leaves out: a purge empties comments and reasons, and `remarks` has their salted hash."""
GIT_MARKS = (b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||")
RESTORE = (
    "Restore the line from a copy or from git. Or delete it: `covmis round pull` reads the answer again if a sheet or "
    "page has it; a decision must be made again"
)


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A recorded answer. The fields without a default are in every line; others only if they say something."""

    id: str
    """Hash of the line's content."""
    seq: int
    """1 for the first label of this annotator for this item, and one more than the lines that it replaces."""
    round: str
    by: str
    """The annotator's code, the adjudicator's, or `together`."""
    item: str
    shown: str
    label: str
    sub: str
    at: str
    channel: str
    status: str
    set: int
    """The version of the label set."""
    guideline: str
    phase: str
    lead: str = ""
    """Who recorded a decision."""
    instead_of: tuple[str, ...] = ()
    """The decisions on the item, of both phases, that stood when this one was made."""
    error_class: str = ""
    seconds: float | None = None
    remarks: str = ""
    """Salted hash of comment and reason, which stays after a purge."""
    comment: str = ""
    reason: str = ""
    label_id: str = ""
    """The id in the table of an earlier version, which its seals name."""
    row: int = 0
    """The row in that table."""

    @property
    def decides(self) -> bool:
        """True if this is a decision on a disagreement, and no annotator's own label."""
        return self.phase != Phase.INDEPENDENT

    @property
    def name(self) -> str:
        """The name of the file for this line."""
        return f"decisions.{self.lead}.jsonl" if self.decides else f"labels.{file_stem(self.by)}.jsonl"

    @property
    def place(self) -> tuple[str, ...]:
        """What lines replace one another about: an annotator's label of an item; all decisions on an item."""
        return (self.item,) if self.decides else (self.item, self.by)


def lead_code() -> str:
    """Return the code of the person who records decisions here: COVMIS_LEAD, or the login name.

    >>> import os; os.environ["COVMIS_LEAD"] = "Ana Lyst"; lead_code(); del os.environ["COVMIS_LEAD"]
    'Ana-Lyst'
    """
    try:
        who = os.environ.get(LEAD) or getpass.getuser()
    except (OSError, KeyError):  # a container whose user has no name
        who = ""
    code = re.sub(r"[^A-Za-z0-9_-]+", "-", who.partition("@")[0]).strip("-_")[:32]
    return code or "lead"


def line_of(
    row: Label, *, seq: int, salt: str, lead: str = "", instead_of: Iterable[str] = (), at_row: int = 0
) -> Line:
    """Return a label of the record as a line. `at_row` is its row in the table of an earlier version."""
    line = Line(
        id="",
        seq=seq,
        round=row.round,
        by=row.annotator,
        item=row.item_id,
        shown=row.shown,
        label=row.label,
        sub=row.sub_label,
        at=row.given_at,
        channel=str(row.channel),
        status=str(row.status),
        set=1,
        guideline=row.guideline,
        phase=str(row.phase),
        lead=lead,
        instead_of=tuple(instead_of),
        error_class=row.error_class,
        seconds=None if row.seconds is None or row.seconds != row.seconds else float(row.seconds),
        remarks=_remarks(salt, row.comment, row.reason),
        comment=row.comment,
        reason=row.reason,
        label_id=row.label_id,
        row=at_row,
    )
    return msgspec.structs.replace(line, id=_content_id(line))


def _remarks(salt: str, comment: str, reason: str) -> str:
    if not (comment or reason):
        return ""
    return hashlib.sha256(json.dumps([salt, comment, reason]).encode()).hexdigest()[:20]


def _content_id(line: Line) -> str:
    content = msgspec.structs.replace(line, **UNHASHED)
    return hashlib.sha256(msgspec.json.encode(content, order="sorted")).hexdigest()[:20]


def files(folder: Path) -> list[Path]:
    """Return a round's files of lines."""
    return sorted([*folder.glob("labels.*.jsonl"), *folder.glob("decisions.*.jsonl")])


def read(folder: Path) -> tuple[Line, ...]:
    """Read all lines of a round, in order, and check them; kept until a file changes."""
    return _read(folder, _state(folder))


def table(folder: Path) -> pd.DataFrame:
    """Return all lines of a round as the table `labels`; kept likewise."""
    return _table(folder, _state(folder)).copy(deep=False)  # pandas copies a column when it is modified


def _state(folder: Path) -> tuple[tuple[int, ...], ...]:
    return tuple(
        storage.state_of(path) for path in [*files(folder), folder / "items.parquet"] if path.exists()
    )


@lru_cache(maxsize=32)
def _table(folder: Path, state: tuple[tuple[int, ...], ...]) -> pd.DataFrame:
    return tables.frame(tables.of_records(as_labels(_read(folder, state)), "labels"))


@lru_cache(maxsize=32)
def _read(folder: Path, state: tuple[tuple[int, ...], ...]) -> tuple[Line, ...]:  # noqa: ARG001 - part of the key
    salts = salts_of(folder)
    return union(line for path in files(folder) for line in _checked(path, salts))


def check(path: Path) -> None:
    """Refuse a file with a line that was changed after it was written."""
    for _ in _checked(path, salts_of(path.parent)):
        pass


def salts_of(folder: Path) -> dict[str, str]:
    """Return the salt of each frozen item; empty for purged ones."""
    items = folder / "items.parquet"
    ids, salts = (storage.read_column(items, name, storage.RESTORED) for name in ("item_id", "salt"))
    return dict(zip(ids, salts, strict=True))


def _checked(path: Path, salts: Mapping[str, str]) -> Iterable[Line]:
    for number, line in _parsed(path):
        wrong = _wrong(line, path.parent.name, salts)
        if wrong:
            raise InputError(wrong, file=path, row=number, remedy=RESTORE)
        yield line


def _parsed(path: Path) -> Iterable[tuple[int, Line]]:
    """Return the lines of a file with their numbers. What is no line of covmis is refused."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}", file=path, remedy="Restore it from a copy"
        ) from None
    for number, raw in enumerate(data.split(b"\n"), start=1):
        if not raw.strip():
            continue
        if raw.startswith(GIT_MARKS):
            raise InputError(
                "git could not merge this file",
                file=path,
                row=number,
                remedy="Delete the marks (<<<<<<<, =======, >>>>>>>) and keep the lines of both sides: covmis reads them as "
                f"a set. The line `annotation/rounds/*/*.jsonl merge=union` in {GIT_ATTRIBUTES} makes git do that",
            )
        try:
            line = msgspec.json.decode(raw, type=Line)
        except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors, too
            raise InputError(
                f"is no complete line of a round: {error}", file=path, row=number, remedy=RESTORE
            ) from None
        yield number, line


GIT_ATTRIBUTES = ".gitattributes"


def _wrong(line: Line, number: str, salts: Mapping[str, str]) -> str:
    """Return what is wrong with a line; empty if nothing is."""
    if line.id != _content_id(line):
        return "was changed after it was written: the content does not have the hash in `id`"
    if line.round != number or line.item not in salts:
        return f"is a label of {line.item} in round {line.round}, which is no item of round {number}"
    codes = [line.by.removeprefix(MACHINE), *([line.lead] if line.decides else [])]
    if not all(map(CODE.fullmatch, codes)):  # codes become file names
        return f"'{line.by}' or '{line.lead}' cannot be a code"
    salt = salts[line.item]
    if salt and (line.comment or line.reason) and line.remarks != _remarks(salt, line.comment, line.reason):
        return "has a comment or reason that was changed after it was written"
    return ""


def union(lines: Iterable[Line]) -> tuple[Line, ...]:
    """Return each line once; of an annotator's lines about an item the last counts. A copy without remarks was purged."""
    kept: dict[str, Line] = {}
    for line in lines:
        twin = kept.get(line.id, line)
        forgotten = not (twin.comment or twin.reason) or not (line.comment or line.reason)
        kept[line.id] = msgspec.structs.replace(
            without_remarks(line) if forgotten else line, row=min(line.row, twin.row)
        )
    # Rows that were taken over from a table made from lines, since these were missing, are no second answers.
    lines_once = [line for line in kept.values() if line.label_id not in kept]
    # By time, but never before a line that it replaces: clocks may be wrong.
    latest: dict[tuple[str, ...], str] = {}
    since = {}
    for line in sorted(lines_once, key=lambda line: (line.seq, line.at, line.id)):
        since[line] = latest[line.place] = max(line.at, latest.get(line.place, ""))
    return tuple(sorted(since, key=lambda line: (since[line], line.decides, line.place)))


def without_remarks(line: Line) -> Line:
    """Return the line as after a purge."""
    return msgspec.structs.replace(line, comment="", reason="")


def add(folder: Path, lines: Iterable[Line], *, name: str = "") -> None:
    """Add these lines to their files (or all to this one). A file is replaced as a whole, with its lines in one order."""
    of_file: dict[str, list[Line]] = {}
    for line in lines:
        of_file.setdefault(name or line.name, []).append(line)
    for file_name, more in sorted(of_file.items()):
        path = folder / file_name
        _write(path, [*more, *(line for _, line in _parsed(path))] if path.exists() else more)


def forget_remarks(folder: Path, items: set[str]) -> None:
    """Remove the comments and reasons of these items, in each file where it stands."""
    for path in files(folder):
        lines = [line for _, line in _parsed(path)]
        _write(path, [without_remarks(line) if line.item in items else line for line in lines])


def _write(path: Path, lines: Iterable[Line]) -> None:
    """Write a file with each of these lines once. New lines come last, where git merges them most easily."""
    ordered = sorted(union(lines), key=lambda line: (line.at, line.place, line.seq, line.id))
    rows = [json.dumps(msgspec.to_builtins(line), ensure_ascii=False) + "\n" for line in ordered]
    data = "".join(rows).encode()
    if not path.exists() or path.read_bytes() != data:
        storage.write_bytes(path, data)
        for kept in (_read, _table):  # a clock with a resolution of two seconds cannot distinguish two writes
            kept.cache_clear()


def as_labels(lines: Sequence[Line]) -> list[Label]:
    """Return the lines as rows of the table `labels`; a row supersedes the annotator's earlier one of the item and phase."""
    last: dict[tuple[str, str, str], str] = {}
    earlier: set[str] = set()
    rows = []
    for line in lines:
        key = (line.item, line.phase, line.by)
        # Two copies of an earlier version's table may have one answer at two times, under the same id.
        label_id = line.id if line.label_id in earlier or not line.label_id else line.label_id
        earlier.add(label_id)
        rows.append(
            Label(
                label_id=label_id,
                item_id=line.item,
                round=line.round,
                phase=line.phase,
                annotator=line.by,
                label=line.label,
                sub_label=line.sub,
                status=line.status,
                reason=line.reason,
                error_class=line.error_class,
                comment=line.comment,
                seconds=float("nan") if line.seconds is None else line.seconds,
                guideline=line.guideline,
                shown=line.shown,
                given_at=line.at,
                channel=line.channel,
                supersedes=last.get(key, ""),
            )
        )
        last[key] = label_id
    return rows


def of_table(labels: Sequence[Label], salts: Mapping[str, str]) -> tuple[Line, ...]:
    """Return the rows of an earlier version's table as lines. They keep their ids, because seals name them.

    Nobody knows who recorded its decisions: the lead is the row's annotator, and each decision knew those before it.
    """
    counts: Counter[tuple[str, ...]] = Counter()
    standing: dict[str, str] = {}
    lines = []
    for number, row in enumerate(labels, start=1):
        decides = row.phase != Phase.INDEPENDENT
        place = (row.item_id,) if decides else (row.item_id, row.annotator)
        counts[place] += 1
        before = [standing[row.item_id]] if decides and row.item_id in standing else []
        line = line_of(
            row,
            seq=counts[place],
            salt=salts.get(row.item_id, ""),
            lead=row.annotator if decides else "",
            instead_of=before,
            at_row=number,
        )
        if decides:
            standing[row.item_id] = line.id
        lines.append(line)
    return union(lines)
