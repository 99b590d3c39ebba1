"""Lists of ids and labels as others publish them (tweet_id, label, …): read for their posts, and written back with texts."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from covmis_build import storage
from covmis_build.corpus.convert import check_ids
from covmis_build.errors import InputError, doubted
from covmis_build.text.sheets import bytes_of, lines_of

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

IDS = ("post_id", "tweet_id", "tweetid", "tweet id", "status_id", "native_id", "id")
"""What the column of ids is called, the surest first."""
GIVEN = "given "
"""Before the names of the table's own columns, so that they meet none of ours."""


def read_plain(path: Path) -> pd.DataFrame | None:
    """The table as text, with item_id, claim_id, post_id and native_id beside its own columns; None where it is a corpus.

    A bare number is an id of X, as in the files of COVMis-Stance, COVIDLies and others.
    """
    import pandas as pd

    if path.suffix not in {".csv", ".tsv", ".txt"} or not path.is_file():
        return None
    with doubted(path):
        (header, *lines), _ = lines_of(bytes_of(path).decode("utf-8-sig"), path)
        rows = [row for row in lines if row]
    if {"item_id", "post_id", "claim_id"} <= set(header):
        return None
    named = {name.strip().casefold(): name for name in header}
    column = next((named[name] for name in IDS if name in named), None)
    if column is None:
        raise InputError(
            f"has no column of ids ({', '.join(header[:6])})", file=path, remedy="Call it tweet_id or post_id"
        )
    [(name, times)] = Counter(header).most_common(1)
    if times > 1:
        raise InputError(
            f"has two columns called '{name[:40]}'", file=path, row=1, remedy="Rename one of them"
        )
    for number, row in enumerate(rows, 2):
        if len(row) != len(header):
            raise InputError(f"has {len(row)} cells, not {len(header)}", file=path, row=number)
    table = pd.DataFrame(rows, columns=header, dtype=object).map(storage.restored)
    ids = table[column].str.strip()
    if (empty := ids == "").any():
        raise InputError("has a row without an id", file=path, row=int(empty.argmax()) + 2)
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
