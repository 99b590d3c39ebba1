"""Wall time, memory and each stage's share of `covmis run`, on the demonstration and on generated posts.

python benchmarks/run.py                     the demonstration
python benchmarks/run.py --posts 1000000     as many generated posts, in a temporary folder
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROGRAM = [sys.executable, "-c", "from covmis_build.cli import main; main()"]


def study_of(folder: Path, posts: int) -> Path:
    """A copy of the demonstration, with its own archive or a generated one."""
    shutil.copytree(ROOT / "queries", folder / "queries")
    shutil.copyfile(ROOT / "study.toml", folder / "study.toml")
    archive = folder / "data" / "archive"
    if posts:
        command = [
            sys.executable,
            "-m",
            "tests.demonstration.generate",
            "--posts",
            str(posts),
            "--out",
            str(archive),
        ]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    else:
        shutil.copytree(ROOT / "data" / "archive", archive)
    return folder


def main() -> None:
    """Print one table for one size."""
    options = argparse.ArgumentParser()
    options.add_argument("--posts", type=int, default=0)
    options.add_argument("--repeat", type=int, default=3)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        study = study_of(Path(folder) / "study", asked.posts)
        size = sum(path.stat().st_size for path in (study / "data" / "archive").iterdir())
        print(f"{asked.posts or 20_000:,} posts, {size / 1e6:.1f} MB compressed")
        for number in range(asked.repeat + 1):
            shutil.rmtree(study / "data" / "build", ignore_errors=True)
            began = time.perf_counter()
            done = subprocess.run(
                [*PROGRAM, "run", "--json", "--study", str(study)], check=True, capture_output=True
            )
            wall = time.perf_counter() - began
            stages = {one["stage"]: one["seconds"] for one in json.loads(done.stdout)["stages"]}
            shares = ", ".join(
                f"{name} {seconds:.2f} s ({seconds / wall:.0%})" for name, seconds in stages.items()
            )
            kind = "first run (kernels compiled if not yet)" if number == 0 else f"run {number}"
            print(f"{kind}: {wall:.2f} s; {shares}")
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(f"peak memory of the largest process: {peak:.0f} MB")
        began = time.perf_counter()
        subprocess.run([*PROGRAM, "run", "--study", str(study)], check=True, capture_output=True)
        print(f"a second run with nothing to do: {time.perf_counter() - began:.2f} s")


if __name__ == "__main__":
    main()
