"""Opening a round: the next claims' sampled posts are frozen, with the settings that made their tables."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from covmis_build import storage, tables
from covmis_build.annotation import round_folder as record
from covmis_build.annotation.checks import how_many
from covmis_build.annotation.frozen_items import freeze, frozen_items
from covmis_build.annotation.gold import check_seals
from covmis_build.annotation.guideline import read_guideline
from covmis_build.annotation.round_folder import RoundKind
from covmis_build.annotation.training import training_items, write_key
from covmis_build.errors import InputError
from covmis_build.options import RANKED
from covmis_build.study.admit import check_admitted
from covmis_build.study.round import Round
from covmis_build.study.round_settings import settings_of_tables

if TYPE_CHECKING:
    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.study.study import Study


def open_round(study: Study, claims: int, *, pilot: bool, run: bool) -> Round:
    """Freeze the next claims' sampled posts, in the order of claims.csv; stale tables are made first, or refused."""
    study.need_current(run=run)
    check_admitted(study)
    with study.locked_rounds("covmis round open"):
        tables = {
            name: storage.read_table(study.places.table(name), name)
            for name in ("sample", "items", "claims", "posts")
        }
        if tables["sample"].empty:
            raise InputError("there is no sample yet", remedy="Run `covmis run` first")
        options = study.settings.annotation
        options = replace(options, claims_per_round=claims or options.claims_per_round)
        frozen = freeze(
            **tables,
            earlier=[folder.items() for folder in record.all_rounds(study.places.rounds)],
            options=options,
            labels=study.settings.labels,
            seed=study.settings.seed,
            pilot=pilot,
            salt=secrets.token_hex(16),
            number=record.next_number(study.places.rounds, RoundKind.STANCE),
        )
        folder = record.create(
            study.places.rounds, frozen, options, study.settings.labels, read_guideline(study.places.guideline),
            now=record.moment(), settings=settings_of_tables(study.places, study.settings),
            also=_raised(tables["sample"], frozen, record.all_rounds(study.places.rounds)),
        )  # fmt: skip
        if options.checks and not pilot:
            _open_with_key(study, RoundKind.CHECKS, f"c{folder.number}", how_many(frozen, options))
    return Round(study, folder)


def _raised(
    sample: pd.DataFrame, now: pd.DataFrame, opened: list[RoundFolder]
) -> dict[str, dict[str, float]]:
    """Ranked items of earlier rounds of these claims to which this draw gives a greater chance than they had."""
    before = {
        item: float(p)
        for folder in opened
        for item, kind, p in folder.items()[["item_id", "kind", "p_sample"]].itertuples(index=False)
        if kind == RANKED
    }
    here = sample[sample["claim_id"].isin(set(now["claim_id"])) & sample["item_id"].isin(before)]
    chances = zip(here["item_id"], here["p_sample"], strict=True)
    raised = {item: float(p) for item, p in chances if p > before[item]}
    return {"raised": raised} if raised else {}


def open_training(study: Study, items: int, pass_mark: float | None) -> Round:
    """Freeze posts of sealed rounds, whose gold is known, for everybody to practise on."""
    with study.locked_rounds("covmis round open"):
        number = record.next_number(study.places.rounds, RoundKind.TRAINING)
        folder = _open_with_key(study, RoundKind.TRAINING, number, items, pass_mark)
    if folder is None:
        raise InputError(
            "no sealed round has posts whose gold several people stand behind",
            remedy="Seal a round first: training is on posts whose label is known",
        )
    return Round(study, folder)


def _open_with_key(
    study: Study, kind: RoundKind, number: str, items: int, pass_mark: float | None = None
) -> RoundFolder | None:
    """Freeze so many posts whose gold is known from sealed rounds, and the key; nothing where none is known."""
    rounds = record.all_rounds(study.places.rounds)
    check_seals(rounds)
    sealed = [round_ for round_ in rounds if round_.sealed and not round_.pilot]
    gold = pd.concat([tables.empty("gold"), *(round_.decisions() for round_ in sealed)], ignore_index=True)
    frozen = (
        pd.concat([round_.items() for round_ in sealed], ignore_index=True)
        if sealed
        else frozen_items(study.places.rounds)
    )
    chosen = training_items(
        frozen, gold, items, number=number, seed=study.settings.seed, salt=secrets.token_hex(16)
    )
    if chosen.empty:
        return None
    people = study.settings.annotation.people
    options = replace(
        study.settings.annotation, annotators=people, per_item=len(people)
    )  # everybody labels every post
    home = kind.folder(study.places.rounds)
    write_key(home / number, chosen, gold, record.all_labels(study.places.rounds), pass_mark)
    return record.create(
        home,
        chosen,
        options,
        study.settings.labels,
        read_guideline(study.places.guideline),
        now=record.moment(),
    )
