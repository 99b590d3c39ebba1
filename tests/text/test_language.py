"""Labels of languages: langdetect's own, and those of the optional detectors."""

from __future__ import annotations

import gzip
import lzma
import random
import sys

import langdetect
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covmis_build.errors import InputError, MissingExtra
from covmis_build.text import langdetect_replay
from covmis_build.text.language import LANGUAGES_OF, detect_languages, language_code, unknown_to

langdetect.DetectorFactory.seed = 0


def reference(text):
    try:
        label = langdetect.detect(text)
    except langdetect.LangDetectException:
        return ""
    return "" if label == "unknown" else label


def real_texts(data_home, most):
    with gzip.open(data_home / "posts" / "xlmt_umsab_8lang.tsv.gz", "rt", encoding="utf-8") as file:
        texts = [line.rstrip("\n").split("\t")[-1] for line in file]
    random.Random(0).shuffle(texts)
    with lzma.open(data_home / "posts" / "troll_500k.tsv.xz", "rt", encoding="utf-8") as file:
        more = [line.rstrip("\n").split("\t")[-1] for k, line in enumerate(file) if k % 5 == 0]
    return (texts[: most // 4] + more)[:most]


def test_the_replay_gives_langdetects_labels(data_home):
    texts = real_texts(data_home, 800)
    assert detect_languages(texts) == [reference(text) for text in texts]


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_the_replay_gives_langdetects_labels_on_a_hundred_thousand_texts(data_home):
    texts = real_texts(data_home, 100_000)
    assert len(texts) == 100_000
    assert detect_languages(texts) == [reference(text) for text in texts]


LETTERS = st.one_of(
    st.characters(exclude_categories=["Cs"]),
    st.sampled_from("aeinrstAEZ éüñşțțạệ ґєї فی हकन ひカ漢字한글 ŉK\u0301\u0323  \u3105"),
)


@settings(max_examples=40)
@given(st.lists(st.text(alphabet=LETTERS, max_size=80), min_size=1, max_size=4))
def test_any_text(texts):
    assert langdetect_replay.detect(texts) == [reference(text) for text in texts]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "123 !!",
        "https://example.org/only",
        "mail me@example.org now please",
        "A" * 9_999 + " the end of it all is here",
        "the quick brown fox " * 700,
        "ALL OF THIS IS SHOUTED ALOUD",
        "İSTANBUL ve İzmir güzel şehirler",
        "mixed 日本語のテキストです with some english",
        "Tiê\u0301ng Viê\u0323t la\u0300 mo\u0323\u0302t ngôn ngư\u0303",
        "𝒳𝒴 𐍈 \U0010ffff ok then",  # noqa: RUF001 - other planes are meant
    ],
)
def test_corners(text):
    assert langdetect_replay.detect([text]) == [reference(text)]


def test_sums_are_those_of_the_running_python():
    values = [0.1] * 10 + [1e16, 1.0, -1e16] + [1e-9] * 40
    padded = np.array(values + [0.0] * (56 - len(values)))
    assert langdetect_replay._sum.function(padded, 55, sys.version_info >= (3, 12)) == sum(
        padded[:55].tolist()
    )


def test_too_little_chance_asks_langdetect_itself(monkeypatch):
    languages, *tables, words = langdetect_replay._model()
    monkeypatch.setattr(langdetect_replay, "_model", lambda: (languages, *tables, words[:250]))
    assert (
        langdetect_replay._detect(
            *_points("der hund und the cat"), *tables, words[:250], len(languages), False
        )[0]
        == -3
    )
    texts = ["der hund und the cat sat upon a mat of das haus", "une phrase en français, tout simplement"]
    assert langdetect_replay.detect(texts) == [reference(text) for text in texts]


def _points(text):
    return np.frombuffer(text.encode("utf-32-le"), np.int32), np.array([0, len(text)])


def test_no_texts():
    assert detect_languages([]) == []


def test_unknown_detectors_are_refused():
    with pytest.raises(InputError, match="Did you mean 'langdetect'"):
        detect_languages(["text"], detector="landetect")


def test_a_missing_package_is_named(monkeypatch):
    for name in ("py3langid", "pycld2"):
        for module in [one for one in sys.modules if one.split(".")[0] == name]:
            monkeypatch.delitem(sys.modules, module)
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(MissingExtra, match=r"\.\[language\]"):
            detect_languages(["text"], detector=name)


def test_languages_that_a_detector_never_names():
    assert unknown_to("langdetect", ["EN", "zh-TW", "und", "iw"]) == []
    assert "Amharic: set `[cleaning] detector` to py3langid or pycld2" in unknown_to("langdetect", ["am"])[0]
    assert "no detector does" in unknown_to("pycld2", ["tlh"])[0]


def codes_of(detector):
    if detector == "langdetect":
        langdetect.detector_factory.init_factory()
        return langdetect.detector_factory._factory.get_lang_list()
    if detector == "pycld2":
        import pycld2

        return [code for name, code in pycld2.LANGUAGES if name in pycld2.DETECTED_LANGUAGES]
    from py3langid.langid import rank

    return [code for code, _ in rank("text")]


@pytest.mark.needs("language")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("detector", sorted(LANGUAGES_OF))
def test_the_languages_that_detectors_name(detector):
    named = {language_code(code).partition("-")[0] for code in codes_of(detector)}
    assert {code for code in named ^ LANGUAGES_OF[detector] if len(code) == 2} <= {"xx"}  # signs, for pycld2


@pytest.mark.needs("language")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("detector", ["py3langid", "pycld2"])
def test_optional_detectors(detector):
    texts = [
        "The number of people in hospital has fallen for the third week in a row.",
        "Die Zahl der Menschen im Krankenhaus ist in der dritten Woche in Folge gesunken.",
        "",
        "12345 !!",
        "bell \x07 and other signs that no printer knows do no harm in English \ufffe",
        "old\x0bways\x1cof\x1ddividing\x1etext\x1finto\x85lines do no harm in English either",
    ]
    assert detect_languages(texts, detector=detector) == ["en", "de", "", "", "en", "en"]


@pytest.mark.needs("language")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("detector", ["py3langid", "pycld2"])
@settings(max_examples=40)
@given(text=st.text(max_size=80))
def test_optional_detectors_take_any_text(detector, text):
    (found,) = detect_languages([text], detector=detector)
    assert found == found.lower().strip()
