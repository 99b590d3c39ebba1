"""One CSV sheet per annotator: safe in Excel and LibreOffice, and checked row by row when it comes back.

A sheet has one row an item, in the annotator's own order, and these columns:

    item_id     identifies the row; leave it as it is
    claim       the claim
    post        the post
    context     date, linked pages, quoted post …: what the study shows, one a paragraph
    label       to fill in: one of [labels] values (or its key), or `skip`
    sub_label   to fill in; only where the scheme has sub-labels
    comment     to fill in, if there is something to say

The separator may come back as a semicolon or a tab, the encoding as UTF-8 or UTF-16. A row whose claim or post is
not the frozen one is refused: sorting one column alone moves labels to other posts.
"""

from __future__ import annotations

import csv
import io
import unicodedata
from typing import TYPE_CHECKING, Any

from covmis_build.annotation.answers import Answer, Problem, checked
from covmis_build.annotation.rounds import rows_of, shown_parts
from covmis_build.errors import InputError
from covmis_build.storage import csv_bytes, restored

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

    from covmis_build.options import Labels

FIXED = ("item_id", "claim", "post", "context")


def header(scheme: Labels) -> list[str]:
    """The columns of a sheet for this scheme."""
    return [*FIXED, "label", *(["sub_label"] if scheme.sub_labels else []), "comment"]


def sheet(
    frozen: pd.DataFrame, wanted: Sequence[str], scheme: Labels, before: Sequence[dict[str, str]] = ()
) -> bytes:
    """The sheet with these items, in this order, as CSV; what `before` has filled in stays filled in.

    Filled rows of items that are no longer wanted stay too: nobody's work is taken away.
    """
    columns = header(scheme)
    filled = {row["item_id"]: row for row in before if _is_filled(row)}
    frozen_rows = {row["item_id"]: row for row in rows_of(frozen)}
    order = [*wanted, *(item for item in filled if item not in set(wanted) and item in frozen_rows)]
    rows = []
    for item in order:
        cells = {**fixed_cells(frozen_rows[item]), **_answers(filled.get(item, {}))}
        rows.append([cells.get(name, "") for name in columns])
    return csv_bytes(columns, rows)


def fixed_cells(row: dict[str, Any]) -> dict[str, str]:
    """The cells of a row that are to be read, not written."""
    parts = shown_parts(row)
    context = "\n\n".join(f"{heading}: {text}" for heading, text in parts[2:])
    return {"item_id": row["item_id"], "claim": parts[0][1], "post": parts[1][1], "context": context}


def _answers(row: dict[str, str]) -> dict[str, str]:
    return {name: row.get(name, "") for name in ("label", "sub_label", "comment")}


def _is_filled(row: dict[str, str]) -> bool:
    return any(text.strip() for text in _answers(row).values())


def read_rows(path: Path, needed: Sequence[str]) -> list[dict[str, str]]:
    """A sheet's rows as they came back: cells restored, whatever separator or encoding the program used."""
    text = _decoded(path)
    first = text.partition("\n")[0]
    separator = max((";", "\t", ","), key=first.count)
    try:
        csv.field_size_limit(1 << 27)  # a long comment is no error; the limit is the whole program's
        table = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    except csv.Error as error:
        raise InputError(f"is not CSV: {error}", file=path, remedy="Save it as CSV again") from None
    names = [name.strip().casefold() for name in table[0]] if table else []
    for name in needed:
        if name not in names:
            raise InputError(
                f"the column {name} is missing", file=path, remedy="Keep the first row as it was made"
            )
    if len(set(names)) < len(names):
        raise InputError("two columns have the same name", file=path, row=1, remedy="Remove one of them")
    found = []
    for number, cells in enumerate(table[1:], start=2):
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) > len(names):
            raise InputError("has more cells than the first row", file=path, row=number)
        padded = [*cells, *[""] * (len(names) - len(cells))]
        row = {name: restored(cell) for name, cell in zip(names, padded, strict=True)}
        found.append({**row, "row": str(number)})
    return found


def _decoded(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None
    try:
        return data.decode("utf-16" if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(
            "is not UTF-8", file=path, remedy="Save it as 'CSV UTF-8' (Excel) or with UTF-8 (LibreOffice)"
        ) from None


def read_sheet(
    path: Path, annotator: str, frozen: pd.DataFrame, scheme: Labels
) -> tuple[list[Answer], list[Problem]]:
    """What this annotator has filled in so far, and what is wrong with it, row by row."""
    rows = read_rows(path, ("item_id", "claim", "post", "label", "comment"))
    items = {row["item_id"]: row for row in rows_of(frozen)}
    answers: dict[str, Answer] = {}
    problems: list[Problem] = []
    for row in rows:
        where, item = f"{path.name}, row {row['row']}", row["item_id"].strip()
        if not _is_filled(row):
            continue
        wrong = misplaced(row, items.get(item))
        if wrong:
            problems.append(Problem(where, *wrong))
            continue
        answer = checked(_answer(row, item, annotator, items[item]), scheme)
        if answer.status == "invalid":
            problems.append(Problem(where, answer.reason, _remedy(scheme)))
        if item in answers and answers[item] != answer:
            both = f"{answers[item].label or answers[item].status} and {answer.label or answer.status}"
            problems.append(Problem(where, f"a second answer for {item}: {both}", "Keep one of the rows"))
            answer = Answer(item, annotator, "", "csv", status="invalid", reason=f"two answers: {both}",
                            shown=answer.shown)  # fmt: skip
        answers[item] = answer
    return list(answers.values()), problems


def _answer(row: dict[str, str], item: str, annotator: str, frozen: dict[str, Any]) -> Answer:
    return Answer(
        item_id=item,
        annotator=annotator,
        label=row["label"].strip(),
        sub_label=row.get("sub_label", "").strip(),
        comment=row["comment"].strip(),
        channel="csv",
        shown=frozen["shown"],
    )


def _remedy(scheme: Labels) -> str:
    return f"Write {', '.join(scheme.values)}, or skip"


def misplaced(row: dict[str, str], frozen: dict[str, Any] | None) -> tuple[str, str] | None:
    """What is wrong with the row's place: an item of no round, or another item's text."""
    if frozen is None:
        item = row["item_id"].strip() or "(empty)"
        return (f"the item {item} is not in this round", "Restore the column item_id")
    cells = fixed_cells(frozen)
    for name in ("claim", "post"):
        if _spaced(row.get(name, "")) != _spaced(cells[name]):
            remedy = "Were columns sorted apart? Put the row's own text back"
            return (f"the {name} is not the one of {frozen['item_id']}", remedy)
    return None


def _spaced(text: str) -> str:
    """Text as programs may not change it: their line ends, spaces and composed letters are all one to us."""
    return " ".join(unicodedata.normalize("NFC", text).split())
