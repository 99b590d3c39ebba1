"""Words of texts: which posts have them, how rare they are, which posts are nearest."""

from __future__ import annotations

import math
import resource

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from covmis_build import tables
from covmis_build.archive import words_file
from covmis_build.archive.counted import CountedPosts, Counting
from covmis_build.archive.post import Post
from covmis_build.archive.store import rows
from covmis_build.archive.words import Words
from covmis_build.errors import InputError
from covmis_build.text.expression import parse
from covmis_build.text.numbering import Numbering
from covmis_build.text.tokens import tokens
from tests import killing
from tests.queries.test_try_and_run import FIRST, SAID, written
from tests.text.test_expression import TEXTS, queries

ALL = Counting()
NONE = tables.SCHEMAS["older_copies"].empty_table()


def post(number, text="", **more):
    return Post(f"x:{number}", str(number), "x", text, **more)


def opened(folder, *parts, older=NONE, counting=ALL):
    return Words(
        CountedPosts([folder / f"{part}.parquet" for part in parts], older, counting), folder / "words"
    )


def words_of(folder, posts):
    pq.write_table(rows(posts, [0] * len(posts), [("", "")] * len(posts)), folder / "posts.parquet")
    return opened(folder, "posts")


def count(words, expression):
    return len(words.rows(parse(expression).node))


@settings(max_examples=200)
@given(st.lists(st.lists(st.one_of(st.text(max_size=30), SAID.map(" ".join)), max_size=5), max_size=3))
@example([["90", "1\u0430"], ["", "ﬁ ½ ㌀ ﷺ…"], ["가\u1161 é\u0301 İ"]])
def test_texts_are_cut_as_the_tokeniser_cuts_them(blocks):
    numbering = Numbering()
    for block in blocks:
        numbering.add(
            pa.array([text.encode("utf-8", "replace").decode() for text in block], pa.string()).slice(0)
        )
    numbered, texts = (
        numbering.done(),
        [text.encode("utf-8", "replace").decode() for block in blocks for text in block],
    )
    words = numbered.words.to_pylist()
    assert words == sorted(set(words)) == sorted({word for text in texts for word in tokens(text)})
    for at, text in enumerate(texts):
        begin, end = numbered.start[at], numbered.start[at + 1] - 1
        assert [words[number - 1] for number in numbered.tokens[begin:end]] == tokens(text)
        assert numbered.tokens[end] == 0
    for at, word in enumerate(words):
        found = numbered.texts[numbered.first[at] : numbered.first[at + 1]].tolist()
        assert found == [number for number, text in enumerate(texts) for one in tokens(text) if one == word]


def test_a_column_that_is_a_slice_is_cut_from_where_it_begins():
    numbering = Numbering()
    numbering.add(pa.array(["no no", "a b/C", "f", "no"]).slice(1, 2))
    numbered = numbering.done()
    assert numbered.words.to_pylist() == ["a", "b", "c", "f"]
    assert numbered.start.tolist() == [0, 4, 6]


@settings(max_examples=60)
@given(st.lists(TEXTS, min_size=1, max_size=8), st.lists(queries(), min_size=1, max_size=4))
def test_they_count_what_matches(tmp_path_factory, texts, asked):
    words = words_of(tmp_path_factory.mktemp("words"), [post(at + 1, text) for at, text in enumerate(texts)])
    for query in asked:
        assert count(words, query) == sum(parse(query).matches(text) for text in texts)
    for token in {token for text in texts for token in tokens(text)}:
        having = sum(token in tokens(text) for text in texts)
        assert words.frequency(token) == words.beginning_with(token)[token] == having


def test_words_of_titles_are_no_words_of_the_text(tmp_path):
    cards = [("", "Garlic cures it", "")]
    words = words_of(tmp_path, [post(1, "see", cards=cards), post(2, "garlic cures it")])
    assert words.frequency("garlic") == 1
    assert words.beginning_with("gar") == {"garlic": 1}


def test_only_posts_that_count_have_words(tmp_path):
    posts = [post(1, "garlic", created_at=FIRST), post(1, "garlic soup", created_at=FIRST), post(2, "garlic"),
             post(3, "garlic", created_at=FIRST, repost_of="x:1"), post(4, created_at=FIRST)]  # fmt: skip
    pq.write_table(rows(posts, [0] * 5, [("", "")] * 5, "posts"), tmp_path / "posts.parquet")
    older = pa.table({"part": ["posts"], "row": pa.array([0], pa.int64())})
    for counting, having, size in [
        (Counting(), [1, 2], 2), (Counting(reposts=True), [1, 2, 3], 3), (Counting(since=FIRST), [1], 1), (Counting(until=FIRST), [], 0),
    ]:  # fmt: skip
        words = opened(tmp_path, "posts", older=older, counting=counting)
        assert words.rows(parse("garlic").node).tolist() == having
        assert words.rows(parse("garlic -nothing").node).tolist() == having
        assert (words.size, words.frequency("garlic")) == (size, len(having))
        assert words.beginning_with("g") == ({"garlic": len(having)} if having else {})
        assert sorted(words.nearest([parse("garlic").node], 9)) == sorted(
            (post_id, score) for post_id, score in words.nearest([parse("garlic").node], 9)
            if post_id in set(words.posts.ids(np.array(having, int)))
        )  # fmt: skip


def test_the_nearest_are_those_of_bm25(tmp_path):
    texts = [
        "garlic cures",
        "garlic garlic and a long text about soup",
        "soup",
        "",
        "cures cures cures",
        "新冠 病",
    ]
    words = words_of(tmp_path, [post(at + 1, text, urls=["a.b/c"]) for at, text in enumerate(texts)])
    terms = [parse(text).node for text in ("garlic", "cures", '"a long text"', "新冠", "garlic")]
    cut = list(map(tokens, texts))
    mean = sum(map(len, cut)) / len(cut)

    def often(term, text):
        size = len(term.tokens)
        return sum(tuple(text[at : at + size]) == term.tokens for at in range(len(text)))

    expected = dict.fromkeys(range(len(texts)), 0.0)
    for term in dict.fromkeys(terms):
        having = sum(often(term, text) > 0 for text in cut)
        idf = max(math.log((len(cut) - having + 0.5) / (having + 0.5)), 1e-6)
        for at, text in enumerate(cut):
            k = often(term, text)
            expected[at] += idf * k * 2.2 / (k + 1.2 * (0.25 + 0.75 * len(text) / mean))
    best = sorted(
        ((f"x:{at + 1}", round(score, 6)) for at, score in expected.items() if score),
        key=lambda one: (-one[1], one[0]),
    )
    assert words.nearest(terms, 99) == best
    assert words.nearest(terms, 1) == best[:1]
    assert words.nearest(terms, 1, besides=words.posts.numbers([best[0][0]])) == best[:2]
    assert words.nearest([], 5) == []


def test_a_part_of_several_segments_is_the_same(tmp_path, monkeypatch):
    posts = [
        post(n, f"garlic {'soup ' * (n % 3)}", urls=["example.org/a-story"] * (n % 2)) for n in range(1, 60)
    ]
    asked = ["garlic -soup", '"soup soup"']

    def answers(words):
        return [[words.rows(parse(one).node).tolist() for one in asked], words.posts.ids(words.rows(parse("soup").node)),
                words.nearest([parse("soup").node], 20), words.frequency("soup"), words.posts.numbers(["x:9", "x:50"]).tolist()]  # fmt: skip

    one = answers(words_of(tmp_path, posts))
    monkeypatch.setattr(words_file, "SEGMENT", 10)
    pq.write_table(pq.read_table(tmp_path / "posts.parquet"), tmp_path / "more.parquet", row_group_size=7)
    assert one == answers(opened(tmp_path, "more"))
    assert len(words_file.segments(tmp_path / "more.parquet", tmp_path / "words")) == 5


def test_a_file_of_words_that_is_none_is_made_again_and_one_without_its_part_goes(tmp_path):
    words_of(tmp_path, [post(1, "garlic")])
    (path,) = (tmp_path / "words").iterdir()
    path.write_bytes(b"not what it was" * 100)
    with opened(tmp_path, "posts") as words:
        assert count(words, "garlic") == 1
    words_file.sweep(tmp_path / "words", ["posts"])
    assert path.exists()
    words_file.sweep(tmp_path / "words", [])
    assert not path.exists()


def test_a_full_disk_is_one_line(tmp_path):
    """A limit on the size of files stands for the disk: both refuse to write on."""
    posts = [post(number + 1, f"post {number} about garlic and {number * 7919}") for number in range(3000)]
    written(tmp_path, "posts", posts)

    def full():
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
        with pytest.raises(InputError, match="cannot write") as told:
            opened(tmp_path, "posts")
        assert len(str(told.value).splitlines()) == 1

    killing.done(full)
    assert list((tmp_path / "words").iterdir()) == []
