"""The label schemes of the corpora, and the permitted maps between them.

A map exists if the papers use it, or if both schemes ask the same question; all others are refused with the reason. A rumour
label is not a stance, and a class that merges two others cannot be split.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from covmis_build.errors import InputError, UnknownName, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMES: dict[str, tuple[str, ...]] = {
    "covmis": ("favor", "against", "neither"),
    "covidlies": ("pos", "neg", "na"),
    "sdqc": ("support", "deny", "query", "comment"),
    "fnc": ("agree", "disagree", "discuss", "unrelated"),
    "semeval": ("favor", "against", "none"),
    "nli": ("entailment", "contradiction", "neutral"),
    "rumour": ("rumour", "non-rumour"),
    "veracity": ("true", "false", "unverified", "non-rumor"),
    "news": ("fake", "real"),
    "merger": ("support", "refute", "comment", "unrelated"),
    "argument": ("support", "undermine"),
    "headline": ("for", "against", "observing"),
    "claim": ("supporting", "refuting", "querying", "discussing", "irrelevant"),
    "match": ("matched",),
}

OURS = frozenset(SCHEMES)
"""Built-in schemes, which descriptions cannot change."""

TO_STANCE: dict[str, dict[str, str]] = {
    "covmis": {"favor": "favor", "against": "against", "neither": "neither"},
    "covidlies": {"pos": "favor", "neg": "against", "na": "neither"},
    "sdqc": {"support": "favor", "deny": "against", "query": "neither", "comment": "neither"},
    "fnc": {"agree": "favor", "disagree": "against", "discuss": "neither", "unrelated": "neither"},
    "semeval": {"favor": "favor", "against": "against", "none": "neither"},
    "nli": {"entailment": "favor", "contradiction": "against", "neutral": "neither"},
    "merger": {"support": "favor", "refute": "against", "comment": "neither", "unrelated": "neither"},
    "argument": {"support": "favor", "undermine": "against"},
    "headline": {"for": "favor", "against": "against", "observing": "neither"},
    "claim": {
        "supporting": "favor", "refuting": "against", "querying": "neither", "discussing": "neither",
        "irrelevant": "neither",
    },
}  # fmt: skip
"""COVMis-Stance 5.2 and table 9; the paper's classes for RumourEval, COVIDLies and NLI."""

REFUSED = {
    "rumour": "it says whether a post spreads a rumour, not what the post thinks of it",
    "veracity": "it says whether a rumour turned out true, not what the post thinks of it",
    "news": "it says whether the news is true, not what the post thinks of it",
    "match": "it says which fact-check a post belongs to, not what the post thinks of it",
    "sdqc": "'neither' cannot be told apart into 'query' and 'comment'",
    "fnc": "'neither' cannot be told apart into 'discuss' and 'unrelated'",
    "merger": "'neither' cannot be told apart into 'comment' and 'unrelated'",
    "argument": "it has no label for posts that take no side",
    "claim": "'neither' cannot be told apart into 'querying', 'discussing' and 'irrelevant'",
    "nli": "'neither' holds unrelated posts, which NLI calls neither neutral nor anything else",
}
"""Scheme → why it cannot be mapped. Schemes without a map to stance: in both directions; others: only as target."""

BINARY = {"true": "rumour", "false": "rumour", "unverified": "rumour", "non-rumor": "non-rumour"}
"""Veracity → rumour: items of any veracity are rumours."""


def add_scheme(name: str, told: Mapping[str, Any]) -> None:
    """Add the scheme of a corpus description: `values`; `stance`, each as favor, against or neither; or `refused` with the reason."""
    values = tuple(map(str, told["values"]))
    back = {str(label): str(said) for label, said in told.get("stance", {}).items()}
    if name in OURS and SCHEMES[name] != values:
        raise ValueError(f"the labels of '{name}' are {', '.join(SCHEMES[name])}")
    if back and (set(back) != set(values) or not set(back.values()) <= set(SCHEMES["covmis"])):
        raise ValueError("stance names each label once, as favor, against or neither")
    SCHEMES[name] = values
    if back:
        TO_STANCE[name] = back
        if len(set(back.values())) < len(back):
            REFUSED.setdefault(name, "several of its labels are one of ours")
    else:
        REFUSED[name] = str(
            told.get("refused") or "its description does not say which of its labels is which stance"
        )


def label_map(source: str, target: str) -> dict[str, str]:
    """Return the map from one scheme's labels to another's, or raise an error with the reason.

    >>> label_map("covidlies", "covmis")
    {'pos': 'favor', 'neg': 'against', 'na': 'neither'}
    """
    for name in (source, target):
        if name not in SCHEMES:
            raise UnknownName(f"no label scheme is called '{name}'", remedy=nearest(name, SCHEMES))
    if source == target:
        return {label: label for label in SCHEMES[source]}
    if (source, target) == ("veracity", "rumour"):
        return dict(BINARY)
    for name in (source, target):
        if name not in TO_STANCE:
            raise _refusal(source, target, REFUSED[name])
    if target in REFUSED:
        raise _refusal(source, target, REFUSED[target])
    back = {stance: label for label, stance in TO_STANCE[target].items()}
    return {label: back[stance] for label, stance in TO_STANCE[source].items()}


def _refusal(source: str, target: str, reason: str) -> InputError:
    return InputError(
        f"the labels of '{source}' cannot be mapped to '{target}': {reason}",
        remedy="Give a map of your own if your study defines one: --map OLD=NEW",
    )
