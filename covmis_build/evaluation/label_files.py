"""Labels in tables: gold or predictions from files or frames, with their id and label columns."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covmis_build.errors import InputError, UnknownName, counted, nearest
from covmis_build.files.columns import (
    GIVEN_LABELS,
    IDS,
    PREDICTIONS,
    SETTLED_LABELS,
    column_of,
    folded,
    is_known,
)
from covmis_build.files.ids import NO_LABELS, check_ids, check_rounded
from covmis_build.files.reading import Sheet, read_table, report
from covmis_build.files.table import Switches, list_of
from covmis_build.files.workbook import KEPT_DIGITS
from covmis_build.label_words import label_meant

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    import pandas as pd

LABELS = (*GIVEN_LABELS, *SETTLED_LABELS)
"""Column names for gold's labels; for a system only if it has no column of its own."""
GOLD, SYSTEMS = (LABELS, PREDICTIONS), (PREDICTIONS, LABELS)
PEOPLE = (GIVEN_LABELS, SETTLED_LABELS, PREDICTIONS)
"""Sources of labels, with column names in order of preference."""
POINT_ZERO = re.compile(r"\d+\.0")
FNC_HEADER = ["Headline", "Body ID", "Stance"]
BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
NUMBER = re.compile(r"-?\d+(\.\d*)?(e[+-]?\d+)?", re.IGNORECASE)
RUNS = {2: ("id", "label"), 3: ("id", "label", "run"), 4: ("topic", "id", "label", "run")}
"""Number of columns → names, for run files without header."""
DEBATES = {
    4: (re.compile(r"\d+\t[^\t]+\t[^\t]*\t[01]"), ("id", "speaker", "sentence", "label")),
    6: (
        re.compile(r"\d+\t[^\t]+\t[^\t]*\t(N/A\t-\t-|\d+\t[^\t ]+ [^\t]+\t[A-Za-z-]+)"),
        ("line", "speaker", "sentence", "id", "claim", "label"),
    ),
}
"""CheckThat! 2018's debates, without header: task 1 labels lines, task 2 claims (which may have several lines)."""
ANSWERS = re.compile(
    r"(gold|label|stance|class|pred|predicted|prediction|y|prob|proba|probability|logit|score|confidence|correct|output|response|"
    r"answer|reason)s?([ _.-]?(id|ids|true|pred|hat|label|class|num|name|idx|raw|text|score|\d+))*",
    re.IGNORECASE,
)
"""Names of columns that tell of labels and predictions. They do not identify a row: systems differ in them."""
MOST_LABELS = 100
"""A column with more distinct values than this (and more than half as many as rows) does not contain labels."""
SHARES = ("{}", "p_{}", "prob_{}", "proba_{}", "probability_{}", "{}_prob", "{}_probability")
"""Name patterns for columns of label probabilities."""
ROUNDED = 0.02
"""Tolerance for the sum 1 of probabilities, which are often rounded to two or three digits."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """A table of labels, with its label column and its id column (may be empty)."""

    file: Path | str
    """The file, or the name of a frame in messages."""
    table: pd.DataFrame
    id_column: str
    label_column: str
    rivals: tuple[str, ...] = ()
    """Alternative label columns, if the chosen one has the other side's name."""
    source: Sheet | None = None
    """The source file as read."""

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return Path(self.file).name

    def row(self, number: int) -> int:
        """Return the row number of this item as the file's own program counts it."""
        return self.source.numbers[number - 1] if self.source else number

    def labels(self, id_column: str = "") -> pd.Series[str]:
        """Return the labels, indexed by this column's ids if one is named."""
        values = self.table[self.label_column].map(_stripped)
        if not id_column:
            return values.reset_index(drop=True)
        ids = self.whole_ids(id_column)
        first: dict[str, int] = {}
        for number, item in enumerate(ids, 1):
            if item in first:
                raise InputError(
                    f"the id {item} occurs again (first in row {self.row(first[item])})",
                    file=self.file,
                    row=self.row(number),
                    remedy="Keep one row per item",
                )
            first[item] = number
        return values.set_axis(ids)

    def by_position(self) -> pd.Series[Any]:
        """Return the labels in row order for a join by position, which allows no skipped rows."""
        if self.source and (gap := self.source.gap):
            raise InputError(
                "has an empty line between others, and is paired row by row",
                file=self.file,
                row=gap,
                remedy="Remove the line, or write the item's label into it; better, give both files ids",
            )
        return self.labels()

    def label_set(self) -> list[str]:
        """Return the labels that occur, if none are declared."""
        labels = self.labels()
        try:
            return label_set(labels, self.file)
        except InputError as error:
            marks = [not is_empty(label) and as_label(label).lower() in NO_LABELS for label in labels]
            error.row = self.row(marks.index(True) + 1) if True in marks else ""
            raise

    def check_labels(self, declared: Sequence[str], *, predicted: bool = False) -> None:
        """Refuse undeclared labels; an empty cell is no label."""
        labels = self.labels()
        different = {as_label(label) for label in labels.unique() if not is_empty(label)}
        words = (
            []
            if different <= {*declared}
            else ["" if is_empty(label) else as_label(label) for label in labels]
        )
        for number, word in enumerate(words, 1):
            if word and word not in declared:
                raise InputError(
                    f"has the unknown label '{word}'",
                    file=self.file,
                    row=self.row(number),
                    remedy=remedy_for(word, declared, words) if predicted else nearest(word, declared),
                )
        for name in self.rivals:
            cells = {as_label(cell) for cell in self.table[name] if not is_empty(cell)}
            if cells and cells <= set(declared):
                raise _two_columns(self.file, [self.label_column, name])

    def whole_ids(self, column: str) -> list[str]:
        """Return the ids of this column and refuse empty ones."""
        ids = self.ids(column)
        if "" in ids:
            row = self.row(ids.index("") + 1)
            raise InputError("has an item without an id", file=self.file, row=row)
        return ids

    def ids(self, column: str) -> list[str]:
        """Return the ids of this column. 12.0 becomes 12; long ids in this form have lost digits and are refused."""
        ids = ["" if is_empty(cell) else str(cell).strip() for cell in self.table[column]]
        if not all(POINT_ZERO.fullmatch(item) for item in ids):
            return ids
        for number, item in enumerate(ids, 1):
            if len(item) > 2 + KEPT_DIGITS:
                raise InputError(
                    f"the id {item} was read as a number, which keeps {KEPT_DIGITS} digits",
                    file=self.file,
                    row=self.row(number),
                    remedy="Take the ids from the original file, as text",
                )
        return [item[:-2] for item in ids]

    def renamed(self, name_of: Callable[[Any], Any]) -> Labelled:
        """Return the table with other names for its labels."""
        names = [name_of(cell) for cell in self.table[self.label_column]]
        return replace(self, table=self.table.assign(**{self.label_column: names}))

    def column(self, name: str) -> list[Any]:
        """Return another column; a missing one is an error."""
        if name not in self.table.columns:
            raise UnknownName(
                f"lacks the column '{name}'",
                file=self.file,
                remedy=nearest(name, map(str, self.table.columns)),
            )
        return list(self.table[name])


def is_empty(cell: Any) -> bool:
    """True for an empty cell: None, NaN, or blank text."""
    return cell is None or cell != cell or (isinstance(cell, str) and not cell.strip())  # noqa: PLR0124


def as_label(cell: Any) -> str:
    """Return a label as stripped text; 1.0 (1 in a column with gaps) becomes 1."""
    return str(int(cell) if isinstance(cell, float) and cell.is_integer() else cell).strip()


def other_spellings(words: Iterable[str], labels: Sequence[str]) -> str:
    """Return options that map words to the labels from which they differ by case or punctuation alone."""
    alike = {word: label for word in words if word not in labels and (label := label_meant(word, labels))}
    return " ".join(f"--map {shlex.quote(f'{word}={label}')}" for word, label in alike.items())


def remedy_for(word: str, labels: Sequence[str], words: Iterable[str] = ()) -> str:
    """Say what can be done about a system's answer that is none of the labels: name what it means, or count it.

    >>> remedy_for("AGAINST", ["favor", "against"], ["AGAINST", "Favor", "none"])
    'If they mean the same: --map AGAINST=against --map Favor=favor (map=); or count what is no label: --invalid wrong (invalid=)'
    """
    options = other_spellings([word, *words], labels)
    known = (
        f"If they mean the same: {options} (map=)"
        if options
        else f"{nearest(word, labels)}; say what it means: --map '{word}=LABEL' (map=)"
    )
    return f"{known}; or count what is no label: --invalid wrong (invalid=)"


def label_set(values: Iterable[Any], file: Path | str) -> list[str]:
    """Return the distinct labels in order. Values that mean "missing" are refused, since they would form a class."""
    counts = {cell: count for cell, count in Counter(values).items() if not is_empty(cell)}
    labels, rows = sorted({*map(as_label, counts)}), sum(counts.values())
    if len(labels) > max(MOST_LABELS, rows / 2):
        raise InputError(
            f"has {len(labels):,} different labels in {counted(rows, 'rows')}",
            file=file,
            remedy="Name the column that holds labels, as FILE:COLUMN, or declare the labels (--labels)",
        )
    for label in labels:
        if label.lower() in NO_LABELS:
            raise InputError(
                f"has '{label}' for a label, which programs write for what is missing",
                file=file,
                remedy="Label or remove the item, or declare the labels (--labels)",
            )
    return labels


def _stripped(cell: Any) -> Any:
    return cell.strip() if isinstance(cell, str) else cell


def read_rows(path: Path) -> Sheet:
    """Read a table of gold, labels or predictions. An unreadable row is an error, because a label would be lost."""
    name = path.name.lower().removesuffix(".gz")
    one_a_line = name.endswith(".txt")
    bare = Switches(header=False)
    begin = read_table(path, switches=bare, only=1).rows if name.endswith((".txt", ".tsv", ".csv")) else []
    first = list(begin[0].values()) if begin else []
    if (shape := DEBATES.get(len(first))) and shape[0].fullmatch("\t".join(first)):
        return _debate(path, read_table(path, switches=bare), shape[1])
    if len(set(first)) < len(first) and all(map(NUMBER.fullmatch, first)):
        sheet = _without_header(path)  # a header does not repeat names
        report(path, sheet)
        return sheet
    sheet = read_table(path, names=("label",) if one_a_line else ())
    if len(sheet.header) > 1 and sheet.header[0] == "label" and not any(sheet.header[1:]):
        sheet = read_table(path)  # such as SemEval's files: tabs and a header
    if sheet.form.startswith("CSV") and not any(map(is_known, sheet.header)):
        numbered = [list(map(str, range(first, first + len(sheet.header)))) for first in (0, 1)]
        if any(map(NUMBER.fullmatch, sheet.header)) and sheet.header not in numbered:
            sheet = _without_header(path)
        elif one_a_line:
            raise InputError("has several columns and no header", file=path, remedy="Give it one, as CSV")
    rows = sheet.whole(path)
    if sheet.header == FNC_HEADER:  # a row is a pair of headline and body, both of which repeat
        names = ["headline", "body_id", "stance"]
        rows = [dict(zip(names, (row[name] for name in FNC_HEADER), strict=True)) for row in rows]
        sheet = replace(sheet, header=names, rows=rows)
    report(path, sheet)
    return sheet


def _debate(path: Path, sheet: Sheet, names: Sequence[str]) -> Sheet:
    """Read a debate of CheckThat! 2018: its lines, or the claims in them."""
    new = dict(zip(sheet.header, names, strict=True))
    rows = [{new[name]: cell for name, cell in row.items()} for row in sheet.whole(path)]
    first: dict[tuple[str, str], int] = {}
    for at, row in enumerate(rows):
        if row["id"] != "N/A":
            first.setdefault((row["id"], row["label"]), at)
    note = f"a debate of CheckThat! 2018, no header: its columns are read as {', '.join(names)}"
    if len(first) < len(rows):
        note += f"; {counted(len(rows), 'lines')} have {counted(len(first), 'claims')}"
    debate = replace(
        sheet,
        header=list(names),
        rows=[rows[at] for at in first.values()],
        numbers=[sheet.numbers[at] for at in first.values()],
        notes=[*sheet.notes, note],
    )
    report(path, debate)
    return debate


def _without_header(path: Path) -> Sheet:
    """Read a file without header, such as runs of CLEF's tasks."""
    sheet = read_table(path, switches=Switches(header=False))
    names = RUNS.get(len(sheet.header))
    if names is None:
        raise InputError(
            f"has {len(sheet.header)} columns and no header", file=path, remedy="Give it one, as id and label"
        )
    new = dict(zip(sheet.header, names, strict=True))
    rows = [{new[name]: cell for name, cell in row.items()} for row in sheet.whole(path)]
    if all(NUMBER.fullmatch(row["label"].strip()) for row in rows) and any(
        "." in row["label"] for row in rows
    ):
        raise InputError(
            f"has a score for each item ({', '.join(names).replace('label', 'score')}), and no labels",
            file=path,
            remedy="A ranking is not scored: write a label for each item",
        )
    read_as = f"no header: its columns are read as {', '.join(names)}"
    return replace(sheet, header=list(names), rows=rows, notes=[*sheet.notes, read_as])


def read_labels(
    path: Path,
    *,
    id_column: str = "",
    label_column: str = "",
    predicted: bool = False,
    labels: Collection[str] = (),
) -> Labelled:
    """Read a file of gold labels, or of a system (`predicted`) with labels or probabilities of these `labels`."""
    return labelled(
        path,
        read_rows(path),
        id_column=id_column,
        label_column=label_column,
        predicted=predicted,
        labels=labels,
    )


def labelled(
    file: Path | str,
    given: pd.DataFrame | Sheet,
    *,
    id_column: str = "",
    label_column: str = "",
    predicted: bool = False,
    labels: Collection[str] = (),
) -> Labelled:
    """Find the id and label columns of a table by name or by detection. What is missing is an error.

    If a system has a probability for each of these `labels` but no label, its prediction is the most probable one.
    """
    source, table = _parts(given)
    if table.empty:
        raise InputError("has no rows", file=file, remedy="At least one labelled item is expected")
    table = _with_pairs(file, _plainly_named(table, {*id_column.split(","), label_column}), id_column)
    names = [str(name) for name in table.columns]
    for wanted in (id_column, label_column):
        if wanted and wanted not in names:
            raise UnknownName(f"lacks the column '{wanted}'", file=file, remedy=nearest(wanted, names))
    label, own_name = (
        (label_column, True)
        if label_column
        else column_of_labels(file, names, SYSTEMS if predicted else GOLD)
    )
    shares = share_columns(names, labels) if predicted and not own_name else {}
    if label and shares:
        raise _two_columns(file, [label, *shares.values()])
    if shares:
        label, own_name = f"the largest of {', '.join(shares.values())}", True
        table = table.assign(**{label: _likeliest(file, table, shares, source)})
    if not label:
        where = "FILE:COLUMN" if isinstance(file, Path) else "label=COLUMN"
        raise InputError(
            "has no column of labels",
            file=file,
            remedy=f"Name one as {where}; the {'file' if isinstance(file, Path) else 'frame'} has {', '.join(names)}",
        )
    ids = id_column or column_of(names, IDS)
    rivals = () if own_name else tuple(name for name in names if name not in {label, *IDS})
    read = Labelled(file, table, ids, label, rivals, source)
    check_cells(read)
    if source and ids:
        check_rounded(file, source.rounded, [ids])
    if ids and ids != "item_id":
        check_ids(file, [str(cell) for cell in table[ids]], rows=map(read.row, range(1, len(table) + 1)))
    return read


def share_columns(names: Sequence[str], labels: Collection[str]) -> dict[str, str]:
    """Return the probability column of each label if all have one: `Agree`, `p_agree`, `prob_agree` … for `agree`."""
    label_of = {part.format(label.lower()): label for part in SHARES for label in labels}
    columns = [(label_of[key], name) for name in names if (key := name.lower()) in label_of]
    return dict(columns) if len({label for label, _ in columns}) == len(columns) == len(labels) > 1 else {}


def _likeliest(
    file: Path | str, table: pd.DataFrame, shares: dict[str, str], source: Sheet | None
) -> list[str]:
    """Return the most probable label of each row; none for a row without probabilities."""
    likeliest = []
    for number, cells in enumerate(table[list(shares.values())].to_numpy().tolist()):
        if all(map(is_empty, cells)):
            likeliest.append("")
            continue
        try:
            row = [float(cell) for cell in cells]
        except (TypeError, ValueError):
            row = []
        most = max(row, default=0.0)
        problem = ""
        if not row or min(row) < 0 or not abs(sum(row) - 1) <= ROUNDED:
            problem = f"has no shares of the labels with the sum 1 ({', '.join(map(str, cells))[:60]})"
        elif row.count(most) > 1:
            problem = f"gives {row.count(most)} labels the same largest share, {most:g}"
        if problem:
            raise InputError(
                problem,
                file=file,
                row=source.numbers[number] if source else number + 1,
                remedy="Declare all labels (--labels), or write each item's label into a column 'prediction'",
            )
        likeliest.append(list(shares)[row.index(most)])
    return likeliest


def _parts(given: pd.DataFrame | Sheet) -> tuple[Sheet | None, pd.DataFrame]:
    if not isinstance(given, Sheet):
        return None, given
    return replace(given, rows=[]), given.frame()


def check_cells(labels: Labelled) -> None:
    """Check that every label cell contains one label or none."""
    source, name = labels.source, labels.label_column
    if source and name in source.header and (doubt := source.doubt_of(name)):
        raise InputError(
            f"{doubt.place} is {doubt.why}, in the column of labels '{name}'",
            file=labels.file,
            row=doubt.row,
            remedy="Write the label into the cell",
        )
    for number, cell in enumerate(labels.table[name], start=1):
        if isinstance(cell, list | tuple | set | dict) or (
            isinstance(cell, str) and list_of(cell) is not None
        ):
            raise InputError(
                f"has a list of labels in one cell of '{name}': {str(cell)[:60]}",
                file=labels.file,
                row=labels.row(number),
                remedy="Leave one label an item, or a row for each",
            )


def column_of_labels(
    file: Path | str, names: Sequence[str], choices: Sequence[Sequence[str]]
) -> tuple[str, bool]:
    """Return the label column (empty if none), and whether its name is among the first choices.

    A system's file often has a copy of gold, and a file of annotators' labels a gold column. Each side therefore prefers
    its own names. If several columns have these, the user must choose.
    """
    for choice in choices:
        matches = [name for name in names if folded(name) in set(map(folded, choice))]
        if len(matches) > 1:
            raise _two_columns(file, matches)
        if matches:
            return matches[0], choice is choices[0]
    return "", False


def _two_columns(file: Path | str, names: Sequence[str]) -> InputError:
    return InputError(
        f"has {len(names)} columns that may hold the labels: {', '.join(names)}",
        file=file,
        remedy="Name the right one as FILE:COLUMN"
        if isinstance(file, Path)
        else "Keep the right one, or name it as label=COLUMN if it is gold's",
    )


def _plainly_named(table: pd.DataFrame, kept: set[str]) -> pd.DataFrame:
    """Rename id columns in another spelling (Tweet_ID, tweet id) to their standard name."""
    own = {folded(known): known for known in IDS if known not in table.columns}
    names = {name: own.get(folded(str(name)), name) for name in table.columns if name not in kept}
    return table.rename(columns=names)


def _with_pairs(file: Path | str, table: pd.DataFrame, id_column: str) -> pd.DataFrame:
    """Add the ids of pairs, if `id_column` names several columns (`claim_id,post_id`): their values with `|` between them."""
    names = id_column.split(",")
    if len(names) < 2 or id_column in table.columns:
        return table
    for name in names:
        if name not in table.columns:
            raise UnknownName(
                f"lacks the column '{name}'", file=file, remedy=nearest(name, map(str, table.columns))
            )
    cells = table[names].itertuples(index=False, name=None)
    ids = ["" if any(map(is_empty, row)) else "|".join(as_label(cell) for cell in row) for row in cells]
    return table.assign(**{id_column: ids})


def with_gold_id_name(gold: Labelled, system: Labelled) -> Labelled:
    """Rename a column `id` in gold or the system to the id column that the other has."""
    if "id" not in {gold.id_column, system.id_column} or not (gold.id_column and system.id_column):
        return system
    mine = set(system.ids(system.id_column))
    for name in IDS:
        if name in gold.table.columns and name not in system.table.columns and mine & set(gold.ids(name)):
            table = system.table.rename(columns={system.id_column: name})
            return replace(system, table=table, id_column=name)
    return system


def common_id(gold: Labelled, system: Labelled) -> str:
    """Return the id column that both have; empty if one has no ids.

    Files with different kinds of ids are an error; they are not joined by position.
    """
    both = [name for name in IDS if name in gold.table.columns and name in system.table.columns]
    if gold.id_column and gold.id_column == system.id_column:
        return gold.id_column
    if both:
        return both[0]
    if gold.id_column and system.id_column and gold.id_column != "id" and system.id_column != "id":
        raise InputError(
            f"has ids in '{system.id_column}', gold in '{gold.id_column}'",
            file=system.file,
            remedy="Give both the same column of ids",
        )
    return ""


def golds_copy(gold: Labelled, system: Labelled) -> Labelled | None:
    """Return a system's table with its own column of gold's labels in place of its predictions, if it has one."""
    names = [str(name) for name in system.table.columns if str(name) != system.label_column]
    copy = column_of(names, [folded(gold.label_column)]) or column_of(names, list(LABELS))
    rest = system.table.drop(columns=[system.label_column])
    return replace(system, table=rest, label_column=copy, rivals=()) if copy else None


POSITION = "position"


def joined_by_columns(gold: Labelled, system: Labelled, *, by_position: bool) -> tuple[list[Any], str]:
    """Return a system's labels without ids in gold's order, and the key of the join.

    The key is all common columns besides those of labels and predictions if they identify rows together. If rows repeat, or on request for a join
    by position, these columns must agree row by row.
    """
    in_system = {folded(str(name)): str(name) for name in system.table.columns}
    labels = {folded(name) for name in (*GOLD[0], *PREDICTIONS)} | {
        folded(gold.label_column),
        folded(system.label_column),
    }
    shared = {
        str(name): in_system[key]
        for name in gold.table.columns
        if (key := folded(str(name))) in in_system.keys() - labels
        and not ANSWERS.fullmatch(str(name).strip())
    }
    golds, systems = _keys(gold, shared.keys()), _keys(system, shared.values())
    if not shared and not by_position:
        raise InputError(
            f"has no column in common with {gold.name} but labels, so rows can only be paired by position",
            file=system.file,
            remedy="Give both ids; or say --by-position (by_position=True) if row 1 belongs to row 1, row 2 to row 2, and so on",
        )
    if not by_position and len(set(golds)) == len(golds) and len(set(systems)) == len(systems):
        return _in_order_of(golds, systems, system, list(shared))
    gold.by_position()  # gold's rows define the order
    predictions = list(system.by_position())
    if len(golds) != len(systems):
        raise InputError(
            f"has {counted(len(systems), 'predictions')} for {counted(len(golds), 'items')} of {gold.name}, and rows are paired by position",
            file=system.file,
            remedy="Give both ids",
        )
    differ = next(
        (at for at, rows in enumerate(zip(golds, systems, strict=True)) if not all(map(_same, *rows))), None
    )
    if differ is not None:
        column = next(
            name
            for name, one, other in zip(shared, golds[differ], systems[differ], strict=True)
            if not _same(one, other)
        )
        raise InputError(
            f"has another {column} here than {gold.name}, so its rows are not in gold's order, and they repeat"
            if not by_position
            else f"has another {column} here than {gold.name}: its rows are not in gold's order",
            file=system.file,
            row=system.row(differ + 1),
            remedy="Give both ids, or bring the rows into gold's order",
        )
    agree = f"{POSITION}, with equal {' and '.join(shared)} in every row" if shared else POSITION
    return predictions, agree


def _same(first: str, second: str) -> bool:
    """True if two cells are equal, ignoring non-ASCII characters that one of them lost."""
    if first == second or "\ufffd" not in first + second:
        return first == second
    plain = [BEYOND_ASCII.sub("\ufffd", cell) for cell in (first, second)]
    letters = len(re.findall(r"[A-Za-z0-9]", plain[0]))
    return plain[0] == plain[1] and letters > 2 * plain[0].count("\ufffd")


def _keys(table: Labelled, columns: Iterable[str]) -> list[tuple[str, ...]]:
    cells = [[" ".join(str(cell).split()) for cell in table.table[name]] for name in columns]
    return list(zip(*cells, strict=True)) if cells else [()] * len(table.table)


def _in_order_of(
    golds: Sequence[tuple[str, ...]], systems: Sequence[tuple[str, ...]], system: Labelled, shared: list[str]
) -> tuple[list[Any], str]:
    """Return the system's labels by gold's keys. Additional keys are refused; missing ones are None."""
    known = set(golds)
    for number, key in enumerate(systems, 1):
        if key not in known:
            raise InputError(
                f"has a row that gold lacks ({shared[0]}: {key[0][:60]})",
                file=system.file,
                row=system.row(number),
                remedy="Remove it, or give both files ids",
            )
    label_of = dict(zip(systems, system.labels(), strict=True))
    return [label_of.get(key) for key in golds], " and ".join(shared)
