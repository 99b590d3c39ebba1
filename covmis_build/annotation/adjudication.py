"""Resolve disagreements: discussion first, then an adjudicator. Earlier labels are never overwritten.

Each step is a sheet (CSV or xlsx) or a separate Label Studio project. Labels are shown as A, B, … in keyed order,
so that annotators do not defend a label because it is their own.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from covmis_build import keyed, storage
from covmis_build.annotation import round_folder as record
from covmis_build.annotation.answers import (
    RETURNED_AS,
    Answer,
    Channel,
    Phase,
    Problem,
    Pulled,
    Status,
    answered,
    as_lines,
    as_said,
    checked,
    deciding,
    labels_and_keys,
    labels_of,
    present,
    refuse_unusable,
    usable,
)
from covmis_build.annotation.channels.headings import FIXED
from covmis_build.annotation.channels.sheets import (
    NO_SHEET,
    ROW,
    channel_of,
    fixed_cells,
    keep_answer,
    misplaced,
    own_columns,
    read_rows,
    refuse_unkept,
)
from covmis_build.annotation.channels.workbooks import Grid, xlsx
from covmis_build.annotation.frozen_items import by_item
from covmis_build.annotation.gold import decide_round, undecided_items, write_decisions
from covmis_build.annotation.label_lines import as_labels
from covmis_build.errors import InputError, counted
from covmis_build.options import Labels, is_machine
from covmis_build.report.result import Result
from covmis_build.storage import csv_bytes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from covmis_build.annotation.conflicts import Conflict
    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.records import Label

ERROR_CLASSES = ("slip", "guideline", "context", "ambiguous", "other")
"""Reasons for a disagreement: a slip, a gap in the guideline, missing context, or a post that allows both labels."""
DISCUSSION_SHEET, ADJUDICATION_SHEET = "discussion", "adjudication"
"""File names of the discussion and adjudication sheets, without extension."""
UNDECIDED = "undecided"
"""Value for a discussion that ends without agreement. The adjudicator then decides."""
TOGETHER = "together"
"""Annotator code of the discussion."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
WRITTEN = ("label", "sub_label", "error_class", "reason", "comment")
WHOSE = "An annotator's label. The order of the annotators differs from row to row."
WHY = "Optional: why the labels differ."


def disagreements(frozen: pd.DataFrame, labels: pd.DataFrame, per_item: int) -> list[str]:
    """Return the items with enough answers that differ (or are all skips)."""
    return differing(answered(frozen, labels), per_item)


def differing(answers: Mapping[str, Sequence[Label]], per_item: int) -> list[str]:
    """Return the items with enough independent answers that differ (or are all skips)."""
    return [
        item
        for item, rows in answers.items()
        if len(rows) >= max(per_item, 2)
        and (counting := deciding(rows))
        and (
            len({row.label for row in counting}) > 1 or all(row.status == Status.SKIPPED for row in counting)
        )
    ]


def with_one_label(answers: Mapping[str, Sequence[Label]]) -> set[str]:
    """Return the items that one person labelled and the others skipped. The label is final unless it is decided otherwise."""
    return {item for item, rows in answers.items() if _has_one_label(rows)}


def one_label_in_words(number: int) -> str:
    """Return the sentence on that many of these items; empty for none.

    >>> one_label_in_words(1), one_label_in_words(0)
    (' 1 further post with only one label (skipped by the others): final unless you change it.', '')
    """
    posts = counted(number, "further posts")
    return (
        f" {posts} with only one label (skipped by the others): final unless you change it." if number else ""
    )


def _has_one_label(rows: Sequence[Label]) -> bool:
    given = [row for row in deciding(rows) if row.status == Status.GIVEN]
    people = [row for row in given if not is_machine(row.annotator)]
    return len(people) == 1 and len({row.label for row in given}) == 1


def undecided(frozen: pd.DataFrame, labels: pd.DataFrame, per_item: int) -> list[str]:
    """Return the discussed items that ended without agreement."""
    # Annotators discuss them first; an adjudicator decides if they do not agree (3.1).
    current = usable(labels, frozen)
    discussed = current[(current["phase"] == Phase.DISCUSSION) & (current["status"] == Status.SKIPPED)]
    return [item for item in disagreements(frozen, labels, per_item) if item in set(discussed["item_id"])]


class Version(NamedTuple):
    """An answer to a disputed item, without its annotator."""

    letter: str
    label: str
    comment: str


def versions(
    frozen: pd.DataFrame, labels: pd.DataFrame, wanted: Iterable[str], *, seed: int
) -> dict[str, list[Version]]:
    """Return the answers to these items in a random order that hides the annotators."""
    answers = answered(frozen, labels)
    versions_of = {}
    for item in wanted:
        rows = sorted(
            answers[item], key=lambda row: keyed.uniform(seed, "letters", row.item_id, row.annotator)
        )
        versions_of[item] = [
            Version(LETTERS[at], as_said(row), _with_sub(row)) for at, row in enumerate(rows)
        ]
    return versions_of


def _with_sub(row: Label) -> str:
    return " | ".join(part for part in (row.sub_label, row.comment) if part)


def to_decide(
    frozen: pd.DataFrame, labels: pd.DataFrame, per_item: int, *, discuss: bool
) -> tuple[list[str], list[str]]:
    """The items that are sent for discussion (none if there is to be none), and those for the adjudicator."""
    here, passed_on = _decided_here(labels, Status.GIVEN), _decided_here(labels, Status.SKIPPED)
    disputed = [item for item in disagreements(frozen, labels, per_item) if item not in here]
    if not discuss:
        return [], disputed
    to_discuss = [item for item in disputed if item not in passed_on]
    return to_discuss, [item for item in undecided(frozen, labels, per_item) if item not in here]


def _decided_here(labels: pd.DataFrame, status: Status) -> set[str]:
    """Return items decided (GIVEN) or passed on to the adjudicator (SKIPPED) with `covmis round adjudicate` or in the browser."""
    current = present(labels)
    deciding_phase = current["phase"].isin([Phase.DISCUSSION, Phase.ADJUDICATION])
    mine = current[deciding_phase & (current["status"] == status)]
    return set(mine.loc[mine["channel"] == Channel.COVMIS, "item_id"])


def decision_files(folder: Path, name: str) -> list[Path]:
    """Return the saved files of a sheet: CSV, Excel or LibreOffice."""
    return [path for path in sorted(folder.glob(f"{name}.*")) if path.suffix.casefold() in RETURNED_AS]


def talked(labels: pd.DataFrame) -> dict[str, str]:
    """Return the discussion's note for each item."""
    current = present(labels)
    return {
        row.item_id: " | ".join(part for part in (row.reason, row.comment) if part)
        for row in labels_of(current[current["phase"] == Phase.DISCUSSION])
    }


def _decision_sheet(
    frozen: pd.DataFrame,
    labels: pd.DataFrame,
    wanted: Sequence[str],
    scheme: Labels,
    *,
    seed: int,
    notes: Mapping[str, str] | None = None,
    before: Sequence[dict[str, str]] = (),
    channel: Channel = Channel.CSV,
) -> bytes:
    """The sheet for deciding these items, with all labels and comments.

    Columns: item_id, claim, post, context, A, comment A, B, comment B, …, and discussed if there are `notes`.
    To fill in: label, sub_label (if the scheme has any), error_class, reason, comment.
    """
    versions_of = versions(frozen, labels, wanted, seed=seed)
    most = max([2, *map(len, versions_of.values())])
    letters = [name for at in range(most) for name in (LETTERS[at], f"comment {LETTERS[at]}")]
    written = [name for name in WRITTEN if name != "sub_label" or scheme.sub_labels]
    columns = [*FIXED, *letters, *(["discussed"] if notes is not None else []), *written]
    places = by_item(frozen)
    own = own_columns(before, _ours(before))
    # If an item is in several files, a filled row takes precedence over an empty one.
    order = sorted(before, key=lambda row: any(row.get(name, "").strip() for name in WRITTEN))
    filled = {row["item_id"].strip(): row for row in order}
    rows = []
    alone = with_one_label(answered(frozen, labels))  # they need no decision, and come last
    for item in sorted(wanted, key=lambda item: (item in alone, places[item]["claim_id"], item)):
        cells = fixed_cells(places[item])
        for letter, label, comment in versions_of[item]:
            cells |= {letter: label, f"comment {letter}": comment}
        cells["discussed"] = (notes or {}).get(item, "")
        cells |= {name: filled.get(item, {}).get(name, "") for name in (*written, *own)}
        rows.append([cells.get(name, "") for name in (*columns, *own)])
    if channel == Channel.CSV:
        return csv_bytes([*columns, *own], rows)
    labels_to_choose = [*scheme.values, *([UNDECIDED] if notes is None else [])]  # noqa: PD011 - not pandas'
    known = {"label": labels_to_choose, "error_class": ERROR_CLASSES}
    choices = {name: known.get(name, ()) for name in (*written, *own)}
    hints = {**dict.fromkeys(LETTERS[:most], WHOSE), "error_class": WHY}
    return xlsx(Grid([*columns, *own], rows, choices, hints=hints))


def _ours(rows: Sequence[Mapping[str, str]]) -> set[str]:
    """Return the columns that covmis wrote to a decision sheet, without columns added by the user."""
    letters = [letter for letter in LETTERS.casefold() if rows and f"comment {letter}" in rows[0]]
    return {*FIXED, *WRITTEN, "discussed", *letters, *(f"comment {letter}" for letter in letters)}


def read_decisions(
    paths: Iterable[Path],
    phase: Phase,
    decider: str,
    frozen: pd.DataFrame,
    scheme: Labels,
    decided: Mapping[str, str],
    disputed: Collection[str],
    labelled: Collection[str],
) -> tuple[list[Answer], list[Problem], list[Problem]]:
    """Read the decisions on these sheets, with problems and remarks. `undecided` passes an item on to the adjudicator.

    A row without a label is no decision. It is reported if its item was `decided` before. So is a row whose item is
    neither `disputed` nor decided, and an unusable label; items in `labelled` keep the label that they have.
    """
    items = by_item(frozen)
    answers: dict[str, Answer] = {}
    problems: list[Problem] = []
    notes: list[Problem] = []
    for path in paths:
        table = read_rows(path, ("item_id", "claim", "post", *(n for n in WRITTEN if n != "sub_label")))
        problems += table.problems(path)
        for row in table.rows:
            number, item = int(row[ROW]), row["item_id"].strip()
            if not row["label"].strip():
                if item in decided:
                    blank = f"no label for {item}, which was decided as {decided[item]}; the decision stays"
                    problems.append(Problem(path.name, blank, f"Write another label, or {UNDECIDED}", number))
                continue
            wrong = misplaced(row, items.get(item))
            if wrong:
                problems.append(Problem(path.name, *wrong, row=number))
                continue
            if item not in disputed and item not in decided:
                agreed = f"{item} is not a disagreement: this row is ignored"
                problems.append(
                    Problem(
                        path.name, agreed, "Remove the row; its annotators can change their labels", number
                    )
                )
                continue
            answer, problem = decision(row, item, phase, decider, items[item], scheme, channel_of(path))
            if answer.status == Status.INVALID and item in labelled:
                unused = f"{answer.reason} is not used; that post already has a label"
                problems.append(Problem(path.name, unused, row=number))
            elif problem:
                if answer.status == Status.GIVEN:  # an unknown error class leaves the decision valid
                    notes.append(Problem(path.name, f"{problem}: recorded as other", row=number))
                else:
                    problems.append(Problem(path.name, problem, row=number))
            problems += keep_answer(answers, answer, path, number)
    return list(answers.values()), problems, notes


def decision(
    row: Mapping[str, str],
    item: str,
    phase: Phase,
    decider: str,
    frozen: Mapping[str, Any],
    scheme: Labels,
    channel: Channel,
) -> tuple[Answer, str]:
    """Read one decision as an answer, and list its problems."""
    error_class = row.get("error_class", "").strip().casefold()
    known = error_class in {"", *ERROR_CLASSES}
    left_open = row["label"].strip().casefold() == UNDECIDED
    answer = checked(
        Answer(
            item_id=item,
            annotator=decider,
            label="" if left_open else row["label"],
            status=Status.SKIPPED if left_open else Status.GIVEN,
            sub_label=row.get("sub_label", ""),
            comment=row.get("comment", "").strip(),
            reason=row.get("reason", "").strip(),
            error_class=error_class if known else "other",
            channel=channel,
            phase=phase,
            shown=frozen["shown"],
        ),
        scheme,
    )
    if left_open and phase == Phase.ADJUDICATION:
        return answer, f"'{UNDECIDED}' decides nothing. Write {labels_and_keys(scheme)}"
    if answer.status == Status.INVALID:
        return answer, f"{answer.reason}. Write {labels_and_keys(scheme)}, or {UNDECIDED}"
    if not known:
        classes = ", ".join(ERROR_CLASSES)
        return answer, f"unknown error class '{error_class}' (known: {classes})"
    return answer, ""


def read_decision_sheets(round_: RoundFolder, adjudicator: str, *, now: str) -> Pulled:
    """Import the discussion and adjudication sheets."""
    frozen, scheme = round_.items(), round_.scheme
    pulled = Pulled(round_.number)
    for name, phase, who in (
        (DISCUSSION_SHEET, Phase.DISCUSSION, TOGETHER),
        (ADJUDICATION_SHEET, Phase.ADJUDICATION, adjudicator),
    ):
        if files := decision_files(round_.sheets, name):
            current = present(round_.labels())
            mine = current[(current["phase"] == phase) & (current["status"] == Status.GIVEN)]
            mine = mine[mine["channel"] != Channel.COVMIS]
            decided = dict(zip(mine["item_id"], mine["label"], strict=True))
            disputed = disagreements(frozen, round_.labels(), round_.per_item)
            labelled = set(decide_round(round_)["item_id"])
            answers, problems, notes = read_decisions(
                files, phase, who, frozen, scheme, decided, disputed, labelled
            )
            pulled.came(answers, by_item(frozen))
            pulled.problems += problems
            pulled.notes += notes
            if round_.sealed:
                _refuse_edited(round_, files, answers, now=now)
            else:
                record.count(pulled, round_, answers, now=now)
    return pulled


def _refuse_edited(
    round_: RoundFolder, files: Sequence[Path], answers: Sequence[Answer], *, now: str
) -> None:
    """Refuse sheets of a sealed round that decide otherwise than the record: the edit would count for nothing."""
    edited = as_labels(record.new_lines(round_, answers, now=now))
    if not edited:
        return
    item, label = edited[0].item_id, edited[0].label
    sealed = dict(zip(*round_.decisions()[["item_id", "label"]].to_numpy().T, strict=True)).get(item, "")
    told = f"as {label or UNDECIDED} (sealed: {sealed})" if label != sealed else "with other words"
    more = f" and {counted(len(edited) - 1, 'more posts')}" if len(edited) > 1 else ""
    raise InputError(
        f"decides {item}{more} {told}, but round {round_.number} is sealed, and nothing was recorded",
        file=" and ".join(path.name for path in files),
        remedy=f'`covmis round reopen "{item}" --reason …` opens it; or undo the edit',
    )


def write_decision_sheets(
    round_: RoundFolder, *, seed: int, discuss: bool = True, channel: Channel = Channel.CSV
) -> None:
    """Write the discussion and adjudication sheets. Cells that were filled in are kept."""
    frozen, labels = round_.items(), round_.labels()
    talk, third = to_decide(frozen, labels, round_.per_item, discuss=discuss)
    notes = talked(labels)
    wanted_on = {DISCUSSION_SHEET: talk, ADJUDICATION_SHEET: third}
    for name, wanted in wanted_on.items():
        known, path = decision_files(round_.sheets, name), round_.sheets / f"{name}.{channel}"
        if not wanted and not known:
            continue
        tables = {file: read_rows(file, ("item_id",)) for file in known}
        if any({row["item_id"].strip() for row in table.rows} == set(wanted) for table in tables.values()):
            continue
        more = {"notes": notes} if name == ADJUDICATION_SHEET else {}
        before = [row for table in tables.values() for row in table.rows]
        sheet = _decision_sheet(
            frozen, labels, wanted, round_.scheme, seed=seed, before=before, channel=channel, **more
        )
        refuse_unkept(path, tables.get(path, NO_SHEET), set(frozen["item_id"]))
        storage.write_bytes(path, sheet)


@dataclass(frozen=True, slots=True, repr=False)
class Settlement(Result):
    """How many disagreements were settled, how many are open, and the latest import."""

    round: str
    disagreements: int
    discussed: int
    adjudicated: int
    to_discuss: int
    to_adjudicate: int
    added: int
    problems: tuple[Problem, ...]
    unlabelled: int = 0
    """Posts that still lack an annotator's label."""
    discussion: str = ""
    """The discussion sheet and the adjudication sheet (paths)."""
    adjudication: str = ""
    single: int = 0
    """Posts of which one annotator gave the only label, since the others skipped them."""
    by_majority: int = 0
    notes: tuple[Problem, ...] = ()
    """Remarks on decisions that count."""
    conflicts: tuple[Conflict, ...] = ()
    """Items that two leads decided differently."""

    @property
    def warnings(self) -> list[str]:
        """Return problems, remarks and conflicts as sentences."""
        return [*as_lines([*self.problems, *self.notes]), *(f"{conflict}." for conflict in self.conflicts)]

    @property
    def summary(self) -> list[str]:
        """The counts in words, and what to do."""
        told = (
            f"{counted(self.disagreements - self.single, 'disagreements')}: "
            + (f"{self.by_majority} settled by the majority, " if self.by_majority else "")
            + f"{self.discussed} settled by discussion, "
            f"{self.adjudicated} by the adjudicator; {self.to_discuss} to discuss, "
            f"{self.to_adjudicate} for the adjudicator.{one_label_in_words(self.single)}"
        )
        if self.unlabelled:
            told += f" {counted(self.unlabelled, 'posts')} without enough labels: `covmis round status` shows whose."
        if not self.to_discuss and not self.to_adjudicate:
            return [told]
        settled = "; rows that a majority decided may stay unchanged" if self.by_majority else ""
        settled += "; the last rows have only one label and may stay empty" if self.single else ""
        alone = "; rows with only one label may stay empty" if self.single else ""
        to_fill = [f"{self.discussion} (a label, or `undecided`{settled})"] if self.to_discuss else []
        to_fill += [f"{self.adjudication} (the adjudicator's label{alone})"] if self.to_adjudicate else []
        order = "A, B, … are the annotators, in another order in each row."
        return [told, f"Fill in {' and '.join(to_fill)}, then run `covmis round adjudicate` again. {order}"]

    def to_dict(self) -> dict[str, Any]:
        """As `covmis round adjudicate --json` prints it."""
        return {
            **asdict(self),
            "problems": list(map(str, self.problems)),
            "notes": list(map(str, self.notes)),
            "conflicts": list(map(str, self.conflicts)),
        }

    def check(self) -> None:
        """Raise an error if a sheet contains unusable decisions."""
        refuse_unusable(self.problems)


def settlement(round_: RoundFolder, pulled: Pulled, *, discuss: bool = True) -> Settlement:
    """Count disagreements: in total, by how they were settled, and still open."""
    frozen, labels = round_.items(), round_.labels()
    disputed = set(disagreements(frozen, labels, round_.per_item))
    decisions = write_decisions(round_)
    decided = set(decisions["item_id"])
    alone = with_one_label(answered(frozen, labels)) & disputed
    current = present(labels)
    final = current[(current["status"] == Status.GIVEN) & current["item_id"].isin(disputed)]
    third = set(final.loc[final["phase"] == Phase.ADJUDICATION, "item_id"])
    talked = set(final.loc[final["phase"] == Phase.DISCUSSION, "item_id"]) - third
    waiting = set(undecided(frozen, labels, round_.per_item)) if discuss else disputed
    unlabelled = [item for item in undecided_items(frozen, decisions) if item not in disputed]
    return Settlement(
        round=round_.number,
        disagreements=len(disputed),
        discussed=len(talked - alone),
        adjudicated=len(third - alone),
        to_discuss=len(disputed - talked - third - waiting - decided) if discuss else 0,
        to_adjudicate=len(waiting - third - decided),
        added=pulled.added,
        problems=tuple(pulled.problems),
        notes=tuple(pulled.notes),
        conflicts=round_.conflicts(),
        unlabelled=len(unlabelled),
        discussion=_where(round_, DISCUSSION_SHEET),
        adjudication=_where(round_, ADJUDICATION_SHEET),
        single=len(alone),
        by_majority=len((disputed & decided) - alone - talked - third),
    )


def _where(round_: RoundFolder, name: str) -> str:
    """Return the file of a sheet for messages; without a file, the Label Studio project."""
    files = decision_files(round_.sheets, name)
    return f"{record.sheets_of(round_.number)}{files[0].name}" if files else f"the project for {name}"
