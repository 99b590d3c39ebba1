"""Lists of ids and labels as others publish them (tweet_id, label, …): read for their posts, and written back with texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build import storage
from covmis_build.corpus.convert import check_ids
from covmis_build.errors import InputError
from covmis_build.files.columns import column_of
from covmis_build.files.reading import read_table

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

IDS = ("post_id", "tweet_id", "status_id", "native_id", "id")
"""What the column of ids is called, the surest first."""
GIVEN = "given "
"""Before the names of the table's own columns, so that they meet none of ours."""


def read_plain(path: Path) -> pd.DataFrame | None:
    """The table as text, with item_id, claim_id, post_id and native_id next to its own columns; None where it is a corpus.

    A bare number is an id of X, as in the files of COVMis-Stance, COVIDLies and others.
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
            "item_id": [f"{number}|{post}" for number, post in enumerate(posts, 1)], "claim_id": "", "post_id": posts,
            "native_id": [post.partition(":")[2] or post for post in posts],
        }
    )  # fmt: skip
    given = table.rename(columns={"text": "text as given"}).add_prefix(GIVEN)
    return pd.concat([told, given], axis=1)


def write_plain(path: Path, hydrated: pd.DataFrame) -> None:
    """The table as it came, with its texts in the last column."""
    own = [name for name in hydrated.columns if name.startswith(GIVEN)]
    rows = hydrated[[*own, "text"]].fillna("").itertuples(index=False)
    header = [*(name.removeprefix(GIVEN) for name in own), "text"]
    storage.write_bytes(path, storage.csv_bytes(header, rows))
