"""Mastodon's interface, as far as covmis uses it: search for posts, and posts by id."""

from __future__ import annotations

import datetime as dt

from tests.servers.loopback import Answer, Loopback, Request

BEGAN = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


def post(number: int, text: str) -> dict:
    at = BEGAN + dt.timedelta(minutes=number)
    name = str(int(at.timestamp() * 1000) << 16)
    return {
        "id": name,
        "created_at": at.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
        "uri": f"https://social.test/users/nobody/statuses/{name}",
        "url": f"https://social.test/@nobody/{name}",
        "content": f"<p>{text}</p>",
        "language": "en",
        "visibility": "public",
        "account": {
            "id": "1",
            "acct": "nobody",
            "username": "nobody",
            "created_at": "2023-01-01T00:00:00.000Z",
        },
        "media_attachments": [],
        "mentions": [],
        "tags": [],
        "emojis": [],
    }


def posts(count: int, words: str = "mast virus") -> list[dict]:
    return [post(number, f"post {number} about {words}") for number in range(count)]


class Mastodon(Loopback):
    """`hidden`: numbers of posts that are counted into a page and then left out, as servers do."""

    def __init__(self, corpus: list[dict], *, hidden=(), gone: dict[str, int] | None = None):
        super().__init__()
        self.corpus, self.gone = corpus, gone or {}
        self.hidden = {corpus[number]["id"] for number in hidden}

    def answer(self, request: Request) -> Answer:
        if request.path == "/api/v2/search":
            if not request.headers.get("authorization", "").startswith("Bearer "):
                return Answer(401, {"error": "The access token is invalid"})
            return self._search(request.query)
        wanted = request.path.rsplit("/", 1)[-1]
        if wanted in self.gone:
            return Answer(self.gone[wanted], {"error": "Record not found"})
        found = [one for one in self.corpus if one["id"] == wanted]
        return Answer(200, found[0]) if found else Answer(404, {"error": "Record not found"})

    def _search(self, query: dict[str, str]) -> Answer:
        words = query["q"].replace('"', "").lower().split()
        found = [
            one
            for one in reversed(self.corpus)
            if int(query.get("min_id", -1)) < int(one["id"]) < int(query.get("max_id", 1 << 80))
            and all(word in one["content"].lower() for word in words)
        ]
        start = int(query.get("offset", 0))
        page = [one for one in found[start : start + int(query["limit"])] if one["id"] not in self.hidden]
        return Answer(200, {"accounts": [], "statuses": page, "hashtags": []})
