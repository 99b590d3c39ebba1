"""Who labels what in a round, and how far they are: by the round's folder and the study's settings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from covmis_build.annotation.round_folder import RoundKind
from covmis_build.options import is_machine

if TYPE_CHECKING:
    from covmis_build.annotation.progress import Progress
    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.settings import Settings
    from covmis_build.study.study import Study


def roster(settings: Settings, folder: RoundFolder) -> tuple[str, ...]:
    """Who labels it now; a machine was admitted for stances, and needs no training."""
    options = settings.annotation
    return options.annotators if folder.kind == RoundKind.STANCE else options.people


def work(settings: Settings, folder: RoundFolder) -> dict[str, list[str]]:
    """For each annotator their items, in their own order."""
    from covmis_build.annotation.frozen_items import assignment

    options = settings.annotation
    return assignment(
        folder.items(), folder.labels(), roster(settings, folder), folder.per_item, seed=settings.seed,
        order=options.order_of_items, workload=options.workload, twice=folder.twice,
    )  # fmt: skip


def sent(settings: Settings, folder: RoundFolder) -> dict[str, list[str]]:
    """What everybody gets: their work, and for people what is hidden in it."""
    from covmis_build.annotation.checks import hidden_in

    own = work(settings, folder)
    people = {code: items for code, items in own.items() if not is_machine(code)}
    return own | hidden_in(people, folder, order=settings.annotation.order_of_items, seed=settings.seed)


def progress(study: Study, folder: RoundFolder) -> Progress:
    """Who has labelled how much, what is open, and what to do next: after the seal, what is next in the study."""
    from covmis_build.annotation.progress import progress_of
    from covmis_build.study.status import after_seal

    here = progress_of(folder, sent(study.settings, folder))
    return replace(here, next=after_seal(study)) if folder.sealed and not folder.kind else here
