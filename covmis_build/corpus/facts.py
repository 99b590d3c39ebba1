"""Everything that card, methods and metadata say, gathered once: each number computed from tables, none typed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from covmis_build import options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

PLATFORMS = {"x": "X", "bsky": "Bluesky", "masto": "Mastodon"}


class FlowStep(Protocol):
    """One row of the study's flow, as `covmis status` shows it."""

    @property
    def keeps(self) -> str:
        """What is left after this step, in words."""

    @property
    def claims(self) -> int:
        """Claims left."""

    @property
    def pairs(self) -> int | None:
        """Pairs of claim and post left; None before there are any."""

    @property
    def dropped_pairs(self) -> int | None:
        """Pairs that this step dropped."""

    @property
    def reasons(self) -> Mapping[str, int]:
        """Why, with counts."""


@dataclass(frozen=True)
class Round:
    """A round of annotation: its size, its agreement, its guideline, its seal."""

    name: str
    pilot: bool
    claims: int
    items: int
    for_people: int
    """Items that people labelled: all but the automatic ones outside the audit."""
    agreement: Mapping[str, Any] = field(default_factory=dict)
    """The round's report.json; empty before `covmis round report`."""
    guideline: str = ""
    """The guideline's hash, short."""
    seal: str = ""

    @property
    def kappa(self) -> Mapping[str, Any]:
        """The headline coefficient: name, value, low, high."""
        found = self.agreement.get("kappa") or {}
        return found if isinstance(found, dict) else {}


@dataclass(frozen=True)
class Difference:
    """A setting that is another today than it was for some rounds."""

    setting: str
    then: str
    now: str
    rounds: tuple[str, ...]

    def __str__(self) -> str:
        rounds = f"round{'s' * (len(self.rounds) > 1)} {', '.join(self.rounds)}"
        return f"{self.setting} was {self.then} for {rounds} and is {self.now} now"


@dataclass(frozen=True)
class Facts:
    """What is known about a release besides its rows."""

    title: str
    date: str
    version: str
    release: options.Release = field(default_factory=options.Release)
    labels: options.Labels = field(default_factory=options.Labels)
    retrieval: options.Retrieval = field(default_factory=options.Retrieval)
    cleaning: options.Cleaning = field(default_factory=options.Cleaning)
    sampling: options.Sampling = field(default_factory=options.Sampling)
    annotation: options.Annotation = field(default_factory=options.Annotation)
    differences: Sequence[Difference] = ()
    """Settings that governed the data and are others today; the fields above have those that governed."""
    flow: Sequence[FlowStep] = ()
    rounds: Sequence[Round] = ()
    overall: Mapping[str, Any] = field(default_factory=dict)
    """Agreement over all rounds that count, as in a round's report; empty if there is none."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    audit: Mapping[str, int] = field(default_factory=dict)
    """`audited`: automatic labels that people checked; `changed`: those that they did not confirm."""
    platforms: Mapping[str, int] = field(default_factory=dict)
    period: tuple[str, str] = ("", "")
    """First and last day of the posts, empty where unknown."""
    annotators: int = 0
    """People who labelled at least one item of a round that counts."""

    @property
    def claims_a_round(self) -> int:
        """Claims in the largest round that counts."""
        return max(
            (one.claims for one in self.rounds if not one.pilot), default=self.annotation.claims_per_round
        )

    @property
    def simulated(self) -> bool:
        """Whether the study's title says that its posts are simulated."""
        return "simulat" in self.title.casefold()


def audit_counts(gold: pd.DataFrame, frozen: pd.DataFrame) -> dict[str, int]:
    """How many automatic labels people checked, and how many of those they changed."""
    checked = gold[gold["how"] == "audited"].merge(frozen[["item_id", "automatic_label"]], on="item_id")
    return {
        "audited": len(checked),
        "changed": int((checked["label"] != checked["automatic_label"]).sum()),
    }


def platform_counts(corpus: pd.DataFrame) -> dict[str, int]:
    """Rows by platform, from the prefix of their ids."""
    prefixes = corpus["post_id"].str.partition(":")[0].value_counts().sort_index()
    return {PLATFORMS.get(str(name), str(name)): int(count) for name, count in prefixes.items()}


def period(corpus: pd.DataFrame) -> tuple[str, str]:
    """The first and last day on which a post of the corpus was made."""
    days = sorted(day[:10] for day in corpus["created_at"].fillna("") if day)
    return (days[0], days[-1]) if days else ("", "")
