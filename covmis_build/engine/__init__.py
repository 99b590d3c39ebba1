"""Open an engine; `port.py` defines its interface."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.engine.port import Engine, Groups, Kernel, Notice, Progress, Table, silent, unheard
from covmis_build.errors import UnknownName, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = [
    "HERE", "Engine", "Groups", "Kernel", "Notice", "Progress", "Table", "check_engine", "open_engine", "silent", "unheard",
]  # fmt: skip

HERE = "duckdb"
ENGINES = (HERE, "spark")


def check_engine(name: str) -> None:
    """Refuse an unknown engine name, even if there is nothing to do."""
    if name not in ENGINES:
        raise UnknownName(f"no engine is called '{name}'", remedy=nearest(name, ENGINES))


def open_engine(
    name: str = HERE,
    *,
    scratch: Path | None = None,
    workers: int = 0,
    settings: Mapping[str, str] | None = None,
) -> Engine:
    """Return the engine of this name: `duckdb` (default), or `spark` with the extra."""
    check_engine(name)
    if name == "spark":
        from covmis_build.engine.spark import open_spark

        return open_spark(scratch=scratch, settings=settings or {})
    from covmis_build.engine.duck import DuckEngine

    return DuckEngine(scratch=scratch, workers=workers)
