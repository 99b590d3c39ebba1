"""A cluster whose workers see nothing of the study, and an archive in a bucket: the same tables, to the byte."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

from covmis_build import addresses
from covmis_build.archive import stage
from covmis_build.building.stages import STAGES
from covmis_build.study.study import open_study
from tests.engine.cluster import NOBODY, ROOT, cluster
from tests.services import object_store
from tests.small_study import small_study

pytestmark = [
    pytest.mark.starts("setpriv"),
    pytest.mark.needs("spark", "object_store"),
    pytest.mark.long,  # five processes of Java on a small machine
    pytest.mark.timeout(1200),
]
TABLES = [table for stage in STAGES for table in stage.makes]


@pytest.fixture(scope="module")
def bucket():
    with object_store.store("corpus") as environment:
        yield environment


@pytest.fixture(scope="module")
def running(bucket):
    with cluster(bucket) as its:
        yield its


@pytest.fixture(scope="module")
def expected(bucket, tmp_path_factory):
    """A study on disk, its tables as the embedded engine makes them, and its archive in the bucket, too."""
    study = small_study(tmp_path_factory.mktemp("here"), 2500)
    archive = study.places.archives[0]
    for path in sorted(path for path in archive.rglob("*") if path.is_file()):
        key = f"corpus/{path.relative_to(archive.parent).as_posix()}"
        object_store.put(bucket["AWS_ENDPOINT_URL"], key, path.read_bytes())
    study.run(workers=1)
    assert len(study.sample) > 20
    return study


@pytest.fixture
def study(expected, tmp_path, request):
    """The same study, whose archive and build are the bucket alone, in a folder that the workers' user may not enter."""
    folder = tmp_path / "study"
    shutil.copytree(expected.places.folder, folder, ignore=shutil.ignore_patterns("data"))
    settings = (folder / "study.toml").read_text().replace('"data/archive"', '"s3://corpus/archive"')
    at = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)
    settings = settings.replace('build = ""', f'build = "s3://corpus/build/{at}"')
    (folder / "study.toml").write_text(settings)
    folder.chmod(0o700)
    assert subprocess.run([*NOBODY, "test", "-r", str(folder / "study.toml")], check=False).returncode == 1
    return folder


def hashes(study, names=TABLES):
    return {name: hashlib.sha256(study.places.table(name).read_bytes()).hexdigest() for name in names}


def words_of(running, changed):
    settings = running.settings | changed
    conf = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    return ["--master", running.master, *conf]


def covmis(study, bucket, running, changed=()):
    """`covmis run` on the cluster, in a process of its own."""
    command = [sys.executable, "-m", "covmis_build", "run", "--engine", "spark", "--study", str(study)]
    return subprocess.run(
        [*command, *words_of(running, dict(changed))],
        env=os.environ | bucket, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip


KILLING = """
import json, os, sys, time
from pathlib import Path
from threading import Thread
from covmis_build.archive import stage
from covmis_build.building import ledger, run
from covmis_build.study.study import open_study

study, master, settings, moments, small = json.loads(sys.argv[1])

def at(moment):
    for name in [name for name in moments if moment.startswith(name)]:
        group = moments.pop(name)
        os.killpg(group, 9) if group else os.kill(os.getpid(), 9)

def before(module, name, moment_of):
    function = getattr(module, name)
    def wrapped(*given):
        at(moment_of(*given))
        return function(*given)
    setattr(module, name, wrapped)

def replace(path, target, function=Path.replace):
    replaced = function(path, target)
    at(f"renamed {Path(target).stem}")
    return replaced

def watch(parts):
    while not list(parts.glob("*.parquet")):
        time.sleep(0.02)
    at("part")

stage.SMALL = small
if "part" in moments:
    Thread(target=watch, args=[open_study(study).places.far_store], daemon=True).start()
Path.replace = replace
before(run, "_write", lambda _, table, *__: f"write {table}")
before(ledger, "append", lambda _, entry: f"{entry.event} {entry.stage}")
open_study(study).run(
    engine="spark", master=master, settings=settings, progress=lambda step, done, _: at(f"{step} {done}")
)
assert not moments, f"never came to {moments}"
"""


def killing(study, bucket, running, moments, small=stage.SMALL):
    """Run, and at each of these moments kill a worker, or (0) the run itself."""
    told = json.dumps([str(study), running.master, running.settings, moments, small])
    command = [sys.executable, "-c", KILLING, told]
    return subprocess.run(
        command, env=os.environ | bucket, capture_output=True, text=True, timeout=900, check=False, cwd=ROOT
    )


def test_workers_that_see_only_the_bucket_make_the_same_tables(bucket, expected, study, running):
    done = covmis(study, bucket, running)
    assert done.returncode == 0, done.stderr
    assert hashes(open_study(study)) == hashes(expected)
    assert len(list((study / "data" / "build").glob("*.*.parquet"))) == len(TABLES)  # named as in the store
    assert not list((study / "data" / "build" / "archive").rglob("*.parquet")), "the posts come here"


def test_a_build_on_this_machine_is_refused_in_one_line(bucket, expected, study, running):
    toml = study / "study.toml"
    toml.write_text(re.sub(r'build = "s3:[^"]*"', 'build = ""', toml.read_text()))
    done = covmis(study, bucket, running)
    assert done.returncode == 2, done.stderr
    assert 'build = "s3://BUCKET/STUDY"' in " ".join(done.stderr.split()), done.stderr
    assert "Traceback" not in done.stderr


def test_all_workers_join_what_is_too_much_for_one(bucket, expected, study, running):
    done = covmis(study, bucket, running, {"spark.covmis.joinedByOne": "0"})
    assert done.returncode == 0, done.stderr
    assert hashes(open_study(study)) == hashes(expected)


def test_a_run_killed_while_it_reads_loses_no_part_that_was_written(bucket, expected, study, running):
    done = killing(study, bucket, running, {"part": 0}, small=0)
    assert done.returncode == -signal.SIGKILL, done.stderr
    with pytest.MonkeyPatch.context() as patch:
        for name, value in bucket.items():
            patch.setenv(name, value)
        addresses._system.cache_clear()
        written = parts_of(study)
        time.sleep(1.1)  # a store knows seconds
        assert written
        done = killing(study, bucket, running, {}, small=0)  # each file is a part
        assert done.returncode == 0, done.stderr
        assert written.items() <= parts_of(study).items()
    addresses._system.cache_clear()
    same = [table for table in TABLES if table not in {"parts", "older_copies"}]  # which name parts
    assert hashes(open_study(study), same) == hashes(expected, same)


def parts_of(study):
    folder = open_study(study).places.far_store
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("*.parquet")}


def test_300_000_posts_make_the_same_tables(bucket, tmp_path):
    """Near-duplicates are found across the cluster, in lists that come in many batches."""
    (tmp_path / "here").mkdir()
    here = small_study(tmp_path / "here", 300_000)
    for path in sorted(here.places.archives[0].iterdir()):
        object_store.put(bucket["AWS_ENDPOINT_URL"], f"corpus/large/archive/{path.name}", path.read_bytes())
    here.run(workers=1)
    there = shutil.copytree(here.places.folder, tmp_path / "there", ignore=shutil.ignore_patterns("data"))
    settings = (there / "study.toml").read_text().replace('"data/archive"', '"s3://corpus/large/archive"')
    settings = settings.replace('build = ""', 'build = "s3://corpus/large/build"')
    (there / "study.toml").write_text(settings)
    with cluster(bucket, memory="3g", more={"spark.covmis.comparedHere": "0"}) as its:
        done = covmis(there, bucket, its, {"spark.driver.memory": "3g"})
    assert done.returncode == 0, done.stderr
    assert hashes(open_study(there)) == hashes(here)


def test_doctor_says_what_the_workers_have(bucket, expected, study, running):
    command = [sys.executable, "-m", "covmis_build", "doctor", "--json", "--study", str(study)]
    done = subprocess.run(
        [*command, *words_of(running, {})],
        env=os.environ | bucket,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    parts = [(part["kind"], part["part"], part["state"]) for part in json.loads(done.stdout)["parts"]]
    assert ("archive", "s3://corpus/archive", "ready") in parts
    assert {state for kind, _, state in parts if kind == "worker"} == {"ready"}


@pytest.mark.parametrize(
    ("lack", "words"),
    [
        ("endpoint", "Give the workers credentials and endpoint"),
        ("archive", "Permission denied. Put the archive into a bucket"),
        ("covmis", "has covmis missing"),
        ("same code", "Install the same covmis"),
        ("python", "a worker cannot run /nowhere/python"),
    ],
)
def test_what_a_worker_lacks_is_said_in_one_line(bucket, expected, study, running, tmp_path, lack, words):
    packages = running.settings["spark.executorEnv.PYTHONPATH"]
    changed = {}
    if lack == "endpoint":
        changed = {"spark.executorEnv.AWS_ENDPOINT_URL": "http://127.0.0.1:9"}
    elif lack == "archive":
        shutil.copytree(expected.places.folder / "data" / "archive", study / "data" / "archive")
        shutil.copyfile(expected.places.folder / "study.toml", study / "study.toml")
    elif lack == "covmis":
        changed = {"spark.executorEnv.PYTHONPATH": packages.partition(":")[0]}
    elif lack == "same code":
        other = running.folder / "other"
        shutil.copytree(ROOT / "covmis_build", other / "covmis_build")
        with (other / "covmis_build" / "keyed.py").open("a") as file:
            file.write("# something else\n")
        changed = {"spark.executorEnv.PYTHONPATH": f"{other}:{packages}"}
    elif lack == "python":
        changed = {"spark.pyspark.python": "/nowhere/python"}
    done = covmis(study, bucket, running, changed)
    assert done.returncode in {2, 3}, done.stderr
    assert words in " ".join(done.stderr.split()), done.stderr
    assert "Traceback" not in done.stderr
    assert "\tat " not in done.stderr


MOMENTS = (
    "reading 0", "write older_copies", "write claims", "renamed queries", "write hits", "renamed posts",
    "language and words", "near-duplicates", "write clean.dropped", "renamed items",
    "write dropped", "renamed sample", "done sample",
)  # fmt: skip
"""In every stage, one after the other: what a killed run had finished is not made again."""


def test_a_run_killed_again_and_again_makes_the_same_tables(bucket, expected, study, running):
    for moment in MOMENTS:
        done = killing(study, bucket, running, {moment: 0})
        assert done.returncode == -signal.SIGKILL, (moment, done.stderr)
    done = killing(study, bucket, running, {})
    assert done.returncode == 0, done.stderr
    assert hashes(open_study(study)) == hashes(expected)


def test_a_worker_killed_in_each_stage_on_the_cluster_changes_no_table(bucket, expected, study):
    """When the first part of the store is there; while each stage works, while its tables are written, while the sample is drawn."""
    moments = ("part", "write parts", "write hits", "near-duplicates", "write items", "write sample")
    with cluster(bucket, len(moments) + 1) as running:
        killed = dict(zip(moments, running.workers, strict=False))
        done = killing(study, bucket, running, killed)
    assert done.returncode == 0, done.stderr
    assert hashes(open_study(study)) == hashes(expected)
