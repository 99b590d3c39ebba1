"""The server of the annotators' links, at a port of its own, with limits on the requests of strangers."""

from __future__ import annotations

import socket
import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from covmis_build.errors import InputError
from covmis_build.report.result import Result
from covmis_build.study.links import links_to_serve
from covmis_build.workbench.team import Team

if TYPE_CHECKING:
    import asyncio

    from covmis_build.report.summary import Summary
    from covmis_build.study.links import Links
    from covmis_build.workbench.bench import Bench
    from covmis_build.workbench.reach import Reach

ARRIVING = 30.0
"""Seconds within which a whole request has to arrive."""
CONNECTIONS = 800
"""Connections at once; further ones get status 503."""
ENDING = 10.0
"""Seconds that it is waited for at the end."""


class _Timed(H11Protocol):
    """HTTP whose requests arrive in time, or not at all: slow ones would hold connections for ever."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        # h11's names: before the headers are whole IDLE, then SEND_BODY until the end of the request
        if str(self.conn.their_state) in {"IDLE", "SEND_BODY"}:
            self._expect()
        else:
            self._forget()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def _expect(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(ARRIVING, self.transport.abort)

    def _forget(self) -> None:
        if self._deadline:
            self._deadline.cancel()
        self._deadline = None


@dataclass(frozen=True, repr=False)
class ServedLinks(Result):
    """What `covmis open --team` says when it begins."""

    round: str
    links: Links
    behind: str = ""
    """Where a reverse proxy finds it."""
    warnings: tuple[str, ...] = ()

    @property
    def summary(self) -> Summary:
        """Return where the links lead, and the new ones."""
        proxied = [f"The reverse proxy finds them at {self.behind}."] if self.behind else []
        return [
            f"Annotators of round {self.round} label at {self.links.address}.",
            *proxied,
            *self.links.summary,
        ]


class TeamServer:
    """The server at work, in a thread of its own."""

    def __init__(self, bench: Bench, reach: Reach) -> None:
        reach.check()
        self._listener = _listen(reach)
        self.reach = replace(reach, port=self._listener.getsockname()[1])
        self.team = Team(bench, self.reach)
        config = uvicorn.Config(
            self.team,
            http=_Timed,
            ws="none",
            log_level="error",  # requests of strangers are not worth a line each
            server_header=False,
            proxy_headers=bool(reach.public),  # only then a proxy on this machine says who asks
            limit_concurrency=CONNECTIONS,
            timeout_graceful_shutdown=1,
            ssl_certfile=reach.certificate,
            ssl_keyfile=str(reach.key) if reach.key else None,
        )
        try:
            config.load()
        except (OSError, ValueError) as error:
            self._listener.close()
            raise InputError(
                f"is no certificate with the key {reach.key}: {error}",
                file=reach.certificate or "",
                remedy="Give both as PEM files, the key without a password",
            ) from None
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._listener]}, daemon=True
        )

    def start(self) -> None:
        """Serve from now on."""
        self._thread.start()

    def stop(self) -> None:
        """End it; answers that are being recorded are recorded."""
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join(ENDING)
        self._listener.close()

    @property
    def is_at_work(self) -> bool:
        """Whether it serves."""
        return self._thread.is_alive() and not self._server.should_exit


def serve_links(bench: Bench, reach: Reach, number: str = "") -> ServedLinks:
    """Send a round by links, and serve them in the workbench's process. Annotators without a link get one, which is shown only now."""
    if bench.team and bench.team.is_at_work:
        raise InputError(f"links are served at {bench.team.reach.base} already", remedy="End that first")
    study = bench.study
    round_ = study.round(number)
    server = TeamServer(bench, reach)
    try:
        round_.send_by_links()
        links = links_to_serve(study, server.reach.base)
    except BaseException:
        server.stop()
        raise
    bench.team = server
    base = server.reach.base  # links of an earlier server here lead to this one now
    shown = {code: f"{base}/#{link.rpartition('#')[2]}" for code, link in bench.new_links.items()}
    bench.new_links = shown | dict(links.new)
    server.start()
    warning = server.reach.warning
    behind = replace(server.reach, public="").base if reach.public else ""
    return ServedLinks(round_.number, links, behind, (warning,) if warning else ())


def _listen(reach: Reach) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in reach.address else socket.AF_INET
        listener = socket.create_server((reach.address, reach.port), family=family)
    except OSError as error:
        raise InputError(
            f"cannot listen at {reach.address}, port {reach.port}: {error.strerror}",
            remedy="Name an address of this machine, and a port that nothing else uses",
        ) from None
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # asyncio leaves it out here: 40 ms a page
    return listener


def own_address() -> str:
    """This machine's address in its network, as far as it knows one; nothing is sent to find out."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect(("192.0.2.1", 9))  # an address reserved for documentation
        except OSError:
            return ""
        return str(asking.getsockname()[0])
