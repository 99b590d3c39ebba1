"""The same targets by a fuzzer that follows the code's branches: `python -m tests.fuzz.guided [SECONDS [TARGET…]]`.

Atheris (libFuzzer for Python) looks for inputs that reach lines that no input has reached, and keeps them in build/fuzz.
What it finds stands in build/fuzz/found; `python -m tests.fuzz.guided FILE` tries such a file again.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import tempfile
from pathlib import Path

HOME = Path(__file__).parents[2] / "build" / "fuzz"
SECONDS, LONGEST, MEMORY = 600, 1 << 16, 2048
"""For all targets together; of an input the bytes; of a process the megabytes, with what the fuzzer itself needs."""


def fuzz(name: str, *words: str) -> None:
    """Let Atheris call this target in this process, which it ends."""
    import atheris

    from tests.fuzz.targets import FILES, told

    file = FILES[name]
    seeds = HOME / _plain(name)
    seeds.mkdir(parents=True, exist_ok=True)
    (HOME / "found").mkdir(exist_ok=True)
    (seeds / "whole").write_bytes(file.content)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / file.name

        def target(data: bytes) -> None:
            path.write_bytes(data)
            told(file.act, path)

        limits = [
            f"-max_len={LONGEST}",
            f"-rss_limit_mb={MEMORY}",
            "-timeout=30",
            "-print_final_stats=1",
            f"-artifact_prefix={HOME / 'found' / _plain(name)}-",
        ]
        places = [] if words[-1:] and Path(words[-1]).is_file() else [str(seeds)]
        atheris.Setup([sys.argv[0], *limits, *words, *places], target)
        atheris.Fuzz()


def _plain(name: str) -> str:
    return re.sub(r"[^\w.]+", "-", name)


def every(seconds: int, names: list[str]) -> int:
    """Each target in a process of its own, for its part of the time; how many have found something."""
    import atheris

    with atheris.instrument_imports(include=["covmis_build"]):
        from tests.fuzz.targets import FILES

    HOME.mkdir(parents=True, exist_ok=True)
    failed = []
    for name in names or FILES:
        each = max(1, seconds // len(names or FILES))
        code, said = _apart(name, f"-max_total_time={each}")
        tried = re.search(r"number_of_executed_units: (\d+)", said)
        verdict = "FOUND SOMETHING" if code else "nothing found"
        print(f"{name}: {verdict} in {int(tried[1]) if tried else 0:,} inputs", flush=True)
        if code:
            failed.append(name)
            print(said[-3000:], flush=True)
    print(
        f"{len(failed)} of {len(names or FILES)} targets have found something: {', '.join(failed) or 'none'}"
    )
    return len(failed)


def _apart(name: str, *words: str) -> tuple[int, str]:
    """Fuzz in a process that begins with what this one has loaded, which takes ten seconds; its exit code, what it said."""
    with tempfile.TemporaryFile() as told:
        if not (child := os.fork()):
            os.dup2(told.fileno(), 1)
            os.dup2(told.fileno(), 2)
            fuzz(name, *words)
            os._exit(1)  # Atheris ends the process itself
        _, status = os.waitpid(child, 0)
        told.seek(0)
        return os.waitstatus_to_exitcode(status), told.read().decode("utf-8", "replace")


if __name__ == "__main__":
    if importlib.util.find_spec("atheris") is None:
        print(
            "coverage-guided fuzzing needs Atheris: `python -m tests.services fuzzing`; everything else was tried"
        )
        sys.exit()
    asked = sys.argv[1:]
    if asked[:1] == ["--one"]:
        fuzz(asked[1], *asked[2:])
    else:
        sys.exit(min(1, every(int(asked[0]) if asked else SECONDS, asked[1:])))
