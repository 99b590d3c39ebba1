"""A round's folder: what is in it, and how it is read and written.

items.parquet     the frozen items                        round.json        when opened, scheme, roster, guideline
labels.parquet    every label, only ever appended         sheets/           what goes to people and comes back
decisions.parquet the gold labels, and how they came      report.*          agreement
guideline.md      the guideline, as last sent out         seal.json         the seal
frame.parquet     of a recall round: every pair that it could have drawn, with its chance
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from covmis_build import storage, tables
from covmis_build.annotation.answers import (
    RETURNED_AS,
    Problem,
    Pulled,
    Status,
    append,
    bounded,
    labels_of,
    latest,
    own_time,
    present,
)
from covmis_build.annotation.frozen_items import read_items, write_items
from covmis_build.annotation.relevance import YES
from covmis_build.errors import InputError, counted
from covmis_build.options import MACHINE, Labels
from covmis_build.places import DRAWS
from covmis_build.settings import CODE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from covmis_build.annotation.answers import Answer
    from covmis_build.options import Annotation


FRAME = "frame.parquet"


class RoundKind(StrEnum):
    """What a round is for; the value is what its number begins with."""

    STANCE = ""
    TRAINING = "t"
    RECALL = "r"
    CHECKS = "c"
    """Posts whose label is known, hidden among the work of a round: c002 goes with 002."""

    def folder(self, rounds: Path) -> Path:
        """Where rounds of this kind stand: next to the rounds that count."""
        return rounds if self == RoundKind.STANCE else rounds.with_name(self.name.lower())


def kind_of(number: str) -> RoundKind:
    """What the round with this number is for."""
    return next((kind for kind in RoundKind if kind and number.casefold().startswith(kind)), RoundKind.STANCE)


def sheets_of(number: str) -> str:
    """Where the round's sheets are, as a person is reported."""
    kind = kind_of(number)
    return f"annotation/{kind.name.lower() if kind else 'rounds'}/{number}/sheets/"


class Sent(Struct, frozen=True):
    """Since when a version of the guideline is the one in use."""

    since: str
    version: str


class Reopening(Struct, frozen=True):
    """Which items of a sealed round were opened again, why, and the seal that stood until then."""

    items: list[str]
    reason: str
    at: str
    seal: str


class About(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What round.json says; what only some rounds have to say is not in the files of other rounds."""

    round: str = ""
    pilot: bool
    opened_at: str = ""
    pushed_at: str | UnsetType = UNSET
    """When it was sent out first: no answer is older."""
    labels: Labels
    annotators: list[str]
    """Who was to label it when it was opened."""
    per_item: int
    show: list[str] | UnsetType = UNSET
    settings: dict[str, Any] = {}
    """Those with which its items were found, cleaned and drawn; empty if nobody kept them."""
    guideline: str
    """The version that was last sent out."""
    guidelines: list[Sent] = []
    reopened: list[Reopening] | UnsetType = UNSET
    raised: dict[str, float] | UnsetType = UNSET
    """In rounds without a ledger of draws: ranked items of earlier rounds that its draw gave a greater chance."""
    repeats: dict[str, list[str]] | UnsetType = UNSET
    """Of hidden posts: whose own they are."""
    predictions: dict[str, str] | UnsetType = UNSET
    """Files of predictions that were there before it was opened: their names, each with its SHA-256."""
    frame: dict[str, Any] | UnsetType = UNSET
    """Of a recall round: what it was drawn from, sealed as it was written."""


@dataclass(frozen=True)
class RoundFolder:
    """An opened round and its folder."""

    folder: Path
    about: About

    @classmethod
    def at(cls, place: Path) -> RoundFolder:
        """The round in this folder, as its files are now."""
        return cls(place, _read_about(place / "round.json"))

    @property
    def number(self) -> str:
        """The round's number, three digits."""
        return self.folder.name

    @property
    def pilot(self) -> bool:
        """Whether it counts neither for gold nor for the headline."""
        return self.about.pilot

    @property
    def scheme(self) -> Labels:
        """The label scheme with which it was opened."""
        return self.about.labels

    @property
    def per_item(self) -> int:
        """How many people label each item."""
        return self.about.per_item

    @property
    def guideline(self) -> str:
        """The version of the guideline that was last sent out."""
        return self.about.guideline

    def guideline_at(self, given_at: str) -> str:
        """The version that had been sent out when a label was given; the one in use if nobody knows when."""
        sent = [row.version for row in self.about.guidelines if row.since <= given_at]
        return sent[-1] if sent else self.guideline

    @property
    def sheets(self) -> Path:
        """The folder of what goes to people and comes back; checks go with their round's."""
        if self.kind == RoundKind.CHECKS:
            return self.folder.parent.with_name("rounds") / self.number.removeprefix(self.kind) / "sheets"
        return self.folder / "sheets"

    @property
    def sealed(self) -> bool:
        """Whether nothing may be added any more."""
        return (self.folder / "seal.json").exists()

    @property
    def reopened(self) -> frozenset[str]:
        """The items that a sealed round was reopened for; none in a round that was never sealed, or is again."""
        reopened = self.about.reopened
        return frozenset(reopened[-1].items) if reopened and not self.sealed else frozenset()

    @property
    def kind(self) -> RoundKind:
        """What it is for, as its number says: 001, t001 or r001."""
        return RoundKind(self.number[:-3])

    @property
    def has_key(self) -> bool:
        """Whether the labels of its posts are known: for practice, or hidden in a round as checks."""
        return self.kind in {RoundKind.TRAINING, RoundKind.CHECKS}

    @property
    def checks(self) -> RoundFolder | None:
        """The posts with a known label that are hidden among this round's, if there are any."""
        place = RoundKind.CHECKS.folder(self.folder.parent) / f"{RoundKind.CHECKS}{self.number}"
        if self.kind or not (place / "items.parquet").exists():
            return None
        return RoundFolder.at(place)

    @property
    def asks_relevance(self) -> bool:
        """Whether it asks if posts are about their claim, not for a stance."""
        return self.kind == RoundKind.RECALL

    @property
    def twice(self) -> str:
        """The label that counts only if a second person has looked; none in a round that asks everybody enough."""
        return YES if self.asks_relevance else ""

    def takes(self, item_id: str) -> bool:
        """Whether labels of this item may be added: of any item, or of those that the round was reopened for."""
        return not self.sealed and (not self.reopened or item_id in self.reopened)

    def items(self) -> pd.DataFrame:
        """The frozen items."""
        return read_items(self.folder)

    def labels(self) -> pd.DataFrame:
        """All labels, in the order in which they came."""
        return storage.read_once(self.folder / "labels.parquet", "labels")

    def asked(self) -> pd.DataFrame:
        """What its annotators are asked: its items, and the checks among them."""
        import pandas as pd

        checks = self.checks
        return pd.concat([self.items(), checks.items()], ignore_index=True) if checks else self.items()

    def answers(self) -> pd.DataFrame:
        """All labels of what its annotators are asked."""
        import pandas as pd

        checks = self.checks
        parts = [labels for labels in (self.labels(), *([checks.labels()] if checks else [])) if len(labels)]
        return pd.concat(parts, ignore_index=True) if parts else self.labels()

    def decisions(self) -> pd.DataFrame:
        """The gold labels that were decided; empty before the first decision."""
        return storage.read_table(self.folder / "decisions.parquet", "gold")

    def frame(self) -> pd.DataFrame:
        """Of a recall round: every pair that it could have drawn, with its chance, so that later labels add up."""
        return storage.read_table(self.folder / FRAME, "frame")

    def draws(self) -> pd.DataFrame:
        """What the draws gave that it was opened with, and those since the round before that added nothing."""
        ledger = storage.read_table(self.folder.with_name(DRAWS), "draws")
        return ledger[ledger["round"] == self.number]

    def seal(self) -> dict[str, Any] | None:
        """The seal, if there is one."""
        return read_json(self.folder / "seal.json") if self.sealed else None


def create(  # noqa: PLR0913 - each is something that round.json says
    rounds: Path, frozen: pd.DataFrame, options: Annotation, scheme: Labels, guideline: str, *, now: str,
    settings: Mapping[str, Any] | None = None,
    repeats: dict[str, list[str]] | None = None, frame: dict[str, Any] | None = None,
    predictions: dict[str, str] | None = None,
) -> RoundFolder:  # fmt: skip
    """Write a new round's folder; items.parquet comes last, and makes it a round. See `About` for the rest."""
    folder = rounds / str(frozen["round"].iloc[0])
    if any((folder / name).exists() for name in ("items.parquet", "labels.parquet", "seal.json")):
        raise InputError(
            "is a round, but an earlier round is missing",
            file=folder,
            remedy="Restore the missing round's folder from a copy",
        )
    about = About(
        round=folder.name,
        pilot=bool(frozen["pilot"].iloc[0]),
        opened_at=now,
        labels=scheme,
        annotators=list(options.annotators),
        per_item=options.per_item,
        show=list(options.show),
        settings=dict(settings or {}),
        guideline="",
        repeats=repeats or UNSET,
        predictions=predictions or UNSET,
        frame=frame or UNSET,
    )
    round_ = RoundFolder(folder, about)
    round_ = keep_guideline(round_, guideline, now=now)
    write_items(folder, frozen)
    return round_


def write_about(round_: RoundFolder) -> None:
    """Write round.json."""
    text = json.dumps(msgspec.to_builtins(round_.about), ensure_ascii=False, indent=1, sort_keys=True)
    storage.write_text(round_.folder / "round.json", text + "\n")


def keep_guideline(round_: RoundFolder, guideline: str, *, now: str) -> RoundFolder:
    """Keep this text of the guideline, under its version, and say since when it is the one in use."""
    version = guideline_version(guideline)
    storage.write_text(round_.folder / "guideline.md", guideline)
    storage.write_text(guideline_path(round_.folder.parent, version), guideline)
    history = [*round_.about.guidelines]
    if version != round_.guideline or not history:
        history.append(Sent(now, version))
    about = msgspec.structs.replace(round_.about, guideline=version, guidelines=history)
    round_now = RoundFolder(round_.folder, about)
    write_about(round_now)
    return round_now


def note_pushed(round_: RoundFolder, *, now: str) -> RoundFolder:
    """Note when the round was sent out, the first time."""
    if round_.about.pushed_at:
        return round_
    pushed = replace(round_, about=msgspec.structs.replace(round_.about, pushed_at=now))
    write_about(pushed)
    return pushed


def raise_per_item(round_: RoundFolder, per_item: int) -> RoundFolder:
    """Let more people label each item of an open round; fewer only from the next round on."""
    if per_item <= round_.per_item:
        return round_
    raised = replace(round_, about=msgspec.structs.replace(round_.about, per_item=per_item))
    write_about(raised)
    return raised


VERSION = re.compile("[0-9a-f]{12}")


def guideline_version(text: str) -> str:
    """The version of a guideline: the beginning of its hash."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def guideline_path(rounds: Path, version: str) -> Path:
    """Where the text of an earlier version stands."""
    return rounds / "guidelines" / f"{version}.md"


def earlier_guideline(rounds: Path, version: str) -> str | None:
    """The text of an earlier version, if it was kept; labels that name no version may be another person's."""
    path = guideline_path(rounds, version)
    return path.read_text("utf-8") if VERSION.fullmatch(version) and path.exists() else None


def all_rounds(rounds: Path) -> list[RoundFolder]:
    """The opened rounds that count, in order."""
    return rounds_of_kind(rounds, RoundKind.STANCE)


def all_labels(rounds: Path) -> pd.DataFrame:
    """All labels of all rounds, in order."""
    import pandas as pd

    parts = [round_.labels() for round_ in all_rounds(rounds)]
    parts = [part for part in parts if len(part)]
    return pd.concat(parts, ignore_index=True) if parts else tables.empty("labels")


def rounds_of_kind(rounds: Path, kind: RoundKind) -> list[RoundFolder]:
    """The rounds of one kind, in order; `rounds` is where those that count stand."""
    folders = sorted(kind.folder(rounds).glob(f"{kind}[0-9][0-9][0-9]/items.parquet"))
    return [RoundFolder.at(path.parent) for path in folders]


def every_round(rounds: Path) -> list[RoundFolder]:
    """All rounds, whatever they are for."""
    return [round_ for kind in RoundKind for round_ in rounds_of_kind(rounds, kind)]


def next_number(rounds: Path, kind: RoundKind) -> str:
    """The number that the next round of this kind gets."""
    return f"{kind}{len(rounds_of_kind(rounds, kind)) + 1:03d}"


def _read_about(path: Path) -> About:
    remedy = "Restore it from a copy"
    try:
        about = msgspec.convert(read_json(path), About)
    except msgspec.ValidationError as error:
        raise InputError(f"is not in covmis's format: {error}", file=path, remedy=remedy) from None
    if not about.labels.values:  # noqa: PD011 - not pandas'
        raise InputError("lacks labels.values", file=path, remedy=remedy)
    for code in about.annotators:  # they become names of files, and the round may be another person's
        if not CODE.fullmatch(code.removeprefix(MACHINE)):
            raise InputError(f"'{code}' cannot be an annotator's code", file=path, remedy=remedy)
    return about


def find(rounds: Path, number: str = "") -> RoundFolder:
    """The round with this number (`1` is `001`; `t1` is for training, `r1` for recall), or the last one that counts."""
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
    """Append these answers to the round's labels; how many rows that added."""
    refuse_sealed(round_)
    before = round_.labels()
    sent_at = round_.about.pushed_at or round_.about.opened_at
    answers = [bounded(answer, sent_at=sent_at, now=now) for answer in latest(answers)]
    answers = [
        replace(answer, guideline=round_.guideline_at(answer.given_at)) if answer.given_at else answer
        for answer in answers
    ]
    after = append(before, answers, number=round_.number, guideline=round_.guideline, now=now)
    if len(after) > len(before):
        storage.write_table(round_.folder / "labels.parquet", after, "labels")
    return len(after) - len(before)


def count(pulled: Pulled, round_: RoundFolder, answers: Sequence[Answer], *, now: str) -> None:
    """Append these answers, and count what that added; answers to items that are not open are reported."""
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
    """Answers of clocks that were wrong; a sheet has only its file's time, which copying changes."""
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


def note_told(round_: RoundFolder, pulled: Pulled) -> None:
    """Keep which problems have been told, as hashes; those that an earlier pull has told are marked as old."""
    path = round_.folder / "told.json"
    before = set(read_json(path)["told"]) if path.exists() else set()
    digests = {
        str(problem): hashlib.sha256(str(problem).encode()).hexdigest()[:16] for problem in pulled.problems
    }
    pulled.old = {told for told, digest in digests.items() if digest in before}
    if set(digests.values()) != before:
        storage.write_text(path, json.dumps({"told": sorted(digests.values())}, indent=1) + "\n")


def refuse_sealed(round_: RoundFolder) -> None:
    """A sealed round takes nothing more."""
    if round_.sealed:
        raise InputError(
            f"round {round_.number} is sealed: nothing can be added",
            remedy="Name another round (--round), open the next one, or `covmis round reopen` this one",
        )


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object of ours."""
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"cannot be read: {why}", file=path, remedy="Restore it from a copy") from None
    if not isinstance(content, dict):
        raise InputError("is not a JSON object", file=path)
    return content


def forget(rounds: Path, post_ids: Sequence[str]) -> int:
    """Purge posts from all rounds: their texts, salts and comments, and every sheet and page that repeats them.

    Ids, hashes and labels stay, so seals still verify; how many items lost their text. Sheets and exports keep what
    was filled in for other posts; pages are made again by `covmis round push` and `report`.
    """
    wanted, count = set(post_ids), 0
    for round_ in every_round(rounds):
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
        write_items(round_.folder, frozen)  # last: what has no salt any more has been done whole
    return count


def _forget_files(rounds: Path, round_: RoundFolder, items: set[str]) -> None:
    """Take these items out of every sheet and export; remove pages and lists that may repeat them."""
    from covmis_build.annotation.channels.sheets import without_items

    for path in sorted(path for path in round_.sheets.glob("*") if path.suffix.casefold() in RETURNED_AS):
        for kept, content in without_items(path, items).items():
            storage.write_bytes(kept, content)
            if kept != path:
                storage.remove(path)
    for path in sorted(round_.sheets.glob("*.json")):
        data = read_json(path)
        data["answers"] = [row for row in data.get("answers", []) if row.get("id") not in items]
        storage.write_text(path, json.dumps(data, indent=1))
    pages = [
        *round_.sheets.glob("*.html"),
        *round_.folder.glob("feedback/*.html"),
        round_.folder / "report.html",
        round_.folder / "report.csv",
    ]
    for path in [*pages, rounds / "summary.html", rounds / "summary.csv", rounds / "board.html"]:
        storage.remove(path)


def _forget_remarks(round_: RoundFolder, items: set[str]) -> None:
    labels = round_.labels()
    mine = labels["item_id"].isin(items)
    if mine.any():
        labels.loc[mine, ["comment", "reason"]] = ""
        storage.write_table(round_.folder / "labels.parquet", labels, "labels")
