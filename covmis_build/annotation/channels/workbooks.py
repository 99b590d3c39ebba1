"""Sheets as workbooks (xlsx) for Excel and LibreOffice: text cells, a list of labels, all other cells locked.

Users cannot sort one column of a locked sheet or change its ids and texts. There is no password: a user can unlock the
sheet, and then the same checks find moved labels as in CSV.
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
"""Longer texts are cut here with a mark. Excel allows 32,767 characters."""
HIGHEST = 400
"""Maximum height of a row, in points. Excel allows 409."""
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
    """A sheet before it is written: columns, rows, and the allowed values of the columns to fill in."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    choices: Mapping[str, Sequence[str]]
    """Column to fill in → allowed values; empty: free text."""
    following: tuple[str, str] = ("", "")
    """A column of formulas that refer to the cells of another column, also after these are moved."""
    hints: Mapping[str, str] = field(default_factory=dict)
    """Column → hint that the program shows when a cell is selected."""
    titles: Mapping[str, str] = field(default_factory=dict)
    """Column → its heading, where that is another."""

    def heading(self, column: str) -> str:
        """Return a column's heading."""
        return self.titles.get(column, column)


def as_cell(text: str) -> str:
    r"""Make a text fit a workbook cell: drop control characters and cut it to Excel's limit.

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
    r"""Return the row's height in lines for our column widths. Programs do not measure rows of protected sheets.

    >>> lines_of(Grid(["claim", "post"], [], {}), ["x" * 34, "one\ntwo " + "y" * 80])
    3
    """
    cells = zip(grid.columns, row, strict=True)
    return max(
        sum(_folded(line, WIDTHS.get(name, 20)) for line in as_cell(text).split("\n")) for name, text in cells
    )


def _folded(line: str, width: int) -> int:
    """Return how many lines one line wraps to. Chinese and Japanese characters count double; words do not fill lines."""
    signs = sum(1 + (unicodedata.east_asian_width(sign) in "WF") for sign in line)
    return math.ceil(max(signs, 1) * 1.1 / width)


def _height(grid: Grid, row: Sequence[str]) -> int:
    """Return the row's height in points."""
    return min(15 * lines_of(grid, row) + 3, HIGHEST)


def xlsx(grid: Grid) -> bytes:
    """Write the sheet as an Excel workbook."""
    import openpyxl
    from openpyxl.styles import Alignment, Font, Protection
    from openpyxl.utils import get_column_letter
    from openpyxl.worksheet.datavalidation import DataValidation
    from openpyxl.worksheet.properties import PageSetupProperties

    book = openpyxl.Workbook()
    page = book.active
    page.title = "labels"
    for at, line in enumerate([list(map(grid.heading, grid.columns)), *grid.rows], start=1):
        page.row_dimensions[at].height = _height(grid, line)
        for column, text in enumerate(line, start=1):
            cell = page.cell(at, column)
            cell.value, cell.data_type = as_cell(text), "s"  # always text, never a formula
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
        # Excel limits a cell's list to 255 characters; longer lists are written but not offered
        if 0 < len(listed) <= 255 and not any("," in word for word in grid.choices[name]):
            rule.type, rule.formula1 = "list", '"' + listed.replace('"', '""') + '"'
            rule.showErrorMessage = False  # a key (1, 2, 3) is allowed too
        if name in grid.hints:
            rule.promptTitle, rule.prompt = (
                grid.heading(name)[:32],
                grid.hints[name],
            )  # Excel allows 32 letters
            rule.showInputMessage = True
        if (rule.type or rule.prompt) and grid.rows:
            page.add_data_validation(rule)
            rule.add(f"{letter}{2 if rule.type else 1}:{letter}{len(grid.rows) + 1}")
    page.freeze_panes = "A2"
    page.page_setup.orientation = "landscape"
    page.page_setup.fitToHeight = 0  # print: all columns on one page wide, any number of pages long
    page.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=True)
    page.protection.sheet = True
    page.protection.formatColumns = page.protection.formatRows = False  # users may change widths and heights
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()
