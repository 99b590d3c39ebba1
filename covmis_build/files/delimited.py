"""Tables with separated cells: CSV, TSV and similar."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from contextlib import contextmanager
from itertools import chain, islice
from typing import IO, TYPE_CHECKING, Any, AnyStr

from covmis_build.errors import InputError, counted
from covmis_build.files import quotation_marks
from covmis_build.files.columns import is_known
from covmis_build.files.contents import PIECE, encoding_of
from covmis_build.files.table import (
    MOST_COLUMNS,
    TITLES,
    Row,
    Switches,
    Table,
    above_header,
    header_line,
    of_width,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence

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


def open_delimited(opened: Open, names: Sequence[str] = (), switches: Switches = Switches()) -> Table:  # noqa: B008 - frozen
    """Open a table in text lines; `names` are its columns if it has no header, and then tabs separate cells.

    If `switches.header` is false, columns are named by number, from 1.
    """
    encoding, note = (switches.encoding, "") if switches.encoding else encoding_of(opened)
    try:
        with opened() as file, io.TextIOWrapper(file, encoding, "replace", newline="") as start:
            text = start.read(CHUNK)
    except LookupError:
        raise InputError(
            f"no encoding is called '{encoding}'", remedy='Like encoding = "cp1251", "gb18030" or "utf-16"'
        ) from None
    if not text.strip():
        raise InputError("is empty", remedy="A header and at least one row are expected")
    if switches.lines:
        return _texts_in_lines(opened, encoding, note)
    says = SEPARATOR_LINE.match(text)
    separator = switches.separator or ("\t" if names else says[1] if says else separator_of(text))
    csv.field_size_limit(LONGEST_CELL)
    by_bytes = (
        not says
        and not encoding.lower().startswith(("utf-16", "utf_16", "utf-32", "utf_32"))
        and "\n" in text
    )
    source = _Lines(
        opened, encoding, separator, names, says_separator=bool(says), by_bytes=by_bytes, switches=switches
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


def _texts_in_lines(opened: Open, encoding: str, note: str) -> Table:
    """Return each line that is not blank as a row with one cell."""

    def rows() -> Iterator[Row]:
        with opened() as file, io.TextIOWrapper(file, encoding, "replace", newline=None) as source:
            for number, line in enumerate(bounded_lines(source), start=1):
                if line.strip():
                    yield Row(number, [line.removesuffix("\n")])

    return Table("one text a line", ["text"], rows, [note] if note else [], begins=1)


LOOKED_AT, MANY_ROWS, HALF, CONSISTENT = 1000, 0.9, 0.5, 3
"""Lines that choose the separator, the share of rows that must have the same number of cells, the share below which a table has
one column if its first line has no separator, and the fewest rows that tell."""


def separator_of(text: str) -> str:
    r"""Return the separator that gives nearly all rows the same number of cells; in doubt the one of the first line.

    >>> separator_of('"Posted, at\nnight";text\n1;2\n')
    ';'
    >>> separator_of("comment\nno, never\nyes\nwell, yes, and no\n")
    '\t'
    >>> separator_of("1\ta, b, and c\tFAVOR\n2\td\tNONE\n3\te, f\tNONE\n")
    '\t'
    """
    first = _separator_of_first_line(text)
    lines = text[:CHUNK].splitlines(keepends=True)[:LOOKED_AT]
    if text[-1:] not in {"\n", "\r"} and len(lines) > 1 and len(text) >= CHUNK:
        lines = lines[:-1]
    fits = {sign: _consistency(lines, sign) for sign in SEPARATORS}
    if fits[first] >= MANY_ROWS:
        _refuse_rivals(lines, first, fits)
        return first
    best = max(SEPARATORS, key=lambda sign: fits[sign])
    if fits[best] >= MANY_ROWS:
        return best
    head = text[:HEADER].lstrip().split("\n", 1)[0]
    no_sign = "\t" not in text and not any(sign in head for sign in SEPARATORS)
    one_column = no_sign and len(lines) > CONSISTENT and fits[best] < HALF
    return "\t" if one_column else first


def _separator_of_first_line(text: str) -> str:
    """Return the most frequent separator of the first line, ignoring quoted parts, which may contain line ends."""
    head = text[:HEADER].lstrip()
    bare = "".join(head.split('"')[::2]).split("\n", 1)[0]
    line = head.split("\n", 1)[0]  # an unpaired quotation mark is a literal character
    return max(SEPARATORS, key=lambda sign: (bare.count(sign), line.count(sign)))


def _consistency(lines: Sequence[str], separator: str) -> float:
    """Return the share of rows with the most frequent number of cells; 0 if that is one, or if there are few rows."""
    try:
        widths = Counter(len(cells) for cells in csv.reader(lines, delimiter=separator) if any(cells))
    except csv.Error:
        return 0.0
    (width, count) = widths.most_common(1)[0] if widths else (1, 0)
    return count / widths.total() if width > 1 and widths.total() >= CONSISTENT else 0.0


def _refuse_rivals(lines: Sequence[str], chosen: str, fits: Mapping[str, float]) -> None:
    """Ask which separator is meant if two give all rows the same number of cells, unless the header has known names with one only."""
    known = {
        sign: any(map(is_known, cells))
        for sign in SEPARATORS
        if fits[sign] >= MANY_ROWS and (cells := next(csv.reader(lines, delimiter=sign), []))
    }
    rivals = [SEPARATORS[sign] for sign in known if sign != chosen and known[sign] >= known[chosen]]
    if rivals and fits[chosen] < 1:
        raise InputError(
            f"can be read with {SEPARATORS[chosen]} or {' or '.join(rivals)} between cells",
            remedy='Say so: separator = "," in [[retrieval.columns]], --separator "," for claims',
        )


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
        switches: Switches,
    ) -> None:
        self.opened, self.encoding, self.separator = opened, encoding, separator
        self.says_separator, self.by_bytes = says_separator, by_bytes
        self.marks_are_text = bool(names) or quotation_marks.are_literal(self.every_line, separator)
        self.notes, self.above, self.short = list[str](), 0, set[int]()
        with self.lines() as lines:
            first = _beginning(self.cells(lines), max(TITLES, switches.header_line))
        if (widest := max(map(len, first))) > MOST_COLUMNS:
            raise InputError(f"has {widest:,} columns", remedy=f"At most {MOST_COLUMNS:,}")
        if names:
            further = [""] * (len(first[0]) - len(names))
            self.form, self.header, self.first = "no header", [*names, *further], 1
            return
        if switches.header is False:
            self.header, self.first = [str(at) for at in range(1, widest + 1)], 1
            self.form = f"{_called(separator)} without a header"
            return
        if not switches.header_line and len(first[0]) == 1 and _is_id(first[0][0]):
            self.form, self.header, self.first = "ids, one a line", ["id"], 1
            return
        if self.has_row_names_of_r(first):
            first[0].insert(0, "")
        if switches.header_line > len(first):
            raise InputError(
                f"has {counted(len(first), 'rows')}, and no header in line {switches.header_line}",
                remedy="header = N counts lines from 1",
            )
        self.above = switches.header_line - 1 if switches.header_line else header_line(first)
        self.notes = above_header(first[: self.above])
        self.header, self.first = [name.strip() for name in first[self.above]], self.above + 2
        self.form = f"CSV with {_called(separator) if len(self.header) > 1 else 'one column'}"
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


def _called(separator: str) -> str:
    return SEPARATORS.get(separator, f"'{separator}'")


def _beginning(source: Iterator[list[str]], many: int) -> list[list[str]]:
    """Return the first lines, including the header. A later error is reported with its row."""
    first: list[list[str]] = []
    try:
        first += islice(source, 1)
    except csv.Error as error:
        raise _no_csv(error) from None
    try:
        first += islice(source, many)
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
