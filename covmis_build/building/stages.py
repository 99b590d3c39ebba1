"""The six stages from archive and claim list to sample: their inputs, tables and functions.

read → claims → queries → retrieve → clean → sample

`run.py` runs them. A stage's `version` is increased manually when its output changes; a test fails otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from covmis_build import registry, storage
from covmis_build.archive.parts import READER
from covmis_build.archive.walk import archive_files
from covmis_build.building.flow import ask
from covmis_build.building.store import files_of, kept_matches, matches_file, parts_of, store_of
from covmis_build.engine import HERE
from covmis_build.errors import InputError
from covmis_build.options import RANKED
from covmis_build.places import DRAWS
from covmis_build.records import Dropped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from covmis_build.archive.parts import Facts
    from covmis_build.engine import Engine, Progress, Table
    from covmis_build.places import Places
    from covmis_build.settings import Settings

    Made = Mapping[str, Table | pd.DataFrame]


@dataclass(frozen=True)
class Work:
    """Context of a stage; `content` returns the known SHA-256 of an external file."""

    places: Places
    settings: Settings
    engine: Engine
    progress: Progress
    content: Callable[[Path], str]


@dataclass(frozen=True)
class Stage:
    """A stage: its tables, its settings, and its function."""

    name: str
    version: int
    after: tuple[str, ...]
    settings: tuple[str, ...]
    makes: tuple[str, ...]
    files: Callable[[Places], list[Path]]
    make: Callable[[Work], Made]
    large: bool = False
    """True if the selected engine runs it; small stages on local tables run here."""
    values: Callable[[Places], list[str]] = lambda _: []
    """Other values that its tables depend on."""
    further_files: Callable[[Places], dict[Path, Facts]] = lambda _: {}
    """Files that it created besides its tables. Existing ones are rebuilt only with `force`."""
    reused: Callable[[Places], list[Path]] = lambda _: []
    """Files with which a further run takes less time, and gives the same. They may be missing; `force` does without them."""


def _claim_ids(places: Places) -> list[str]:
    """Return the claim list's ids, which a column of posts may name; none if the list is unreadable."""
    from covmis_build.claims.lists import claim_ids

    try:
        return claim_ids(places.claims_csv)
    except (InputError, OSError):
        return []  # the stage `claims` reports the reason


def _read_values(places: Places) -> list[str]:
    """Return claim ids, and formats from other packages with their versions."""
    return [*_claim_ids(places), *registry.versions("covmis.forms")]


def _claims_file(places: Places) -> list[Path]:
    if not places.claims_csv.is_file():
        raise InputError(
            "is missing",
            file=places.claims_csv,
            remedy="Write it, or bring a list with `covmis claims import FILE`",
        )
    return [places.claims_csv]


def _read_files(places: Places) -> list[Path]:
    """Return the archive's files, and the purge list."""
    posts = [file.path for file in archive_files(places.archives)]
    return [*posts, places.purge_csv] if places.purge_csv.exists() else posts


def _clean_files(places: Places) -> list[Path]:
    return [*frozen_files(places), *places.other_corpora]


def frozen_files(places: Places) -> list[Path]:
    """Return all opened rounds' items, which later runs keep, and the ledger of draws."""
    return [*sorted(places.rounds.glob("*/items.parquet")), *places.rounds.glob(DRAWS)]


def _make_read(work: Work) -> Made:
    from covmis_build import tables
    from covmis_build.archive.stage import read_archive
    from covmis_build.building.purge import read_list

    places = work.places
    archive = read_archive(
        work.engine,
        places.archives,
        parts_of(places),
        work.settings.retrieval,
        claims=_claim_ids(places),
        forget=read_list(places.purge_csv),
        content=work.content,
        progress=work.progress,
    )
    parts = [
        {"part": part, "files": archive.files[part], **made._asdict()} for part, made in archive.parts.items()
    ]
    return {
        "parts": work.engine.table(pa.Table.from_pylist(parts, schema=tables.SCHEMAS["parts"])),
        "older_copies": archive.store.older,
        "intake": archive.intake,
        "unreadable": archive.unreadable,
    }


def _make_claims(work: Work) -> Made:
    from covmis_build.claims.lists import read_claims

    return {"claims": read_claims(work.places.claims_csv)}


def _make_queries(work: Work) -> Made:
    from covmis_build.queries.build import build_queries

    claims = storage.read_table(work.places.table("claims"), "claims")
    try:
        return {"queries": build_queries(claims[claims["selected"].astype(bool)])}
    except InputError as error:
        raise error.at(work.places.claims_csv) from None


RETRIEVE = 17
"""The version of the stage `retrieve`, and of the matches that are kept for it."""


def _make_retrieve(work: Work) -> Made:
    from covmis_build import tables
    from covmis_build.matching.stage import retrieve

    places, settings, engine = work.places, work.settings, work.engine
    queries = storage.read_table(places.table("queries"), "queries")
    claims = storage.read_table(places.table("claims"), "claims")
    selected = claims.loc[claims["selected"].astype(bool), "claim_id"].astype(str)
    ranked = tables.empty("candidates")

    def nearest(matched: Sequence[str]) -> pd.DataFrame:
        """Return the additional posts of a ranking, given the matched ones."""
        from covmis_build.building.nearest import candidates

        nonlocal ranked
        ranked = candidates(places, settings, matched, work.progress)
        return ranked.assign(kind=RANKED)

    retrieved = retrieve(
        engine,
        store_of(places, engine),
        queries,
        settings.retrieval,
        progress=work.progress,
        given=nearest if settings.retrieval.ranked else None,
        claims=set(selected),
        kept=kept_matches(places, RETRIEVE) if engine.name == HERE else None,
    )
    return {
        "posts": retrieved.posts,
        "hits": retrieved.hits,
        "candidates": ranked,
        "provenance": retrieved.provenance,
        "retrieve.dropped": retrieved.dropped,
    }


def _make_clean(work: Work) -> Made:
    from covmis_build.annotation.frozen_items import frozen_columns
    from covmis_build.cleaning.steps import FROZEN, OF_HITS, OF_POSTS, clean

    places, settings, engine = work.places, work.settings, work.engine
    hits = engine.table(places.table("hits"), columns=OF_HITS)
    posts = engine.table(places.table("posts"), columns=OF_POSTS)
    frozen = engine.table(pa.Table.from_pydict(frozen_columns(places.rounds, FROZEN.names)).cast(FROZEN))
    others = engine.table(_others(places)) if places.other_corpora else None
    cleaned = clean(
        engine,
        hits,
        posts,
        frozen,
        settings.cleaning,
        seed=settings.seed,
        progress=work.progress,
        others=others,
    )
    return {
        "items": cleaned.items,
        "chains": cleaned.chains,
        "clean.dropped": cleaned.dropped,
    }


def _others(places: Places) -> pd.DataFrame:
    """Return the posts of other corpora, with ids prefixed by file name. A file without texts is an error."""
    import pandas as pd

    from covmis_build.archive.reader import read
    from covmis_build.archive.streams import jobs
    from covmis_build.cleaning.near_duplicates import OTHER

    texts: dict[str, str] = {}
    for path in places.other_corpora:
        if not path.is_file():
            raise InputError("is missing", file=path, remedy="[cleaning] against names it")
        own = {
            f"{path.name}{OTHER}{post.post_id}": post.text
            for job in jobs([(path, path.name)])
            for line in read(job)
            for post in line.posts
            if post.text
        }
        if not own:
            raise InputError("has no posts with texts", file=path, remedy="[cleaning] against compares texts")
        texts |= own
    return pd.DataFrame({"post_id": list(texts), "text": list(texts.values())})


def _make_sample(work: Work) -> Made:
    from covmis_build.sampling.draw import WHY, sample
    from covmis_build.sampling.ledger import last_draws, read_ledger
    from covmis_build.sampling.reach import within_reach

    places, settings, engine = work.places, work.settings, work.engine
    items, frozen = engine.table(places.table("items")), _frozen(places)
    posts = engine.table(places.table("posts"))
    reach = within_reach(engine, items, posts, frozen, settings.sampling, seed=settings.seed)
    drawn = sample(
        reach.items,
        frozen,
        settings.sampling,
        settings.labels,
        seed=settings.seed,
        audit=settings.annotation.audit,
        audit_per_part=settings.annotation.audit_per_part,
        audit_by=settings.annotation.audit_by,
        times=times_of_audit(places, settings, reach.items),
        strata=reach.strata,
        chances=ranked_chances(places, settings, reach.items),
        clusters=reach.clusters,
        opened=last_draws(read_ledger(places.rounds)),
    )
    parts = {
        "retrieved": engine.table(places.table("retrieve.dropped")),
        "cleaned": engine.table(places.table("clean.dropped")),
        "claimed": engine.table(_rows(_claims_without_hits(places), "dropped")),
    }
    union = " UNION ALL ".join([*(f"SELECT * FROM {name}" for name in parts), NOT_DRAWN.format(reason=WHY)])
    dropped = engine.sql(
        f"SELECT * FROM ({union}) AS everything ORDER BY claim_id, post_id, step, unit",
        **parts,
        items=items,
        drawn=engine.table(_rows(drawn.sample, "sample")),
    )
    return {"sample": drawn.sample, "dropped": dropped, "draws": drawn.draws}


_CELLS = {
    "unit": "'pair'", "claim_id": "claim_id", "post_id": "post_id", "step": "'sample'", "reason": "'{reason}'",
    "similarity": "CAST(NULL AS DOUBLE)",
}  # fmt: skip
NOT_DRAWN = f"""
    SELECT {", ".join(_CELLS.get(name, "''") for name in Dropped._fields)}
    FROM items WHERE item_id NOT IN (SELECT item_id FROM drawn)"""
"""With the columns of the table `dropped`."""


def strata_of(places: Places, settings: Settings, items: pd.DataFrame) -> Mapping[str, str] | None:
    """Return each item's additional stratum, if `[sampling] strata_by` requests it."""
    if not settings.sampling.strata_by:
        return None
    from covmis_build.sampling.strata import strata_by

    return strata_by(items, times_of(places, items), settings.sampling.strata_by)


def times_of_audit(places: Places, settings: Settings, items: pd.DataFrame) -> pd.DataFrame | None:
    """Return the posts' times, if `[annotation] audit_per_part` needs them."""
    return times_of(places, items) if settings.annotation.audits_times else None


def times_of(places: Places, items: pd.DataFrame) -> pd.DataFrame:
    """Return when the posts of these items were written (post_id, created_at)."""
    times = storage.read_columns(places.table("posts"), ["post_id", "created_at"])
    return times[times["post_id"].isin(items["post_id"])]


def ranked_chances(places: Places, settings: Settings, items: pd.DataFrame) -> dict[str, float]:
    """Return the probability of each unmatched item, by its rank among its claim's most similar posts."""
    from covmis_build.sampling.guided import by_rank

    nearest, ranked = settings.retrieval.ranked, items[items["kind"] == RANKED]
    if ranked.empty:
        return {}
    # frozen items matched since are no candidates: probabilities do not depend on what was sampled
    question = f"SELECT DISTINCT post_id FROM hits WHERE kind <> '{RANKED}' AND post_id IN (SELECT unnest(?))"
    found = ask(question, ranked["post_id"].tolist(), hits=places.table("hits"))
    ranked = ranked[~ranked["post_id"].isin([post for (post,) in found])]
    known = storage.read_columns(places.table("candidates"), ["claim_id", "post_id", "rank"])
    ranked = ranked.merge(known, on=["claim_id", "post_id"]) if nearest else ranked.iloc[:0]
    chances: dict[str, float] = {}
    for _, rows in ranked.groupby("claim_id"):
        assert nearest is not None
        p = by_rank(rows["rank"].to_numpy(), nearest.expected, nearest.weights_up_to)
        chances |= dict(zip(rows["item_id"], p.tolist(), strict=True))
    return dict.fromkeys(items.loc[items["kind"] == RANKED, "item_id"], 0.0) | chances


def _rows(frame: pd.DataFrame, table: str) -> pa.Table:
    """Return rows with the table's types, even if there are none."""
    from covmis_build import tables

    return tables.conform(frame, table)


def _claims_without_hits(places: Places) -> pd.DataFrame:
    """Return a row for every claim without posts and for every claim that is not selected."""
    import pandas as pd

    claims = storage.read_table(places.table("claims"), "claims")
    hit = {claim for (claim,) in ask("SELECT DISTINCT claim_id FROM hits", hits=places.table("hits"))}
    rows = [
        Dropped("claim", str(claim.claim_id), "", step, reason=reason)
        for claim in claims.itertuples()
        for step, reason in [("claims", "not selected") if not claim.selected else ("retrieve", "no hits")]
        if not claim.selected or claim.claim_id not in hit
    ]
    return pd.DataFrame(rows, columns=Dropped._fields)


def _frozen(places: Places) -> pd.DataFrame:
    from covmis_build.annotation.frozen_items import frozen_items

    return frozen_items(places.rounds)


STAGES = (
    Stage(
        "read",
        READER,
        (),
        ("retrieval.columns", "retrieval.forms", "retrieval.longest_line", "retrieval.unpacked_ratio"),
        ("parts", "older_copies", "intake", "unreadable"),
        _read_files,
        _make_read,
        large=True,
        values=_read_values,
        further_files=files_of,
    ),
    Stage("claims", 1, (), (), ("claims",), _claims_file, _make_claims),
    Stage("queries", 5, ("claims",), (), ("queries",), lambda _: [], _make_queries),
    Stage(
        "retrieve",
        RETRIEVE,
        ("read", "claims", "queries"),
        ("retrieval",),
        ("posts", "hits", "candidates", "provenance", "retrieve.dropped"),
        lambda _: [],
        _make_retrieve,
        large=True,
        reused=lambda places: [matches_file(places)],
    ),
    Stage(
        "clean",
        15,
        ("retrieve",),
        ("cleaning",),
        ("items", "chains", "clean.dropped"),
        _clean_files,
        _make_clean,
        large=True,
    ),
    Stage(
        "sample",
        3,
        ("claims", "clean"),
        (
            "sampling",
            "labels.automatic",
            "annotation.audit",
            "annotation.audit_per_part",
            "annotation.audit_by",
        ),
        ("sample", "dropped", "draws"),
        frozen_files,
        _make_sample,
    ),
)
"""In the order of execution."""


def remade_from(setting: str) -> str:
    """Return the first stage whose tables this setting changes; empty if it changes none."""
    table = setting.partition(".")[0]
    if setting in {"seed", "retrieval.archive"}:
        return STAGES[0].name
    return next((stage.name for stage in STAGES if {setting, table} & set(stage.settings)), "")
