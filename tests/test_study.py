"""Settings are checked to the last key, and survive a round trip."""

import tomllib
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from covmis_build import new_study, storage, tables
from covmis_build.errors import InputError
from covmis_build.options import KINDS, Annotation, Cleaning, Labels, Release, Retrieval, Sampling, Words
from covmis_build.settings import TABLES, Settings, parse, settings_toml
from covmis_build.study.study import open_study

WORD = st.text(
    st.characters(exclude_characters='\n\t|"', exclude_categories=("Cs", "Zs", "Zl", "Zp", "Cc")), min_size=1
)
PLACE = WORD.filter(lambda name: "://" not in name)  # what stands before it must be a store


@st.composite
def schemes(draw):
    values = tuple(draw(st.lists(WORD, min_size=2, max_size=6, unique=True)))
    return Labels(
        values=values,
        order=draw(st.sampled_from([(), values[::-1]])),
        poles=draw(st.sampled_from([(), values[:2]])),
        keys=tuple("123456"[: len(values)]),
        sub_labels=draw(
            st.dictionaries(st.sampled_from(values), st.lists(WORD, max_size=3).map(tuple), max_size=2)
        ),
        automatic=draw(st.dictionaries(st.sampled_from(KINDS), st.sampled_from(values), max_size=2)),
    )


@st.composite
def studies(draw):
    per_kind = draw(st.integers(0, 20))
    people = tuple(
        draw(
            st.lists(
                st.from_regex(r"[a-z][a-z0-9]{0,5}", fullmatch=True), min_size=2, max_size=4, unique=True
            )
        )
    )
    return Settings(
        draw(WORD),
        draw(st.integers(0, 2**63 - 1)),
        draw(schemes()),
        Retrieval(archive=tuple(draw(st.lists(PLACE, min_size=1, max_size=3))), since="2020-01-31"),
        Cleaning(
            similarity=draw(st.floats(0, 1, exclude_max=True)),
            minimum_words=draw(st.integers(0, 50)),
            words=draw(st.sampled_from([{}, {"ja": Words(25, "characters")}])),
        ),
        Sampling(per_claim=draw(st.integers(max(1, 4 * per_kind), 200)), per_kind=per_kind),
        Annotation(annotators=people, audit=draw(st.floats(0, 1))),
        Release(licence=draw(st.text(st.characters(exclude_categories=["Cs"])))),
        build=draw(st.sampled_from(["", "s3://bucket/study"])),
    )


@given(studies())
def test_settings_survive_a_round_trip(study):
    assert parse(tomllib.loads(settings_toml(study))) == study


def test_only_a_title_is_required():
    study = parse({"title": "Rumours"})
    assert study == Settings("Rumours")
    assert (study.seed, study.sampling.per_claim, study.cleaning.similarity) == (
        20220405,
        24,
        0.8,
    )


def test_labels_of_ones_own_bring_fitting_defaults():
    labels = parse({"title": "t", "labels": {"values": ["support", "deny", "query", "comment"]}}).labels
    assert (labels.poles, labels.keys, labels.automatic) == ((), ("1", "2", "3", "4"), {})


REFUSED = {
    "unknown key 'clening'. Did you mean 'cleaning'?": "[clening]",
    "unknown key 'minimum_word' in [cleaning]. Did you mean 'minimum_words'?": "[cleaning]\nminimum_word = 3",
    "[cleaning] minimum_words must be a whole number. It is '10'": "[cleaning]\nminimum_words = '10'",
    "[cleaning] minimum_words must be a whole number. It is True": "[cleaning]\nminimum_words = true",
    "[cleaning] minimum_words must be at least 0. It is -1": "[cleaning]\nminimum_words = -1",
    "[cleaning] similarity must be at least 0 and below 1. It is 1": "[cleaning]\nsimilarity = 1",
    "[cleaning] similarity must be a number. It is 'x'": "[cleaning]\nsimilarity = 'x'",
    "[cleaning] grouping must be": "[cleaning]\ngrouping = 'component'",
    "[cleaning] languages must be a list, each the code of a language, like": "[cleaning]\nlanguages = 'en'",
    "each of [cleaning] languages must be the code of a language, like": "[cleaning]\nlanguages = ['English']",
    "It is 'en_GB'": "[cleaning]\nlanguages = ['en_GB']",
    "a key of [cleaning] words must be the code of a language": "[cleaning]\nwords = { english = { minimum = 3 } }",
    "cleaning.words.en.without must be a list": "[cleaning]\nwords = { en = { without = 'urls' } }",
    "It is 1": "[cleaning]\nlanguages = [1]",
    "unknown key 'min' in [cleaning.words.ja]": "[cleaning]\nwords = { ja = { min = 3 } }",
    'cleaning.words.ja.unit must be "words" or "characters"': "[cleaning]\nwords = { ja = { minimum = 3, unit = 'bytes' } }",
    "Did you mean 'urls'?": "[cleaning]\nwords = { en = { without = ['url'] } }",
    "[retrieval] since must be an ISO date": "[retrieval]\nsince = 'yesterday'",
    "[retrieval] since is after until": "[retrieval]\nsince = '2021-01-01'\nuntil = '2020-01-01'",
    "Did you mean 'keywords'?": "[retrieval]\nrequire_match = ['keyword']",
    "[labels] values must be at least two different labels": "[labels]\nvalues = ['a']",
    "[labels] order must name every label": "[labels]\norder = ['favor']",
    "[labels] keys must be 3 different keys": "[labels]\nkeys = ['1']",
    "[labels] poles: 'for' is not a label. Did you mean 'favor'?": "[labels]\npoles = ['for', 'against']",
    "[labels] automatic: 'url' is not a kind of query": "[labels]\nautomatic = { url = 'against' }",
    "must be different and at least per_item = 2": "[annotation]\nannotators = ['a1']",
    "'a 1' cannot be a code": "[annotation]\nannotators = ['a 1', 'b']",
    "label_studio_url must be a URL that starts with http": "[annotation]\nlabel_studio_url = 'ftp://x'",
    "seed must be a whole number": "seed = 1.5",
    "labels must be a table": "labels = 3",
    "is not TOML": "labels = ",
}


@pytest.mark.parametrize(("message", "text"), REFUSED.items())
def test_a_wrong_setting_is_named(message, text, tmp_path):
    (tmp_path / "study.toml").write_text(f'title = "t"\n{text}\n')
    with pytest.raises(InputError) as refused:
        open_study(tmp_path)
    assert message in str(refused.value)
    assert str(refused.value).startswith(f"{tmp_path / 'study.toml'}: ")
    assert "\n" not in str(refused.value)


def test_the_nearest_study_upwards(tmp_path, monkeypatch):
    (tmp_path / "study.toml").write_text('title = "up here"')
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    assert open_study().places.folder == tmp_path
    with pytest.raises(InputError, match=r"no study\.toml here"):
        open_study(deep)


def test_every_setting_can_be_written(tmp_path):
    study = replace(parse({"title": "x"}), title='a "title" \\ with\ttab')
    assert parse(tomllib.loads(settings_toml(study))) == study
    written = settings_toml(study)
    for name, kind in TABLES.items():
        assert f"[{name}]" in written
        assert all(f"\n{one.name} = " in written for one in fields(kind))


def test_a_study_follows_its_settings(tmp_path):
    """Also where another program, or a person, has changed study.toml since the study was opened."""
    study = new_study(tmp_path / "study", title="Tea")
    study.change(cleaning={"minimum_words": 20})
    assert study.settings.cleaning.minimum_words == 20
    file = study.folder / "study.toml"
    file.write_text(file.read_text("utf-8").replace("minimum_words = 20", "minimum_words = 7"), "utf-8")
    assert study.settings.cleaning.minimum_words == 7
    file.write_text("seed = 1.5", "utf-8")
    with pytest.raises(InputError, match=r"study\.toml"):
        study.run()


@pytest.mark.parametrize(
    "change",
    [
        lambda study: study.change(seed=7),
        lambda study: study.set_keywords("garlic", "garlic flu"),
        lambda study: study.lint_claims(accept=["garlic"]),
        lambda study: study.select_claims(1),
        lambda study: study.import_claims(study.folder / "queries" / "claims.csv"),
    ],
)
def test_two_commands_do_not_change_the_same_file_at_once(tmp_path, change):
    study = new_study(tmp_path / "study")
    storage.write_table(study.places.table("hits"), tables.empty("hits"), "hits")
    before = {name: (study.folder / name).read_bytes() for name in ("study.toml", "queries/claims.csv")}
    with (
        study.locked_inputs("covmis queries set"),
        pytest.raises(InputError, match="in use by `covmis queries set`"),
    ):
        change(study)
    assert before == {name: (study.folder / name).read_bytes() for name in before}


def test_a_platform_is_collected_by_one_command_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setenv("BLUESKY_HANDLE", "nobody.test")
    monkeypatch.setenv("BLUESKY_APP_PASSWORD", "token-of-nobody")
    study = new_study(tmp_path / "study")
    with (
        study.locked(study.places.notes / "bluesky", "covmis collect bluesky"),
        pytest.raises(InputError, match="in use by `covmis collect bluesky`"),
    ):
        study.collect("bluesky")


def test_one_name_is_a_name_and_not_its_letters(tmp_path):
    study = new_study(tmp_path / "study")
    (study.folder / "data" / "archive").mkdir(parents=True, exist_ok=True)
    assert [stage.stage for stage in study.run("claims").stages] == ["claims"]
    study.purge(posts="1255000000000000003")
    assert study.places.purge_csv.read_text("utf-8").split()[1:] == ["x:1255000000000000003"]
    with pytest.raises(InputError, match="no finding is called 'correct:1'"):
        study.lint_claims(accept="correct:1")
