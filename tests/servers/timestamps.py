"""A time-stamping authority on this machine (RFC 3161): openssl stamps, with certificates made for one test."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from tests.servers.loopback import Answer, Loopback, Request

if TYPE_CHECKING:
    from pathlib import Path

CONFIGURATION = """
[tsa]
default_tsa = ours
[ours]
serial = serial
signer_cert = signer.pem
signer_key = signer.key
certs = authority.pem
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
ess_cert_id_alg = sha256
[stamps]
extendedKeyUsage = critical,timeStamping
[req]
distinguished_name = named
[named]
"""


class Authority(Loopback):
    """Stamps whatever is asked, and remembers it. `certificate`: its own, for those who trust it."""

    def __init__(self, folder: Path, name: str = "Time stamps of tests") -> None:
        super().__init__()
        self.folder, self.certificate = folder, folder / "authority.pem"
        folder.mkdir()
        (folder / "openssl.cnf").write_text(CONFIGURATION)
        (folder / "serial").write_text("01")
        new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-config", "openssl.cnf")
        subject = ("-subj", f"/O=Tests/CN={name}")
        self._openssl(
            "req",
            "-x509",
            *new,
            "-keyout",
            "authority.key",
            "-out",
            "authority.pem",
            "-days",
            "9",
            "-subj",
            "/CN=Tests",
        )
        self._openssl("req", "-new", *new, "-keyout", "signer.key", "-out", "signer.csr", *subject)
        self._openssl(
            "x509", "-req", "-in", "signer.csr", "-CA", "authority.pem", "-CAkey", "authority.key", "-CAcreateserial",
            "-days", "9", "-extfile", "openssl.cnf", "-extensions", "stamps", "-out", "signer.pem",
        )  # fmt: skip

    def answer(self, request: Request) -> Answer:
        (self.folder / "asked.tsq").write_bytes(request.body)
        self._openssl(
            "ts", "-reply", "-queryfile", "asked.tsq", "-config", "openssl.cnf", "-out", "answer.tsr"
        )
        return Answer(
            200, (self.folder / "answer.tsr").read_bytes(), {"Content-Type": "application/timestamp-reply"}
        )

    def _openssl(self, *words: str) -> None:
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)
