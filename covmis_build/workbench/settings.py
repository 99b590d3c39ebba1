"""The settings of study.toml, each with what it means; those that are changed are written."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from covmis_build.errors import InputError
from covmis_build.study.written_settings import SHOWN, changed_settings, typed_over, written_settings
from covmis_build.workbench.bench import back_to, bench_of, form_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from covmis_build.workbench.bench import Bench

FIRST = (
    "title", "labels.values", "annotation.annotators", "annotation.per_item", "annotation.claims_per_round", "annotation.channel",
    "cleaning.languages", "cleaning.minimum_words", "cleaning.minimum_posts", "retrieval.since", "retrieval.until", "seed",
)  # fmt: skip
"""The settings that most studies change."""


def settings(request: Request) -> Response:
    """All settings but the columns of files, which the page of posts writes."""
    return _page(request, {})


def _page(request: Request, typed: Mapping[str, str], problem: str = "") -> Response:
    """The settings as they are, and what was typed if this is refused."""
    bench = bench_of(request)
    rows = {
        row.name: row._replace(typed=typed.get(row.name)) for row in written_settings(bench.study.settings)
    }
    first = [rows.pop(name) for name in FIRST]
    tables = [
        (table or "study", list(group)) for table, group in groupby(rows.values(), lambda row: row.table)
    ]
    code = 400 if problem else 200
    return bench.page(
        request, "settings.html", "run", code=code, first=first, tables=tables, problem=problem, before=SHOWN
    )


async def save(request: Request) -> Response:
    """Write the settings that were changed."""
    bench, form = bench_of(request), await form_of(request)
    try:
        await save_settings(bench, form)
    except InputError as error:
        return _page(request, typed_over(form), bench.sentence_of(error))
    return back_to("/settings")


async def save_settings(bench: Bench, form: Mapping[str, str]) -> None:
    """Write the settings that a form changed, unless somebody has changed them since the page was shown."""

    def apply() -> dict[str, Any]:
        """Compare and write in one go: another tab may save at this moment."""
        changes = changed_settings(bench.study.settings, form)
        if changes:
            bench.study.change(**changes)
        return changes

    changes = await bench.write(apply)
    if changes:
        said = ", ".join(f"{name}={value!r}" for name, value in changes.items())
        bench.note(python=f"study.change({said})")
        bench.said = "Saved."
