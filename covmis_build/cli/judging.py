"""What the commands of `covmis evaluate` share: their options, and gold and systems as the command line names them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from covmis_build.cli.console import warn
from covmis_build.errors import CovmisError, InputError

if TYPE_CHECKING:
    import pandas as pd

    from covmis_build.evaluation.reading import Labelled
    from covmis_build.study import Study

GoldArgument = Annotated[str, typer.Argument(metavar="GOLD", help="Gold labels: FILE or FILE:COLUMN.")]
SystemsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="SYSTEM...",
        help="Predictions: [NAME=]FILE[:COLUMN]. The same name several times: runs (seeds) of one system.",
    ),
]
LabelsOption = Annotated[
    str, typer.Option(metavar="A,B,C", help="The label set (default: the study's, or all labels of gold).")
]
OrderOption = Annotated[str, typer.Option(metavar="A,B,C", help="The labels in order, for ordinal measures.")]
PolesOption = Annotated[str, typer.Option(metavar="A,B", help="The two poles, for F_avg.")]
WeightsOption = Annotated[
    str, typer.Option(metavar="A=0.4,B=…", help="Class weights with the sum 1, for wAUC, wF1, wF2.")
]
UndefinedOption = Annotated[str, typer.Option(help="An undefined ratio is zero, or skip, or nan.")]
MissingOption = Annotated[
    str, typer.Option(help="Missing predictions: refuse, or count as wrong in every measure.")
]
ExtraOption = Annotated[str, typer.Option(help="Predictions of items that gold lacks: refuse, or ignore.")]
IdOption = Annotated[str, typer.Option("--id", metavar="COLUMN", help="The column of ids (default: found).")]
ClustersOption = Annotated[
    str,
    typer.Option(metavar="COLUMN", help="Resample by this column (default: claim_id if gold has it; none)."),
]
ReplicatesOption = Annotated[
    int, typer.Option(min=0, max=1_000_000, help="Bootstrap replicates; 0 for no intervals.")
]
SeedOption = Annotated[int, typer.Option(help="The seed of all chance.")]
OutOption = Annotated[
    list[Path] | None,
    typer.Option("--out", metavar="FILE", help="Write .html, .csv, .json or .tex; repeatable."),
]
PositionOption = Annotated[
    bool,
    typer.Option("--by-position", help="Join files without gold's ids row by row, as they stand."),
]
CLAIMS = ("claim_id", "mid", "event", "misconception_id")


class Judgement:
    """Gold and systems as the command line names them, read and joined by their ids."""

    def __init__(
        self,
        gold: str,
        systems: list[str],
        id_column: str,
        labels: str,
        order: str,
        poles: str,
        study: Path | None,
        *,
        by_position: bool = False,
    ) -> None:
        from covmis_build.evaluation.reading import alike, common_id

        _, self.table = read(gold, id_column)
        self.gold = self.table.labels(self.table.id_column)
        runs: dict[str, list[Any]] = {}
        files = [self.table]
        for spec in systems:
            name, one = read(spec, id_column)
            one = alike(self.table, one)
            files.append(one)
            common = "" if by_position else common_id(self.table, one)
            runs.setdefault(name, []).append(self._joined(one, common, by_position=by_position))
        self.systems = {name: made if len(made) > 1 else made[0] for name, made in runs.items()}
        self.study = _study_of(study, self.table.file)
        self.labels, self.order, self.poles = self._scheme(labels, order, poles)
        for each in files:
            each.check_labels(self.labels)

    def _joined(self, one: Labelled, column: str, *, by_position: bool) -> Any:
        """Predictions under gold's own ids, whichever of gold's columns of ids the file uses.

        Where neither file has ids, rows can only be joined as they stand. Where one has, that is asked for or refused.
        """
        if not column:
            if not by_position and (self.table.id_column or one.id_column):
                without, other = (one, self.table) if self.table.id_column else (self.table, one)
                raise InputError(
                    f"has no ids that {other.file.name} has ({other.id_column})",
                    file=without.file,
                    remedy="Add that column; or say --by-position if row 1 belongs to row 1, row 2 to row 2, and so on",
                )
            return list(one.labels())
        predictions = one.labels(column)
        if column == self.table.id_column:
            return predictions
        own = dict(zip(self.table.labels(column).index, self.gold.index, strict=True))
        return predictions.set_axis([own.get(item, item) for item in predictions.index])

    @property
    def title(self) -> str:
        """The title of the study that gold belongs to."""
        return self.study.title if self.study else ""

    def _scheme(
        self, labels: str, order: str, poles: str
    ) -> tuple[list[str], list[str] | None, list[str] | None]:
        declared = words(labels)
        if not declared:
            scheme = self.study.labels if self.study else None
            if scheme is not None and set(self.gold) <= set(scheme.values):
                return (
                    list(scheme.values),
                    words(order) or list(scheme.order) or None,
                    words(poles) or list(scheme.poles) or None,
                )
            declared = words(order) or sorted({str(one) for one in self.gold if str(one)})
            if not order:
                warn(f"The label set is taken from gold: {', '.join(declared)}. Say --labels to declare it.")
        return declared, words(order) or None, words(poles) or None

    def optional(self, column: str, defaults: tuple[str, ...]) -> pd.Series[str] | None:
        """A column that may be named, found, or refused with 'none'."""
        if column == "none":
            return None
        found = column or next((name for name in defaults if name in self.table.table.columns), "")
        return self._series(self.table.column(found)).rename(found) if found else None

    def chances(self, column: str) -> pd.Series[str] | None:
        """Inclusion probabilities: a named column, or p_claim · p_sample as the corpus' weights have them."""
        found = self.optional(column, ("p_sample",))
        if column or found is None or "p_claim" not in self.table.table.columns:
            return found
        of_claim = self._series(self.table.column("p_claim"))
        try:
            return (found.astype(float) * of_claim.astype(float)).astype(str).rename("p_claim·p_sample")
        except ValueError:
            raise InputError(
                "p_claim and p_sample must be numbers",
                file=self.table.file,
                remedy="Or use --probabilities none",
            ) from None

    def group(self, name: str) -> pd.Series[str]:
        """The groups of the items by a column of gold, or by month or year."""
        if name in {"month", "year"} and name not in self.table.table.columns:
            from covmis_build.evaluation.splitting import moments

            ends = 7 if name == "month" else 4
            return self._series([one[:ends] for one in moments(self.table.table)])
        return self._series(self.table.column(name))

    def _series(self, values: list[Any]) -> pd.Series[str]:
        import pandas as pd

        return pd.Series(values, index=self.gold.index, dtype=object)


def _study_of(folder: Path | None, file: Path) -> Study | None:
    """The study that is named, or the one in whose folder gold lies; a broken one is no reason to stop."""
    from covmis_build.study import open_study

    if folder is not None:
        return open_study(folder)
    for place in (file.resolve().parent, *file.resolve().parents):
        if (place / "study.toml").is_file():
            try:
                return open_study(place)
            except CovmisError:
                return None
    return None


def read(spec: str, id_column: str) -> tuple[str, Labelled]:
    """[NAME=]FILE[:COLUMN]; the name is the column or the file's unless given."""
    from covmis_build.evaluation.reading import read_labels

    name, equals, rest = spec.partition("=")
    if not equals or "/" in name or Path(spec).exists():
        name, rest = "", spec
    path, colon, column = rest.rpartition(":")
    if not colon or Path(rest).exists():
        path, column = rest, ""
    file = Path(path)
    shown = name or column or file.name.split(".")[0]
    return shown, read_labels(file, id_column=id_column, label_column=column)


def words(text: str) -> list[str]:
    """The parts between commas."""
    return [one.strip() for one in text.split(",") if one.strip()]


def weights_of(text: str) -> dict[str, float] | None:
    """Class weights as `label=weight,…`."""
    made = {}
    for one in words(text):
        label, equals, number = one.partition("=")
        try:
            made[label.strip()] = float(number)
        except ValueError:
            raise InputError(
                f"--class-weights {one}", remedy="Write label=weight, with commas between"
            ) from None
        if not equals:
            raise InputError(f"--class-weights {one}", remedy="Write label=weight, with commas between")
    return made or None


def three(text: str) -> tuple[float, float, float]:
    """The fractions of train, dev and test."""
    try:
        one, two, three = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(
            f"--fractions {text}", remedy="Write three numbers with the sum 1, as 0.7,0.1,0.2"
        ) from None
    return one, two, three


def cuts_of(text: str) -> list[Any] | None:
    """Cut points: positions where they are small numbers, times otherwise."""
    parts = words(text)
    return [int(one) if one.isdecimal() and len(one) < 9 else one for one in parts] or None


def read_parts(path: Path, column: str) -> Labelled:
    """The parts of items, as `split` writes them."""
    from covmis_build.evaluation.reading import read_labels

    return read_labels(path, label_column=column)
