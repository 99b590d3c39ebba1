"""A `covmis open --team` of its own, and a person's requests to it without a browser."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass

import httpx


@dataclass
class Serving:
    """The servers of `covmis open --team`: the lead's address, the annotators' links, the process."""

    lead: str
    links: dict[str, str]
    process: subprocess.Popen
    said: list[str]

    @property
    def base(self) -> str:
        return next(iter(self.links.values())).split("/#")[0]

    def secret(self, who: str) -> str:
        return self.links[who].split("#")[1]

    @contextmanager
    def client(self, **more):
        settings = {
            "base_url": self.base,
            "headers": {"origin": self.base},
            "trust_env": False,
            "timeout": 120,
        }
        with httpx.Client(**settings | more) as client:
            yield client

    @contextmanager
    def person(self, who: str):
        """A browser that has opened this person's link."""
        with self.client() as client:
            assert client.post("/enter", content=self.secret(who)).status_code == 200
            yield client


@contextmanager
def serving(folder, *options, links=None):
    """`links` are those of an earlier server at the same port, which are shown once."""
    command = [
        sys.executable,
        "-m",
        "covmis_build",
        "open",
        "--team",
        "--no-browser",
        *options,
        "--study",
        folder,
    ]
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env
    ) as server:
        try:
            said = []
            for line in server.stdout:
                said.append(line.rstrip())
                if line.startswith(("Send each person", "a2 ")) and (links or line.startswith("Send")):
                    break
            new = dict(re.findall(r"^(\w+): (\S+/#\S+)$", "\n".join(said), re.MULTILINE))
            lead = re.search(r"http://\S+", said[0])[0]
            yield Serving(lead, new or links, server, said)
            if server.poll() is None:
                server.send_signal(signal.SIGINT)
                assert server.wait(60) == 0
        finally:
            server.kill()


def shown(client, who: str = "a1", number: str = "001") -> list[dict]:
    """The posts on this person's page."""
    page = client.get(f"/work/{who}/{number}")
    assert page.status_code == 200, page.text
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page.text)[1])[
        "items"
    ]
