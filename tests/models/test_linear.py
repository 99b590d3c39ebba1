"""Linear models: right on what can be known, the same every time, whole on disk."""

import numpy as np
import pandas as pd
import pytest

from covmis_build.errors import InputError
from covmis_build.evaluation import score as scoring
from covmis_build.models.linear import PRESETS, Linear, choose_linear, train_linear
from covmis_build.models.linear_checkpoints import load, save
from covmis_build.models.options import options_of

TOYS = pd.DataFrame(
    [
        {"text": f"{word} number {at} of the masks", "target": target, "label": label}
        for at in range(12)
        for target in ("masks are bad", "vaccines are bad")
        for word, label in (("indeed", "favor"), ("nonsense", "against"), ("perhaps", "neither"))
    ]
)
NEW = pd.DataFrame({"text": ["nonsense 7", "indeed!", "perhaps so"], "target": ["masks are bad"] * 3})


def score(*given, **options):
    return scoring(*given, **options).to_frame()


@pytest.fixture(scope="session")
def vectors(tmp_path_factory):
    """A file in GloVe's format in which agreement and doubt are directions."""
    file = tmp_path_factory.mktemp("vectors") / "toy.txt"
    words = {
        "indeed": "1 0 0",
        "nonsense": "0 1 0",
        "perhaps": "0 0 1",
        "rubbish": "0 1 0.1",
        "masks": "0.1 0.1 0.1",
    }
    file.write_text("".join(f"{word} {numbers}\n" for word, numbers in words.items()))
    return file


def options(name, vectors):
    return options_of(name, {"vectors": str(vectors), "min_df": 1}) if name == "vectors" else PRESETS[name]


@pytest.mark.parametrize("name", [name for name in PRESETS if name != "majority"])
def test_a_learnable_set_is_learned(name, vectors):
    model = train_linear(TOYS, options(name, vectors), labels=["favor", "against", "neither"])
    assert model.predict(NEW) == ["against", "favor", "neither"]
    chances = model.probabilities(NEW)
    assert chances.sum(axis=1) == pytest.approx(1)
    assert chances.argmax(axis=1).tolist() == [1, 0, 2]


@pytest.mark.parametrize("name", PRESETS)
def test_saved_models_predict_the_same_and_every_training_writes_the_same_bytes(name, vectors, tmp_path):
    kept = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        model = train_linear(TOYS, options(name, vectors))
        save(model, folder)
        kept.append((folder / "model.json").read_bytes() + next(folder.glob("weights-*.npz")).read_bytes())
        again = load(folder)
        assert again.predict(NEW) == model.predict(NEW)
        assert np.array_equal(again.probabilities(NEW), model.probabilities(NEW))
    assert kept[0] == kept[1]


def test_killed_between_its_two_files_the_model_that_was_there_is_usable(tmp_path, monkeypatch):
    """The numbers of the new model are there, and the file that names the numbers is still the old one's."""
    from covmis_build import storage

    class Killed(BaseException):
        pass

    def killed(*words):
        raise Killed

    old = train_linear(TOYS, "bow")
    turned = TOYS.assign(
        label=TOYS["label"].map({"favor": "against", "against": "neither", "neither": "favor"})
    )
    new = train_linear(turned, "bow")
    save(old, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(storage, "write_text", killed)
        with pytest.raises(Killed):
            save(new, tmp_path)
    assert len(list(tmp_path.glob("weights-*.npz"))) == 2
    assert load(tmp_path).predict(NEW) == old.predict(NEW)
    save(new, tmp_path)
    assert load(tmp_path).predict(NEW) == new.predict(NEW) != old.predict(NEW)
    assert len(list(tmp_path.iterdir())) == 2


def test_words_that_training_never_saw_have_vectors(vectors):
    model = train_linear(TOYS, options("vectors", vectors))
    assert model.predict(pd.DataFrame({"text": ["rubbish"], "target": [""]})) == ["against"]


def test_a_changed_file_of_vectors_is_noticed(tmp_path):
    file = tmp_path / "v.txt"
    file.write_text("3 2\nindeed 1 0\nnonsense 0 1\nperhaps 1 1\n")
    model = train_linear(TOYS, options_of("vectors", {"vectors": str(file)}))
    assert model.predict(NEW)[0] == "against"
    file.write_text("indeed 1 0\nnonsense 1 0\n")
    with pytest.raises(InputError, match="is not what the model was trained with"):
        model.predict(NEW)


@pytest.fixture
def static(tmp_path):
    """A model of model2vec, as it writes one."""
    model2vec = pytest.importorskip("model2vec", reason="model2vec is not installed: make services")
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = ["[UNK]", "indeed", "nonsense", "perhaps", "rubbish", "masks"]
    tokenizer = Tokenizer(models.WordLevel({word: at for at, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    vectors = np.array(
        [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 0.1], [0.1, 0.1, 0.1]], dtype=np.float32
    )
    model2vec.StaticModel(vectors, tokenizer).save_pretrained(tmp_path / "static")
    return tmp_path / "static"


def test_a_folder_of_model2vec_is_vectors_too(static, tmp_path):
    model = train_linear(TOYS, options_of("vectors", {"vectors": str(static)}))
    assert model.predict(NEW) == ["against", "favor", "neither"]
    assert model.predict(pd.DataFrame({"text": ["rubbish"], "target": [""]})) == ["against"]
    save(model, tmp_path / "kept")
    again = load(tmp_path / "kept")
    assert np.array_equal(again.probabilities(NEW), model.probabilities(NEW))
    (static / "model.safetensors").write_bytes(b"x")
    with pytest.raises(InputError, match="is not what the model was trained with"):
        again.predict(NEW)
    with pytest.raises(InputError, match="cannot be read as a model of model2vec"):
        train_linear(TOYS, options_of("vectors", {"vectors": str(static)}))


def test_static_embeddings_need_no_torch(static, tmp_path):
    """Training and prediction, in a process of their own."""
    import subprocess
    import sys

    TOYS.to_csv(tmp_path / "toys.csv", index=False)
    script = (
        "import sys, covmis_build as covmis; "
        f"t = covmis.train('toys.csv', 'vectors', settings={{'vectors': {str(static)!r}}}); "
        "print(t.predict('toys.csv')['prediction'][0]); sys.exit('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout.split(), done.returncode) == ([TOYS["label"][0]], 0), done.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [("a 1 2\nb 1\n", "has 1 numbers where 2"), ("indeed 1 x\n", "no number"), ("", "no vectors")],
)
def test_broken_vectors_are_named(tmp_path, text, message):
    file = tmp_path / "v.txt"
    file.write_text(text)
    with pytest.raises(InputError, match=message):
        train_linear(TOYS, options_of("vectors", {"vectors": str(file)}))


def test_the_majority_and_its_shares():
    frame = pd.DataFrame({"text": ["", "", ""], "label": ["b", "a", "b"]})
    model = train_linear(frame, "majority", labels=["a", "b", "c"])
    assert model.predict(frame) == ["b"] * 3
    assert model.probabilities(frame)[0] == pytest.approx([1 / 3, 2 / 3, 0])
    assert model.telling().empty


def test_a_label_without_examples_is_never_predicted():
    model = train_linear(TOYS, "bow", labels=["favor", "against", "neither", "later"])
    assert model.probabilities(NEW)[:, 3].tolist() == [0, 0, 0]
    one = train_linear(TOYS[TOYS["label"] == "favor"], "bow", labels=["favor", "against"])
    assert one.predict(NEW) == ["favor"] * 3


def test_two_labels_have_one_line_between_them():
    pair = TOYS[TOYS["label"] != "neither"]
    model = train_linear(pair, "bow", labels=["favor", "against"])
    assert model.predict(NEW.iloc[:2]) == ["against", "favor"]
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    made = [TfidfVectorizer(ngram_range=(1, 2)).fit(pair[name]) for name in ("text", "target")]
    matrices = [
        np.hstack(
            [one.transform(frame[name]).toarray() for one, name in zip(made, ("text", "target"), strict=True)]
        )
        for frame in (pair, NEW)
    ]
    plain = LogisticRegression(C=1, max_iter=3000, tol=1e-8).fit(matrices[0], pair["label"])
    assert model.probabilities(NEW) == pytest.approx(plain.predict_proba(matrices[1])[:, ::-1], abs=1e-6)


def test_telling_features_are_the_ones_that_decide():
    found = train_linear(TOYS, "bow").telling(2)
    first = found.groupby("label")["feature"].first().to_dict()
    assert first == {"favor": "indeed", "against": "nonsense", "neither": "perhaps"}
    assert set(found["column"]) == {"text"}


def test_class_weights_are_those_of_the_paper():
    """max(x)/x_k: the same as repeating a class's rows that often."""
    few = pd.DataFrame({"text": ["aa bb", "aa cc", "bb cc", "cc"], "label": ["x", "x", "x", "y"]})
    plain = Linear(target=False)
    weighted = train_linear(few, Linear(target=False, class_weights="largest"))
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    made = TfidfVectorizer(ngram_range=(1, 2)).fit(few["text"])
    matrix = made.transform(few["text"]).toarray()
    repeated = LogisticRegression(max_iter=3000, tol=1e-8).fit(
        np.vstack([matrix, matrix[3], matrix[3]]), [*few["label"], "y", "y"]
    )
    assert weighted.probabilities(few) == pytest.approx(repeated.predict_proba(matrix), abs=1e-4)
    assert train_linear(few, plain).probabilities(few) != pytest.approx(
        repeated.predict_proba(matrix), abs=1e-2
    )


def test_a_model_for_each_target():
    turned = TOYS.copy()
    swap = {"favor": "against", "against": "favor", "neither": "neither"}
    second = turned["target"] == "vaccines are bad"
    turned.loc[second, "label"] = turned.loc[second, "label"].map(swap)
    model = train_linear(turned, "grams")
    other = NEW.assign(target="vaccines are bad")
    assert model.predict(NEW) == ["against", "favor", "neither"]
    assert model.predict(other) == ["favor", "against", "neither"]
    with pytest.raises(InputError, match="Did you mean 'masks are bad'"):
        model.predict(NEW.assign(target="masks are bat"))


def test_choosing_looks_at_the_dev_part_alone():
    dev = TOYS.iloc[:9]
    found, values = choose_linear(TOYS, dev, [PRESETS["majority"], PRESETS["bow"]], measure="accuracy")
    assert found == PRESETS["bow"]
    assert values == pytest.approx([1 / 3, 1])


def test_wrong_input_is_named(tmp_path):
    with pytest.raises(InputError, match="Did you mean 'bow'"):
        train_linear(TOYS, "bov")
    with pytest.raises(InputError, match="no column target"):
        train_linear(TOYS.drop(columns="target"), "bow")
    with pytest.raises(InputError, match="no rows"):
        train_linear(TOYS.iloc[:0], "bow")
    with pytest.raises(InputError, match="'favor' is not in the label set"):
        train_linear(TOYS, "bow", labels=["favour", "against", "neither"])
    with pytest.raises(InputError, match="no setting 'c'"):
        options_of("bow", {"c": 3})
    with pytest.raises(InputError, match="Lower min_df"):
        train_linear(TOYS, options_of("bow", {"min_df": 1000}))
    with pytest.raises(InputError, match="is no model"):
        load(tmp_path)
    for damage, message in (
        ('{"format": 1}', "has the format 1"),
        ('{"format": 2}', "cannot be read as a model"),
        ('{"format": 2, "weights": "../weights-x.npz"}', "cannot be read as a model"),
        ("[]", "cannot be read as a model"),
    ):
        (tmp_path / "model.json").write_text(damage)
        with pytest.raises(InputError, match=message):
            load(tmp_path)


def macro_f1(gold, predicted):
    labels = sorted(set(gold))
    row = score(list(gold), {"": predicted}, labels=labels, measures=["macro_f1"]).iloc[0]
    return 100 * row["value"]


def test_pheme_standard_split(data_home):
    """Mu et al. 2023, Table 4: logistic regression on PHEME, chronological: 63.9, here 64.1 (converged)."""
    from covmis_build import datasets

    frame = datasets.read("pheme", data_home).sort_values(["time", "id"], kind="stable")
    model = train_linear(frame.iloc[:4061], "mu")
    test = frame.iloc[4641:]
    assert macro_f1(test["label"], model.predict(test)) == pytest.approx(64.1, abs=0.05)


def test_weibo_stratified_split(data_home):
    """Mu et al. 2023 print 77.9 and do not give C; with C = 10 and balanced classes it is 78.0."""
    from covmis_build import datasets

    frame = datasets.read("weibo", data_home).sort_values(["time", "id"], kind="stable")
    cuts = {"rumour": (1619, 1850), "non-rumour": (1645, 1880)}
    parts = {label: frame[frame["label"] == label] for label in cuts}
    before = pd.concat([parts[label].iloc[:first] for label, (first, _) in cuts.items()])
    after = pd.concat([parts[label].iloc[second:] for label, (_, second) in cuts.items()])
    model = train_linear(before, "mu-chinese")
    assert macro_f1(after["label"], model.predict(after)) == pytest.approx(78.0, abs=0.05)


@pytest.mark.long
def test_weibo_random_splits(data_home):
    """Mu et al. 2023: 90.1 on random divisions; the mean over ours."""
    from covmis_build import datasets
    from covmis_build.evaluation.split import splits

    frame = datasets.read("weibo", data_home)
    parts = splits(frame, scheme="random", folds=5)
    found = []
    for fold in parts.columns:
        before, after = (frame[parts[fold] == part] for part in ("train", "test"))
        found.append(macro_f1(after["label"], train_linear(before, "mu-chinese").predict(after)))
    assert np.mean(found) == pytest.approx(90.1, abs=0.6)


@pytest.mark.long
def test_semeval_beats_the_published_svm(data_home):
    """SemEval-2016 task 6 A: F-avg over the five targets' posts, chosen on the validation part: at least 67.3."""
    from covmis_build import datasets

    frame = datasets.read("semeval2016-task6", data_home)
    parts = {name: frame[frame["split"] == name] for name in ("train", "dev", "test")}
    labels, poles = ["favor", "against", "none"], ["favor", "against"]
    candidates = [options_of("grams", {"C": c}) for c in (1, 10, 100)]
    chosen, _ = choose_linear(
        parts["train"], parts["dev"], candidates, measure="f_avg", labels=labels, poles=poles
    )
    predicted = train_linear(parts["train"], chosen, labels=labels).predict(parts["test"])
    row = score(
        parts["test"]["label"].tolist(), {"": predicted}, labels=labels, measures=["f_avg"], poles=poles
    ).iloc[0]  # fmt: skip
    assert row["value"] >= 0.673
