"""Estimate shares and totals of each label in the target population of a corpus, with intervals.

There are two estimands. `unique_posts`: each unique post counts once, with weight 1/(p_claim·p_sample). `posts`: unique posts
times the size of their near-duplicate cluster, assuming equal stance within a cluster. Both refer to the cleaned posts
that the queries matched. After a recall draw there is a third, `frame`: all relevant posts of its frame, matched or not,
before cleaning. None of them is public opinion.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from covmis_build.errors import InputError
from covmis_build.estimation import differences
from covmis_build.estimation.assisted import FEWEST_LABELS, assisted_estimate, deviations, strength
from covmis_build.estimation.checks import Checked, cells_of_claims, cells_within, checks_of, said_by_rules
from covmis_build.estimation.differences import Part
from covmis_build.estimation.from_values import times
from covmis_build.estimation.label_error import answered, between_people, over_people, own_shares
from covmis_build.estimation.methods import methods_sentences, parts_without_interval
from covmis_build.estimation.needed import check_corpus
from covmis_build.estimation.parts import in_part, names_of_parts
from covmis_build.estimation.post_strata import post_strata, strata_of_weights
from covmis_build.estimation.scopes import TIMES, Scope
from covmis_build.options import RANKED
from covmis_build.records import Estimand
from covmis_build.report.result import Result
from covmis_build.sampling import audit as audits
from covmis_build.sampling.inclusion import allocate
from covmis_build.sampling.strata import counts_of, strata_by, strata_of, stratum_of
from covmis_build.stats.intervals import effective
from covmis_build.stats.over_posts import (
    NOTHING_KNOWN,
    Design,
    Expected,
    Seen,
    expected_of,
    linear_estimate,
    made_design,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from covmis_build.estimation.recall_report import RecallReport
    from covmis_build.options import Sampling
    from covmis_build.stats.intervals import Estimate

    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]


COLUMNS = [
    "estimand", "scope", "name", "label", "share", "standard_error", "low", "high", "over", "effective_n", "flagged",
    "why", "design_effect", "n", "unweighted", "population", "total", "total_low", "total_high", "band_low", "band_high",
    "strength", "r_squared", "by_people", "by_people_low", "by_people_high", "by_people_over",
    "unlabelled", "lowest", "highest",
]  # fmt: skip
WEIGHTS = {Estimand.UNIQUE_POSTS: "weight", Estimand.POSTS: "weight_of_posts"}
"""The column of a corpus with the number of posts that an item represents."""
CELL_VARIANCES = {Estimand.UNIQUE_POSTS: "cell_variance", Estimand.POSTS: "cell_variance_of_posts"}
"""The column of replicate weights with the variance of the size of an item's cell."""
MOST_MERGED = 0.1
"""The largest share of posts of claims with too few labelled ones for which a figure over claims has an interval."""
TOO_FEW = "with fewer than two labelled posts: no interval is known"
LONE = 2.0
"""With fewer units that have a label its frequency is uncertain: the interval begins at the possible limit."""
CLOSE = 1e-9
"""Rounding error of such a number of units."""
SHOWN = (
    "estimand", "scope", "name", "label", "share", "low", "high", "unweighted", "effective_n", "n", "total",
)  # fmt: skip


SCOPES_IN_WORDS = "In the table, pool is all posts of all claims; average claim is the mean over claims, each with the same weight."


class Sample(NamedTuple):
    """How the labelled posts of an estimand were drawn and checked, and what is known of all its posts."""

    design: Design
    phase: Checked
    people: Floats
    """The probability that people label a post, once it is drawn."""
    expected: Expected


@dataclass(frozen=True, slots=True, repr=False)
class Estimates(Result):
    """Shares (COLUMNS), the audit of automatic labels, and sentences for a methods section."""

    shares: pd.DataFrame
    audit: pd.DataFrame
    methods: tuple[str, ...]
    """Sentences for a methods section."""
    level: float = 0.95
    population: str = ""
    """Whose shares these are: today's posts, or those of the draws."""
    warnings: tuple[str, ...] = ()
    claims: Mapping[str, str] = field(default_factory=dict)
    """The claims' texts, for a page."""
    differences: pd.DataFrame = field(default_factory=pd.DataFrame)
    """Compared shares, if requested (differences.COLUMNS)."""
    weights: pd.DataFrame = field(default_factory=pd.DataFrame)
    """For each item, how many unique posts (`weight`) and posts (`weight_of_posts`) it represents, and its cell of known size."""
    samples: Mapping[Estimand, Sample] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    """Files to which they were written."""
    label_notes: tuple[str, ...] = ()
    """How the labels of the study's rounds differ, and the shares of labels that only some rounds could give."""

    def with_frame(self, report: RecallReport) -> Estimates:
        """Add the third estimand: the labels of all relevant posts of the frame, matched or not."""
        stances = report.stances
        if stances.empty:
            return self
        rows = stances.rename(columns={"drawn": "n"}).assign(
            estimand=str(Estimand.FRAME),
            scope=str(Scope.POOL),
            name="",
            over="posts",
            flagged=False,
            population=stances["total"].sum(),
            unweighted=stances["drawn"] / stances["drawn"].sum(),
        )
        shares = pd.concat([self.shares, rows.reindex(columns=COLUMNS)], ignore_index=True)
        return replace(self, shares=shares, methods=(*self.methods, *report.sentences))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per estimand (unique_posts: near-duplicates once; posts: all posts), scope and label.

        `low` and `high` bound the share, `over` names the interval's population, `flagged` and `why` are warnings. `n` labelled
        posts, with an effective sample size of `effective_n`, represent `population` posts; `total` of these have the label.
        `unweighted` is the share in the sample. `band_low` and `band_high` bound all months simultaneously. `strength` (0 to 1)
        and `r_squared` show the gain from predictions; `by_people` is the share without them. `unlabelled` is the part of drawn posts
        without a label; whatever they are, the share is between `lowest` and `highest`, with the sampling error in addition.
        """
        return self.shares

    def html(self, title: str = "") -> str:
        """Return the page that `covmis estimate --out estimates.html` writes; `title` is the study's."""
        from covmis_build.estimation.page import estimates_page

        return estimates_page(self, title)

    def to_dict(self) -> dict[str, Any]:
        """What `covmis estimate --json` prints."""
        tables = {"estimates": self.shares, "differences": self.differences, "audit": self.audit}
        return {
            **tables,
            "sentences": list(self.methods),
            "warnings": list(self.warnings),
            "level": self.level,
            "population": self.population,
        }

    @property
    def summary(self) -> list[str | pd.DataFrame]:
        """Return the most important figures and the sentences."""
        compared = bool(len(self.differences))
        of_kinds = self.shares["scope"] == Scope.KIND
        told = self.shares[~of_kinds] if len(set(self.shares.loc[of_kinds, "name"])) == 1 else self.shares
        bounds = ["lowest", "highest"] if self.shares["unlabelled"].notna().any() else []
        table = self.differences.drop(columns=differences.NOT_SHOWN) if compared else told[[*SHOWN, *bounds]]
        shown = table.assign(estimand=[Estimand(name).in_words for name in table["estimand"]])
        shown = shown.rename(columns=lambda name: name.replace("_", " ")).rename(columns={"estimand": "of"})
        wrote = [f"Wrote {file}." for file in self.files]
        if compared:
            return [
                shown,
                "",
                *differences.sentences(self.differences, self.level),
                "",
                *self.methods,
                *wrote,
            ]
        return [shown, SCOPES_IN_WORDS, "", *self.methods, *self.without_interval, *wrote]

    @property
    def without_interval(self) -> list[str]:
        """Which parts, or labels of a part, have no interval or one of no width, and why."""
        return parts_without_interval(self.shares)


def estimates(  # noqa: PLR0913 - a sample, its pool, and what is known beside, by name
    corpus: pd.DataFrame,
    labels: Sequence[str],
    options: Sampling,
    *,
    automatic: Mapping[str, str] | None = None,
    pool: pd.DataFrame | None = None,
    predicted: pd.DataFrame | None = None,
    answers: pd.DataFrame | None = None,
    by: Sequence[str] = (Scope.CLAIM, Scope.KIND),
    draws: pd.DataFrame | None = None,
    between: tuple[Part, Part] | None = None,
    level: float = 0.95,
    apart: Collection[str] = (),
    stated: bool = True,
) -> Estimates:
    """Estimate the share and total of each label in the target population, for the mean over claims, and for each part of `by`.

    `by` may name claim, kind (query type), platform, year, month and day. `corpus` is the table of that name. Its optional column
    `design` is each item's sampling design (default: `options.design`), and `automatic_label` the automatic label. `automatic`
    maps query types to labels. `pool` are the items of the target population (table `items`, with `created_at` for time
    windows). With them the two-phase variance is exact, and totals are the known number times the share; without them totals
    have no interval. `predicted` has one row per item of the population (index item_id) and one column per label with predicted
    probabilities: shares are then model-assisted. `answers` (label_error.answers_table) are annotators' independent answers:
    the columns `by_people` then have shares with these in place of gold, and an interval that includes the annotators'
    variance. `calibrated` weights reproduce the known number of each query type (except within claims, which have too few
    items). `draws` is the ledger of draws, which lets the warnings consider all draws. `between` are two parts or two labels
    whose shares are compared (`differences.compared_parts`). `apart` are labels without shares: not all rounds could give them.
    `stated` says that `options` are those of the draws.
    """
    check_corpus(corpus, labels)
    labels = [label for label in labels if label not in apart]
    known = pool if pool is not None and set(corpus["item_id"]) <= set(pool["item_id"]) else None
    counts = {} if known is None else counts_of(known, _divided(known, options))
    design = design_of(corpus, options, counts)
    audit = audits.audit_of(corpus, automatic or {}, design.weights)
    if known is not None:
        known = with_chances(known, corpus, options, draws)
        known = known.assign(p_people=_chances_of_people(known, corpus, audit))
    parts = [(scope, names_of_parts(corpus, scope)) for scope in by]
    rows: list[dict[str, Any]] = []
    compared: list[dict[str, Any]] = []
    weights = pd.DataFrame({"item_id": corpus["item_id"]})
    audit_cells = cells_of_claims(audit, corpus["claim_id"].tolist())
    if audit.corrigible():
        weights["audit_cell"] = audit_cells
    people = np.where(np.isin(audit.groups, audit.corrigible()), audit.fractions, 1.0)
    samples = {}
    for estimand in (Estimand.UNIQUE_POSTS, Estimand.POSTS):
        source = _Source(corpus, known, predicted, design, estimand, answers)
        weights[WEIGHTS[estimand]] = source.design.weights * source.sizes
        if (strata := source.design.strata) is not None:
            weights["cell"] = np.array(strata.names)[strata.cells]
            weights[f"cell_variance{WEIGHTS[estimand].removeprefix('weight')}"] = strata.first_phase[
                strata.cells
            ]
        of_labels = {}
        omega = source.design.weights * source.sizes
        second = checks_of(audit, audit_cells, omega, design.chance)
        samples[estimand] = Sample(source.design, second, people, source.expected(Scope.POOL, ""))
        for label in labels:
            y = (audit.labels == label).astype(float)
            figures = _LabelFigures(
                source, label, y, audit, second, level, source.predictions(label), source.answered(label)
            )
            of_labels[label] = figures
            rows += [{"estimand": str(estimand), "label": label, **row} for row in figures.rows(parts)]
        if between is not None:
            compared += [{"estimand": str(estimand), **row} for row in _compared(of_labels, *between)]
    shares = pd.DataFrame(rows).reindex(columns=COLUMNS)
    checked = audit.table(level=level)
    said = methods_sentences(
        corpus,
        samples[Estimand.UNIQUE_POSTS].design,
        options,
        checked,
        shares,
        level,
        kept=known,
        stated=stated,
    )
    texts = {str(row.claim_id): str(row.claim) for row in corpus.itertuples()} if "claim" in corpus else {}
    different = pd.DataFrame(compared, columns=differences.COLUMNS)
    return Estimates(
        shares, checked, tuple(said), level, claims=texts, differences=different, weights=weights, samples=samples
    )  # fmt: skip


def _compared(figures: Mapping[str, _LabelFigures], first: Part, second: Part) -> Iterator[dict[str, Any]]:
    """Compare each label's share between two parts, or two labels' shares among all."""
    if first.scope == differences.LABEL:
        whole = Part(Scope.POOL, "")
        pairs = [("", (figures[first.name], whole), (figures[second.name], whole))]
    else:
        pairs = [(label, (of, first), (of, second)) for label, of in figures.items()]
    figured = []
    for _, *two in pairs:
        (left, z_one, later_one), (right, z_other, later_other) = (of.figure_of(part) for of, part in two)
        design = two[0][0].source.design
        covariance = (design.variance(z_one + z_other) - design.variance(z_one - z_other)) / 4
        covariance += float(np.sum(later_one * later_other))
        figured.append((left, right, covariance))
    for (label, *_), row in zip(pairs, differences.compared_together(figured), strict=True):
        yield {"label": label, "first": str(first), "second": str(second), **row}


def with_chances(
    pool: pd.DataFrame, corpus: pd.DataFrame, options: Sampling, draws: pd.DataFrame | None
) -> pd.DataFrame:
    """Add each population item's probability: of the opened draws, otherwise from the numbers of posts."""
    counts = counts_of(pool, _divided(pool, options))
    opened: dict[tuple[str, str], float] = {}
    own: dict[str, float] = {}
    if draws is not None:
        for row in draws.sort_values("probability").to_dict("records"):  # the largest comes last
            if row["item_id"]:
                own[row["item_id"]] = float(row["probability"])
            else:
                opened[str(row["claim_id"]), str(row["stratum"])] = float(row["probability"])
    planned = {
        (claim, name): float(allocation.chance(name))
        for claim, of in counts.items()
        for allocation in [allocate(of, options.per_kind, options.per_claim)]
        for name in allocation.counts
    }
    own |= dict(zip(corpus["item_id"], corpus["p_sample"].astype(float), strict=True))
    divided = _divided(pool, options)
    places = zip(pool["claim_id"].astype(str), strata_of(pool, divided), strict=True)
    chances = [
        own.get(item) or opened.get(place) or planned.get(place, 1.0)
        for item, place in zip(pool["item_id"], places, strict=True)
    ]
    return pool.assign(p_sample=chances)


def _chances_of_people(pool: pd.DataFrame, corpus: pd.DataFrame, audit: audits.Audit) -> Floats:
    """Return each population item's probability that people label it, once it is drawn: less than 1 where a rule is audited."""
    fractions = np.where(np.isin(audit.groups, audit.corrigible()), audit.fractions, 1.0)
    own = pd.Series(fractions, corpus["item_id"])
    of_kind = pd.Series(fractions).groupby(corpus["kind"].to_numpy()).mean()
    usual = pool["kind"].map(of_kind).fillna(1.0).to_numpy(float)
    return np.asarray(
        own.reindex(pool["item_id"]).fillna(pd.Series(usual, pool["item_id"])), dtype=np.float64
    )


def design_of(corpus: pd.DataFrame, options: Sampling, counts: Mapping[str, Mapping[str, int]]) -> Design:
    """Return the sampling design of the corpus, with exact joint probabilities if the counts explain its probabilities."""
    told = corpus["design"].fillna("") if "design" in corpus.columns else [""] * len(corpus)
    names = [name or options.design for name in told]
    p = corpus["p_sample"].to_numpy(dtype=float)
    return made_design(
        p,
        design=names,
        strata=corpus["claim_id"].to_numpy(dtype=object),
        joint=_joint(corpus, options, counts),
        first=corpus["p_claim"].to_numpy(dtype=float),
    )


def design_in_pool(corpus: pd.DataFrame, pool: pd.DataFrame | None, options: Sampling) -> Design:
    """Return the design given the target population, if known, with exact joint probabilities."""
    if pool is None or not set(corpus["item_id"]) <= set(pool["item_id"]):
        return design_of(corpus, options, {})
    known = pool[pool["claim_id"].isin(set(corpus["claim_id"]))].reset_index(drop=True)
    counts = counts_of(known, _divided(known, options))
    known = with_chances(known, corpus, options, None)
    design = design_of(corpus, options, counts)
    whole = {
        str(counted): _Source(corpus, known, None, design, counted).expected(Scope.POOL, "")
        for counted in (Estimand.UNIQUE_POSTS, Estimand.POSTS)
    }
    return replace(design, pool=whole)


def represented(
    drawn: pd.DataFrame,
    pool: pd.DataFrame | None,
    options: Sampling,
    draws: pd.DataFrame | None,
    estimand: Estimand,
) -> Floats:
    """Return how many unique posts or posts each drawn item represents, given the target population, if known."""
    known = pool if pool is not None and set(drawn["item_id"]) <= set(pool["item_id"]) else None
    if known is not None:
        known = with_chances(known, drawn, options, draws)
    source = _Source(drawn, known, None, design_of(drawn, options, {}), estimand)
    return source.design.weights * source.sizes


def pairs_drawn(items: Sequence[str], design: Design) -> pd.DataFrame:
    """Return item_id, with_item_id and p_both of pairs from fixed-size draws, if known."""
    rows = [
        (items[i], items[j], design.probabilities[i] * design.probabilities[j] / (1 + loose[a, b]))
        for at, loose in design.blocks
        if loose is not None
        for a, i in enumerate(at.tolist())
        for b, j in enumerate(at.tolist())
        if a < b
    ]
    return pd.DataFrame(rows, columns=["item_id", "with_item_id", "p_both"])


def _joint(
    corpus: pd.DataFrame, options: Sampling, counts: Mapping[str, Mapping[str, int]]
) -> dict[str, Floats]:
    """Return one matrix per claim whose complete draw is present with the probabilities that the counts give."""
    corpus = corpus[corpus["kind"] != RANKED]  # each sampled by its own probability
    divided = _divided(corpus, options)
    strata = [stratum_of(str(row.item_id), str(row.kind), divided) for row in corpus.itertuples()]
    matrices = {}
    for claim, rows in corpus.assign(stratum=strata).groupby("claim_id"):
        allocation = allocate(counts.get(str(claim), {}), options.per_kind, options.per_claim)
        names = rows["stratum"].tolist()
        if len(rows) != allocation.size or not set(names) <= allocation.counts.keys():
            continue
        chance = {name: float(allocation.chance(name)) for name in allocation.counts}
        if not np.allclose([chance[name] for name in names], rows["p_sample"].astype(float), atol=1e-9):
            continue
        pairs = {
            (name, other): float(allocation.together(name, other))
            for name in set(names)
            for other in set(names)
            if name != other or allocation.counts[name] > 1
        }
        matrices[str(claim)] = np.array([[pairs.get((a, b), 1.0) for b in names] for a in names])
    return matrices


def _divided(items: pd.DataFrame, options: Sampling) -> Mapping[str, str] | None:
    """Return the settings' strata within these items' query types; none without times."""
    told = options.strata_by and {"post_id", "created_at"} <= set(items.columns)
    return strata_by(items, items, options.strata_by) if told else None


def _sizes(items: pd.DataFrame, *, counted: bool) -> Floats:
    """Return how many posts each item stands for; two labelled items of one group of near-duplicates share it."""
    sizes = items["group_size"] if counted else pd.Series(1.0, items.index)
    if "group_items" in items.columns:
        sizes = sizes / items["group_items"].fillna(1)
    return np.asarray(sizes, dtype=np.float64)


class _Source:
    """The sample and its population for one estimand: sizes, shares, N and mean predictions of any part."""

    def __init__(
        self,
        corpus: pd.DataFrame,
        pool: pd.DataFrame | None,
        predicted: pd.DataFrame | None,
        design: Design,
        estimand: Estimand,
        answers: pd.DataFrame | None = None,
    ) -> None:
        self.corpus, self.pool, self.predicted, self.design = corpus, pool, predicted, design
        self.answers = answers
        self._parts: dict[Part, Mask] = {}
        self._expected: dict[Part, Expected] = {}
        counted = estimand == Estimand.POSTS
        self.sizes = _sizes(corpus, counted=counted)
        self.claims = np.unique(corpus["claim_id"].astype(str), return_inverse=True)
        if pool is not None:
            # A post matched for several claims also represents posts assigned to another one.
            self.pool_sizes = _sizes(pool, counted=counted)
            self.pool_weights = self.pool_sizes / pool["p_claim"].to_numpy(float)
            strata = post_strata(corpus, design.weights, self.sizes, pool, self.pool_sizes)
            self.design = replace(design, strata=strata)
        elif WEIGHTS[estimand] in corpus and corpus[WEIGHTS[estimand]].notna().all():
            known = corpus[WEIGHTS[estimand]].to_numpy(float)
            self.design = replace(
                design,
                strata=strata_of_weights(corpus, design.weights, self.sizes, known, CELL_VARIANCES[estimand]),
            )

    def population(self, scope: str, name: str) -> float:
        """Return the number of unique posts or posts in this part of the population; NaN if unknown."""
        return math.nan if self.pool is None else float(self.pool_weights[self._part(scope, name)].sum())

    def expected(self, scope: str, name: str) -> Expected:
        """Return this part's expected properties of the weights, including large clusters that were not sampled."""
        if (part := Part(scope, name)) not in self._expected:
            self._expected[part] = self._expected_of(scope, name)
        return self._expected[part]

    def _expected_of(self, scope: str, name: str) -> Expected:
        if self.pool is None:
            return NOTHING_KNOWN
        here, first = self._part(scope, name), self.pool["p_claim"].to_numpy(float)
        weights = self.pool_weights * here
        if scope == Scope.AVERAGE_CLAIM:
            claims, at = np.unique(self.pool["claim_id"].astype(str), return_inverse=True)
            whole = np.bincount(at, weights)[at] * len(claims)
        else:
            whole = np.full(len(weights), weights.sum())
        chances = self.pool["p_sample"].to_numpy(float) * first
        if "p_people" in self.pool:
            chances = chances * self.pool["p_people"].to_numpy(float)
        return expected_of(chances[here], (weights * first / whole)[here], first[here])

    def possible(self, scope: str, name: str, known: Mask, y: Floats) -> tuple[float, float] | None:
        """Return the possible range of the share in this part of the population, given the labels of `known` items."""
        if self.pool is None:
            return None
        whole = self._claim_sizes * len(self.claims[0])
        if scope != Scope.AVERAGE_CLAIM:
            whole = np.full(len(y), self._most(scope, name))
        own = np.divide(known * self._in_pool, whole, out=np.zeros(len(y)), where=whole > 0)
        return float(np.sum(own * y)), 1 - float(np.sum(own * (1 - y)))

    def _most(self, scope: str, name: str) -> float:
        """Return the maximum size of this part: posts matched for several claims may belong to another one."""
        here = self._part(scope, name)
        return float(np.where(here, self.pool_weights, self.pool_weights - self.pool_sizes).sum())

    @cached_property
    def _in_pool(self) -> Floats:
        """Return each sampled item's number of unique posts or posts in the population; 0 if it is no longer there."""
        assert self.pool is not None
        sizes = pd.Series(self.pool_sizes, index=self.pool["item_id"])
        return np.asarray(sizes.reindex(self.corpus["item_id"]).fillna(0.0), dtype=np.float64)

    @cached_property
    def _claim_sizes(self) -> Floats:
        """Return the maximum size of each sampled item's claim in the population."""
        claims, at = self.claims
        return np.array([self._most(Scope.CLAIM, claim) for claim in claims])[at]

    def predicted_mean(self, label: str, scope: str, name: str) -> float:
        """Return the mean prediction in this part of the population; with equal weight per claim for the mean over claims."""
        assert self.pool is not None
        assert self.predicted is not None
        f = self.predicted[label].reindex(self.pool["item_id"]).to_numpy(float)
        if scope == Scope.AVERAGE_CLAIM:
            claims = np.unique(self.pool["claim_id"].astype(str), return_inverse=True)[1]
            sums = np.bincount(claims, self.pool_weights * f) / np.bincount(claims, self.pool_weights)
            return float(sums.mean())
        here = self._part(scope, name)
        return float(np.average(f[here], weights=self.pool_weights[here]))

    def predictions(self, label: str) -> Floats | None:
        """Return the sample's predictions of this label, in order."""
        if self.predicted is None:
            return None
        return self.predicted[label].reindex(self.corpus["item_id"]).to_numpy(float)

    def answered(self, label: str) -> Floats | None:
        """Return the independent answers for the sample's items, in order."""
        return None if self.answers is None else answered(self.answers, self.corpus["item_id"], label)

    def _part(self, scope: str, name: str) -> Mask:
        assert self.pool is not None
        if scope in {Scope.POOL, Scope.AVERAGE_CLAIM}:
            return np.ones(len(self.pool), dtype=bool)
        if (part := Part(scope, name)) not in self._parts:
            self._parts[part] = in_part(self.pool, part)
        return self._parts[part]


@dataclass(frozen=True, slots=True)
class _LabelFigures:
    """One label's values, for sums over any part of the corpus."""

    source: _Source
    label: str
    y: Floats
    audit: audits.Audit
    second: Checked
    """The audit of automatic labels, in cells of claims."""
    level: float
    predictions: Floats | None
    people: Floats | None

    def figure_of(self, part: Part) -> tuple[Estimate, Floats, Floats]:
        """Return the share in this part, and each item's contribution to its deviation by the draw and by the audit."""
        here = np.ones(len(self.y), dtype=bool)
        if part.scope != Scope.POOL:
            here = in_part(self.source.corpus, part)
        if not here.any():
            raise InputError(
                f"no labelled item is in {part}", remedy="`covmis estimate --by` shows the parts there are"
            )
        figure, scale = self._share(part.scope, part.name, here, self.level, self.y), self._scale(here, None)
        phase, shares, rule = self._phase(part.scope, here), self._shares(scale), self._rule
        centre = self._centre(phase.values(self.y, rule), scale, None)
        z = phase.linear(self.y, rule, shares) / self.source.design.weights - centre * scale
        if figure.strength and self.predictions is not None:
            f = self.predictions
            z = z - figure.strength * deviations(f, self._centre(f, scale, None), scale)
        return figure, z, phase.later(self.y, rule, shares)

    def rows(self, parts: Sequence[tuple[str, NDArray[np.object_]]]) -> Iterator[dict[str, Any]]:
        """Return rows for the population, for the mean over claims, and for each part of the requested scopes."""
        everyone = np.ones(len(self.y), dtype=bool)
        yield self._row(Scope.POOL, "", everyone)
        yield self._row(Scope.AVERAGE_CLAIM, "", everyone)
        for scope, names in parts:
            known = sorted(set(names))
            # A time series is read as a whole: its intervals have this level simultaneously (Bonferroni).
            band = 1 - (1 - self.level) / len(known) if scope in TIMES else None
            for name in known:
                yield self._row(scope, str(name), np.equal(names, name).astype(bool), band)

    def _row(self, scope: str, name: str, here: Mask, band: float | None = None) -> dict[str, Any]:
        share = self._share(scope, name, here, self.level, self.y)
        row: dict[str, Any] = {
            "scope": str(scope),
            "name": name,
            "share": share.value,
            "standard_error": share.standard_error,
            "low": share.low,
            "high": share.high,
            "over": str(share.interval),
            "why": share.why,
            "effective_n": share.effective_n,
            "flagged": share.flagged,
            "design_effect": share.design_effect,
            "n": share.n,
            "unweighted": float((self.source.corpus["label"] == self.label).to_numpy()[here].mean()),
            "strength": share.strength,
            "r_squared": share.r_squared,
        }
        if band is not None:
            wide = self._share(scope, name, here, band, self.y)
            row |= {"band_low": wide.low, "band_high": wide.high}
        if self.people is not None:
            told = self._share(scope, name, here, self.level, self.y, self.people)
            row |= {
                "by_people": told.value,
                "by_people_low": told.low,
                "by_people_high": told.high,
                "by_people_over": str(told.interval),
            }
        if scope == Scope.AVERAGE_CLAIM:
            return row
        population = self.source.population(scope, name)
        if math.isnan(population):  # N is only estimated: the share's interval would be too narrow
            weights = self.source.design.weights * self.source.sizes
            return row | {"total": share.value * float(weights[here].sum())}
        total = times(share, population)
        return row | {
            "population": population,
            "total": total.value,
            "total_low": total.low,
            "total_high": total.high,
        }

    def _share(
        self, scope: str, name: str, here: Mask, level: float, y: Floats, said: Floats | None = None
    ) -> Estimate:
        """Return the share of this part, if people's labels are `y`; or, with answers (`said`), if these are."""
        shares = self._shares(self._scale(here, self._claims(scope)))
        phase = self._phase(scope, here)
        if said is not None:
            # Items that a rule labelled have no independent answers.
            said = np.where((self.audit.groups == "")[:, None], said, np.nan)
            between, people = between_people(said, shares, phase.values(y, self._rule))
            figure = self._figure(scope, name, here, level, own_shares(said, y), between, phase)
            return over_people(figure, between, people)
        figure = self._figure(scope, name, here, level, y, 0.0, phase)
        possible = self.source.possible(scope, name, here & (self.audit.groups == ""), y)
        if possible is None or math.isinf(figure.worth):  # all posts of this part are labelled
            return figure
        seen = shares * phase.counts
        below, above = (effective(seen[here & (values > 0)]) < LONE - CLOSE for values in (y, 1 - y))
        return replace(figure, possible=possible, lone=(below, above))

    def _figure(
        self, scope: str, name: str, here: Mask, level: float, y: Floats, extra: float, phase: Checked
    ) -> Estimate:
        """Return the share from the labels `y` of people, with `extra` variance between people."""
        figure = self._with_predictions(scope, name, here, level, y, extra, phase)
        strata = self.source.design.strata
        if scope != Scope.CLAIM and strata is not None and strata.merged_share > MOST_MERGED:
            return replace(figure, why=f"{strata.merged_share:.0%} of the posts are of claims {TOO_FEW}")
        why = phase.why(self._shares(self._scale(here, self._claims(scope))))
        return replace(figure, why=why) if why and not figure.why else figure

    def _with_predictions(
        self, scope: str, name: str, here: Mask, level: float, y: Floats, extra: float, phase: Checked
    ) -> Estimate:
        claims, design = self._claims(scope), self.source.design
        scale, inside = self._scale(here, claims), int(here.sum())
        shares, values = self._shares(scale), phase.values(y, self._rule)
        centre = self._centre(values, scale, claims)
        how: dict[str, Any] = {"expected": self.source.expected(scope, name), "level": level, "n": inside}
        how["extra"] = extra + float(np.sum(phase.later(y, self._rule, shares) ** 2)) + phase.doubt(y, shares)
        if phase.rules.any():
            how["linear"] = phase.linear(y, self._rule, shares) / design.weights - centre * scale
            people = np.where(phase.rules != "", self.audit.fractions, 1.0)
            how["seen"] = Seen(
                y, shares * phase.counts, design.probabilities * people, phase.credited(shares)
            )
        f = self.predictions
        if f is None or inside < FEWEST_LABELS:
            return linear_estimate(values, centre, scale, design, **how)
        return assisted_estimate(
            values,
            f,
            (centre, self._centre(f, scale, claims)),
            scale,
            design,
            pool_mean=self.source.predicted_mean(self.label, scope, name),
            moved=self._strength(values, f, here),
            **how,
        )

    def _phase(self, scope: str, here: Mask) -> Checked:
        """Return the audit for this part: in cells of claims, so that claims add up to all; or in the part alone."""
        if scope in {Scope.POOL, Scope.AVERAGE_CLAIM, Scope.CLAIM} or not self.second.rules.any():
            return self.second
        return checks_of(self.audit, cells_within(self.audit, here), self.second.omega, self.second.chance)

    @property
    def _rule(self) -> Floats:
        return said_by_rules(self.audit, self.label)

    def _claims(self, scope: str) -> tuple[Any, NDArray[np.intp]] | None:
        return self.source.claims if scope == Scope.AVERAGE_CLAIM else None

    def _shares(self, scale: Floats) -> Floats:
        return self.source.design.weights * scale

    def _strength(self, y: Floats, f: Floats, here: Mask) -> float:
        """Return λ of this part: its own, and that of all labels in so far as it has few of them."""
        whole = self._strength_of(y, f, np.ones(len(y), dtype=bool))
        if here.all():
            return whole
        n = int(here.sum())
        return (n * self._strength_of(y, f, here) + FEWEST_LABELS * whole) / (n + FEWEST_LABELS)

    def _strength_of(self, y: Floats, f: Floats, here: Mask) -> float:
        scale = self._scale(here, None)
        z_y = deviations(y, self._centre(y, scale, None), scale)
        return strength(z_y, deviations(f, self._centre(f, scale, None), scale, f), self.source.design)

    def _scale(self, here: Mask, claims: tuple[Any, NDArray[np.intp]] | None) -> Floats:
        """Return how many each item represents, such that scale/π sums to 1."""
        scale = self.source.sizes * here
        weights = self.source.design.weights * scale
        if claims is None:
            return scale / float(weights.sum())
        names, inverse = claims
        return np.asarray(scale / np.bincount(inverse, weights)[inverse] / len(names), dtype=np.float64)

    def _centre(self, values: Floats, scale: Floats, claims: tuple[Any, NDArray[np.intp]] | None) -> Floats:
        """Return the centre of each item: the mean, or its claim's mean if claims have equal weight."""
        shares = self.source.design.weights * scale
        if claims is None:
            return np.full(len(values), float(np.sum(shares * values)))
        inverse = claims[1]
        within = np.bincount(inverse, shares * values) / np.bincount(inverse, shares)
        return np.asarray(within[inverse], dtype=np.float64)
