"""Who labels which post: as many posts for each annotator as their share of the work, chosen at random.

Nothing but seed, items, roster and labels decides, so that every copy of a study sends out the same work.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

from covmis_build import keyed
from covmis_build.annotation.frozen_items import for_people
from covmis_build.options import is_machine
from covmis_build.records import independent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd


def assignment(  # noqa: PLR0913 - each decides who gets what
    frozen: pd.DataFrame,
    labels: pd.DataFrame,
    annotators: Sequence[str],
    per_item: int,
    *,
    seed: int,
    order: str = "mixed",
    workload: Mapping[str, float] | None = None,
    twice: str = "",
    balanced: bool = True,
) -> dict[str, list[str]]:
    """Assign items to annotators: for each annotator, items in an individual order.

    All people get the same number of items, or one more; with `workload`, which contains relative shares, in proportion to
    them. Whom an item goes to depends on the roster, not on the labels, so nothing moves while people work. A change of the
    roster moves few items, and an annotator keeps the items that they have labelled. Labels of former annotators count: their
    items need one annotator less. Purged items are omitted. `order` "claim" keeps the posts of a claim together, with the
    claims in an individual order. An item labelled `twice` gets one more annotator. No item is labelled by models only. Not
    `balanced`, as in rounds that versions before 0.3.0 opened, chance alone decides how many items somebody gets.
    """
    people = for_people(frozen)
    shares = {who: (workload or {}).get(who, 1.0) for who in annotators}

    @cache
    def wait(item: str, who: str) -> float:
        # Exponential waiting times with the shares as rates; with equal shares, the smallest number is first.
        return -math.log1p(-keyed.uniform(seed, "assignment", item, who)) / shares[who]

    @cache
    def seated() -> dict[str, list[str]]:
        """Whom each item goes to without labels; not needed where all items have enough."""
        by_chance = {
            item: _with_a_person(sorted(annotators, key=lambda who: wait(item, who)), per_item)
            for item in people["item_id"]
        }
        if not balanced:
            return by_chance
        number = "".join(people["round"].iloc[:1])
        in_turn = keyed.order(seed, f"one more of {number}", annotators)
        return _even(by_chance, wait, {who: shares[who] for who in in_turn if not is_machine(who)})

    given = independent(labels)
    gone = given[~given["annotator"].isin(annotators)]
    done = gone.groupby("item_id")["annotator"].nunique().to_dict()
    again = set(given.loc[given["label"] == twice, "item_id"]) if twice else set()
    has = set(zip(given["item_id"], given["annotator"], strict=True))
    work: dict[str, list[str]] = {code: [] for code in annotators}
    for item in people.loc[people["salt"] != "", "item_id"]:
        need = max(per_item + (item in again) - done.get(item, 0), 0)
        labelled_by = [who for who in annotators if (item, who) in has]
        if len(labelled_by) >= need and not all(map(is_machine, labelled_by)):
            ranked = sorted(labelled_by, key=lambda who: wait(item, who))
        elif need:
            ranked = sorted(
                annotators,
                key=lambda who: ((item, who) not in has, who not in seated()[item], wait(item, who)),
            )
        else:
            continue
        for who in ranked[:need] if item in done else _with_a_person(ranked, need):
            work[who].append(item)
    claims = dict(zip(people["item_id"], people["claim_id"], strict=True))
    return {who: in_order(items, claims, who, order, seed) for who, items in work.items()}


def _with_a_person(ranked: Sequence[str], need: int) -> list[str]:
    """Return the first ones; if these are models only, the first person takes the last one's place."""
    chosen = list(ranked[:need])
    if chosen and all(map(is_machine, chosen)):
        chosen[-1] = next((who for who in ranked if not is_machine(who)), chosen[-1])
    return chosen


def _even(
    seated: Mapping[str, Sequence[str]], wait: Callable[[str, str], float], shares: Mapping[str, float]
) -> dict[str, list[str]]:
    """Deal out again the items that people have, so that each has as many as their share; models keep theirs.

    Of all people and items, the shortest waiting times count first, as long as the person has room.
    """
    need = {item: sum(who in shares for who in had) for item, had in seated.items()}
    left = _rooms(shares, sum(need.values()), len(need))
    even: dict[str, list[str]] = {item: [] for item in seated}
    for _, item, who in sorted((wait(item, who), item, who) for item in seated for who in shares):
        if left[who] and len(even[item]) < need[item]:
            even[item].append(who)
            left[who] -= 1
    for item, has in even.items():
        while len(has) < need[item] and (swap := _swap(has, even, wait, item, left)):
            of_item, comes, leaves = swap
            even[of_item][even[of_item].index(leaves)] = comes
            has.append(leaves)
            left[comes] -= 1
    return {item: [*even[item], *(who for who in had if who not in shares)] for item, had in seated.items()}


def _swap(
    has: Sequence[str],
    even: Mapping[str, Sequence[str]],
    wait: Callable[[str, str], float],
    item: str,
    left: Mapping[str, int],
) -> tuple[str, str, str] | None:
    """Return an item at which somebody with room can take the place of a person who then comes here, if any.

    Needed at the end, where only people who have an item already have room left.
    """
    swaps = (
        (wait(other, comes) + wait(item, leaves), other, comes, leaves)
        for comes in left
        if left[comes]
        for other, there in even.items()
        if comes not in there
        for leaves in there
        if leaves not in has
    )
    best = min(swaps, default=None)
    return best and best[1:]


def _rooms(shares: Mapping[str, float], seats: int, most: int) -> dict[str, int]:
    """Divide the seats in proportion to the shares, at most `most` each.

    What is left over goes to the largest fractions; of equal ones, to the first in order.
    """
    rest = dict(shares)
    rooms: dict[str, int] = {}
    while full := [who for who, share in rest.items() if share * seats >= most * sum(rest.values())]:
        rooms |= dict.fromkeys(full, most)
        seats -= most * len(full)
        rest = {who: share for who, share in rest.items() if who not in rooms}
    exact = {who: share * seats / sum(rest.values()) for who, share in rest.items()}
    over = seats - sum(map(math.floor, exact.values()))
    more = sorted(exact, key=lambda who: math.floor(exact[who]) - exact[who])[:over]
    return rooms | {who: math.floor(part) + (who in more) for who, part in exact.items()}


def in_order(items: list[str], claims: Mapping[str, str], who: str, order: str, seed: int) -> list[str]:
    """Sort these items in this annotator's order. Further items do not change the order of the others."""
    mixed = keyed.order(seed, f"order of {who}", items)
    if order == "mixed":
        return mixed
    of_claims = keyed.order(seed, f"order of claims of {who}", sorted({claims[item] for item in items}))
    place = {claim: at for at, claim in enumerate(of_claims)}
    return sorted(mixed, key=lambda item: place[claims[item]])
