"""The labels with their order, poles and weights, as `--labels` names them: in words, or by a file or a study."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from covmis_build.errors import InputError
from covmis_build.files import toml_file
from covmis_build.places import STUDY_TOML


class LabelScheme(NamedTuple):
    """What is known of the labels; empty where nothing is."""

    values: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    poles: tuple[str, ...] = ()
    class_weights: dict[str, float] | None = None


def label_scheme(text: str) -> LabelScheme:
    """Read a scheme: `favor,against,neither`, a TOML file with a table [labels], or a study's folder.

    The table has values, order and poles as in study.toml, and may have class_weights.

    >>> label_scheme("favor, against").values
    ('favor', 'against')
    """
    path = Path(text) / STUDY_TOML if text and Path(text).is_dir() else Path(text)
    if path.suffix != ".toml":
        return LabelScheme(tuple(word for part in text.split(",") if (word := part.strip())))
    if not path.is_file():
        raise InputError(
            "is no file", file=path, remedy="Name a file with a table [labels], or a study's folder"
        )
    table = toml_file.read(path).get("labels", {})
    weights = table.get("class_weights")
    if not isinstance(table, dict) or not (weights is None or _are_numbers(weights)):
        raise InputError(
            "class_weights are a number for each label",
            file=path,
            remedy="Like { favor = 0.4, against = 0.6 }",
        )
    values, order, poles = (_texts(table, name, path) for name in ("values", "order", "poles"))
    return LabelScheme(values, order, poles, weights and {name: float(one) for name, one in weights.items()})


def _texts(table: dict[str, Any], name: str, path: Path) -> tuple[str, ...]:
    """A list of labels."""
    texts = table.get(name, [])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InputError(
            f"[labels] {name} is not a list of labels", file=path, remedy=f'Like {name} = ["a", "b"]'
        )
    return tuple(texts)


def _are_numbers(weights: object) -> bool:
    return isinstance(weights, dict) and all(isinstance(one, int | float) for one in weights.values())
