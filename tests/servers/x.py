"""X's interface, version 2, as far as covmis uses it: search, counts, look-up, in both namings of its fields."""

from __future__ import annotations

import datetime as dt
import shlex

from tests.servers.loopback import Answer, Loopback, Request

BEGAN = dt.datetime(2020, 4, 1, tzinfo=dt.UTC)
TYPE = "https://api.twitter.com/2/problems/"


def post(number: int, text: str, *, minutes: int | None = None, author: int = 7) -> dict:
    moment = BEGAN + dt.timedelta(minutes=number if minutes is None else minutes)
    return {
        "id": str(1_250_000_000_000_000_000 + number * 1013),
        "text": text,
        "created_at": moment.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
        "lang": "en",
        "author_id": str(author),
        "conversation_id": str(1_250_000_000_000_000_000 + number * 1013),
        "public_metrics": {"retweet_count": 0, "reply_count": 0, "like_count": 0, "quote_count": 0},
    }


def posts(count: int, words: str = "mast virus") -> list[dict]:
    return [post(number, f"post {number} about {words}", author=number % 5) for number in range(count)]


class X(Loopback):
    """`repeat`: posts that the end of a page shares with the start of the next. `gone`: id → problem type, or
    "suspended". `empties`: page starts before which an empty page with a token is sent."""

    def __init__(self, corpus: list[dict], *, new: bool = True, repeat: int = 0, empties=(), gone=None):
        super().__init__()
        self.corpus, self.new, self.repeat, self.empties = corpus, new, repeat, set(empties)
        self.gone: dict[str, str] = gone or {}
        self.recovered: set[str] = set()
        self.stale: set[str] = set()

    def answer(self, request: Request) -> Answer:
        if not request.headers.get("authorization", "").startswith("Bearer "):
            return Answer(401, {"title": "Unauthorized", "type": "about:blank", "status": 401})
        wrong = "tweet.fields" if self.new else "post.fields"
        if wrong in request.query:
            message = f"The query parameter [{wrong}] is not one of those allowed"
            return Answer(
                400,
                {
                    "errors": [{"message": message, "parameters": {wrong: []}}],
                    "title": "Invalid Request",
                    "type": TYPE + "invalid-request",
                },
            )
        if request.path.startswith("/2/tweets/search/"):
            return self._search(request)
        if request.path.startswith("/2/tweets/counts/"):
            return self._counts(request)
        if request.path == "/2/tweets":
            return self._look_up(request)
        return Answer(404, {"title": "Not Found", "type": "about:blank"})

    def found(self, query: dict[str, str]) -> list[dict]:
        """Newest first; a word or phrase each, OR and operators ignored: fuzzier than X, as servers may be."""
        lexer = shlex.shlex(query["query"].replace("(", " ").replace(")", " "), posix=True)
        lexer.whitespace_split, lexer.quotes = True, '"'
        words = [word.lower() for word in lexer if word != "OR" and ":" not in word]
        start, end = query.get("start_time", ""), query.get("end_time", "9999")
        inside = [
            one for one in self.corpus if start <= one["created_at"] and one["created_at"][:19] < end[:19]
        ]
        return [one for one in reversed(inside) if any(word in one["text"].lower() for word in words)]

    def _search(self, request: Request) -> Answer:
        if "broken(" in request.query["query"]:
            problem = {"title": "Invalid Request", "type": TYPE + "invalid-request"}
            return Answer(400, problem | {"errors": [{"message": "mismatched input at 'broken('"}]})
        found, token = self.found(request.query), request.query.get("next_token", "")
        if token in self.stale:
            self.stale.discard(token)
            error = {"message": "Invalid 'next_token'", "parameters": {"next_token": [token]}}
            return Answer(
                400, {"errors": [error], "title": "Invalid Request", "type": TYPE + "invalid-request"}
            )
        waiting = token.startswith("e")
        start = int(token.strip("te") or 0)
        if start in self.empties and not waiting:
            return Answer(200, {"meta": {"result_count": 0, "next_token": f"e{start}"}})
        size = int(request.query["max_results"])
        page = found[max(0, start - self.repeat) : start + size]
        meta = {"result_count": len(page)}
        if start + size < len(found):
            meta["next_token"] = f"t{start + size}"
        return Answer(200, {"data": page, "meta": meta} if page else {"meta": meta})

    def _counts(self, request: Request) -> Answer:
        found = self.found(request.query)
        name = "post_count" if self.new else "tweet_count"
        days = {}
        for one in found:
            days[one["created_at"][:10]] = days.get(one["created_at"][:10], 0) + 1
        rows = [{"start": day, "end": day, name: count} for day, count in sorted(days.items())]
        token = request.query.get("next_token")
        if len(rows) > 1 and not token:
            return Answer(
                200, {"data": rows[:1], "meta": {f"total_{name}": rows[0][name], "next_token": "n"}}
            )
        return Answer(200, {"data": rows[1:] if token else rows, "meta": {}})

    def _look_up(self, request: Request) -> Answer:
        known = {one["id"]: one for one in self.corpus}
        data, errors = [], []
        for one in request.query["ids"].split(","):
            state = (
                ""
                if one in self.recovered
                else self.gone.get(one, "" if one in known else "resource-not-found")
            )
            if not state:
                data.append(known[one])
            elif state != "silent":
                errors.append(_missing(one, state))
        self.recovered |= {one for one, state in self.gone.items() if state == "flickering" and one in known}
        body = ({"data": data} if data else {}) | ({"errors": errors} if errors else {})
        return Answer(200, body)


def _missing(one: str, state: str) -> dict:
    kind, detail = state, f"Could not find tweet with ids: [{one}]."
    if state == "suspended":
        kind, detail = "not-authorized-for-resource", f"User has been suspended: [{one}]."
    elif state == "not-authorized-for-resource":
        detail = f"Sorry, you are not authorized to see the Tweet with ids: [{one}]."
    elif state == "flickering":
        kind = "resource-not-found"
    error = {
        "resource_id": one,
        "resource_type": "tweet",
        "parameter": "ids",
        "title": kind,
        "type": TYPE + kind,
    }
    return error | {"detail": detail} | ({} if state == "suspended" else {"value": one})
