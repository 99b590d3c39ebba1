"""Release a study. This module calls the others in order and computes nothing itself."""

from __future__ import annotations

import datetime as dt
import platform
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covmis_build import __version__, anchors
from covmis_build.anchors import OF_ROOT
from covmis_build.annotation import round_folder
from covmis_build.annotation.newest import later_rounds
from covmis_build.annotation.report_files import renew_summary
from covmis_build.corpus import bundle as bundles
from covmis_build.corpus import release_facts, signature
from covmis_build.corpus.card_sections import WISHED
from covmis_build.corpus.deposit import make_deposit
from covmis_build.corpus.phrases import listed
from covmis_build.corpus.publish import BUNDLE, write_release
from covmis_build.corpus.release import left_out, with_weights
from covmis_build.corpus.release_facts import ReleaseFacts, StageFacts
from covmis_build.engine import silent
from covmis_build.errors import InputError
from covmis_build.options import is_machine
from covmis_build.places import FACTS as RELEASE_FACTS
from covmis_build.report.result import Result
from covmis_build.sampling.audit import sentences as audit_sentences
from covmis_build.study.beside import beside_corpus
from covmis_build.study.estimate import as_drawn, design_of_frame, figures_of, provisional
from covmis_build.study.population import Population, frame_of, pool_of
from covmis_build.study.recall_report import recall_sentences
from covmis_build.study.release_age import built_tables, data_statement_of, licence_text
from covmis_build.study.released import content, corpus_of, counted_facts
from covmis_build.study.round_settings import placeless, settings_of_rounds
from covmis_build.study.wordings import in_words, reworded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from covmis_build.annotation.label_sets import LabelSets
    from covmis_build.annotation.newest import Newest
    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.corpus.release import LeftOut
    from covmis_build.corpus.release_facts import Difference
    from covmis_build.corpus.reworded import Reworded
    from covmis_build.engine import Progress
    from covmis_build.options import Release
    from covmis_build.places import Places
    from covmis_build.report.summary import Summary
    from covmis_build.study.of_study import OfStudy

TEXT_WARNING = (
    "this release contains posts' texts. Platforms' terms mostly forbid passing them on, and what authors delete must "
    "disappear: publish ids, and keep texts to yourself, unless you know that you may."
)
MADE_WITH = ("duckdb", "numpy", "pandas", "pyarrow", "scikit-learn")
"""Libraries whose versions a package records, besides Python and covmis."""


@dataclass(frozen=True, slots=True, repr=False)
class Released(Result):
    """The content of a release, with warnings for its publisher."""

    places: Places
    folder: Path
    rows: int
    claims: int
    text: bool
    left_out: Mapping[LeftOut, int]
    differences: Sequence[Difference]
    bundle: Path | None = None
    deposit: Path | None = None
    unstated: Sequence[str] = ()
    """Empty settings of [release] that the card needs."""
    reworded: Sequence[Reworded] = ()
    """Claims whose text was changed after people judged posts by it."""
    provisional: Sequence[str] = ()
    """Rounds with posts without final label, and claims with posts that no draw could reach."""

    def __fspath__(self) -> str:
        """Its folder, so that a release can be passed on as a path."""
        return str(self.folder)

    def to_dict(self) -> dict[str, Any]:
        """As `covmis release --json` prints it."""
        named = self.places.relative
        return {
            "folder": named(self.folder),
            "rows": self.rows,
            "claims": self.claims,
            "text": self.text,
            "left_out": {why.replace(" ", "_"): count for why, count in self.left_out.items()},
            "differences": [asdict(difference) for difference in self.differences],
            "reworded": [asdict(claim) for claim in self.reworded],
            "bundle": named(self.bundle) if self.bundle else None,
        }

    @property
    def summary(self) -> Summary:
        """Return what was written, and what to read."""
        named = self.places.relative
        where = f" in {named(self.folder)}/"
        upload = named(self.deposit) if self.deposit else ""
        return [
            content(self.rows, self.claims, text=self.text, left_out=self.left_out, where=where),
            f"Read {named(self.folder)}/card.html; methods.md has two paragraphs for a paper.",
            *(
                [f"The card still lacks {listed(self.unstated)}: set them under [release] in study.toml."]
                if self.unstated
                else []
            ),
            *([f"Bundle for a rebuild: {named(self.bundle)}."] if self.bundle else []),
            *(
                [f"To upload: {upload}/upload; {upload}/CHECKLIST.md lists what is missing."]
                if upload
                else []
            ),
        ]

    @property
    def warnings(self) -> list[str]:
        """Return what to check before publication."""
        told = [
            f"{difference}; the card tells of the settings that governed the data"
            for difference in self.differences
        ]
        return [*([TEXT_WARNING] if self.text else []), *told, *in_words(self.reworded), *self.provisional]


def release(
    study: OfStudy,
    *,
    text: bool | None = None,
    bundle: bool = False,
    deposit: bool = False,
    sign: Path | str | None = None,
    anchor: str = "",
    run: bool = False,
    progress: Progress = silent,
) -> Released:
    """Write data/release from the frozen and decided rounds.

    Gold and items come from the rounds. The card's flow comes from data/build, which must be current if it exists.
    """
    if not round_folder.all_rounds(study.places.rounds):
        raise InputError(
            "no round has been opened yet",
            remedy="`covmis round open` opens one; `covmis status` names the next step",
        )
    if run or study.places.table("sample").exists():
        study.need_current(run=run, progress=progress)
    options = study.settings.release if text is None else replace(study.settings.release, text=text)
    with study.locked_rounds("covmis release"):
        rounds = round_folder.all_rounds(study.places.rounds)
        changes = study.settings.labels.changes
        corpus, gold, frozen, purged, now = corpus_of(study, rounds, options)
        if corpus.empty:
            raise InputError(
                "no post has a final label yet, so that there is nothing to release",
                remedy="`covmis round status` shows what is missing",
            )
        annotation = study.settings.annotation
        renew_summary(
            study.places.rounds,
            changes,
            study=study.settings.title,
            per_item=annotation.per_item,
            target=annotation.target,
        )
        missing = left_out(gold, frozen, purged)
        settings, _ = settings_of_rounds(study.settings, rounds)
        frame = frame_of(
            Population.TODAY, as_drawn(corpus, frozen), frozen, pool_of(study), rounds, study.places
        )
        figures = figures_of(study.places.rounds, rounds, frame, settings)
        corpus = with_weights(corpus, frame.labelled, figures.weights)
        facts = _facts(study, rounds, corpus, gold, missing, options)
        sentences = tuple(audit_sentences(figures.audit))
        facts = replace(
            facts,
            audit=replace(facts.audit, sentences=sentences),
            label_sets=label_sets_of(now.sets),
            relabelled=relabelled_in(now),
            label_notes=figures.label_notes,
            population=frame.sentences,
        )
        drawn = design_of_frame(frame, rounds, settings.sampling, study.places.rounds)
        beside, parts = beside_corpus(study, now, corpus, frozen, facts.sampling, figures.weights, drawn)
        texts = frozen.drop_duplicates("item_id").set_index("item_id")["text"]
        wanted = partial(_bundle, study, rounds, corpus, purged) if bundle else None
        facts = replace(facts, parts=parts)
        facts = replace(facts, date=_day(study.places.release, facts))
        write_release(
            study.places.release, corpus, facts, texts, beside, bundle=wanted, shares=figures.shares
        )
        if sign is not None:
            signature.sign(study.places.release, Path(sign))
        if anchor:
            root = release_facts.from_json((study.places.release / RELEASE_FACTS).read_bytes()).root
            anchors.stamp(study.places.release / OF_ROOT, root, anchor)
        upload = make_deposit(study.places.release, study.places.deposit) if deposit else None
    return Released(
        study.places,
        study.places.release,
        len(corpus),
        corpus["claim_id"].nunique(),
        options.text,
        missing,
        facts.differences,
        study.places.release / BUNDLE if bundle else None,
        upload,
        [name.replace("_", " ") for name in WISHED if not getattr(options, name)],
        facts.reworded,
        [*provisional(rounds), *frame.notes],
    )


def _day(folder: Path, facts: ReleaseFacts) -> str:
    """Return the day of the release that is there if it states the same: its root hash may be printed already."""
    try:
        there = (folder / RELEASE_FACTS).read_bytes()
        before, same = release_facts.from_json(there).date, release_facts.without_root(there)
    except (OSError, ValueError):
        return facts.date
    return before if same == release_facts.without_root(release_facts.to_json(facts).encode()) else facts.date


def label_sets_of(sets: LabelSets) -> dict[str, dict[str, str]]:
    """Return the corpus's label for each round's labels; nothing if all rounds have the same."""
    if sets.same:
        return {}
    return {
        number: {label: name for each in used for label, name in sets.mapping(each).items()}
        for number, used in sets.used.items()
    }


def relabelled_in(now: Newest) -> dict[str, int]:
    """Return how many posts of each round were labelled again under later labels."""
    return {each.round: sum(each.again.values()) for each in now.rounds if each.again}


def _facts(
    study: OfStudy,
    rounds: Sequence[RoundFolder],
    corpus: pd.DataFrame,
    gold: pd.DataFrame,
    missing: Mapping[LeftOut, int],
    options: Release,
) -> ReleaseFacts:
    """Return what card and methods state beyond the corpus. The settings are those that were used for the data."""
    settings, differences = settings_of_rounds(study.settings, rounds)
    labels = [round_.labels() for round_ in rounds if not round_.pilot]
    annotators = {code for rows in labels for code in rows.loc[rows["phase"] == "independent", "annotator"]}
    people = {code for code in annotators if not is_machine(code)}
    return ReleaseFacts(
        title=study.settings.title,
        date=dt.datetime.now(dt.UTC).strftime("%Y-%m-%d"),
        version=__version__,
        release=options,
        labels=settings.labels,
        # paths on this machine are private
        retrieval=replace(settings.retrieval, archive=(), ranked=placeless(settings.retrieval.ranked)),
        cleaning=settings.cleaning,
        sampling=settings.sampling,
        annotation=replace(settings.annotation, annotators=(), label_studio_url=""),
        differences=differences,
        reworded=reworded(study.places, rounds),
        **counted_facts(study.places, rounds),
        left_out=missing,
        audit=release_facts.audit_counts(corpus),
        platforms=release_facts.platform_counts(corpus),
        made_ids=release_facts.count_made_ids(corpus),
        period=release_facts.period(corpus),
        annotators=len(people) or len(settings.annotation.people),
        machines=tuple(sorted(annotators - people)),
        data_statement=data_statement_of(study, options.data_statement),
        licence_text=licence_text(study, options.licence),
        stages=[StageFacts(*stage) for stage in built_tables(study)],
        recall=recall_sentences(_recall_rounds(study.places.rounds), gold, settings.labels, study.places),
    )


def _recall_rounds(rounds: Path) -> list[RoundFolder]:
    return round_folder.rounds_of_kind(rounds, round_folder.RoundKind.RECALL)


def _bundle(
    study: OfStudy,
    rounds: Sequence[RoundFolder],
    corpus: pd.DataFrame,
    purged: frozenset[str],
    facts: bytes,
    hashes: dict[str, str],
) -> tuple[bytes, str]:
    """Build the study's package and its root hash. `hashes` are those of the release's data files."""
    places = study.places
    asked = [*rounds, *_recall_rounds(places.rounds), *later_rounds(rounds)]
    frozen = {round_.folder.relative_to(places.folder).as_posix(): round_.items() for round_ in asked}
    versions = {"covmis": __version__, "python": platform.python_version()}
    versions |= {name: version(name) for name in MADE_WITH}
    current = bundles.TABLES if places.table("sample").exists() else ()
    built = {name: places.table(name) for name in current}
    records = {
        place: bundles.RoundTables(frozen[place], round_.labels(), round_.decisions())
        for place, round_ in zip(frozen, asked, strict=True)
    }
    files = bundles.bundle_files(places.folder, study.settings, built, records, corpus, facts)
    return bundles.make_bundle(
        files,
        release=hashes,
        rows=len(corpus),
        purged=bundles.purged_posts(frozen, purged),
        versions=versions,
    )
