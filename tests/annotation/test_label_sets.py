"""A study that renames, splits, adds and drops labels over four rounds: every figure is counted again from its labels."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pandas as pd
import pytest
from typer.testing import CliRunner

from covmis_build import storage
from covmis_build.annotation.label_sets import LabelSet, label_sets
from covmis_build.cli import app
from covmis_build.errors import InputError
from covmis_build.options import LabelChange
from covmis_build.study.relabel import is_wanted
from covmis_build.study.study import open_study
from tests.annotation.small import (
    as_if_run,
    covmis,
    fill,
    rows_of,
    sampled,
    study,
    write_guideline,
    write_rows,
)
from tests.once import once

if TYPE_CHECKING:
    from pathlib import Path

SETS = {
    "001": ("favor", "against", "neither"),
    "002": ("support", "against", "neither", "question"),
    "003": ("support", "against", "unclear", "unrelated", "question"),
    "004": ("support", "oppose", "unclear", "unrelated"),
}
CHANGES = [
    (1, "favor", ["support"]),
    (2, "neither", ["unclear", "unrelated"]),
    (3, "question", []),
    (3, "against", ["oppose"]),
]
IN_COMMON = {
    "favor": "support", "support": "support", "against": "oppose", "oppose": "oppose", "neither": "neither",
    "unclear": "neither", "unrelated": "neither", "question": "question",
}  # fmt: skip
"""What the labels of this study mean over its rounds, written down by hand."""


TOPPED_UP = "c0|x:1255000000000000011"
"""A post that is drawn later than the others of its claim: the claim is in the first and in the third round."""


def settings(number: str, *, told: bool) -> str:
    """The settings of the study when this round is opened, with what became of labels or (not `told`) without the last."""
    automatic = next(label for label in SETS[number] if label in {"against", "oppose"})
    count = int(number) - (1 if told else 2)
    lines = [
        f'[[labels.changes]]\nafter_round = {after}\nfrom = "{label}"\nto = {json.dumps(became)}\n'
        for after, label, became in CHANGES
        if after <= count
    ]
    return (
        'title = "Small"\n[annotation]\nclaims_per_round = 2\nchannel = "csv"\n[labels]\n'
        f"values = {json.dumps(SETS[number])}\nautomatic = {{ fact_check_url = '{automatic}' }}\n{''.join(lines)}"
    )


def set_labels(folder: Path, number: str, *, told: bool = True) -> None:
    (folder / "study.toml").write_text(settings(number, told=told))
    write_guideline(folder)
    sample = sampled(8, 12)["sample"]
    sample = sample[(sample["item_id"] != TOPPED_UP) | (number >= "003")]
    automatic = open_study(folder).settings.labels.automatic["fact_check_url"]
    sample.loc[sample["automatic_label"] != "", "automatic_label"] = automatic
    storage.write_table(folder / "data" / "build" / "sample.parquet", sample, "sample")
    as_if_run(folder)


def label_round(folder: Path, number: str) -> None:
    """Push, label with some differences, pull, adjudicate, report and seal."""
    labels = SETS[number]
    covmis(folder, "round", "push")
    for who in ("a1", "a2"):

        def said(row, who=who):
            base = sum(map(ord, row["item_id"]))
            return labels[(base + ((base + ord(who[1])) % 5 == 0)) % len(labels)]

        fill(folder / "annotation" / "rounds" / number / "sheets" / f"{who}.csv", said)
    covmis(folder, "round", "pull")
    covmis(folder, "round", "adjudicate", "--no-discussion")
    fill(folder / "annotation" / "rounds" / number / "sheets" / "adjudication.csv", lambda row: labels[-1])
    covmis(folder, "round", "adjudicate", "--no-discussion")
    covmis(folder, "round", "report")
    covmis(folder, "round", "seal")


@once
def four_rounds(folder: Path) -> None:
    study(folder, claims=8, per_claim=12)
    claims = "".join(f"c{at},Claim {at} <i>says</i>\n" for at in range(8))
    storage.write_text(folder / "queries" / "claims.csv", f"claim_id,text\n{claims}")
    for number in SETS:
        if number != "001":
            set_labels(folder, number, told=False)
            error = covmis(folder, "round", "open", fails=2)["error"]
            assert f"after_round = {int(number) - 1}, from = " in error
        set_labels(folder, number)
        open_study(folder).open_round(["c4", "c5", "c0"] if number == "003" else 2)
        label_round(folder, number)


def gold_of(folder: Path) -> pd.DataFrame:
    """The sealed decisions and the frozen items of all rounds, with the labels as their rounds had them."""
    parts = []
    for number in SETS:
        place = folder / "annotation" / "rounds" / number
        items = pd.read_parquet(place / "items.parquet")
        gold = pd.read_parquet(place / "decisions.parquet")[["item_id", "label", "how"]]
        parts.append(items.drop(columns="round").merge(gold, on="item_id").assign(round=number))
    gold = pd.concat(parts, ignore_index=True)
    return gold.assign(common=gold["label"].map(IN_COMMON), weight=1 / (gold["p_claim"] * gold["p_sample"]))


def cohen(pairs: list[tuple[str, str]]) -> float:
    """Cohen's kappa of pairs of labels, by its definition."""
    n, first, second = len(pairs), Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    agree = sum(a == b for a, b in pairs) / n
    chance = sum(first[label] * second[label] for label in first) / n**2
    return (agree - chance) / (1 - chance)


def said_in(folder: Path, numbers) -> list[tuple[str, str, str]]:
    """Round, and the two independent labels, of the items without an automatic label."""
    rows = []
    for number in numbers:
        place = folder / "annotation" / "rounds" / number
        items = pd.read_parquet(place / "items.parquet").set_index("item_id")
        labels = pd.read_parquet(place / "labels.parquet")
        labels = labels[(labels["phase"] == "independent") & (labels["status"] == "given")]
        table = labels.pivot_table(index="item_id", columns="annotator", values="label", aggfunc="last")
        table = table[(items["automatic_label"].reindex(table.index) == "").to_numpy()]
        rows += [(number, *pair) for pair in table[["a1", "a2"]].itertuples(index=False, name=None)]
    return rows


def test_kappa_of_each_round_is_on_its_labels_and_over_rounds_on_those_in_common(tmp_path):
    four_rounds(tmp_path)
    rounds = tmp_path / "annotation" / "rounds"
    for number, labels in SETS.items():
        report = json.loads((rounds / number / "report.json").read_text())
        assert tuple(report["labels"]) == labels
        own = [pair for _, *pair in said_in(tmp_path, [number])]
        assert report["kappa"]["value"] == pytest.approx(cohen(own))
    summary = json.loads((rounds / "summary.json").read_text())
    assert summary["labels"] == ["support", "oppose", "neither", "question"]
    common = [(IN_COMMON[a], IN_COMMON[b]) for _, a, b in said_in(tmp_path, SETS)]
    assert summary["kappa"]["value"] == pytest.approx(cohen(common))
    complete = cohen([(IN_COMMON[a], IN_COMMON[b]) for _, a, b in said_in(tmp_path, ["002", "003"])])
    told = " ".join(summary["notes"])
    for sentence in (
        "support = favor in round 001.",
        "oppose = against in rounds 001 to 003.",
        "neither = unclear + unrelated in rounds 003 and later.",
        "question could be given in rounds 002 to 003 only.",
        f"In rounds 002 to 003, which could give every label: Cohen's kappa {complete:.2f} (",
    ):
        assert sentence in told
    said = CliRunner().invoke(app, ["round", "report", "--study", str(tmp_path)]).stdout
    assert "question could be given in rounds 002 to 003 only" in said


def test_shares_are_of_labels_in_common_and_of_others_on_the_rounds_that_could_give_them(tmp_path):
    four_rounds(tmp_path)
    gold = gold_of(tmp_path)
    gold = gold[gold["how"] != "audited"]
    told = covmis(tmp_path, "estimate", "--by", "claim")
    table = pd.DataFrame(told["estimates"])
    table = table[table["estimand"] == "unique_posts"]
    pool = table[table["scope"] == "pool"]
    assert pool["label"].tolist() == ["support", "oppose", "neither"]
    assert pool["unweighted"].tolist() == [
        pytest.approx((gold_of(tmp_path)["common"] == label).mean()) for label in pool["label"]
    ]
    rounds = table[table["scope"] == "rounds"].set_index("label")
    claims = gold.groupby("claim_id")["round"].agg(set)
    for label, able in {
        "question": {"002", "003"},
        "unclear": {"003", "004"},
        "unrelated": {"003", "004"},
    }.items():
        inside = gold[gold["claim_id"].isin(claims[[numbers <= able for numbers in claims]].index)]
        share = (inside["label"] == label) @ inside["weight"] / inside["weight"].sum()
        assert rounds.loc[label, "share"] == pytest.approx(share)
        assert (rounds.loc[label, "n"], rounds.loc[label, "name"]) == (
            len(inside),
            {"question": "002 to 003"}.get(label, "003 and later"),
        )
        of_claims = table[(table["scope"] == "claim") & (table["label"] == label)]
        assert set(of_claims["name"]) == set(inside["claim_id"])
        left = ", ".join(sorted(set(gold["claim_id"]) - set(inside["claim_id"])))
        assert any(
            said.startswith(f"{label}: ") and f"Claims left out: {left}." in said
            for said in told["sentences"]
        )
    error = covmis(tmp_path, "estimate", "--between", "label:question", "label:support", fails=2)
    assert "could be given in rounds 002 to 003 only" in error["error"]


def test_a_label_that_is_gone_from_study_toml_is_told_until_a_line_says_what_it_became(tmp_path):
    four_rounds(tmp_path)
    toml = tmp_path / "study.toml"
    before = toml.read_text()

    def told() -> list[str]:
        notes = [*covmis(tmp_path, "status")["notes"], *covmis(tmp_path, "estimate")["warnings"].splitlines()]
        return [note for note in notes if "no [[labels.changes]] says what it became" in note]

    assert told() == []
    gone = before.replace('"unrelated"]\nauto', '"elsewhere"]\nauto')
    assert gone.count('"elsewhere"') == 1
    storage.write_text(toml, gone)
    status, estimate = told()
    assert f"warning: {status}" == f"{estimate}."
    assert "[labels] values lack 'unrelated', which round 004 had" in estimate
    line = '[[labels.changes]]\nafter_round = 4\nfrom = "unrelated"\nto = ["elsewhere"]\n'
    storage.write_text(toml, f"{gone}\n{line}")
    assert told() == []
    storage.write_text(toml, f"{gone}\n{line.replace('unrelated', 'never')}")
    notes = " ".join(covmis(tmp_path, "status")["notes"])
    assert "'never' was no label of round 004" in notes


def test_a_release_has_the_labels_in_common_says_so_and_verifies(tmp_path):
    four_rounds(tmp_path)
    told = covmis(tmp_path, "release")
    assert "[labels] values" not in told["warnings"]
    folder = tmp_path / "data" / "release"
    corpus = pd.read_csv(folder / "corpus.csv", encoding="utf-8-sig").set_index("item_id")
    gold = gold_of(tmp_path).set_index("item_id")
    assert corpus["label"].to_dict() == gold["common"].to_dict()
    people = pd.read_csv(folder / "annotations.csv", encoding="utf-8-sig", dtype=str)
    for number, rows in people.groupby("round"):
        assert set(rows["label"]) <= set(SETS[str(number)])
    soft = pd.read_csv(folder / "soft_labels.csv", encoding="utf-8-sig")
    assert [name for name in soft if name.startswith("share_")] == [
        "share_support", "share_oppose", "share_neither", "share_question",
    ]  # fmt: skip
    card = (folder / "card.md").read_text()
    assert "neither = unclear + unrelated in rounds 003 and later." in card
    result = CliRunner().invoke(app, ["verify", str(folder)])
    assert result.exit_code == 0, result.output + str(result.exception)
    facts = json.loads((folder / "facts.json").read_text())
    facts["label_sets"]["003"]["unclear"] = "support"
    (folder / "facts.json").write_text(json.dumps(facts))
    assert "FAILED" in CliRunner().invoke(app, ["verify", str(folder)]).output


def test_a_system_that_gives_todays_labels_is_scored_on_those_in_common(tmp_path):
    four_rounds(tmp_path)
    gold = gold_of(tmp_path).set_index("item_id")
    said = [SETS["004"][at % 4] for at in range(len(gold))]
    scores = open_study(tmp_path).score({"s": pd.Series(said, index=gold.index)}, measures=["accuracy"])
    right = [IN_COMMON[label] == gold for label, gold in zip(said, gold["common"], strict=True)]
    assert scores.value("s", "accuracy") == pytest.approx(sum(right) / len(right))
    assert "question could be given in rounds 002 to 003 only." in scores.notes
    # the same by other names: what a system calls a label is a label of today, whatever became of it
    upper = pd.Series(said, index=gold.index).str.upper()
    named = {label.upper(): label for label in set(said)}
    mapped = open_study(tmp_path).score({"s": upper}, measures=["accuracy"], map=named)
    assert mapped.value("s", "accuracy") == scores.value("s", "accuracy")
    with pytest.raises(InputError, match="map: no label is called 'YES'"):
        open_study(tmp_path).score({"s": upper}, map=named | {"YES": "favor"})


def test_a_sealed_round_is_opened_again_under_its_own_labels(tmp_path):
    four_rounds(tmp_path)
    place = tmp_path / "annotation" / "rounds" / "001"
    item = next(
        item for item in pd.read_parquet(place / "labels.parquet")["item_id"] if not item.endswith("000")
    )
    covmis(tmp_path, "round", "reopen", item, "--reason", "misread", "--round", "1")
    path = place / "sheets" / "a1.csv"
    rows = rows_of(path)
    for row in rows:
        row["label"] = "favor" if row["item_id"] == item else row["label"]
    write_rows(path, rows)
    pulled = covmis(tmp_path, "round", "pull", "--round", "1")
    assert pulled["problems"] == []
    assert covmis(tmp_path, "round", "report", "--round", "1")["round"]["labels"] == list(SETS["001"])


def numbered(*labels: tuple[str, ...]) -> list[LabelSet]:
    """These label sets as those of rounds 001, 002 and so on."""
    return [LabelSet(f"{at:03d}", at, each) for at, each in enumerate(labels, 1)]


def test_what_no_line_says_counts_as_left_out_and_is_told():
    sets = label_sets(numbered(("a", "b"), ("a", "c")), ())
    assert sets.names == ("a", "c", "b")
    assert any("What became of b after round 001 is not said" in note for note in sets.notes)


@pytest.mark.parametrize(
    ("rounds", "changes", "names", "finer", "common"),
    [
        ([("a", "b"), ("a", "b", "c")], [(1, "b", ("b", "c"))], ("a", "b + c"), ("b", "c"), {"b": "b + c"}),
        ([("a", "b", "c"), ("a", "d")], [(1, "b", ("d",)), (1, "c", ("d",))], ("a", "d"), (), {"c": "d"}),
        ([("a", "b"), ("a",), ("a", "b")], [(1, "b", ())], ("a", "b"), (), {"b": "b"}),
        ([("a", "b"), ("b", "c")], [(1, "a", ("b",)), (1, "b", ("c",))], ("b", "c"), (), {"a": "b", "b": "c"}),
        ([("a", "b"), ("a", "c")], [(1, "b", ()) ], ("a", "c", "b"), (), {"b": "b"}),
        ([("a", "b"), ("b", "c")], [(1, "a", ("b",)), (1, "b", ())], ("b", "c", "b (until round 001)"), (), {"b": "b (until round 001)"}),
    ],
)  # fmt: skip
def test_labels_in_common(rounds, changes, names, finer, common):
    sets = label_sets(numbered(*rounds), [LabelChange(*change) for change in changes])
    assert sets.names == names
    assert tuple(each.name for each in sets.finer) == finer
    assert {label: sets.common("001", label) for label in common} == common


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ((1, "x", ("c",)), "'x' was no label of round 001"),
        ((1, "b", ("x",)), "'x', which 'b' of round 001 became"),
    ],
)
def test_a_change_of_labels_that_no_round_had_is_refused(change, told):
    with pytest.raises(InputError, match=told):
        label_sets(numbered(("a", "b"), ("a", "c")), [LabelChange(*change)])


def test_a_guideline_defines_every_label_before_a_round_opens(tmp_path):
    folder = study(tmp_path)
    guideline = folder / "annotation" / "guideline.md"
    guideline.write_text("# favor\n\n- **against**: denies it\n\nWhoever does neither has no stance.\n")
    assert covmis(folder, "guideline", "check")["undefined"] == ["neither"]
    assert "does not define 'neither'" in covmis(folder, "round", "open", "--pilot", fails=2)["error"]
    guideline.write_text(guideline.read_text() + "\nNeither\n-------\nAll else.\n")
    covmis(folder, "round", "open", "--pilot")


def concerned_in(folder: Path, number: str, old: str) -> list[str]:
    """The items of a round to which somebody, a decision among them, gave this label."""
    place = folder / "annotation" / "rounds" / number
    labels, gold = (pd.read_parquet(place / f"{name}.parquet") for name in ("labels", "decisions"))
    given = labels[labels["status"] == "given"]
    return sorted({*given.loc[given["label"] == old, "item_id"], *gold.loc[gold["label"] == old, "item_id"]})


CONCERNED = [("001", "neither"), ("002", "neither"), ("002", "question"), ("003", "question")]


def test_the_guideline_check_names_posts_that_new_and_split_labels_concern(tmp_path):
    four_rounds(tmp_path)
    told = covmis(tmp_path, "guideline", "check")["concerned"]
    assert {(row["round"], row["label"]): row["items"] for row in told} == {
        (number, old): concerned_in(tmp_path, number, old) for number, old in CONCERNED
    }


def test_posts_labelled_again_count_under_the_new_labels_from_the_seal_on(tmp_path):
    four_rounds(tmp_path)
    wanted = {item for number, old in CONCERNED for item in concerned_in(tmp_path, number, old)}
    before = gold_of(tmp_path).set_index("item_id")
    assert is_wanted(open_study(tmp_path))
    assert covmis(tmp_path, "round", "relabel")["items"] == len(wanted)
    assert not is_wanted(open_study(tmp_path)), "it is open"
    assert "is not sealed" in covmis(tmp_path, "round", "relabel", fails=2)["error"]
    covmis(tmp_path, "round", "push", "--round", "l1")
    place = tmp_path / "annotation" / "relabel" / "l001"
    said = {}
    for who in ("a1", "a2"):
        for at, item in enumerate(sorted(wanted)):
            said[item, who] = SETS["004"][(at + (at % 7 == 0 and who == "a2")) % 4]
        fill(place / "sheets" / f"{who}.csv", lambda row, who=who: said[row["item_id"], who])
    covmis(tmp_path, "round", "pull", "--round", "l1")
    covmis(tmp_path, "round", "adjudicate", "--no-discussion", "--round", "l1")
    fill(place / "sheets" / "adjudication.csv", lambda row: "unrelated")
    covmis(tmp_path, "round", "adjudicate", "--no-discussion", "--round", "l1")
    assert covmis(tmp_path, "round", "report", "--round", "l1")["round"]["labels"] == list(SETS["004"])
    old = open_study(tmp_path).gold().set_index("item_id")["label"]
    assert old.to_dict() == before["common"].to_dict(), "not before the seal"
    covmis(tmp_path, "round", "seal", "--round", "l1")

    today = {"favor": "support", "against": "oppose"}
    again = {
        item: said[item, "a1"] if said[item, "a1"] == said[item, "a2"] else "unrelated" for item in wanted
    }
    expected = {item: again.get(item) or today.get(label, label) for item, label in before["label"].items()}
    gold = open_study(tmp_path).gold().set_index("item_id")
    assert gold["label"].to_dict() == expected
    assert gold["how"][before["how"] == "audited"].eq("audited").all()
    estimates = pd.DataFrame(covmis(tmp_path, "estimate")["estimates"])
    pool = estimates[(estimates["estimand"] == "unique_posts") & (estimates["scope"] == "pool")]
    assert set(pool["label"]) == set(SETS["004"])
    assert "rounds" not in set(estimates["scope"]), "every round could give every label"
    summary = json.loads((tmp_path / "annotation" / "rounds" / "summary.json").read_text())
    pairs = []
    for number in SETS:
        items = pd.read_parquet(tmp_path / "annotation" / "rounds" / number / "items.parquet").set_index(
            "item_id"
        )
        labels = pd.read_parquet(tmp_path / "annotation" / "rounds" / number / "labels.parquet")
        labels = labels[(labels["phase"] == "independent") & (labels["status"] == "given")]
        for item, rows in labels.groupby("item_id"):
            if not items.loc[item, "automatic_label"]:
                own = dict(zip(rows["annotator"], rows["label"], strict=True))
                pairs.append(
                    tuple(
                        said[item, who] if item in wanted else today.get(own[who], own[who])
                        for who in ("a1", "a2")
                    )
                )
    assert summary["kappa"]["value"] == pytest.approx(cohen(pairs))
    assert "were labelled again in l001 (seal " in " ".join(summary["notes"])
    covmis(tmp_path, "release")
    result = CliRunner().invoke(app, ["verify", str(tmp_path / "data" / "release")])
    assert result.exit_code == 0, result.output + str(result.exception)
    assert "no post of a sealed round" in covmis(tmp_path, "round", "relabel", fails=2)["error"]
    assert not is_wanted(open_study(tmp_path)), "it is done"
    assert (
        "Round l001: valid" in CliRunner().invoke(app, ["round", "verify", "--study", str(tmp_path)]).stdout
    )


def test_for_a_new_label_the_lead_names_posts_or_all(tmp_path):
    study(tmp_path)
    covmis(tmp_path, "round", "open")
    covmis(tmp_path, "round", "push")
    for who in ("a1", "a2"):
        fill(tmp_path / "annotation" / "rounds" / "001" / "sheets" / f"{who}.csv", lambda row: "neither")
    covmis(tmp_path, "round", "pull")
    covmis(tmp_path, "round", "seal")
    path = tmp_path / "study.toml"
    path.write_text(path.read_text() + '[labels]\nvalues = ["favor", "against", "neither", "question"]\n')
    write_guideline(tmp_path)
    assert "New labels: question" in covmis(tmp_path, "round", "relabel", fails=2)["error"]
    people = pd.read_parquet(tmp_path / "annotation" / "rounds" / "001" / "labels.parquet")[
        "item_id"
    ].nunique()
    item = pd.read_parquet(tmp_path / "annotation" / "rounds" / "001" / "labels.parquet")["item_id"].iloc[0]
    opened = covmis(tmp_path, "round", "relabel", item)
    assert opened["items"] == 1
    import shutil

    shutil.rmtree(tmp_path / "annotation" / "relabel")
    assert covmis(tmp_path, "round", "relabel", "--all")["items"] == people
