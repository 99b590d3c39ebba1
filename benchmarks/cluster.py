"""A whole run on a standalone cluster of Spark, beside the embedded engine; and its near-duplicates beside others'.

    sudo .venv/bin/python benchmarks/cluster.py run 100000 300000 1000000      (two workers, a bucket; needs root)
    sudo .venv/bin/python benchmarks/cluster.py run 100000 --conf NAME=VALUE
    .venv/bin/python benchmarks/cluster.py pairs 100000 PYTHON      (of an environment with datatrove and spacy)
    .venv/bin/python benchmarks/cluster.py lsh 10000 5            (so many hash tables)

`run`: a master, two workers of one core and a local store that speaks S3 on this machine; the archive lies in the bucket,
for both engines. CPU is of all processes but the store's, by what they are; of Java's, how much compiles and collects.
`pairs` and `lsh`: texts of `cascades.py`; what is approximate is held against all pairs with a cosine above 0.8. Datatrove
makes clusters: a pair is found if both are in one, and false if they are in different ones of our groups.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

HERE, DRIVER = "this machine's Python", "this machine's Java"
MEMORY, TICKS = "3g", os.sysconf("SC_CLK_TCK")
COMPILING, COLLECTING = ("C1 Compiler", "C2 Compiler"), ("GC Thread", "G1 ", "VM Thread")


def cells(file: Path) -> tuple[str, list[str]]:
    """A line of /proc: the name, and what comes after it."""
    before, _, after = file.read_text().rpartition(")")
    return before.partition("(")[2], after.split()


class Watched:
    """CPU seconds and memory of this process's children by kind, looked at twice a second (Linux)."""

    def __init__(self) -> None:
        self.used = dict[tuple[int, int], float]()
        self.kind = dict[tuple[int, int], str]()
        self.most = dict[str, float]()

    def look(self) -> None:
        """Add up what there is now."""
        parents, memory = {}, {}
        for file in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                _, numbers = cells(file)
                parents[int(file.parent.name)] = int(numbers[1])
                memory[int(file.parent.name)] = int(numbers[21]) * os.sysconf("SC_PAGE_SIZE") / 1e6
        family = {os.getpid()}
        while more := {one for one, parent in parents.items() if parent in family} - family:
            family |= more
        most = defaultdict[str, float](float)
        for process in family - {os.getpid()}:
            with contextlib.suppress(OSError):
                kind = kind_of(Path(f"/proc/{process}/cmdline").read_bytes().decode().split("\0"))
                if not kind:
                    continue
                most[kind] += memory[process]
                most["all"] += memory[process]
                for file in Path(f"/proc/{process}/task").glob("*/stat"):
                    name, numbers = cells(file)
                    # a thread may have the number of one that has ended
                    thread = int(file.parent.name), int(numbers[19])
                    self.used[thread] = (int(numbers[11]) + int(numbers[12])) / TICKS
                    self.kind[thread] = kind + part_of(name) if "Java" in kind else kind
        self.most |= {kind: max(self.most.get(kind, 0.0), size) for kind, size in most.items()}

    @contextlib.contextmanager
    def watching(self):
        """While the block runs."""
        over = threading.Event()

        def watch() -> None:
            while not over.wait(0.5):
                self.look()

        self.look()
        before = dict(self.used)
        thread = threading.Thread(target=watch)
        thread.start()
        try:
            yield
        finally:
            self.look()
            over.set()
            thread.join()
            for one, seconds in before.items():
                self.used[one] -= seconds

    def seconds(self) -> dict[str, float]:
        """CPU by kind."""
        sums = defaultdict[str, float](float)
        for thread, seconds in self.used.items():
            sums[self.kind[thread]] += seconds
        return dict(sorted(sums.items()))


def kind_of(words: list[str]) -> str:
    """What a process is; nothing if it is not counted."""
    line = " ".join(words)
    if "moto_server" in line or not words[0]:  # one that has ended says no more what it was
        return ""
    if "deploy.master.Master" in line or "deploy.worker.Worker" in line:
        return "cluster's own Java"
    if "CoarseGrainedExecutorBackend" in line:
        return "workers' Java"
    if "pyspark.daemon" in line or "pyspark/daemon" in line:
        return "workers' Python"
    if "java" in words[0] or "org.apache.spark" in line:
        return DRIVER
    return HERE


def part_of(name: str) -> str:
    """What a thread of Java is busy with."""
    if name.startswith(COMPILING):
        return ", compiling"
    return ", collecting" if name.startswith(COLLECTING) else ""


def study_of(folder: Path, posts: int, bucket: dict[str, str]) -> Path:
    """The demonstration's claims, and generated posts in the bucket."""
    from run import study_of as on_disk

    from tests.demonstration import generate
    from tests.services import object_store

    archive = folder.parent / "archive"
    generate.write(archive, posts)
    study = on_disk(folder, ROOT, archive)
    for path in sorted(archive.iterdir()):
        object_store.put(bucket["AWS_ENDPOINT_URL"], f"corpus/{posts}/{path.name}", path.read_bytes())
    settings = (study / "study.toml").read_text().replace('"data/archive"', f'"s3://corpus/{posts}"')
    (study / "study.toml").write_text(settings)
    return study


def run(sizes: list[str]) -> None:
    """Print the tables for these sizes."""
    from tests.engine.cluster import cluster
    from tests.services import object_store

    given = [sizes[at + 1] for at, word in enumerate(sizes) if word == "--conf"]
    for posts in [int(word) for word in sizes if word.isdecimal()]:
        more = {"spark.driver.memory": MEMORY} | dict(word.split("=", 1) for word in given)
        with (
            tempfile.TemporaryDirectory() as folder,
            object_store.store("corpus") as bucket,
            cluster(bucket, memory=MEMORY, more=more) as its,
        ):
            study = study_of(Path(folder) / "study", posts, bucket)
            conf = [word for name, value in its.settings.items() for word in ("--conf", f"{name}={value}")]
            spark = ["--engine", "spark", "--master", its.master, *conf]
            expected = made(study, bucket, f"{posts:,} embedded", [])
            toml = study / "study.toml"
            toml.write_text(toml.read_text().replace('build = ""', 'build = "s3://corpus/build"'))
            if made(study, bucket, f"{posts:,} cluster", ["--force", *spark]) != expected:
                sys.exit("DIFFERENT tables")


def made(study: Path, bucket: dict[str, str], name: str, more: list[str]) -> dict[str, str]:
    """Run it; the hashes of its tables."""
    import pytest

    from covmis_build.building.stages import STAGES
    from covmis_build.study.study import open_study

    command = [sys.executable, "-m", "covmis_build", "run", "--json", "--study", str(study), *more]
    watched, began = Watched(), time.perf_counter()
    with watched.watching():
        done = subprocess.run(command, env=os.environ | bucket, capture_output=True, text=True, check=False)
    wall = time.perf_counter() - began
    if done.returncode:
        sys.exit(done.stderr)
    stages = ", ".join(f"{one['stage']} {one['seconds']:.0f}" for one in json.loads(done.stdout)["stages"])
    cpu = watched.seconds()
    parts = ", ".join(f"{kind} {seconds:.0f}" for kind, seconds in cpu.items() if seconds >= 0.5)
    print(
        f"| {name} | {wall:.0f} | {sum(cpu.values()):.1f} | {watched.most['all']:.0f} "
        f"| {watched.most[HERE]:.0f}, Java {watched.most.get(DRIVER, 0.0):.0f} | {stages} | {parts} |",
        flush=True,
    )
    with pytest.MonkeyPatch.context() as patch:
        for variable, value in bucket.items():
            patch.setenv(variable, value)
        places = open_study(study).places
        files = {table: places.table(table) for stage in STAGES for table in stage.makes}
    return {table: hashlib.sha256(path.read_bytes()).hexdigest() for table, path in files.items()}


DATATROVE = """
import json, sys
from pathlib import Path
from datatrove.executor import LocalPipelineExecutor as Executor
from datatrove.pipeline.dedup import MinhashDedupBuckets, MinhashDedupCluster, MinhashDedupSignature
from datatrove.pipeline.dedup.minhash import MinhashConfig
from datatrove.pipeline.readers import JsonlReader

folder, (words, buckets, hashes) = Path(sys.argv[1]), map(int, sys.argv[2:])
config = MinhashConfig(n_grams=words, num_buckets=buckets, hashes_per_bucket=hashes)
steps = [
    ([JsonlReader(str(folder / "in")), MinhashDedupSignature(str(folder / "sig"), config, language="en")], 1),
    ([MinhashDedupBuckets(str(folder / "sig"), str(folder / "buckets"), config=config)], buckets),
    ([MinhashDedupCluster(str(folder / "buckets"), str(folder / "out"), config, save_cluster_id=True)], 1),
]
for number, (pipeline, tasks) in enumerate(steps):
    Executor(pipeline, tasks=tasks, workers=1, logging_dir=str(folder / f"log-{number}")).run()
"""


def same_groups(ours, theirs) -> tuple[int, int]:
    """Pairs of texts in one group of theirs; and how many of these are in one of ours."""
    import numpy as np

    def inside(labels) -> int:
        _, sizes = np.unique(labels, return_counts=True, axis=0)
        return int((sizes * (sizes - 1) // 2).sum())

    return inside(theirs), inside(np.stack([ours, theirs], axis=1))


def pairs(told: list[str]) -> None:
    """Ours, and datatrove's MinHash in three settings."""
    import cascades
    import numpy as np

    from covmis_build.text.near_duplicates import near_duplicate_groups, near_duplicate_pairs

    texts, python = cascades.posts(int(told[0])), told[1]
    near_duplicate_pairs(texts[:100])
    near_duplicate_groups(texts[:100])
    began = time.process_time()
    groups = near_duplicate_groups(texts)
    print(f"| ours, groups | {time.process_time() - began:.1f} | 1 | 1 |", flush=True)
    began = time.process_time()
    i, j, _ = near_duplicate_pairs(texts)
    print(f"| ours, {len(i):,} pairs | {time.process_time() - began:.1f} | 1 | 1 |", flush=True)
    for setting in ((5, 14, 8), (2, 20, 4), (1, 20, 5)):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "in").mkdir()
            with (Path(folder) / "in" / "posts.jsonl").open("w") as file:
                file.writelines(
                    json.dumps({"text": text, "id": str(at)}) + "\n" for at, text in enumerate(texts)
                )
            watched = Watched()
            with watched.watching():
                subprocess.run(
                    [python, "-c", DATATROVE, folder, *map(str, setting)], check=True, capture_output=True
                )
            (file,) = (Path(folder) / "out").glob("*.clusters")
            post, cluster = np.frombuffer(file.read_bytes(), np.uint32).reshape(-1, 2).T
        labels = np.arange(len(texts)) + len(texts)
        labels[post] = cluster
        every, right = same_groups(groups, labels)
        recall = np.mean(labels[i] == labels[j])
        print(
            f"| datatrove {setting} | {sum(watched.seconds().values()):.1f} | {recall:.4f} | {right / every:.4f} |",
            flush=True,
        )


def lsh(told: list[str]) -> None:
    """Spark's own MinHashLSH over single words."""
    import re

    import cascades
    from pyspark.ml.feature import CountVectorizer, MinHashLSH
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import col

    from covmis_build.text.near_duplicates import near_duplicate_pairs

    texts = cascades.posts(int(told[0]))
    i, j, _ = near_duplicate_pairs(texts)
    exact = set(zip(i.tolist(), j.tolist(), strict=True))
    word = re.compile(r"(?u)\b\w\w+\b")
    rows = [(at, sorted(set(word.findall(text.lower())))) for at, text in enumerate(texts)]
    watched = Watched()
    with watched.watching():
        session = SparkSession.builder.master("local[2]").config("spark.log.level", "FATAL")
        session = session.config("spark.driver.memory", "6g").getOrCreate()
        data = session.createDataFrame([row for row in rows if row[1]], "id long, words array<string>")
        counted = CountVectorizer(inputCol="words", outputCol="features", vocabSize=1 << 20).fit(data)
        data = counted.transform(data).select("id", "features").cache()
        hashing = MinHashLSH(inputCol="features", outputCol="hashes", numHashTables=int(told[1]), seed=1)
        made = hashing.fit(data).approxSimilarityJoin(data, data, 1 / 3, "distance")
        made = made.where(col("datasetA.id") < col("datasetB.id")).select("datasetA.id", "datasetB.id")
        found = {tuple(row) for row in made.collect()}
        watched.look()
        session.stop()
    right = len(found & exact)
    print(
        f"| MinHashLSH, {told[1]} tables | {sum(watched.seconds().values()):.1f} "
        f"| {right / len(exact):.4f} | {right / len(found):.4f} | {len(exact):,} pairs",
        flush=True,
    )


if __name__ == "__main__":
    {"run": run, "pairs": pairs, "lsh": lsh}[sys.argv[1]](sys.argv[2:])
