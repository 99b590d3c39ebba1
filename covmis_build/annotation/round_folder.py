"""The files of a round, and how they are read and written.

items.parquet     the frozen items                        round.json        opening time, scheme, roster, guideline
labels.*.jsonl    every label of an annotator             sheets/           files to and from annotators
decisions.*.jsonl the decisions that a lead recorded      report.*          agreement
guideline.md      the guideline as last sent              sent.jsonl        when it was sent out, with which guideline
seal.json         the seal
frame.parquet     in a recall round: the sampling frame, all pairs with their probabilities
population.parquet  the posts that the round's draws could choose

labels.parquet and decisions.parquet (the gold labels with their sources) are made from the lines, see `label_lines`.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from covmis_build import storage, tables
from covmis_build.annotation import label_lines, sendings
from covmis_build.annotation.answers import (
    RETURNED_AS,
    Problem,
    Pulled,
    Status,
    bounded,
    labels_of,
    latest,
    own_time,
    present,
)
from covmis_build.annotation.conflicts import conflicts_among
from covmis_build.annotation.final_labels import decide
from covmis_build.annotation.frozen_items import read_items, write_items
from covmis_build.annotation.json_records import own_hash, read_json, read_record, read_seal
from covmis_build.annotation.recording import append
from covmis_build.annotation.relevance import YES
from covmis_build.annotation.sendings import Sending
from covmis_build.children import each_in_child
from covmis_build.errors import InputError, counted
from covmis_build.options import MACHINE, Labels
from covmis_build.places import DRAWS
from covmis_build.records import Label
from covmis_build.settings import CODE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from covmis_build.annotation.answers import Answer
    from covmis_build.annotation.conflicts import Conflict
    from covmis_build.annotation.label_lines import Line
    from covmis_build.options import Annotation


FRAME = "frame.parquet"
POPULATION = "population.parquet"
DISCARDED = "discarded"
"""Folder of rounds taken back with their labels: in each of its folders a round lies as it did in annotation/."""
LABELS, DECISIONS = "labels.parquet", "decisions.parquet"
LINES = "lines"


class RoundKind(StrEnum):
    """The purpose of a round. The value is the prefix of its number."""

    STANCE = ""
    TRAINING = "t"
    RECALL = "r"
    RELABEL = "l"
    """Posts of sealed rounds that are labelled again, under later labels."""
    CHECKS = "c"
    """Posts with a known label, hidden in another round: c002 belongs to 002."""

    def folder(self, rounds: Path) -> Path:
        """Return the folder for rounds of this kind, next to the main rounds."""
        return rounds if self == RoundKind.STANCE else rounds.with_name(self.name.lower())


def kind_of(number: str) -> RoundKind:
    """Return the purpose of the round with this number."""
    return next((kind for kind in RoundKind if kind and number.casefold().startswith(kind)), RoundKind.STANCE)


def sheets_of(number: str) -> str:
    """Return the path of the round's sheets for messages."""
    kind = kind_of(number)
    return f"annotation/{kind.name.lower() if kind else 'rounds'}/{number}/sheets/"


class Reopening(Struct, frozen=True):
    """The items of a sealed round that were reopened, the reason, and the previous seal."""

    items: list[str]
    reason: str
    at: str
    seal: str


class About(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of round.json. Fields that only some rounds have are absent in the files of other rounds."""

    round: str = ""
    pilot: bool
    opened_at: str = ""
    pushed_at: str | UnsetType = UNSET
    """In rounds that a version before 0.3.0 sent out: when."""
    labels: Labels
    annotators: list[str]
    """The annotators at opening time."""
    per_item: int
    balanced: bool | UnsetType = UNSET
    """Whether all people get equally many posts; in rounds that a version before 0.3.0 opened, chance alone decides."""
    show: list[str] | UnsetType = UNSET
    settings: dict[str, Any] = {}
    """The settings of search, cleaning and sampling; empty if not recorded."""
    guideline: str
    """The guideline version at opening time. Later ones are in sent.jsonl; rounds of before 0.3.0 have the last one here."""
    guidelines: list[Sending] = []
    since: int | UnsetType = UNSET
    """In a relabelling round: the number of the next main round when it was opened."""
    reopened: list[Reopening] | UnsetType = UNSET
    raised: dict[str, float] | UnsetType = UNSET
    """In rounds without a ledger of draws: ranked items of earlier rounds whose probability this draw increased."""
    repeats: dict[str, list[str]] | UnsetType = UNSET
    """For repeats: annotator → items."""
    predictions: dict[str, str] | UnsetType = UNSET
    """Prediction files that existed at opening time: name → SHA-256."""
    seen: dict[str, int] | UnsetType = UNSET
    """Claim → how many of its posts people had labelled when this round's draw of it was opened."""
    named: bool | UnsetType = UNSET
    """Whether the lead named this round's claims."""
    frame: dict[str, Any] | UnsetType = UNSET
    """In a recall round: description of the sampling frame, sealed as written."""
    sha256: str | UnsetType = UNSET
    """Hash of everything else in the file, since 0.3.0."""
    records: str | UnsetType = UNSET
    """`lines`, since labels are lines of text. Versions that would not see them refuse the round."""


@dataclass(frozen=True)
class RoundFolder:
    """An opened round and its folder."""

    folder: Path
    about: About
    sent: tuple[Sending, ...] = ()
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Today's aliases of labels: what came back may have been written before anybody knew of them."""

    @classmethod
    def at(cls, place: Path, aliases: Mapping[str, tuple[str, ...]] | None = None) -> RoundFolder:
        """The round in this folder, as its files are now."""
        return cls(place, _read_about(place / "round.json"), sendings.read(place), aliases or {})

    @property
    def number(self) -> str:
        """The round's number, three digits."""
        return self.folder.name

    @property
    def pilot(self) -> bool:
        """True if the round is excluded from gold and from the headline."""
        return self.about.pilot

    @property
    def scheme(self) -> Labels:
        """The label scheme at opening time, with today's aliases of its labels."""
        own = self.about.labels
        named = {label: names for label, names in self.aliases.items() if label in own.values}  # noqa: PD011
        return replace(own, aliases=named)

    @property
    def per_item(self) -> int:
        """The number of annotators per item."""
        return self.about.per_item

    @property
    def pushed_at(self) -> str:
        """When the round was first sent out; no answer is older. Empty if it was not."""
        return self.about.pushed_at or next((sending.since for sending in self.sent), "")

    @property
    def guidelines(self) -> list[Sending]:
        """The versions of the guideline, since when each was in use."""
        return sorted([*self.about.guidelines, *self.sent], key=lambda version: version.since)

    @property
    def guideline(self) -> str:
        """The guideline version that was last sent out."""
        return self.guideline_at("")

    def guideline_sent(self) -> str:
        """The text of the guideline that was last sent out, or an error if neither file of it is what was sent."""
        kept = self.folder / "guideline.md", guideline_path(self.folder.parent, self.guideline)
        for path in kept:
            text = path.read_bytes().decode("utf-8", "replace") if path.exists() else ""
            if guideline_version(text) == self.guideline:
                return text
        raise InputError(
            f"is not the guideline {self.guideline} that was sent out",
            file=kept[0],
            remedy="Restore it from a copy",
        )

    def guideline_at(self, given_at: str) -> str:
        """Return the version in use when a label was given; the last one if the time is unknown."""
        versions = self.guidelines
        sent = [row for row in versions if row.since <= given_at] or versions
        return sent[-1].version if sent else self.about.guideline

    @property
    def sheets(self) -> Path:
        """The folder of files to and from annotators. Checks use their round's folder."""
        if self.kind == RoundKind.CHECKS:
            return self.folder.parent.with_name("rounds") / self.number.removeprefix(self.kind) / "sheets"
        return self.folder / "sheets"

    @property
    def sealed(self) -> bool:
        """True if the round is sealed; a sealed round accepts no labels."""
        return (self.folder / "seal.json").exists()

    @property
    def reopened(self) -> frozenset[str]:
        """The items for which a sealed round was reopened; empty if it was never sealed or is sealed again."""
        reopened = self.about.reopened
        return frozenset(reopened[-1].items) if reopened and not self.sealed else frozenset()

    @property
    def kind(self) -> RoundKind:
        """The purpose, from the number: 001, t001, r001 or c001."""
        return RoundKind(self.number[:-3])

    @property
    def has_key(self) -> bool:
        """True if the posts' labels are known: training, or checks."""
        return self.kind in {RoundKind.TRAINING, RoundKind.CHECKS}

    @property
    def checks(self) -> RoundFolder | None:
        """The checks hidden in this round, if any."""
        place = RoundKind.CHECKS.folder(self.folder.parent) / f"{RoundKind.CHECKS}{self.number}"
        if self.kind or not (place / "items.parquet").exists():
            return None
        return RoundFolder.at(place, self.aliases)

    @property
    def asks_relevance(self) -> bool:
        """True if the question is whether posts are about their claim, not their stance."""
        return self.kind == RoundKind.RECALL

    @property
    def twice(self) -> str:
        """The label that needs a second annotator; none if every item has enough annotators."""
        return YES if self.asks_relevance else ""

    def takes(self, item_id: str) -> bool:
        """True if labels of this item are accepted: the round is open, or was reopened for this item."""
        return not self.sealed and (not self.reopened or item_id in self.reopened)

    def items(self) -> pd.DataFrame:
        """The frozen items."""
        return read_items(self.folder)

    @property
    def by_lines(self) -> bool:
        """True if its labels are lines; false before the first label, and if an earlier version recorded them in a table."""
        return bool(label_lines.files(self.folder))

    @property
    def only_tables(self) -> bool:
        """True in a reproduction package, which has the tables without the lines."""
        return bool(self.about.records) and not self.by_lines and (self.folder / LABELS).exists()

    def lines(self) -> tuple[Line, ...]:
        """Return the recorded answers as lines; those of an earlier version's table as it takes them over."""
        if self.by_lines:
            return label_lines.read(self.folder)
        return label_lines.of_table(self.label_rows(), label_lines.salts_of(self.folder))

    def label_rows(self) -> list[Label]:
        """Return all labels as records, without loading pandas. Later ones replace earlier ones."""
        if self.by_lines:
            return label_lines.as_labels(label_lines.read(self.folder))
        return [Label(**row) for row in storage.read_rows(self.folder / LABELS, "labels")]

    def labels(self) -> pd.DataFrame:
        """Return all labels. Later ones replace earlier ones."""
        if self.by_lines:
            return label_lines.table(self.folder)
        return storage.read_once(self.folder / LABELS, "labels")

    def labels_under(self, seal: Mapping[str, Any]) -> pd.DataFrame:
        """Return the labels that one of its seals saw."""
        labels = self.labels()
        if "lines" in seal:
            return labels[labels["label_id"].isin(seal["lines"])]
        rows = sorted((line.row, line.label_id) for line in self.lines() if line.row)
        before = [label_id for _, label_id in rows[: int(seal["counts"]["labels"])]]
        return labels[labels["label_id"].isin(before)]

    def conflicts(self) -> tuple[Conflict, ...]:
        """Return the items that two leads decided differently, neither knowing of the other; without purged ones."""
        if not self.by_lines:
            return ()
        salts = label_lines.salts_of(self.folder)
        conflicts = conflicts_among(label_lines.read(self.folder))
        return tuple(conflict for conflict in conflicts if salts[conflict.item_id])

    def asked(self) -> pd.DataFrame:
        """All items for annotators: the round's own and the checks."""
        import pandas as pd

        checks = self.checks
        return pd.concat([self.items(), checks.items()], ignore_index=True) if checks else self.items()

    def answers(self) -> pd.DataFrame:
        """All labels of these items, including checks."""
        import pandas as pd

        checks = self.checks
        parts = [labels for labels in (self.labels(), *([checks.labels()] if checks else [])) if len(labels)]
        return pd.concat(parts, ignore_index=True) if parts else self.labels()

    def decisions(self) -> pd.DataFrame:
        """Return the gold labels: the key of a training round, otherwise as its lines (or its earlier table) have them."""
        if not self.by_lines or self.has_key:
            return storage.read_table(self.folder / DECISIONS, "gold")
        return decide(
            self.items(),
            self.labels(),
            per_item=self.per_item,
            twice=self.twice,
            in_conflict={conflict.item_id for conflict in conflicts_among(self.lines())},
        )

    def frame(self) -> pd.DataFrame:
        """In a recall round: all pairs of the sampling frame with their probabilities, so that later draws can be combined."""
        return storage.read_table(self.folder / FRAME, "frame")

    def population(self) -> pd.DataFrame:
        """The posts that the draws of this round could choose; empty for rounds from before 0.3."""
        return storage.read_table(self.folder / POPULATION, "population")

    def draws(self) -> pd.DataFrame:
        """The draws for this round, and draws since the previous round that added nothing."""
        ledger = storage.read_table(self.folder.with_name(DRAWS), "draws")
        return ledger[ledger["round"] == self.number]

    def seal(self) -> dict[str, Any] | None:
        """The seal, if any."""
        if not self.sealed:
            return None
        return read_seal(self.folder / "seal.json")


def create(  # noqa: PLR0913 - each is something that round.json says
    rounds: Path,
    frozen: pd.DataFrame,
    options: Annotation,
    scheme: Labels,
    guideline: str,
    *,
    now: str,
    settings: Mapping[str, Any] | None = None,
    repeats: dict[str, list[str]] | None = None,
    frame: dict[str, Any] | None = None,
    predictions: dict[str, str] | None = None,
    since: int | None = None,
    seen: dict[str, int] | None = None,
    named: bool = False,
) -> RoundFolder:
    """Write a new round's folder. items.parquet is written last; its presence makes the folder a round. See `About`."""
    folder = rounds / str(frozen["round"].iloc[0])
    if label_lines.files(folder) or any(
        (folder / name).exists() for name in ("items.parquet", LABELS, "seal.json")
    ):
        raise InputError(
            "is a round, but an earlier round is missing",
            file=folder,
            remedy="Restore the missing round's folder from a copy",
        )
    about = About(
        round=folder.name,
        pilot=bool(frozen["pilot"].iloc[0]),
        opened_at=now,
        labels=replace(scheme, aliases={}),  # a round is read with those of the day
        annotators=list(options.annotators),
        per_item=options.per_item,
        balanced=True,
        show=list(options.show),
        settings=dict(settings or {}),
        guideline=guideline_version(guideline),
        guidelines=[Sending(now, guideline_version(guideline))],
        repeats=repeats or UNSET,
        predictions=predictions or UNSET,
        frame=frame or UNSET,
        since=since or UNSET,
        seen=seen or UNSET,
        named=named or UNSET,
        records=LINES,
    )
    round_ = RoundFolder(folder, about)
    keep_guideline(round_, guideline)
    write_about(round_)
    write_items(folder, frozen)
    return round_


def write_about(round_: RoundFolder) -> None:
    """Write round.json."""
    content = msgspec.to_builtins(round_.about)
    content["sha256"] = own_hash(content, "sha256")
    text = json.dumps(content, ensure_ascii=False, indent=1, sort_keys=True)
    storage.write_text(round_.folder / "round.json", text + "\n")


def keep_guideline(round_: RoundFolder, guideline: str) -> str:
    """Save this text of the guideline, also by version. Returns the version."""
    version = guideline_version(guideline)
    storage.write_text(round_.folder / "guideline.md", guideline)
    storage.write_text(guideline_path(round_.folder.parent, version), guideline)
    return version


def note_sent(round_: RoundFolder, guideline: str, *, now: str) -> RoundFolder:
    """Record that the round is sent out: the first time, and with each other guideline."""
    version = keep_guideline(round_, guideline)
    if not round_.pushed_at or version != round_.guideline:
        sendings.add(round_.folder, [Sending(now, version)])
    return RoundFolder.at(round_.folder, round_.aliases)


def raise_per_item(round_: RoundFolder, per_item: int) -> RoundFolder:
    """Increase the annotators per item of an open round. A decrease applies only from the next round."""
    if per_item <= round_.per_item:
        return round_
    raised = replace(round_, about=msgspec.structs.replace(round_.about, per_item=per_item))
    write_about(raised)
    return raised


VERSION = re.compile("[0-9a-f]{12}")


def guideline_version(text: str) -> str:
    """Return the version of a guideline: the beginning of its hash."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def guideline_path(rounds: Path, version: str) -> Path:
    """Return the path of an earlier version's text."""
    return rounds / "guidelines" / f"{version}.md"


def earlier_guideline(rounds: Path, version: str) -> str | None:
    """Return the text of an earlier version, or None if it was not saved or the version is malformed."""
    path = guideline_path(rounds, version)
    return path.read_text("utf-8") if VERSION.fullmatch(version) and path.exists() else None


def all_rounds(rounds: Path) -> list[RoundFolder]:
    """Return the opened main rounds, in order."""
    return rounds_of_kind(rounds, RoundKind.STANCE)


def all_labels(rounds: Path) -> pd.DataFrame:
    """Return all labels of all rounds, in order."""
    import pandas as pd

    parts = [round_.labels() for round_ in all_rounds(rounds)]
    parts = [part for part in parts if len(part)]
    return pd.concat(parts, ignore_index=True) if parts else tables.empty("labels")


def rounds_of_kind(rounds: Path, kind: RoundKind) -> list[RoundFolder]:
    """Return the rounds of one kind, in order; `rounds` is the folder of the main rounds."""
    folders = sorted(kind.folder(rounds).glob(f"{kind}[0-9][0-9][0-9]/items.parquet"))
    return [RoundFolder.at(path.parent) for path in folders]


def every_round(rounds: Path) -> list[RoundFolder]:
    """Return all rounds of every kind."""
    return [round_ for kind in RoundKind for round_ in rounds_of_kind(rounds, kind)]


def kept_rounds(rounds: Path) -> list[RoundFolder]:
    """Return all rounds of every kind, and those taken back with their labels: wherever people's words may stand."""
    places = [rounds, *sorted(rounds.with_name(DISCARDED).glob(f"*/{rounds.name}"))]
    return [round_ for place in places for round_ in every_round(place)]


def next_number(rounds: Path, kind: RoundKind) -> str:
    """Return the next free number for a round of this kind."""
    return f"{kind}{len(rounds_of_kind(rounds, kind)) + 1:03d}"


def _read_about(path: Path) -> About:
    remedy = "Restore it from a copy"
    try:
        about = msgspec.convert(read_record(path), About)
    except msgspec.ValidationError as error:
        raise InputError(f"is not in covmis's format: {error}", file=path, remedy=remedy) from None
    if not about.labels.values:  # noqa: PD011 - not pandas'
        raise InputError("lacks labels.values", file=path, remedy=remedy)
    for code in about.annotators:  # Codes become file names, and the round may come from someone else.
        if not CODE.fullmatch(code.removeprefix(MACHINE)):
            raise InputError(f"'{code}' cannot be an annotator's code", file=path, remedy=remedy)
    return about


def find(rounds: Path, number: str = "") -> RoundFolder:
    """Find a round by number (`1` means `001`; `t1` training, `r1` recall); without one, the last main round."""
    kind = kind_of(number)
    rounds_open = rounds_of_kind(rounds, kind)
    if not rounds_open:
        raise InputError("no round is open", remedy="Open one with `covmis round open`")
    if not number:
        return rounds_open[-1]
    wanted = kind + number[len(kind) :].zfill(3)
    for round_ in rounds_open:
        if round_.number == wanted:
            return round_
    raise InputError(
        f"there is no round {number}", remedy=f"Rounds: {', '.join(r.number for r in rounds_open)}"
    )


def add_labels(round_: RoundFolder, answers: Iterable[Answer], *, now: str) -> int:
    """Record these answers in the round. Returns the number of new labels."""
    refuse_sealed(round_)
    sent_at = round_.pushed_at or round_.about.opened_at
    answers = [bounded(answer, sent_at=sent_at, now=now) for answer in latest(answers)]
    answers = [
        replace(answer, guideline=round_.guideline_at(answer.given_at)) if answer.given_at else answer
        for answer in answers
    ]
    return add_lines(round_, new_lines(round_, answers, now=now))


def new_lines(round_: RoundFolder, answers: Iterable[Answer], *, now: str) -> list[Line]:
    """Return the lines that these answers would add to the round's."""
    before = round_.lines()
    known = {line.id for line in before}
    after = append(
        before,
        answers,
        number=round_.number,
        guideline=round_.guideline,
        now=now,
        lead=label_lines.lead_code(),
        salts=label_lines.salts_of(round_.folder),
    )
    return [line for line in after if line.id not in known]


def add_lines(round_: RoundFolder, lines: Sequence[Line]) -> int:
    """Add these lines to the round. The rows of an earlier version's table are taken over first, in one step."""
    if lines:
        if not round_.by_lines and (earlier := round_.lines()):
            label_lines.add(round_.folder, earlier, name=label_lines.EARLIER)
        label_lines.add(round_.folder, lines)
        if not round_.about.records:
            now = RoundFolder.at(round_.folder, round_.aliases)
            write_about(replace(now, about=msgspec.structs.replace(now.about, records=LINES)))
    write_tables(round_)
    return len(lines)


def write_tables(round_: RoundFolder, decisions: pd.DataFrame | None = None) -> None:
    """Write the tables that are made from the lines, where they are not as they should be."""
    contents = {"labels": round_.labels()} if round_.by_lines else {}
    contents |= {} if decisions is None else {"gold": decisions}
    for table, rows in contents.items():
        path = round_.folder / {"labels": LABELS, "gold": DECISIONS}[table]
        if not _is_table(path, rows, table):
            storage.write_table(path, rows, table)


def _is_table(path: Path, rows: pd.DataFrame, table: str) -> bool:
    """True if a file has these rows."""
    try:
        known = storage.read_once(path, table)
    except InputError:  # it is damaged, and made again
        return False
    return path.exists() and tables.conform(known, table).equals(tables.conform(rows, table))


def count(pulled: Pulled, round_: RoundFolder, answers: Sequence[Answer], *, now: str) -> None:
    """Append these answers and count the new rows. Answers to items that are not open are reported."""
    checks = round_.checks
    if checks:
        known = set(checks.items()["item_id"])
        count(pulled, checks, [answer for answer in answers if answer.item_id in known], now=now)
        answers = [answer for answer in answers if answer.item_id not in known]
    closed = [answer for answer in answers if not round_.takes(answer.item_id)]
    before = set(round_.labels()["label_id"])
    pulled.added += add_labels(
        round_, [answer for answer in answers if round_.takes(answer.item_id)], now=now
    )
    labels = round_.labels()
    fresh = labels[~labels["label_id"].isin(before)]
    pulled.withdrawn += int((fresh["status"] == Status.WITHDRAWN).sum())
    pulled.notes += _clocks(fresh)
    current = present(labels).set_index(["item_id", "phase", "annotator"])["label"].to_dict()
    changed = [
        answer
        for answer in closed
        if current.get((answer.item_id, answer.phase, answer.annotator), "") != answer.label
    ]
    if changed:
        pulled.problems.append(
            Problem(
                f"round {round_.number}",
                f"{len(changed)} answers differ from the sealed ones ({changed[0].item_id}"
                f"{', …' if len(changed) > 1 else ''}), and their posts are not reopened",
                "To accept them, use `covmis round reopen`",
            )
        )


def _clocks(fresh: pd.DataFrame) -> list[Problem]:
    """Report answers with a wrong clock. Sheets have only the file's time, which copying changes."""
    rows = [row for row in labels_of(fresh) if row.channel not in RETURNED_AS.values()]
    problems = []
    for who in dict.fromkeys(row.annotator for row in rows):
        mine = [row for row in rows if row.annotator == who]
        for when, wrong in (
            ("later than now", [row for row in mine if own_time(row) > row.given_at]),
            ("before the round was sent out", [row for row in mine if own_time(row) < row.given_at]),
        ):
            if wrong:
                what = (
                    f"{counted(len(wrong), 'answers')} ({wrong[0].item_id}{', …' if wrong[1:] else ''}) given at "
                    f"{own_time(wrong[0])} by that computer's clock, {when}; recorded as {wrong[0].given_at}"
                )
                problems.append(Problem(who, what, "Correct that clock"))
    return problems


def note_reported_problems(round_: RoundFolder, pulled: Pulled) -> None:
    """Record reported problems as hashes, and mark those that an earlier pull reported."""
    path = round_.folder / "told.json"
    before = set(read_json(path)["told"]) if path.exists() else set()
    digests = {
        str(problem): hashlib.sha256(str(problem).encode()).hexdigest()[:16] for problem in pulled.problems
    }
    pulled.old = {told for told, digest in digests.items() if digest in before}
    if set(digests.values()) != before:
        storage.write_text(path, json.dumps({"told": sorted(digests.values())}, indent=1) + "\n")


def refuse_sealed(round_: RoundFolder) -> None:
    """Refuse to change a sealed round."""
    if round_.sealed:
        raise InputError(
            f"round {round_.number} is sealed: nothing can be added",
            remedy="Name another round (--round), open the next one, or `covmis round reopen` this one",
        )


def forget(rounds: Path, post_ids: Sequence[str]) -> int:
    """Purge posts from all rounds: texts, salts and comments, and their rows in sheets and pages.

    Ids, hashes and labels stay, so seals still verify. Sheets and exports keep the answers for other posts; `covmis
    round push` and `report` rebuild pages. Returns the number of items that lost their text.
    """
    wanted, count = set(post_ids), 0
    for round_ in kept_rounds(rounds):
        frozen = round_.items()
        mine = frozen["post_id"].isin(wanted) & (frozen["salt"] != "")
        if not mine.any():
            continue
        count += int(mine.sum())
        items = set(frozen.loc[mine, "item_id"])
        _forget_files(rounds, round_, items)
        for name in ("text", "quoted", "parent", "salt"):
            frozen.loc[mine, name] = ""
        for name in ("cards", "media"):
            frozen[name] = [[] if gone else value for gone, value in zip(mine, frozen[name], strict=True)]
        _forget_remarks(round_, items)
        write_items(round_.folder, frozen)  # written last: an item without salt has been purged completely
    return count


def _forget_files(rounds: Path, round_: RoundFolder, items: set[str]) -> None:
    """Remove these items from all sheets and exports. Delete pages and lists that may contain them."""
    for path, remains in _without(round_, items):
        if isinstance(remains, InputError):
            continue  # the purge names it, if it holds something of these items
        for kept, content in remains.items():
            storage.write_bytes(kept, content)
            if kept != path:
                storage.remove(path)
    pages = [
        *round_.sheets.glob("*.html"),
        *round_.folder.glob("feedback/*.html"),
        round_.folder / "report.html",
        round_.folder / "report.csv",
    ]
    for path in [*pages, rounds / "summary.html", rounds / "summary.csv", rounds / "board.html"]:
        storage.remove(path)


def unreadable_sheets(round_: RoundFolder) -> list[tuple[Path, InputError]]:
    """Return files among the sheets that are none, with the reason: nothing can be taken out of them."""
    return [(path, error) for path, error in _without(round_, set()) if isinstance(error, InputError)]


def _without(round_: RoundFolder, items: set[str]) -> Iterator[tuple[Path, dict[Path, bytes] | InputError]]:
    """Yield every sheet and answers file (path and content) without these items, or why it cannot be read."""
    from covmis_build.annotation.channels.sheets import without_items

    sheets, answers = sorted(_sheets(round_)), sorted(round_.sheets.glob("*.json"))
    yield from zip(sheets, each_in_child(without_items, [(path, items) for path in sheets]), strict=True)
    for path in answers:
        try:
            data = read_json(path)
        except InputError as error:
            yield path, error
            continue
        data["answers"] = [row for row in data.get("answers", []) if row.get("id") not in items]
        yield path, {path: json.dumps(data, indent=1).encode()}


def _sheets(round_: RoundFolder) -> set[Path]:
    return {path for path in round_.sheets.glob("*") if path.suffix.casefold() in RETURNED_AS}


def _forget_remarks(round_: RoundFolder, items: set[str]) -> None:
    if round_.by_lines:
        label_lines.forget_remarks(round_.folder, items)
        write_tables(round_)
        return
    labels = round_.labels()
    mine = labels["item_id"].isin(items)
    if mine.any():
        labels.loc[mine, ["comment", "reason"]] = ""
        storage.write_table(round_.folder / LABELS, labels, "labels")
