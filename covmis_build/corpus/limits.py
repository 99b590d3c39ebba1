"""Limitations of the corpus: sentences that follow from its numbers and settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.corpus.phrases import (
    changes,
    count,
    languages_of,
    listed,
    reworded,
    share,
    without_label,
)
from covmis_build.corpus.release import LeftOut

if TYPE_CHECKING:
    from covmis_build.corpus.release_facts import ReleaseFacts
    from covmis_build.corpus.statistics import Statistics


def limits(facts: ReleaseFacts, numbers: Statistics) -> list[str]:
    """Return the limitations of this release, each in a sentence or two."""
    return [*_reach(facts, numbers), *_labels(numbers), *_gaps(facts)]


def _reach(facts: ReleaseFacts, numbers: Statistics) -> list[str]:
    sentences = [
        (
            "It represents the posts that these queries found on these platforms, not public opinion: not everybody "
            "posts, and "
            + (
                "of posts with other words only the most similar ones were included."
                if facts.retrieval.ranked
                else "posts with other words were not found."
            )
        ),
        f"Only posts in {languages_of(facts.cleaning)} are included."
        if facts.cleaning.languages
        else "Posts in all languages are included.",
    ]
    sizes = numbers.claim_sizes
    if numbers.claims:
        every = sizes[sizes["kind"] == "all"].iloc[0]
        weights = numbers.weights.iloc[0]
        sentences.append(
            f"Posts per claim: {every['mean']:.1f} on average, from {int(every['smallest'])} to {int(every['largest'])}"
            + ("; shares of single claims are imprecise." if weights["largest"] > 1 else ".")
        )
        sentences.append(
            f"Weights run from {weights['smallest']:.3g} to {weights['largest']:.3g}; plain counts overstate posts with small "
            f"weights. Unequal weights alone give a design effect of {weights['design_effect']:.2f} (Kish)."
        )
    return sentences


def _labels(numbers: Statistics) -> list[str]:
    sentences = []
    total = numbers.by_kind.iloc[-1]
    if int(total["automatic"]):
        part = share(int(total["automatic"]), numbers.rows)
        sentences.append(
            f"{int(total['automatic']):,} labels ({part}) are automatic and not checked. A classifier can learn the "
            "rule and look too good: test on labels given by people."
        )
    rare = [f"{int(total[name]):,} {name}" for name in numbers.labels if 0 < int(total[name]) < 50]
    if rare:
        sentences.append(
            f"Few posts have these labels: {listed(rare)}. Measures of these classes are uncertain."
        )
    single = numbers.by_how.loc[numbers.by_how["how"] == "single", "rows"]
    if len(single):
        sentences.append(f"{count(int(single.iloc[0]), 'label')} came from one person only.")
    return sentences


def _gaps(facts: ReleaseFacts) -> list[str]:
    sentences = []
    if facts.differences:
        sentences.append(changes(facts))
    if facts.reworded:
        sentences.append(reworded(facts))
    unsealed = [round_.name for round_ in facts.rounds if not round_.pilot and not round_.seal]
    if unsealed:
        sentences.append(
            f"Labels may still change, because these rounds are not sealed: round {listed(unsealed)}."
        )
    if facts.left_out.get(LeftOut.PURGED):
        sentences.append(
            f"{count(facts.left_out[LeftOut.PURGED], 'post')} were removed because they are to be forgotten; the sums of weights "
            "are lower by theirs."
        )
    if missing := without_label(facts.left_out.get(LeftOut.NO_GOLD, 0)):
        sentences.append(missing)
    if facts.can_be_fetched:
        sentences.append(
            "Posts are deleted continually: a corpus fetched later is smaller, and not at random."
        )
    return sentences
