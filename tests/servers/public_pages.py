"""Pages that anybody may look at: t.me/s/CHANNEL, and profiles of Mastodon before its version 4, as snscrape reads them."""

from __future__ import annotations

import datetime as dt
from urllib.parse import urlsplit

from tests.servers.loopback import Answer, Loopback, Request

BEGAN = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
PAGE = 20
HTML = {"content-type": "text/html; charset=utf-8"}


def message(channel: str, number: int) -> str:
    at = (BEGAN + dt.timedelta(minutes=number)).isoformat()
    own = f"https://t.me/{channel}/{number}"
    return (
        f'<div class="tgme_widget_message_wrap js-widget_message_wrap"><div class="tgme_widget_message js-widget_message" data-post="{channel}/{number}">'
        f'<div class="tgme_widget_message_user"><a href="https://t.me/{channel}"><i></i></a></div><div class="tgme_widget_message_bubble">'
        f'<div class="tgme_widget_message_author"><a class="tgme_widget_message_owner_name" href="https://t.me/{channel}"><span>Name</span></a></div>'
        f'<div class="tgme_widget_message_text js-message_text" dir="auto">post {number} about <b>mast</b> <a href="https://news.example/{number}">here</a></div>'
        f'<div class="tgme_widget_message_footer"><div class="tgme_widget_message_info"><a class="tgme_widget_message_date" href="{own}">'
        f'<time datetime="{at}" class="time">00:00</time></a></div></div></div></div></div>'
    )


def status(server: str, number: int) -> str:
    at = (BEGAN + dt.timedelta(minutes=number)).isoformat()
    return (
        '<div class="entry h-entry"><div class="status"><div class="status__info">'
        f'<a class="status__relative-time u-url u-uid" href="https://{server}/@ada/{number}"><time></time></a><data class="dt-published" value="{at}"></data>'
        f'<div class="p-author h-card"><a class="status__display-name u-url" href="https://{server}/@ada"><div class="status__avatar"><img class="u-photo" src="/a.png"></div>'
        f'<span class="display-name"><bdi><strong class="display-name__html p-name">Ada</strong></bdi><span class="display-name__account">@ada@{server}</span></span></a></div></div>'
        f'<div class="status__content"><div class="e-content"><p>post {number} about mast <a href="https://news.example/{number}">here</a></p></div></div></div></div>'
    )


class PublicPages(Loopback):
    """Channels by their numbers of messages, and one account of Mastodon with this many posts."""

    def __init__(self, channels: dict[str, int], statuses: int = 0, server: str = "social.example") -> None:
        super().__init__()
        self.channels, self.statuses, self.server = channels, statuses, server

    def answer_for_all(self, monkeypatch) -> None:
        """Have the library requests send every request here, whatever its host; addresses stay as they are."""
        import requests

        here = urlsplit(self.address)

        class Here(requests.adapters.HTTPAdapter):
            def send(self, request, **how):
                meant = request.url
                request.url = urlsplit(meant)._replace(scheme=here.scheme, netloc=here.netloc).geturl()
                answer = super().send(request, **{**how, "proxies": {}})
                request.url = answer.url = meant
                return answer

        monkeypatch.setattr(requests.Session, "get_adapter", lambda *_, **__: Here())

    def answer(self, request: Request) -> Answer:
        if request.path.startswith("/@"):
            return self._profile(request)
        channel = request.path.removeprefix("/s/")
        if channel not in self.channels:
            if request.path.startswith("/s/"):
                return Answer(302, b"", HTML | {"location": f"/{channel}"})
            return Answer(
                200,
                b'<html><div class="tgme_page">If you have Telegram, you can contact them</div></html>',
                HTML,
            )
        before = int(request.query.get("before") or self.channels[channel] + 1)
        numbers, first = range(max(1, before - PAGE), before), max(1, before - PAGE)
        more = f'<a href="/s/{channel}?before={first}" class="tme_messages_more js-messages_more" data-before="{first}"></a>'
        body = more * (first > 1) + "".join(message(channel, number) for number in numbers)
        return Answer(
            200, f'<html><section class="tgme_channel_history">{body}</section></html>'.encode(), HTML
        )

    def _profile(self, request: Request) -> Answer:
        if request.path.removesuffix("/with_replies") != "/@ada":
            return Answer(404, b"<html></html>", HTML)
        before = int(request.query.get("max_id") or self.statuses + 1)
        numbers, first = range(max(1, before - PAGE), before), max(1, before - PAGE)
        more = f'<div class="entry"><a class="load-more load-gap" href="https://{self.server}{request.path}?max_id={first}">More</a></div>'
        body = "".join(status(self.server, number) for number in reversed(numbers)) + more * bool(
            numbers and numbers[0] > 1
        )
        return Answer(200, f'<html><div class="activity-stream">{body}</div></html>'.encode(), HTML)
