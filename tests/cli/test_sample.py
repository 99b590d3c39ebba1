"""`covmis sample` and `covmis estimate` on a study made by hand."""

import json
import re
import shutil
from dataclasses import replace

import msgspec
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from covmis_build import storage, tables
from covmis_build.annotation import round_folder as record
from covmis_build.annotation.frozen_items import FROZEN
from covmis_build.cli import app
from covmis_build.corpus.convert import read_corpus
from covmis_build.corpus.release import with_weights
from covmis_build.errors import InputError
from covmis_build.estimation.shares import estimates
from covmis_build.options import Labels, Sampling
from covmis_build.sampling.draw import sample
from covmis_build.study.estimate import _is_registered
from covmis_build.study.estimate_corpus import NO_DESIGN, estimate_corpus
from covmis_build.study.study import open_study

SEED = 20220405
COUNTS = {"1": {"title": 9, "fact_check_url": 30, "keywords": 70}, "2": {"news_url": 12, "keywords": 40}}


def run(*words: str):
    result = CliRunner().invoke(app, [str(one) for one in words], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


@pytest.fixture
def study(tmp_path):
    """Items, one opened round with all that was drawn, and a release."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    items = pd.DataFrame(
        [
            {
                "item_id": f"{claim}|x:{kind}{at}", "claim_id": claim, "post_id": f"x:{kind}{at}", "kind": kind,
                "kinds": [kind], "other_claims": [], "group": "", "group_size": 1 + at % 4, "p_claim": 1.0,
            }
            for claim, kinds in COUNTS.items()
            for kind, number in kinds.items()
            for at in range(number)
        ]
    )  # fmt: skip
    (tmp_path / "study.toml").write_text('title = "By hand"\n')
    storage.write_table(tmp_path / "data/build/items.parquet", items, "items")
    posts = pd.DataFrame(
        [dict.fromkeys(tables.SCHEMAS["posts"].names) | {"post_id": post, "created_at": "2020-04-02T00:00:00Z"}
         for post in sorted(set(items["post_id"]))]
    )  # fmt: skip
    storage.write_table(tmp_path / "data/build/posts.parquet", posts, "posts")
    drawn = sample(items, tables.empty("sample"), Sampling(), Labels(), seed=SEED, audit=0.5).sample
    frozen = drawn.merge(items[["item_id", "p_claim", "group_size"]], on="item_id").assign(
        pilot=False,
        round="001",
        text="a post",
        native_id="1",
        claim="a claim <b>",
        created_at="",
        shown="what",
    )
    for name in FROZEN.names:
        if name not in frozen:
            frozen[name] = None
    place = tmp_path / "annotation/rounds/001/items.parquet"
    place.parent.mkdir(parents=True)
    pq.write_table(pa.Table.from_pandas(frozen[FROZEN.names], schema=FROZEN, preserve_index=False), place)
    about = {"pilot": False, "labels": {"values": ["favor", "against"]}, "annotators": ["a1"], "per_item": 1}
    storage.write_text(place.with_name("round.json"), json.dumps({**about, "guideline": ""}))
    people = (frozen["automatic_label"] == "") | frozen["audited"]
    corpus = frozen.assign(
        label=np.where(~people, "against", np.where(frozen.index % 3 == 0, "favor", "against")),
        how=np.where(~people, "automatic", np.where(frozen["audited"], "audited", "agreed")),
        weight=0.0, claim="a claim <b>", native_id="1", created_at="",
    )  # fmt: skip
    figures = estimates(corpus, ["favor", "against"], Sampling(), pool=items, automatic=Labels().automatic)
    released = with_weights(tables.frame(tables.conform(corpus, "corpus")), corpus, figures.weights)
    storage.write_table(tmp_path / "data/release/corpus.parquet", released, "corpus")
    labels = pd.DataFrame([dict.fromkeys(tables.SCHEMAS["labels"].names, "") | {
        "label_id": str(at), "item_id": row.item_id, "phase": "independent", "status": "given", "seconds": 36.0,
        "label": row.label, "annotator": "a1", "round": "001", "shown": "what", "given_at": "2026-01-01T00:00:00Z",
    } for at, row in enumerate(corpus[people].itertuples())])  # fmt: skip
    storage.write_table(place.parent / "labels.parquet", labels, "labels")
    return tmp_path


def test_sample_shows_the_draw(study):
    made = json.loads(run("sample", "--study", study, "--json"))
    rows = {(row["claim_id"], row["kind"]): row for row in made["strata"]}
    assert rows["1", "title"]["posts"] == 9
    assert sum(row["expected"] for row in rows.values()) == pytest.approx(48)
    assert sum(row["drawn"] for row in rows.values()) == made["drawn"]
    assert sum(row["frozen"] for row in rows.values()) == made["drawn"]
    assert "plans" not in made
    assert "161 posts; 48 expected" in run("sample", "--study", study)


def test_a_fixed_size_has_no_deviation(study):
    """Strata of a two-phase claim vary, the claim does not; a claim keeps the design of its rounds."""
    settings = study / "study.toml"
    settings.write_text('title = "By hand"\n[sampling]\ndesign = "two_phase"\n')
    assert "standard deviation 0.0" not in run("sample", "--study", study)
    (study / "annotation/rounds/001/items.parquet").unlink()
    assert "48 expected (standard deviation 0.0), 48 drawn" in run("sample", "--study", study)


def test_sample_plans_with_the_time_that_labels_took(study):
    made = json.loads(run("sample", "--plan", "--targets", "12,48", "--study", study, "--json"))
    assert [row["per_claim"] for row in made["plans"]] == [12, 24, 48]
    assert made["seconds_per_label"] == 36
    assert made["plans"][1]["hours"] == pytest.approx(made["plans"][1]["by_people"] * 2 * 36 / 3600)
    words = run("sample", "--plan", "--study", study)
    assert "36 seconds per label (the mean of " in words
    assert (
        "A full round of 2 claims with 24 posts each would give the precision of 22 independent items"
        in words
    )
    assert made["precision"]["items_for_five_points"] == 1334
    assert "In 1 claim and 1 month people are expected to check fewer than two automatic labels" in words
    assert re.search(
        r'audit_per_part = 5 with audit_by = \["claim", "month"\] .* for \d posts more \(0\.1 hours\)', words
    )
    asked = json.loads(run("sample", "--plan", "--seconds", "18", "--study", study, "--json"))
    assert asked["plans"][1]["hours"] == pytest.approx(made["plans"][1]["hours"] / 2)


def test_sample_without_items_says_what_to_do(study):
    with pytest.raises(InputError, match=r"goes with --plan\. Add --plan"):
        run("sample", "--targets", "12", "--study", study)
    with pytest.raises(InputError, match="is not a list of numbers"):
        run("sample", "--plan", "--targets", "0", "--study", study)
    (study / "data/build/items.parquet").unlink()
    with pytest.raises(InputError, match="Run `covmis run` first"):
        run("sample", "--study", study)


def test_estimate_in_words_and_json(study):
    made = json.loads(run("estimate", "--study", study, "--by", "claim,kind", "--json"))
    rows = {(row["estimand"], row["scope"], row["name"], row["label"]): row for row in made["estimates"]}
    favor = rows["unique_posts", "pool", "", "favor"]
    assert 0 < favor["low"] < favor["share"] < favor["high"] < 1
    assert ("posts", "claim", "2", "favor") in rows
    assert made["audit"][0]["automatic_label"] == "against"
    assert made["audit"][0]["audited"] > 0
    assert rows["unique_posts", "average claim", "", "favor"]["total"] is None
    words = run("estimate", "--study", study)
    assert "do not describe public opinion" in words
    assert "average claim" in words


def test_estimates_are_for_the_settings_that_the_rounds_were_drawn_with(study):
    about = study / "annotation/rounds/001/round.json"
    kept = {"sampling": {"per_claim": 24, "per_kind": 6, "design": "poisson"}}
    about.write_text(json.dumps(json.loads(about.read_text()) | {"settings": kept}))
    before = json.loads(run("estimate", "--study", study, "--json"))
    (study / "study.toml").write_text('title = "By hand"\n[sampling]\nper_claim = 36\nper_kind = 9\n')
    words = CliRunner().invoke(app, ["estimate", "--study", str(study)]).output
    assert "[sampling] per_claim was 24 for round 001 and is 36 now" in words
    assert "24 posts of each claim, with a quota of 6 for each query type" in words
    after = CliRunner().invoke(app, ["estimate", "--study", str(study), "--json"])
    told = json.loads(after.stdout)
    assert "[sampling] per_claim was 24 for round 001 and is 36 now" in "".join(told["warnings"])
    assert told | {"warnings": []} == before | {"warnings": []}


def test_estimate_writes_a_page_and_data(study):
    out = [study / f"e.{end}" for end in ("html", "json", "csv")]
    run("estimate", "--study", study, "--by", "claim", *(word for one in out for word in ("--out", one)))
    page = out[0].read_text()
    assert page.count("<svg") == 2, "a figure for each label of the rounds"
    assert "a claim &lt;b&gt;" in page
    assert "a claim <b>" not in page
    assert json.loads(out[1].read_text())["level"] == 0.95
    assert out[2].read_text("utf-8-sig").startswith("estimand,scope,name,label,share")
    first = study / "first.csv"
    with pytest.raises(InputError, match=r"e\.doc: is not a format of estimates"):
        run("estimate", "--study", study, "--out", first, "--out", study / "e.doc")
    assert not first.exists()


def test_estimate_of_somebody_elses_corpus(study, tmp_path_factory, monkeypatch):
    away = tmp_path_factory.mktemp("away")
    monkeypatch.chdir(away)
    (away / "corpus.parquet").write_bytes((study / "data/release/corpus.parquet").read_bytes())
    own = json.loads(run("estimate", "--study", study, "--json"))
    other = json.loads(run("estimate", "corpus.parquet", "--json"))
    key = ("estimand", "scope", "name", "label")
    rows = {tuple(row[name] for name in key): row for row in other["estimates"]}
    assert len(rows) > len(own["estimates"]), "a label that nobody may give in the study's rounds"
    assert NO_DESIGN in estimate_corpus("corpus.parquet").warnings
    assert sum(row["low"] is None for row in own["estimates"]) < len(own["estimates"]) / 3
    for row in own["estimates"]:
        there = rows[tuple(row[one] for one in key)]
        assert row["share"] == pytest.approx(there["share"], abs=1e-9)
        # N, shares of checks and clusters outside the sample are not known there, so intervals may be narrower; nor is
        # what the labels rule out of the few posts that were not drawn, so they may be wider
        narrower = 0.2 if row["estimand"] == "posts" else 0.04
        if row["low"] is None:  # of what the sample may have missed, only the study knows how much
            continue
        assert -0.3 <= there["low"] - row["low"] <= narrower
        assert -0.3 <= row["high"] - there["high"] <= narrower
    assert all(row["total_low"] is None for row in other["estimates"]), "N is not known there"


def predictions_file(study, **columns):
    items = storage.read_table(study / "data/build/items.parquet", "items")
    file = study / "predictions.csv"
    favor = 0.2 + 0.5 * (items.index % 3 == 0)
    frame = pd.DataFrame(
        {"item_id": items["item_id"], "p_favor": favor, "p_against": 0.9 - favor, "p_neither": 0.1}
    )
    frame.assign(**{name: make(items) for name, make in columns.items()}).to_csv(file, index=False)
    return file


def test_predictions_assist_when_they_say_what_they_were_trained_on(study):
    file = predictions_file(study)
    words = ["estimate", "--study", study, "--by", "claim,kind", "--assisted-by", file]
    with pytest.raises(InputError, match=r"does not say what its model was trained on.*--trained-elsewhere"):
        run(*words)
    made = json.loads(run(*words, "--trained-elsewhere", "--json"))
    rows = {(row["estimand"], row["scope"], row["name"], row["label"]): row for row in made["estimates"]}
    assert rows["unique_posts", "pool", "", "favor"]["strength"] != 0
    assert any("λ" in sentence for sentence in made["sentences"])
    folds = predictions_file(study, fold=lambda items: items["claim_id"])
    assert "λ" in run("estimate", "--study", study, "--assisted-by", folds)
    divided = predictions_file(study, fold=lambda items: items.index % 2)
    with pytest.raises(InputError, match="divides claim 1 among folds"):
        run("estimate", "--study", study, "--assisted-by", divided)
    whole = pd.read_csv(file)
    whole.iloc[5:].to_csv(file, index=False)
    with pytest.raises(InputError, match=r"no prediction for 5 of 161 items.*not one of 0\.5"):
        run(*words, "--trained-elsewhere")
    outside = pd.concat([whole.drop(columns="fold"), whole.iloc[:1].assign(item_id="9|x:1")])
    outside.to_csv(file, index=False)
    told = CliRunner().invoke(app, [str(word) for word in [*words, "--trained-elsewhere"]])
    assert "1 predictions are for posts outside the pool" in told.output


def test_predictions_that_were_registered_with_the_first_round_need_no_other_proof(study):
    file = predictions_file(study)
    words = ["estimate", "--study", study, "--assisted-by", file]
    rounds = record.all_rounds(open_study(study).places.rounds)
    registered = {file.name: storage.sha256_of(file)}

    def register(round_, files):
        record.write_about(replace(round_, about=msgspec.structs.replace(round_.about, predictions=files)))

    later = shutil.copytree(rounds[0].folder, rounds[0].folder.with_name("002"))
    register(replace(rounds[0], folder=later), registered)
    assert not _is_registered(open_study(study), file), "the first round's labels may have been seen"
    shutil.rmtree(later)
    register(rounds[0], registered)
    assert "λ" in run(*words)
    file.write_text(file.read_text() + "\n")
    with pytest.raises(InputError, match="does not say what its model was trained on"):
        run(*words)


def write_texts(study, table, **columns):
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema, rows = tables.SCHEMAS[table], len(columns["text"])
    arrays = [pa.array(columns.get(name, [None] * rows), schema.field(name).type) for name in schema.names]
    plain = pa.schema([pa.field(one.name, one.type) for one in schema])
    pq.write_table(pa.table(arrays, schema=plain), study / f"data/build/{table}.parquet")


def test_a_models_folder_assists_and_is_cross_fitted(study, tmp_path):
    """Its kind and settings, trained anew without each part of the claims; its own weights only if it says elsewhere."""
    import covmis_build as covmis

    items = storage.read_table(study / "data/build/items.parquet", "items")
    posts = items.drop_duplicates("post_id")
    write_texts(
        study,
        "posts",
        post_id=posts["post_id"],
        text=[("so true", "a hoax", "who knows")[at % 3] for at in range(len(posts))],
    )
    write_texts(study, "claims", claim_id=["1", "2"], text=["masks", "garlic"])
    posts = pd.DataFrame({"text": ["so true", "a hoax", "who knows"] * 3, "claim": "masks"})
    posts["label"] = ["favor", "against", "neither"] * 3
    covmis.train(posts, "bow", out=tmp_path / "bow")
    words = ["estimate", "--study", study, "--assisted-by", tmp_path / "bow", "--json"]
    rows = json.loads(run(*words))["estimates"]
    moved = {row["label"]: row["strength"] for row in rows if row["scope"] == "pool"}
    assert any(moved.values())
    assert run(*words) == run(*words), "folds are keyed"
    elsewhere = json.loads(run(*words, "--trained-elsewhere"))["estimates"]
    assert [row["share"] for row in elsewhere] != [row["share"] for row in rows]
    (tmp_path / "nothing").mkdir()
    with pytest.raises(InputError, match="is no model"):
        run("estimate", "--study", study, "--assisted-by", tmp_path / "nothing")


def test_python_gives_the_same_estimates(study):
    import covmis_build as covmis

    figures = covmis.open_study(study).estimate(by="claim,kind")
    made = json.loads(run("estimate", "--study", study, "--by", "claim,kind", "--json"))
    assert len(figures.to_frame()) == len(made["estimates"])
    assert figures.to_frame()["share"].tolist() == [row["share"] for row in made["estimates"]]
    assert "<table" in figures._repr_html_()
    planned = covmis.open_study(study).plan_sample(targets=[12])
    assert planned.to_frame()["per_claim"].tolist() == [12, 24]


def test_estimate_reads_what_a_spreadsheet_saved(study, tmp_path_factory, monkeypatch):
    away = tmp_path_factory.mktemp("away")
    monkeypatch.chdir(away)
    corpus = read_corpus(study / "data/release/corpus.parquet").drop(columns="text")
    corpus.to_csv("plain.csv", index=False)
    corpus.to_csv("semicolons.csv", index=False, sep=";", encoding="utf-8-sig")
    assert run("estimate", "plain.csv") == run("estimate", "semicolons.csv")
    corpus.loc[0, "label"] = "AGAINST"
    corpus.to_csv("case.csv", index=False)
    with pytest.raises(InputError, match="'AGAINST' of the corpus is 'against' in another case"):
        run("estimate", "case.csv")


def test_wrong_options_are_named(study):
    with pytest.raises(InputError, match="Did you mean 'claim'"):
        run("estimate", "--study", study, "--by", "claims")
    (study / "annotation/rounds/001/round.json").unlink()
    (study / "annotation/rounds/001/items.parquet").unlink()
    with pytest.raises(InputError, match="no round has been opened yet"):
        run("estimate", "--study", study)
