"""Shapes that real files had when covmis met them first (docs/explanation/real-files.md)."""

import json

import pytest

from covmis_build.errors import InputError
from covmis_build.files.reading import read_table
from covmis_build.files.table import Switches
from covmis_build.study.look import look


def rows_of(path, content, **switches):
    path.write_text(content, "utf-8")
    return [list(row.values()) for row in read_table(path, switches=Switches(**switches)).rows]


def test_one_column_of_texts_keeps_their_commas(tmp_path):
    texts = ["no, never", "yes", "well, yes, and no", "perhaps", '"quoted"" text, twice"']
    read = rows_of(tmp_path / "a.tsv", "\n".join(["comments", *texts]))
    assert read == [[text] for text in [*texts[:4], 'quoted" text, twice']]


def test_a_quotation_mark_between_bars_is_a_sign_where_every_line_has_all_cells(tmp_path):
    assert rows_of(tmp_path / "a.txt", 'a|b\n"Stop" |1\n"No|0\n') == [['"Stop" ', "1"], ['"No', "0"]]
    with pytest.raises(InputError, match="is not readable as CSV"):
        rows_of(tmp_path / "a.txt", 'a|b\n"Stop" |1\nx|y|0\n')


def test_without_a_header_the_widest_of_the_first_rows_counts(tmp_path):
    read = rows_of(tmp_path / "a.txt", "id,class\n1\tFALSE\n2\tTRUE\n", separator="\t", header=False)
    assert read == [["id,class", ""], ["1", "FALSE"], ["2", "TRUE"]]


def test_columns_of_a_name_that_no_table_uses_may_differ(tmp_path):
    path = tmp_path / "a.csv"
    assert rows_of(path, "claim,Evidence,Evidence\nx,y,z\n") == [["x", "y", "z"]]
    assert read_table(path).header == ["claim", "Evidence", "Evidence (C)"]
    for content in ("claim,claim\nx,y\n", "OTHER,OTHER\nx,y\n"):
        with pytest.raises(InputError, match="differ"):
            rows_of(path, content)


def test_rows_of_json_with_unknown_names_are_a_table_that_asks(tmp_path):
    """Links may be an object of short and long ones."""
    path = tmp_path / "a.json"
    rows = [
        {
            "nr": "a1",
            "text": "x",
            "opinions": [{"polarity": "good"}],
            "urls": {"https://t.co/1": "https://e.org/long"},
        }
    ]
    path.write_text(json.dumps(rows))
    (seen,) = look(path).files
    assert (seen.form, seen.asks[0].partition(":")[0]) == ("table", "no column of post ids among")
    path.write_text(
        json.dumps(
            [
                {
                    "id": "x:1252934402983763968",
                    "TweetText": "x",
                    "TweetDate": "2020-04-22T10:00:00Z",
                    **rows[0],
                }
            ]
        )
    )
    (seen,) = look(path).files
    assert [(post.text, post.created_at, post.urls) for post in seen.posts] == [
        ("x", "2020-04-22T10:00:00Z", ["https://e.org/long"])
    ]
