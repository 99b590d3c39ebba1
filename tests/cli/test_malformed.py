"""Hundreds of ways to hand covmis bad settings, and some others: one line, exit code 2, no traceback, nothing written."""

import re
import shutil

import pytest

from covmis_build.errors import InputError
from covmis_build.settings import TABLES, parse, settings_toml
from covmis_build.study.study import read_study
from tests.program import covmis

GOOD_CLAIMS = (
    "claim_id,text,keywords,titles,news_urls,fact_check_urls\n1,Garlic cures the flu.,garlic flu,,,\n"
)


@pytest.fixture
def study(tmp_path):
    folder = tmp_path / "study"
    for path, content in {
        "study.toml": 'title = "t"\n', "queries/claims.csv": GOOD_CLAIMS,
        "data/archive/posts.jsonl": '{"id": 1, "rawContent": "garlic flu", "_type": "snscrape.modules.twitter.Tweet"}\n',
    }.items():  # fmt: skip
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    return folder


def snapshot(folder):
    return {
        str(path): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in {".lock", ".files.json"}
    }


def refused(study, *arguments):
    """The command fails as it should; what it says."""
    before = snapshot(study)
    code, _, err = covmis(*arguments, "--study", study)
    progress = re.compile(r"[a-z ]+: [\d,]+ of [\d,]+ \(after \d+ s\)")  # a slow machine shows it
    lines = [line for line in err.strip().splitlines() if not progress.fullmatch(line)]
    assert code == 2, (code, err)
    assert "Traceback" not in err
    assert len([line for line in lines if line.startswith("error: ")]) == 1, err
    assert all(line.startswith(("error: ", "warning: ")) for line in lines), err
    after = snapshot(study)
    assert {name for name in after if not name.endswith("ledger.jsonl") and "/build/" not in name} == {
        name for name in before if "/build/" not in name
    }
    assert all(after[name] == content for name, content in before.items())
    return lines[-1]


WRONG_VALUES = (
    "''",
    "'nonsense value'",
    "-7",
    "3.5",
    "true",
    "[]",
    "[1, 2]",
    "['x', 'x']",
    "{ a = 1 }",
    "2020-01-01",
)


def wrong_settings(table):
    """Every key of a table of study.toml with every value that cannot be right for it."""
    for key, value in vars_of(getattr(parse({"title": "t"}), table)).items():
        for text in WRONG_VALUES:
            if not could_be_right(value, text):
                yield f"[{table}]\n{key} = {text}"


def vars_of(options):
    return {name: getattr(options, name) for name in options.__dataclass_fields__}


def could_be_right(value, text):
    kinds = {"''": str, "'nonsense value'": str, "-7": int, "3.5": float, "true": bool, "[]": tuple, "[1, 2]": list,
             "['x', 'x']": tuple, "{ a = 1 }": dict, "2020-01-01": object}  # fmt: skip
    same = {str: (str,), bool: (bool,), int: (int,), float: (int, float), tuple: (tuple,), dict: (dict,),
            type(None): (dict,)}[type(value)]  # fmt: skip
    return kinds[text] in same


@pytest.mark.parametrize("table", TABLES)
def test_no_wrong_setting_is_read(study, table):
    for text in wrong_settings(table):
        (study / "study.toml").write_text(f'title = "t"\n{text}\n')
        with pytest.raises(InputError, match=r"^[^\n]*study\.toml: [^\n]*$"):
            read_study(study)
    assert "study.toml: " in refused(study, "run")


TOML = {
    "empty": b"",
    "no title": b"seed = 1",
    "blank title": b'title = " "',
    "not TOML": b"title: t",
    "unclosed quote": b'title = "t',
    "doubled key": b'title = "t"\ntitle = "u"',
    "doubled table": b'title = "t"\n[labels]\n[labels]\n',
    "Latin-1": 'title = "Gerüchte"'.encode("latin-1"),
    "UTF-16": 'title = "t"'.encode("utf-16"),
    "a NUL": b'title = "t\x00"',
    "binary": bytes(range(256)),
    "a table with a dot": b'title = "t"\n[cleaning.x]\ny = 1\n',
    "an array of tables": b'title = "t"\n[[cleaning]]\nminimum_words = 3\n',
    "an unknown table": b'title = "t"\n[cleaner]\n',
    "a huge seed": b'title = "t"\nseed = 99999999999999999999999',
    "a negative seed": b'title = "t"\nseed = -1',
    "not a number": b'title = "t"\n[cleaning]\nsimilarity = nan',
    "infinity": b'title = "t"\n[cleaning]\nsimilarity = inf',
}


@pytest.mark.parametrize("name", TOML)
def test_a_broken_settings_file(study, name):
    (study / "study.toml").write_bytes(TOML[name])
    assert "study.toml: " in refused(study, "run")


@pytest.mark.parametrize("keywords", ["(garlic OR", "-garlic"])
def test_keywords_that_make_no_query(study, keywords):
    (study / "queries" / "claims.csv").write_text(f"claim_id,text,keywords\n1,Garlic cures.,{keywords}\n")
    assert "claims.csv" in refused(study, "run")


def test_a_missing_claim_list(study):
    (study / "queries" / "claims.csv").unlink()
    assert "claims.csv: is missing" in refused(study, "run")


def test_a_folder_in_place_of_a_file(study):
    for name in ("queries/claims.csv", "study.toml"):
        (study / name).unlink()
        (study / name).mkdir()
        assert name.split("/")[-1] in refused(study, "run")


def test_a_missing_archive(study):
    shutil.rmtree(study / "data")
    assert "data/archive: the archive is missing" in refused(study, "run")


def test_a_damaged_ledger(study):
    (study / "data" / "build").mkdir()
    (study / "data" / "build" / "ledger.jsonl").write_text("{}\n")
    assert "ledger.jsonl, row 1: is damaged" in refused(study, "run")


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "everything"), ("run", "--engine", "pandas"), ("run", "--conf", "spark.master"), ("explain", "no-such-id"),
        ("run", "--master", "local[2]"), ("run", "--conf", "spark.executor.memory=8g"),
        ("export", "nowhere"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_an_argument_that_cannot_be_right(study, arguments):
    refused(study, *arguments)


def test_a_new_study_never_overwrites(study):
    code, _, err = covmis("new", study)
    assert (code, err.count("error: ")) == (2, 1)


def test_the_good_study_is_good(study):
    before = read_study(study).settings
    (study / "study.toml").write_text(settings_toml(before))
    assert read_study(study).settings == before
    (study / "queries" / "claims.csv").write_bytes(b"\xef\xbb\xbf" + GOOD_CLAIMS.encode())
    code, _, err = covmis("run", "claims", "queries", "--study", study)
    assert (code, err) == (0, "")
