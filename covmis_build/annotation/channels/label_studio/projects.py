"""A round's Label Studio projects: one per annotator, one for the discussion, one for the adjudicator.

The round's label_studio.json records whose project is which, without tokens. If the file is lost, covmis finds the
projects by their descriptions.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from covmis_build import storage
from covmis_build.annotation import adjudication
from covmis_build.annotation import round_folder as record
from covmis_build.annotation.answers import (
    Answer,
    Channel,
    Phase,
    Problem,
    Pulled,
    Status,
    labels_of,
    present,
)
from covmis_build.annotation.channels.label_studio import tasks
from covmis_build.annotation.channels.label_studio.client import Gone
from covmis_build.annotation.channels.label_studio.label_config import label_config
from covmis_build.annotation.frozen_items import by_item
from covmis_build.annotation.json_records import read_json
from covmis_build.annotation.pull import two_channels
from covmis_build.errors import InputError, counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd

    from covmis_build.annotation.channels.label_studio.client import LabelStudio
    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.records import Label

DISCUSSION = "discussion"
THIRD = "third person"


def push_round(
    server: LabelStudio,
    round_: RoundFolder,
    work: Mapping[str, Sequence[str]],
    *,
    study: str,
    config: str,
    guideline: str,
) -> list[tasks.SentProject]:
    """Create or complete each annotator's project."""
    record.refuse_sealed(round_)
    items, answered = by_item(round_.asked()), _answered(round_)
    sent = []
    for code, wanted in work.items():
        project = tasks.send_project(
            server,
            items,
            wanted,
            code,
            study=study,
            number=round_.number,
            config=config,
            guideline=guideline,
            remembered=_remembered(round_, server.url, code),
            answered=answered.get(code, frozenset()),
        )
        _remember(round_, server.url, code, project, code, Phase.INDEPENDENT)
        sent.append(project)
    return sent


def _answered(round_: RoundFolder) -> dict[str, set[str]]:
    """Return per annotator the items with a recorded answer."""
    current = present(round_.answers())
    mine = current[
        (current["phase"] == Phase.INDEPENDENT) & current["status"].isin([Status.GIVEN, Status.SKIPPED])
    ]
    return {str(who): set(items) for who, items in mine.groupby("annotator")["item_id"]}


def pull_round(
    server: LabelStudio, round_: RoundFolder, work: Mapping[str, Sequence[str]], *, now: str
) -> Pulled:
    """Import all annotators' answers and the decisions of the discussion and the adjudicator."""
    pulled, every, of_projects = Pulled(round_.number), list[Answer](), dict[str, tasks.Brought]()
    try:
        for name, brought in _read(server, round_):
            if isinstance(brought, Problem):
                pulled.problems.append(brought)
                continue
            pulled.problems += brought.problems
            every += brought.answers
            of_projects[name] = brought
            if brought.drafts:
                what = f"{counted(len(brought.drafts), 'drafts')} saved and never submitted, as of {brought.drafts[0]}"
                pulled.notes.append(
                    Problem(name, what, "A draft is no answer: open the post and press Submit")
                )
    finally:  # Record what was imported even if the server fails before the end.
        pulled.came(every, by_item(round_.asked()))
        record.count(pulled, round_, every, now=now)
    _note_people(round_, of_projects, work)
    labels = round_.answers()
    pulled.problems += _older(round_, every, labels)
    pulled.problems += two_channels(labels)
    return pulled


@dataclass(frozen=True, slots=True)
class Compared:
    """Comparison of a round's labels in Label Studio with the record."""

    round: str
    labels: int
    differ: tuple[str, ...]
    """Items whose label in Label Studio differs from the record, is missing, or is not recorded."""

    @property
    def sentence(self) -> str:
        """Return the result as text."""
        if not self.differ:
            return f"Round {self.round}: Label Studio has the same {self.labels} labels"
        return (
            f"Round {self.round}: {len(self.differ)} labels on Label Studio differ from the record's {self.labels} "
            f"({self.differ[0]}{', …' if len(self.differ) > 1 else ''})"
        )


def compare_round(server: LabelStudio, round_: RoundFolder) -> Compared:
    """Compare Label Studio's labels with the recorded ones from there. Nothing is recorded."""
    there: list[Answer] = []
    for _, brought in _read(server, round_):
        if not isinstance(brought, Problem):
            there += brought.answers
    labels = _recorded(round_.answers())
    theirs = {_place(answer): (answer.label, answer.status) for answer in there if answer.status in _SAID}
    kept = {place for place, row in labels.items() if row.channel == Channel.LABEL_STUDIO}
    differ = [
        place[0]
        for place in sorted({*kept, *theirs})
        if place not in labels or theirs.get(place) != (labels[place].label, labels[place].status)
    ]
    return Compared(round_.number, len(kept), tuple(differ))


_SAID = {Status.GIVEN, Status.SKIPPED}


def _place(answer: Answer) -> tuple[str, str, str]:
    return (answer.item_id, answer.phase, answer.annotator)


def _recorded(labels: pd.DataFrame) -> dict[tuple[str, str, str], Label]:
    """Return the current labels by item, phase and annotator."""
    return {
        (row.item_id, row.phase, row.annotator): row
        for row in labels_of(present(labels))
        if row.status in _SAID
    }


def _read(server: LabelStudio, round_: RoundFolder) -> Iterator[tuple[str, tasks.Brought | Problem]]:
    """Return the content of each project of the round; a missing project is marked as such."""
    projects = known_projects(round_)
    if not projects:
        return
    items, users, every = by_item(round_.asked()), server.users(), round_.answers()
    labels = {str(who): rows for who, rows in every.groupby("annotator")}
    for name, project in projects.items():
        try:
            yield (
                name,
                tasks.bring_back(
                    server,
                    project.project,
                    project.who,
                    items,
                    users,
                    round_.scheme,
                    labels.get(project.who, every[:0]),
                    phase=project.phase,
                    anybody=name == DISCUSSION,
                    repaired=project.repaired,
                ),
            )
        except Gone:
            yield name, _deleted(name, project)


def _older(round_: RoundFolder, answers: Sequence[Answer], every: pd.DataFrame) -> list[Problem]:
    """Report answers that differ from the record and are older: the server was probably restored from a backup."""
    labels = _recorded(every)
    differ = [
        answer.item_id
        for answer in answers
        if answer.status in _SAID
        and round_.takes(answer.item_id)
        and (row := labels.get(_place(answer)))
        and row.channel == Channel.LABEL_STUDIO
        and (row.label, row.status) != (answer.label, answer.status)
    ]
    if not differ:
        return []
    what = (
        f"{counted(len(differ), 'labels')} there unlike the record's, and older ({differ[0]}{', …' if differ[1:] else ''}); "
        "the record's count"
    )
    return [Problem("Label Studio", what, "Was the server restored from a copy?")]


def send_disagreements(
    server: LabelStudio,
    round_: RoundFolder,
    adjudicator: str,
    *,
    study: str,
    guideline: str,
    seed: int,
    discuss: bool,
) -> None:
    """Send the open disagreements to the discussion or the adjudicator."""
    frozen, labels = round_.items(), round_.labels()
    talk, third = adjudication.to_decide(frozen, labels, round_.per_item, discuss=discuss)
    items = by_item(frozen)
    stages = [
        (DISCUSSION, talk, adjudication.TOGETHER, Phase.DISCUSSION),
        (THIRD, third, adjudicator, Phase.ADJUDICATION),
    ]
    for name, wanted, who, phase in stages:
        if not wanted:
            continue
        said = adjudication.versions(frozen, labels, wanted, seed=seed)
        talked = adjudication.talked(labels) if name == THIRD else {}
        more = {item: {"said": _labels_as_text(said[item], talked.get(item, ""))} for item in wanted}
        sent = tasks.send_project(
            server,
            items,
            wanted,
            DISCUSSION if name == DISCUSSION else who,
            study=study,
            number=round_.number,
            config=label_config(round_.scheme, deciding=True, discussion=name == DISCUSSION),
            guideline=guideline,
            more=more,
            remembered=_remembered(round_, server.url, name),
        )
        _remember(round_, server.url, name, sent, who, phase)


def _deleted(name: str, project: KnownProject) -> Problem:
    """Report a deleted project. Imported answers are recorded; the other items can be sent again."""
    again = "`covmis round push`" if project.phase == Phase.INDEPENDENT else "`covmis round adjudicate`"
    return Problem(
        name, f"the project {project.project} is not on Label Studio any more", f"{again} makes it again"
    )


def _labels_as_text(versions: Sequence[tuple[str, str, str]], talked: str) -> str:
    lines = [
        f"{letter}: {label}" + (f" ({comment})" if comment else "") for letter, label, comment in versions
    ]
    return "\n".join([*lines, *([f"Discussion: {talked}"] if talked else [])])


class KnownProject(Struct, frozen=True):
    """A project of a round: its id on the server, its owner, and its phase."""

    project: int
    who: str
    phase: Phase
    repaired: dict[str, str] = {}
    """Items whose task showed another text → when the last push repaired it (server time)."""
    drafts: int = 0
    """Drafts at the last pull, of items without an answer."""
    missing: bool = False
    """True if the last pull found no user of this name."""
    without_task: int = 0
    """Items without an answer for which the last pull found no task: it was deleted, or never sent."""


class _Known(Struct, frozen=True):
    """The content of label_studio.json."""

    url: str = ""
    projects: dict[str, KnownProject] = {}


def _known(round_: RoundFolder) -> _Known:
    path = round_.folder / "label_studio.json"
    if not path.exists():
        return _Known()
    try:
        return msgspec.convert(read_json(path), _Known)
    except msgspec.ValidationError as error:
        raise InputError(
            f"is not as covmis writes it: {error}", file=path, remedy="Restore it from a copy"
        ) from None


def known_projects(round_: RoundFolder) -> dict[str, KnownProject]:
    """Return the round's projects by name."""
    return _known(round_).projects


def project_address(round_: RoundFolder, name: str) -> str:
    """Return the URL of a project's task list; empty if the round has no such project."""
    known = _known(round_)
    project = known.projects.get(name)
    return f"{known.url}/projects/{project.project}/data" if project else ""


def _remembered(round_: RoundFolder, url: str, name: str) -> int | None:
    """Return the recorded id of this round's project on this server."""
    known = _known(round_)
    return known.projects[name].project if known.url == url and name in known.projects else None


def _remember(
    round_: RoundFolder, url: str, name: str, sent: tasks.SentProject, who: str, phase: Phase
) -> None:
    """Record the project and its repaired tasks."""
    before = known_projects(round_).get(name)
    repaired = before.repaired if before and before.project == sent.project else {}
    project = KnownProject(
        sent.project, who, phase, repaired | dict(sent.repaired), before.drafts if before else 0
    )
    _write_known(round_, _Known(url, known_projects(round_) | {name: project}))


def _note_people(
    round_: RoundFolder, of_projects: Mapping[str, tasks.Brought], work: Mapping[str, Sequence[str]]
) -> None:
    """Record drafts, missing users and missing tasks per project, for `covmis round status`."""
    known, answered = _known(round_), _answered(round_)
    projects = {}
    for name, project in known.projects.items():
        brought = of_projects.get(name)
        projects[name] = msgspec.structs.replace(
            project,
            drafts=len(brought.drafts) if brought else 0,
            missing=bool(brought and brought.missing),
            without_task=len(
                {*work.get(name, ())} - answered.get(name, set()) - (brought.there if brought else set())
            ),
        )
    if projects != known.projects:
        _write_known(round_, _Known(known.url, projects))


def _write_known(round_: RoundFolder, known: _Known) -> None:
    text = json.dumps(msgspec.to_builtins(known), indent=1, sort_keys=True)
    storage.write_text(round_.folder / "label_studio.json", text + "\n")


def forget_tasks(server: LabelStudio, rounds: Sequence[RoundFolder], post_ids: Sequence[str]) -> int:
    """Purge posts from all projects of these rounds. Returns the number of removed tasks."""
    wanted, count = set(post_ids), 0
    for round_ in rounds:
        for project in known_projects(round_).values():
            try:
                held = server.by_uid(project.project)
            except Gone:
                continue
            for uid, copies in held.items():
                if uid.partition("|")[2] in wanted:
                    for task in copies:
                        server.remove_task(task.id)
                        count += 1
    return count
