"""Convert settings to form fields and back: changes for `Study.change`."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple, get_type_hints

from covmis_build.errors import InputError
from covmis_build.settings import TABLES, meaning, toml

if TYPE_CHECKING:
    from collections.abc import Mapping

    from covmis_build.settings import Settings


SHOWN = "shown:"
"""Before the name of a form's field: the value that the form showed."""


class WrittenSetting(NamedTuple):
    """A setting: its table, its name, its value as text, its meaning, and what a form was sent with if it differs."""

    table: str
    key: str
    text: str
    meaning: str
    typed: str | None = None

    @property
    def name(self) -> str:
        """The setting's unique name."""
        return f"{self.table}.{self.key}" if self.table else self.key


def written_settings(settings: Settings) -> list[WrittenSetting]:
    """Return all settings except `[[retrieval.columns]]`, which `Study.set_columns` writes, and `[[retrieval.forms]]`."""
    rows = []
    for table, record in (("", settings), *((name, getattr(settings, name)) for name in TABLES)):
        hints = get_type_hints(type(record), include_extras=True)
        rows += [
            WrittenSetting(
                table, option.name, _written(getattr(record, option.name)), meaning(hints[option.name])
            )
            for option in fields(record)
            if option.name not in {*TABLES, "columns", "forms"}
        ]
    return rows


def changed_settings(settings: Settings, form: Mapping[str, str]) -> dict[str, Any]:
    """Return the changed settings of a form, for `study.change(**changes)`.

    For each field the form also has the value that it showed (SHOWN). What it did not change is left as it is now; what was
    changed elsewhere in the meantime, to another value, is refused.
    """
    changes: dict[str, Any] = {}
    for row in written_settings(settings):
        if row.name not in form:
            continue
        if SHOWN + row.name not in form:
            raise InputError("this form does not say what it showed", remedy="Load the page again")
        now, text, shown = (each.strip() for each in (row.text, form[row.name], form[SHOWN + row.name]))
        if text in {shown, now}:
            continue
        if now != shown:
            raise InputError(
                f"{row.name} was changed elsewhere since this page was shown: it is '{now}' now, was '{shown}', and you wrote '{text}'",
                remedy="Save again to write yours",
            )
        owner = getattr(settings, row.table) if row.table else settings
        changes.setdefault(row.table, {})[row.key] = _value(row.name, text, getattr(owner, row.key))
    return {**changes.pop("", {}), **changes}


def typed_over(form: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of a form in which something else was typed than they showed."""
    return {
        name: text
        for name, text in form.items()
        if not name.startswith(SHOWN) and text.strip() != form.get(SHOWN + name, "").strip()
    }


def _written(value: Any) -> str:
    """Format a value: texts and lists of plain words without quotation marks, everything else as in study.toml."""
    if isinstance(value, tuple) and all(
        isinstance(part, str) and part and not set(part) & set(',"[]') for part in value
    ):
        return ", ".join(value)
    return value if isinstance(value, str) else toml({} if value is None else value)


def _value(name: str, text: str, before: Any) -> Any:
    if isinstance(before, str):
        return text
    if isinstance(before, tuple) and not text.startswith("["):
        return [part.strip() for part in text.split(",") if part.strip()]
    try:
        read = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        read = {}
    if list(read) != ["value"]:
        raise InputError(f"{name}: '{text[:60]}' is no value", remedy=f"The setting stays {_written(before)}")
    return read["value"]
