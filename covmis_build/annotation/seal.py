"""The seal of a round: hashes of all decisions, chained to the previous round. It contains no texts and no names.

A purge removes texts, comments and salts and keeps the hashes, so a sealed round still verifies and reports "purged".
Publish the last seal's own hash, for example in the paper: it lets others verify that no earlier round was changed.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from covmis_build import anchors, records, storage
from covmis_build.anchors import OF_SEAL
from covmis_build.annotation.answers import as_said, labels_of
from covmis_build.annotation.frozen_items import rows_of
from covmis_build.annotation.json_records import own_hash, read_json
from covmis_build.annotation.round_folder import DECISIONS, FRAME, Reopening, write_about
from covmis_build.errors import CheckFailed, InputError, counted
from covmis_build.report.result import Result
from covmis_build.text.shown import shown_hash, shown_parts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.records import Label

SEALED_FILES = (DECISIONS, "report.json", "guideline.md", OF_SEAL, "seal.json")
"""Files kept from a seal when its round is reopened. They contain no post's text. The seal is written last."""
SEALED = ("items", "labels", "decisions", "agreement", "guideline", "frame", "draws")


@dataclass(frozen=True, slots=True, repr=False)
class Seal(Result):
    """A round's seal: its own hash, the previous one, and the number of sealed items."""

    round: str
    seal: str
    previous: str
    counts: Mapping[str, int]

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Seal:
        """Return the seal of this seal.json."""
        return cls(content["round"], content["seal"], content["previous"], content["counts"])

    @property
    def summary(self) -> list[str]:
        """Return what to publish."""
        return [
            f"Round {self.round} is sealed: {self.seal}",
            "Give this hash to others, for example in the paper: they can then verify that nothing was changed.",
        ]


@dataclass(frozen=True, slots=True)
class Verified:
    """Result for one round: what was changed after sealing (nothing: valid), and what was purged."""

    round: str
    sealed: bool
    changed: tuple[str, ...]
    purged: int
    stamped: str = ""
    """When an authority stamped the seal, and which one."""

    @property
    def stands(self) -> bool:
        """True if nothing was changed after sealing."""
        return self.sealed and not self.changed

    @property
    def sentence(self) -> str:
        """Return the result as text."""
        state = (
            "valid" if self.stands else "CHANGED: " + ", ".join(self.changed) if self.sealed else "not sealed"
        )
        stamped = f"; stamped {self.stamped}" if self.stamped and self.stands else ""
        purged = f"; {counted(self.purged, 'posts')} purged" if self.purged else ""
        return f"Round {self.round}: {state}{stamped}{purged}"

    def to_dict(self) -> dict[str, Any]:
        """As `covmis round verify --json` prints it."""
        return {
            "round": self.round,
            "sealed": self.sealed,
            "stands": self.stands,
            "changed": list(self.changed),
            "purged": self.purged,
            "stamped": self.stamped,
        }


class Contents(NamedTuple):
    """The content that a seal covers."""

    frozen: pd.DataFrame
    labels: pd.DataFrame
    decisions: pd.DataFrame
    report: bytes
    guideline: bytes
    frame: str = ""
    """Hash of a recall round's sampling frame; empty in other rounds."""
    draws: str = ""
    """Hash of the draws for the round; empty in rounds from before there was a ledger."""


def seal(
    contents: Contents,
    *,
    previous: str,
    number: str,
    replaces: str = "",
) -> dict[str, Any]:
    """Seal this round and chain it to the hash of the previous seal (empty for the first).

    `replaces` is the round's seal before it was reopened.
    """
    frozen, labels, decisions, report, guideline, frame, draws = contents
    salts = dict(zip(frozen["item_id"], frozen["salt"], strict=True))
    content = {
        "version": 1,
        "round": number,
        "items": items_hash(frozen),
        "labels": _rows_hash(labels, "labels"),
        "decisions": _rows_hash(decisions, "gold"),
        "agreement": hashlib.sha256(report).hexdigest(),
        "guideline": hashlib.sha256(guideline).hexdigest(),
        "remarks": {
            row.label_id: _remark_hash(row, salts.get(row.item_id, ""))
            for row in labels_of(labels)
            if row.comment or row.reason
        },
        "lines": sorted(labels["label_id"]),
        "counts": {"items": len(frozen), "labels": len(labels), "decisions": len(decisions)},
        "previous": previous,
    }
    if frame:
        content["frame"] = frame
    if draws:
        content["draws"] = draws
    if replaces:
        content["replaces"] = replaces
    return content | {"seal": own_hash(content, "seal")}


def verify(
    sealed: Mapping[str, Any] | None,
    contents: Contents,
    *,
    previous: Collection[str],
    replaces: str = "",
    number: str,
) -> Verified:
    """Compare a round with its seal, and the seal with the previous round's current or earlier seals."""
    frozen, labels = contents.frozen, contents.labels
    gone = frozen[frozen["salt"] == ""]
    if sealed is None:
        return Verified(number, False, (), len(gone))
    now = seal(contents, previous="", number=number)
    changed = [name for name in SEALED if now.get(name) != sealed.get(name)]
    if sealed.get("previous") not in previous:
        changed.append("the previous seal")
    if sealed.get("replaces", "") != replaces:
        changed.append("the replaced seal")
    if sealed.get("seal") != own_hash(sealed, "seal") or sealed.get("round") != number:
        changed.append("the seal itself")
    changed += _other_labels(sealed, labels)
    changed += [f"the text of {item}" for item in _other_texts(frozen)]
    changed += _other_remarks(sealed.get("remarks", {}), now["remarks"], labels, set(gone["item_id"]))
    return Verified(number, True, tuple(changed), len(gone))


def verify_chain(
    rounds: Sequence[RoundFolder], authorities: Path | None = None, *, quick: bool = False
) -> list[Verified]:
    """Check all seals in order, each against the previous one, and their time stamps. Unsealed rounds are reported as such.

    `quick`: signatures of time stamps are not verified, for which OpenSSL is needed.
    """
    checks = []
    previous = {""}
    for round_ in rounds:
        sealed = (
            read_json(round_.folder / "seal.json") if round_.sealed else None
        )  # as it is, to say what differs
        kept = [str(content.get("seal", "")) for content in _replaced_seals(round_)]
        replaces = kept[-1] if kept else ""
        check = verify(sealed, _contents(round_), previous=previous, replaces=replaces, number=round_.number)
        stamped, restamped = _stamped(round_.folder, sealed, authorities, quick=quick)
        before = (*restamped, *_changed_before(round_, previous, authorities, quick=quick))
        checks.append(
            replace(
                check,
                sealed=check.sealed or bool(before),
                changed=(*check.changed, *before),
                stamped=stamped,
            )
        )
        previous = {*kept, str(sealed["seal"])} if sealed else set(kept) or {""}
    return checks


def _stamped(
    folder: Path, sealed: Mapping[str, Any] | None, authorities: Path | None, *, quick: bool
) -> tuple[str, tuple[str, ...]]:
    """Return when the seal in this folder was stamped, and what is wrong with the time stamp."""
    if not (folder / OF_SEAL).exists():
        return "", ()
    if sealed is None:
        return "", ("the seal that was stamped is not there",)
    digest = str(sealed.get("seal", ""))
    if quick:
        return "", () if anchors.may_be_of(folder / OF_SEAL, digest) else (
            "the time stamp is of another seal",
        )
    passed, told = anchors.checked(folder / OF_SEAL, digest, authorities)
    return (told, ()) if passed else ("", (f"the time stamp ({told})",))


def seal_round(rounds: Sequence[RoundFolder], round_: RoundFolder, *, undecided: Sequence[str]) -> Seal:
    """Seal this round as it is in its folder. Sealing twice changes nothing.

    `rounds` are all rounds of the study; `undecided` the round's items without a final label. Refused if there is such an
    item, or if an earlier round is not sealed.
    """
    if round_.sealed:
        return Seal.of(round_.seal() or {})
    earlier = [other for other in rounds if other.number < round_.number]
    still_open = [other.number for other in earlier if not other.sealed]
    if still_open:
        raise CheckFailed(f"round {still_open[0]} is not sealed yet; seal rounds in their order")
    if undecided:
        shown = ", ".join(undecided[:3]) + (", …" if len(undecided) > 3 else "")
        raise CheckFailed(
            f"{counted(len(undecided), 'items')} of round {round_.number} "
            f"{'has' if len(undecided) == 1 else 'have'} no final label ({shown}). "
            "`covmis round status` shows what is missing; `covmis round adjudicate` resolves disagreements"
        )
    before = earlier[-1].seal() if earlier else None
    kept = _replaced_seals(round_)
    content = seal(
        _contents(round_),
        previous=before["seal"] if before else "",
        number=round_.number,
        replaces=str(kept[-1].get("seal", "")) if kept else "",
    )
    text = json.dumps(content, ensure_ascii=True, indent=1, sort_keys=True)
    storage.write_text(round_.folder / "seal.json", text + "\n")
    return Seal.of(content)


def reopen(round_: RoundFolder, items: Sequence[str], reason: str, *, now: str) -> RoundFolder:
    """Reopen these items of a sealed round. The sealed files are kept in sealed/N, and the next seal names them."""
    sealed, before = round_.seal(), [*(round_.about.reopened or [])][-1:]
    if sealed is None and [(each.items, each.reason) for each in before] == [
        (sorted(set(items)), reason.strip())
    ]:
        return round_  # this very reopening was done before
    if sealed is None:
        raise InputError(
            f"round {round_.number} is not sealed", remedy="Its labels can be changed without reopening"
        )
    known = set(round_.items()["item_id"])
    unknown = [item for item in items if item not in known]
    if unknown or not items:
        what = f"the item {unknown[0]} is not in round {round_.number}" if unknown else "no item is named"
        raise InputError(what, remedy="Write items as claim|post")
    if not reason.strip():
        raise InputError("there is no reason", remedy='Say why, like "two labels were swapped" (--reason)')
    entry = Reopening(sorted(set(items)), reason.strip(), now, sealed["seal"])
    earlier = [*(round_.about.reopened or [])]
    if not earlier or earlier[-1].seal != entry.seal:
        earlier.append(entry)
    place = round_.folder / "sealed" / str(len(earlier))
    for name in SEALED_FILES:
        if name == DECISIONS:  # made from the lines, where the file itself may be missing
            storage.write_table(place / name, round_.decisions(), "gold")
        elif (round_.folder / name).exists():
            storage.write_bytes(place / name, (round_.folder / name).read_bytes())
    about = msgspec.structs.replace(round_.about, reopened=[*earlier[:-1], entry])
    reopened = replace(round_, about=about)
    write_about(reopened)
    storage.remove(round_.folder / OF_SEAL)
    # Last: if interrupted before this, the round is still sealed and the same call can be repeated.
    storage.remove(round_.folder / "seal.json")
    return reopened


def _replaced_seals(round_: RoundFolder) -> list[dict[str, Any]]:
    """Return the round's seals from before it was reopened; a missing one is empty."""
    now = read_json(round_.folder / "seal.json").get("seal") if round_.sealed else None
    reopenings = [entry for entry in round_.about.reopened or [] if entry.seal != now]
    paths = [round_.folder / "sealed" / str(number) / "seal.json" for number in range(1, len(reopenings) + 1)]
    return [read_json(path) if path.exists() else {} for path in paths]


def _changed_before(
    round_: RoundFolder, previous: Collection[str], authorities: Path | None, *, quick: bool
) -> list[str]:
    """Report changes to what the round's earlier seals cover."""
    changed: list[str] = []
    replaces = ""
    for number, sealed in enumerate(_replaced_seals(round_), start=1):
        place = round_.folder / "sealed" / str(number)
        if not sealed:
            changed.append(f"the seal that was replaced by reopening {number}")
            continue
        labels = round_.labels_under(sealed)
        decisions = storage.read_table(place / DECISIONS, "gold")
        report, guideline = (_bytes(place / name) for name in ("report.json", "guideline.md"))
        check = verify(
            sealed,
            Contents(
                round_.items(), labels, decisions, report, guideline, _frame_hash(round_), _draws_hash(round_)
            ),
            previous=previous,
            replaces=replaces,
            number=round_.number,
        )
        _, restamped = _stamped(place, sealed, authorities, quick=quick)
        changed += [f"{what} (under the seal {sealed['seal'][:12]})" for what in (*check.changed, *restamped)]
        replaces = str(sealed["seal"])
    return changed


def _contents(round_: RoundFolder) -> Contents:
    report, guideline = (_bytes(round_.folder / name) for name in ("report.json", "guideline.md"))
    return Contents(
        round_.items(),
        round_.labels(),
        round_.decisions(),
        report,
        guideline,
        _frame_hash(round_),
        _draws_hash(round_),
    )


def _draws_hash(round_: RoundFolder) -> str:
    """Return the hash of the draws for the round."""
    draws = round_.draws()
    return _rows_hash(draws, "draws") if len(draws) else ""


def _frame_hash(round_: RoundFolder) -> str:
    """Return the hash of a recall round's sampling frame: its pairs, probabilities and description.

    Pairs that were not sampled enter only with claim and probability, because a purge removes their posts.
    """
    if not (round_.folder / FRAME).exists():
        return ""
    pairs = round_.frame()
    drawn = pairs["item_id"].isin(round_.items()["item_id"])
    named = pairs.assign(item_id=pairs["item_id"].where(drawn, pairs["claim_id"]))
    return _digest([round_.about.frame or None, _rows_hash(named, "frame", without=("claim_id", "post_id"))])


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def _other_texts(frozen: pd.DataFrame) -> Iterable[str]:
    """Return the items whose text differs from the one that was shown."""
    for row in rows_of(frozen):
        if row["salt"] and shown_hash(row["salt"], shown_parts(row)) != row["shown"]:
            yield row["item_id"]


def _other_labels(sealed: Mapping[str, Any], labels: pd.DataFrame) -> list[str]:
    """Name labels that came after the seal, for example from a colleague's copy, and count those that it saw and are gone."""
    if "lines" not in sealed:
        return []
    seen = set(sealed["lines"])
    late = labels[~labels["label_id"].isin(seen)]
    gone = len(seen - set(labels["label_id"]))
    added = [f"{as_said(row)} of {row.annotator} for {row.item_id}" for row in labels_of(late)[:3]]
    more = ", …" if len(late) > len(added) else ""
    return [
        *(
            [f"{counted(len(late), 'labels')} that the seal did not see ({', '.join(added)}{more})"]
            if added
            else []
        ),
        *([f"{counted(gone, 'labels')} missing that the seal saw"] if gone else []),
    ]


def _other_remarks(
    then: Mapping[str, str], now: Mapping[str, str], labels: pd.DataFrame, purged: set[str]
) -> list[str]:
    """Return labels whose comment or reason was changed after sealing. Purged items may lose theirs."""
    item_of = dict(zip(labels["label_id"], labels["item_id"], strict=True))
    changed = [label_id for label_id in {**then, **now} if then.get(label_id) != now.get(label_id)]
    return [
        f"a comment on {item_of[label_id]}"
        for label_id in changed
        if label_id in item_of and item_of[label_id] not in purged
    ]


def _remark_hash(row: Label, salt: str) -> str:
    return _digest([salt, row.comment, row.reason])


def items_hash(frozen: pd.DataFrame) -> str:
    """Return the hash of a round's items as seals have it: two copies of a round have the same, also after a purge."""
    return _rows_hash(frozen, "frozen")


def _rows_hash(frame: pd.DataFrame, table: str, *, without: Collection[str] = ()) -> str:
    """Return a hash of the columns that a seal covers, independent of row order.

    A column added by a later version counts only if it has values, so that older seals stay valid.
    """
    columns = [
        column.name
        for column in records.sealed(table)
        if column.name not in without and not (column.since and frame[column.name].isna().all())
    ]
    rows = [
        json.dumps([_plain(cell) for cell in row], ensure_ascii=True, separators=(",", ":"))
        for row in frame[columns].itertuples(index=False, name=None)
    ]
    return hashlib.sha256("\n".join(sorted(rows)).encode()).hexdigest()


def _plain(cell: Any) -> Any:
    if cell is None or cell != cell:  # noqa: PLR0124 - only NaN differs from itself
        return None
    if isinstance(cell, list | tuple):
        return [str(part) for part in cell]
    return cell.item() if hasattr(cell, "item") else cell


def _digest(value: Any) -> str:
    told = json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(told.encode()).hexdigest()
