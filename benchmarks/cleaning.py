"""The cleaning stage against the paper's recipe written naively, and the detectors of language.

    .venv/bin/python benchmarks/cleaning.py stage 100000 1000000
    .venv/bin/python benchmarks/cleaning.py detectors XLMT.tsv.gz        (label, text; a file of posts in 8 languages)
    .venv/bin/python benchmarks/cleaning.py spark 100000

The naive recipe is what one writes with pandas, langdetect and scikit-learn: group by post and draw, detect each
text's language, split into words, multiply all pairs, connect. Where it cannot finish it runs on a part of the posts
and is extrapolated: linearly for the steps that go post by post, and in the square for the product of all pairs.
"""

from __future__ import annotations

import gzip
import random
import sys
import time
from pathlib import Path

import cascades


def tables_of(n: int, untagged: float):
    """Hits and posts; a part of the posts without a tag from the platform."""
    import pyarrow as pa

    from covmis_build import tables

    r = random.Random(1)
    texts = cascades.posts(n)
    ids = [f"x:{k:08d}" for k in range(n)]
    tags = ["" if r.random() < untagged else "en" for _ in ids]
    blank = {
        name: pa.nulls(n, kind)
        for name, kind in zip(tables.SCHEMAS["posts"].names, tables.SCHEMAS["posts"].types, strict=True)
    }
    posts = pa.table(blank | {"post_id": ids, "text": texts, "language": tags}).cast(tables.SCHEMAS["posts"])
    rows = [
        (f"c{r.randrange(100)}", one, kind)
        for one in ids
        for kind in r.sample(["title", "keywords"], r.choice([1, 1, 2]))
    ]
    claim, post, kind = zip(*rows, strict=True)
    hits = pa.table({"claim_id": claim, "post_id": post, "query_id": kind, "kind": kind,
                     "verified": ["yes"] * len(rows), "matched": pa.nulls(len(rows), tables.STRINGS)})  # fmt: skip
    return hits.cast(tables.SCHEMAS["hits"]), posts


def ours(hits, posts, engine="duckdb", **settings):
    from covmis_build import tables
    from covmis_build.cleaning import clean
    from covmis_build.engine import open_engine
    from covmis_build.options import Cleaning

    with open_engine(engine, **settings) as opened:
        source = opened.table(hits), opened.table(posts), opened.table(tables.empty("items"))
        began = time.perf_counter()
        made = clean(opened, *source, Cleaning(), seed=1)
        result = made.items.to_arrow(), made.dropped.to_arrow()
        return time.perf_counter() - began, result


def naive(hits, posts, n, part):
    """Seconds for n posts, from a part of them."""
    import langdetect
    from scipy.sparse.csgraph import connected_components
    from sklearn.feature_extraction.text import TfidfVectorizer

    langdetect.DetectorFactory.seed = 0
    frame, found = posts.slice(0, part).to_pandas(), hits.to_pandas()
    scale, spent = n / part, {}
    began = time.perf_counter()
    one = (
        found.groupby(["claim_id", "post_id"])["kind"].agg(list).reset_index().sample(frac=1, random_state=1)
    )
    one = one.drop_duplicates("post_id")
    spent["one claim per post"] = time.perf_counter() - began
    few = frame[frame["language"] == ""].head(500)
    began = time.perf_counter()
    for text in few["text"]:
        langdetect.detect(text)
    spent["language"] = (time.perf_counter() - began) * (
        posts["language"].to_pylist().count("") / max(1, len(few))
    )
    began = time.perf_counter()
    long = frame[frame["text"].map(lambda text: len(text.split())) >= 10]
    spent["words"] = (time.perf_counter() - began) * scale
    began = time.perf_counter()
    vectors = TfidfVectorizer().fit_transform(long["text"])
    spent["vectors"] = (time.perf_counter() - began) * scale
    began = time.perf_counter()
    connected_components((vectors @ vectors.T) > 0.8)
    spent["all pairs"] = (time.perf_counter() - began) * scale**2
    return spent


def stage(sizes):
    for n in map(int, sizes):
        for untagged in (0.0, 1.0):
            hits, posts = tables_of(n, untagged)
            if untagged == 0.0:
                ours(hits.slice(0, 100), posts.slice(0, 100))  # compiles
            wall, _ = ours(hits, posts)
            spent = naive(hits, posts, n, min(n, 10_000))
            total = sum(spent.values())
            parts = ", ".join(f"{name} {seconds:.0f}" for name, seconds in spent.items())
            print(
                f"| {n:,} | {untagged:.0%} | {wall:.1f} | {total:.0f} | {total / wall:.0f} | {parts} |",
                flush=True,
            )


def detectors(file):
    from sklearn.metrics import accuracy_score

    from covmis_build.text.language import DETECTORS, detect_languages

    with gzip.open(file, "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    gold, texts = [row[0] for row in rows], [row[-1] for row in rows]
    english = [label in {"en", "english"} for label in gold]
    for name in DETECTORS:
        detect_languages(texts[:10], name)
        began = time.perf_counter()
        found = [one == "en" for one in detect_languages(texts, name)]
        spent = (time.perf_counter() - began) / len(texts) * 10_000
        kept = sum(f and e for f, e in zip(found, english, strict=True)) / sum(english)
        through = sum(f and not e for f, e in zip(found, english, strict=True)) / (
            len(english) - sum(english)
        )
        right = accuracy_score(english, found)
        print(f"| {name} | {spent:.2f} | {kept:.3f} | {through:.3f} | {right:.3f} |", flush=True)


def spark(sizes):
    for n in map(int, sizes):
        hits, posts = tables_of(n, 0.0)
        wall, expected = ours(hits, posts)
        slower, found = ours(
            hits, posts, "spark", settings={"spark.master": "local[2]", "spark.driver.memory": "6g"}
        )
        same = all(a.to_pylist() == b.to_pylist() for a, b in zip(expected, found, strict=True))
        print(
            f"| {n:,} | {wall:.1f} | {slower:.1f} | {slower / wall:.1f} | {'same rows' if same else 'DIFFERENT'} |",
            flush=True,
        )


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    {"stage": stage, "detectors": lambda files: detectors(*files), "spark": spark}[sys.argv[1]](sys.argv[2:])
