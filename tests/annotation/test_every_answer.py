"""Every variant of an answer that a channel can bring back, with what becomes of it: counted, and each in words."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace

import pandas as pd
import pytest

from covmis_build import tables
from covmis_build.annotation.answers import (
    Answer,
    Channel,
    Status,
    answered,
    bounded,
    checked,
    is_unclear,
    labels_of,
    present,
)
from covmis_build.annotation.label_lines import Line, as_labels
from covmis_build.annotation.recording import append
from covmis_build.options import Labels

SCHEME = Labels(sub_labels={"neither": ("unrelated",)})
PUSHED, NOW = "2026-01-02T00:00:00Z", "2026-01-06T00:00:00Z"
EARLIER, BETWEEN, LATER = (f"2026-01-0{day}T00:00:00Z" for day in (3, 4, 5))
FROZEN = pd.DataFrame([{"item_id": "c|x:1", "shown": "frozen", "automatic_label": "", "audited": False}])
SAID = {
    "a label": ("favor", "", "given"),
    "its key": ("1", "", "given"),
    "its key as a number": ("1.0", "", "given"),
    "in capitals": ("FAVOR", "", "given"),
    "with a sub-label": ("neither", "unrelated", "given"),
    "with another label's sub-label": ("favor", "unrelated", "invalid"),
    "an unknown label": ("pro", "", "invalid"),
    "nothing": ("", "", "invalid"),
    "skip": ("skip", "", "skipped"),
}
SHOWN = ("frozen", "altered")
CLOCKS = {"right": BETWEEN, "ahead": "2026-02-01T00:00:00Z", "behind": "2025-12-01T00:00:00Z", "none": ""}
BEFORE = (
    "nothing", "the same answer", "an earlier one", "a later one", "an earlier one elsewhere", "a later one elsewhere",
    "an unusable one", "one taken back",
)  # fmt: skip
VARIANTS = list(itertools.product(SAID, SHOWN, CLOCKS, BEFORE))
OUTCOMES = {
    "it counts": 110,
    "its post is skipped": 22,
    "recorded as unusable": 132,
    "recorded, but not used: it was given to an altered text": 132,
    "nothing new": 72,
    "an older answer: not recorded": 108,
}


def outcome(said: str, shown: str, clock: str, before: str) -> str:
    """What the guide promises."""
    if before == "the same answer":
        return "nothing new"
    older = {
        "an earlier one": clock == "behind",
        "a later one": clock in {"right", "behind"},
        "an earlier one elsewhere": clock == "behind",
        "a later one elsewhere": clock in {"right", "behind"},
    }
    if older.get(before):
        return "an older answer: not recorded"
    status = SAID[said][2]
    if status == "invalid":
        return "recorded as unusable"
    if shown == "altered":
        return "recorded, but not used: it was given to an altered text"
    return "it counts" if status == "given" else "its post is skipped"


def recorded(lines: tuple[Line, ...], answer: Answer) -> tuple[Line, ...]:
    """As `pull` records what came back."""
    ready = bounded(checked(answer, SCHEME), sent_at=PUSHED, now=NOW)
    return append(lines, [ready], number="001", guideline="g", now=NOW)


def seen(said: str, shown: str, clock: str, before: str) -> str:
    """What became of the answer."""
    label, sub, _ = SAID[said]
    answer = Answer("c|x:1", "a1", label, Channel.CSV, sub, seconds=2.0, shown=shown, given_at=CLOCKS[clock])
    other = replace(answer, label="against", sub_label="", shown="frozen", channel=Channel.HTML if "elsewhere" in before else Channel.CSV)  # fmt: skip
    first = {
        "the same answer": answer,
        "an unusable one": replace(other, label="what?", given_at=LATER),
        "one taken back": replace(other, label="", status=Status.WITHDRAWN, given_at=LATER),
    }.get(before, replace(other, given_at=LATER if "later" in before else EARLIER))
    lines = recorded((), first) if before != "nothing" else ()
    both = recorded(lines, answer)
    if len(both) == len(lines):
        assert both == lines
        return "nothing new" if before == "the same answer" else "an older answer: not recorded"
    after = tables.frame(tables.of_records(as_labels(both), "labels"))
    (current,) = labels_of(present(after))
    assert current.given_at <= NOW
    assert current.given_at >= PUSHED
    used = answered(FROZEN, after)["c|x:1"]
    if current.status == Status.INVALID:
        assert not used
        return "recorded as unusable"
    if not used:
        return "recorded, but not used: it was given to an altered text"
    assert used == [current]
    return "its post is skipped" if current.status == Status.SKIPPED else "it counts"


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("said", SAID)
def test_an_answer_becomes_what_the_guide_promises(said, before) -> None:
    for shown, clock in itertools.product(SHOWN, CLOCKS):
        assert seen(said, shown, clock, before) == outcome(said, shown, clock, before), (shown, clock)


def test_so_many_variants_have_each_outcome() -> None:
    assert Counter(outcome(*variant) for variant in VARIANTS) == OUTCOMES
    assert sum(OUTCOMES.values()) == len(VARIANTS) == 576


def test_an_unclear_claim_is_said_by_a_wrong_clock_too_and_is_a_label_where_the_study_has_it():
    said = Answer("c|x:1", "a1", "Unclear claim.", Channel.HTML, given_at=CLOCKS["ahead"])
    late = bounded(checked(said, SCHEME), sent_at=PUSHED, now=NOW)
    assert (late.status, late.given_at, is_unclear(late)) == (Status.SKIPPED, NOW, True)
    own = Labels(values=("favor", "unclear claim"), keys=("1", "9"))
    assert (checked(said, own).label, checked(said, own).status) == ("unclear claim", Status.GIVEN)
