"""Record answers as lines. A repeated answer adds nothing, a changed one supersedes the annotator's earlier one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.annotation.answers import CLOCK, Channel, is_older, latest
from covmis_build.annotation.conflicts import standing
from covmis_build.annotation.label_lines import as_labels, line_of, union
from covmis_build.records import Label

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from covmis_build.annotation.answers import Answer
    from covmis_build.annotation.label_lines import Line


def append(
    lines: Sequence[Line],
    answers: Iterable[Answer],
    *,
    number: str,
    guideline: str,
    now: str,
    lead: str = "lead",
    salts: Mapping[str, str] | None = None,
) -> tuple[Line, ...]:
    """Add these answers to the lines of a round, in order.

    An answer equal to the last one of the same annotator, phase and channel adds nothing, so a second pull changes
    nothing. A different answer supersedes the annotator's current label unless it is older (see `is_older`).
    Skipped and invalid answers also become lines. `lead` is who records decisions now.
    """
    last: dict[tuple[str, str, str], Label] = {}
    by_channel: dict[tuple[str, ...], tuple[str, ...]] = {}
    seqs: dict[tuple[str, ...], int] = {}
    decision: dict[str, Label] = {}
    for line, row in zip(lines, as_labels(lines), strict=True):
        if line.decides:
            decision[line.item] = row
        last[row.item_id, row.phase, row.annotator] = row
        for who in ("", line.lead):
            by_channel[row.item_id, row.phase, row.annotator, row.channel, who] = _without_clock(row).said
        seqs[line.place] = max(line.seq, seqs.get(line.place, 0))
    decided = {item: [line.id for line in decisions] for item, decisions in standing(lines).items()}
    added = []
    for answer in latest(answers):
        key = (answer.item_id, answer.phase, answer.annotator)
        row = _row(answer, number, guideline, now)
        said = _without_clock(row).said
        if answer.channel == Channel.COVMIS:
            # Somebody decides now. That adds nothing only if just this stands, not in conflict with another decision.
            stands = decision.get(answer.item_id)
            repeated = (
                stands and (stands.phase, stands.annotator) == key[1:] and len(decided[answer.item_id]) < 2
            )
            before = _without_clock(stands).said if stands and repeated else None
        else:
            # A lead's own last one counts: a decision sheet that was read before is no answer to a colleague's decision.
            before = by_channel.get((*key, answer.channel, lead), by_channel.get((*key, answer.channel, "")))
        if before == said or is_older(answer, last.get(key)):
            continue
        line = line_of(row, seq=0, salt="", lead=lead)
        decides, place = line.decides, line.place
        seqs[place] = seqs.get(place, 0) + 1
        line = line_of(
            row,
            seq=seqs[place],
            salt=(salts or {}).get(row.item_id, ""),
            lead=lead if decides else "",
            instead_of=decided.get(row.item_id, ()) if decides else (),
        )
        if decides:
            decided[row.item_id], decision[row.item_id] = [line.id], row
        last[key] = row
        for who in ("", line.lead):
            by_channel[*key, answer.channel, who] = said
        added.append(line)
    return union([*lines, *added])


def _without_clock(row: Label) -> Label:
    """Return the label without its note about the clock, so that a later import of the same answer is equal."""
    return row._replace(reason=CLOCK.sub("", row.reason)) if row.reason else row


def _row(answer: Answer, number: str, guideline: str, now: str) -> Label:
    return Label(
        label_id="",
        item_id=answer.item_id,
        round=number,
        phase=answer.phase,
        annotator=answer.annotator,
        label=answer.label,
        sub_label=answer.sub_label,
        status=answer.status,
        reason=answer.reason,
        error_class=answer.error_class,
        comment=answer.comment,
        seconds=float("nan") if answer.seconds is None else answer.seconds,
        guideline=answer.guideline or guideline,
        shown=answer.shown,
        given_at=answer.given_at or now,
        channel=answer.channel,
        supersedes="",
    )
