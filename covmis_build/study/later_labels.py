"""Shares of labels that only some rounds could give: on the claims that were labelled in these rounds alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from covmis_build.errors import counted
from covmis_build.estimation.label_error import answers_table
from covmis_build.estimation.scopes import Scope
from covmis_build.estimation.shares import COLUMNS, Estimates, estimates
from covmis_build.records import Estimand

if TYPE_CHECKING:
    from covmis_build.annotation.label_sets import LabelClass
    from covmis_build.annotation.newest import Newest
    from covmis_build.settings import Settings

ROUNDS = "rounds"
"""The scope of a label's share among the claims of the rounds that could give it; the row's name has the rounds."""
NAMED = 10
"""Claims that a sentence names."""


def with_later_labels(
    figures: Estimates,
    now: Newest,
    labelled: pd.DataFrame,
    settings: Settings,
    *,
    pool: pd.DataFrame | None,
    draws: pd.DataFrame,
) -> Estimates:
    """Add how the rounds' labels differ, and the shares of labels that only some of the rounds could give.

    These are estimated on the claims all of whose sampled posts belong to such rounds, without predictions; a sentence
    names the other claims. `labelled` is what `figures` were estimated from, in the labels in common.
    """
    tables, told = [figures.shares], list(now.sets.again if now.sets.same else now.sets.notes)
    for later in now.sets.later:
        shares, sentence = _share(later, now, labelled, settings, pool, draws, figures.level)
        tables.append(shares)
        told.append(sentence)
    shares = pd.concat([table for table in tables if len(table)], ignore_index=True)
    return replace(figures, shares=shares, methods=(*figures.methods, *told), label_notes=tuple(told))


def _share(
    later: LabelClass,
    now: Newest,
    labelled: pd.DataFrame,
    settings: Settings,
    pool: pd.DataFrame | None,
    draws: pd.DataFrame,
    level: float,
) -> tuple[pd.DataFrame, str]:
    """Return a label's shares on the claims of its rounds, and the sentence on them."""
    if not later.rounds:
        told = f"{later.name}: only some posts of a round could get it, so that there is no share."
        return pd.DataFrame(columns=COLUMNS), told
    able = now.of_rounds(later.rounds, settings.labels.changes)
    own, where = able.sets, now.sets.in_words(later.rounds)
    newest_set = next(each for each in reversed(own.sets) if each.round in later.members)
    name = own.common(newest_set.round, later.members[newest_set.round][0])
    elsewhere = {
        str(claim)
        for each in now.rounds
        if each.round not in later.rounds
        for claim in each.items["claim_id"]
    }
    frozen, gold = able.frozen(), able.gold()
    label_of = dict(zip(gold["item_id"], gold["label"], strict=True))
    rule_of = dict(zip(frozen["item_id"], frozen["automatic_label"], strict=True))
    inside = labelled[labelled["item_id"].isin(label_of) & ~labelled["claim_id"].isin(elsewhere)]
    if inside.empty:
        return pd.DataFrame(columns=COLUMNS), (
            f"{later.name}: no claim was labelled in {where} alone, which could give it, so that there is no share."
        )
    rows = inside.assign(label=inside["item_id"].map(label_of))
    if "automatic_label" in rows:
        rows = rows.assign(automatic_label=rows["item_id"].map(rule_of))
    items, claims = set(rows["item_id"]), set(rows["claim_id"])
    here = None if pool is None else pool[pool["claim_id"].isin(claims)].reset_index(drop=True)
    said = [row for row in able.said_by_people() if row[0] in items]
    part = estimates(
        rows,
        own.names,
        settings.sampling,
        pool=here,
        answers=answers_table(said) if said else None,
        by=[Scope.CLAIM],
        draws=draws,
        level=level,
        apart=[label for label in own.names if label != name],
    )
    shares = part.shares[part.shares["scope"].isin([Scope.POOL, Scope.CLAIM])]
    whole = shares["scope"] == Scope.POOL
    shares = shares.assign(
        label=later.name,
        scope=shares["scope"].mask(whole, ROUNDS),
        name=shares["name"].mask(whole, where.partition(" ")[2]),
    )
    main = shares[(shares["scope"] == ROUNDS) & (shares["estimand"] == Estimand.UNIQUE_POSTS)].iloc[0]
    left = sorted(set(labelled["claim_id"].astype(str)) - set(rows["claim_id"].astype(str)))
    low, high = main["low"], main["high"]
    interval = f"{low:.1%} to {high:.1%}" if low == low else "no interval"  # noqa: PLR0124 - NaN
    return shares, (
        f"{later.name}: {main['share']:.1%} ({interval}) of unique posts, on {where} alone, which could give it: "
        f"{counted(len(rows), 'posts')} of {counted(rows['claim_id'].nunique(), 'claims')}."
        + (f" Claims left out: {', '.join(left[:NAMED])}{' …' if len(left) > NAMED else ''}." if left else "")
    )
