"""All facts in card, methods and metadata, collected once; each number is computed from tables.

A release contains its facts (facts.json), so that its users can render the card again and compare.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence  # noqa: TC003 - read at run time, for facts.json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from covmis_build import options
from covmis_build.corpus.release import LeftOut  # noqa: TC001 - as above
from covmis_build.corpus.reworded import Reworded, named_rounds
from covmis_build.stats.intervals import Interval  # noqa: TC001 - as above

if TYPE_CHECKING:
    import pandas as pd

PLATFORMS = {"x": "X", "bsky": "Bluesky", "masto": "Mastodon"}


@dataclass(frozen=True, slots=True)
class FlowStep:
    """A row of the study's flow, as in `covmis status`."""

    keeps: str
    """Description of what this step keeps."""
    claims: int
    pairs: int | None
    """Kept claim-post pairs; None before there are any."""
    dropped_pairs: int | None
    reasons: Mapping[str, int]
    """Reason → number dropped."""


@dataclass(frozen=True, slots=True)
class Coefficient:
    """An agreement coefficient with its interval.

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
    """A stage in the ledger: covmis's version, and its tables' hashes."""

    name: str
    version: str
    tables: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Parts:
    """The corpus's splits."""

    scheme: str
    together: str
    """Description of what stays in one part; empty if only time matters."""
    near_copies: int | None = None
    """Near-duplicate pairs in different parts; None without texts."""
    findings: Sequence[str] = ()
    """What the parts share, as reported by `covmis evaluate leakage`."""


@dataclass(frozen=True, slots=True)
class Audit:
    """Automatic labels that people checked without knowing it."""

    audited: int = 0
    changed: int = 0
    """Number that people changed."""
    sentences: Sequence[str] = ()
    """The error rate of each automatic label, as reported by `covmis estimate`."""


@dataclass(frozen=True)
class RoundFacts:
    """An annotation round: size, agreement, guideline, seal."""

    name: str
    pilot: bool
    claims: int
    items: int
    for_people: int
    """Items labelled by people: all except automatic ones outside the audit."""
    raw_agreement: Coefficient | None = None
    """As in its report; None before `covmis round report`, or if undefined."""
    kappa: Coefficient | None = None
    """The report's headline."""
    guideline: str = ""
    """Abbreviated hash of the guideline."""
    seal: str = ""


@dataclass(frozen=True)
class Difference:
    """A setting that has changed since some rounds."""

    setting: str
    then: str
    now: str
    rounds: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.setting} was {self.then} for {named_rounds(self.rounds)} and is {self.now} now"


@dataclass(frozen=True)
class ReleaseFacts:
    """Facts about a release besides its rows."""

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
    """Settings that changed since; the other fields have those that governed the data."""
    reworded: Sequence[Reworded] = ()
    """Claims that are published in the text that people judged, which is not today's."""
    flow: Sequence[FlowStep] = ()
    rounds: Sequence[RoundFacts] = ()
    label_sets: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Round → its own labels → the corpus's, if the rounds' labels differ. annotations.csv has the rounds' own."""
    relabelled: Mapping[str, int] = field(default_factory=dict)
    """Round → posts that were labelled again under later labels. Its own report has the agreement on the old ones."""
    population: Sequence[str] = ()
    """Which posts the weights and estimates are of, and what is in none of them, as sentences."""
    label_notes: Sequence[str] = ()
    """How the rounds' labels differ, and the shares of labels that only some rounds could give, as sentences."""
    kappa: Coefficient | None = None
    """Over all rounds that count."""
    kappa_items: int = 0
    """Number of items with two labels, the basis of kappa; 0 if unknown."""
    left_out: Mapping[LeftOut, int] = field(default_factory=dict)
    audit: Audit = field(default_factory=Audit)
    platforms: Mapping[str, int] = field(default_factory=dict)
    made_ids: int | None = None
    """Posts without a platform's id, which cannot be looked up. Unknown before 0.2."""
    period: tuple[str, str] = ("", "")
    """First and last day of the posts; empty if unknown."""
    annotators: int = 0
    """Number of annotators with at least one label in a non-pilot round."""
    machines: tuple[str, ...] = ()
    """Codes of models that also labelled."""
    stages: Sequence[StageFacts] = ()
    parts: Parts | None = None
    data_statement: str = ""
    """The study's own data statement in Markdown."""
    recall: Sequence[str] = ()
    """The result of the study's recall draw, as in `covmis recall report`; empty without one."""
    licence_text: str = ""
    """The licence text if [release] licence names a file of the study."""
    root: str = ""
    """Root hash of all data files, the package with all seals, and these facts (without the hash itself and the date)."""

    @property
    def can_be_fetched(self) -> bool:
        """True if covmis can fetch posts of at least one of the platforms."""
        return not self.platforms or not set(PLATFORMS.values()).isdisjoint(self.platforms)

    @property
    def sealed_rounds(self) -> str:
        """Number of sealed rounds as text."""
        sealed = sum(bool(round_.seal) for round_ in self.rounds)
        return f"{sealed} of {len(self.rounds)} rounds sealed"

    @property
    def machines_told(self) -> str:
        """State that models labelled, too; empty without any."""
        if not self.machines:
            return ""
        return (
            f"Beside people, {' and '.join(self.machines)} labelled posts (admitted by the alternative annotator test). "
            "Machines' labels are marked as such and are no part of agreement; a label that a person and a machine share "
            "counts as one person's."
        )

    @property
    def claims_a_round(self) -> int:
        """Number of claims in the largest round that counts."""
        return max(
            (round_.claims for round_ in self.rounds if not round_.pilot),
            default=self.annotation.claims_per_round,
        )


def audit_counts(corpus: pd.DataFrame) -> Audit:
    """Return how many automatic labels of the corpus people checked, and how many they changed."""
    checked = corpus[corpus["how"] == "audited"]
    return Audit(len(checked), int((checked["label"] != checked["automatic_label"]).sum()))


def platform_counts(corpus: pd.DataFrame) -> dict[str, int]:
    """Count rows by platform, from the prefix of their ids."""
    prefixes = corpus["post_id"].str.partition(":")[0].value_counts().sort_index()
    return {PLATFORMS.get(str(name), str(name)): int(count) for name, count in prefixes.items()}


def count_made_ids(corpus: pd.DataFrame) -> int:
    """Count posts with ids made by covmis."""
    return int(corpus.loc[corpus["native_id"].str.startswith("row:"), "post_id"].nunique())


def period(corpus: pd.DataFrame) -> tuple[str, str]:
    """Return the first and last day of posts in the corpus."""
    days = sorted(day[:10] for day in corpus["created_at"].fillna("") if day)
    return (days[0], days[-1]) if days else ("", "")


LATER = ("reworded", "population", "label_sets", "relabelled", "label_notes")
"""Facts that releases before 0.3 do not have, and that others have only where there is something to say."""


def to_json(facts: ReleaseFacts) -> str:
    """Return the facts as in facts.json."""
    import msgspec

    content = msgspec.to_builtins(facts)
    return _formatted({name: value for name, value in content.items() if value or name not in LATER})


def _formatted(facts: dict[str, Any]) -> str:
    import msgspec

    return msgspec.json.format(msgspec.json.encode(facts), indent=1).decode() + "\n"


def without_root(facts: bytes) -> bytes:
    """Return the content of a facts.json without root hash and date, which a bundle cannot know and which make no other release.

    Nothing else of it is changed, whatever version wrote it.
    """
    import msgspec

    return _formatted(msgspec.json.decode(facts, type=dict[str, Any]) | {"root": "", "date": ""}).encode()


def from_json(data: bytes) -> ReleaseFacts:
    """Read facts.json; raises ValueError if invalid."""
    import msgspec

    facts = msgspec.json.decode(data, type=dict[str, Any])
    tables = {
        name: options.kept(facts[name])
        for name in ("retrieval", "release")
        if isinstance(facts.get(name), dict)
    }
    return msgspec.convert(facts | tables, ReleaseFacts)
