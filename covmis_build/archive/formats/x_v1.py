"""X's interface 1.1: streams, archive.org's grabs, twarc 1; with the long text, and the reposted post itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from covmis_build.archive.formats.decoding import Glancing
from covmis_build.archive.formats.post import Glances, Post, Stamp, unescaped
from covmis_build.archive.ids import x_id

if TYPE_CHECKING:
    from collections.abc import Iterable


class _Url(msgspec.Struct, gc=False):
    expanded_url: str | None = None
    unwound: dict[str, Any] | None = None


class _Medium(msgspec.Struct, gc=False):
    type: str | None = None
    ext_alt_text: str | None = None


class _Entities(msgspec.Struct, gc=False):
    urls: list[_Url] | None = None
    media: list[_Medium] | None = None


class _Long(msgspec.Struct, gc=False):
    full_text: str | None = None
    entities: _Entities | None = None
    extended_entities: _Entities | None = None


class Status(msgspec.Struct, gc=False):
    """A post as interface 1.1 gives it."""

    id_str: str | None = None
    id: int | str | None = None
    text: str | None = None
    full_text: str | None = None
    created_at: str | None = None
    lang: str | None = None
    entities: _Entities | None = None
    extended_entities: _Entities | None = None
    extended_tweet: _Long | None = None
    retweeted_status: Status | None = None
    quoted_status: Status | None = None
    quoted_status_id_str: str | None = None
    in_reply_to_status_id_str: str | None = None
    in_reply_to_status_id: int | None = None
    reply_count: int | None = None
    retweet_count: int | None = None
    favorite_count: int | None = None
    quote_count: int | None = None
    card: dict[str, Any] | None = None
    withheld_copyright: bool | None = None
    withheld_in_countries: list[str] | str | None = None


class _Line(Status, gc=False):
    delete: dict[str, Any] | None = None
    status_withheld: dict[str, Any] | None = None
    limit: dict[str, Any] | None = None
    scrub_geo: dict[str, Any] | None = None
    warning: dict[str, Any] | None = None
    disconnect: dict[str, Any] | None = None
    user_withheld: dict[str, Any] | None = None
    statuses: list[Status] | None = None
    twarc: Stamp | None = msgspec.field(default=None, name="__twarc")
    stamp: Stamp | None = msgspec.field(default=None, name="__covmis")


_NOTICES = ("limit", "scrub_geo", "warning", "disconnect", "user_withheld")


def recognises(row: dict[str, Any]) -> bool:
    """Posts of 1.1 have both `id_str` and a text; streams also have notices."""
    if "id_str" in row and ("full_text" in row or "text" in row):
        return True
    if isinstance(row.get("statuses"), list) and "search_metadata" in row:
        return True
    return len(row) == 1 and bool(row.keys() & {*_NOTICES, "delete", "status_withheld"})


def glances(rows: Iterable[tuple[int, _Line]], seen: Glances) -> None:
    """The posts, and those that they quote and repost; notices of a stream give none, deletions an outcome."""
    ids, texts, more, places, links, linking = (
        seen.ids, seen.texts, seen.more, seen.places, seen.links, seen.linking
    )  # fmt: skip
    for at, row in rows:
        text = row.full_text or row.text
        if (
            not text
            or not row.id_str
            or row.retweeted_status is not None
            or row.quoted_status is not None
            or row.quoted_status_id_str
            or row.extended_tweet is not None
            or row.extended_entities is not None
            or row.card is not None
            or row.delete is not None
            or row.status_withheld is not None
            or row.statuses is not None
            or row.stamp is not None
            or row.twarc is not None
        ):
            _any_line(at, row, seen)
            continue
        urls = row.entities.urls if row.entities is not None else None
        if urls:
            address = urls[0].expanded_url
            if len(urls) > 1 or urls[0].unwound is not None:
                _any_line(at, row, seen)
                continue
            if address:
                links.append(address)
                linking.append(len(ids))
        ids.append(f"x:{row.id_str}")
        texts.append(unescaped(text) if "&" in text else text)
        more.append(row)
        places.append(at)


def _any_line(at: int, row: _Line, seen: Glances) -> None:
    before = len(seen)
    if row.delete is not None or row.status_withheld is not None:
        _add_outcome(at, row, seen)
        return
    if row.statuses is not None:
        for status in row.statuses:
            _glance(at, status, seen)
    elif row.id_str and (row.text is not None or row.full_text is not None):
        _glance(at, row, seen)
    elif not any(getattr(row, name) is not None for name in _NOTICES):
        raise ValueError("a post without id or text")
    if stamp := row.stamp or row.twarc:
        stamp.mark(seen, before, asked=seen.ids[before:])


def _add_outcome(at: int, row: _Line, seen: Glances) -> None:
    inner = row.delete.get("status") if row.delete else row.status_withheld
    native = str(inner.get("id_str") or inner.get("id") or "") if isinstance(inner, dict) else ""
    if native:
        gone = "deleted" if row.delete else "withheld"
        seen.add_post(at, Post(x_id(native), native, "x", availability=gone))


def _native(status: Status) -> str:
    return status.id_str or str(status.id or "")


def _glance(at: int, status: Status, seen: Glances) -> None:
    """A post and those inside it, each in its own right; a repost shows the reposted post's whole text."""
    inner = status.retweeted_status
    shown = inner or status
    quoted, repost_of = shown.quoted_status, "" if inner is None else x_id(_native(inner))
    own, urls, cards = f"x:{status.id_str or status.id or ''}", _links(shown), _cards(shown)
    seen.add(at, own, _text(shown), status, urls, cards, _quote(shown), repost_of)
    if inner:
        _glance(at, inner, seen)
    elif quoted and _native(quoted):
        _glance(at, quoted, seen)


def _quote(shown: Status) -> str:
    return x_id(shown.quoted_status_id_str or (_native(shown.quoted_status) if shown.quoted_status else ""))


def _text(status: Status) -> str:
    long = status.extended_tweet.full_text if status.extended_tweet else None
    return unescaped(long or status.full_text or status.text or "")


def post(status: Status) -> Post:
    """The row of a post; of a repost, with what it shows."""
    shown = status.retweeted_status or status
    quoted = shown.quoted_status
    parent = (shown.in_reply_to_status_id_str or shown.in_reply_to_status_id) if status is shown else ""
    return Post(
        f"x:{_native(status)}",
        _native(status),
        "x",
        _text(shown),
        status.created_at or "",
        shown.lang or "",
        _links(shown),
        _cards(shown),
        _media(shown),
        x_id(parent),
        "",
        _quote(shown),
        _text(quoted) if quoted else "",
        "" if status is shown else x_id(_native(shown)),
        "",
        (shown.reply_count, shown.retweet_count, shown.favorite_count, shown.quote_count),
        "withheld" if shown.withheld_copyright else "available",
    )


def _parts(shown: Status) -> list[_Entities]:
    """What a post has beside its text: in its long form, where there is one, and in its cut form."""
    long = shown.extended_tweet
    parts = [long.extended_entities, long.entities] if long else []
    return [part for part in (*parts, shown.extended_entities, shown.entities) if part is not None]


def _links(shown: Status) -> list[str]:
    urls: list[str] = []
    for part in _parts(shown):
        for url in part.urls or ():
            further = str(url.unwound.get("url") or "") if url.unwound else ""
            urls += [address for address in (url.expanded_url, further) if address]
    return list(dict.fromkeys(urls)) if len(urls) > 1 else urls


def _media(shown: Status) -> list[tuple[str, str]]:
    media = next((part.media for part in _parts(shown) if part.media), ())
    return [(medium.type or "", medium.ext_alt_text or "") for medium in media]


def _cards(status: Status) -> list[tuple[str, str, str]]:
    """A link's card, where the file has it (grabs of the web interface do), and the page titles of streams."""
    cards: list[tuple[str, str, str]] = []
    if status.card:
        values = status.card.get("binding_values") or {}
        if isinstance(values, dict):
            title, description, address = (
                str((values.get(name) or {}).get("string_value") or "")
                for name in ("title", "description", "card_url")
            )
            cards.append((str(status.card.get("url") or "") or address, title, description))
    for url in (status.entities.urls or ()) if status.entities else ():
        if url.unwound and url.unwound.get("title"):
            known = url.unwound
            cards.append(
                (str(known.get("url") or ""), str(known["title"]), str(known.get("description") or ""))
            )
    return cards


FORM = Glancing(msgspec.json.Decoder(_Line), glances, post)
read = FORM.read
