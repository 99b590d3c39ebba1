"""`covmis posts look` and `covmis posts add --convert`, and the same of a Study: nothing guessed, nothing read that is in question."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys

import pytest
import zstandard

import covmis_build as covmis_library
from covmis_build.archive import streams
from covmis_build.archive.reader import ReadingOptions, read
from covmis_build.errors import CheckFailed, InputError
from tests.program import covmis
from tests.servers.x import post

POSTS = "tweet_id,text,created_at\n1252934402983763968,Garlic cures covid-19,2020-04-22T12:16:54Z\n1252934402983763969,nothing,soon\n"


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


def test_posts_stand_beside_the_rows_that_they_come_from(posts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (seen,) = json.loads(covmis("posts", "look", str(posts), "--json")[1])["files"]
    rows = {row["row"]: row["cells"] for row in seen["rows_as_they_are"]}
    assert [rows[post["row"]]["text"] for post in seen["posts"]] == [post["text"] for post in seen["posts"]]
    assert rows[3]["created_at"] == "soon", "as it stands, though it is no time"
    assert (
        "from: tweet_id: 1252934402983763969 | text: nothing | created_at: soon"
        in covmis("posts", "look", str(posts))[1]
    )
    long = tmp_path / "long.jsonl"
    long.write_text(
        "".join(json.dumps({"data": [post(number, "word " * 300)]}) + "\n" for number in range(40))
    )
    (seen,) = json.loads(covmis("posts", "look", str(long), "--json")[1])["files"]
    assert len(seen["posts"]) == len(seen["rows_as_they_are"]) == 20
    assert {len(row["cells"][""]) for row in seen["rows_as_they_are"]} == {400}
    printed = covmis("posts", "look", str(long))[1]
    assert printed.count("\n    from: {") == 3
    assert max(map(len, printed.splitlines())) <= 210


@pytest.mark.parametrize(
    "heading",
    [
        "nachricht,datum,autor,sprache",
        "mensaje,fecha,usuario,idioma",
        "Texte,Date,Auteur,Langue",
        "texto,data,autor,idioma",
    ],
)
def test_columns_in_other_languages_are_known(tmp_path, heading):
    path = tmp_path / "a.csv"
    path.write_text(
        f"tweet_id,{heading}\n1252934402983763968,ein Satz,22.04.2020 12:16,somebody,de\n", "utf-8"
    )
    (seen,) = json.loads(covmis("posts", "look", str(path), "--json")[1])["files"]
    assert list(seen["columns"]) == ["id", "text", "created_at", "language", "author"]
    assert (seen["first"], seen["left_over"]) == ("2020-04-22T12:16:00Z", [])


def test_what_is_in_question_is_shown_and_not_imported(study, tmp_path):
    path = tmp_path / "numbers.csv"
    path.write_text("id,text\n6924226890000000001,a\n6924226890000000002,b\n")
    code, out, _ = covmis("posts", "look", str(path), "--study", str(study))
    assert code == 1
    assert "which platform are ids such as" in out
    assert "row 2: id: 6924226890000000001 | text: a" in out
    assert 'platform = ""' in out
    assert "and answer the question in it" in out
    code, _, err = covmis("posts", "add", "--convert", str(path), "--study", str(study))
    assert code == 2
    assert "which platform are ids such as" in err
    assert "posts look" in err
    assert not list((study / "data/archive").iterdir())


def test_settings_that_are_followed_are_not_proposed_again(study, tmp_path):
    path = tmp_path / "numbers.csv"
    path.write_text("nr,text\n1,RT @a hello\n2,hello\n3,\n")
    with (study / "study.toml").open("a") as file:
        file.write('[[retrieval.columns]]\nfiles = "numbers.csv"\nplatform = "mine"\nid = "nr"\n')
    code, out, _ = covmis("posts", "look", str(path), "--study", str(study))
    assert (code, "[[retrieval.columns]]" in out) == (0, False)
    assert '  reposts: 1 (left out unless `[retrieval] reposts = "keep"`)\n  posts without text: 1\n' in out


def test_a_study_that_cannot_be_read_is_not_left_out_in_silence(study, posts, monkeypatch):
    (study / "study.toml").write_text(
        'title = "t"\n[[retrieval.columns]]\nfiles = "*"\nauthor = ["name", "surname"]\n'
    )
    monkeypatch.chdir(study)
    code, out, err = covmis("posts", "look", str(posts))
    assert (code, out) == (2, "")
    assert "study.toml: [[retrieval.columns]] author must be text in quotes" in err
    (study / "study.toml").write_text('title = "t"\n[[retrieval.columns]]\nfiles = "*"\nplatfrom = "x"\n')
    assert "unknown key 'platfrom' in [[retrieval.columns]]" in covmis("posts", "look", str(posts))[2]


def test_import_writes_what_look_showed(study, posts):
    code, out, _ = covmis("posts", "add", "--convert", str(posts), "--study", str(study))
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
    assert [post.language for line in read(job, how=ReadingOptions()) for post in line.posts] == ["", "en"]


def test_a_missing_file_and_one_of_nothing(study, tmp_path):
    code, _, err = covmis("posts", "look", str(tmp_path / "none.csv"), "--study", str(study))
    assert (code, "is no file" in err) == (2, True)
    path = tmp_path / "broken.jsonl"
    path.write_text("{\n{\n")
    code, out, _ = covmis("posts", "look", str(path), "--study", str(study))
    assert (code, "nothing in it could be read" in out) == (2, True)


ARABIC = [
    "تمكين المرأة سبب بطالة الرجال في هذا البلد",
    "هذا التطعيم آمن ولا خطر منه على الأطفال",
    "التحول الرقمي يسهل حياة الناس في كل مكان",
]
ENGLISH = ["The vaccine is safe for all of us", "Garlic does not cure the flu", "What is this about?"]


@pytest.mark.parametrize(
    ("texts", "tag", "settings", "said"),
    [
        (ARABIC, "", "", "3 of 3 texts look like ar; this study keeps en: set `[cleaning] languages`"),
        (ENGLISH, "ar", "", "3 of 3 texts look like ar; this study keeps en"),
        (ENGLISH, "ar", 'language_source = "detector"', ""),
        (ARABIC, "en", 'language_source = "detector"', "3 of 3 texts look like ar"),
        (ARABIC, "", 'languages = ["en", "ar"]', ""),
        (ENGLISH, "", 'languages = ["ar"]', "3 of 3 texts look like en; this study keeps ar"),
        (ARABIC, "", "languages = []", ""),
        (ENGLISH, "", "", ""),
        (ENGLISH, "und", "", ""),
        ([*ARABIC, *ENGLISH], "", "", ""),
        (["", " ", ""], "", "", ""),
    ],
)
def test_look_says_when_most_texts_are_in_languages_that_the_study_drops(
    study, tmp_path, texts, tag, settings, said
):
    path = tmp_path / "export.csv"
    rows = [f"{at},{text},{tag}" for at, text in enumerate(texts, 1252934402983763968)]
    path.write_text("\n".join(["tweet_id,text,lang", *rows, ""]))
    (study / "study.toml").write_text(f'title = "t"\n[cleaning]\n{settings}\n')
    _, out, _ = covmis("posts", "look", str(path), "--study", str(study), "--json")
    (seen,) = json.loads(out)["files"]
    notes = [note for note in seen["notes"] if "look like" in note]
    assert len(notes) == bool(said)
    assert all(note.startswith(said) for note in notes)


def test_look_without_a_study_names_the_default_languages(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "export.csv").write_text("tweet_id,text\n1252934402983763968,تمكين المرأة سبب بطالة الرجال\n")
    _, out, _ = covmis("posts", "look", "export.csv")
    assert "1 of 1 text look like ar; a new study keeps en" in out


def test_look_at_texts_that_stay_loads_no_detector(study, posts):
    posts.write_text("tweet_id,text\n" + "".join(f"{at},{text}\n" for at, text in enumerate(ENGLISH, 1252934402983763968)))  # fmt: skip
    seen = "import sys; from covmis_build.study.look import look; look(sys.argv[1]); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", seen, str(posts)], capture_output=True, text=True, check=True
    )
    assert not {"numba", "langdetect"} & set(done.stdout.split())


def looked_at(path, study):
    return covmis_library.open_study(study).look(path).files[0]


def test_a_run_over_a_file_that_cannot_be_read_fails_in_a_terminal_and_in_python(study):
    (study / "queries").mkdir()
    (study / "queries/claims.csv").write_text("claim_id,text,keywords\n1,Garlic cures covid-19,garlic\n")
    for name in ("a", "b"):
        (study / f"data/archive/{name}.csv").write_text(
            "id,text\n6924226890000000001,garlic\n6924226890000000002,b\n"
        )
    code, out, err = covmis("run", "--study", str(study))
    assert code == 1
    assert "which platform are ids such as" in err
    assert "(and 1 more file, see above)" in err
    assert "covmis posts look FILE" in err
    assert "b.csv" in out
    assert "[[retrieval.columns]]" not in out, "half a table helps nobody"
    ran = covmis_library.open_study(study).run()
    assert "`covmis posts look` says why archive/a.csv cannot be read" in str(ran)
    assert any("no post in data/archive could be read" in warning for warning in ran.warnings)
    assert "which platform are ids such as" in ran._repr_html_()
    with pytest.raises(CheckFailed, match="which platform are ids such as"):
        ran.check()
