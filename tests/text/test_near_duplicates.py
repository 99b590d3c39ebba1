"""Against the definition: scikit-learn's vectors and every product."""

from __future__ import annotations

import gzip
import itertools
import json
import lzma
import random
import string

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covmis_build.errors import InputError
from covmis_build.text import bags, join
from covmis_build.text.near_duplicates import group_table, near_duplicate_groups, near_duplicate_pairs
from tests.text import brute_force

THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.99)


def assert_equal_to_brute_force(texts, threshold, rule="unicode"):
    expected = brute_force.all_pairs(texts, threshold, rule)
    i, j, similarity = near_duplicate_pairs(texts, threshold, rule)
    found = dict(zip(zip(i.tolist(), j.tolist(), strict=True), similarity.tolist(), strict=True))
    assert found.keys() == expected.keys()
    assert all(abs(found[pair] - expected[pair]) < 2e-12 for pair in found)
    assert near_duplicate_groups(texts, threshold, rule).tolist() == brute_force.groups(len(texts), expected)


def cascades(n, seed, words=400, longest=14):
    """Texts in cascades of copies with words added, removed and swapped."""
    r = random.Random(seed)
    vocabulary = ["".join(r.choices(string.ascii_lowercase, k=r.randint(1, 6))) for _ in range(words)]
    texts = []
    while len(texts) < n:
        if texts and r.random() < 0.6:
            old = r.choice(texts).split()
            for _ in range(r.choice((0, 1, 1, 2, 3))):
                place = r.randint(0, len(old))
                old[place : place + r.randint(0, 1)] = [r.choice(vocabulary)] * r.randint(0, 2)
            texts.append(" ".join(old))
        else:
            texts.append(" ".join(r.choices(vocabulary, k=r.randint(0, longest))))
    return texts


WORD = st.sampled_from(
    [
        "aa",
        "bb",
        "cc",
        "dd",
        "ee",
        "ff",
        "AA",
        "x",
        "ÉÉ",
        "éé",
        "中文",
        "\U0001d4b3\U0001d4b4",
        "ΣΣ",
        "σς",
        "İi",
        "ßß",
        "ⅧⅧ",
    ]
)
TEXT = st.one_of(
    st.lists(WORD, max_size=8).map(" ".join),
    st.text(max_size=12),
    st.text(alphabet="新冠病毒々ーかナไทษ์aB1_ ，。", max_size=14),  # noqa: RUF001 - Chinese commas
    st.text(alphabet=st.characters(codec="utf-8"), max_size=6).map(lambda t: f"{t} {t}"),
)


@settings(max_examples=150)
@given(st.lists(TEXT, min_size=1, max_size=30), st.sampled_from(THRESHOLDS))
def test_any_texts(texts, threshold):
    assert_equal_to_brute_force(texts, threshold)


SCRIPTS = (
    "আমি তুমি স্বাস্থ্য ভ্যাকসিন করোনা ভাইরাস বাংলাদেশ নিরাপদ",  # Bengali
    "मैं तुम स्वास्थ्य टीका कोरोना वायरस ज़रूरी सुरक्षित",  # Devanagari, with a nukta
    "நான் நீங்கள் தடுப்பூசி கொரோனா வைரஸ் பாதுகாப்பு மக்கள்",  # Tamil
    "ఆరోగ్యం టీకా కరోనా వైరస్ ప్రజలు సురక్షితం",  # Telugu
    "ഞാൻ നിങ്ങൾ വാക്സിൻ ആരോഗ്യം സുരക്ഷിതം ക്‍ഷ",  # Malayalam, with a joiner
    "لَقَاح لقاح صِحَّة فیروس می‌خواهم امـــان",  # Arabic letters, with vowels, a non-joiner and tatweel
    "บ้าน น้ำร้อน ฆ่าเชื้อ ไวรัส วัคซีน ปลอดภัย",  # Thai
    "vaccin santé café vérité aşı #un_2 1️⃣2️⃣ 🧼",  # Latin, decomposed too; keycaps
)


@settings(max_examples=150)
@given(st.data(), st.sampled_from(THRESHOLDS), st.sampled_from(["unicode", "scikit-learn"]))
def test_words_of_eight_scripts(data, threshold, rule):
    vocabulary = [
        word
        for line in data.draw(st.lists(st.sampled_from(SCRIPTS), min_size=1, max_size=3))
        for word in line.split()
    ]
    words = st.sampled_from(vocabulary) | st.text("".join(vocabulary), max_size=4)
    texts = data.draw(st.lists(st.lists(words, max_size=6).map(" ".join), min_size=1, max_size=25))
    assert_equal_to_brute_force(texts, threshold, rule)


def test_texts_that_share_no_whole_word_are_not_alike():
    bengali = ["কি করে সে", "কে করা সা"]  # the same bare letters
    bengali = [text.replace(" ", "ক ") for text in bengali]
    assert near_duplicate_groups(bengali).tolist() == [0, 1]
    assert near_duplicate_groups(bengali, words="scikit-learn").tolist() == [0, 0], "as in the paper"
    assert len(bags.bags(["1️⃣2️⃣ ok"]).documents) == 1, "keycap emoji are no words"


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(2, 400), st.integers(4, 300), st.sampled_from(THRESHOLDS))
def test_cascades(seed, n, words, threshold):
    assert_equal_to_brute_force(cascades(n, seed, words), threshold)


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_three_thousand_texts(threshold):
    assert_equal_to_brute_force(cascades(3000, seed=7, words=900), threshold)


@pytest.mark.parametrize("threshold", [0.0, 0.05])
def test_low_thresholds_compare_everything_that_shares_a_word(threshold):
    assert_equal_to_brute_force(cascades(300, seed=3, words=2000), threshold)


def test_two_threads_change_nothing(monkeypatch):
    texts = cascades(3000, seed=11, words=900)
    one = near_duplicate_pairs(texts), near_duplicate_groups(texts)
    monkeypatch.setattr(join, "FEW", 0)
    monkeypatch.setattr(bags, "SMALL", 0)
    two = near_duplicate_pairs(texts), near_duplicate_groups(texts)
    for a, b in zip((*one[0], one[1]), (*two[0], two[1]), strict=True):
        np.testing.assert_array_equal(a, b)


def test_order_and_copies_change_no_bit():
    texts = cascades(800, seed=5)
    order = list(range(len(texts)))
    random.Random(1).shuffle(order)
    i, j, similarity = near_duplicate_pairs(texts)
    a, b, again = near_duplicate_pairs([texts[k] for k in order])
    moved = {
        (min(order[x], order[y]), max(order[x], order[y])): s for x, y, s in zip(a, b, again, strict=True)
    }
    assert moved == dict(zip(zip(i.tolist(), j.tolist(), strict=True), similarity.tolist(), strict=True))


def test_ties_at_the_threshold_do_not_count():
    # Each of these pairs shares 4 of 5 terms of equal weight: a cosine of 4/5, which float64 may put on either side.
    texts = []
    for k in range(1500):
        shared = " ".join(f"w{k}x{n}" for n in range(4))
        texts += [f"{shared} left{k}", f"{shared} right{k}"]
    shared_more = [f"{text} " for text in texts] + [
        t.replace("left", "mid").replace("right", "mid") for t in texts
    ]
    i, _, _ = near_duplicate_pairs(texts, 0.8)
    expected = brute_force.all_pairs(texts, 0.8)
    assert len(i) == len(expected)
    assert_equal_to_brute_force(shared_more[:900], 0.8)


def test_a_true_cosine_of_four_fifths_is_not_above():
    texts = []
    for k in range(500):
        shared = " ".join(f"w{k}x{n}" for n in range(4))
        texts += [f"{shared} a{k}aa", f"{shared} a{k}bb", *(f"a{k}aa", f"a{k}bb")]
    # All terms of a block are in two texts, so all weights are equal.
    i, _, _ = near_duplicate_pairs(texts, 0.8)
    assert len(i) == 0
    i, _, similarity = near_duplicate_pairs(texts, 0.79)
    assert len(i) == 500
    assert set(similarity.tolist()) == {0.8}


@pytest.mark.parametrize(
    "texts",
    [
        [],
        [""],
        ["", "", ""],
        ["word"],
        ["a", "a b", "!"],
        ["word", "word", "WORD!", "words"],
        [chr(0), "\n", "x" * 70000, "x" * 70000 + "y"],
        ["\ud800 half half", "half half", "\udc00\udc00 \udc00"],
    ],
)
def test_small_cases(texts):
    assert_equal_to_brute_force(texts, 0.8)


def test_ten_thousand_equal_texts():
    assert near_duplicate_groups(["Wash your hands now"] * 10_000).max() == 0
    shouted = [("Wash " if k % 2 else "WASH ") + "your hands" + "!" * k for k in range(10_000)]
    assert near_duplicate_groups(shouted).max() == 0


def test_no_words_are_similar_to_nothing():
    assert near_duplicate_groups(["!!", "!!", "ok ok", "ok ok"]).tolist() == [0, 1, 2, 2]


def test_one_giant_chain():
    words = [f"w{k}" for k in range(2040)]
    texts = [" ".join(words[k : k + 40]) for k in range(2000)]
    assert near_duplicate_groups(texts, 0.9).max() == 0
    assert_equal_to_brute_force(texts[:600], 0.9)
    members, chains = group_table(as_table(texts), threshold=0.9, grouping="components")
    assert chains.column("weakest").to_pylist() == [0.0]
    assert min(members.column("similarity").to_pylist()) == 0.0


def test_long_texts():
    r = random.Random(2)
    base = [f"term{r.randint(0, 3000)}" for _ in range(5000)]
    texts = [" ".join(base[: 5000 - 300 * k]) for k in range(8)] + [
        " ".join(r.choices(base, k=5000)) for _ in range(8)
    ]
    assert_equal_to_brute_force(texts, 0.8)
    assert_equal_to_brute_force(["very " * 80_000 + "much", "very " * 80_000 + "much so", "very much"], 0.8)


def test_copies_with_another_comma_are_found_in_scripts_without_spaces():
    for text in (
        "喝热水可以杀死新冠病毒，请告诉家人",  # noqa: RUF001
        "お湯を飲むとウイルスが死ぬ、家族に伝えて",
        "ดื่มน้ำร้อนฆ่าไวรัส บอกครอบครัว",
    ):
        copy = text.replace("，", " ").replace("、", " ")  # noqa: RUF001
        assert near_duplicate_groups([text, f"{copy}!", "完全不同的一句话 別の文 อื่น"]).tolist() == [0, 0, 1]
    found = bags.bags(["手机 手 iPhone手机"])
    assert sorted(found.count.tolist()) == [1, 2], "a pair of characters, twice, and a word next to it"


def test_every_plane_is_lower_cased_and_split_as_python_does():
    texts = []
    for low in range(0, 0x110000, 64):
        block = "".join(chr(point) for point in range(low, low + 64))
        texts.append(f"{block} ab{block}")
    flat = [f"{chr(point)}{chr(point)} a{chr(point)}b" for point in range(0x3000)]
    for some, rule in itertools.product((texts, flat), ("unicode", "scikit-learn")):
        made = bags.bags(some, rule)
        expected = (brute_force.vectorizer(rule).fit(some).transform(some) > 0).sum(axis=0)
        assert sorted(made.documents.tolist()) == sorted(np.asarray(expected).ravel().tolist())


def test_neighbouring_letters_decide_the_small_sigma():
    assert_equal_to_brute_force(
        ["ΟΔΟΣ ΟΔΟΣ", "οδος", "οδοσ", "ΟΔΟΣ.", "ΟΔΟΣα", "İstanbul", "i̇stanbul", "istanbul"], 0.5
    )


def test_arrow_columns_mean_the_same():
    texts = ["aa bb", "aa bb cc", "", "aa bb"] * 3
    column = pa.chunked_array([pa.array(texts[:5]), pa.array(texts[5:])])
    for source in (
        column,
        column.combine_chunks(),
        pa.array(["x", *texts])[1:],
        pa.array(texts, pa.large_string()),
    ):
        np.testing.assert_array_equal(near_duplicate_groups(source), near_duplicate_groups(texts))


@pytest.mark.parametrize("texts", [[1, 2], ["aa", 1.5], [b"aa", 3], ["\ud800 aa", 7]])
def test_what_is_not_text_is_refused(texts):
    with pytest.raises(InputError, match="texts must be strings"):
        near_duplicate_groups(texts)


def test_a_missing_text_has_no_words():
    assert near_duplicate_groups(["aa bb", None, "\ud800 aa bb", None]).tolist() == [0, 1, 0, 2]


def test_thresholds_have_bounds():
    for wrong in (-0.1, 1.0, 1.5, float("nan")):
        with pytest.raises(InputError, match="threshold"):
            near_duplicate_groups(["aa"], wrong)


def as_table(texts, seed=0, scope=None):
    r = random.Random(seed)
    columns = {
        "post_id": [f"x:{k:05d}" for k in range(len(texts))],
        "text": texts,
        "priority": [r.random() for _ in texts],
    }
    if scope is not None:
        columns = {"claim_id": scope, **columns}
    return pa.table(columns)


def test_table_of_components():
    texts = cascades(500, seed=9, words=150)
    table = as_table(texts)
    members, chains = group_table(table, threshold=0.8, grouping="components")
    labels = brute_force.groups(len(texts), brute_force.all_pairs(texts, 0.8))
    everything = brute_force.all_pairs(texts, -1)
    ids, priority = table.column("post_id").to_pylist(), table.column("priority").to_pylist()
    for at, (post, group, kept, similarity) in enumerate(zip(*members.to_pydict().values(), strict=True)):
        inside = [k for k, label in enumerate(labels) if label == labels[at]]
        best = min(inside, key=lambda k: priority[k])
        assert (post, group, kept) == (ids[at], ids[inside[0]], ids[best])
        assert similarity == (
            1 if at == best else pytest.approx(everything.get((min(at, best), max(at, best)), 0.0), abs=2e-12)
        )
    sizes = sorted((labels.count(label) for label in set(labels)), reverse=True)
    assert chains.column("size").to_pylist() == [size for size in sizes[:20] if size > 1]
    for group, _, weakest, a, b in zip(*chains.to_pydict().values(), strict=True):
        inside = [k for k, label in enumerate(labels) if ids[labels.index(label)] == group]
        lowest = min(everything.get((x, y), 0.0) for x in inside for y in inside if x < y)
        assert weakest == pytest.approx(lowest, abs=2e-12)
        assert everything.get((ids.index(a), ids.index(b)), 0.0) == pytest.approx(lowest, abs=2e-12)


def test_greedy_groups_are_stars():
    texts = cascades(500, seed=4, words=150)
    table = as_table(texts, seed=3)
    members, _ = group_table(table, threshold=0.8, grouping="greedy")
    near = brute_force.all_pairs(texts, 0.8)
    ids = table.column("post_id").to_pylist()
    star = {}
    for at in np.argsort(table.column("priority").to_numpy()).tolist():
        if at not in star:
            star[at] = at
            for other in range(len(texts)):
                if other not in star and (min(at, other), max(at, other)) in near:
                    star[other] = at
    assert members.column("kept").to_pylist() == [ids[star[at]] for at in range(len(texts))]
    assert min(members.column("similarity").to_pylist()) > 0.8


@pytest.mark.parametrize("grouping", ["components", "greedy"])
def test_scope_compares_within_and_fits_on_all(grouping):
    texts = cascades(300, seed=6, words=120)
    table = pa.concat_tables(
        [as_table(texts, scope=["a"] * 300), as_table(texts, scope=["b"] * 300).slice(0, 150)]
    )
    members, _ = group_table(table, threshold=0.8, grouping=grouping, scope="claim_id")
    whole, _ = group_table(as_table(texts), threshold=0.8, grouping=grouping)
    alone = members.filter(pa.compute.equal(members.column("claim_id"), "a")).drop_columns("claim_id")
    assert alone.equals(whole)
    others = members.filter(pa.compute.equal(members.column("claim_id"), "b"))
    assert max(others.column("kept").to_pylist()) <= "x:00149"


def test_row_order_does_not_matter():
    table = as_table(cascades(400, seed=8))
    turned = table.take(pa.array(np.random.default_rng(0).permutation(len(table))))
    for grouping in ("components", "greedy"):
        one, two = (group_table(some, threshold=0.8, grouping=grouping) for some in (table, turned))
        assert one[0].equals(two[0])
        assert one[1].equals(two[1])


def real_posts(data_home, name):
    if name == "stocknet":
        with gzip.open(data_home / "posts" / "stocknet_raw_119844.jsonl.gz", "rt", encoding="utf-8") as file:
            return list({post["id"]: post["text"] for post in map(json.loads, file)}.values())
    with lzma.open(data_home / "posts" / "troll_500k.tsv.xz", "rt", encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t")[-1] for line in file]


def sparse_components(texts, threshold):
    """Components by a blocked sparse product over the distinct texts; exact, and not quick."""
    distinct = list(dict.fromkeys(texts))
    vectorizer = brute_force.vectorizer().fit(texts)
    weights = vectorizer.transform(distinct).tocsr()
    pairs, rows = set(), max(20, 30_000_000 // len(distinct))  # what a block's product has room for
    for low in range(0, len(distinct), rows):
        if low % (rows * 20) == 0:
            first, turned = low, weights[low:].T.tocsr()  # only pairs with what follows
        block = (weights[low : low + rows] @ turned).tocoo()
        near = np.round(block.data, 12) > threshold
        one, other = block.row[near] + low, block.col[near] + first
        pairs.update((a, b) for a, b in zip(one.tolist(), other.tolist(), strict=True) if a < b)
    labels = brute_force.groups(len(distinct), pairs)
    has_words = np.asarray(weights.getnnz(axis=1)) > 0
    of = dict(zip(distinct, labels, strict=True))
    words = dict(zip(distinct, has_words.tolist(), strict=True))
    seen = {}
    return [
        seen.setdefault(of[text] if words[text] else ("none", k), len(seen)) for k, text in enumerate(texts)
    ]


@pytest.mark.parametrize(("name", "most"), [("stocknet", 8_000), ("troll", 8_000)])
def test_real_posts(data_home, name, most):
    texts = real_posts(data_home, name)[:most]
    assert near_duplicate_groups(texts).tolist() == sparse_components(texts, 0.8)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", ["stocknet", "troll"])
def test_all_real_posts(data_home, name):
    texts = real_posts(data_home, name)
    assert near_duplicate_groups(texts).tolist() == sparse_components(texts, 0.8)
