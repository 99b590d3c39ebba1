"""The release: what it will contain, what is missing, what differs from the one that is there, its checks, and its files."""

from __future__ import annotations

from fnmatch import fnmatch
from typing import TYPE_CHECKING, NamedTuple

from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response

from covmis_build.study.released import packed_files
from covmis_build.workbench.bench import STATE, Act, Bench, bench_of
from covmis_build.workbench.results import BASED_ON

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from starlette.requests import Request

FILES = ("data/release/**/*", "data/deposit/**/*", "annotation/*/*/report.*", "annotation/*/summary.*")
"""What can be taken away: the release, and reports on agreement."""
TO_SEND = ("annotation/*/*/sheets/*", "annotation/*/*/guideline.md")
"""What a round sends to people; its page offers these."""
GROUPS = (
    ("The corpus", "One row per post with its final label; the same rows in each format.", ("corpus.*", "covmis_stance.csv")),
    ("To read", "The dataset card, two paragraphs for the methods section of a paper, and statistics.", ("card.*", "methods.md", "statistics.*")),
    ("Labels and tables for estimates", "Each annotator's labels under a random code, splits, weights for standard errors, and scripts that use them.",
     ("annotations.*", "soft_labels.csv", "splits.csv", "replicate_weights.csv", "pairs_drawn.csv", "design.json", "misinformation.csv", "estimates*", "read_with_*")),
    ("To cite and to license", "Citation, licence, and the settings that made the corpus.", ("CITATION.cff", "citation.bib", "LICENCE.txt", "settings.toml")),
    ("To verify and to rebuild", "Checksums of every file, their signature, and the reproduction package.", ("checksums*", "bundle.zip", "facts.json")),
    ("For repositories and programs", "Metadata that Zenodo, Hugging Face, search engines and R read.", ("*.json", "huggingface/*")),
)  # fmt: skip
"""Files of data/release: a heading, a sentence, and names."""
OTHER_FOLDERS = (
    ("To upload", "The same files as repositories take them, and CHECKLIST.md.", ("data/deposit/*",)),
    ("Reports on agreement", "Of each round and of all rounds; written by “Report agreement”.", ("annotation/*",)),
)  # fmt: skip
FURTHER = ("Further files", "Files of the release folder that covmis did not write there.", ("*",))


class Group(NamedTuple):
    """Files of one kind: a heading, a sentence, and the path and size of each."""

    heading: str
    sentence: str
    files: list[tuple[str, int]]


def release(request: Request) -> Response:
    """What is in the release and what is missing, with the buttons that write and verify it."""
    bench = bench_of(request)
    study = bench.study
    stages = study.stages()
    verified = bench.last_act("covmis verify")
    return bench.page(
        request,
        "release.html",
        "release",
        "--check",
        released=bench.keep(f"release {sorted(stages.items())}", BASED_ON, study.check_release),
        current=all(stages.values()),
        groups=_groups(bench),
        verified=verified,
        is_old=verified is not None and _is_older(verified, bench.folder / STATE[-1]),
    )


def _is_older(act: Act, checksums: Path) -> bool:
    """Whether the release was written again since."""
    return act.job is not None and checksums.is_file() and checksums.stat().st_mtime > act.job.began


def _groups(bench: Bench) -> list[Group]:
    groups = {each[0]: Group(each[0], each[1], []) for each in (*GROUPS, FURTHER, *OTHER_FOLDERS)}
    for name, path in files_of(bench).items():
        own = name.removeprefix("data/release/")
        kinds = OTHER_FOLDERS if own == name else (*GROUPS, FURTHER)
        heading = next(heading for heading, _, names in kinds if any(fnmatch(own, each) for each in names))
        groups[heading].files.append((name, path.stat().st_size))
    return [group for group in groups.values() if group.files]


def files_of(bench: Bench, patterns: Sequence[str] = FILES) -> dict[str, Path]:
    """The files that can be taken away, by their paths in the study; a link that leads elsewhere is none of them."""
    folder = bench.folder.resolve()
    found = (path for pattern in patterns for path in sorted(folder.glob(pattern)) if path.is_file())
    return {
        path.relative_to(folder).as_posix(): path for path in found if path.resolve().is_relative_to(folder)
    }


def download(request: Request) -> Response:
    """One of these files."""
    path = files_of(bench_of(request), (*FILES, *TO_SEND)).get(request.path_params["name"])
    if path is None:
        raise HTTPException(404)
    return FileResponse(path, filename=path.name)


def packed(request: Request) -> Response:
    """The release as one zip, to be unpacked before `covmis verify`."""
    files = files_of(bench_of(request), FILES[:1])
    if not files:
        raise HTTPException(404)
    data = packed_files({name.removeprefix("data/"): path for name, path in files.items()})
    named = {"content-disposition": 'attachment; filename="release.zip"'}
    return Response(data, media_type="application/zip", headers=named)
