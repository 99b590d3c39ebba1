"""A store that speaks S3, on this machine: moto's server, in an environment of its own."""

import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from tests.installing import Environment

what = "an object store that speaks S3 (moto)"
environment = Environment("object_store")
ready, install = environment.ready, environment.install


@contextmanager
def store(*buckets: str) -> Iterator[dict[str, str]]:
    """A running store with these buckets; the environment in which programs find it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    command = [environment.bin / "moto_server", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _answers(url, process)
            for bucket in buckets:
                urllib.request.urlopen(urllib.request.Request(f"{url}/{bucket}", method="PUT")).close()
            yield {
                "AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "nothing",
                "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
            }  # fmt: skip
        finally:
            process.kill()


def _answers(url: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until it answers: its first start on a busy machine compiles some thousand files."""
    last: OSError | None = None
    for _ in range(3000):
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except OSError as error:
            last = error
            if process.poll() is not None:
                break
            time.sleep(0.1)
        else:
            return
    raise RuntimeError(f"the store at {url} does not answer (exit code {process.poll()}): {last!r}")


def put(url: str, key: str, content: bytes) -> None:
    """Lay a file into a bucket."""
    kind = {"Content-Type": "application/octet-stream"}
    asked = urllib.request.Request(f"{url}/{key}", data=content, method="PUT", headers=kind)
    urllib.request.urlopen(asked, timeout=60).close()
