"""Cells of a Calc workbook come as people see them."""

from __future__ import annotations

import io

from odf import office, opendocument, table, teletype, text

from covmis_build.annotation.channels.workbooks import _read_ods
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


def test_millions_of_spaces_are_no_text(tmp_path):
    """Neither in a list, nor in an annotator's sheet."""
    book = saved("a", text.S(c=10**12), "b")
    assert list(ods_rows(book)) == [[f"a{' ' * 100}b"]]
    (tmp_path / "a1.ods").write_bytes(book.getvalue())
    assert _read_ods(tmp_path / "a1.ods") == [[[f"a{' ' * 100}b"]]]


def test_a_note_beside_words_is_none_of_them():
    note = office.Annotation()
    note.addElement(text.P(text="who says so?"))
    assert list(ods_rows(saved("a", note, "b"))) == [["ab"]]
