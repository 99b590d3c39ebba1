"""Bluesky's interface, as far as covmis uses it: sessions, searchPosts with its ceiling, getPosts."""

from __future__ import annotations

import base64
import datetime as dt
import json

from tests.servers.loopback import Answer, Loopback, Request

BEGAN = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
DID = "did:plc:aaaaaaaaaaaaaaaaaaaaaaaa"


def moment(seconds: float) -> str:
    return (BEGAN + dt.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def post(number: int, text: str, *, seconds: float | None = None, uri: str = "") -> dict:
    at = moment(number * 60 if seconds is None else seconds)
    record = {"$type": "app.bsky.feed.post", "text": text, "createdAt": at, "langs": ["en"]}
    if uri:
        start = len(text.encode())
        record["text"] = text + uri
        record["facets"] = [
            {
                "index": {"byteStart": start, "byteEnd": start + len(uri.encode())},
                "features": [{"$type": "app.bsky.richtext.facet#link", "uri": uri}],
            }
        ]
    return {
        "uri": f"at://{DID}/app.bsky.feed.post/3k{number:011d}",
        "cid": "bafyreib",
        "author": {"did": DID, "handle": "nobody.test"},
        "record": record,
        "indexedAt": at,
        "likeCount": 0,
    }


def posts(count: int, words: str = "mast virus", **settings) -> list[dict]:
    return [post(number, f"post {number} about {words} ü ", **settings) for number in range(count)]


def token(kind: str, number: int) -> str:
    """Like the tokens of the real server in form; they are valid for ever and belong to nobody."""
    parts = ({"typ": f"{kind}+jwt", "alg": "none"}, {"sub": DID, "exp": 4_000_000_000, "iat": number})
    coded = (base64.urlsafe_b64encode(json.dumps(one).encode()).decode().rstrip("=") for one in parts)
    return ".".join([*coded, "c2ln"])


class Bluesky(Loopback):
    """`ceiling`: results after which a search ends. `honest`: whether it says how many there are."""

    def __init__(self, corpus: list[dict], *, ceiling: int = 10_000, honest: bool = True, expire_at=()):
        super().__init__()
        self.corpus, self.ceiling, self.honest = corpus, ceiling, honest
        self.expire_at, self.sessions, self.searches = set(expire_at), 0, 0

    def answer(self, request: Request) -> Answer:  # noqa: PLR0911 - one return an answer
        method = request.path.removeprefix("/xrpc/")
        if method == "com.atproto.server.createSession":
            asked = json.loads(request.body)
            if asked["password"] == "wrong":
                return refusal(401, "AuthenticationRequired", "Invalid identifier or password")
            self.sessions += 1
            tokens = {"accessJwt": token("at", self.sessions), "refreshJwt": token("refresh", self.sessions)}
            return Answer(200, {"did": DID, "handle": asked["identifier"], "active": True, **tokens})
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if not given:
            return Answer(403, b"<html>forbidden</html>", {"content-type": "text/html"})
        if given != token("at", self.sessions):
            return refusal(400, "ExpiredToken", "Token has expired")
        if method == "app.bsky.feed.searchPosts":
            self.searches += 1
            if self.searches in self.expire_at:
                self.sessions += 1
                return refusal(400, "ExpiredToken", "Token has expired")
            return self._search(request.query)
        if method == "app.bsky.feed.getPosts":
            wanted = request.query["uris"].split(",")
            return Answer(200, {"posts": [one for one in self.corpus if one["uri"] in wanted]})
        return refusal(404, "XRPCNotSupported", method)

    def _search(self, query: dict[str, str]) -> Answer:
        if not query.get("q"):
            return refusal(400, "InvalidRequest", "q is required")
        words = [word.strip('"').lower() for word in query["q"].split()]
        found = [
            one
            for one in reversed(self.corpus)
            if query["since"][:19] <= one["indexedAt"][:19] < query["until"][:19]
            and all(word in ("*", *one["record"]["text"].lower().split()) for word in words)
            and query.get("url", "") in one["record"]["text"]
        ]
        start, size = int(query.get("cursor", 0)), int(query["limit"])
        end = min(start + size, self.ceiling)
        body = {"posts": found[start:end]}
        if end < min(len(found), self.ceiling):
            body["cursor"] = str(end)
        if self.honest:
            body["hitsTotal"] = len(found)
        return Answer(200, body)


def refusal(status: int, name: str, message: str) -> Answer:
    return Answer(status, {"error": name, "message": message})
