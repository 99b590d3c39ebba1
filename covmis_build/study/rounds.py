"""The rounds of a study: assignment, progress, board, and seals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from covmis_build import storage
from covmis_build.annotation.board import board_page
from covmis_build.annotation.report import verdict
from covmis_build.annotation.report_files import findings_of_rounds
from covmis_build.annotation.round_folder import RoundKind, all_rounds, every_round, rounds_of_kind
from covmis_build.annotation.seal import verify_chain
from covmis_build.errors import CheckFailed, InputError
from covmis_build.options import is_machine
from covmis_build.places import Places
from covmis_build.report.result import Result
from covmis_build.study.label_studio import compare_rounds

if TYPE_CHECKING:
    from covmis_build.annotation.channels.label_studio.projects import Compared
    from covmis_build.annotation.merging import Merged
    from covmis_build.annotation.progress import Progress
    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.annotation.seal import Verified
    from covmis_build.report.summary import Summary
    from covmis_build.settings import Settings
    from covmis_build.study.of_study import OfStudy


@dataclass(frozen=True, slots=True, repr=False)
class VerifiedRounds(Result):
    """The result for each round and, if requested, the comparison of Label Studio's labels with the record."""

    rounds: list[Verified]
    label_studio: list[Compared] | None

    @property
    def summary(self) -> Summary:
        """Return one sentence per round."""
        told = [check.sentence for check in self.rounds] or ["There is no round yet."]
        if self.label_studio is not None:
            there = [compared.sentence for compared in self.label_studio]
            told += there or ["No round has been on Label Studio."]
        return told

    def check(self) -> None:
        """Raise an error if a round was changed after sealing."""
        broken = [check.round for check in self.rounds if check.sealed and not check.stands]
        if broken:
            raise CheckFailed(f"sealed rounds that changed: {', '.join(broken)}")


def verify_rounds(
    study: OfStudy, *, label_studio: bool = False, authorities: Path | str | None = None
) -> VerifiedRounds:
    """See `Study.verify_rounds`."""
    places = study.places
    kinds = (RoundKind.STANCE, RoundKind.RELABEL, RoundKind.RECALL)
    known = Path(authorities) if authorities is not None else None
    checks = [check for kind in kinds for check in verify_chain(rounds_of_kind(places.rounds, kind), known)]
    there = compare_rounds(study, every_round(places.rounds)) if label_studio else None
    return VerifiedRounds(checks, there)


def merge(study: OfStudy, source: Path) -> Merged:
    """See `Study.merge`."""
    from covmis_build.annotation.merging import Merged, merge_rounds
    from covmis_build.study.new import is_study

    if not is_study(source):
        raise InputError(
            "is not a study", file=source, remedy="Name the folder with the other copy's study.toml"
        )
    with study.locked_rounds("covmis round merge"):
        rounds, only_there = merge_rounds(study.places.rounds, Places(source).rounds)
    return Merged(str(source), tuple(rounds), tuple(only_there))


def write_board(study: OfStudy, out: Path | None = None) -> Path:
    """Write all rounds and channels as one page, by default annotation/rounds/board.html. Returns its path."""
    rounds = all_rounds(study.places.rounds)
    recall = rounds_of_kind(study.places.rounds, RoundKind.RECALL)
    recall += rounds_of_kind(study.places.rounds, RoundKind.RELABEL)
    if not rounds and not recall:
        raise InputError("no round is open", remedy="Open one with `covmis round open`")
    settings = study.settings
    findings = findings_of_rounds(rounds, settings.labels.changes, settings.annotation.per_item, brief=True)
    text = board_page(
        [(round_, progress(study, round_)) for round_ in [*rounds, *recall]],
        findings,
        study=settings.title,
        verdict=verdict(findings.agreement, settings.annotation.target) if findings else "",
    )
    path = out or study.places.rounds / "board.html"
    storage.write_text(path, text)
    return path


def roster(settings: Settings, folder: RoundFolder) -> tuple[str, ...]:
    """Return the current annotators. Models take part in stance rounds only, and need no training."""
    options = settings.annotation
    return options.annotators if folder.kind == RoundKind.STANCE else options.people


def work(settings: Settings, folder: RoundFolder) -> dict[str, list[str]]:
    """Return each annotator's items in individual order."""
    from covmis_build.annotation.assignment import assignment

    options = settings.annotation
    return assignment(
        folder.items(),
        folder.labels(),
        roster(settings, folder),
        folder.per_item,
        seed=settings.seed,
        order=options.order_of_items,
        workload=options.workload,
        twice=folder.twice,
        balanced=bool(folder.about.balanced),
    )


def sent(settings: Settings, folder: RoundFolder) -> dict[str, list[str]]:
    """Return what each annotator receives: their work and, for people, the hidden posts."""
    from covmis_build.annotation.checks import hidden_in

    own = work(settings, folder)
    people = {code: items for code, items in own.items() if not is_machine(code)}
    return own | hidden_in(people, folder, order=settings.annotation.order_of_items, seed=settings.seed)


def progress(study: OfStudy, folder: RoundFolder) -> Progress:
    """Return each annotator's progress, open work, and the next step; after sealing, the study's next step."""
    from covmis_build.annotation.progress import progress_of
    from covmis_build.study.status import after_seal

    here = progress_of(folder, sent(study.settings, folder))
    return replace(here, next=after_seal(study)) if folder.sealed and not folder.kind else here
