"""Files as people and tools have published them: read, or refused with the lines of study.toml that read them."""

from __future__ import annotations

import json
import random
import tomllib
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from covmis_build import settings
from covmis_build.archive.reader import ReadingOptions, read
from covmis_build.archive.streams import jobs
from covmis_build.errors import BrokenIds
from covmis_build.files.ids import check_ids
from covmis_build.options import Columns
from covmis_build.study.look import look

FIRST = 1_252_934_402_983_763_001


@pytest.fixture
def wild(data_home):
    return data_home / "wild"


@pytest.fixture
def expected(wild):
    return json.loads((wild / "expected.json").read_text("utf-8"))


def posts_of(path, rules=()):
    (job,) = jobs([(path, path.name)])
    reads = list(read(job, how=ReadingOptions(tuple(rules))))
    assert [line.problem for line in reads if line.problem] == []
    return [post for line in reads for post in line.posts]


def rules_of(toml):
    return settings.parse({"title": "t", **tomllib.loads(toml)}).retrieval.columns


def test_r_writes_an_object_for_an_empty_list(wild, expected):
    posts = posts_of(wild / "academictwitter_data.json")
    assert [post.post_id for post in posts if post.text] == expected["academictwitter_data.json"]["ids"]


def test_ids_in_single_quotes(wild, expected):
    posts = posts_of(wild / "crisislex_t6.csv")
    assert [post.post_id for post in posts] == expected["crisislex_t6.csv"]["ids"]
    texts = [post.text for post in posts]
    assert all(text in texts for text in expected["crisislex_t6.csv"]["texts"])


def test_times_in_a_column_tweet_created(wild, expected):
    about = expected["tweet_created.csv"]
    posts = posts_of(wild / "tweet_created.csv")
    assert ([post.post_id for post in posts], [post.created_at for post in posts]) == (
        about["ids"],
        about["created_at"],
    )


def test_relations_in_columns_of_x(wild, expected):
    about = expected["x_account_archive.csv"]
    posts = posts_of(wild / "x_account_archive.csv")
    assert [post.post_id for post in posts] == about["ids"]
    related = (sum(bool(post.repost_of) for post in posts), sum(bool(post.reply_to) for post in posts))
    assert related == (about["reposts"], about["replies"])


def test_an_id_that_stands_in_its_own_address_is_whole(wild, expected):
    about = expected["facebook_fact_check.csv"]
    posts = posts_of(wild / "facebook_fact_check.csv")
    assert len({post.post_id for post in posts}) == len(posts) == about["rows"]
    assert all(post.post_id.startswith("facebook:") for post in posts)


def test_ids_that_went_through_floats_are_refused(wild):
    (file,) = look(wild / "ids_through_floats.csv").files
    assert "a program has read them as numbers and rounded them" in file.questions[0]


def test_a_file_without_a_header_is_read_by_what_the_refusal_says(wild):
    path = wild / "no_header.txt"
    (file,) = look(path).files
    assert 'header = false, id = "3"' in file.questions[0]
    posts = posts_of(path, rules_of(file.settings))
    lines = path.read_text("utf-8").splitlines()
    assert [post.post_id for post in posts] == [f"x:{line.split(chr(9))[2]}" for line in lines]


def test_times_that_ids_contradict_are_asked_for(wild, expected):
    path = wild / "archive_in_tokyo_time.csv"
    (file,) = look(path).files
    assert "by +9 hours" in file.questions[0]
    about = expected["archive_in_tokyo_time.csv"]
    posts = posts_of(path, rules_of(file.settings))
    assert [post.post_id for post in posts] == about["ids"]
    assert [post.created_at for post in posts][:20] == about["true_times"]


SNOWFLAKES = st.integers(2**60, 2**62).map(lambda number: number - number % 4096)


@given(st.lists(SNOWFLAKES, min_size=100, max_size=200, unique=True), st.integers(0, 2**32))
def test_rounding_is_found_and_genuine_ids_are_not_accused(numbers, seed):
    """A file as X's ids are: a quarter with a sequence number, the rest multiples of 4096."""
    chance = random.Random(seed)  # one that Hypothesis chooses makes numbers that no file has
    genuine = [
        number + (chance.randrange(1, 4096) if at % 4 == 0 else 0) for at, number in enumerate(numbers)
    ]
    check_ids("f.csv", list(map(str, genuine)))
    for broken in (
        [float(number) for number in genuine],
        [round(number, -(len(str(number)) - 15)) for number in genuine],
        [int(Decimal(repr(float(number)))) for number in genuine],
        [int(Decimal(f"{float(number):.16g}")) for number in genuine],
    ):
        with pytest.raises(BrokenIds):
            check_ids("f.csv", [str(int(number)) for number in broken])


def test_ids_that_javascript_rounded_are_refused_or_read_from_their_rows_addresses(tmp_path):
    genuine = [1_252_934_402_983_763_001 + at * 2**30 * 919 for at in range(20)]
    rounded = [int(Decimal(repr(float(number)))) for number in genuine]
    with pytest.raises(
        BrokenIds, match="all 20 long ids, as 1252934402983763000, have the digits of numbers that JavaScript"
    ):
        check_ids("f.csv", list(map(str, rounded)))
    path = tmp_path / "posts.csv"
    rows = (
        f"{short},text {whole},https://x.com/someone/status/{whole}"
        for short, whole in zip(rounded, genuine, strict=True)
    )
    path.write_text("\n".join(["id,text,link", *rows]))
    (file,) = look(path).files
    assert not file.questions
    assert [post.post_id for post in posts_of(path, ())] == [f"x:{whole}" for whole in genuine]


@pytest.mark.parametrize(
    ("column", "digits"), [("tweet_id", 6_924_226_890_000_000_001), ("id", 4_496_000_000_000_001)]
)
def test_ids_that_cannot_be_of_x_are_asked_for(tmp_path, column, digits):
    path = tmp_path / "posts.csv"
    path.write_text("\n".join([column, *(str(digits + at * 10**9) for at in range(30)), ""]))
    (file,) = look(path).files
    assert "30 of 30 ids" in file.questions[0]


def test_ids_of_videos_are_no_ids_of_their_comments(tmp_path):
    path = tmp_path / "comments.csv"
    rows = [f"video{at % 3},c{at},comment {at},youtube.com/watch?v={at}" for at in range(30)]
    path.write_text("\n".join(["video_id,id,text,links", *rows]))
    (file,) = look(path).files
    assert file.columns["id"] == ["id"]
    (post, *_) = posts_of(path, [Columns(platform="youtube")])
    assert post.urls == ["https://youtube.com/watch?v=0"]
    path.write_text(
        "\n".join(
            row.replace(",c", ",").split(",", 1)[0] + "," + row.split(",")[2]
            for row in ["video_id,id,text", *rows]
        )
    )
    (file,) = look(path).files
    assert "27 of 30 rows have the video_id of an earlier row and another text, as row 5" in file.questions[0]
    confirmed = [Columns(platform="youtube", id="video_id")]
    assert len({post.post_id for post in posts_of(path, confirmed)}) == 3


def test_a_table_of_tabs_without_header_is_not_cut_at_the_commas_of_its_first_text(tmp_path):
    path = tmp_path / "posts.txt"
    rows = [f"{FIRST + at}\tit is, he said, {'good, ' * (at % 3)}fine {at}\tFAVOR" for at in range(40)]
    path.write_text("\n".join(rows))
    (file,) = look(path).files
    posts = posts_of(path, [Columns(header=False, id="1", text="2", platform="x")])
    assert 'header = false, id = "1"' in file.questions[0]
    assert [post.post_id for post in posts] == [f"x:{row.split(chr(9))[0]}" for row in rows]
    assert [post.text for post in posts] == [row.split("\t")[1] for row in rows]


def test_two_separators_that_fit_are_a_question_that_the_settings_answer(tmp_path):
    path = tmp_path / "posts.csv"
    rows = [f"{FIRST + at};a, b {at}" for at in range(40)]
    path.write_text("\n".join(["nr, x;said", *rows, f"{FIRST};a"]))
    (file,) = look(path).files
    assert "can be read with" in file.questions[0]
    posts = posts_of(path, [Columns(separator=";", id="nr, x", text="said", platform="x")])
    assert [post.text for post in posts[:2]] == ["a, b 0", "a, b 1"]


def test_lines_above_the_header_of_an_export(tmp_path):
    path = tmp_path / "export.csv"
    above = ["Report:,Bulk", "Brand:,X", "From:,1 May", "To:,2 May", "Label:,all", ""]
    rows = [
        "Resource Id,Snippet,Url,Thread",
        *(f"{FIRST + at},text {at},https://a.org/{at},{at}" for at in range(9)),
    ]
    path.write_text("\n".join([*above, *rows]))
    named = {"id": "Resource Id", "text": "Snippet", "platform": "x"}
    for rule in (Columns(**named), Columns(header=7, **named)):
        posts = posts_of(path, [rule])
        assert [(post.post_id, post.text) for post in posts[:1]] == [(f"x:{FIRST}", "text 0")]
        assert len(posts) == 9


def test_lines_of_texts_and_a_named_encoding(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_bytes("чай, мёд; и\tлимнить\n{не} таблица\n".encode("koi8-r", "replace"))
    rule = Columns(lines=True, encoding="koi8-r", id="row", text="text", platform="forum")
    assert [post.text for post in posts_of(path, [rule])] == ["чай, мёд; и\tлимнить", "{не} таблица"]
    (job,) = jobs([(path, path.name)])
    (refused,) = read(job, how=ReadingOptions((Columns(encoding="koi9", id="row", platform="forum"),)))
    assert "no encoding is called 'koi9'" in refused.problem


def test_as_few_as_twenty_ids_that_floats_hold_exactly_are_refused():
    ids = [str(1_255_000_000_000_000_256 + 256 * at) for at in range(20)]
    check_ids("f.csv", ids[:19])
    check_ids("f.csv", [*ids[:19], str(int(ids[19]) + 1)])
    with pytest.raises(BrokenIds, match="all 20 long ids"):
        check_ids("f.csv", ids)


@given(st.lists(st.integers(10**15, 10**16 - 1), max_size=300, unique=True))
def test_evenly_distributed_ids_of_sixteen_digits_are_genuine(numbers):
    check_ids("f.csv", list(map(str, numbers)))
