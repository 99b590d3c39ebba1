"""Turkish and Azerbaijani letters in queries: as written, or as people type them without; never another language's."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from covmis_build.archive.post import Post
from covmis_build.matching.matcher import Matcher, read_queries
from covmis_build.text.tokens import lettered, tokens


def finds(query, text, language="tr", kind="keywords", title=""):
    from covmis_build.queries.build import expression_of

    rows = [("q", "c", kind, expression_of(kind, query), query, language)]
    cards = [("https://a.org", title, "")] if title else []
    matches = Matcher(read_queries(rows)).match(Post("x:1", "1", "x", text, cards=cards))
    return matches[0].found if matches else None


@pytest.mark.parametrize(
    ("query", "found", "not_found"),
    [
        ("aşı", ["AŞI", "Aşı!", "asi", "ASI", "aşi"], ["Así", "ASÍ", "aśi", "aşır"]),
        ("AŞI", ["aşı", "AŞI"], ["así es"]),
        ("ışık", ["IŞIK", "isik"], ["ísik"]),
        ("İstanbul", ["istanbul", "ISTANBUL", "İSTANBUL"], ["istanbullu"]),
        ('"aşı karşıtı"', ["AŞI KARŞITI", "aşı-karşıtı", "asi karsiti"], ["así karşıtı", "aşı veya karşıtı"]),
        (
            "aşı",
            ["报告aşı x", "x aşı报告", "ไทยaşı", "वायरस aşı", "#aşı_ol"],
            ["报告así x", "报告aşır", "aşıй"],
        ),
        ('"aşı 报告"', ["aşı报告", "AŞI, 报告"], ["así报告", "aşı报x告"]),
        ("limon -aşı", ["报告limon", "limon así"], ["报告aşı limon", "limon报告AŞI"]),
        ("jose", ["José", "JOSE"], []),
        ("aşı OR virüs", ["así virus"], ["así"]),
        ("aşı -covid", ["aşı"], ["aşı COVID"]),
        ("2 of (aşı, covid, çin)", ["aşı covid", "covid cin"], ["así covid"]),
    ],
)
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_letters_of_turkish(query, found, not_found, form):
    for text in found:
        assert finds(query, unicodedata.normalize(form, text)) is not None, text
    for text in not_found:
        assert finds(query, unicodedata.normalize(form, text)) is None, text


MIXED = "aıiİISşŞ çğöüéß報告あがไทย가वायरस്റ 1٢-_#’\u0301\u0327\u0308\u0307\u200d\u00ad\u3099\ufe0f⃣🧼ﬁⅣ\u1dc4"


@given(st.text(MIXED, max_size=12), st.text(MIXED, max_size=12))
def test_words_with_letters_are_the_tokens_whatever_script_is_beside_them(before, after):
    text = f"{before}报aşı告{after}"
    assert [word.replace("X", "").lower() for word in lettered(text)] == tokens(text)
    assert finds("aşı", text) is not None
    assert finds("limon -aşı", f"{text} limon") is None


def test_other_languages_see_no_accents_and_what_was_found_is_named():
    assert finds("AŞI", "Así", language="") == ["asi"]
    assert finds("AŞI", "Así", language="es") == ["asi"]
    assert finds("AŞI", "Así", language="az-Latn") is None
    assert finds("aşı OR virüs", "así virus") == ["virus"]
    assert finds("Aşı", "nothing", kind="title", title="AŞI") == ["asi"]
    assert finds("Aşı", "nothing", kind="title", title="Así") is None


def test_german_and_greek():
    assert tokens("Straße STRASSE ẞ") == ["strasse", "strasse", "ss"]
    assert tokens("ΣΊΣΥΦΟΣ σίσυφος") == ["σισυφοσ", "σισυφοσ"]
