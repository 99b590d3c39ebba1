"""`make demo` goes all the way, says what is simulated, and does nothing twice."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import pandas as pd
import pyarrow.parquet as pq

from covmis_build.corpus.convert import read_corpus
from tests.demonstration.conftest import build, copy_study
from tests.demonstration.stories import ROOT
from tests.demonstration.truth import true_stance
from tests.program import covmis


def test_all_the_way_to_the_scores(built):
    log = (built / "log").read_text("utf-8")
    assert "Traceback" not in log
    assert "The demonstration is built." in log, log[-2000:]
    for name in ("data/release/corpus.csv", "annotation/rounds/002/seal.json"):
        assert (built / "study" / name).is_file()
    assert "Now with your own claims" in log


def test_every_page_card_and_table_says_simulated(built):
    study = built / "study"
    made = [path for path in study.rglob("*") if path.suffix in {".html", ".tex", ".md"} and path.is_file()]
    made = [path for path in made if "guideline" not in str(path) and path.suffix != ".csv"]
    assert len(made) > 6
    assert [str(path.relative_to(study)) for path in made if "simulated" not in path.read_text("utf-8")] == []


def test_agreement_is_that_of_the_paper(built):
    summary = json.loads((built / "study/annotation/rounds/summary.json").read_text("utf-8"))
    assert 0.65 < summary["kappa"]["value"] < 0.77
    assert summary["kappa"]["low"] < 0.72 < summary["kappa"]["high"] + 0.05


def test_corpus_tells_the_truth_mostly_and_carries_its_weights(built):
    corpus = read_corpus(built / "study/data/release/corpus.parquet")
    assert corpus["claim_id"].nunique() == 21
    assert 450 < len(corpus) < 560
    right = [
        true_stance(post, claim) == label
        for post, claim, label in zip(corpus["post_id"], corpus["claim_id"], corpus["label"], strict=True)
    ]
    assert 0.85 < sum(right) / len(right) < 0.99
    assert (corpus["weight"] >= 1).all()
    assert not corpus["text"].any(), "ids only"
    assert "text" not in pq.read_schema(built / "study/data/release/corpus.parquet").names


def test_the_audit_finds_errors_and_the_shares_are_near_the_truth(built):
    of = json.loads(covmis("estimate", "--json", "--study", built / "study")[1])
    audit = of["audit"][0]
    assert audit["audited"] > 30
    assert 0 < audit["errors"] < 4
    shares = {(row["estimand"], row["scope"], row["name"], row["label"]): row for row in of["estimates"]}
    assert shares["unique_posts", "kind", "fact_check_url", "favor"]["share"] > 0
    pool = pq.read_table(built / "study/data/build/items.parquet").to_pandas()
    true = [true_stance(post, claim) for post, claim in zip(pool["post_id"], pool["claim_id"], strict=True)]
    for label in ("favor", "against", "neither"):
        row = shares["unique_posts", "pool", "", label]
        told = sum(one == label for one in true) / len(true)
        assert row["low"] < told < row["high"]


def test_the_release_alone_gives_the_figures_of_the_study(built, tmp_path):
    alone = shutil.copytree(built / "study/data/release", tmp_path / "release")
    asked = ("estimate", "--by", "claim,kind,month", "--json")
    assert len(json.loads((alone / "design.json").read_text())["unlabelled"]) > 1000
    theirs, ours = (
        json.loads(covmis(*asked, *where)[1]) for where in ([alone], ["--study", built / "study"])
    )
    for table in ("estimates", "audit"):
        pd.testing.assert_frame_equal(pd.DataFrame(theirs[table]), pd.DataFrame(ours[table]), rtol=1e-9)
    assert (theirs["sentences"], theirs["warnings"]) == (ours["sentences"], ours["warnings"])


def test_dropped_claims_are_seen(built):
    assert "no hits" in covmis("explain", "orange-peel", "--study", built / "study")[1]


def test_second_time_does_nothing(built, tmp_path):
    log = build(built / "study", tmp_path / "log")
    assert "built already" in log
    assert "$ covmis" not in log


OF_THE_MOMENT = {".files.json", "ledger.jsonl", "round.json", "seal.json", "checksums.txt"}
"""Files that hold nothing but times, hashes and what a round's salt is."""
OF_A_TABLE = ["salt", "shown", "given_at", "label_id"]
"""Columns with times, and with hashes that a round salts."""


def files_of(study):
    """Every file's contents but for times, salts and what is hashed with them."""
    contents = {}
    for path in sorted(
        path for path in study.rglob("*") if path.is_file() and path.name not in OF_THE_MOMENT
    ):
        name = str(path.relative_to(study))
        if "demonstration" in name or path.name.endswith(".lock"):
            continue  # scores of the builder's systems
        if path.match("rounds/*/*.jsonl"):
            continue  # lines with times and salted hashes; the tables made of them are compared
        if path.stem == "annotations" and path.suffix in {".csv", ".parquet"}:
            contents[name] = without_codes(path)
        elif path.suffix == ".parquet":
            table = pq.read_table(path, partitioning=None)
            if path.name == "labels.parquet":  # in the order of the moments, within one of the hashes
                table = table.sort_by(
                    [(name, "ascending") for name in ("item_id", "phase", "annotator", "label")]
                )
            contents[name] = table.drop_columns([name for name in OF_A_TABLE if name in table.column_names])
        else:
            text = re.sub(rb"[0-9a-f]{12,64}", b"hash", path.read_bytes())
            contents[name] = re.sub(
                rb'("contentSize": )"\d+', rb"\1", text
            )  # codes drawn anew pack otherwise
    return contents


def without_codes(path):
    """Who said what, in an order that the codes drawn for this release do not decide."""
    labels = pd.read_csv(path, dtype=str) if path.suffix == ".csv" else pd.read_parquet(path)
    labels = labels.drop(columns=["annotation_id", "annotator"]).fillna("")
    return labels.sort_values(list(labels), ignore_index=True).to_dict("records")


def test_python_alone_builds_the_same_files(built, tmp_path):
    study = copy_study(tmp_path / "study")
    script = [sys.executable, ROOT / "docs" / "demonstration.py", study]
    subprocess.run(script, check=True, stdout=subprocess.DEVNULL)
    by_command, by_python = files_of(built / "study"), files_of(study)
    assert by_python.keys() == by_command.keys()
    assert [name for name in by_command if by_python[name] != by_command[name]] == []
