"""How many posts each annotator gets, with and without balance, and what moves when somebody joins or leaves: `python benchmarks/assignment.py`."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))
from covmis_build import tables
from covmis_build.annotation.assignment import assignment

SEEDS = 20
STUDIES = ((120, 3, 2), (120, 4, 2), (120, 20, 2), (500, 5, 3), (30, 6, 2))


def items(count: int) -> pd.DataFrame:
    names = [f"c{at % 12}|x:{at}" for at in range(count)]
    return pd.DataFrame(
        {"item_id": names, "claim_id": [name.partition("|")[0] for name in names], "salt": "s", "round": "001",
         "automatic_label": "", "audited": False}
    )  # fmt: skip


def moved(before, after, staying) -> int:
    return sum(len(set(after[who]) - set(before[who])) for who in staying)


def main() -> None:
    print(
        "posts people each  fewest and most: by chance, now  pairs share  moved when one joins (their part), leaves (theirs)"
    )
    for posts, count, each in STUDIES:
        people = [f"a{at}" for at in range(1, count + 1)]
        sizes, shared, joins, leaves = ([], []), [], [], []
        for seed in range(SEEDS):
            for at, balanced in enumerate((False, True)):
                deal = [
                    assignment(
                        items(posts), tables.empty("labels"), roster, each, seed=seed, balanced=balanced
                    )
                    for roster in (people, [*people, "new"], people[1:])
                ]
                sizes[at].extend(map(len, deal[0].values()))
            shared += [
                len(set(deal[0][one]) & set(deal[0][other]))
                for one, other in itertools.combinations(people, 2)
            ]
            joins.append(moved(deal[0], deal[1], people))
            leaves.append(moved(deal[0], deal[2], people[1:]) - len(deal[0]["a1"]))
        told = [f"{min(one)} to {max(one)}" for one in (*sizes, shared)]
        part = posts * each / (count + 1)
        print(
            f"{posts:5} {count:6} {each:4}  {told[0]:>12} {told[1]:>12} {told[2]:>14}"
            f"  {sum(joins) / SEEDS:6.1f} ({part:.0f}) {sum(leaves) / SEEDS:6.1f} ({posts * each / count:.0f})"
        )


if __name__ == "__main__":
    main()
