"""Ask a model at an OpenAI-compatible URL (llama.cpp, vLLM, Ollama, commercial). Each item is asked once, every answer is stored.

The journal has a line before each request and a line per answer, written to disk immediately. An interrupted run
can be resumed, and a budget applies to all runs together. A request that may have arrived is repeated with the
same `Idempotency-Key`.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import math
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from covmis_build import storage
from covmis_build.bounds import Unbounded, bounded
from covmis_build.engine import silent
from covmis_build.errors import InputError, ServiceError, counted
from covmis_build.models.prompt import content_of, json_line
from covmis_build.report.result import Result

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import httpx

    from covmis_build.engine import Progress
    from covmis_build.models.prompt import Request, Sampling
    from covmis_build.report.summary import Summary

HERE = ("127.0.0.1", "localhost", "::1")
ATTEMPTS = 6
"""Maximum number of attempts per request in one run."""
LONGEST_PAUSE = 60.0
TIMEOUT = 300.0
"""Maximum seconds without data, and for the rest of an answer once it begins."""
LONGEST_ANSWER = 16 << 20
"""Maximum bytes of an answer, decompressed."""
SILENT = 3
"""Stop after this many consecutive items without an answer: the server is probably not a model server."""


@dataclass(frozen=True, slots=True)
class Server:
    """A model server: a URL ending in /v1, and a key if needed."""

    url: str
    key: str = ""

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise InputError(f"{self.url} is no address", remedy="It is like http://127.0.0.1:8080/v1")
        if parts.username or parts.password:
            raise InputError("the address has a name or password in it", remedy="Keys come with --key-env")
        if not (self.key.isascii() and self.key.isprintable()) or " " in self.key:
            raise InputError(
                "the key has a character that no key has", remedy="Is it one line, without spaces?"
            )
        if self.key and parts.scheme == "http" and not self.local:
            raise InputError(f"{self.url} would get the key unencrypted", remedy="Use https")

    @property
    def local(self) -> bool:
        """True if it runs on this machine."""
        return urlsplit(self.url).hostname in HERE


@dataclass(frozen=True, slots=True, repr=False)
class Requested(Result):
    """The result of one run. `left` are items without an answer (budget spent, or no response)."""

    asked: int
    already: int
    left: int
    requests: int
    tokens: int
    """Tokens of all answers in the journal as counted by the server; 0 if it does not count."""
    why: str = ""

    @property
    def summary(self) -> Summary:
        """Return what was asked, and what is left."""
        tokens = f", {self.tokens:,} tokens" if self.tokens else ""
        lines = [
            (
                f"{counted(self.asked, 'items')} asked, {self.already:,} answered before; "
                f"{counted(self.requests, 'requests')} in all{tokens}."
            )
        ]
        if self.left:
            lines.append(f"{counted(self.left, 'items')} left: {self.why}. The same command goes on.")
        return lines


def ask(
    requests: Sequence[Request],
    server: Server,
    sampling: Sampling,
    journal: Path,
    *,
    budget: int = 0,
    with_schema: bool = True,
    progress: Progress = silent,
) -> Requested:
    """Ask about each item without an answer in the journal.

    `budget` is the maximum number of requests for this journal, including repeated ones; 0: no limit. Raises ServiceError
    if the server refuses a request; existing answers are kept.
    """
    if not sampling.model:
        raise InputError("no model is named", remedy="Name it with --model, as the server calls it")
    lock = journal.with_name(f".{journal.name}.lock")
    with storage.locked(lock, "covmis model ask", of=str(journal)), _client(server) as client:
        state = _read(journal, _question(requests, sampling))
        run = _Run(client, server, sampling, journal, budget, with_schema, state)
        waiting = [request for request in requests if request.item_id not in state.answered]
        asked, silences, why = 0, 0, ""
        for number, request in enumerate(waiting):
            if run.spent or silences == SILENT:
                break
            progress("asking", number, len(waiting))
            reply = run.reply(request)
            if reply is None:
                silences, why = silences + 1, "the server gave no answer that can be read"
                continue
            _keep(journal, request, sampling, reply)
            state.tokens += _tokens(reply)
            asked, silences = asked + 1, 0
        if run.spent:
            why = f"the budget of {budget:,} requests is spent"
        elif silences == SILENT:
            why += f", for {SILENT} items in a row"
    return Requested(asked, len(requests) - len(waiting), len(waiting) - asked, state.sent, state.tokens, why)


@dataclass(slots=True)
class _State:
    """The content of a journal."""

    answered: set[str]
    sent: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class _Run:
    """One run: server, parameters, and budget."""

    client: httpx.Client
    server: Server
    sampling: Sampling
    journal: Path
    budget: int
    with_schema: bool
    state: _State

    @property
    def spent(self) -> bool:
        """True if the budget is exhausted."""
        return bool(self.budget) and self.state.sent >= self.budget

    def reply(self, request: Request) -> dict[str, Any] | None:
        """Return the server's response, with a limited number of attempts; None if there is none."""
        body, pause = request.body(self.sampling), 0.0
        if not self.with_schema:
            del body["response_format"]
        for attempt in range(ATTEMPTS):
            if self.spent:
                return None
            time.sleep(pause)
            self.state.sent += 1
            line = {"item_id": request.item_id, "attempt": attempt + 1}
            storage.append_bytes(self.journal, json_line(line).encode())
            reply, pause = _send(self.client, self.server, body, _key(request, self.sampling), attempt)
            if reply is not None:
                return reply
        return None


def _question(requests: Sequence[Request], sampling: Sampling) -> dict[str, Any]:
    """Return what makes answers comparable: model, parameters, template."""
    return {"parameters": asdict(sampling), "template": requests[0].template if requests else ""}


def is_journal(path: Path) -> bool:
    """True if a file begins like a journal."""
    with path.open("rb") as file:
        return file.read(16).startswith(b'{"question"')


def _read(journal: Path, question: dict[str, Any]) -> _State:
    """Read the journal. Its first line has the parameters; others are refused."""
    state = _State(set())
    if not journal.is_file() or not journal.stat().st_size:
        storage.append_bytes(journal, json_line({"question": question}).encode())
        return state
    data = journal.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        storage.cut(journal, whole)  # remove a line cut off by an interruption
    if not whole:
        return _read(journal, question)
    for number, line in enumerate(data[:whole].decode("utf-8", "replace").split("\n")[:-1], 1):
        try:
            row = json.loads(line)
            if "question" in row:
                if row["question"] != question:
                    raise InputError(
                        "has answers of another model, template or sampling",
                        file=journal,
                        remedy="Name another journal",
                    )
            elif "attempt" in row:
                state.sent += 1
            else:
                state.answered.add(row["item_id"])
                state.tokens += _tokens(row["raw"])
        except (ValueError, KeyError, TypeError, AttributeError):
            raise InputError("is no line of a journal of answers", file=journal, row=number) from None
    return state


def _client(server: Server) -> httpx.Client:
    import httpx

    head = {"authorization": f"Bearer {server.key}"} if server.key else {}
    return httpx.Client(
        base_url=server.url.rstrip("/") + "/", headers=head, timeout=TIMEOUT, trust_env=not server.local
    )


def _send(
    client: httpx.Client, server: Server, body: dict[str, Any], key: str, attempt: int
) -> tuple[dict[str, Any] | None, float]:
    """Send a request. Returns the response, or None and the seconds to wait before the next attempt."""
    import httpx

    pause = min(2.0**attempt, LONGEST_PAUSE)
    try:
        with client.stream(
            "POST", "chat/completions", json=body, headers={"idempotency-key": key}
        ) as response:
            said = _text(response, server)
    except httpx.ConnectError:
        raise ServiceError(
            f"no answer from {client.base_url}; is the server running? Answers so far are kept"
        ) from None
    except httpx.HTTPError:
        return None, pause
    if response.status_code in {408, 409, 429} or response.status_code >= 500:
        return None, _retry_after(response, pause)
    if response.status_code >= 300:
        reason = " ".join((said or response.headers.get("location", "it says nothing")).split())[:200]
        raise ServiceError(
            f"the server refuses (status {response.status_code}): {reason}; answers so far are kept"
        )
    try:
        reply = json.loads(said or "")
    except (ValueError, RecursionError):
        return None, pause
    whole = isinstance(reply, dict) and isinstance(reply.get("choices"), list) and bool(reply["choices"])
    return (reply, 0.0) if whole else (None, pause)


def _text(response: httpx.Response, server: Server) -> str | None:
    """Return a response's text without the key (a server may repeat it); None if it is too long or too slow."""
    try:
        data = b"".join(bounded(response.iter_bytes(), LONGEST_ANSWER, TIMEOUT))
    except Unbounded:
        return None
    text = data.decode("utf-8", "replace")
    return text.replace(server.key, "…") if server.key else text


def _retry_after(response: httpx.Response, pause: float) -> float:
    """Return the waiting time that the server requests, within limits."""
    try:
        seconds = float(response.headers["retry-after"])
    except (KeyError, ValueError):
        return pause
    return min(max(seconds, 0.0), LONGEST_PAUSE) if math.isfinite(seconds) else pause


def _keep(journal: Path, request: Request, sampling: Sampling, reply: dict[str, Any]) -> None:
    """Write the complete answer with its request and parameters."""
    line = {
        "item_id": request.item_id,
        "answer": content_of(reply),
        "template": request.template,
        "model": reply.get("model") or sampling.model,
        "parameters": asdict(sampling),
        "at": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "raw": reply,
    }
    storage.append_bytes(journal, json_line(line).encode())


def _key(request: Request, sampling: Sampling) -> str:
    """Return a key that is the same for the same question about the same item in all runs."""
    told = json.dumps([request.item_id, request.content, asdict(sampling)])
    return hashlib.sha256(told.encode()).hexdigest()[:32]


def _tokens(reply: dict[str, Any]) -> int:
    usage = reply.get("usage")
    total = usage.get("total_tokens") if isinstance(usage, dict) else None
    return total if isinstance(total, int) and not isinstance(total, bool) else 0
