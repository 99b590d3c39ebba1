"""Verifying: a bundle, a release's folder or one of its files, by whoever got it."""

from __future__ import annotations

import io
import json
import math
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.parquet as pq

from covmis_build import tables
from covmis_build.annotation.gold import gold_of
from covmis_build.annotation.round_folder import RoundKind, all_rounds, rounds_of_kind
from covmis_build.annotation.seal import verify_chain
from covmis_build.corpus.bundle import read_bundle, unpack
from covmis_build.corpus.convert import read_corpus
from covmis_build.corpus.covmis_shape import misinformation
from covmis_build.corpus.publish import BUNDLE, CHECKSUMS, FACTS, STATISTICS
from covmis_build.corpus.recount import CLOSE, Check, read_beside
from covmis_build.corpus.release import make_corpus
from covmis_build.corpus.release_facts import from_json
from covmis_build.corpus.resources import MISINFORMATION, PAIRS, SPLITS, WEIGHTS
from covmis_build.corpus.verify import check_bundle, check_corpus, check_release, read_bundled_corpus
from covmis_build.errors import InputError, doubted
from covmis_build.evaluation.release_splits import release_splits
from covmis_build.keyed import uniform
from covmis_build.options import RANKED, Release
from covmis_build.sampling import draw
from covmis_build.settings import read_settings
from covmis_build.study.all_draws import with_all_draws
from covmis_build.study.beside import weights_of
from covmis_build.study.estimate import figures_of
from covmis_build.study.recall import recall_sentences
from covmis_build.study.round_settings import settings_of_rounds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.corpus.bundle import Manifest
    from covmis_build.estimation.shares import Estimates
    from covmis_build.settings import Settings


def verify(path: Path | str, *, signers: Path | str | None = None) -> list[Check]:
    """Every check that this file or folder allows, with its answer.

    `signers`: a file of SSH keys, one of which must have signed the release.
    """
    path, signers = Path(path), Path(signers) if signers is not None else None
    if not path.exists():
        raise InputError("is not there", file=path, remedy="Make it with `covmis release`")
    if path.suffix == ".zip":
        return _bundle(path)
    if path.is_dir() or (path.parent / CHECKSUMS).is_file():
        folder = path if path.is_dir() else path.parent
        with doubted(folder):
            checks = check_release(folder, signers)
        return checks + (_bundle(folder / BUNDLE, folder) if (folder / BUNDLE).is_file() else [])
    return check_corpus(read_corpus(path))


def _bundle(path: Path, release: Path | None = None) -> list[Check]:
    try:
        with doubted(path, "holds what cannot be read"):
            checks = check_bundle(path)
            return checks + (check_rounds(path, release) if all(check.passed for check in checks) else [])
    except InputError as error:  # of a file inside, or of where it was unpacked, which nobody can look at
        if Path(error.file) == path:
            raise
        raise InputError(
            f"holds {'/'.join(Path(error.file).parts[-2:])}, of which is said: {error.problem}",
            file=path,
            remedy="It is damaged, or not what covmis writes",
        ) from error


def check_rounds(bundle: Path, release: Path | None) -> list[Check]:
    """The seals of a bundle's rounds, chained, and the corpus and the card's settings against what the rounds say.

    Texts are not in a bundle, and a seal does not need them. `release`: the folder that the bundle lies in.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        manifest = unpack(bundle, folder)
        rounds = all_rounds(folder / "annotation" / "rounds")
        recall = rounds_of_kind(folder / "annotation" / "rounds", RoundKind.RECALL)
        checks = [*seals_of(rounds), *seals_of(recall)]
        if not all(check.passed for check in checks):
            return checks
        frozen = with_all_draws(folder / "annotation" / "rounds", rounds)
        # a bundle has neither texts nor salts; only those that its manifest names have been forgotten
        frozen = frozen.assign(salt="not told")
        expected = make_corpus(gold_of(rounds), frozen, Release(), purged=manifest.purged)
        today = read_settings(folder / "study.toml")
        settings, _ = settings_of_rounds(today, rounds)
        built = tables_of_bundle(bundle)
        checks += check_sample(frozen, built, settings, manifest)
        corpora = {"the bundle's corpus": read_bundled_corpus(bundle)}
        if release is not None:
            corpora["the corpus"] = read_corpus(release / "corpus.parquet").assign(text=None)
            if (release / FACTS).is_file():
                checks.append(_settings(release / FACTS, settings))
                told = recall_sentences(recall, gold_of(rounds), settings.labels)
                same = told == list(from_json((release / FACTS).read_bytes()).recall)
                checks += (
                    [Check("what the card says of recall is what its rounds say", same)] if recall else []
                )
                checks += check_beside(release, corpora["the corpus"], frozen, built, today, settings)
                if not manifest.purged and not settings.sampling.strata_by and len(expected):
                    rounds_of = folder / "annotation" / "rounds"
                    again = figures_of(rounds_of, rounds, expected, frozen, built.get("items"), settings)
                    checks.append(check_estimates(release, again))
    for name, corpus in corpora.items():
        differ = [str(column) for column in expected if not expected[column].equals(corpus[column])]
        checks.append(Check(f"{name} is that of its rounds", not differ, ", ".join(differ)))
    return checks


def check_estimates(release: Path, again: Estimates) -> Check:
    """Whether the estimates that a release prints are those of its rounds and of the pool in its bundle."""
    told = json.loads((release / STATISTICS).read_bytes())["shares"]
    whole = again.shares[again.shares["scope"] == "pool"]
    keys = {(row["estimand"], row["label"]): row for row in whole.to_dict("records")}
    wrong = []
    for row in told:
        made = keys.get((row["estimand"], row["label"]), {})
        cells = [(row[name], made.get(name, math.nan)) for name in ("share", "low", "high")]
        same = all(
            math.isnan(now) if then is None else math.isclose(then, now, rel_tol=CLOSE, abs_tol=CLOSE)
            for then, now in cells
        )
        wrong += [] if same else [f"{row['label']} ({row['estimand']})"]
    return Check("the estimates are those of the rounds", not wrong, ", ".join(wrong))


def tables_of_bundle(bundle: Path) -> dict[str, pd.DataFrame]:
    """The tables of data/build that a bundle holds, by name."""
    _, files = read_bundle(bundle)
    place = "data/build/"
    return {
        name.removeprefix(place).removesuffix(".parquet"): tables.frame(pq.read_table(io.BytesIO(data)))
        for name, data in files.items()
        if name.startswith(place) and name.endswith(".parquet")
    }


def check_sample(
    frozen: pd.DataFrame, built: Mapping[str, pd.DataFrame], settings: Settings, manifest: Manifest
) -> list[Check]:
    """Whether chance fell as it says: each item's keyed number against its probability, and the draw made anew."""
    counted = frozen[~frozen["pilot"].astype(bool)]
    poisson = counted[counted["design"] == "poisson"]
    seed, audit = settings.seed, settings.annotation.audit
    lucky = [
        item
        for item, p in zip(poisson["item_id"], poisson["p_sample"], strict=True)
        if not uniform(seed, "sampling", item) < p
    ]
    unlike = [
        item
        for item, label, audited, p in zip(
            counted["item_id"],
            counted["automatic_label"].fillna(""),
            counted["audited"],
            counted["p_audit"].fillna(audit),
            strict=True,
        )
        if bool(audited) != (label != "" and uniform(seed, "audit", item) < p)
    ]
    checks = [
        Check("every drawn item's keyed number is below its probability", not lucky, ", ".join(lucky[:5])),
        Check("the audited items are those whose keyed number says so", not unlike, ", ".join(unlike[:5])),
    ]
    what = "the sample is the one that the items and the seed give"
    if manifest.purged or settings.sampling.strata_by or not {"items", "sample"} <= set(built):
        why = "posts were purged" if manifest.purged else "strata, or no tables of the build"
        return [*checks, Check(what, passed=True, detail=f"not compared: {why}")]
    # a ranked post's chance comes from its rank, which no bundle tells; others are drawn as if there were none
    told, items = built["sample"], built["items"]
    by_rank = set(items.loc[items["kind"] == RANKED, "item_id"])
    by_rank |= set(counted.loc[counted["kind"] == RANKED, "item_id"]) - set(items["item_id"])
    told, items, counted = (frame[~frame["item_id"].isin(by_rank)] for frame in (told, items, counted))
    told = told.set_index("item_id").sort_index()
    again = draw.sample(items, counted, settings.sampling, settings.labels, seed=seed, audit=audit)
    drawn = again.sample.set_index("item_id").sort_index()
    columns = ["claim_id", "kind", "p_sample", "audited", "automatic_label"]
    same = drawn.index.equals(told.index) and all(
        drawn[name].fillna("").tolist() == told[name].fillna("").tolist() for name in columns
    )
    ranked = len(built["sample"]) - len(told)
    left_out = f"; {ranked:,} ranked ones not compared" if ranked else ""
    return [*checks, Check(what, same, f"{len(told):,} items{left_out}")]


def check_beside(
    release: Path, corpus: pd.DataFrame, frozen: pd.DataFrame, built: Mapping[str, pd.DataFrame], today: Settings,
    governed: Settings,
) -> list[Check]:  # fmt: skip
    """Parts, weights and queries made anew from the bundle, compared with the files of the release."""
    beside: dict[str, pd.DataFrame | None] = {}
    counted = frozen[~frozen["pilot"].astype(bool)].drop_duplicates("item_id").set_index("item_id")
    beside[WEIGHTS], beside[PAIRS] = weights_of(corpus, counted, built.get("items"), governed.sampling)
    if "claims" in built:
        beside[MISINFORMATION] = misinformation(built["claims"], corpus)
    divided = read_beside(release / f"{SPLITS}.csv")
    asked = today.release.splits
    if divided is not None and len(divided) == len(corpus) and asked:
        fractions = {"fractions": asked["fractions"]} if "fractions" in asked else {}
        scheme = "chronological" if asked["scheme"] == "chronological" else "grouped"
        beside[SPLITS] = release_splits(
            corpus, scheme=scheme, owners=divided["group"].tolist(), texts=None, similarity=0.0, seed=today.seed,
            **fractions,
        )  # fmt: skip
    return [
        Check(f"{name}.csv is what the bundle gives", _same_table(read_beside(release / f"{name}.csv"), rows))
        for name, rows in beside.items()
    ]


def _same_table(told: pd.DataFrame | None, rows: pd.DataFrame | None) -> bool:
    """The same columns and cells, numbers to nine digits; nothing is the same as nothing."""
    if told is None or rows is None:
        return told is rows
    if set(told.columns) != set(rows.columns) or len(told) != len(rows):
        return False
    return all(
        np.allclose(told[name].astype(float), rows[name], rtol=1e-9, atol=0)
        if rows[name].dtype.kind == "f"
        else told[name].tolist() == rows[name].astype(str).tolist()
        for name in rows.columns
    )


def _settings(path: Path, settings: Settings) -> Check:
    """The settings that a card tells, against those that the rounds were drawn with."""
    facts = from_json(path.read_bytes())
    governed = {"labels": settings.labels, "cleaning": settings.cleaning, "sampling": settings.sampling}
    differ = [name for name, options in governed.items() if getattr(facts, name) != options]
    return Check("the card's settings are those of its rounds", not differ, ", ".join(differ))


def seals_of(rounds: Sequence[RoundFolder]) -> list[Check]:
    """The seals of these rounds, chained."""
    return [
        Check(
            f"round {round_.round} is as it was sealed"
            if round_.sealed
            else f"round {round_.round} (not sealed)",
            round_.stands or not round_.sealed,
            ", ".join(round_.changed),
        )
        for round_ in verify_chain(rounds)
    ]
