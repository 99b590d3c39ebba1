"""As much of Label Studio's interface as rounds use, for what a real server cannot be made to do: to be broken."""

from __future__ import annotations

import json

from tests.servers.loopback import Answer, Loopback, Request

PEOPLE = ("admin", "a1", "a2", "adjudicator")


class LabelStudio(Loopback):
    kept = ("projects", "tasks")

    def __init__(self) -> None:
        super().__init__()
        self.projects: dict[int, dict] = {}
        self.tasks: dict[int, list[dict]] = {}

    def answer(self, request: Request) -> Answer:
        parts = request.path.strip("/").split("/")[1:]
        body = json.loads(request.body) if request.body else None
        if parts == ["users"]:
            return Answer(
                200, [{"id": at, "email": f"{one}@covmis.example"} for at, one in enumerate(PEOPLE)]
            )
        if parts == ["projects"] and request.method == "POST":
            number = max(self.projects, default=0) + 1
            self.projects[number] = {"id": number, **body}
            self.tasks[number] = []
            return Answer(201, self.projects[number])
        if parts == ["projects"]:
            return Answer(200, {"results": list(self.projects.values()), "next": None})
        return self._of_project(request, parts, body)

    def _of_project(self, request: Request, parts: list[str], body) -> Answer:
        number = int(request.query.get("project", parts[1] if len(parts) > 1 else 0))
        if number not in self.projects:
            return Answer(404, {"detail": "Not found."})
        if parts[-1] == "import":
            for one in body:
                task = {"id": 1000 * number + len(self.tasks[number]), "data": one["data"], "annotations": []}
                self.tasks[number].append(task)
            return Answer(201, {})
        if parts == ["tasks"]:
            found = [] if "query" in request.query else self.tasks[number]  # nobody saves a draft here
            return Answer(200, {"tasks": found, "total": len(found)})
        return Answer(200, self.projects[number])

    def label(self, number: int, who: str, label: str) -> None:
        """This person gives every task of the project this label."""
        person = PEOPLE.index(who)
        for task in self.tasks[number]:
            result = [{"from_name": "label", "type": "choices", "value": {"choices": [label]}}]
            task["annotations"] = [
                {"id": task["id"], "completed_by": person, "updated_by": person, "was_cancelled": False,
                 "updated_at": "2026-11-21T12:00:00Z", "lead_time": 2.0, "result": result}
            ]  # fmt: skip

    def remove(self, number: int) -> None:
        del self.projects[number], self.tasks[number]
