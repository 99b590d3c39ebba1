"""The recall report: over all claims, by query type, by claim if enough was sampled, and the frame as text."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from covmis_build.estimation.recall import (
    ENOUGH,
    Drawn,
    Figure,
    RecallFigures,
    of_a_kind,
    recall,
    room_beyond,
    stance,
)
from covmis_build.options import KINDS
from covmis_build.report.result import Result

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

COLUMNS = [
    "scope", "name", "recall", "low", "high", "found", "missed", "missed_low", "missed_high", "labels", "relevant",
]  # fmt: skip
FAR, MANY = 0.8, 0.05
"""If at least MANY of the posts ranked beyond FAR (the most distant fifth) are relevant, the report says that the frame is too small."""
STANCES = ["label", "share", "low", "high", "total", "total_low", "total_high", "drawn"]


@dataclass(frozen=True, slots=True)
class FrameFacts:
    """The sampling frame of a recall draw, fixed even if queries and archive change."""

    ranked_by: str
    version: str
    depth: int
    claims: int
    posts_in_archive: int
    pairs_found: int
    pairs_missed: int
    guide_labels: int
    family: str
    """Hash of the pairs and their queries: draws with the same hash can be combined."""
    labels: float = 0
    labels_found: float = 0
    asked: float = 0
    """Number of labels of missed pairs that this round adds."""
    learned: bool = False
    """True if the probabilities depend on labels of earlier rounds of this frame."""

    @property
    def in_words(self) -> str:
        """Describe the frame, as in every figure."""
        return f"the posts that a query found and, of all others, the {self.depth} most similar posts of each claim ({self.ranked_by})"

    @property
    def beyond(self) -> int:
        """Number of claim-post pairs outside the frame."""
        return max(self.claims * self.posts_in_archive - self.pairs_found - self.pairs_missed, 0)


@dataclass(frozen=True, slots=True)
class QueriesNow:
    """What today's queries find of a frame whose draw was of other queries."""

    found: int
    """Relevant sampled pairs that the queries of the draw found."""
    still_found: int
    missed: int
    """Relevant sampled pairs that they missed."""
    found_since: int
    outside: int
    """Pairs that today's queries find outside the frame."""

    def __str__(self) -> str:
        beyond = (
            f" {self.outside:,} pairs that they find today are outside the frame." if self.outside else ""
        )
        return (
            f"The queries have changed since the draw, and the figures are of those of the draw. Today's find {self.still_found:,} of "
            f"the {self.found:,} relevant sampled pairs that those found, and {self.found_since:,} of the {self.missed:,} that they "
            f"missed.{beyond} `covmis recall draw` draws for today's queries."
        )


def queries_now(pairs: pd.DataFrame, today: Collection[str]) -> QueriesNow | None:
    """Compare a frame with the items that today's queries find; None if of the frame they find what the draw's did."""
    now = pairs["item_id"].isin(set(today))
    if (now == pairs["found"]).all():
        return None
    relevant = pairs["drawn"] & (pairs["relevant"] > 0)
    found, missed = relevant & pairs["found"], relevant & ~pairs["found"]
    return QueriesNow(
        found=int(found.sum()),
        still_found=int((found & now).sum()),
        missed=int(missed.sum()),
        found_since=int((missed & now).sum()),
        outside=len(set(today) - set(pairs["item_id"])),
    )


@dataclass(frozen=True, slots=True, repr=False)
class RecallReport(Result):
    """Recall with intervals (`figures`, COLUMNS), and its scope."""

    facts: FrameFacts
    figures: pd.DataFrame
    unanswered: int
    level: float
    rounds: tuple[str, ...]
    overruled: int
    """Pairs that the first annotator labelled relevant and the final decision did not."""
    stances: pd.DataFrame
    """STANCES: share of each label among the frame's relevant posts; empty without stance labels."""
    without_stance: int
    """Sampled relevant pairs without a stance label."""
    now: QueriesNow | None
    """What today's queries find of the frame, if they are not those of the draw."""
    edge: float
    """Relevant share in the most distant fifth of each claim's nearest posts; NaN if few were sampled."""

    @property
    def summary(self) -> list[str | pd.DataFrame]:
        """Return the sentences, and recall over all, by type and by claim."""
        shown = ["scope", "name", "recall", "low", "high", "missed", "labels", "relevant"]
        return [*self.sentences, self.figures[shown], *([self.stances] if len(self.stances) else [])]

    @property
    def sentences(self) -> list[str]:
        """Return the figure (lower end first), the frame, and what is outside."""
        whole, facts = self.figures.iloc[0], self.facts
        if np.isnan(whole["recall"]) and self.unanswered:
            return [
                f"Of {facts.in_words}, {self.unanswered:,} sampled pairs have no final label yet, so recall cannot be estimated."
            ]
        changed = [str(self.now)] if self.now else []
        if np.isnan(whole["recall"]):
            return [
                f"No sampled pair is relevant among {facts.in_words}, so recall cannot be estimated.",
                *changed,
            ]
        told = [
            (
                f"The queries find at least {_percent(whole['low'])} of the relevant posts among {facts.in_words}; "
                f"the estimate is {_percent(whole['recall'])} ({self.level:.0%} interval {_percent(whole['low'])} to "
                f"{_percent(whole['high'])}; {whole['labels']:,.0f} labels of posts that no query finds, {whole['relevant']:,.0f} of "
                "them relevant)."
            ),
            (
                f"About {whole['found']:,.0f} relevant posts are found and {whole['missed']:,.0f} are missed "
                f"({whole['missed_low']:,.0f} to {whole['missed_high']:,.0f}); one post may count for several claims."
            ),
            (
                f"{facts.beyond:,} claim–post pairs are outside the frame and were not examined.{self._could_be}"
            ),
        ]
        told += changed
        if self.edge >= MANY:
            told.append(
                f"The frame ends too early: about {self.edge:.0%} of its least similar fifth are relevant, and there are more outside. "
                "Draw again with a larger depth (--depth)."
            )
        if len(self.stances):
            shares = (
                f"{row['label']} {_percent(row['share'])} ({_percent(row['low'])} to {_percent(row['high'])})"
                for row in self.stances.to_dict("records")
            )
            told.append(f"Of the relevant posts, found by a query or not: {', '.join(shares)}.")
            if self.without_stance:
                told.append(
                    f"{self.without_stance:,} sampled relevant posts have no stance; the intervals allow for any."
                )
        if self.unanswered:
            told.append(
                f"{self.unanswered:,} sampled pairs have no final label yet; the interval allows for either answer."
            )
        if self.overruled:
            told.append(
                f"{self.overruled:,} posts that the first person called relevant are not relevant in the final labels."
            )
        return told

    @property
    def _could_be(self) -> str:
        if math.isinf(self._room) or not self.facts.beyond:
            return ""
        return f" Up to {self._room:,.0f} of them may be relevant (upper bound, if as many random labels had found none)."

    @property
    def _room(self) -> float:
        return room_beyond(self.facts.beyond, int(self.figures.iloc[0]["labels"]), level=self.level)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for all claims, for each query type, and for each claim with enough samples."""
        return self.figures

    def to_dict(self) -> dict[str, Any]:
        """As `covmis recall report --json` prints it."""
        return {
            "rounds": list(self.rounds),
            "level": self.level,
            "frame": {**asdict(self.facts), "in_words": self.facts.in_words},
            "figures": self.figures,
            "unanswered": self.unanswered,
            "overruled": self.overruled,
            "stances": self.stances,
            "without_stance": self.without_stance,
            "queries_now": asdict(self.now) if self.now else None,
            "beyond": {"pairs": self.facts.beyond, "room": self._room, "edge": self.edge},
            "sentences": self.sentences,
        }


def report_of(
    facts: FrameFacts,
    pairs: pd.DataFrame,
    labels: Sequence[str],
    *,
    rounds: tuple[str, ...],
    overruled: int,
    today: Collection[str] | None = None,
    level: float = 0.95,
) -> RecallReport:
    """Return the report of a frame (table `frame`).

    Its sampled pairs have `drawn`, `relevant` (1, 0, NaN: no answer yet), `stance` (one of `labels`, or empty) and
    `probability` (1 divided by the number of represented pairs). `today` are the items that queries find now, if known.
    """
    whole = _figures(pairs, level)
    found = pairs[pairs["found"] & pairs["drawn"]]
    rows = [_row("all", "", whole.recall, whole)]
    for kind in KINDS:
        here = np.array([kind in kinds for kinds in found["kinds"]], dtype=bool)
        if any(kind in kinds for kinds in pairs.loc[pairs["found"], "kinds"]):
            rows.append(_row("kind", kind, of_a_kind(whole, _drawn(found), here, level=level)))
    relevant = pairs[~pairs["found"] & pairs["drawn"] & (pairs["relevant"] > 0)]
    for claim, count in relevant["claim_id"].value_counts().sort_index().items():
        if count >= ENOUGH:
            own = _figures(pairs[pairs["claim_id"] == claim], level)
            rows.append(_row("claim", str(claim), own.recall, own))
    figures = pd.DataFrame(rows, columns=COLUMNS)
    shares_of_labels = _stances(pairs, labels, whole.found.value + whole.missed.value, level)
    without = int((pairs["drawn"] & (pairs["relevant"] > 0) & ~pairs["stance"].isin(labels)).sum())
    return RecallReport(
        facts=facts,
        figures=figures,
        unanswered=whole.unanswered,
        level=level,
        rounds=rounds,
        overruled=overruled,
        stances=shares_of_labels,
        without_stance=without,
        now=None if today is None else queries_now(pairs, today),
        edge=_edge(pairs),
    )


def _edge(pairs: pd.DataFrame) -> float:
    missed = pairs[~pairs["found"]]
    far = missed[missed.groupby("claim_id")["rank"].rank(pct=True) > FAR]
    drawn = _drawn(far[far["drawn"] & far["relevant"].notna()])
    if len(drawn.relevant) < ENOUGH:
        return math.nan
    return float(np.average(drawn.relevant, weights=1 / drawn.probability))


def _stances(pairs: pd.DataFrame, labels: Sequence[str], every: float, level: float) -> pd.DataFrame:
    """Return the share of each label among the frame's `every` relevant pairs, matched or not."""
    parts = [pairs[pairs["found"]], pairs[~pairs["found"]]]
    sides = [(_drawn(part[part["drawn"]]), part["p_sample"].to_numpy(dtype=np.float64)) for part in parts]
    drawn = pd.concat([part[part["drawn"]] for part in parts])
    relevant, told = drawn["relevant"].to_numpy(dtype=np.float64), drawn["stance"].isin(labels).to_numpy()
    rows = []
    if (told & (relevant > 0)).any():
        known = np.where((relevant > 0) & ~told, np.nan, relevant)
        for label in labels:
            of = np.where(known > 0, (drawn["stance"] == label).to_numpy(dtype=np.float64), known)
            others = np.where(known > 0, 1 - of, known)
            figures = stance(sides[0], sides[1], of, others, every, level=level)
            rows.append((label, *figures.share, *figures.total, figures.drawn))
    return pd.DataFrame(rows, columns=STANCES)


def _figures(pairs: pd.DataFrame, level: float) -> RecallFigures:
    found, missed = pairs[pairs["found"]], pairs[~pairs["found"]]
    return recall(
        _drawn(found[found["drawn"]]),
        len(found),
        _drawn(missed[missed["drawn"]]),
        missed["p_sample"].to_numpy(dtype=np.float64),
        level=level,
    )


def _drawn(pairs: pd.DataFrame) -> Drawn:
    def column(name: str) -> NDArray[np.float64]:
        return pairs[name].to_numpy(dtype=np.float64)

    return Drawn(column("relevant"), column("probability"))


def _row(scope: str, name: str, at: Figure, figures: RecallFigures | None = None) -> dict[str, Any]:
    row: dict[str, Any] = {"scope": scope, "name": name, "recall": at.value, "low": at.low, "high": at.high}
    if figures is None:
        return row
    return row | {
        "found": figures.found.value,
        "missed": figures.missed.value,
        "missed_low": figures.missed.low,
        "missed_high": figures.missed.high,
        "labels": figures.labels,
        "relevant": figures.relevant,
    }


def _percent(share: float) -> str:
    return f"{share:.0%}"
