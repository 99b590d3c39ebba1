"""Long work: a command in a process of its own, one at a time; pages show how far it is, and may end it."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

LINES = 200
"""Lines of what a command says that are kept."""
LAST = 14
"""Of these, how many a page shows."""


@dataclass
class Job:
    """A command at work, or one that has ended; `step`, `done` and `of` are its progress."""

    command: str
    process: subprocess.Popen[str]
    step: str = "starting"
    done: int = 0
    of: int = 0
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=LINES))
    state: str = "running"
    """running, done, problems (there is a result, and something to correct), failed or ended (by the person)."""
    began: float = field(default_factory=time.time)
    has_result: bool = False
    was_shown: bool = False

    def to_dict(self) -> dict[str, Any]:
        """As pages and their script take it."""
        return {
            "command": self.command,
            "state": self.state,
            "step": self.step,
            "done": self.done,
            "of": self.of,
            "lines": list(self.lines)[-LAST:],
        }


class Jobs:
    """The work of a study that this workbench has started, the last of it."""

    def __init__(self, study: Path) -> None:
        self.study, self.changes = study, 0
        """`changes` counts what was heard of a job, so that a page knows when there is news."""
        self.last: Job | None = None
        self._lock = threading.Lock()

    def start(self, *words: str, called: Sequence[str] = ()) -> Job:
        """Start a command, which pages may call otherwise; refused while another one is at work."""
        with self._lock:
            if self.last and self.last.state == "running":
                raise InputError(f"`{self.last.command}` is at work", remedy="Wait for it, or end it")
            process = subprocess.Popen(  # noqa: S603 - our own program, its words from a table of ours
                [sys.executable, "-m", "covmis_build", *words, "--study", str(self.study)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,
                env={**os.environ, "COVMIS_PROGRESS": "json", "PYTHONUTF8": "1"},
            )
            self.last = job = Job(shlex.join(["covmis", *(called or words)]), process)
        threading.Thread(target=self._listen, args=(job,), daemon=True).start()
        return job

    def _listen(self, job: Job) -> None:
        with job.process:
            said = threading.Thread(target=self._results, args=(job,), daemon=True)
            said.start()
            for line in job.process.stderr or ():
                progress = _progress(line)
                if progress:
                    job.step, job.done, job.of = progress
                elif line.strip():
                    job.lines.append(line.rstrip())
                self.changes += 1
            said.join()
        if job.state == "running":
            code = job.process.returncode
            job.state = "done" if not code else "problems" if code == 1 and job.has_result else "failed"
        self.changes += 1

    def _results(self, job: Job) -> None:
        for line in job.process.stdout or ():
            job.has_result = True
            job.lines.append(line.rstrip())

    def end(self) -> None:
        """Interrupt what is at work and all that it has started, as Ctrl-C does."""
        job = self.last
        if job and job.state == "running":
            job.state = "ended"
            if hasattr(os, "killpg"):
                os.killpg(job.process.pid, signal.SIGINT)
            else:
                job.process.terminate()

    def shown(self) -> dict[str, Any] | None:
        """What a page shows of the last job: how it ended is shown once."""
        job = self.last
        if job is None or job.was_shown:
            return None
        job.was_shown = job.process.poll() is not None and job.state != "running"
        return job.to_dict()


def _progress(line: str) -> tuple[str, int, int] | None:
    """A line of progress, as `COVMIS_PROGRESS=json` has the command line write it."""
    if not line.startswith('{"step"'):
        return None
    try:
        heard = json.loads(line)
        return str(heard["step"]), int(heard["done"]), int(heard["of"])
    except (ValueError, KeyError):
        return None
