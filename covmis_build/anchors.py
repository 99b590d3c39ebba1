"""Time stamps (RFC 3161): an authority signs a hash and the time, so that anybody can see later that it was there by then.

The authority gets the hash and nothing else. openssl asks for a time stamp and verifies it, without a network; what others
made is read by it, not by this process.
"""

from __future__ import annotations

import datetime as dt
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from covmis_build import storage
from covmis_build.bounds import bounding
from covmis_build.errors import InputError, ServiceError

if TYPE_CHECKING:
    import httpx

OF_ROOT, OF_SEAL = "root.tsr", "seal.tsr"
"""The time stamp of a release's root hash, and of a round's seal, next to them."""
CONTENT = bytes.fromhex("060b2a864886f70d0109100104")
"""Stands near the begin of every time stamp."""
LARGEST, LONGEST = 64 << 10, 60.0
"""Maximum bytes of a time stamp, and maximum seconds of asking for it."""
ASKED, ANSWERED, TOKEN, CERTIFICATES, SIGNER = "asked.tsq", "answer.tsr", "token.der", "all.pem", "signer.pem"
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
TIME = re.compile(r"^Time stamp: (\w{3}) +(\d+) (\d\d):(\d\d):(\d\d)(?:\.\d+)? (\d{4}) GMT$", re.MULTILINE)
HASHED = re.compile(r"^ {4}[0-9a-f]{4} - ((?:[0-9a-f]{2}[ -]?){1,16})", re.MULTILINE)


class Stamp(NamedTuple):
    """What a time stamp says."""

    hash: str
    time: dt.datetime
    by: str
    """The name in the certificate of who signed it."""

    @property
    def sentence(self) -> str:
        """When it was made, and by whom."""
        return f"{self.time:%Y-%m-%d %H:%M:%S} UTC, by {self.by}"


def stamp(path: Path, digest: str, authority: str, *, client: httpx.Client | None = None) -> Stamp:
    """Have this authority stamp a SHA-256 and keep its answer at `path`. One of the same hash that is there stays."""
    if path.exists():
        if not may_be_of(path, digest):
            raise InputError(
                "is a time stamp of another hash", file=path, remedy="It proves something: keep it elsewhere"
            )
        return read(path)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        _openssl(folder, "ts", "-query", "-digest", digest, "-sha256", "-cert", "-out", ASKED)
        (folder / ANSWERED).write_bytes(_answer(authority, (folder / ASKED).read_bytes(), client))
        told = _read(folder)
        asked = told and _holds(folder, told, None, "-queryfile", ASKED)
        if told is None or not asked or told.hash != digest:
            raise ServiceError(f"{authority} gave no time stamp of what it was asked to stamp")
        storage.write_bytes(path, (folder / ANSWERED).read_bytes())
    return told


def may_be_of(path: Path, digest: str) -> bool:
    """True if this hash stands in the time stamp: a quick check, for which nothing is verified."""
    return bytes.fromhex(digest) in path.read_bytes()


def read(path: Path) -> Stamp:
    """Return what this time stamp says; who signed it is not checked."""
    with tempfile.TemporaryDirectory() as scratch:
        told = _copied(path, Path(scratch)) and _read(Path(scratch))
    if not told:
        raise InputError(
            "is no time stamp",
            file=path,
            remedy="Name a file like root.tsr, which `covmis release --anchor` keeps",
        )
    return told


def checked(path: Path, digest: str, authorities: Path | None) -> tuple[bool, str]:
    """Verify a time stamp of this SHA-256 at the time that it names, and return when it was made and by whom.

    `authorities` are certificates (PEM) of those who may have made it.
    """
    if authorities is not None and not authorities.is_file():
        raise InputError(
            "is not there", file=authorities, remedy="Name a file with certificates of authorities, as PEM"
        )
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        told = _copied(path, folder) and _read(folder)
        if not told:
            return False, f"{path.name} is no valid time stamp, or more than one"
        if told.hash != digest:
            return False, f"{path.name} is of another hash: {told.hash}"
        if not _holds(folder, told, None, "-digest", digest):
            return False, f"the signature of {path.name} does not hold"
        if authorities is None:
            return True, f"{told.sentence}; whose certificate that is, `--authorities FILE` tells"
        if not _holds(folder, told, authorities, "-digest", digest):
            return False, f"{told.by} is none of {authorities.name}"
        return True, told.sentence


def _answer(authority: str, asked: bytes, client: httpx.Client | None) -> bytes:
    import httpx

    if not authority.startswith(("https://", "http://")):
        raise InputError(
            f"{authority} is no address of a time-stamping authority", remedy="Like https://freetsa.org/tsr"
        )
    hooks = {"response": [bounding(LARGEST, LONGEST)]}
    headers = {"Content-Type": "application/timestamp-query", "Accept-Encoding": "identity"}
    try:
        with client or httpx.Client(timeout=30, event_hooks=hooks) as http:
            answer = http.post(authority, content=asked, headers=headers)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ServiceError(f"{authority} cannot be reached: {type(error).__name__}: {error}") from None
    if answer.status_code != httpx.codes.OK:
        raise ServiceError(f"{authority} gave no time stamp: it answered {answer.status_code}")
    return answer.content


def _copied(path: Path, folder: Path) -> bool:
    """Copy a time stamp that is one whole object of DER; openssl does not look behind it."""
    data = path.read_bytes() if path.stat().st_size <= LARGEST else b""
    (folder / ANSWERED).write_bytes(data)
    long = data[1] & 0x7F if len(data) > 1 and data[1] & 0x80 else 0
    length = int.from_bytes(data[2 : 2 + long], "big") if long else data[1] if len(data) > 1 else 0
    return data[:1] == b"\x30" and len(data) == 2 + long + length


def _read(folder: Path) -> Stamp | None:
    """Return what the answer in this folder says, and write its certificates next to it; None if it is no time stamp."""
    steps = (
        ("ts", "-reply", "-in", ANSWERED, "-token_out", "-out", TOKEN),
        ("pkcs7", "-inform", "DER", "-in", TOKEN, "-print_certs", "-out", CERTIFICATES),
        ("cms", "-verify", "-inform", "DER", "-in", TOKEN, "-noverify", "-signer", SIGNER, "-out", "content"),
    )
    if any(_openssl(folder, *step).returncode for step in steps):
        return None
    text = _openssl(folder, "ts", "-reply", "-in", ANSWERED, "-text").stdout
    subject = _openssl(folder, "x509", "-in", SIGNER, "-noout", "-subject", "-nameopt", "RFC2253").stdout
    time = TIME.search(text)
    if "Hash Algorithm: sha256\n" not in text or time is None or time[1] not in MONTHS:
        return None
    day, hour, minute, second, year = map(int, time.groups()[1:])
    when = dt.datetime(year, MONTHS.index(time[1]) + 1, day, hour, minute, second, tzinfo=dt.UTC)
    hashed = "".join(re.findall("[0-9a-f]{2}", " ".join(HASHED.findall(text))))
    return Stamp(hashed, when, subject.strip().removeprefix("subject="))


def _holds(folder: Path, told: Stamp, authorities: Path | None, *of: str) -> bool:
    """Verify the answer in this folder: by one of the authorities, or by its own certificates."""
    trusted = (
        ("-CAfile", CERTIFICATES, "-partial_chain")
        if authorities is None
        else ("-CAfile", str(authorities.absolute()), "-untrusted", CERTIFICATES)
    )
    at = ("-attime", str(int(told.time.timestamp())))
    return _openssl(folder, "ts", "-verify", *of, "-in", ANSWERED, *trusted, *at).returncode == 0


def _openssl(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - no shell
        [_program(), *words], cwd=folder, capture_output=True, text=True, errors="replace",
        stdin=subprocess.DEVNULL, timeout=LONGEST, check=False,
    )  # fmt: skip


@cache
def _program() -> str:
    program = shutil.which("openssl")
    told = subprocess.run([program, "version"], capture_output=True, check=False).stdout if program else b""  # noqa: S603 - no shell
    if program is None or not told.startswith(b"OpenSSL "):
        raise InputError(
            "OpenSSL is not on this machine", remedy="Install it (LibreSSL does not suffice) for time stamps"
        )
    return program
