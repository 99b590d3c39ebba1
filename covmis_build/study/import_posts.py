"""Convert a file of posts once to covmis's own format, with a report."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import zstandard

from covmis_build import storage
from covmis_build.addresses import place
from covmis_build.archive import streams
from covmis_build.archive.forgetting import PURGED
from covmis_build.archive.formats import neutral
from covmis_build.archive.reader import read
from covmis_build.building.purge import read_list
from covmis_build.engine import silent
from covmis_build.errors import InputError, counted
from covmis_build.report.result import Result
from covmis_build.study.look import how_of, look, name_in

if TYPE_CHECKING:
    from pathlib import Path

    from covmis_build.engine import Progress
    from covmis_build.places import Places
    from covmis_build.report.summary import Summary
    from covmis_build.study.look import Look
    from covmis_build.study.of_study import OfStudy


@dataclass(frozen=True, slots=True, repr=False)
class ImportedPosts(Result):
    """The written file and its number of posts. Unreadable lines are in the report."""

    file: str
    report: str
    posts: int
    unreadable: int
    added: bool = True
    """False if the same file had been converted already, under another name: nothing was written then."""

    @property
    def summary(self) -> Summary:
        """Return what was written and the next step."""
        return [
            f"{counted(self.posts, 'posts')} written to {self.file}; what was understood: {self.report}"
            if self.added
            else f"Already there: {self.file} was made of the same file ({counted(self.posts, 'posts')}). Nothing was written.",
            "Next: `covmis run`.",
        ]

    @property
    def warnings(self) -> list[str]:
        """Return how much could not be parsed."""
        rows = f"{counted(self.unreadable, 'rows')} could not be read; the report counts them by reason"
        return [rows] if self.unreadable else []


def import_posts(study: OfStudy, path: Path | str, progress: Progress = silent) -> ImportedPosts:
    """Convert a file to data/archive/posts-NAME.jsonl.zst. Refused if `look` has open questions.

    Posts in queries/purge.csv are left out.
    """
    path = place(path)
    seen = look(path, study)
    if seen.questions:
        raise InputError(
            "; ".join(seen.questions)[:300],
            file=path,
            remedy="`covmis posts look` shows the settings that answer it",
        )
    folder = next((place for place in study.places.archives if not place.is_file()), study.places.archives[0])
    target = folder / f"posts-{path.name.split('.')[0].removeprefix('posts-')}.jsonl.zst"
    if target.resolve() == path.resolve():
        raise InputError("is imported already", file=path)
    with study.locked(study.places.notes, "covmis posts add --convert"):
        return _imported(study, path, target, seen, progress)


def _imported(study: OfStudy, path: Path, target: Path, seen: Look, progress: Progress) -> ImportedPosts:
    source = {"file": path.name, "sha256": storage.sha256_of(path)}
    if before := _converted_before(study, source["sha256"], target):
        return before
    count = unreadable = 0
    problems: dict[str, int] = {}
    how, forget = how_of(study), read_list(study.places.purge_csv)
    with storage.replacing(target) as beside:
        with (
            beside.open("wb") as file,
            zstandard.ZstdCompressor(write_checksum=True).stream_writer(file) as packed,
        ):
            listed = streams.jobs([(path, name_in(path, study))], how.own_forms)
            for at, job in enumerate(listed):
                progress("importing", at, len(listed))
                for line in read(job, forget, how):
                    for post in line.posts:
                        if post.availability == PURGED:
                            continue
                        packed.write(neutral.line(post, source | {"row": line.place}))
                        count += 1
                    if line.problem:
                        unreadable += 1
                        head = line.problem.partition(": ")[0]
                        problems[head] = problems.get(head, 0) + 1
        if not count:
            raise InputError("nothing in it could be read", file=path)
    report = report_of(study.places, target)
    files = [
        asdict(file) | {"posts": [], "rows_as_they_are": [], "problems": []} for file in seen.files
    ]  # The report contains no posts, so a later purge need not change it.
    about = {**source, "posts": count, "unreadable": problems, "look": files}
    storage.write_text(report, json.dumps(about, ensure_ascii=False, indent=1) + "\n")
    return ImportedPosts(study.places.relative(target), study.places.relative(report), count, unreadable)


def report_of(places: Places, target: Path) -> Path:
    """Return where the report on a converted file stands."""
    return places.notes / f"{target.name}.json"


def _converted_before(study: OfStudy, sha256: str, target: Path) -> ImportedPosts | None:
    """Return what was made of the same content under another name, if it is there."""
    places = study.places
    for report in sorted(places.notes.glob("posts-*.json")):
        about, path = json.loads(report.read_text("utf-8")), target.with_name(report.stem)
        if about.get("sha256") == sha256 and path != target and path.is_file():
            unreadable = sum(about["unreadable"].values())
            return ImportedPosts(
                places.relative(path), places.relative(report), about["posts"], unreadable, added=False
            )
    return None
