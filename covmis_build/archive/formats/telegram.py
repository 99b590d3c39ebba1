"""Telegram: Telegram Desktop's exports, Telethon's messages, and snscrape's lines of public pages.

Only channels and public groups are imported. Private chats in a complete export are omitted and counted.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import msgspec

from covmis_build.archive.dates import iso
from covmis_build.archive.formats.decoding import Posts, decoded
from covmis_build.archive.formats.filters import ISO, SECONDS, in_text
from covmis_build.archive.post import Post

NAME = "telegram"
WHOLE = True

PUBLIC = frozenset(
    {"public_channel", "private_channel", "public_supergroup", "private_supergroup", "private_group"}
)


class _Entity(msgspec.Struct, gc=False):
    type: str = ""
    text: str = ""
    href: str | None = None


class _Message(msgspec.Struct, gc=False):
    id: int
    type: str = "message"
    date: str | None = None
    date_unixtime: str | int | None = None
    text: str | list[str | _Entity] = ""
    text_entities: list[_Entity] | None = None
    reply_to_message_id: int | None = None
    forwarded_from: str | None = None
    forwarded_from_id: str | None = None
    saved_from: str | None = None
    photo: str | None = None


class _Chat(msgspec.Struct, gc=False):
    id: int
    type: str = ""
    name: str | None = None
    messages: list[_Message] = []


class _Chats(msgspec.Struct, gc=False):
    listed: list[_Chat] = msgspec.field(default_factory=list, name="list")


class _Export(msgspec.Struct, gc=False):
    id: int | None = None
    type: str = ""
    name: str | None = None
    messages: list[_Message] | None = None
    chats: _Chats | None = None


class _Peer(msgspec.Struct, gc=False):
    kind: str = msgspec.field(default="", name="_")
    channel_id: int | None = None
    chat_id: int | None = None
    user_id: int | None = None


class _Forward(msgspec.Struct, gc=False):
    from_id: _Peer | None = None
    from_name: str | None = None
    channel_post: int | None = None


class _ReplyTo(msgspec.Struct, gc=False):
    reply_to_msg_id: int | None = None
    reply_to_peer_id: _Peer | None = None


class _Span(msgspec.Struct, gc=False):
    kind: str = msgspec.field(default="", name="_")
    offset: int = 0
    length: int = 0
    url: str | None = None


class _When(msgspec.Struct, gc=False):
    value: str | int | None = None


class _Telethon(msgspec.Struct, gc=False):
    id: int
    kind: str = msgspec.field(default="Message", name="_")
    peer_id: _Peer | None = None
    date: str | int | dict[str, Any] | None = None
    message: str | None = None
    entities: list[_Span] | None = None
    fwd_from: _Forward | None = None
    reply_to: _ReplyTo | None = None
    views: int | None = None
    forwards: int | None = None


class _Page(msgspec.Struct, gc=False):
    url: str
    date: str | None = None
    content: str | None = None
    outlinks: list[str] | None = None


_export, _telethon, _page = (msgspec.json.Decoder(kind) for kind in (_Export, _Telethon, _Page))


def recognises_line(row: dict[str, Any]) -> bool:
    """Recognise exports (chats with messages) and Telethon's messages (class and peer)."""
    if str(row.get("_type", "")).startswith("snscrape.modules.telegram"):
        return True
    chats = row.get("chats")
    if isinstance(chats, dict) and isinstance(chats.get("list"), list):
        return True
    if isinstance(row.get("messages"), list) and isinstance(row.get("type"), str):
        return True
    return str(row.get("_", "")).startswith("Message") and "peer_id" in row


def read(line: bytes) -> list[Post]:
    """Return the messages of an export, or of a line."""
    head = line[:4096]
    if b"snscrape.modules.telegram" in head:
        return [_of_page(decoded(_page, line))]
    if b'"peer_id"' in line and b'"messages"' not in head:
        return _of_telethon(decoded(_telethon, line))
    export: _Export = decoded(_export, line)
    if export.chats is not None:
        chats = export.chats.listed
    elif export.id is not None:
        chats = [_Chat(export.id, export.type, export.name, export.messages or [])]
    else:
        raise ValueError("an export without a chat's id")
    posts, skipped = [], Counter[str]()
    for chat in chats:
        if chat.type not in PUBLIC:
            skipped["private chat"] += 1
            continue
        for message in chat.messages:
            if message.type == "message":
                posts.append(_of_export(message, chat.id))
            else:
                skipped[message.type] += 1
    return Posts(posts, skipped)


def _of_export(message: _Message, channel: int) -> Post:
    entities = message.text_entities
    if entities is None:
        pieces = [message.text] if isinstance(message.text, str) else message.text
        entities = [_Entity("plain", piece) if isinstance(piece, str) else piece for piece in pieces]
    links = [entity.href or (entity.text if entity.type == "link" else "") for entity in entities]
    native = f"{channel}/{message.id}"
    moment = message.date_unixtime
    return Post(
        f"telegram:{native}",
        native,
        "telegram",
        "".join(entity.text for entity in entities),
        # `date` is in the exporter's local time without zone
        SECONDS.read(str(moment)) if moment is not None else "",
        urls=list(dict.fromkeys(link for link in links if link)),
        media=[("photo", "")] if message.photo else [],
        reply_to=f"telegram:{channel}/{message.reply_to_message_id}" if message.reply_to_message_id else "",
        repost_of="?" if message.forwarded_from or message.forwarded_from_id else "",
    )


def _number(peer: _Peer | None) -> int | None:
    """Return a channel's number without -100, the prefix in bot APIs."""
    raw = None if peer is None else peer.channel_id or peer.chat_id
    return None if raw is None else int(str(raw).removeprefix("-100").removeprefix("-"))


def _of_telethon(row: _Telethon) -> list[Post]:
    if row.kind != "Message":
        return Posts([], Counter(service=1))
    channel = _number(row.peer_id)
    if channel is None:
        return Posts([], Counter({"private chat": 1}))
    text, native = row.message or "", f"{channel}/{row.id}"
    source = row.fwd_from
    forwarded = _number(source.from_id) if source else None
    original = (
        f"telegram:{forwarded}/{source.channel_post}" if source and forwarded and source.channel_post else ""
    )
    answered = row.reply_to.reply_to_msg_id if row.reply_to else None
    date = row.date.get("value", row.date.get("date", "")) if isinstance(row.date, dict) else row.date
    return [
        Post(
            f"telegram:{native}",
            native,
            "telegram",
            text,
            SECONDS.read(str(date)) if isinstance(date, int) else iso(str(date or "")),
            urls=list(dict.fromkeys(_addresses(text, row.entities or []))),
            reply_to=f"telegram:{channel}/{answered}" if answered else "",
            repost_of=original or ("?" if source else ""),
        )
    ]


def _addresses(text: str, spans: list[_Span]) -> list[str]:
    """Return the URLs behind words and in the text. Positions of spans count UTF-16 units."""
    units = text.encode("utf-16-le", "surrogatepass")
    links = []
    for span in spans:
        if span.url:
            links.append(span.url)
        elif span.kind.endswith("EntityUrl"):
            piece = units[2 * span.offset : 2 * (span.offset + span.length)]
            links.append(piece.decode("utf-16-le", "replace"))
    return links


def _of_page(row: _Page) -> Post:
    where = re.fullmatch(r"https?://t\.me/(?:s/)?(\w+)/(\d+)", row.url)
    if not where:
        raise ValueError(f"no message's address: {row.url[:60]}")
    native, text = f"{where[1]}/{where[2]}", row.content or ""
    links = [*(row.outlinks or []), *in_text(text)]
    return Post(
        f"telegram:{native}",
        native,
        "telegram",
        text,
        ISO.read(row.date or ""),
        urls=list(dict.fromkeys(links)),
    )
