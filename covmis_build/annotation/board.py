"""The board: where every round stands, for the one who leads the annotation. It reads, and changes nothing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from markupsafe import Markup

from covmis_build.annotation.answers import Channel, Phase, Status, labels_of, present, stale
from covmis_build.annotation.case import cases_html
from covmis_build.annotation.channels.label_studio.projects import project_address
from covmis_build.errors import counted
from covmis_build.report.page import Section, page, rows_html

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from covmis_build.annotation.progress import Progress
    from covmis_build.annotation.report import Findings
    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.records import Label

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
    sections = [_people(rounds), *_by_eye(rounds), _rounds(rounds)]
    if findings:
        kappa = findings.agreement.kappa
        value = "–" if kappa.value is None else f"{kappa.value:.2f}"
        tiles.append((kappa.name, value, str(kappa.interval or kappa.why)))
        sections += [*_agreement(findings, verdict, rounds), *_newest(rounds, findings)]
    return page("Board", sections, study=study, lead=_next(rounds), tiles=tiles)


def _next(rounds: Sequence[tuple[RoundFolder, Progress]]) -> str:
    folder, progress = max(rounds, key=lambda row: (row[0].about.opened_at, row[0].number))
    return f"Round {folder.number}, the last one opened. Next: {progress.next.replace('`', '')}."


def _rounds(rounds: Sequence[tuple[RoundFolder, Progress]]) -> Section:
    rows = [
        (
            f"{folder.number}{' (pilot)' if folder.pilot else ' (recall)' if folder.asks_relevance else ''}",
            "sealed" if folder.sealed else "reopened" if folder.reopened else "open",
            progress.items,
            sum(worker.given + worker.skipped for worker in progress.workers),
            sum(worker.left for worker in progress.workers),
            progress.disagreements,
            progress.undecided,
        )
        for folder, progress in rounds
    ]
    columns = ("Round", "State", "Posts", "Answers", "To come", "Disagreements", "Without a final label")
    return Section("Rounds", body=rows_html(columns, rows))


def _people(rounds: Sequence[tuple[RoundFolder, Progress]]) -> Section:
    """Who has done what in the open rounds, at what pace, and how many more days at that pace."""
    rows = []
    for folder, progress in rounds:
        if folder.sealed:
            continue
        per_day = _answers_a_day(folder.labels())
        for worker in progress.workers:
            pace = per_day.get(worker.annotator)
            name = f"{worker.annotator}: user missing on Label Studio" if worker.missing else worker.annotator
            rows.append(
                (
                    folder.number, name, _bar(worker.given + worker.skipped, worker.items), worker.left,
                    worker.invalid, worker.drafts, worker.median_seconds, None if pace is None else round(pace, 1),
                    math.ceil(worker.left / pace) if pace and worker.left else None,
                )
            )  # fmt: skip
    columns = (
        "Round", "Annotator", "Answered", "To come", "To repair", "Drafts", "Seconds", "A day", "Days left"
    )  # fmt: skip
    prose = (
        "Seconds: median per post. Per day: answers on a working day; days left at that pace."
        if rows
        else "No round is open."
    )
    return Section("People", prose=prose, body=rows_html(columns, rows) if rows else Markup(""))


def _bar(done: int, items: int) -> Markup:
    """How much of their work somebody has done."""
    told = f"{done} of {items}"
    return Markup('<progress value="{}" max="{}" aria-label="{}"></progress> {}').format(
        done, max(items, 1), told, told
    )


def _answers_a_day(labels: pd.DataFrame) -> dict[str, float]:
    """How many answers each person gives on a day on which they work."""
    current = present(labels)
    mine = current[(current["phase"] == Phase.INDEPENDENT) & (current["status"] != Status.WITHDRAWN)]
    days = mine.assign(day=mine["given_at"].str[:10]).groupby("annotator")["day"].agg(["size", "nunique"])
    return {str(who): float(row["size"] / row["nunique"]) for who, row in days.iterrows()}


def _agreement(
    findings: Findings, verdict: str, rounds: Sequence[tuple[RoundFolder, Progress]]
) -> list[Section]:
    labels = [(each.label, each.given, each.positive_agreement) for each in findings.agreement.classes]
    hardest = sorted(
        findings.agreement.by_claim, key=lambda each: (each.raw_agreement is None, each.raw_agreement or 0)
    )[:NEWEST]
    words: dict[str, str] = {}
    for folder, _ in rounds:
        frozen = folder.items()
        words |= dict(zip(frozen["claim_id"], frozen["claim"], strict=True))
    claims = [
        (each.name, words.get(each.name, ""), each.items_with_two_labels, each.raw_agreement)
        for each in hardest
    ]
    prose = " ".join(part for part in (f"{findings.sentence}.", verdict) if part)
    return [
        Section("Agreement so far", prose=prose, body=rows_html(("Label", "Given", "Positive agreement"), labels)),
        Section("Claims, most disagreements first", body=rows_html(("Claim", "In words", "Posts", "Raw agreement"), claims)),
    ]  # fmt: skip


def _newest(rounds: Sequence[tuple[RoundFolder, Progress]], findings: Findings) -> list[Section]:
    """The disagreements that came up last."""
    at: dict[str, str] = {}
    for folder, _ in rounds:
        for row in labels_of(present(folder.labels())):
            at[row.item_id] = max(at.get(row.item_id, ""), row.given_at)
    newest = sorted(
        findings.disagreements, key=lambda case: (at.get(case.item_id, ""), case.item_id), reverse=True
    )
    if not newest:
        return []
    return [Section(f"The newest of {len(newest)} disagreements", body=cases_html(newest[:NEWEST]))]


def _by_eye(rounds: Sequence[tuple[RoundFolder, Progress]]) -> list[Section]:
    """What nobody but a person can settle: answers that could not be used, posts that all have skipped."""
    rows = []
    for folder, _ in rounds:
        if folder.sealed:
            continue
        current = present(folder.labels())
        invalid = current[current["status"] == Status.INVALID]
        other_text = stale(folder.labels(), folder.items())
        again = [(row, row.reason) for row in labels_of(invalid)]
        given = other_text[other_text["status"].isin([Status.GIVEN, Status.SKIPPED])]
        again += [(row, "given to an altered text: save it again") for row in labels_of(given)]
        rows += [(folder.number, _place(folder, row), row.annotator, why) for row, why in again]
        people = current[current["phase"] == Phase.INDEPENDENT]
        skipped = people.groupby("item_id")["status"].agg(lambda states: set(states) == {Status.SKIPPED})
        rows += [
            (folder.number, item, "", "skipped by all annotators")
            for item in skipped.index[skipped.astype(bool)]
        ]
    columns = ("Round", "Item", "Annotator", "What is wrong")
    return [Section("Needs attention", body=rows_html(columns, rows))] if rows else []


def _place(folder: RoundFolder, row: Label) -> Markup:
    """The item, with a link to where its annotator can repair it: their project, or the folder of sheets."""
    address = project_address(folder, row.annotator) if row.channel == Channel.LABEL_STUDIO else ""
    return Markup('<a href="{}">{}</a>').format(address or f"{folder.number}/sheets/", row.item_id)
