"""A model's settings, from its name and words such as `C=10`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from covmis_build.errors import InputError, UnknownName, nearest
from covmis_build.models.encoders import Encoder
from covmis_build.models.linear import PRESETS, Linear, check
from covmis_build.models.nli import Nli
from covmis_build.models.twostep import BertScore

Options = Linear | Encoder | BertScore | Nli
Settings = Mapping[str, Any] | Sequence[str] | None
"""Values by setting name, or words KEY=VALUE."""
LARGEST = 1_000_000_000
"""Maximum value of any setting."""
LEAST = {"tokens": 4, "batch": 1, "epochs": 1, "accumulate": 1}
PRECISIONS = ("float32", "bf16", "fp16")


class Transformer(StrEnum):
    """Models based on a pretrained transformer. All others are linear, named in `linear.PRESETS`."""

    SENTENCE_BERT = "sentence-bert"
    CROSS_ENCODER = "cross-encoder"
    BERTSCORE_SBERT = "bertscore-sbert"
    BERTSCORE = "bertscore"
    NLI = "nli"


TRAINED = (Transformer.SENTENCE_BERT, Transformer.CROSS_ENCODER, Transformer.BERTSCORE_SBERT)


def kind_of(options: Options) -> str:
    """Return the kind of model to which these options belong."""
    if isinstance(options, Linear):
        return "linear"
    if isinstance(options, Encoder):
        return options.kind
    if isinstance(options, Nli):
        return Transformer.NLI
    return Transformer.BERTSCORE_SBERT if options.second else Transformer.BERTSCORE


def options_of(name: str, settings: Settings = None) -> Options:
    """Return a model's settings with some changes.

    >>> options_of("bow", ["C=10", "word_span=1+3"]).word_span
    (1, 3)
    """
    types = _types(name)
    changes: dict[str, Any] = {}
    for key, value in _pairs(settings):
        if key not in types:
            raise UnknownName(f"a {name} model has no setting '{key}'", remedy=nearest(key, types))
        changes[key] = _value(key, value, types[key]) if isinstance(value, str) else value
    if name in PRESETS:
        if "vectors" in changes:
            changes["vectors"] = os.fspath(Path(changes["vectors"]).absolute())
        return check(replace(PRESETS[name], **changes))
    return _transformer(Transformer(name), changes)


def options_of_all(names: Sequence[str], settings: Settings = None) -> dict[str, Options]:
    """Return each model's settings with the changes that it knows. A change that no model knows is an error."""
    types = {name: _types(name) for name in names}
    pairs = _pairs(settings)
    every = {key for known in types.values() for key in known}
    for key, _ in pairs:
        if key not in every:
            raise UnknownName(f"no model here has a setting '{key}'", remedy=nearest(key, every))
    return {
        name: options_of(name, {key: value for key, value in pairs if key in types[name]}) for name in names
    }


def _pairs(settings: Settings) -> list[tuple[str, Any]]:
    if isinstance(settings, Mapping):
        return list(settings.items())
    pairs = []
    for words in settings or ():
        key, separator, value = words.partition("=")
        if not separator:
            raise InputError(f"the setting {words} is not KEY=VALUE", remedy="For example: C=10, or path=DIR")
        pairs.append((key, value))
    return pairs


def _types(name: str) -> dict[str, str]:
    """Return a model's settings with their declared types."""
    if name not in {*PRESETS, *Transformer}:
        raise UnknownName(f"no model is called '{name}'", remedy=nearest(name, [*PRESETS, *Transformer]))
    if name == "majority":
        return {}  # it uses only labels
    if name in PRESETS:
        return {field.name: str(field.type) for field in fields(Linear)}
    if name == Transformer.NLI:
        return {field.name: str(field.type) for field in fields(Nli)}
    first = {field.name: str(field.type) for field in fields(BertScore) if field.name != "second"}
    trained = {field.name: str(field.type) for field in fields(Encoder) if field.name != "kind"}
    if name == Transformer.BERTSCORE:
        return first
    return trained | first if name == Transformer.BERTSCORE_SBERT else trained


def _transformer(kind: Transformer, values: dict[str, Any]) -> Encoder | BertScore | Nli:
    if "path" not in values:
        raise InputError(
            "a transformer model needs a pretrained one",
            remedy="Name its folder or its name on the hub: --set path=NAME",
        )
    if kind == Transformer.NLI:
        return Nli(**values)
    if (precision := values.get("precision", PRECISIONS[0])) not in PRECISIONS:
        raise UnknownName(f"the setting precision={precision}", remedy=nearest(precision, PRECISIONS))
    if kind in {Transformer.SENTENCE_BERT, Transformer.CROSS_ENCODER}:
        return Encoder(kind=kind.value, **values)  # type: ignore[arg-type] # one of the two
    if "unrelated" not in values:
        raise InputError(
            f"{kind} needs the label of posts that have nothing to do with the claim",
            remedy="Name it: --set unrelated=LABEL",
        )
    first = {key: value for key, value in values.items() if key in _types(Transformer.BERTSCORE)}
    if kind == Transformer.BERTSCORE:
        return BertScore(**first)
    rest = {key: value for key, value in values.items() if key not in {"unrelated", "threshold", "marks"}}
    return BertScore(**first, second=Encoder(kind="sentence-bert", **rest))


def _value(key: str, text: str, kind: str) -> Any:
    """Parse a setting; several values are separated by a plus sign."""
    if kind == "bool":
        if text not in {"true", "false"}:
            raise InputError(f"the setting {key}={text}", remedy="It is true or false")
        return text == "true"
    if kind == "tuple[str, ...]":
        return tuple(text.split("+"))
    try:
        if kind == "tuple[int, int]":
            first, last = (int(part) for part in text.split("+"))
            return (first, last)
        if kind not in {"int", "float"}:
            return text
        number = int(text) if kind == "int" else float(text)
    except ValueError:
        raise InputError(f"the setting {key}={text} is not a number", remedy="Spans are like 1+3") from None
    if key in {field.name for field in fields(Linear)}:
        return number  # `check` checks the bounds
    least = LEAST.get(key, 0)
    if not least <= number < LARGEST:
        raise InputError(f"the setting {key}={text}", remedy=f"It is at least {least} and below {LARGEST:,}")
    if key == "threshold" and number > 1:
        raise InputError(f"the setting threshold={text}", remedy="It is from 0 to 1")
    return number
