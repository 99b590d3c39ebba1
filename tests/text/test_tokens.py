"""Letters that people write for one another are one letter, in queries and posts."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from covmis_build.text.expression import parse
from covmis_build.text.tokens import SAME, tokens


@pytest.mark.parametrize(
    ("query", "post"),
    [
        ("المراه", "تمكين المرأة"),
        ("مستشفي", "في مستشفى"),
        ("2030", "رؤية ٢٠٣٠"),
        ("کرونا", "كرونا"),
        ("واکسن ایران", "واكسن إيران"),
        ("کوئی علاج", "كوئي علاج"),
        ("१९ 19", "covid-१९"),
        ("aşı", "ASI"),
    ],
)
def test_a_query_finds_the_word_however_it_is_written(query, post):
    assert set(tokens(query)) <= set(tokens(post))
    assert parse(query).matches(post)


def test_digits_of_every_script_are_digits():
    digits = [chr(code) for code in range(sys.maxunicode) if chr(code).isdecimal()]
    assert {(digit, *tokens(digit)) for digit in digits} == {
        (digit, str(unicodedata.decimal(digit))) for digit in digits
    }


def test_what_a_letter_becomes_stays():
    for letter in SAME:
        assert tokens(letter) == [letter]
