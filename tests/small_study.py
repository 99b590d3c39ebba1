"""A small study for tests of the whole way: the root's settings and claims, and some two thousand generated posts."""

import gzip
import shutil
from pathlib import Path

import zstandard

from covmis_build.study.study import Study, open_study
from tests.demonstration import generate

ROOT = Path(__file__).parents[1]
FOLDERS = ("study.toml", "queries/claims.csv", "annotation/guideline.md")


def small_study(folder: Path, posts: int = 2500) -> Study:
    """Make the study in this folder; claims with at least 8 posts stay, so that there is something to sample."""
    for name in FOLDERS:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, folder / name)
    settings = (folder / "study.toml").read_text()
    for before, after in (("minimum_posts = 24", "minimum_posts = 12"), ("audit = 0.3 ", "audit = 0.05")):
        assert before in settings
        settings = settings.replace(before, after)
    (folder / "study.toml").write_text(settings)
    generate.write(folder / "data" / "archive", posts, with_unfound=False)
    return open_study(folder)


def pages_of(study: Study) -> dict[str, list[bytes]]:
    """The archive's lines, by the ending that their file needs."""
    archive = study.places.folder / "data" / "archive"
    x = zstandard.ZstdDecompressor().stream_reader((archive / f"{generate.X}.zst").read_bytes()).read()
    snscrape = gzip.decompress((archive / f"{generate.SNSCRAPE}.gz").read_bytes())
    return {".x.jsonl": x.splitlines(keepends=True), ".snscrape.jsonl": snscrape.splitlines(keepends=True)}
