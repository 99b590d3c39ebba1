"""The five stages from claim list to sample: what each reads, what it makes, and which function makes it.

    claims → queries → retrieve → clean → sample

`run.py` runs them. A stage's `version` is raised by hand when its output changes; a test fails if that is forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from covmis_build import storage
from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import pandas as pd
    import pyarrow as pa

    from covmis_build.engine import Engine, Progress, Table
    from covmis_build.study import Study

    Made = Mapping[str, Table | pd.DataFrame]


@dataclass(frozen=True)
class Stage:
    """One stage: its tables, its settings, and the function that makes it."""

    name: str
    version: int
    after: tuple[str, ...]
    settings: tuple[str, ...]
    makes: tuple[str, ...]
    files: Callable[[Study], list[Path]]
    make: Callable[[Study, Engine, Progress], Made]


def _claims_file(study: Study) -> list[Path]:
    if not study.claims_csv.is_file():
        raise InputError(
            "is missing",
            file=study.claims_csv,
            remedy="Write it, or bring a list with `covmis claims import FILE`",
        )
    return [study.claims_csv]


def _archive_files(study: Study) -> list[Path]:
    """Every file below the archive's folders, in the order of their names; hidden files are not posts."""
    found: list[Path] = []
    for folder in study.archives:
        if not folder.exists():
            raise InputError(
                "the archive is missing",
                file=folder,
                remedy="Put posts there, or fetch some with `covmis collect`",
            )
        inside = [folder] if folder.is_file() else sorted(folder.rglob("*"))
        found += [
            path
            for path in inside
            if path.is_file()
            and not any(part.startswith(".") for part in path.relative_to(folder.parent).parts)
            and path.name != "README.md"
        ]
    return found


def _retrieve_files(study: Study) -> list[Path]:
    """The archive's files, and the list of what is to be forgotten."""
    return _archive_files(study) + [one for one in [study.purge_csv] if one.exists()]


def _frozen_files(study: Study) -> list[Path]:
    return sorted(study.rounds.glob("*/items.parquet"))


def _make_claims(study: Study, engine: Engine, progress: Progress) -> Made:  # noqa: ARG001 - the face of a stage
    from covmis_build.claims import read_claims

    return {"claims": read_claims(study.claims_csv)}


def _make_queries(study: Study, engine: Engine, progress: Progress) -> Made:  # noqa: ARG001 - the face of a stage
    from covmis_build.queries import build_queries

    claims = storage.read_table(study.table("claims"), "claims")
    try:
        return {"queries": build_queries(claims[claims["selected"].astype(bool)])}
    except InputError as error:
        raise InputError(str(error), file=study.claims_csv) from error


def _make_retrieve(study: Study, engine: Engine, progress: Progress) -> Made:
    from covmis_build.purge import read_list
    from covmis_build.retrieval import retrieve

    queries = storage.read_table(study.table("queries"), "queries")
    files = _archive_files(study)
    forget = read_list(study.purge_csv)
    found = retrieve(
        engine, files, queries, study.retrieval, seed=study.seed, progress=progress, forget=forget
    )
    return {
        "posts": found.posts,
        "hits": found.hits,
        "provenance": found.provenance,
        "unreadable": found.unreadable,
        "retrieve.dropped": found.dropped,
    }


def _make_clean(study: Study, engine: Engine, progress: Progress) -> Made:
    from covmis_build.cleaning import clean

    hits, posts = engine.table(study.table("hits")), engine.table(study.table("posts"))
    frozen = engine.table(_frozen(study))
    cleaned = clean(engine, hits, posts, frozen, study.cleaning, seed=study.seed, progress=progress)
    return {
        "items": cleaned.items,
        "chains": cleaned.chains,
        "clean.dropped": cleaned.dropped,
        "frozen.dropped": cleaned.overruled,
    }


def _make_sample(study: Study, engine: Engine, progress: Progress) -> Made:  # noqa: ARG001 - the face of a stage
    from covmis_build.sampling import sample

    items = storage.read_table(study.table("items"), "items")
    drawn = sample(
        items, _frozen(study), study.sampling, study.labels,
        seed=study.seed, audit=study.annotation.audit, strata=strata_of(study, items),
    )  # fmt: skip
    parts = {
        "retrieved": engine.table(study.table("retrieve.dropped")),
        "cleaned": engine.table(study.table("clean.dropped")),
        "sampled": engine.table(_dropped_rows(drawn.dropped)),
        "claimed": engine.table(_dropped_rows(_claims_without_hits(study))),
    }
    union = " UNION ALL ".join(f"SELECT * FROM {name}" for name in parts)
    dropped = engine.sql(
        f"SELECT * FROM ({union}) AS everything ORDER BY claim_id, post_id, step, unit", **parts
    )
    return {"sample": drawn.sample, "dropped": dropped}


def strata_of(study: Study, items: pd.DataFrame) -> Mapping[str, str] | None:
    """Each item's further stratum, where `[sampling] strata_by` asks for some."""
    if not study.sampling.strata_by:
        return None
    from covmis_build.sampling import strata_by

    times = storage.read_columns(study.table("posts"), ["post_id", "created_at"])
    return strata_by(items, times[times["post_id"].isin(items["post_id"])], study.sampling.strata_by)


def _dropped_rows(frame: pd.DataFrame) -> pa.Table:
    """Rows of `dropped` in the table's own types, also where there are none."""
    from covmis_build import tables

    return tables.conform(frame, "dropped")


def _claims_without_hits(study: Study) -> pd.DataFrame:
    """A row for every claim that no post was found for, and for every claim that is not selected."""
    import pandas as pd

    claims = storage.read_table(study.table("claims"), "claims")
    hit = set(storage.read_column(study.table("hits"), "claim_id"))
    rows = [
        {"unit": "claim", "claim_id": one.claim_id, "post_id": "", "step": step, "reason": reason,
         "kept_instead": "", "similarity": float("nan"), "group": ""}
        for one in claims.itertuples()
        for step, reason in [("claims", "not selected") if not one.selected else ("retrieve", "no hits")]
        if not one.selected or one.claim_id not in hit
    ]  # fmt: skip
    from covmis_build import tables

    return pd.DataFrame(rows, columns=tables.SCHEMAS["dropped"].names)


def _frozen(study: Study) -> pd.DataFrame:
    from covmis_build.annotation.rounds import frozen_items

    return frozen_items(study.rounds)


STAGES = (
    Stage("claims", 1, (), (), ("claims",), _claims_file, _make_claims),
    Stage("queries", 2, ("claims",), (), ("queries",), lambda _: [], _make_queries),
    Stage(
        "retrieve", 3, ("queries",), ("retrieval",),
        ("posts", "hits", "provenance", "unreadable", "retrieve.dropped"), _retrieve_files, _make_retrieve,
    ),
    Stage(
        "clean", 3, ("retrieve",), ("cleaning",), ("items", "chains", "clean.dropped", "frozen.dropped"),
        _frozen_files, _make_clean,
    ),
    Stage(
        "sample", 1, ("claims", "clean"), ("sampling", "labels.automatic", "annotation.audit"), ("sample", "dropped"),
        _frozen_files, _make_sample,
    ),
)  # fmt: skip
"""In the order in which they run."""
