"""Restore texts: join a release with the reader's own posts, and list the missing ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from covmis_build import storage
from covmis_build.corpus.convert import check_ids
from covmis_build.corpus.release import mask_mentions
from covmis_build.errors import InputError
from covmis_build.files.columns import column_of
from covmis_build.files.reading import read_table

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd


ABSENT = "not in the archive"


@dataclass(frozen=True)
class Hydrated:
    """The corpus with available texts, and the missing rows: item_id, post_id, native_id, reason."""

    corpus: pd.DataFrame
    gone: pd.DataFrame

    @property
    def reasons(self) -> dict[str, int]:
        """Return the number of rows without text by reason."""
        return {
            str(name): int(count) for name, count in self.gone["reason"].value_counts().sort_index().items()
        }


def hydrate(corpus: pd.DataFrame, posts: pd.DataFrame, *, mask: bool) -> Hydrated:
    """Add each row's text. `posts` has post_id, text and availability.

    A post that is no longer available on its platform (deleted, protected, …) gets no text, even if an older copy exists,
    because its author deleted it for everyone.
    """
    texts = dict(zip(posts["post_id"], posts["text"], strict=True))
    fates = dict(zip(posts["post_id"], posts["availability"], strict=True))
    hydrated = corpus.copy()
    posted = [_text(texts.get(post)) if _is_there(fates.get(post)) else None for post in corpus["post_id"]]
    hydrated["text"] = [mask_mentions(text) if text and mask else text for text in posted]
    missing = hydrated["text"].isna()
    gone = corpus.loc[missing, ["item_id", "post_id", "native_id"]].reset_index(drop=True)
    gone["reason"] = [_reason(fates.get(post)) for post in gone["post_id"]]
    return Hydrated(hydrated, gone)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _is_there(fate: Any) -> bool:
    return not isinstance(fate, str) or fate in {"", "available"}


def _reason(fate: Any) -> str:
    return ABSENT if _is_there(fate) else str(fate)


def write_gone(path: Path, gone: pd.DataFrame) -> None:
    """Write the list of missing posts, safe for spreadsheets."""
    storage.write_bytes(path, storage.csv_bytes(list(gone.columns), gone.itertuples(index=False)))


IDS = ("post_id", "tweet_id", "status_id", "native_id", "id")
"""Names of the id column, the most specific first."""
GIVEN = "given "
"""Prefix of the table's own columns, to avoid conflicts with covmis's."""


def read_plain(path: Path) -> pd.DataFrame | None:
    """Read the table as text, with item_id, claim_id, post_id and native_id next to its own columns; None for a corpus.

    A bare number is an X id, as in the files of COVMis-Stance, COVIDLies and others.
    """
    import pandas as pd

    if path.suffix not in {".csv", ".tsv", ".txt"} or not path.is_file():
        return None
    sheet = read_table(path, own=True)
    header = sheet.header
    if {"item_id", "post_id", "claim_id"} <= set(header):
        return None
    column = column_of(header, IDS)
    if not column:
        raise InputError(
            f"has no column of ids ({', '.join(header[:6])})", file=path, remedy="Call it tweet_id or post_id"
        )
    table = sheet.frame()
    ids = table[column].str.strip()
    if (empty := ids == "").any():
        raise InputError("has a row without an id", file=path, row=sheet.numbers[int(empty.argmax())])
    check_ids(ids, path)
    posts = [f"x:{id_}" if id_.isascii() and id_.isdigit() else id_ for id_ in ids]
    told = pd.DataFrame(
        {
            "item_id": [f"{number}|{post}" for number, post in enumerate(posts, 1)],
            "claim_id": "",
            "post_id": posts,
            "native_id": [post.partition(":")[2] or post for post in posts],
        }
    )
    given = table.rename(columns={"text": "text as given"}).add_prefix(GIVEN)
    return pd.concat([told, given], axis=1)


def write_plain(path: Path, hydrated: pd.DataFrame) -> None:
    """Write the original table with the texts in the last column."""
    own = [name for name in hydrated.columns if name.startswith(GIVEN)]
    rows = hydrated[[*own, "text"]].fillna("").itertuples(index=False)
    header = [*(name.removeprefix(GIVEN) for name in own), "text"]
    storage.write_bytes(path, storage.csv_bytes(header, rows))
