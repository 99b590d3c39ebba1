"""What trials and the words of a store cost, in CPU seconds: python benchmarks/words.py FOLDER (COVMIS_DATA_HOME has covmis).

FOLDER is `data/build/archive` of a study whose archive `benchmarks/matching.py --one generate` made. Its words are made anew.
"""

from __future__ import annotations

import os
import resource
import shutil
import sys
import time
from pathlib import Path

import pandas as pd  # noqa: F401 - Arrow loads it at the first array, which is not what is measured

from covmis_build import tables
from covmis_build.archive.counted import CountedPosts
from covmis_build.archive.words import Words
from covmis_build.archive.words_file import FOLDER
from covmis_build.claims.lists import read_claims
from covmis_build.matching.find import numbers_found
from covmis_build.queries.build import build_queries
from covmis_build.queries.suggest import suggest
from covmis_build.queries.units import terms_of

DATA = Path(os.environ.get("COVMIS_DATA_HOME", "shared/data"))
CLAIMS = 100


def main(folder: Path) -> None:
    """Do each thing once, and say what it took."""
    claims = read_claims(DATA / "covmis/misinformation.csv")
    queries = build_queries(claims)
    texts = claims["text"].tolist()[:CLAIMS]
    parts = sorted(folder.glob("*.parquet"))
    shutil.rmtree(folder / FOLDER, ignore_errors=True)
    began = time.process_time()

    def told(what: str) -> None:
        nonlocal began
        print(f"{what:40} {time.process_time() - began:8.3f}")
        began = time.process_time()

    for what in ("first trial, one query", "second trial in this process"):
        posts = CountedPosts(parts, tables.SCHEMAS["older_copies"].empty_table())
        (found,) = numbers_found(posts, queries[queries["kind"] == "keywords"][:1])
        posts.samples([found], 3)
        told(what)
    found = numbers_found(posts, queries)
    told(f"{len(queries)} queries, {sum(map(len, found)):,} hits")
    posts.samples(found[:50], 3)
    told("samples of 50 queries")
    for what in ("words made", "words opened"):
        words = Words(posts, folder / FOLDER)
        told(what)
    terms = [terms_of(text, words) for text in texts]
    told(f"terms of {CLAIMS} claims")
    for some in terms:
        words.nearest(some, 1000)
    told(f"BM25, first 1,000 of {CLAIMS} claims")
    suggest(texts[0], words)
    told("suggest, one claim")
    for text in texts:
        suggest(text, words)
    told(f"suggest, {CLAIMS} claims")
    size = sum(path.stat().st_size for path in (folder / FOLDER).iterdir())
    print(
        f"{words.size:,} posts, {size / 1e6:.0f} MB, {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB of memory"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
