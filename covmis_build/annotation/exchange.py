"""A round and its Label Studio projects: what goes there, and what comes back as answers, each checked.

The interface of Label Studio takes anything: unknown labels, empty results, a second answer by one person, changes
by others. So everything that comes back is looked at, and what cannot be used is said in plain words.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from covmis_build.annotation.adjudication import UNDECIDED
from covmis_build.annotation.answers import Answer, Problem, checked
from covmis_build.annotation.label_studio import project_key, project_title, user_of
from covmis_build.annotation.rounds import rows_of
from covmis_build.annotation.sheets import fixed_cells

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from covmis_build.annotation.label_studio import LabelStudio
    from covmis_build.options import Labels

CHANNEL = "label-studio"


def task_data(row: dict[str, Any], more: Mapping[str, str] | None = None) -> dict[str, str]:
    """What a task shows of a frozen item, and the id by which it is known."""
    cells = fixed_cells(row)
    return {
        "uid": cells["item_id"],
        "claim": cells["claim"],
        "post": cells["post"],
        "context": cells["context"],
        **(more or {}),
    }


def send_project(  # noqa: PLR0913 - a project is all of these
    server: LabelStudio,
    frozen: pd.DataFrame,
    wanted: Sequence[str],
    who: str,
    *,
    study: str,
    number: str,
    config: str,
    guideline: str,
    more: Mapping[str, Mapping[str, str]] | None = None,
) -> dict[str, Any]:
    """Make or complete this person's project: the form, the guideline, and each of these items once, in order."""
    rows = {row["item_id"]: row for row in rows_of(frozen)}
    key = project_key(list(frozen["shown"]), number, who)
    settings = {
        "label_config": config,
        "expert_instruction": instruction(guideline),
        "show_instruction": True,
        "show_collab_predictions": False,
        "maximum_annotations": 1,
        "sampling": "Sequential sampling",
        "enable_empty_annotation": False,
    }
    project, new = server.project(project_title(study, number, who), key, settings)
    if not new:
        now = server.settings(project)
        changed = {name: value for name, value in settings.items() if now.get(name) != value}
        if changed:
            server.change(project, changed)
    tasks = [task_data(rows[item], (more or {}).get(item)) for item in wanted]
    added = server.send(project, tasks)
    return {"annotator": who, "project": project, "added": added, "tasks": len(tasks),
            "url": f"{server.url}/projects/{project}/data"}  # fmt: skip


def instruction(guideline: str) -> str:
    """The guideline as the page shows it, line by line, with everything in it as text."""
    from markupsafe import Markup, escape

    return str(Markup("<br>").join(escape(line) for line in guideline.strip().split("\n")))


def bring_back(
    server: LabelStudio,
    project: int,
    who: str,
    frozen: pd.DataFrame,
    scheme: Labels,
    *,
    phase: str = "independent",
    anybody: bool = False,
) -> tuple[list[Answer], list[Problem]]:
    """This person's answers, and what is wrong with what is there. `anybody`: a discussion, where all may answer."""
    users = server.users()
    own = None if anybody else user_of(who, users)
    items = {row["item_id"]: row for row in rows_of(frozen)}
    answers: list[Answer] = []
    problems: list[Problem] = []
    if own is None and not anybody:
        remedy = "Name them in COVMIS_LABEL_STUDIO_USERS, like a1=mail@example.org"
        return [], [Problem(who, "is no user of this Label Studio", remedy)]
    known: set[str] = set()
    for task in server.tasks(project, answers=True):
        uid = str(task["data"].get("uid", ""))
        where = f"{who}, task {task['id']}"
        if uid not in items:
            problems.append(Problem(where, f"the item '{uid}' is not in this round", "Remove the task"))
            continue
        if not items[uid]["salt"]:  # purged: its label stays as it was given
            continue
        found, wrong = _one_task(task, uid, who, own, users, items[uid], scheme)
        problems += [Problem(where, what) for what in wrong]
        if found is None:
            continue
        if uid in known:
            problems.append(
                Problem(where, f"a second task for {uid} has been answered", "Remove one of them")
            )
            continue
        known.add(uid)
        answers.append(replace(found, phase=phase))
    return answers, problems


def _one_task(
    task: dict[str, Any], uid: str, who: str, own: int | None, users: Mapping[int, str],
    frozen: dict[str, Any], scheme: Labels,
) -> tuple[Answer | None, list[str]]:  # fmt: skip
    """The answer to one task, if there is one, and what is wrong with it."""
    wrong: list[str] = []
    mine = []
    for one in sorted(task["annotations"], key=lambda one: (str(one["updated_at"]), one["id"])):
        if own is not None and one["completed_by"] != own:
            wrong.append(
                f"{_name(one['completed_by'], users)} answered {uid} in {who}'s project; it does not count"
            )
        else:
            mine.append(one)
    if not mine:
        return None, wrong
    shown = shown_now(task["data"], frozen)
    if shown != frozen["shown"]:
        wrong.append(f"{uid} was shown with another text; its label is not used")
    read = [checked(_answer(one, uid, who, shown, open_=own is None), scheme) for one in mine]
    answer = read[-1]
    if len({(one.label, one.status) for one in read}) > 1:
        told = " and ".join(dict.fromkeys(one.label or one.status for one in read))
        answer = replace(answer, label="", sub_label="", status="invalid", reason=f"two answers: {told}")
    changer = mine[-1]["updated_by"]
    if own is not None and changer not in {None, own}:
        reason = f"changed by another user ({_name(changer, users)})"
        answer = replace(answer, label="", sub_label="", status="invalid", reason=reason)
    if answer.status == "invalid":
        wrong.append(f"{uid}: {answer.reason}; {who} should answer it again")
    return answer, wrong


def _name(number: Any, users: Mapping[int, str]) -> str:
    """A user's code: the beginning of their address, because names stay out of the record."""
    return users.get(int(number), f"user {number}").partition("@")[0] if number is not None else "somebody"


def _answer(one: dict[str, Any], uid: str, who: str, shown: str, *, open_: bool = False) -> Answer:
    """One annotation as an answer, not yet checked against the scheme; a discussion may leave an item open."""
    parts: dict[str, list[str]] = {}
    for part in one["result"] or []:
        value = part.get("value") or {}
        told = value.get("choices") or value.get("text") or []
        parts.setdefault(str(part.get("from_name")), []).extend([told] if isinstance(told, str) else told)
    labels = [str(label) for label in parts.get("label", [])]
    subs = [text for name, texts in parts.items() if name.startswith("sub_label_") for text in texts]
    skipped = bool(one["was_cancelled"]) or (open_ and labels == [UNDECIDED])
    answer = Answer(
        item_id=uid,
        annotator=who,
        label="" if skipped else labels[0] if len(labels) == 1 else "",
        sub_label=subs[0] if len(subs) == 1 and not skipped else "",
        comment="\n".join(parts.get("comment", [])).strip(),
        status="skipped" if skipped else "given",
        reason="\n".join(parts.get("reason", [])).strip(),
        error_class=(parts.get("error_class") or [""])[0],
        seconds=float(one["lead_time"]) if one.get("lead_time") is not None else None,
        given_at=str(one["updated_at"])[:19] + "Z",
        channel=CHANNEL,
        shown=shown,
    )
    if len(labels) > 1:
        return replace(answer, label="", status="invalid", reason=f"several labels: {', '.join(labels)}")
    if not skipped and not labels:
        return replace(answer, status="invalid", reason="empty answer")
    return answer


def shown_now(data: Mapping[str, Any], frozen: dict[str, Any]) -> str:
    """The hash of what the task shows: the frozen one, unless somebody changed the task."""
    ours = task_data(frozen)
    now = {name: data.get(name) for name in ours}
    if now == ours:
        return str(frozen["shown"])
    told = json.dumps([frozen["salt"], now], ensure_ascii=True, sort_keys=True)
    return "changed-" + hashlib.sha256(told.encode()).hexdigest()
