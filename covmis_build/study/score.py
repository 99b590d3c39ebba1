"""Score systems on a study, with its gold, label scheme, claims and probabilities."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from covmis_build.annotation import round_folder
from covmis_build.annotation.newest import newest
from covmis_build.errors import UnknownName, nearest
from covmis_build.estimation.shares import design_in_pool
from covmis_build.evaluation.catalogue import measures
from covmis_build.evaluation.compare import NAMES as TESTS
from covmis_build.evaluation.compare import compare as compare_systems
from covmis_build.evaluation.gold_and_systems import PROBABILITIES, check_ids, with_labels
from covmis_build.evaluation.over_posts import score_over_posts
from covmis_build.evaluation.score import score as score_systems
from covmis_build.study.labelled import labelled_items
from covmis_build.study.population import Population, frame_of, pool_of
from covmis_build.study.round_settings import settings_of_rounds, with_all_draws

if TYPE_CHECKING:
    import pandas as pd

    from covmis_build.annotation.newest import Newest
    from covmis_build.evaluation.compare import Comparison
    from covmis_build.evaluation.over_posts import ScoresOverPosts
    from covmis_build.evaluation.scores import Scores
    from covmis_build.stats.over_posts import Design
    from covmis_build.study.of_study import OfStudy

__all__ = ["MEASURES", "TESTS", "Over", "check_over", "compare", "design_of_gold", "score"]

MEASURES = {name: measures[name].title for name in measures.names}
"""Measures in which systems are compared, by their names; TESTS are the tests of their differences."""


class Over(StrEnum):
    """The target of a score: items with gold (and similar claims), or all posts in the target population."""

    ITEMS = "items"
    POSTS = "posts"


def score(
    study: OfStudy, systems: Any, *, over: str = Over.ITEMS, **options: Any
) -> Scores | ScoresOverPosts:
    """Score systems against the gold of the study's rounds: over items and claims, or over all posts.

    `systems` and `options` are those of `score` (`score_over_posts`). A given option replaces the study's labels, claims
    or probabilities. Predictions need ids. If the rounds' labels differ, gold and systems are compared on those in common.
    """
    rounds = round_folder.all_rounds(study.places.rounds)
    now = newest(rounds, study.settings.labels.changes)
    sets, labelled = now.sets, labelled_items(study)
    systems = _in_common_labels(now, labelled, systems, options)
    own = _own(study, now) | {"probabilities": list(PROBABILITIES)}
    pool = pool_of(study)
    if check_over(over) is Over.POSTS:
        frozen = with_all_draws(study.places.rounds, rounds, study.settings.labels.changes)
        frame = frame_of(Population.TODAY, labelled, frozen, pool, rounds, study.places)
        del own["clusters"]
        # predictions for items outside the population were checked above, and are no error
        own |= {"extra": "ignore"} if frame.outside else {}
        design = design_of_gold(study, frame.labelled)
        over_posts = score_over_posts(frame.labelled, systems, design=design, **{**own, **options})
        return replace(over_posts, remarks=(*over_posts.remarks, *frame.sentences, *sets.notes))
    if pool is not None:
        inside = labelled["item_id"].isin(set(pool["item_id"]))
        labelled = labelled.assign(in_population=inside.map({True: "yes", False: "no"}))
    said: dict[str, list[str]] = {}
    for item, _, label in now.said_by_people():
        said.setdefault(item, []).append(label)
    people = said or None
    scores = score_systems(labelled, systems, **{**own, "people": people, **options})
    return replace(scores, remarks=(*scores.remarks, *sets.notes))


def compare(study: OfStudy, systems: Any, **options: Any) -> Comparison:
    """Compare systems on the gold of the study's rounds; `systems` and `options` are those of `compare`."""
    rounds = round_folder.all_rounds(study.places.rounds)
    now = newest(rounds, study.settings.labels.changes)
    labelled = labelled_items(study)
    systems = _in_common_labels(now, labelled, systems, options)
    compared = compare_systems(labelled, systems, **{**_own(study, now), **options})
    return replace(compared, remarks=(*compared.remarks, *now.sets.notes))


def _own(study: OfStudy, now: Newest) -> dict[str, Any]:
    """Return what the study says of its gold: labels, claims, title."""
    scheme = now.scheme
    return {
        "labels": scheme.values,  # noqa: PD011 - a setting of ours
        "order": scheme.order or None,
        "poles": scheme.poles or None,
        "clusters": "claim_id",
        "title": study.settings.title,
    }


def _in_common_labels(now: Newest, labelled: pd.DataFrame, systems: Any, options: dict[str, Any]) -> Any:
    """Return the systems with the labels that all rounds have in common; takes `map` out of the options."""
    scheme, sets = now.scheme, now.sets
    check_ids(systems, set(labelled["item_id"]), scheme.values)
    if names := options.pop("map", None):  # before what became of the labels that these are called
        systems = with_labels(systems, names, scheme.values, all_used=True)
    return systems if sets.same else with_labels(systems, sets.of_any_round(), sets.sets[-1].labels)


def check_over(over: str) -> Over:
    """Return the target of a score by its name."""
    if over not in set(Over):
        raise UnknownName(f"over = {over!r}", remedy=nearest(over, Over))
    return Over(over)


def design_of_gold(study: OfStudy, corpus: pd.DataFrame) -> Design | None:
    """Return how a corpus's items were sampled in the study's rounds; None if they are not from these rounds."""
    rounds = round_folder.all_rounds(study.places.rounds)
    frozen = with_all_draws(study.places.rounds, rounds)
    frozen = frozen[~frozen["pilot"].astype(bool)].drop_duplicates("item_id").set_index("item_id")
    if not {"item_id", "claim_id"} <= set(corpus.columns) or not set(corpus["item_id"]) <= set(frozen.index):
        return None
    known = frozen.reindex(corpus["item_id"])
    drawn = corpus.assign(
        **{name: known[name].to_numpy() for name in ("design", "p_claim", "p_sample", "kind")}
    )
    settings, _ = settings_of_rounds(study.settings, rounds)
    return design_in_pool(drawn, pool_of(study), settings.sampling)
