"""The labelled items of a study's rounds: what estimates are made of, and what systems are scored on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.annotation import round_folder
from covmis_build.annotation.newest import newest
from covmis_build.building.purge import read_list
from covmis_build.corpus.release import make_corpus
from covmis_build.errors import InputError
from covmis_build.study.round_settings import with_all_draws

if TYPE_CHECKING:
    import pandas as pd

    from covmis_build.study.of_study import OfStudy


def labelled_items(study: OfStudy) -> pd.DataFrame:
    """Return the items with gold of the study's rounds as a corpus, with p_sample over all draws of an item.

    The labels are those that the rounds have in common.
    """
    rounds = round_folder.all_rounds(study.places.rounds)
    if not rounds:
        raise InputError(
            "no round has been opened yet",
            remedy="`covmis round open` makes one, `covmis status` says what is next",
        )
    changes = study.settings.labels.changes
    frozen = with_all_draws(study.places.rounds, rounds, changes)
    purged = read_list(study.places.purge_csv).posts
    # gold refuses a round that was changed after sealing
    gold = newest(rounds, changes).gold()
    return make_corpus(gold, frozen, study.settings.release, purged=purged)
