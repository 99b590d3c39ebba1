"""study.archive: every post that was read, for questions of one's own."""

import re
import shutil

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from covmis_build import agreement
from covmis_build.building.run import run
from covmis_build.errors import InputError
from covmis_build.study import verbs
from covmis_build.study.study import new_study, open_study
from covmis_build.tables import frame_of
from tests.small_study import ROOT, small_study


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    study = small_study(tmp_path_factory.mktemp("archive"))
    run(study.places, study.settings, workers=1)
    return study


def test_each_post_stands_once_and_every_copy_can_be_asked(study):
    posts = study.archive.to_pandas(["post_id", "text"])
    assert posts["post_id"].is_unique
    assert posts["post_id"].is_monotonic_increasing
    assert len(study.archive) == len(posts)
    assert set(study.posts["post_id"]) < set(posts["post_id"])
    (copies,) = study.archive.sql("SELECT count(*) FROM copies").fetchall()[0]
    assert copies == study.archive.arrow().count_rows() > len(posts)
    chosen = study.posts.set_index("post_id")["text"]
    assert posts.set_index("post_id")["text"].loc[chosen.index].equals(chosen), (
        "the same copies as in the table posts"
    )


def test_a_condition_is_sql(study):
    languages = study.archive.to_pandas(["language"], where="language <> 'en'")["language"]
    assert len(languages)
    assert "en" not in set(languages)


def test_the_questions_of_the_guide_have_answers(study):
    guide = (ROOT / "docs/guides/archives.md").read_text("utf-8")
    (block,) = re.findall(r"```sql\n(.+?)```", guide, re.DOTALL)
    questions = [part for part in re.split(r"^-- .+$", block, flags=re.MULTILINE) if part.strip()]
    assert len(questions) == 3
    answers = [study.archive.sql(question).fetchall() for question in questions]
    assert all(answers[:3])


def test_what_is_missing_is_named(study, tmp_path):
    shutil.copytree(study.places.folder, tmp_path / "study")
    copy = open_study(tmp_path / "study")
    next(copy.places.store.glob("*.parquet")).unlink()
    with pytest.raises(InputError, match=r"is missing.+covmis run read"):
        _ = copy.archive


def test_a_post_that_no_query_finds_has_its_story(study):
    posts = study.archive.to_pandas(["post_id", "text"]).set_index("post_id")["text"]
    unfound = posts.index.difference([*study.posts["post_id"], *study.dropped["post_id"]])[0]
    first, last = study.explain(unfound).sentences
    assert first.startswith(f"Post {unfound} on ")
    assert first.endswith(posts[unfound])
    assert study.explain(unfound.partition(":")[2]).sentences == [first, last]
    assert last == "It is in the archive, but no query finds it."


def test_a_data_frame_is_a_file_of_posts(tmp_path):
    study = small_study(tmp_path, posts=20)
    posts = pd.DataFrame({"tweet_id": ["1252934402983763968"], "text": ["Garlic cures the flu"]}, index=[7])
    added = study.add_posts(posts, "mine")
    assert added.file.endswith("mine.parquet")
    path = study.places.folder / added.file
    assert pq.read_table(path).to_pylist() == [
        {"tweet_id": "1252934402983763968", "text": "Garlic cures the flu"}
    ]
    assert not study.add_posts(pa.Table.from_pandas(posts, preserve_index=False), "again").added
    with pytest.raises(InputError, match="several types"):
        study.add_posts(pd.DataFrame({"id": ["a", 1]}, dtype=object))
    with pytest.raises(InputError, match="no rows"):
        study.add_posts(posts[:0])


def of_pandas(table):
    return table.to_pandas()


def of_duckdb(table):
    return duckdb.from_arrow(table)


@pytest.mark.parametrize(
    "library", [of_pandas, of_duckdb, lambda table: table], ids=["pandas", "duckdb", "arrow"]
)
def test_frames_of_other_libraries_are_read_as_files_are(tmp_path, library):
    """polars lends its columns in the same way."""
    study = new_study(tmp_path / "mine")
    posts = library(pa.table({"tweet_id": ["1252934402983763968"], "texto": ["Garlic cures the flu"]}))
    (seen,) = study.look(posts).files
    assert (seen.columns, seen.posts[0].text) == (
        {"id": ["tweet_id"], "text": ["texto"]},
        "Garlic cures the flu",
    )
    claims = library(pa.table({"id": ["g"], "claim": ["Garlic cures the flu."], "language": ["en"]}))
    study.import_claims(claims)
    assert study.claims["text"].tolist() == ["Garlic cures the flu."], "before the first run"
    labels = library(pa.table({"item": [1, 1, 2, 2], "annotator": list("abab"), "label": list("xxyz")}))
    assert (
        agreement(labels).kappa
        == agreement({"item": [1, 1, 2, 2], "annotator": list("abab"), "label": list("xxyz")}).kappa
    )


def test_long_ids_of_a_frame_with_gaps_are_not_rounded():
    assert frame_of(pa.table({"id": [1252934402983763969, None]}))["id"].tolist() == [
        1252934402983763969,
        None,
    ]


@pytest.mark.parametrize("name", ["study.toml", "Study.TOML", "README.md"])
def test_a_file_of_posts_gets_no_name_that_means_something(tmp_path, name):
    """A folder with a study.toml is a study: commands wrote lists of files into the archive."""
    added = small_study(tmp_path).add_posts(iter([b"id,text\n1,one\n"]), name)
    assert added.file == f"data/archive/posts {name}"
    assert verbs.words("posts add", {"file": "-rf"}) == ["posts", "add", "--", "-rf"]
