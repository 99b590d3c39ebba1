"""Keyword queries proposed after A.2, ranked by how rare and how telling they are in an archive.

A.2: the names in the claim first, the speaker's if someone famous said it; then the words that carry the relation
or action; and the whole sentence where that still brings much that is irrelevant. A query is telling if the posts
that it finds also have the claim's other words, the rare ones counting most. Rules about words exist for English;
in other languages every word but the most frequent of the archive is tried.
"""

from __future__ import annotations

import itertools
import math
import re
from typing import TYPE_CHECKING, NamedTuple

from covmis_build.text.expression import parse, tokens

if TYPE_CHECKING:
    import pandas as pd

    from covmis_build.queries.index import Index

EMPTY_WORDS = frozenset(
    [
        "a",
        "about",
        "after",
        "again",
        "against",
        "all",
        "also",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "because",
        "been",
        "before",
        "being",
        "between",
        "both",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "doing",
        "down",
        "during",
        "each",
        "for",
        "from",
        "further",
        "had",
        "has",
        "have",
        "having",
        "he",
        "her",
        "here",
        "him",
        "his",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "just",
        "may",
        "me",
        "might",
        "more",
        "most",
        "must",
        "my",
        "no",
        "nor",
        "not",
        "now",
        "of",
        "off",
        "on",
        "once",
        "only",
        "or",
        "other",
        "our",
        "out",
        "over",
        "own",
        "said",
        "same",
        "say",
        "says",
        "she",
        "should",
        "so",
        "some",
        "such",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "through",
        "to",
        "too",
        "under",
        "until",
        "up",
        "very",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "while",
        "who",
        "whom",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
        "claim",
        "claims",
        "claimed",
        "video",
        "photo",
        "post",
        "posts",
        "image",
        "shows",
        "show",
        "showed",
        "according",
        "one",
        "new",
        "people",
        "s",
        "t",
        "d",
        "ll",
        "re",
        "ve",
        "m",
    ]
)
SAMPLED = 200
FORMS = 4
_ENDINGS = (
    "ations",
    "ation",
    "ings",
    "ing",
    "ions",
    "ion",
    "edly",
    "ers",
    "ies",
    "ed",
    "er",
    "es",
    "ly",
    "s",
    "e",
    "y",
)


class Word(NamedTuple):
    """A word of the claim: how its author wrote it, whether it is (part of) a name or a number, and how rare it is."""

    token: str
    name: bool
    weight: float


def suggest(text: str, index: Index, *, language: str = "en", most: int = 8) -> pd.DataFrame:
    """Proposals for a claim, the best first: expression, posts, telling (0 to 1), built_from."""
    import pandas as pd

    words = _words(text, index, english=language.split("-", maxsplit=1)[0].lower() in {"", "en"})
    ranked = []
    for parts, source in _candidates(words):
        written = " ".join(_with_forms(word, index) for word in parts)
        posts = index.count(written)
        telling = _telling({word.token for word in parts}, written, words, index) if posts else 0.0
        ranked.append((telling * math.log2(1 + posts), telling, posts, str(parse(written)), source))
    ranked.sort(key=lambda one: (-one[0], -one[1], len(one[3]), one[3]))
    best: dict[str, list[object]] = {}
    for _, telling, posts, written, source in ranked:
        best.setdefault(written, [written, posts, round(telling, 4), source])
    rows = [row for row in best.values() if row[1]] or list(best.values())
    return pd.DataFrame(rows[:most], columns=["expression", "posts", "telling", "built_from"])


def _words(text: str, index: Index, *, english: bool) -> list[Word]:
    """The claim's words that say something, with their weight: the logarithm of how rare they are."""
    names = _names(text) if english else set()
    found: dict[str, Word] = {}
    for token in tokens(text):
        if (english and token in EMPTY_WORDS) or token in found:
            continue
        seen = index.frequency(token)
        weight = math.log((index.size + 1) / (seen + 1)) + 0.01
        if english or seen * 5 < index.size or token.isdigit():
            found[token] = Word(token, token in names or token.isdigit(), weight)
    return list(found.values())


def _names(text: str) -> set[str]:
    """Tokens with a capital inside the sentence, in capitals, or with digits; the first word if such a word follows."""
    pieces = re.findall(r"[^\s,;:()\"“”]+", text)
    capital = [bool(re.match(r"[‘'#@]?(?:[A-Z]|\d)", piece)) for piece in pieces]
    names: set[str] = set()
    for at, piece in enumerate(pieces):
        inside = at > 0 or (len(pieces) > 1 and capital[1]) or bool(re.search(r"[A-Z].*[A-Z]|\d", piece))
        if capital[at] and inside:
            names.update(token for token in tokens(re.sub(r"[’']s$", "", piece)) if token not in EMPTY_WORDS)
    return names


def _candidates(words: list[Word]) -> list[tuple[list[Word], str]]:
    """Names alone and with one to three of the rarest other words, those words without names, the whole sentence."""
    names = [word for word in words if word.name][:5]
    others = sorted((word for word in words if not word.name), key=lambda word: (-word.weight, word.token))[
        :6
    ]
    found = [(names, "names")] if names else []
    chosen = (
        [names]
        if len(names) < 2
        else [names, *([name] for name in names), *map(list, itertools.combinations(names, 2))]
    )
    for size in (1, 2, 3):
        for some in itertools.combinations(others, size):
            found += [([*base, *some], "names and words" if base else "words") for base in chosen]
            if names and size > 1:
                found.append((list(some), "words"))
    found += [(list(pair), "names") for pair in itertools.combinations(names, 2)]
    if words:
        found.append((words, "the whole sentence"))
    place = {word.token: at for at, word in enumerate(words)}
    return [(sorted(parts, key=lambda word: place[word.token]), source) for parts, source in found if parts]


def _with_forms(word: Word, index: Index) -> str:
    """A word with its other forms in the archive; names and numbers have none."""
    if word.name or not word.token.isascii() or len(word.token) < 4:
        return word.token
    stem = _stem(word.token)
    known = index.beginning_with(stem)
    forms = sorted(
        (form for form in known if form.isascii() and _stem(form) == stem and form != word.token),
        key=lambda form: (-known[form], form),
    )[: FORMS - 1]
    return f"({' OR '.join([word.token, *forms])})" if forms else word.token


def _stem(word: str) -> str:
    """A word without its most common English endings; at least three letters remain."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            stem = word[: -len(ending)]
            return (
                stem[:-1]
                if len(stem) > 3 and stem[-1] == stem[-2] and ending not in {"s", "e", "y"}
                else stem
            )
    return word


def _telling(used: set[str], written: str, words: list[Word], index: Index) -> float:
    """How much of the rest of the claim the found posts have on average, by weight; the whole claim for none left."""
    rest = [word for word in words if word.token not in used]
    if not rest:
        return 1.0
    stems = {word.token: _stem(word.token) for word in rest}
    total = sum(word.weight for word in rest)
    shares = []
    for post in index.sample(written, SAMPLED):
        present = {_stem(token) for token in tokens(post.text)}
        shares.append(sum(word.weight for word in rest if stems[word.token] in present) / total)
    return sum(shares) / len(shares) if shares else 0.0
