"""A study that covmis 0.1.0 made opens, verifies, runs and is released: nobody's work is lost by an update.

study-0.1.0.zip is a study of generated posts: settings, archive, two sealed rounds, a release with its bundle.
release-0.2.0.zip is a release that covmis 0.2.0 wrote for generated posts, with its bundle.
"""

import io
import json
import zipfile
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import covmis_build as covmis
from covmis_build.cli import app
from covmis_build.errors import InputError
from covmis_build.study.round_settings import settings_of_rounds

FIXTURE = Path(__file__).with_name("study-0.1.0.zip")


@pytest.fixture
def folder(tmp_path):
    with zipfile.ZipFile(FIXTURE) as packed:
        packed.extractall(tmp_path / "study")
    return tmp_path / "study"


def command(*words):
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def released(folder):
    return pd.read_csv(io.BytesIO((folder / "data/release/corpus.csv").read_bytes()), dtype=str).fillna("")


def test_it_opens_and_its_seals_stand(folder):
    study = covmis.open_study(folder)
    assert [(round_.number, round_.sealed, len(round_.items)) for round_ in study.rounds] == [
        ("001", True, 59),
        ("002", True, 47),
    ]
    assert "Round 001: valid\nRound 002: valid" in command("round", "verify", "--study", folder)


def test_its_release_and_bundle_verify(folder):
    command("verify", "--study", folder)
    command("verify", folder / "data/release/bundle.zip")


def test_it_runs_and_the_new_release_has_the_same_items_labels_and_weights(folder):
    before = released(folder)
    study = covmis.open_study(folder)
    study.run(workers=1)
    assert all(study.status().stages.values())
    command("release", "--study", folder)
    columns = ["item_id", "claim_id", "post_id", "kind", "label", "how", "p_claim", "p_sample", "weight"]
    pd.testing.assert_frame_equal(released(folder)[columns], before[columns])
    assert "Round 002: valid" in command("round", "verify", "--study", folder)
    command("verify", "--study", folder)  # its agreement is computed anew, by today's rules


def test_its_draws_say_that_no_cluster_was_certain(folder):
    study = covmis.open_study(folder)
    then, differences = settings_of_rounds(study.settings, [round_.folder for round_ in study.rounds])
    assert (study.settings.sampling.certain, then.sampling.certain) == (True, False)
    assert [one.setting for one in differences] == ["[sampling] certain"]


def test_a_round_can_be_opened_after_the_update(folder):
    study = covmis.open_study(folder)
    study.run(workers=1)
    command("round", "open", "--claims", "1", "--study", folder)
    assert len(covmis.open_study(folder).rounds) == 3


def test_systems_are_scored_on_its_gold_as_on_its_release(folder):
    corpus = released(folder)
    study = covmis.open_study(folder)
    predictions = corpus[["item_id", "label"]].rename(columns={"label": "prediction"})
    predictions.loc[predictions.index[::4], "prediction"] = "neither"
    options = {"measures": ["accuracy", "macro_f1"]}
    scores = study.score({"mine": predictions}, **options)
    from_release = covmis.score(
        corpus, {"mine": predictions}, labels=study.settings.labels.values, clusters="claim_id",
        probabilities=["p_claim", "p_sample"], **options,
    )  # fmt: skip
    frame, alone = scores.to_frame(), from_release.to_frame()
    pd.testing.assert_frame_equal(frame[alone.columns], alone)
    assert frame["ceiling"].notna().all()  # only the study knows what each person said
    assert scores.clusters == corpus["claim_id"].nunique()
    assert scores.study == study.settings.title


def test_measures_over_posts_know_how_the_rounds_were_drawn(folder):
    """From Python and by the command on the release: one design, one figure."""
    study = covmis.open_study(folder)
    predictions = released(folder)[["item_id", "label"]]
    predictions.loc[predictions.index[::3], "label"] = "neither"
    table = study.score({"mine": predictions}, over="posts", measures=["accuracy", "macro_f1"]).to_frame()
    file = folder / "mine.csv"
    predictions.to_csv(file, index=False)
    said = command(
        "evaluate", "score", folder / "data/release/corpus.csv", file, "--over", "posts", "--measures",
        "accuracy,macro_f1", "--json",
    )  # fmt: skip
    for row, other in zip(table.to_dict("records"), json.loads(said)["measures"], strict=True):
        assert row["measure"] == other["measure"]
        numbers = ["value", "standard_error", "low", "high", "unweighted"]
        assert [row[name] for name in numbers] == pytest.approx([other[name] for name in numbers], rel=1e-9)
    right = (predictions["label"].to_numpy() == released(folder)["label"].to_numpy()).astype(float)
    weight = released(folder)["weight"].astype(float)
    assert table["value"].iloc[0] == pytest.approx(sum(right * weight) / sum(weight), rel=1e-6)


@pytest.mark.parametrize("over", ["items", "posts"])
def test_predictions_without_ids_are_refused_in_a_study(folder, over):
    """The order of gold's rows is not that of the items at hand: nobody can pair them."""
    study = covmis.open_study(folder)
    gold = study.gold()
    labels = gold.set_index("item_id")["label"]
    for said in (labels, labels.to_dict(), gold[["item_id", "label"]], [labels, labels.to_dict()]):
        table = study.score({"m": said}, over=over, measures=["accuracy"]).to_frame()
        assert table["value" if over == "items" else "unweighted"].tolist()[0] == 1
    numbered = gold["label"].reset_index(drop=True)
    shuffled = numbered.sample(frac=1, random_state=0).sort_index()
    for said in (
        numbered.tolist(), numbered, shuffled, numbered.to_numpy(), gold[["label"]], [numbered.tolist()] * 2,
        [numbered, labels],
    ):  # fmt: skip
        with pytest.raises(InputError, match=r"m has no ids\. Give a frame with item_id, a Series"):
            study.score({"m": said}, over=over)
    with pytest.raises(InputError, match="label has no ids"):
        study.score(numbered, over=over)


@pytest.fixture
def release(tmp_path):
    with zipfile.ZipFile(FIXTURE.with_name("release-0.2.0.zip")) as packed:
        packed.extractall(tmp_path / "release")
    return tmp_path / "release"


def test_a_release_of_0_2_0_verifies_by_its_rules_and_is_estimated_from(release):
    told = command("verify", release)
    assert "it covers data, facts and bundle, as before covmis 0.3" in told
    root = json.loads((release / "facts.json").read_bytes())["root"]
    command("verify", release, "--root", root)
    command("verify", release / "bundle.zip", "--root", root)
    assert "Of all unique posts found" in command("estimate", release)


@pytest.mark.parametrize("name", ["corpus.csv", "facts.json"])
def test_a_changed_release_of_0_2_0_is_noticed_by_the_root_hash(release, name):
    root = json.loads((release / "facts.json").read_bytes())["root"]
    data = (release / name).read_bytes()
    changed = {"corpus.csv": data + b"\n", "facts.json": data.replace(b'"rounds"', b'"round5"', 1)}[name]
    assert changed != data
    (release / name).write_bytes(changed)
    done = CliRunner().invoke(app, ["verify", str(release), "--root", root])
    assert done.exit_code in {1, 2}, done.output
