"""A line becomes posts alone, whatever stands around it in the file."""

from __future__ import annotations

import json
import tarfile
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from openpyxl import Workbook

from covmis_build.archive import formats, streams
from covmis_build.archive.forgetting import Forget
from covmis_build.archive.post import NONE, Claimed
from covmis_build.archive.reader import EMPTIED, NO_TIME, ReadingOptions, read
from covmis_build.options import Columns
from tests.archive.test_formats import RECORD, STATUS, VIEW

X1 = {
    "id_str": "9", "full_text": "garlic &amp; more", "created_at": "x", "lang": "en", "quoted_status_id_str": "5",
    "entities": {"urls": [{"expanded_url": "https://a.org/b", "unwound": {"url": "https://a.org/c", "title": "garlic"}}]},
}  # fmt: skip
X2 = {
    "id": "9", "text": "garlic &amp; more", "created_at": "x", "lang": "en", "conversation_id": "9",
    "entities": {"urls": [{"expanded_url": "https://a.org/b", "unwound_url": "https://a.org/c", "title": "garlic"}]},
    "referenced_tweets": [{"id": "5", "type": "quoted"}, {"id": "6", "type": "retweeted", "text": "the other"}],
}  # fmt: skip
SNSCRAPED = {
    "_type": "snscrape.modules.twitter.Tweet", "id": 9, "date": "x", "rawContent": "garlic &amp; more",
    "links": [{"url": "https://a.org/b"}], "outlinks": ["https://a.org/b", "https://a.org/c"],
    "card": {"title": "garlic", "url": "https://a.org/d"}, "quotedTweet": {"id": 5, "content": "quoted"},
}  # fmt: skip
EVENT = {
    "did": "did:plc:a", "kind": "commit",
    "commit": {"operation": "create", "collection": "app.bsky.feed.post", "rkey": "3k", "record": RECORD},
}  # fmt: skip
STAMP = {"retrieved_at": "2024-01-01T00:00:00Z", "query_id": "q", "claim_id": "c", "kind": "keywords", "expression": "e", "url": "https://home.example/api"}  # fmt: skip
ROWS = {
    "x_v1": [X1, X1 | {"retweeted_status": X1}, X1 | {"quoted_status": X1, "extended_tweet": X1}, {"statuses": [X1, X1]}, {"delete": {"status": {"id_str": "9"}}}],
    "x_v2": [X2, {"data": [X2, X2 | {"id": "5"}], "includes": {"tweets": [X2 | {"id": "6"}]}, "errors": [{"value": "7"}]}, {"data": X2, "__covmis": STAMP}],
    "snscrape": [SNSCRAPED, SNSCRAPED | {"retweetedTweet": SNSCRAPED}, {"_type": "a.Tombstone", "id": 5}],
    "bluesky": [EVENT, VIEW, {"posts": [VIEW, VIEW], "__covmis": STAMP}, {"feed": [{"post": VIEW}]}],
    "mastodon": [STATUS, STATUS | {"reblog": STATUS | {"id": "7", "uri": "https://h/users/a/statuses/7"}}, {"statuses": [STATUS, STATUS], "__covmis": STAMP}],
}  # fmt: skip
ODD = st.one_of(
    st.none(), st.just(""), st.just(" "), st.just("é &amp;lt; <p>x"), st.integers(0, 9), st.just([]), st.just({}),
    st.just("https://b.example/users/b/statuses/1/activity"), st.just("a\ud83d"),
)  # fmt: skip


@st.composite
def changed(draw, row):
    """A row in which some fields, however deep, are of another value, or gone."""
    if isinstance(row, dict):
        return {name: draw(changed(value)) for name, value in row.items() if draw(st.integers(0, 19))}
    if isinstance(row, list):
        return [draw(changed(value)) for value in row]
    return row if draw(st.integers(0, 19)) else draw(ODD)


CASES = st.sampled_from([(form, row) for form, listed in ROWS.items() for row in listed])


ROW = CASES.flatmap(lambda case: st.tuples(st.just(case[0]), changed(case[1])))


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(ROW)
def test_a_line_is_unreadable_or_gives_posts_that_utf_8_can_say(case):
    form, row = case
    try:
        posts = formats.READERS[form](json.dumps(row).encode())
    except formats.UNREADABLE:
        return
    for post in posts:
        "".join(
            (post.post_id, post.native_id, post.text, post.parent_text, post.quoted_text, *post.urls)
        ).encode()
        assert post.post_id.count(":") >= 1
        assert len(set(post.urls)) == len(post.urls)
    assert NONE == []


def test_the_rows_are_posts_of_their_forms():
    for form, listed in ROWS.items():
        assert all(formats.READERS[form](json.dumps(row).encode()) for row in listed)


@pytest.mark.parametrize("form", ["x_v2", "bluesky", "mastodon"])
def test_a_stamp_is_on_all_posts_of_a_page_and_its_query_on_those_that_were_asked_for(form):
    page = next(row for row in ROWS[form] if "__covmis" in row)
    main, *others = formats.READERS[form](
        json.dumps(page | {"includes": {"tweets": [X2 | {"id": "6"}]}}).encode()
    )
    assert others
    assert {post.retrieved_at for post in (main, *others)} == {"2024-01-01T00:00:00Z"}
    assert main.claimed == (Claimed("c", "q", "keywords", "e"),)
    assert all(post.claimed == () for post in others)
    unasked = formats.READERS[form](
        json.dumps(page | {"__covmis": {"retrieved_at": "2024-01-01T00:00:00Z"}}).encode()
    )
    assert all(post.retrieved_at and not post.claimed for post in unasked)


BLANK = st.sampled_from([b"", b" ", b"\t \r"])
TORN = ROW.map(lambda case: json.dumps(case[1]).encode()).flatmap(
    lambda line: st.integers(0, len(line)).map(lambda end: line[:end])
)
WHOLE = ROW.map(lambda case: json.dumps(case[1], ensure_ascii=False).encode("utf-8", "surrogatepass"))


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(CASES, st.lists(st.one_of(WHOLE, WHOLE, TORN, BLANK), max_size=8), st.booleans())
def test_a_line_is_read_alike_wherever_it_stands(case, lines, mark):
    """Its neighbours may be of another form, torn or blank."""
    first = json.dumps(case[1]).encode()
    assume(formats.KNOWN.detect(first))
    expected, at = contents(first), len(first) + 1 + 3 * mark
    for line in lines:
        if line.strip():
            _, (_, *alone) = contents(first + b"\n" + line)
            expected.append((at, *alone))
        at += len(line) + 1
    assert contents(b"\xef\xbb\xbf" * mark + b"\n".join([first, *lines])) == expected


def contents(data: bytes) -> list[tuple]:
    """Where lines stand, and all that is read of them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        path.write_bytes(data)
        return [
            (line.place, line.form, line.posts, line.problem, dict(line.skipped), line.note)
            for job in streams.jobs([(path, path.name)])
            for line in read(job)
        ]


def test_a_line_of_another_form_an_event_and_a_torn_line_in_the_middle_of_a_file():
    lines = [json.dumps(row).encode() for row in (X1, {"limit": {"track": 3}}, EVENT, X1 | {"id_str": "10"})]
    lines.insert(2, lines[0][:40])
    told = contents(b"\n".join(lines))
    assert [(form, len(posts), skipped) for _, form, posts, _, skipped, _ in told] == [
        ("x_v1", 1, {}), ("x_v1", 0, {"other events": 1}), ("", 0, {}), ("bluesky", 1, {}), ("x_v1", 1, {}),
    ]  # fmt: skip
    assert [bool(problem) for _, _, _, problem, _, _ in told] == [False, False, True, False, False]
    assert [place for place, *_ in told] == [
        sum(len(line) + 1 for line in lines[:number]) for number in range(5)
    ]


def test_a_file_that_begins_with_a_torn_line_has_the_form_of_its_first_whole_line():
    whole, alone = json.dumps(SNSCRAPED).encode(), b'{"_type": "a.Tombstone", "id": 5}'
    assert formats.KNOWN.detect(alone) == ""
    told = contents(b"\n".join([whole[:30], whole, alone]))
    assert [(form, len(posts)) for _, form, posts, *_ in told] == [("", 0), ("snscrape", 2), ("snscrape", 1)]


def test_each_member_of_a_packed_file_has_a_form_of_its_own(tmp_path):
    path = tmp_path / "a.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for form, rows in ROWS.items():
            (tmp_path / form).write_text(
                "\n".join(json.dumps(row) for row in rows if formats.KNOWN.form_of(row))
            )
            archive.add(tmp_path / form, f"{form}.jsonl")
    (job,) = streams.jobs([(path, path.name)])
    lines = list(read(job))
    assert {(line.file, line.form) for line in lines} == {(f"a.tar.gz!{form}.jsonl", form) for form in ROWS}
    assert not any(line.problem for line in lines)


def test_half_a_surrogate_pair_in_a_list_of_a_cell_is_mended(tmp_path):
    path = tmp_path / "a.xlsx"
    book = Workbook()
    values = {"text": "garlic", "urls": '["https://a.org/\\ud83d"]'}
    book.active.append(["tweet_id", *values])
    book.active.append(["1252934402983763968", *values.values()])
    book.save(path)
    (job,) = streams.jobs([(path, path.name)])
    ((post,),) = (line.posts for line in read(job) if line.posts)
    assert "\ufffd" in post.urls[0]


def test_a_row_with_no_time_and_a_count_out_of_range_has_both_notes(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"id,timestamp_utc,user_screen_name,text,like_count\n5,,a,garlic,{'9' * 30}\n")
    (job,) = streams.jobs([(path, path.name)])
    (line,) = read(job)
    assert (line.note, line.posts[0].metrics) == (f"{NO_TIME}; {EMPTIED}", (None, None, None, None))


@pytest.mark.parametrize("count", [2**63, 2**64 - 1, -(2**63)])
@pytest.mark.parametrize("name", ["reply_count", "retweet_count", "favorite_count", "quote_count"])
def test_each_count_out_of_range_is_left_out_with_a_note(name, count):
    fine, other = contents(b"\n".join(json.dumps(X1 | {name: number}).encode() for number in (7, count)))
    assert (fine[-1], other[-1]) == ("", EMPTIED)
    assert 7 in fine[2][0].metrics
    assert other[2][0].metrics == (None,) * 4


def test_a_forgotten_post_is_gone_in_lines_of_the_file_s_form_and_of_others(tmp_path):
    path = tmp_path / "a.jsonl"
    rows = [X1 | {"id_str": "1234567"}, X1 | {"id_str": "1234568"}, SNSCRAPED | {"id": 1234569}]
    path.write_text("\n".join(map(json.dumps, rows)))
    (job,) = streams.jobs([(path, path.name)])
    forget = Forget(frozenset({"x:1234568", "x:1234569"}))
    told = [
        (line.form, post.post_id, post.availability) for line in read(job, forget) for post in line.posts[:1]
    ]
    assert told[:2] == [("x_v1", "x:1234567", "available"), ("x_v1", "x:1234568", "purged")]
    assert ("snscrape", "x:1234569", "purged") in [
        (line.form, post.post_id, post.availability) for line in read(job, forget) for post in line.posts
    ]


def test_a_page_of_interface_2_has_posts_that_nobody_refers_to_and_texts_of_its_own_posts():
    quoting = {"id": "1", "text": "look", "referenced_tweets": [{"type": "quoted", "id": "2"}]}
    quoted, alone = {"id": "2", "text": "the quoted"}, {"id": "3", "text": "alone"}
    posts = formats.READERS["x_v2"](json.dumps({"data": [quoting, quoted]}).encode())
    assert [(post.post_id, post.quoted_text) for post in posts] == [("x:1", "the quoted"), ("x:2", "")]
    page = {"data": [quoting], "includes": {"tweets": [quoted, alone, quoted | {"text": "another copy"}]}}
    posts = formats.READERS["x_v2"](json.dumps(page).encode())
    assert [post.post_id for post in posts] == ["x:1", "x:2", "x:3"]


def test_of_two_copies_on_a_page_the_first_counts():
    page = {"statuses": [STATUS, STATUS | {"replies_count": 9}]}
    first, _ = formats.READERS["mastodon"](json.dumps(page).encode())
    assert first.metrics[0] == STATUS["replies_count"]


def test_an_address_that_a_post_has_twice_is_listed_once():
    url = {"expanded_url": "https://a.org/b", "unwound": {"url": "https://a.org/b"}}
    (post,) = formats.READERS["x_v1"](
        json.dumps({"id_str": "9", "text": "x", "entities": {"urls": [url]}}).encode()
    )
    assert post.urls == ["https://a.org/b"]
    facet = {"features": [{"uri": "https://a.org/b"}]}
    commit = EVENT["commit"] | {"record": {"text": "x", "facets": [facet, facet]}}
    (post,) = formats.READERS["bluesky"](json.dumps(EVENT | {"commit": commit}).encode())
    assert post.urls == ["https://a.org/b"]


def test_a_quoted_post_without_an_id_is_no_post_of_its_own():
    (post,) = formats.READERS["x_v1"](json.dumps(X1 | {"quoted_status": {"text": "quoted"}}).encode())
    assert (post.post_id, post.quoted_text) == ("x:9", "quoted")


def rows_of(tmp_path, text: str, *rules: Columns) -> list[tuple]:
    """The ids and availability of a table's posts, or what is wrong with a row."""
    (tmp_path / "a.csv").write_text(text)
    (job,) = streams.jobs([(tmp_path / "a.csv", "a.csv")])
    return [
        (line.posts[0].post_id, line.posts[0].availability) if line.posts else line.problem
        for line in read(job, how=ReadingOptions(rules))
        if line.place
    ]


def test_an_id_of_two_columns_is_joined_by_a_slash(tmp_path):
    rule = Columns(files="*", platform="forum", id=["thread", "post"], text="text")
    assert rows_of(tmp_path, "thread,post,text\n1,2,garlic\n", rule) == [("forum:1/2", "available")]


def test_a_line_of_blank_cells_is_no_row_and_an_id_alone_is_no_available_post(tmp_path):
    assert rows_of(tmp_path, "tweet_id,lang\n5,en\n , \n6,\n") == [("x:5", "id only"), ("x:6", "id only")]
