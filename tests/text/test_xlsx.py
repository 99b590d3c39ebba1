"""Workbooks of Excel that say more, or less, than they hold."""

from __future__ import annotations

import re
import zipfile

import pytest

from covmis_build.annotation.channels.workbooks import read_table
from covmis_build.archive.table_files import open_table
from covmis_build.errors import InputError
from covmis_build.text import xlsx
from covmis_build.text.sheets import read_sheet

openpyxl = pytest.importorskip("openpyxl")


def workbook(path, rows):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def changed(path, before, after):
    """The workbook with its sheet's XML changed."""
    with zipfile.ZipFile(path) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    with zipfile.ZipFile(path, "w") as packed:
        for name, part in parts.items():
            packed.writestr(name, re.sub(before, after, part) if "sheet1" in name else part)
    return path


READERS = {
    "claims": read_sheet,
    "posts": lambda path: list(open_table(lambda: path.open("rb")).rows()),
    "labels": lambda path: read_table(path, "item_id"),
}


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (rb'<row r="3"([^>]*)>.*?</row>', rb'<row r="2000000000"\1><c r="A2000000000"><v>1</v></c></row>'),
        (
            rb"(<row r=\"3\".*?</row>)",
            b"".join(
                b'<row r="%d"><c r="XFD%d"><v>1</v></c></row>' % (number, number) for number in range(3, 20)
            ),
        ),
    ],
    ids=["far below", "far to the right"],
)
def test_cells_far_apart_are_no_list(tmp_path, monkeypatch, read, before, after):
    monkeypatch.setattr(xlsx, "MOST_EMPTY", 100_000)
    path = workbook(tmp_path / "a1.xlsx", [["item_id", "claim"], [1, "a"], [2, "b"]])
    with pytest.raises(InputError, match="has more rows or columns than any list"):
        READERS[read](changed(path, before, after))


@pytest.mark.parametrize("read", READERS)
def test_excels_escapes_are_characters(tmp_path, read):
    path = workbook(tmp_path / "a1.xlsx", [["item_id", "comment"], ["1", "line_x000D_ next"]])
    assert "line\\r next" in str(READERS[read](path))
