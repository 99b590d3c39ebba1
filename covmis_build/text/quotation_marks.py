"""Whether a table's quotation marks quote its cells, or are signs of its texts.

Who writes tabs between cells often quotes none of them: `1<tab>"No!" she said`. Read as quoted, such a cell has no end
that belongs to it, or it takes in the rows below up to the next quotation mark, without a word.
"""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


TWICE = 'A quotation mark inside a quoted cell stands there twice (in R: qmethod = "double")'
_QUOTED = re.compile(r'"[^"\t]*"(?:\t"[^"\t]*")*')


def are_signs(lines: Callable[[], Iterable[str]], separator: str) -> bool:
    r"""Whether each line by itself has all cells, while quoted some would not end on their line.

    >>> are_signs(lambda: ['id\ttext\n', '1\t"No!" she said\n'], "\t"), are_signs(lambda: ['1\t"No!"\n'], "\t")
    (True, False)
    >>> are_signs(lambda: ['id\tby\ttext\n', '1\ta\t"No\n', 'and no"\n'], "\t")
    False
    """
    if separator != "\t" or not _all_cells_on_each(lines()):
        return False
    reader = csv.reader(lines(), delimiter=separator, strict=True)
    try:
        return any(reader.line_num > number for number, _ in enumerate(reader, start=1))
    except csv.Error:
        return True


def _all_cells_on_each(lines: Iterable[str]) -> bool:
    """Whether all lines have as many tabs as the first, whose cells are not quoted, and there is a mark to ask about."""
    marked, tabs = False, -1
    for line in lines:
        if tabs < 0 and _QUOTED.fullmatch(line.strip()):
            return False
        marked = marked or '"' in line
        tabs = line.count("\t") if tabs < 0 else tabs
        if line.count("\t") != tabs and line.strip():
            return False
    return marked and tabs > 0


def rows_of(lines: Iterable[str], separator: str, *, signs: bool) -> Iterator[list[str]]:
    """The cells of each row; `signs`: quotation marks are signs of the texts."""
    if signs:
        return csv.reader(lines, delimiter=separator, quoting=csv.QUOTE_NONE)
    return csv.reader(lines, delimiter=separator, strict=True)
