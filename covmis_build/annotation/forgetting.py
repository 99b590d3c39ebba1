"""A purged post may stand in other frozen items: quoted, or as what they answer. There, too, its text goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.annotation import record
from covmis_build.annotation.rounds import write_items

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

PLACES = ("quoted", "parent")


def forget_context(
    rounds: Path, post_ids: Collection[str], known: Mapping[str, Collection[str]]
) -> list[str]:
    """Take purged posts out of what other items show with them; the posts of the items that lost something.

    `known` names, for `quoted` and `parent`, the posts that quote or answer a purged one; items that show the same
    text are found as well. Their own texts and labels stay; the salt goes, so that seals still verify. Call it before
    `record.forget`, which takes the texts to compare with.
    """
    found: set[str] = set()
    every = [(one, one.items()) for one in record.all_rounds(rounds)]
    purged = set(post_ids)
    texts = {text for _, frozen in every for text in frozen.loc[frozen["post_id"].isin(purged), "text"]} - {
        ""
    }
    for one, frozen in every:
        touched = frozen["post_id"].isin(())
        for place in PLACES:
            shows = frozen[place].isin(texts) | frozen["post_id"].isin(set(known.get(place, ())))
            mine = shows & (frozen[place] != "") & ~frozen["post_id"].isin(purged)
            frozen.loc[mine, place] = ""
            touched |= mine
        if touched.any():
            frozen.loc[touched, "salt"] = ""
            record._forget_files(rounds, one, set(frozen.loc[touched, "item_id"]))  # noqa: SLF001 - one package
            write_items(one.folder, frozen)
            found |= set(frozen.loc[touched, "post_id"])
    return sorted(found)
