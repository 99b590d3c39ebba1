"""A standalone cluster of Spark on this machine: a master, and workers as processes of a user who may read nothing of ours."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from covmis_build.text import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parents[2]
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--pdeathsig=KILL", "env"]
"""It ends with us, however we end. Its powers end with the second program that it starts, and the first would still be found in a closed folder."""
PLAIN = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
PLAIN |= {name: os.environ[name] for name in ("JAVA_HOME",) if name in os.environ}


SMALL = {
    "spark.sql.shuffle.partitions": "2", "spark.sql.adaptive.enabled": "false", "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN", "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1", "spark.covmis.comparedHere": "0",
}  # fmt: skip
"""Of tiny tables, planning and compiling would take most of the time; near-duplicates are found on the cluster."""


@dataclass(frozen=True)
class Cluster:
    """Its address, the settings with which `covmis run` uses it, the process groups of its workers, its folder."""

    master: str
    settings: dict[str, str]
    workers: list[int]
    folder: Path


@contextmanager
def cluster(
    environment: Mapping[str, str], workers: int = 2, *, memory: str = "1g", more: Mapping[str, str] = SMALL
) -> Iterator[Cluster]:
    """A master and so many workers of one core, which know this environment and nothing else."""
    packages = f"{Path(importlib.util.find_spec('pyspark').origin).parents[1]}:{ROOT}"
    python = _python_of_nobody(packages)
    home = packages.partition(":")[0] + "/pyspark"
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="cluster-") as name, ExitStack() as stack:
        folder = Path(name)
        folder.chmod(0o755)
        own = PLAIN | {"SPARK_HOME": home, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        address = f"spark://127.0.0.1:{port}"
        run = [f"{home}/bin/spark-class", "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1"]
        _begin(stack, [*NOBODY, *run, "--port", str(port), "--webui-port", "0"], own, folder / "master.log")
        _says(folder / "master.log", "I have been elected leader")
        groups, kept = list[int](), _compiled(folder / "numba")
        for number in range(workers):
            place = folder / f"worker-{number}"
            place.mkdir()
            shutil.chown(place, 65534, 65534)
            run = [f"{home}/bin/spark-class", "org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1"]
            run += [
                "--cores",
                "1",
                "--memory",
                memory,
                "--webui-port",
                "0",
                "--work-dir",
                str(place),
                address,
            ]
            its = own | environment | {"SPARK_LOCAL_DIRS": str(place), "NUMBA_CACHE_DIR": str(kept)}
            groups.append(_begin(stack, [*NOBODY, *run], its, folder / f"worker-{number}.log"))
        for number in range(workers):
            _says(folder / f"worker-{number}.log", "Successfully registered with master")
        settings = {
            "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.driver.memory": "3g",
            "spark.executor.memory": memory, "spark.executor.cores": "1", "spark.ui.enabled": "false",
            "spark.pyspark.python": python, "spark.executorEnv.PYTHONPATH": packages,
        }  # fmt: skip
        yield Cluster(address, settings | dict(more), groups, folder)


def _compiled(folder: Path) -> Path:
    """Where workers keep machine code, with what is there already: compiling it again takes each of them half a minute."""
    compiled.everything()
    kept = compiled.folder()
    assert kept
    shutil.copytree(kept, folder / kept.name)
    for place in (folder, *folder.rglob("*")):
        shutil.chown(place, 65534, 65534)
    return folder


def _python_of_nobody(packages: str) -> str:
    """A Python of this version that another user may run, with the packages of ours."""
    if os.geteuid() != 0:
        pytest.skip("needs root: Spark's workers run as another user, who cannot see the study")
    system = f"/usr/bin/python{sys.version_info[0]}.{sys.version_info[1]}"
    for python in (sys.executable, system):
        command = [*NOBODY, python, "-c", "import covmis_build, pyarrow, numba"]
        done = subprocess.run(
            command, env=PLAIN | {"PYTHONPATH": packages}, capture_output=True, check=False, cwd="/"
        )
        if done.returncode == 0:
            return python
    pytest.skip(f"another user can run neither {sys.executable} nor {system} with our packages")


def _begin(stack: ExitStack, command: list[str], environment: dict[str, str], log: Path) -> int:
    """Start a process in a group of its own, which is killed at the end."""
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, env=environment, cwd="/", stdout=out, stderr=out, start_new_session=True
        )
    stack.callback(process.wait)
    stack.callback(end, process.pid)
    return process.pid


def end(group: int) -> None:
    """Kill a worker and what it has started, at once."""
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _says(log: Path, words: str) -> None:
    """Wait until a process has written this."""
    for _ in range(1200):
        if words in log.read_text():
            return
        time.sleep(0.1)
    raise RuntimeError(f"a process of Spark does not say '{words}': {log.read_text()[-2000:]}")
