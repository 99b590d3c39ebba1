"""Two paragraphs for a paper's methods section with the release's numbers, and their references."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.corpus.citation import bibtex
from covmis_build.corpus.markdown import markdown
from covmis_build.corpus.phrases import (
    KINDS,
    changes,
    count,
    kinds_of,
    label_counts,
    language_rule,
    listed,
    reposts,
    settled,
    share,
    similarity,
    without_label,
)
from covmis_build.corpus.release import LeftOut
from covmis_build.stats.intervals import between
from covmis_build.text.lengths import least_lengths

if TYPE_CHECKING:
    from covmis_build.corpus.release_facts import FlowStep, ReleaseFacts
    from covmis_build.corpus.statistics import Statistics
    from covmis_build.options import Nearest

REFERENCES = {
    "hou2022covmis": """@misc{hou2022covmis,
  title = {The {COVMis-Stance} Dataset: Stance Detection on {Twitter} for {COVID-19} Misinformation},
  author = {Hou, Yanfang and van der Putten, Peter and Verberne, Suzan},
  year = {2022},
  eprint = {2204.02000},
  archivePrefix = {arXiv}
}""",
    "horvitz1952generalization": """@article{horvitz1952generalization,
  title = {A Generalization of Sampling Without Replacement From a Finite Universe},
  author = {Horvitz, Daniel G. and Thompson, Donovan J.},
  journal = {Journal of the American Statistical Association},
  volume = {47}, number = {260}, pages = {663--685}, year = {1952}
}""",
    "cohen1960coefficient": """@article{cohen1960coefficient,
  title = {A Coefficient of Agreement for Nominal Scales},
  author = {Cohen, Jacob},
  journal = {Educational and Psychological Measurement},
  volume = {20}, number = {1}, pages = {37--46}, year = {1960}
}""",
    "fleiss1971measuring": """@article{fleiss1971measuring,
  title = {Measuring Nominal Scale Agreement Among Many Raters},
  author = {Fleiss, Joseph L.},
  journal = {Psychological Bulletin},
  volume = {76}, number = {5}, pages = {378--382}, year = {1971}
}""",
}
BY_NAME = {"Cohen's kappa": "cohen1960coefficient", "Fleiss' kappa": "fleiss1971measuring",
           "Fleiss' kappa, generalised (Gwet)": "fleiss1971measuring"}  # fmt: skip


def methods(facts: ReleaseFacts, numbers: Statistics) -> str:
    """Return methods.md: a paragraph on collection and sampling, one on annotation, then BibTeX."""
    needed = ["hou2022covmis", "horvitz1952generalization"]
    if facts.kappa and facts.kappa.name in BY_NAME:
        needed.append(BY_NAME[facts.kappa.name])
    references = "\n\n".join(REFERENCES[name] for name in needed)
    return (
        f"# Methods: {markdown(facts.title)}\n\n{markdown(_collection(facts, numbers))}\n\n"
        f"{markdown(_annotation(facts, numbers))}\n\n## References\n\n```bibtex\n{references}\n\n{bibtex(facts)}\n```\n"
    )


def _collection(facts: ReleaseFacts, numbers: Statistics) -> str:
    cleaning, sampling = facts.cleaning, facts.sampling
    matched, one_claim_each = ([*(step for step in facts.flow if step.pairs is not None), None, None])[:2]
    cleaned = next((step for step in reversed(facts.flow) if step.keeps != "drawn"), None)
    sentences = [
        "The posts are simulated." if facts.release.simulated else "",
        f"Following Hou et al. (2022), posts were retrieved for each claim with queries made from {listed(kinds_of(numbers))}.",
        _retrieved(matched, facts.retrieval.ranked) if matched else "",
        reposts(facts),
        "A post that several claims found was assigned to one of them at random, with known probability."
        if one_claim_each and one_claim_each.dropped_pairs
        else "",
        f"We kept posts in {language_rule(cleaning)} with {least_lengths(cleaning) or 'any number of words'}, "
        f"one of each group of near-duplicates ({similarity(cleaning)}), and claims with at least "
        f"{count(cleaning.minimum_posts, 'post')}"
        + (
            f", which left {count(cleaned.pairs or 0, 'pair')} for {count(cleaned.claims, 'claim')}."
            if cleaned
            else "."
        ),
        (
            f"From these we took a {'Poisson' if sampling.design == 'poisson' else 'two-phase'} sample (expected size "
            f"{sampling.per_claim} per claim, quota {sampling.per_kind} per {listed(['query type', *sampling.strata_by])}; all posts where there are fewer). "
            + (
                "Near-duplicate clusters that would decide shares of all posts, if any, were included with certainty. "
                if sampling.certain and sampling.design == "poisson"
                else ""
            )
            + "The corpus has each post's inclusion probability; estimates use inverse-probability weights (Horvitz and Thompson, 1952)."
        ),
        f"In addition, {facts.retrieval.ranked.expected:g} similar posts per claim were expected that no query finds, with "
        "probabilities that fall with their rank."
        if facts.retrieval.ranked
        else "",
        changes(facts),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _retrieved(matched: FlowStep, nearest: Nearest | None) -> str:
    """Return the posts before cleaning. Similar posts are no matches of the queries."""
    pairs, claims = f"{count(matched.pairs or 0, 'pair')} of claim and post", count(matched.claims, "claim")
    if nearest is None:
        return f"The queries found {pairs} for {claims}."
    return (
        f"With the {nearest.depth} most similar posts of each claim that no query finds ({nearest.ranked_by}) there were "
        f"{pairs} for {claims}."
    )


def _annotation(facts: ReleaseFacts, numbers: Statistics) -> str:
    total = numbers.by_kind.iloc[-1]
    counted = [round_ for round_ in facts.rounds if not round_.pilot]
    items, for_people = (sum(getattr(round_, name) for round_ in counted) for name in ("items", "for_people"))
    rules = listed(f"{label} for {KINDS.get(kind, kind)}" for kind, label in facts.labels.automatic.items())
    several = facts.annotation.per_item > 1
    what = (
        count(items, "sampled post")
        if for_people == items
        else f"{for_people:,} of the {count(items, 'sampled post')}"
    )
    sentences = [
        (
            f"{count(facts.annotators, 'annotator')} labelled {what} in {count(len(counted), 'round')} of up to "
            f"{count(facts.claims_a_round, 'claim')}, with the labels {listed(facts.labels.values)}."
        ),
        ("The labels changed between rounds: " + " ".join(facts.label_notes) if facts.label_notes else ""),
        f"Each of these posts was given to {count(facts.annotation.per_item, 'annotator')}"
        + (", who labelled it independently of each other." if several else "."),
        facts.machines_told,
        f"{facts.kappa.name} is {facts.kappa}"
        + (
            f", on the {count(facts.kappa_items, 'post')} that two annotators labelled"
            if facts.kappa_items
            else ""
        )
        + (", audited automatic labels excluded." if facts.audit.audited else ".")
        if facts.kappa
        else "",
        settled(numbers) if several else "",
        without_label(facts.left_out.get(LeftOut.NO_GOLD, 0)),
        f"The other {count(items - for_people, 'post')} have automatic labels: {rules}."
        if for_people < items
        else "",
        *(facts.audit.sentences if int(total["automatic"]) or facts.audit.audited else ()),
        (
            f"The corpus has {count(numbers.rows, 'post')} on {count(numbers.claims, 'claim')}: "
            f"{label_counts(numbers.labels, {name: int(total[name]) for name in numbers.labels})}."
        ),
        _estimated(numbers, "retrieved" if facts.retrieval.ranked else "found"),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _estimated(numbers: Statistics, how: str) -> str:
    """Return the weighted shares of unique posts, with their intervals."""
    rows = numbers.shares[numbers.shares["estimand"] == "unique_posts"].to_dict("records")
    told = listed(
        f"{row['label']} {share(row['share'], 1)} ({between(row['low'], row['high'], '.1%') or row['why']})"
        for row in rows
    )
    return (
        f"The weighted shares among the unique posts {how} are {told} (in parentheses, 95% confidence intervals {rows[0]['over']}; "
        f"n = {rows[0]['n']:,} labelled posts)."
        if rows
        else ""
    )
