"""Options that several commands share, declared once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from typer import Argument, Option

from covmis_build.cli.console import StudyOption, warn
from covmis_build.errors import InputError, UnknownName

if TYPE_CHECKING:
    from covmis_build.evaluation.label_scheme import LabelScheme
    from covmis_build.study.evaluate import FilesToScore

SeedOption = Annotated[int, Option(help="The seed of all random numbers.")]
IdOption = Annotated[
    str,
    Option(
        "--id", metavar="COLUMN", help="The column of ids (default: found); of pairs both: claim_id,post_id."
    ),
]
LevelOption = Annotated[float, Option(min=0.5, max=0.999, help="Confidence level.")]
OutOption = Annotated[
    list[Path] | None,
    Option("--out", metavar="FILE", help="Write .html, .csv, .json or .tex; repeatable."),
]
SCHEME = "A,B,C; or a TOML file or a study's folder, whose [labels] also give order, poles and class_weights"
LabelsOption = Annotated[
    str,
    Option(
        "--labels", metavar="A,B|FILE|STUDY", help=f"{SCHEME} (default: the study's, or those of the data)."
    ),
]
OrderOption = Annotated[str, Option("--order", hidden=True, help="Now --labels FILE.")]
PolesOption = Annotated[str, Option("--poles", hidden=True, help="Now --labels FILE.")]
WeightsOption = Annotated[str, Option("--class-weights", hidden=True, help="Now --labels FILE.")]
GoldArgument = Annotated[str, Argument(metavar="GOLD", help="Gold labels: FILE or FILE:COLUMN.")]
SystemsArgument = Annotated[
    list[str],
    Argument(
        metavar="SYSTEM...",
        help="Predictions: [NAME=]FILE[:COLUMN]. The same name again: another run (seed) of the system.",
    ),
]
ClustersOption = Annotated[
    str,
    Option(
        metavar="COLUMN", help="Intervals over this column's groups (default: claim_id if present; or none)."
    ),
]
TextOption = Annotated[str, Option(metavar="COLUMN", help="The column of texts.")]
MeasuresOption = Annotated[str, Option(metavar="A,B", help="Measures (default: all that are possible).")]

N = TypeVar("N", int, float)
ShowOption = Annotated[
    str,
    Option("--show", help="text: only the post's text (default: what annotators see)."),
]


def text_alone(show: str) -> bool:
    """What `--show` says."""
    if show not in {"", "text"}:
        raise UnknownName(f"--show {show}", remedy="It is text, or left out")
    return show == "text"


def unless_none(text: str) -> str | None:
    """The text, or None if it is `none`."""
    return None if text == "none" else text


def listed(text: str) -> list[str]:
    """Words between commas."""
    return [word for part in text.split(",") if (word := part.strip())]


def numbers(text: str, option: str, kind: type[N]) -> list[N]:
    """Numbers above 0 between commas."""
    try:
        values = [kind(number) for number in listed(text)]
    except ValueError:
        values = []
    if not values or min(values) <= 0:
        example = "12,24,48" if kind is int else "0.1,1,10"
        raise InputError(
            f"{option} {text} is not a list of numbers above 0", remedy=f"Write it like {example}"
        )
    return values


def _written(text: str) -> str:
    """A text that is not empty."""
    if not text:
        raise ValueError
    return text


def pairs_of(
    option: str, given: Sequence[str] | None, form: str, value: Callable[[str], Any] = _written
) -> dict[str, Any]:
    """Values given as NAME=VALUE; each name once, or with the same value. A `value` that it cannot be raises ValueError."""
    pairs: dict[str, Any] = {}
    for pair in given or ():
        name, _, text = (part.strip() for part in pair.partition("="))
        problem = InputError(f"{option} {pair}: write {form}")
        if not name or "=" not in pair:
            raise problem
        try:
            new = value(text)
        except ValueError:
            raise problem from None
        if pairs.setdefault(name, new) != new:
            raise InputError(f"{option} names '{name}' twice: {pairs[name]} and {new}")
    return pairs


def weights_of(text: str) -> dict[str, float] | None:
    """Class weights as `label=weight,…`."""
    return pairs_of("--class-weights", listed(text), "label=weight, with commas between", float) or None


def scheme_of(labels: str, order: str = "", poles: str = "", class_weights: str = "") -> LabelScheme:
    """The label scheme, also as the options of 0.2 gave it."""
    from covmis_build.evaluation.label_scheme import label_scheme

    scheme = label_scheme(labels)
    for name, given in (("order", order), ("poles", poles), ("class-weights", class_weights)):
        if given:
            warn(
                f"`--{name}` is now `--labels FILE`: a TOML file with {name.replace('-', '_')} in its table [labels]"
            )
    return scheme._replace(
        order=tuple(listed(order)) or scheme.order,
        poles=tuple(listed(poles)) or scheme.poles,
        class_weights=weights_of(class_weights) or scheme.class_weights,
    )


@dataclass(frozen=True)
class Judging:
    """How gold and systems are read and judged: what score, compare and meta have in common."""

    labels: LabelsOption = ""
    order: OrderOption = ""
    poles: PolesOption = ""
    class_weights: WeightsOption = ""
    undefined: Annotated[str, Option(help="What an undefined ratio becomes: zero, skip or nan.")] = "zero"
    missing: Annotated[str, Option(help="Missing predictions: refuse, or wrong (in every measure).")] = (
        "refuse"
    )
    extra: Annotated[str, Option(help="Predictions of items without gold: refuse, or ignore.")] = "refuse"
    invalid: Annotated[
        str,
        Option(
            help="Answers that are none of the labels: refuse, wrong, or missing (as if there were none)."
        ),
    ] = "refuse"
    map: Annotated[
        list[str] | None,
        Option("--map", metavar="OLD=NEW", help="What a label of the files is called here; repeatable."),
    ] = None
    id_column: IdOption = ""
    by_position: Annotated[bool, Option("--by-position", help="Join files without ids row by row.")] = False
    seed: SeedOption = 0
    study: StudyOption = None

    @functools.cached_property
    def labels_as(self) -> LabelScheme:
        """The declared label scheme."""
        return scheme_of(self.labels, self.order, self.poles, self.class_weights)

    @property
    def names(self) -> dict[str, str]:
        """What labels of the files are called."""
        return pairs_of("--map", self.map, "OLD=NEW")

    def refuse_with(self, option: str, **others: str) -> None:
        """Refuse options that mean nothing together with this one; `others` are refused unless they are empty."""
        defaults = Judging()
        shared = ("undefined", "missing", "invalid", "map", "by_position")
        given = [name for name in shared if getattr(self, name) != getattr(defaults, name)]
        for name in [*given, *(name for name, text in others.items() if text)]:
            raise InputError(
                f"--{name.replace('_', '-')} and {option} cannot be meant together",
                remedy="Leave out one of them",
            )

    @property
    def scheme(self) -> dict[str, Any]:
        """The declared label scheme, and the folder of the study whose scheme is the default."""
        labels = self.labels_as
        return {
            "labels": labels.values,
            "order": labels.order,
            "folder": self.study,
            "id": self.id_column,
        }

    def how_read(self, files: FilesToScore) -> dict[str, Any]:
        """Which columns were read, and how their rows were joined."""
        joined = files.joined_by(by_position=self.by_position)
        return {"columns": files.columns, "joined_by": list(joined), "rows": len(files.gold.table)}

    def read(self, gold: str, systems: list[str]) -> tuple[FilesToScore, dict[str, Any]]:
        """The files, and the arguments that `score`, `compare` and `meta` share."""
        from covmis_build.study.evaluate import files_to_score

        files = files_to_score(
            gold,
            systems,
            id_column=self.id_column,
            labels=self.labels_as.values,
            order=self.labels_as.order,
            poles=self.labels_as.poles,
            folder=self.study,
            map=self.names,
        )
        if files.labels_from_gold:
            warn(f"The labels are those of gold: {', '.join(files.labels)}. To set them, use --labels.")
        return files, {
            **files.scheme,
            "class_weights": self.labels_as.class_weights,
            "undefined": self.undefined,
            "missing": self.missing,
            "extra": self.extra,
            "invalid": self.invalid,
            "map": self.names,
            "by_position": self.by_position,
            "seed": self.seed,
        }


def three(text: str) -> tuple[float, ...]:
    """The fractions of train, dev and test."""
    try:
        train, dev, test = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(
            f"--fractions {text}", remedy="Write three numbers with the sum 1, as 0.7,0.1,0.2"
        ) from None
    return train, dev, test
