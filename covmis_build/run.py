"""Bring a study up to date: run the stages that are stale, and only those.

A stage's key is a hash of its version, its settings, the seed, the keys of the stages it reads from, and the
content of files from outside. Same key: nothing is done. The engine is not part of the key, because it does not
change a single row. Tables are written beside the old ones and renamed together; the ledger's entry comes last.
"""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from covmis_build import ledger, storage
from covmis_build.engine import check_engine, silent
from covmis_build.errors import InputError, nearest
from covmis_build.stages import STAGES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import pandas as pd
    import pyarrow as pa

    from covmis_build.engine import Progress, Table
    from covmis_build.stages import Stage
    from covmis_build.study import Study


@dataclass(frozen=True)
class Outcome:
    """What `run` did for one stage."""

    stage: str
    made: bool
    seconds: float
    rows: dict[str, int]


def run(
    study: Study, names: Sequence[str] = (), *, force: bool = False, engine: str = "duckdb",
    workers: int = 0, settings: dict[str, str] | None = None, progress: Progress = silent,
) -> list[Outcome]:  # fmt: skip
    """Bring the named stages, and all that they need, up to date.

    `force` makes the named ones again even if they are current. One run at a time: the study is locked.
    """
    check_engine(engine)
    wanted = _with_needs(names)
    forced = {stage.name for stage in STAGES if force and (not names or stage.name in names)}
    with storage.locked(study.build / ".lock", "covmis run"):
        _sweep(study.build)
        cache = _read_cache(study)
        log = study.build / "ledger.jsonl"
        outcomes = []
        keys: dict[str, str] = {}
        for stage in wanted:
            keys[stage.name] = key = _key(study, stage, keys, cache)
            entry = ledger.last(ledger.read(log), stage.name)
            if stage.name not in forced and _is_current(study, stage, entry, key):
                outcomes.append(Outcome(stage.name, False, 0.0, _rows(stage, entry)))
            else:
                outcomes.append(_make(study, stage, key, engine, workers, settings or {}, progress))
        shutil.rmtree(study.build / ".scratch", ignore_errors=True)
        storage.write_text(study.build / ".files.json", json.dumps(cache, indent=0, sort_keys=True))
    return outcomes


def _sweep(build: Path) -> None:
    """Remove what a killed run left: half-written files and scratch tables, never a table in use."""
    for leftover in [*build.glob(".*.part"), *build.glob(".*.new")]:
        leftover.unlink(missing_ok=True)
    shutil.rmtree(build / ".scratch", ignore_errors=True)


def current(study: Study) -> dict[str, bool]:
    """For each stage, whether it is up to date; nothing is made."""
    cache = _read_cache(study)
    entries = ledger.read(study.build / "ledger.jsonl")
    keys: dict[str, str] = {}
    states = {}
    for stage in STAGES:
        keys[stage.name] = key = _key(study, stage, keys, cache)
        states[stage.name] = _is_current(study, stage, ledger.last(entries, stage.name), key)
    return states


def _with_needs(names: Sequence[str]) -> list[Stage]:
    """The named stages and those before them, in order; all if none is named."""
    known = {stage.name: stage for stage in STAGES}
    for name in names:
        if name not in known:
            raise InputError(f"no stage is called '{name}'", remedy=nearest(name, known))
    needed = set(names or known)
    for stage in reversed(STAGES):
        if stage.name in needed:
            needed.update(stage.after)
    return [stage for stage in STAGES if stage.name in needed]


def _key(study: Study, stage: Stage, keys: Mapping[str, str], cache: dict[str, list[Any]]) -> str:
    settings = {name: _setting(study, name) for name in stage.settings}
    files = [[study.relative(path), ledger.content(path, cache)] for path in stage.files(study)]
    return ledger.key_of(
        stage.name, stage.version, settings, study.seed, [keys[one] for one in stage.after], files
    )


def _setting(study: Study, name: str) -> Any:
    """A table of study.toml, or one key of it: `annotation.audit`."""
    table, _, key = name.partition(".")
    options = asdict(getattr(study, table))
    return options[key] if key else options


def _is_current(study: Study, stage: Stage, entry: Mapping[str, Any], key: str) -> bool:
    if entry.get("event") != "done" or entry.get("key") != key:
        return False
    return all(
        (path := study.table(table)).exists()
        and path.stat().st_size == entry["tables"].get(table, {}).get("bytes")
        for table in stage.makes
    )


def _rows(stage: Stage, entry: Mapping[str, Any]) -> dict[str, int]:
    return {table: entry["tables"][table]["rows"] for table in stage.makes}


def _make(
    study: Study,
    stage: Stage,
    key: str,
    engine_name: str,
    workers: int,
    settings: dict[str, str],
    progress: Progress,
) -> Outcome:
    """Run one stage: write its tables beside, note the start, rename them, note the end."""
    from covmis_build.engine import open_engine

    began = time.monotonic()
    log = study.build / "ledger.jsonl"
    with open_engine(
        engine_name, scratch=study.build / ".scratch", workers=workers, settings=settings
    ) as engine:
        made = stage.make(study, engine, progress)
        waiting = {table: study.build / f".{table}.new" for table in stage.makes}
        facts = {table: _write(made[table], table, path) for table, path in waiting.items()}
    ledger.append(log, {"stage": stage.name, "event": "started", "key": key})
    for table, path in waiting.items():
        path.replace(study.table(table))
    seconds = time.monotonic() - began
    ledger.append(
        log,
        {
            "stage": stage.name, "event": "done", "key": key, "engine": engine_name, "seed": study.seed,
            "seconds": round(seconds, 3), "tables": facts, "covmis": _version(),
            "settings": {name: _setting(study, name) for name in stage.settings},
        },
    )  # fmt: skip
    return Outcome(stage.name, True, seconds, {table: one["rows"] for table, one in facts.items()})


def _write(table: Table | pd.DataFrame, name: str, path: Path) -> dict[str, Any]:
    """Write one table where it waits to be renamed; its rows, bytes and content hash."""
    import pandas as pd
    import pyarrow.parquet as pq

    from covmis_build import tables
    from covmis_build.engine.duck import write_blocks

    schema = _schema(name)
    with storage.replacing(path) as beside:
        if isinstance(table, pd.DataFrame):
            write_blocks(iter([tables.fit(table, schema, name)]), schema, beside)
        else:
            write_blocks((tables.fit(block, schema, name) for block in _blocks(table)), schema, beside)
    rows = pq.read_metadata(path).num_rows
    return {"rows": rows, "bytes": path.stat().st_size, "sha256": ledger.content(path, {})}


def _blocks(table: Table) -> Iterator[pa.Table]:
    import pyarrow as pa

    for batch in table.batches():
        yield pa.Table.from_batches([batch])


def _schema(name: str) -> pa.Schema:
    from covmis_build import tables

    return tables.SCHEMAS[name.rsplit(".", maxsplit=1)[-1]]


def _read_cache(study: Study) -> dict[str, list[Any]]:
    path = study.build / ".files.json"
    try:
        return dict(json.loads(path.read_text())) if path.exists() else {}
    except (ValueError, OSError):
        return {}  # only a memory of hashes; without it they are computed again


def _version() -> str:
    from covmis_build import __version__

    return __version__
