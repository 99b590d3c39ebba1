"""Spark's workers: check their covmis version and access to files, and report their errors."""

from __future__ import annotations

import hashlib
import json
import re
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from covmis_build import __version__, errors
from covmis_build.addresses import Address, place
from covmis_build.errors import CovmisError, InputError, ServiceError, pip_install

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import SparkSession

PATIENCE = 300.0
"""Seconds to wait for the first worker, because a full cluster does not report that it has none."""
HOW = (
    f"Install the same covmis for the workers' Python ({pip_install('spark')}); spark.pyspark.python names it"
)


class Worker(NamedTuple):
    """A worker's report; `unseen` are files that differ from this machine's, with the reason."""

    host: str
    python: str
    edition: str
    unseen: tuple[tuple[str, str], ...] = ()


@cache
def edition() -> str:
    """Return the version of covmis and a hash of its code, because two working copies of one version may differ."""
    package = Path(__file__).parents[1]
    hashed = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        hashed.update(f"{path.relative_to(package).as_posix()}\0".encode() + path.read_bytes() + b"\0")
    return f"{__version__} ({hashed.hexdigest()[:8]})"


def agree(wanted: str) -> None:
    """On a worker: refuse to compute with code that differs from the caller's."""
    if edition() != wanted:
        raise InputError(f"a worker has covmis {edition()}, this machine {wanted}", remedy=HOW)


def look(files: Iterable[tuple[str, int]]) -> tuple[tuple[str, str], ...]:
    """On a worker: return the files that are missing or have another size."""
    unseen = []
    for file, size in files:
        try:
            here = place(file).stat().st_size
        except CovmisError as error:
            unseen.append((file, error.problem))
        except OSError as error:
            unseen.append((file, error.strerror or str(error)))
        else:
            unseen += [(file, f"{here} bytes instead of {size}")] * (here != size)
    return tuple(unseen)


def workers(session: SparkSession, files: Sequence[Path] = ()) -> list[Worker]:
    """Return the reports of the current workers."""
    _wait(session)
    context = session.sparkContext
    asked = [(str(file), file.stat().st_size) for file in files]

    module = __name__

    def ask(_: Iterator[int]) -> Iterator[str]:  # travels whole: nothing of covmis needs to be there
        import importlib
        import json
        import platform
        import sys

        said: list[Any] = [platform.node(), ".".join(map(str, sys.version_info[:3])), "", []]
        try:
            there = importlib.import_module(module)
        except ImportError as error:
            said[2] = f"missing ({error})"
        else:
            said[2:] = [there.edition(), there.look(asked)]
        yield json.dumps(said)

    tasks = 4 * context.defaultParallelism
    answers = set(context.parallelize(range(tasks), tasks).mapPartitions(ask).collect())
    said = [json.loads(answer) for answer in sorted(answers)]
    return [Worker(host, python, own, tuple(map(tuple, unseen))) for host, python, own, unseen in said]


def check(session: SparkSession, files: Sequence[Path] = ()) -> None:
    """Refuse workers with another covmis, and files that one of them cannot read."""
    for worker in workers(session, files):
        if worker.edition != edition():
            raise InputError(
                f"worker {worker.host} has covmis {worker.edition}, this machine {edition()}", remedy=HOW
            )
        for file, reason in worker.unseen:
            far = isinstance(place(file), Address)
            remedy = (
                "Give the workers credentials and endpoint in their own environment, or with --conf spark.executorEnv.NAME=VALUE"
                if far
                else "Put the archive into a bucket, or mount it at the same place on every worker"
            )
            raise (ServiceError if far else InputError)(
                f"worker {worker.host} cannot read it: {reason}",
                file=file,
                remedy=remedy,
            )


def _wait(session: SparkSession) -> None:
    """Wait for the first worker."""
    java = session.sparkContext._jsc.sc()  # noqa: SLF001 - Python's side cannot count executors
    master, began = session.sparkContext.master, time.monotonic()
    while len(java.statusTracker().getExecutorInfos()) < 2:  # this machine counts as one
        if java.isStopped():
            raise ServiceError(f"{master} does not answer", remedy="Is it running, and is this its address?")
        if time.monotonic() - began > PATIENCE:
            raise ServiceError(
                f"no worker of {master} has taken the work in {PATIENCE:.0f} seconds",
                remedy="They need free cores, and the memory that spark.executor.memory asks for",
            )
        time.sleep(0.1)


OURS = re.compile(r"^covmis_build\.errors\.(\w+): (.+)$", re.MULTILINE)
THEIRS = re.compile(r"^(?:Caused by: )?((?:\w+\.)*\w*(?:Error|Exception): .+)$", re.MULTILINE)


MEMORY = "--conf spark.driver.memory=6g gives more to Spark on this machine, spark.executor.memory to a cluster's workers"


def error_from_worker(error: BaseException) -> CovmisError | None:
    """Return Spark's error in one line, a worker's covmis error as raised there; None if it is not Spark's."""
    if not type(error).__module__.startswith(("pyspark.", "py4j.")):
        return None
    text = str(error)
    if ours := OURS.search(text):
        kind = getattr(errors, ours[1], ServiceError)
        said: CovmisError = kind(ours[2])
        return said
    if "No module named 'covmis_build" in text:
        return InputError("a worker has no covmis", remedy=HOW)
    if "PYTHON_VERSION_MISMATCH" in text:
        return InputError("a worker has another version of Python than this machine", remedy=HOW)
    if start := re.search(r"Cannot run program \"([^\"]+)\"", text):
        return InputError(f"a worker cannot run {start[1]}", remedy=HOW)
    reasons = THEIRS.findall(text) or [text.strip().splitlines()[0] if text.strip() else type(error).__name__]
    remedy = (
        MEMORY
        if "java.lang.OutOfMemoryError" in text
        else "--conf spark.log.level=WARN shows what Spark says"
    )
    return ServiceError(f"Spark failed: {reasons[-1][:300]}", remedy=remedy)
