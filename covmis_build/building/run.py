"""Bring a study up to date: run the stages that are out of date, and only those.

A stage's key is a hash of its version, its settings, the seed, the keys of its input stages, and the content of
external files. If it is unchanged, nothing is done. The engine is not part of the key, because it does not change results.
Tables are written next to the old ones and renamed together, or in an object store (`far_tables.py`) under new names; the
ledger's entry comes last.
"""

from __future__ import annotations

import functools
import json
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from covmis_build import storage
from covmis_build.archive.parts import stands
from covmis_build.building import ledger
from covmis_build.building.ledger import Entry, Event, TableFacts
from covmis_build.building.purge import refuse_unfinished
from covmis_build.building.stages import STAGES, Work, frozen_files
from covmis_build.engine import HERE, check_engine, open_engine, silent
from covmis_build.errors import DamagedTable, InputError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pandas as pd
    import pyarrow as pa

    from covmis_build.building.stages import Stage
    from covmis_build.engine import Engine, Progress, Table
    from covmis_build.places import Places
    from covmis_build.settings import Settings


T = TypeVar("T")


@dataclass(frozen=True)
class StageRun:
    """The result of `run` for one stage."""

    stage: str
    made: bool
    seconds: float
    rows: dict[str, int]

    def to_dict(self) -> dict[str, Any]:
        """As `covmis run --json` prints it."""
        tables = [{"table": table, "rows": count} for table, count in self.rows.items()]
        return {"stage": self.stage, "made": self.made, "seconds": self.seconds, "tables": tables}


def run(
    places: Places,
    settings: Settings,
    names: Sequence[str] = (),
    *,
    force: bool = False,
    engine: str = "duckdb",
    workers: int = 0,
    conf: dict[str, str] | None = None,
    progress: Progress = silent,
) -> list[StageRun]:
    """Bring the named stages, and their input stages, up to date.

    `force` rebuilds the named ones even if they are current. Runs are exclusive: the study is locked.
    """
    check_engine(engine)
    wanted = _with_needs(names)
    forced = {stage.name for stage in STAGES if force and (not names or stage.name in names)}
    with storage.locked(places.build / ".lock", "covmis run"):
        refuse_unfinished(places)
        _sweep(places)
        _remove_damaged(places)
        cache = _read_cache(places)
        with ExitStack() as stack:
            stack.callback(storage.remove, places.scratch)

            @functools.cache
            def opened(name: str) -> Engine:
                its = open_engine(name, scratch=places.scratch, workers=workers, settings=conf or {})
                return stack.enter_context(its)

            def bring_up_to_date() -> list[StageRun]:
                log, outcomes, keys = places.build / "ledger.jsonl", list[StageRun](), dict[str, Key]()
                for stage in wanted:
                    keys[stage.name] = key = _key(places, settings, stage, keys, cache)
                    entry = ledger.last(ledger.read(log), stage.name)
                    if entry and stage.name not in forced and _is_current(places, stage, entry, key, cache):
                        outcomes.append(StageRun(stage.name, False, 0.0, entry.rows(stage.makes)))
                    else:
                        if stage.name in forced:
                            for path in [*stage.further_files(places), *stage.reused(places)]:
                                storage.remove(path)
                        its = opened(engine if stage.large else HERE)
                        content = functools.partial(ledger.content, cache=cache)
                        outcomes.append(_make(places, settings, stage, key, its, progress, content))
                return outcomes

            outcomes = _without_damage(places, bring_up_to_date)
        if places.far:
            places.far.complete()
        storage.write_text(places.build / ".files.json", json.dumps(cache, indent=0, sort_keys=True))
    return outcomes


def _sweep(places: Places) -> None:
    """Delete leftovers of interrupted runs and earlier versions, but never a table in use."""
    unfinished = [*places.build.glob(".*.part"), *places.build.glob(".*.new"), *places.store.rglob(".*.part")]
    for leftover in [*unfinished, places.scratch, places.build / "search.sqlite"]:
        storage.remove(leftover)
    if places.far:
        places.far.sweep()


def _remove_damaged(places: Places) -> None:
    """Remove tables that are not what was written, so that their stages make them again."""
    from covmis_build import checked_parquet

    for path in places.build.glob("*.parquet"):
        try:
            checked_parquet.check_again(path)
        except DamagedTable:
            storage.remove(path)


def _without_damage(places: Places, act: Callable[[], T]) -> T:
    """Do this; when it meets a damaged file that a stage makes, such as a part of the store, remove the file and begin again."""
    removed = set[Path]()
    while True:
        try:
            return act()
        except DamagedTable as error:
            path = Path(error.file)
            if path in removed or not path.is_relative_to(places.build):
                raise
            removed.add(path)
            storage.remove(path)


def current(places: Places, settings: Settings) -> dict[str, bool]:
    """Return for each stage whether its tables match the current settings and files. Nothing is built.

    Rounds opened since are ignored: their items come from these tables and are kept in the next ones.
    """
    cache = _read_cache(places)
    entries = ledger.read(places.build / "ledger.jsonl")
    keys: dict[str, Key] = {}
    states = {}
    for stage in STAGES:
        keys[stage.name] = key = _key(places, settings, stage, keys, cache)
        entry = ledger.last(entries, stage.name)
        states[stage.name] = (
            entry is not None
            and _is_unchanged(places, stage, entry, cache)
            and (entry.key == key.whole or entry.key_without_rounds == key.without_rounds)
        )
    return states


def built_with_rounds(places: Places, settings: Settings) -> list[str]:
    """Return the stages whose tables were built with exactly the rounds that are there now."""
    cache, keys = _read_cache(places), dict[str, Key]()
    entries, names = ledger.read(places.build / "ledger.jsonl"), list[str]()
    for stage in STAGES:
        keys[stage.name] = key = _key(places, settings, stage, keys, cache)
        entry = ledger.last(entries, stage.name)
        if entry and entry.done and entry.key == key.whole != key.without_rounds:
            names.append(stage.name)
    return names


def void(places: Places, names: Iterable[str]) -> None:
    """Note that the tables of these stages are to be made again, whatever their inputs are."""
    for name in names:
        ledger.append(places.build / "ledger.jsonl", Entry(name, Event.STARTED, "void"))


@dataclass(frozen=True)
class Key:
    """Hashes of a stage's inputs: all of them, and all except opened rounds."""

    whole: str
    without_rounds: str


def _with_needs(names: Sequence[str]) -> list[Stage]:
    """Return the named stages and those before them, in order; all if none is named."""
    known = {stage.name: stage for stage in STAGES}
    for name in names:
        if name not in known:
            raise InputError(f"no stage is called '{name}'", remedy=nearest(name, known))
    needed = set(names or known)
    for stage in reversed(STAGES):
        if stage.name in needed:
            needed.update(stage.after)
    return [stage for stage in STAGES if stage.name in needed]


def _key(
    places: Places, settings: Settings, stage: Stage, keys: Mapping[str, Key], cache: dict[str, list[Any]]
) -> Key:
    used = {name: _setting(settings, name) for name in stage.settings}

    def key(files: Iterable[Path], before: list[str]) -> str:
        contents = [[places.relative(path), ledger.content(path, cache)] for path in files]
        values = stage.values(places)
        told = [
            stage.name,
            stage.version,
            used,
            settings.seed,
            before,
            contents,
            *([values] if values else []),
        ]
        return ledger.key_of(*told)

    files, rounds = stage.files(places), frozen_files(places)
    return Key(
        key(files, [keys[name].whole for name in stage.after]),
        key(
            [path for path in files if path not in rounds],
            [keys[name].without_rounds for name in stage.after],
        ),
    )


def _setting(settings: Settings, name: str) -> Any:
    """Return a table of study.toml, or one of its keys: `annotation.audit`."""
    table, _, key = name.partition(".")
    options = asdict(getattr(settings, table))
    return options[key] if key else options


def _is_current(places: Places, stage: Stage, entry: Entry, key: Key, cache: dict[str, list[Any]]) -> bool:
    return entry.key == key.whole and _is_unchanged(places, stage, entry, cache)


def _is_unchanged(places: Places, stage: Stage, entry: Entry, cache: dict[str, list[Any]]) -> bool:
    """True if the tables of a finished stage exist unchanged."""
    content = functools.partial(ledger.content, cache=cache)
    return (
        entry.done
        and all(
            (path := places.table(table)).exists()
            and (facts := entry.tables.get(table)) is not None
            and path.stat().st_size == facts.bytes
            and content(path) == facts.sha256
            for table in stage.makes
        )
        and all(
            stands(path, facts.bytes, facts.sha256, content)
            for path, facts in stage.further_files(places).items()
        )
    )


def _make(
    places: Places,
    settings: Settings,
    stage: Stage,
    key: Key,
    opened: Engine,
    progress: Progress,
    content: Callable[[Path], str],
) -> StageRun:
    """Run one stage: write its tables, record the start, rename them, record the end."""
    began = time.monotonic()
    log = places.build / "ledger.jsonl"
    with opened.fresh() as engine:
        waiting = {table: places.build / f".{table}.new" for table in stage.makes}
        try:
            results = stage.make(Work(places, settings, engine, progress, content))
            facts = {table: _write(results[table], table, path) for table, path in waiting.items()}
            ledger.append(
                log, Entry(stage.name, Event.STARTED, key.whole, tables=facts if places.far else {})
            )
            for table, path in waiting.items():
                if places.far:  # next to the old ones, which are valid until the entry is written
                    places.far.put(table, path, facts[table].sha256)
                else:
                    storage.put(path, places.table(table))
        finally:  # leave nothing incomplete after an interruption
            for path in waiting.values():
                path.unlink(missing_ok=True)
    seconds = time.monotonic() - began
    done = Entry(
        stage.name,
        Event.DONE,
        key.whole,
        key.without_rounds,
        opened.name,
        settings.seed,
        round(seconds, 3),
        facts,
        _version(),
        {name: _setting(settings, name) for name in stage.settings},
    )
    ledger.append(log, done)
    if places.far:
        places.far.sweep()
    return StageRun(stage.name, True, seconds, done.rows(stage.makes))


def _write(table: Table | pd.DataFrame, name: str, path: Path) -> TableFacts:
    """Write one table before renaming. Returns rows, bytes and content hash."""
    import pandas as pd

    from covmis_build import checked_parquet, tables
    from covmis_build.engine.duck import write_blocks

    schema = _schema(name)
    with storage.replacing(path) as beside:
        if isinstance(table, pd.DataFrame):
            write_blocks(iter([tables.fit(table, schema, name)]), schema, beside)
        else:
            write_blocks((tables.fit(block, schema, name) for block in _blocks(table)), schema, beside)
    return TableFacts(checked_parquet.rows_in(path), path.stat().st_size, ledger.content(path, {}))


def _blocks(table: Table) -> Iterator[pa.Table]:
    import pyarrow as pa

    for batch in table.batches():
        yield pa.Table.from_batches([batch])


def _schema(name: str) -> pa.Schema:
    from covmis_build import tables

    return tables.SCHEMAS[name.rsplit(".", maxsplit=1)[-1]]


def _read_cache(places: Places) -> dict[str, list[Any]]:
    path = places.build / ".files.json"
    try:
        return dict(json.loads(path.read_text())) if path.exists() else {}
    except (ValueError, OSError):
        return {}  # only a cache of hashes: without it they are computed again


def damaged_inputs(places: Places) -> list[Path]:
    """Return files that stages have read, such as those of the archive, whose content changed, but not their size and times."""
    return ledger.damaged(_read_cache(places))


def _version() -> str:
    from covmis_build import __version__

    return __version__
