"""Answers, and which of the recorded ones count.

An answer is what a channel returned; a label is a recorded answer. Unusable answers are recorded too, with the
status `invalid` and the reason. `recording` turns answers into labels.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from covmis_build.annotation.frozen_items import for_people
from covmis_build.errors import CheckFailed, counted
from covmis_build.label_words import NOT_LABELS, SKIP, UNCLEAR, bare, label_meant
from covmis_build.options import is_machine
from covmis_build.records import Label
from covmis_build.report.result import Result

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    import pandas as pd

    from covmis_build.options import Labels


class Phase(StrEnum):
    """When a label was given: independently, in the discussion, or by the adjudicator."""

    INDEPENDENT = "independent"
    DISCUSSION = "discussion"
    ADJUDICATION = "adjudication"


class Status(StrEnum):
    """The status of an answer."""

    GIVEN = "given"
    SKIPPED = "skipped"
    INVALID = "invalid"
    WITHDRAWN = "withdrawn"
    """The annotator removed the annotation or emptied the cell. The item is open again."""


class Channel(StrEnum):
    """How annotators label: in Label Studio, in sheets, or on offline pages."""

    LABEL_STUDIO = "label-studio"
    CSV = "csv"
    XLSX = "xlsx"
    ODS = "ods"
    HTML = "html"
    MODEL = "model"
    """Predictions of a model. covmis sends nothing to it."""
    IMPORT = "import"
    """Labels that people gave in another tool."""
    COVMIS = "covmis"
    """A decision made with `covmis round adjudicate` or in the browser."""


SHEETS = (Channel.CSV, Channel.XLSX)
"""The channels that use a file with one row per item."""
RETURNED_AS = {
    **dict.fromkeys((".csv", ".tsv"), Channel.CSV),
    **dict.fromkeys((".xlsx", ".xlsm", ".xls", ".xlsb"), Channel.XLSX),
    ".ods": Channel.ODS,
}
"""Extensions of returned sheets, with their channels."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One annotator's answer to one item, as returned by a channel."""

    item_id: str
    annotator: str
    label: str
    channel: Channel
    sub_label: str = ""
    comment: str = ""
    status: Status = Status.GIVEN
    reason: str = ""
    error_class: str = ""
    seconds: float | None = None
    given_at: str = ""
    shown: str = ""
    phase: Phase = Phase.INDEPENDENT
    guideline: str = ""


def labels_of(labels: pd.DataFrame) -> list[Label]:
    """Return the rows of the labels table (or of a part of it) as records."""
    return [Label._make(row) for row in labels[list(Label._fields)].itertuples(index=False, name=None)]


@dataclass(frozen=True, slots=True)
class Problem:
    """Returned data that covmis cannot use."""

    where: str
    what: str
    remedy: str = ""
    row: int = 0

    def __str__(self) -> str:
        return self.of_rows([self.row] if self.row else [])

    def of_rows(self, rows: Sequence[int]) -> str:
        """Return the problem as a sentence about these rows."""
        where = f"{self.where}, {spans(rows)}" if rows else self.where
        sentence = f"{where}: {self.what}" + (f". {self.remedy}" if self.remedy else "")
        return " ".join(sentence.split())


def as_lines(problems: Iterable[Problem]) -> list[str]:
    """Return the problems as sentences. Rows of a file with the same problem share a sentence.

    >>> as_lines([Problem("a.csv", "no label", row=2), Problem("b.csv", "is no file"), Problem("a.csv", "no label", row=3)])
    ['a.csv, rows 2 to 3: no label', 'b.csv: is no file']
    """
    rows: dict[Problem, set[int]] = {}
    for problem in problems:
        rows.setdefault(replace(problem, row=0), set()).add(problem.row)
    return [problem.of_rows(sorted(numbers - {0})) for problem, numbers in rows.items()]


def spans(numbers: Sequence[int]) -> str:
    """Format row numbers as text.

    >>> spans([2, 3, 4, 7]), spans([5])
    ('rows 2 to 4, 7', 'row 5')
    """
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    rows = ", ".join(" to ".join(map(str, part)) for part in parts)
    return f"{'row' if len(numbers) == 1 else 'rows'} {rows}"


@dataclass(slots=True, repr=False)
class Pulled(Result):
    """The result of a pull: new labels, answers read, and problems."""

    round: str
    added: int = 0
    answers: int = 0
    to_correct: int = 0
    """Number of these answers that the annotator must correct."""
    withdrawn: int = 0
    problems: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)
    """Notes about usable answers, such as wrong clocks or drafts."""
    old: set[str] = field(default_factory=set, repr=False)

    def came(self, answers: Collection[Answer], items: Mapping[str, Mapping[str, Any]]) -> None:
        """Count these answers. To correct are answers without a usable label or to another text."""
        given = [answer for answer in answers if answer.status != Status.WITHDRAWN]
        self.answers += len(given)
        self.to_correct += sum(
            answer.status == Status.INVALID or answer.shown != items[answer.item_id]["shown"]
            for answer in given
        )

    def add(self, more: Pulled) -> None:
        """Add the result of another channel. A problem in both is reported once."""
        self.added += more.added
        self.answers += more.answers
        self.to_correct += more.to_correct
        self.withdrawn += more.withdrawn
        self.problems = list(dict.fromkeys([*self.problems, *more.problems]))
        self.notes += more.notes

    def to_dict(self) -> dict[str, Any]:
        """As `covmis round pull --json` prints it."""
        problems = [str(problem) for problem in self.problems]
        return {
            "round": self.round,
            "answers": self.answers,
            "to_correct": self.to_correct,
            "added": self.added,
            "withdrawn": self.withdrawn,
            "problems": problems,
            "told_before": self.told_before,
            "notes": [str(note) for note in self.notes],
        }

    @property
    def new_problems(self) -> list[Problem]:
        """Return the problems that no earlier pull reported."""
        return [problem for problem in self.problems if str(problem) not in self.old]

    @property
    def warnings(self) -> list[str]:
        """Return the new problems as sentences."""
        return as_lines(self.new_problems)

    @property
    def told_before(self) -> int:
        """Return the number of problems that an earlier pull reported."""
        return len(self.problems) - len(self.new_problems)

    @property
    def summary(self) -> list[str]:
        """Return the result as text."""
        usable = self.answers - self.to_correct
        parts = f" ({usable:,} usable, {self.to_correct:,} to correct)" if self.to_correct else ""
        lines = [
            f"Round {self.round}: {counted(self.answers, 'answers')} came back{parts}, {self.added} new in the record."
        ]
        if self.withdrawn:
            lines.append(f"{counted(self.withdrawn, 'answers')} taken back: open again.")
        if self.told_before:
            lines.append(
                f"{counted(self.told_before, 'problems')} reported before, still there; `--json` (in Python `.problems`) lists all."
            )
        return [*lines, *(f"{note}." for note in self.notes)]

    def check(self) -> None:
        """Raise an error if there are unusable answers."""
        refuse_unusable(self.new_problems, self.told_before)


def refuse_unusable(problems: Sequence[Problem], told_before: int = 0) -> None:
    """Raise an error if there are unusable answers. The usable ones are already recorded."""
    if problems or told_before:
        new = (
            f"{counted(len(problems), 'new problems' if told_before else 'problems')} in what came back"
            if problems
            else "no new problems"
        )
        before = f", {counted(told_before, 'problems')} reported before" if told_before else ""
        raise CheckFailed(f"{new}{before}; everything else counts")


def checked(answer: Answer, scheme: Labels) -> Answer:
    """Check an answer against the scheme. Labels match in any case, by an alias, or by their key.

    An unknown label, or a sub-label of another label, makes the answer invalid.
    """
    if answer.status != Status.GIVEN:
        return answer
    label = _label(answer.label, scheme)
    if not label and (instead := known_label(answer.label, scheme)):
        reason = UNCLEAR if instead == UNCLEAR else answer.reason
        return replace(answer, label="", sub_label="", status=Status.SKIPPED, reason=reason)
    if not label:
        what = f"unknown label '{answer.label}'" if answer.label else "empty answer"
        return replace(answer, label="", sub_label="", status=Status.INVALID, reason=what)
    sub = label_meant(answer.sub_label, scheme.sub_labels.get(label, ()))
    if answer.sub_label.strip() and not sub:
        what = f"'{answer.sub_label.strip()}' is not a sub-label of {label}"
        return replace(answer, label="", sub_label="", status=Status.INVALID, reason=what)
    return replace(answer, label=label, sub_label=sub)


def known_label(text: str, scheme: Labels) -> str:
    """Return the label that the text means, `skip`, `unclear claim`, or an empty string.

    >>> from covmis_build.options import Labels
    >>> [known_label(text, Labels()) for text in ("Favour.", "2", "3.0", "\N{ARABIC-INDIC DIGIT TWO}", " skip ", "pro")]
    ['favor', 'against', 'neither', 'against', 'skip', '']
    """
    return _label(text, scheme) or NOT_LABELS.get(bare(text), "")


def _label(text: str, scheme: Labels) -> str:
    return label_meant(text, scheme.values, scheme.aliases, scheme.keys)


def is_unclear(row: Answer | Label) -> bool:
    """True for the answer that the claim is unclear; a note about the clock may follow its reason."""
    return row.status == Status.SKIPPED and CLOCK.sub("", row.reason) == UNCLEAR


def as_said(row: Answer | Label) -> str:
    """Return the label, or what was said instead of one: skipped, unclear claim, or unusable."""
    return row.label or (UNCLEAR if is_unclear(row) else row.status)


def instead_of_labels(scheme: Labels) -> list[str]:
    """Return what annotators may say instead of a label; a study may use the same words for a label of its own.

    >>> from covmis_build.options import Labels
    >>> instead_of_labels(Labels()), instead_of_labels(Labels(values=("favor", "unclear claim"), keys=("1", "2")))
    (['skip', 'unclear claim'], ['skip'])
    """
    return [words for words in (SKIP, UNCLEAR) if not _label(words, scheme)]


def labels_and_keys(scheme: Labels) -> str:
    """Describe what an annotator can enter as a label.

    >>> from covmis_build.options import Labels
    >>> labels_and_keys(Labels())
    'favor, against, neither (or 1, 2, 3)'
    """
    return f"{', '.join(scheme.values)} (or {', '.join(scheme.keys)})"


def withdrawals(
    labels: pd.DataFrame,
    items: Iterable[str],
    annotator: str,
    channel: Channel,
    *,
    phase: Phase = Phase.INDEPENDENT,
    given_at: str = "",
) -> list[Answer]:
    """Return a withdrawal for each of these items that this annotator has labelled in this channel."""
    current = present(labels)
    mine = current[
        (current["annotator"] == annotator)
        & (current["phase"] == phase)
        & (current["channel"] == channel)
        & (current["status"] != Status.WITHDRAWN)
    ]
    shown = dict(zip(mine["item_id"], mine["shown"], strict=True))
    return [
        Answer(
            item,
            annotator,
            "",
            channel,
            status=Status.WITHDRAWN,
            phase=phase,
            shown=shown[item],
            given_at=given_at,
        )
        for item in items
        if item in shown
    ]


def latest(answers: Iterable[Answer]) -> list[Answer]:
    """Keep the latest answer per annotator, item and channel; of equally old answers the last one."""
    kept: dict[tuple[str, ...], Answer] = {}
    for answer in answers:
        key = (answer.item_id, answer.phase, answer.annotator, answer.channel)
        if key not in kept or not answer.given_at < kept[key].given_at:
            kept[key] = answer
    return list(kept.values())


def is_older(answer: Answer, current: Label | None) -> bool:
    """True if this answer is older than the current label. Unusable and withdrawn labels are always superseded.

    Between channels, times decide. Within a channel, times come from the same clock, even if it is wrong. One exception:
    if the recorded time was in the future and the new one is not, the clock was corrected, and the newer answer counts.
    """
    if current is None or not answer.given_at or current.status in {Status.INVALID, Status.WITHDRAWN}:
        return False
    if answer.channel != current.channel:
        return answer.given_at < current.given_at
    ours, theirs = own_time(answer), own_time(current)
    if ours > answer.given_at or theirs > current.given_at:
        return ours > answer.given_at and theirs > current.given_at and ours < theirs
    return ours < theirs


LONGEST_SECONDS = 3600.0
"""A longer time means that the annotator was away."""


def plausible(seconds: Any) -> float | None:
    """Return the seconds that an answer took if plausible: above zero and at most an hour.

    >>> [plausible(value) for value in (3.5, 0, -5, 1e9, float("nan"), "4", True)]
    [3.5, None, None, None, None, None, None]
    """
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    return float(seconds) if number and 0 < seconds <= LONGEST_SECONDS else None


def as_moment(text: str) -> str:
    """Format a time for the record: UTC, to the second. Empty if the text is no time.

    >>> as_moment("2026-01-01T10:00:00.123Z"), as_moment("2026-01-01T10:00:00+02:00"), as_moment("garbage")
    ('2026-01-01T10:00:00Z', '2026-01-01T08:00:00Z', '')
    """
    try:
        moment = dt.datetime.fromisoformat(text)
        moment = moment.replace(tzinfo=moment.tzinfo or dt.UTC).astimezone(dt.UTC)
    except (ValueError, OverflowError):
        return ""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


CLOCK = re.compile(r"(?:; )?given at (\S+) by its own clock")


def bounded(answer: Answer, *, sent_at: str, now: str) -> Answer:
    """Limit the answer's time to between sending and import. The original time stays in `reason`."""
    given_at = min(max(answer.given_at, sent_at), now)
    if not answer.given_at or given_at == answer.given_at or answer.channel == Channel.MODEL:
        return answer
    note = f"given at {answer.given_at} by its own clock"
    return replace(answer, given_at=given_at, reason="; ".join(filter(None, [answer.reason, note])))


def own_time(said: Answer | Label) -> str:
    """Return when the answer was given, according to the annotator's own clock."""
    note = CLOCK.search(said.reason)
    return note[1] if note else said.given_at


def present(labels: pd.DataFrame) -> pd.DataFrame:
    """Return the labels that are not superseded: at most one per item, phase and annotator."""
    return labels[~labels["label_id"].isin(set(labels["supersedes"]) - {""})]


def usable(labels: pd.DataFrame, frozen: pd.DataFrame) -> pd.DataFrame:
    """Return the current labels that were given to the frozen text; see `stale` for the others."""
    return usable_among(present(labels), frozen)


def usable_among(current: pd.DataFrame, frozen: pd.DataFrame) -> pd.DataFrame:
    """Return those of these current labels that were given to the frozen text."""
    shown = current["item_id"].map(dict(zip(frozen["item_id"], frozen["shown"], strict=True)))
    return current[current["shown"] == shown]


def answered(frozen: pd.DataFrame, labels: pd.DataFrame) -> dict[str, list[Label]]:
    """Return the usable independent answers of each item for annotators, in record order."""
    rows_of_item: dict[str, list[Label]] = {item: [] for item in for_people(frozen)["item_id"]}
    current = usable(labels, frozen)
    current = current[
        (current["phase"] == Phase.INDEPENDENT) & current["status"].isin([Status.GIVEN, Status.SKIPPED])
    ]
    for row in labels_of(current):
        if row.item_id in rows_of_item:
            rows_of_item[row.item_id].append(row)
    return rows_of_item


def deciding(rows: Sequence[Label]) -> list[Label]:
    """Return the independent answers that decide an item: those of people, without the models'.

    If only one person answered, the models' answers are added. So a model can keep an item open for the adjudicator,
    but it never takes part in a majority.
    """
    people = [row for row in rows if not is_machine(row.annotator)]
    return people if len(people) != 1 else list(rows)


def stale(labels: pd.DataFrame, frozen: pd.DataFrame) -> pd.DataFrame:
    """Return the current labels that were given to a text other than the frozen one. They are reported but not used."""
    current = present(labels)
    return current[~current["label_id"].isin(set(usable(labels, frozen)["label_id"]))]
