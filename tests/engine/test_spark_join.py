"""What Spark's workers do to find near-duplicates, without Spark: the numbers of the embedded join, whatever the blocks."""

from __future__ import annotations

import random
from collections import defaultdict
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from covmis_build.engine import spark_join
from covmis_build.engine.spark_join import Corpus, SharedWords
from covmis_build.text.near_duplicates import near_duplicate_pairs
from tests.text.test_near_duplicates import cascades


@pytest.fixture
def rows():
    """Distinct texts, some of them of several posts, some with words of their own, some without any."""
    made = [f"{text} own{at}" if at % 3 else text for at, text in enumerate(cascades(120, seed=4, words=40))]
    texts = sorted({*made, "Straße İstanbul ΟΔΟΣ", "straße i̇stanbul οδος", "!!", ""})
    random.Random(1).shuffle(texts)
    names = [f"{number:03d}" for number in range(len(texts))]
    return pa.table({"row": names, "copies": [1 + number % 3 for number in range(len(texts))], "text": texts})


def blocks(table, seed):
    """The rows, cut somewhere."""
    cuts = sorted(random.Random(seed).sample(range(1, len(table)), 7))
    return [table.slice(low, high - low) for low, high in zip([0, *cuts], [*cuts, len(table)], strict=True)]


def known_of(rows, seed):
    """What SQL and the driver make of the words of all blocks."""
    words = pa.concat_tables(spark_join.counted(block) for block in blocks(rows, seed))
    sums = words.group_by(["word", "hash"]).aggregate([("documents", "sum"), ("rows_with", "sum")])
    shared = sums.filter(pc.greater(sums["rows_with_sum"], 1)).select(["word", "hash", "documents_sum"])
    return SharedWords.of(spark_join.numbered(shared.rename_columns(["word", "hash", "documents"])))


@pytest.mark.parametrize("seed", range(5))
def test_workers_find_the_pairs_of_the_embedded_join(rows, monkeypatch, seed):
    known = known_of(rows, seed)
    monkeypatch.setattr(spark_join, "known_words", lambda _: known)
    posts = [text for text, copies in zip(rows["text"].to_pylist(), rows["copies"].to_pylist(), strict=True)
             for _ in range(copies)]  # fmt: skip
    row_of = np.repeat(np.arange(len(rows)), rows["copies"].to_numpy())
    i, j, similarity = near_duplicate_pairs(posts, 0.7)
    expected = {
        (int(row_of[a]), int(row_of[b])): value for a, b, value in zip(i, j, similarity, strict=True) if row_of[a] != row_of[b]
    }  # fmt: skip
    corpus = Corpus(len(posts), "")
    bodies = pa.concat_tables(spark_join.bodies(block, corpus=corpus) for block in blocks(rows, seed + 1))
    nodes = bodies.add_column(0, "scope", [["x"] * len(bodies)])
    lists = pa.concat_tables(
        spark_join.prefixes(block, corpus=corpus, threshold=0.7) for block in blocks(nodes, seed + 2)
    )
    lists = lists.cast(spark_join.LISTS).sort_by([("scope", "ascending"), ("word", "ascending")])
    monkeypatch.setattr(
        spark_join, "TOGETHER", 20_000 * seed
    )  # bytes: from every list by itself to all at once
    every, enough = (
        in_lists(lists, partial(spark_join.alike_in, corpus=corpus, threshold=0.7, every=every), seed)
        for every in (True, False)
    )
    assert sorted(every) == sorted(tuple(sorted(pair)) for pair in expected), "each of them once"
    assert len(enough) < len(every)
    assert groups_of(enough) == groups_of(every)
    of = {int(body["row"]): body for body in bodies.to_pylist()}
    pairs = {
        "a": [str(a) for a, _ in every], "b": [str(b) for _, b in every],
        **{f"{name}_a": [of[a][name] for a, _ in every] for name in ("body", "square")},
        **{f"{name}_b": [of[b][name] for _, b in every] for name in ("body", "square")},
    }  # fmt: skip
    judged = [
        alike for block in blocks(pa.table(pairs), seed) for alike in spark_join.cosines(block, corpus=corpus).to_pylist()
    ]  # fmt: skip
    found = {(int(pair["a"]), int(pair["b"])): pair["similarity"] for pair in judged}
    assert found == {tuple(sorted(pair)): value for pair, value in expected.items()}


def in_lists(lists, kernel, seed):
    """The pairs that a worker finds in a sorted partition, in batches cut anywhere."""
    batches = [batch for block in blocks(lists, seed) for batch in block.combine_chunks().to_batches()]
    rows = pa.Table.from_batches(spark_join.listwise(kernel)(iter(batches)), spark_join.EDGES).to_pylist()
    assert {row["scope"] for row in rows} == {"x"}
    return [tuple(sorted((int(row["a"]), int(row["b"])))) for row in rows]


def groups_of(pairs):
    """What they connect."""
    group = {node: {node} for pair in pairs for node in pair}
    for a, b in pairs:
        whole = group[a] | group[b]
        group |= dict.fromkeys(whole, whole)
    return {frozenset(members) for members in group.values()}


def test_a_row_is_in_the_same_lists_whatever_the_block(rows, monkeypatch):
    """Words that are equally rare come in one order everywhere; two prefixes would not meet otherwise."""
    known, corpus = known_of(rows, 0), Corpus(sum(rows["copies"].to_pylist()), "")
    monkeypatch.setattr(spark_join, "known_words", lambda _: known)
    bodies = spark_join.bodies(rows, corpus=corpus)
    alone = [spark_join.bodies(rows.slice(at, 1), corpus=corpus) for at in range(len(rows))]
    assert pa.concat_tables(alone).to_pylist() == bodies.to_pylist()
    bodies = bodies.add_column(0, "scope", [["x"] * len(bodies)])
    whole = spark_join.prefixes(bodies, corpus=corpus, threshold=0.7)
    apart = [
        spark_join.prefixes(bodies.slice(at, 1), corpus=corpus, threshold=0.7)
        for at in reversed(range(len(bodies)))
    ]
    order = [("row", "ascending"), ("word", "ascending")]
    assert len(whole) > len(rows)
    assert pa.concat_tables(apart).sort_by(order).to_pylist() == whole.sort_by(order).to_pylist()


def test_words_of_one_hash_are_told_apart(rows):
    known = known_of(rows, 0)
    some = [2, 0, len(known.place) - 1, 1]
    letters = pa.concat_arrays(
        [known.letters.take(pa.array(some)), pa.array([b"nowhere"], pa.large_binary())]
    )
    same = known._replace(hashes=np.zeros_like(known.hashes))
    expected = [*known.place[some], -1]
    assert spark_join.places_of(letters, np.zeros(5, np.int64), same).tolist() == expected


def test_edges_are_connected_within_their_scope():
    random_of = random.Random(5)
    ends = [(f"s{random_of.randrange(2)}", *random_of.choices(range(60), k=2)) for _ in range(60)]
    edges = pa.table(dict(zip(("scope", "u", "v"), map(list, zip(*ends, strict=True)), strict=True)))
    edges = edges.set_column(1, "u", edges["u"].cast(pa.string())).set_column(
        2, "v", edges["v"].cast(pa.string())
    )
    group = {(scope, node): {(scope, node)} for scope, *both in edges_of(edges) for node in both}
    for scope, u, v in edges_of(edges):
        whole = group[scope, u] | group[scope, v]
        group |= dict.fromkeys(whole, whole)
    found = spark_join.connected(edges).to_pylist()
    assert sorted((row["scope"], row["node"]) for row in found) == sorted(group)
    of_label = defaultdict(set)
    for row in found:
        of_label[row["scope"], row["label"]].add((row["scope"], row["node"]))
    assert all(group[label] == members for label, members in of_label.items())
    assert 4 < len(of_label) < len(group) / 2
    assert len(spark_join.connected(edges.slice(0, 0))) == 0


def edges_of(edges):
    return [tuple(row.values()) for row in edges.to_pylist()]
