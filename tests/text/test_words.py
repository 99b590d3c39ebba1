"""How long a text is."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from covmis_build.options import Part
from covmis_build.text.words import KINDS, count_words, default_unit

POST = "RT @who: (@you) 5G towers, #5G causes #COVID19 🤔🤔 — see https://t.co/abc www.example.org ..."


@pytest.mark.parametrize(
    ("without", "left"),
    [
        ((), 14),
        (("urls",), 12),
        (("mentions",), 12),
        (("hashtags",), 12),
        (("rt",), 13),
        (("symbols",), 11),
        (tuple(KINDS), 4),
    ],
)
def test_what_may_be_left_out(without, left):
    assert count_words(POST, without=without) == left


def test_white_space_is_unicodes():
    assert count_words("a\u00a0b\u3000c\u2028d\te  f") == 6
    assert count_words("a\u200bb") == 1  # a zero-width space is none
    assert count_words("") == count_words(" \n ") == 0


def test_characters_are_letters_and_digits_of_any_script():
    assert count_words("5Gが原因です。🤔 !", unit="characters") == 7
    assert count_words("สวัสดี", unit="characters") == 4  # vowel signs are marks
    assert count_words("読む https://t.co/abc", unit="characters", without=["urls"]) == 2


@pytest.mark.parametrize(
    ("text", "kind", "whole"),
    [
        ("user@example.org", "mentions", False),
        (".@who", "mentions", True),
        ("@", "mentions", False),
        ("#", "hashtags", False),
        ("C#", "hashtags", False),
        ("(https://t.co/a)", "urls", True),
        ("httpsomething", "urls", False),
        ("RTs", "rt", False),
        ("___", "symbols", True),
        ("❤️", "symbols", True),
        ("1️⃣", "symbols", False),
    ],
)
def test_a_kind_is_a_whole_word(text, kind, whole):
    assert count_words(text, without=[kind]) == (0 if whole else 1)


@given(st.text(max_size=60), st.sets(st.sampled_from(sorted(KINDS))))
def test_leaving_out_never_adds(text, without):
    assert count_words(text, without=without) <= count_words(text) == len(text.split())
    assert count_words(text, unit="characters", without=without) <= count_words(text, unit="characters")


def test_the_settings_know_what_may_be_left_out():
    assert set(get_args(Part)) == set(KINDS)


def test_units_of_languages():
    assert [default_unit(one) for one in ("ja", "zh-Hant", "TH", "en", "ko", "")] == [
        "characters", "characters", "characters", "words", "words", "words",
    ]  # fmt: skip
