"""Sign checksums.txt with an SSH key (`ssh-keygen -Y`), so that users can verify the publisher."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from covmis_build import storage
from covmis_build.errors import InputError

SIGNED = "checksums.txt"
SIGNATURE = f"{SIGNED}.sig"
NAMESPACE = "covmis-release"
"""Purpose of the signature: signatures for other purposes are invalid."""
PLAIN = re.compile(rb"-----BEGIN SSH SIGNATURE-----\n(?:[A-Za-z0-9+/=]+\n)+-----END SSH SIGNATURE-----\n")
"""A signature and nothing else: ssh-keygen does not look behind its last line."""


def sign(folder: Path, key: Path) -> Path:
    """Sign a finished release with this private key (or the public key of one held by an agent)."""
    if not key.is_file():
        raise InputError(
            "is not there", file=key, remedy="Name an SSH key; `ssh-keygen -t ed25519` makes one"
        )
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / SIGNED
        copy.write_bytes((folder / SIGNED).read_bytes())
        done = _ssh_keygen("sign", "-f", str(key), "-n", NAMESPACE, str(copy))
        if done.returncode:
            raise InputError(
                f"does not sign: {_last(done.stderr)}", file=key, remedy="Is it a private SSH key?"
            )
        storage.write_bytes(folder / SIGNATURE, copy.with_name(SIGNATURE).read_bytes())
    return folder / SIGNATURE


def checked(folder: Path, signers: Path | None) -> tuple[bool, str]:
    """Verify the signature of these checksums and return the signer; `signers` as in ssh-keygen(1), ALLOWED SIGNERS."""
    at = str(folder / SIGNATURE)
    if not PLAIN.fullmatch((folder / SIGNATURE).read_bytes()):
        return False, f"{SIGNATURE} holds something else than a signature"
    if signers is None:
        passed, told = _run_ssh_keygen(folder, "check-novalidate", "-n", NAMESPACE, "-s", at)
        return passed, f"{told}; whose key that is, `--signers FILE` tells" if passed else told
    if not signers.is_file():
        raise InputError("is not there", file=signers, remedy="See ALLOWED SIGNERS in `man ssh-keygen`")
    known, names = _run_ssh_keygen(folder, "find-principals", "-s", at, "-f", str(signers))
    if not known or not names:
        return False, f"the key is none of {signers.name}"
    return _run_ssh_keygen(
        folder, "verify", "-n", NAMESPACE, "-s", at, "-f", str(signers), "-I", names.split(",")[0].strip()
    )


def _run_ssh_keygen(folder: Path, question: str, *words: str) -> tuple[bool, str]:
    done = _ssh_keygen(question, *words, given=(folder / SIGNED).read_text("utf-8"))
    return done.returncode == 0, _last(done.stdout if done.returncode == 0 else done.stderr)


def _ssh_keygen(act: str, *words: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [_program(), "-Y", act, *words]
    return subprocess.run(command, input=given, capture_output=True, text=True, check=False)  # noqa: S603 - no shell


def _last(told: str) -> str:
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _program() -> str:
    program = shutil.which("ssh-keygen")
    if program is None:
        raise InputError(
            "ssh-keygen is not on this machine", remedy="Install OpenSSH's client to sign or to check"
        )
    return program
