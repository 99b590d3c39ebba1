"""Convert a round's items to Label Studio tasks, and tasks back to checked answers.

Label Studio's API accepts anything: unknown labels, empty results, a second answer by the same user, changes by
others. So covmis checks everything that it imports and reports what it cannot use.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any

from covmis_build.annotation.adjudication import UNDECIDED
from covmis_build.annotation.answers import (
    Answer,
    Channel,
    Phase,
    Problem,
    Status,
    as_said,
    checked,
    labels_of,
    own_time,
    plausible,
    withdrawals,
)
from covmis_build.annotation.channels.label_studio.client import in_utc, project_key, project_title, user_of
from covmis_build.annotation.channels.sheets import fixed_cells
from covmis_build.annotation.guideline import as_html
from covmis_build.text.shown import shown_parts

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import pandas as pd

    from covmis_build.annotation.channels.label_studio.client import Annotation, LabelStudio, Task
    from covmis_build.options import Labels
    from covmis_build.records import Label


def task_data(row: Mapping[str, Any], more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return what a task shows of a frozen item, and its id."""
    cells = fixed_cells(row)
    return {
        "uid": cells["item_id"],
        "claim": cells["claim"],
        "post": cells["post"],
        "context": cells["context"],
        "beside": beside(shown_parts(row)[2:]),
        **(more or {}),
    }


LOOKS = {"Link": "link", "Quoted post": "quoted", "In reply to": "answered"}


def beside(parts: Sequence[tuple[str, str]]) -> str:
    r"""Format the context of a post as HTML. URLs are visible but cannot be clicked by accident.

    >>> beside([("Date", "2020-03-01"), ("Link", "A <b>page</b>\nhttps://example.org")])
    '<div class="covmis-part"><b>Date</b>2020-03-01</div><div class="covmis-part covmis-link"><b>Link</b><i>A &lt;b&gt;page&lt;/b&gt;</i><u>https://example.org</u></div>'
    """
    told = []
    for heading, text in parts:
        look = f" covmis-{LOOKS[heading]}" if heading in LOOKS else ""
        words = "".join(map(_line, text.split("\n"))) if heading == "Link" else escape(text)
        told.append(f'<div class="covmis-part{look}"><b>{escape(heading)}</b>{words}</div>')
    return "".join(told) or " "


def _line(text: str) -> str:
    tag = "u" if text.startswith(("http://", "https://")) else "i"
    return f"<{tag}>{escape(text)}</{tag}>"


@dataclass(frozen=True, slots=True)
class SentProject:
    """An annotator's project: tasks sent and tasks in total."""

    annotator: str
    project: int
    added: int
    tasks: int
    url: str
    repaired: Mapping[str, str] = field(default_factory=dict)
    """Items whose task showed something else → when it was repaired (server time)."""


def send_project(  # noqa: PLR0913 - a project is all of these
    server: LabelStudio,
    items: Mapping[str, Mapping[str, Any]],
    wanted: Sequence[str],
    who: str,
    *,
    study: str,
    number: str,
    config: str,
    guideline: str,
    more: Mapping[str, Mapping[str, str]] | None = None,
    remembered: int | None = None,
    answered: Collection[str] = frozenset(),
) -> SentProject:
    """Create or complete an annotator's project: the form, the guideline, and each item once, in order."""
    key = project_key([row["shown"] for row in items.values()], number, who)
    settings = {
        "label_config": config,
        "expert_instruction": str(as_html(guideline)).strip(),
        "show_instruction": True,
        "show_collab_predictions": False,
        "maximum_annotations": 1,
        "sampling": "Sequential sampling",
        "enable_empty_annotation": False,
    }
    project, new = server.project(project_title(study, number, who), key, settings, remembered)
    if not new:
        now = server.settings(project)
        changed = {name: value for name, value in settings.items() if now.get(name) != value}
        if changed:
            server.change(project, changed)
    tasks = [task_data(items[item], (more or {}).get(item)) for item in wanted]
    added, repaired = server.send(project, tasks, answered)
    return SentProject(who, project, added, len(tasks), f"{server.url}/projects/{project}/data", repaired)


@dataclass(frozen=True, slots=True)
class Brought:
    """The answers and problems of one project."""

    answers: Sequence[Answer]
    problems: Sequence[Problem]
    drafts: Sequence[str] = ()
    """Items with a saved draft but no answer."""
    missing: bool = False
    """True if the server has no such user."""
    there: frozenset[str] = frozenset()
    """Items that have a task."""


def bring_back(  # noqa: PLR0913 - a project is all of these
    server: LabelStudio,
    project: int,
    who: str,
    items: Mapping[str, Mapping[str, Any]],
    users: Mapping[int, str],
    scheme: Labels,
    labels: pd.DataFrame,
    *,
    phase: Phase = Phase.INDEPENDENT,
    anybody: bool = False,
    repaired: Mapping[str, str] | None = None,
) -> Brought:
    """Import an annotator's answers and list the problems. With `anybody` (discussion) all users may answer.

    `labels` are the recorded ones: a label that is no longer on its task was withdrawn. An answer keeps its recorded
    hash until it is saved again, even if the task changed since. A new answer that is older than the last repair of its
    task may refer to the altered text, so it is stale.
    """
    own = None if anybody else user_of(who, users)
    problems: list[Problem] = []
    if own is None and not anybody:
        remedy = (
            "`covmis round push` makes them again on the local server; elsewhere name them in "
            "COVMIS_LABEL_STUDIO_USERS, like a1=mail@example.org"
        )
        return Brought([], [Problem(who, "is no user of this Label Studio", remedy)], missing=True)
    recorded = {
        row.item_id: row
        for row in labels_of(labels[(labels["phase"] == phase) & (labels["channel"] == Channel.LABEL_STUDIO)])
    }
    answers: dict[str, Answer] = {}
    blank: list[str] = []
    for task in server.tasks(project, answers=True):
        uid = str(task.data.get("uid", ""))
        where = f"{who}, task {task.id}"
        if uid not in items:
            problems.append(Problem(where, f"the item '{uid}' is not in this round", "Remove the task"))
            continue
        if not items[uid]["salt"]:  # purged: its label is kept
            continue
        answer, wrong = _one_task(task, uid, who, own, users, scheme)
        if answer is not None:
            now, frozen = _shown_now(task.data, items[uid]), items[uid]["shown"]
            answer = replace(
                answer, shown=_answered_to(answer, recorded.get(uid), now, (repaired or {}).get(uid, ""))
            )
            if answer.shown != frozen:
                wrong.append(
                    f"{uid} was shown with another text; its label is not used until {who} saves it again"
                )
            elif now != frozen:
                wrong.append(
                    f"{uid} shows another text since it was labelled; `covmis round push` puts it back"
                )
        problems += [Problem(where, what) for what in wrong]
        if answer is None:
            blank.append(uid)
            continue
        answer = replace(answer, phase=phase)
        earlier = answers.setdefault(uid, answer)
        if earlier is not answer:
            problems.append(
                Problem(where, f"a second task for {uid} has been answered", "Remove one of them")
            )
            answers[uid] = _one_of_two(earlier, answer)
    brought = _with_withdrawals(server, project, who, answers, problems, blank, labels, phase)
    return replace(brought, there=frozenset({*answers, *blank}))


def _with_withdrawals(
    server: LabelStudio,
    project: int,
    who: str,
    answers: Mapping[str, Answer],
    problems: list[Problem],
    blank: Sequence[str],
    labels: pd.DataFrame,
    phase: Phase,
) -> Brought:
    """Return the answers, the withdrawals (tasks without an answer), and the items that have only a draft."""
    open_ = [uid for uid in dict.fromkeys(blank) if uid not in answers]
    drafts = server.drafts(project) if open_ else set()
    begun = [uid for uid in open_ if uid in drafts]
    taken_back = withdrawals(labels, open_, who, Channel.LABEL_STUDIO, phase=phase)
    return Brought([*answers.values(), *taken_back], problems, begun)


def _answered_to(answer: Answer, recorded: Label | None, now: str, repaired: str) -> str:
    """Return the hash of what the task showed when this answer was saved, as far as the server can tell."""
    if recorded is not None and own_time(recorded) == answer.given_at:
        return recorded.shown  # not saved again since
    return now if answer.given_at > repaired else f"before-repair-{now}"


def _one_of_two(first: Answer, second: Answer) -> Answer:
    """Return the later of the answers to two copies of a task; none if they differ."""
    later = max(first, second, key=lambda answer: answer.given_at)
    if (first.label, first.status) == (second.label, second.status):
        return later
    both = f"{as_said(first)} and {as_said(second)}"
    return replace(later, label="", sub_label="", status=Status.INVALID, reason=f"two answers: {both}")


def _one_task(
    task: Task, uid: str, who: str, own: int | None, users: Mapping[int, str], scheme: Labels
) -> tuple[Answer | None, list[str]]:
    """Return the answer to one task, if any, and its problems."""
    wrong: list[str] = []
    mine = []
    for annotation in sorted(task.annotations, key=lambda annotation: (annotation.updated_at, annotation.id)):
        if own is not None and annotation.completed_by != own:
            wrong.append(
                f"{_name(annotation.completed_by, users)} answered {uid} in {who}'s project; it does not count"
            )
        else:
            mine.append(annotation)
    if not mine:
        return None, wrong
    read = [checked(_answer(annotation, uid, who, open_=own is None), scheme) for annotation in mine]
    answer = read[-1]
    if len({(annotation.label, annotation.status) for annotation in read}) > 1:
        told = " and ".join(dict.fromkeys(as_said(annotation) for annotation in read))
        answer = replace(answer, label="", sub_label="", status=Status.INVALID, reason=f"two answers: {told}")
    changer = mine[-1].updated_by
    if own is not None and changer not in {None, own}:
        reason = f"changed by another user ({_name(changer, users)})"
        answer = replace(answer, label="", sub_label="", status=Status.INVALID, reason=reason)
    if answer.status == Status.INVALID:
        wrong.append(f"{uid}: {answer.reason}; {who} should answer it again")
    return answer, wrong


def _name(number: int | None, users: Mapping[int, str]) -> str:
    """Return a user's code: the part of the e-mail address before @. The record contains no names."""
    return users.get(number, f"user {number}").partition("@")[0] if number is not None else "somebody"


def _answer(annotation: Annotation, uid: str, who: str, *, open_: bool = False) -> Answer:
    """Convert an annotation to an answer, not yet checked against the scheme. With `open_` it may be undecided."""
    parts: dict[str, list[str]] = {}
    for part in annotation.result or []:
        chosen = (part.value.choices or part.value.text or []) if part.value else []
        parts.setdefault(str(part.from_name), []).extend([chosen] if isinstance(chosen, str) else chosen)
    labels = parts.get("label", [])
    subs = [text for name, texts in parts.items() if name.startswith("sub_label_") for text in texts]
    skipped = annotation.was_cancelled or (open_ and labels == [UNDECIDED])
    answer = Answer(
        item_id=uid,
        annotator=who,
        label="" if skipped else labels[0] if len(labels) == 1 else "",
        sub_label=subs[0] if len(subs) == 1 and not skipped else "",
        comment="\n".join(parts.get("comment", [])).strip(),
        status=Status.SKIPPED if skipped else Status.GIVEN,
        reason="\n".join(parts.get("reason", [])).strip(),
        error_class=(parts.get("error_class") or [""])[0],
        seconds=plausible(annotation.lead_time),
        given_at=in_utc(annotation.updated_at),
        channel=Channel.LABEL_STUDIO,
    )
    if len(labels) > 1:
        return replace(answer, label="", status=Status.INVALID, reason=f"several labels: {', '.join(labels)}")
    if not skipped and not labels:
        return replace(answer, status=Status.INVALID, reason="empty answer")
    return answer


def _shown_now(data: Mapping[str, Any], frozen: Mapping[str, Any]) -> str:
    """Return the hash of what the task shows: the frozen one unless the task was changed."""
    ours = task_data(frozen)
    if "beside" not in data:  # Tasks sent by older versions have no `beside`.
        del ours["beside"]
    now = {name: data.get(name) for name in ours}
    if now == ours:
        return str(frozen["shown"])
    told = json.dumps([frozen["salt"], now], ensure_ascii=True, sort_keys=True)
    return "changed-" + hashlib.sha256(told.encode()).hexdigest()
