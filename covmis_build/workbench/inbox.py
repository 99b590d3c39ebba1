"""Queue of answers: those that wait are recorded together, and each sender is answered when its own are on disk."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from covmis_build.study.links import round_of

if TYPE_CHECKING:
    from covmis_build.annotation.channels.offline import Taken
    from covmis_build.workbench.bench import Bench


class _Letter(NamedTuple):
    rows: list[dict[str, Any]]
    answer: asyncio.Future[Taken]


class Inbox:
    """The answers that wait. Recording costs the same for one answer as for many, so that hundreds at once take no longer."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._waiting: defaultdict[tuple[str, str], list[_Letter]] = defaultdict(list)
        self._work: asyncio.Task[None] | None = None

    async def take(self, number: str, annotator: str, rows: list[dict[str, Any]]) -> Taken:
        """Record these answers of a person to a round; what became of them, when they are on disk."""
        letter = _Letter(rows, asyncio.get_running_loop().create_future())
        self._waiting[number, annotator].append(letter)
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._record())
        taken = await letter.answer
        return taken.of({row["id"] for row in rows})

    async def _record(self) -> None:
        while self._waiting:
            (number, annotator), letters = self._waiting.popitem()
            rows = [row for letter in letters for row in letter.rows]
            try:
                taken = await self.bench.write(self._take, number, annotator, rows)
            except Exception as error:  # noqa: BLE001 - it is raised where each answer is waited for
                for letter in letters:
                    if not letter.answer.done():
                        letter.answer.set_exception(error)
            else:
                for letter in letters:
                    if not letter.answer.done():
                        letter.answer.set_result(taken)

    def _take(self, number: str, annotator: str, rows: list[dict[str, Any]]) -> Taken:
        return round_of(self.bench.study, number).take_answers(annotator, rows)
