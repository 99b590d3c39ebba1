"""What a corpus says about the posts it was drawn from: shares and totals of each label, with intervals.

Two estimands (DESIGN 6). `messages`: distinct messages, each counted once, weight 1/(p_claim·p_sample). `posts`:
messages times the size of their group of near-copies, assuming that copies share their message's stance. Both speak
of the cleaned posts that the queries found, and neither is public opinion.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from covmis_build.errors import InputError, nearest
from covmis_build.options import STRATA
from covmis_build.sampling import audit as audits
from covmis_build.sampling.inclusion import allocate
from covmis_build.sampling.strata import strata_by, stratum_of
from covmis_build.stats.horvitz_thompson import (
    Design,
    Estimate,
    made_design,
    mean,
    share_degrees,
    total,
)
from covmis_build.stats.intervals import effective_size, logit_interval

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from covmis_build.options import Sampling

    Floats = NDArray[np.float64]

ESTIMANDS = ("messages", "posts")
NEEDED = ("item_id", "claim_id", "kind", "label", "how", "p_claim", "p_sample", "group_size")
COLUMNS = [
    "estimand", "scope", "name", "label", "share", "standard_error", "low", "high", "design_effect", "n",
    "unweighted", "total", "total_low", "total_high",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Estimates:
    """Shares (COLUMNS), the audit of automatic labels, and sentences for a methods section."""

    shares: pd.DataFrame
    audit: pd.DataFrame
    sentences: tuple[str, ...]


def estimates(
    corpus: pd.DataFrame,
    labels: Sequence[str],
    options: Sampling,
    *,
    automatic: Mapping[str, str] | None = None,
    counts: Mapping[str, Mapping[str, int]] | None = None,
    by: Sequence[str] = ("claim", "kind"),
    level: float = 0.95,
) -> Estimates:
    """The share and total of each label in the pool, for the average claim, and for each claim and kind.

    `by` may also name what posts can be divided by: platform, year, month, day.
    `corpus` is the table of that name; a column `design` says how each item was drawn (else `options.design`), and
    `automatic_label` what the rule said of it. `automatic` is the rule, kind to label. `counts` are the posts per
    claim and stratum that were drawn from: with them, the two-phase variance is exact; without, it is Hájek's.
    """
    check_corpus(corpus, labels)
    design = design_of(corpus, options, counts or {})
    audit = audits.audit_of(corpus, automatic or {}, design.weights)
    rows = []
    for estimand in ESTIMANDS:
        sizes = np.ones(len(corpus)) if estimand == "messages" else corpus["group_size"].to_numpy(float)
        for label in labels:
            y, fixed = audit.corrected(label, sizes)
            raw = np.asarray(corpus["label"] == label, dtype=np.float64)
            found = _Found(y, sizes, design, audit, fixed, level)
            head = {"estimand": estimand, "label": label}
            rows += [{**head, **row} for row in found.rows(corpus, raw, by)]
    shares = pd.DataFrame(rows, columns=COLUMNS)
    checked = audit.table(level=level)
    return Estimates(shares, checked, tuple(_sentences(corpus, design, options, checked, shares, level)))


def design_of(corpus: pd.DataFrame, options: Sampling, counts: Mapping[str, Mapping[str, int]]) -> Design:
    """How the corpus' items were drawn, with exact joint probabilities where the counts explain theirs."""
    names = corpus["design"].tolist() if "design" in corpus.columns else options.design
    p = corpus["p_sample"].to_numpy(dtype=float)
    return made_design(
        p,
        design=names,
        strata=corpus["claim_id"].to_numpy(dtype=object),
        joint=_joint(corpus, options, counts),
        first=corpus["p_claim"].to_numpy(dtype=float),
    )


def _joint(
    corpus: pd.DataFrame, options: Sampling, counts: Mapping[str, Mapping[str, int]]
) -> dict[str, Floats]:
    """One matrix a claim, for claims whose whole draw is here with the probabilities that the counts give."""
    matrices = {}
    for claim, rows in corpus.assign(stratum=_strata(corpus, options)).groupby("claim_id"):
        allocation = allocate(counts.get(str(claim), {}), options.per_kind, options.per_claim)
        names = rows["stratum"].tolist()
        if len(rows) != allocation.size or not set(names) <= allocation.counts.keys():
            continue
        chance = {name: float(allocation.chance(name)) for name in allocation.counts}
        if not np.allclose([chance[name] for name in names], rows["p_sample"].astype(float), atol=1e-9):
            continue
        pairs = {
            (one, other): float(allocation.together(one, other))
            for one in set(names)
            for other in set(names)
            if one != other or allocation.counts[one] > 1
        }
        matrices[str(claim)] = np.array([[pairs.get((a, b), 1.0) for b in names] for a in names])
    return matrices


def _strata(corpus: pd.DataFrame, options: Sampling) -> list[str]:
    """Each item's stratum, as the settings divide the kinds; without times, the kind alone."""
    divided = options.strata_by and {"post_id", "created_at"} <= set(corpus.columns)
    strata = strata_by(corpus, corpus, options.strata_by) if divided else None
    return [stratum_of(str(row.item_id), str(row.kind), strata) for row in corpus.itertuples()]


def _names(corpus: pd.DataFrame, scope: str) -> list[str]:
    """What divides the corpus by this scope: its claims, kinds, platforms or windows of time."""
    if scope not in STRATA:
        return [str(one) for one in corpus[f"{scope}_id" if scope == "claim" else scope]]
    if missing := {"post_id", "created_at"} - set(corpus.columns):
        raise InputError(f"the corpus lacks the columns {', '.join(sorted(missing))}")
    return list(strata_by(corpus, corpus, [scope]).values())


@dataclass(frozen=True, slots=True)
class _Found:
    """One label's values, ready to be summed over any part of the corpus."""

    y: Floats
    sizes: Floats
    design: Design
    audit: audits.Audit
    fixed: dict[str, tuple[float, float]]
    level: float

    def rows(self, corpus: pd.DataFrame, raw: Floats, by: Sequence[str]) -> Iterator[dict[str, Any]]:
        """A row for the pool, for the average claim, and for each claim and kind asked for."""
        everyone = np.ones(len(corpus), dtype=bool)
        yield self._row("pool", "", everyone, raw)
        claims = corpus["claim_id"].to_numpy(dtype=object)
        yield {"scope": "average claim", "name": "", **_share(self._average(claims), raw, everyone)}
        for scope in by:
            names = np.array(_names(corpus, scope), dtype=object)
            for name in sorted(set(names)):
                yield self._row(scope, str(name), np.equal(names, name).astype(bool), raw)

    def _row(self, scope: str, name: str, here: NDArray[np.bool_], raw: Floats) -> dict[str, Any]:
        weights = self.design.weights * self.sizes * here
        later = self._later(weights)
        extra = later / weights.sum() ** 2
        share = mean(self.y, self.design, sizes=self.sizes, domain=here, extra=extra, level=self.level)
        count = total(self.y * self.sizes * here, self.design, extra=later, level=self.level)
        # A label that nobody met has the share's upper limit; a width of zero would be a lie.
        most = count.high if count.value else share.high * float(weights.sum())
        totals = {"total": count.value, "total_low": max(0.0, count.low), "total_high": most}
        return {"scope": scope, "name": name, **_share(share, raw, here), **totals}

    def _later(self, w: Floats) -> float:
        """The variance that the audit adds to a total: of each corrected group, its weight squared times its own."""
        return math.fsum(
            float(w[self.audit.groups == group].sum()) ** 2 * variance
            for group, (_, variance) in self.fixed.items()
        )

    def _average(self, claims: NDArray[np.object_]) -> Estimate:
        """The mean of the claims' shares: every claim counts the same, however many posts it has."""
        names, inverse = np.unique(claims.astype(str), return_inverse=True)
        w = self.design.weights * self.sizes
        mass = np.bincount(inverse, w)
        shares = np.bincount(inverse, w * self.y) / mass
        value = float(shares.mean())
        scale = self.sizes / mass[inverse] / len(names)
        later = self._later(self.design.weights * scale)
        z = (self.y - shares[inverse]) * scale
        variance = self.design.variance(z) + later
        effective = effective_size(self.design.variance(scale), later)
        degrees = share_degrees(value, z, self.design, variance, later)
        low, high = logit_interval(value, variance, level=self.level, effective=effective, degrees=degrees)
        simple = value * (1 - value) / len(claims)
        return Estimate(value, variance, low, high, len(claims), variance / simple if simple else math.nan)


def _share(found: Estimate, raw: Floats, here: NDArray[np.bool_]) -> dict[str, Any]:
    return {
        "share": found.value,
        "standard_error": found.standard_error,
        "low": found.low,
        "high": found.high,
        "design_effect": found.design_effect,
        "n": found.n,
        "unweighted": float(raw[here].mean()),
    }


def check_corpus(corpus: pd.DataFrame, labels: Sequence[str]) -> None:
    """Refuse a corpus that nothing can be estimated from, and name the item."""
    if missing := [name for name in NEEDED if name not in corpus.columns]:
        raise InputError(
            f"the corpus lacks the columns {', '.join(missing)}",
            remedy="Estimates need a release made by covmis, with its probabilities",
        )
    if corpus.empty:
        raise InputError("the corpus has no rows", remedy="Label items and make a release first")
    for name in ("item_id", "claim_id", "kind", "label", "how"):
        if (empty := corpus[name].isna() | (corpus[name] == "")).any():
            raise InputError(
                f"the item {corpus['item_id'][empty].iloc[0]} of the corpus has no {name}",
                remedy="Complete it, or make the release anew",
            )
    if (again := corpus["item_id"].duplicated()).any():
        raise InputError(
            f"the item {corpus['item_id'][again].iloc[0]} is in the corpus twice",
            remedy="Keep one row per item",
        )
    for name in ("p_claim", "p_sample"):
        p = corpus[name].astype(float)
        if (wrong := ~((p > 0) & (p <= 1))).any():
            raise InputError(
                f"the item {corpus['item_id'][wrong].iloc[0]} has {name} = {p[wrong].iloc[0]:g}",
                remedy="A probability is above 0 and at most 1",
            )
    for label in sorted(set(corpus["label"]) - set(labels)):
        raise InputError(f"the label '{label}' is not in the scheme", remedy=nearest(str(label), labels))
    size = corpus["group_size"]
    if size.isna().any() or (size.astype(float) < 1).any():
        raise InputError("a group_size in the corpus is missing or below 1")


def _sentences(
    corpus: pd.DataFrame,
    design: Design,
    options: Sampling,
    checked: pd.DataFrame,
    shares: pd.DataFrame,
    level: float,
) -> Iterator[str]:
    ways = sorted(set(design.names))
    how = {"poisson": "Poisson sampling", "two_phase": "two-phase sampling of fixed size"}
    yield (
        f"The {len(corpus):,} items of {corpus['claim_id'].nunique():,} claims were drawn by "
        f"{' and '.join(how[one] for one in ways)} with known probabilities: {options.per_kind} posts of each kind of "
        f"{' and '.join(['query', *options.strata_by])} and {options.per_claim} posts of each claim, where there are as "
        "many (COVMis-Stance, appendix A.3)."
    )
    yield (
        f"Shares are Hájek means with the weights 1/(p_claim·p_sample), with {level:.0%} logit intervals from the "
        "linearised variance of the design and Student's t; totals are Horvitz-Thompson estimates."
    )
    meant = {
        "messages": "distinct messages found",
        "posts": "posts found (near-copies counted with their message)",
    }
    for estimand in ESTIMANDS:
        pool = shares[(shares["scope"] == "pool") & (shares["estimand"] == estimand)]
        parts = (
            f"{one.label} {one.share:.1%} ({one.low:.1%} to {one.high:.1%})" for one in pool.itertuples()
        )
        yield f"Of all {meant[estimand]}, estimated shares are: {', '.join(parts)}."
    yield (
        "These shares describe the posts that the queries found and the cleaning kept, among the claims of this "
        "study; they are not shares of public opinion."
    )
    yield from audits.sentences(checked, level=level)
