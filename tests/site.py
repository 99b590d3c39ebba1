"""Build the documentation's site: `make docs`, or `python -m tests.site [--study BUILT]`.

Its gallery shows the demonstration's pages: of a built copy (`--study`), or of one that is built here the first time.
A warning of the builder is an error: a link that leads nowhere, a page that no sidebar lists.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.demonstration import pages
from tests.demonstration.conftest import build, copy_study
from tests.services import chromium
from tests.workbench import pictures

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build"


def site(out: Path, extra: Path) -> str:
    """Build the site with what stands in `extra` besides; what the builder warned about."""
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-E", "-a", "-W", "--keep-going", "-b", "html",
         "-d", extra.parent / "doctrees", ROOT / "docs", out],
        env=os.environ | {"COVMIS_SITE_EXTRA": str(extra), "PYTHONPATH": str(ROOT)}, check=False, cwd=ROOT,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    return done.stderr if done.returncode else ""


def gallery(study: Path, extra: Path) -> None:
    """Render every page of a built study into the folder that the site takes along."""
    work = extra.parent / "study"
    for folder in (work, extra):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(study, work)
    pages.render(work, extra / "gallery")
    if chromium.ready():
        pictures.take(study, extra / "gallery" / "browser")


def main() -> None:
    """Run from the command line."""
    options = argparse.ArgumentParser(description="Build the documentation as a site.")
    options.add_argument(
        "--study", type=Path, help="a built copy of the demonstration (default: one is built)"
    )
    options.add_argument("--again", action="store_true", help="render the gallery's pages anew")
    asked = options.parse_args()
    extra = BUILD / "gallery" / "extra"
    whole = all((extra / "gallery" / f"{page.name}.html").exists() for page in pages.PAGES)
    if asked.study or asked.again or not whole:
        study = asked.study
        if study is None:
            study = BUILD / "gallery" / "demonstration"
            shutil.rmtree(study, ignore_errors=True)
            print("Building the demonstration for the gallery (once; about two minutes)", flush=True)
            study.mkdir(parents=True)
            build(copy_study(study), study / "log")
        print("Rendering the gallery's pages", flush=True)
        gallery(study, extra)
    print("Building the site", flush=True)
    if problems := site(BUILD / "docs", extra):
        sys.exit(problems)
    print(f"Open {BUILD / 'docs' / 'index.html'}")


if __name__ == "__main__":
    main()
