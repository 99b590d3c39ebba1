"""Phrases from numbers and lists, shared by card, methods and statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.text.language import language_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from covmis_build.corpus.release_facts import ReleaseFacts
    from covmis_build.corpus.statistics import Statistics
    from covmis_build.options import Cleaning

KINDS = {
    "title": "titles",
    "news_url": "links to news",
    "fact_check_url": "links to fact-checks",
    "keywords": "keywords",
}
RANKED = "similarity to the claim, of posts that no query finds"
HOW = {
    "automatic": "automatic label, not checked",
    "audited": "automatic label, checked by annotators who did not know it",
    "agreed": "annotators agreed independently",
    "discussed": "annotators agreed after discussion",
    "majority": "most annotators agreed",
    "adjudicated": "decided by an adjudicator",
    "single": "label of one annotator only",
}


def listed(words: Iterable[object], last: str = "and") -> str:
    """Join words as a list in a sentence.

    >>> listed(["a", "b", "c"]), listed(["a"]), listed([])
    ('a, b and c', 'a', 'none')
    """
    given = [str(word) for word in words]
    if len(given) < 2:
        return given[0] if given else "none"
    return f"{', '.join(given[:-1])} {last} {given[-1]}"


def languages_of(options: Cleaning) -> str:
    """Return the names of the languages of kept posts.

    >>> from covmis_build.options import Cleaning
    >>> languages_of(Cleaning(languages=("ar", "en"))), languages_of(Cleaning(languages=()))
    ('Arabic and English', 'all languages')
    """
    return listed(map(language_name, options.languages)) if options.languages else "all languages"


def language_rule(options: Cleaning) -> str:
    """Name the languages of kept posts, and how they were determined.

    >>> from covmis_build.options import Cleaning
    >>> language_rule(Cleaning())
    "English (the platform's tag, or else langdetect)"
    """
    if not options.languages:
        return languages_of(options)
    by = "the platform's tag, or else " if options.language_source == "platform" else ""
    unknown = ", and those of unknown language" if options.undetermined == "keep" else ""
    return f"{languages_of(options)} ({by}{options.detector}){unknown}"


IGNORED = {
    "urls": "URLs",
    "mentions": "mentions",
    "retweet_mark": "retweet marks",
    "entities": "HTML entities",
}


def similarity(options: Cleaning) -> str:
    """Say which posts are near-duplicates.

    >>> from covmis_build.options import Cleaning
    >>> similarity(Cleaning(similar_without=("retweet_mark", "urls")))
    'TF-IDF cosine similarity above 0.8 without retweet marks and URLs'
    """
    without = listed(IGNORED[name] for name in options.similar_without)
    return f"TF-IDF cosine similarity above {options.similarity:g}{f' without {without}' if options.similar_without else ''}"


def changes(facts: ReleaseFacts) -> str:
    """Name settings that changed between rounds; empty if none did."""
    if not facts.differences:
        return ""
    return (
        f"The settings described here are those of the last round. They have changed: {'; '.join(map(str, facts.differences))}. "
        "Pairs before sampling were counted with the present settings."
    )


def reworded(facts: ReleaseFacts) -> str:
    """Name the claims whose text is no longer that of their rounds, with the published one."""
    told = "; ".join(
        f"claim {each.claim} (round{'s' * (len(each.rounds) > 1)} {', '.join(each.rounds)}): “{each.judged}”, now “{each.now}”"
        for each in facts.reworded
    )
    return f"The texts of these claims were changed after people had judged posts by them; published is the text that people judged: {told}."


def share(part: float, whole: float) -> str:
    """Format a share in percent with one decimal; a dash if the whole is zero.

    >>> share(1, 3), share(0, 0)
    ('33.3%', '–')
    """
    return f"{100 * part / whole:.1f}%" if whole else "–"


def reposts(facts: ReleaseFacts) -> str:
    """Describe the treatment of reposts. If none was dropped, the files may not identify them."""
    if facts.retrieval.reposts == "keep":
        return "Reposts count as posts of their own."
    known = not facts.flow or any(step.reasons.get("repost") for step in facts.flow)
    return "Reposts were dropped." if known else "No post was recognised as a repost."


def kinds_of(numbers: Statistics) -> list[str]:
    """Name the query types that matched posts of the corpus."""
    rows = numbers.by_kind.iloc[:-1]
    found = set(rows.loc[rows["total"] > 0, "kind"])
    return [words for kind, words in KINDS.items() if kind in found]


def count(number: int, singular: str, many: str = "") -> str:
    """Format a number with its noun.

    >>> count(1, "claim"), count(1200, "reply", "replies")
    ('1 claim', '1,200 replies')
    """
    return f"{number:,} {singular if number == 1 else many or singular + 's'}"


def settled(numbers: Statistics) -> str:
    """Describe how disagreements were settled; empty if none was."""
    ways = set(numbers.by_how["how"])
    if "discussed" not in ways:
        return "An adjudicator decided disagreements." if "adjudicated" in ways else ""
    rest = "; where no agreement was reached, an adjudicator decided" if "adjudicated" in ways else ""
    return f"Disagreements were discussed after each round{rest}."


def without_label(posts: int) -> str:
    """State that sampled posts lack a final label, and the consequence; empty if all have one.

    >>> without_label(11)
    '11 sampled posts had no final label and are excluded; the estimates are provisional.'
    """
    if not posts:
        return ""
    had = f"{count(posts, 'sampled post')} had no final label and {'is' if posts == 1 else 'are'}"
    return f"{had} excluded; the estimates are provisional."


def label_counts(names: Sequence[str], counts: Mapping[str, int]) -> str:
    """List counts by label: `1,276 favor (48.5%), …`."""
    whole = sum(counts.get(name, 0) for name in names)
    return listed(f"{counts.get(name, 0):,} {name} ({share(counts.get(name, 0), whole)})" for name in names)
