"""Tables with separated cells: CSV, TSV and similar."""

from __future__ import annotations

import codecs
import csv
import io
import re
from contextlib import contextmanager
from itertools import chain, islice
from typing import IO, TYPE_CHECKING, Any, AnyStr

from covmis_build.errors import InputError
from covmis_build.files import quotation_marks
from covmis_build.files.contents import PIECE, encoding_of
from covmis_build.files.table import MOST_COLUMNS, TITLES, Row, Table, above_header, header_line, of_width

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

    from covmis_build.files.contents import Open

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
SEPARATOR_LINE = re.compile(r"\s*sep=([,;\t|])[ \t]*\r?\n", re.IGNORECASE)
"""A first line in which spreadsheets state the separator."""
MARKS_ARE_TEXT = "quotation marks are read as parts of the texts"
CHUNK = 1 << 20
LONGEST_LINE, LONGEST_CELL = 32 << 20, 16 << 20
"""Maximum characters (bytes if read as such) of a line and of a cell; longer ones are no rows of posts."""
HEADER = 1 << 16
"""Maximum characters of the first line."""


def open_delimited(opened: Open, names: Sequence[str] = (), *, header: bool = True) -> Table:
    """Open a table in text lines; `names` are its columns if it has no header, and then tabs separate cells.

    If `header` is false, columns of a file without header are named by number, from 1.
    """
    encoding, note = encoding_of(opened)
    with opened() as file, io.TextIOWrapper(file, encoding, "replace", newline="") as start:
        text = start.read(CHUNK)
    if not text.strip():
        raise InputError("is empty", remedy="A header and at least one row are expected")
    says = SEPARATOR_LINE.match(text)
    separator = "\t" if names else says[1] if says else separator_of(text)
    csv.field_size_limit(LONGEST_CELL)
    by_bytes = not says and encoding != "utf-16" and "\n" in text
    source = _Lines(
        opened, encoding, separator, names, says_separator=bool(says), by_bytes=by_bytes, header=header
    )
    notes = [note, MARKS_ARE_TEXT if source.marks_are_text else "", *source.notes]
    return Table(
        source.form,
        source.header,
        source.rows,
        list(filter(None, notes)),
        short=source.short,
        begins=source.first,
        of_spreadsheets=True,
    )


def separator_of(text: str) -> str:
    r"""Return the separator in the first line, ignoring quoted parts, which may contain line ends.

    >>> separator_of('"Posted, at\nnight";text\n1;2\n')
    ';'
    """
    head = text[:HEADER].lstrip()
    bare = "".join(head.split('"')[::2]).split("\n", 1)[0]
    line = head.split("\n", 1)[0]  # an unpaired quotation mark is a literal character
    return max(SEPARATORS, key=lambda sign: (bare.count(sign), line.count(sign)))


class _Lines:
    """A file of cells. If line feeds end lines, bytes are split into lines before decoding."""

    def __init__(
        self,
        opened: Open,
        encoding: str,
        separator: str,
        names: Sequence[str],
        *,
        says_separator: bool,
        by_bytes: bool,
        header: bool,
    ) -> None:
        self.opened, self.encoding, self.separator = opened, encoding, separator
        self.says_separator, self.by_bytes = says_separator, by_bytes
        self.marks_are_text = bool(names) or quotation_marks.are_literal(self.every_line, separator)
        self.notes, self.above, self.short = list[str](), 0, set[int]()
        with self.lines() as lines:
            first = _beginning(self.cells(lines))
        if names:
            further = [""] * (len(first[0]) - len(names))
            self.form, self.header, self.first = "no header", [*names, *further], 1
            return
        if not header:
            self.header, self.first = [str(at) for at in range(1, len(first[0]) + 1)], 1
            self.form = f"{SEPARATORS[separator]} without a header"
            return
        if len(first[0]) == 1 and _is_id(first[0][0]):
            self.form, self.header, self.first = "ids, one a line", ["id"], 1
            return
        if self.has_row_names_of_r(first):
            first[0].insert(0, "")
        self.above = header_line(first)
        self.notes = above_header(first[: self.above])
        self.header, self.first = [name.strip() for name in first[self.above]], self.above + 2
        if len(self.header) > MOST_COLUMNS:
            raise InputError(f"has {len(self.header):,} columns", remedy=f"At most {MOST_COLUMNS:,}")
        self.form = f"CSV with {SEPARATORS[separator]}"
        self.form += "" if encoding.startswith("utf-8") else f", {encoding}"

    @contextmanager
    def lines(self) -> Generator[Iterator[str]]:
        """Return the lines including the header."""
        with self.opened() as file:
            if self.by_bytes:
                mark = codecs.BOM_UTF8 if self.encoding == "utf-8-sig" else b""
                file.read(len(mark))
                yield chain.from_iterable(_decoded(pieces(file, PIECE), self.encoding.removesuffix("-sig")))
                return
            with io.TextIOWrapper(file, self.encoding, "replace", newline="") as source:
                if self.says_separator:
                    source.readline()
                yield bounded_lines(source)

    def has_row_names_of_r(self, first: Sequence[Sequence[str]]) -> bool:
        """True if R's write.table wrote the file: row names ("1", "2", …) in each row, without a name in the header."""
        if not all(len(cells) == len(first[0]) + 1 for cells in first[1:]):
            return False
        counted = [cells[0] for cells in first[1:]] == [str(at) for at in range(1, len(first))]
        filled = any(cells[-1].strip() for cells in first[1:])  # else rows just end in a separator
        return counted and filled and all(line.startswith('"') for line in islice(self.every_line(), 2))

    def every_line(self) -> Iterator[str]:
        with self.lines() as lines:
            yield from lines

    def cells(self, lines: Iterable[str]) -> Iterator[list[str]]:
        return quotation_marks.rows_of(lines, self.separator, quotes_are_literal=self.marks_are_text)

    def rows(self) -> Iterator[Row]:
        """Return the rows, without blank lines."""
        width, number = len(self.header), self.first - 1
        with self.lines() as lines:
            source = self.cells(lines)
            try:
                for _ in range(self.first - 1):
                    next(source, None)
                for number, cells in enumerate(source, start=self.first):
                    if len(cells) == width and "!" <= cells[0] < "\x7f":
                        yield Row(number, cells)
                    elif any(map(str.strip, cells)):
                        if len(cells) < width:
                            self.short.add(number)
                        yield of_width(number, cells, width)
            except csv.Error as error:
                raise _no_csv(error, number + 1) from None


def _decoded(parts: Iterable[io.BytesIO], encoding: str) -> Iterator[io.StringIO]:
    for part in parts:
        yield io.StringIO(part.getvalue().decode(encoding, "replace"), newline="")


def _beginning(source: Iterator[list[str]]) -> list[list[str]]:
    """Return the first lines, including the header. A later error is reported with its row."""
    first: list[list[str]] = []
    try:
        first += islice(source, 1)
    except csv.Error as error:
        raise _no_csv(error) from None
    try:
        first += islice(source, TITLES)
    except csv.Error:
        return first
    return first or [[]]


def _no_csv(error: csv.Error, row: int | str = "") -> InputError:
    return InputError(f"is not readable as CSV: {error}", row=row, remedy=quotation_marks.TWICE)


def bounded_lines(source: IO[AnyStr]) -> Iterator[AnyStr]:
    """Return the lines; one that is too long is an error."""
    return chain.from_iterable(pieces(source, CHUNK))


def pieces(source: IO[AnyStr], size: int) -> Iterator[Any]:
    """Return whole lines in pieces of about `size` bytes or characters."""
    while block := source.read(size):
        if block[-1:] not in {"\n", b"\n"}:
            block += source.readline(LONGEST_LINE)
        lines: IO[Any] = io.StringIO(block, newline="") if isinstance(block, str) else io.BytesIO(block)
        if len(block) >= LONGEST_LINE and max(map(len, lines.readlines())) >= LONGEST_LINE:
            raise InputError(f"a line of more than {LONGEST_LINE >> 20} million characters")
        lines.seek(0)
        yield lines


def _is_id(text: str) -> bool:
    text = text.strip("\"' ")
    return text.isdigit() or "/status/" in text or text.startswith(("x:", "bsky:", "masto:", "at://"))
