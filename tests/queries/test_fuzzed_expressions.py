"""Expressions made by chance, written as people write: read, printed, read again; and tried, whatever their size.

A tenth runs in `make test-all`, all 6,000 in `make test-long`.
"""

from __future__ import annotations

import random

import pytest

from covmis_build import tables
from covmis_build.archive.counted import CountedPosts
from covmis_build.matching.find import numbers_found
from covmis_build.text.expression import parse
from covmis_build.text.nodes import leaves
from tests.queries.test_try_and_run import post, table, written

ALL = 6_000
WORDS = [
    "mask", "Masks", "covid-19", "don’t", "5G", "Ärger", "naïve", "新冠", "疫苗", "اللقاح", "लहसुन", "मुफ़्त", "\uff57\uff49\uff44\uff45", "10,000", "3.5",
    "#hoax", "@who", "or", "and", "not", "of", "2", "a.m.", "C++", "https://example.org/a?b=1", "url:news.org/x", "ﬁne", "🧼soap", "ΟΔΟΣ",
]  # fmt: skip
PHRASES = [
    '"bill gates"',
    "“新冠 疫苗”",
    '"2 of (a, b)"',
    "«l’eau du robinet»",
    '"covid-19, now"',
    "„Milch und Kuh“",
]
POSTS = [
    "mask covid 19 don't panic", "masks or no masks", "bill gates and the 5g hoax", "新冠疫苗很好", "اللقاح آمن", "लहसुन मुफ्त", "wide fine soap",
    "10 000 people at 3.5 a.m.", "see https://example.org/a?b=1", "c++ of 2 and not", "l'eau du robinet", "Milch und Kuh who", "nothing at all",
]  # fmt: skip


class Writer:
    """Writes expressions: what it writes asks for something, for every minus stands beside a word to look for."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def expression(self, depth: int) -> str:
        kinds = ["word", "word", "phrase"] + (["and", "or", "quorum", "minus", "group"] if depth else [])
        kind = self.chance.choice(kinds)
        if kind == "word":
            return self.chance.choice(WORDS)
        if kind == "phrase":
            return self.chance.choice(PHRASES)
        parts = [self.expression(depth - 1) for _ in range(self.chance.randint(2, 4))]
        grouped = [self.grouped(part) for part in parts]
        together = {
            "and": self.chance.choice([" ", "  ", " AND ", "\n"]).join(grouped),
            "or": " OR ".join(grouped),
            "minus": f"{grouped[0]} -{grouped[1]}",
            "group": f"(({parts[0]}))",
        }
        return together.get(kind) or self.quorum(parts)

    def grouped(self, part: str) -> str:
        opened, closed = self.chance.choice(["()", "（）"])  # noqa: RUF001 - as an Asian keyboard writes them
        return f"{opened}{part}{closed}"

    def quorum(self, parts: list[str]) -> str:
        different = {str(parse(part)): part for part in parts}
        comma = self.chance.choice([", ", ",", "，", " ، "])  # noqa: RUF001 - commas of many scripts
        listed = comma.join(map(self.grouped, different.values()))
        # a list needs a comma: a thing alone is written twice, and counts once
        listed = listed if len(different) > 1 else f"{listed}{comma}{listed}"
        return f"{self.chance.randint(1, len(different))} of ({listed})"


@pytest.fixture(scope="module")
def counts(tmp_path_factory):
    posts = [post(at, text) for at, text in enumerate(POSTS)]
    path = written(tmp_path_factory.mktemp("fuzzed"), "a", posts)
    counted = CountedPosts([path], tables.SCHEMAS["older_copies"].empty_table())
    return lambda *asked: list(map(len, numbers_found(counted, table(("keywords", one) for one in asked))))


@pytest.mark.parametrize("number", [ALL // 10, pytest.param(ALL, marks=pytest.mark.long)])
def test_parsed_printed_and_parsed_again(counts, number):
    sizes, asked, matching = [], [], []
    for seed in range(number):
        asked.append(Writer(seed).expression(depth=1 + seed % 5))
        whole = parse(asked[-1])
        printed = str(whole)
        again = parse(printed)
        assert again.node == whole.node, asked[-1]
        assert str(again) == printed, asked[-1]
        matching.append(sum(map(whole.matches, POSTS)))
        sizes.append(len(list(leaves(whole.node))))
    tried = zip(asked, counts(*asked), matching, strict=True)
    assert [(one, count, matches) for one, count, matches in tried if count != matches] == []
    assert max(sizes) > 40


@pytest.mark.parametrize("terms", [500, 9_999])
def test_however_many_terms_a_query_is_tried(counts, terms):
    words = [f"word{at}" for at in range(terms - 3)] + ["mask", "wide", "soap"]
    random.Random(1).shuffle(words)
    half = len(words) // 2
    asked = {
        " OR ".join(words): 2,
        f"2 of ({', '.join(words)})": 1,
        f"{' OR '.join(words)} -nothing": 2,
        f"({' OR '.join(words[:half])} OR fine) ({' OR '.join(words[half:])} OR soap)": 1,
        f"2 of (({' OR '.join(words[:half])} OR wide), ({' OR '.join(words[half:])} OR wide), fine)": 1,
        f"nothing -({' OR '.join(words)})": 1,
        " ".join(words): 0,
    }
    for query, posts in asked.items():
        assert counts(query) == [posts] == [sum(map(parse(query).matches, POSTS))]
        assert parse(str(parse(query))) == parse(query)
