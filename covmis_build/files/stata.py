"""Tables of Stata (.dta), read by pandas; values with labels are shown as their labels."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from covmis_build.errors import InputError
from covmis_build.files.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from covmis_build.files.table import Row

STATA = (b"<stata_dta>", *(bytes([version, order, 1]) for version in (113, 114, 115) for order in (1, 2)))
"""First bytes of a file of Stata 13 or later, and of Stata 8 to 12: its version, its order of bytes, 1."""
END = b"</stata_dta>"
ROWS = 10_000


def open_stata(content: bytes) -> Table:
    """Open the table. A value label that stands for several values leaves the values as numbers."""
    import pandas as pd

    if content.startswith(STATA[0]) and not content.endswith(END):
        raise InputError("is cut off", remedy="Copy it again")
    with pd.read_stata(io.BytesIO(content), chunksize=ROWS) as about:
        header = [str(name) for name in about.variable_labels()]
        names = [[*labels.values()] for labels in about.value_labels().values()]
    labelled = all(len(set(labels)) == len(labels) for labels in names)
    notes = [] if labelled else ["a value label stands for several values: all values are shown as numbers"]
    table = Table("Stata", header, lambda: iter(()), notes=notes, begins=1)

    def rows() -> Iterator[Row]:
        number = 0
        read = pd.read_stata(io.BytesIO(content), chunksize=ROWS, convert_categoricals=labelled)
        with read as chunks:
            for chunk in chunks:
                for values in (
                    chunk.astype(object).where(chunk.notna(), None).itertuples(index=False, name=None)
                ):
                    number += 1
                    yield table.row(number, values)

    table.rows = rows
    return table
