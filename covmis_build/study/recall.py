"""Estimate the recall of a study's queries: a sampling frame of the most similar posts, a draw of pairs to label, a report.

Matched and missed posts are labelled in one round, so that annotators cannot distinguish them.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import pandas as pd

from covmis_build import storage, tables
from covmis_build.annotation import round_folder as record
from covmis_build.annotation.frozen_items import freeze
from covmis_build.annotation.gold import gold_of
from covmis_build.annotation.relevance import GUIDELINE, YES, relevance_scheme
from covmis_build.annotation.round_folder import RoundKind
from covmis_build.building.nearest import nearest
from covmis_build.engine import open_engine, silent
from covmis_build.errors import InputError
from covmis_build.estimation.recall_frame import RecallFrame, pairs_of
from covmis_build.estimation.recall_report import FrameFacts, RecallReport
from covmis_build.operations import About
from covmis_build.options import RANKED
from covmis_build.queries.suggest import READ
from covmis_build.ranking.guide import Guide, fit
from covmis_build.ranking.rank import FIRST
from covmis_build.report.result import Result
from covmis_build.study.intents import intent
from covmis_build.study.open_round import opened_before
from covmis_build.study.recall_report import facts_of, report_of_rounds, same_family
from covmis_build.study.round import Round
from covmis_build.study.round_settings import settings_of_rounds, settings_of_tables

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.engine import Progress
    from covmis_build.operations import Level, Rebuild
    from covmis_build.options import Labels
    from covmis_build.places import Places
    from covmis_build.report.summary import Summary
    from covmis_build.study.missed_posts import MissedPosts
    from covmis_build.study.of_study import OfStudy

DEPTH = 50
LABELS = 400
UNKNOWN = dict.fromkeys(("relevant", "recall", "low", "high"), math.nan)
"""What can be expected of a draw before there are enough labels for a score."""


@dataclass(frozen=True, slots=True, repr=False)
class Plan(Result):
    """A sampling frame, and the expected precision of draws from it."""

    facts: FrameFacts
    largest_weight: float
    guide: Guide
    draws: pd.DataFrame
    """One row per number of labels: expected relevant pairs and recall precision, if the initial scores are right."""
    warnings: tuple[str, ...]

    @property
    def summary(self) -> Summary:
        """Describe the frame and the draw, with a table of draws if anything can be expected."""
        facts, weight = self.facts, ""
        if not math.isnan(self.largest_weight):
            weight = f" One relevant post that is drawn may stand for up to {self.largest_weight:,.0f}."
        parts: list[str | pd.DataFrame] = [
            (
                f"The frame: {facts.in_words}: {facts.pairs_found:,} pairs of a claim and a post that a query finds, "
                f"{facts.pairs_missed:,} that none finds; {facts.beyond:,} lie beyond it."
            ),
            (
                f"The sample: {facts.labels:,.0f} pairs that no query found and {facts.labels_found:,.0f} others, "
                f"mixed; each yes goes to a second person.{weight}"
            ),
            self.guide.sentence,
        ]
        if self.draws["recall"].notna().any():
            parts += [
                "Expected precision, if missed posts are like found ones (usually they are rarer and intervals are wider):",
                self.draws,
            ]
        return parts

    def to_frame(self) -> pd.DataFrame:
        """Return the draws."""
        return self.draws

    def to_dict(self) -> dict[str, Any]:
        """As `covmis recall plan --json` prints it."""
        return {
            "frame": {**asdict(self.facts), "in_words": self.facts.in_words},
            "largest_weight": self.largest_weight,
            "draws": self.draws,
            "sentences": self.sentences,
        }


Labelled = Annotated[int, About("Number of posts to label that no query found.", at_least=1)]
LabelledFound = Annotated[
    int | None,
    About(
        "Number of posts to label that queries found (default: a quarter as many).",
        flag="--found",
        at_least=1,
    ),
]
Depth = Annotated[int, About("Number of most similar posts per claim that no query found.", at_least=1)]
Model = Annotated[
    str, About("Sentence model that re-ranks BM25's results (extra: models).", metavar="FOLDER|NAME")
]


@dataclass(frozen=True, repr=False)
class RecallWithMissed(Result):
    """The report, and what missed posts share; `page` if they were written to one."""

    report: RecallReport
    missed: MissedPosts
    in_words: bool
    page: str = ""

    @property
    def summary(self) -> Summary:
        """Return the report, then what missed posts share."""
        wrote = [f"Wrote {self.page}."] if self.page else []
        return [*self.report.summary, *(["", *self.missed.summary] if self.in_words else []), *wrote]

    def to_dict(self) -> dict[str, Any]:
        """As `covmis recall report --json` prints it."""
        page = {"page": self.page} if self.page else {}
        return self.report.to_dict() | {"missed": self.missed.to_dict()} | page


class _Ranked(NamedTuple):
    """A frame, the scores of its pairs, and what to warn of."""

    frame: RecallFrame
    guide: Guide
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Recall:
    """Recall of a study's queries: plan, draw, report."""

    study: OfStudy

    def plan(
        self,
        *,
        labels: Labelled = LABELS,
        labels_found: LabelledFound = None,
        depth: Depth = DEPTH,
        model: Model = "",
        run: Rebuild = False,
        progress: Progress = silent,
    ) -> Plan:
        """Preview the sampling frame and expected precision.

        Samples nothing. The frame contains the posts that a query found and, for each claim, the most similar other posts.

        Example: covmis recall plan --labels 400 --model ./all-MiniLM-L6-v2
        """
        self.study.need_current(run=run, progress=progress)
        frame, guide, warnings = self._frame(labels, depth, model, progress)
        rows = []
        for count in (labels // 2, labels, 2 * labels):
            tried = frame.drawn(count, _found_labels(count, labels_found))
            rows.append(
                {"labels": round(tried.facts.labels), **(tried.expected() if guide.coefficients else UNKNOWN)}
            )
        chosen = frame.drawn(labels, _found_labels(labels, labels_found))
        return Plan(chosen.facts, chosen.largest_weight, guide, pd.DataFrame(rows), warnings)

    def draw(
        self,
        *,
        labels: Labelled = LABELS,
        labels_found: LabelledFound = None,
        depth: Depth = DEPTH,
        model: Model = "",
        learn: Annotated[bool, About("Add --labels pairs, using all labels so far (adaptive).")] = False,
        run: Rebuild = False,
        progress: Progress = silent,
    ) -> Round:
        """Sample claim–post pairs for a recall round.

        Annotators answer whether the post is about the claim. Every pair has a known probability, which is higher for pairs that
        look relevant. A second draw with more --labels adds to the earlier round; with as many it changes nothing.

        Example: covmis recall draw --labels 400
        """
        study = self.study
        study.need_current(run=run, progress=progress)
        options = study.settings.annotation
        if len(options.people) < 2:
            raise InputError(
                "every yes of a recall round is read by a second person, and [annotation] annotators has one",
                remedy="Name another",
            )
        frame = self._frame(labels, depth, model, progress).frame
        posts = self._posts_of(frame.pairs[~frame.pairs["found"]], progress)
        there = frame.pairs["found"] | frame.pairs["item_id"].isin(posts["item_id"])
        frame = replace(frame, pairs=frame.pairs[there].reset_index(drop=True)).with_family()
        with study.locked_rounds("covmis recall draw"):
            built = storage.sha256_of(study.places.table("hits"))
            asked = intent(study.places, "recall draw", labels, labels_found, depth, model, learn, built)
            if drawn_before := opened_before(study, asked, RoundKind.RECALL):
                return drawn_before
            rounds = same_family(self._rounds(), frame.facts.family)
            found_labels = _found_labels(labels, labels_found)
            if learn and not rounds:
                raise InputError(
                    "there is no earlier draw from this frame to learn from",
                    remedy="Draw without learn (--learn) first",
                )
            before = {item for folder in rounds for item in folder.items()["item_id"]}
            if learn:
                frame = frame.learned(labels, rounds[-1].frame(), before)
            elif rounds and facts_of(rounds[-1]).learned:
                raise InputError(
                    f"the chances of round {rounds[-1].number} have learned from labels: more cannot be drawn from this frame "
                    "as if they had not",
                    remedy="Draw with learn (--learn)",
                )
            else:
                if rounds:
                    frame = frame.guessed_as(rounds[0].frame())
                frame = frame.drawn(labels, found_labels).at_least([folder.frame() for folder in rounds])
            chosen = frame.chosen(study.settings.seed)
            chosen = chosen[~chosen["item_id"].isin(before)]
            if chosen.empty and rounds:  # nothing that this call asks for is missing
                return Round(study, rounds[-1].folder, done_before=True)
            if chosen.empty:
                raise InputError(
                    "there is nothing to draw from: no query finds a post, and no post shares a word with a claim",
                    remedy="Look at the archive with `covmis posts look`",
                )
            number = record.next_number(study.places.rounds, RoundKind.RECALL)
            frozen = self._frozen(chosen, posts, number)
            home = RoundKind.RECALL.folder(study.places.rounds)
            round_ = Round(study, home / number)
            with asked.making(number, round_.is_opened):
                storage.write_table(home / number / record.FRAME, frame.pairs, "frame")
                record.create(
                    home,
                    frozen,
                    replace(options, annotators=options.people, per_item=1),
                    relevance_scheme(study.settings.labels),
                    GUIDELINE,
                    now=storage.moment(),
                    settings=settings_of_tables(study.places, study.settings),
                    frame=asdict(frame.facts),
                )
        return round_

    def report(
        self,
        *,
        level: Level = 0.95,
        queries: Annotated[bool, About("Also show what missed posts share, and propose queries.")] = False,
        html: Annotated[bool, About("Also write a page with missed posts and their claims.")] = False,
        progress: Progress = silent,
    ) -> RecallReport | RecallWithMissed:
        """Estimate recall and suggest better queries.

        Describes the sampling frame only; for posts outside it, gives an upper bound.

        Example: covmis recall report --queries
        """
        study = self.study
        report = report_of_rounds(
            self._drawn_rounds(), study.gold(), self._labels(), self._places_of_today(), level=level
        )
        if not (queries or html):
            return report
        missed = self.missed(progress=progress)
        page = study.places.relative(self.write_page(report, missed)) if html else ""
        return RecallWithMissed(report, missed, queries, page)

    def missed(self, *, read: Sequence[int] = READ, progress: Progress = silent) -> MissedPosts:
        """Analyse relevant posts that no query matches, and suggest queries for them."""
        from covmis_build.study.missed_posts import missed_posts

        return missed_posts(self.study, self._drawn_rounds(), read=read, progress=progress)

    def write_page(self, report: RecallReport, missed: MissedPosts) -> Path:
        """Write both to the page data/build/recall.html, with texts of missed posts. Returns its path."""
        from covmis_build.study.missed_posts import write_recall_page

        return write_recall_page(self.study, report, missed)

    def _places_of_today(self) -> Places | None:
        """Return the tables of today's queries; None if these have not been run, or cannot be: rounds came without an archive."""
        try:
            return self.study.places if self.study.stages()["retrieve"] else None
        except InputError:
            return None

    @property
    def rounds(self) -> list[str]:
        """The numbers of the rounds that were drawn."""
        return [round_.number for round_ in self._rounds()]

    def _drawn_rounds(self) -> list[RoundFolder]:
        rounds = self._rounds()
        if not rounds:
            raise InputError(
                "no recall round has been drawn yet", remedy="Draw one with `covmis recall draw`"
            )
        return rounds

    def _rounds(self) -> list[RoundFolder]:
        return record.rounds_of_kind(self.study.places.rounds, RoundKind.RECALL)

    def _frame(self, labels: int, depth: int, model: str, progress: Progress) -> _Ranked:
        study = self.study
        if depth < 1:
            raise InputError(f"depth = {depth} leaves nothing to look at", remedy="50 is usual")
        if labels < 1:
            raise InputError(f"labels = {labels} asks for nothing", remedy="400 is usual")
        claims = study.claims[study.claims["selected"].astype(bool)]
        hits = storage.read_columns(study.places.table("hits"), ["claim_id", "post_id", "kind"])
        hits = hits[hits["kind"] != RANKED]
        found = (
            hits.groupby(["claim_id", "post_id"])["kind"].agg(lambda kinds: sorted(set(kinds))).reset_index()
        )
        with study.words(progress) as index:
            size = index.size
            numbers = pd.Series(index.posts.numbers(found["post_id"]), found["claim_id"])
            known = {str(claim): rows.to_numpy() for claim, rows in numbers.groupby(level=0)}
            ranking = nearest(
                index,
                claims,
                study.places,
                found=known,
                first=max(FIRST, depth),
                model=model,
                progress=progress,
            )
        guide = fit(ranking.posts, self._known())
        ranked = ranking.posts.assign(guess=guide.guess(ranking.posts))
        facts = FrameFacts(
            ranked_by=ranking.name,
            version=ranking.version,
            depth=depth,
            claims=len(claims),
            posts_in_archive=size,
            pairs_found=0,
            pairs_missed=0,
            guide_labels=guide.labels,
            family="",
        )
        frame = RecallFrame(pairs_of(found, ranked, depth), facts).with_family()
        return _Ranked(frame, guide, tuple(ranking.warnings))

    def _known(self) -> dict[str, bool]:
        """Return known labels of items: a stance or a "yes" means that the post is about the claim."""
        gold, poles = self.study.gold(), set(self._labels().poles)
        known = dict(zip(gold["item_id"], gold["label"].isin(poles), strict=True)) if poles else {}
        answers = gold_of(self._rounds())
        known |= dict(zip(answers["item_id"], answers["label"] == YES, strict=True))
        return {str(item): bool(yes) for item, yes in known.items()}

    def _labels(self) -> Labels:
        """Return the labels of gold: those that the rounds have in common."""
        rounds = record.all_rounds(self.study.places.rounds)
        return settings_of_rounds(self.study.settings, rounds)[0].labels

    def _posts_of(self, pairs: pd.DataFrame, progress: Progress) -> pd.DataFrame:
        """Return the posts of these pairs as `covmis run` would import them, one row per pair, without dropped posts."""
        from covmis_build.building.store import store_of
        from covmis_build.matching.stage import retrieve

        study, scratch = self.study, self.study.places.scratch
        with study.locked(study.places.build, "covmis recall draw"):
            with open_engine(scratch=scratch) as engine:
                retrieved = retrieve(
                    engine,
                    store_of(study.places, engine),
                    tables.empty("queries"),
                    study.settings.retrieval,
                    progress=progress,
                    given=pairs[["claim_id", "post_id"]],
                )
                posts, hits = retrieved.posts.to_pandas(), retrieved.hits.to_pandas()
            storage.remove(scratch)  # including leftovers of an interrupted command
        kept = pairs[["item_id", "claim_id", "post_id"]].merge(
            hits[["claim_id", "post_id"]].drop_duplicates()
        )
        return kept[["item_id", "post_id"]].merge(posts, on="post_id")

    def _frozen(self, chosen: pd.DataFrame, posts: pd.DataFrame, number: str) -> pd.DataFrame:
        study, options = self.study, self.study.settings.annotation
        every = pd.concat(
            [storage.read_table(study.places.table("posts"), "posts"), posts.drop(columns="item_id")]
        ).drop_duplicates("post_id")
        pairs = chosen.assign(
            kind=[kinds[0] if kinds else RANKED for kinds in chosen["kinds"]],
            draw=number,
            design="poisson",
            automatic_label="",
            audited=False,
            p_audit=0.0,
            p_claim=1.0,
            group=chosen["post_id"],
            group_size=1,
            other_claims=pd.Series([()] * len(chosen), chosen.index, dtype=object),
        )
        sample, items = (pairs.reindex(columns=tables.SCHEMAS[name].names) for name in ("sample", "items"))
        return freeze(
            sample,
            items,
            study.claims,
            every,
            [],
            replace(options, claims_per_round=len(study.claims)),
            relevance_scheme(study.settings.labels),
            seed=study.settings.seed,
            salt=secrets.token_hex(16),
            number=number,
        )


def _found_labels(labels: int, labels_found: int | None) -> int:
    return labels // 4 if labels_found is None else labels_found
