"""The searchable platforms: properties for plan and crawl, and how to connect."""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from covmis_build import credentials
from covmis_build.errors import InputError, UnknownName, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from covmis_build.collecting.crawl import Fetch, Platform


class Source(StrEnum):
    """The searchable platforms, by their names in commands and folders."""

    X = "x"
    BLUESKY = "bluesky"
    MASTODON = "mastodon"


@dataclass(frozen=True, slots=True)
class Connection:
    """An open session: page function, log-in function, and the client for platform-specific functions."""

    fetch: Fetch
    renew: Callable[[], None] | None = None
    session: Any = None


@dataclass(frozen=True, slots=True)
class Searchable:
    """A platform before any request: `mode` selects one of its searches, `longest` limits the length of a search."""

    platform: Platform
    connect: Callable[[], AbstractContextManager[Connection]]
    mode: str = ""
    longest: int | None = None


def searchable(
    source: str, *, recent: bool = False, expand: Sequence[str] = (), server: str = ""
) -> Searchable:
    """Return the platform of this name; `recent` and `expand` are for X, `server` for Mastodon."""
    if source == Source.X:
        return _x(recent, expand)
    if recent or expand:
        raise InputError("only X has a recent search, and parts of answers to expand")
    if source == Source.BLUESKY:
        return _bluesky()
    if source == Source.MASTODON:
        return _mastodon(server)
    raise UnknownName(f"no platform is called '{source}'", remedy=nearest(source, Source))


def account(module: str, query: str) -> tuple[Searchable, str]:
    """Return what reads one public channel or account by this module of snscrape, and the query as snscrape takes it."""
    from covmis_build.collecting.sources import snscrape

    asked = snscrape.known(module, query)

    @contextmanager
    def connect() -> Iterator[Connection]:
        yield Connection(snscrape.searcher(module))

    return Searchable(snscrape.platform(module), connect, module), asked


def _x(recent: bool, expand: Sequence[str]) -> Searchable:
    from covmis_build.collecting.sources import x

    @contextmanager
    def connect() -> Iterator[Connection]:
        with closing(x.connect(credentials.need("X_BEARER_TOKEN"), expand)) as session:
            yield Connection(x.searcher(session), session=session)

    mode = "recent" if recent else "all"
    return Searchable(x.platform(mode, x.known_expansions(expand)), connect, mode, x.LENGTHS[mode])


def _bluesky() -> Searchable:
    from covmis_build.collecting.sources import bluesky

    @contextmanager
    def connect() -> Iterator[Connection]:
        handle = credentials.plain("BLUESKY_HANDLE")
        with closing(bluesky.connect(handle, credentials.need("BLUESKY_APP_PASSWORD"))) as session:
            yield Connection(bluesky.searcher(session), session.log_in)

    return Searchable(bluesky.platform(), connect)


def _mastodon(server: str) -> Searchable:
    from covmis_build.collecting.sources import mastodon

    @contextmanager
    def connect() -> Iterator[Connection]:
        token = credentials.need_for("MASTODON_ACCESS_TOKEN", mastodon.address_of(server))
        with closing(mastodon.connect(server, token)) as session:
            yield Connection(mastodon.searcher(session))

    # a Mastodon plan belongs to one server
    return Searchable(mastodon.platform(), connect, mastodon.address_of(server).partition("://")[2])
