"""The board: where every round stands, for the one who leads the annotation. It reads, and changes nothing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from covmis_build.annotation.agreement import Figure
from covmis_build.annotation.answers import Phase, Status, present
from covmis_build.annotation.frozen_items import rows_of
from covmis_build.errors import counted
from covmis_build.report.page import Section, page, render, table_html

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from covmis_build.annotation.progress import Progress
    from covmis_build.annotation.report import Findings
    from covmis_build.annotation.round_folder import RoundFolder

NEWEST = 10
"""Disagreements that the board shows; the report has all."""


def board_page(
    rounds: Sequence[tuple[RoundFolder, Progress]],
    findings: Findings | None,
    *,
    study: str,
    verdict: str = "",
) -> str:
    """The board as one page; `findings` are over the rounds that count, if there is one."""
    left = sum(worker.left for folder, progress in rounds if not folder.sealed for worker in progress.workers)
    undecided = sum(progress.undecided for _, progress in rounds)
    tiles = [
        ("Rounds", f"{len(rounds)}", f"{sum(folder.sealed for folder, _ in rounds)} sealed"),
        ("Answers to come", f"{left:,}", f"{counted(undecided, 'posts')} without a final label"),
    ]
    sections = [_rounds(rounds), _people(rounds)]
    if findings:
        kappa = Figure.of(findings.numbers["kappa"])
        value = "–" if kappa.value is None else f"{kappa.value:.2f}"
        tiles.append((kappa.name, value, str(kappa.interval or kappa.why)))
        sections += [*_agreement(findings, verdict), *_newest(rounds, findings)]
    sections += _by_eye(rounds)
    return page("Board", sections, study=study, lead=_next(rounds), tiles=tiles)


def _next(rounds: Sequence[tuple[RoundFolder, Progress]]) -> str:
    folder, progress = max(rounds, key=lambda one: (str(one[0].about.get("opened_at", "")), one[0].number))
    return f"Round {folder.number}, the last one opened. Next: {progress.next.replace('`', '')}."


def _table(rows: list[dict[str, Any]], names: dict[str, str]) -> Markup:
    import pandas as pd

    return table_html(pd.DataFrame(rows, columns=list(names), dtype=object), names=names, headings=1)


def _rounds(rounds: Sequence[tuple[RoundFolder, Progress]]) -> Section:
    rows = [
        {
            "round": f"{folder.number}{' (pilot)' if folder.pilot else ' (recall)' if folder.asks_relevance else ''}",
            "state": "sealed" if folder.sealed else "reopened" if folder.reopened else "open",
            "items": progress.items,
            "answers": sum(worker.given + worker.skipped for worker in progress.workers),
            "left": sum(worker.left for worker in progress.workers),
            "disagreements": progress.disagreements,
            "undecided": progress.undecided,
        }
        for folder, progress in rounds
    ]
    names = {
        "round": "Round", "state": "State", "items": "Posts", "answers": "Answers", "left": "To come",
        "disagreements": "Disagreements", "undecided": "Without a final label",
    }  # fmt: skip
    return Section("Rounds", body=_table(rows, names))


def _people(rounds: Sequence[tuple[RoundFolder, Progress]]) -> Section:
    """Who has done what in the open rounds, at what pace, and how many more days at that pace."""
    rows = []
    for folder, progress in rounds:
        if folder.sealed:
            continue
        per_day = _answers_a_day(folder.labels())
        for worker in progress.workers:
            pace = per_day.get(worker.annotator)
            rows.append(
                {
                    "round": folder.number, "annotator": worker.annotator, "done": worker.given + worker.skipped,
                    "left": worker.left, "invalid": worker.invalid, "seconds": worker.median_seconds, "per_day": None if pace is None else round(pace, 1),
                    "days": math.ceil(worker.left / pace) if pace and worker.left else None,
                }
            )  # fmt: skip
    names = {
        "round": "Round", "annotator": "Annotator", "done": "Answered", "left": "To come", "invalid": "To repair",
        "seconds": "Seconds", "per_day": "A day", "days": "Days left",
    }  # fmt: skip
    prose = (
        "Seconds: the median for a post. A day: answers on a day on which they work; days left at that pace."
        if rows
        else "No round is open."
    )
    return Section("People", prose=prose, body=_table(rows, names) if rows else Markup(""))


def _answers_a_day(labels: pd.DataFrame) -> dict[str, float]:
    """How many answers each person gives on a day on which they work."""
    current = present(labels)
    mine = current[(current["phase"] == Phase.INDEPENDENT) & (current["status"] != Status.WITHDRAWN)]
    days = mine.assign(day=mine["given_at"].str[:10]).groupby("annotator")["day"].agg(["size", "nunique"])
    return {str(who): float(row["size"] / row["nunique"]) for who, row in days.iterrows()}


def _agreement(findings: Findings, verdict: str) -> list[Section]:
    numbers = findings.numbers
    labels = [
        {"label": row["label"], "given": row["given"], "agreement": row["positive_agreement"]}
        for row in numbers["classes"]
    ]
    claims = sorted(
        numbers["by_claim"], key=lambda row: (row["raw_agreement"] is None, row["raw_agreement"] or 0)
    )
    names = {"label": "Label", "given": "Given", "agreement": "Positive agreement"}
    by_claim = {"claim": "Claim", "items_with_two_labels": "Posts", "raw_agreement": "Raw agreement"}
    prose = " ".join(part for part in (f"{findings.sentence}.", verdict) if part)
    return [
        Section("Agreement so far", prose=prose, body=_table(labels, names)),
        Section("Claims, the hardest first", body=_table(claims[:NEWEST], by_claim)),
    ]


def _newest(rounds: Sequence[tuple[RoundFolder, Progress]], findings: Findings) -> list[Section]:
    """The disagreements that came up last."""
    at: dict[str, str] = {}
    for folder, _ in rounds:
        for row in rows_of(present(folder.labels())):
            at[row["item_id"]] = max(at.get(row["item_id"], ""), row["given_at"])
    newest = sorted(
        findings.disagreements, key=lambda row: (at.get(row["item_id"], ""), row["item_id"]), reverse=True
    )
    if not newest:
        return []
    body = Markup(render("disagreements.html", rows=newest[:NEWEST]))  # noqa: S704 - the template escapes
    return [Section(f"The newest of {len(newest)} disagreements", body=body)]


def _by_eye(rounds: Sequence[tuple[RoundFolder, Progress]]) -> list[Section]:
    """What nobody but a person can settle: answers that could not be used, posts that all have skipped."""
    rows = []
    for folder, _ in rounds:
        if folder.sealed:
            continue
        current = present(folder.labels())
        rows += [
            {
                "round": folder.number,
                "item": row["item_id"],
                "annotator": row["annotator"],
                "why": row["reason"],
            }
            for row in rows_of(current[current["status"] == Status.INVALID])
        ]
        people = current[current["phase"] == Phase.INDEPENDENT]
        skipped = people.groupby("item_id")["status"].agg(lambda states: set(states) == {Status.SKIPPED})
        rows += [
            {"round": folder.number, "item": item, "annotator": "", "why": "skipped by all who answered"}
            for item in skipped.index[skipped.astype(bool)]
        ]
    names = {"round": "Round", "item": "Item", "annotator": "Annotator", "why": "What is wrong"}
    return [Section("What needs a person's eye", body=_table(rows, names))] if rows else []
