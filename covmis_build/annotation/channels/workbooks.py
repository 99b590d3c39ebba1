"""Sheets as workbooks, for Excel (xlsx) and Calc (ods): texts are text, labels a list to choose from, the rest locked.

A locked sheet cannot be sorted by one column, and its ids and texts stay what they are. No password: whoever means to
can unlock it, and then the same checks find what moved as in CSV.
"""

from __future__ import annotations

import contextlib
import io
import math
import unicodedata
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from covmis_build.errors import InputError, MissingExtra
from covmis_build.text import xlsx as excel
from covmis_build.text.ods import letters, rows_of
from covmis_build.text.sheets import whole

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

LONGEST_CELL = 32_000
"""Excel takes 32,767 characters; a longer text is cut here, with a sign that says so."""
LARGEST = 200 * 2**20
"""A workbook that unpacks to more is not opened: ours are a hundredth of that."""
HIGHEST = 400
"""The height of a row, in points; Excel takes 409."""
WIDTHS = {"item_id": 14, "claim": 34, "post": 70, "context": 40, "label": 12, "sub_label": 14, "comment": 40}


@dataclass(frozen=True, slots=True)
class Grid:
    """A sheet before it is written: its columns, its rows, and for the columns to fill in what may stand there."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    choices: dict[str, Sequence[str]]
    """Column to fill in → what may be chosen there; empty: free text."""


@dataclass(frozen=True, slots=True)
class Page:
    """A sheet as it came back."""

    cells: list[list[str]]
    merged_down: list[tuple[int, int]]
    """Row and column, from 1, of cells that reach over several rows: the rows below would seem empty."""
    not_calculated: list[tuple[int, int]]
    """Row and column, from 1, of formulas without a value, which seem empty, too."""


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
    try:
        import openpyxl
    except ImportError as error:
        raise MissingExtra.of("sheets", "a workbook (xlsx)") from error
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
            cell.number_format = "@"
            cell.alignment = Alignment(wrap_text=True, vertical="top")
            cell.font = Font(bold=at == 1)
            cell.protection = Protection(locked=at == 1 or grid.columns[column - 1] not in grid.choices)
    for column, name in enumerate(grid.columns, start=1):
        letter = get_column_letter(column)
        page.column_dimensions[letter].width = WIDTHS.get(name, 20)
        if grid.choices.get(name) and grid.rows:
            listed = ",".join(grid.choices[name])
            # Excel keeps a list of at most 255 characters in a cell; a longer one is written, but not offered
            if len(listed) <= 255 and not any("," in word for word in grid.choices[name]):
                rule = DataValidation(
                    type="list", formula1='"' + listed.replace('"', '""') + '"', allow_blank=True
                )
                rule.showErrorMessage = False  # a key (1, 2, 3) may be written, too
                page.add_data_validation(rule)
                rule.add(f"{letter}2:{letter}{len(grid.rows) + 1}")
    page.freeze_panes = "A2"
    page.page_setup.orientation = "landscape"
    page.page_setup.fitToHeight = 0  # on paper: all columns on a page, as many pages as it takes
    page.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=True)
    page.protection.sheet = True
    page.protection.formatColumns = page.protection.formatRows = False  # widths may be changed
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def ods(grid: Grid) -> bytes:
    """The sheet as a workbook of Calc."""
    try:
        from odf import opendocument, style, table, teletype, text
    except ImportError as error:
        raise MissingExtra.of("sheets", "a workbook (ods)") from error

    book = opendocument.OpenDocumentSpreadsheet()
    styles = {}
    for name, protect in (("locked", "protected"), ("open", "none")):
        of_cell = style.Style(name=name, family="table-cell")
        of_cell.addElement(
            style.TableCellProperties(cellprotect=protect, wrapoption="wrap", verticalalign="top")
        )
        book.automaticstyles.addElement(of_cell)
        styles[name] = of_cell
    heights: dict[int, Any] = {}
    rules = table.ContentValidations()
    for name, words in grid.choices.items():
        if words:
            listed = ";".join('"' + word.replace('"', '""') + '"' for word in words)
            rule = table.ContentValidation(
                name=f"choose-{name}",
                condition=f"of:cell-content-is-in-list({listed})",
                allowemptycell="true",
                displaylist="unsorted",
            )
            rules.addElement(rule)
    book.spreadsheet.addElement(rules)
    page = table.Table(name="labels", protected="true")
    for name in grid.columns:
        width = style.Style(name=f"width-{name}", family="table-column")
        width.addElement(style.TableColumnProperties(columnwidth=f"{WIDTHS.get(name, 20) * 0.19:.1f}cm"))
        book.automaticstyles.addElement(width)
        page.addElement(table.TableColumn(stylename=width))
    for at, line in enumerate([grid.columns, *grid.rows]):
        points = _height(grid, line)
        if points not in heights:
            heights[points] = style.Style(name=f"height-{points}", family="table-row")
            heights[points].addElement(
                style.TableRowProperties(rowheight=f"{points}pt", useoptimalrowheight="false")
            )
            book.automaticstyles.addElement(heights[points])
        row = table.TableRow(stylename=heights[points])
        for name, cell_text in zip(grid.columns, line, strict=True):
            fill_in = at > 0 and name in grid.choices
            more = {"contentvalidationname": f"choose-{name}"} if fill_in and grid.choices[name] else {}
            cell = table.TableCell(
                valuetype="string", stylename=styles["open" if fill_in else "locked"], **more
            )
            for paragraph in as_cell(cell_text).split("\n") if cell_text else ():
                written = text.P()
                teletype.addTextToElement(written, paragraph)  # several spaces are several
                cell.addElement(written)
            row.addElement(cell)
        page.addElement(row)
    book.spreadsheet.addElement(page)
    out = io.BytesIO()
    book.write(out)
    return out.getvalue()


def read_table(path: Path, wanted: str) -> list[list[str]]:
    """The cells of the workbook's sheet, row by row, as text: the one sheet that has this column."""
    _check_size(path)
    read = {".xlsx": _read_xlsx, ".ods": _read_ods}[path.suffix.casefold()]
    # the libraries print what they cannot read
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            pages = read(path)
        except MissingExtra:
            raise
        except InputError as error:
            raise error.at(path) from None
        except Exception as error:  # noqa: BLE001 - a damaged workbook fails in any way inside the libraries
            raise InputError(
                f"cannot be read as a workbook: {type(error).__name__}",
                file=path,
                remedy="Save it again, or as CSV",
            ) from None
    ours = [
        page for page in pages if page.cells and wanted in [cell.strip().casefold() for cell in page.cells[0]]
    ]
    if len(ours) > 1:
        raise InputError(
            f"has two sheets with the column {wanted}, and nobody can tell which one counts", file=path,
            remedy="Remove the other one",
        )  # fmt: skip
    if not ours:
        raise InputError(
            f"has no sheet with the column {wanted} in its first row",
            file=path,
            remedy="Keep the first row as it was made",
        )
    for row, column in ours[0].merged_down:
        raise InputError(
            f"column {letters(column)} has a cell that is merged over several rows", file=path, row=row,
            remedy="Split it, and give each row a value of its own",
        )  # fmt: skip
    for row, column in ours[0].not_calculated:
        raise InputError(
            f"column {letters(column)} has a formula that no program has calculated", file=path, row=row,
            remedy="Open the workbook and save it, or write the value itself",
        )  # fmt: skip
    return ours[0].cells


def _check_size(path: Path) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(part.file_size for part in archive.infolist())
    except (OSError, zipfile.BadZipFile) as error:
        raise InputError(
            f"cannot be read as a workbook: {error}", file=path, remedy="Save it again, or as CSV"
        ) from None
    if size > LARGEST:
        raise InputError(
            f"unpacks to {size:,} bytes", file=path, remedy=f"At most {LARGEST:,}: save it again, or as CSV"
        )


def _read_xlsx(path: Path) -> list[Page]:
    try:
        import openpyxl
    except ImportError as error:
        raise MissingExtra.of("sheets", f"{path.name} is a workbook; reading it") from error
    with path.open("rb") as file:
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        formulas = openpyxl.load_workbook(file, read_only=True)
        pages = []
        for page, with_formulas in zip(excel.pages_of(book), excel.pages_of(formulas), strict=True):
            lines = list(excel.rows_of(page))
            pages.append(
                Page(
                    [[_text(value) for value in line] for line in lines],
                    [(area.top, area.column) for area in excel.merged_down(file, page, lines)],
                    excel.not_calculated(with_formulas, lines),
                )
            )
    return pages


def _read_ods(path: Path) -> list[Page]:
    pages = dict[int, Page]()
    with path.open("rb") as file:
        for row in rows_of(file):
            if row.sheet < 0:
                continue
            page = pages.setdefault(row.sheet, Page([], [], []))
            page.cells.append([_text(value) for value in row.cells])
            page.merged_down.extend((len(page.cells), column) for column, _ in row.merged_down)
            page.not_calculated.extend((len(page.cells), column) for column in row.not_calculated)
    return list(pages.values())


def _text(value: Any) -> str:
    """A cell as people see it: a whole number without a point, nothing for nothing."""
    if value is None:
        return ""
    return whole(value) if isinstance(value, float) and value.is_integer() else str(value)
