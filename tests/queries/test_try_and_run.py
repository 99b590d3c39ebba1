"""`covmis queries try` counts the posts that `covmis run` finds, whatever the expression and the settings."""

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from covmis_build.archive.store import OLDER_COPIES, Store
from covmis_build.archive.words import Counting, Words
from covmis_build.engine import open_engine
from covmis_build.matching.stage import retrieve
from covmis_build.options import Retrieval
from covmis_build.text.expression import parse
from tests.archive.test_words import POSTS, expressions, written

SETTINGS = st.builds(
    Retrieval,
    reposts=st.sampled_from(["drop", "keep"]),
    since=st.sampled_from(["", "2020-04-22", "2020-04-23"]),
    until=st.sampled_from(["", "2020-04-22", "2020-05-01"]),
)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.lists(POSTS, max_size=6), min_size=1, max_size=3),
    st.lists(
        st.tuples(st.sampled_from(["keywords", "title", "news_url"]), expressions()), min_size=1, max_size=5
    ),
    SETTINGS,
)
def test_a_trial_counts_what_a_run_finds(tmp_path_factory, parts, asked, options):
    folder = tmp_path_factory.mktemp("store")
    names = [str(number) for number in range(len(parts))]
    for name, posts in zip(names, parts, strict=True):
        written(folder, name, posts)
    rows = [
        {"query_id": f"q{at}", "claim_id": "c", "kind": kind, "text": "", "expression": str(parse(text)), "language": "en"}
        for at, (kind, text) in enumerate(asked)
    ]  # fmt: skip
    with open_engine(workers=1) as engine:
        posts = engine.table([folder / f"{name}.parquet" for name in names])
        older = engine.sql(OLDER_COPIES, store=posts)
        hits = retrieve(engine, Store(posts, older), pd.DataFrame(rows), options).hits.to_pandas()
        copies = older.to_arrow()
    with Words(folder, names, copies, Counting(options.reposts == "keep", *options.span)) as words:
        for row in rows:
            tried = {post.post_id for post in words.sample(row["expression"], 99, row["kind"])}
            assert tried == set(hits.loc[hits["query_id"] == row["query_id"], "post_id"])
            assert words.count(row["expression"], row["kind"]) == len(tried)
