"""The seal of a round: hashes of everything that was decided, chained to the round before; never text, never names.

A purge takes texts, comments and salts and leaves the hashes, so a sealed round still verifies and says "purged".
The last seal's own hash is worth printing in the paper: whoever has it can tell if anything before it was changed.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from covmis_build.annotation.rounds import rows_of, shown_hash, shown_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

ITEM = (
    "item_id", "round", "pilot", "claim_id", "post_id", "kind", "kinds", "other_claims", "group", "group_size",
    "p_claim", "p_sample", "draw", "design", "automatic_label", "audited", "shown",
)  # fmt: skip
LABEL = (
    "label_id", "item_id", "round", "phase", "annotator", "label", "sub_label", "status", "error_class",
    "guideline", "shown", "given_at", "channel", "supersedes",
)  # fmt: skip
DECISION = ("item_id", "label", "how", "round")
SEALED = ("items", "labels", "decisions", "agreement", "guideline")


@dataclass(frozen=True, slots=True)
class Verified:
    """The outcome for one round: what no longer is as it was sealed (nothing: it stands), and what was purged."""

    round: str
    sealed: bool
    changed: tuple[str, ...]
    purged: int

    @property
    def stands(self) -> bool:
        """Whether all is as it was when it was sealed."""
        return self.sealed and not self.changed


def seal(
    frozen: pd.DataFrame,
    labels: pd.DataFrame,
    decisions: pd.DataFrame,
    report: bytes,
    guideline: bytes,
    *,
    previous: str,
    number: str,
) -> dict[str, Any]:
    """The seal of this round, chained to the hash of the previous one (empty for the first)."""
    salts = dict(zip(frozen["item_id"], frozen["salt"], strict=True))
    made = {
        "version": 1,
        "round": number,
        "items": _rows_hash(frozen, ITEM),
        "labels": _rows_hash(labels, LABEL),
        "decisions": _rows_hash(decisions, DECISION),
        "agreement": hashlib.sha256(report).hexdigest(),
        "guideline": hashlib.sha256(guideline).hexdigest(),
        "remarks": {
            row["label_id"]: _remark_hash(row, salts.get(row["item_id"], ""))
            for row in rows_of(labels)
            if row["comment"] or row["reason"]
        },
        "counts": {"items": len(frozen), "labels": len(labels), "decisions": len(decisions)},
        "previous": previous,
    }
    return made | {"seal": own_hash(made)}


def own_hash(made: Mapping[str, Any]) -> str:
    """The hash of a seal's content: what the next seal, and the paper, points to."""
    return _digest({name: value for name, value in made.items() if name != "seal"})


def verify(
    sealed: Mapping[str, Any] | None,
    frozen: pd.DataFrame,
    labels: pd.DataFrame,
    decisions: pd.DataFrame,
    report: bytes,
    guideline: bytes,
    *,
    previous: str,
    number: str,
) -> Verified:
    """Compare a round with its seal, and the seal with the one before."""
    gone = frozen[frozen["salt"] == ""]
    if sealed is None:
        return Verified(number, False, (), len(gone))
    now = seal(frozen, labels, decisions, report, guideline, previous=previous, number=number)
    changed = [name for name in SEALED if now[name] != sealed.get(name)]
    if sealed.get("previous") != previous:
        changed.append("the seal before it")
    if sealed.get("seal") != own_hash(sealed) or sealed.get("round") != number:
        changed.append("the seal itself")
    changed += [f"the text of {item}" for item in _other_texts(frozen)]
    changed += _other_remarks(sealed.get("remarks", {}), now["remarks"], labels, set(gone["item_id"]))
    return Verified(number, True, tuple(changed), len(gone))


def _other_texts(frozen: pd.DataFrame) -> Iterable[str]:
    """Items whose text is there and is not the one that was shown."""
    for row in rows_of(frozen):
        if row["salt"] and shown_hash(row["salt"], shown_parts(row)) != row["shown"]:
            yield row["item_id"]


def _other_remarks(
    then: Mapping[str, str], now: Mapping[str, str], labels: pd.DataFrame, purged: set[str]
) -> list[str]:
    """Labels whose comment or reason is not the sealed one; those of purged items are gone by right."""
    item_of = dict(zip(labels["label_id"], labels["item_id"], strict=True))
    differ = [one for one in {**then, **now} if then.get(one) != now.get(one)]
    return [f"a comment on {item_of[one]}" for one in differ if one in item_of and item_of[one] not in purged]


def _remark_hash(row: Mapping[str, Any], salt: str) -> str:
    return _digest([salt, row["comment"], row["reason"]])


def _rows_hash(frame: pd.DataFrame, columns: Sequence[str]) -> str:
    """A hash of these columns, whatever the order of the rows."""
    rows = [
        json.dumps([_plain(cell) for cell in row], ensure_ascii=True, separators=(",", ":"))
        for row in frame[list(columns)].itertuples(index=False, name=None)
    ]
    return hashlib.sha256("\n".join(sorted(rows)).encode()).hexdigest()


def _plain(cell: Any) -> Any:
    if cell is None or cell != cell:  # noqa: PLR0124 - only what is not a number differs from itself
        return None
    if isinstance(cell, list | tuple):
        return [str(one) for one in cell]
    return cell.item() if hasattr(cell, "item") else cell


def _digest(value: Any) -> str:
    told = json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(told.encode()).hexdigest()
