"""Publishing a study: what `covmis release`, `hydrate` and `verify` do with its rounds, archive and bundles."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covmis_build import storage
from covmis_build.engine import silent
from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from covmis_build.corpus.facts import Facts
    from covmis_build.corpus.facts import Round as RoundFacts
    from covmis_build.corpus.verify import Check
    from covmis_build.engine import Progress
    from covmis_build.options import Release
    from covmis_build.study import Study


def gold_and_frozen(opened: Study) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The gold labels of all rounds, and the frozen items with the probabilities of all their draws together."""
    import pandas as pd

    from covmis_build.annotation import gold, record
    from covmis_build.annotation.rounds import frozen_items
    from covmis_build.governing import divided
    from covmis_build.sampling import combined_probabilities

    rounds = record.all_rounds(opened.rounds)
    if not rounds:
        raise InputError(
            "no round has been opened yet",
            remedy="`covmis round open` makes one, `covmis status` says what is next",
        )
    decided = [gold(one.items(), one.labels(), per_item=one.per_item) for one in rounds]
    frozen = frozen_items(opened.rounds)
    together = combined_probabilities(frozen[~frozen["pilot"].astype(bool)], divided(rounds))
    combined = [together.get(item, p) for item, p in zip(frozen["item_id"], frozen["p_sample"], strict=True)]
    return pd.concat(decided, ignore_index=True), frozen.assign(p_sample=combined)


def gather(
    opened: Study,
    corpus: pd.DataFrame,
    gold: pd.DataFrame,
    frozen: pd.DataFrame,
    out: dict[str, int],
    options: Release,
) -> Facts:
    """What card and methods say besides the corpus' own rows: the settings are those that governed the data."""
    from covmis_build import __version__
    from covmis_build.annotation import record
    from covmis_build.corpus import facts
    from covmis_build.flow import flow
    from covmis_build.governing import as_governed

    rounds = record.all_rounds(opened.rounds)
    then, differences = as_governed(opened, rounds)
    labels = [one.labels() for one in rounds if not one.pilot]
    people = {code for one in labels for code in one.loc[one["phase"] == "independent", "annotator"]}
    summary = opened.rounds / "summary.json"
    return facts.Facts(
        title=opened.title,
        date=dt.datetime.now(dt.UTC).strftime("%Y-%m-%d"),
        version=__version__,
        release=options,
        labels=then.labels,
        retrieval=then.retrieval,
        cleaning=then.cleaning,
        sampling=then.sampling,
        annotation=then.annotation,
        differences=differences,
        flow=flow(opened),
        rounds=[_round_facts(one) for one in rounds],
        overall=record.read_json(summary) if summary.exists() else {},
        left_out=out,
        audit=facts.audit_counts(gold, frozen),
        platforms=facts.platform_counts(corpus),
        period=facts.period(corpus),
        annotators=len(people),
    )


def _round_facts(one: Any) -> RoundFacts:
    from covmis_build.annotation import record
    from covmis_build.annotation.rounds import for_people
    from covmis_build.corpus.facts import Round

    items, report, seal = one.items(), one.folder / "report.json", one.seal()
    return Round(
        name=one.number,
        pilot=one.pilot,
        claims=items["claim_id"].nunique(),
        items=len(items),
        for_people=len(for_people(items)),
        agreement=record.read_json(report) if report.exists() else {},
        guideline=one.guideline,
        seal=str(seal["seal"]) if seal else "",
    )


def read_purged(opened: Study) -> frozenset[str]:
    """The ids of posts on queries/purge.csv. Posts of purged authors have been emptied by `covmis purge` itself."""
    from covmis_build.purge import read_list

    return read_list(opened.purge_csv).posts


def write_bundle(opened: Study, corpus: pd.DataFrame, purged: frozenset[str]) -> Path:
    """Add the study's bundle to its release, with the versions of what made its tables."""
    import platform
    from importlib.metadata import version

    from covmis_build import __version__
    from covmis_build.annotation import record
    from covmis_build.corpus.bundle import make_bundle
    from covmis_build.corpus.publish import add_bundle

    frozen = {one.number: one.items() for one in record.all_rounds(opened.rounds)}
    versions = {"covmis": __version__, "python": platform.python_version()}
    versions |= {name: version(name) for name in ("duckdb", "numpy", "pandas", "pyarrow", "scikit-learn")}
    made = make_bundle(opened.folder, frozen, corpus, purged=purged, versions=versions)
    return add_bundle(opened.release_folder, made)


def posts_of(
    items: pd.DataFrame, places: Sequence[Path], progress: Progress = silent, purge_list: Path | None = None
) -> pd.DataFrame:
    """The posts of these items as they stand in the archive, the same copy that `covmis run` chooses.

    A post that is not there, that its platform no longer gives or that the study's purge list names is a row without
    text; `availability` says why.
    """
    import tempfile

    import pandas as pd

    from covmis_build import tables
    from covmis_build.engine import open_engine
    from covmis_build.options import Retrieval
    from covmis_build.purge import read_list
    from covmis_build.retrieval import retrieve
    from covmis_build.retrieval.forgetting import Forget

    forget = read_list(purge_list) if purge_list else Forget()
    wanted = items[["claim_id", "post_id"]].drop_duplicates()
    options = Retrieval(reposts="keep", require_match=())
    with (
        tempfile.TemporaryDirectory() as scratch,
        open_engine("duckdb", scratch=Path(scratch)) as engine,
    ):
        found = retrieve(
            engine, places, tables.empty("queries"), options, progress=progress, given=wanted, forget=forget
        )
        posts, dropped = found.posts.to_pandas(), found.dropped.to_pandas()
    lost = dropped.loc[dropped["unit"] == "pair", ["post_id", "reason"]].drop_duplicates("post_id")
    gone = lost.rename(columns={"reason": "availability"}).assign(text="")
    columns = ["post_id", "text", "availability"]
    return pd.concat([posts[columns], gone[columns]], ignore_index=True)


def rebuild(file: Path, into: Path, places: Sequence[Path], progress: Progress = silent) -> dict[str, Any]:
    """Make a study of a bundle, with the texts of its rounds brought back as far as there are posts."""
    from covmis_build.annotation import record
    from covmis_build.annotation.rounds import write_items
    from covmis_build.corpus.bundle import restore_texts, unpack
    from covmis_build.study import open_study

    manifest = unpack(file, into)
    opened = open_study(into)
    if manifest["purged"] and not opened.purge_csv.exists():
        rows = [[one] for one in manifest["purged"]]
        storage.write_bytes(opened.purge_csv, storage.csv_bytes(["id"], rows))
    there = [place for place in (places or opened.archives) if place.exists()]
    count, without = 0, 0
    for one in record.all_rounds(opened.rounds):
        items = one.items()
        if there:
            items = restore_texts(
                items, posts_of(items, there, progress, opened.purge_csv), purged=set(manifest["purged"])
            )
            write_items(one.folder, items)
        count, without = count + len(items), without + int((items["text"] == "").sum())
    return {"study": str(into), "rows": manifest["rows"], "frozen": count, "without_text": without}


def check_seals(path: Path) -> list[Check]:
    """The seals of a bundle's rounds, chained; texts are not in it, and a seal does not need them."""
    import tempfile

    from covmis_build.annotation import steps
    from covmis_build.corpus.bundle import unpack
    from covmis_build.corpus.verify import Check

    with tempfile.TemporaryDirectory() as folder:
        unpack(path, Path(folder))
        rounds = steps.verify_rounds(Path(folder) / "annotation" / "rounds")
    return [
        Check(
            f"round {one.round} is as it was sealed" if one.sealed else f"round {one.round} (not sealed)",
            one.stands or not one.sealed,
            ", ".join(one.changed),
        )
        for one in rounds
    ]
