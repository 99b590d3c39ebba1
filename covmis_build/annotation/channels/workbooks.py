"""Sheets as workbooks (xlsx), for Excel and LibreOffice: texts are text, labels a list to choose from, the rest locked.

A locked sheet cannot be sorted by one column, and its ids and texts stay what they are. No password: the person who means to
can unlock it, and then the same checks find what moved as in CSV.
"""

from __future__ import annotations

import io
import math
import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LONGEST_CELL = 32_000
"""Excel takes 32,767 characters; a longer text is cut here, with a sign that says so."""
HIGHEST = 400
"""The height of a row, in points; Excel takes 409."""
WIDTHS = {
    "item_id": 14,
    "claim": 34,
    "post": 70,
    "context": 40,
    "label": 12,
    "sub_label": 14,
    "comment": 40,
    "check": 10,
}


@dataclass(frozen=True, slots=True)
class Grid:
    """A sheet before it is written: its columns, its rows, and for the columns to fill in what may stand there."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    choices: Mapping[str, Sequence[str]]
    """Column to fill in → what may be chosen there; empty: free text."""
    following: tuple[str, str] = ("", "")
    """A column whose cells are formulas that follow the cells of another, wherever somebody moves them."""
    hints: Mapping[str, str] = field(default_factory=dict)
    """Column → a sentence that the program shows when one of its cells is selected."""


def as_cell(text: str) -> str:
    r"""A text as a workbook's cell can hold it: without control characters, and not longer than Excel takes.

    >>> as_cell("a\x0bb"), len(as_cell("x" * 40000))
    ('ab', 32001)
    """
    kept = "".join(
        sign
        for sign in text.replace("\r\n", "\n").replace("\r", "\n")
        if sign in "\n\t" or (unicodedata.category(sign) not in {"Cc", "Cs"} and sign not in "\ufffe\uffff")
    )
    return kept if len(kept) <= LONGEST_CELL else kept[:LONGEST_CELL] + "…"


def lines_of(grid: Grid, row: Sequence[str]) -> int:
    r"""How many lines this row takes in columns as wide as ours: programs do not measure a protected sheet's rows.

    >>> lines_of(Grid(["claim", "post"], [], {}), ["x" * 34, "one\ntwo " + "y" * 80])
    3
    """
    cells = zip(grid.columns, row, strict=True)
    return max(
        sum(_folded(line, WIDTHS.get(name, 20)) for line in as_cell(text).split("\n")) for name, text in cells
    )


def _folded(line: str, width: int) -> int:
    """How many lines become of one; a sign of Chinese or Japanese is as wide as two, and words do not fill a line."""
    signs = sum(1 + (unicodedata.east_asian_width(sign) in "WF") for sign in line)
    return math.ceil(max(signs, 1) * 1.1 / width)


def _height(grid: Grid, row: Sequence[str]) -> int:
    """In points."""
    return min(15 * lines_of(grid, row) + 3, HIGHEST)


def xlsx(grid: Grid) -> bytes:
    """The sheet as a workbook of Excel."""
    import openpyxl
    from openpyxl.styles import Alignment, Font, Protection
    from openpyxl.utils import get_column_letter
    from openpyxl.worksheet.datavalidation import DataValidation
    from openpyxl.worksheet.properties import PageSetupProperties

    book = openpyxl.Workbook()
    page = book.active
    page.title = "labels"
    for at, line in enumerate([grid.columns, *grid.rows], start=1):
        page.row_dimensions[at].height = _height(grid, line)
        for column, text in enumerate(line, start=1):
            cell = page.cell(at, column)
            cell.value, cell.data_type = as_cell(text), "s"  # text, whatever it begins with: never a formula
            if at > 1 and grid.columns[column - 1] == grid.following[0]:
                followed = f"{get_column_letter(grid.columns.index(grid.following[1]) + 1)}{at}"
                cell.value, cell.data_type = f'=IF({followed}="","{text}","{text}")', "f"
            cell.number_format = "@"
            cell.alignment = Alignment(wrap_text=True, vertical="top")
            cell.font = Font(bold=at == 1)
            cell.protection = Protection(locked=at == 1 or grid.columns[column - 1] not in grid.choices)
    for column, name in enumerate(grid.columns, start=1):
        letter = get_column_letter(column)
        page.column_dimensions[letter].width = WIDTHS.get(name, 20)
        rule = DataValidation(allow_blank=True)
        listed = ",".join(grid.choices.get(name, ()))
        # Excel keeps a list of at most 255 characters in a cell; a longer one is written, but not offered
        if 0 < len(listed) <= 255 and not any("," in word for word in grid.choices[name]):
            rule.type, rule.formula1 = "list", '"' + listed.replace('"', '""') + '"'
            rule.showErrorMessage = False  # a key (1, 2, 3) may be written, too
        if name in grid.hints:
            rule.promptTitle, rule.prompt, rule.showInputMessage = name, grid.hints[name], True
        if (rule.type or rule.prompt) and grid.rows:
            page.add_data_validation(rule)
            rule.add(f"{letter}{2 if rule.type else 1}:{letter}{len(grid.rows) + 1}")
    page.freeze_panes = "A2"
    page.page_setup.orientation = "landscape"
    page.page_setup.fitToHeight = 0  # on paper: all columns on a page, as many pages as it takes
    page.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=True)
    page.protection.sheet = True
    page.protection.formatColumns = page.protection.formatRows = False  # widths may be changed
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()
