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


class WrittenSetting(NamedTuple):
    """A setting: its table, its name, its value as text, and its meaning."""

    table: str
    key: str
    text: str
    meaning: str

    @property
    def name(self) -> str:
        """The setting's unique name."""
        return f"{self.table}.{self.key}" if self.table else self.key


def written_settings(settings: Settings) -> list[WrittenSetting]:
    """Return all settings except `[[retrieval.columns]]`, which `Study.set_columns` writes."""
    rows = []
    for table, record in (("", settings), *((name, getattr(settings, name)) for name in TABLES)):
        hints = get_type_hints(type(record), include_extras=True)
        rows += [
            WrittenSetting(
                table, option.name, _written(getattr(record, option.name)), meaning(hints[option.name])
            )
            for option in fields(record)
            if option.name not in {*TABLES, "columns"}
        ]
    return rows


def changed_settings(settings: Settings, form: Mapping[str, str]) -> dict[str, Any]:
    """Return the changed settings of a form, for `study.change(**changes)`."""
    changes: dict[str, Any] = {}
    for row in written_settings(settings):
        text = form.get(row.name, row.text).strip()
        if text != row.text.strip():
            owner = getattr(settings, row.table) if row.table else settings
            changes.setdefault(row.table, {})[row.key] = _value(row.name, text, getattr(owner, row.key))
    return {**changes.pop("", {}), **changes}


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
