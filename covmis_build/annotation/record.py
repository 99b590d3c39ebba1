"""A round's folder: what is in it, and how it is read and written.

items.parquet     the frozen items                        round.json        when opened, scheme, roster, guideline
labels.parquet    every label, only ever appended         sheets/           what goes to people and comes back
decisions.parquet the gold labels, and how they came      report.*          agreement
guideline.md      the guideline, as last sent out         seal.json         the seal
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from covmis_build import storage
from covmis_build.annotation.answers import append
from covmis_build.annotation.rounds import read_items, round_folders, write_items
from covmis_build.errors import InputError
from covmis_build.options import Labels

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from covmis_build.annotation.answers import Answer
    from covmis_build.options import Annotation


@dataclass(frozen=True)
class Round:
    """An opened round and its folder."""

    folder: Path
    about: dict[str, Any]

    @property
    def number(self) -> str:
        """The round's number, three digits."""
        return self.folder.name

    @property
    def pilot(self) -> bool:
        """Whether it counts neither for gold nor for the headline."""
        return bool(self.about["pilot"])

    @property
    def scheme(self) -> Labels:
        """The label scheme with which it was opened."""
        return Labels(**{name: _tuples(value) for name, value in self.about["labels"].items()})

    @property
    def settings(self) -> dict[str, Any]:
        """The settings with which its items were found, cleaned and drawn; empty if nobody kept them."""
        return dict(self.about.get("settings") or {})

    @property
    def per_item(self) -> int:
        """How many people label each item."""
        return int(self.about["per_item"])

    @property
    def guideline(self) -> str:
        """The version of the guideline that was last sent out."""
        return str(self.about["guideline"])

    def guideline_at(self, given_at: str) -> str:
        """The version that had been sent out when a label was given; the one in use if nobody knows when."""
        sent = [row["version"] for row in self.about.get("guidelines", []) if row["since"] <= given_at]
        return str(sent[-1]) if sent else self.guideline

    @property
    def sheets(self) -> Path:
        """The folder of what goes to people and comes back."""
        return self.folder / "sheets"

    @property
    def sealed(self) -> bool:
        """Whether nothing may be added any more."""
        return (self.folder / "seal.json").exists()

    def items(self) -> pd.DataFrame:
        """The frozen items."""
        return read_items(self.folder)

    def labels(self) -> pd.DataFrame:
        """All labels, in the order in which they came."""
        return storage.read_table(self.folder / "labels.parquet", "labels")

    def seal(self) -> dict[str, Any] | None:
        """The seal, if there is one."""
        return read_json(self.folder / "seal.json") if self.sealed else None


def _tuples(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    return {name: _tuples(one) for name, one in value.items()} if isinstance(value, dict) else value


def create(
    rounds: Path, frozen: pd.DataFrame, options: Annotation, scheme: Labels, guideline: str, *, now: str,
    settings: Mapping[str, Any] | None = None,
) -> Round:  # fmt: skip
    """Write a new round's folder; items.parquet comes last, and makes it a round.

    `settings` are those with which its items were found, cleaned and drawn, kept for the release's card.
    """
    folder = rounds / str(frozen["round"].iloc[0])
    if any((folder / name).exists() for name in ("items.parquet", "labels.parquet", "seal.json")):
        raise InputError(
            "is a round already, and an earlier one is missing",
            file=folder,
            remedy="Restore the missing round's folder from a copy",
        )
    about = {
        "round": folder.name,
        "pilot": bool(frozen["pilot"].iloc[0]),
        "opened_at": now,
        "labels": asdict(scheme),
        "annotators": list(options.annotators),
        "per_item": options.per_item,
        "show": list(options.show),
        "settings": dict(settings or {}),
        "guideline": "",
        "guidelines": [],
    }
    made = Round(folder, about)
    made = keep_guideline(made, guideline, now=now)
    write_items(folder, frozen)
    return made


def write_about(one: Round) -> None:
    """Write round.json."""
    text = json.dumps(one.about, ensure_ascii=False, indent=1, sort_keys=True)
    storage.write_text(one.folder / "round.json", text + "\n")


def keep_guideline(one: Round, guideline: str, *, now: str) -> Round:
    """Keep this text of the guideline, under its version, and say since when it is the one in use."""
    version = guideline_version(guideline)
    storage.write_text(one.folder / "guideline.md", guideline)
    storage.write_text(guideline_path(one.folder.parent, version), guideline)
    history = list(one.about.get("guidelines", []))
    if version != one.guideline or not history:
        history.append({"version": version, "since": now})
    made = Round(one.folder, {**one.about, "guideline": version, "guidelines": history})
    write_about(made)
    return made


def guideline_version(text: str) -> str:
    """The version of a guideline: the beginning of its hash."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def guideline_path(rounds: Path, version: str) -> Path:
    """Where the text of an earlier version stands."""
    return rounds / "guidelines" / f"{version}.md"


def all_rounds(rounds: Path) -> list[Round]:
    """The opened rounds, in order."""
    return [Round(folder, _read_about(folder / "round.json")) for folder in round_folders(rounds)]


def _read_about(path: Path) -> dict[str, Any]:
    about = read_json(path)
    needs = {"pilot": bool, "labels": dict, "annotators": list, "per_item": int, "guideline": str}
    wrong = [name for name, kind in needs.items() if not isinstance(about.get(name), kind)]
    if not wrong and not about["labels"].get("values"):
        wrong = ["labels.values"]
    if not isinstance(about.get("settings", {}), dict):
        wrong.append("settings")
    if wrong:
        raise InputError(f"lacks {', '.join(wrong)}", file=path, remedy="Restore it from a copy")
    return about


def find(rounds: Path, number: str = "") -> Round:
    """The round with this number (`1` and `001` are the same), or the last one opened."""
    found = all_rounds(rounds)
    if not found:
        raise InputError("no round is open", remedy="Open one with `covmis round open`")
    if not number:
        return found[-1]
    wanted = number.zfill(3)
    for one in found:
        if one.number == wanted:
            return one
    raise InputError(f"there is no round {number}", remedy=f"Rounds: {', '.join(r.number for r in found)}")


def add_labels(one: Round, answers: Iterable[Answer], *, now: str) -> int:
    """Append these answers to the round's labels; how many rows that added."""
    refuse_sealed(one)
    before = one.labels()
    answers = [
        replace(answer, guideline=one.guideline_at(answer.given_at)) if answer.given_at else answer
        for answer in answers
    ]
    after = append(before, answers, number=one.number, guideline=one.guideline, now=now)
    if len(after) > len(before):
        storage.write_table(one.folder / "labels.parquet", after, "labels")
    return len(after) - len(before)


def refuse_sealed(one: Round) -> None:
    """A sealed round takes nothing more."""
    if one.sealed:
        raise InputError(
            f"round {one.number} is sealed: nothing can be added",
            remedy="Name another round with --round, or open the next one",
        )


def write_decisions(one: Round, decided: pd.DataFrame) -> None:
    """Write the gold labels of this round."""
    storage.write_table(one.folder / "decisions.parquet", decided, "gold")


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object of ours."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"cannot be read: {why}", file=path, remedy="Restore it from a copy") from None
    if not isinstance(found, dict):
        raise InputError("is not a JSON object", file=path)
    return found


def moment() -> str:
    """Now, in UTC, to the second."""
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def forget(rounds: Path, post_ids: Sequence[str]) -> int:
    """Purge posts from all rounds: their texts, salts and comments, and every sheet and page that repeats them.

    Ids, hashes and labels stay, so seals still verify; how many items lost their text. Sheets and exports keep what
    was filled in for other posts; pages are made again by `covmis round push` and `report`.
    """
    wanted, count = set(post_ids), 0
    for one in all_rounds(rounds):
        frozen = one.items()
        mine = frozen["post_id"].isin(wanted) & (frozen["salt"] != "")
        if not mine.any():
            continue
        count += int(mine.sum())
        items = set(frozen.loc[mine, "item_id"])
        _forget_files(rounds, one, items)
        for name in ("text", "quoted", "parent", "salt"):
            frozen.loc[mine, name] = ""
        for name in ("cards", "media"):
            frozen[name] = [[] if gone else value for gone, value in zip(mine, frozen[name], strict=True)]
        write_items(one.folder, frozen)
        _forget_remarks(one, items)
    return count


def _forget_files(rounds: Path, one: Round, items: set[str]) -> None:
    """Take these items out of every sheet and export; remove pages and lists that may repeat them."""
    import csv

    from covmis_build.annotation.sheets import read_rows

    for path in sorted(one.sheets.glob("*.csv")):
        kept = [row for row in read_rows(path, ("item_id",)) if row["item_id"].strip() not in items]
        names = [name for name in (kept[0] if kept else {}) if name != "row"]
        with path.open(encoding="utf-8-sig", newline="") as file:
            names = names or next(csv.reader(file))
        rows = [[row[name] for name in names] for row in kept]
        storage.write_bytes(path, storage.csv_bytes(names, rows))
    for path in sorted(one.sheets.glob("*.json")):
        data = read_json(path)
        data["answers"] = [row for row in data.get("answers", []) if row.get("id") not in items]
        storage.write_text(path, json.dumps(data, indent=1))
    pages = [*one.sheets.glob("*.html"), one.folder / "report.html", one.folder / "report.csv"]
    for path in [*pages, rounds / "summary.html", rounds / "summary.csv"]:
        path.unlink(missing_ok=True)


def _forget_remarks(one: Round, items: set[str]) -> None:
    labels = one.labels()
    mine = labels["item_id"].isin(items)
    if mine.any():
        labels.loc[mine, ["comment", "reason"]] = ""
        storage.write_table(one.folder / "labels.parquet", labels, "labels")
