"""Remove purged posts from other frozen items that quote or answer them, and from the frames of recall rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from covmis_build import storage
from covmis_build.annotation import round_folder as record
from covmis_build.annotation.frozen_items import write_items

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from pathlib import Path

PLACES = ("quoted", "parent")


def in_context(
    rounds: Path, post_ids: Collection[str], known: Mapping[str, Collection[str]]
) -> dict[str, set[str]]:
    """Return for `quoted` and `parent` the items of other posts that show a purged post.

    `known` names the posts known to quote or answer one; items that contain a purged text are found as well. Call it
    before the purge, because it compares with the texts.
    """
    frozen_items = [round_.items() for round_ in record.kept_rounds(rounds)]
    purged = set(post_ids)
    texts = {
        text for frozen in frozen_items for text in frozen.loc[frozen["post_id"].isin(purged), "text"]
    } - {""}
    showing: dict[str, set[str]] = {}
    for place in PLACES:
        showing[place] = set()
        for frozen in frozen_items:
            shows = frozen[place].isin(texts) | frozen["post_id"].isin(set(known.get(place, ())))
            mine = shows & (frozen[place] != "") & ~frozen["post_id"].isin(purged)
            showing[place] |= set(frozen.loc[mine, "post_id"])
    return showing


def forget_context(
    rounds: Path,
    post_ids: Collection[str],
    showing: Mapping[str, Collection[str]],
    without_addresses: Callable[[str], str],
) -> int:
    """Remove purged posts from the context of other items, and their URLs from texts. Returns the number of changed items.

    Other authors' texts and labels stay. The salt is removed, so that seals still verify.
    """
    count, purged = 0, set(post_ids)
    for round_ in record.kept_rounds(rounds):
        frozen = round_.items()
        others = ~frozen["post_id"].isin(purged)
        touched = frozen["post_id"].isin(())
        for place in PLACES:
            mine = frozen["post_id"].isin(set(showing.get(place, ()))) & (frozen[place] != "") & others
            frozen.loc[mine, place] = ""
            touched |= mine
        for place in ("text", *PLACES):
            cleaned = frozen[place].map(without_addresses)
            changed = (cleaned != frozen[place]) & others
            frozen.loc[changed, place] = cleaned[changed]
            touched |= changed
        for place in ("cards", "media"):
            cleaned = frozen[place].map(lambda shown: _cleaned(shown, without_addresses))
            changed = pd.Series(
                [a != b for a, b in zip(cleaned, frozen[place].map(_plain), strict=True)], frozen.index
            )
            frozen[place] = [
                new if mine else old
                for new, old, mine in zip(cleaned, frozen[place], changed & others, strict=True)
            ]
            touched |= changed & others
        if touched.any():
            frozen.loc[touched, "salt"] = ""
            record._forget_files(rounds, round_, set(frozen.loc[touched, "item_id"]))  # noqa: SLF001 - one package
            write_items(round_.folder, frozen)
            count += int(touched.sum())
    return count


def _plain(shown: Any) -> list[dict[str, Any]]:
    return [dict(part) for part in shown]


def _cleaned(shown: Any, without_addresses: Callable[[str], str]) -> list[dict[str, Any]]:
    """Return cards or media without those whose text names a purged post."""
    return [
        {name: without_addresses(text) if isinstance(text, str) else text for name, text in part.items()}
        for part in shown
    ]


def forget_pairs(rounds: Path, post_ids: Collection[str]) -> int:
    """Remove post ids that were not drawn from recall frames and populations, keeping the probabilities. Returns the number of rows.

    Drawn pairs keep their id like frozen items, because labels refer to it.
    """
    kept = sorted(path.parent for path in rounds.with_name(record.DISCARDED).glob(f"*/{rounds.name}"))
    return sum(_forget_pairs(home / rounds.name, post_ids) for home in (rounds.parent, *kept))


def _forget_pairs(rounds: Path, post_ids: Collection[str]) -> int:
    count, recall, purged = 0, record.RoundKind.RECALL.folder(rounds), set(post_ids)
    # a later round's table includes pairs that an earlier round drew
    drawn = {
        item
        for home in (rounds, recall)
        for path in home.glob("*/items.parquet")
        for item in storage.read_column(path, "item_id")
    }
    tables = [
        *((path, "frame") for path in sorted(recall.glob(f"*/{record.FRAME}"))),
        *((path, "population") for path in sorted(rounds.glob(f"*/{record.POPULATION}"))),
    ]
    for path, table in tables:
        pairs = storage.read_table(path, table)
        gone = pairs["post_id"].isin(purged) & ~pairs["item_id"].isin(drawn)
        copied = pd.Series(data=False, index=pairs.index)
        if table == "population":
            copies = [posts or [] for posts in pairs["copies"]]
            copied |= pd.Series([not purged.isdisjoint(posts) for posts in copies], pairs.index, dtype=bool)
            pairs["copies"] = [[post for post in posts if post not in purged] for posts in copies]
        if gone.any() or copied.any():
            pairs.loc[gone, "post_id"] = ""
            nameless = pairs.loc[gone, "claim_id"] + "|forgotten:"
            pairs.loc[gone, "item_id"] = nameless + pd.Series(gone[gone].index.astype(str), gone[gone].index)
            storage.write_table(path, pairs, table)
            count += int((gone | copied).sum())
    return count
