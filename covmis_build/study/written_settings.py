"""Convert settings to form fields and back: changes for `Study.change`."""

from __future__ import annotations

import dataclasses
import tomllib
from dataclasses import fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from covmis_build.building.stages import remade_from
from covmis_build.errors import InputError
from covmis_build.settings import TABLES, checked, key_of, limits, meaning, plain_type, toml

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from covmis_build.settings import Settings


SHOWN = "shown:"
"""Before the name of a form's field: the value that the form showed."""
PEOPLE = ("name", "orcid", "affiliation")
"""The parts of an author's line, with ; between them."""


class Control(StrEnum):
    """How a form asks for a setting."""

    TEXT = "text"
    NUMBER = "number"
    CHOICE = "choice"
    """One of a few words."""
    CHOICES = "choices"
    """Any of a few words."""
    LINES = "lines"
    """A list: an entry a line."""
    ENTRIES = "entries"
    """A table: `key = value` on each line; several values with commas between them."""
    AUTHORS = "authors"
    """A line for each: name; ORCID; affiliation."""
    TOML = "toml"
    """What is too deep for lines."""


class WrittenSetting(NamedTuple):
    """A setting as a form field: how it is asked for, its value as text, and what it means and does."""

    table: str
    key: str
    text: str
    meaning: str
    control: Control = Control.TEXT
    choices: tuple[str, ...] = ()
    bounds: Mapping[str, float] = {}
    """`min`, `max` and `step` of a number."""
    usual: str = ""
    """Its default, as text."""
    remade: str = ""
    """The first stage that the next run makes again if it changes."""
    typed: str | None = None
    """What a form was sent with, if it differs."""

    @property
    def name(self) -> str:
        """The setting's unique name."""
        return f"{self.table}.{self.key}" if self.table else self.key


def written_settings(settings: Settings) -> list[WrittenSetting]:
    """Return all settings except `[[retrieval.columns]]`, which `Study.set_columns` writes, and `[[retrieval.forms]]`."""
    rows, usual = [], type(settings)(settings.title)
    for table, record in (("", settings), *((name, getattr(settings, name)) for name in TABLES)):
        hints = get_type_hints(type(record), include_extras=True)
        defaults = getattr(usual, table) if table else usual
        for option in fields(record):
            if option.name in {*TABLES, "columns", "forms"}:
                continue
            kind, value = hints[option.name], getattr(record, option.name)
            row = WrittenSetting(
                table,
                option.name,
                _written(value, _control(kind)),
                meaning(kind),
                _control(kind),
                _choices(kind),
                limits(kind),
                _written(getattr(defaults, option.name), _control(kind)),
                remade_from(f"{table}.{option.name}" if table else option.name),
            )
            rows.append(row if _is_read_back(row, value, kind) else _as_toml(row, value))
    return rows


def _is_read_back(row: WrittenSetting, value: Any, kind: Any) -> bool:
    """Whether the field's text means this value: an alias with a comma, for one, is two aliases there."""
    try:
        return bool(checked(_value(row, row.text, kind), kind, row.name) == value)
    except InputError:
        return False


def _as_toml(row: WrittenSetting, value: Any) -> WrittenSetting:
    return row._replace(control=Control.TOML, text=toml({} if value is None else value))


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
        text, shown, now = (_bare(row, each) for each in (form[row.name], form[SHOWN + row.name], row.text))
        if text in {shown, now}:
            continue
        if now != shown:
            raise InputError(
                f"{row.name} was changed elsewhere since this page was shown: it is '{now}' now, was '{shown}', and you wrote '{text}'",
                remedy="Save again to write yours",
            )
        record = getattr(settings, row.table) if row.table else settings
        kind = get_type_hints(type(record), include_extras=True)[row.key]
        changes.setdefault(row.table, {})[row.key] = _value(row, text, kind)
    return {**changes.pop("", {}), **changes}


def typed_over(form: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of a form in which something else was typed than they showed."""
    return {
        name: text
        for name, text in form.items()
        if not name.startswith(SHOWN) and text.strip() != form.get(SHOWN + name, "").strip()
    }


def _bare(row: WrittenSetting, text: str) -> str:
    """A field's text without what means nothing: other ends of lines, and for words to choose from their order."""
    lines = "\n".join(line.strip() for line in text.strip().splitlines())
    return (
        ", ".join(word for word in row.choices if word in _parts(lines))
        if row.control is Control.CHOICES
        else lines
    )


def _control(kind: Any) -> Control:
    plain, _ = plain_type(kind)
    if dataclasses.is_dataclass(plain):
        return Control.ENTRIES
    if get_origin(plain) is dict:
        return (
            Control.TOML if dataclasses.is_dataclass(plain_type(get_args(plain)[1])[0]) else Control.ENTRIES
        )
    if get_origin(plain) is tuple:
        return _control_of_list(plain_type(get_args(plain)[0])[0])
    if plain is bool or get_origin(plain) is Literal:
        return Control.CHOICE
    return Control.NUMBER if plain in {int, float} else Control.TEXT


def _control_of_list(inside: Any) -> Control:
    if dataclasses.is_dataclass(inside):
        names = tuple(option.name for option in fields(inside))
        return Control.AUTHORS if names == PEOPLE else Control.TOML
    return Control.CHOICES if get_origin(inside) is Literal else Control.LINES


def _choices(kind: Any) -> tuple[str, ...]:
    plain, _ = plain_type(kind)
    if plain is bool:
        return ("true", "false")
    literal = plain if get_origin(plain) is Literal else next(iter(get_args(plain)), None)
    return get_args(plain_type(literal)[0]) if get_origin(plain_type(literal)[0]) is Literal else ()


def _written(value: Any, control: Control) -> str:
    """Format a value as its field shows it."""
    if control is Control.ENTRIES:
        entries = value if isinstance(value, dict) else _entries(value)
        return "\n".join(f"{key} = {_cell(entry)}" for key, entry in entries.items())
    if control is Control.AUTHORS:
        return "\n".join("; ".join(getattr(one, part) for part in PEOPLE).rstrip("; ") for one in value)
    if control in {Control.LINES, Control.CHOICES}:
        return ("\n" if control is Control.LINES else ", ").join(value)
    return value if isinstance(value, str) else toml({} if value is None else value)


def _entries(record: Any) -> dict[str, Any]:
    """The fields of a record that differ from what it has by itself; none where there is no record."""
    told = [] if record is None else [(each, getattr(record, each.name)) for each in fields(record)]
    return {key_of(each.name): value for each, value in told if value != each.default}


def _cell(value: Any) -> str:
    if isinstance(value, tuple | list):
        return ", ".join(map(_cell, value))
    return value if isinstance(value, str) else toml(value)


def _value(row: WrittenSetting, text: str, kind: Any) -> Any:
    """Read a field's text; what its parts may be, `Study.change` checks."""
    plain, _ = plain_type(kind)
    if row.control is Control.LINES:
        return [line for line in text.splitlines() if line]
    if row.control is Control.CHOICES:
        return _parts(text)
    if row.control is Control.AUTHORS:
        people = ([part.strip() for part in line.split(";", 2)] for line in text.splitlines() if line)
        return [dict(zip(PEOPLE, parts, strict=False)) for parts in people]
    if row.control is Control.ENTRIES:
        pairs = [line.partition("=") for line in text.splitlines() if line]
        if wrong := next((key for key, sign, _ in pairs if not sign or not key.strip()), None):
            raise InputError(f"{row.name}: '{wrong[:60]}' is no entry", remedy="Write key = value on a line")
        keys = [key.strip() for key, _, _ in pairs]
        if twice := next((key for key in keys if keys.count(key) > 1), None):
            raise InputError(f"{row.name}: '{twice[:60]}' stands on two lines", remedy="Keep one")
        parts = get_type_hints(plain, include_extras=True) if dataclasses.is_dataclass(plain) else {}
        other = get_args(plain)[1] if get_args(plain) else str
        kinds = {key_of(name): part for name, part in parts.items()}
        return {key.strip(): _part(cell.strip(), kinds.get(key.strip(), other)) for key, _, cell in pairs}
    return text if plain is str or get_origin(plain) is Literal else _from_toml(row, text)


def _part(text: str, kind: Any) -> Any:
    """An entry's value; a text that is no number where there should be one stays a text, which `Study.change` refuses."""
    plain, _ = plain_type(kind)
    if get_origin(plain) is tuple:
        return [_part(part, get_args(plain)[0]) for part in _parts(text)]
    if plain in {int, float}:
        try:
            return plain(text)
        except ValueError:
            return text
    return text


def _parts(text: str) -> Sequence[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _from_toml(row: WrittenSetting, text: str) -> Any:
    try:
        read = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        read = {}
    if list(read) != ["value"]:
        raise InputError(f"{row.name}: '{text[:60]}' is no value", remedy=f"The setting stays {row.text}")
    return read["value"]
