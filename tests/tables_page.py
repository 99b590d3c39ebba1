"""Write the columns of every table into docs/reference/tables.md: `python -m tests.tables_page`.

What they are stands in covmis_build/records.py; the words around them are written by hand.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from covmis_build import records

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "tables.md"
BEGIN, END = "<!-- tables: made by python -m tests.tables_page -->\n", "<!-- end of tables -->\n"
TYPES = {"string": "text", "int64": "whole number", "double": "number", "bool": "yes or no"}


def page() -> str:
    """The whole page, with the columns as the records have them."""
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    return (
        before + BEGIN + "".join(map(section, records.TABLES.values())) + "\n" + END + rest.partition(END)[2]
    )


def section(table: records.Table) -> str:
    """A table: what a row is, and a line a column; of columns that an earlier table has, too, their names."""
    head = f"\n## {table.name}\n\nMade by {table.made_by}. A row is {table.row}.\n\n| column | type | what it is |\n|---|---|---|\n"
    earlier: dict[str, list[str]] = {}
    rows = ""
    for column in table.columns:
        first = next(
            other.name
            for other in records.TABLES.values()
            if any((one.name, one.about) == (column.name, column.about) for one in other.columns)
        )
        if first == table.name or column.name in table.key:
            rows += line(column, table)
        else:
            earlier.setdefault(first, []).append(column.name)
    return head + rows + "".join(f"\nAs in {name}: {', '.join(names)}.\n" for name, names in earlier.items())


def line(column: records.Column, table: records.Table) -> str:
    """A column; those of the key in bold."""
    name = f"**{column.name}**" if column.name in table.key else column.name
    since = f" (since {column.since}; empty in files of earlier versions)" if column.since else ""
    about = column.about.replace("|", "\\|")
    return f"| {name} | {type_of(column.type)} | {about}{since} |\n"


def type_of(kind: pa.DataType) -> str:
    """A type in words."""
    if pa.types.is_list(kind):
        return f"list of {type_of(kind.value_type)}s"
    return "record" if pa.types.is_struct(kind) else TYPES[str(kind)]


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
