"""Ranking a large archive for 100 claims: CPU seconds and memory, beside bm25s and sentence-transformers.

    python benchmarks/ranking.py --posts 1000000 --model FOLDER          (COVMIS_DATA_HOME has checkthat2020)
    python benchmarks/ranking.py … --only bm25s                           one act alone

The demonstration's generator writes the posts; the claims are its own and some of CheckThat! 2020. Every act is a process
of its own, so that its memory is its own: `index` makes the words, `nearest` asks them for each claim's first
1,000, `bm25s` does both (its own tokens, no stemmer); `model` reads --read of the posts found (from the --start-th on) as
`covmis recall` does, `sentence-transformers` reads the same. pip install bm25s sentence-transformers.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
sys.path[0] = str(ROOT)  # not this folder, in which `coverage` is another module than the one numba looks for

from covmis_build import tables  # noqa: E402
from covmis_build.archive.counted import CountedPosts  # noqa: E402
from covmis_build.archive.words import Words, words_of  # noqa: E402
from covmis_build.archive.words_file import FOLDER  # noqa: E402
from covmis_build.queries.units import terms_of  # noqa: E402
from covmis_build.ranking.rank import FIRST  # noqa: E402

HOME = Path(os.environ.get("COVMIS_DATA_HOME", "shared/data"))
CLAIMS = 100
ACTS = ("index", "nearest", "bm25s", "model", "sentence-transformers")


def claims() -> list[str]:
    """The claims' texts."""
    texts = []
    for path in (ROOT / "queries/claims.csv", HOME / "checkthat2020/claims.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            texts += [row["text"] for row in csv.DictReader(file)]
    return texts[:CLAIMS]


def posts(folder: Path, many: int) -> Path:
    """The generated posts, an id and a text a line; made once."""
    path = folder / f"posts-{many}.jsonl"
    if not path.exists():
        from tests.demonstration.stories import posts as made

        with path.open("w", encoding="utf-8") as file:
            for post in made(many):
                file.write(json.dumps([f"x:{post.id}", post.text], ensure_ascii=False) + "\n")
    return path


def texts(path: Path) -> Iterator[list[str]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def some(folder: Path, start: int, read: int) -> list[str]:
    """Texts of posts that are near a claim, spread over the claims, each once: `covmis` reads what is the same once."""
    found = json.loads((folder / "nearest.json").read_text("utf-8"))
    with _opened(folder) as index:
        every = list(dict.fromkeys(post for rank in itertools.zip_longest(*found) for post in rank if post))
        return list(dict.fromkeys(post.text for post in index.posts.by_id(every)))[start : start + read]


def _opened(folder: Path) -> Words:
    older = tables.SCHEMAS["older_copies"].empty_table()
    return Words(CountedPosts([folder / "posts.parquet"], older), folder / FOLDER)


def act(name: str, folder: Path, path: Path, model: str, start: int, read: int) -> str:
    """Do one thing; what it did, in words."""
    if name == "index":
        words_of(folder, dict(texts(path)))
        size = sum(file.stat().st_size for file in (folder / "words").iterdir())
        return f"{size / 1e6:.0f} MB on disk"
    if name == "nearest":
        with _opened(folder) as index:
            found = [[post for post, _ in index.nearest(terms_of(text, index), FIRST)] for text in claims()]
        (folder / "nearest.json").write_text(json.dumps(found), "utf-8")
        return f"{sum(map(len, found)):,} posts"
    if name == "bm25s":
        import bm25s

        began = time.process_time()
        ranker = bm25s.BM25()
        ranker.index(
            bm25s.tokenize([text for _, text in texts(path)], show_progress=False), show_progress=False
        )
        built = time.process_time() - began
        found = ranker.retrieve(
            bm25s.tokenize(claims(), show_progress=False), k=FIRST, show_progress=False
        ).documents
        return f"{found.size:,} posts; {built:.0f} CPU s of it the index"
    asked = some(folder, start, read)
    began = time.process_time()
    if name == "model":
        from covmis_build.models.sentences import sentence_model
        from covmis_build.ranking.vectors import SentenceModel, Vectors

        with (
            tempfile.TemporaryDirectory() as kept,
            Vectors(SentenceModel(*sentence_model(model)), Path(kept)) as vectors,
        ):
            loaded = time.process_time() - began
            vectors.prepare(asked)
    else:
        from sentence_transformers import SentenceTransformer

        reader = SentenceTransformer(model, device="cpu")
        loaded = time.process_time() - began
        reader.encode(asked, batch_size=128, normalize_embeddings=True)
    each = (time.process_time() - began - loaded) / len(asked)
    return f"{len(asked):,} posts read, {1000 * each:.1f} CPU ms a post"


def main() -> None:
    """A line for each act."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--posts", type=int, default=1_000_000)
    arguments.add_argument("--model", default="")
    arguments.add_argument("--read", type=int, default=2000)
    arguments.add_argument("--start", type=int, default=0)
    arguments.add_argument("--folder", type=Path, default=Path("/tmp/covmis-ranking"))
    arguments.add_argument("--only", choices=ACTS)
    arguments.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    given.folder.mkdir(exist_ok=True, parents=True)
    path = posts(given.folder, given.posts)
    if given.inside:
        told = act(given.only, given.folder, path, given.model, given.start, given.read)
        print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:7,.0f} MB  {told}")
        return
    for name in [given.only] if given.only else ACTS:
        command = [sys.executable, __file__, *sys.argv[1:], "--inside", "--only", name]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(f"{name:22} {cpu:7.1f} CPU s  {done.stdout.strip().splitlines()[-1]}", flush=True)


if __name__ == "__main__":
    main()
