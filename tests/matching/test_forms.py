"""The same posts in two forms give the same hits, whatever wrote them."""

from __future__ import annotations

import pandas as pd
import pytest

from covmis_build.claims.claim import Claim, checked
from covmis_build.queries.build import build_queries
from tests.matching.test_stage import run

PAIRS = [
    ("twarc2/pages.jsonl", "twarc2/flat.jsonl"),
    ("tables/lines_iso.jsonl", "tables/posts.parquet"),
    ("tables/records.json", "tables/split.json"),
    ("tables/columns.json", "tables/posts_text.parquet"),
]


def texts_of(path):
    from covmis_build.archive import streams
    from covmis_build.archive.reader import read

    (job, *_) = streams.jobs([(path, path.name)])
    return [post.text for line in read(job) for post in line.posts if post.text]


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=["-".join(pair) for pair in PAIRS])
def test_the_same_posts_in_two_forms_give_the_same_hits(one, other, data_home):
    paths = [data_home / "formats" / name for name in (one, other)]
    words = sorted(
        {word for text in texts_of(paths[0]) for word in text.split() if word.isalpha() and len(word) > 3}
    )
    queries = build_queries(
        checked([Claim("1", "Any of them.", keywords=[" OR ".join(words[:60])])], "claims.csv")
    )
    hits = [run(path, queries=queries)["hits"] for path in paths]
    assert len(hits[0])
    pd.testing.assert_frame_equal(*(found.drop(columns="verified") for found in hits))
