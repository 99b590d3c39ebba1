"""A claim list against the rules of A.1: what is found names its rule and proposes an edit where one can be made.

Rules about addresses hold in every language; rules about words exist for the languages in `WORDING`, and claims in
others are reported as not checked.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from covmis_build.claims import rules_en
from covmis_build.text.expression import tokens
from covmis_build.text.urls import canonical_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pandas as pd

WORDING: dict[str, Callable[[str], Iterator[tuple[str, str, str]]]] = {"en": rules_en.check}
"""For each language, the rules about a claim's words: (rule, what is found, the proposed text)."""

COLUMNS = ["finding", "claim_id", "rule", "section", "says", "proposal"]
SAME = 0.6
"""Share of common words from which two claims are taken for the same story."""

MANY = 3
"""Claims that may share one fact-check before it counts as a page about many."""

WITHOUT = "without "
"""A proposal to take off an address; it follows."""


class _Finding(NamedTuple):
    claim_id: str
    rule: str
    says: str
    proposal: str = ""


def lint(claims: pd.DataFrame) -> pd.DataFrame:
    """Findings, in the order of the list: finding (its name), claim_id, rule, section, says, proposal."""
    import pandas as pd

    rows = claims.to_dict("records")
    order = {row["claim_id"]: at for at, row in enumerate(rows)}
    found = [*_wording(rows), *_addresses(rows), *_shared(rows), *_same_story(rows)]
    found.sort(key=lambda one: (order[one.claim_id], one.rule, one.says))
    numbers: dict[str, int] = defaultdict(int)
    listed = []
    for one in found:
        name = f"{one.rule}:{one.claim_id}"
        numbers[name] += 1
        if numbers[name] > 1:
            name = f"{name}:{numbers[name]}"
        listed.append([name, one.claim_id, one.rule, "A.1", one.says, one.proposal])
    return pd.DataFrame(listed, columns=COLUMNS, dtype=object)


def _wording(rows: list[Any]) -> Iterator[_Finding]:
    for row in rows:
        language = (row["language"] or "en").split("-")[0].lower()
        if language not in WORDING:
            yield _Finding(
                row["claim_id"],
                "not checked",
                f"no rules about wording for the language '{row['language']}'",
            )
            continue
        for rule, says, proposal in WORDING[language](row["text"]):
            yield _Finding(row["claim_id"], rule, says, proposal)


def _addresses(rows: list[Any]) -> Iterator[_Finding]:
    for row in rows:
        claim_id, urls = row["claim_id"], [*row["news_urls"], *row["fact_check_urls"]]
        if not urls:
            yield _Finding(claim_id, "addresses", "has neither a news address nor a fact-check")
        elif not row["fact_check_urls"]:
            yield _Finding(claim_id, "addresses", "has no fact-check address")
        for url in urls:
            key = canonical_url(url)
            if not key:
                yield _Finding(claim_id, "addresses", f"is not an address: {url}", WITHOUT + url)
            elif "/" not in key and "?" not in key:
                says = f"names a whole site, only its front page is found: {url}"
                yield _Finding(claim_id, "addresses", says, WITHOUT + url)


def _shared(rows: list[Any]) -> Iterator[_Finding]:
    """Fact-checks that many claims share: their posts say nothing about which of the claims is meant."""
    for key, ids in _by_key(rows, "fact_check_urls").items():
        if len(ids) > MANY:
            for one in ids:
                says = f"shares the fact-check {key} with {len(ids) - 1} other claims"
                yield _Finding(one, "shared", says, WITHOUT + key)


def _same_story(rows: list[Any]) -> Iterator[_Finding]:
    """Claims from the same news: a shared news address or title, a shared fact-check, or nearly the same words."""
    reasons: dict[tuple[int, int], list[str]] = defaultdict(list)
    order = {row["claim_id"]: at for at, row in enumerate(rows)}
    for column, what in (("news_urls", "news address"), ("fact_check_urls", "fact-check")):
        for key, ids in _by_key(rows, column).items():
            if 1 < len(ids) <= MANY:
                for at, one in enumerate(ids):
                    for other in ids[at + 1 :]:
                        reasons[order[one], order[other]].append(f"the {what} {key}")
    for pair in _alike(rows):
        reasons[pair].append("nearly the same words")
    for (first, second), why in sorted(reasons.items()):
        one, other = rows[first], rows[second]
        if _origins(one) & _origins(other):
            continue  # split on purpose
        says = f"may be the same story as {one['claim_id']}: {'; '.join(why)}"
        yield _Finding(
            one["claim_id"], "merge", says.replace(one["claim_id"], other["claim_id"], 1), other["claim_id"]
        )


def _origins(row: Any) -> set[str]:
    """The claims that this one was split from."""
    return {edit.split(":")[0] for edit in row["edits"] if edit.startswith("split from ")}


def _by_key(rows: list[Any], column: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        for key in dict.fromkeys(canonical_url(url) for url in row[column]):
            if key:
                found[key].append(row["claim_id"])
    return found


def _alike(rows: list[Any]) -> Iterator[tuple[int, int]]:
    """Pairs with a large share of common words, found through their rarest words."""
    words = [set(tokens(row["text"])) for row in rows]
    where: dict[str, list[int]] = defaultdict(list)
    for at, mine in enumerate(words):
        for word in mine:
            where[word].append(at)
    seen: set[tuple[int, int]] = set()
    for at, mine in enumerate(words):
        rare = sorted(mine, key=lambda word: (len(where[word]), word))
        for word in rare[: max(1, int(len(rare) * (1 - SAME)) + 1)]:
            seen.update((min(at, other), max(at, other)) for other in where[word] if other != at)
    for first, second in sorted(seen):
        common = len(words[first] & words[second])
        if common and common / len(words[first] | words[second]) >= SAME:
            yield first, second
