"""Cells of a Calc workbook come as people see them."""

from __future__ import annotations

import io

from odf import opendocument, table, teletype, text

from covmis_build.text.ods import ods_rows


def saved(*parts):
    """A workbook of one cell, with these in its paragraph."""
    book = opendocument.OpenDocumentSpreadsheet()
    page, row = table.Table(name="posts"), table.TableRow()
    cell, paragraph = table.TableCell(valuetype="string"), text.P()
    for part in parts:
        if isinstance(part, str):
            teletype.addTextToElement(paragraph, part)
        else:
            paragraph.addElement(part)
    cell.addElement(paragraph)
    row.addElement(cell)
    page.addElement(row)
    book.spreadsheet.addElement(page)
    file = io.BytesIO()
    book.write(file)
    return io.BytesIO(file.getvalue())


def test_tabs_line_ends_and_spaces_inside_a_cell_stay():
    """They are elements of their own in the file; the words beside them were joined."""
    words = "two  spaces\ta tab\nan end"
    assert list(ods_rows(saved(words))) == [[words]]


def test_millions_of_spaces_are_no_text():
    ((cell,),) = ods_rows(saved("a", text.S(c=10**12), "b"))
    assert cell == f"a{' ' * 100}b"
