"""The recall of a study's queries, estimated from its recall rounds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from covmis_build.annotation import round_folder
from covmis_build.annotation.answers import present
from covmis_build.annotation.gold import gold_of
from covmis_build.annotation.newest import scheme_of_rounds
from covmis_build.annotation.relevance import YES, stances
from covmis_build.building.flow import ask
from covmis_build.errors import InputError
from covmis_build.estimation.recall_frame import adaptive_probabilities
from covmis_build.estimation.recall_report import FrameFacts, RecallReport, report_of
from covmis_build.options import RANKED
from covmis_build.records import independent

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.options import Labels
    from covmis_build.places import Places


def report_of_rounds(
    rounds: Sequence[RoundFolder],
    gold: pd.DataFrame,
    labels: Labels,
    places: Places | None,
    *,
    level: float = 0.95,
) -> RecallReport:
    """Estimate recall from the last of these rounds and those with the same frame. Sealed rounds are read as sealed.

    `places` have the tables that say what queries find today; without them the report does not compare.

    A relevant post without its own stance has the stance in `gold`, if a stance round contains it. `labels` are those that
    the main rounds have in common; a stance that was given under another name has its meaning among them.
    """
    answers = gold_of(rounds)
    facts = facts_of(rounds[-1])
    rounds = same_family(rounds, facts.family)
    pairs = rounds[-1].frame()
    drawn_by = {item: at for at, folder in enumerate(rounds) for item in folder.items()["item_id"]}
    relevant = dict(zip(answers["item_id"], (answers["label"] == YES).astype(float), strict=True))
    stance_of = dict(zip(gold["item_id"], gold["label"], strict=True))
    main = round_folder.all_rounds(rounds[0].folder.parent.with_name("rounds"))
    sets, _ = scheme_of_rounds(main, labels.changes)
    meaning = sets.of_any_round()
    for folder in rounds:
        own = stances(folder.items(), folder.labels())
        stance_of |= {item: meaning.get(stance, stance) for item, stance in own.items()}
    pairs = pairs.assign(
        drawn=pairs["item_id"].isin(drawn_by),
        probability=adaptive_probabilities(
            pairs,
            [folder.frame() for folder in rounds],
            drawn_by,
            [facts_of(folder).asked for folder in rounds],
        )
        if facts.learned
        else pairs["p_sample"],
        relevant=[relevant.get(item, math.nan) for item in pairs["item_id"]],
        stance=[stance_of.get(item, "") for item in pairs["item_id"]],
    )
    overruled = sum(
        len(_said_yes(folder) & {i for i, yes in relevant.items() if not yes}) for folder in rounds
    )
    numbers = tuple(folder.number for folder in rounds)
    today = found_today(places) if places else None
    return report_of(
        facts, pairs, labels.values, rounds=numbers, overruled=overruled, today=today, level=level
    )


def found_today(places: Places) -> set[str] | None:
    """Return the items of selected claims that a query finds now; None if the tables do not say."""
    if not all(places.table(name).is_file() for name in ("claims", "hits")):
        return None
    rows = ask(
        """SELECT DISTINCT claim_id || '|' || post_id FROM hits
        WHERE kind <> ? AND claim_id IN (SELECT claim_id FROM claims WHERE selected)""",
        RANKED,
        hits=places.table("hits"),
        claims=places.table("claims"),
    )
    return {item for (item,) in rows}


def recall_sentences(
    rounds: Sequence[RoundFolder], gold: pd.DataFrame, labels: Labels, places: Places | None
) -> list[str]:
    """Return the card's sentences on recall: the report and its seals; empty without recall rounds."""
    if not rounds:
        return []
    seals = [f"{folder.number} {seal['seal']}" for folder in rounds if (seal := folder.seal())]
    told = [f"The recall rounds are sealed: {', '.join(seals)}."] if len(seals) == len(rounds) else []
    return [*report_of_rounds(rounds, gold, labels, places).sentences, *told]


def facts_of(folder: RoundFolder) -> FrameFacts:
    """Return what a recall round's frame was."""
    try:
        return FrameFacts(**(folder.about.frame or {}))
    except TypeError:
        raise InputError(
            "does not say what it was drawn from",
            file=folder.folder / "round.json",
            remedy="Restore it from a copy",
        ) from None


def same_family(rounds: Sequence[RoundFolder], family: str) -> list[RoundFolder]:
    """Return the rounds that were drawn from this frame."""
    return [folder for folder in rounds if facts_of(folder).family == family]


def _said_yes(folder: RoundFolder) -> set[str]:
    given = independent(present(folder.labels()))
    return set(given.loc[given["label"] == YES, "item_id"])
