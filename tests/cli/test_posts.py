"""`covmis posts look` and `covmis posts import`, and the same of a Study: nothing guessed, nothing read that is in question."""

from __future__ import annotations

import gzip
import json

import openpyxl
import pandas as pd
import pytest
import zstandard

import covmis_build as covmis_library
from covmis_build.archive import streams
from covmis_build.archive.reader import How, read
from covmis_build.errors import CheckFailed, InputError
from tests.annotation.libreoffice import Job, save
from tests.cli.test_malformed import covmis
from tests.files.written import of_xml, sheet_of

POSTS = "tweet_id,text,created_at\n1252934402983763968,Garlic cures covid-19,2020-04-22T12:16:54Z\n1252934402983763969,nothing,soon\n"
TABLE = [
    ["tweet_id", "text", "created_at"],
    ["1252934402983763968", "Garlic cures covid-19", "2020-04-22T12:16:54Z"],
    ["1252934402983763969", "nothing", "soon"],
]


@pytest.fixture
def study(tmp_path):
    folder = tmp_path / "study"
    (folder / "data/archive").mkdir(parents=True)
    (folder / "study.toml").write_text('title = "t"\n')
    return folder


@pytest.fixture
def posts(tmp_path):
    path = tmp_path / "export.csv"
    path.write_text(POSTS)
    return path


def test_look_says_what_a_file_is_and_changes_nothing(study, posts):
    code, out, _ = covmis("posts", "look", str(posts), "--study", str(study))
    assert code == 0
    for told in ("CSV with commas", "2 rows", "id <- tweet_id", "x:1252934402983763968", "Garlic cures covid-19", "[[retrieval.columns]]"):  # fmt: skip
        assert told in out
    assert not list((study / "data/archive").iterdir())


def test_look_without_a_study_and_for_programs(posts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = covmis("posts", "look", str(posts), "--json")
    (seen,) = json.loads(out)["files"]
    assert code == 0
    assert (seen["rows"], seen["columns"]["text"], seen["questions"]) == (2, ["text"], [])
    assert seen["first"] == seen["last"] == "2020-04-22T12:16:54Z"
    assert seen["problems"][0]["count"] == 1


def test_what_is_in_question_is_shown_and_not_imported(study, tmp_path):
    path = tmp_path / "numbers.csv"
    path.write_text("id,text\n6924226890000000001,a\n6924226890000000002,b\n")
    code, out, _ = covmis("posts", "look", str(path), "--study", str(study))
    assert code == 1
    assert "whose ids are these" in out
    assert 'platform = ""' in out
    code, _, err = covmis("posts", "import", str(path), "--study", str(study))
    assert code == 2
    assert "whose ids are these" in err
    assert "posts look" in err
    assert not list((study / "data/archive").iterdir())


def test_import_writes_what_look_showed(study, posts):
    code, out, _ = covmis("posts", "import", str(posts), "--study", str(study))
    assert code == 0
    assert "2 posts written to data/archive/posts-export.jsonl.zst" in out
    lines = zstandard.ZstdDecompressor().stream_reader(
        (study / "data/archive/posts-export.jsonl.zst").read_bytes()
    )
    rows = [json.loads(line) for line in lines.read().splitlines()]
    assert [row["post_id"] for row in rows] == ["x:1252934402983763968", "x:1252934402983763969"]
    assert rows[0]["created_at"] == "2020-04-22T12:16:54Z"
    assert rows[1].get("created_at", "") == ""
    assert rows[0]["source"]["file"] == "export.csv"
    report = json.loads((study / "data/collect/posts-export.jsonl.zst.json").read_text())
    assert report["posts"] == 2
    assert "Garlic" not in json.dumps(report)


def test_a_study_looks_and_imports(study, posts):
    opened = covmis_library.open_study(study)
    look = opened.look(posts)
    assert look.questions == []
    assert look.files[0].posts[0].text == "Garlic cures covid-19"
    imported = opened.import_posts(posts)
    assert (imported.posts, imported.unreadable) == (2, 0)
    with pytest.raises(InputError, match="imported already"):
        opened.import_posts(study / imported.file)


@pytest.mark.parametrize("packed", [False, True])
def test_a_letter_that_was_cut_in_two_makes_a_file_no_western_european(study, tmp_path, packed):
    rows = "".join(f"12529344029837639{number:02},según mi tía\n" for number in range(20))
    data = f"tweet_id,text\n{rows}".encode()
    path = tmp_path / ("a.csv.gz" if packed else "a.csv")
    for content, text, note in (
        (data, "según mi tía", ""),
        (data[:-3] + data[-2:], "según mi tía", "not UTF-8 in 1 place, shown as \N{REPLACEMENT CHARACTER}"),
        (
            rows.encode("cp1252"),
            "según mi tía",
            "not UTF-8: read as Western European (Windows-1252), as in 'según'",
        ),
    ):
        whole = content if b"tweet_id" in content else b"tweet_id,text\n" + content
        path.write_bytes(gzip.compress(whole) if packed else whole)
        seen = looked_at(path, study)
        assert seen.posts[0].text == text
        assert [told for told in seen.notes if "UTF-8" in told] == ([note] if note else [])


def test_of_two_columns_of_one_name_none_is_taken(study, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("tweet_id,text,text\n1252934402983763968,Garlic,Tea\n")
    code, out, err = covmis("posts", "look", str(path), "--study", str(study))
    assert code != 0
    assert "has two columns called 'text'" in out + err


def test_what_r_writes_for_nothing_is_no_language(study, tmp_path):
    path = tmp_path / "r.csv"
    path.write_text(
        '"tweet_id","text","lang"\n"1252934402983763968","Garlic cures",NA\n"1252934402983763969",NA,"en"\n'
    )
    assert [note for note in looked_at(path, study).notes if "NA" in note] == [
        "NA, NULL or the like as a text: 1 post of that word",
        "NA, NULL or the like as a language: 1 post of none",
    ]
    (job,) = streams.jobs([(path, path.name)])
    assert [post.language for line in read(job, how=How()) for post in line.posts] == ["", "en"]


def test_a_missing_file_and_one_of_nothing(study, tmp_path):
    code, _, err = covmis("posts", "look", str(tmp_path / "none.csv"), "--study", str(study))
    assert (code, "is no file" in err) == (2, True)
    path = tmp_path / "broken.jsonl"
    path.write_text("{\n{\n")
    code, out, _ = covmis("posts", "look", str(path), "--study", str(study))
    assert (code, "nothing in it could be read" in out) == (1, True)


def posts_of(path):
    (job,) = streams.jobs([(path, path.name)])
    return [
        (post.post_id, post.text, post.created_at) for line in read(job, how=How()) for post in line.posts
    ]


@pytest.mark.parametrize("suffix", ["ods", "xlsx"])
def test_workbooks_have_the_posts_of_the_sheet_that_they_were_made_of(posts, tmp_path, suffix):
    path = saved(tmp_path / f"export.{suffix}", posts=TABLE)
    assert posts_of(path) == posts_of(posts)


def saved(path, **sheets):
    """A workbook of these sheets, each of rows."""
    if path.suffix == ".ods":
        return of_xml(
            path,
            "".join(
                sheet_of([[cell or "" for cell in row] for row in rows], name)
                for name, rows in sheets.items()
            ),
        )
    with pd.ExcelWriter(path) as book:
        for name, rows in sheets.items():
            pd.DataFrame(rows).to_excel(book, sheet_name=name, index=False, header=False)
    return path


def looked_at(path, study):
    return covmis_library.open_study(study).look(path).files[0]


@pytest.mark.parametrize("suffix", ["ods", "xlsx"])
def test_what_is_on_other_sheets_is_told_and_posts_that_go_on_there_are_refused(tmp_path, study, suffix):
    both = saved(tmp_path / f"a.{suffix}", posts=TABLE, about=[["made by", "nobody"]], none=[])
    (note,) = [note for note in looked_at(both, study).notes if "sheet" in note]
    assert note == "1 other sheet not read, which begins with 'made by | nobody'"
    gone_on = saved(tmp_path / f"b.{suffix}", posts=TABLE[:2], more=[TABLE[0], TABLE[2]])
    code, out, err = covmis("posts", "look", str(gone_on), "--study", str(study))
    assert code != 0
    assert "continues on another sheet" in out + err


@pytest.mark.parametrize("suffix", ["ods", "xlsx"])
def test_what_stands_beside_the_table_of_a_workbook_is_told_and_its_row_is_read(tmp_path, study, suffix):
    path = saved(
        tmp_path / f"a.{suffix}",
        posts=[[*TABLE[0], None], [*TABLE[1], " "], [*TABLE[2], "a note"]],
    )
    seen = looked_at(path, study)
    assert len(seen.posts) == 2
    assert "1 cell in columns without a name, as 'a note'" in seen.notes


def test_failed_and_open_formulas_in_a_workbook_of_posts_are_told(tmp_path, study):
    rows = [[*TABLE[0], "by"], [*TABLE[1], "#NAME?"], [*TABLE[2], "#DIV/0!"]]
    seen = looked_at(saved(tmp_path / "a.xlsx", posts=rows), study)
    assert "2 cells with an error, left empty, as D2" in seen.notes
    rows = [[*TABLE[0], "by"], [*TABLE[1], '=CONCATENATE("a", "b")']]
    seen = looked_at(saved(tmp_path / "b.xlsx", posts=rows), study)
    assert "1 formula without a stored value, left empty (open the file and save it), as D2" in seen.notes


def test_what_excel_writes_for_the_end_of_a_line_is_no_word_of_a_post(tmp_path):
    row = ["1252934402983763968", "Garlic cures_x000D_\nthe flu", "2020-04-22T12:16:54Z"]
    ((_, text, _),) = posts_of(saved(tmp_path / "a.xlsx", posts=[TABLE[0], row]))
    assert text == "Garlic cures\r\nthe flu"


def test_a_hidden_sheet_is_not_the_first(tmp_path, posts):
    path = saved(tmp_path / "a.xlsx", lists=[["favor"], ["against"]], posts=TABLE)
    book = openpyxl.load_workbook(path)
    book["lists"].sheet_state = "hidden"
    book.active = 1
    book.save(path)
    assert posts_of(path) == posts_of(posts)


@pytest.mark.parametrize("suffix", ["xlsx", pytest.param("ods", marks=pytest.mark.needs("libreoffice"))])
def test_a_hidden_sheet_with_the_same_columns_is_told(tmp_path, study, suffix):
    path = saved(tmp_path / "a.xlsx", old=TABLE[:2], posts=TABLE)
    book = openpyxl.load_workbook(path)
    book["old"].sheet_state = "hidden"
    book.active = 1
    book.save(path)
    if suffix == "ods":
        save(tmp_path, [Job(path, tmp_path / "a.ods", "calc8")])
        path = tmp_path / "a.ods"
    seen = looked_at(path, study)
    assert len(seen.posts) == len(TABLE) - 1
    assert "a hidden sheet has the same columns, and is not read" in seen.notes


def test_of_a_cell_that_is_merged_over_several_posts_the_first_has_the_text(tmp_path, study):
    """A title that is merged across columns, or an empty area, hides nothing."""
    path = saved(tmp_path / "a.xlsx", posts=TABLE)
    book = openpyxl.load_workbook(path)
    book.active.merge_cells("D2:E3")
    book.save(path)
    assert len(posts_of(path)) == 2
    book.active.merge_cells("B2:B3")
    book.save(path)
    assert [bool(text) for _, text, _ in posts_of(path)] == [True, False]
    notes = [note for note in looked_at(path, study).notes if "merged" in note]
    assert notes == ["B2 is merged over several rows: it counts for row 2 alone, the others are blank"]


def test_ids_that_a_workbook_has_rounded_are_refused(tmp_path, study):
    path = tmp_path / "numbers.xlsx"
    pd.DataFrame({"tweet_id": [1252934402983763968], "text": ["a"]}).to_excel(path, index=False)
    code, out, err = covmis("posts", "look", str(path), "--study", str(study))
    assert code != 0
    assert "rounded" in out + err


def test_a_run_over_a_file_that_cannot_be_read_fails_in_a_terminal_and_in_python(study):
    (study / "queries").mkdir()
    (study / "queries/claims.csv").write_text("claim_id,text,keywords\n1,Garlic cures covid-19,garlic\n")
    for name in ("a", "b"):
        (study / f"data/archive/{name}.csv").write_text(
            "id,text\n6924226890000000001,garlic\n6924226890000000002,b\n"
        )
    code, out, err = covmis("run", "--study", str(study))
    assert code == 1
    assert "whose ids are these" in err
    assert "(and 1 more file, see above)" in err
    assert "covmis posts look FILE" in err
    assert "b.csv" in out
    ran = covmis_library.open_study(study).run()
    assert any("no post in data/archive could be read" in warning for warning in ran.warnings)
    assert "whose ids are these" in ran._repr_html_()
    with pytest.raises(CheckFailed, match="whose ids are these"):
        ran.check()
