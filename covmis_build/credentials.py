"""Secrets come from the environment or the keyring and stay in memory: in no file, log, message or argument list.

A secret is requested by name (`X_BEARER_TOKEN`). The environment is looked at first, then the system's keyring,
where `keyring set covmis X_BEARER_TOKEN` puts it without showing it. A secret of a server that a person chooses is that
server's alone: the environment names both, or the keyring holds it under the server's address.
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
"""Every credential that covmis knows, and what it is."""

SERVERS = {"MASTODON_ACCESS_TOKEN": "MASTODON_SERVER", "LABEL_STUDIO_API_KEY": "LABEL_STUDIO_URL"}
"""Secrets of one server, and the variable that says which."""

SERVICE = "covmis"
HIDDEN = "[hidden]"
SHORTEST = 6
"""Shorter values are not looked for in texts: they would blot out ordinary words."""

_seen: set[str] = set()


class Secret:
    """A value that shows itself only when asked: printing, logging or copying the object shows nothing."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value
        _seen.add(value)

    def reveal(self) -> str:
        """The value itself, for the one call that sends it."""
        return self._value

    def __repr__(self) -> str:
        return HIDDEN

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not written anywhere")


def find(name: str) -> Secret | None:
    """The secret of this name, or None."""
    value = os.environ.get(name, "").strip() or _from_keyring(name)
    return Secret(value) if value else None


def need(name: str) -> Secret:
    """The secret of this name; if there is none, an error that says how to provide it."""
    credential = find(name)
    if credential is None:
        raise InputError(
            f"{NAMES[name]} is needed and not set",
            remedy=f"Set the environment variable {name}, or run `keyring set {SERVICE} {name}`",
        )
    return credential


def need_for(name: str, address: str) -> Secret:
    """The secret that belongs to the server at this address; one of another server, or of none, is not sent there."""
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
    """Where an address leads: scheme, name and port, written one way.

    >>> origin("https://Labels.Example.org:443/path"), origin("http://127.0.0.1:8080")
    ('https://labels.example.org', 'http://127.0.0.1:8080')
    """
    try:
        parts = urlsplit(address if "://" in address else f"https://{address}")
        port = parts.port
    except ValueError:  # a bracket that is not closed, a port of letters
        parts, port = urlsplit(""), None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise InputError(f"{address} is no address of a server", remedy="Like https://labels.example.org")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    usual = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{host}" + (f":{port}" if port and port != usual else "")


def store(name: str, address: str, secret: Secret) -> None:
    """Keep a server's secret in the system's keyring."""
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
    """A setting that is next to the secrets but is none: a handle. Posts may contain it."""
    value = os.environ.get(name, "").strip() or _from_keyring(name)
    if not value:
        raise InputError(
            f"{NAMES[name]} is needed and not set",
            remedy=f"Set the environment variable {name}, or run `keyring set {SERVICE} {name}`",
        )
    return value


def _from_keyring(name: str) -> str:
    """What the keyring holds; a machine without one (a server, a container) simply has nothing."""
    try:
        import keyring
    except ImportError:
        return ""
    try:
        return keyring.get_password(SERVICE, name) or ""
    except Exception:  # noqa: BLE001 - backends raise errors of their own, and some put the value into the message
        return ""


def scrubbed(text: str) -> str:
    """The text without any secret that was read in this process: servers and libraries do echo them.

    >>> _ = Secret("s3cret-token")
    >>> scrubbed("401 for Bearer s3cret-token")
    '401 for Bearer [hidden]'
    """
    for value in _seen:
        if len(value) >= SHORTEST:
            text = text.replace(value, HIDDEN)
    return text


def pseudonym(author: str) -> str:
    """A name for an author (`x:12`) that only the holder of the study's key can connect with the person.

    The key is `COVMIS_AUTHOR_KEY`: 32 random bytes as 64 hexadecimal digits, kept outside the study.
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
