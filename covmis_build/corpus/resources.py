"""The tables of a release: meaning of rows and columns, for metadata and the readers for R and pandas."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from covmis_build import records, storage, tables
from covmis_build.corpus import convert, covmis_shape, people_labels
from covmis_build.errors import InputError, doubted
from covmis_build.options import DESIGN_NAMES, KINDS, RANKED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from covmis_build.corpus.release_facts import ReleaseFacts

TYPES = {"string": "string", "double": "number", "int64": "integer", "bool": "boolean"}
ANNOTATIONS, SOFT_LABELS, SPLITS = "annotations", "soft_labels", "splits"
WEIGHTS, PAIRS = "replicate_weights", "pairs_drawn"
STANCE, MISINFORMATION = "covmis_stance", "misinformation"
REPLICATE = re.compile(r"weight_[1-9]\d*")
PARTS = ("train", "dev", "test")


@dataclass(frozen=True, slots=True)
class Resource:
    """A CSV file of a release."""

    name: str
    about: str
    key: tuple[str, ...]
    schema: pa.Schema
    meanings: Mapping[str, str]
    """Column → meaning."""
    allowed: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Column → allowed values."""
    parquet: bool = False
    """True if the same rows are also in a Parquet file."""

    @property
    def source(self) -> str:
        """The file with exact types."""
        return f"{self.name}.parquet" if self.parquet else f"{self.name}.csv"

    def type_of(self, column: str) -> str:
        """Return the column's type in Frictionless' vocabulary."""
        return TYPES[str(self.schema.field(column).type)]

    def write(self, folder: Path, rows: pd.DataFrame) -> None:
        """Write the rows as CSV."""
        cells = rows[self.schema.names].itertuples(index=False)
        storage.write_bytes(folder / f"{self.name}.csv", storage.csv_bytes(self.schema.names, cells))

    def read(self, folder: Path) -> pd.DataFrame | None:
        """Read the rows, numbers as such; None if the release has no such table."""
        import pandas as pd

        path = folder / f"{self.name}.csv"
        cells = read_cells(path)
        if cells is None:
            return None
        if lacking := [name for name in self.schema.names if name not in cells]:
            raise InputError(f"lacks the columns {', '.join(lacking)}", file=path, remedy="Fetch it again")
        kinds = {"string": str, "number": float, "integer": int}
        with doubted(path):
            columns = {name: [*map(kinds[self.type_of(name)], cells[name])] for name in self.schema.names}
        return pd.DataFrame(columns)


def read_cells(path: Path) -> pd.DataFrame | None:
    """Read a CSV file of a release as text; None if missing."""
    import pandas as pd

    if not path.is_file():
        return None
    with doubted(path):
        rows = pd.read_csv(
            path, dtype=str, keep_default_na=False, encoding="utf-8-sig", encoding_errors="surrogatepass"
        )
    return pd.DataFrame(rows.map(storage.restored))


PEOPLE = Resource(
    ANNOTATIONS,
    "A row is what one person, or a discussion, said of an item.",
    ("annotation_id",),
    people_labels.SCHEMA,
    people_labels.MEANINGS,
    {"status": ("given", "skipped"), "phase": ("independent", "discussion", "adjudication")},
    parquet=True,
)
DIVIDED = Resource(
    SPLITS,
    "The part of each item, for training, choosing and testing systems.",
    ("item_id",),
    pa.schema([(name, pa.string()) for name in ("item_id", "part", "group")]),
    {
        "item_id": people_labels.MEANINGS["item_id"],
        "part": "what the item is for",
        "group": "the first item of those that must stay in one part",
    },
    {"part": PARTS},
)
PAIRED = Resource(
    PAIRS,
    "How likely two posts of a claim were to be drawn together.",
    ("item_id", "with_item_id"),
    pa.schema([("item_id", pa.string()), ("with_item_id", pa.string()), ("p_both", pa.float64())]),
    {"item_id": "the one", "with_item_id": "the other", "p_both": "the probability that both were drawn"},
)
IN_COVMIS_SHAPE = Resource(
    STANCE,
    "The corpus in the shape in which COVMis-Stance was published.",
    ("mid", "tweet_id"),
    pa.schema([(name, pa.string()) for name in covmis_shape.STANCE]),
    covmis_shape.STANCE,
)
CLAIMS = Resource(
    MISINFORMATION,
    "The claims with their queries, as COVMis-Stance published them; several in a cell, one a line.",
    ("mid",),
    pa.schema([(name, pa.string()) for name in covmis_shape.MISINFORMATION]),
    covmis_shape.MISINFORMATION,
)


def _corpus_resource(facts: ReleaseFacts, labels: Sequence[str]) -> Resource:
    """Describe the corpus."""
    schema = tables.SCHEMAS["corpus"]
    kept = [schema.field(name) for name in convert.columns(text=facts.release.text)]
    return Resource(
        "corpus",
        "A row is a post and the claim that it was found for.",
        ("item_id",),
        pa.schema([(field.name, field.type) for field in kept]),
        records.meanings("corpus"),
        {"label": labels, "kind": (*KINDS, RANKED), "design": DESIGN_NAMES},
        parquet=True,
    )


def soft_resource(labels: Sequence[str]) -> Resource:
    """Describe the soft labels of this scheme."""
    return Resource(
        SOFT_LABELS,
        "The shares of people who gave an item each label, before any discussion.",
        ("item_id",),
        people_labels.soft_schema(labels),
        people_labels.soft_meanings(labels),
    )


def weights_resource(columns: Sequence[str]) -> Resource:
    """Describe the replicate weights with these columns."""
    told = {
        **{name: people_labels.MEANINGS[name] for name in ("item_id", "claim_id")},
        "audit_cell": "what a rule labelled in one claim, or in several with few checked labels: a checked one counts for its cell",
        "cell": "what one query type found for one claim, or similar: the weights of a cell sum to its known number of posts",
        "cell_variance": "how much the cell's number of unique posts varies, because posts of several claims stay with one",
        "cell_variance_of_posts": "the same of all posts",
        "weight": "the corpus' weight",
    }
    told = {name: words for name, words in told.items() if name in columns or not columns}
    numbers = sorted({name for name in columns if REPLICATE.fullmatch(name)}, key=lambda name: int(name[7:]))
    chances = [name for name in told if name in {"weight", "cell_variance", "cell_variance_of_posts"}]
    types = [(name, pa.string()) for name in told if name not in chances]
    types += [(name, pa.float64()) for name in (*chances, *numbers)]
    return Resource(
        WEIGHTS,
        "Weights, and those of the jackknife that leaves out one claim at a time (JK1).",
        ("item_id",),
        pa.schema(types),
        told | {name: f"the weight in replicate {name.removeprefix('weight_')}" for name in numbers},
    )


def weights_of_release(folder: Path) -> Resource:
    """Describe the replicate weights of this release."""
    path = folder / f"{WEIGHTS}.csv"
    if not path.is_file():
        return weights_resource([])
    return weights_resource(path.read_text("utf-8-sig").split("\n", 1)[0].strip().split(","))


def resources_of(folder: Path, facts: ReleaseFacts, labels: Sequence[str]) -> list[Resource]:
    """Return the tables of this release."""
    beside = [
        PEOPLE,
        soft_resource(labels),
        DIVIDED,
        weights_of_release(folder),
        PAIRED,
        IN_COVMIS_SHAPE,
        CLAIMS,
    ]
    return [
        _corpus_resource(facts, labels),
        *(table for table in beside if (folder / f"{table.name}.csv").is_file()),
    ]
