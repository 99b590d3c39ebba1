"""Convert corpora to the common format: map labels, undersample, combine, and write to a file."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covmis_build import checked_parquet, storage, tables
from covmis_build.datasets.catalogue import find, known
from covmis_build.datasets.labels import SCHEMES
from covmis_build.datasets.mapping import map_labels
from covmis_build.datasets.mixtures import combine, undersample, without_replies_to_denying_sources
from covmis_build.datasets.preprocessing import preprocess
from covmis_build.datasets.readers import complete_layout, read
from covmis_build.errors import InputError, UnknownName
from covmis_build.report.result import Result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from covmis_build.datasets.shape import Dataset, Layout
    from covmis_build.report.summary import Summary


def corpora_folder(home: Path | None = None) -> Path:
    """Return the corpora folder: as named, COVMIS_DATA_HOME, or ./corpora."""
    return home or Path(os.environ.get("COVMIS_DATA_HOME") or "corpora")


def overview(home: Path) -> list[dict[str, Any]]:
    """Return the known corpora, one row each, and whether they are available."""
    rows = []
    for dataset in known(home).values():
        layout = complete_layout(dataset, home)
        rows.append(
            {
                "name": dataset.name,
                "title": dataset.title,
                "scheme": dataset.scheme,
                "labels": list(SCHEMES[dataset.scheme]),
                "licence": dataset.licence,
                "here": layout is not None,
                "layout": layout.name if layout else None,
            }
        )
    return rows


@dataclass(frozen=True, slots=True, repr=False)
class Described(Result):
    """A corpus's description, its expected files, and its label counts if available."""

    dataset: Dataset
    home: Path
    here: Layout | None
    counts: dict[str, int] | None

    def to_dict(self) -> dict[str, Any]:
        """As `covmis dataset show --json` prints it."""
        dataset = self.dataset
        layouts = [
            {
                "name": layout.name,
                "has_text": layout.has_text,
                "files": [
                    {"path": file.path, "sha256": file.sha256, "url": file.url} for file in layout.files
                ],
            }
            for layout in dataset.layouts
        ]
        return {
            "name": dataset.name,
            "title": dataset.title,
            "scheme": dataset.scheme,
            "labels": list(SCHEMES[dataset.scheme]),
            "licence": dataset.licence,
            "terms": dataset.terms,
            "source": dataset.source,
            "instructions": dataset.instructions,
            "citation": dataset.citation,
            "notes": list(dataset.notes),
            "folder": dataset.folder,
            "layouts": layouts,
            "published": dataset.published and asdict(dataset.published),
            "here": self.here.name if self.here else None,
            "counts": self.counts,
        }

    @property
    def summary(self) -> Summary:
        """Return licence, terms, source and pitfalls; the files; and label counts."""
        lines = [*self.dataset.sentences, f"Files, below {self.home / self.dataset.folder}:"]
        for layout in self.dataset.layouts:
            files = ", ".join(file.path for file in layout.files[:4])
            more = " …" if len(layout.files) > 4 else ""
            lines.append(f"  {layout.name}{' (here)' if layout is self.here else ''}: {files}{more}")
        if self.counts is None:
            return [*lines, "", f"Not here. {self.dataset.instructions}"]
        return [*lines, "Rows: " + ", ".join(f"{count:,} {label}" for label, count in self.counts.items())]


def described(name: str, home: Path) -> Described:
    """Return the description of a corpus."""
    dataset = find(name, home)
    here = complete_layout(dataset, home)
    counts = read(name, home)["label"].value_counts() if here else None
    known_labels = None if counts is None else {str(label): int(count) for label, count in counts.items()}
    return Described(dataset, home, here, known_labels)


def convert(  # noqa: PLR0913 - every option is named
    names: Sequence[str],
    home: Path,
    *,
    labels: str | Mapping[str, str] = "",
    expected: Mapping[str, float] | None = None,
    keep: str = "against",
    drop_denied: bool = False,
    split: Sequence[str] = (),
    covid_twitter: bool = False,
    seed: int = 20220405,
    layout: str = "",
    check: bool = True,
) -> pd.DataFrame:
    """Return one table of one or several corpora, with the column `part` for the corpus.

    `labels` is a target scheme or a map. `expected` names corpora to undersample to about this many rows per class, except
    `keep`. Corpora with different schemes can only be combined with a map.
    """
    schemes = {find(name, home).scheme for name in names}
    for name in expected or ():
        if name not in names:
            raise UnknownName(f"--expected {name}: {name} is not among the corpora", remedy=", ".join(names))
    parts = {}
    for name in names:
        frame = read(name, home, layout=layout, check=check)
        if split:
            frame = frame[frame["split"].isin(split)].reset_index(drop=True)
        if drop_denied and find(name, home).scheme == "sdqc":
            frame = without_replies_to_denying_sources(frame)
        if labels:
            frame = map_labels(frame, labels)
        if expected and name in expected:
            frame = undersample(frame, expected=expected[name], seed=seed, keep=(keep,))
        if covid_twitter:
            frame = frame.assign(text=[preprocess(text) for text in frame["text"]])
        parts[name] = frame
    if len(schemes) > 1 and not labels:
        raise InputError(
            f"these corpora have different labels: {', '.join(sorted(schemes))}",
            remedy="Map them with --to or --map",
        )
    return combine(parts, list(dict.fromkeys(label for frame in parts.values() for label in frame["label"])))


def write(frame: pd.DataFrame, path: Path) -> None:
    """Write the table as .csv, .jsonl or .parquet."""
    if path.suffix == ".csv":
        storage.write_bytes(path, storage.csv_bytes(list(frame.columns), frame.itertuples(index=False)))
    elif path.suffix == ".jsonl":
        lines = (json.dumps(row, ensure_ascii=True) + "\n" for row in frame.to_dict("records"))
        storage.write_text(path, "".join(lines))
    elif path.suffix == ".parquet":
        with storage.replacing(path) as beside:
            checked_parquet.write(beside, tables.arrow(frame))
    else:
        raise InputError("is no format to write", file=path, remedy="Use .csv, .jsonl or .parquet")
