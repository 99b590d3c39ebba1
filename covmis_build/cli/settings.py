"""What `covmis model` is told: a model's settings, the data that it learns from before, and what their labels mean."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from covmis_build.cli.asking import listed, posts
from covmis_build.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from covmis_build.models import Linear, Step

DataArgument = Annotated[
    Path,
    typer.Argument(metavar="DATA", help="Posts: a table with text, label and, for pairs, target or claim."),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a setting of the model; repeatable."),
]
BeforeOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--before",
        metavar="FILE",
        help="Data to learn from before DATA; repeatable, in order.",
    ),
]
MapOption = Annotated[
    list[str] | None,
    typer.Option("--map", metavar="OLD=NEW", help="What a label of --before says; repeatable."),
]


def steps_before(files: list[Path] | None, maps: list[str] | None) -> list[Step]:
    """The datasets before the target, in order, their labels mapped as declared."""
    from covmis_build.models.sequence import Step, mapped

    declared = label_map(maps)
    if declared and not files:
        raise InputError("--map maps the labels of --before", remedy="Name the files with --before")
    frames = [(file, posts(file, labelled=True)) for file in files or ()]
    there = {label for _, frame in frames for label in frame["label"]}
    for old in declared:
        if old not in there:
            raise InputError(f"--map {old}={declared[old]}: no row has the label '{old}'")
    return [Step(file.stem, mapped(frame, declared)) for file, frame in frames]


def label_set(given: str, frame: pd.DataFrame) -> list[str]:
    """The labels that were named, or those of the data: two at least, each once."""
    values = listed(given) or sorted(set(frame["label"].astype(str)))
    for at, one in enumerate(values):
        if one in values[:at]:
            raise InputError(f"--labels names '{one}' twice")
    if len(values) < 2:
        raise InputError(
            f"there is one label, '{values[0]}'",
            remedy="A model needs two; --labels names those that DATA lacks",
        )
    return values


def label_map(given: list[str] | None) -> dict[str, str]:
    """OLD=NEW, each old label once."""
    made: dict[str, str] = {}
    for one in given or ():
        old, separator, new = (part.strip() for part in one.rpartition("="))
        if not (separator and old and new):
            raise InputError(f"--map {one} is not OLD=NEW", remedy="For example: --map entailment=favor")
        if made.setdefault(old, new) != new:
            raise InputError(f"--map maps '{old}' twice: to '{made[old]}' and to '{new}'")
    return made


def linear_options(name: str, settings: list[str] | None) -> Linear:
    """A preset with changed settings: numbers, true or false, words; several values with a plus sign."""
    from covmis_build.models.linear import preset

    changes: dict[str, Any] = {}
    for one in settings or ():
        key, separator, value = one.partition("=")
        if not separator:
            raise InputError(f"--set {one} is not KEY=VALUE", remedy="For example: --set C=10")
        changes[key] = _value(key, value)
    if "vectors" in changes:
        changes["vectors"] = os.fspath(Path(changes["vectors"]).absolute())
    return preset(name, **changes)


def _value(key: str, text: str) -> Any:
    kinds = {"min_df": int, "max_features": int, "C": float}
    try:
        if key in kinds:
            return kinds[key](text)
        if key in {"word_span", "character_span"}:
            first, last = (int(one) for one in text.split("+"))
            return (first, last)
    except ValueError:
        raise InputError(f"--set {key}={text} is not a number", remedy="Spans are like 1+3") from None
    if key in {"sublinear", "target", "per_target"}:
        if text not in {"true", "false"}:
            raise InputError(f"--set {key}={text}", remedy="It is true or false")
        return text == "true"
    return tuple(text.split("+")) if key == "features" else text
