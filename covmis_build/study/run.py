"""Bring a study up to date, and report what was built, what could not be read, and warnings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from covmis_build import storage
from covmis_build.building.losses import short_posts, untagged
from covmis_build.errors import counted
from covmis_build.report.result import Result
from covmis_build.report.summary import Listing
from covmis_build.study.status import after_run, missing_items, missing_note, small_claims
from covmis_build.text.language import unknown_to

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from covmis_build.archive.intake import Intake
    from covmis_build.building.run import StageRun
    from covmis_build.engine import Progress
    from covmis_build.report.summary import Summary
    from covmis_build.study.of_study import OfStudy


SHOWN = {
    **{name: name for name in ("claims", "queries", "posts")},
    "items": "pairs",
    "sample": "sampled posts",
}
"""Tables whose rows are reported, and what the rows are."""


@dataclass(frozen=True, slots=True, repr=False)
class Ran(Result):
    """The result of a run: stages, files, and warnings."""

    stages: list[StageRun]
    intake: Intake
    warnings: list[str]
    next: str = ""
    """The next step; empty if only some stages were requested."""

    def to_dict(self) -> dict[str, Any]:
        """As `covmis run --json` prints it."""
        return {
            "stages": [stage.to_dict() for stage in self.stages],
            "intake": [file.to_dict() for file in self.intake.files],
        }

    @property
    def summary(self) -> Summary:
        """Return the stages with their tables, and the files with warnings."""
        rows = [
            (
                stage.stage,
                "made" if stage.made else "current",
                f"{stage.seconds:.1f} s" if stage.made else "",
                ", ".join(
                    counted(count, SHOWN[table]) for table, count in stage.rows.items() if table in SHOWN
                ),
            )
            for stage in self.stages
        ]
        return [
            Listing(("stage", "state", "time", "tables"), rows),
            *self.intake.told(),
            *(["", f"Next: {self.next}"] if self.next else []),
        ]

    def check(self) -> None:
        """Refuse unreadable archive files."""
        self.intake.check()


def run(
    study: OfStudy,
    stages: Sequence[str],
    *,
    force: bool,
    engine: str,
    conf: Mapping[str, str],
    workers: int,
    progress: Progress,
) -> Ran:
    """Build the out-of-date stages, of these or of all."""
    from covmis_build.building.run import run as make

    outcomes = make(
        study.places,
        study.settings,
        stages,
        force=force,
        engine=engine,
        workers=workers,
        conf=dict(conf),
        progress=progress,
    )
    following = "" if stages else after_run(study)
    return Ran(outcomes, study.intake, _warnings(study, outcomes), following)


def _warnings(study: OfStudy, outcomes: list[StageRun]) -> list[str]:
    rows = {table: count for outcome in outcomes for table, count in outcome.rows.items()}
    lines = []
    if unreadable := rows.get("unreadable", 0):
        table = "data/build/unreadable.parquet"
        lines.append(f"{counted(unreadable, 'lines')} of the archive could not be read, listed in {table}")
    lines += missing_note(missing_items(study.places))
    lines += [study.advice] if study.advice else []
    if any(outcome.made and outcome.stage == "sample" for outcome in outcomes):
        lines += small_claims(study.places)
    if any(outcome.made and outcome.stage == "clean" for outcome in outcomes):
        cleaning = study.settings.cleaning
        lines += filter(None, [short_posts(study.places, cleaning)])
        if cleaning.language_source == "detector" or untagged(study.places):
            lines += unknown_to(cleaning.detector, cleaning.languages)
    if rows.get("posts") == 0:
        lines.append(_nothing_found(study))
    return lines


def _nothing_found(study: OfStudy) -> str:
    """Return why no post was found: no files, files with only ids, or no matching text."""
    from covmis_build.study.archive import ArchivePosts

    folders = ", ".join(study.places.relative(path) for path in study.places.archives)
    listed = sum(file.posts for file in study.intake.files)
    if not listed and any(file.counts for file in study.intake.files):
        return f"no post in {folders} could be read: `covmis posts look FILE` says why"
    if not listed:
        return f"{folders} has no post: put files of posts there"
    if not ArchivePosts(study.places).sql("SELECT 1 FROM posts LIMIT 1").fetchall():
        return f"{folders} has {counted(listed, 'ids')} and no text: fetch the posts of X, Bluesky and Mastodon with `covmis collect ids FILE`"
    if not storage.read_column(study.places.table("queries"), "query_id"):
        return "no claim has keywords, titles or URLs, so no post was searched for"
    return f"none of the {counted(listed, 'posts')} in {folders} matches a query; try other words with `covmis queries try`"
