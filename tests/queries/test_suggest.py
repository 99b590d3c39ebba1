"""Proposals are quorums of a claim's telling units, count what they say, and are never refused."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import assume, given, settings

from covmis_build.archive.words import words_of
from covmis_build.errors import InputError, counted
from covmis_build.queries.suggest import MOST_CONJUNCTIONS, Asked, conjunction_count, suggest, thresholds
from covmis_build.queries.units import code_of, forms_of, units_of
from covmis_build.text.expression import parse
from covmis_build.text.nodes import MOST, conjunctions
from covmis_build.text.tokens import tokens
from tests.text.test_expression import queries

POSTS = (
    ["Bill Gates wants microchips in every vaccine", "Gates tracks you through vaccines", "Gates vaccine microchip plot"] * 4
    + ["the vaccine is here", "I got my vaccine", "track and field results", "Bill paid the bill"] * 10
    + ["nothing to see"] * 40
)  # fmt: skip
CLAIM = "Bill Gates plans to use a COVID-19 vaccine to track 5,000 people with microchips."


def indexed(folder, texts):
    return words_of(folder, {f"x:{at}": text for at, text in enumerate(texts)})


@pytest.fixture
def index(tmp_path):
    with indexed(tmp_path, POSTS) as index:
        yield index


def test_proposals_are_nested_and_count_what_they_say(index):
    made = suggest(CLAIM, index, read=(4, 12, 60))
    assert [row.width for row in made.proposals] == ["precise", "balanced", "broad"][: len(made.proposals)]
    before = set()
    for row, size in zip(made.proposals, (4, 12, 60), strict=False):
        assert len(index.rows(parse(row.expression).node)) == row.posts > 0
        matching = {at for at, post in enumerate(POSTS) if parse(row.expression).matches(post)}
        assert len(matching) == row.posts
        assert before <= matching
        assert len(matching) <= max(size, len(before) or size) or row.width == "precise"
        before = matching
        assert str(parse(row.expression)) == row.expression
        assert row.reason.startswith(f"{counted(row.posts, 'posts')}: ")
        assert all(post.post_id for post in row.samples)
    assert any(" of (" in row.expression for row in made.proposals)


def test_units_stay_whole(index, tmp_path):
    names = {unit.words: unit for unit in units_of(CLAIM, index)}
    assert ("covid", "19") in names
    assert ("5", "000") in names
    assert ("bill", "gates") not in names or len(names["bill", "gates"].ways) == 1
    assert "microchip" in {str(way) for way in names[("microchips",)].ways}
    assert not {("to",), ("a",), ("with",)} & set(names)
    folder = tmp_path / "b"
    folder.mkdir()
    with indexed(
        folder,
        [
            "covid19 is",
            "Covid-19 is",
            "a million miles and a mile",
            "a dealer made a deal",
            "a sale for sally",
        ],
    ) as other:
        (covid,) = units_of("COVID-19", other)
        assert [str(way) for way in covid.ways] == ['"covid 19"', "covid19"]
        assert forms_of("million", other, "en") == ["million"]
        assert forms_of("mile", other, "en") == ["mile", "miles"]
        assert forms_of("deal", other, "en") == ["deal"]
        assert forms_of("sale", other, "en") == ["sale"]


@pytest.mark.parametrize(
    ("language", "word", "posts", "forms"),
    [
        ("de", "impfungen", ["die Impfung ist da", "Impfungen", "impfen"], {"impfungen", "impfung", "impfen"}),
        ("es", "vacunas", ["la vacuna", "las vacunas", "vacunado"], {"vacunas", "vacuna", "vacunado"}),
        ("fr", "masques", ["un masque", "des masques"], {"masques", "masque"}),
        ("pt", "vacinas", ["a vacina", "vacinas"], {"vacinas", "vacina"}),
        ("ar", "اللقاحات", ["ثلاثة لقاحات", "باللقاحات"], {"اللقاحات", "لقاحات", "واللقاحات", "باللقاحات"}),
        ("ar", "عقم", ["سبب العقم"], {"عقم", "العقم", "والعقم", "بالعقم"}),
        ("ar", "script", ["scripts"], {"script"}),
        ("hi", "किसान", ["किसानों को", "किसान"], {"किसान", "किसानों"}),
        ("zh", "x", ["x"], {"x"}),
    ],
)  # fmt: skip
def test_forms_by_the_language_of_the_claim(tmp_path, language, word, posts, forms):
    with indexed(tmp_path, posts) as index:
        found = forms_of(word, index, language)
        assert found[0] == word
        if forms is not None:
            assert set(found) <= forms
            assert len(found) >= min(2, len(forms))


def test_a_text_without_spaces_is_cut_where_characters_keep_together(tmp_path):
    posts = ["\u65b0\u51a0\u75ab\u82d7\u542b\u6709\u82af\u7247", "\u75ab\u82d7\u5f88\u597d", "\u82af\u7247\u5f88\u8d35", "\u65b0\u51a0\u5f88\u574f", "\u6211\u6253\u4e86\u75ab\u82d7", "\u82af\u7247\u5de5\u5382", "\u65b0\u51a0\u60a3\u8005"] * 3  # fmt: skip
    with indexed(tmp_path, posts) as index:
        words = {
            "".join(unit.words)
            for unit in units_of("\u65b0\u51a0\u75ab\u82d7\u542b\u6709\u82af\u7247", index, "zh")
        }
        assert {"\u65b0\u51a0", "\u75ab\u82d7", "\u82af\u7247"} <= words
        made = suggest("\u65b0\u51a0\u75ab\u82d7\u542b\u6709\u82af\u7247", index, language="zh")
        assert made.proposals[0].posts > 0


@pytest.mark.parametrize(
    "text",
    [
        "the of and",
        "Unbekannte W\u00f6rter hier",
        "?!",
        "",
        "word " * 300,
        " ".join(f"Name{n}" for n in range(400)),
        CLAIM * 20,
    ],
)
def test_nothing_is_refused(index, text):
    made = suggest(text, index)
    assert all(conjunction_count(parse(row.expression).node) <= MOST_CONJUNCTIONS for row in made.proposals)
    assert all(parse(row.expression).render("bluesky") for row in made.proposals)
    assert bool(made.proposals) == any(map(str.isalnum, text))
    assert made.to_dict()["suggestions"] == [] or made.to_dict()["suggestions"][0]["width"] == "precise"


def test_two_forms_of_a_word_are_one_unit(index):
    for text in (
        "A vaccine, vaccines, the Vaccine",
        "Gates said that Bill Gates tracks, tracked and will track Gates",
    ):
        units = units_of(text, index)
        ways = [way for unit in units for way in unit.ways]
        assert len(ways) == len(set(ways))
        assert suggest(text, index).proposals


def test_a_word_that_the_archive_lacks_is_asked_for_but_never_alone(index):
    claim = "Luc Montagnier says that vaccines have microchips"
    made = suggest(claim, index, read=(4, 12, 60))
    assert made.units[0].posts == 0
    narrow = parse(made.proposals[0].expression)
    assert narrow.matches("Montagnier: microchips!")
    for row in made.proposals:
        assert not parse(row.expression).matches("Luc Montagnier was here")
        assert row.posts == len(index.rows(parse(row.expression).node)) > 0


@pytest.mark.parametrize("read", [(5, 25), (25, 5, 100), (0, 1, 2)])
def test_posts_to_read_are_three_ascending_numbers(index, read):
    with pytest.raises(InputError, match="5,25,100"):
        suggest(CLAIM, index, read=read)


@settings(max_examples=100)
@given(queries(depth=1), queries(depth=1), queries(depth=1))
def test_conjunctions_are_counted_without_being_made(first, second, third):
    assume(len({str(parse(part)) for part in (first, second, third)}) > 1)
    node = parse(f"2 of ({first}, {second}, {third}) {first} OR {third}").node
    assume(conjunction_count(node) <= MOST)  # more are refused, not made
    assert conjunction_count(node) >= len(conjunctions(node))


@pytest.mark.parametrize("common", [0, 1, 2])
def test_thresholds_go_from_narrow_to_wide(index, common):
    """A wider one finds whatever a narrower one finds, and no part of it is in another."""
    units = [unit for unit in units_of(CLAIM, index) if unit.seen]
    asked = Asked(units[: len(units) - common], units[len(units) - common :])
    known = len(asked.telling)
    posts = [had for n in range(len(units) + 1) for had in itertools.combinations(range(len(units)), n)]
    steps = list(thresholds(asked))
    assert len(steps) == len(set(steps)) > 3
    assert any(quorum.common == common for quorums in steps for quorum in quorums)
    found_before: set[tuple[int, ...]] = set()
    for quorums in steps:
        found = [
            {
                had
                for had in posts
                if sum(at < quorum.of for at in had if at < known) >= quorum.least
                and sum(at >= known for at in had) >= quorum.common
            }
            for quorum in quorums
        ]
        assert found_before <= (found_before := set.union(*found))
        for at, own in enumerate(found):
            assert not any(own <= other for other in (*found[:at], *found[at + 1 :])), quorums


TOPICAL = (
    ["the vaccine is safe", "a safe vaccine", "no vaccine is safe", "safe vaccines for the young"]
    + ["a safe neighbourhood", "drive safe", "safe and sound"] * 3
    + ["my vaccine appointment", "vaccines again", "a vaccine queue"] * 20
    + ["nothing to see here"] * 60
)
"""Half of the posts are about vaccines: the archive was collected for that."""


def test_common_words_of_the_topic_make_a_rare_word_more_precise(tmp_path):
    with indexed(tmp_path, TOPICAL) as index:
        made = suggest("The vaccine is safe.", index, read=(5, 12, 100))
    assert [row.posts for row in made.proposals] == [4, 13]
    assert parse(made.proposals[0].expression).matches("a safe vaccine")
    assert not parse(made.proposals[0].expression).matches("a safe neighbourhood")
    assert "safe and vaccine" in made.proposals[0].reason
    assert {unit.unit: unit.posts for unit in made.units} == {"safe": 13, "vaccine": 64}
    assert made.left_out == {"the": "function word", "is": "function word"}
    assert "Left out (function word): the, is" in made.summary


def test_where_all_words_are_common_they_are_the_query(tmp_path):
    with indexed(tmp_path, TOPICAL) as index:
        made = suggest("Vaccines sterilise.", index)
    assert [row.posts for row in made.proposals] == [64]
    assert not parse(made.proposals[0].expression).matches("they sterilise")


def test_common_words_of_a_language_whose_function_words_nobody_listed_are_left_out_and_named(tmp_path):
    with indexed(tmp_path, TOPICAL) as index:
        made = suggest("A vaccine is safe and safest", index, language="nl")
    assert "vaccine" not in made.proposals[0].expression
    assert "function words" in made.left_out["vaccine"]
    assert {unit.unit for unit in made.units} >= {"safe", "vaccine"}


def test_every_word_of_a_claim_is_listed_or_left_out_for_a_reason(index):
    claim = f"{CLAIM} Vaccines x {' '.join(f'unknown{letter}' for letter in 'abcdefg')}"
    made = suggest(claim, index)
    listed = {word for unit in made.units for word in unit.unit.split()}
    assert set(tokens(claim)) == listed | {word for word in made.left_out if " " not in word}
    assert made.left_out["vaccines"] == "form of vaccine"
    assert made.left_out["x"] == "single character"
    assert made.left_out["unknowng"] == "more than 4 words that no post has"


@pytest.mark.parametrize(
    ("language", "text", "code"),
    [
        ("pt-BR", "a vacina", "pt"),
        ("", "تطعيم كورونا آمن", "ar"),
        ("", "Garlic cures the flu", "en"),
        ("", "5G 5,000", "en"),
        ("", "El juicio del procés es una farsa", "es"),
        ("", "Die Maske ist nicht sicher", "de"),
        ("en", "El juicio del procés es una farsa", "en"),
    ],
)
def test_script_and_function_words_say_the_language_of_a_claim_that_has_none(language, text, code):
    assert code_of(language, text) == code


def test_without_an_archive_the_claim_list_says_what_is_rare(index):
    made = suggest(CLAIM, index, counted=False)
    assert [row.posts for row in made.proposals] == [None] * len(made.proposals)
    assert made.posts_in_archive == 0
    assert "no posts yet that can be read" in made.proposals[0].reason
