"""Wall time, CPU, memory and each stage's share of `covmis run`, on the demonstration and on generated posts.

python benchmarks/run.py                                        the demonstration
python benchmarks/run.py --posts 1000000                        as many generated posts, in a temporary folder
python benchmarks/run.py --archive FOLDER --claims LIST --stages retrieve --before CHECKOUT
                                                                a folder made before; in turn with other code

After each first run one query is changed and the same is run again, and then once more with nothing to do.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]


class Ran(NamedTuple):
    """What a run of the program cost, its processes' processes included; `peak` is of the largest, in MB."""

    wall: float
    cpu: float
    peak: float
    said: bytes


def run(checkout: Path, *arguments: str | Path) -> Ran:
    """`covmis`, by the code of a checkout."""
    began = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        program = [sys.executable, "-c", "from covmis_build.cli import main; main()", *map(str, arguments)]
        process = subprocess.Popen(program, cwd=checkout, stdout=said, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - began
        if process.returncode:
            raise SystemExit(f"{program} ended with {process.returncode}")
        said.seek(0)
        return Ran(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, said.read())


def study_of(folder: Path, checkout: Path, archive: Path, claims: Path | None = None) -> Path:
    """A copy of the checkout's demonstration with this archive, and this claim list if there is one."""
    shutil.copytree(checkout / "queries", folder / "queries")
    if claims:
        shutil.copyfile(claims, folder / "queries/claims.csv")
    shutil.copyfile(checkout / "study.toml", folder / "study.toml")
    (folder / "data").mkdir()
    (folder / "data" / "archive").symlink_to(archive)
    return folder


def change(claims: Path, number: int) -> None:
    """Write another word into the first claim's keywords."""
    with claims.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    at = rows[0].index("keywords")
    row = next(row for row in rows[1:] if row[at])
    row[at] = f"{row[at]} -unheard{number}"
    with claims.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


def main() -> None:
    """Print one line a run."""
    options = argparse.ArgumentParser()
    options.add_argument("--posts", type=int, default=0)
    options.add_argument("--archive", type=Path, default=ROOT / "data" / "archive")
    options.add_argument("--claims", type=Path)
    options.add_argument("--stages", nargs="*", default=[])
    options.add_argument("--before", type=Path, nargs="*", default=[])
    options.add_argument("--repeat", type=int, default=3)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, archive = Path(name), asked.archive.resolve()
        if asked.posts:
            archive = folder / "archive"
            command = [sys.executable, "-m", "tests.demonstration.generate", "--posts", str(asked.posts)]
            subprocess.run([*command, "--out", archive], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        checkouts = [ROOT, *(checkout.resolve() for checkout in asked.before)]
        studies = {
            checkout: study_of(folder / f"study{number}", checkout, archive, asked.claims)
            for number, checkout in enumerate(checkouts)
        }
        size = sum(path.stat().st_size for path in archive.iterdir())
        print(f"{archive.name}: {size / 1e6:.1f} MB; load {os.getloadavg()[0]:.1f}")
        for number in range(asked.repeat + 1):
            for checkout, study in studies.items():
                shutil.rmtree(study / "data" / "build", ignore_errors=True)
                for what in ("first", "a query changed", "nothing to do"):
                    if what == "a query changed":
                        change(study / "queries/claims.csv", number)
                    ran = run(checkout, "run", *asked.stages, "--json", "--study", study)
                    stages = {stage["stage"]: stage["seconds"] for stage in json.loads(ran.said)["stages"]}
                    shares = ", ".join(
                        f"{name} {seconds:.1f} s" for name, seconds in stages.items() if seconds
                    )
                    print(
                        f"{checkout.name}, run {number}{' (may compile)' if not number else ''}, {what}: {ran.wall:.1f} s, "
                        f"CPU {ran.cpu:.2f} s, {ran.peak:.0f} MB; {shares}; load {os.getloadavg()[0]:.1f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
