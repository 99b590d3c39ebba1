"""Words find the posts that the matcher finds, and that `covmis run` would count."""

from __future__ import annotations

import math
import resource

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from covmis_build import tables
from covmis_build.archive import words_file
from covmis_build.archive.formats.post import Post
from covmis_build.archive.reader import Read
from covmis_build.archive.store import OLDER_COPIES, PartWriter, rows
from covmis_build.archive.words import Counting, Words
from covmis_build.engine import open_engine
from covmis_build.errors import InputError
from covmis_build.matching.matcher import Matcher, Query
from covmis_build.text.expression import parse
from covmis_build.text.nodes import holds, seen
from covmis_build.text.numbering import RUNS, Numbering
from covmis_build.text.tokens import tokens
from tests import killing
from tests.text.test_expression import TEXTS, WORDS, queries

FIRST, LAST = "2020-04-22T12:34:56Z", "2020-05-01T00:00:00Z"
PAGES = [
    "example.org/a-story", "example.org/a_story_", "example.org", "cdc.gov", "cdc.gov/flu%20shot", "x.com/status/3",
    "https://twitter.com/who/status/3?s=20", "youtube.com/watch?v=E95qChF-MOo", "https://youtu.be/E95qChF-MOo",
    "cnn.com", "https://edition.cnn.com/2020", "https://www.example.org/a-story/?utm_source=x", "münchen.de/straße",
    "xn--mnchen-3ya.de/stra%C3%9Fe", "https://web.archive.org/web/2020/http://CDC.gov/flu%20shot", "http://a.b/https",
    "https://t.co/abc", "dailymotion.com/video/x7_garlic", "https://www.dailymotion.com/video/x7", "example.org/90/1\u0430",
]  # fmt: skip
SAID = st.lists(
    st.sampled_from([*WORDS, "19", "covid", "冠", "\0", "é", "ß", "™", "…", "नमस्ते", "ﷺ", *PAGES]), max_size=6
)


def post(number, text="", **more):
    return Post(f"x:{number}", str(number), "x", text, **more)


def words_of(folder, posts):
    pq.write_table(rows(posts, [0] * len(posts), [("", "")] * len(posts)), folder / "posts.parquet")
    return Words(folder, ["posts"], tables.SCHEMAS["older_copies"].empty_table())


POSTS = st.builds(
    post,
    st.integers(1, 5),
    SAID.map(" ".join),
    urls=st.lists(st.sampled_from(PAGES), max_size=2),
    cards=st.lists(st.tuples(st.sampled_from(PAGES), TEXTS, TEXTS), max_size=2),
    quote_of=st.sampled_from(["", "x:3"]),
    repost_of=st.sampled_from(["", "", "x:3", "?"]),
    created_at=st.sampled_from(["", FIRST, LAST]),
    retrieved_at=st.sampled_from(["", FIRST, LAST]),
)


@st.composite
def expressions(draw):
    parts = draw(st.lists(st.one_of(queries(depth=1), st.sampled_from(PAGES).map(lambda page: f'url:"{page}"')),
                          min_size=1, max_size=3, unique_by=lambda one: str(parse(one).node)))  # fmt: skip
    joined = [" ".join(f"({part})" for part in parts), " OR ".join(parts)]
    joined += [f"2 of ({', '.join(f'({part})' for part in parts)})"] * (len(parts) > 1)
    minus = draw(st.sampled_from(["", ' -url:"example.org/a-story"', " -flu"]))
    return f"({draw(st.sampled_from(joined))}){minus}"


@pytest.fixture(scope="module")
def engine():
    with open_engine(workers=1) as opened:
        yield opened


def written(folder, part, posts):
    writer = PartWriter(folder / f"{part}.parquet", part)
    for place, one in enumerate(posts):
        writer.add(Read(f"{part}.jsonl", place, "x_v1", [one]))
    writer.close()


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.lists(POSTS, max_size=6), min_size=1, max_size=3), st.lists(expressions(), min_size=1, max_size=4),
    st.sampled_from(["keywords", "title"]), st.builds(Counting, st.booleans(), st.sampled_from(["", FIRST]), st.sampled_from(["", LAST])),
)  # fmt: skip
def test_they_find_what_the_matcher_finds_in_the_copies_that_count(
    engine, tmp_path_factory, parts, asked, kind, counting
):
    folder = tmp_path_factory.mktemp("store")
    for number, posts in enumerate(parts):
        written(folder, str(number), posts)
    names = list(map(str, range(len(parts))))
    store = engine.table([folder / f"{name}.parquet" for name in names])
    older = engine.sql(OLDER_COPIES, store=store).to_arrow()
    lesser = {(row["part"], row["row"]) for row in older.to_pylist()}
    counting_posts = [
        one
        for name, posts in zip(names, parts, strict=True)
        for row, one in enumerate(posts)
        if (one.text or one.urls or one.cards)
        and (name, row) not in lesser
        and (counting.reposts or not one.repost_of)
        and (one.created_at or not (counting.since or counting.until))
        and one.created_at >= counting.since
        and (not counting.until or one.created_at < counting.until)
    ]
    with Words(folder, names, older, counting) as words:
        assert words.size == len(counting_posts)
        for expression in asked:
            node = parse(expression).node
            matcher = Matcher([Query("q", "c", kind, node)])
            matching = sorted(one.post_id for one in counting_posts if matcher.match(one))
            assert sorted(found.post_id for found in words.sample(expression, 99, kind)) == matching
            assert words.count(expression, kind) == len(matching)


@settings(max_examples=200, deadline=None)
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
    numbering = Numbering(RUNS)
    numbering.add(pa.array(["no no", "https://a.b/C_d?e=%41é", "f", "no"]).slice(1, 2))
    numbered = numbering.done()
    assert numbered.words.to_pylist() == ["41", "C_d", "a", "b", "e", "f", "https"]
    assert numbered.start.tolist() == [0, 7, 9]


@settings(max_examples=60, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=8), st.lists(queries(), min_size=1, max_size=4))
def test_they_count_what_matches(tmp_path_factory, texts, asked):
    words = words_of(tmp_path_factory.mktemp("words"), [post(at + 1, text) for at, text in enumerate(texts)])
    for query in asked:
        assert words.count(query) == sum(parse(query).matches(text) for text in texts)
    for token in {token for text in texts for token in tokens(text)}:
        having = sum(token in tokens(text) for text in texts)
        assert words.frequency(token) == words.beginning_with(token)[token] == having


def test_no_query_is_too_wide_to_be_counted(tmp_path):
    words = words_of(tmp_path, [post(n + 1, f"word{n} other{n}") for n in range(50)])
    assert words.count(" OR ".join(f"word{n}" for n in range(10_000))) == 50
    groups = [
        "(" + " OR ".join(f"{word}{n}" for n in range(1000)) + ")" for word in ("word", "other", "third")
    ]
    assert words.count(f"2 of ({', '.join(groups)})") == 50
    assert words.count(" ".join(groups[:2])) == 50
    assert words.count(" ".join(groups)) == 0


def test_each_title_is_looked_at_alone_and_only_for_titles(tmp_path):
    cards = [("", "Garlic cures it", ""), ("", "all", "")]
    words = words_of(tmp_path, [post(1, "see", cards=cards), post(2, "garlic cures it")])
    assert words.count('"garlic cures it"') == 1
    assert words.count('"garlic cures it"', "title") == 2
    assert words.count('"it all"', "title") == 0
    assert words.frequency("garlic") == 1
    assert words.beginning_with("gar") == {"garlic": 1}


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
    assert words.nearest(terms, 1, besides=words.numbers([best[0][0]])) == best[:2]
    assert words.nearest([], 5) == []


def test_posts_by_their_ids(tmp_path):
    posts = [
        post(n, f"text {n}", created_at=FIRST, urls=["http://m.example.org/a/"] * (n == 2))
        for n in range(1, 4)
    ]
    words = words_of(tmp_path, posts)
    assert words.numbers(["x:3", "x:9", "x:1", "x:3"]).tolist() == [2, -1, 0, 2]
    assert [*words.posts(["x:9", "x:2"])] == [("x:2", FIRST, "text 2")]
    assert [*words.addresses(["x:2", "x:9", "x:1"])] == [{"example.org/a"}, set(), set()]
    assert words.numbers([]).tolist() == []


def test_a_part_of_several_segments_is_the_same(tmp_path, monkeypatch):
    posts = [
        post(n, f"garlic {'soup ' * (n % 3)}", urls=["example.org/a-story"] * (n % 2)) for n in range(1, 60)
    ]
    asked = ["garlic -soup", '"soup soup"', 'url:"example.org/a-story"']

    def answers(words):
        return [[words.rows(parse(one).node).tolist() for one in asked], words.sample("soup", 9),
                words.nearest([parse("soup").node], 20), words.frequency("soup"), words.numbers(["x:9", "x:50"]).tolist()]  # fmt: skip

    one = answers(words_of(tmp_path, posts))
    monkeypatch.setattr(words_file, "SEGMENT", 10)
    pq.write_table(pq.read_table(tmp_path / "posts.parquet"), tmp_path / "more.parquet", row_group_size=7)
    assert one == answers(Words(tmp_path, ["more"], tables.SCHEMAS["older_copies"].empty_table()))
    assert len(words_file.segments(tmp_path / "more.parquet", tmp_path / "words")) == 5


def test_a_file_of_words_that_is_none_is_made_again_and_one_without_its_part_goes(tmp_path):
    words_of(tmp_path, [post(1, "garlic")])
    (path,) = (tmp_path / "words").iterdir()
    path.write_bytes(b"not what it was" * 100)
    with Words(tmp_path, ["posts"], tables.SCHEMAS["older_copies"].empty_table()) as words:
        assert words.count("garlic") == 1
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
            Words(tmp_path, ["posts"], tables.SCHEMAS["older_copies"].empty_table())
        assert len(str(told.value).splitlines()) == 1

    killing.done(full)
    assert list((tmp_path / "words").iterdir()) == []


def test_real_queries_count_the_same(tmp_path, data_home):
    from covmis_build.claims.lists import read_claims
    from covmis_build.queries.build import build_queries

    said = ["Coronavirus is just like the flu", "5G and COVID-19", "Bill Gates’ vaccine", "x"] * 5
    texts = [f"{text} {at}" for at, text in enumerate(said)]
    made = build_queries(read_claims(data_home / "covmis/misinformation.csv"))
    words = words_of(tmp_path, [post(at + 1, text) for at, text in enumerate(texts)])
    for expression in [*made["expression"], "coronavirus flu", "5g OR gates", "covid-19 -flu"]:
        assert words.count(expression) == sum(holds(parse(expression).node, seen(text)) for text in texts)


def test_pages_by_other_hosts_and_posts_that_are_pages(tmp_path):
    links = ["https://fb.com/", "https://example.org/a%2Db_c", "see example.org/a-b_c_."]
    posts = [
        post(at + 1, urls=[link]) if ":" in link else post(at + 1, link) for at, link in enumerate(links)
    ]
    posts += [
        post(7, "a"),
        post(8, "b", quote_of="x:7"),
        post(9, "c", repost_of="x:7"),
        post(10, cards=[("x.com/a/status/7", "", "")]),
    ]
    pq.write_table(rows(posts, [0] * 7, [("", "")] * 7), tmp_path / "all.parquet")
    words = Words(tmp_path, ["all"], tables.SCHEMAS["older_copies"].empty_table(), Counting(reposts=True))
    found = {
        key: {one.post_id for one in words.sample(f'url:"{key}"', 9)}
        for key in ("facebook.com", "example.org/a-b_c", "x.com/status/7")
    }
    assert found == {
        "facebook.com": {"x:1"},
        "example.org/a-b_c": {"x:2", "x:3"},
        "x.com/status/7": {"x:7", "x:8", "x:9", "x:10"},
    }
