"""`covmis evaluate` from the outside."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import covmis_build as covmis
from covmis_build.cli.evaluate import app
from covmis_build.errors import CovmisError, InputError

LABELS = "favor,against,neither"


@pytest.fixture
def run():
    def runner(*arguments):
        result = CliRunner().invoke(app, [str(one) for one in arguments])
        if isinstance(result.exception, CovmisError):
            raise result.exception
        assert result.exit_code == 0, (result.output, result.exception)
        return result

    return runner


@pytest.fixture
def files(tmp_path):
    """A released corpus, and three systems: by item, by post, and by native id."""
    rng = np.random.default_rng(4)
    labels = LABELS.split(",")
    gold = rng.choice(labels, 120, p=[0.5, 0.4, 0.1])
    rows = []
    for at, label in enumerate(gold):
        claim = str(at % 9)
        rows.append(
            {
                "item_id": f"{claim}|x:{at}", "claim_id": claim, "post_id": f"x:{at}", "native_id": str(at),
                "kind": ["title", "keywords"][at % 2], "label": label, "how": "agreed",
                "p_claim": 1 - at % 2 / 2, "p_sample": rng.uniform(0.2, 1), "created_at": f"2020-0{1 + at % 7}-01T00:00:00Z",
                "text": f"post number {at} says {label} about claim {claim}",
            }
        )  # fmt: skip
    with (tmp_path / "corpus.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    for name, column, skill in (("a", "item_id", 0.8), ("b", "post_id", 0.6), ("c", "native_id", 0.3)):
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([column, "prediction"])
            for row in rows[::-1]:
                said = row["label"] if rng.random() < skill else rng.choice(labels)
                writer.writerow([row[column], said])
    return tmp_path


def test_scoring_the_released_corpus(run, files) -> None:
    result = run(
        "score", files / "corpus.csv", f"mine={files / 'a.csv'}", "--labels", LABELS, "--by", "kind,month",
        "--measures", "accuracy,macro_f1", "--json",
    )  # fmt: skip
    made = json.loads(result.stdout)
    assert made["clusters"] == 9
    rows = made["scores"]
    whole = [row for row in rows if row["group_by"] == ""]
    assert [row["measure"] for row in whole] == ["accuracy", "macro_f1"]
    for row in whole:
        assert row["low"] < row["value"] < row["high"]
        assert row["weighted_low"] < row["weighted"] < row["weighted_high"]
        assert row["balanced_low"] < row["balanced"] < row["balanced_high"]
    assert {row["group"] for row in rows if row["group_by"] == "month"} == {
        *(f"2020-0{at}" for at in range(1, 8)),
        "mean of 7",
    }
    assert len(made["classes"]) == 3
    assert np.sum(made["confusions"][0]["matrix"]) == 120


def test_each_system_may_use_another_of_golds_ids(run, files) -> None:
    names = ("a", "b", "c")
    result = run(
        "score", files / "corpus.csv", *(files / f"{name}.csv" for name in names), "--labels", LABELS,
        "--measures", "accuracy", "--json",
    )  # fmt: skip
    a, b, c = (row["value"] for row in json.loads(result.stdout)["scores"])
    assert a > b > c


def test_files_without_ids_are_joined_by_position_only_if_told(run, files) -> None:
    gold, said = files / "corpus.csv", files / "plain.txt"
    with gold.open(newline="") as file:
        rows = list(csv.DictReader(file))
    said.write_text("\n".join(row["label"] for row in rows))
    with pytest.raises(
        InputError, match=r"plain\.txt: has no ids that corpus\.csv has \(item_id\).*--by-position"
    ):
        run("score", gold, said)
    made = run("score", gold, said, "--by-position", "--measures", "accuracy", "--json")
    assert json.loads(made.stdout)["scores"][0]["value"] == 1
    with pytest.raises(InputError, match=r"plain\.txt: has no ids that a\.csv has"):
        run("score", said, files / "a.csv")
    with pytest.raises(InputError, match=r"no column in common with plain\.txt but labels"):
        run("score", said, said)
    lines = run("score", said, said, "--by-position", "--measures", "accuracy", "--json")
    assert json.loads(lines.stdout)["scores"][0]["value"] == 1
    said.write_text("favor\n")
    with pytest.raises(InputError, match="1 prediction for 120 items"):
        run("score", gold, said, "--by-position")


def test_parts_without_ids_are_refused_where_items_have_some(run, files) -> None:
    parts = files / "parts.csv"
    parts.write_text("row,part\n" + "".join(f"{at},train\n" for at in range(120)))
    with pytest.raises(InputError, match=r"parts\.csv: has no ids that corpus\.csv has \(item_id\)"):
        run("leakage", files / "corpus.csv", "--parts", parts)


def test_an_index_beside_ids_has_no_name_and_is_no_id(run, files) -> None:
    """As pandas' `to_csv` writes predictions, unless told not to."""
    bare = run("score", files / "corpus.csv", files / "b.csv", "--json").stdout
    head, *rows = (files / "b.csv").read_text().splitlines()
    (files / "b.csv").write_text("\n".join([f",{head}", *(f"{at},{row}" for at, row in enumerate(rows))]))
    assert run("score", files / "corpus.csv", files / "b.csv", "--json").stdout == bare


def test_rows_of_broken_ids_are_counted_as_the_file_has_them(run, files) -> None:
    said = files / "said.jsonl"
    said.write_text(
        '{"tweet_id": 1.25, "prediction": "favor"}\n{"tweet_id": 1.25e+18, "prediction": "favor"}\n'
    )
    with pytest.raises(InputError, match=r"said\.jsonl: ids in tweet_id have more digits than numbers keep"):
        run("score", files / "corpus.csv", said)


def test_labels_that_nobody_declared_are_named_with_file_and_row(run, files) -> None:
    said = files / "a.csv"
    lines = said.read_text().splitlines()
    said.write_text("\n".join([*lines[:7], lines[7].rpartition(",")[0] + ",FAVOR", *lines[8:]]))
    with pytest.raises(
        InputError,
        match=r"a\.csv, row 8: has the unknown label 'FAVOR'\. If they mean the same: --map FAVOR=favor",
    ):
        run("score", files / "corpus.csv", said, "--labels", LABELS)


@pytest.mark.parametrize("column", ["id", "Item ID", "ITEM_ID"])
def test_ids_under_another_name_and_answers_in_json_join(run, files, column) -> None:
    said = files / "a.csv"
    with said.open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    options = ("--labels", LABELS, "--measures", "accuracy", "--json")

    def scored(path):
        return json.loads(run("score", files / "corpus.csv", path, *options).stdout)["scores"]

    wanted = scored(said)
    spaced = "sep=;\n" + f"{column};prediction\n" + "".join(f"{one}; {label} \n" for one, label in rows)
    said.write_text(spaced, "utf-8-sig")
    assert scored(said) == wanted
    (files / "a.json").write_text(json.dumps(dict(rows)))
    assert scored(files / "a.json") == wanted


def test_a_null_prediction_is_a_missing_one(run, files) -> None:
    with (files / "a.csv").open(newline="") as file:
        rows = dict(list(csv.reader(file))[1:])
    gone = next(iter(rows))
    (files / "a.json").write_text(json.dumps({**rows, gone: None}))
    command = ("score", files / "corpus.csv", files / "a.json", "--labels", LABELS)
    with pytest.raises(InputError, match=re.escape(f"a has no prediction for 1 of 120 items: {gone}")):
        run(*command)
    run(*command, "--missing", "wrong")


def test_words_and_files(run, files) -> None:
    outs = [option for kind in ("html", "csv", "json", "tex") for option in ("--out", files / f"out.{kind}")]
    same_ids = files / "a2.csv"
    same_ids.write_text((files / "a.csv").read_text())
    result = run(
        "score", files / "corpus.csv", f"one={files / 'a.csv'}", f"one={same_ids}", f"<b>&={files / 'a.csv'}",
        "--labels", LABELS, "--order", "favor,neither,against", *outs,
    )  # fmt: skip
    assert "macro" in result.stdout or "mF1" in result.stdout
    assert "None describes public opinion" in result.stdout
    page = (files / "out.html").read_text()
    assert "&lt;b&gt;&amp;" in page
    assert "<b>&" not in page
    assert "<svg" in page
    latex = (files / "out.tex").read_text()
    assert r"\toprule" in latex
    assert r"\textless{}b\textgreater{}\&" in latex
    assert r"$\pm$" in latex
    rows = list(csv.DictReader((files / "out.csv").read_text("utf-8-sig").splitlines()))
    stored = json.loads((files / "out.json").read_text())["scores"]
    assert len(rows) == len(stored) > 30
    assert float(rows[0]["value"]) == stored[0]["value"]


def test_comparing(run, files) -> None:
    gold = files / "corpus.csv"
    options = ("--labels", LABELS, "--replicates", 200, "--out", files / "c.html", "--out", files / "c.tex")
    by = [files / "a.csv"]
    (files / "worse.csv").write_text(
        "item_id,prediction\n"
        + "".join(f"{line.split(',')[0]},favor\n" for line in (files / "a.csv").read_text().splitlines()[1:])
    )
    by.append(files / "worse.csv")
    words = run("compare", gold, *by, "--measure", "macro_f1", *options).stdout
    assert "a is better than worse in Macro F1" in words
    assert "over 9 claims" in words
    for test in ("randomisation", "tukey"):
        found = json.loads(run("compare", gold, *by, "--test", test, "--json", *options).stdout)[
            "comparisons"
        ]
        assert found[0]["p"] <= 0.05
        assert found[0]["test"] == test
    assert "is better than" in (files / "c.html").read_text()
    assert r"\bottomrule" in (files / "c.tex").read_text()


def test_meta(run, files) -> None:
    systems = []
    rng = np.random.default_rng(0)
    for at in range(4):
        path = files / f"s{at}.csv"
        lines = (files / "a.csv").read_text().splitlines()
        kept = [line if rng.random() < 0.3 * at else f"{line.split(',')[0]},neither" for line in lines[1:]]
        path.write_text("\n".join([lines[0], *kept]) + "\n")
        systems.append(path)
    options = ("--labels", LABELS, "--measures", "accuracy,macro_f1", "--trials", 20, "--replicates", 50)
    made = json.loads(run("meta", files / "corpus.csv", *systems, *options, "--json").stdout)
    assert made["systems"] == 4
    assert len(made["similarity"]) == 1
    assert len(made["class_distinguishing"]) == 6
    assert "Consistency" in run("meta", files / "corpus.csv", *systems, *options).stdout


def test_splitting_and_leakage(run, files) -> None:
    corpus, parts = files / "corpus.csv", files / "parts.csv"
    made = json.loads(run("split", corpus, "--scheme", "chronological", "--out", parts, "--json").stdout)
    assert made["divisions"] == [{"division": "part", "train": 84, "dev": 12, "test": 24}]
    assert parts.read_text("utf-8-sig").splitlines()[0] == "item_id,part"
    found = json.loads(run("leakage", corpus, "--parts", parts, "--json").stdout)
    assert [row["part"] for row in found["pairs"]] == ["dev", "test", "test"]
    assert [row["key"] for row in found["keys"]] == ["claim_id"] * 3
    assert found["keys"][1]["values_shared"]
    assert found["times"][0]["part"] == "train"
    run("split", corpus, "--out", parts)
    assert parts.read_text("utf-8-sig").splitlines()[0] == "item_id,fold_1,fold_2,fold_3,fold_4,fold_5"
    assert "test items" in run("leakage", corpus, "--parts", f"{parts}:fold_1").stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("score", "{}/corpus.csv", "{}/none.csv"), "none.csv: is missing"),
        (("score", "{}/corpus.csv", "{}/a.csv", "--labels", "favor,against"), "unknown label 'neither'"),
        (("score", "{}/corpus.csv:lable", "{}/a.csv"), "Did you mean 'label'"),
        (("score", "{}/corpus.csv", "{}/a.csv", "--labels", LABELS, "--class-weights", "favor"), "label=weight"),
        (("score", "{}/corpus.csv", "{}/a.csv", "--labels", LABELS, "--out", "{}/x.pdf"), "'.pdf'"),
        (("score", "{}/corpus.csv", "{}/a.csv", "--labels", LABELS, "--by", "kin"), "Did you mean 'kind'"),
        (("score", "{}/corpus.csv", "{}/a.csv", "--labels", LABELS, "--probabilities", "kind"), "'keywords' is not an incl"),
        (("split", "{}/corpus.csv", "--out", "{}/p.csv", "--cuts", "3,9"), "random has no cuts"),
        (("compare", "{}/corpus.csv", "{}/a.csv", "--labels", LABELS), "at least two to compare"),
        (("split", "{}/corpus.csv", "--out", "{}/p.csv", "--fractions", "0.5"), "three numbers"),
    ],
)  # fmt: skip
def test_errors_are_one_line(run, files, arguments, words) -> None:
    with pytest.raises(CovmisError, match=words) as error:
        run(*(one.format(files) for one in arguments))
    assert error.value.exit_code == 2
    assert "\n" not in str(error.value)


def test_a_copy_of_gold_beside_the_predictions_is_not_scored(run, tmp_path) -> None:
    gold, both = tmp_path / "gold.csv", tmp_path / "both.csv"
    gold.write_text("item_id,label\n1,favor\n2,against\n")
    both.write_text("item_id,label,pred\n1,favor,against\n2,against,favor\n")
    options = ("--labels", "favor,against", "--measures", "accuracy")
    for truth in (gold, both):
        told = json.loads(run("score", truth, f"m={both}", *options, "--json").stdout)
        assert told["scores"][0]["value"] == 0
        assert told["columns"] == [
            {"of": "gold", "file": truth.name, "column": "label"},
            {"of": "m", "file": "both.csv", "column": "pred"},
        ]
    assert "Labels read from gold.csv:label, both.csv:pred." in run("score", gold, both, *options).stdout
    assert run("score", gold, f"{both}:label", *options, "--json").stdout.count('"value": 1.0') == 1


def test_columns_of_the_design_are_known_whatever_their_case(run, files) -> None:
    corpus, options = files / "corpus.csv", ("--labels", LABELS, "--measures", "accuracy", "--json")
    wanted = json.loads(run("score", corpus, files / "a.csv", *options).stdout)
    header, rows = corpus.read_text().split("\n", 1)
    assert "claim_id" in header
    for names in (("p_sample", "P_sample"), ("p_claim", "P Claim"), ("claim_id", "Claim_ID")):
        corpus.write_text(header.replace(*names) + "\n" + rows)
        assert (
            json.loads(run("score", corpus, files / "a.csv", *options).stdout)["scores"] == wanted["scores"]
        ), names
    corpus.write_text(header.replace("claim_id", "Group") + "\n" + rows)
    parts = json.loads(run("split", corpus, "--out", files / "parts.csv", "--json").stdout)["divisions"]
    run("split", corpus, "--out", files / "named.csv", "--group", "Group")
    assert parts
    assert (files / "parts.csv").read_text() == (files / "named.csv").read_text()


def test_python_scores_and_compares_as_the_command_does(run, files) -> None:
    """Over gold's claims, and weighted by its probabilities, unless None or `none` says otherwise."""
    gold, systems = files / "corpus.csv", {name: files / f"{name}.csv" for name in "ab"}
    frame, labels = pd.read_csv(gold, dtype={"claim_id": str}), LABELS.split(",")
    words = (gold, *(f"{name}={path}" for name, path in systems.items()), "--labels", LABELS, "--json")
    for options, how, unit in (
        ((), {}, "claims"),
        (("--clusters", "none", "--probabilities", "none"), {"clusters": None, "probabilities": None}, "items"),
    ):  # fmt: skip
        wanted = json.loads(run("score", *words, "--measures", "accuracy", *options).stdout)
        for given in (gold, frame):
            made = covmis.score(given, systems, labels=labels, measures=["accuracy"], **how)
            own = json.loads(made.to_json())
            assert own["scores"] == wanted["scores"]
            assert f"over {9 if unit == 'claims' else 120} {unit}" in str(made)
        how.pop("probabilities", None)
        wanted = json.loads(run("compare", *words, *options[:2]).stdout)
        made = covmis.compare(frame, systems, labels=labels, **how)
        assert json.loads(made.to_json())["comparisons"] == wanted["comparisons"]
        assert f"over {9 if unit == 'claims' else 120} {unit}" in made.sentences[0]


def test_half_a_probability_is_no_weight(run, files) -> None:
    """Of a corpus whose p_claim got lost, p_sample alone would weigh the items wrongly."""
    corpus, options = files / "corpus.csv", ("--labels", LABELS, "--measures", "accuracy", "--json")
    corpus.write_text(corpus.read_text().replace("p_claim", "chance", 1))
    with pytest.raises(
        InputError, match=r"corpus\.csv: has p_sample without p_claim\. .*--probabilities p_sample"
    ):
        run("score", corpus, files / "a.csv", *options)
    for column, weighted in (("p_sample", True), ("none", False)):
        row = json.loads(run("score", corpus, files / "a.csv", "--probabilities", column, *options).stdout)[
            "scores"
        ][0]
        assert ("weighted" in row) == weighted
