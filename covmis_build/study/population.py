"""The population that shares describe: the posts that today's queries find and cleaning keeps, or those of the draws.

An item that was labelled belongs to today's posts if they still have its post, or a near-copy of it. Others keep their
labels, and are counted in words. Posts found since the last draw of their claim had no chance of being labelled.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

import pandas as pd

from covmis_build import storage, tables
from covmis_build.building.flow import ask
from covmis_build.cleaning import near_duplicates
from covmis_build.errors import InputError, counted, nearest
from covmis_build.sampling.ledger import grown, read_ledger

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.places import Places
    from covmis_build.study.of_study import OfStudy


class Population(StrEnum):
    """Which posts shares are of."""

    TODAY = "today"
    DRAWN = "drawn"


AS_TODAY = ("kind", "group_size", "p_claim", "group_items")
"""What an item's row in its population says of it."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A population and the labelled items that represent it."""

    population: Population
    posts: pd.DataFrame | None
    """The claim-post pairs that could be drawn; None if they are not known."""
    labelled: pd.DataFrame
    """The labelled items of this population, described as it has them."""
    outside: int = 0
    """Number of labelled posts that are no longer among today's."""
    unreached: int = 0
    """Number of today's posts that no opened draw could choose."""
    elsewhere: int = 0
    """Number of today's posts that only a near-identical post of another claim represents."""
    missing: pd.DataFrame = field(default_factory=pd.DataFrame)
    """Items of this population that were drawn, and have no label."""
    gone: int = 0
    """Number of drawn posts without a label that are no longer in this population."""
    grown: tuple[str, ...] = ()
    """Claims that got posts since their last draw, whose rounds did not record which."""

    @property
    def statement(self) -> str:
        """Return a sentence that says which posts these figures are of."""
        labels = counted(len(self.labelled), "labelled posts")
        if self.posts is None:
            return f"Population: the posts that the {labels} were drawn from. How many they were is not known here."
        claims = counted(self.posts["claim_id"].nunique(), "claims")
        whose = (
            "that today's queries find and cleaning keeps"
            if self.population is Population.TODAY
            else "that could be drawn when the rounds were opened"
        )
        posts = f"{counted(len(self.posts), 'posts')} of {claims} {whose}"
        if not self.elsewhere:
            return f"Population: {posts}, represented by {labels}."
        rest = f"{counted(self.elsewhere, 'further posts')} are near-identical to a post that stays with another claim"
        return f"Population: {posts}, represented by {labels}. {rest}, and in no share."

    @property
    def sentences(self) -> tuple[str, ...]:
        """Return the statement and the notes."""
        return self.statement, *(f"{note}." for note in self.notes)

    @property
    def notes(self) -> list[str]:
        """Return what is not in the figures, a sentence each."""
        notes = []
        if self.outside:
            notes.append(
                f"{self.outside:,} of {counted(self.outside + len(self.labelled), 'labelled posts')} are no longer found by any "
                "query, or dropped by today's cleaning. They keep their labels, and are in no share. "
                "`--population drawn` has the posts of the draws"
            )
        if self.gone:
            notes.append(
                f"{self.gone:,} of {counted(self.gone + len(self.missing) + len(self.labelled) + self.outside, 'drawn posts')} were "
                "removed, or are no longer found, and have no label that counts. They are in no share. If what was removed "
                "differs from what is left, shares differ from those of the posts that were drawn"
            )
        if self.unreached:
            total = self.unreached + (0 if self.posts is None else len(self.posts))
            notes.append(
                f"{self.unreached:,} of {total:,} posts ({self.unreached / total:.1%}) were found since the last draw of their "
                "claim. They had no chance of being labelled, and are in no share. A further round draws from them, too"
            )
        if self.grown:
            named = ", ".join(self.grown[:3]) + " …" * (len(self.grown) > 3)
            notes.append(
                f"{counted(len(self.grown), 'claims')} ({named}) got posts since the last draw was opened. These had no chance of "
                "being labelled, and the estimates assume that they are like the others. A further round draws from them, too"
            )
        return notes


def population_of(name: str) -> Population:
    """Return the population by its name."""
    if name not in set(Population):
        raise InputError(f"population = {name!r}", remedy=nearest(name, Population))
    return Population(name)


def pool_of(study: OfStudy) -> pd.DataFrame | None:
    """Return the items from which rounds were sampled, with the times of their posts."""
    if not study.places.table("items").is_file():
        return None
    pool = storage.read_table(study.places.table("items"), "items")
    if study.places.table("posts").is_file():
        times = storage.read_columns(study.places.table("posts"), ["post_id", "created_at"])
        pool = pool.merge(times, on="post_id", how="left")
    return pool


def frame_of(
    population: Population,
    labelled: pd.DataFrame,
    frozen: pd.DataFrame,
    posts: pd.DataFrame | None,
    rounds: Sequence[RoundFolder],
    places: Places,
) -> Frame:
    """Return the population of these labelled items. `frozen` are the items of all rounds, `posts` today's, if known."""
    counted_rounds = [round_ for round_ in rounds if not round_.pilot]
    frozen = frozen[~frozen["pilot"].astype(bool)]
    if not set(labelled["item_id"]) <= set(frozen["item_id"]):  # a corpus of others
        if posts is None or not set(labelled["item_id"]) <= set(posts["item_id"]):
            return Frame(population, None, labelled)
        return Frame(population, posts[posts["claim_id"].isin(set(labelled["claim_id"]))], labelled)
    drawn = _drawn_from(counted_rounds)
    left = frozen[~frozen["item_id"].isin(set(labelled["item_id"]))].drop_duplicates("item_id")
    if population is Population.DRAWN:
        if drawn is None:
            return Frame(population, None, labelled, missing=left.reset_index(drop=True))
        missing = _described(left[left["item_id"].isin(set(drawn["item_id"]))], drawn)
        return Frame(
            population, drawn, _described(labelled, drawn), missing=missing, gone=len(left) - len(missing)
        )
    if posts is None:
        return Frame(population, None, labelled, missing=left.reset_index(drop=True))
    posts = posts[posts["claim_id"].isin(set(frozen["claim_id"]))].reset_index(drop=True)
    recorded = _records(counted_rounds)
    reached = _reached(posts, frozen, recorded, places)
    posts = posts.assign(p_claim=_chances_then(posts, recorded))
    represented = posts["post_id"].isin(set(recorded.loc[recorded["p_claim"] < 1, "post_id"]))
    inside = labelled[labelled["item_id"].isin(set(posts["item_id"]))]
    missing = _described(left[left["item_id"].isin(set(posts["item_id"]))], posts)
    if inside.empty:
        raise InputError(
            "none of the labelled posts is found by a query today",
            remedy="`covmis estimate --population drawn` estimates for the posts that the rounds were drawn from",
        )
    return Frame(
        population,
        posts[reached].reset_index(drop=True),
        _described(inside, posts),
        outside=len(labelled) - len(inside),
        missing=missing,
        gone=len(left) - len(missing),
        unreached=int((~reached & ~represented).sum()),
        elsewhere=_elsewhere(set(posts["claim_id"]), places),
        grown=tuple(sorted(grown(read_ledger(places.rounds), posts) - set(recorded["claim_id"]))),
    )


def _described(labelled: pd.DataFrame, posts: pd.DataFrame) -> pd.DataFrame:
    """Return the labelled items as their population describes them."""
    known = posts.drop_duplicates("item_id").set_index("item_id").reindex(labelled["item_id"])
    names = [name for name in AS_TODAY if name in known.columns]
    return labelled.assign(**{name: known[name].to_numpy() for name in names}).reset_index(drop=True)


def _records(rounds: Sequence[RoundFolder]) -> pd.DataFrame:
    """Return what the rounds recorded of the posts that their draws chose from."""
    of_rounds = [round_.population() for round_ in rounds]
    return pd.concat(of_rounds, ignore_index=True) if of_rounds else tables.empty("population")


def _chances_then(posts: pd.DataFrame, recorded: pd.DataFrame) -> pd.Series[float]:
    """Return the probability that each post stays with its claim: of the last draw that could choose it, if that was smaller.

    If another claim's query no longer finds a post, it is certain to stay today; those that did not stay at the draw were
    represented there by those that did.
    """
    then = recorded.drop_duplicates("item_id", keep="last").set_index("item_id")["p_claim"]
    return posts["p_claim"].clip(upper=posts["item_id"].map(then).fillna(1.0))


def _drawn_from(rounds: Sequence[RoundFolder]) -> pd.DataFrame | None:
    """Return the posts that any draw could choose, as of their last draw; None if a round did not record them."""
    posts = _records(rounds)
    frozen = {claim for round_ in rounds for claim in round_.items()["claim_id"]}
    if not frozen <= set(posts["claim_id"]):
        return None
    return posts.drop_duplicates("item_id", keep="last").reset_index(drop=True)


def _reached(
    posts: pd.DataFrame, frozen: pd.DataFrame, recorded: pd.DataFrame, places: Places
) -> pd.Series[bool]:
    """Mark today's items that some draw could choose: themselves, or a near-copy that stood for them then, or that they stand for today.

    Of claims whose rounds recorded nothing (before 0.3) all are taken to be reached.
    """
    known = {*recorded["item_id"], *frozen["item_id"]}
    if "copies" in recorded:
        pairs = zip(recorded["claim_id"], recorded["copies"], strict=True)
        known |= {f"{claim}|{post}" for claim, copies in pairs if copies is not None for post in copies}
    reached = posts["item_id"].isin(known) | ~posts["claim_id"].isin(set(recorded["claim_id"]))
    if reached.all() or not places.table("dropped").is_file():
        return reached
    copies = copies_of(places)
    stands_for_known = pd.Series(
        [
            any(f"{claim}|{post}" in known for post in copies.get(item, ()))
            for claim, item in zip(posts["claim_id"], posts["item_id"], strict=True)
        ],
        posts.index,
    )
    return reached | stands_for_known


def _elsewhere(claims: Collection[str], places: Places) -> int:
    """Count the posts of these claims that only an item of another claim represents."""
    if not places.table("dropped").is_file():
        return 0
    rows = ask(
        "SELECT claim_id, count(*) FROM dropped WHERE step = ? AND reason = ? GROUP BY claim_id",
        near_duplicates.STEP.name,
        near_duplicates.ELSEWHERE,
        dropped=places.table("dropped"),
    )
    return sum(count for claim, count in rows if claim in claims)


def copies_of(places: Places) -> dict[str, list[str]]:
    """Return for each item of today the posts of its claim that are near-identical to it."""
    if not places.table("dropped").is_file():
        return {}
    rows = ask(
        "SELECT claim_id, kept_instead, list(post_id ORDER BY post_id) FROM dropped WHERE step = ? AND kept_instead <> '' "
        "GROUP BY claim_id, kept_instead",
        near_duplicates.STEP.name,
        dropped=places.table("dropped"),
    )
    return {f"{claim}|{kept}": list(copies) for claim, kept, copies in rows}
