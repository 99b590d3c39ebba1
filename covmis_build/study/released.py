"""What of a release follows from the study's rounds, tables and files alone, so that it can be computed again and compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from covmis_build.annotation.frozen_items import for_people
from covmis_build.annotation.json_records import read_json
from covmis_build.annotation.newest import newest
from covmis_build.annotation.report_files import read_figure
from covmis_build.building.flow import flow
from covmis_build.building.purge import read_list
from covmis_build.corpus.bundle import zipped
from covmis_build.corpus.release import make_corpus
from covmis_build.corpus.release_facts import Coefficient, FlowStep, RoundFacts
from covmis_build.errors import counted
from covmis_build.study.round_settings import with_all_draws

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from covmis_build.annotation.newest import Newest
    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.corpus.release import LeftOut
    from covmis_build.options import Release
    from covmis_build.places import Places
    from covmis_build.study.of_study import OfStudy


class ReleasedRows(NamedTuple):
    """The corpus that a study's rounds give now, and what it was made of."""

    corpus: pd.DataFrame
    gold: pd.DataFrame
    frozen: pd.DataFrame
    purged: frozenset[str]
    now: Newest
    """The newest answers of the rounds."""


def corpus_of(study: OfStudy, rounds: Sequence[RoundFolder], options: Release) -> ReleasedRows:
    """Return the corpus of these rounds; refuses a round that was changed after sealing."""
    changes = study.settings.labels.changes
    now = newest(rounds, changes)
    gold = now.gold()
    frozen = with_all_draws(study.places.rounds, rounds, changes)
    purged = read_list(study.places.purge_csv).posts
    return ReleasedRows(make_corpus(gold, frozen, options, purged=purged), gold, frozen, purged, now)


def content(rows: int, claims: int, *, text: bool, left_out: Mapping[LeftOut, int], where: str = "") -> str:
    """Say what a release contains: posts, claims, texts or ids, and how many posts are left out, by reason."""
    gone = ", ".join(f"{count:,} {reason}" for reason, count in left_out.items() if count)
    told = f"{counted(rows, 'posts')} on {counted(claims, 'claims')}{where}"
    return f"{told}{' with texts' if text else ', ids only'}{f'; left out: {gone}' if gone else ''}."


def packed_files(files: Mapping[str, Path | bytes]) -> bytes:
    """Return these files as one zip, by their paths in it."""
    return zipped({name: at if isinstance(at, bytes) else at.read_bytes() for name, at in files.items()})


def counted_facts(places: Places, rounds: Sequence[RoundFolder]) -> dict[str, Any]:
    """Return the facts computed from a study's tables and rounds alone; `covmis verify` recomputes them."""
    return {
        "flow": tuple(
            FlowStep(step.keeps, step.claims, step.pairs, step.dropped_pairs, step.reasons)
            for step in flow(places)
        ),
        "rounds": tuple(_round_facts(round_) for round_ in rounds),
        "kappa": _coefficient(places.rounds / "summary.json", "kappa"),
        "kappa_items": _items_with_two_labels(places.rounds / "summary.json"),
    }


def _round_facts(round_: RoundFolder) -> RoundFacts:
    items, report, seal = round_.items(), round_.folder / "report.json", round_.seal()
    return RoundFacts(
        name=round_.number,
        pilot=round_.pilot,
        claims=items["claim_id"].nunique(),
        items=len(items),
        for_people=len(for_people(items)),
        raw_agreement=_coefficient(report, "raw_agreement"),
        kappa=_coefficient(report, "kappa"),
        guideline=round_.guideline,
        seal=str(seal["seal"]) if seal else "",
    )


def _items_with_two_labels(report: Path) -> int:
    return int(read_json(report).get("items_with_two_labels") or 0) if report.exists() else 0


def _coefficient(report: Path, name: str) -> Coefficient | None:
    """Return a coefficient of a round's report or of the summary; None before `covmis round report`."""
    figure = read_figure(report, name)
    if not figure or figure.value is None:
        return None
    return Coefficient(figure.name, figure.value, figure.interval)
