"""Rebuild a study from a reproduction package, with the texts of its rounds as far as posts are available."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from covmis_build import storage
from covmis_build.addresses import place
from covmis_build.annotation.frozen_items import write_items
from covmis_build.annotation.round_folder import every_round
from covmis_build.archive.intake import Intake
from covmis_build.corpus.bundle import restore_texts, unpack
from covmis_build.engine import silent
from covmis_build.report.result import Result
from covmis_build.study.hydrate import posts_of
from covmis_build.study.study import open_study

if TYPE_CHECKING:
    from collections.abc import Sequence

    from covmis_build.engine import Progress
    from covmis_build.report.summary import Summary


@dataclass(frozen=True, slots=True, repr=False)
class Rebuilt(Result):
    """The study rebuilt from a package."""

    study: Path
    rows: int
    """Rows of the corpus in the package."""
    frozen: int
    without_text: int
    """Number of frozen items whose posts are not in the archive."""
    intake: Intake
    """What was detected and imported from each archive file."""
    root: str
    """Root hash of the release that the package belongs to."""
    not_taken_over: list[str]
    """Settings proposed by the package that the user must decide on."""

    def to_dict(self) -> dict[str, Any]:
        """Return what `covmis hydrate --json` prints for a package."""
        return asdict(self) | {
            "study": str(self.study),
            "intake": [file.to_dict() for file in self.intake.files],
        }

    @property
    def summary(self) -> Summary:
        """Return the current state and the next steps."""
        frozen = f"{self.frozen:,} frozen posts, {self.without_text:,} of them without text"
        more = ["Put the posts into its archive, then run this again."] if self.without_text else []
        then = f"Next: `covmis run --study {self.study}`, then `covmis release --study {self.study}`."
        left_out = ", ".join(self.not_taken_over)
        return [
            f"{self.study} is a study now: {frozen}.",
            *(
                [f"Root hash {self.root}: compare it with the card of the release or with the paper."]
                if self.root
                else []
            ),
            *(
                [f"Not taken over from the bundle: {left_out}. Set in study.toml what you want."]
                if left_out
                else []
            ),
            *self.intake.told(),
            *more,
            then,
        ]

    def check(self) -> None:
        """Refuse unreadable archive files."""
        self.intake.check()


def rebuild(
    bundle: Path | str, into: Path | str, archives: Sequence[Path | str] = (), *, progress: Progress = silent
) -> Rebuilt:
    """Create a study from a release's bundle.zip, with posts of these archives. Repeat it when more posts are available."""
    folder = Path(into)
    manifest, root, left_out = unpack(Path(bundle), folder)
    study = open_study(folder)
    there = [path for path in map(place, archives or study.places.archives) if path.exists()]
    frozen = {round_.folder: round_.items() for round_ in every_round(study.places.rounds)}
    posts_of_rounds = {post for items in frozen.values() for post in items["post_id"]}
    forget = [
        [post] for post in manifest.purged if post in posts_of_rounds
    ]  # The purge list of someone else's package applies only here.
    if forget and not study.places.purge_csv.exists():
        storage.write_bytes(study.places.purge_csv, storage.csv_bytes(["id"], forget))
    intake = Intake([], 1)
    if there and frozen:
        every = pd.concat([items[["claim_id", "post_id"]] for items in frozen.values()])
        posts, intake = posts_of(every, there, study.settings.retrieval, progress, study.places.purge_csv)
        with study.locked_rounds("covmis hydrate"):
            for round_folder, items in frozen.items():
                frozen[round_folder] = restore_texts(items, posts, purged=set(manifest.purged))
                write_items(round_folder, frozen[round_folder])
    texts = [text for items in frozen.values() for text in items["text"]]
    return Rebuilt(folder, manifest.rows, len(texts), texts.count(""), intake, root, left_out)
