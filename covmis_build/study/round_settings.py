"""The settings that governed a study's data: those used to find, clean and sample each round's items.

When a round opens, round.json stores them as the ledger recorded them in the run that built its tables. The current
study.toml governs future rounds; a release reports the settings of its data.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from covmis_build.annotation.frozen_items import frozen_items
from covmis_build.annotation.label_sets import sets_of_rounds
from covmis_build.annotation.newest import later_rounds, newest, scheme_of_rounds
from covmis_build.building import ledger
from covmis_build.building.stages import STAGES
from covmis_build.corpus.release_facts import Difference
from covmis_build.errors import InputError
from covmis_build.options import kept
from covmis_build.sampling.ledger import over_draws, read_ledger

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.options import LabelChange, Nearest
    from covmis_build.places import Places
    from covmis_build.settings import Settings


GOVERNED = ("labels", "retrieval", "cleaning", "sampling", "annotation")
NOT_OF_THE_DATA = {
    "labels": {"aliases", "changes"},  # how labels are written, and what earlier rounds mean
    "retrieval": {"archive"},  # a path on one machine
    "annotation": {
        "annotators",
        "channel",
        "checks",
        "label_studio_url",
        "claims_per_round",
        "order_of_items",
        "repeats",
        "target",
        "workload",
    },  # may change at any time
}


def settings_of_tables(places: Places, settings: Settings) -> dict[str, Any]:
    """Return the settings that built the current tables, by `table` or `table.key`. A new round stores them."""
    entries = ledger.read(places.build / "ledger.jsonl")
    settings_made_with: dict[str, Any] = {}
    for stage in STAGES:
        last = ledger.last(entries, stage.name)
        if last and last.done:
            seed = settings.seed if last.seed is None else last.seed
            settings_made_with |= {**last.settings, "seed": seed}
    whole = {
        name for name in settings_made_with if "." not in name
    }  # the stage `read` records some keys of [retrieval], `retrieve` all
    settings_made_with = {
        name: value
        for name, value in settings_made_with.items()
        if name in whole or name.split(".")[0] not in whole
    }
    for table, keys in NOT_OF_THE_DATA.items():
        if table in settings_made_with:
            settings_made_with[table] = {
                key: value for key, value in settings_made_with[table].items() if key not in keys
            }
    retrieval = settings_made_with.get("retrieval", {})
    if ranked := retrieval.get("ranked"):
        settings_made_with["retrieval"] = {
            **retrieval,
            "ranked": {**ranked, "model": _name_of(str(ranked.get("model", "")))},
        }
    return settings_made_with


def placeless(ranked: Nearest | None) -> Nearest | None:
    """Return `[retrieval] ranked` with only the model's name, because its folder is a path on one machine."""
    return ranked and replace(ranked, model=_name_of(ranked.model))


def _name_of(model: str) -> str:
    return PurePath(model).name


def settings_of_rounds(
    settings: Settings, rounds: Sequence[RoundFolder]
) -> tuple[Settings, list[Difference]]:
    """Return the settings of the last round that counts, with the labels in common, and how today's differ.

    Settings missing in a round from an older version are taken from today's, but `[sampling] certain` is off.
    """
    counted = [round_ for round_ in rounds if not round_.pilot] or list(rounds)
    now = _flat(settings)
    differ: dict[tuple[str, str], list[str]] = {}
    for round_ in counted:
        # the labels in common say how those of earlier rounds differ
        other_labels = round_.scheme.values != counted[-1].scheme.values  # noqa: PD011 - settings
        for name, value in _flat(_then(settings, round_)).items():
            if _as_text(value) != _as_text(now[name]) and not (other_labels and name.startswith("[labels]")):
                differ.setdefault((name, _as_text(value)), []).append(round_.number)
    differences = [
        Difference(name, then, _as_text(now[name]), tuple(numbers))
        for (name, then), numbers in sorted(differ.items())
    ]
    if not counted:
        return settings, differences
    then = _then(settings, counted[-1])
    changes = settings.labels.changes
    _, common = scheme_of_rounds(rounds, changes)
    return replace(then, labels=replace(common, changes=changes)), differences


def strata_of_rounds(rounds: Sequence[RoundFolder]) -> dict[str, tuple[str, ...]]:
    """Return how each round's draw divided the query types into strata (`strata_by`), if it did."""
    strata = {}
    for round_ in rounds:
        sampling = round_.about.settings.get("sampling")
        by = sampling.get("strata_by") if isinstance(sampling, dict) else None
        if isinstance(by, list) and by:
            strata[round_.number] = tuple(str(name) for name in by)
    return strata


def _audits_of_rounds(rounds: Sequence[RoundFolder]) -> dict[str, float]:
    """Return the audited share of automatic labels in each round whose settings record it."""
    shares = {}
    for round_ in rounds:
        share = round_.about.settings.get("annotation.audit")
        if isinstance(share, int | float):
            shares[round_.number] = float(share)
    return shares


def _then(settings: Settings, round_: RoundFolder) -> Settings:
    """Return the settings as they were for this round."""
    then: dict[str, dict[str, Any]] = {
        "labels": asdict(round_.scheme),
        "annotation": {
            "per_item": round_.per_item,
            "show": settings.annotation.show if round_.about.show is UNSET else round_.about.show,
        },
    }
    settings_then = round_.about.settings
    for name, value in settings_then.items():
        table, _, key = name.partition(".")
        if table in GOVERNED:
            then.setdefault(table, {}).update({key: value} if key or not isinstance(value, dict) else value)
    # before 0.2 no cluster was sampled with certainty
    then.setdefault("sampling", {}).setdefault("certain", False)
    tables = {table: _with(getattr(settings, table), values, round_) for table, values in then.items()}
    return replace(settings, seed=settings_then.get("seed", settings.seed), **tables)


def _with(options: Any, values: dict[str, Any], round_: RoundFolder) -> Any:
    """Replace these options by known values, converted to each setting's type as from study.toml."""
    import msgspec

    try:
        return msgspec.convert({**msgspec.to_builtins(options), **kept(values)}, type(options))
    except msgspec.ValidationError as error:
        raise InputError(
            f"the settings kept there cannot be: {error}",
            file=round_.folder / "round.json",
            remedy="Restore it from a copy",
        ) from None


def _flat(settings: Settings) -> dict[str, Any]:
    """Return every setting that governs data, by its name in messages."""
    retrieval = settings.retrieval
    settings = replace(settings, retrieval=replace(retrieval, ranked=placeless(retrieval.ranked)))
    return {"seed": settings.seed} | {
        f"[{table}] {name}": value
        for table in GOVERNED
        for name, value in asdict(getattr(settings, table)).items()
        if name not in NOT_OF_THE_DATA.get(table, ())
    }


def _as_text(value: Any) -> str:
    """Return a value as text, the same for a list and a tuple."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def with_all_draws(
    folder: Path, rounds: Sequence[RoundFolder], changes: Sequence[LabelChange] | None = None
) -> pd.DataFrame:
    """Return the frozen items of the rounds in this folder, with p_sample over all opened draws of a claim.

    With `changes` automatic labels are those that the rounds have in common, otherwise each round's own.
    Rounds that did not store an audited share per item had a single share, which is in their settings.
    """
    frozen = frozen_items(folder)
    counted = frozen[~frozen["pilot"].astype(bool)]
    raised: dict[str, float] = {}
    for round_ in rounds:
        for item, p in (round_.about.raised or {}).items():
            raised[item] = max(p, raised.get(item, 0.0))
    over = over_draws(counted, read_ledger(folder), strata_of_rounds(rounds), raised)
    p_sample = [over.get(item, p) for item, p in zip(frozen["item_id"], frozen["p_sample"], strict=True)]
    checked = frozen["round"].map(_audits_of_rounds(rounds)).where(frozen["automatic_label"] != "", 0.0)
    frozen = frozen.assign(p_sample=p_sample, p_audit=frozen["p_audit"].fillna(checked))
    if changes is None or (sets_of_rounds(rounds, changes).same and not later_rounds(rounds)):
        return frozen
    now = newest(rounds, changes).frozen()
    rule = dict(zip(now["item_id"], now["automatic_label"], strict=True))
    own = zip(frozen["item_id"], frozen["automatic_label"], frozen["pilot"], strict=True)
    return frozen.assign(
        automatic_label=[label if pilot else rule.get(item, label) for item, label, pilot in own]
    )
