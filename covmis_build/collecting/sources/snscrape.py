"""Public channels and accounts through snscrape: Telegram and Mastodon, without a login.

snscrape follows pages by itself. Here each page is one fetch: a new scraper whose first request is the page's, stopped
before its second request, whose address is the next position. So a crawl resumes at the page at which it was stopped.
"""

from __future__ import annotations

import importlib
import json
import logging
import re
import sys
import types
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from covmis_build.collecting.answers import seconds_of
from covmis_build.collecting.crawl import Job, Page, Platform
from covmis_build.collecting.retries import Fault
from covmis_build.collecting.sources.wire import version, whole
from covmis_build.errors import InputError, MissingExtra, nearest

if TYPE_CHECKING:
    from collections.abc import Callable

NAME = "snscrape"


@dataclass(frozen=True, slots=True)
class Module:
    """A module of snscrape whose posts covmis reads: where it is, what it asks for, and its politeness."""

    file: str
    scraper: str
    query: re.Pattern[str]
    example: str
    pace: float
    most: int = 20


MODULES = {
    "telegram-channel": Module(
        "telegram",
        "TelegramChannelScraper",
        re.compile(r"(?:https://t\.me/(?:s/)?|@)?(\w+)/?", re.ASCII),
        "telegram-channel durov",
        1.0,
    ),
    "mastodon-profile": Module(
        "mastodon",
        "MastodonProfileScraper",
        re.compile(r"(@[\w.-]+@[\w.:-]+|https://[\w.:-]+/@[\w.-]+)"),
        "mastodon-profile @user@server",
        3.0,
    ),
    "mastodon-toot": Module(
        "mastodon",
        "MastodonTootScraper",
        re.compile(r"(https://[\w.:-]+/\S+)"),
        "mastodon-toot https://server/@user/1",
        3.0,
        1,
    ),
}
REFUSED = {
    "twitter": "X has required a login since 2023; `covmis collect x` uses its interface",
    "facebook": "Facebook requires a login",
    "instagram": "Instagram requires a login",
    "reddit": "snscrape reads Reddit through Pushshift, which has required a login since 2023",
    "vkontakte": "covmis does not read snscrape's posts of VK",
    "weibo": "covmis does not read snscrape's posts of Weibo",
}


def known(module: str, query: str) -> str:
    """Return the query as snscrape takes it; refuse what cannot work, before anything is asked.

    >>> known("telegram-channel", "https://t.me/s/durov")
    'durov'
    """
    reason = REFUSED.get(module.partition("-")[0])
    if reason:
        raise InputError(f"{module} cannot be collected: {reason}", remedy=f"Modules: {', '.join(MODULES)}")
    if module not in MODULES:
        raise InputError(f"no module is called '{module}'", remedy=nearest(module, MODULES))
    match = MODULES[module].query.fullmatch(query.strip())
    if not match:
        raise InputError(f"'{query}' is nothing for {module}", remedy=f"Like {MODULES[module].example}")
    return match[1]


def platform(module: str) -> Platform:
    """Return the platform's properties. snscrape's pages cannot be cut, so a budget must allow a whole one."""
    most = MODULES[module].most
    return Platform(NAME, version(NAME), most, most, MODULES[module].pace)


def load(file: str) -> Any:
    """Return this module of snscrape.

    `snscrape.modules` loads its parts by `find_module`, which Python 3.12 removed. An empty package of the same name and
    place takes its stead, and the part is imported by its name. Only this function knows.
    """
    try:
        package = importlib.import_module("snscrape")
    except ImportError:
        raise MissingExtra.of(NAME, "collecting public channels and accounts") from None
    if "snscrape.modules" not in sys.modules:
        stead = types.ModuleType("snscrape.modules")
        stead.__path__ = [f"{place}/modules" for place in package.__path__]
        sys.modules["snscrape.modules"] = stead
    logging.getLogger("snscrape").setLevel(logging.CRITICAL + 1)  # faults say it
    return importlib.import_module(f"snscrape.modules.{file}")


def searcher(module: str) -> Callable[[Job, str, int], Page]:
    """Return a fetch for `crawl`: one page of a channel or an account, newest first, down to the job's `since`."""
    import requests

    loaded = load(MODULES[module].file)

    def fetch(job: Job, cursor: str, most: int) -> Page:  # noqa: ARG001 - pages have their own length
        scraper = getattr(loaded, MODULES[module].scraper)(job.search)
        scraper._session, following = (wire := _wire(requests, cursor)), ""  # noqa: SLF001 - snscrape has no setting
        items: list[dict[str, Any]] = []
        try:
            for item in scraper.get_items():
                items.append(json.loads(item.json()))  # noqa: PERF401 - those before a next page count
        except _NextPage as after:
            following = str(after)
        except Fault:
            raise
        except Exception as error:  # noqa: BLE001 - snscrape trips over pages of another shape in many ways
            raise Fault("bad_query", f"a page that snscrape cannot read ({type(error).__name__})") from None
        finally:
            wire.close()
        _shown(module, wire.address, wire.status)
        dates = sorted(date for date in map(_date, items) if date)
        oldest, newest = (dates[0], dates[-1]) if dates else ("", "")
        if (
            newest and job.since and newest < job.since
        ):  # not the oldest: a pinned post stands before newer ones
            following = ""
        return Page({"items": items}, following, len(items), 0, oldest, newest, wire.address)

    return fetch


class _NextPage(Exception):
    """The scraper asks for a second page; the text is its address."""


def _wire(requests: Any, first: str) -> Any:
    """Return a session that sends one request, to `first` if that is given, and translates what fails into faults."""

    class Wire(requests.Session):  # type: ignore[misc] # requests has no types here
        address, status, busy = "", 0, False

        def send(self, request: Any, **how: Any) -> Any:
            if self.busy:  # a redirection
                return super().send(request, **how)
            if self.address:
                raise _NextPage(request.url)
            request.url = first or request.url
            self.busy = True
            try:
                answer = whole(super().send(request, **{**how, "stream": True}))
            except requests.RequestException as error:
                raise Fault("outage", f"no whole answer ({type(error).__name__})") from None
            finally:
                self.busy = False
            self.address, self.status = answer.url, answer.status_code
            if answer.status_code not in {200, 404}:
                raise _fault(answer)
            return answer

    return Wire()


def _fault(answer: Any) -> Fault:
    status = answer.status_code
    told = f"{status} {answer.reason}"
    if status == 429:
        wait = seconds_of(str(answer.headers.get("retry-after", "")))
        return Fault("rate_limit", "the server's rate limit is reached", wait=wait)
    if status >= 500 or status in {408, 425}:
        return Fault("outage", told)
    return Fault("bad_query", told)


def _shown(module: str, address: str, status: int) -> None:
    """Refuse what does not exist: snscrape returns no posts for it, as for an empty channel."""
    if module == "telegram-channel" and "/s/" not in address:
        raise Fault(
            "bad_query", "Telegram shows no posts of this name: no channel, a private one, or a person"
        )
    if status == 404 and not (module == "mastodon-profile" and address.endswith("/with_replies")):
        raise Fault("bad_query", "404: it does not exist")


def _date(item: dict[str, Any]) -> str:
    """Return the time of a post. A boost has none of its own; its post's is older than its place in the list."""
    return re.sub(r"\+00:00$", "Z", str(item.get("date") or ""))
