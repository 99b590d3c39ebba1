"""Two hundred ways to hand covmis bad input: one line, exit code 2, no traceback, nothing written."""

import contextlib
import io
import re
import shutil
import sys

import pytest

from covmis_build.cli import main
from covmis_build.settings import TABLES, parse, settings_toml
from covmis_build.study.study import read_study

GOOD_CLAIMS = (
    "claim_id,text,keywords,titles,news_urls,fact_check_urls\n1,Garlic cures the flu.,garlic flu,,,\n"
)


def covmis(*arguments):
    """Run the program in this process: exit code, what it printed, what it complained of."""
    out, err = io.StringIO(), io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        patch.setattr(sys, "argv", ["covmis", *map(str, arguments)])
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
    return code, out.getvalue(), err.getvalue()


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


def wrong_settings():
    """Every key of study.toml with every value that cannot be right for it."""
    good = parse({"title": "t"})
    for table in TABLES:
        for key, value in vars_of(getattr(good, table)).items():
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


@pytest.mark.parametrize("text", list(wrong_settings()))
def test_a_wrong_setting(study, text):
    (study / "study.toml").write_text(f'title = "t"\n{text}\n')
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


HEADER = "claim_id,text,language,keywords,titles,news_urls,fact_check_urls,first_seen,selected,edits\n"
CLAIMS = {
    "empty": b"",
    "only a byte order mark": b"\xef\xbb\xbf",
    "only a line end": b"\n",
    "only a header": HEADER.encode(),
    "no claim_id": b"text,keywords\nGarlic cures.,garlic\n",
    "no text": b"claim_id,keywords\n1,garlic\n",
    "a misspelt column": b"claim_id,txt,keywords\n1,Garlic cures.,garlic\n",
    "a doubled column": b"claim_id,text,text\n1,a,b\n",
    "a doubled id": b"claim_id,text,keywords\n1,Garlic cures.,garlic\n1,Lemon cures.,lemon\n",
    "an empty id": b"claim_id,text,keywords\n,Garlic cures.,garlic\n",
    "an empty text": b"claim_id,text,keywords\n1,,garlic\n",
    "an id with a bar": b"claim_id,text,keywords\n1|2,Garlic cures.,garlic\n",
    "Latin-1": "claim_id,text,keywords\n1,Caf\u00e9 cures.,garlic\n".encode("latin-1"),
    "UTF-16": "claim_id,text,keywords\n1,Garlic.,garlic\n".encode("utf-16"),
    "a NUL": b"claim_id,text,keywords\n1,Gar\x00lic.,garlic\n",
    "an unclosed quote": b'claim_id,text,keywords\n1,"Garlic cures.,garlic\n2,Lemon.,lemon\n',
    "too many cells": b"claim_id,text,keywords\n1,Garlic, cures, all,garlic\n",
    "too few cells": b"claim_id,text,keywords\n1,Garlic.,garlic\n2\n",
    "a workbook": b"PK\x03\x04" + bytes(50),
    "a page": b"<!doctype html><html><body>Sign in</body></html>",
    "JSON": b'[{"claim_id": "1"}]',
    "tabs without a header": b"1\tGarlic cures.\tgarlic\n",
    "keywords that no parser reads": b"claim_id,text,keywords\n1,Garlic cures.,(garlic OR\n",
    "keywords that are all negative": b"claim_id,text,keywords\n1,Garlic cures.,-garlic\n",
    "selected with another word": b"claim_id,text,selected\n1,Garlic cures.,perhaps\n",
}  # fmt: skip


@pytest.mark.parametrize("name", CLAIMS)
def test_a_broken_claim_list(study, name):
    (study / "queries" / "claims.csv").write_bytes(CLAIMS[name])
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


IDS = {
    "scientific notation": "post_id\n1.2554E+18\n1255000000000000017\n",
    "all rounded": "post_id\n1255000000000000000\n1256000000000000000\n1257000000000000000\n",
    "eight in a hundred rounded": "post_id\n"
    + "".join(f"125500000000{at:03d}{'0000' if at < 8 else '0017'}\n" for at in range(100)),
}


@pytest.mark.parametrize("name", IDS)
def test_ids_broken_by_a_spreadsheet(study, name):
    (study / "data" / "archive" / "ids.csv").write_text(IDS[name])
    assert "ids.csv" in refused(study, "run")


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


def test_there_are_two_hundred():
    assert len(list(wrong_settings())) + len(TOML) + len(CLAIMS) + len(IDS) + 10 >= 200


def test_the_good_study_is_good(study):
    before = read_study(study).settings
    (study / "study.toml").write_text(settings_toml(before))
    assert read_study(study).settings == before
    (study / "queries" / "claims.csv").write_bytes(b"\xef\xbb\xbf" + GOOD_CLAIMS.encode())
    code, _, err = covmis("run", "claims", "queries", "--study", study)
    assert (code, err) == (0, "")
