"""Corpora in one shape, mapped, undersampled and mixed, and written to a file."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covmis_build import keyed, storage, tables
from covmis_build.datasets.catalogue import find, known
from covmis_build.datasets.labels import SCHEMES
from covmis_build.datasets.mapping import map_labels
from covmis_build.datasets.preprocessing import preprocess
from covmis_build.datasets.readers import complete_layout, read
from covmis_build.datasets.shape import COLUMNS
from covmis_build.errors import InputError, UnknownName
from covmis_build.report.result import Result

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import pandas as pd

    from covmis_build.datasets.shape import Dataset, Layout
    from covmis_build.report.summary import Summary


def corpora_folder(home: Path | None = None) -> Path:
    """Where corpora lie: as named, COVMIS_DATA_HOME, or ./corpora."""
    return home or Path(os.environ.get("COVMIS_DATA_HOME") or "corpora")


def overview(home: Path) -> list[dict[str, Any]]:
    """The corpora that covmis knows, a row each, and whether they are here."""
    rows = []
    for dataset in known(home).values():
        layout = complete_layout(dataset, home)
        rows.append(
            {
                "name": dataset.name, "title": dataset.title, "scheme": dataset.scheme,
                "labels": list(SCHEMES[dataset.scheme]), "licence": dataset.licence,
                "here": layout is not None, "layout": layout.name if layout else None,
            }
        )  # fmt: skip
    return rows


@dataclass(frozen=True, slots=True, repr=False)
class Described(Result):
    """What covmis knows of a corpus, where its files are looked for, and its counts of labels if it is here."""

    dataset: Dataset
    home: Path
    here: Layout | None
    counts: dict[str, int] | None

    def to_dict(self) -> dict[str, Any]:
        """As `covmis dataset show --json` prints it."""
        dataset = self.dataset
        layouts = [
            {
                "name": layout.name, "has_text": layout.has_text,
                "files": [{"path": file.path, "sha256": file.sha256, "url": file.url} for file in layout.files],
            }
            for layout in dataset.layouts
        ]  # fmt: skip
        return {
            "name": dataset.name, "title": dataset.title, "scheme": dataset.scheme,
            "labels": list(SCHEMES[dataset.scheme]), "licence": dataset.licence, "terms": dataset.terms,
            "source": dataset.source, "instructions": dataset.instructions, "citation": dataset.citation,
            "notes": list(dataset.notes), "folder": dataset.folder, "layouts": layouts,
            "published": dataset.published and asdict(dataset.published),
            "here": self.here.name if self.here else None, "counts": self.counts,
        }  # fmt: skip

    @property
    def summary(self) -> Summary:
        """Licence, terms, source and traps; the files; and how many rows have which label."""
        lines = [*self.dataset.sentences, f"Files, below {self.home / self.dataset.folder}:"]
        for layout in self.dataset.layouts:
            files = ", ".join(file.path for file in layout.files[:4])
            more = " …" if len(layout.files) > 4 else ""
            lines.append(f"  {layout.name}{' (here)' if layout is self.here else ''}: {files}{more}")
        if self.counts is None:
            return [*lines, "", f"Not here. {self.dataset.instructions}"]
        return [*lines, "Rows: " + ", ".join(f"{count:,} {label}" for label, count in self.counts.items())]


def described(name: str, home: Path) -> Described:
    """Everything that covmis knows of a corpus."""
    dataset = find(name, home)
    here = complete_layout(dataset, home)
    counts = read(name, home)["label"].value_counts() if here else None
    known_labels = None if counts is None else {str(label): int(count) for label, count in counts.items()}
    return Described(dataset, home, here, known_labels)


def convert(  # noqa: PLR0913 - every option is named
    names: Sequence[str], home: Path, *, labels: str | Mapping[str, str] = "", expected: Mapping[str, float] | None = None,
    keep: str = "against", drop_denied: bool = False, split: Sequence[str] = (), covid_twitter: bool = False,
    seed: int = 20220405, layout: str = "", check: bool = True,
) -> pd.DataFrame:  # fmt: skip
    """One table of one corpus or several, with the column `part` that says which.

    `labels` is a scheme to map to, or a map; `expected` says of which corpora to keep about so many rows of each
    class but `keep`. Corpora of different schemes are mixed only through a map.
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
        import pyarrow.parquet as pq

        with storage.replacing(path) as beside:
            pq.write_table(tables.arrow(frame), beside, compression="zstd")
    else:
        raise InputError("is no format to write", file=path, remedy="Use .csv, .jsonl or .parquet")


DENYING = ("deny", "against")


def undersample(
    frame: pd.DataFrame, *, expected: float, seed: int, keep: Collection[str] = ("against",)
) -> pd.DataFrame:
    """Each class with about `expected` rows: a row is kept with probability expected/frequency, at most 1.

    Classes named in `keep` stay whole (the paper's Against). A row's luck depends on its corpus, target and id only:
    rows that come or go change no other row's number. The paper expected 400 for COVIDLies, 550 for RumourEval.
    """
    if not expected > 0:
        raise InputError(
            "expected must be above 0", remedy="The paper has 400 for COVIDLies, 550 for RumourEval"
        )
    unknown = sorted(set(keep) - set(frame["label"]))
    if unknown and len(frame):
        raise InputError(
            f"no row has the label '{unknown[0]}', which is to be kept whole",
            remedy="Map the labels first, or name the label as it is here",
        )
    counts = frame["label"].value_counts()
    chosen = [
        label in keep or keyed.uniform(seed, "undersample", name, about, post) < expected / counts[label]
        for name, about, post, label in zip(
            frame["dataset"], frame["target_id"], frame["id"], frame["label"], strict=True
        )
    ]
    return frame.loc[chosen].reset_index(drop=True)


def without_replies_to_denying_sources(frame: pd.DataFrame) -> pd.DataFrame:
    """RumourEval for claims: threads whose source denies the rumour lose their replies (section 5.2).

    A reply that supports such a source denies the rumour, and its label does not say so. The sources stay.
    """
    is_source = frame["id"] == frame["target_id"]
    if len(frame) and not is_source.any():
        raise InputError(
            "no row is the source of its thread",
            remedy="Read RumourEval from a layout with threads: `covmis dataset show rumoureval-2017`",
        )
    denying = set(frame.loc[is_source & frame["label"].isin(DENYING), "id"])
    return frame[is_source | ~frame["target_id"].isin(denying)].reset_index(drop=True)


def combine(parts: Mapping[str, pd.DataFrame], labels: Sequence[str]) -> pd.DataFrame:
    """One table of several, with a column `part` that says which; labels outside `labels` are refused.

    Posts that are in several parts are kept and counted in `attrs["shared"]`: a part may be a test set.
    """
    import pandas as pd

    pieces = []
    for name, frame in parts.items():
        lacking = [column for column in COLUMNS if column not in frame]
        unknown = sorted(set(frame["label"]) - set(labels)) if not lacking else []
        if lacking or unknown:
            raise InputError(
                f"{name} lacks the column '{lacking[0]}'"
                if lacking
                else f"{name} has the label '{unknown[0]}'",
                remedy="Map its labels first: " + ", ".join(labels),
            )
        pieces.append(frame[list(COLUMNS)].assign(part=name))
    mixture = pd.concat(pieces, ignore_index=True) if pieces else pd.DataFrame(columns=[*COLUMNS, "part"])
    homes = mixture.groupby("id")["part"].nunique() if len(mixture) else pd.Series(dtype=int)
    mixture.attrs = {"shared": int((homes > 1).sum())}
    return mixture
