"""A study is a folder: its settings, checked to the last key, and the places where its files stand."""

from __future__ import annotations

import datetime as dt
import operator
import re
import tomllib
import types
import typing
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any

from covmis_build.errors import InputError, nearest
from covmis_build.options import KINDS, WITHOUT, Annotation, Cleaning, Labels, Release, Retrieval, Sampling

SETTINGS = "study.toml"
CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
"""What an annotator's code may look like: it becomes part of file names."""
LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")
"""What the code of a language looks like (BCP 47), with or without script and region."""


@dataclass(frozen=True)
class Study:
    """One study: the tables of `study.toml`, and the paths of CONTRACTS 1."""

    folder: Path
    title: str
    seed: int = 20220405
    labels: Labels = field(default_factory=Labels)
    retrieval: Retrieval = field(default_factory=Retrieval)
    cleaning: Cleaning = field(default_factory=Cleaning)
    sampling: Sampling = field(default_factory=Sampling)
    annotation: Annotation = field(default_factory=Annotation)
    release: Release = field(default_factory=Release)

    @property
    def settings(self) -> Path:
        """study.toml."""
        return self.folder / SETTINGS

    @property
    def claims_csv(self) -> Path:
        """queries/claims.csv, the claim list."""
        return self.folder / "queries" / "claims.csv"

    @property
    def purge_csv(self) -> Path:
        """queries/purge.csv, what is to be forgotten."""
        return self.folder / "queries" / "purge.csv"

    @property
    def guideline(self) -> Path:
        """annotation/guideline.md."""
        return self.folder / "annotation" / "guideline.md"

    @property
    def label_config(self) -> Path:
        """annotation/label_config.xml, Label Studio's form."""
        return self.folder / "annotation" / "label_config.xml"

    @property
    def rounds(self) -> Path:
        """annotation/rounds, one folder a round."""
        return self.folder / "annotation" / "rounds"

    @property
    def archives(self) -> list[Path]:
        """Where posts are read from."""
        return [self.folder / one for one in self.retrieval.archive]

    @property
    def build(self) -> Path:
        """data/build, what `covmis run` makes."""
        return self.folder / "data" / "build"

    @property
    def release_folder(self) -> Path:
        """data/release."""
        return self.folder / "data" / "release"

    def table(self, name: str) -> Path:
        """The Parquet file of a stage's table."""
        return self.build / f"{name}.parquet"

    def relative(self, path: Path) -> str:
        """A path as messages show it: from the study's folder, if it lies inside."""
        return str(path.relative_to(self.folder)) if path.is_relative_to(self.folder) else str(path)


TABLES: dict[str, type] = {
    "labels": Labels, "retrieval": Retrieval, "cleaning": Cleaning, "sampling": Sampling,
    "annotation": Annotation, "release": Release,
}  # fmt: skip


def open_study(folder: Path | None = None) -> Study:
    """The study in this folder, or the one whose study.toml is nearest upwards."""
    start = (folder or Path.cwd()).resolve()
    if folder is not None:
        if not (start / SETTINGS).is_file():
            raise InputError("no study.toml here", file=folder, remedy="Make a study with `covmis new DIR`")
        return read_study(start)
    for place in (start, *start.parents):
        if (place / SETTINGS).is_file():
            return read_study(place)
    raise InputError(
        "no study.toml here or above", remedy="Make a study with `covmis new DIR`, or name one with --study"
    )


def read_study(folder: Path) -> Study:
    """Read and check a folder's study.toml."""
    path = folder / SETTINGS
    try:
        data = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InputError("is not UTF-8", file=path, remedy="Save it as UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(
            f"is not TOML: {error}", file=path, remedy="Text stands in quotes, lists in brackets"
        ) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None
    return parse(data, folder, file=path)


def parse(data: dict[str, Any], folder: Path, *, file: Path | str = SETTINGS) -> Study:
    """Settings as read from TOML, checked key by key and then against one another."""
    known = ["title", "seed", *TABLES]
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
    made: dict[str, Any] = {}
    for name, kind in TABLES.items():
        values = data.get(name, {})
        if not isinstance(values, dict):
            raise InputError(
                f"{name} must be a table", file=file, remedy=f"Write [{name}] on a line of its own"
            )
        made[name] = _options(kind, name, dict(values), file)
    study = Study(folder, title.strip(), seed, **made)
    _check_labels(study.labels, file)
    _check_together(study, file)
    return study


def _options(kind: type, table: str, values: dict[str, Any], file: Path | str) -> Any:
    """One table of settings as its dataclass."""
    known = {one.name: one for one in fields(kind)}
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


WORDS_FOR = {str: "text in quotes", bool: "true or false", int: "a whole number", float: "a number"}


def _value(value: Any, kind: Any, where: str, file: Path | str) -> Any:
    """A value of the declared type, lists as tuples; anything else says what is allowed."""
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        if not isinstance(value, list):
            raise InputError(
                f"{where} must be a list, each {WORDS_FOR[inside[0]]}", file=file, remedy='Like ["a", "b"]'
            )
        return tuple(_value(one, inside[0], f"each of {where}", file) for one in value)
    if origin is dict:
        if not isinstance(value, dict):
            raise InputError(f"{where} must be a table like {{ name = … }}", file=file)
        return {key: _value(one, inside[1], f"{where}.{key}", file) for key, one in value.items()}
    if origin is typing.Literal:
        kind = str
    if kind is Any or isinstance(kind, types.UnionType):
        return value
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise InputError(f"{where} must be {WORDS_FOR[kind]}", file=file, remedy=f"It is {value!r}")
    return value


def _in_range(value: Any, rules: typing.Mapping[str, Any], where: str, file: Path | str) -> None:
    """What `options.setting` allows beside a field."""
    if rules.get("values") and value not in rules["values"]:
        allowed = " or ".join(f'"{one}"' for one in rules["values"])
        raise InputError(f"{where} must be {allowed}", file=file, remedy=nearest(str(value), rules["values"]))
    for one in value if rules.get("each") else ():
        if one not in rules["each"]:
            raise InputError(f"{where} cannot contain '{one}'", file=file, remedy=nearest(one, rules["each"]))
    bounds = [(name, rules[name]) for name in ("at_least", "below", "at_most") if rules.get(name) is not None]
    holds = {"at_least": operator.ge, "below": operator.lt, "at_most": operator.le}
    if not all(holds[name](value, bound) for name, bound in bounds):
        allowed = " and ".join(f"{name.replace('_', ' ')} {bound:g}" for name, bound in bounds)
        raise InputError(f"{where} must be {allowed}", file=file, remedy=f"It is {value}")


def _check_labels(labels: Labels, file: Path | str) -> None:
    """The label scheme: every other setting of the table speaks of its values."""
    for label in labels.values:
        if not label.strip() or label != label.strip() or any(one in label for one in '\n\t|"'):
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


def _check_together(study: Study, file: Path | str) -> None:
    """Settings that must fit one another."""
    for name in ("since", "until"):
        _check_date(getattr(study.retrieval, name), f"[retrieval] {name}", file)
    if study.retrieval.since and study.retrieval.until and study.retrieval.since > study.retrieval.until:
        raise InputError("[retrieval] since is after until", file=file)
    if not study.retrieval.archive:
        raise InputError("[retrieval] archive names no folder", file=file, remedy='Default: ["data/archive"]')
    quota = study.sampling.per_kind * len(KINDS)
    if quota > study.sampling.per_claim:
        raise InputError(
            f"[sampling] per_kind = {study.sampling.per_kind} of {len(KINDS)} kinds is {quota} posts, more than "
            f"per_claim = {study.sampling.per_claim}",
            file=file,
            remedy="Raise per_claim or lower per_kind",
        )
    people = study.annotation.annotators
    for one in people:
        if not CODE.fullmatch(one):
            raise InputError(
                f"[annotation] annotators: '{one}' cannot be a code",
                file=file,
                remedy="Letters, digits, - and _",
            )
    if len(set(people)) < len(people) or len(people) < study.annotation.per_item:
        raise InputError(
            f"[annotation] annotators must be different and at least per_item = {study.annotation.per_item}",
            file=file,
        )
    _check_languages(study.cleaning, file)
    url = study.annotation.label_studio_url
    if url and not re.fullmatch(r"https?://[^\s/]+.*", url):
        raise InputError("[annotation] label_studio_url must start with http:// or https://", file=file)


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
    for one in without:
        if one not in WITHOUT:
            raise InputError(
                f"{where}: nothing called '{one}' can be left out",
                file=file,
                remedy=nearest(str(one), WITHOUT),
            )


def settings_toml(study: Study) -> str:
    """The study's settings as the text of a study.toml, every key written out."""
    lines = [f"title = {toml(study.title)}", f"seed = {study.seed}"]
    for name, kind in TABLES.items():
        options = getattr(study, name)
        lines += [
            "",
            f"[{name}]",
            *(f"{one.name} = {toml(getattr(options, one.name))}" for one in fields(kind)),
        ]
    return "\n".join(lines) + "\n"


def toml(value: Any) -> str:
    """A plain value as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + "".join(_toml_character(one) for one in value) + '"'
    if isinstance(value, tuple | list):
        return "[" + ", ".join(toml(one) for one in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(str(key))} = {toml(one)}" for key, one in value.items()) + "}"
    return repr(value)


def _toml_character(one: str) -> str:
    if one in '"\\':
        return "\\" + one
    return f"\\u{ord(one):04x}" if ord(one) < 0x20 or one == "\x7f" else one
