"""Posts of earlier rounds hidden in a round: everybody's checks, each person's own again, and nothing that tells them apart."""

from __future__ import annotations

import json
import re
from math import ceil
from statistics import mean

import pytest

from covmis_build.annotation import round_folder as record
from covmis_build.annotation.channels.label_studio.tasks import task_data
from covmis_build.annotation.checks import among, repeats_in
from covmis_build.annotation.frozen_items import rows_of as frozen_rows
from covmis_build.annotation.gold import gold_of
from tests.annotation.small import LABELS, covmis, fill, label_both, rows_of, study

PEOPLE = ("a1", "a2")


def settle(folder, **settings):
    """Set these keys of [annotation] anew."""
    path = folder / "study.toml"
    lines = [line for line in path.read_text().splitlines() if line.partition(" =")[0] not in settings]
    path.write_text(
        "\n".join([*lines, *(f"{key} = {json.dumps(value)}" for key, value in settings.items())]) + "\n"
    )


def sheet(folder, number, who):
    return folder / "annotation" / "rounds" / number / "sheets" / f"{who}.csv"


def sealed(folder, number):
    """Open a round, have both label it, settle what differs, and seal it."""
    covmis(folder, "round", "open", "--claims", "2")
    covmis(folder, "round", "push")
    label_both(folder, number, differ=lambda item: item.endswith("3"))
    covmis(folder, "round", "pull")
    covmis(folder, "round", "adjudicate", "--no-discussion")
    fill(sheet(folder, number, "adjudication"), lambda row: "neither")
    covmis(folder, "round", "adjudicate", "--no-discussion")
    covmis(folder, "round", "seal")


@pytest.fixture
def folder(tmp_path):
    """A study of six claims whose first round is sealed."""
    study(tmp_path, claims=6)
    sealed(tmp_path, "001")
    return tmp_path


def own_rows(folder, number, who):
    """What this person gets of earlier rounds, by item."""
    first = {row["item_id"]: row["label"] for row in rows_of(sheet(folder, "001", who))}
    return {
        row["item_id"]: row for row in rows_of(sheet(folder, number, who)) if row["item_id"] in first
    }, first


def test_everybody_gets_posts_of_their_own_again(folder):
    from statsmodels.stats.proportion import proportion_confint

    settle(folder, repeats=0.3, annotators=["a1", "a2", "a3"], per_item=2)
    before = gold_of(record.all_rounds(folder / "annotation" / "rounds"))
    opened = covmis(folder, "round", "open", "--claims", "2")
    sent = covmis(folder, "round", "push")["items"]
    assert opened["checks"] == 0
    assert set(opened["repeats"]) == {"a1", "a2"}, "who joins has nothing to be asked again"
    same = {}
    for who in PEOPLE:
        again, first = own_rows(folder, "002", who)
        own = sent[who] - len(again)
        assert len(again) == opened["repeats"][who] == ceil(0.3 * own)
        changed = min(again)
        same[who] = len(again) - 1
        fill(sheet(folder, "002", who), lambda row, first=first, changed=changed:
             LABELS[(LABELS.index(first[row["item_id"]]) + (row["item_id"] == changed)) % 3]
             if row["item_id"] in first else "favor")  # fmt: skip
    fill(sheet(folder, "002", "a3"), lambda row: "favor")
    covmis(folder, "round", "pull")
    told = covmis(folder, "round", "report")["round"]
    assert told["items"] == 10, "they are not among the round's"
    assert (told["checks"]["posts"], told["checks"]["accuracies"]) == (0, [])
    for row in told["checks"]["repeats"]:
        count = opened["repeats"][row["annotator"]]
        assert (row["same"], row["posts"]) == (same[row["annotator"]], count)
        assert (row["low"], row["high"]) == pytest.approx(
            proportion_confint(row["same"], count, method="wilson")
        )
    assert sum("Labelled twice by the same annotator" in note for note in told["notes"]) == 2
    after = gold_of(record.all_rounds(folder / "annotation" / "rounds"))
    assert after[after["round"] == "001"].equals(before), "counts for nothing"


def test_no_post_comes_a_third_time_nor_as_a_check_too(folder):
    settle(folder, repeats=0.4, checks=0.2)
    rounds = folder / "annotation" / "rounds"
    sealed(folder, "002")
    hidden = record.find(rounds, "c002")
    again = repeats_in(hidden)
    key = set(hidden.decisions()["item_id"])
    assert {len(items) for items in again.values()} == {4}
    assert len(key) == 2
    assert not key & {item for items in again.values() for item in items}
    told = json.loads((rounds / "001" / "report.json").read_text())
    assert "checks" not in told
    told = json.loads((rounds / "002" / "report.json").read_text())["checks"]
    assert {row["posts"] for row in told["accuracies"] if not row["label"]} == {2}, (
        "of those with a key alone"
    )
    covmis(folder, "round", "open", "--claims", "2")
    twice = {who: set(items) | key for who, items in again.items()}
    for who, items in repeats_in(record.find(rounds, "c003")).items():
        assert items
        assert not twice[who] & set(items)


@pytest.mark.parametrize("order", ["claim", "mixed"])
def test_nothing_that_an_annotator_gets_tells_a_hidden_post(folder, order):
    settle(folder, repeats=0.3, checks=0.3, order_of_items=order)
    covmis(folder, "round", "open", "--claims", "2")
    covmis(folder, "round", "push")
    covmis(folder, "round", "push", "--channel", "html")
    round_ = record.find(folder / "annotation" / "rounds")
    own = set(round_.items()["item_id"])
    for who in PEOPLE:
        page = sheet(folder, "002", who).with_suffix(".html").read_text("utf-8")
        items = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])["items"]
        rows = rows_of(sheet(folder, "002", who))
        assert [item["id"] for item in items] == [row["item_id"] for row in rows]
        assert sum(row["item_id"] not in own for row in rows) == 6, "three checks, and three of their own"
        tasks = [task_data(row) for row in frozen_rows(round_.asked())]
        forms = (
            [(row["item_id"], (*row, shape(row["context"]))) for row in rows],
            [
                (item["id"], (*item, len(item["shown"]), *(part[0] for part in item["parts"])))
                for item in items
            ],
            [(task["uid"], (*task, shape(task["context"]))) for task in tasks],
        )
        for form in forms:
            assert {told for item, told in form if item not in own} <= {
                told for item, told in form if item in own
            }


def shape(context):
    """The headings of what stands beside a post."""
    return tuple(re.findall(r"^([A-Z][a-z ]+):", context, flags=re.MULTILINE))


def test_in_the_order_of_claims_a_post_that_stands_alone_is_seldom_hidden():
    shares, places, whole = [], [], []
    for seed in range(40):
        items = [f"c{claim}|x:{post}" for claim in range(12) for post in range(12)]
        hidden = [f"old{claim}|x:{claim}" for claim in range(8)]
        claims = {item: item.partition("|")[0] for item in [*items, *hidden]}
        order = among(items, hidden, claims, "a1", "claim", seed)
        assert sorted(order) == sorted([*items, *hidden])
        of = [claims[item] for item in order]
        alone = [
            order[at] for at in range(len(order))
            if of[at] not in {*of[max(at - 1, 0) : at], *of[at + 1 : at + 2]}
        ]  # fmt: skip
        shares.append(mean(item in hidden for item in alone))
        places += [order.index(item) / len(order) for item in hidden]
        whole.append(len([at for at in range(1, len(of)) if of[at] == of[at - 1]]) / len(of))
    assert mean(shares) < 0.35, "of four that stand alone, three are of the round's own"
    assert 0.45 < mean(places) < 0.55, "anywhere"
    assert 0.2 < mean(place < 0.25 for place in places) < 0.3
    assert mean(whole) > 0.5, "and most posts still come with their claim"


def test_more_items_leave_the_order_of_the_claims_that_were_there():
    items = [f"c{claim}|x:{post}" for claim in range(6) for post in range(6)]
    claims = {item: item.partition("|")[0] for item in [*items, "c0|x:9"]}
    assert among(items, [], claims, "a1", "claim", 1) == [
        item for item in among([*items, "c0|x:9"], [], claims, "a1", "claim", 1) if item != "c0|x:9"
    ]


def test_what_earlier_rounds_did_not_show_is_not_hidden_among_posts_that_show_it(folder):
    settle(folder, repeats=0.3, checks=0.3, show=["card"])
    opened = covmis(folder, "round", "open", "--claims", "2")
    assert (opened["checks"], opened["repeats"]) == (0, {})


def test_what_is_hidden_counts_as_work_to_do(folder):
    settle(folder, repeats=0.3)
    covmis(folder, "round", "open", "--claims", "2")
    sent = covmis(folder, "round", "push")["items"]
    left = {row["annotator"]: row["left"] for row in covmis(folder, "round", "status")["annotators"]}
    assert left == sent
    fill(sheet(folder, "002", "a1"), lambda row: "favor")
    covmis(folder, "round", "pull")
    left = {row["annotator"]: row["left"] for row in covmis(folder, "round", "status")["annotators"]}
    assert left == sent | {"a1": 0}
