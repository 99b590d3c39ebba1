"""The tutorial's console blocks, run again: `python -m tests.demonstration.tutorial STUDY` renews their output.

STUDY is a built copy of the demonstration (`python -m tests.demonstration.build --study COPY`); some commands write.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.demonstration.stories import ROOT

TUTORIAL = ROOT / "docs" / "tutorial.md"
BLOCK = re.compile(r"(?<=```console\n)(.*?)(?=```)", re.DOTALL)
RUN = ("covmis ", "head ", "ls", "sed ")
PROGRESS = re.compile(
    r"(?m)^([\w -]+(: \d[^\n]*)? \(?after \d+ s(, about [\d,]+ s left)?\)?|(warning: )?Compiling covmis.*)\n"
)  # on slow and on new machines only
CHANGING = (
    (re.compile(r"\d+(\.\d+)? (s|ms|MB|KB)\b"), "0 s"),  # how long and how big depends on the machine
    (re.compile(r"\b[0-9a-f]{12,}\b"), "hash"),  # seals hash the round's secret and the time of every label
    (re.compile(r"\b20\d\d-\d\d-\d\dT[\d:]+Z?|\b202[6-9]-\d\d-\d\d"), "time"),
    (re.compile(r"-(0\.0+)\b"), r"\1"),  # the sign of nothing depends on the processor
    (re.compile(r"-{3,}"), "---"),
    (re.compile(r"[ \t]+"), " "),
)


def replay(text: str, study: Path) -> str:
    """The tutorial with what its commands print now, in this order, in this study."""
    return BLOCK.sub(lambda block: again(block[1], study), text)


def again(block: str, study: Path) -> str:
    """One block: the commands that are run, each with its output; other lines stay."""
    lines, printed = [], False
    for line in block.splitlines():
        if line.startswith("$ "):
            lines.append(line)
            printed = line[2:].startswith(RUN)
            if printed:
                lines.append(output(line[2:], study).rstrip("\n"))
        elif not printed:
            lines.append(line)
    return "\n".join(line for line in lines if line) + "\n"


def output(command: str, study: Path) -> str:
    """What a command prints, both streams, when its output is no terminal."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    quiet = {"COLUMNS": "100", "PATH": path, "NO_COLOR": "1"}
    done = subprocess.run(
        ["bash", "-c", command], cwd=study, env=os.environ | quiet, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
    )  # fmt: skip
    return PROGRESS.sub("", done.stdout)


def lasting(text: str) -> str:
    """Text without what differs between two runs."""
    for pattern, instead in CHANGING:
        text = pattern.sub(instead, text)
    return text


if __name__ == "__main__":
    TUTORIAL.write_text(replay(TUTORIAL.read_text("utf-8"), Path(sys.argv[1]).resolve()), "utf-8")
