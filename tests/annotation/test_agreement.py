"""The agreement report's numbers: the worked table, degenerate tables in words, rounds, drift, other schemes."""

from __future__ import annotations

import itertools
import json
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from covmis_build.annotation.agreement import agreement
from covmis_build.annotation.group_agreement import by_round, homogeneity
from covmis_build.annotation.label_matrix import read_labels_file
from covmis_build.annotation.report import Findings, as_csv, as_json, as_latex
from covmis_build.cli import app
from covmis_build.errors import InputError
from covmis_build.stats.chi_square import bowker, stuart_maxwell
from covmis_build.stats.welch import Measured, equal

WORKED = np.array([[52, 4, 9], [3, 31, 6], [7, 5, 27]])
LABELS = ["favor", "against", "neither"]


def long(table, labels, claims=12, rounds=2):
    """A table as rows of labels, spread over claims and rounds in a fixed, mixed order."""
    cells = np.repeat(np.arange(table.size), np.asarray(table).ravel())
    np.random.default_rng(3).shuffle(cells)
    rows = []
    for at, cell in enumerate(cells):
        where = {"claim": f"c{at % claims:02d}", "round": f"{at * rounds // len(cells) + 1:03d}"}
        for who, code in (("a1", cell // len(labels)), ("a2", cell % len(labels))):
            rows.append({"item": f"i{at:04d}", "annotator": who, "label": labels[code], **where})
    return pd.DataFrame(rows)


def test_the_worked_table_with_its_intervals():
    found = agreement(long(WORKED, LABELS), labels=LABELS).to_dict()
    assert found["raw_agreement"]["value"] == pytest.approx(0.7639, abs=5e-5)
    assert found["kappa"]["value"] == pytest.approx(0.63647, abs=5e-6)
    assert (round(found["kappa"]["low"], 3), round(found["kappa"]["high"], 3)) == (0.517, 0.732)
    assert found["kappa"]["words"] == "moderate to substantial"
    assert found["scott_pi"]["value"] == pytest.approx(0.63635, abs=5e-6)
    assert found["pabak"]["value"] == pytest.approx(0.64583, abs=5e-6)
    assert found["ac1"]["value"] == pytest.approx(0.65039, abs=5e-6)
    assert found["ac1"]["low"] < found["ac1"]["value"] < found["ac1"]["high"]
    assert found["alpha"]["nominal"]["value"] == pytest.approx(0.63761, abs=5e-6)
    assert found["kappa"]["low_by_claims"] < found["kappa"]["value"] < found["kappa"]["high_by_claims"]
    assert found["pairs"][0]["table"] == WORKED.tolist()
    assert found["weighted_kappa"] is None
    assert set(found["alpha"]) == {"nominal"}


def test_an_order_adds_what_needs_one_and_moves_the_table():
    order = ["favor", "neither", "against"]
    found = agreement(long(WORKED, LABELS), labels=LABELS, order=order).to_dict()
    assert found["kappa"]["value"] == pytest.approx(0.63647, abs=5e-6)
    assert set(found["weighted_kappa"]) == {"linear", "quadratic"}
    assert set(found["alpha"]) == {"nominal", "ordinal", "interval"}
    assert found["pairs"][0]["table"] == WORKED[np.ix_([0, 2, 1], [0, 2, 1])].tolist()


def frame(*rows):
    return pd.DataFrame(rows, columns=["item", "annotator", "label"])


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([], "no labels yet"),
        ([("1", "a1", "favor")], "agreement needs two annotators"),
        ([("1", "a1", "favor"), ("2", "a2", "favor")], "cannot be computed"),
        (
            [("1", "a1", "favor"), ("1", "a2", "favor"), ("2", "a1", "favor"), ("2", "a2", "favor")],
            "All annotators gave",
        ),
        ([("1", "a1", "favor"), ("1", "a2", "favor")], "All annotators gave"),
        (
            [("1", "a1", "favor"), ("2", "a1", "neither"), ("1", "a2", None), ("2", "a2", "")],
            "needs two annotators",
        ),
    ],
)
def test_degenerate_tables_give_words(rows, told):
    found = agreement(frame(*rows), labels=LABELS)
    numbers = found.to_dict()
    assert numbers["kappa"]["value"] is None
    assert any(told in note for note in found.notes)
    assert told in numbers["kappa"]["why"]
    text = as_json(numbers)
    assert "NaN" not in text
    assert json.loads(text)["kappa"]["value"] is None


def test_one_item_with_two_labels_has_no_interval():
    found = agreement(frame(("1", "a1", "favor"), ("1", "a2", "against")), labels=LABELS).to_dict()
    assert found["kappa"]["value"] == 0
    assert found["kappa"]["low"] is None or found["kappa"]["low"] <= 0
    as_json(found)


labelled = st.integers(1, 4).flatmap(
    lambda people: st.lists(
        st.lists(st.sampled_from(["", "w", "x", "y", "z"]), min_size=people, max_size=people), max_size=14
    )
)


@given(labelled, st.booleans())
@settings(max_examples=15)
def test_whatever_comes_in_the_report_has_numbers_in_range_or_words(rows, ordered):
    data = pd.DataFrame(
        [
            {
                "item": str(at),
                "annotator": f"p{who}",
                "label": label,
                "claim": str(at % 4),
                "round": str(at % 2),
                "kind": "k",
            }
            for at, row in enumerate(rows)
            for who, label in enumerate(row)
        ],
        columns=["item", "annotator", "label", "claim", "round", "kind"],
    )
    scheme = ["w", "x", "y", "z"]
    found = agreement(data, labels=scheme, order=scheme if ordered else None)
    numbers = found.to_dict()
    if numbers["kappa"]["value"] is None:
        assert found.notes
    else:
        # Fleiss' generalised kappa may be below -1 where labels are missing: who labelled alone counts for chance only
        lowest = -1 if all(all(row) for row in rows) else -float("inf")
        assert lowest <= numbers["kappa"]["value"] <= 1
    as_json(numbers)
    as_latex(found, study="a & b")
    as_csv(Findings(found))


def test_three_people_get_fleiss_and_every_pair():
    data = long(WORKED, LABELS)
    third = data[data["annotator"] == "a1"].assign(annotator="a3")
    found = agreement(pd.concat([data, third], ignore_index=True), labels=LABELS).to_dict()
    assert found["kappa"]["name"] == "Fleiss' kappa"
    assert [(one["first"], one["second"]) for one in found["pairs"]] == [
        ("a1", "a2"),
        ("a1", "a3"),
        ("a2", "a3"),
    ]
    assert found["pairs"][1]["kappa"]["value"] == 1
    assert found["scott_pi"] is None
    assert found["conger_kappa"]["name"] == "Conger's kappa"
    ordered = agreement(pd.concat([data, third], ignore_index=True), order=LABELS)
    told = [figure.name for figure in ordered.figures]
    assert {"Conger's kappa, quadratic", "Gwet's AC2, linear", "Gwet's AC1"} <= set(told)
    accuracy = {one["annotator"]: one["estimated_accuracy"] for one in found["dawid_skene"]["annotators"]}
    assert accuracy["a1"] == accuracy["a3"] > accuracy["a2"]


@given(st.lists(st.lists(st.integers(1, 30), min_size=3, max_size=3), min_size=3, max_size=3).map(np.array))
@settings(max_examples=30)
def test_bowker_and_stuart_maxwell_are_their_definitions(table):
    pairs = [(table[a, b], table[b, a]) for a, b in ((0, 1), (0, 2), (1, 2))]
    statistic = sum((there - back) ** 2 / (there + back) for there, back in pairs)
    assert (bowker(table).statistic, bowker(table).df) == (pytest.approx(statistic, abs=1e-9), 3)
    # Fleiss and Everitt (1971): for three labels, from the pairs' mean confusions and the margins' differences
    d = table.sum(1) - table.sum(0)
    n = {frozenset((a, b)): (table[a, b] + table[b, a]) / 2 for a, b in ((0, 1), (0, 2), (1, 2))}
    above = sum(n[frozenset({0, 1, 2} - {at})] * d[at] ** 2 for at in range(3))
    n01, n02, n12 = (n[frozenset(two)] for two in ((0, 1), (0, 2), (1, 2)))
    below = 2 * (n01 * n02 + n01 * n12 + n02 * n12)
    assert (stuart_maxwell(table).statistic, stuart_maxwell(table).df) == (
        pytest.approx(above / below, abs=1e-9),
        2,
    )


def test_labels_that_nobody_confused_cost_no_degree_of_freedom():
    table = np.array([[5.0, 4, 0, 0], [1, 5, 0, 0], [0, 0, 3, 0], [0, 0, 0, 0]])
    assert (bowker(table).statistic, bowker(table).df) == (pytest.approx(9 / 5), 1)
    assert (stuart_maxwell(table).statistic, stuart_maxwell(table).df) == (pytest.approx(9 / 5), 1)
    assert bowker(np.diag([3.0, 4])) is None
    assert stuart_maxwell(np.diag([3.0, 4])) is None


def test_rounds_that_differ_are_told_apart_and_small_ones_are_warned_of():
    good = long(np.array([[60, 3], [3, 60]]), ["x", "y"]).assign(round="001")
    bad = long(np.array([[40, 25], [25, 40]]), ["x", "y"]).assign(round="002")
    bad["item"] = "b" + bad["item"]
    found = agreement(pd.concat([good, bad], ignore_index=True), labels=["x", "y"])
    assert found.to_dict()["homogeneity"]["p"] < 0.001
    assert any("differ significantly (Welch's test over claims" in note for note in found.notes)
    assert any(
        "Rounds of 128 posts of 12 claims, as these on average, find a difference of 0.2" in note
        for note in found.notes
    )


def rounds_of_claims(rng, rounds, claims, posts):
    """Two people who err alike in all rounds, of claims that differ in their labels and in how hard they are."""
    rows = []
    for round_, claim in itertools.product(range(rounds), range(claims)):
        labels, error = rng.dirichlet([1.2, 1.2, 0.6]), rng.uniform(0.02, 0.45)
        for post, person in itertools.product(range(posts), ("a", "b")):
            true = np.random.default_rng([round_, claim, post]).choice(3, p=labels)
            said = true if rng.random() > error else rng.choice(3)
            rows.append(
                (f"{round_}-{claim}-{post}", person, "xyz"[said], f"{round_}-{claim}", f"{round_:03}")
            )
    return pd.DataFrame(rows, columns=["item", "annotator", "label", "claim", "round"])


def test_rounds_of_other_claims_are_compared_over_claims():
    """Nothing differs but which claims a round has: over items 1 of 4 such studies was called different."""
    alarms = []
    for seed in range(40):
        rows = rounds_of_claims(np.random.default_rng(seed), 4, 8, 25)
        test, _ = homogeneity(by_round(rows, list("xyz")))
        assert (test.over, test.rounds) == ("claims", 4)
        alarms.append(test.p < 0.05)
    assert sum(alarms) <= 5
    few = rounds_of_claims(np.random.default_rng(1), 2, 2, 30)
    found = agreement(few, labels=list("xyz"))
    assert found.homogeneity is None
    assert (
        "Whether the kappas of 2 rounds differ was not tested: too few claims decide all but 0 of them."
        in found.notes
    )


def test_welch_by_hand():
    measured = [Measured(0.5, 0.01, 4.0), Measured(0.7, 0.004, 9.0), Measured(0.4, 0.02, 6.5)]
    weights = [1 / each.variance for each in measured]
    mean = sum(w * each.value for w, each in zip(weights, measured, strict=True)) / sum(weights)
    part = sum((1 - w / sum(weights)) ** 2 / each.degrees for w, each in zip(weights, measured, strict=True))
    spread = sum(w * (each.value - mean) ** 2 for w, each in zip(weights, measured, strict=True)) / 2
    test, common = equal(measured)
    assert common == pytest.approx(mean)
    assert test.statistic == pytest.approx(spread / (1 + 2 * (3 - 2) / (3**2 - 1) * part))
    assert (test.df, test.df_within) == (2, pytest.approx((3**2 - 1) / (3 * part)))


def test_drift_is_seen_in_the_person_who_drifts():
    rows = []
    for number in range(3):
        for at in range(60):
            truth = "x" if at % 2 else "y"
            moved = "x" if number == 2 and at % 4 == 0 else truth
            rows += [
                (f"{number}-{at}", "a1", truth, f"{number}"),
                (f"{number}-{at}", "a2", moved, f"{number}"),
            ]
            if at % 10 == 0:
                rows[-1] = (f"{number}-{at}", "a2", "x" if truth == "y" else "y", f"{number}")
    data = pd.DataFrame(rows, columns=["item", "annotator", "label", "round"])
    found = agreement(data, labels=["x", "y"]).drift
    assert next(one for one in found if one.annotator == "a2" and one.label == "x").p < 0.05


def test_bad_input_names_the_row():
    with pytest.raises(InputError, match=r"row 3: unknown label 'pro'.*favor"):
        agreement(frame(("1", "a1", "favor"), ("1", "a2", "pro")), labels=LABELS)
    with pytest.raises(InputError, match="row 3: a1 labels the item 1 twice"):
        agreement(frame(("1", "a1", "favor"), ("1", "a1", "favor")), labels=LABELS)
    with pytest.raises(InputError, match="the column annotator is missing"):
        agreement(pd.DataFrame({"item": [], "label": []}))


def test_the_command_needs_no_study(tmp_path):
    path = tmp_path / "labels.csv"
    long(WORKED, LABELS).to_csv(path, index=False)
    outputs = [tmp_path / "r.html", tmp_path / "r.tex"]
    words = ["agreement", str(path), "--labels", "favor,against,neither"]
    result = CliRunner().invoke(
        app, [*words, "--json", "--html", str(outputs[0]), "--latex", str(outputs[1])]
    )
    assert result.exit_code == 0
    assert round(json.loads(result.stdout)["kappa"]["value"], 5) == 0.63647
    assert "Cohen&#39;s kappa" in outputs[0].read_text()
    assert r"\begin{tabular}" in outputs[1].read_text()
    shown = CliRunner().invoke(app, words)
    assert "moderate to substantial" in shown.stdout
    path.write_text("item,annotator,label\n1,a1,x\n1,a1,y\n")
    failed = CliRunner().invoke(app, ["agreement", str(path)])
    assert "labels.csv" in str(failed.exception)
    assert "row 3" in str(failed.exception)
    assert read_labels_file(path)["label"].tolist() == ["x", "y"]


def test_long_and_wide_frames_with_columns_of_any_name():
    rows = long(WORKED, LABELS)
    expected = agreement(rows, labels=LABELS).to_dict()
    names = {"item": "post", "annotator": "who", "label": "stance", "claim": "about", "round": "turn"}
    renamed = rows.rename(columns=names).assign(item="something else", label=3)
    given = {name: names[name] for name in names}
    assert agreement(renamed, labels=LABELS, **given).to_dict() == expected
    wide = rows.pivot_table(
        index=["item", "claim", "round"], columns="annotator", values="label", aggfunc="first"
    )
    assert agreement(wide.reset_index(), labels=LABELS).to_dict() == expected
    by_index = wide.reset_index().set_index("item").drop(columns="claim")
    two = agreement(by_index, annotator=["a1", "a2"], labels=LABELS, round="round")
    assert two.kappa.value == expected["kappa"]["value"]
    assert agreement(rows.to_dict("list"), labels=LABELS).to_dict() == expected


def test_whole_numbers_stay_whole_beside_gaps():
    wide = pd.DataFrame({"item": [1, 2, 3], "x": [1, 2, None], "y": [1, 2, 2]})
    assert agreement(wide).to_dict()["labels"] == ["1", "2"]


@pytest.mark.parametrize(
    ("wrong", "more", "told"),
    [
        (pd.DataFrame({"item": [1], "annotator": ["a"]}), {}, "the column label is missing. Columns: item, annotator"),
        (pd.DataFrame({"a": [1], "b": [1]}), {}, "the column item is missing"),
        (pd.DataFrame({"item": [1], "x": ["f"]}), {}, "the column annotator is missing"),
        (pd.DataFrame({"item": [1], "x": ["f"], "y": ["f"]}), {"annotator": ["x", "z"]}, "the column z is missing"),
        (frame(("1", "a1", "favor")), {"claim": "claim_id"}, "the column claim_id is missing"),
        (frame(("1", None, "favor")), {}, "row 2: the column annotator has an empty cell"),
        (3, {}, "this is no table"),
    ],
)  # fmt: skip
def test_a_wrong_frame_is_one_line_that_names_the_column(wrong, more, told):
    with pytest.raises(InputError) as error:
        agreement(wrong, **more)
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_agreement_is_an_object_with_one_named_interval():
    compared = agreement(long(WORKED, LABELS), labels=LABELS)
    kappa = compared.kappa
    assert (kappa.name, kappa.interval.over) == ("Cohen's kappa", "claims")
    record = compared.to_dict()["kappa"]
    assert (kappa.interval.low, kappa.interval.high) == (record["low_by_claims"], record["high_by_claims"])
    assert (
        str(kappa) == "Cohen's kappa 0.64 (0.50 to 0.74, 95% interval over claims: moderate to substantial)"
    )
    few = agreement(long(WORKED, LABELS, claims=2), labels=LABELS).kappa
    assert few.interval.over == "items"
    rows = compared.to_frame().set_index("name")
    assert rows.loc["Cohen's kappa", ["low", "high"]].tolist() == [kappa.interval.low, kappa.interval.high]
    assert "over claims" in compared._repr_html_()


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("1,p,favor,c\n1,q,null,c\n", r"row 3: the label is 'null'"),
        ("1,p,favor,c\n1,q,NA,c\n", r"row 3: the label is 'NA'\. Leave the cell empty"),
        ("1,p,favor,c\n1,q,Favor,c\n", r"row 3: the labels favor and Favor differ only in capitals"),
        ("1.25E+18,p,favor,c\n2,q,favor,c\n", r"the id 1\.25E\+18 was broken by a spreadsheet"),
        ("1,p,favor,c\n1,q,favor,d\n2,p,against,c\n2,q,against,c\n", "the item 1 has two claims, c and d"),
    ],
)  # fmt: skip
def test_what_would_count_as_another_label_or_claim_is_refused(tmp_path, rows, words):
    path = tmp_path / "labels.csv"
    path.write_text(f"item,annotator,label,claim\n{rows}")
    with pytest.raises(InputError, match=words):
        agreement(read_labels_file(path))


def test_labels_with_other_capitals_are_the_declared_ones_as_in_sheets():
    wide = pd.DataFrame({"item": [1, 2, 3], "x": ["F", "a", "f"], "y": ["f", "A", "a"]})
    with pytest.raises(
        InputError,
        match=r"row 3: the labels a and A differ only in capitals|the labels F and f differ only in capitals",
    ):
        agreement(wide)
    joined = agreement(wide, labels=["f", "a"])
    assert joined.labels == ["f", "a"]
    assert joined.raw.value == pytest.approx(2 / 3)
    apart = agreement(wide.assign(x=["F", "f", "F"], y=["F", "F", "f"]), labels=["F", "f"])
    assert apart.raw.value == pytest.approx(1 / 3), "two labels if both are declared"


@pytest.mark.parametrize(("rounded", "refused"), [(1, False), (60, True)])
def test_one_id_that_happens_to_end_in_zeros_stands_in_a_row_for_each_annotator(tmp_path, rounded, refused):
    path = tmp_path / "labels.csv"
    items = [1252934402983700000 + (0 if number < rounded else 7) + number * 10_000 for number in range(60)]
    path.write_text(
        "item,annotator,label\n" + "".join(f"{item},{who},a\n" for item in items for who in "pqr")
    )
    with (
        pytest.raises(InputError, match=r"all 60 long ids.*zeros after the 15th digit")
        if refused
        else nullcontext()
    ):
        assert len(read_labels_file(path)) == 180


def test_names_of_items_with_an_e_among_digits_are_no_broken_ids(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("item,annotator,label\n123e4567,p,a\n123e4567,q,a\n3f2a91bc,p,b\n3f2a91bc,q,b\n")
    assert agreement(read_labels_file(path)).kappa.value == 1


def test_blanks_around_a_label_or_an_empty_claim_mean_nothing():
    frame = pd.DataFrame({"item": [1, 2, 3, 4], "p": list("xyxy"), "q": [" x", "y ", "x", "y"]})
    assert agreement(frame).kappa.value == 1
    claims = pd.DataFrame({
        "item": list("abcdefgh") * 2, "annotator": ["p"] * 8 + ["q"] * 8, "label": list("xyxyxyxy") * 2,
        "claim": ["1", "2", "3", "", "1", "2", "3", " "] * 2,
    })  # fmt: skip
    assert agreement(claims).to_dict()["claims"] is None
    assert agreement(claims).kappa.interval.over == "items"
    missing = agreement(
        pd.DataFrame({"item": [1, 2, 3], "p": list("xyx"), "q": list("xyy"), "r": ["x", None, "y"]})
    )
    assert missing.kappa.name == "Fleiss' kappa, generalised (Gwet)"


def test_labels_of_a_workbook_are_those_of_the_same_table_in_csv(tmp_path):
    """Whichever of its sheets they stand in."""
    book = pytest.importorskip("openpyxl").Workbook()
    book.active.append(["What this is"])
    page = book.create_sheet("labels")
    rows = [["item", "annotator", "label", "seconds"], ["p1", "a1", "x", 2.5], ["p1", "a2", "y", None]]
    for row in rows:
        page.append(row)
    book.save(tmp_path / "labels.xlsx")
    (tmp_path / "labels.csv").write_text("item,annotator,label,seconds\np1,a1,x,2.5\np1,a2,y,\n")
    in_csv, in_xlsx = (read_labels_file(tmp_path / name) for name in ("labels.csv", "labels.xlsx"))
    pd.testing.assert_frame_equal(in_csv.iloc[:, :4], in_xlsx.iloc[:, :4])


def test_a_header_alone_is_named(tmp_path):
    (tmp_path / "labels.csv").write_text("item,annotator,label\n")
    with pytest.raises(InputError, match="has a header and no labels"):
        read_labels_file(tmp_path / "labels.csv")


WIDE = pd.DataFrame({"item": range(6), "a": list("ffaanf"), "b": list("ffanna")})


@pytest.mark.parametrize(
    "frame",
    [
        WIDE.set_index("item"),
        WIDE.rename(columns={"item": "item_id"}),
        WIDE.melt("item", ["a", "b"], "annotator", "label").rename(columns={"item": "item_id"}),
    ],
    ids=["index", "item_id", "long with item_id"],
)
def test_items_are_found_where_covmis_writes_them(frame):
    assert agreement(frame).kappa.value == agreement(WIDE).kappa.value


def test_claims_are_no_annotator():
    compared = agreement(WIDE.assign(claim_id=[1, 1, 2, 2, 3, 3]))
    assert (compared.annotators, compared.claims) == (["a", "b"], 3)


@pytest.mark.parametrize("column", [[f"text {at}" for at in range(6)], "x"], ids=["texts", "one source"])
def test_a_column_without_any_of_the_labels_is_no_annotator(column):
    with pytest.raises(InputError, match=r"the column more has none of the labels .*annotator=\['a', 'b'\]"):
        agreement(WIDE.assign(more=column))
    assert agreement(WIDE.assign(more=column), annotator=["a", "b"]).annotators == ["a", "b"]
    never_the_same = WIDE.assign(a="f", b="n")
    assert agreement(never_the_same).raw.value == 0


def test_a_releases_annotations_count_as_far_as_they_are_independent(tmp_path):
    path = tmp_path / "annotations.csv"
    path.write_text(
        "item_id,phase,annotator,label\n"
        "a,independent,p1,x\na,independent,p2,y\na,discussion,together,y\n"
        "b,independent,p1,y\nb,independent,p2,y\n"
    )
    of_file, of_frame = agreement(read_labels_file(path)), agreement(pd.read_csv(path))
    assert of_file.annotators == of_frame.annotators == ["p1", "p2"]
    assert of_file.raw.value == of_frame.raw.value == 0.5
    without = pd.read_csv(path).drop(index=2).assign(phase=None)  # a column of this name that says nothing
    assert agreement(without).raw.value == 0.5


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(st.sampled_from("xyz"), st.sampled_from("xyz"), st.integers(0, 4)), min_size=4, max_size=40
    )
)
def test_who_is_named_first_makes_no_difference(rows):
    def figures(first, second):
        frame = [
            (item, who, label, claim)
            for item, (one, other, claim) in enumerate(rows)
            for who, label in ((first, one), (second, other))
        ]
        return agreement(
            pd.DataFrame(frame, columns=["item", "annotator", "label", "claim"]), labels=list("xyz")
        ).figures

    for one, other in zip(figures("a", "b"), figures("b", "a"), strict=True):
        for end in ("low", "high", "low_by_claims", "high_by_claims"):
            assert (getattr(one, end) or 0) == pytest.approx(getattr(other, end) or 0, rel=1e-9)
