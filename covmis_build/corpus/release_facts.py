"""Everything that card, methods and metadata say, gathered once: each number computed from tables, none typed.

A release holds its facts (facts.json), so that its users can render the card again and compare.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence  # noqa: TC003 - read at run time, for facts.json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from covmis_build import options
from covmis_build.corpus.release import LeftOut  # noqa: TC001 - as above
from covmis_build.stats.intervals import Interval  # noqa: TC001 - as above

if TYPE_CHECKING:
    import pandas as pd

PLATFORMS = {"x": "X", "bsky": "Bluesky", "masto": "Mastodon"}


@dataclass(frozen=True, slots=True)
class FlowStep:
    """One row of the study's flow, as `covmis status` shows it."""

    keeps: str
    """What is left after this step, in words."""
    claims: int
    pairs: int | None
    """Pairs of claim and post left; None before there are any."""
    dropped_pairs: int | None
    reasons: Mapping[str, int]
    """Why, with counts."""


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A coefficient of agreement, with its one interval.

    >>> from covmis_build.stats.intervals import Interval
    >>> str(Coefficient("Cohen's kappa", 0.6712, Interval(0.6, 0.74, "claims")))
    '0.67 (0.60 to 0.74, 95% interval over claims)'
    """

    name: str
    value: float
    interval: Interval | None = None

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.interval})" if self.interval else f"{self.value:.2f}"


@dataclass(frozen=True, slots=True)
class StageFacts:
    """What the ledger says of a stage: which covmis made which tables, by their hashes."""

    name: str
    version: str
    tables: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Parts:
    """How the corpus was divided."""

    scheme: str
    together: str
    """What is never torn, in words; empty where time alone counts."""
    near_copies: int | None = None
    """Pairs of near-duplicates whose two posts are in different parts; None where texts were not at hand."""
    findings: Sequence[str] = ()
    """What the parts share, as `covmis evaluate leakage` says it."""


@dataclass(frozen=True, slots=True)
class Audit:
    """Automatic labels that people checked without knowing it."""

    audited: int = 0
    changed: int = 0
    """Those that they did not confirm."""
    sentences: Sequence[str] = ()
    """The error rate of each automatic label, as `covmis estimate` says it."""


@dataclass(frozen=True)
class RoundFacts:
    """A round of annotation: its size, its agreement, its guideline, its seal."""

    name: str
    pilot: bool
    claims: int
    items: int
    for_people: int
    """Items that people labelled: all but the automatic ones outside the audit."""
    raw_agreement: Coefficient | None = None
    """As its report has it; None before `covmis round report`, and where it is not defined."""
    kappa: Coefficient | None = None
    """The report's headline."""
    guideline: str = ""
    """The guideline's hash, short."""
    seal: str = ""


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
class ReleaseFacts:
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
    rounds: Sequence[RoundFacts] = ()
    kappa: Coefficient | None = None
    """Over all rounds that count."""
    kappa_items: int = 0
    """The items that two people labelled, on which it is; 0 where that is not known."""
    left_out: Mapping[LeftOut, int] = field(default_factory=dict)
    audit: Audit = field(default_factory=Audit)
    platforms: Mapping[str, int] = field(default_factory=dict)
    made_ids: int | None = None
    """Posts whose ids covmis made, because their files have none: no platform can be asked for them. Unknown before 0.2."""
    period: tuple[str, str] = ("", "")
    """First and last day of the posts, empty where unknown."""
    annotators: int = 0
    """People who labelled at least one item of a round that counts; their codes are not told."""
    machines: tuple[str, ...] = ()
    """Machines that labelled next to them, by their codes."""
    stages: Sequence[StageFacts] = ()
    parts: Parts | None = None
    data_statement: str = ""
    """The study's own words on who annotated, how and why, in Markdown."""
    recall: Sequence[str] = ()
    """What the study's recall draw says, as `covmis recall report` does; nothing if there was none."""
    licence_text: str = ""
    """The licence, where [release] licence names a file of the study."""
    root: str = ""
    """The root hash: over every data file of the release, its bundle with all seals, and these facts but for it and the date."""

    @property
    def can_be_fetched(self) -> bool:
        """Whether covmis can fetch posts of at least one of the platforms."""
        return not self.platforms or not set(PLATFORMS.values()).isdisjoint(self.platforms)

    @property
    def sealed_rounds(self) -> str:
        """How many rounds are sealed, in words."""
        sealed = sum(bool(round_.seal) for round_ in self.rounds)
        return f"{sealed} of {len(self.rounds)} rounds sealed"

    @property
    def machines_told(self) -> str:
        """That machines labelled, too, in a sentence; empty without one."""
        if not self.machines:
            return ""
        return (
            f"Beside people, {' and '.join(self.machines)} labelled posts (admitted by the alternative annotator test). "
            "Machines' labels are marked as such and are no part of agreement; a label that a person and a machine share "
            "counts as one person's."
        )

    @property
    def claims_a_round(self) -> int:
        """Claims in the largest round that counts."""
        return max(
            (round_.claims for round_ in self.rounds if not round_.pilot),
            default=self.annotation.claims_per_round,
        )


def audit_counts(corpus: pd.DataFrame, frozen: pd.DataFrame) -> Audit:
    """How many automatic labels of the corpus people checked, and how many of those they changed."""
    checked = corpus[corpus["how"] == "audited"].merge(frozen[["item_id", "automatic_label"]], on="item_id")
    return Audit(len(checked), int((checked["label"] != checked["automatic_label"]).sum()))


def platform_counts(corpus: pd.DataFrame) -> dict[str, int]:
    """Rows by platform, from the prefix of their ids."""
    prefixes = corpus["post_id"].str.partition(":")[0].value_counts().sort_index()
    return {PLATFORMS.get(str(name), str(name)): int(count) for name, count in prefixes.items()}


def count_made_ids(corpus: pd.DataFrame) -> int:
    """Posts whose ids covmis made of their rows."""
    return int(corpus.loc[corpus["native_id"].str.startswith("row:"), "post_id"].nunique())


def period(corpus: pd.DataFrame) -> tuple[str, str]:
    """The first and last day on which a post of the corpus was made."""
    days = sorted(day[:10] for day in corpus["created_at"].fillna("") if day)
    return (days[0], days[-1]) if days else ("", "")


def to_json(facts: ReleaseFacts) -> str:
    """The facts as facts.json has them."""
    import msgspec

    return msgspec.json.format(msgspec.json.encode(facts), indent=1).decode() + "\n"


def hashed(facts: ReleaseFacts) -> bytes:
    """The facts as the root hash covers them: without itself and without the day, so that every day gives the same."""
    return to_json(replace(facts, root="", date="")).encode()


def from_json(data: bytes) -> ReleaseFacts:
    """The facts of a facts.json; raises ValueError if it is none."""
    import msgspec

    facts = msgspec.json.decode(data, type=dict[str, Any])
    tables = {
        name: options.kept(facts[name])
        for name in ("retrieval", "release")
        if isinstance(facts.get(name), dict)
    }
    return msgspec.convert(facts | tables, ReleaseFacts)
