"""Workbooks as programs write them, for tests."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

import openpyxl

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

CONTENT = """<?xml version="1.0" encoding="UTF-8"?>
<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0"
 office:version="1.3"><office:body><office:spreadsheet>"""
TAIL = "</office:spreadsheet></office:body></office:document-content>"
MANIFEST = """<?xml version="1.0" encoding="UTF-8"?>
<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">
<manifest:file-entry manifest:full-path="/" manifest:media-type="application/vnd.oasis.opendocument.spreadsheet"/>
</manifest:manifest>"""
MIMETYPE = "application/vnd.oasis.opendocument.spreadsheet"


def workbook(path: Path, merged: Sequence[str] = (), **sheets: Sequence[Sequence[object]]) -> Path:
    """A workbook of these sheets, each of rows, as xlsx or ods; areas of the first that are merged (xlsx alone)."""
    if path.suffix == ".ods":
        texts = {name: [[cell or "" for cell in row] for row in rows] for name, rows in sheets.items()}
        return of_xml(path, "".join(sheet_of(rows, name) for name, rows in texts.items()))
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        page = book.create_sheet(name)
        for row in rows:
            page.append(row)
    for area in merged:
        book.worksheets[0].merge_cells(area)
    book.save(path)
    return path


def ods(path: Path, rows: Sequence[Sequence[str]]) -> Path:
    """A sheet of texts as LibreOffice writes one."""
    return of_xml(path, sheet_of(rows))


def sheet_of(rows: Sequence[Sequence[str]], name: str = "sheet") -> str:
    """A sheet of texts, as XML."""
    lines = "".join("<table:table-row>" + "".join(map(_cell, row)) + "</table:table-row>" for row in rows)
    return f'<table:table table:name="{name}">{lines}</table:table>'


def of_xml(path: Path, tables: str) -> Path:
    """A workbook with these tables, given as the XML of its content."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("mimetype", MIMETYPE)
        parts.writestr("META-INF/manifest.xml", MANIFEST)
        parts.writestr("content.xml", CONTENT + tables + TAIL)
    return path


def _cell(text: str) -> str:
    paragraphs = "".join(f"<text:p>{escape(line)}</text:p>" for line in text.split("\n"))
    return f'<table:table-cell office:value-type="string">{paragraphs}</table:table-cell>'
