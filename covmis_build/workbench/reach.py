"""How annotators reach the server: at which address it listens, and under which name it is known."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from covmis_build.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

LOOPBACK = "127.0.0.1"
USUAL = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Reach:
    """Address and port to listen at; `public` is the address behind a reverse proxy, like https://label.example.org."""

    address: str = LOOPBACK
    port: int = 0
    public: str = ""
    certificate: Path | None = None
    key: Path | None = None

    def check(self) -> None:
        """Refuse an address that people cannot open, and options that contradict each other."""
        if bool(self.certificate) != bool(self.key):
            raise InputError(
                "a certificate and its key belong together", remedy="Give --certificate and --key"
            )
        for path in filter(None, (self.certificate, self.key)):
            if not path.is_file():
                raise InputError("is no file", file=path, remedy="Name the file in PEM format")
        if self.public:
            parts = urlsplit(self.public)
            if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path.strip("/"):
                raise InputError(
                    f"'{self.public}' is no address of a server",
                    remedy="Like https://label.example.org, without a path",
                )
            if parts.query or parts.fragment or parts.username:
                raise InputError(f"'{self.public}' has more than a name and a port", remedy="Leave it out")
        elif self._is_everywhere:
            raise InputError(
                f"people cannot open {self.address}",
                remedy="Name this machine's address in your network (--address 192.168.1.5), or how people reach it (--public URL)",
            )

    @property
    def _is_everywhere(self) -> bool:
        return self.address in {"0.0.0.0", "::", ""}  # noqa: S104 - to refuse it

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches the address that is listened at."""
        try:
            return ipaddress.ip_address(self.address).is_loopback
        except ValueError:
            return self.address == "localhost"

    @property
    def is_secure(self) -> bool:
        """Whether people come by https."""
        return self.base.startswith("https:")

    @property
    def base(self) -> str:
        """The address with which links begin, as browsers write it: without the usual port."""
        asked = urlsplit(
            self.public or f"{'https' if self.certificate else 'http'}://{self._written(self.address)}"
        )
        port = asked.port if self.public else self.port
        name = self._written(asked.hostname or "")
        return f"{asked.scheme}://{name}" + (f":{port}" if port not in {None, USUAL[asked.scheme]} else "")

    @staticmethod
    def _written(name: str) -> str:
        return f"[{name}]" if ":" in name else name

    @property
    def hosts(self) -> frozenset[str]:
        """The names under which it answers."""
        names = {urlsplit(self.base).netloc.lower()}
        return frozenset(
            names if self.public else names | {f"localhost:{self.port}", f"{LOOPBACK}:{self.port}"}
        )

    def origin_of(self, host: str) -> str:
        """Where our own pages come from, under this name."""
        return f"{urlsplit(self.base).scheme}://{host}"

    @property
    def cookie(self) -> str:
        """The name of the cookie: cookies know no ports, and two studies may be served at once."""
        return f"covmis-link-{self.port}"

    @property
    def warning(self) -> str:
        """The warning for the lead; empty with https, and if only this computer can connect."""
        if self.is_secure or (self.is_loopback and not self.public):
            return ""
        return (
            f"{self.base} is not encrypted: anyone in the same network can read posts and answers, and take over a link. "
            "Use --certificate and --key, or a reverse proxy (--public)"
        )
