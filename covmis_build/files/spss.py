"""Tables of SPSS (.sav, .zsav), read by pyreadstat; values with labels are shown as their labels."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from covmis_build.errors import InputError, MissingExtra
from covmis_build.files.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from covmis_build.files.table import Row

SPSS = (b"$FL2", b"$FL3")
"""First bytes of a file of SPSS, and of one that is compressed as a whole."""


def open_spss(content: bytes) -> Table:
    """Open the table. Values that its makers declared as missing are empty."""
    try:
        import pyreadstat
    except ImportError:
        raise MissingExtra.of("statistics", "A file of SPSS") from None

    try:
        columns, about = pyreadstat.read_sav(io.BytesIO(content), output_format="dict")
    except pyreadstat.ReadstatError as error:
        raise InputError(
            f"is not readable as SPSS: {error}", remedy="Copy it again, or save it as CSV"
        ) from None
    words = about.variable_value_labels
    shown = [
        [words[name].get(value, value) for value in values] if name in words else values
        for name, values in columns.items()
    ]
    table = Table("SPSS", list(columns), lambda: iter(()), begins=1)

    def rows() -> Iterator[Row]:
        yield from (table.row(number, values) for number, values in enumerate(zip(*shown, strict=True), 1))

    table.rows = rows
    return table
