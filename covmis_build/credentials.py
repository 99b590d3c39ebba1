"""Secrets from the environment or the keyring. They stay in memory: never in files, logs, messages or arguments.

A secret is requested by name (`X_BEARER_TOKEN`), first from the environment, then from the system's keyring, where
`keyring set covmis X_BEARER_TOKEN` stores it without displaying it. A secret of a server chosen by the user belongs to that
server only: the environment names both, or the keyring stores it under the server's URL.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from typing import NoReturn
from urllib.parse import urlsplit

from covmis_build.errors import InputError, MissingExtra

NAMES = {
    "X_BEARER_TOKEN": "the token of an X developer app",
    "BLUESKY_HANDLE": "a Bluesky handle, like name.bsky.social",
    "BLUESKY_APP_PASSWORD": "an app password of that handle",
    "MASTODON_ACCESS_TOKEN": "the token of an app on a Mastodon server, with the right to search",
    "LABEL_STUDIO_API_KEY": "the token of a Label Studio server of your own; the local one needs none",
    "COVMIS_AUTHOR_KEY": "the study's key for author pseudonyms: 64 hexadecimal digits",
}
"""All credentials that covmis uses, with descriptions."""

SERVERS = {"MASTODON_ACCESS_TOKEN": "MASTODON_SERVER", "LABEL_STUDIO_API_KEY": "LABEL_STUDIO_URL"}
"""Secrets of one server, and the variable that names the server."""

SERVICE = "covmis"
HIDDEN = "[hidden]"
SHORTEST = 6
"""Minimum length of values that are masked in texts: shorter ones would match ordinary words."""

_seen: set[str] = set()


class Secret:
    """A value that is shown only on explicit request, not by printing, logging or copying the object."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value
        _seen.add(value)

    def reveal(self) -> str:
        """Return the value, only for sending it."""
        return self._value

    def __repr__(self) -> str:
        return HIDDEN

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not written anywhere")


def find(name: str) -> Secret | None:
    """Return the secret of this name, or None."""
    value = os.environ.get(name, "").strip() or _from_keyring(name)
    return Secret(value) if value else None


def need(name: str) -> Secret:
    """Return the secret of this name, or raise an error that explains how to provide it."""
    credential = find(name)
    if credential is None:
        raise InputError(
            f"{NAMES[name]} is needed and not set",
            remedy=f"Set the environment variable {name}, or run `keyring set {SERVICE} {name}`",
        )
    return credential


def need_for(name: str, address: str) -> Secret:
    """Return the secret that belongs to the server at this URL; other secrets are not sent there."""
    here, variable = origin(address), SERVERS[name]
    declared, value = os.environ.get(variable, "").strip(), os.environ.get(name, "").strip()
    if not (value and declared and origin(declared) == here):
        stored = _from_keyring(f"{name}@{here}")
        if value and not stored:
            whose = f"belongs to {origin(declared)}" if declared else "belongs to no server yet"
            raise InputError(
                f"{name} {whose} and is not sent to {here}",
                remedy=f"If it is for {here}, set {variable}={here}, too{_login(name, here)}",
            )
        value = stored
    if not value:
        raise InputError(
            f"{NAMES[name]} is needed for {here} and not set",
            remedy=f"Set {name} and {variable}={here}{_login(name, here)}",
        )
    return Secret(value)


def _login(name: str, here: str) -> str:
    if name == "LABEL_STUDIO_API_KEY":
        return f", or store it: `covmis label-studio login {here}`"
    return f", or store it: `keyring set {SERVICE} {name}@{here}`"


def origin(address: str) -> str:
    """Return a URL's scheme, host and port in canonical form.

    >>> origin("https://Labels.Example.org:443/path"), origin("http://127.0.0.1:8080")
    ('https://labels.example.org', 'http://127.0.0.1:8080')
    """
    try:
        parts = urlsplit(address if "://" in address else f"https://{address}")
        port = parts.port
    except ValueError:  # an unclosed bracket, or an invalid port
        parts, port = urlsplit(""), None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise InputError(f"{address} is no address of a server", remedy="Like https://labels.example.org")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    usual = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{host}" + (f":{port}" if port and port != usual else "")


def store(name: str, address: str, secret: Secret) -> None:
    """Store a server's secret in the system's keyring."""
    try:
        import keyring
    except ImportError:
        raise MissingExtra.of("keyring", "keeping a token") from None
    try:
        keyring.set_password(SERVICE, f"{name}@{origin(address)}", secret.reveal())
    except Exception as error:  # noqa: BLE001 - backends raise errors of their own
        raise InputError(
            f"the keyring of this machine does not take it ({type(error).__name__})",
            remedy=f"Set the environment variables {name} and {SERVERS[name]}",
        ) from None


def plain(name: str) -> str:
    """Return a setting stored with the secrets that is not secret: a handle, which posts may contain."""
    value = os.environ.get(name, "").strip() or _from_keyring(name)
    if not value:
        raise InputError(
            f"{NAMES[name]} is needed and not set",
            remedy=f"Set the environment variable {name}, or run `keyring set {SERVICE} {name}`",
        )
    return value


def _from_keyring(name: str) -> str:
    """Return the keyring's value; empty on machines without one (a server, a container)."""
    try:
        import keyring
    except ImportError:
        return ""
    try:
        return keyring.get_password(SERVICE, name) or ""
    except Exception:  # noqa: BLE001 - backends raise errors of their own, some with the value in the message
        return ""


def scrubbed(text: str) -> str:
    """Mask every secret read in this process, because servers and libraries repeat them in messages.

    >>> _ = Secret("s3cret-token")
    >>> scrubbed("401 for Bearer s3cret-token")
    '401 for Bearer [hidden]'
    """
    for value in _seen:
        if len(value) >= SHORTEST:
            text = text.replace(value, HIDDEN)
    return text


def pseudonym(author: str) -> str:
    """Return a pseudonym of an author (`x:12`) that only the holder of the study's key can resolve.

    The key is `COVMIS_AUTHOR_KEY`: 32 random bytes as 64 hexadecimal digits, stored outside the study.
    """
    name = "COVMIS_AUTHOR_KEY"
    digits = need(name).reveal()
    try:
        key = bytes.fromhex(digits)
    except ValueError:
        key = b""
    if len(key) < 32:
        raise InputError(
            f"{name} is not a key",
            remedy='Make one: python -c "import secrets; print(secrets.token_hex(32))"',
        )
    return "author:" + hmac.new(key, author.encode("utf-8"), hashlib.sha256).hexdigest()[:32]
