"""`covmis queries try` counts the posts that `covmis run` finds, whatever the expression and the settings."""

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covmis_build import tables
from covmis_build.archive import counted
from covmis_build.archive.counted import CountedPosts, Counting
from covmis_build.archive.post import Post
from covmis_build.archive.reader import Read
from covmis_build.archive.store import OLDER_COPIES, PartWriter, Store
from covmis_build.engine import open_engine
from covmis_build.matching import find
from covmis_build.matching.find import numbers_found
from covmis_build.matching.stage import retrieve
from covmis_build.options import Retrieval
from covmis_build.text.expression import parse
from covmis_build.text.nodes import holds, seen
from tests.text.test_expression import TEXTS, WORDS, queries

FIRST, LAST = "2020-04-22T12:34:56Z", "2020-05-01T00:00:00Z"
PAGES = [
    "example.org/a-story", "example.org/a_story_", "example.org", "cdc.gov", "cdc.gov/flu%20shot", "x.com/status/3",
    "https://twitter.com/who/status/3?s=20", "youtube.com/watch?v=E95qChF-MOo", "https://youtu.be/E95qChF-MOo",
    "cnn.com", "https://edition.cnn.com/2020", "https://www.example.org/a-story/?utm_source=x", "münchen.de/straße",
    "xn--mnchen-3ya.de/stra%C3%9Fe", "https://web.archive.org/web/2020/http://CDC.gov/flu%20shot", "http://a.b/https",
    "https://t.co/abc", "dailymotion.com/video/x7_garlic", "https://www.dailymotion.com/video/x7", "example.org/90/1\u0430",
    "cnn.com/2020", "https://cnn-com.translate.goog/2020?_x_tr_sl=en", "https://example.com/2020", "https://fb.com/",
]  # fmt: skip
SAID = st.lists(
    st.sampled_from([*WORDS, "19", "covid", "冠", "\0", "é", "ß", "™", "…", "नमस्ते", "ﷺ", *PAGES]), max_size=6
)


def post(number, text="", **more):
    return Post(f"x:{number}", str(number), "x", text, **more)


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
NO_REPOSTS = Counting()
SETTINGS = st.builds(
    Retrieval,
    reposts=st.sampled_from(["drop", "keep"]),
    since=st.sampled_from(["", "2020-04-22", "2020-04-23"]),
    until=st.sampled_from(["", "2020-04-22", "2020-05-01"]),
)


@st.composite
def expressions(draw):
    parts = draw(st.lists(st.one_of(queries(depth=1), st.sampled_from(PAGES).map(lambda page: f'url:"{page}"')),
                          min_size=1, max_size=3, unique_by=lambda one: str(parse(one).node)))  # fmt: skip
    joined = [" ".join(f"({part})" for part in parts), " OR ".join(parts)]
    joined += [f"2 of ({', '.join(f'({part})' for part in parts)})"] * (len(parts) > 1)
    minus = draw(st.sampled_from(["", ' -url:"example.org/a-story"', " -flu"]))
    return f"({draw(st.sampled_from(joined))}){minus}"


def written(folder, part, posts):
    writer = PartWriter(folder / f"{part}.parquet", part)
    for place, one in enumerate(posts):
        writer.add(Read(f"{part}.jsonl", place, "x_v1", [one]))
    writer.close()
    return folder / f"{part}.parquet"


def table(asked):
    rows = [(f"q{at}", "c", kind, "", str(parse(text)), "en") for at, (kind, text) in enumerate(asked)]
    return pd.DataFrame(rows, columns=tables.SCHEMAS["queries"].names)


@settings(max_examples=60)
@given(
    worth=st.sampled_from([0, find.WORTH]),
    parts=st.lists(st.lists(POSTS, max_size=6), min_size=1, max_size=3),
    asked=st.lists(
        st.tuples(st.sampled_from(["keywords", "title", "news_url"]), expressions()), max_size=5
    ),
    options=SETTINGS,
)  # fmt: skip
def test_a_trial_counts_what_a_run_finds(tmp_path_factory, worth, parts, asked, options):
    """The run without compiled code, the trial also with it."""
    folder = tmp_path_factory.mktemp("store")
    paths = [written(folder, str(number), posts) for number, posts in enumerate(parts)]
    rows = table(asked)
    with open_engine(workers=1) as engine:
        posts = engine.table(paths)
        older = engine.sql(OLDER_COPIES, store=posts)
        hits = retrieve(engine, Store(posts, older), rows, options).hits.to_pandas()
        copies = older.to_arrow()
    counted = CountedPosts(paths, copies, Counting(options.reposts == "keep", *options.span))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(find, "WORTH", worth)
        numbers = numbers_found(counted, rows)
    for query, tried in zip(rows["query_id"], numbers, strict=True):
        assert sorted(counted.ids(tried)) == sorted(hits.loc[hits["query_id"] == query, "post_id"])
        assert tried.tolist() == sorted(set(tried.tolist()))


def found(paths, *expressions, kind="keywords", counting=NO_REPOSTS):
    counted = CountedPosts(paths, tables.SCHEMAS["older_copies"].empty_table(), counting)
    return [counted.ids(rows) for rows in numbers_found(counted, table((kind, one) for one in expressions))]


def test_each_title_is_looked_at_alone_and_only_for_titles(tmp_path):
    cards = [("", "Garlic cures it", ""), ("", "all", "")]
    path = written(tmp_path, "a", [post(1, "see", cards=cards), post(2, "garlic cures it")])
    assert found([path], '"garlic cures it"') == [["x:2"]]
    assert found([path], '"garlic cures it"', '"it all"', kind="title") == [["x:1", "x:2"], []]


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
    keys = [f'url:"{key}"' for key in ("facebook.com", "example.org/a-b_c", "x.com/status/7")]
    assert found([written(tmp_path, "a", posts)], *keys, counting=Counting(reposts=True)) == [
        ["x:1"], ["x:2", "x:3"], ["x:7", "x:8", "x:9", "x:10"],
    ]  # fmt: skip


@pytest.mark.parametrize("kept", [0, counted.KEPT])
def test_a_second_trial_of_other_posts_in_the_same_process(tmp_path, monkeypatch, kept):
    monkeypatch.setattr(counted, "KEPT", kept)
    first, second = (written(tmp_path, part, [post(at, "garlic")]) for at, part in enumerate("ab"))
    assert [found(paths, "garlic") for paths in ([first], [first, second], [second])] == [
        [["x:0"]], [["x:0", "x:1"]], [["x:1"]],
    ]  # fmt: skip


def test_real_queries_count_the_same(tmp_path, data_home):
    from covmis_build.claims.lists import read_claims
    from covmis_build.queries.build import build_queries

    said = ["Coronavirus is just like the flu", "5G and COVID-19", "Bill Gates’ vaccine", "x"] * 5
    texts = [f"{text} {at}" for at, text in enumerate(said)]
    path = written(tmp_path, "a", [post(at, text) for at, text in enumerate(texts)])
    built = build_queries(read_claims(data_home / "covmis/misinformation.csv"))
    asked = [*built["expression"], "coronavirus flu", "5g OR gates", "covid-19 -flu"]
    for expression, ids in zip(asked, found([path], *asked), strict=True):
        assert len(ids) == sum(holds(parse(expression).node, seen(text)) for text in texts)


@pytest.mark.parametrize("worth", [0, find.WORTH])
def test_a_turkish_query_counts_the_same(tmp_path, monkeypatch, worth):
    texts = ["AŞI karşıtı", "asi", "Así es", "aşılar", "ASÍ y aşı"]
    path = written(tmp_path, "p", [post(number, text) for number, text in enumerate(texts, 1)])
    rows = pd.DataFrame(
        [(f"q{at}", "c", "keywords", "aşı", "asi", language) for at, language in enumerate(["tr", "es"])],
        columns=tables.SCHEMAS["queries"].names,
    )
    with open_engine(workers=1) as engine:
        store = engine.table([path])
        older = engine.sql(OLDER_COPIES, store=store)
        hits = retrieve(engine, Store(store, older), rows, Retrieval()).hits.to_pandas()
        counted = CountedPosts([path], older.to_arrow(), NO_REPOSTS)
    monkeypatch.setattr(find, "WORTH", worth)
    tried = [sorted(counted.ids(numbers)) for numbers in numbers_found(counted, rows)]
    assert tried == [["x:1", "x:2", "x:5"], ["x:1", "x:2", "x:3", "x:5"]]
    assert [sorted(hits.loc[hits["query_id"] == query, "post_id"]) for query in ("q0", "q1")] == tried
