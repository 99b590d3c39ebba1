"""A server that speaks OpenAI's chat interface, answers by rule, and remembers keys of requests it has answered."""

from __future__ import annotations

import json

from tests.servers.loopback import Answer, Loopback, Request


class OpenAI(Loopback):
    kept = ("answered",)

    def __init__(self, label: str = "favor") -> None:
        super().__init__()
        self.label = label
        self.answered: dict[str, dict] = {}
        """By idempotency key: a repeated request is answered as before, and costs nothing."""
        self.contents: list[str] = []

    def answer(self, request: Request) -> Answer:
        if request.path != "/v1/chat/completions" or request.method != "POST":
            return Answer(404, {"error": {"message": "no such page"}})
        key = request.headers["idempotency-key"]
        body = json.loads(request.body)
        if key not in self.answered:
            content = body["messages"][0]["content"]
            self.contents.append(content)
            self.answered[key] = {
                "id": f"chat-{len(self.answered)}", "model": f"{body['model']}-2026", "object": "chat.completion",
                "choices": [
                    {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": self.says(body)}}
                ],
                "usage": {"total_tokens": 10},
            }  # fmt: skip
        return Answer(200, self.answered[key])

    def says(self, body: dict) -> str:
        return json.dumps({"label": self.label, "confidence": 0.5, "reason": "because"})
