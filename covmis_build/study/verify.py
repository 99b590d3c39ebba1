"""Verify a package, a release's folder or one of its files; for users of a release."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np

from covmis_build import storage, tables
from covmis_build.annotation.newest import newest
from covmis_build.annotation.round_folder import RoundKind, all_rounds, guideline_version, rounds_of_kind
from covmis_build.annotation.seal import verify_chain
from covmis_build.children import in_child
from covmis_build.claims.lists import read_claims
from covmis_build.corpus.again import same
from covmis_build.corpus.bundle import (
    FACTS,
    FIRST,
    MANIFEST,
    MEMORY,
    TABLES,
    bundled_settings,
    read_bundle,
    root_of,
)
from covmis_build.corpus.convert import read_corpus
from covmis_build.corpus.covmis_shape import misinformation
from covmis_build.corpus.design import read_design, timeless
from covmis_build.corpus.people_labels import by_person, labels_of_people
from covmis_build.corpus.publish import BUNDLE, STATISTICS
from covmis_build.corpus.recount import Check
from covmis_build.corpus.release import make_corpus, with_weights
from covmis_build.corpus.release_facts import from_json, without_root
from covmis_build.corpus.resources import MISINFORMATION, PAIRS, PEOPLE, SPLITS, WEIGHTS, read_cells
from covmis_build.corpus.statistics import of_the_pool
from covmis_build.corpus.verify import (
    EARLIER,
    bundled_corpus,
    check_bundle,
    check_cited,
    check_corpus,
    check_kept,
    check_release,
)
from covmis_build.errors import CheckFailed, InputError, doubted
from covmis_build.evaluation.split import release_splits
from covmis_build.keyed import uniform
from covmis_build.operations import About
from covmis_build.options import RANKED, Release
from covmis_build.places import CHECKSUMS, DESIGN, Places
from covmis_build.places import FACTS as RELEASE_FACTS
from covmis_build.queries.build import build_queries
from covmis_build.report.result import Result
from covmis_build.report.terminal import plain
from covmis_build.sampling import draw
from covmis_build.study.beside import current_labels, weights_of
from covmis_build.study.estimate import as_drawn, design_of_frame, figures_of
from covmis_build.study.estimate_corpus import estimate_corpus
from covmis_build.study.population import Population, frame_of
from covmis_build.study.recall_report import recall_sentences
from covmis_build.study.release import label_sets_of
from covmis_build.study.released import counted_facts
from covmis_build.study.round_settings import settings_of_rounds, with_all_draws
from covmis_build.study.study import open_study

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd

    from covmis_build.annotation.newest import Newest
    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.corpus.bundle import Manifest
    from covmis_build.corpus.design import Drawn
    from covmis_build.corpus.release_facts import ReleaseFacts
    from covmis_build.estimation.shares import Estimates
    from covmis_build.report.summary import Summary
    from covmis_build.settings import Settings


@dataclass(frozen=True, slots=True, repr=False)
class VerifiedFile(Result):
    """The checks of a release, of one of its files or of a bundle; iterates over them."""

    file: Path = field(compare=False)
    checks: list[Check]

    def __iter__(self) -> Iterator[Check]:
        return iter(self.checks)

    @property
    def passed(self) -> bool:
        """Whether nothing failed."""
        return all(check.passed for check in self.checks)

    @property
    def summary(self) -> Summary:
        """One line per check."""
        return [*map(str, self.checks)]

    def to_dict(self) -> dict[str, Any]:
        """The checks, as `covmis verify --json` prints them."""
        rows = [
            {"check": check.what, "passed": check.passed, "detail": check.detail} for check in self.checks
        ]
        return {"file": str(self.file), "passed": self.passed, "checks": rows}

    def check(self) -> None:
        """Raise if a check failed."""
        failed = sum(not check.passed for check in self.checks)
        if failed:
            raise CheckFailed(f"{self.file}: {failed} of {len(self.checks)} checks failed")


def verify(
    file: Annotated[
        Path | str | None,
        About("A bundle, a release's folder or one of its files.", metavar="FILE", argument=True),
    ] = None,
    *,
    root: Annotated[
        str, About("The root hash that it must have, as printed in the paper.", metavar="HASH")
    ] = "",
    paper: Annotated[
        Path | str | None,
        About("A text that must print its root hash: the paper as .txt, .md or .tex.", metavar="FILE"),
    ] = None,
    signers: Annotated[
        Path | str | None,
        About("Allowed signers (man ssh-keygen): one of them must have signed it.", metavar="FILE"),
    ] = None,
    anchor: Annotated[
        Path | str | None,
        About(
            "A time stamp that somebody kept: it must be of this root hash, or of a seal in the release.",
            metavar="FILE",
        ),
    ] = None,
    authorities: Annotated[
        Path | str | None,
        About("Certificates (PEM): one of these authorities must have made its time stamps.", metavar="FILE"),
    ] = None,
    study: Path | str | None = None,
) -> VerifiedFile:
    """Check a release or reproduction package.

    Example: covmis verify data/release/bundle.zip
    """
    path = Path(file) if file is not None else open_study(study).places.release
    named = (Path(each) if each is not None else None for each in (paper, signers, anchor, authorities))
    wanted = Wanted(root, *named)
    if not path.exists():
        raise InputError("is not there", file=path, remedy="Name a corpus, or make one with `covmis release`")
    try:
        checks = in_child(_all_checks, path, wanted, memory=MEMORY)
    except InputError as error:
        raise error.at(path) from None
    return VerifiedFile(path, checks)


class Wanted(NamedTuple):
    """What users know about a release from elsewhere."""

    root: str = ""
    paper: Path | None = None
    signers: Path | None = None
    anchor: Path | None = None
    authorities: Path | None = None


def _all_checks(path: Path, wanted: Wanted) -> list[Check]:
    """Run all checks. The files are foreign: they are read in a child process."""
    checks = _checks(path, wanted)
    if wanted.root or wanted.paper is not None or wanted.anchor is not None:
        whole = path.parent if path.suffix != ".zip" and not path.is_dir() else path
        if whole.is_dir() and not (whole / RELEASE_FACTS).is_file():
            raise InputError(
                f"has no root hash: there is no {RELEASE_FACTS} in its folder",
                file=path,
                remedy="Name the folder of the release, or its bundle",
            )
        checks += check_cited(whole, wanted.root, wanted.paper)
        if wanted.anchor is not None:
            checks.append(check_kept(whole, wanted.anchor, wanted.authorities))
    return checks


def _checks(path: Path, wanted: Wanted) -> list[Check]:
    authorities = wanted.authorities
    if path.suffix == ".zip":
        return _bundle(path, authorities=authorities)
    if path.is_dir() or (path.parent / CHECKSUMS).is_file():
        folder = path if path.is_dir() else path.parent
        with doubted(folder):
            checks = check_release(folder, wanted.signers, authorities)
        if (folder / BUNDLE).is_file():
            return checks + _bundle(folder / BUNDLE, folder, authorities)
        whole = (folder / DESIGN).is_file() and all(check.passed for check in checks)
        return [*checks, *([_check_estimates(folder, estimate_corpus(folder))] if whole else [])]
    return check_corpus(read_corpus(path))


def _bundle(path: Path, release: Path | None = None, authorities: Path | None = None) -> list[Check]:
    try:
        with doubted(path, "holds what cannot be read"):
            manifest, files = read_bundle(path)
            checks = check_bundle(manifest, files)
            if not all(check.passed for check in checks):
                return checks
            return checks + _check_rounds(manifest, files, release, authorities)
    except InputError as error:  # about a file in the package, or in a folder that the user cannot see
        if Path(error.file) == path:
            raise
        raise InputError(
            f"holds {'/'.join(Path(error.file).parts[-2:])}, of which is said: {error.problem}",
            file=path,
            remedy="It is damaged, or not what covmis writes",
        ) from error


def _check_rounds(
    manifest: Manifest, files: Mapping[str, bytes], release: Path | None, authorities: Path | None
) -> list[Check]:
    """Check the chained seals of a package's rounds, and the corpus and the card's settings against the rounds.

    Seals do not need texts, which a package does not contain. `release`: the folder of the package.
    """
    with tempfile.TemporaryDirectory() as scratch:
        places = Places(Path(scratch))
        for name, data in files.items():
            storage.write_bytes(places.folder / name, data)
        rounds = all_rounds(places.rounds)
        recall = rounds_of_kind(places.rounds, RoundKind.RECALL)
        relabelled = rounds_of_kind(places.rounds, RoundKind.RELABEL)
        checks = [check for kind in (rounds, recall, relabelled) for check in _seals_of(kind, authorities)]
        if not all(check.passed for check in checks):
            return checks
        today = bundled_settings(files, places.study_toml)
        changes = today.labels.changes
        now = newest(rounds, changes)
        gold = now.gold()
        frozen = with_all_draws(places.rounds, rounds, changes)
        # A package contains no texts and salts; only items named in its manifest were purged.
        frozen = frozen.assign(salt="not told")
        expected = make_corpus(gold, frozen, Release(), purged=manifest.purged)
        settings, _ = settings_of_rounds(today, rounds)
        built = {
            name: storage.read_table(places.table(name), name)
            for name in TABLES
            if places.table(name).exists()
        }
        if FACTS in files:
            facts = from_json(files[FACTS])
            knows_today = places if facts.population else None  # releases of before 0.3.0 do not compare
            told = recall_sentences(recall, gold, settings.labels, knows_today) == list(facts.recall)
            of_recall = [Check("what the card says of recall is what its rounds say", told)] if recall else []
            checks += [
                *_facts(facts, places, rounds),
                *_tables(facts, places, built),
                Check(
                    "the labels of the rounds are those of the card",
                    facts.label_sets == label_sets_of(now.sets),
                ),
                _settings(facts, settings),
                *of_recall,
            ]
        checks += _check_sample(frozen, built, settings, manifest)
        corpora = {"the bundle's corpus": bundled_corpus(files)}
        as_sampled = expected
        expected, figures, population, drawn = _weighted(
            expected, frozen, built, rounds, settings, places, corpora
        )
        if release is not None:
            corpora["the corpus"] = read_corpus(release / "corpus.parquet").assign(text=None)
            if FACTS in files:
                own = files[FACTS] == without_root((release / RELEASE_FACTS).read_bytes())
                checks.append(Check("the bundle's facts are those of the release", own))
                checks += _check_people(release, corpora["the corpus"], now, facts)
                checks += _check_beside(
                    release, corpora["the corpus"], as_sampled, built, today, settings, figures
                )
                if drawn is not None and not manifest.purged:
                    checks.append(_check_design(release, drawn))
                if not manifest.purged and not settings.sampling.strata_by and figures is not None:
                    checks.append(_check_estimates(release, figures))
                    same = tuple(facts.population) == population
                    checks.append(Check("the card's population is that of its rounds and tables", same))
        else:
            why = f"{root_of(files[MANIFEST])}; compare it with the card of the release or with the paper"
            first = "it is of the first format; nothing shows that a seal was taken out"
            checks.append(
                Check("there is no root hash", passed=True, detail=first)
                if manifest.format == FIRST
                else Check("the root hash", passed=True, detail=why)
            )
    for name, corpus in corpora.items():
        uncounted = WEIGHTED if manifest.purged or settings.sampling.strata_by else ()
        differ = [
            str(name)
            for name in expected
            if name not in uncounted and not expected[name].equals(corpus[name])
        ]
        checks.append(Check(f"{name} is that of its rounds", not differ, ", ".join(differ)))
    return checks


WEIGHTED = ("weight", "weight_of_posts")


def _weighted(
    expected: pd.DataFrame,
    frozen: pd.DataFrame,
    built: Mapping[str, pd.DataFrame],
    rounds: Sequence[RoundFolder],
    settings: Settings,
    places: Places,
    corpora: Mapping[str, pd.DataFrame],
) -> tuple[pd.DataFrame, Estimates | None, tuple[str, ...], Drawn | None]:
    """Return the expected corpus as its population weights it, with the estimates, what they are of, and its design.

    Before 0.3 none of these was in a release.
    """
    if expected.empty or any((corpus["in_population"].fillna("") == "").any() for corpus in corpora.values()):
        return expected.drop(columns=sorted(tables.later("corpus"))), None, (), None
    frame = frame_of(Population.TODAY, as_drawn(expected, frozen), frozen, built.get("items"), rounds, places)
    figures = figures_of(places.rounds, rounds, frame, settings)
    drawn = design_of_frame(frame, rounds, settings.sampling, places.rounds)
    return with_weights(expected, frame.labelled, figures.weights), figures, frame.sentences, drawn


def _check_design(release: Path, again: Drawn) -> Check:
    """Check how the release says that its posts were drawn; a package has no times of posts without a label."""
    told = read_design(release / DESIGN)
    same = told is not None and timeless(told) == timeless(again)
    return Check(f"{DESIGN} is what the rounds and the tables give", same)


def _check_estimates(release: Path, again: Estimates) -> Check:
    """Check whether a release's estimates follow from its rounds and its package's target population, or from itself."""
    told = json.loads((release / STATISTICS).read_bytes())["shares"]
    keys = {(row["estimand"], row["label"]): row for row in plain(of_the_pool(again.shares))}
    wrong = [
        f"{row['label']} ({row['estimand']})"
        for row in told
        if not same(keys.get((row["estimand"], row["label"])), row)
    ]
    return Check("the estimates follow from the labels and the draw", not wrong, ", ".join(wrong))


def _facts(facts: ReleaseFacts, places: Places, rounds: Sequence[RoundFolder]) -> list[Check]:
    """Check the facts computed from the package's rounds and tables, and guidelines against their hashes."""
    counted = counted_facts(places, rounds)
    told = {"flow": tuple(facts.flow), "rounds": tuple(facts.rounds), "kappa": facts.kappa}
    what = {
        "flow": "the flow from claims to corpus is that of the tables",
        "rounds": "the rounds are those of the card, with their seals",
        "kappa": "kappa over all rounds is that of its report",
    }
    wrong = [
        path.name
        for path in sorted(places.rounds.parent.glob("*/guidelines/*.md"))
        if guideline_version(path.read_text("utf-8")) != path.stem
    ]
    return [
        *(Check(what[name], told[name] == counted[name]) for name in what),
        Check(
            "kappa's number of items is that of its report", facts.kappa_items in {0, counted["kappa_items"]}
        ),
        Check("earlier guidelines are as they were sent out", not wrong, ", ".join(wrong)),
    ]


def _tables(facts: ReleaseFacts, places: Places, built: Mapping[str, pd.DataFrame]) -> list[Check]:
    """Check tables against the ledger's hashes, and rebuild claims and queries from the claim list."""
    made = {table: digest for stage in facts.stages for table, digest in stage.tables.items()}
    wrong = [
        name
        for name in TABLES
        if (made.get(name) if facts.flow else None)
        != (storage.sha256_of(places.table(name)) if name in built else None)
    ]
    checks = [Check("the tables are those that the stages made", not wrong, ", ".join(wrong))]
    if "claims" in built:
        claims = read_claims(places.claims_csv) if places.claims_csv.is_file() else tables.empty("claims")
        queries = build_queries(claims[claims["selected"].astype(bool)])
        again = {"claims": claims, "queries": queries}
        differ = [
            name
            for name, rows in again.items()
            if not tables.conform(rows, name).equals(tables.conform(built[name], name))
        ]
        checks.append(Check("claims and queries are those of the claim list", not differ, ", ".join(differ)))
    return checks


def _check_sample(
    frozen: pd.DataFrame, built: Mapping[str, pd.DataFrame], settings: Settings, manifest: Manifest
) -> list[Check]:
    """Check the sampling: each item's permanent random number against its probability, and the repeated draw."""
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
        Check(
            "each sampled item's permanent random number is below its inclusion probability",
            not lucky,
            ", ".join(lucky[:5]),
        ),
        Check("the audited items are those whose keyed number says so", not unlike, ", ".join(unlike[:5])),
    ]
    what = "the sample is the one that the items and the seed give"
    divided = settings.sampling.strata_by or settings.annotation.audits_times
    if manifest.purged or divided or not {"items", "sample"} <= set(built):
        why = "posts were purged" if manifest.purged else "strata, checks by time, or no tables of the build"
        return [*checks, Check(what, passed=True, detail=f"not compared: {why}")]
    # A ranked post's probability follows from its rank, which is not in the package; draw the others as if without ranks.
    told, items = built["sample"], built["items"]
    by_rank = set(items.loc[items["kind"] == RANKED, "item_id"])
    by_rank |= set(counted.loc[counted["kind"] == RANKED, "item_id"]) - set(items["item_id"])
    told, items, counted = (frame[~frame["item_id"].isin(by_rank)] for frame in (told, items, counted))
    told = told.set_index("item_id").sort_index()
    again = draw.sample(
        items,
        counted,
        settings.sampling,
        settings.labels,
        seed=seed,
        audit=audit,
        audit_per_part=settings.annotation.audit_per_part,
        audit_by=settings.annotation.audit_by,
    )
    drawn = again.sample.set_index("item_id").sort_index()
    columns = ["claim_id", "kind", "p_sample", "audited", "automatic_label"]
    same = drawn.index.equals(told.index) and all(
        drawn[name].fillna("").tolist() == told[name].fillna("").tolist() for name in columns
    )
    ranked = len(built["sample"]) - len(told)
    left_out = f"; {ranked:,} ranked ones not compared" if ranked else ""
    return [*checks, Check(what, same, f"{len(told):,} items{left_out}")]


def _check_people(release: Path, corpus: pd.DataFrame, now: Newest, facts: ReleaseFacts) -> list[Check]:
    """Check the labels of single people against the rounds; their codes are drawn for each release."""
    if facts.version in EARLIER:
        return []
    told = PEOPLE.read(release)
    labels, _ = current_labels(now)
    wanted = labels_of_people(labels, corpus, secret="")
    same_labels = facts.release.individual_labels if told is not None else not facts.release.individual_labels
    if told is not None and same_labels:
        same_labels = by_person(told) == by_person(wanted)
    return [Check("annotations.csv has what the rounds have", same_labels)]


IN_WEIGHTS = {"design": "design", "rule": "automatic_label", "p_audit": "p_audit"}
"""Columns of replicate_weights.csv before covmis 0.3, and the corpus's column that has the same now."""


def _check_beside(
    release: Path,
    corpus: pd.DataFrame,
    as_sampled: pd.DataFrame,
    built: Mapping[str, pd.DataFrame],
    today: Settings,
    governed: Settings,
    figures: Estimates | None,
) -> list[Check]:
    """Rebuild splits, weights and queries from the package, and compare with the release's files."""
    beside: dict[str, pd.DataFrame | None] = {}
    beside[WEIGHTS], beside[PAIRS] = weights_of(
        corpus,
        built.get("items"),
        governed.sampling,
        corpus[["item_id"]] if figures is None else figures.weights,
    )
    weights = beside[WEIGHTS]
    if weights is not None and corpus["automatic_label"].isna().all():
        usual = as_sampled.assign(design=as_sampled["design"].replace("", governed.sampling.design))
        told = {name: usual[column].to_numpy() for name, column in IN_WEIGHTS.items()}
        beside[WEIGHTS] = weights.assign(**told)
    if "claims" in built:
        beside[MISINFORMATION] = misinformation(built["claims"], corpus)
    divided = read_cells(release / f"{SPLITS}.csv")
    asked = today.release.splits
    if divided is not None and len(divided) == len(corpus) and asked:
        scheme = "chronological" if asked.scheme == "chronological" else "grouped"
        beside[SPLITS] = release_splits(
            corpus,
            scheme=scheme,
            owners=divided["group"].tolist(),
            texts=None,
            similarity=0.0,
            seed=today.seed,
            fractions=asked.fractions,
        )
    return [
        Check(f"{name}.csv is what the bundle gives", _same_table(read_cells(release / f"{name}.csv"), rows))
        for name, rows in beside.items()
    ]


def _same_table(told: pd.DataFrame | None, rows: pd.DataFrame | None) -> bool:
    """True if columns and cells are equal, numbers to nine digits. Two missing tables are equal."""
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


def _settings(facts: ReleaseFacts, settings: Settings) -> Check:
    """Check the card's settings against those used for the rounds."""
    governed = {"labels": settings.labels, "cleaning": settings.cleaning, "sampling": settings.sampling}
    differ = [name for name, options in governed.items() if getattr(facts, name) != options]
    return Check("the card's settings are those of its rounds", not differ, ", ".join(differ))


def _seals_of(rounds: Sequence[RoundFolder], authorities: Path | None) -> list[Check]:
    """Return the chained seals of these rounds, and when they were stamped."""
    return [
        Check(
            f"round {round_.round} is as it was sealed"
            if round_.sealed
            else f"round {round_.round} (not sealed)",
            round_.stands or not round_.sealed,
            ", ".join(round_.changed) or (f"stamped {round_.stamped}" if round_.stamped else ""),
        )
        for round_ in verify_chain(rounds, authorities)
    ]
