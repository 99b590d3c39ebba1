"""Shares of labels that only some rounds could give: on the claims that were labelled in these rounds alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from covmis_build.annotation.gold import decisions_of, said_by_people
from covmis_build.annotation.label_sets import label_sets
from covmis_build.errors import counted
from covmis_build.estimation.label_error import answers_table
from covmis_build.estimation.scopes import Scope
from covmis_build.estimation.shares import COLUMNS, Estimates, estimates
from covmis_build.records import Estimand

if TYPE_CHECKING:
    from collections.abc import Sequence

    from covmis_build.annotation.label_sets import LabelClass, LabelSets
    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.settings import Settings

ROUNDS = "rounds"
"""The scope of a label's share among the claims of the rounds that could give it; the row's name has the rounds."""
NAMED = 10
"""Claims that a sentence names."""


def with_later_labels(
    figures: Estimates,
    sets: LabelSets,
    rounds: Sequence[RoundFolder],
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
    if sets.same:
        return figures
    tables, told = [figures.shares], [*sets.notes]
    for later in sets.later:
        shares, sentence = _share(later, sets, rounds, labelled, settings, pool, draws, figures.level)
        tables.append(shares)
        told.append(sentence)
    shares = pd.concat([table for table in tables if len(table)], ignore_index=True)
    return replace(figures, shares=shares, methods=(*figures.methods, *told), label_notes=tuple(told))


def _share(
    later: LabelClass,
    sets: LabelSets,
    rounds: Sequence[RoundFolder],
    labelled: pd.DataFrame,
    settings: Settings,
    pool: pd.DataFrame | None,
    draws: pd.DataFrame,
    level: float,
) -> tuple[pd.DataFrame, str]:
    """Return a label's shares on the claims of its rounds, and the sentence on them."""
    able = [round_ for round_ in rounds if round_.number in later.rounds]
    own = label_sets([(number, sets.own[number]) for number in later.rounds], settings.labels.changes)
    name = own.common(later.rounds[-1], later.members[later.rounds[-1]][0])
    where = sets.in_words(later.rounds)
    elsewhere = {
        str(claim)
        for round_ in rounds
        if round_.number in sets.rounds and round_.number not in later.rounds
        for claim in round_.items()["claim_id"]
    }
    frozen = own.in_common(pd.concat([round_.items() for round_ in able]), "automatic_label")
    gold = own.in_common(pd.concat([decisions_of(round_) for round_ in able]))
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
    items = set(rows["item_id"])
    said = [row for row in said_by_people(able, own) if row[0] in items]
    part = estimates(
        rows,
        own.names,
        settings.sampling,
        automatic=own.scheme(able[-1].scheme).automatic,
        pool=pool,
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
