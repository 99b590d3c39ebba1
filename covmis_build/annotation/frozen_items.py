"""Opening a round freezes its items. They then no longer depend on data/build.

A frozen item contains everything that annotators see and the corpus needs. `shown` is the salted hash of what is on
screen. A purge removes text and salt and keeps the hash, so seals still verify.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from covmis_build import keyed, storage, tables
from covmis_build.errors import InputError
from covmis_build.text.shown import list_of, shown_hash, shown_parts, text_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from covmis_build.options import Annotation, Labels

FROZEN = tables.SCHEMAS["frozen"]
"""The columns of a round's items.parquet; keys are never empty."""
LISTS = [field.name for field in FROZEN if pa.types.is_list(field.type)]


def freeze(  # noqa: PLR0913 - a round freezes what all of these tables say
    sample: pd.DataFrame,
    items: pd.DataFrame,
    claims: pd.DataFrame,
    posts: pd.DataFrame,
    earlier: Sequence[pd.DataFrame],
    options: Annotation,
    labels: Labels,
    *,
    seed: int,
    pilot: bool = False,
    salt: str = "",
    number: str = "",
) -> pd.DataFrame:
    """Freeze the sampled items of the next `claims_per_round` claims, in the order of claims.csv (see `next_claims`).

    Automatic items are frozen too, but annotators see only the audited ones. `salt` is the round's secret; without it the
    salts are computed from the seed. Raises InputError if there is nothing left to open.
    """
    import pandas as pd

    number = number or f"{len(earlier) + 1:03d}"
    taken = {item for frozen in earlier for item in frozen["item_id"]}
    begun = {claim for frozen in earlier for claim in frozen["claim_id"]}
    left = sample[~sample["item_id"].isin(taken)]
    chosen = next_claims(list(claims["claim_id"]), set(left["claim_id"]), begun, options.claims_per_round)
    if not chosen:
        raise InputError(
            "all sampled claims are in rounds already", remedy="Add posts or claims, then run `covmis run`"
        )
    unknown = set(left["automatic_label"].dropna()) - {"", *labels.values}  # noqa: PD011 - not pandas'
    if unknown:
        raise InputError(
            f"the sample has the automatic label '{min(unknown)}', which is not in [labels] values",
            remedy="Run `covmis run` again",
        )
    drawn = left[left["claim_id"].isin(chosen)]
    items_of_sample = (
        drawn.drop(columns="kind")
        .merge(items.drop(columns=["claim_id", "post_id"]), on="item_id", how="left", validate="one_to_one")
        .merge(
            claims[["claim_id", "text"]]
            .rename(columns={"text": "claim"})
            .assign(fact_check=_fact_checks(claims)),
            on="claim_id",
            how="left",
            validate="many_to_one",
        )
        .merge(_posts(posts, set(drawn["post_id"])), on="post_id", how="left", validate="many_to_one")
    )
    _complete(items_of_sample)
    rows = [_frozen(row, number, options.show, seed, salt, pilot=pilot) for row in rows_of(items_of_sample)]
    place = {claim: at for at, claim in enumerate(chosen)}
    rows.sort(key=lambda row: (place[row["claim_id"]], row["item_id"]))
    return pd.DataFrame(rows, columns=FROZEN.names)


def next_claims(
    order: Sequence[str], waiting: Collection[str], begun: Collection[str], count: int
) -> list[str]:
    """Choose `count` claims that have sampled posts in no round yet; claims without any round come first."""
    return sorted((claim for claim in order if claim in waiting), key=lambda claim: claim in begun)[:count]


def _fact_checks(claims: pd.DataFrame) -> list[str]:
    """Return the fact-checkers' verdict on each claim, and their articles' titles."""
    verdicts = claims["verdict"] if "verdict" in claims else [""] * len(claims)
    return [
        "\n".join(filter(None, [text_of(verdict), *list_of(titles)]))
        for verdict, titles in zip(verdicts, claims["titles"], strict=True)
    ]


def _posts(posts: pd.DataFrame, wanted: set[str]) -> pd.DataFrame:
    columns = ["post_id", "native_id", "text", "created_at", "cards", "media", "parent_text", "quoted_text"]
    return posts.loc[posts["post_id"].isin(wanted), columns]


def _complete(items_of_sample: pd.DataFrame) -> None:
    """Refuse items whose post, claim or probability is missing in the tables."""
    for column, table in (("text", "posts"), ("claim", "claims"), ("p_claim", "items")):
        missing = items_of_sample.loc[items_of_sample[column].isna(), "item_id"]
        if len(missing):
            raise InputError(
                f"the item {missing.iloc[0]} of the sample is not in the table {table}",
                remedy="Run `covmis run` first",
            )


def _frozen(
    row: dict[str, Any], number: str, show: Sequence[str], seed: int, salt: str, *, pilot: bool
) -> dict[str, Any]:
    item = str(row["item_id"])
    own = keyed.digest(seed, "salt", salt, number, item).hex()[:32]
    frozen = {
        **row,
        **{name: list_of(row[name]) for name in LISTS if name in row},
        "round": number,
        "pilot": pilot,
        "show": list(show),
        "cards": list_of(row["cards"]) if "card" in show else [],
        "media": list_of(row["media"]) if "media" in show else [],
        "quoted": text_of(row["quoted_text"]) if "quoted" in show else "",
        "parent": text_of(row["parent_text"]) if "parent" in show else "",
        "fact_check": row["fact_check"] if "fact_check" in show else "",
        "created_at": text_of(row["created_at"]),
        "automatic_label": text_of(row["automatic_label"]),
        "audited": bool(row["audited"]),
        "salt": own,
    }
    return {**frozen, "shown": shown_hash(own, shown_parts(frozen))}


def rows_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows as records by column name."""
    return [{str(name): cell for name, cell in row.items()} for row in frame.to_dict("records")]


def by_item(frozen: pd.DataFrame) -> dict[str, Mapping[str, Any]]:
    """Return the row of each item, with the columns of `FROZEN`."""
    return {row["item_id"]: row for row in rows_of(frozen)}


def for_people(frozen: pd.DataFrame) -> pd.DataFrame:
    """Return the items that annotators label: all except automatic ones outside the audit."""
    return frozen[(frozen["automatic_label"] == "") | frozen["audited"].astype(bool)]


def frozen_items(rounds: Path) -> pd.DataFrame:
    """Read all items of all opened rounds of a study. Without rounds the table is empty."""
    import pandas as pd

    parts = [read_items(folder) for folder in _round_folders(rounds)]
    parts = [part for part in parts if len(part)]
    return pd.concat(parts, ignore_index=True) if parts else tables.empty("frozen")


PAIR = ["item_id", "claim_id", "post_id"]


def frozen_columns(rounds: Path, names: Sequence[str] = PAIR) -> Any:
    """Read these columns of the items, without loading pandas."""
    columns: dict[str, list[str]] = {name: [] for name in names}
    for folder in _round_folders(rounds):
        items = storage.read_parquet(folder / "items.parquet", names, storage.RESTORED, only=list(names))
        for name in names:
            columns[name] += items.column(name).to_pylist()
    return columns


def _round_folders(rounds: Path) -> list[Path]:
    """Return the folders of the opened rounds, in order."""
    return sorted(path.parent for path in rounds.glob("[0-9][0-9][0-9]/items.parquet"))


def read_items(folder: Path) -> pd.DataFrame:
    """Read the frozen items of the round in this folder."""
    return storage.read_once(folder / "items.parquet", "frozen")


def write_items(folder: Path, frozen: pd.DataFrame) -> None:
    """Write these frozen items to the round's folder."""
    storage.write_table(folder / "items.parquet", frozen, "frozen")
