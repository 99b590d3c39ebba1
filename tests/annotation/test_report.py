"""What the report says to the lead: the target, the audit by posts, one number, the guideline."""

from __future__ import annotations

import itertools
import re

import pandas as pd
import pytest
from msgspec.structs import replace

from covmis_build import keyed
from covmis_build.annotation.assignment import assignment
from covmis_build.annotation.report import against
from covmis_build.errors import InputError
from covmis_build.settings import parse
from covmis_build.stats.agreement import Figure
from covmis_build.stats.repeated_looks import wider_at_every_look
from covmis_build.study.study import open_study
from tests.annotation.small import LABELS, as_if_run, covmis, fill, label_both, pulled, study

FIGURE = Figure("Cohen's kappa", 0.73, low_by_claims=0.6, high_by_claims=0.8)


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [
        (0.70, 0.8, "Target 0.67 is reached"),
        (0.68, 0.8, "Target 0.67 cannot be decided yet"),
        (0.4, 0.66, "Target 0.67 is not reached"),
        (0.6, 0.8, "Target 0.67 cannot be decided"),
    ],
)
def test_a_target_is_reached_or_not_or_nobody_can_tell(low, high, told):
    figure = replace(FIGURE, low_by_claims=low, high_by_claims=high)
    said = against(figure, 0.67, claims=12, posts=90)
    assert said.startswith(told)
    assert ("claims would be enough" in said) == ("cannot" in told)


def test_more_claims_that_would_tell_do_tell():
    """The width of an interval falls with the root of the claims: at that many the target is just left out."""
    need = int(against(FIGURE, 0.67, claims=12, posts=90).split("About ")[1].split()[0])
    reach = (0.73 - 0.6) * wider_at_every_look(90) * (12 / need) ** 0.5
    assert 0.73 - reach >= 0.67 > 0.73 - reach * (need / (need - 1)) ** 0.5


@pytest.mark.parametrize(
    "target",
    [{"coefficient": "kapa", "at_least": 0.6}, {"at_least": 67}, {"at_most": 0.5}, {"at_least": True}],
)
def test_a_wrong_target_is_refused(target):
    with pytest.raises(InputError, match="target"):
        parse({"title": "t", "annotation": {"target": target}})


def test_the_report_names_target_guideline_and_one_number(tmp_path):
    study(tmp_path, "target = { at_least = 0.3 }\n")
    for number in ("001", "002"):
        covmis(tmp_path, "round", "open")
        covmis(tmp_path, "round", "push")
        label_both(tmp_path, number, differ=lambda item: item.endswith("3"))
        covmis(tmp_path, "round", "pull")
        guideline = tmp_path / "annotation" / "guideline.md"
        guideline.write_text(guideline.read_text().replace("supports it", "holds it true"))
    report = open_study(tmp_path).round().report()
    assert any(told.startswith("Target 0.3 ") for told in report.sentences)
    assert "since round 001" in report.guideline
    assert "favor: holds it true." in report.guideline
    page = (tmp_path / "annotation" / "rounds" / "002" / "report.html").read_text("utf-8")
    assert "Target 0.3" in page
    assert "holds it true" in page
    scope = report.to_dict()["all_rounds"]["scope"]
    told = report.to_dict()["all_rounds"]["notes"][0]
    assert f"{scope['automatic_items_left_out']} of {scope['frozen_items']} frozen items have one (" in told
    assert f"{scope['audited_items']} of these also given to the annotators" in told


def test_the_audits_unit_is_the_post(tmp_path):
    pulled(tmp_path)
    found = covmis(tmp_path, "round", "report")["round"]["audit"]
    assert (found["items"], found["posts"], found["labels"]) == (1, 1, 2)
    assert (found["low"], found["high"]) == (None, None), "one post is too few for an interval"


def items(count=400):
    names = [f"c{at % 20:02d}|x:{at}" for at in range(count)]
    return pd.DataFrame(
        {
            "item_id": names,
            "claim_id": [name[:3] for name in names],
            "salt": "s",
            "round": "001",
            "automatic_label": "",
            "audited": False,
        }
    )


NOBODY = pd.DataFrame({"item_id": [], "annotator": [], "phase": [], "status": []})


def test_items_of_a_claim_come_together_and_claims_in_an_order_of_ones_own():
    work = assignment(items(), NOBODY, ["a1", "a2"], 2, seed=1, order="claim")
    mixed = assignment(items(), NOBODY, ["a1", "a2"], 2, seed=1, order="mixed")
    orders = []
    for who in ("a1", "a2"):
        claims = [item[:3] for item in work[who]]
        orders.append(list(dict.fromkeys(claims)))
        assert sum(one != other for one, other in itertools.pairwise(claims)) == 19
        assert sorted(work[who]) == sorted(mixed[who])
    assert orders[0] != orders[1]
    assert mixed["a1"] == keyed.order(1, "order of a1", items()["item_id"])


def test_as_many_are_labelled_by_rule_as_the_report_says_and_nothing_is_no_agreement(tmp_path):
    study(tmp_path)
    opened = covmis(tmp_path, "round", "open")
    assert (opened["automatic"], opened["audited"], opened["for_people"]) == (2, 1, 11)
    sentence = open_study(tmp_path).round().sentence
    assert sentence == (
        "Round 001: 2 claims, 12 posts, 11 of them for annotators. 2 have an automatic label (1 of them also for annotators, as an audit)."
    )
    report = open_study(tmp_path).round().report()
    assert report.round.scope.automatic_items_left_out == 2
    assert report.round.agreement.raw.value is None
    assert report.sentences[0] == "Round 001: no post has labels of two annotators yet"
    assert not any(sentence.startswith("All rounds") for sentence in report.sentences), "there is one"


def test_who_has_no_work_gets_no_sheet(tmp_path):
    study(tmp_path, settings='annotators = ["a1", "a2", "a3"]\nper_item = 2\nworkload = { a3 = 0.000001 }\n')
    covmis(tmp_path, "round", "open")
    for channel in ("csv", "html", "xlsx"):
        sent = covmis(tmp_path, "round", "push", "--channel", channel)
        assert sent["items"]["a3"] == 0
        assert not any("a3" in name for name in sent["written"])


def test_half_the_workload_is_half_the_work():
    three = ["a1", "a2", "a3"]
    even = assignment(items(), NOBODY, three, 1, seed=1)
    assert sorted(map(len, even.values())) == [133, 133, 134]
    assert even == assignment(items(), NOBODY, three, 1, seed=1, workload=dict.fromkeys(three, 1.0))
    less = assignment(items(), NOBODY, three, 1, seed=1, workload={"a1": 0.5})
    assert [len(own) for own in less.values()] == [80, 160, 160]
    assert len(set(less["a1"]) - set(even["a1"])) < 5, "who gives work away gets hardly anything new"


def test_more_people_for_each_item_of_an_open_round(tmp_path):
    study(tmp_path, 'annotators = ["a1", "a2", "a3"]\n')
    covmis(tmp_path, "round", "open")
    covmis(tmp_path, "round", "push")
    toml = tmp_path / "study.toml"
    toml.write_text(toml.read_text() + "per_item = 3\n")
    as_if_run(tmp_path)
    sent = covmis(tmp_path, "round", "push")
    assert set(sent["items"].values()) == {11}
    assert open_study(tmp_path).round().folder.per_item == 3


def test_pairs_of_many_people_are_one_table(tmp_path):
    people = [f"a{number}" for number in range(1, 9)]
    study(tmp_path, f"annotators = {people!r}\nper_item = 8\n".replace("'", '"'))
    covmis(tmp_path, "round", "open")
    covmis(tmp_path, "round", "push")
    for who in people:
        sheet = tmp_path / "annotation" / "rounds" / "001" / "sheets" / f"{who}.csv"
        fill(
            sheet,
            lambda row, who=who: LABELS[
                int(3 * keyed.uniform(1, row["item_id"], who[:2] if who > "a6" else ""))
            ],
        )
    covmis(tmp_path, "round", "pull")
    report = covmis(tmp_path, "round", "report")["round"]
    page = (tmp_path / "annotation" / "rounds" / "001" / "report.html").read_text()
    assert page.count("<svg") == 1, "the coefficients, and none for each of 28 pairs"
    pairs = page.partition("of each pair</caption>")[2]
    rows = re.findall(r'<th scope="row"><bdi>(a\d)</bdi></th>(.*?)</tr>', pairs, re.DOTALL)[:8]
    shown = {
        frozenset((one, other)): float(value)
        for one, cells in rows
        for other, value in zip(people, re.findall(r"<td[^>]*>([^<]*)", cells), strict=True)
        if value
    }
    known = {frozenset((pair["first"], pair["second"])): pair["kappa"]["value"] for pair in report["pairs"]}
    assert shown == {pair: pytest.approx(value, abs=0.0051) for pair, value in known.items()}
    assert page.count('<a href="#part-') == page.count('<section id="part-')
