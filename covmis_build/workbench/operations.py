"""Pages that are the forms of a few commands, with what the last of them said: recall, and the purge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.study.purge import state_of_purge
from covmis_build.study.study import open_study
from covmis_build.workbench.bench import bench_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

RECALL = (
    ("Plan", "How precise the estimate gets, for some numbers of labels. Samples nothing.", "recall plan", "Plan"),
    ("Draw", "Opens a round in which people say whether a post is about the claim.", "recall draw", "Draw the posts"),
    ("Report", "The share of relevant posts that the queries find, from the labels so far.", "recall report", "Report"),
)  # fmt: skip
"""Heading, sentence, command, and the text of its button."""
_FOR_GOOD = """Everything on the list and what you add here is deleted from archive, tables, rounds and release, and cannot be taken
back. Copies in files of your own are named, not changed; press again when you have dealt with them."""
PURGE = (("Delete for good", _FOR_GOOD, "purge", "Delete"),)


def recall(request: Request) -> Response:
    """What the queries miss: plan, draw, report."""
    bench = bench_of(request)
    numbers = bench.study.recall().rounds
    return bench.page(
        request,
        "operations.html",
        "recall",
        "plan",
        title_of="Recall",
        lead="How many of the relevant posts do the queries find? People label posts that no query found.",
        facts=[f"Recall rounds: {', '.join(numbers)}." if numbers else "No recall round yet."],
        keys=[],
        links=[(f"/rounds/{number}", f"Round {number}") for number in numbers],
        forms=RECALL,
        act=bench.last_act("covmis recall"),
    )


def purge(request: Request) -> Response:
    """What is on the list, whether a purge is unfinished, and the form that deletes."""
    bench = bench_of(request)
    state = state_of_purge(open_study(bench.folder, half_purged=True))
    return bench.page(
        request,
        "operations.html",
        "purge",
        title_of="Delete posts and people",
        lead="Posts that their authors deleted, and people who ask to be forgotten.",
        facts=state.sentences,
        keys=state.keys,
        links=[],
        forms=PURGE,
        act=bench.last_act("covmis purge"),
    )
