"""The board: state and next step of every round, for the project lead. It changes nothing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from markupsafe import Markup

from covmis_build.annotation.answers import Channel, Phase, Status, labels_of, present, stale
from covmis_build.annotation.channels.label_studio.projects import project_address
from covmis_build.annotation.report import cases_html
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
"""Number of disagreements on the board; the report has all."""


def board_page(
    rounds: Sequence[tuple[RoundFolder, Progress]],
    findings: Findings | None,
    *,
    study: str,
    verdict: str = "",
) -> str:
    """Return the board as one page. `findings` cover the rounds that count."""
    left = sum(worker.left for folder, progress in rounds if not folder.sealed for worker in progress.workers)
    undecided = sum(progress.undecided for _, progress in rounds)
    tiles = [
        ("Rounds", f"{len(rounds)}", f"{sum(folder.sealed for folder, _ in rounds)} sealed"),
        ("Labels to come", f"{left:,}", f"{counted(undecided, 'posts')} without a final label"),
    ]
    sections = [_people(rounds), *_by_eye(rounds), _rounds(rounds)]
    if findings:
        kappa = findings.agreement.kappa
        value = "–" if kappa.value is None else f"{kappa.value:.2f}"
        tiles.append((kappa.name, value, str(kappa.interval or kappa.why)))
        sections += [*_agreement(findings, verdict, rounds), *_newest(rounds, findings)]
    return page("Board", sections, study=study, lead=_next(rounds), tiles=tiles)


def _next(rounds: Sequence[tuple[RoundFolder, Progress]]) -> str:
    """Return the next step of each open round. If none is open, of the latest round."""
    in_order = sorted(rounds, key=lambda row: (row[0].about.opened_at, row[0].number))
    open_ = [row for row in in_order if not row[0].sealed] or in_order[-1:]
    return " ".join(f"Next in round {folder.number}: {progress.next}." for folder, progress in open_)


def _rounds(rounds: Sequence[tuple[RoundFolder, Progress]]) -> Section:
    rows = [
        (
            f"{folder.number}{' (pilot)' if folder.pilot else ' (recall)' if folder.asks_relevance else ''}",
            "sealed" if folder.sealed else "reopened" if folder.reopened else "open",
            progress.items,
            sum(worker.given + worker.skipped for worker in progress.workers),
            sum(worker.left for worker in progress.workers),
            progress.disagreements
            - progress.single,  # a post with one label is no disagreement, as everywhere else
            progress.undecided,
        )
        for folder, progress in rounds
    ]
    columns = ("Round", "State", "Posts", "Labels", "To come", "Disagreements", "Posts without a final label")
    return Section("Rounds", body=rows_html(columns, rows))


def _people(rounds: Sequence[tuple[RoundFolder, Progress]]) -> Section:
    """Return each annotator's progress and pace in the open rounds, and the days left at that pace."""
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
                    folder.number,
                    name,
                    _bar(worker.given + worker.skipped, worker.items),
                    worker.left,
                    worker.invalid,
                    worker.drafts,
                    worker.median_seconds,
                    None if pace is None else round(pace),
                    math.ceil(worker.left / pace) if pace and worker.left else None,
                )
            )
    columns = (
        "Round",
        "Annotator",
        "Labelled",
        "To come",
        "To correct",
        "Drafts",
        "Seconds per post",
        "Labels per day",
        "Days left",
    )
    prose = (
        "To correct: answers that cannot be used; the table below lists them. Drafts: answers in Label Studio that were not submitted. "
        "Seconds per post: the median. Labels per day: the mean over days with labels. Days left: at that pace."
        if rows
        else "No round is open."
    )
    return Section("Annotators", prose=prose, body=rows_html(columns, rows) if rows else Markup(""))


def _bar(done: int, items: int) -> Markup:
    """Return a bar with the labelled share of an annotator's posts."""
    told = f"{done} of {items}"
    return Markup('<progress value="{}" max="{}" aria-label="{}"></progress> {}').format(
        done, max(items, 1), told, told
    )


def _answers_a_day(labels: pd.DataFrame) -> dict[str, float]:
    """Return each annotator's number of answers per working day."""
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
        Section(
            "Agreement so far", prose=prose, body=rows_html(("Label", "Given", "Positive agreement"), labels)
        ),
        Section(
            "Claims with the lowest agreement",
            body=rows_html(("Claim", "Text", "Posts", "Raw agreement"), claims),
        ),
    ]


def _newest(rounds: Sequence[tuple[RoundFolder, Progress]], findings: Findings) -> list[Section]:
    """Return the latest disagreements."""
    at: dict[str, str] = {}
    for folder, _ in rounds:
        for row in labels_of(present(folder.labels())):
            at[row.item_id] = max(at.get(row.item_id, ""), row.given_at)
    newest = sorted(
        findings.disagreements, key=lambda case: (at.get(case.item_id, ""), case.item_id), reverse=True
    )
    if not newest:
        return []
    title = "Newest disagreements" + (f" ({NEWEST} of {len(newest):,})" if len(newest) > NEWEST else "")
    return [Section(title, body=cases_html(newest[:NEWEST]))]


def _by_eye(rounds: Sequence[tuple[RoundFolder, Progress]]) -> list[Section]:
    """List unusable answers and posts that all annotators skipped, for manual checking."""
    rows = []
    for folder, _ in rounds:
        if folder.sealed:
            continue
        current = present(folder.labels())
        invalid = current[current["status"] == Status.INVALID]
        other_text = stale(folder.labels(), folder.items())
        again = [(row, row.reason) for row in labels_of(invalid)]
        given = other_text[other_text["status"].isin([Status.GIVEN, Status.SKIPPED])]
        again += [
            (row, "the text was altered when this label was given: save the label again")
            for row in labels_of(given)
        ]
        rows += [(folder.number, _place(folder, row), row.annotator, why) for row, why in again]
        people = current[current["phase"] == Phase.INDEPENDENT]
        skipped = people.groupby("item_id")["status"].agg(lambda states: set(states) == {Status.SKIPPED})
        rows += [
            (folder.number, item, "", "skipped by all annotators")
            for item in skipped.index[skipped.astype(bool)]
        ]
    columns = ("Round", "Post", "Annotator", "Problem")
    return [Section("Needs attention", body=rows_html(columns, rows))] if rows else []


def _place(folder: RoundFolder, row: Label) -> Markup:
    """Return the item with a link to its annotator's project or sheets folder, for corrections."""
    address = project_address(folder, row.annotator) if row.channel == Channel.LABEL_STUDIO else ""
    return Markup('<a href="{}">{}</a>').format(address or f"{folder.number}/sheets/", row.item_id)
