"""Take back the round that was opened last: its posts are drawn again as if it had never been opened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from covmis_build import storage
from covmis_build.annotation import round_folder as record
from covmis_build.annotation.discard import take_back, work_in
from covmis_build.annotation.round_folder import RoundKind
from covmis_build.building.run import built_with_rounds, void
from covmis_build.errors import InputError
from covmis_build.places import DRAWS
from covmis_build.report.result import Result
from covmis_build.sampling.ledger import read_ledger, taken_back
from covmis_build.study.intents import intent
from covmis_build.study.label_studio import used_by

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.report.summary import Summary
    from covmis_build.study.of_study import OfStudy

NOWHERE = "nowhere"
"""Where a round goes that is not kept."""


@dataclass(frozen=True, slots=True, repr=False)
class Discarded(Result):
    """A round that was taken back, and where its labels are kept, if they are."""

    round: str
    kept_in: str
    to_run: bool
    """Whether tables were built with it, which `covmis run` builds again without."""
    done_before: bool = False

    @property
    def summary(self) -> Summary:
        """Return what was done, and the next step."""
        before = [f"Done already: round {self.round}. Nothing was changed."] * self.done_before
        kept = (
            f"; what it held is in {self.kept_in}/, which only `covmis purge` reads" if self.kept_in else ""
        )
        next_step = "covmis run" if self.to_run else "covmis status"
        return [
            *before,
            f"Round {self.round} was taken back, with its draws{kept}. Its posts can be drawn again.",
            *(
                ["Agreement over all rounds was removed: `covmis round report` computes it again."]
                if self.kept_in and not record.kind_of(self.round)
                else []
            ),
            "What was sent out to people stays with them, and projects stay on Label Studio: delete them there.",
            f"Next: `{next_step}`.",
        ]


def discard_round(study: OfStudy, number: str, *, archive: bool) -> Discarded:
    """See `Study.discard_round`."""
    places, command = study.places, "covmis round discard"
    kind = record.kind_of(number)
    number = kind + number[len(kind) :].zfill(3)
    with study.locked(places.build, command), study.locked_rounds(command):
        asked = intent(places, "round discard", number, archive)
        items = kind.folder(places.rounds) / number / "items.parquet"
        done_before = bool(asked.begun) and not items.exists()
        if not done_before:
            _refuse(study, record.find(places.rounds, number), archive=archive)
        begun = asked.begun
        there = places.discarded / begun / items.parent.parent.name / number / items.name
        if items.exists() and there.exists() and there.read_bytes() != items.read_bytes():
            begun = ""  # an earlier round of this number
        goes_to = begun or (_free(places.discarded) if archive else NOWHERE)
        kept = places.discarded / goes_to if archive else None
        with asked.making(goes_to, lambda: not items.exists() or (kept is not None and kept.exists())):
            stages = built_with_rounds(places, study.settings) if not kind else []
            void(places, stages)  # first: else tables built with the round could outlive it
            ledger = read_ledger(places.rounds)
            of_round = ledger[ledger["round"] == number]
            if kept and len(of_round):
                storage.write_table(kept / places.rounds.name / DRAWS, of_round, "draws")
            take_back(places.rounds, number, kept)
            if len(of_round):
                left = taken_back(ledger, number)
                _write_ledger(places.rounds / DRAWS, left)
    is_stale = not all(study.stages().values()) if not kind else False
    return Discarded(number, places.relative(kept) if kept else "", is_stale, done_before)


def _write_ledger(path: Path, left: pd.DataFrame) -> None:
    if left.empty:
        storage.remove(path)
    else:
        storage.write_table(path, left, "draws")


def _free(folder: Path) -> str:
    """Return the next free number in this folder."""
    return str(1 + max((int(path.name) for path in folder.glob("[0-9]*")), default=0))


def done_in(round_: RoundFolder) -> list[str]:
    """Return what people have done in a round, in words, or may have done on Label Studio."""
    there = ["projects on Label Studio, which may hold answers"] if used_by(round_) else []
    return work_in(round_) + there


def is_last(study: OfStudy, round_: RoundFolder) -> bool:
    """True if no later round of its kind builds on it."""
    return record.rounds_of_kind(study.places.rounds, round_.kind)[-1].number == round_.number


def _refuse(study: OfStudy, round_: RoundFolder, *, archive: bool) -> None:
    """Refuse a round that others build on, and one in which people have worked unless it is kept."""
    if round_.kind == RoundKind.CHECKS:
        own = round_.number.removeprefix(round_.kind)
        raise InputError(f"{round_.number} goes with round {own}", remedy=f"`covmis round discard {own}`")
    last = record.rounds_of_kind(study.places.rounds, round_.kind)[-1].number
    if last != round_.number:
        raise InputError(
            f"round {last} was opened after round {round_.number}, and its draw builds on it",
            remedy=f"Take that one back first: `covmis round discard {last}`",
        )
    if archive:
        return
    if work := done_in(round_):
        raise InputError(
            f"round {round_.number} has {' and '.join(work)}",
            remedy=f"`covmis round discard {round_.number} --archive` takes it back and keeps them in annotation/{record.DISCARDED}/",
        )
