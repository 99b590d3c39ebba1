from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from covmis_build.datasets.preprocessing import Preprocessing, preprocess

NOTHING = Preprocessing(
    user="", url="", count_repeats=False, emoji_names=False, punctuation=False, whitespace=False, lower=False
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("@a @b hello @c", "2 twitteruser hello twitteruser"),
        ("@a @b @c", "3 twitteruser"),
        ("see https://t.co/x http://t.co/y.", "see 2 twitterurl"),
        ("see www.example.org/a?b=1, now", "see twitterurl now"),
        ("RT @user: HTTPURL says", "rt twitteruser : twitterurl says"),
        ("mail a@b.org", "mail a@b.org"),
        ("\u201cNo\u201d \u2014 it\u2019s\u2026", '"no" - it\'s...'),
        ("a\u00a0b\t\nc\u200bd\u202ee", "a b cde"),
        ("\N{THUMBS UP SIGN}\U0001f3fd ok", ":thumbs up sign: ok"),
        ("a\N{FACE WITH TEARS OF JOY}b", "a :face with tears of joy: b"),
        ("5 < 6 \N{COPYRIGHT SIGN} \N{DEGREE SIGN}C", "5 < 6 \N{COPYRIGHT SIGN} \N{DEGREE SIGN}c"),
        ("", ""),
    ],
)
def test_posts_as_the_model_saw_them(text, wanted) -> None:
    assert preprocess(text) == wanted


def test_every_step_is_an_option() -> None:
    text = "@A @B \u201cHi\u201d \N{THUMBS UP SIGN}  https://t.co/x @USER"
    assert preprocess(text, NOTHING) == text
    assert preprocess(text, Preprocessing(count_repeats=False)).startswith("twitteruser twitteruser ")
    assert "\N{THUMBS UP SIGN}" in preprocess(text, Preprocessing(emoji_names=False))
    assert "\u201c" in preprocess(text, Preprocessing(punctuation=False))
    assert '"Hi"' in preprocess(text, Preprocessing(lower=False))
    assert preprocess(text, Preprocessing(user="[user]", url="[url]")).startswith("2 [user] ")
    assert "@a @b" in preprocess(text, Preprocessing(user=""))


@given(st.text())
@example("@\uffef0")
@example("https://\u200ba.org")
def test_any_text_becomes_one_line_and_stays_what_it_became(text) -> None:
    once = preprocess(text)
    assert once == " ".join(once.split())
    assert preprocess(once) == once
