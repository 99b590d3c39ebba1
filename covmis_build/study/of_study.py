"""What operations use of a study. They import this file, and `study.py` imports them: so nothing is in a circle."""
# ruff: noqa: D102 - each member is explained where `Study` has it

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from covmis_build.engine import silent

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    import pandas as pd

    from covmis_build.archive.counted import CountedPosts
    from covmis_build.archive.intake import Intake
    from covmis_build.archive.words import Words
    from covmis_build.engine import Progress
    from covmis_build.places import Places
    from covmis_build.settings import Settings


class OfStudy(Protocol):
    """A study as its operations see it: `Study` says what each member does."""

    @property
    def folder(self) -> Path: ...

    @property
    def settings(self) -> Settings: ...

    @property
    def places(self) -> Places: ...

    @property
    def claims(self) -> pd.DataFrame: ...

    @property
    def posts(self) -> pd.DataFrame: ...

    @property
    def hits(self) -> pd.DataFrame: ...

    @property
    def items(self) -> pd.DataFrame: ...

    @property
    def sample(self) -> pd.DataFrame: ...

    @property
    def dropped(self) -> pd.DataFrame: ...

    @property
    def intake(self) -> Intake: ...

    @property
    def advice(self) -> str: ...

    def gold(self) -> pd.DataFrame: ...

    def differing_release(self) -> list[str]: ...

    def stages(self) -> dict[str, bool]: ...

    def need_current(self, *, run: bool = False, progress: Progress = silent) -> None: ...

    def words(self, progress: Progress = silent) -> Words: ...

    def counted_posts(self, progress: Progress = silent) -> CountedPosts: ...

    def locked(self, folder: Path, command: str, name: str = ".lock") -> AbstractContextManager[None]: ...

    def locked_rounds(self, command: str) -> AbstractContextManager[None]: ...

    def locked_inputs(self, command: str) -> AbstractContextManager[None]: ...
