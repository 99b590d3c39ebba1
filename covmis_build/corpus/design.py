"""How the posts of a release were drawn (design.json): what an estimate needs to know of posts that have no label.

Posts of one claim, query type, platform, month, size and probabilities are one entry with their number; no post is named.
What the draw did with labelled posts is in the corpus: `design`, `p_claim`, `p_sample`, `automatic_label`, `p_audit`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence  # noqa: TC003 - read at run time, for design.json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from covmis_build.errors import InputError, doubted
from covmis_build.sampling.strata import DAY, MONTH, WINDOWS

if TYPE_CHECKING:
    from pathlib import Path

ALIKE = [
    "claim_id", "kind", "platform", "time", "group_size", "group_items", "p_claim", "p_sample", "design",
]  # fmt: skip
"""What posts of one entry have in common."""
NAMELESS = "unlabelled"
MOST_POSTS = 20_000_000
"""With more posts no estimate begins: a file can claim any number."""


@dataclass(frozen=True, slots=True)
class Unlabelled:
    """Posts without a label that are alike."""

    claim_id: str
    kind: str
    platform: str
    time: str
    """Their month, or what `Drawn.time` says; empty if unknown."""
    group_size: int
    group_items: float
    p_claim: float
    p_sample: float
    """The probability with which each could be drawn."""
    posts: int
    design: str = ""
    """The sampling design of those that were drawn; empty for posts that were not."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """The posts that a release's labelled ones represent."""

    time: str = MONTH
    """The window of time that is known of posts without a label."""
    complete: bool = True
    """Whether every post that people were given has its final label."""
    unlabelled: Sequence[Unlabelled] | None = None
    """None if it is not known from which posts the labelled ones were drawn."""
    shared: Mapping[str, float] = field(default_factory=dict)
    """Labelled items that represent one group of near-duplicates together with others, and how many these are."""


class Posts(NamedTuple):
    """The posts of a release as estimates take them."""

    labelled: pd.DataFrame
    pool: pd.DataFrame | None
    missing: pd.DataFrame
    """Drawn posts without a label."""
    draws: pd.DataFrame
    """The probability of each post without a label."""


def drawn_of(
    labelled: pd.DataFrame,
    pool: pd.DataFrame | None,
    missing: pd.DataFrame,
    *,
    complete: bool,
    by: Sequence[str],
) -> Drawn:
    """Return the design of these labelled items. `pool`, with `p_sample`, are the posts that they represent.

    `missing` were drawn and have no label; `by` are further strata ([sampling] strata_by).
    """
    time = DAY if DAY in by else MONTH
    items = labelled["group_items"] if "group_items" in labelled else pd.Series(1, labelled.index)
    number = zip(labelled["item_id"], items.fillna(1), strict=True)
    shared = {str(item): float(count) for item, count in sorted(number) if count != 1}
    if pool is None:
        return Drawn(time, complete, None, shared)
    rest = pool[~pool["item_id"].isin(set(labelled["item_id"]))]
    designs = dict(zip(missing["item_id"], missing["design"].fillna(""), strict=True)) if len(missing) else {}
    times = rest["created_at"].fillna("") if "created_at" in rest else pd.Series("", rest.index)
    told = rest.assign(
        platform=[post.partition(":")[0] for post in rest["post_id"]],
        time=times.astype(str).str[: WINDOWS[time]],
        group_items=(rest["group_items"] if "group_items" in rest else pd.Series(1.0, rest.index))
        .fillna(1)
        .astype(float),
        design=[designs.get(item, "") for item in rest["item_id"]],
    )
    counts = told.groupby(ALIKE, sort=True).size().reset_index(name="posts")
    alike = [
        Unlabelled(**{str(name): cell for name, cell in row.items()}) for row in counts.to_dict("records")
    ]
    return Drawn(time, complete, alike, shared)


def posts_of(drawn: Drawn, corpus: pd.DataFrame, path: Path) -> Posts:
    """Return the labelled and the other posts of a release; `corpus` are its items in the population, `path` is design.json."""
    if unknown := sorted(set(drawn.shared) - set(corpus["item_id"])):
        raise InputError(
            f"the corpus has no item {unknown[0]}", file=path, remedy="Use the files of one release"
        )
    shared = corpus["item_id"].map(drawn.shared).fillna(1.0).astype(float)
    labelled = corpus.assign(group_items=shared)
    draws = pd.DataFrame(columns=["item_id", "claim_id", "stratum", "probability"])
    if drawn.unlabelled is None:
        return Posts(labelled, None, labelled.iloc[:0], draws)
    rest = pd.DataFrame(drawn.unlabelled, columns=list(Unlabelled.__dataclass_fields__))
    numbers, chances = rest["posts"], rest[["p_claim", "p_sample"]]
    if len(rest) and (
        numbers.min() < 1
        or numbers.sum() > MOST_POSTS
        or rest[["group_size", "group_items"]].min().min() < 1
        or not ((chances > 0) & (chances <= 1)).all().all()
    ):
        raise InputError("has numbers of posts or probabilities that cannot be", file=path)
    rest = rest.loc[rest.index.repeat(numbers)].reset_index(drop=True)
    rest["post_id"] = rest["platform"] + f":{NAMELESS}-" + rest.index.astype(str)
    rest["item_id"] = rest["claim_id"] + "|" + rest["post_id"]
    rest["created_at"] = rest["time"]
    names = ["item_id", "claim_id", "post_id", "kind", "group_size", "group_items", "p_claim", "created_at"]
    pool = pd.concat([labelled[names], rest[names]], ignore_index=True)
    draws = rest.assign(stratum=rest["kind"], probability=rest["p_sample"])[list(draws.columns)]
    return Posts(labelled, pool, rest[rest["design"] != ""].reset_index(drop=True), draws)


def timeless(drawn: Drawn) -> Drawn:
    """Return the same design without the times of posts that have no label."""
    entries = None if drawn.unlabelled is None else [replace(alike, time="") for alike in drawn.unlabelled]
    return in_order(replace(drawn, unlabelled=entries))


def in_order(drawn: Drawn) -> Drawn:
    """Return the same design in its order, posts that are alike as one entry."""
    numbers: dict[Unlabelled, int] = {}
    for alike in drawn.unlabelled or ():
        entry = replace(alike, posts=1)
        numbers[entry] = numbers.get(entry, 0) + alike.posts
    entries = sorted(
        (replace(entry, posts=number) for entry, number in numbers.items()),
        key=lambda entry: [getattr(entry, name) for name in ALIKE],
    )
    return replace(
        drawn,
        unlabelled=None if drawn.unlabelled is None else entries,
        shared=dict(sorted(drawn.shared.items())),
    )


def to_json(drawn: Drawn) -> str:
    """Return the content of design.json: an entry a line."""
    import msgspec

    written = msgspec.json.encode(drawn).decode()
    return written.replace('{"claim_id":', '\n{"claim_id":') + "\n"


def read_design(path: Path) -> Drawn | None:
    """Read design.json; None if it is not there."""
    import msgspec

    if not path.is_file():
        return None
    with doubted(path):
        return msgspec.json.decode(path.read_bytes(), type=Drawn)
