"""What each word of a query adds or keeps out is what counting with and without it says; marks stand on the words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from covmis_build.archive.words import words_of
from covmis_build.errors import InputError
from covmis_build.queries.tuning import read_keywords, without
from covmis_build.study.keywords import tuned
from covmis_build.text.expression import parse
from covmis_build.text.nodes import Term
from covmis_build.text.places import spans
from covmis_build.text.tokens import tokens

TEXTS = ["a b", "a c", "a b c", "b c", "c d", "a", "d", "a d", "b d cat", "a cat", ""]
QUERIES = [
    "a",
    "a b",
    "a OR b",
    "a (b OR c)",
    "a -cat",
    "2 of (a, b, c)",
    "3 of (a, b, c, d) OR cat",
    '"b c" OR d',
    "(a OR b) -c -cat",
]


@pytest.mark.parametrize("query", QUERIES)
def test_words_do_what_counting_without_them_says(tmp_path, query):
    with words_of(tmp_path, {f"x:{at}": text for at, text in enumerate(TEXTS)}) as words:
        found = tuned(words, [query], ["a"])
    matching = {text for text in TEXTS if parse(query).matches(text)}
    assert found.posts == len(matching)
    assert found.new == len(matching - {text for text in TEXTS if parse("a").matches(text)})
    for effect in found.words:
        rest = {text for text in TEXTS if effect.rest and parse(effect.rest).matches(text)}
        assert (effect.adds, effect.keeps_out) == (len(matching - rest), len(rest - matching)), effect


def test_keywords_are_lines_and_a_word_that_is_struck_out_is_gone():
    assert str(read_keywords(["a b", "", "[es] c"])) == "a b OR c"
    assert read_keywords(["", " "]) is None
    assert str(without(parse("2 of (a, b)").node, Term(("a",)))) == "b"
    assert without(parse("a").node, Term(("a",))) is None
    with pytest.raises(InputError):
        read_keywords(["(a"])


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        ("No GARLIC, cafe\u0301 garlic!", "garlic OR café", ["GARLIC", "cafe\u0301", "garlic"]),
        ("COVID-19 and covid 19", "covid-19", ["COVID-19", "covid 19"]),
        ("新冠病毒来了", "冠病", ["冠病"]),
        ("<b>garlic</b> garlicky", "garlic -bread", ["garlic"]),
        ("AŞI aşı", "asi", ["AŞI", "aşı"]),
        ("nothing", "garlic", []),
    ],
)
def test_marks_stand_on_the_words(text, query, marked):
    assert [text[begin:end] for begin, end in spans(text, parse(query).node)] == marked


@given(st.text(max_size=40))
def test_marks_are_of_the_words_that_matching_sees(text):
    for word in tokens(text):
        for begin, end in spans(text, Term((word,))):
            assert word in tokens(text[begin:end])
