"""The settings of a study: study.toml, checked to the last key."""

from __future__ import annotations

import dataclasses
import datetime as dt
import operator
import re
import types
import typing
from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from covmis_build.addresses import Address, place
from covmis_build.errors import InputError, nearest
from covmis_build.options import (
    KINDS,
    MACHINE,
    WITHOUT,
    Annotation,
    Cleaning,
    Columns,
    Labels,
    Nearest,
    Release,
    Retrieval,
    Sampling,
    file_stem,
    size_of,
)

if TYPE_CHECKING:
    from pathlib import Path

CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
"""What an annotator's code may look like: it becomes part of file names."""
LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")
"""What the code of a language looks like (BCP 47), with or without script and region."""


@dataclass(frozen=True)
class Settings:
    """What a study.toml says, table by table; whatever it leaves out has its default."""

    title: str
    seed: int = 20220405
    labels: Labels = field(default_factory=Labels)
    retrieval: Retrieval = field(default_factory=Retrieval)
    cleaning: Cleaning = field(default_factory=Cleaning)
    sampling: Sampling = field(default_factory=Sampling)
    annotation: Annotation = field(default_factory=Annotation)
    release: Release = field(default_factory=Release)
    build: str = ""


TABLES: dict[str, type] = {
    "labels": Labels, "retrieval": Retrieval, "cleaning": Cleaning,
    "sampling": Sampling, "annotation": Annotation, "release": Release,
}  # fmt: skip


def read_settings(path: Path) -> Settings:
    """Read and check a study.toml."""
    from covmis_build.files import toml_file

    return parse(toml_file.read(path), file=path)


def parse(data: dict[str, Any], *, file: Path | str = "study.toml") -> Settings:
    """Settings as read from TOML, checked key by key and then against one another."""
    data = _without_retired(data, file)
    known = ["title", "seed", "build", *TABLES]
    for name in data:
        if name not in known:
            raise InputError(f"unknown key '{name}'", file=file, remedy=nearest(name, known))
    title = data.get("title", MISSING)
    if not isinstance(title, str) or not title.strip():
        raise InputError(
            "title is required: one line of text", file=file, remedy='Add title = "…" at the top'
        )
    seed = data.get("seed", 20220405)
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**63:
        raise InputError("seed must be a whole number from 0 to 9223372036854775807", file=file)
    build = data.get("build", "")
    if not isinstance(build, str) or (build and not isinstance(place(build), Address)):
        raise InputError(
            "build must be an address in a store, or empty",
            file=file,
            remedy='Like build = "s3://bucket/study"; without it tables lie in data/build',
        )
    tables: dict[str, Any] = {}
    for name, kind in TABLES.items():
        values = data.get(name, {})
        if not isinstance(values, dict):
            raise InputError(
                f"{name} must be a table", file=file, remedy=f"Write [{name}] on a line of its own"
            )
        tables[name] = _options(kind, name, dict(values), file)
    if ranked := tables["retrieval"].ranked:
        checked = _options(Nearest, "retrieval.ranked", dict(ranked), file)
        if (checked.by == "bm25+model") != bool(checked.model):
            raise InputError(
                f"[retrieval] ranked by {checked.by} {'names no model' if not checked.model else 'has a model'}",
                file=file,
                remedy='Like { by = "bm25+model", model = "a folder, or a name on the hub" }, or { by = "bm25" }',
            )
    settings = Settings(title.strip(), seed, **tables, build=build)
    _check_labels(settings.labels, file)
    _check_together(settings, file)
    return settings


def _without_retired(data: dict[str, Any], file: Path | str) -> dict[str, Any]:
    """Settings without the table [queries], whose only key was the share of the posts on which queries are tried."""
    if data.get("queries", {}) not in ({}, {"share": 1}):
        raise InputError(
            "[queries] is no longer a table of settings: queries are tried on all posts",
            file=file,
            remedy="Delete [queries] and its line `share`",
        )
    return {name: value for name, value in data.items() if name != "queries"}


def _options(kind: type, table: str, values: dict[str, Any], file: Path | str) -> Any:
    """One table of settings as its dataclass."""
    known = {option.name: option for option in fields(kind)}
    types_of = typing.get_type_hints(kind)
    for key, value in values.items():
        if key not in known:
            raise InputError(f"unknown key '{key}' in [{table}]", file=file, remedy=nearest(key, known))
        values[key] = _value(value, types_of[key], f"[{table}] {key}", file)
        _in_range(values[key], known[key].metadata, f"[{table}] {key}", file)
    if kind is Labels and "values" in values:
        values = _scheme_defaults(values)
    return kind(**values)


def _scheme_defaults(values: dict[str, Any]) -> dict[str, Any]:
    """For labels of the user's own, what the paper's labels would have had by default and these cannot have."""
    labels, usual = values["values"], Labels()
    return {
        "poles": usual.poles if set(usual.poles) <= set(labels) else (),
        "keys": tuple(str(at) for at in range(1, len(labels) + 1)),
        "automatic": {kind: label for kind, label in usual.automatic.items() if label in labels},
        **values,
    }


WORDS_FOR = {
    str: "text in quotes", bool: "true or false", int: "a whole number", float: "a number",
    Columns: "a table such as [[retrieval.columns]]",
}  # fmt: skip


def _value(value: Any, kind: Any, where: str, file: Path | str) -> Any:
    """A value of the declared type, lists as tuples; anything else says what is allowed."""
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        if not isinstance(value, list):
            raise InputError(
                f"{where} must be a list, each {WORDS_FOR.get(inside[0], 'a table')}",
                file=file,
                remedy='Like ["a", "b"]',
            )
        return tuple(_value(entry, inside[0], f"each of {where}", file) for entry in value)
    if origin is dict:
        if not isinstance(value, dict):
            raise InputError(f"{where} must be a table like {{ name = … }}", file=file)
        return {key: _value(entry, inside[1], f"{where}.{key}", file) for key, entry in value.items()}
    if origin is typing.Literal:
        kind = str
    if kind is Any or isinstance(kind, types.UnionType):
        return value
    if dataclasses.is_dataclass(kind) and isinstance(kind, type) and isinstance(value, dict):
        return _options(kind, "[retrieval.columns]", dict(value), file)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise InputError(f"{where} must be {WORDS_FOR[kind]}", file=file, remedy=f"It is {value!r}")
    return value


def _in_range(value: Any, rules: typing.Mapping[str, Any], where: str, file: Path | str) -> None:
    """What `options.setting` allows beside a field."""
    if rules.get("values") and value not in rules["values"]:
        allowed = " or ".join(f'"{name}"' for name in rules["values"])
        raise InputError(f"{where} must be {allowed}", file=file, remedy=nearest(str(value), rules["values"]))
    for entry in value if rules.get("each") else ():
        if entry not in rules["each"]:
            raise InputError(
                f"{where} cannot contain '{entry}'", file=file, remedy=nearest(entry, rules["each"])
            )
    bounds = [(name, rules[name]) for name in ("at_least", "below", "at_most") if rules.get(name) is not None]
    holds = {"at_least": operator.ge, "below": operator.lt, "at_most": operator.le}
    if not all(holds[name](value, bound) for name, bound in bounds):
        allowed = " and ".join(f"{name.replace('_', ' ')} {bound:g}" for name, bound in bounds)
        raise InputError(f"{where} must be {allowed}", file=file, remedy=f"It is {value}")


def _check_labels(labels: Labels, file: Path | str) -> None:
    """The label scheme: every other setting of the table speaks of its values."""
    for label in labels.values:
        if not label.strip() or label != label.strip() or any(sign in label for sign in '\n\t|"'):
            raise InputError(
                f"[labels] values: '{label}' cannot be a label",
                file=file,
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
            raise InputError(f"[labels] {rule}", file=file)
    named = [
        ("poles", labels.poles),
        ("sub_labels", labels.sub_labels),
        ("automatic", labels.automatic.values()),
    ]
    for key, used in named:
        for label in used:
            if label not in labels.values:
                raise InputError(
                    f"[labels] {key}: '{label}' is not a label",
                    file=file,
                    remedy=nearest(label, labels.values),
                )
    for kind in labels.automatic:
        if kind not in KINDS:
            raise InputError(
                f"[labels] automatic: '{kind}' is not a kind of query", file=file, remedy=nearest(kind, KINDS)
            )


AUTHOR = ("name", "orcid", "affiliation")
SPLITS = ("scheme", "fractions", "by", "similarity")
SCHEMES = ("grouped", "chronological", "stratified")
"""How [release] splits may divide a corpus."""


def _check_release(release: Release, file: Path | str) -> None:
    """What goes into catalogues: each is checked there, too, and refused without a word on where it came from."""
    for author in release.authors:
        for key in author:
            if key not in AUTHOR:
                raise InputError(
                    f"[release] authors: unknown key '{key}'", file=file, remedy=nearest(key, AUTHOR)
                )
        if not author.get("name", "").strip():
            raise InputError(
                "[release] authors: one has no name", file=file, remedy='Like { name = "Curie, Marie" }'
            )
        orcid = author.get("orcid", "")
        if orcid and not _is_orcid(orcid):
            raise InputError(
                f"[release] authors: '{orcid}' is not an ORCID",
                file=file,
                remedy='Like "0000-0002-1825-0097"',
            )
    if release.doi and not re.fullmatch(r"10\.\d{4,9}/\S+", release.doi):
        raise InputError(
            f"[release] doi: '{release.doi}' is not a DOI", file=file, remedy='Like "10.5281/zenodo.1234567"'
        )
    _check_splits(release.splits, file)
    if release.url and not re.fullmatch(r"https?://[^\s/]+\S*", release.url):
        raise InputError("[release] url must start with http:// or https://", file=file)


def _check_splits(splits: dict[str, Any], file: Path | str) -> None:
    """[release] splits: a scheme, three fractions, what is kept together, and how alike near-copies are."""
    for key in splits:
        if key not in SPLITS:
            raise InputError(f"[release] splits: unknown key '{key}'", file=file, remedy=nearest(key, SPLITS))
    if splits and splits.get("scheme") not in SCHEMES:
        told = str(splits.get("scheme", ""))
        raise InputError(f"[release] splits: '{told}' is no scheme", file=file, remedy=nearest(told, SCHEMES))
    fractions = splits.get("fractions", [1])
    numbers = isinstance(fractions, list | tuple) and all(type(share) in {int, float} for share in fractions)
    if "fractions" in splits and not (
        numbers and len(fractions) == 3 and min(fractions) >= 0 and abs(sum(fractions) - 1) < 1e-9
    ):
        raise InputError(
            "[release] splits: fractions must be three with the sum 1",
            file=file,
            remedy="Like [0.7, 0.1, 0.2]",
        )
    by = splits.get("by", "claim")
    if not isinstance(by, str) or not (by == "claim" or by.startswith("_")):
        raise InputError(
            f"[release] splits: by = {by!r}", file=file,
            remedy='"claim", or a column of your own in queries/claims.csv, such as "_event"',
        )  # fmt: skip
    similarity = splits.get("similarity", 0.8)
    if type(similarity) is not float or not 0 <= similarity < 1:
        raise InputError("[release] splits: similarity must be below 1", file=file, remedy="Like 0.8")


def _is_orcid(text: str) -> bool:
    """Four groups of four; the last character checks the others (ISO 7064, mod 11-2).

    >>> _is_orcid("0000-0002-1825-0097"), _is_orcid("0000-0002-1825-0098")
    (True, False)
    """
    if not re.fullmatch(r"\d{4}-\d{4}-\d{4}-\d{3}[\dX]", text):
        return False
    total = 0
    for digit in text.replace("-", "")[:-1]:
        total = (total + int(digit)) * 2
    return "0123456789X"[(12 - total % 11) % 11] == text[-1]


def _check_together(settings: Settings, file: Path | str) -> None:
    """Settings that must fit one another."""
    _check_release(settings.release, file)
    for name in ("since", "until"):
        _check_date(getattr(settings.retrieval, name), f"[retrieval] {name}", file)
    if (
        settings.retrieval.since
        and settings.retrieval.until
        and settings.retrieval.since > settings.retrieval.until
    ):
        raise InputError("[retrieval] since is after until", file=file)
    try:
        size_of(settings.retrieval.longest_line)
    except InputError as error:
        raise error.at(file) from None
    try:
        for named in settings.retrieval.archive:
            place(named)
    except InputError as error:
        raise InputError(f"[retrieval] archive: {error.problem}", file=file, remedy=error.remedy) from None
    if not settings.retrieval.archive:
        raise InputError("[retrieval] archive names no folder", file=file, remedy='Default: ["data/archive"]')
    quota = settings.sampling.per_kind * len(KINDS)
    if quota > settings.sampling.per_claim:
        raise InputError(
            f"[sampling] per_kind = {settings.sampling.per_kind} of {len(KINDS)} kinds is {quota} posts, more than "
            f"per_claim = {settings.sampling.per_claim}",
            file=file,
            remedy="Raise per_claim or lower per_kind",
        )
    _check_people(settings, file)
    _check_target(settings, file)
    _check_languages(settings.cleaning, file)
    url = settings.annotation.label_studio_url
    if url and not re.fullmatch(r"https?://[^\s/]+.*", url):
        raise InputError("[annotation] label_studio_url must start with http:// or https://", file=file)


def _check_people(settings: Settings, file: Path | str) -> None:
    """[annotation]: codes of annotators, enough of them, and shares of the work for those that there are."""
    people = settings.annotation.annotators
    for person in people:
        if not CODE.fullmatch(person.removeprefix(MACHINE)):
            raise InputError(
                f"[annotation] annotators: '{person}' cannot be a code",
                file=file,
                remedy=f"Letters, digits, - and _; a machine's begins with {MACHINE}",
            )
    if not settings.annotation.people:
        raise InputError(
            "[annotation] annotators has machines alone",
            file=file,
            remedy="Name a person: a machine's label is never gold by itself",
        )
    if (
        len({file_stem(person).casefold() for person in people}) < len(people)
        or len(people) < settings.annotation.per_item
    ):
        raise InputError(
            f"[annotation] annotators must be different and at least per_item = {settings.annotation.per_item}",
            file=file,
        )
    for person, share in settings.annotation.workload.items():
        if person not in people or not share > 0:
            raise InputError(
                f"[annotation] workload: '{person}' = {share:g} must be an annotator's share above 0",
                file=file,
                remedy=f"Annotators: {', '.join(people)}; 1 is usual, 0.5 half of that",
            )


COEFFICIENTS = ("kappa", "alpha", "ac1", "raw")
"""What a target may name: the headline kappa, Krippendorff's alpha, Gwet's AC1, raw agreement."""


def _check_target(settings: Settings, file: Path | str) -> None:
    """[annotation] target: a coefficient, and the least value that will do."""
    target = settings.annotation.target
    if not target:
        return
    coefficient, at_least = target.get("coefficient", "kappa"), target.get("at_least")
    if set(target) - {"coefficient", "at_least"} or coefficient not in COEFFICIENTS:
        raise InputError(
            f"[annotation] target cannot be {target}", file=file,
            remedy=f'Like {{ coefficient = "kappa", at_least = 0.67 }}; coefficients: {", ".join(COEFFICIENTS)}',
        )  # fmt: skip
    if not isinstance(at_least, int | float) or isinstance(at_least, bool) or not 0 < at_least < 1:
        raise InputError(
            "[annotation] target: at_least must lie between 0 and 1", file=file, remedy="Like 0.67"
        )


def _check_date(value: str, where: str, file: Path | str) -> None:
    if value:
        try:
            dt.datetime.fromisoformat(value)
        except ValueError:
            raise InputError(
                f"{where} must be an ISO date", file=file, remedy='Like "2020-01-31", or "" for no limit'
            ) from None


def _check_languages(cleaning: Cleaning, file: Path | str) -> None:
    """A name or a misspelt code would fit no post, and nobody would be told."""
    for key, codes in (("languages", cleaning.languages), ("words", cleaning.words)):
        for code in codes:
            if not LANGUAGE.fullmatch(code):
                raise InputError(
                    f"[cleaning] {key}: '{code}' is not the code of a language",
                    file=file,
                    remedy='Like "en", "pt-BR" or "zh"',
                )
    for language, rule in cleaning.words.items():
        _check_words(language, rule, file)


def _check_words(language: str, rule: dict[str, Any], file: Path | str) -> None:
    where = f"[cleaning] words.{language}"
    for key in rule:
        if key not in (known := ["minimum", "unit", "without"]):
            raise InputError(f"{where}: unknown key '{key}'", file=file, remedy=nearest(key, known))
    minimum = rule.get("minimum", 0)
    if not isinstance(minimum, int) or isinstance(minimum, bool) or minimum < 0:
        raise InputError(f"{where}: minimum must be a whole number, at least 0", file=file)
    if rule.get("unit", "words") not in {"words", "characters"}:
        raise InputError(f'{where}: unit must be "words" or "characters"', file=file)
    without = rule.get("without", [])
    if not isinstance(without, list | tuple):
        raise InputError(f"{where}: without must be a list", file=file, remedy='Like ["urls", "mentions"]')
    for part in without:
        if part not in WITHOUT:
            raise InputError(
                f"{where}: nothing called '{part}' can be left out",
                file=file,
                remedy=nearest(str(part), WITHOUT),
            )


def shareable(settings: Settings) -> tuple[Settings, list[str]]:
    """The settings without those that name places, addresses or limits of one machine, and the names of the latter.

    These are no part of how a corpus was made. A bundle leaves them out, and a bundle's are not taken over.
    """
    own = {
        "retrieval": ["archive", "unreadable", "longest_line", "unpacked_ratio"],
        "cleaning": ["against"], "annotation": ["label_studio_url"], "release": ["data_statement"],
    }  # fmt: skip
    if settings.retrieval.ranked.get("model"):
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


def settings_toml(settings: Settings) -> str:
    """Settings as the text of a study.toml, every key written out."""
    lines = [f"title = {toml(settings.title)}", f"seed = {settings.seed}", f"build = {toml(settings.build)}"]
    for name, kind in TABLES.items():
        options = getattr(settings, name)
        lines += [
            "",
            f"[{name}]",
            *(f"{option.name} = {toml(getattr(options, option.name))}" for option in fields(kind)),
        ]
    return "\n".join(lines) + "\n"


def toml(value: Any) -> str:
    """A plain value as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + "".join(_toml_character(character) for character in value) + '"'
    if isinstance(value, tuple | list):
        return "[" + ", ".join(toml(entry) for entry in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(str(key))} = {toml(entry)}" for key, entry in value.items()) + "}"
    if dataclasses.is_dataclass(value):
        told = {field.name: getattr(value, field.name) for field in fields(value)}
        return toml({name: entry for name, entry in told.items() if entry is not None})
    return repr(value)


def _toml_character(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    return f"\\u{ord(character):04x}" if ord(character) < 0x20 or character == "\x7f" else character
