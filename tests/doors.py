"""What hostile files cost through every door: `python -m tests.doors STUDY [DOOR …]`, for a copy of a study with an open round.

The promise: one line, exit code 2, at most 20 CPU s and 1 GB (of whichever process took most). The files are those of `tests.bombs`, of 256 MiB.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests import bombs

if TYPE_CHECKING:
    from collections.abc import Callable

SIZE = 256 << 20
GOLD = "item_id,label\n" + "".join(f"{at},favor\n" for at in range(100))
MEASURED = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
spent = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([done.returncode, spent.ru_utime + spent.ru_stime, spent.ru_maxrss / 1024, done.stderr.strip()]))
"""
DOORS: dict[str, Callable[[Path], list[str]]] = {
    "claims import": lambda file: ["covmis", "claims", "import", str(file)],
    "verify": lambda file: ["covmis", "verify", str(file)],
    "verify of a folder": lambda file: ["covmis", "verify", str(_in_release(file))],
    "verify of a bundle": lambda file: ["covmis", "verify", str(_in_bundle(file))],
    "round import": lambda file: ["covmis", "round", "import", str(file)],
    "evaluate score, gold": lambda file: ["covmis", "evaluate", "score", str(file), "gold.csv"],
    "evaluate score, system": lambda file: ["covmis", "evaluate", "score", "gold.csv", str(file)],
    "browser, posts": lambda file: ["python", "-m", "tests.doors", "--browser", "posts", str(file)],
    "browser, claims": lambda file: ["python", "-m", "tests.doors", "--browser", "claims", str(file)],
    "browser, answers": lambda file: ["python", "-m", "tests.doors", "--browser", "rounds/001/answers", str(file)],
}  # fmt: skip


def _in_release(file: Path) -> Path:
    """A release with the file in the place of one of its own."""
    release = Path("data/release")
    folder = Path(shutil.copytree(release, Path(tempfile.mkdtemp(), "release")))
    ending = ".parquet" if file.suffix == ".parquet" else ".csv"
    shutil.copyfile(file, folder / f"corpus{ending}")
    return folder


def _in_bundle(file: Path) -> Path:
    """A bundle with the file in the place of one of its own."""
    path = Path(tempfile.mkdtemp(), "bundle.zip")
    with (
        zipfile.ZipFile("data/release/bundle.zip") as whole,
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as other,
    ):
        for name in whole.namelist():
            if name == "queries/claims.csv":
                other.write(file, name)
            else:
                other.writestr(name, whole.read(name))
    return path


def browse(study: Path, place: str, file: Path) -> int:
    """Drop a file into the browser, look at what it shows, and say whether the server answers afterwards: 2 if the file was refused."""
    from covmis_build.study.study import open_study
    from tests.workbench.conftest import client_of

    client = client_of(open_study(study))

    def blocks():
        with file.open("rb") as opened:
            while block := opened.read(1 << 20):
                yield block

    answer = client.put(f"/{place}/{file.name}", content=blocks())
    page = client.get(answer.text if answer.status_code == 200 and answer.text.startswith("/") else "/")
    told = page.text if answer.status_code == 200 else answer.text
    problem = next(
        (line.strip() for line in told.splitlines() if file.name in line and ": " in line), told[:200]
    )
    print(answer.status_code, page.status_code, problem[:300], file=sys.stderr)
    assert client.get("/").status_code == 200
    return 2


def main() -> None:
    """Run from the command line."""
    options = argparse.ArgumentParser(description="Measure hostile files through every door.")
    options.add_argument("study", type=Path)
    options.add_argument("rest", nargs="*")
    options.add_argument("--browser", action="store_true")
    options.add_argument(
        "--bombs",
        type=Path,
        help="a folder to keep the files in",
        default=Path(tempfile.gettempdir(), "bombs"),
    )
    given = options.parse_intermixed_args()
    if given.browser:
        sys.exit(browse(Path.cwd(), str(given.study), Path(given.rest[0])))
    given.bombs.mkdir(exist_ok=True)
    (given.study / "gold.csv").write_text(GOLD)
    for name in bombs.NAMES:
        if not (given.bombs / name).exists():
            bombs.make(given.bombs / name, SIZE)
    root = Path(__file__).parents[1]
    for door in given.rest or DOORS:
        for file in sorted(given.bombs.iterdir()):
            with contextlib.chdir(given.study):
                program, *words = DOORS[door](file.resolve())
            done = subprocess.run(
                [sys.executable, "-c", MEASURED, str(Path(sys.executable).parent / program), *words],
                capture_output=True, text=True, cwd=given.study, check=True, env=os.environ | {"PYTHONPATH": str(root)},
            )  # fmt: skip
            code, seconds, megabytes, told = json.loads(done.stdout)
            over = "" if code == 2 and seconds <= 20 and megabytes <= 1024 else " **"
            print(
                f"| {door} | {file.name} | {code} | {seconds:.1f} | {megabytes:.0f} |{over} {len(told.splitlines())} {told[-160:]}",
                flush=True,
            )


if __name__ == "__main__":
    main()
