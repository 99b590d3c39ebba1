"""Label Studio through its official client (label-studio-sdk): one project per annotator, so labels stay blind.

Nothing is sent twice. covmis reads what exists and sends only what is missing. After a broken connection it reads
again before it repeats anything. The client's own retries are off: repeating a half-finished import turned 30 tasks
into 90. Annotations are read with their tasks, not exported: exports leave copies of the texts on the server.

The client does not validate answers, so this module checks each one against its own types. It also makes the
connection: a local server must be reached without a proxy, and a redirect to a login page is not an answer.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import json
import os
import time
import warnings
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec

from covmis_build.bounds import bounding
from covmis_build.characters import whole_in_json
from covmis_build.errors import CheckFailed, MissingExtra, ServiceError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    import httpx

T = TypeVar("T")


class _Number(msgspec.Struct):
    id: int


class _User(msgspec.Struct):
    id: int
    email: str


class _Project(msgspec.Struct):
    id: int
    description: str | None = None


class _Projects(msgspec.Struct):
    results: list[_Project]
    next: Any = None


class Value(msgspec.Struct):
    """The value of an answer: choices or text."""

    choices: list[str] | str | None = None
    text: list[str] | str | None = None


class Part(msgspec.Struct):
    """The answer to one field of the form."""

    from_name: str | None = None
    value: Value | None = None


class Annotation(msgspec.Struct):
    """An annotator's answer to a task."""

    id: int
    updated_at: dt.datetime
    completed_by: int | None = None
    updated_by: int | None = None
    was_cancelled: bool = False
    lead_time: float | None = None
    result: list[Part] | None = None


class Task(msgspec.Struct):
    """An item as stored on the server."""

    id: int
    data: dict[str, Any]
    annotations: list[Annotation] = []


class _Changed(msgspec.Struct):
    updated_at: dt.datetime = msgspec.field(default_factory=lambda: dt.datetime.now(dt.UTC))


class _Tasks(msgspec.Struct):
    tasks: list[Task]
    total: int


WITH_DRAFT = json.dumps(
    {
        "filters": {
            "conjunction": "and",
            "items": [
                {"filter": "filter:tasks:draft_exists", "operator": "equal", "type": "Boolean", "value": True}
            ],
        }
    }
)
"""The query for tasks with a draft."""
TITLE = 50
"""Maximum length of a Label Studio title."""
BATCH = 200
PAGE = 500
ONCE = {"max_retries": 0, "timeout_in_seconds": 600}
"""Options of every request. The client does not retry; this module decides that."""
LARGEST, LONGEST = 256 << 20, 600.0
"""Maximum size of a response in bytes, and maximum time in seconds."""
PATIENCE = 120.0
"""Seconds to wait for an unreachable server (a restart takes a few) before giving up."""


@dataclass
class LabelStudio:
    """A server and the project lead's token."""

    url: str
    token: str = field(repr=False)
    patience: float = field(default_factory=lambda: PATIENCE)
    _http: httpx.Client | None = field(default=None, repr=False)
    _sdk: Any = field(default=None, repr=False)

    def users(self) -> dict[int, str]:
        """Return the users' e-mail addresses by id."""
        rows = self._as(list[_User], self._again(lambda: self._client().users.list(request_options=ONCE)))
        return {user.id: user.email for user in rows}

    def project(
        self, title: str, key: str, settings: Mapping[str, Any], remembered: int | None = None
    ) -> tuple[int, bool]:
        """Return the recorded project or the one with this key in its description; create it if missing.

        Returns the project id, and whether the project is new.
        """
        if remembered is not None and self.has_project(remembered):
            return remembered, False
        number = self.find_project(key)
        if number is not None:
            return number, False
        until = time.monotonic() + self.patience
        while number is None:
            try:
                number = self._as(
                    _Number,
                    self._send(
                        lambda: self._client().projects.create(
                            title=title[:TITLE].strip(), description=key, **settings, request_options=ONCE
                        )
                    ),
                ).id
            except _Interrupted as error:
                time.sleep(0.3)
                number = self.find_project(key)
                if number is None and time.monotonic() > until:
                    raise self._silent(error) from None
        return number, True

    def find_project(self, key: str) -> int | None:
        """Find the project with this key in its description. Two such projects are an error."""
        page, numbers, seen = 1, list[int](), set[int]()
        while True:
            whole = self._as(_Projects, self._again(partial(self._projects, page)))
            fresh = [project for project in whole.results if project.id not in seen]
            numbers += [project.id for project in fresh if project.description == key]
            seen |= {project.id for project in fresh}
            if not whole.next or not fresh:
                if len(numbers) > 1:
                    raise CheckFailed(
                        f"the projects {' and '.join(map(str, sorted(numbers)))} of Label Studio at {self.url} both say "
                        f"that they are this one: {key[:60]}. Look which one holds labels, and delete the other there"
                    )
                return min(numbers, default=None)
            page += 1

    def _projects(self, page: int) -> Any:
        """Return one page of the project list."""
        listed = self._client().projects.list(
            page=page, page_size=100, include="id,title,description", request_options=ONCE
        )
        return listed.response

    def has_project(self, project: int) -> bool:
        """True if the project still exists."""
        try:
            self.settings(project)
        except Gone:
            return False
        return True

    def settings(self, project: int) -> dict[str, Any]:
        """Return a project's settings."""
        return self._as(dict[str, Any], self._again(partial(self._settings, project)))

    def _settings(self, project: int) -> Any:
        # `projects.get` would write the settings back and warn about each unexpected type.
        return self._client().projects.with_raw_response.get(project, request_options=ONCE).data

    def change(self, project: int, settings: Mapping[str, Any]) -> None:
        """Change a project's settings."""
        self._again(lambda: self._client().projects.update(project, **settings, request_options=ONCE))

    def tasks(self, project: int, *, answers: bool = False, query: str | None = None) -> Iterator[Task]:
        """Return a project's tasks (or those matching a query), with all annotations if wanted."""
        seen, page = set[int](), 1
        while True:
            ask = partial(self._tasks, project, page, answers=answers, query=query)
            whole = self._as(_Tasks, self._again(ask))
            fresh = [task for task in whole.tasks if task.id not in seen]
            yield from fresh
            seen |= {task.id for task in fresh}
            page += 1
            if not fresh or len(seen) >= whole.total:
                return

    def _tasks(self, project: int, page: int, *, answers: bool, query: str | None = None) -> Any:
        """Return one page of a project's tasks."""
        fields: Literal["all", "task_only"] = "all" if answers else "task_only"
        listed = self._client().tasks.list(
            project=project,
            page=page,
            page_size=100 if answers else PAGE,
            fields=fields,
            include=None if answers else "id,data",
            query=query,
            request_options=ONCE,
        )
        return listed.response

    def drafts(self, project: int) -> set[str]:
        """Return the items with a saved draft. The server does not show other users' drafts or their authors."""
        return {str(task.data.get("uid", "")) for task in self.tasks(project, query=WITH_DRAFT)}

    def by_uid(self, project: int) -> dict[str, list[Task]]:
        """Return a project's tasks by item."""
        tasks_of: dict[str, list[Task]] = defaultdict(list)
        for task in self.tasks(project):
            tasks_of[str(task.data.get("uid", ""))].append(task)
        return dict(tasks_of)

    def send(
        self, project: int, rows: Sequence[Mapping[str, Any]], answered: Collection[str] = frozenset()
    ) -> tuple[int, dict[str, str]]:
        """Add these tasks to the project, each at most once. Returns how many were missing and which were repaired.

        Tasks `answered` before may be missing: a deleted project is not refilled with finished work.

        Duplicates left by a broken import are removed unless they have an answer.
        """
        have = self.by_uid(project)
        left = missing = [row for row in rows if row["uid"] not in have and row["uid"] not in answered]
        until = time.monotonic() + self.patience
        while left:
            try:
                for at in range(0, len(left), BATCH):
                    self._send(partial(self._import, project, left[at : at + BATCH]))
            except _Interrupted:
                time.sleep(0.3)
            have, before = self.by_uid(project), len(left)
            left = [row for row in missing if row["uid"] not in have]
            if len(left) < before:
                until = time.monotonic() + self.patience
            elif time.monotonic() > until:
                raise ServiceError(
                    f"Label Studio at {self.url} takes no tasks; try `covmis round push` again"
                )
        self._remove_copies(project, have)
        return len(missing), self._refresh(have, rows)

    def _import(self, project: int, rows: Sequence[Mapping[str, Any]]) -> None:
        tasks = [{"data": dict(row)} for row in rows]
        self._client().projects.import_tasks(project, request=tasks, request_options=ONCE)

    def _remove_copies(self, project: int, have: dict[str, list[Task]]) -> None:
        """Remove the duplicates that a broken import left, on the server and in `have`."""
        if all(len(tasks) == 1 for tasks in have.values()):
            return
        answered = {task.id for task in self.tasks(project, answers=True) if task.annotations}
        for uid, tasks in have.items():
            have[uid] = [task for task in tasks if task.id in answered] or tasks[:1]
            for task in tasks:
                if task not in have[uid]:
                    self.remove_task(task.id)

    def _refresh(self, have: Mapping[str, list[Task]], rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
        """Restore tasks whose data were changed or are incomplete. Returns which and when."""
        repaired = dict[str, str]()
        for row in rows:
            for task in have.get(row["uid"], []):
                if task.data != dict(row):
                    changed = self._as(_Changed, self._again(partial(self._change_task, task.id, dict(row))))
                    repaired[row["uid"]] = in_utc(changed.updated_at)
        return repaired

    def _change_task(self, task: int, data: dict[str, Any]) -> Any:
        return self._client().tasks.update(str(task), data=data, request_options=ONCE)

    def remove_task(self, task: int) -> None:
        """Remove a task with its annotations."""
        with contextlib.suppress(Gone):
            self._again(lambda: self._client().tasks.delete(str(task), request_options=ONCE))

    def _again(self, ask: Callable[[], Any]) -> Any:
        """Repeat an idempotent request until it succeeds or PATIENCE runs out."""
        until, pause = time.monotonic() + self.patience, 0.1
        while True:
            try:
                return self._send(ask)
            except _Interrupted as error:
                if time.monotonic() > until:
                    raise self._silent(error) from None
                time.sleep(pause)
                pause = min(pause * 2, 2.0)

    def _send(self, ask: Callable[[], Any]) -> Any:
        """Send once. Raises `_Interrupted` if the outcome is unknown, ServiceError if the server refused."""
        import httpx

        refused = makers_client().core.api_error.ApiError
        try:
            return ask()
        except httpx.HTTPError as error:
            raise _Interrupted(type(error).__name__) from None
        except refused as error:
            raise self._refusal(int(error.status_code or 0), error) from None
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
            # The client looked for a field that Label Studio's answers have and this one does not.
            raise self._stranger(f"an answer with an unexpected structure: {type(error).__name__}") from None

    def _refusal(self, status: int, error: Any) -> Exception:
        """Return the error for an unsuccessful status. A login page, or another program's page, is an error too."""
        if status >= 500 or status == 429:
            return _Interrupted(f"status {status}")
        if status in {401, 403}:
            return ServiceError(f"Label Studio at {self.url} refuses the token (status {status})")
        if status == 404:
            return Gone(
                f"Label Studio at {self.url} has no such thing (any more): {_reason(status, error.body)}"
            )
        if status >= 400:
            return ServiceError(f"Label Studio at {self.url} refuses it: {_reason(status, error.body)}")
        kind = (error.headers or {}).get("content-type", "no type")[:40]
        return self._stranger(f"status {status}, {kind}")

    def _as(self, kind: type[T], answer: Any) -> T:
        """Convert a response to this type if it has Label Studio's format."""
        try:
            return msgspec.convert(whole_in_json(_plain(answer)), kind)
        except (ValueError, OverflowError, RecursionError) as error:
            raise self._stranger(f"an answer with an unexpected structure: {error}"[:120]) from None

    def _stranger(self, why: str) -> ServiceError:
        return ServiceError(
            f"what answers at {self.url} does not speak as Label Studio does ({why}); look at the address in a browser"
        )

    def _silent(self, error: Exception) -> ServiceError:
        return ServiceError(
            f"Label Studio at {self.url} does not answer ({error}); is it running? `covmis label-studio status`"
        )

    def _client(self) -> Any:
        """Return the official client over our own connection. It exchanges a personal access token (a JWT) for a short-lived one."""
        import httpx

        if self._http is None:
            local = self.url.startswith(("http://127.0.0.1", "http://localhost"))
            self._http = httpx.Client(
                timeout=600,
                trust_env=not local,
                headers={"accept-encoding": "identity"},
                event_hooks={"response": [bounding(LARGEST, LONGEST)]},
            )
        if self._sdk is None:
            self._sdk = makers_client().client.LabelStudio(
                base_url=f"{self.url}/", api_key=self.token, httpx_client=self._http
            )
        return self._sdk

    def close(self) -> None:
        """Close the connection."""
        if self._http is not None:
            self._http.close()
            self._http = self._sdk = None


def in_utc(moment: dt.datetime) -> str:
    """Convert a server time to UTC as recorded."""
    return moment.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Gone(ServiceError):
    """A project or task that no longer exists."""


class _Interrupted(Exception):
    """The connection broke; it is unknown whether the request arrived."""


def makers_client() -> Any:
    """Import the official client (takes about a second)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # about how its own types are written
            import label_studio_sdk.client
            import label_studio_sdk.core.api_error
    except ImportError:
        error = MissingExtra.of("label-studio", "Label Studio")
        error.remedy += "; or send sheets, which need nothing: `covmis round push --channel csv`"
        raise error from None
    return label_studio_sdk


def _plain(answer: Any) -> Any:
    """Return the response as received. The client's types state what it expects, not what was sent."""
    if isinstance(answer, list):
        return [_plain(part) for part in answer]
    if isinstance(answer, dict):
        return {name: _plain(part) for name, part in answer.items()}
    told = getattr(answer, "model_fields_set", None)
    return answer if told is None else {name: _plain(part) for name, part in answer if name in told}


def _reason(status: int, body: Any) -> str:
    """Return the server's error message in one line; its error pages are whole web pages."""
    if not isinstance(body, dict):
        return f"status {status}"
    return f"status {status}, {str(body.get('validation_errors') or body.get('detail'))[:200]}"


def project_title(study: str, number: str, who: str) -> str:
    """Return a title within the limit that keeps the round and the annotator.

    >>> project_title("A very long title of a study about many things", "001", "a1")
    'A very long title of a study about many… · 001 a1'
    """
    tail = f" · {number} {who}"
    room = TITLE - len(tail)
    return (study if len(study) <= room else study[: room - 1].rstrip() + "…")[:room] + tail


def project_key(items: Sequence[str], number: str, who: str) -> str:
    """Return the key in the project's description: the round's fingerprint, with which a restart finds the project."""
    print_ = hashlib.sha256("\n".join(sorted(items)).encode()).hexdigest()[:16]
    return f"covmis round {number}, {who}, {print_}. Please leave this line as it is."


def user_of(code: str, users: Mapping[int, str]) -> int | None:
    """Return the annotator's user: from COVMIS_LABEL_STUDIO_USERS (`a1=mail,a2=mail`), or the one of the same name."""
    named = dict(
        pair.split("=", 1)
        for pair in os.environ.get("COVMIS_LABEL_STUDIO_USERS", "").split(",")
        if "=" in pair
    )
    wanted = named.get(code, "").strip().casefold()
    for number, mail in users.items():
        if mail.casefold() == wanted or (not wanted and mail.casefold().partition("@")[0] == code.casefold()):
            return number
    return None
