"""The cleaning stage against the paper's recipe written naively, and the detectors of language.

    .venv/bin/python benchmarks/cleaning.py stage 100000 1000000
    .venv/bin/python benchmarks/cleaning.py detectors XLMT.tsv.gz        (label, text; a file of posts in 8 languages)
    .venv/bin/python benchmarks/cleaning.py spark 100000
    .venv/bin/python benchmarks/cleaning.py large POSTS.txt 10         (so often as many posts, each time in other words)

The naive recipe is what one writes with pandas, langdetect and scikit-learn: group by post and draw, detect each
text's language, split into words, multiply all pairs, connect. Where it cannot finish it runs on a part of the posts
and is extrapolated: linearly for the steps that go post by post, and in the square for the product of all pairs.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
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
    from covmis_build.cleaning.steps import clean
    from covmis_build.engine import open_engine
    from covmis_build.options import Cleaning

    with open_engine(engine, **settings) as opened:
        source = (
            opened.table(hits),
            opened.table(posts),
            opened.table(tables.empty("frozen")),
        )
        began = time.perf_counter()
        made = clean(opened, *source, Cleaning(), seed=1)
        result = made.items.to_arrow(), made.dropped.to_arrow()
        return time.perf_counter() - began, result


def spent_here():
    """CPU seconds of this process and of its workers that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def naive(hits, posts, n, part):
    """CPU seconds for n posts, from a part of them."""
    import langdetect
    from scipy.sparse.csgraph import connected_components
    from sklearn.feature_extraction.text import TfidfVectorizer

    langdetect.DetectorFactory.seed = 0
    frame, found = posts.slice(0, part).to_pandas(), hits.to_pandas()
    scale, spent = n / part, {}
    began = time.process_time()
    one = (
        found.groupby(["claim_id", "post_id"])["kind"].agg(list).reset_index().sample(frac=1, random_state=1)
    )
    one = one.drop_duplicates("post_id")
    spent["one claim per post"] = time.process_time() - began
    few = frame[frame["language"] == ""].head(500)
    began = time.process_time()
    for text in few["text"]:
        langdetect.detect(text)
    spent["language"] = (time.process_time() - began) * (
        posts["language"].to_pylist().count("") / max(1, len(few))
    )
    began = time.process_time()
    long = frame[frame["text"].map(lambda text: len(text.split())) >= 10]
    spent["words"] = (time.process_time() - began) * scale
    began = time.process_time()
    vectors = TfidfVectorizer().fit_transform(long["text"])
    spent["vectors"] = (time.process_time() - began) * scale
    began = time.process_time()
    connected_components((vectors @ vectors.T) > 0.8)
    spent["all pairs"] = (time.process_time() - began) * scale**2
    return spent


def stage(sizes):
    for n in map(int, sizes):
        for untagged in (0.0, 1.0):
            hits, posts = tables_of(n, untagged)
            if untagged == 0.0:
                ours(hits.slice(0, 100), posts.slice(0, 100))  # compiles
            began = spent_here()
            wall, _ = ours(hits, posts)
            cpu = spent_here() - began
            spent = naive(hits, posts, n, min(n, 10_000))
            total = sum(spent.values())
            parts = ", ".join(f"{name} {seconds:.0f}" for name, seconds in spent.items())
            print(
                f"| {n:,} | {untagged:.0%} | {wall:.1f} | {cpu:.1f} | {total:.0f} | {total / cpu:.0f} | {parts} |",
                flush=True,
            )


def write_large(file, times, folder):
    """Hits and posts from a file of posts, one a line: as often as asked for, with a vocabulary of its own each time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from covmis_build import tables

    texts, r = Path(file).read_text("utf-8").split("\n")[:-1], random.Random(1)
    n, posts, hits = len(texts), tables.SCHEMAS["posts"], tables.SCHEMAS["hits"]
    with (
        pq.ParquetWriter(f"{folder}/posts.parquet", posts) as to_posts,
        pq.ParquetWriter(f"{folder}/hits.parquet", hits) as to_hits,
    ):
        for turn in range(int(times)):
            end = f"{chr(ord('a') + turn)}q "
            ids = [f"x:{turn * n + at:08d}" for at in range(n)]
            made = texts if turn == 0 else [text.replace(" ", end) + end for text in texts]
            known = {"post_id": ids, "text": made, "language": ["en"] * n}
            blank = {one.name: pa.nulls(n, one.type) for one in posts}
            to_posts.write_table(pa.table(blank | known).cast(posts))
            known = {"claim_id": [f"c{r.randrange(1000)}" for _ in ids], "post_id": ids, "query_id": ["q"] * n,
                     "kind": ["keywords"] * n, "verified": ["yes"] * n, "matched": pa.nulls(n, tables.STRINGS)}  # fmt: skip
            to_hits.write_table(pa.table(known).cast(hits))


def large(file, times):
    """The stage from Parquet to Parquet, in a process that holds nothing else."""
    from covmis_build import tables
    from covmis_build.cleaning.steps import clean
    from covmis_build.engine import open_engine
    from covmis_build.options import Cleaning

    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, __file__, "write_large", file, times, folder], check=True)
        before, began = spent_here(), time.perf_counter()
        with open_engine("duckdb") as opened:
            source = (opened.table(Path(folder, f"{name}.parquet")) for name in ("hits", "posts"))
            made = clean(opened, *source, opened.table(tables.empty("frozen")), Cleaning(), seed=1)
            made.items.write(Path(folder, "items.parquet"))
            made.dropped.write(Path(folder, "dropped.parquet"))
            items, dropped = len(made.items), len(made.dropped)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
        wall, cpu = time.perf_counter() - began, spent_here() - before
        print(f"| {items:,} items, {dropped:,} dropped | {wall:.0f} s | {cpu:.0f} CPU s | {peak:.0f} MB |")


def detectors(file):
    from sklearn.metrics import accuracy_score

    from covmis_build.text.language import DETECTORS, detect_languages

    with gzip.open(file, "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    gold, texts = [row[0] for row in rows], [row[-1] for row in rows]
    english = [label in {"en", "english"} for label in gold]
    for name in DETECTORS:
        detect_languages(texts[:10], name)
        began = time.process_time()
        found = [one == "en" for one in detect_languages(texts, name)]
        spent = (time.process_time() - began) / len(texts) * 10_000
        kept = sum(f and e for f, e in zip(found, english, strict=True)) / sum(english)
        through = sum(f and not e for f, e in zip(found, english, strict=True)) / (
            len(english) - sum(english)
        )
        right = accuracy_score(english, found)
        print(f"| {name} | {spent:.2f} | {kept:.3f} | {through:.3f} | {right:.3f} |", flush=True)
    part = random.Random(0).sample(texts, 2_000)
    began = time.process_time()
    naive_labels = [langdetect_itself(text) for text in part]
    spent = (time.process_time() - began) / len(part) * 10_000
    same = sum(a == b for a, b in zip(naive_labels, detect_languages(part), strict=True))
    print(
        f"| langdetect itself, on {len(part):,} | {spent:.2f} | the replay has the same label on {same:,} |"
    )


def langdetect_itself(text):
    import langdetect

    langdetect.DetectorFactory.seed = 0
    try:
        return langdetect.detect(text)
    except langdetect.LangDetectException:
        return ""


def spark(sizes):
    for n in map(int, sizes):
        hits, posts = tables_of(n, 0.0)
        ours(hits.slice(0, 100), posts.slice(0, 100))  # compiles
        began = spent_here()
        wall, expected = ours(hits, posts)
        cpu = spent_here() - began
        settings = {"spark.master": "local[2]", "spark.driver.memory": "6g"}
        with below() as most:
            slower, found = ours(hits, posts, "spark", settings=settings)
        same = all(ordered(a).equals(ordered(b)) for a, b in zip(expected, found, strict=True))
        print(
            f"| {n:,} | {wall:.1f} | {cpu:.1f} | {slower:.1f} | {most['cpu']:.1f} | {most['mb']:.0f} "
            f"| {most['cpu'] / cpu:.0f} | {'same rows' if same else 'DIFFERENT'} |",
            flush=True,
        )


def ordered(table):
    plain = [one.name for one in table.schema if not str(one.type).startswith("list")]
    return table.sort_by([(name, "ascending") for name in plain])


@contextlib.contextmanager
def below():
    """CPU seconds and the largest memory of this process and all below it, looked at twice a second (Linux)."""
    most, over = {"cpu": 0.0, "mb": 0.0}, threading.Event()

    def look():
        processes = {}
        for file in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                cells = file.read_text().rpartition(")")[2].split()
                processes[int(file.parent.name)] = int(cells[1]), sum(map(int, cells[11:15])), int(cells[21])
        family = {os.getpid()}
        while more := {one for one, (parent, _, _) in processes.items() if parent in family} - family:
            family |= more
        ticks, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
        return sum(processes[one][1] for one in family) / ticks, sum(
            processes[one][2] for one in family
        ) * page / 1e6

    first, _ = look()

    def watch():
        while not over.wait(0.5):
            cpu, mb = look()
            most.update(cpu=max(most["cpu"], cpu - first), mb=max(most["mb"], mb))

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield most
    finally:
        over.set()
        watching.join()


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    commands = {"stage": stage, "detectors": lambda told: detectors(*told), "spark": spark,
                "large": lambda told: large(*told), "write_large": lambda told: write_large(*told)}  # fmt: skip
    commands[sys.argv[1]](sys.argv[2:])
