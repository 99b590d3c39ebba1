"""A crawl that is killed at random moments and resumed ends with the posts of an undisturbed one."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from covmis_build import addresses, keyed, storage
from covmis_build.archive import pages
from covmis_build.collecting import plans
from covmis_build.collecting.sources import x
from tests.collecting.test_pages import stamp
from tests.servers.killable import JOBS
from tests.servers.x import X, posts
from tests.services import object_store

ROOT = Path(__file__).parents[2]
MOMENTS = ("before the answer", "in the answer", "after the answer")


def killed_crawl(folder, server, kills, seed):
    """Run to the end, killing the process `kills` times on the way; how often it had to be started."""
    starts = 0
    while True:
        environment = os.environ | {"X_BEARER_TOKEN": "token-of-nobody", x.ADDRESS: server.address}
        command = [sys.executable, "-m", "tests.servers.killable", str(folder)]
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE)
        if starts < kills:
            arm(server, process, starts, seed)
        else:
            server.before = server.after = lambda number: None
        _, errors = process.communicate(timeout=120)
        starts += 1
        assert process.returncode in {0, -9}, errors.decode()
        if process.returncode == 0:
            return starts


def arm(server, process, number, seed):
    """Kill this process at a keyed moment of one of its next requests."""
    draws = [keyed.uniform(seed, "kill", str(number), part) for part in ("request", "moment", "delay")]
    target = len(server.requests) + 1 + int(draws[0] * 5)
    moment = MOMENTS[int(draws[1] * len(MOMENTS))]

    def before(at):
        if at == target and moment == "before the answer":
            process.kill()
        elif at == target and moment == "in the answer":
            threading.Timer(draws[2] * 0.002, process.kill).start()

    def after(at):
        if at == target and moment == "after the answer":
            threading.Timer(draws[2] * 0.02, process.kill).start()

    server.before, server.after = before, after


def survives(folder, kills, seed):
    with X(posts(260)) as server:
        server.corpus.extend([])
        starts = killed_crawl(folder, server, kills, seed)
        asked = Counter((one.query["query"], one.query.get("next_token")) for one in server.requests)
    expected = {one["id"] for one in server.corpus}
    for job in JOBS:
        found = [post["id"] for page in pages.lines(job.path(folder)) for post in page["data"]]
        assert sorted(found) == sorted(expected)  # all of them, and each once
        numbers = [one.page for one in pages.stamps(job.path(folder))]
        assert numbers == [*range(1, 27)]
    # a kill costs one page at most: the one that was on its way
    assert sum(asked.values()) - len(asked) <= starts - 1
    return starts


@pytest.mark.needs("clients")
def test_ten_kills(tmp_path):
    assert survives(tmp_path, 10, 1) > 5


@pytest.fixture(scope="module")
def bucket():
    """A store with a bucket, where this process and those that it starts find it."""
    with object_store.store("bucket") as environment, pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        addresses._system.cache_clear()
        yield addresses.place("s3://bucket/archive")
    addresses._system.cache_clear()


@pytest.mark.long  # beside a whole suite the store did not always begin to answer
@pytest.mark.needs("clients", "object_store")
def test_ten_kills_while_pages_go_to_a_store(bucket):
    assert survives(bucket, 10, 2) > 5
    assert sorted(bucket.rglob()) == sorted(job.path(bucket) for job in JOBS)
    assert [one.posts for one in plans.known(bucket).values()] == [260, 260]


@pytest.mark.long
@pytest.mark.needs("object_store")
def test_a_kill_while_pages_are_joined_in_a_store_doubles_none(bucket, monkeypatch):
    folder = bucket.with_name("joined")
    path, more = folder / f"q{pages.ENDING}", folder / f"r{pages.ENDING}"
    for number in (1, 2, 3):
        page = stamp(number, "" if number == 3 else "t")
        pages.append(path, {"data": [number]}, page)
        pages.append(more, {"data": [number]}, stamp(number))
    assert len(list(folder.rglob())) == 6
    with monkeypatch.context() as patch:
        patch.setattr(addresses.Address, "unlink", killed)
        with pytest.raises(KeyboardInterrupt):
            pages.join_ended(folder)
    assert [page["data"] for page in pages.lines(path)] == [[1], [2], [3]]
    pages.join_ended(folder)
    assert sorted(found for found in folder.rglob() if found.name.startswith("q")) == [path]
    assert [page["data"] for page in pages.lines(path)] == [[1], [2], [3]]
    assert pages.resume(more).page == 3  # its search goes on
    assert len(list(folder.rglob())) == 4


@pytest.mark.long
@pytest.mark.needs("object_store")
def test_what_was_copied_half_done_into_a_store_is_gone_on_with(bucket, tmp_path):
    here, path = tmp_path / f"q{pages.ENDING}", bucket.with_name("copied") / f"q{pages.ENDING}"
    pages.append(here, {"data": [1]}, stamp(1))
    storage.write_bytes(path, here.read_bytes())
    assert pages.resume(path).page == 1
    pages.append(path, {"data": [2]}, stamp(2, ""))
    assert pages.resume(path).page == 2
    (search,) = plans.known(path.parent).values()
    assert (search.posts, search.finished) == (stamp(1).posts + stamp(2).posts, True)
    pages.join_ended(path.parent)
    assert list(path.parent.rglob()) == [path]
    assert [page["data"] for page in pages.lines(path)] == [[1], [2]]


def killed(path, missing_ok):
    raise KeyboardInterrupt


@pytest.mark.long
@pytest.mark.needs("clients")
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", range(10))
def test_a_hundred_kills(tmp_path, seed):
    assert survives(tmp_path, 10, 100 + seed) > 5
