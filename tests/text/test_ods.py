"""Cells of a Calc workbook come as people see them."""

from __future__ import annotations

import io

from odf import opendocument, table, teletype, text

from covmis_build.text.ods import ods_rows


def test_tabs_line_ends_and_spaces_inside_a_cell_stay():
    """They are elements of their own in the file; the words beside them were joined."""
    words = "two  spaces\ta tab\nan end"
    book = opendocument.OpenDocumentSpreadsheet()
    page, row = table.Table(name="posts"), table.TableRow()
    cell, paragraph = table.TableCell(valuetype="string"), text.P()
    teletype.addTextToElement(paragraph, words)
    cell.addElement(paragraph)
    row.addElement(cell)
    page.addElement(row)
    book.spreadsheet.addElement(page)
    file = io.BytesIO()
    book.write(file)
    assert list(ods_rows(io.BytesIO(file.getvalue()))) == [[words]]
