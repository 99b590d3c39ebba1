"""`covmis model`: from a file of posts to predictions that can be scored."""

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from covmis_build.cli.model import app
from covmis_build.errors import InputError


def run(*words):
    result = CliRunner().invoke(app, [str(one) for one in words], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


@pytest.fixture
def posts(tmp_path):
    rows = [
        {
            "post_id": f"x:{at}{word}", "post": f"{word} number {at}", "claim": "masks", "label": label,
            "time": f"2020-01-{at:02}T00:00:00Z",
        }
        for at in range(1, 21)
        for word, label in (("indeed", "favor"), ("nonsense", "against"), ("=perhaps", "neither"))
    ]  # fmt: skip
    file = tmp_path / "posts.csv"
    pd.DataFrame(rows).to_csv(file, index=False)
    return file


def test_train_predict_and_score(posts, tmp_path):
    words = run("train", posts, "--out", tmp_path / "m", "--model", "bow", "--set", "word_span=1+1")
    assert "indeed" in words
    told = json.loads(run("predict", tmp_path / "m", posts, "--out", tmp_path / "p.csv", "--json"))
    assert told == {"predictions": 60, "file": str(tmp_path / "p.csv"), "errors_page": None}
    made = pd.read_csv(tmp_path / "p.csv")
    assert made.columns.tolist() == ["post_id", "prediction", "p_against", "p_favor", "p_neither"]
    assert (made["prediction"] == pd.read_csv(posts)["label"]).all()
    from covmis_build.cli import evaluate

    result = CliRunner().invoke(
        evaluate.app, ["score", str(posts), str(tmp_path / "p.csv"), "--measures", "accuracy", "--json"],
        catch_exceptions=False,
    )  # fmt: skip
    assert '"value": 1.0' in result.output


def test_training_chooses_on_the_dev_part(posts, tmp_path):
    words = ["train", posts, "--out", tmp_path / "m", "--dev", posts, "--choose", "0.001,10", "--json"]
    made = json.loads(run(*words))
    assert made["chosen"]["measure"] == "macro_f1"
    assert [one["c"] for one in made["chosen"]["values"]] == [0.001, 10]
    assert made["options"]["c"] in {0.001, 10}
    card = json.loads((tmp_path / "m" / "model.json").read_text())["card"]
    assert card["rows"] == 60
    assert card["data"] == "posts.csv"
    assert set(card["versions"]) == {"covmis", "scikit-learn"}
    assert card["dev"] == {
        "data": "posts.csv", "rows": 60, "sha256": card["sha256"], "accuracy": 1.0, "macro_f1": max(
            one["value"] for one in made["chosen"]["values"]
        ),
    }  # fmt: skip


def test_a_page_on_the_errors(posts, tmp_path):
    run("train", posts, "--out", tmp_path / "m", "--model", "majority")
    hostile = posts.read_text().replace("indeed number 1,", "<script>indeed</script>,")
    posts.write_text(hostile)
    run("predict", tmp_path / "m", posts, "--out", tmp_path / "p.csv", "--errors", tmp_path / "e.html")
    page = (tmp_path / "e.html").read_text()
    assert "Surest errors on favor" in page
    assert "&lt;script&gt;indeed" in page
    assert "<script>indeed" not in page
    assert "Shared words" in page


def test_table_and_ablate(posts, tmp_path):
    made = json.loads(run("compare", posts, "--cells", tmp_path / "cells", "--json"))
    rows = {(row["model"], row["scheme"]): row for row in made["cells"]}
    assert rows["bow", "random"]["accuracy"] == 1
    assert rows["majority", "chronological"]["accuracy_sd"] is None
    assert "without the target" in run("compare", "--ablate", posts)


def test_a_table_of_semevals_measure_is_what_score_says(posts, tmp_path):
    """F-avg from the table, and from predictions that `evaluate score` reads."""
    from covmis_build.cli import evaluate

    rows = pd.read_csv(posts)
    rows["split"] = ["train" if at % 5 else "test" for at in range(len(rows))]
    rows.loc[rows["split"] == "test", "post"] = [
        word for word in ("indeed", "nonsense", "perhaps") for _ in range(4)
    ]
    for part in ("train", "test"):
        rows[rows["split"] == part].to_csv(tmp_path / f"{part}.csv", index=False)
    rows.to_csv(posts, index=False)
    needs = ["--measures", "f_avg,wf2", "--poles", "favor,against", "--json"]
    needs += ["--class-weights", "favor=0.4,against=0.4,neither=0.2"]
    made = json.loads(run("compare", posts, "--models", "bow", "--schemes", "given", *needs))
    run("train", tmp_path / "train.csv", "--out", tmp_path / "m")
    run("predict", tmp_path / "m", tmp_path / "test.csv", "--out", tmp_path / "p.csv")
    result = CliRunner().invoke(
        evaluate.app, ["score", str(tmp_path / "test.csv"), str(tmp_path / "p.csv"), *needs],
        catch_exceptions=False,
    )  # fmt: skip
    told = json.loads(result.stdout)["scores"]
    assert [row["measure"] for row in told] == ["f_avg", "wf2"]
    (row,) = made["cells"]
    assert [row["f_avg"], row["wf2"]] == pytest.approx([one["value"] for one in told])
    assert 0 < row["f_avg"] < 1
    assert "f avg" in run("compare", "--ablate", posts, "--schemes", "given", *needs[:-3], *needs[-2:])
    with pytest.raises(InputError, match="--class-weights favor"):
        run("compare", posts, *needs, "--class-weights", "favor")


def test_answers_that_name_no_label_are_listed_and_scored_as_wrong(posts, tmp_path):
    back = tmp_path / "answers.jsonl"
    said = {f"x:{at}indeed": "Favor." for at in range(1, 24)} | {
        "x:1nonsense": "favor or against",
        "x:2nonsense": "maybe",
    }
    asked = set(pd.read_csv(posts)["post_id"])
    rows = [{"item_id": item, "answer": answer} for item, answer in said.items() if item in asked]
    back.write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["prompt", posts, "--labels", "favor,against,neither", "--out", tmp_path / "p.csv"]
    told = " ".join(run(*words, "--answers", back).split())
    assert "2 do not; 38 items have no answer" in told
    assert "x:1nonsense names several labels favor or against" in told
    assert "x:2nonsense names no label maybe" in told
    assert f"evaluate score GOLD {tmp_path / 'p.csv'} --missing wrong" in told


def test_a_corpus_without_texts_says_where_they_come_from(posts, tmp_path):
    pd.read_csv(posts).drop(columns="post").assign(item_id=range(60)).to_csv(posts, index=False)
    with pytest.raises(InputError, match=r"has no column text.*`covmis hydrate` writes"):
        run("train", posts, "--out", tmp_path / "m")


def test_a_template_that_is_no_text_is_one_line(posts, tmp_path):
    form = tmp_path / "form.txt"
    form.write_bytes(b"\xff {claim} {post} {labels}")
    words = ["prompt", posts, "--labels", "a,b", "--out", tmp_path / "r.jsonl", "--template", form]
    with pytest.raises(InputError, match="UTF-8"):
        run(*words)
    form.write_bytes(b"\xef\xbb\xbf{claim}|{post}|{labels}")
    run(*words)
    first = json.loads((tmp_path / "r.jsonl").read_text().splitlines()[0])
    assert first["messages"][0]["content"].startswith("masks|")


def test_prompts_from_a_file(posts, tmp_path):
    asked = tmp_path / "requests.jsonl"
    run("prompt", posts, "--labels", "favor,against,neither", "--out", asked)
    rows = [json.loads(line) for line in asked.read_text().splitlines()]
    assert len(rows) == 60
    assert "The claim: masks" in rows[0]["messages"][0]["content"]
    back = tmp_path / "answers.jsonl"
    back.write_text(
        "".join(json.dumps({"item_id": row["item_id"], "answer": "favor"}) + "\n" for row in rows)
    )
    words = ["prompt", "--answers", back, "--labels", "favor,against,neither", "--out", tmp_path / "p.csv"]
    made = json.loads(run(*words, posts, "--json"))
    assert made["predictions"] == 60
    assert made["failures"] == []
    assert made["unanswered"] == 0
    back.write_text(back.read_text() + json.dumps({"item_id": "x:99", "answer": "favor"}) + "\n")
    with pytest.raises(InputError, match="answers for the item x:99, which was not asked about"):
        run(*words, posts)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--set", "C"], "is not KEY=VALUE"),
        (["--set", "C=x"], "is not a number"),
        (["--set", "c=1"], "no setting 'c'"),
        (["--set", "target=no"], "true or false"),
        (["--set", "features=word"], "Did you mean 'words'"),
        (["--set", "class_weights=big"], "no class weights"),
        (["--set", "C=-1"], "above 0"),
        (["--model", "bowl"], "Did you mean 'bow'"),
        (["--model", "vectors"], "needs word vectors"),
        (["--dev", "posts.csv", "--choose", "0"], "list of numbers"),
    ],
)
def test_wrong_settings_are_named_and_nothing_is_written(posts, tmp_path, words, message, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message):
        run("train", posts, "--out", tmp_path / "m", *words)
    assert not (tmp_path / "m").exists()


def test_files_without_text_or_labels_are_named(tmp_path):
    file = tmp_path / "p.csv"
    file.write_text("id,label\n1,a\n")
    with pytest.raises(InputError, match="has no column text"):
        run("train", file, "--out", tmp_path / "m")
    file.write_text("id,text\n1,a\n")
    with pytest.raises(InputError, match="has no column label"):
        run("train", file, "--out", tmp_path / "m")
    with pytest.raises(InputError, match="--out names no file"):
        run("prompt", file)
    with pytest.raises(InputError, match="label set is unknown"):
        run("prompt", file, "--out", tmp_path / "r")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.assign(label=["", *rows["label"][1:]]), "posts.csv, row 2: has no label"),
        (lambda rows: rows.assign(label="favor"), "there is one label, 'favor'"),
        (lambda rows: rows[:0], "posts.csv: has no rows"),
        (lambda rows: pd.concat([rows, rows[:1]]), "row 62: the post_id x:1indeed stands in row 2, too"),
        (lambda rows: rows.assign(post_id=["", *rows["post_id"][1:]]), "row 2: has no post_id"),
        (lambda rows: rows.drop(columns="claim"), "has no column target"),
        (lambda rows: rows.rename(columns={"post": "words"}), "has no column text"),
        (lambda rows: rows.rename(columns={"label": "x" * 500}), r"has no column label\. .{80,200}$"),
    ],
)
@pytest.mark.parametrize("command", ["train", "compare"])
def test_odd_tables_are_named_with_their_row(posts, tmp_path, command, change, message):
    change(pd.read_csv(posts)).to_csv(posts, index=False)
    words = ["--out", tmp_path / "m"] if command == "train" else ["--schemes", "random", "--models", "bow"]
    with pytest.raises(InputError, match=message) as told:
        run(command, posts, *words)
    assert "\n" not in str(told.value)
    assert [one.name for one in tmp_path.iterdir()] == ["posts.csv"]


def test_a_post_may_stand_under_several_claims(posts, tmp_path):
    rows = pd.read_csv(posts)
    pd.concat([rows, rows.assign(claim="other masks")]).to_csv(posts, index=False)
    run("train", posts, "--out", tmp_path / "m")
    run("predict", tmp_path / "m", posts, "--out", tmp_path / "p.csv")
    assert len(pd.read_csv(tmp_path / "p.csv")) == 120


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--labels", "favor,favor"], "names 'favor' twice"),
        (["--set", "C=nan"], "C must be above 0"),
        (["--set", "C=inf"], "C must be above 0"),
        (["--before", "posts.csv"], "--before is for transformer models"),
        (["--dev", "none.csv"], "none.csv: is missing"),
    ],
)
def test_odd_options_are_named(posts, tmp_path, words, message, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message):
        run("train", posts, "--out", tmp_path / "m", *words)
    with pytest.raises(InputError, match="names no scheme"):
        run("compare", posts, "--schemes", ",")
    with pytest.raises(InputError, match="names no measure"):
        run("compare", "--ablate", posts, "--measures", "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "needs a pretrained one"),
        (["--set", "path=x", "--set", "epoch=1"], "Did you mean 'epochs'"),
        (["--set", "path=x", "--set", "epochs=0"], "at least 1"),
        (["--set", "path=x", "--set", "claim_first=yes"], "true or false"),
        (["--set", "path=x", "--set", "batch=many"], "is not a number"),
        (["--set", "path=x", "--set", "learning_rate=nan"], "at least 0"),
        (["--set", "path=x", "--set", "tokens=99999999999999999999"], "below 1,000,000,000"),
    ],
)
def test_wrong_settings_of_transformers_are_named(posts, tmp_path, words, message):
    with pytest.raises(InputError, match=message):
        run("train", posts, "--out", tmp_path / "m", "--model", "cross-encoder", *words)
    with pytest.raises(InputError, match="--start is for transformer models"):
        run("train", posts, "--out", tmp_path / "m", "--start", tmp_path)


@pytest.mark.needs("models")
def test_a_transformer_from_the_command_line(posts, tmp_path):
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    torch.manual_seed(1)
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nindeed\nnonsense\nperhaps\n")
    config = BertConfig(
        vocab_size=8, hidden_size=16, num_hidden_layers=1, num_attention_heads=1, intermediate_size=16
    )
    BertModel(config).save_pretrained(tmp_path / "tiny")
    BertTokenizerFast(vocab=str(tmp_path / "vocab.txt")).save_pretrained(tmp_path / "tiny")
    words = [
        "--model",
        "sentence-bert",
        "--set",
        f"path={tmp_path / 'tiny'}",
        "--set",
        "epochs=2",
        "--dev",
        posts,
    ]
    made = json.loads(run("train", posts, "--out", tmp_path / "m", *words, "--json").splitlines()[-1])
    assert len(made["losses"]) == len(made["dev_losses"]) == 2
    assert made["versions"]["torch"] == torch.__version__
    assert made["dev"]["data"] == "posts.csv"
    assert made["dev"]["sha256"] == made["sha256"]
    assert 0 <= made["dev"]["macro_f1"] <= made["dev"]["accuracy"] <= 1
    assert not (tmp_path / "m" / "training.pt").exists()
    run("predict", tmp_path / "m", posts, "--out", tmp_path / "p.csv")
    assert len(pd.read_csv(tmp_path / "p.csv")) == 60
    for start, message in (("nowhere", "is no transformer model"), ("tiny", "is no transformer model")):
        with pytest.raises(InputError, match=message):
            run("train", posts, "--out", tmp_path / "n", *words, "--start", tmp_path / start)
    with pytest.raises(InputError, match=r"posts.csv/m: cannot be written to"):
        run("train", posts, "--out", posts / "m", *words)
    for path in (posts, tmp_path / "m"):
        with pytest.raises(InputError, match="the transformer model cannot be read"):
            run("train", posts, "--out", tmp_path / "n", *words, "--set", f"path={path}")
    pd.read_csv(posts).drop(columns="claim").to_csv(posts, index=False)
    with pytest.raises(InputError, match="posts has no column target"):
        run("train", posts, "--out", tmp_path / "n", *words)
    assert not (tmp_path / "n").exists()
