"""A round's Label Studio projects: one per annotator, one for the discussion, one for the third person.

Which project is whose stands in the round's label_studio.json, without any token; should that file be lost, the
projects are found again by their descriptions.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from covmis_build import storage
from covmis_build.annotation import adjudication, exchange, record
from covmis_build.annotation.answers import Problem
from covmis_build.annotation.label_config import label_config
from covmis_build.annotation.label_studio import Gone
from covmis_build.annotation.rounds import rows_of
from covmis_build.annotation.steps import Pulled, two_channels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from covmis_build.annotation.label_studio import LabelStudio
    from covmis_build.annotation.record import Round

DISCUSSION = "discussion"
THIRD = "third person"


def push_round(
    server: LabelStudio,
    one: Round,
    who: Mapping[str, Sequence[str]],
    *,
    study: str,
    config: str,
    guideline: str,
) -> list[dict[str, Any]]:
    """Make or complete everybody's project; one row each."""
    record.refuse_sealed(one)
    frozen = one.items()
    made = []
    for code, wanted in who.items():
        row = exchange.send_project(
            server, frozen, wanted, code, study=study, number=one.number, config=config, guideline=guideline
        )
        _remember(one, server.url, code, row["project"])
        made.append(row)
    return made


def pull_round(server: LabelStudio, one: Round, *, now: str) -> Pulled:
    """Bring back everybody's answers, and what the discussion and the third person have decided."""
    frozen, found = one.items(), Pulled()
    for name, about in known_projects(one).items():
        try:
            answers, problems = exchange.bring_back(
                server, int(about["project"]), about["who"], frozen, one.scheme,
                phase=about["phase"], anybody=name == DISCUSSION,
            )  # fmt: skip
        except Gone:
            found.problems.append(_deleted(name, about))
            continue
        found.answers += len(answers)
        found.problems += problems
        found.added += record.add_labels(one, answers, now=now)
    found.problems += two_channels(one.labels())
    return found


def adjudicate_round(
    server: LabelStudio,
    one: Round,
    adjudicator: str,
    *,
    study: str,
    guideline: str,
    seed: int,
    discuss: bool,
    now: str,
) -> Pulled:
    """Bring back what has been decided, then send what is to be discussed, and what goes to the third person."""
    found = pull_round(server, one, now=now) if known_projects(one) else Pulled()
    frozen, labels = one.items(), one.labels()
    differ = adjudication.disagreements(frozen, labels, one.per_item)
    third = adjudication.undecided(frozen, labels, one.per_item) if discuss else differ
    steps = [(THIRD, third, adjudicator, "adjudication")]
    if discuss:
        steps.insert(0, (DISCUSSION, differ, adjudication.TOGETHER, "discussion"))
    for name, wanted, who, phase in steps:
        if not wanted:
            continue
        said = adjudication.versions(frozen, labels, wanted, seed=seed)
        talked = _talked(labels) if name == THIRD else {}
        more = {item: {"said": _said(said[item], talked.get(item, ""))} for item in wanted}
        row = exchange.send_project(
            server, frozen, wanted, DISCUSSION if name == DISCUSSION else who, study=study, number=one.number,
            config=label_config(one.scheme, deciding=True, discussion=name == DISCUSSION), guideline=guideline,
            more=more,
        )  # fmt: skip
        _remember(one, server.url, name, row["project"], who=who, phase=phase)
    return found


def _deleted(name: str, about: Mapping[str, Any]) -> Problem:
    """Somebody has removed a project: what was brought back before is in the record, the rest can be asked again."""
    again = "`covmis round push`" if about["phase"] == "independent" else "`covmis round adjudicate`"
    return Problem(
        name, f"the project {about['project']} is not on Label Studio any more", f"{again} makes it anew"
    )


def _said(versions: Sequence[tuple[str, str, str]], talked: str) -> str:
    lines = [
        f"{letter}: {label}" + (f" ({comment})" if comment else "") for letter, label, comment in versions
    ]
    return "\n".join([*lines, *([f"Discussion: {talked}"] if talked else [])])


def _talked(labels: Any) -> dict[str, str]:
    """What the discussion noted about each item."""
    from covmis_build.annotation.answers import present

    rows = present(labels)
    return {
        row["item_id"]: " | ".join(part for part in (row["reason"], row["comment"]) if part)
        for row in rows_of(rows[rows["phase"] == "discussion"])
    }


def known_projects(one: Round) -> dict[str, dict[str, Any]]:
    """The round's projects by name: number, whose, phase."""
    path = one.folder / "label_studio.json"
    return dict(record.read_json(path)["projects"]) if path.exists() else {}


def _remember(
    one: Round, url: str, name: str, project: int, *, who: str = "", phase: str = "independent"
) -> None:
    projects = known_projects(one) | {name: {"project": project, "who": who or name, "phase": phase}}
    text = json.dumps({"url": url, "projects": projects}, indent=1, sort_keys=True)
    storage.write_text(one.folder / "label_studio.json", text + "\n")


def forget_tasks(server: LabelStudio, rounds: Sequence[Round], post_ids: Sequence[str]) -> int:
    """Purge posts from all projects of these rounds; how many tasks that removed."""
    wanted, count = set(post_ids), 0
    for one in rounds:
        for about in known_projects(one).values():
            try:
                held = server.by_uid(int(about["project"]))
            except Gone:
                continue
            for uid, tasks in held.items():
                if uid.partition("|")[2] in wanted:
                    for task in tasks:
                        server.remove_task(int(task["id"]))
                        count += 1
    return count
