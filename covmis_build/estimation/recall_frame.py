"""The sampling frame of a recall draw: pairs of a claim and a post, and the probability of each in one draw or several."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from covmis_build import keyed
from covmis_build.estimation.recall import Figure, expected, stands_for
from covmis_build.sampling.guided import either, guided, spread

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from covmis_build.estimation.recall_report import FrameFacts


def pairs_of(found: pd.DataFrame, ranked: pd.DataFrame, depth: int) -> pd.DataFrame:
    """Return the pairs (table `frame`, before probabilities are set): those that queries find, and the nearest others.

    `found` has the kinds of queries of each pair; `ranked` the rank and the score `guess`, sorted. `depth` other posts of each
    claim are in the frame.
    """
    pair = ["claim_id", "post_id"]
    missed = ~pd.MultiIndex.from_frame(ranked[pair]).isin(pd.MultiIndex.from_frame(found[pair]))
    near = ranked.loc[missed, pair].groupby("claim_id").head(depth)  # a ranking is sorted
    pairs = found.merge(near, on=["claim_id", "post_id"], how="outer").merge(
        ranked[["claim_id", "post_id", "rank", "guess"]], on=["claim_id", "post_id"], how="left"
    )
    pairs["found"] = pairs["kind"].notna()
    pairs["kinds"] = [kinds if isinstance(kinds, list) else [] for kinds in pairs["kind"]]
    pairs["item_id"] = pairs["claim_id"] + "|" + pairs["post_id"]
    return pairs.sort_values("item_id", ignore_index=True).assign(p_sample=0.0)


@dataclass(frozen=True, slots=True)
class RecallFrame:
    """The pairs (table `frame`), and their description."""

    pairs: pd.DataFrame
    facts: FrameFacts

    def drawn(self, labels: float, labels_found: float) -> RecallFrame:
        """Set the probabilities for this number of labels."""
        found = self.pairs["found"].to_numpy(dtype=bool)
        chances = np.zeros(len(found))
        chances[~found] = guided(self.pairs.loc[~found, "guess"], labels)
        chances[found] = spread(self.pairs.loc[found, "kinds"].tolist(), labels_found)
        facts = replace(
            self.facts, labels=float(chances[~found].sum()), labels_found=float(chances[found].sum())
        )
        return replace(self, pairs=self.pairs.assign(p_sample=chances), facts=facts)

    def learned(self, labels: float, last: pd.DataFrame, drawn: Collection[str]) -> RecallFrame:
        """Add this number of labels among pairs not drawn yet, using scores learned from earlier labels.

        `last` is the last draw's frame, `drawn` the pairs of all draws.
        """
        before = last.set_index("item_id")["p_sample"].reindex(self.pairs["item_id"])
        chances = before.to_numpy(dtype=np.float64, copy=True)
        left = ~(self.pairs["found"] | self.pairs["item_id"].isin(drawn)).to_numpy(dtype=bool)
        chances[left] = either(chances[left], guided(self.pairs.loc[left, "guess"], labels))
        missed = ~self.pairs["found"].to_numpy(dtype=bool)
        facts = replace(
            self.facts,
            learned=True,
            asked=float(labels),
            labels=float(chances[missed].sum()),
            labels_found=float(chances[~missed].sum()),
        )
        return replace(self, pairs=self.pairs.assign(p_sample=chances), facts=facts)

    def at_least(self, earlier: Sequence[pd.DataFrame]) -> RecallFrame:
        """Take the largest probability of all these draws. Random numbers are permanent, so it is the joint probability."""
        before = np.zeros(len(self.pairs))
        for frame in earlier:
            p_sample = frame.set_index("item_id")["p_sample"].reindex(self.pairs["item_id"])
            before = np.maximum(before, p_sample.to_numpy(dtype=np.float64))
        chances = np.maximum(before, self.pairs["p_sample"].to_numpy(dtype=np.float64))
        missed = ~self.pairs["found"].to_numpy(dtype=bool)
        facts = replace(self.facts, asked=float((chances - before)[missed].sum()))
        return replace(self, pairs=self.pairs.assign(p_sample=chances), facts=facts)

    def guessed_as(self, first: pd.DataFrame) -> RecallFrame:
        """Keep the first draw's scores: probabilities that depend on a pair's own label would not be valid."""
        guess = first.set_index("item_id")["guess"].reindex(self.pairs["item_id"]).to_numpy()
        return replace(self, pairs=self.pairs.assign(guess=guess))

    def with_family(self) -> RecallFrame:
        """Add counts, and a hash of the pairs and their query types: other queries or posts give another family."""
        told = "\n".join(
            f"{item}\t{','.join(kinds)}"
            for item, kinds in zip(self.pairs["item_id"], self.pairs["kinds"], strict=True)
        )
        found = int(self.pairs["found"].sum())
        facts = replace(
            self.facts,
            pairs_found=found,
            pairs_missed=len(self.pairs) - found,
            family=hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:12],
        )
        return replace(self, facts=facts)

    def chosen(self, seed: int) -> pd.DataFrame:
        """Return the pairs whose permanent random number is below their probability.

        Other queries give other random numbers. Otherwise a query written from an earlier draw would match just those pairs.
        """
        numbers = [keyed.uniform(seed, "recall", self.facts.family, item) for item in self.pairs["item_id"]]
        return self.pairs[np.array(numbers) < self.pairs["p_sample"].to_numpy(dtype=np.float64)]

    def expected(self) -> dict[str, float]:
        """Return the expected number of relevant pairs and the precision of recall, if the scores are right."""
        missed = self.pairs[~self.pairs["found"]]
        guess, chances = (missed[name].to_numpy(dtype=np.float64) for name in ("guess", "p_sample"))
        found = float(self.pairs.loc[self.pairs["found"], "guess"].fillna(0.0).sum())
        relevant, figure = expected(found, guess, chances)
        return {
            "relevant": relevant,
            **dict(zip(Figure._fields, figure, strict=True)),
            "recall": figure.value,
        }

    @property
    def largest_weight(self) -> float:
        """How many posts one relevant missed post may stand for; NaN without missed pairs."""
        missed = self.pairs.loc[~self.pairs["found"], "p_sample"]
        return float(1 / missed.min()) if len(missed) else math.nan


def adaptive_probabilities(
    pairs: pd.DataFrame,
    frames: Sequence[pd.DataFrame],
    drawn_by: Mapping[str, int],
    asked: Sequence[float],
) -> pd.Series[float]:
    """Return the inverse of the number of pairs each pair represents; see `stands_for` for adaptive draws.

    `frames` are those of the draws in order, `drawn_by` says which draw chose a pair, `asked` how many labels each asked for.
    """
    missed = ~pairs["found"].to_numpy(dtype=bool)
    # frames of one family have the same pairs in the same order
    chances = [frame["p_sample"].to_numpy(dtype=np.float64)[missed] for frame in frames]
    by = pairs.loc[missed, "item_id"].map(drawn_by).fillna(-1).to_numpy(dtype=np.int64)
    probability = pairs["p_sample"].astype(float)
    probability[missed] = 1 / stands_for(chances, by, asked)
    return probability
