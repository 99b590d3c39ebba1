"""The first sheet of a Calc workbook (ods), row by row: numbers as numbers, days as ISO days, texts as people see them."""

from __future__ import annotations

import zipfile
from typing import IO, TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_COLUMNS = 16_384
"""As many as a spreadsheet can have: a cell may say that it is repeated without end."""
MOST_SPACES = 100
"""Side by side in a cell: it may say that there are millions."""
NAME = "{urn:oasis:names:tc:opendocument:xmlns:%s:1.0}%s"
SIGNS = {NAME % ("text", "tab"): "\t", NAME % ("text", "line-break"): "\n"}
SPACES, NOTE = NAME % ("text", "s"), NAME % ("office", "annotation")


def ods_rows(file: IO[bytes]) -> Iterator[list[Any]]:
    """The cells of each row; None for an empty one."""
    with zipfile.ZipFile(file) as packed, packed.open("content.xml") as content:
        for _, element in ET.iterparse(content):  # noqa: S314 - expat refuses entities that grow
            if element.tag == NAME % ("table", "table-row"):
                yield list(_cells(element))
                element.clear()
            elif element.tag == NAME % ("table", "table"):
                return


def _cells(row: ET.Element) -> Iterator[Any]:
    for cell in row:
        times = min(int(cell.get(NAME % ("table", "number-columns-repeated"), "1")), MOST_COLUMNS)
        kind = cell.get(NAME % ("office", "value-type"), "")
        if kind == "float":
            text = cell.get(NAME % ("office", "value"), "")
            value: Any = int(float(text)) if float(text).is_integer() else float(text)
        elif kind == "date":
            value = cell.get(NAME % ("office", "date-value"), "")
        else:
            value = "\n".join("".join(_parts(part)) for part in cell.findall(NAME % ("text", "p"))) or None
        yield from [value] * (times if value is not None or times < 1_000 else 1)


def _parts(node: ET.Element) -> Iterator[str]:
    """The text inside a paragraph; tabs, line ends and several spaces are elements of their own there."""
    yield node.text or ""
    for child in node:
        if child.tag == SPACES:
            yield " " * min(int(child.get(NAME % ("text", "c"), "1")), MOST_SPACES)
        elif child.tag in SIGNS:
            yield SIGNS[child.tag]
        elif child.tag != NOTE:
            yield from _parts(child)
        yield child.tail or ""
