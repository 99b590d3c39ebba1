"""What each word of a query adds or keeps out is what counting with and without it says; marks stand on the words."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import covmis_build as covmis
from covmis_build.archive.post import Post
from covmis_build.archive.words import words_of
from covmis_build.errors import InputError
from covmis_build.matching.matcher import Matcher, read_queries
from covmis_build.queries.build import keywords_of
from covmis_build.queries.tuning import read_keywords, without
from covmis_build.study.keywords import claim_language, numbers_of, tuned
from covmis_build.text.expression import parse
from covmis_build.text.nodes import Term
from covmis_build.text.places import spans
from covmis_build.text.tokens import tokens
from tests.workbench.conftest import client_of

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


WORDS = ["aşı", "AŞI", "asi", "Así", "karşı", "karsi", "kárşı", "çin", "cin", "covid", "a"]
WRITTEN = [
    "{} {}",
    "{} OR {}",
    "{} -{}",
    '"{} {}"',
    "2 of ({}, {}, covid)",
    "({} OR {}) -cin",
    "{} -url:a.org {}",
]


def is_query(form_and_words) -> bool:
    """Whether it can be read: a quorum needs different things."""
    form, *words = form_and_words
    try:
        return bool(parse(form.format(*words)))
    except InputError:
        return False


@given(
    st.lists(st.lists(st.sampled_from(WORDS), max_size=4), min_size=1, max_size=6),
    st.lists(st.tuples(st.sampled_from(WRITTEN), st.sampled_from(WORDS), st.sampled_from(WORDS)).filter(is_query), min_size=1, max_size=3),
    st.sampled_from(["tr", "az-Latn", "es", ""]), st.sampled_from(["", "[tr] ", "[es] "]),
)  # fmt: skip
def test_keywords_count_what_run_finds_in_any_language(texts, written, language, tag):
    """While one types, with every word's effect: the posts that the matcher of `run` finds with these lines."""
    lines = [tag + form.format(*words) for form, *words in written]
    posts = {f"x:{at}": " ".join(text) for at, text in enumerate(texts)}

    def found(lines) -> set[str]:
        rows = [(f"q{at}", "c", "keywords", str(parse(words)), words, own or language) for at, (words, own) in enumerate(map(keywords_of, lines))]  # fmt: skip
        matcher = Matcher(read_queries(rows))
        return {name for name, text in posts.items() if matcher.match(Post(name, name[2:], "x", text))}

    with TemporaryDirectory() as folder, words_of(Path(folder), posts) as words:
        told = tuned(words, lines, lines[:1], language)
        assert told.posts == len(found(lines))
        assert (told.new, told.lost) == (len(found(lines) - found(lines[:1])), 0)
        assert set(words.posts.ids(numbers_of(words, read_keywords(lines, language)))) == found(lines)


def test_a_turkish_study_counts_the_same_everywhere(tmp_path):
    study = covmis.new_study(tmp_path / "study", title="t")
    folder = study.places.folder / "data/archive"
    folder.mkdir(parents=True, exist_ok=True)
    texts = ["AŞI karşıtı", "asi", "Así es", "aşılar", "ASÍ y aşı", "Así https://a.org/x"]
    (folder / "posts.csv").write_text(
        "tweet_id,text,created_at\n" + "".join(f"{1255380427000000017 + at * 4194304},{text},2020-04-29T06:13:20Z\n" for at, text in enumerate(texts)), "utf-8"
    )  # fmt: skip
    claims = pd.DataFrame(
        {"claim_id": ["c"], "text": ["Aşı olan herkes ölür"], "language": ["tr"], "keywords": [["AŞI"]]}
    )
    study.import_claims(claims)
    study.run(["retrieve"])
    hits = len(study.hits)
    assert hits == 3
    assert study.try_queries("c").queries[0].posts == hits
    assert study.try_queries("AŞI").queries[0].posts == hits
    assert study.tune_keywords("c").posts == study.tune_keywords(["AŞI"]).posts == hits
    assert study.try_queries("[es] AŞI").queries[0].posts == 5
    assert study.tune_keywords(["yok\nAŞI"]).posts == study.tune_keywords("yok\nAŞI").posts == hits
    assert study.set_keywords("c", "yok\nAŞI").keywords == ["yok", "AŞI"]
    page = client_of(study).get("/queries/c?q=AŞI", headers={"x-part": "live"}).text
    assert '<b role="status">3</b>' in page
    assert "covmis queries try --words &#39;[tr] AŞI&#39;" in page
    assert "<mark>Así</mark>" not in page


def test_keywords_are_lines_and_a_word_that_is_struck_out_is_gone():
    assert str(read_keywords(["a b", "", "[es] c"])) == "a b OR c"
    assert read_keywords(["", " "]) is None
    assert str(without(parse("2 of (a, b)").node, Term(("a",)))) == "b"
    assert without(parse("a").node, Term(("a",))) is None
    assert str(without(parse("a OR b OR c").node, Term(("b",)))) == "a OR c"
    assert str(without(parse("a OR b -c").node, Term(("b",)))) == "a", "what only excludes is no alternative"
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


@pytest.mark.parametrize(
    ("own", "text", "code"),
    [
        (["de"], "Angela Merkel soll zurücktreten.", "de"), (["de"], "Merkel muss weg", "de"), (["de"], "Rücktritt jetzt!", "de"),
        (["de"], "The vaccine is not safe", ""), (["de"], "تطعيم كورونا آمن", ""), (["de", "fr"], "Rücktritt!", ""),
        (["en"], "El juicio del procés es una farsa", ""),
    ],
)  # fmt: skip
def test_a_claim_without_a_language_has_the_only_one_of_the_study_unless_it_looks_like_another(
    tmp_path, own, text, code
):
    study = covmis.new_study(tmp_path / "study").change(cleaning={"languages": own})
    assert claim_language(study, text, None) == code
