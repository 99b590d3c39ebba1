"""The next decision: planted people, rules and claims are named, and honest rounds are silent."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from msgspec.structs import replace

from covmis_build.annotation.agreement import agreement
from covmis_build.annotation.next_decision import next_decision
from covmis_build.annotation.report_page import _confusion
from covmis_build.records import Label
from covmis_build.report.page import rows_html
from covmis_build.stats.repeated_looks import wider_at_every_look
from covmis_build.study.study import open_study
from tests.annotation.small import covmis, pulled, rows_of, study, write_rows
from tests.annotation.worlds import decided_round, labelled_round, orders_of

LABELS = ("favor", "against", "neither")
SHEETS = "annotation/rounds/001/sheets"


def ahead(given, decided=(), guideline="", **more):
    labels = pd.DataFrame([row._asdict() for row in decided], columns=Label._fields)
    return next_decision(given, labels, LABELS, orders=orders_of(given), guideline=guideline, **more)


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("straight", "Talk to a2: "),
        ("swapper", "Talk to a2: did they exchange favor and against? With these exchanged they agree"),
        ("random", "and by chance it would be"),
    ],
)
@pytest.mark.parametrize(("people", "posts"), [(3, 120), (20, 300)])
def test_a_planted_person_is_first_and_named(kind, told, people, posts):
    shown = ahead(labelled_round(np.random.default_rng(4), people, posts, kind))
    (sentence,) = shown.sentences
    assert sentence.startswith("Talk to a2:")
    assert told in sentence
    assert shown.people[0].annotator == "a2"
    assert shown.people[0].stands_out
    assert not any(person.stands_out for person in shown.people[1:])
    assert "a2" in rows_html(*shown.people_table)


def test_honest_rounds_are_silent_in_nineteen_of_twenty():
    """Also with people who are unevenly good, and of two people, whose disagreements say nothing about one of them."""
    told = [
        ahead(labelled_round(np.random.default_rng(seed), people, 60, kind))
        for seed in range(12)
        for people, kind in ((2, "honest"), (3, "honest"), (3, "uneven"), (5, "honest"))
    ]
    assert sum(bool(each.sentences) or each.people[0].stands_out != "" for each in told) <= 4
    for kind in ("swapper", "random"):
        assert ahead(labelled_round(np.random.default_rng(1), 2, 120, kind)).sentences == []


def test_overruled_labels_a_missing_rule_and_hard_claims_are_named_with_their_evidence():
    given, decided = decided_round(np.random.default_rng(2), 2, 240, "person")
    assert ahead(given, decided).sentences[0].startswith("Talk to a1 about neither: ")
    given, decided = decided_round(np.random.default_rng(2), 2, 240, "rule")
    shown = ahead(given, decided, guideline="# Labels\n\n3. Questions are neither.\n4. Irony.\n")
    sentence = shown.sentences[-1]
    assert sentence.startswith("Rewrite the rule for against / neither (rule 3): ")
    tally = next(tally for tally in shown.rules if tally.pair == "against / neither")
    differing = given.groupby("item")["label"].agg(set)
    assert tally.posts == sum(labels == {"against", "neither"} for labels in differing)
    assert sum(tally.classes.values()) == tally.posts
    assert set(tally.rules) == {"3"}, "7 is no rule of the guideline"
    assert [claim.share for claim in shown.claims] == sorted(
        (claim.share for claim in shown.claims), reverse=True
    )
    for claim in shown.claims:
        raw, mean = claim.differing / claim.posts, sum(c.differing for c in shown.claims) / 240
        assert min(raw, mean) - 0.02 <= claim.share <= max(raw, mean) + 0.02, (
            "between its own share and all claims'"
        )
        assert claim.low < claim.share < claim.high
    given, decided = decided_round(np.random.default_rng(2), 2, 240, "nothing")
    assert ahead(given, decided).sentences == []


def test_an_interval_for_every_look_stops_falsely_in_few_studies_that_are_at_the_target():
    """Kappa is just the target; one looks after each of twenty batches of posts."""
    rng, fixed, wider = np.random.default_rng(1), 0, 0
    for _ in range(400):
        values = rng.normal(0, 1, 1200).cumsum()[59::60] / np.arange(60, 1201, 60)
        errors = 1 / np.sqrt(np.arange(60, 1201, 60))
        wide = [wider_at_every_look(posts) for posts in range(60, 1201, 60)]
        fixed += bool((np.abs(values) > 1.96 * errors).any())
        wider += bool((np.abs(values) > 1.96 * errors * wide).any())
    assert fixed / 400 > 0.15
    assert wider / 400 <= 0.05


def test_many_people_stand_in_natural_order_and_cells_of_few_posts_are_empty():
    rng = np.random.default_rng(3)
    given = labelled_round(rng, 12, 60, "honest")
    compared = agreement(given, labels=LABELS)
    assert compared.annotators == [f"a{at}" for at in range(1, 13)]
    assert any(0 < pair.items < 10 for pair in compared.pairs)
    body = str(_confusion(compared).body)
    assert body.count("<small>") == 2 * sum(pair.items >= 10 for pair in compared.pairs)
    long = replace(ahead(given), people=ahead(given).people * 3)
    assert "36 rows</summary>" in rows_html(*long.people_table), "long tables are folded"


def test_report_page_and_terminal_begin_with_it_and_the_board_counts_as_the_overview(tmp_path):
    pulled(tmp_path)
    study = open_study(tmp_path)
    told = covmis(tmp_path, "round", "report")["round"]["next_decision"]
    shown = study.round().next_decision()
    assert told["sentences"] == shown.sentences
    assert [row["annotator"] for row in told["people"]] == [person.annotator for person in shown.people]
    page = (tmp_path / "annotation/rounds/001/report.html").read_text("utf-8")
    assert (
        page.index("The next decision")
        < page.index("Each person compared with the others")
        < page.index("Coefficient")
    )
    progress = study.round().status()
    covmis(tmp_path, "export", "board")
    board = (tmp_path / "annotation/rounds/board.html").read_text("utf-8")
    assert f'<td class="number">{progress.disagreements - progress.single}</td>' in board


def test_a_claim_that_people_call_unclear_and_sub_labels_are_in_the_report(tmp_path):
    study(tmp_path, settings='[labels]\nsub_labels = { favor = ["hoax", "joke"] }\n')
    covmis(tmp_path, "round", "open")
    covmis(tmp_path, "round", "push")
    first, *others = sorted(row["item_id"] for row in rows_of(tmp_path / SHEETS / "a1.csv"))
    for who in ("a1", "a2"):
        rows = rows_of(tmp_path / SHEETS / f"{who}.csv")
        for row in rows:
            unclear = row["item_id"] == first or (row["item_id"] == others[0] and who == "a2")
            row["label"] = "Unclear claim" if unclear else "favor"
            joke = who == "a2" and row["item_id"] == others[1]
            row["sub_label"] = (
                "" if unclear else "joke" if joke else ["hoax", "joke"][len(row["item_id"]) % 2]
            )
        write_rows(tmp_path / SHEETS / f"{who}.csv", rows)
    covmis(tmp_path, "round", "pull")
    claim = first.partition("|")[0]
    report = open_study(tmp_path).round().report()
    assert f"Explain claim {claim}: a1, a2 said at 2 posts that it is unclear." in report.summary
    assert "- Of these, skipped because the claim is unclear: 3." in report.summary
    assert [(row.claim, row.unclear) for row in report.round.next_decision.claims if row.unclear] == [
        (claim, 2)
    ]
    (subs,) = report.round.sub_labels
    assert (subs.label, subs.posts, subs.raw.value) == (
        "favor",
        len(others) - 1,
        pytest.approx(1 - 1 / (len(others) - 1)),
    )
    page = (tmp_path / SHEETS / "../report.html").read_text("utf-8")
    assert "Agreement on sub-labels" in page
    assert "Called unclear" in page
    (case,) = [
        row
        for row in covmis(tmp_path, "round", "adjudicate", "--list")["disagreements"]
        if row["item_id"] == first
    ]
    assert case["state"] != "decided"
