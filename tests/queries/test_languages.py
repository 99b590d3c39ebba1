"""Queries, lint and suggestions in eight languages, by the small labelled sets of tests/languages."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from covmis_build.archive.words import words_of
from covmis_build.claims.claim import Claim, checked
from covmis_build.claims.lint import lint
from covmis_build.queries.suggest import WIDTHS, suggest
from covmis_build.text.expression import parse

FOLDER = Path(__file__).parents[1] / "languages"
SETS = {path.stem: tomllib.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.toml"))}
READ = (2, 5, 12)
"""Five posts are about each claim."""

FLOORS = {
    "ar": (7, 11, 13), "de": (6, 11, 12), "en": (8, 12, 13), "es": (9, 11, 12), "fr": (9, 11, 13), "hi": (7, 11, 14),
    "pt": (6, 11, 12), "zh": (4, 11, 12),
}  # fmt: skip
"""Posts about the claims, of 15 (en: 16), that a narrow, a middle and a wide query find at least; a third of them say it
in words of their own, which only a wide one may find."""

BESIDES = (1, 4, 14)
"""Posts of all languages that they may find besides."""


def pairs(kind: str):
    """Each entry of a kind, named by its language and place."""
    return [
        pytest.param(language, entry, id=f"{language}-{number}")
        for language, labelled in SETS.items()
        for number, entry in enumerate(labelled[kind], start=1)
    ]


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """The posts of all languages in one index, and which of them are about which claim."""
    posts, about = [], {}
    for language, labelled in SETS.items():
        for entry in labelled["claims"]:
            first = len(posts)
            posts += entry["about"]
            about[language, entry["text"]] = set(range(first, len(posts)))
            posts += entry["near"]
    folder = tmp_path_factory.mktemp("languages")
    return words_of(folder, {f"x:{at:04}": text for at, text in enumerate(posts)}), about


@pytest.mark.parametrize("language", FLOORS)
def test_proposals_find_what_is_about_the_claim(archive, language):
    index, about = archive
    found, besides = dict.fromkeys(WIDTHS, 0), dict.fromkeys(WIDTHS, 0)
    for entry in SETS[language]["claims"]:
        wanted = about[language, entry["text"]]
        proposals = suggest(entry["text"], index, language=language, read=READ).proposals
        rows = {row.width: set(index.rows(parse(row.expression).node).tolist()) for row in proposals}
        hits: set[int] = set()
        for width in WIDTHS:
            hits = rows.get(width, hits)  # the next narrower one, if it is the same
            found[width] += len(hits & wanted)
            besides[width] += len(hits - wanted)
    assert all(found[width] >= floor for width, floor in zip(WIDTHS, FLOORS[language], strict=True)), found
    assert all(besides[width] <= most for width, most in zip(WIDTHS, BESIDES, strict=True)), besides


@pytest.mark.parametrize("language", SETS)
def test_without_an_archive_the_proposals_find_some_of_it_too(tmp_path, language):
    """The claim list alone tells what is rare."""
    claims = SETS[language]["claims"]
    with words_of(tmp_path, {f"c{at}": entry["text"] for at, entry in enumerate(claims)}) as index:
        for entry in claims:
            *_, wide = suggest(entry["text"], index, language=language, counted=False).proposals
            query = parse(wide.expression)
            assert sum(map(query.matches, entry["about"])) >= 1, wide.expression
            assert sum(map(query.matches, entry["near"])) <= 1, wide.expression


@pytest.mark.parametrize(("language", "entry"), pairs("expressions"))
def test_expressions(language, entry):
    query = parse(entry["query"])
    assert parse(str(query)) == query
    for text in entry["matches"]:
        assert query.matches(text), text
    for text in entry["misses"]:
        assert not query.matches(text), text


@pytest.mark.parametrize(("language", "entry"), pairs("wordings"))
def test_wordings(language, entry):
    row = Claim(
        "1", entry["text"], language=language, news_urls=["https://news.org/a"], fact_check_urls=["https://check.org/a"]
    )  # fmt: skip
    findings = lint(checked([row], "claims.csv")).to_frame()
    assert findings["rule"].tolist() == ([entry["rule"]] if entry["rule"] else [])
    if "proposal" in entry:
        assert findings["proposal"].tolist() == [entry["proposal"]]
