"""Tables as other programs keep them: databases of SQLite, files of Stata, SPSS and R, streams of Arrow."""

import base64
import gzip
import shutil
import sqlite3
import sys

import pandas as pd
import pyarrow as pa
import pytest

from covmis_build.archive.traces import Traces
from covmis_build.errors import InputError, MissingExtra
from covmis_build.files.reading import read_table
from covmis_build.study.look import look
from covmis_build.study.study import new_study

IDS = ["1252934402983763968", "1252934402983763969"]
POSTS = pd.DataFrame(
    {
        "tweet_id": IDS,
        "text": ["Garlic cures the flu", ""],
        "date": pd.to_datetime(["2020-04-01 10:00", None]),
    }
)

R_POSTS = (
    "H4sIAAAAAAAAA4vgYmBgYGZgYWJiYGYFMhlYQ0PcdC2AYsJgCQYGASBmYmBh4ATSwoZGpkaWxiYmBkaWFsbmZsaWZha4pSzRdIu4"
    "JxblZCYrJJcWpRYrlGSkKqTllALFOf8DAdAyPpBax+sLJTuAjPoPINewL2IAug3IYISawZqck1hcjGYwe4B/sGdEcgmUywbmlqDr"
    "LKnKz0uF6oQJMoeGOAOpf+hq8xJzU2G2MEMFOUrKU1NL4jNToHyWktQKmJUsKYklqWiGcBbll+vBDOIFObcBSAC9CrWN8T+aY7iA"
    "hiTqpRUBtYDcBAAdz0jcmwEAAA=="
)
"""POSTS, as saveRDS() of R 4.2.2 wrote it."""
R_ODD = (
    "H4sIAAAAAAAAA5VS3UrDMBRO/9xa2BzsOdyNIt6IBYcPIAq706xNZ6FrNOmmXukr+AriCyg+h+A77EYQmQ+wzZM26dpughbSJN/5"
    "zpfzd9ztbTs9ByFkIFPXkWHBEVmnJ0dbewgQuGjIRLYgUN+HfxuOdVhNWPrhc29y/rCP7qbCrfYI9hR33z9dgSzxkpTlRZhzOLQK"
    "oNnFCYF9DiINISJs98K/7LwRkTGJqt5WgMeUZVR9UTFuBNhLhFWIo4o4cir3try3sqqkChqGn72ATwF9yUAq59bby9Pr5veknPNK"
    "LHYYJ2RA2O6OzLWdGjMSOLip+kfhmXLpYjwkK6UTYIVoM3rdUeQ0ZZEeJDD/JTDHxwnuBCyVQpJlKlZdsvTQV/Pg41tVX57g2CMq"
    "5liFFUR4oM4jBj2Tnv1wCXMiu2app/S8pSHjSf4E8Wjs/yf2Zc1ociFeyUv9pTouCU2PDi9hRM6gN5xcVaxmH3MisYZUaMhZEp03"
    "3Ho2BwfT8r6mjEpTu/lLJnlZiv2brcmw5kWUj5hwMeA6K0SnFaP5Act0LbvvAwAA"
)
"""A workspace of R with a function, a frame of one column, and one of every kind of column."""


def of_stata(path, frame=POSTS, **how):
    frame.to_stata(path, write_index=False, **how)
    return path


def of_sqlite(path, *more):
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE users (user_id INTEGER, name TEXT)")
        POSTS.assign(tweet_id=[int(one) for one in IDS], date=["2020-04-01T10:00:00", None]).to_sql(
            'odd "name"', database, index=False
        )
        for statement in more:
            database.execute(statement)
    database.close()
    return path


def of_spss(path, frame=POSTS, **how):
    import pyreadstat

    pyreadstat.write_sav(frame, path, **how)
    return path


def of_r(path, content=None):
    path.write_bytes(base64.b64decode(content or R_POSTS))
    return path


def of_a_stream(path, *, compression=None):
    table = pa.Table.from_pandas(POSTS)
    with pa.ipc.new_stream(
        path, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)
    ) as stream:
        stream.write_table(table, max_chunksize=1)
    return path


@pytest.mark.parametrize(
    "write",
    [
        of_stata,
        lambda path: of_stata(path, version=118),
        of_spss,
        lambda path: of_spss(path, row_compress=True),
        of_r,
        of_sqlite,
        of_a_stream,
        lambda path: of_a_stream(path, compression="zstd"),
    ],
    ids=["stata 10", "stata 14", "spss", "packed spss", "r", "sqlite", "stream", "packed stream"],
)
def test_posts_are_read_and_taken_out_where_that_can_be(tmp_path, write):
    study = new_study(tmp_path / "s")
    shutil.rmtree(study.places.archives[0])
    path = write(tmp_path / "posts.data")
    (seen,) = look(path).files
    assert seen.columns == {"id": ["tweet_id"], "text": ["text"], "created_at": ["date"]}
    assert [(post.post_id, post.text) for post in seen.posts] == [
        ("x:" + IDS[0], "Garlic cures the flu"),
        ("x:" + IDS[1], ""),
    ]
    assert (seen.first, seen.last) == ("2020-04-01T10:00:00Z",) * 2
    study.add_posts(path)
    study.run()
    assert set(study.archive.to_pandas(["post_id"])["post_id"]) >= {"x:" + IDS[0]}
    told = study.purge(posts=["x:" + IDS[0]])
    assert [problem.partition(":")[0] for problem in told.problems][:1] == ["data/archive/posts.data"]
    assert "cannot be rewritten" in told.problems[0]


def test_of_several_tables_the_known_one_is_read_and_the_others_are_told(tmp_path):
    """A view is a program: this one would never end."""
    endless = "CREATE VIEW posts AS WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT x AS tweet_id, x AS text, x AS lang FROM r"
    sheet = read_table(
        of_sqlite(
            tmp_path / "a.sqlite",
            endless,
            "CREATE VIRTUAL TABLE words USING fts5(tweet_id, text, date, lang)",
        )
    )
    assert sheet.form == "SQLite"
    assert [row["tweet_id"] for row in sheet.rows] == IDS
    assert sheet.notes[0].startswith('the table odd "name" is read; ')
    assert "users" in sheet.notes[0]


def test_a_database_that_its_program_has_not_written_whole_says_so(tmp_path):
    path = tmp_path / "a.db"
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("CREATE TABLE posts (id TEXT, text TEXT)")
    database.commit()
    copied = shutil.copyfile(path, tmp_path / "copied.db")
    database.close()
    with pytest.raises(InputError, match=r"(-wal file)"):
        read_table(copied)
    assert "not merged yet" in read_table(path).notes[-1]


def test_damage_is_one_line(tmp_path):
    whole = of_sqlite(tmp_path / "a.sqlite").read_bytes()
    for name, content in {
        "cut.sqlite": whole[:5000],
        "zeroed.sqlite": whole[:4200] + bytes(len(whole) - 4200),
        "none.sqlite": whole[:100],
        "cut.dta": of_stata(tmp_path / "a.dta").read_bytes()[:400],
        "end.dta": of_stata(tmp_path / "a.dta", version=118).read_bytes()[:-2],
        "cut.sav": of_spss(tmp_path / "a.sav").read_bytes()[:-40],
        "cut.rds": gzip.compress(gzip.decompress(base64.b64decode(R_POSTS))[:-30]),
        "none.rds": gzip.compress(b"X\n\0\0\0\3"),
        "cut.arrow": of_a_stream(tmp_path / "a.arrow").read_bytes()[:300],
    }.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError) as error:
            read_table(tmp_path / name)
        assert len(str(error.value).splitlines()) == 1, name


def test_labels_of_values_are_their_words_and_rounded_ids_are_known(tmp_path):
    frame = pd.DataFrame({"id": [1.25e18, 2.0], "stance": pd.Categorical(["favor", "against"])})
    sheet = read_table(of_stata(tmp_path / "a.dta", frame))
    assert [row["stance"] for row in sheet.rows] == ["favor", "against"]
    assert sheet.rounded == {"id"}
    sheet = read_table(of_spss(tmp_path / "a.sav", frame, variable_value_labels={"id": {2: "two"}}))
    assert [list(row.values()) for row in sheet.rows] == [
        ["1250000000000000000", "favor"],
        ["two", "against"],
    ]
    assert sheet.rounded == {"id"}
    codes = pd.DataFrame({"a": [1, 2]})
    sheet = read_table(of_stata(tmp_path / "b.dta", codes, value_labels={"a": {1: "same", 2: "same"}}))
    assert ([row["a"] for row in sheet.rows], len(sheet.notes)) == (["1", "2"], 1)
    assert read_table(of_stata(tmp_path / "c.dta", codes[:0])).header == ["a"]


def test_every_kind_of_column_of_r(tmp_path):
    sheet = read_table(of_r(tmp_path / "odd.RData", R_ODD))
    assert [list(row.values()) for row in sheet.rows] == [
        [
            "first",
            "1250000000000000000",
            "2020-04-01",
            "favor",
            "1",
            "true",
            '["a", "b"]',
            "1211101770274566628",
            '{"name": "é"}',
        ],
        ["second", "", "", "", "", "", "[]", "9218868437227407266", '{"name": "b"}'],
    ]
    assert sheet.header == ["", "id", "day", "stance", "n", "flag", "urls", "big", "user"]
    assert (sheet.rounded, sheet.notes[0].partition(":")[0]) == (
        {"id"},
        "the table odd is read; 1 other table not",
    )


@pytest.mark.parametrize(("write", "package"), [(of_spss, "pyreadstat"), (of_r, "rdata")])
def test_what_is_not_installed_is_named_with_its_remedy(tmp_path, monkeypatch, write, package):
    path = write(tmp_path / "a.data")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match="needs the extra 'statistics'"):
        read_table(path)


def test_cells_that_spss_compresses_are_searched(tmp_path):
    """A purge looks for what is left of its posts everywhere."""
    path = of_spss(tmp_path / "a.sav", compress=True)
    assert IDS[0].encode() not in path.read_bytes()
    assert Traces([f"x:{IDS[0]}"]).of_file(path).ids
