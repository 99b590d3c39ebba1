"""The methods section of estimates: sampling, computation, and the population they refer to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.errors import counted
from covmis_build.estimation.assisted import FEWEST_LABELS
from covmis_build.estimation.scopes import Scope
from covmis_build.options import RANKED
from covmis_build.records import Estimand
from covmis_build.sampling import audit as audits
from covmis_build.stats.intervals import between

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

    from covmis_build.options import Sampling
    from covmis_build.stats.over_posts import Design

POST_STRATIFIED = (
    ", times a factor so that they sum to the known number of posts of each query type of each claim (post-stratification; a type "
    "with fewer than two labelled posts is joined to the claim's type nearest in size), and parts add up to wholes"
)
MENTIONED = 8
"""Maximum number of sparse parts named in a sentence."""
MOST_NAMED = 6
"""Maximum number of parts of one kind without an interval that are named; the table has all."""
NO_WIDTH = 1e-12
"""Remaining rounding error in the width of a zero-width interval."""


def methods_sentences(
    corpus: pd.DataFrame,
    design: Design,
    options: Sampling,
    checked: pd.DataFrame,
    shares: pd.DataFrame,
    level: float,
    *,
    kept: pd.DataFrame | None = None,
    stated: bool = True,
) -> Iterator[str]:
    """Return the sentences in the order of a methods section; `kept` are these claims' pairs after cleaning, if known.

    `stated` says that the options are those of the draws; a corpus alone has only its probabilities.
    """
    ways = sorted(set(design.names))
    how = {"poisson": "Poisson sampling", "two_phase": "two-phase sampling of fixed size"}
    sizes, exact = corpus["claim_id"].value_counts(), ways == ["two_phase"]
    few, many = sizes.min(), sizes.max()
    drawn = f"The {len(corpus):,} items of {corpus['claim_id'].nunique():,} claims ({few if few == many else f'{few} to {many}'} each)"
    shared = bool((corpus["p_claim"] < 1).any())
    if kept is not None and (kept["p_sample"] >= 1).all():
        yield f"{drawn} were sampled with probability 1, as all posts left after cleaning were."
        if shared:
            yield (
                "Intervals therefore reflect only that a post which several claims found stays with one of them, chosen at random."
            )
    elif not stated:
        yield f"{drawn} were sampled with the probabilities that the corpus states; how they were chosen is not known here."
    else:
        yield (
            f"{drawn} were sampled by {' and '.join(how[name] for name in ways)} with known probabilities: "
            f"{'' if exact else 'in expectation '}{options.per_claim} posts of each claim, with a quota of {options.per_kind} for each "
            f"{' and '.join(['query type', *options.strata_by])}, or all where there are fewer (COVMis-Stance, appendix A.3)."
        )
    ranked = bool((corpus["kind"] == RANKED).any())
    if ranked:
        yield (
            "The population is the posts that a query found and, for each claim, the most similar other posts; "
            "the more similar a post, the higher its probability."
        )
    pool = shares[shares["scope"] == Scope.POOL].drop_duplicates("estimand").dropna(subset="population")
    pairs = [
        f"{size:,.0f} ({Estimand(name).in_words})"
        for name, size in zip(pool["estimand"], pool["population"], strict=True)
    ]
    after = (
        f"Of these claims, cleaning kept {len(kept):,} pairs of a claim and a post. "
        if kept is not None
        else ""
    )
    known = f": {', '.join(pairs)}" if pairs else ""
    yield (
        "Shares are means with the weights 1/(p_claim·p_sample), the probabilities that a post stays with this claim and is sampled"
        f"{POST_STRATIFIED * (design.strata is not None)}. "
        f"Their {level:.0%} intervals are Wilson's, over posts, with Student's t and the effective sample size. "
        + (
            f"{after}Counting each post for every claim that found it, there are {' and '.join(pairs)}; each total is the share times the respective number."
            if shared and pairs
            else f"Totals are the share times the number of pairs of a claim and a post{known}."
        )
    )
    yield from _merged_sentences(design)
    if shares["strength"].any():
        yield from _assisted_sentences(shares)
    which = "of the pool" if ranked else "found"
    meant = {
        Estimand.UNIQUE_POSTS: f"unique posts {which}",
        Estimand.POSTS: f"posts {which} (near-duplicates included)",
    }
    for estimand, words in meant.items():
        pool = shares[(shares["scope"] == Scope.POOL) & (shares["estimand"] == estimand)]
        yield f"Of all {words}, estimated shares are: {_listed_shares(pool, 'share', 'low', 'high')}."
    if shares["by_people"].notna().any():
        pool = shares[(shares["scope"] == Scope.POOL) & (shares["estimand"] == Estimand.UNIQUE_POSTS)]
        yield (
            "With each annotator's own labels, before any discussion or adjudication, the shares of unique posts are: "
            f"{_listed_shares(pool, 'by_people', 'by_people_low', 'by_people_high')}. These intervals include the differences between "
            f"annotators ({pool['by_people_over'].iloc[0]})."
        )
    with_interval = shares["flagged"].astype(bool) & (shares["why"].fillna("") == "")
    thin = shares.loc[with_interval, ["scope", "name"]].drop_duplicates()
    if len(thin):
        named = [f"{scope} {name}".strip() for scope, name in thin.itertuples(index=False)]
        more = f" and {len(named) - MENTIONED} more" if len(named) > MENTIONED else ""
        yield (
            f"Few posts, or few with large weights, decide the shares of: {', '.join(named[:MENTIONED])}{more}. These intervals are wide, may "
            "still be too narrow, and a rare label may be missing."
        )
    yield (
        f"These shares describe the posts on this study's claims that {'were retrieved' if ranked else 'the queries found'} and "
        "cleaning kept. They do not describe public opinion."
    )
    yield from audits.sentences(checked, level=level)


def _merged_sentences(design: Design) -> Iterator[str]:
    """Name the claims that could not be weighted alone."""
    strata = design.strata
    if strata is None or not strata.merged:
        return
    named = ", ".join(strata.merged[:MENTIONED]) + " …" * (len(strata.merged) > MENTIONED)
    yield (
        f"{counted(len(strata.merged), 'claims')} ({named}) with {strata.merged_share:.1%} of the posts have fewer than two labelled "
        "posts; these posts are taken to be like those of the claims nearest in size."
    )


def _listed_shares(shares: pd.DataFrame, value: str, low: str, high: str) -> str:
    """Return each label's share with its interval, or why there is none."""
    return ", ".join(
        f"{row['label']} {row[value]:.1%} ({between(row[low], row[high], '.1%') or row['why']})"
        for row in shares.to_dict("records")
    )


def _assisted_sentences(shares: pd.DataFrame) -> Iterator[str]:
    """Describe the shift by predictions, and the effective size with them."""
    pool = shares[(shares["scope"] == Scope.POOL) & (shares["estimand"] == Estimand.UNIQUE_POSTS)]
    parts = [
        f"{row['label']} λ = {row['strength']:.2f}, R² = {row['r_squared']:.2f}, {row['n']:,} labels give the precision of "
        f"{row['n'] / (1 - row['r_squared']):,.0f}"
        for row in pool.to_dict("records")
    ]
    yield (
        "Shares are assisted by predictions for all posts (λ minimises the design's variance, in each part for itself, so assisted "
        f"parts need not add up to the whole; parts with fewer than {FEWEST_LABELS} labels are not assisted): {'; '.join(parts)}."
    )


def parts_without_interval(shares: pd.DataFrame) -> list[str]:
    """Return sentences on parts, or labels of a part, that have no interval or one of no width: which, and why."""
    why = shares["why"].fillna("")
    no_width = (shares["high"] - shares["low"] < NO_WIDTH) & (why == "")
    why = why.mask(no_width, "all posts that were kept are labelled, so the sample adds no uncertainty")
    labels_of: dict[str, dict[tuple[str, str], list[str]]] = {}
    columns = (shares[name] for name in ("scope", "name", "label"))
    for reason, scope, name, label in zip(why, *columns, strict=True):
        labels_of.setdefault(reason, {}).setdefault((scope, name), []).append(label)
    every = shares["label"].nunique()
    sentences = []
    for reason, parts in labels_of.items():
        names: dict[str, list[str]] = {}
        for (scope, name), labels in parts.items():
            only = "" if len(set(labels)) == every else f" ({', '.join(dict.fromkeys(labels))})"
            names.setdefault(scope, []).append(f"{scope} {name}".strip() + only)
        named = [_the_first(each, scope) for scope, each in names.items()]
        sentences += [f"{', '.join(named)}: {reason}."] if reason else []
    return sentences


def _the_first(names: Sequence[str], scope: str) -> str:
    """Name parts; of many the first ones, with their number.

    >>> _the_first([f"claim {number}" for number in range(1, 21)], "claim")
    '20 claims (claim 1, claim 2, claim 3, …)'
    """
    if len(names) <= MOST_NAMED:
        return ", ".join(names)
    return f"{counted(len(names), f'{scope}s')} ({', '.join(names[: MOST_NAMED // 2])}, …)"
