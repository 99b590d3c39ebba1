"""Label posts of sealed rounds again, under today's labels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import pandas as pd

from covmis_build import storage
from covmis_build.annotation import round_folder as record
from covmis_build.annotation.concerned import concerned
from covmis_build.annotation.gold import check_seals
from covmis_build.annotation.guideline import check_defined, read_guideline
from covmis_build.annotation.label_sets import check_meaning
from covmis_build.annotation.round_folder import RoundKind
from covmis_build.errors import InputError, counted
from covmis_build.study.intents import intent
from covmis_build.study.open_round import opened_before
from covmis_build.study.round import Round

if TYPE_CHECKING:
    from collections.abc import Collection

    from covmis_build.study.of_study import OfStudy


def relabel(study: OfStudy, items: Collection[str], *, every: bool) -> Round:
    """See `Study.relabel`."""
    with study.locked_rounds("covmis round relabel"):
        labels, home = study.settings.labels, RoundKind.RELABEL.folder(study.places.rounds)
        rounds = record.all_rounds(study.places.rounds)
        seals = [round_.seal() for round_ in rounds]
        asked = intent(
            study.places, "round relabel", sorted(items), every, msgspec.to_builtins(labels), seals
        )
        if before := opened_before(study, asked, RoundKind.RELABEL):
            return before
        _check_open(study)
        check_seals(rounds)
        check_meaning(rounds, labels)
        guideline = read_guideline(study.places.guideline)
        check_defined(guideline, labels, study.places.guideline)
        sealed = [round_ for round_ in rounds if round_.sealed and not round_.pilot]
        changes = [
            change for change in concerned(rounds, labels) if change.round in {r.number for r in sealed}
        ]
        chosen = {item for change in changes if every or not change.new for item in change.items} | set(items)
        frozen = pd.concat([round_.items() for round_ in sealed], ignore_index=True) if sealed else None
        if frozen is None or not chosen:
            new = sorted({change.label for change in changes if change.new})
            raise InputError(
                "no post of a sealed round has a label that was split or left out",
                remedy=f"New labels: {', '.join(new)}. Name posts that may need one, or say every (--all)"
                if new
                else "Seal the round first, or change [labels] in study.toml",
            )
        if unknown := sorted(chosen - set(frozen["item_id"])):
            raise InputError(
                f"the item {unknown[0]} is in no sealed round",
                remedy="Write items of sealed rounds as claim|post",
            )
        # a rule's labels are not people's to change, and a purged post has no text to label
        by_rule = (frozen["automatic_label"] != "") & ~frozen["audited"].astype(bool)
        mine = frozen[frozen["item_id"].isin(chosen) & ~by_rule & (frozen["salt"] != "")]
        if mine.empty:
            raise InputError(
                f"{counted(len(chosen), 'posts')} are concerned, all of which have automatic labels or were purged",
                remedy="People label neither",
            )
        number = record.next_number(study.places.rounds, RoundKind.RELABEL)
        again = mine.sort_values("item_id").assign(
            round=number, automatic_label="", audited=False, p_audit=0.0
        )
        options = study.settings.annotation
        round_ = Round(study, home / number)
        with asked.making(number, round_.is_opened):
            record.create(
                home,
                again.reset_index(drop=True),
                replace(options, annotators=options.people),
                labels,
                guideline,
                now=storage.moment(),
                since=int(rounds[-1].number) + 1,
            )
        return round_


def is_wanted(study: OfStudy) -> bool:
    """True if a sealed round has posts with a label that was split or left out, and no relabelling round is open."""
    rounds = [round_ for round_ in record.all_rounds(study.places.rounds) if round_.sealed]
    labels = study.settings.labels
    if not labels.changes or _open_rounds(study):
        return False
    return any(not change.new for change in concerned(rounds, labels))


def _open_rounds(study: OfStudy) -> list[str]:
    rounds = record.rounds_of_kind(study.places.rounds, RoundKind.RELABEL)
    return [round_.number for round_ in rounds if not round_.sealed]


def _check_open(study: OfStudy) -> None:
    """Refuse a second relabelling round while one is open: its posts would be in both."""
    for number in _open_rounds(study):
        raise InputError(
            f"round {number} labels posts again and is not sealed",
            remedy=f"Finish it first: `covmis round status --round {number}`",
        )
