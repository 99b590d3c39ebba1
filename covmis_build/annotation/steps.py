"""What each command does to a round's folder when people work on sheets: send out, bring back, decide, seal.

Every step may be repeated: the second time nothing changes.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from covmis_build import storage
from covmis_build.annotation import adjudication, record
from covmis_build.annotation.answers import Answer, Problem, present
from covmis_build.annotation.offline import offline_page, read_export
from covmis_build.annotation.rounds import assignment, for_people, rows_of
from covmis_build.annotation.seal import Verified, seal, verify
from covmis_build.annotation.sheets import header, read_rows, read_sheet, sheet
from covmis_build.errors import CheckFailed, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

    from covmis_build.annotation.record import Round

DISCUSSION, ADJUDICATION = "discussion.csv", "adjudication.csv"


@dataclass(slots=True)
class Pulled:
    """What came back: how many rows the record gained, from how many answers, and what was wrong."""

    added: int = 0
    answers: int = 0
    problems: list[Problem] = field(default_factory=list)


def work(one: Round, annotators: Sequence[str], per_item: int, *, seed: int) -> dict[str, list[str]]:
    """Who labels what in this round."""
    return assignment(one.items(), one.labels(), annotators, per_item, seed=seed)


def push_sheets(one: Round, who: dict[str, list[str]]) -> list[Path]:
    """Write each annotator's CSV sheet; a sheet that is there keeps what was filled in. The files that changed."""
    record.refuse_sealed(one)
    frozen = one.items()
    written = []
    for code, wanted in who.items():
        path = one.sheets / f"{code}.csv"
        before = read_rows(path, header(one.scheme)) if path.exists() else []
        if before and {row["item_id"] for row in before} >= set(wanted):
            continue
        storage.write_bytes(path, sheet(frozen, wanted, one.scheme, before))
        written.append(path)
    return written


def push_pages(one: Round, who: dict[str, list[str]], *, title: str, guideline: str) -> list[Path]:
    """Write each annotator's offline page. The files that changed."""
    record.refuse_sealed(one)
    frozen = one.items()
    written = []
    for code, wanted in who.items():
        path = one.sheets / f"{code}.html"
        made = offline_page(frozen, wanted, code, one.scheme, one.number, title=title, guideline=guideline)
        if not path.exists() or path.read_text("utf-8") != made:
            storage.write_text(path, made)
            written.append(path)
    return written


def pull_files(one: Round, annotators: Sequence[str], files: Sequence[Path], *, now: str) -> Pulled:
    """Bring back sheets (.csv) and the offline page's exports (.json): those named, or all in the round's folder."""
    record.refuse_sealed(one)
    named = list(files) or [
        path
        for path in sorted(one.sheets.glob("*"))
        if path.suffix in {".csv", ".json"} and path.name not in {DISCUSSION, ADJUDICATION}
    ]
    frozen, scheme = one.items(), one.scheme
    found = Pulled()
    answers: list[Answer] = []
    for path in named:
        if path.suffix == ".json":
            more, problems = read_export(path, annotators, one.number, frozen, scheme)
        else:
            more, problems = read_sheet(path, _whose(path, annotators), frozen, scheme)
        answers += more
        found.problems += problems
    people = set(for_people(frozen)["item_id"])
    for answer in answers:
        if answer.item_id not in people:
            found.problems.append(
                Problem(answer.annotator, f"labels {answer.item_id}, which is nobody's work")
            )
    kept = [answer for answer in answers if answer.item_id in people]
    found.answers = len(kept)
    found.added = record.add_labels(one, kept, now=now)
    found.problems += two_channels(one.labels())
    return found


def _whose(path: Path, annotators: Sequence[str]) -> str:
    """The annotator whose code the file's name starts with."""
    fitting = [code for code in annotators if re.match(rf"{re.escape(code)}(?![A-Za-z0-9_-])", path.name)]
    if not fitting:
        raise InputError(
            "does not say whose sheet it is",
            file=path,
            remedy=f"Begin its name with the annotator's code: {', '.join(annotators)}",
        )
    return max(fitting, key=len)


def two_channels(labels: pd.DataFrame) -> list[Problem]:
    """People who answered an item differently in two channels: the later answer counts, and somebody should look."""
    mine = labels[labels["phase"] == "independent"]
    last = mine.drop_duplicates(["item_id", "annotator", "channel"], keep="last")
    found = []
    for key, rows in last.groupby(["item_id", "annotator"], sort=True):
        item, who = (str(part) for part in cast("tuple[str, str]", key))
        if len(set(rows["label"])) > 1:
            said = ", ".join(f"{row['channel']}: {row['label'] or row['status']}" for row in rows_of(rows))
            what = f"answered {item} differently in two channels ({said}); the later one counts"
            found.append(Problem(who, what))
    return found


def progress(one: Round, who: dict[str, list[str]]) -> list[dict[str, Any]]:
    """For each annotator: items assigned, answered, skipped, to be repaired, and left; pace and time left."""
    current = present(one.labels())
    current = current[current["phase"] == "independent"]
    rows = []
    for code in dict.fromkeys([*who, *sorted(set(current["annotator"]))]):
        mine = current[current["annotator"] == code]
        counts = mine["status"].value_counts().to_dict()
        done = set(mine.loc[mine["status"].isin(["given", "skipped"]), "item_id"])
        seconds = mine["seconds"].dropna().astype(float)
        left = len(set(who.get(code, [])) - done)
        pace = float(seconds.median()) if len(seconds) else None
        rows.append(
            {
                "annotator": code,
                "items": len(set(who.get(code, [])) | done),
                "given": int(counts.get("given", 0)),
                "skipped": int(counts.get("skipped", 0)),
                "invalid": int(counts.get("invalid", 0)),
                "left": left,
                "median_seconds": pace,
                "minutes_left": None if pace is None else left * pace / 60,
            }
        )
    return rows


def read_decision_sheets(one: Round, adjudicator: str, *, now: str) -> Pulled:
    """Bring back the discussion's and the third person's sheets."""
    frozen, scheme = one.items(), one.scheme
    found = Pulled()
    for name, phase, who in (
        (DISCUSSION, "discussion", adjudication.TOGETHER),
        (ADJUDICATION, "adjudication", adjudicator),
    ):
        path = one.sheets / name
        if path.exists():
            answers, problems = adjudication.read_decisions(path, phase, who, frozen, scheme)
            found.answers += len(answers)
            found.problems += problems
            if not one.sealed:
                found.added += record.add_labels(one, answers, now=now)
    return found


def write_decision_sheets(one: Round, *, seed: int, discuss: bool = True) -> dict[str, list[str]]:
    """Write the sheets of what is to be discussed, and of what goes to the third person; what each contains."""
    frozen, labels = one.items(), one.labels()
    talk = adjudication.disagreements(frozen, labels, one.per_item)
    third = adjudication.undecided(frozen, labels, one.per_item) if discuss else talk
    notes = {
        row["item_id"]: " | ".join(part for part in (row["reason"], row["comment"]) if part)
        for row in rows_of(present(labels).query("phase == 'discussion'"))
    }
    made = {DISCUSSION: talk if discuss else [], ADJUDICATION: third}
    for name, wanted in made.items():
        path = one.sheets / name
        before = read_rows(path, ("item_id",)) if path.exists() else []
        if not wanted and not path.exists():
            continue
        more = {"notes": notes} if name == ADJUDICATION else {}
        text = adjudication.decision_sheet(frozen, labels, wanted, seed=seed, before=before, **more)
        if not path.exists() or {row["item_id"] for row in before} != set(wanted):
            storage.write_bytes(path, text)
    return made


def decide(one: Round) -> pd.DataFrame:
    """The round's gold labels, also of a pilot round (where they count for nothing); written to decisions.parquet."""
    frozen = one.items().assign(pilot=False)
    decided = adjudication.gold(frozen, one.labels(), per_item=one.per_item)
    if not one.sealed:
        record.write_decisions(one, decided)
    return decided


def undecided_items(one: Round) -> list[str]:
    """The items that have no gold label yet."""
    return sorted(set(one.items()["item_id"]) - set(decide(one)["item_id"]))


def seal_round(rounds: Path, one: Round) -> dict[str, Any]:
    """Seal this round. Refused while items are undecided, a report is missing, or an earlier round is not sealed."""
    if one.sealed:
        return one.seal() or {}
    earlier = [other for other in record.all_rounds(rounds) if other.number < one.number]
    open_ones = [other.number for other in earlier if not other.sealed]
    if open_ones:
        raise CheckFailed(
            f"round {open_ones[0]} is not sealed yet: seals are a chain, in the order of the rounds"
        )
    left = undecided_items(one)
    if left:
        shown = ", ".join(left[:3]) + (", …" if len(left) > 3 else "")
        raise CheckFailed(
            f"{len(left)} items of round {one.number} have no final label ({shown}). "
            "`covmis round status` says what is missing, `covmis round adjudicate` decides disagreements"
        )
    before = earlier[-1].seal() if earlier else None
    made = seal(*_contents(one), previous=before["seal"] if before else "", number=one.number)
    text = json.dumps(made, ensure_ascii=True, indent=1, sort_keys=True)
    storage.write_text(one.folder / "seal.json", text + "\n")
    return made


def verify_rounds(rounds: Path) -> list[Verified]:
    """Check all seals, in order; rounds after the last sealed one are reported as not sealed."""
    found, previous = [], ""
    for one in record.all_rounds(rounds):
        found.append(verify(one.seal(), *_contents(one), previous=previous, number=one.number))
        previous = str((one.seal() or {}).get("seal", ""))
    return found


def _contents(one: Round) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, bytes, bytes]:
    decisions = storage.read_table(one.folder / "decisions.parquet", "gold")
    report, guideline = (
        path.read_bytes() if path.exists() else b""
        for path in (one.folder / "report.json", one.folder / "guideline.md")
    )
    return one.items(), one.labels(), decisions, report, guideline


def settlement(one: Round, *, discuss: bool = True) -> dict[str, int]:
    """How many disagreements there are, how each was settled, and what is left to do."""
    frozen, labels = one.items(), one.labels()
    differ = set(adjudication.disagreements(frozen, labels, one.per_item))
    decided = decide(one)
    how = dict(zip(decided["item_id"], decided["how"], strict=True))
    current = present(labels)
    final = current[(current["status"] == "given") & current["item_id"].isin(differ)]
    third = set(final.loc[final["phase"] == "adjudication", "item_id"])
    talked = set(final.loc[final["phase"] == "discussion", "item_id"]) - third
    waiting = set(adjudication.undecided(frozen, labels, one.per_item)) if discuss else differ
    return {
        "disagreements": len(differ),
        "discussed": len(talked),
        "adjudicated": len(third),
        "to_discuss": len([item for item in differ - talked - third - waiting if item not in how])
        if discuss
        else 0,
        "to_adjudicate": len([item for item in waiting - third if item not in how]),
    }
