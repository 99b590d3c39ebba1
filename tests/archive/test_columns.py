"""Times, ids and columns of unknown files: settled for the whole file, or asked; never guessed in silence."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from dataclasses import replace
from functools import partial

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covmis_build.archive import columns, dates, formats, streams
from covmis_build.archive.post import Post
from covmis_build.archive.reader import ReadingOptions, open_job, read
from covmis_build.errors import InputError
from covmis_build.files.reading import open_table, read_table
from covmis_build.options import Columns
from covmis_build.storage import csv_bytes

DAY = "2020-04-22T10:00:00Z"


@pytest.mark.parametrize(
    ("cell", "form"),
    [
        ("1587549600", dates.Form.SECONDS), ("1587549600.0", dates.Form.SECONDS), ("1587549600000", dates.Form.MILLISECONDS),
        ("1587549600000000", dates.Form.MICROSECONDS), ("1587549600000000000", dates.Form.NANOSECONDS),
        ("2020-04-22T10:00:00.000Z", dates.Form.ISO), ("2020-04-22 12:00:00+02:00", dates.Form.ISO),
        ("2020-04-22 10:00:00.123456789", dates.Form.ISO), ("Wed Apr 22 10:00:00 +0000 2020", dates.Form.RFC_2822),
        ("Wed, 22 Apr 2020 12:00:00 +0200", dates.Form.RFC_2822), ("2020-04-22 05:00:00 CDT", dates.Form.LETTERS),
        ("43943.4166666667", dates.Form.EXCEL_DAYS), ("22/04/2020 10:00", dates.Form.DAY_FIRST),
        ("4/22/2020 10:00 AM", dates.Form.MONTH_FIRST), ("22.04.2020 10:00:00", dates.Form.DAY_FIRST),
    ],
)  # fmt: skip
def test_every_form_of_time(cell, form):
    settled = dates.settle([cell, ""])
    assert (settled.form, settled.read(cell), settled.problem) == (form, DAY, "")


def test_one_cell_above_twelve_settles_the_column_and_none_asks():
    assert dates.settle(["04/05/2020", "13/05/2020"]).read("04/05/2020") == "2020-05-04T00:00:00Z"
    assert dates.settle(["04/05/2020", "04/13/2020"]).read("04/05/2020") == "2020-04-05T00:00:00Z"
    unsure = dates.settle(["04/05/2020", "01/02/2020"])
    assert "day 04 of month 05, or day 05 of month 04" in unsure.problem
    assert unsure.read("04/05/2020") == ""
    assert "day 12 of month 05" in dates.settle(["12/05/2020"]).problem, "twelve tells nothing"
    assert "some have the day first, some the month" in dates.settle(["13/05/2020", "05/13/2020"]).problem


@pytest.mark.parametrize(
    ("cell", "zone", "time", "told"),
    [
        ("Tue, 15 Sep 2020 09:30:00 +0530", "", "04:00", ""),
        ("Tue, 15 Sep 2020 09:30:00 CEST", "", "07:30", "zones by letters: CEST +2 h"),
        ("Tue, 15 Sep 2020 09:30:00 +0200 (IST)", "", "07:30", ""),
        ("Tue, 15 Sep 2020 09:30:00 IST", "Asia/Kolkata", "04:00", ""),
        ("Tue Sep 15 2020 09:30:00 GMT+0200 (Central European Summer Time)", "Asia/Kolkata", "07:30", ""),
        ("Tue, 15 Sep 2020 09:30:00 +05:30", "Europe/Berlin", "04:00", ""),
        ("Tue, 15 Sep 2020 09:30:00 UTC-5", "Europe/Berlin", "14:30", ""),
        ("Tue, 15 Sep 2020 09:30:00 -0000", "Europe/Berlin", "09:30", ""),
        ("Tue, 15 Sep 2020 09:30:00", "", "09:30", "times without a zone are treated as UTC"),
        ("Tue, 15 Sep 2020 09:30:00", "Europe/Berlin", "07:30", ""),
        ("Tue Sep 15 09:30:00 CEST 2020", "", "07:30", "zones by letters: CEST +2 h"),
    ],
)
def test_a_time_in_words_has_its_zone_or_the_files(cell, zone, time, told):
    settled = dates.settle([cell], zone=zone)
    assert (settled.read(cell), settled.problem) == (f"2020-09-15T{time}:00Z", "")
    assert settled.note.startswith(told)
    assert bool(settled.note) == bool(told)


def test_times_in_words_of_which_nobody_knows_the_zone_or_the_half_of_the_day_are_not_read():
    assert "the zone IST may mean several" in dates.settle(["Tue, 15 Sep 2020 09:30:00 IST"]).problem
    assert dates.settle([cell := "Tue, 15 Sep 2020 09:30 PM"]).read(cell) == ""


@pytest.mark.parametrize(
    ("clock", "time"),
    [("12:30 AM", "00:30"), ("1:05 am", "01:05"), ("12:30 PM", "12:30"), ("11:05 pm", "23:05")],
)
def test_clocks_of_twelve_hours(clock, time):
    settled = dates.settle([f"9/15/2020 {clock}"], zone="UTC")
    assert settled.read(f"9/15/2020 {clock}") == f"2020-09-15T{time}:00Z"


def test_a_year_of_two_digits_may_stand_first():
    unsure = dates.settle(["20/09/15 04:00", "20/09/16 04:00", "20/10/17 04:00"])
    assert "'20/09/15 04:00' may begin with either" in unsure.problem
    days = [f"{day}/09/20" for day in range(10, 29)]
    assert dates.settle(days).read("15/09/20") == "2020-09-15T00:00:00Z", "days vary, years hardly"
    assert dates.settle(["22.04.20"]).read("22.04.20") == "2020-04-22T00:00:00Z", (
        "with points, days stand first"
    )


def test_zones():
    assert dates.settle(["2020-04-22 12:00"], zone="Europe/Berlin").read("2020-04-22 12:00") == DAY
    assert "treated as UTC" in dates.settle(["2020-04-22 12:00"]).note
    assert dates.settle([DAY]).note == ""
    assert "IST may mean several" in dates.settle(["2020-04-22 12:00:00 IST"]).problem


@given(st.lists(st.text(max_size=30)))
def test_times_never_break(cells):
    settled = dates.settle(cells)
    assert all(settled.read(cell) == "" or len(settled.read(cell)) == 20 for cell in cells)


@pytest.fixture
def file(tmp_path):
    def write(text, name="posts.csv"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def reads(path, *rules, claims=()):
    (job,) = streams.jobs([(path, f"archive/{path.name}")])
    return [
        one for one in read(job, how=ReadingOptions(rules, frozenset(claims))) if one.posts or one.problem
    ]


def question(path, *rules):
    (job,) = streams.jobs([(path, f"archive/{path.name}")])
    return " ".join(open_job(job, ReadingOptions(rules)).understood.questions)


def test_an_index_column_is_no_claim_and_no_id(file):
    path = file(f",created_at,id,text\n0,{DAY},1252934402983700001,a\n1,{DAY},1252934402983700002,b\n")
    assert [one.posts[0].claimed for one in reads(path, claims={"0", "1"})] == [(), ()]
    assert "no column of post ids" in question(file("index,text\n0,a\n1,b\n", "other.csv"))


def test_bare_numbers_are_asked_about_unless_something_says_whose_they_are(file):
    tiktok = file("id,text,created\n6924226890000000001,hello,2021-02-01T09:36:43Z\n")
    assert "which platform are ids such as" in question(tiktok)
    rule = Columns("*.csv", platform="tiktok", created_at="created")
    assert question(tiktok, rule) == ""
    (one,) = reads(tiktok, rule)
    assert (one.posts[0].post_id, one.posts[0].platform) == ("tiktok:6924226890000000001", "tiktok")


def test_a_day_and_a_clock_in_two_columns_are_a_time(file):
    path = file("tweet_id,text,jour,heure\n1,a,17/05/2022,12:29:44\n2,b,18/05/2022,\n3,c,30/05/2022,2:03\n")
    read = reads(path, Columns(created_at=["jour", "heure"], timezone="Europe/Paris"))
    times = ["2022-05-17T10:29:44Z", "2022-05-17T22:00:00Z", "2022-05-30T00:03:00Z"]
    assert [one.posts[0].created_at for one in read] == times


def test_a_time_is_never_the_ids_unless_the_study_says_so(file):
    for told, time, note in (
        ("yesterday", "", "no time that can be read"),
        ("2020-04-22", "2020-04-22T00:00:00Z", ""),
    ):
        path = file(f"tweet_id,text,created_at\n1252934402983700001,a,{told}\n")
        (one,) = reads(path)
        assert (one.posts[0].created_at, one.note) == (time, note)
        (one,) = reads(path, Columns(time_from_id=True))
        assert (one.posts[0].created_at, one.note) == ("2020-04-22T12:16:54Z", "time taken from the id")


def test_ids_that_no_number_can_be_are_rows_that_cannot_be_read(file):
    path = file(f"tweet_id,text\n²,a\n{'1' * 5000},b\n7,c\n")
    assert [[post.post_id for post in one.posts] for one in reads(path)] == [[], [], ["x:7"]]
    few = file("tweet_id,text\n1,a\n2,b\n", "few.csv")
    (job,) = streams.jobs([(few, "archive/few.csv")])
    assert any("look like row numbers" in note for note in open_job(job, ReadingOptions()).understood.notes)


def test_a_forum_by_its_rule(file):
    path = file(
        'nr;title;body;posted;kind;links\n7;Head;"Text &amp; more";22.04.2020 12:00;share;https://a.org/x,y https://b.org\n'
    )
    rule = Columns(
        "*.csv", platform="forum", id="nr", text=["title", "body"], created_at="posted", date_format="%d.%m.%Y %H:%M",
        timezone="Europe/Berlin", urls="links", urls_separator=" ", repost={"column": "kind", "is": "share"}, escapes="x",
    )  # fmt: skip
    (one,) = reads(path, rule)
    post = one.posts[0]
    assert (post.post_id, post.text, post.created_at) == ("forum:7", "Head\n\nText & more", DAY)
    assert (post.urls, post.repost_of) == (["https://a.org/x,y", "https://b.org"], "?")
    with pytest.raises(InputError, match="has no column 'nummer'"):
        question(path, Columns("*.csv", platform="forum", id="nummer"))


def test_ids_that_are_made_do_not_change_when_rows_are_sorted(file):
    rule = Columns(platform="forum", id="")
    one = {read.posts[0].post_id for read in reads(file("text,date\na,2020-01-01\nb,2020-01-02\n"), rule)}
    other = {
        read.posts[0].post_id
        for read in reads(file("text,date\nb,2020-01-02\na,2020-01-01\n", "o.csv"), rule)
    }
    assert one == other
    assert all(post_id.startswith("forum:row:") for post_id in one)


def test_rows_without_ids_are_numbered_by_a_setting_that_the_question_names(file):
    path = file("text,date\nsame,2020-01-01\nsame,2020-01-01\n")
    assert 'id = "row" (the row' in question(path)
    assert 'platform = "forum"' in question(path, Columns(id="row"))
    rule = Columns(id="row", platform="forum")
    ids = [one.posts[0].post_id for one in reads(path, rule)]
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    assert ids == [f"forum:row:{digest}:2", f"forum:row:{digest}:3"]
    other = file("text,date\nsame,2020-01-01\nother,2020-01-01\n", "o.csv")
    assert not {one.posts[0].post_id for one in reads(other, rule)} & set(ids), "files do not share ids"
    named = file("row,text\n7,a\n", "named.csv")
    assert [one.posts[0].post_id for one in reads(named, rule)] == ["forum:7"], (
        "a column of this name is a column"
    )
    (job,) = streams.jobs([(path, "archive/posts.csv")])
    assert 'id = "row"' in columns.to_paste(open_job(job, ReadingOptions((rule,))).understood, "posts.csv")


def test_a_column_of_addresses_is_proposed_and_the_pasted_lines_read_it(file):
    path = file("who,link,words\na,https://www.tiktok.com/share/video/7203375632661695749,hello\n")
    assert 'id = "link"' in question(path)
    rule = Columns(id="link", text="words")
    assert [one.posts[0].post_id for one in reads(path, rule)] == ["tiktok:7203375632661695749"]


@pytest.mark.parametrize(
    ("ids", "read", "asked"),
    [
        (["t3_1grw0wj", "t1_fx1abc"], ["reddit:t3_1grw0wj", "reddit:t1_fx1abc"], ""),
        (["7331091005_10154123560186006"], ["facebook:7331091005_10154123560186006"], ""),
        (["a-7", "b-8"], [], "which platform are ids such as a-7 from"),
        (["forum:a-7", "https://x.com/a/status/5"], ["forum:a-7", "x:5"], ""),
    ],
)
def test_ids_that_are_no_numbers_are_known_or_asked_about(file, ids, read, asked):
    path = file("id,text\n" + "".join(f"{native},hello\n" for native in ids))
    assert asked in question(path)
    assert bool(question(path)) == bool(asked)
    assert [one.posts[0].post_id for one in reads(path) if one.posts] == read


def test_a_column_that_says_what_is_a_repost(file):
    rows = "".join(
        f"125293440298370000{at},{flag},hello\n" for at, flag in enumerate(["TRUE", "FALSE", "NA"])
    )
    path = file(f"status_id,is_retweet,text\n{rows}")
    assert [one.posts[0].repost_of for one in reads(path)] == ["?", "", ""]
    rule = Columns(repost={"column": "is_retweet", "is": "FALSE"})
    assert [one.posts[0].repost_of for one in reads(path, rule)] == ["", "?", ""], "a rule decides"


def test_a_text_that_begins_as_a_retweet_is_a_repost(file):
    """Also without its colon, and where the ids are somebody's own; on other platforms it is a text."""
    texts = ["RT @a: hello", "RT @a :hello", "RT @a hello", "so true RT @a: hello", "RT @ home", "RTs @a"]
    path = file("nr,text\n" + "".join(f"{at},{text}\n" for at, text in enumerate(texts, 1)))
    for platform, expected in (
        ("x", ["?"] * 3 + [""] * 3),
        ("mine", ["?"] * 3 + [""] * 3),
        ("reddit", [""] * 6),
    ):
        read = reads(path, Columns(id="nr", platform=platform))
        assert [one.posts[0].repost_of for one in read] == expected, platform


def test_a_column_retweet_tells_reposts_only_if_it_says_yes_or_no(file, tmp_path):
    rows = "status_id,retweet,text\n" + "".join(f"12529344029837000{at},{{}},hello\n" for at in range(10, 13))
    flags = file(rows.format("1", "0", ""), "flags.csv")
    assert [one.posts[0].repost_of for one in reads(flags)] == ["?", "", ""]
    counts = reads(file(rows.format("1", "0", "12"), "counts.csv"))
    assert [post.repost_of for one in counts for post in one.posts] == ["", "", ""]
    (job,) = streams.jobs([(tmp_path / "counts.csv", "archive/counts.csv")])
    assert any(
        "the column retweet is not used for reposts" in note
        for note in open_job(job, ReadingOptions()).understood.notes
    )


def test_rows_without_text_are_counted_and_a_title_is_proposed(file):
    path = file("id,title,content\nt3_1grw0wj,Head,\nt3_1grw0wk,Other,words\n")
    (job,) = streams.jobs([(path, "archive/posts.csv")])
    notes = open_job(job, ReadingOptions()).understood.notes
    assert (
        'rows without text in the column content: 1 of 2; text = ["title", "content"] adds the title' in notes
    )
    first = reads(path, Columns(id="id", text=["title", "content"], platform="reddit"))[0]
    assert first.posts[0].text == "Head"


def test_ids_are_never_made_for_a_platform_that_is_asked_by_id(file):
    path = file("text\nhello\n")
    for made in ("", "row"):
        assert "need a new platform name" in question(path, Columns(id=made, platform="x"))
        assert question(path, Columns(id=made, platform="x-export")) == ""


def test_a_number_of_the_text_is_an_id_only_where_nothing_better_is_there(file):
    address = "https://x.com/a/status/1252934402983700001"
    path = file(f"text_id,url,text,date\n1,{address},hello,2020-04-22\n")
    assert [line.posts[0].post_id for line in reads(path)] == ["x:1252934402983700001"]
    assert "no column of post ids" not in question(file("text_id,text\n7,hello\n", "other.csv"))


def test_made_ids_repeat_no_other(file):
    path = file("post_id,text\nt1,hello\nt2,hello\nt1,hello\n,hello\n")
    for id_, said in (("", False), ("row", False), ("post_id", True)):
        notes = open_job(
            streams.jobs([(path, path.name)])[0],
            ReadingOptions((Columns(id=id_, text="text", platform="forum"),)),
        ).understood.notes
        assert ("rows with the id of another row, which count once with it: 1" in notes) == said


def test_a_first_line_that_is_no_header_is_said_where_it_cannot_be_read(file):
    path = file('"923145786719862785","Garlic cures","0","0"\n"923145786719862786","Onions","1","0"\n')
    (problem,) = [one.problem for one in reads(path)]
    assert "header = false" in problem
    rule = Columns(header=False, id="1", text="2", platform="x")
    assert [one.posts[0].text for one in reads(path, rule)] == ["Garlic cures", "Onions"]
    dated = file("2016-06-26 18:36,words\n2016-06-27 18:36,more\n", "dated.csv")
    assert 'header = false, id = "row"' in question(dated)


def test_days_without_a_time_of_day_are_named_and_two_columns_are_joined(file):
    path = file(
        "status_id,text,date,hour\n1252934402983700001,a,2020-04-22,10:00:00\n1252934402983700002,b,2020-04-22,11:00:00\n"
    )
    (job,) = streams.jobs([(path, "archive/posts.csv")])
    rule = Columns(id="status_id", platform="x")
    notes = open_job(job, ReadingOptions((rule,))).understood.notes
    assert any(note.startswith("times have no time of day") for note in notes)
    (job,) = streams.jobs([(path, "archive/posts.csv")])
    joined = replace(rule, created_at=["date", "hour"])
    assert not any(
        "time of day" in note for note in open_job(job, ReadingOptions((joined,))).understood.notes
    )


def test_a_file_without_times_says_so_once(file):
    path = file("status_id,text\n1252934402983700001,hello\n")
    assert [one.note for one in reads(path)] == [""]
    (job,) = streams.jobs([(path, "archive/posts.csv")])
    assert any(
        note.startswith("no column of times") for note in open_job(job, ReadingOptions()).understood.notes
    )


def understood(path):
    (job,) = streams.jobs([(path, "archive/posts.csv")])
    return open_job(job, ReadingOptions()).understood


@pytest.mark.parametrize(
    ("header", "rows", "chosen"),
    [
        ("datetime,Date", ["2021-01-16 03:19:19+00:00,16/01/2021"], "datetime"),
        ("Date,datetime", ["16/01/2021,2021-01-16 03:19:19", ",2021-01-16 03:19:19", "17/01/2021,"], "datetime"),
        ("date,timestamp", ["2021-01-16 03:19,1610767159"], "timestamp"),
        ("date,time", ["2021-01-16,03:19"], "date"),
        ("created_at,date", ["2021-01-16 03:19:19+00:00,2021-01-16 03:19:19+00:00"], "created_at"),
        ("created_at,timestamp", ["2021-01-16 03:19:19,2023-05-01T10:00:00Z"], "created_at"),
        ("date,posted", ["43943,Wed Apr 22 10:00:00 +0000 2020"], "posted"),
        ("created_at,date", ["soon,2021-01-16"], "date"),
    ],
)  # fmt: skip
def test_of_several_times_the_most_exact_of_the_same_days_is_read(file, header, rows, chosen):
    seen = understood(file("\n".join([f"status_id,text,{header}", *(f"{at},hello,{row}" for at, row in enumerate(rows, 1252934402983700001))])))  # fmt: skip
    assert seen.taken["created_at"] == [chosen]
    first = next(name for name in ("created_at", "date", "Date") if name in header.split(","))
    assert any(f"more exact than {first}" in note for note in seen.notes) == (chosen != first)


def test_a_column_of_times_that_the_study_names_is_read_however_exact_others_are(file):
    path = file(
        "status_id,text,datetime,Date\n1252934402983700001,hello,2021-01-16 03:19:19+00:00,16/01/2021\n"
    )
    (line,) = reads(path, Columns(created_at="Date", platform="x"))
    assert line.posts[0].created_at == "2021-01-16T00:00:00Z"


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("16/01/2021", "Date: read as day/month/year"),
        ("01/16/2021", "Date: read as month/day/year"),
        ("43943", "Date: read as days since 1899-12-30"),
        ("2021-01-16", ""),
        ("2021-01-16 05:00 CDT", ""),
    ],
)
def test_the_form_of_times_is_named_unless_it_is_iso(file, cell, said):
    notes = understood(file(f"status_id,text,Date\n1252934402983700001,hello,{cell}\n")).notes
    assert [note for note in notes if "read as" in note] == [said] * bool(said)


TEXTS_OF_OTHERS = ["'@who said that' is a lie", "@who garlic", "'tis garlic", "''"]


@pytest.mark.parametrize(
    "texts",
    [
        TEXTS_OF_OTHERS,
        TEXTS_OF_OTHERS[:2],
        ["'@who' and 'b'", "'a'"],
        ["plain", "- a list"],
        ["''Two''", "'=a'"],
    ],
)
def test_an_apostrophe_in_front_belongs_to_the_text(file, texts):
    rows = [{"tweet_id": 1252934402983700001 + at, "text": text} for at, text in enumerate(texts)]
    path = file(pd.DataFrame(rows).to_csv(index=False))
    assert [one.posts[0].text for one in reads(path)] == texts


@pytest.mark.parametrize("texts", [["@who garlic", "plain"], ["=1+1", "'tis", "- a list"]])
def test_an_apostrophe_that_covmis_put_there_is_taken_away(file, texts):
    rows = [("i", 1252934402983700001 + at, text) for at, text in enumerate(texts)]
    path = file(csv_bytes(["item_id", "tweet_id", "text"], rows).decode())
    assert [one.posts[0].text for one in reads(path)] == texts
    (job,) = streams.jobs([(path, "archive/posts.csv")])
    assert any("apostrophe" in note for note in open_job(job, ReadingOptions()).understood.notes)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_csv_of_every_separator_and_encoding(tmp_path, separator, encoding):
    path = tmp_path / "any.dat"
    path.write_bytes(
        f"tweet_id{separator}text\r\n1252934402983700001{separator}Käse für alle\r\n".encode(encoding)
    )
    (one,) = reads(path)
    assert one.posts[0].text == "Käse für alle"


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_a_line_may_end_inside_a_headers_cell_and_other_separators_stand_there(tmp_path, separator):
    head = separator.join(['"Posted, at; or |\nnight"', "text", "tweet_id"])
    path = tmp_path / "any.csv"
    path.write_text(f"{head}\n{separator.join(['1', 'words', '1252934402983700001'])}\n")
    (one,) = reads(path)
    assert one.posts[0].text == "words"


X_ID = 1252934402983700000
"""An id like X's, from which these tests count on."""


def test_between_tabs_quotation_marks_are_signs_where_every_line_has_all_cells(tmp_path):
    """As MySQL, SemEval and many a script write them; quoted, the third text would take in the fourth row."""
    texts = ["plain", '"No!" she said', '"to be', 'or not to be"', "x\u2028y"]
    path = tmp_path / "posts.tsv"
    path.write_text(
        "tweet_id\ttext\n" + "".join(f"{X_ID + number}\t{text}\n" for number, text in enumerate(texts))
    )
    assert [line.posts[0].text for line in reads(path) if line.posts] == texts
    (job,) = streams.jobs([(path, "archive/posts.tsv")])
    assert (
        "quotation marks are read as parts of the texts" in open_job(job, ReadingOptions()).understood.notes
    )


def test_rows_between_tabs_that_would_become_one_are_refused(tmp_path):
    """A single line without all its cells, and nobody knows whether quotation marks quote: no row is taken in silently."""
    lines = ["plain\tme", '"to be\tme', 'or not to be"\tme', "no author"]
    path = tmp_path / "posts.tsv"
    path.write_text(
        "tweet_id\ttext\tby\n" + "".join(f"{X_ID + number}\t{line}\n" for number, line in enumerate(lines))
    )
    with pytest.raises(
        InputError, match=r"is one row with 2 lines.*and 2 rows if.* line 5 has 2, not 3"
    ) as caught:
        open_table(partial(path.open, "rb"))
    assert caught.value.row == 3
    with pytest.raises(InputError, match=r"posts\.tsv, row 3: is one row with 2 lines"):
        read_table(path)


def test_a_text_of_several_lines_with_tabs_in_them_is_one_cell(tmp_path):
    path = tmp_path / "posts.tsv"
    path.write_text(f'tweet_id\ttext\tby\n{X_ID}\t"to be\n\tor not\nto be"\tme\n')
    assert [cells[1] for _, cells, _ in open_table(partial(path.open, "rb")).rows()] == [
        "to be\n\tor not\nto be"
    ]


@given(st.lists(st.text(alphabet='"ab\n') | st.text(alphabet='"ab\t'), min_size=1))
def test_quoted_cells_between_tabs_are_read_as_they_were_written(texts):
    written = io.StringIO()
    rows = [["id", "text", "by"], *([f"{X_ID + number}", text, "me"] for number, text in enumerate(texts))]
    csv.writer(written, delimiter="\t").writerows(rows)
    table = open_table(lambda: io.BytesIO(written.getvalue().encode()))
    assert [cells for _, cells, _ in table.rows()] == rows[1:]


def test_quotation_marks_that_r_escapes_are_no_signs(tmp_path):
    """`write.table(sep="\\t")`: its cells are quoted, and a mark in them is not doubled."""
    path = tmp_path / "posts.tsv"
    path.write_text(f'"tweet_id"\t"text"\n"{X_ID}"\t"he said \\\\"x\\\\" ok"\n'.replace("\\\\", "\\"))
    with pytest.raises(
        InputError, match=r'is not readable as CSV.*must be doubled \(in R: qmethod = "double"\)'
    ):
        list(open_table(partial(path.open, "rb")).rows())


def test_columns_that_only_later_rows_have_are_columns(tmp_path):
    """A file that goes on with another program's rows."""
    first = [{"id": f"{X_ID + number}", "full_text": "early"} for number in range(10_010)]
    late = {"id": f"{X_ID - 1}", "text": "late"}
    path = tmp_path / "posts.jsonl"
    path.write_text("\ufeff" + "".join(json.dumps(row) + "\n" for row in [*first, late]), "utf-8")
    assert open_table(partial(path.open, "rb")).header == ["id", "full_text", "text"]
    assert [cells for _, cells, _ in open_table(partial(path.open, "rb")).rows()][-1] == [
        late["id"],
        "",
        "late",
    ]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = {
    "reddit": ["id", "name", "subreddit", "created_utc", "body", "title", "data", "link_id"],
    "telegram": ["_", "peer_id", "id", "message", "date", "messages", "chats", "type", "entities"],
    "youtube": ["kind", "id", "snippet", "items", "replies"],
    "tiktok": ["id", "create_time", "video_description", "data"],
    "crowdtangle": ["platformId", "postUrl", "platform", "date", "result", "message"],
    "zeeschuimer": ["source_platform", "data", "rest_id", "legacy", "desc", "createTime"],
    "x_graphql": ["data", "tweet_results", "tweetResult", "instructions", "result"],
    "mastodon_archive": ["type", "orderedItems", "object", "actor", "id", "to", "content", "published"],
    "x_archive": ["tweet", "full_text", "id_str", "retweet_count", "created_at"],
    "covmis": ["covmis_post", "post_id", "text", "urls", "metrics"],
}


@pytest.mark.parametrize("form", KEYS)
def test_a_row_of_anything_is_unreadable_or_a_post(form):
    """Whatever stands in a field: no error of another kind, and no post without an id."""

    @settings(max_examples=40)
    @given(st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS[form], VALUES)))
    def check(row):
        try:
            posts = formats.READERS[form](json.dumps(row).encode())
        except formats.UNREADABLE:
            return
        assert all(isinstance(post, Post) and post.post_id.partition(":")[2] for post in posts)

    check()
