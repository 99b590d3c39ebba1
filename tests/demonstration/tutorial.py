"""The tutorial's console blocks, run again: `python -m tests.demonstration.tutorial STUDY` renews their output.

STUDY is a built copy of the demonstration (`python -m tests.demonstration.build --study COPY`); some commands write.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.demonstration.stories import ROOT
from tests.program import shown

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
    """What a command prints, both streams, when its output is no terminal; by itself, or cut by the shell's words."""
    ours, _, behind = command.partition(" | ") if command.startswith("covmis ") else ("", "", command)
    text = ""
    if ours:
        typed, silenced, _ = ours.partition(" 2> /dev/null")
        text = shown(study, *shlex.split(typed)[1:], errors=not silenced)
    if behind:
        text = subprocess.run(
            ["bash", "-c", behind], cwd=study, input=text, text=True, check=False, encoding="utf-8",
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        ).stdout  # fmt: skip
    return PROGRESS.sub("", text)


def lasting(text: str) -> str:
    """Text without what differs between two runs."""
    for pattern, instead in CHANGING:
        text = pattern.sub(instead, text)
    return text


if __name__ == "__main__":
    TUTORIAL.write_text(replay(TUTORIAL.read_text("utf-8"), Path(sys.argv[1]).resolve()), "utf-8")
