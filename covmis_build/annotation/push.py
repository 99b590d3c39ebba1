"""Send a round to annotators as files: a sheet or an offline page each. Existing content is kept.

A second push changes nothing.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from covmis_build import storage
from covmis_build.annotation.answers import Channel
from covmis_build.annotation.channels.check_words import Owner
from covmis_build.annotation.channels.offline import offline_page
from covmis_build.annotation.channels.sheets import NO_SHEET, header, read_rows, refuse_unkept, sheet
from covmis_build.annotation.round_folder import kind_of, refuse_sealed, sheets_of
from covmis_build.errors import counted
from covmis_build.report.result import Result

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from covmis_build.annotation.channels.label_studio.tasks import SentProject
    from covmis_build.annotation.languages import Language
    from covmis_build.annotation.round_folder import RoundFolder


@dataclass(frozen=True, slots=True, repr=False)
class Sent(Result):
    """The result of a push: changed files, or one row per Label Studio project."""

    round: str
    channel: Channel
    labels: str
    work: Mapping[str, Sequence[str]]
    written: tuple[str, ...] = ()
    projects: tuple[SentProject, ...] = ()
    machines: Mapping[str, str] = field(default_factory=dict)
    """Model → path for its predictions. Nothing is sent to models."""

    @property
    def summary(self) -> list[str]:
        """Return what was sent and the next step."""
        return [
            *self._to_people,
            *(
                f"{code} is a model: put its predictions of {counted(len(self.work[code]), 'posts')} into {path}."
                for code, path in self.machines.items()
            ),
        ]

    @property
    def _to_people(self) -> list[str]:
        if self.channel == Channel.LABEL_STUDIO:
            return [
                f"{project.annotator}: {project.url} ({counted(project.added, 'tasks')} added)"
                for project in self.projects
            ]
        lines = [f"Written: {name}" for name in self.written] or ["Everything was already sent."]
        named = f" --round {self.round}" if kind_of(self.round) else ""
        sheets = sheets_of(self.round)
        guideline = (
            "" if self.channel == Channel.HTML else f"{sheets.removesuffix('sheets/')}guideline.md and "
        )
        return [
            *lines,
            f"Send each annotator {guideline}only their own file from {sheets}.",
            *(self._of_csv if self.channel == Channel.CSV else ()),
            f"Put completed files back into {sheets}, then run `covmis round pull{named}`.",
        ]

    @property
    def _of_csv(self) -> tuple[str, str]:
        """Return what people must know to fill in a CSV file."""
        return (
            f"Tell them: write {self.labels}, or `skip`, or `unclear claim`, into `label`, leave `check` as it is, and move only whole rows.",
            "An apostrophe before @, =, + or - only keeps spreadsheets from taking the text for a formula.",
        )

    def to_dict(self) -> dict[str, Any]:
        """As `covmis round push --json` prints it."""
        counts = {code: len(items) for code, items in self.work.items()}
        to = (
            {"projects": [asdict(project) for project in self.projects]}
            if self.channel == Channel.LABEL_STUDIO
            else {"written": list(self.written)}
        )
        machines = {"machines": dict(self.machines)} if self.machines else {}
        return {"round": self.round, "channel": self.channel, "items": counts, **to, **machines}


def push_sheets(
    round_: RoundFolder, work: Mapping[str, Sequence[str]], channel: Channel, t: Language
) -> list[Path]:
    """Write each annotator's sheet in this language, keeping filled cells. Returns the changed files."""
    refuse_sealed(round_)
    frozen = round_.asked()
    written = []
    for code, wanted in work.items():
        path = round_.sheets / f"{code}.{channel}"
        table = (
            read_rows(path, ("item_id", "claim", "post", "label"), header(round_.scheme))
            if path.exists()
            else NO_SHEET
        )
        before = table.rows
        if before and {row["item_id"].strip() for row in before} >= set(wanted):
            continue
        owner = Owner(round_.number, code)
        refuse_unkept(path, table, set(frozen["item_id"]), [owner])
        content = sheet(frozen, wanted, round_.scheme, before, owner=owner, channel=channel, t=t)
        storage.write_bytes(path, content)
        written.append(path)
    return written


def push_pages(
    round_: RoundFolder,
    work: Mapping[str, Sequence[str]],
    *,
    t: Language,
    title: str,
    guideline: str,
    page_size: int = 0,
) -> list[Path]:
    """Write each annotator's offline page, or several pages of `page_size` posts. Returns the changed files."""
    refuse_sealed(round_)
    frozen = round_.asked()
    written = []
    for code, wanted in work.items():
        for part, items in _parts(wanted, page_size):
            path = round_.sheets / f"{code}{part}.html"
            page = offline_page(
                frozen,
                items,
                code,
                round_.scheme,
                round_.number,
                t=t,
                title=title,
                guideline=guideline,
                part=part,
            )
            if not path.exists() or path.read_text("utf-8") != page:
                storage.write_text(path, page)
                written.append(path)
    return written


def _parts(items: Sequence[str], size: int) -> Iterator[tuple[str, Sequence[str]]]:
    """Split the posts into pages with a file name suffix each; one page if no size is set."""
    if not size:
        yield "", items
        return
    for number, at in enumerate(range(0, len(items), size), start=1):
        yield f"-part-{number}", items[at : at + size]
