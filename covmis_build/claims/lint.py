"""Check a claim list against the rules of A.1. A finding names its rule and, if possible, proposes an edit.

Rules on URLs apply in every language, rules on words in the languages of `wording`; claims in others are reported as not
checked. A finding on most claims is one line about the list instead of one per claim.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from covmis_build.claims import wording
from covmis_build.errors import counted
from covmis_build.report.result import Result
from covmis_build.text.tokens import tokens
from covmis_build.text.urls import canonical_url

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from covmis_build.report.summary import Summary

COLUMNS = ["finding", "claim_id", "rule", "section", "says", "proposal"]
SAME = 0.6
"""Minimum share of common words for two claims to be the same story."""

MANY = 3
"""Maximum number of claims per fact-check; with more it is a page on many claims."""

RELATED = 0.25
"""Maximum share of common words for claims with a common URL to be different stories."""

DIFFERENT = 2
"""Minimum number of distinct longer words in each of two similar claims for different stories."""

SEVERAL = 6
"""Minimum number of claims for summary findings about the list."""

COMMON = 1_000
"""Maximum number of claims with a word that is used to find similar claims."""

WITHOUT = "without "
"""Beginning of a proposal to remove a URL, which follows."""


@dataclass(frozen=True, slots=True, repr=False)
class Findings(Result):
    """The result of checking `claims` claims; `summaries` are findings on most of them."""

    rows: pd.DataFrame
    claims: int
    summaries: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()
    """The findings whose proposals were carried out before."""

    def __len__(self) -> int:
        return len(self.rows)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per finding in list order: finding (its name), claim_id, rule, section, says, proposal."""
        return self.rows

    def to_dict(self) -> dict[str, Any]:
        """Return what `covmis claims lint --json` prints."""
        return {
            "accepted": list(self.accepted),
            "claims": self.claims,
            "findings": self.rows,
            "summaries": list(self.summaries),
        }

    @property
    def summary(self) -> Summary:
        """Return each finding with its proposal, then the findings on most claims."""
        lines = [f"{counted(len(self.accepted), 'edits')} made."] if self.accepted else []
        for row in self.rows.to_dict("records"):
            lines.append(f"{row['finding']}  {row['says']}")
            lines += [f"    → {proposal}" for proposal in str(row["proposal"]).splitlines()]
        if not self.summaries:
            return [*lines, f"{counted(len(self), 'findings')} in {counted(self.claims, 'claims')}."]
        counts = {
            "about single claims": len(self),
            f"about the list of {self.claims:,} claims": len(self.summaries),
        }
        parts = [f"{counted(number, 'findings')} {about}" for about, number in counts.items() if number]
        return [*lines, *self.summaries, f"{' and '.join(parts)}."]


class _Finding(NamedTuple):
    claim_id: str
    rule: str
    says: str
    proposal: str = ""


def lint(claims: pd.DataFrame) -> Findings:
    """Check this list against the rules of A.1."""
    import pandas as pd

    rows = claims.to_dict("records")
    order = {row["claim_id"]: at for at, row in enumerate(rows)}
    findings, summaries = _summed_up(
        [*_wording(rows), *_addresses(rows), *_shared(rows), *_same_story(rows)], len(rows)
    )
    findings.sort(key=lambda finding: (order[finding.claim_id], finding.rule, finding.says))
    numbers: dict[str, int] = defaultdict(int)
    listed = []
    for finding in findings:
        name = f"{finding.rule}:{finding.claim_id}"
        numbers[name] += 1
        if numbers[name] > 1:
            name = f"{name}:{numbers[name]}"
        listed.append([name, finding.claim_id, finding.rule, "A.1", finding.says, finding.proposal])
    return Findings(pd.DataFrame(listed, columns=COLUMNS, dtype=object), len(claims), summaries)


def _summed_up(findings: list[_Finding], claims: int) -> tuple[list[_Finding], tuple[str, ...]]:
    """Combine a finding on most claims without proposal to one line about the list."""
    said = Counter((finding.rule, finding.says) for finding in findings if not finding.proposal)
    of_most = {key: count for key, count in said.items() if claims >= SEVERAL and 2 * count > claims}
    kept = [finding for finding in findings if (finding.rule, finding.says) not in of_most]
    return kept, tuple(
        f"{rule}: {count:,} of {claims:,} claims: each {says}" for (rule, says), count in of_most.items()
    )


def _wording(rows: list[Any]) -> Iterator[_Finding]:
    for row in rows:
        language = (row["language"] or "en").split("-")[0].lower()
        if language in wording.LANGUAGES:
            for remark in wording.check(row["text"], language):
                yield _Finding(row["claim_id"], *remark)
        else:
            says = f"no rules about wording for the language '{row['language']}'"
            yield _Finding(row["claim_id"], "not checked", says)


def _addresses(rows: list[Any]) -> Iterator[_Finding]:
    news = Counter(canonical_url(url) for row in rows for url in row["news_urls"])
    for row in rows:
        claim_id, urls = row["claim_id"], [*row["news_urls"], *row["fact_check_urls"]]
        if not any((*urls, *row["keywords"], *row["titles"])):
            says = "has no keywords, titles or URLs, so that no post is found: `covmis queries suggest CLAIM` proposes keywords"
            yield _Finding(claim_id, "no query", says)
        elif not urls:
            yield _Finding(
                claim_id,
                "addresses",
                "has neither a news address nor a fact-check (fine where keywords find enough posts)",
            )
        elif not row["fact_check_urls"]:
            yield _Finding(claim_id, "addresses", "has no fact-check address")
        for url in urls:
            key = canonical_url(url)
            if not key:
                yield _Finding(claim_id, "addresses", f"is not an address: {url}", WITHOUT + url)
            elif "/" not in key and "?" not in key and (row["news_urls"] != [url] or news[key] > 1):
                # a site that has all news of one claim may be the claim's subject
                says = f"names a whole site, only its front page is found: {url}"
                yield _Finding(claim_id, "addresses", says, WITHOUT + url)


def _shared(rows: list[Any]) -> Iterator[_Finding]:
    """Report fact-checks shared by many dissimilar claims, whose posts do not identify the claim."""
    words = {row["claim_id"]: set(tokens(row["text"])) for row in rows}
    for key, ids in _by_key(rows, "fact_check_urls").items():
        site = "/" not in key and "?" not in key  # reported as a whole site
        if len(ids) > MANY and not site and _mean_likeness([words[claim_id] for claim_id in ids]) < RELATED:
            for claim_id in ids:
                says = f"shares the fact-check {key} with {len(ids) - 1} other claims"
                yield _Finding(claim_id, "shared", says, WITHOUT + key)


def _mean_likeness(words: list[set[str]]) -> float:
    pairs = list(itertools.islice(itertools.combinations(words, 2), 1000))
    return sum(_likeness(first, second) for first, second in pairs) / len(pairs)


def _likeness(first: set[str], second: set[str]) -> float:
    """Return the Jaccard similarity of two texts' words."""
    return len(first & second) / len(first | second) if first | second else 0.0


def _same_story(rows: list[Any]) -> Iterator[_Finding]:
    """A.1: items from the same news become one. Report almost equal texts, or similar ones with a common URL."""
    reasons: dict[tuple[int, int], list[str]] = defaultdict(list)
    order = {row["claim_id"]: at for at, row in enumerate(rows)}
    words = [set(tokens(row["text"])) for row in rows]
    for column, what in (("news_urls", "news address"), ("fact_check_urls", "fact-check")):
        for key, ids in _by_key(rows, column).items():
            for first, second in itertools.combinations(ids if len(ids) <= MANY else [], 2):
                if _likeness(words[order[first]], words[order[second]]) >= RELATED:
                    reasons[order[first], order[second]].append(f"the {what} {key}")
    for pair in _similar_pairs(words):
        reasons[pair].append("nearly the same words")
    for (first_at, second_at), why in sorted(reasons.items()):
        first, second = rows[first_at], rows[second_at]
        if _origins(first) & _origins(second) or _are_distinct(first["text"], second["text"]):
            continue  # split intentionally, or about two different things
        says = f"may be the same story as {second['claim_id']}: {'; '.join(why)}"
        yield _Finding(first["claim_id"], "merge", says, second["claim_id"])


def _are_distinct(first: str, second: str) -> bool:
    """True if each has a name that the other lacks, or many other words: two persons, years or remedies."""
    mine, others = _names(first) - set(tokens(second)), _names(second) - set(tokens(first))
    words = [{token[:4] for token in tokens(text) if len(token) > 3} for text in (first, second)]
    return bool(mine and others) or min(len(words[0] - words[1]), len(words[1] - words[0])) >= DIFFERENT


def _names(text: str) -> set[str]:
    """Return a text's numbers and capitalised words except the first; no words for titles in capitals."""
    pieces = text.split()
    shouting = sum(piece[:1].isupper() for piece in pieces) > 0.6 * len(pieces)
    names = {
        token
        for piece in pieces[1:]
        if not shouting and re.match(r"[\"“'‘(]?[A-Z]", piece)
        for token in tokens(piece)[:1]
    }
    return names | {token for token in tokens(text) if any(map(str.isdigit, token))}


def _origins(row: Any) -> set[str]:
    """Return the claims from which this one was split."""
    return {edit.split(":")[0] for edit in row["edits"] if edit.startswith("split from ")}


def _by_key(rows: list[Any], column: str) -> dict[str, list[str]]:
    claims_of: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        for key in dict.fromkeys(canonical_url(url) for url in row[column]):
            if key:
                claims_of[key].append(row["claim_id"])
    return claims_of


def _similar_pairs(words: list[set[str]]) -> Iterator[tuple[int, int]]:
    """Return pairs with many common words, found by their rarest words."""
    where: dict[str, list[int]] = defaultdict(list)
    for at, mine in enumerate(words):
        for word in mine:
            where[word].append(at)
    seen: set[tuple[int, int]] = set()
    for at, mine in enumerate(words):
        rare = sorted(mine, key=lambda word: (len(where[word]), word))
        for word in rare[: max(1, int(len(rare) * (1 - SAME)) + 1)]:
            if len(where[word]) <= COMMON:
                seen.update((min(at, other), max(at, other)) for other in where[word] if other != at)
    for first, second in sorted(seen):
        if _likeness(words[first], words[second]) >= SAME:
            yield first, second
