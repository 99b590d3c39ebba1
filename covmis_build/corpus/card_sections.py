"""The sections of the card: prose, lists, tables and a figure, all from facts and statistics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from covmis_build.corpus import limits
from covmis_build.corpus.citation import bibtex
from covmis_build.corpus.licences import licence_of
from covmis_build.corpus.phrases import (
    HOW,
    KINDS,
    RANKED,
    count,
    kinds_of,
    language_rule,
    languages_of,
    listed,
    reposts,
    settled,
    similarity,
)
from covmis_build.corpus.statistics import shares_shown
from covmis_build.records import meanings
from covmis_build.report import figures
from covmis_build.text.lengths import least_lengths

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from covmis_build.corpus.release_facts import FlowStep, ReleaseFacts
    from covmis_build.corpus.statistics import Statistics


COLLECTION = "Queries were made for each claim; the posts that they found were cleaned in steps. The unit is a pair of claim and post."


@dataclass(frozen=True)
class Section:
    """One section of the card."""

    title: str
    prose: str = ""
    """Plain text; a blank line begins a new paragraph."""
    points: Sequence[str] = ()
    tables: Sequence[tuple[str, pd.DataFrame, Mapping[str, str]]] = ()
    """Caption, table, and column names for readers."""
    figure: Markup = Markup("")
    code: str = ""


def sections(facts: ReleaseFacts, numbers: Statistics) -> list[Section]:
    """Return the sections of the card, in order."""
    return [
        _contents(facts, numbers),
        _purpose(facts),
        _collection(facts, numbers),
        _sampling(facts, numbers),
        _annotation(facts, numbers),
        _agreement(facts),
        *_parts(facts),
        Section("Limits", points=limits.limits(facts, numbers)),
        _licence(facts),
        _rehydration(facts),
        Section("How to cite", "", code=bibtex(facts)),
        Section(
            "Data statement and _datasheet",
            "The questions of both documents, answered as far as the study knows.",
            tables=[
                ("Data statement (Bender and Friedman 2018)", data_statement(facts), {}),
                ("Datasheet (Gebru et al. 2021)", _datasheet(facts, numbers), {}),
            ],
        ),
        *_statement_sections(facts.data_statement),
        *_not_stated(facts),
    ]


def _contents(facts: ReleaseFacts, numbers: Statistics) -> Section:
    import pandas as pd

    kept = {name: told for name, told in meanings("corpus").items() if name != "text" or facts.release.text}
    rows = pd.DataFrame(list(kept.items()), columns=["column", "meaning"])
    how = numbers.by_how.assign(meaning=[HOW.get(name, "") for name in numbers.by_how["how"]])
    text = (
        "Texts are part of this release"
        + (", with every account named @user." if facts.release.mask_mentions else ", as posted.")
        if facts.release.text
        else "This release contains post ids but no texts: platform terms restrict sharing texts, and posts that their "
        "authors delete should disappear from copies."
    )
    kinds = {"kind": "query type", "total": "all", "automatic": "automatic", "manual": "by people"}
    return Section(
        "What it contains",
        f"Each row is a post paired with a claim. corpus.csv, corpus.jsonl and corpus.parquet contain the same rows. {text}",
        tables=[
            ("Posts by query type and label", numbers.by_kind, kinds),
            ("Label sources", how, {"rows": "posts"}),
            ("Columns", rows, {}),
        ],
        figure=_kind_figure(numbers),
    )


def _kind_figure(numbers: Statistics) -> Markup:
    rows = numbers.by_kind.iloc[:-1]
    if rows["total"].any():
        rows = rows[rows["total"] > 0]  # no bar for a query type that the study does not use
    series = {name: rows[name].astype(float).tolist() for name in numbers.labels}
    return figures.stacked(
        [str(kind).replace("_", " ") for kind in rows["kind"]],
        series,
        alt="Posts by query type and label: "
        + "; ".join(
            f"{row['kind']} {', '.join(f'{row[name]} {name}' for name in numbers.labels)}"
            for row in rows.to_dict("records")
        ),
        unit="posts",
    )


def _purpose(facts: ReleaseFacts) -> Section:
    return Section(
        "Purpose",
        "To train and test classifiers of the stance of a post towards a claim, and to estimate the share of each stance among "
        "the posts found. It is not for judging individual people: a post that repeats a claim may be mistaken, joking or "
        "quoted out of context.",
        points=[f"Labels: {listed(facts.labels.values)}.", *facts.label_notes]
        + (
            ["annotations.csv has the labels of each round, the other files these."]
            if facts.label_sets
            else []
        )
        + ([f"From one end to the other: {listed(facts.labels.order)}."] if facts.labels.order else []),
    )


def _nearest(facts: ReleaseFacts) -> list[str]:
    """Describe the corpus's sampling frame if it contains posts that no query matches."""
    nearest = facts.retrieval.ranked
    if nearest is None:
        return []
    told = (
        f"Every weighted figure describes the posts that a query found and the {nearest.depth} most similar other posts of each "
        f"claim ({nearest.ranked_by}). Of the latter {nearest.expected:g} were expected per claim; more similar posts had a "
        f"higher probability, with weights of up to {nearest.weights_up_to:g} if possible."
    )
    return [told]


def _collection(facts: ReleaseFacts, numbers: Statistics) -> Section:
    import pandas as pd

    platforms = listed(f"{name} ({number:,})" for name, number in facts.platforms.items())
    cleaning = facts.cleaning
    kinds = kinds_of(numbers)
    matched = [words for kind in facts.retrieval.require_match if (words := KINDS.get(kind, kind)) in kinds]
    unit = least_lengths(cleaning) or "any length"
    checked = f" For {listed(matched)}, covmis checked that each text matches its query." if matched else ""
    points = [
        f"Platforms: {platforms}.",
        f"Found by {listed([*kinds, *([RANKED] if facts.retrieval.ranked else [])])}.{checked}",
        reposts(facts),
        *_nearest(facts),
        *facts.recall,
        f"Posts in {language_rule(cleaning)}, of {unit}.",
        f"Posts with a {similarity(cleaning)} are near-duplicates; one of each group was kept.",
        "A post found for several claims stayed with one, chosen at random."
        if cleaning.one_claim_per_post
        else "A post found for several claims can occur with each of them.",
        f"Claims with fewer than {count(cleaning.minimum_posts, 'post')} were dropped.",
    ]
    flow = pd.DataFrame(
        [
            (
                step.keeps,
                step.claims,
                step.pairs,
                step.dropped_pairs,
                listed((f"{reason} ({number:,})" for reason, number in step.reasons.items()), last="and")
                if step.reasons
                else "",
            )
            for step in facts.flow
        ],
        columns=["kept after the step", "claims", "pairs", "dropped", "why"],
    )
    for name in ("pairs", "dropped"):
        flow[name] = flow[name].astype("Int64").astype(object).where(flow[name].notna(), None)
    last = ("in this release", f"{count(numbers.rows, 'post')} · {count(numbers.claims, 'claim')}")
    return Section(
        "How it was collected",
        COLLECTION,
        points=points,
        tables=[("From claims to sample", flow, {})] if len(flow) else [],
        figure=_flow_diagram(facts.flow, last) if facts.flow else Markup(""),
    )


def _sampling(facts: ReleaseFacts, numbers: Statistics) -> Section:
    drawn = facts.sampling
    design = (
        "each post was sampled independently (Poisson)"
        + (", large near-duplicate clusters, if any, with certainty" if drawn.certain else "")
        if drawn.design == "poisson"
        else "they were sampled in two phases, a fixed number per claim"
    )
    left = ", ".join(f"{reason}: {number:,}" for reason, number in facts.left_out.items() if number)
    names = {"unweighted": "in the sample", "share": "estimated"}
    return Section(
        "Sampling and weights",
        f"For each claim {drawn.per_claim} posts were expected, with a quota of {drawn.per_kind} per "
        f"{listed(['query type', *drawn.strata_by])} (fewer if there are fewer); {design}. Use the column weight for any "
        "statement about all retrieved posts; unweighted counts reflect the sampling design."
        + "".join(f"\n\n{sentence}" for sentence in facts.population)
        + (
            f"\n\nSampled but not in the release: {left}."
            if left
            else "\n\nAll sampled posts are in the release."
        ),
        tables=[
            ("Estimated shares with 95% intervals", shares_shown(numbers), names),
            ("Weights", numbers.weights, {"design_effect": "design effect of the weights (Kish)"}),
        ]
        if numbers.rows
        else [],
    )


def _annotation(facts: ReleaseFacts, numbers: Statistics) -> Section:
    rules = listed(f"{KINDS.get(kind, kind)} ({label})" for kind, label in facts.labels.automatic.items())
    none_here = not {"automatic", "audited"} & set(numbers.by_how["how"])
    counted = [round_ for round_ in facts.rounds if not round_.pilot]
    people, several = facts.annotators, facts.annotation.per_item > 1
    measured = (
        f"Agreement was measured after {'the' if len(counted) == 1 else 'each'} round." if facts.kappa else ""
    )
    checked = " ".join(filter(None, [measured, settled(numbers)])) if several else ""
    points = [
        (
            f"{count(people, 'annotator')}; {count(facts.annotation.per_item, 'label')} per post"
            + (", given independently." if several else ".")
        ),
        *([facts.machines_told] if facts.machines else []),
        (
            f"Shown with claim and post, where a post has it: {listed(facts.annotation.show)}. Not shown: query type, automatic labels, predictions."
        ),
        *([checked] if checked else []),
        f"Automatic labels: {rules}{'; none in this corpus' if none_here else ''}."
        if facts.labels.automatic
        else "There are no automatic labels.",
        *facts.audit.sentences,
    ]
    versions: dict[str, list[str]] = {}
    for round_ in facts.rounds:
        versions.setdefault(round_.guideline or "not recorded", []).append(round_.name)
    points += [f"Guideline {version}: {_rounds(names)}." for version, names in versions.items()]
    return Section("Annotation", "The guideline of each round is frozen with its labels.", points=points)


def _rounds(names: Sequence[str]) -> str:
    return f"round{'s' * (len(names) > 1)} {listed(names)}"


def _agreement(facts: ReleaseFacts) -> Section:
    import pandas as pd

    rows = [
        {
            "round": round_.name + (" (pilot, excluded)" if round_.pilot else ""),
            "claims": round_.claims,
            "items": round_.items,
            "for annotators": round_.for_people,
            "raw agreement": round_.raw_agreement.value if round_.raw_agreement else None,
            "kappa": round_.kappa.value if round_.kappa else None,
            "interval": str((round_.kappa and round_.kappa.interval) or ""),
            "seal": round_.seal[:12] or "not sealed",
        }
        for round_ in facts.rounds
    ]
    prose = (
        f"Over all rounds except pilots, {facts.kappa.name} is {facts.kappa}, on independent labels"
        + (f" of {count(facts.kappa_items, 'post')}" if facts.kappa_items else "")
        + "; automatic labels are excluded."
        if facts.kappa
        else "Each post has one label, so agreement cannot be computed."
        if facts.annotation.per_item == 1
        else "No agreement has been computed; covmis round report computes it."
    )
    return Section("Agreement", prose, tables=[("Rounds", pd.DataFrame(rows), {})] if rows else [])


def _parts(facts: ReleaseFacts) -> list[Section]:
    """Describe the corpus's splits, and what they share."""
    if not facts.parts:
        return []
    parts = facts.parts
    kept = f" {parts.together} are always in one part." if parts.together else ""
    near = {
        None: "It is not known whether near-duplicates are in two parts.",
        0: "No near-duplicates are in two parts.",
    }
    copies = near.get(parts.near_copies, f"{parts.near_copies} pairs of near-duplicates are in two parts.")
    return [
        Section(
            "Parts",
            f"Divided into train, dev and test ({parts.scheme}): splits.csv.{kept} {copies}",
            points=list(parts.findings),
        )
    ]


def _licence(facts: ReleaseFacts) -> Section:
    licence = licence_of(facts.release.licence)
    name = licence.spdx if licence else "see LICENCE.txt" if facts.licence_text else facts.release.licence
    stated = f"Labels, claims and this documentation: {name}." if name else "No licence has been stated."
    posts = (
        "The texts belong to their authors; the platforms' terms apply to all recipients."
        if facts.release.text
        else "Posts belong to their authors and are fetched from their platforms under those platforms' terms."
    )
    return Section(
        "Licence and terms",
        f"{stated} {posts} Remove deleted posts before you publish results on texts.",
    )


def _statement_sections(markdown: str) -> list[Section]:
    """Return a section for each heading of the study's own data statement."""
    parts: list[tuple[str, list[str], list[str]]] = [("Data statement", [], [])]
    for line in markdown.splitlines():
        if line.startswith("#"):
            parts.append((f"Data statement: {line.lstrip('#').strip()}", [], []))
        elif line.startswith(("- ", "* ")):
            parts[-1][2].append(line[2:].strip())
        else:
            parts[-1][1].append(line)
    return [
        Section(title, "\n".join(prose).strip(), points)
        for title, prose, points in parts
        if points or any(map(str.strip, prose))
    ]


WISHED = {
    "licence": "a licence",
    "authors": "authors",
    "contact": "a contact",
    "version": "a version",
    "funding": "the funding",
    "data_statement": "annotators (recruitment, pay, training), ethics and maintenance",
}
"""Content that a data statement (Bender and Friedman, 2018) or a _datasheet (Gebru et al., 2021) requires, by setting."""


def _not_stated(facts: ReleaseFacts) -> list[Section]:
    missing = [told for name, told in WISHED.items() if not getattr(facts.release, name)]
    return (
        [Section("Not stated", points=[f"{told[:1].upper()}{told[1:]}." for told in missing])]
        if missing
        else []
    )


def _rehydration(facts: ReleaseFacts) -> Section:
    if facts.release.text:
        return Section(
            "Ids and deletions",
            "Check from time to time which posts still exist, and remove the others."
            if facts.can_be_fetched
            else f"covmis cannot look which posts of {listed(facts.platforms)} still exist.",
        )
    if not facts.can_be_fetched:
        numbered = (
            f" The ids of {count(facts.made_ids, 'post')} were made by covmis from their rows or texts, so these cannot be fetched again: "
            "the texts come only from the same files, unchanged."
            if facts.made_ids
            else ""
        )
        return Section(
            "How to get the texts",
            f"covmis cannot fetch these posts ({listed(facts.platforms)}). If you have files of them, it joins their texts with the labels; keep settings.toml, which says how they are read, next to corpus.csv.{numbered}",
            code="covmis new with-texts\ncd with-texts\ncovmis hydrate ../corpus.csv --archive FILES --into texts",
        )
    without_ids = (
        f" {count(facts.made_ids, 'post')} cannot be fetched: their source has no ids, and covmis made these."
        if facts.made_ids
        else ""
    )
    return Section(
        "How to get the texts",
        f"Fetch the posts with your own access, then join them with the labels. Posts that no longer exist are listed, not replaced.{without_ids}",
        code="covmis new with-texts\ncd with-texts\ncovmis collect ids ../corpus.csv\ncovmis hydrate ../corpus.csv --into texts",
    )


def _flow_diagram(steps: Sequence[FlowStep], last: tuple[str, str] | None = None) -> Markup:
    """Draw the steps from top to bottom. `last` is the filled box of the corpus itself: (text, small print)."""
    boxes = [(_upper(step.keeps), _numbers(step), _dropped(step)) for step in steps]
    if last:
        boxes.append((_upper(last[0]), last[1], []))
    parts = (f"{words}: {numbers}" + "".join(f", {line}" for line in gone) for words, numbers, gone in boxes)
    return figures.steps(boxes, alt=f"From claims to corpus. {'; '.join(parts)}.", last=last is not None)


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _numbers(step: FlowStep) -> str:
    claims = f"{step.claims:,} claim{'s' * (step.claims != 1)}"
    if step.pairs is None:
        return claims
    return f"{step.pairs:,} pair{'s' * (step.pairs != 1)} of claim and post · {claims}"


def _dropped(step: FlowStep) -> list[str]:
    """Return what the step dropped, the most frequent first, in at most two lines."""
    ranked = sorted(step.reasons.items(), key=lambda reason: (-reason[1], reason[0]))
    shown = ranked if len(ranked) <= 2 else ranked[:1]
    more = ranked[len(shown) :]
    told = [f"\N{MINUS SIGN} {number:,} {reason}" for reason, number in shown]
    if more:
        told.append(f"\N{MINUS SIGN} {sum(number for _, number in more):,} for {len(more)} other reasons")
    return told


NOT_STATED = "not stated"


def data_statement(facts: ReleaseFacts) -> pd.DataFrame:
    """Describe the language users and the annotators."""
    first, last = facts.period
    when = f" from {first} to {last}" if first else ""
    return _table(
        {
            "Curation rationale": "posts that queries for claims found, for the stance towards these claims: see How it was collected",
            "Language variety": f"{languages_of(facts.cleaning)}; which varieties is not known",
            "Speakers": "not known, and nothing about the posts' authors is in this release",
            "Annotators": f"{count(facts.annotators, 'person', 'people')}; who they are: {_own(facts)}",
            "Speech situation": f"posts ({listed(facts.platforms)}){when}; whether all were public is not known",
            "Text characteristics": f"posts of {least_lengths(facts.cleaning) or 'any length'}; near-duplicates once: see statistics.html",
        }
    )


def _datasheet(facts: ReleaseFacts, numbers: Statistics) -> pd.DataFrame:
    """Describe content, origin and maintenance."""
    release = facts.release
    licence = licence_of(release.licence)
    where = f"https://doi.org/{release.doi}" if release.doi else release.url
    gone = ", ".join(f"{number:,} {why}" for why, number in facts.left_out.items() if number)
    return _table(
        {
            "Motivation": f"see Purpose; funding: {release.funding or NOT_STATED}",
            "Composition": f"{count(numbers.rows, 'post')} on {count(numbers.claims, 'claim')}; excluded: {gone or 'nothing'}; "
            f"recommended parts: {'splits.csv' if facts.parts else 'none'}",
            "Collection process": "see How it was collected, and Sampling and weights",
            "Preprocessing and labelling": "see From claims to sample, and Annotation; "
            + (
                "texts are as posted"
                if release.text and not release.mask_mentions
                else "accounts named in texts are masked"
                if release.text
                else "texts are not in it"
            ),
            "Uses": "see Purpose, and Limits",
            "Distribution": f"{where or 'no address stated'}; licence: "
            f"{licence.spdx if licence else release.licence or NOT_STATED}",
            "Maintenance": f"version {release.version or NOT_STATED}; contact: {release.contact or NOT_STATED}; maintenance: {_own(facts)}",
        }
    )


def _own(facts: ReleaseFacts) -> str:
    """Return the items that only the study's own data statement can contain."""
    return "see Data statement" if facts.data_statement else NOT_STATED


def _table(answers: dict[str, str]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(list(answers.items()), columns=["asked", "answer"])
