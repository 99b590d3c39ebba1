"""Read and check a study's settings (study.toml) with the declarations in options.py."""

from __future__ import annotations

import dataclasses
import datetime as dt
import re
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import msgspec

from covmis_build.addresses import Address, place
from covmis_build.errors import InputError, nearest
from covmis_build.label_words import NOT_LABELS, SKIP, bare, label_meant
from covmis_build.options import (
    KINDS,
    MACHINE,
    Annotation,
    Cleaning,
    Labels,
    Release,
    Retrieval,
    Sampling,
    file_stem,
    says,
    size_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
"""Allowed annotator codes, because they become part of file names."""


@dataclass(frozen=True)
class Settings:
    """The content of study.toml by table, with defaults for missing settings."""

    title: Annotated[str, says("the title of every page, card and table")]
    seed: Annotated[int, says("the same seed draws the same posts", ge=0, le=2**63 - 1)] = 20220405
    labels: Labels = field(default_factory=Labels)
    retrieval: Retrieval = field(default_factory=Retrieval)
    cleaning: Cleaning = field(default_factory=Cleaning)
    sampling: Sampling = field(default_factory=Sampling)
    annotation: Annotation = field(default_factory=Annotation)
    release: Release = field(default_factory=Release)
    build: Annotated[
        str,
        says(
            'where the tables are: an address of this study alone, like "s3://bucket/study"; empty: data/build'
        ),
    ] = ""


TABLES: dict[str, type] = {
    "labels": Labels, "retrieval": Retrieval, "cleaning": Cleaning,
    "sampling": Sampling, "annotation": Annotation, "release": Release,
}  # fmt: skip


def read_settings(path: Path) -> Settings:
    """Read and check a study.toml."""
    from covmis_build.files import toml_file

    return parse(toml_file.read(path), file=path)


def parse(data: dict[str, Any], *, file: Path | str = "study.toml") -> Settings:
    """Check settings read from TOML, key by key and then in combination."""
    data = _without_retired(data, file)
    try:
        settings: Settings = _record(data, Settings, "")
        for rule in _conflicts(settings):
            raise rule
    except InputError as error:
        raise error.at(file) from None
    return dataclasses.replace(settings, title=settings.title.strip())


def _without_retired(data: dict[str, Any], file: Path | str) -> dict[str, Any]:
    """Remove the retired table [queries], whose only key was the share of posts for testing queries."""
    if data.get("queries", {}) not in ({}, {"share": 1}):
        raise InputError(
            "[queries] is no longer a table of settings: queries are tried on all posts",
            file=file,
            remedy="Delete [queries] and its line `share`",
        )
    return {name: value for name, value in data.items() if name != "queries"}


def _record(value: Any, kind: type, where: str) -> Any:
    """Convert a table to its record; `where` is the table's name."""
    if not isinstance(value, dict):
        raise InputError(f"{where} must be a table", remedy=f"Write [{where}] on a line of its own")
    hints = get_type_hints(kind, include_extras=True)
    known = {key_of(option.name): option for option in fields(kind)}
    table = where if where.startswith("[[") else f"[{where}]"
    for key in value:
        if key not in known:
            raise InputError(f"unknown key '{key}'{f' in {table}' * bool(where)}", remedy=nearest(key, known))
    is_table = where in TABLES or where == table
    names = {key: f"{table} {key}" if is_table else f"{where}.{key}" if where else key for key in known}
    values = {
        known[key].name: checked(entry, hints[known[key].name], names[key]) for key, entry in value.items()
    }
    for key, option in known.items():
        if option.name not in values and option.default is option.default_factory is MISSING:
            raise InputError(f"{names[key]} is required", remedy=f"Add {key} = …")
    return kind(**(_scheme_defaults(values) if kind is Labels else values))


def key_of(name: str) -> str:
    """Return the key in study.toml of a record's field: `from_` is `from`, which Python keeps for itself."""
    return name.rstrip("_")


def checked(value: Any, kind: Any, where: str) -> Any:
    """Check a value of the declared type, with lists as tuples. The error names what is allowed."""
    plain, optional = plain_type(kind)
    if optional and value == {}:
        return None  # as written by `covmis new`
    if dataclasses.is_dataclass(plain):
        if not isinstance(value, dict):
            like = (
                'list of tables, like [{ key = "…" }]'
                if where.startswith("[[")
                else "table like { name = … }"
            )
            raise InputError(f"{where} must be a {like}")
        name = where if where.startswith("[[") else _dotted(where)
        return _record(value, typing.cast("type", plain), name)
    inside = get_args(plain)
    if get_origin(plain) is tuple and isinstance(value, list) and inside[-1] is Ellipsis:
        of_tables = dataclasses.is_dataclass(plain_type(inside[0])[0])
        each = f"[[{_dotted(where)}]]" if of_tables else f"each of {where}"
        return tuple(_element(entry, inside[0], each) for entry in value)
    if get_origin(plain) is dict and isinstance(value, dict):
        return {
            checked(key, inside[0], f"a key of {where}"): checked(entry, inside[1], f"{where}.{key}")
            for key, entry in value.items()
        }
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        allowed = [str(choice) for choice in inside] if get_origin(plain) is typing.Literal else []
        remedy = nearest(value, allowed) if allowed and isinstance(value, str) else f"It is {value!r}"
        raise InputError(f"{where} must be {_allowed(kind, value)}", remedy=remedy) from None


def _element(value: Any, kind: Any, where: str) -> Any:
    """Check an element of a list. The error names a table that has a name."""
    try:
        return checked(value, kind, where)
    except InputError as error:
        if where.startswith("[[") and isinstance(value, dict) and isinstance(value.get("name"), str):
            error.problem += f" (name = {toml(value['name'])})"
        raise


def _dotted(where: str) -> str:
    """Format a place in a table as the name of a TOML table."""
    return re.sub(r"\]+ ", ".", where.lstrip("["))


def plain_type(kind: Any) -> tuple[Any, bool]:
    """Return a type without its limits, and whether it is optional."""
    if get_origin(kind) is Annotated:
        return plain_type(get_args(kind)[0])
    if (
        get_origin(kind) in UNION
        and len(rest := [part for part in get_args(kind) if part is not type(None)]) == 1
    ):
        return plain_type(rest[0])[0], True
    return kind, False


UNION = {types.UnionType, typing.Union}
WORDS_FOR = {str: "text in quotes", bool: "true or false", int: "a whole number", float: "a number"}
LIMITS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}


def _allowed(kind: Any, value: Any) -> str:
    """Describe the allowed values; for a number out of range, the range."""
    origin, inside = get_origin(kind), get_args(kind)
    if origin is Annotated:
        metas = [mark for mark in inside[1:] if isinstance(mark, msgspec.Meta)]
        ranges = [
            f"{word} {bound:g}"
            for meta in metas
            for name, word in LIMITS.items()
            if (bound := getattr(meta, name)) is not None
        ]
        in_range = _converts(value, inside[0]) and " and ".join(ranges)
        return next((meta.title for meta in metas if meta.title), in_range or _allowed(inside[0], value))
    if origin is typing.Literal:
        return " or ".join(f'"{choice}"' for choice in inside)
    if origin in {tuple, list}:
        return f"a list, each {_allowed(inside[0], value)}"
    if origin is dict:
        return "a table like { name = … }"
    if origin in UNION:
        return " or ".join(_allowed(part, value) for part in inside if part is not type(None))
    return WORDS_FOR.get(kind, "a table")


def _converts(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


def _scheme_defaults(values: dict[str, Any]) -> dict[str, Any]:
    """Replace defaults that only fit the paper's labels if the user defines other labels."""
    if "values" not in values:
        return values
    labels, usual = values["values"], Labels()
    return {
        "poles": usual.poles if set(usual.poles) <= set(labels) else (),
        "keys": tuple(str(at) for at in range(1, len(labels) + 1)),
        "automatic": {kind: label for kind, label in usual.automatic.items() if label in labels},
        **values,
    }


def labels_of(names: Sequence[str] | str) -> Labels:
    """Return the settings of these labels (as text: with commas), and the defaults that fit them; none are the usual ones."""
    parts = names.split(",") if isinstance(names, str) else names
    values = tuple(name for part in parts if (name := part.strip()))
    labels = Labels(**_scheme_defaults({"values": values} if values else {}))
    for error in _labels(labels):
        raise error
    return labels


def _conflicts(settings: Settings) -> Iterator[InputError]:
    """Check rules between settings, and names that other settings declare."""
    if not settings.title.strip() or "\n" in settings.title.strip():
        yield InputError("title must be one line of text", remedy='Like title = "Vaccine rumours, 2026"')
    if settings.build and not isinstance(place(settings.build), Address):
        yield InputError(
            "build must be an address in a store, or empty",
            remedy='Like build = "s3://bucket/study"; without it tables lie in data/build',
        )
    yield from _labels(settings.labels)
    yield from _changes(settings.labels)
    yield from _retrieval(settings.retrieval)
    yield from _people(settings.annotation)
    for author in settings.release.authors:
        if author.orcid and not _is_orcid(author.orcid):
            yield InputError(
                f"[release] authors: '{author.orcid}' is not an ORCID", remedy='Like "0000-0002-1825-0097"'
            )
    splits = settings.release.splits
    if splits and not (min(splits.fractions) >= 0 and abs(sum(splits.fractions) - 1) < 1e-9):
        yield InputError(
            "[release] splits: fractions must be three with the sum 1", remedy="Like [0.7, 0.1, 0.2]"
        )


def _labels(labels: Labels) -> Iterator[InputError]:
    """Check the label scheme: all other settings of the table refer to its values."""
    for label in labels.values:
        if not label.strip() or label != label.strip() or any(sign in label for sign in '\n\t|"'):
            yield InputError(
                f"[labels] values: '{label}' cannot be a label",
                remedy="One line without | or quotation marks",
            )
    count = len(labels.values)
    rules = {
        "values must be at least two different labels": count >= 2 and len(set(labels.values)) == count,
        "order must name every label of values once, or be empty": not labels.order
        or sorted(labels.order) == sorted(labels.values),
        "poles must be two different labels, or empty": len(set(labels.poles)) == len(labels.poles) in {0, 2},
        f"keys must be {count} different keys, one for each label": len(set(labels.keys))
        == len(labels.keys)
        == count,
    }
    for rule, holds in rules.items():
        if not holds:
            yield InputError(f"[labels] {rule}")
    named = [
        ("poles", labels.poles),
        ("sub_labels", labels.sub_labels),
        ("automatic", labels.automatic.values()),
    ]
    for key, used in named:
        for label in used:
            if label not in labels.values:
                yield InputError(
                    f"[labels] {key}: '{label}' is not a label", remedy=nearest(label, labels.values)
                )
    for kind in labels.automatic:
        if kind not in KINDS:
            yield InputError(
                f"[labels] automatic: '{kind}' is not a kind of query", remedy=nearest(kind, KINDS)
            )
    yield from _aliases(labels)


def _aliases(labels: Labels) -> Iterator[InputError]:
    """Check that an alias means one label. Labels that were renamed or left out may keep theirs, for open rounds."""
    known = [*labels.values, *(change.from_ for change in labels.changes)]
    meant: dict[str, str] = {}
    for label, names in labels.aliases.items():
        if label not in known:
            yield InputError(f"[labels.aliases] '{label}' is not a label", remedy=nearest(label, known))
        for name in names:
            own = label_meant(name, labels.values, keys=labels.keys)
            twin = meant.setdefault(bare(name), label) if own in {"", label} else own
            if not name.strip() or NOT_LABELS.get(bare(name)) == SKIP:
                yield InputError(f"[labels.aliases] {label}: '{name}' cannot be an alias")
            elif twin != label:
                yield InputError(
                    f"[labels.aliases] '{name}' means {twin} and {label}", remedy="Give it to one label"
                )


def _changes(labels: Labels) -> Iterator[InputError]:
    """Check that it is said once what became of a label; whether there was such a label, its round knows."""
    stated = [(change.after_round, change.from_) for change in labels.changes]
    for number, label in stated:
        if stated.count((number, label)) > 1:
            yield InputError(
                f"[[labels.changes]] says twice what became of '{label}' after round {number}",
                remedy="Keep one, with everything that it became in `to`",
            )


def _retrieval(retrieval: Retrieval) -> Iterator[InputError]:
    ranked = retrieval.ranked
    if ranked and (ranked.by == "bm25+model") != bool(ranked.model):
        yield InputError(
            f"[retrieval] ranked by {ranked.by} {'has a model' if ranked.model else 'names no model'}",
            remedy='Like { by = "bm25+model", model = "a folder, or a name on the hub" }, or { by = "bm25" }',
        )
    for name, day in (("since", retrieval.since), ("until", retrieval.until)):
        try:
            dt.datetime.fromisoformat(day or "2020-01-31")
        except ValueError:
            yield InputError(
                f"[retrieval] {name} must be an ISO date", remedy='Like "2020-01-31", or "" for no limit'
            )
    if retrieval.since and retrieval.until and retrieval.since > retrieval.until:
        yield InputError("[retrieval] since is after until")
    size_of(retrieval.longest_line)
    if not retrieval.archive:
        yield InputError("[retrieval] archive names no folder", remedy='Default: ["data/archive"]')
    for named in retrieval.archive:
        try:
            place(named)
        except InputError as error:
            yield InputError(f"[retrieval] archive: {error.problem}", remedy=error.remedy)


def _people(annotation: Annotation) -> Iterator[InputError]:
    """Check annotator codes, their number, and shares of the workload."""
    people = annotation.annotators
    for person in people:
        if not CODE.fullmatch(person.removeprefix(MACHINE)):
            yield InputError(
                f"[annotation] annotators: '{person}' cannot be a code",
                remedy=f"Letters, digits, - and _; a machine's begins with {MACHINE}",
            )
    if not annotation.people:
        yield InputError(
            "[annotation] annotators has machines alone",
            remedy="Name a person: a machine's label is never gold by itself",
        )
    if (
        len({file_stem(person).casefold() for person in people}) < len(people)
        or len(people) < annotation.per_item
    ):
        yield InputError(
            f"[annotation] annotators must be different and at least per_item = {annotation.per_item}"
        )
    for person in annotation.workload:
        if person not in people:
            yield InputError(
                f"[annotation] workload: '{person}' is not an annotator",
                remedy=f"Annotators: {', '.join(people)}; 1 is usual, 0.5 half of that",
            )


HEAD = """\
# The settings of this study. A key that is left out has the value that `covmis new` wrote here. An unknown key is an error.
# More: docs/reference/settings.md.
"""


OWN_TABLES = {
    "columns": "[[retrieval.columns]]",
    "forms": "[[retrieval.forms]]",
    "changes": "[[labels.changes]]",
    "aliases": "[labels.aliases]",
}
"""Settings that are tables of their own: an empty one is not written, because a table could not be added to it."""


def settings_toml(settings: Settings, *, explained: bool = False) -> str:
    """Format settings as a study.toml with every key; `explained` adds comments as in `covmis new`."""
    return (f"{HEAD}\n" if explained else "") + "\n".join(_lines(settings, explained=explained)) + "\n"


def _lines(options: Any, *, explained: bool) -> Iterator[str]:
    """Return a table's keys, then its subtables."""
    hints = get_type_hints(type(options), include_extras=True)
    for option in sorted(fields(options), key=lambda option: option.name in TABLES):
        value, about = getattr(options, option.name), meaning(hints[option.name])
        if option.name in TABLES:
            yield from ("", f"[{option.name}]", *_lines(value, explained=explained))
            continue
        line = f"{option.name} = {toml({} if value is None else value)}"
        if explained and option.name in OWN_TABLES and not value:
            line = f"# {OWN_TABLES[option.name]}"
        yield f"{line:<32}{'' if len(line) < 32 else '  '}# {about}" if explained else line


def changed(text: str, changes: Mapping[str, Any]) -> str:
    """Change these keys of a study.toml, a dict per table; comments and all else are kept."""
    import tomlkit

    document = tomlkit.parse(text)
    for name, value in changes.items():
        if isinstance(value, Mapping):
            table = document.setdefault(name, tomlkit.table())
            for key, entry in value.items():
                table[key] = list(entry) if isinstance(entry, tuple) else entry
        else:
            document[name] = value
    return tomlkit.dumps(document)


def limits(kind: Any) -> dict[str, float]:
    """Return the declared limits of a number, by the names that forms have for them."""
    marks = get_args(kind)[1:] if get_origin(kind) is Annotated else ()
    pairs = [("min", mark.ge if mark.ge is not None else mark.gt) for mark in marks]
    pairs += [("max", mark.le if mark.le is not None else mark.lt) for mark in marks]
    return {name: bound for name, bound in pairs if bound is not None}


def meaning(kind: Any) -> str:
    """Return the declared description of a setting."""
    marks = get_args(kind)[1:] if get_origin(kind) is Annotated else ()
    return next((mark.description for mark in marks if mark.description), "")


def _is_orcid(text: str) -> bool:
    """Check an ORCID: four groups of four, where the last character is a checksum (ISO 7064, mod 11-2).

    >>> _is_orcid("0000-0002-1825-0097"), _is_orcid("0000-0002-1825-0098")
    (True, False)
    """
    if not re.fullmatch(r"\d{4}-\d{4}-\d{4}-\d{3}[\dX]", text):
        return False
    total = 0
    for digit in text.replace("-", "")[:-1]:
        total = (total + int(digit)) * 2
    return "0123456789X"[(12 - total % 11) % 11] == text[-1]


def shareable(settings: Settings) -> tuple[Settings, list[str]]:
    """Remove settings that name paths, URLs or limits of one machine. Also returns their names.

    They are not part of how a corpus was built: packages leave them out, and those in a package are not used.
    """
    own = {
        "retrieval": ["archive", "unreadable", "longest_line", "unpacked_ratio"],
        "cleaning": ["against"],
        "annotation": ["label_studio_url"],
        "release": ["data_statement"],
    }
    if settings.retrieval.ranked and settings.retrieval.ranked.model:
        own["retrieval"].append("ranked")
    if "/" in settings.release.licence:
        own["release"].append("licence")
    usual, shared, left_out = Settings(settings.title), settings, list[str]()
    for table, names in own.items():
        options, defaults = getattr(settings, table), getattr(usual, table)
        changed = {name: getattr(defaults, name) for name in names}
        left_out += [f"[{table}] {name}" for name in names if getattr(options, name) != changed[name]]
        shared = dataclasses.replace(shared, **{table: dataclasses.replace(options, **changed)})
    return dataclasses.replace(shared, build=""), [*(["build"] if settings.build else []), *left_out]


def toml(value: Any) -> str:
    """Format a plain value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + "".join(_toml_character(character) for character in value) + '"'
    if isinstance(value, tuple | list):
        return "[" + ", ".join(toml(entry) for entry in value) + "]"
    if isinstance(value, dict):
        entries = ", ".join(f"{_toml_key(str(key))} = {toml(entry)}" for key, entry in value.items())
        return f"{{ {entries} }}" if entries else "{}"
    if dataclasses.is_dataclass(value):
        named = {key_of(field.name): getattr(value, field.name) for field in fields(value)}
        return toml({name: entry for name, entry in named.items() if entry is not None})
    return repr(value)


def _toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else toml(key)


def _toml_character(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    return f"\\u{ord(character):04x}" if ord(character) < 0x20 or character == "\x7f" else character
