"""What a reader must not conclude from this corpus: sentences that follow from its numbers and settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.corpus.words import count, listed, share

if TYPE_CHECKING:
    from covmis_build.corpus.facts import Facts
    from covmis_build.corpus.statistics import Statistics


def limits(facts: Facts, numbers: Statistics) -> list[str]:
    """The limits of this release, each a sentence or two."""
    return [*_reach(facts, numbers), *_labels(numbers), *_gaps(facts)]


def _reach(facts: Facts, numbers: Statistics) -> list[str]:
    found = [
        (
            "It represents what these queries found on these platforms, not public opinion: people who post are not "
            "everyone, and posts that use other words were not found."
        ),
        f"Posts in other languages than {listed(facts.cleaning.languages)} are missing."
        if facts.cleaning.languages
        else "Posts of all languages are in it.",
    ]
    sizes = numbers.claim_sizes
    if numbers.claims:
        every = sizes[sizes["kind"] == "all"].iloc[0]
        found.append(
            f"Posts a claim: {every['mean']:.1f} on average, from {int(every['smallest'])} to {int(every['largest'])}: "
            "too few for statements about a single claim."
        )
        weights = numbers.weights.iloc[0]
        found.append(
            f"Weights run from {weights['smallest']:.3g} to {weights['largest']:.3g}; plain counts overstate rare kinds of "
            f"query. The design effect of the weights is {weights['design_effect']:.2f}."
        )
    return found


def _labels(numbers: Statistics) -> list[str]:
    found = []
    total = numbers.by_kind.iloc[-1]
    if int(total["automatic"]):
        part = share(int(total["automatic"]), numbers.rows)
        found.append(
            f"{int(total['automatic']):,} labels ({part}) were set by rule and judged by nobody; a system that learns "
            "the rule looks better than it is. Test on labels given by people."
        )
    rare = [name for name in numbers.labels if 0 < int(total[name]) < 50]
    found += [
        f"Only {count(int(total[name]), 'post')} are labelled {name}: measures of this class are uncertain."
        for name in rare
    ]
    single = numbers.by_how.loc[numbers.by_how["how"] == "single", "rows"]
    if len(single):
        found.append(f"{count(int(single.iloc[0]), 'label')} came from one annotator alone.")
    return found


def _gaps(facts: Facts) -> list[str]:
    found = []
    if facts.differences:
        found.append(
            "This card gives the settings with which the last round's items were found, drawn and shown. "
            f"{'; '.join(map(str, facts.differences))}; the flow is that of the study's present tables."
        )
    unsealed = [one.name for one in facts.rounds if not one.pilot and not one.seal]
    if unsealed:
        found.append(
            f"Not sealed when this was made, so that labels may still change: round {listed(unsealed)}."
        )
    if facts.left_out.get("purged"):
        found.append(
            f"{count(facts.left_out['purged'], 'post')} were removed because they are to be forgotten; the sums of weights "
            "are lower by theirs."
        )
    if facts.left_out.get("no gold label"):
        found.append(
            f"{count(facts.left_out['no gold label'], 'drawn post')} have no final label and are missing."
        )
    found.append("Posts are deleted all the time: what is fetched later is smaller, and not at random.")
    return found
