"""Which settings governed a study's data: those with which each round's items were found, cleaned and drawn.

They are kept in round.json when a round opens, as the ledger has them from the run that made its tables. What
study.toml says today governs tomorrow's rounds; a release tells of the data that it holds.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, Any

from covmis_build import ledger
from covmis_build.corpus.facts import Difference
from covmis_build.errors import InputError
from covmis_build.stages import STAGES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from covmis_build.annotation.record import Round
    from covmis_build.study import Study

GOVERNED = ("labels", "retrieval", "cleaning", "sampling", "annotation")
NOT_OF_THE_DATA = {
    "retrieval": {"archive"},  # a place on somebody's machine
    "annotation": {"annotators", "channel", "label_studio_url", "claims_per_round"},  # may change at any time
}


def made_with(study: Study) -> dict[str, Any]:
    """The settings with which the present tables were made, by `table` or `table.key`: what a new round keeps."""
    entries = ledger.read(study.build / "ledger.jsonl")
    found: dict[str, Any] = {}
    for stage in STAGES:
        last = ledger.last(entries, stage.name)
        if last.get("event") == "done":
            found |= last.get("settings", {}) | {"seed": last.get("seed", study.seed)}
    for table, keys in NOT_OF_THE_DATA.items():
        if table in found:
            found[table] = {key: value for key, value in found[table].items() if key not in keys}
    return found


def as_governed(study: Study, rounds: Sequence[Round]) -> tuple[Study, list[Difference]]:
    """The study with the settings that governed its last round that counts, and what is set otherwise today.

    What a round does not tell, since it is older than this record, is taken from today's settings.
    """
    counted = [one for one in rounds if not one.pilot] or list(rounds)
    now = _flat(study)
    differ: dict[tuple[str, str], list[str]] = {}
    for one in counted:
        for name, value in _flat(_then(study, one)).items():
            if _told(value) != _told(now[name]):
                differ.setdefault((name, _told(value)), []).append(one.number)
    differences = [
        Difference(name, then, _told(now[name]), tuple(numbers))
        for (name, then), numbers in sorted(differ.items())
    ]
    return (_then(study, counted[-1]) if counted else study), differences


def divided(rounds: Sequence[Round]) -> dict[str, tuple[str, ...]]:
    """What each round's draw divided the kinds of query by (`strata_by`), where it did."""
    found = {}
    for one in rounds:
        kept = one.settings.get("sampling")
        by = kept.get("strata_by") if isinstance(kept, dict) else None
        if isinstance(by, list) and by:
            found[one.number] = tuple(str(name) for name in by)
    return found


def _then(study: Study, one: Round) -> Study:
    """The study as its settings were for this round."""
    then: dict[str, dict[str, Any]] = {
        "labels": asdict(one.scheme),
        "annotation": {"per_item": one.per_item, "show": one.about.get("show", study.annotation.show)},
    }
    kept = one.settings
    for name, value in kept.items():
        table, _, key = name.partition(".")
        if table in GOVERNED:
            then.setdefault(table, {}).update({key: value} if key or not isinstance(value, dict) else value)
    tables = {table: _with(getattr(study, table), values, one) for table, values in then.items()}
    return replace(study, seed=kept.get("seed", study.seed), **tables)


def _with(options: Any, values: dict[str, Any], one: Round) -> Any:
    """These options with the values that they know; lists as tuples, as study.toml's are."""
    made = {each.name: _tuples(values[each.name]) for each in fields(options) if each.name in values}
    for name, value in made.items():
        usual = getattr(options, name)
        if not isinstance(value, float | int if isinstance(usual, float) else type(usual)):
            raise InputError(
                f"the settings kept there cannot have {name} = {_told(value)[:40]}",
                file=one.folder / "round.json",
                remedy="Restore it from a copy",
            )
    return replace(options, **made)


def _tuples(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_tuples(one) for one in value)
    return {name: _tuples(one) for name, one in value.items()} if isinstance(value, dict) else value


def _flat(study: Study) -> dict[str, Any]:
    """Every setting that governs data, by its name as messages write it."""
    return {"seed": study.seed} | {
        f"[{table}] {name}": value
        for table in GOVERNED
        for name, value in asdict(getattr(study, table)).items()
        if name not in NOT_OF_THE_DATA.get(table, ())
    }


def _told(value: Any) -> str:
    """A value in words, the same for a list and a tuple."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
