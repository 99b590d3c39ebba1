"""Near-duplicates on Spark: the exact join of `text/join.py` as joins of tables, with little work on the driver.

    posts → distinct texts ("rows") → words with document frequencies, numbered from rare to common
          → each row's words as numbers ("bodies") → its lists, each complete on one worker
          → similar pairs in each list → clusters → the post that represents each

The bounds are those of `text/join.py`, and the same code computes the cosine from the same integers, so every cluster
and similarity is identical to the bit. Words that two rows share are numbered on the driver and sent to each worker
once, so that texts are transferred as numbers. The rows of a list are compared on one worker as in the embedded
join: of connected rows, only as many pairs as are needed to connect them. Greedy clusters need every pair.
"""

from __future__ import annotations

import functools
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from covmis_build.engine.pieces import plain
from covmis_build.engine.spark_frames import batchwise, ddl, settled
from covmis_build.engine.spark_workers import agree, edition
from covmis_build.text import join
from covmis_build.text import near_duplicates as near
from covmis_build.text.bags import Bags, frequencies, words_of
from covmis_build.text.weights import Weighed, sketches, squared_idf, weigh

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

    from covmis_build.engine.port import Kernel
    from covmis_build.options import WordRule

    Send = Callable[[pa.Table], str]

STRING, REAL, COUNT = pa.string(), pa.float64(), pa.int64()
WORDS = pa.schema([("word", pa.binary()), ("hash", COUNT), ("documents", COUNT), ("rows_with", COUNT)])
BODIES = pa.schema([("row", STRING), ("body", pa.binary()), ("square", REAL)])
NODES = pa.schema([("scope", STRING), *BODIES])
LISTED = [("word", pa.int32()), ("place", pa.int32()), ("weight", pa.float32()), ("rest", pa.float32())]
LISTS = pa.schema([*NODES, *LISTED])
EDGES = pa.schema([("scope", STRING), ("a", STRING), ("b", STRING)])
ALIKE = pa.schema([("a", STRING), ("b", STRING), ("similarity", REAL)])


AT_ONCE = 5_000_000
"""Maximum number of edges that the driver connects: at some 60 bytes each, less memory than its words need."""
TOGETHER = 64 << 20
"""Bytes of lists that a worker compares at a time; a list is never split."""


class Corpus(NamedTuple):
    """What a cosine needs to know of all texts: their number, and the file of shared words."""

    size: int
    words: str


def near_duplicates(
    source: DataFrame, *, threshold: float, grouping: str, scope: str, words: WordRule = "unicode", send: Send
) -> tuple[DataFrame, pa.Table]:
    """Compute members and chains for `Engine.near_duplicates`; `send` puts a table where workers find it by name."""
    from pyspark.sql import functions as f

    near.check_threshold(threshold)
    keys, once = "'' AS scope", "1 AS once"
    if scope:  # a post in several scopes counts once
        keys = f"{scope} AS scope"
        once = f"INT(ROW_NUMBER() OVER (PARTITION BY post_id ORDER BY {scope}) = 1) AS once"
    copies = "MIN(post_id) OVER (PARTITION BY text) AS row", "SUM(once) OVER (PARTITION BY text) AS copies"
    posts = source.selectExpr(keys, "post_id", "text", "priority", once)
    posts = settled(posts.selectExpr("scope", "post_id", "text", "priority", "once", *copies))
    rows = posts.where("post_id = row AND once = 1").select("row", "copies", "text")
    corpus = Corpus(posts.where("once = 1").count(), send(numbered(_shared(rows, words))))
    body = settled(
        rows.mapInArrow(batchwise(partial(bodies, corpus=corpus, rule=words), BODIES), ddl(BODIES))
    )
    # A node is a distinct text within a scope; each post without words is a separate node.
    with_words = posts.join(body.select("row", f.lit(1).alias("words")), "row", "left")
    node = "IF(words = 1, row, post_id) AS node"
    placed = settled(with_words.selectExpr("scope", "post_id", "priority", "row", node))
    nodes = placed.where("node = row").select("scope", "row").distinct().join(body, "row")
    kernel = partial(prefixes, corpus=corpus, threshold=threshold)
    lists = nodes.select(*NODES.names).mapInArrow(batchwise(kernel, LISTS), ddl(LISTS))
    lists = lists.repartition("scope", "word").sortWithinPartitions("scope", "word")
    compared = partial(alike_in, corpus=corpus, threshold=threshold, every=grouping == "greedy")
    edges = settled(lists.mapInArrow(listwise(compared), ddl(EDGES)))
    labels = _greedy(placed, edges) if grouping == "greedy" else _components(edges)
    members = settled(_members(placed, labels, body, corpus))
    chains = _chains(members, body, corpus)
    columns = members.selectExpr("scope", "post_id", "group_id", "kept", "similarity")
    return columns.withColumnRenamed("scope", scope) if scope else columns.drop("scope"), chains


def _shared(rows: DataFrame, rule: WordRule) -> pa.Table:
    """Return the words that occur in at least two rows, unordered."""
    words = rows.mapInArrow(batchwise(partial(counted, rule=rule), WORDS), ddl(WORDS))
    sums = [f"SUM({name}) AS {name}" for name in ("documents", "rows_with")]
    every = words.groupBy("word", "hash").agg(*map(_expression, sums))
    return every.where("rows_with > 1").select("word", "hash", "documents").toArrow()


def _expression(text: str) -> Any:
    from pyspark.sql import functions as f

    return f.expr(text)


def _similarities(pairs: DataFrame, body: DataFrame, corpus: Corpus) -> DataFrame:
    """Return the similarity of these pairs of rows."""
    for side in "ab":
        named = (f"{name} AS {name}_{side}" for name in ("body", "square"))
        pairs = pairs.join(body.selectExpr(f"row AS {side}", *named), side)
    return pairs.mapInArrow(batchwise(partial(cosines, corpus=corpus), ALIKE), ddl(ALIKE))


def _components(edges: DataFrame) -> DataFrame:
    """Return (scope, node, label), where the label is the same for all nodes of a component.

    The driver connects some million edges in a second. More edges use large-star and small-star steps: each step links every
    node's larger neighbours (then its smaller ones) to its smallest one, until every component is a star around its smallest
    node (Kiveris and others 2014).
    """
    stars = settled(edges.selectExpr("scope", "b AS u", "a AS v"))
    if stars.count() <= AT_ONCE:
        labels = connected(stars.toArrow())
        return stars.sparkSession.createDataFrame(labels if len(labels) else [], ddl(labels.schema))
    while True:
        both = stars.union(stars.selectExpr("scope", "v", "u"))
        least = "LEAST(u, MIN(v) OVER (PARTITION BY scope, u)) AS least"
        large = (
            both.selectExpr("scope", "u", "v", least)
            .where("v > u")
            .selectExpr("scope", "v AS u", "least AS v")
        )
        large = large.distinct()
        small = large.selectExpr("scope", "u", "v", "MIN(v) OVER (PARTITION BY scope, u) AS least")
        turned = small.where("v <> least").selectExpr("scope", "v AS u", "least AS v")
        stars = settled(turned.union(small.selectExpr("scope", "u", "least AS v")).distinct())
        ends = stars.selectExpr("scope", "u AS node", "1 AS hangs").union(stars.selectExpr("scope", "v", "0"))
        of_node = ends.groupBy("scope", "node").agg(
            _expression("SUM(hangs) AS hangs"), _expression("COUNT(*) AS ends")
        )
        if not of_node.where("hangs > 0 AND ends > 1").count():
            return stars.selectExpr("scope", "u AS node", "v AS label")


def connected(edges: pa.Table) -> pa.Table:
    """The same for edges (scope, u, v) in memory."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    scope, node = (
        pa.chunked_array([*edges[a].chunks, *edges[b].chunks], STRING)
        for a, b in (("scope", "scope"), ("u", "v"))
    )
    names = pc.binary_join_element_wise(scope, node, "\0").combine_chunks().dictionary_encode()
    first = (
        pa.table({"name": names.indices, "at": np.arange(len(names))})
        .group_by("name")
        .aggregate([("at", "min")])
    )
    first = first.sort_by("name")["at_min"]
    u, v = np.split(names.indices.to_numpy(), 2)
    size = len(names.dictionary)
    _, component = connected_components(
        coo_array((np.ones(len(u), np.int8), (u, v)), (size, size)), directed=False
    )
    _, root = np.unique(component, return_index=True)
    scope, node = scope.take(first), node.take(first)
    return pa.table({"scope": scope, "node": node, "label": node.take(pa.array(root[component]))})


def _greedy(placed: DataFrame, edges: DataFrame) -> DataFrame:
    """Return (scope, node, label): each star takes all neighbours that no earlier star has taken.

    In each step every undecided node that precedes all its undecided neighbours takes these, which gives the same stars as
    sequential processing. Texts that are never taken are stars. Then each text joins the first adjacent star.
    """
    turn = (
        placed.where("node = row")
        .groupBy("scope", "node")
        .agg(_expression("MIN(STRUCT(priority, post_id)) AS turn"))
    )
    both = edges.selectExpr("scope", "a AS u", "b AS v").union(edges.selectExpr("scope", "b", "a"))
    both = both.join(turn.selectExpr("scope", "node AS u", "turn AS turn_u"), ["scope", "u"])
    both = settled(
        both.join(turn.selectExpr("scope", "node AS v", "turn AS turn_v"), ["scope", "v"]), now=True
    )
    undecided, taken = both, both.select("scope", "u").limit(0)
    while not undecided.isEmpty():
        first = undecided.groupBy("scope", "u", "turn_u").agg(_expression("MIN(turn_v) AS turn_v"))
        stars = first.where("turn_u < turn_v").select("scope", "u")
        beside = undecided.join(stars, ["scope", "u"], "left_semi").selectExpr("scope", "v AS u").distinct()
        decided = settled(stars.union(beside), now=True)
        taken = settled(taken.union(beside), now=True)
        undecided = undecided.join(decided, ["scope", "u"], "left_anti")
        undecided = settled(
            undecided.join(decided.withColumnRenamed("u", "v"), ["scope", "v"], "left_anti"), now=True
        )
    beside = both.join(taken, ["scope", "u"], "left_semi")
    beside = beside.join(taken.withColumnRenamed("u", "v"), ["scope", "v"], "left_anti").groupBy("scope", "u")
    return beside.agg(_expression("MIN_BY(v, turn_v) AS label")).withColumnRenamed("u", "node")


def _members(placed: DataFrame, labels: DataFrame, body: DataFrame, corpus: Corpus) -> DataFrame:
    """Return each post's cluster, the post that represents it, and the similarity to that post."""
    grouped = placed.join(labels, ["scope", "node"], "left").selectExpr(
        "scope", "post_id", "row", "priority", "COALESCE(label, node) AS label"
    )
    group = "PARTITION BY scope, label"
    named = grouped.selectExpr(
        "scope",
        "post_id",
        "row",
        f"MIN(post_id) OVER ({group}) AS group_id",
        f"MIN(STRUCT(priority, post_id, row)) OVER ({group}) AS first",
    ).selectExpr("scope", "post_id", "row", "group_id", "first.post_id AS kept", "first.row AS kept_row")
    named = settled(named)
    pairs = named.where("row <> kept_row").selectExpr(
        "LEAST(row, kept_row) AS a", "GREATEST(row, kept_row) AS b"
    )
    alike = _similarities(pairs.distinct(), body, corpus)
    named = named.selectExpr("*", "LEAST(row, kept_row) AS a", "GREATEST(row, kept_row) AS b")
    return named.join(alike, ["a", "b"], "left").selectExpr(
        "scope", "post_id", "row", "group_id", "kept", "COALESCE(similarity, 1.0D) AS similarity"
    )


def _chains(members: DataFrame, body: DataFrame, corpus: Corpus) -> pa.Table:
    """Return the report of the largest clusters; at most 20 times 1,000 texts are sent to the driver."""
    second = "MIN(CASE WHEN post_id <> group_id THEN post_id END) AS second"
    sizes = members.groupBy("scope", "group_id").agg(_expression("COUNT(*) AS size"), _expression(second))
    largest = sizes.where("size > 1").orderBy(_expression("-size"), "scope", "group_id").limit(near.LARGEST)
    largest = settled(largest)
    rows = members.join(largest.select("scope", "group_id"), ["scope", "group_id"], "left_semi")
    rows = rows.groupBy("scope", "group_id", "row").agg(_expression("MIN(post_id) AS post_id"))
    place = "ROW_NUMBER() OVER (PARTITION BY scope, group_id ORDER BY post_id) AS place"
    rows = rows.selectExpr("*", place).where(f"place <= {near.COMPARED}").join(body, "row")
    texts = rows.orderBy("scope", "group_id", "post_id").toArrow()
    chains = []
    for group in largest.orderBy(_expression("-size"), "scope", "group_id").collect():
        inside = pc.and_(
            pc.equal(texts["scope"], group["scope"]), pc.equal(texts["group_id"], group["group_id"])
        )
        part = texts.filter(inside)
        weighed = _weighed(part["body"], part["square"], corpus)[0]
        weakest, a, b = near.least_similar(np.arange(len(part)), *near.parts_of(weighed))
        posts = part["post_id"].to_pylist()
        second = posts[b] if len(posts) > 1 else group["second"]
        chains.append((group["group_id"], group["size"], weakest, posts[a], second))
    columns = list(zip(*chains, strict=True)) or [()] * len(near.CHAINS)
    return pa.table(
        [pa.array(c, t) for c, t in zip(columns, near.CHAINS.types, strict=True)], schema=near.CHAINS
    )


# Kernels, run in Spark's Python workers


def counted(block: pa.Table, *, rule: WordRule = "unicode") -> pa.Table:
    """Return the words of a block, with the number of texts and of rows that contain them."""
    words = words_of(block.column("text"), rule)
    copies = block.column("copies").to_numpy()
    documents, rows_with = frequencies(words.start, words.term, copies, len(words.hashes))
    return pa.table([words.letters, words.hashes.view(np.int64), documents, rows_with], names=WORDS.names)


def numbered(shared: pa.Table) -> pa.Table:
    """Return words with their rank from rare to common (ties by letters), ordered by hash.

    The ranks must be the same everywhere: rows that share a word need it at the same rank, otherwise their prefixes might not
    overlap.
    """
    ordered = shared.combine_chunks().sort_by([("documents", "ascending"), ("word", "ascending")])
    place = pa.array(np.arange(len(ordered), dtype=np.int32))
    return ordered.append_column("place", place).sort_by("hash").combine_chunks()


class SharedWords(NamedTuple):
    """The shared words ordered by hash, and each word's number of texts, by rank."""

    letters: pa.Array
    hashes: NDArray[np.int64]
    place: NDArray[np.int32]
    documents: NDArray[np.int64]

    @classmethod
    def of(cls, words: pa.Table) -> SharedWords:
        """Create it from the result of `numbered`."""
        place = words["place"].to_numpy()
        documents = np.empty(len(place), np.int64)
        documents[place] = words["documents"].to_numpy()
        letters = words["word"].cast(pa.large_binary()).combine_chunks()
        return cls(letters, words["hash"].to_numpy(), place, documents)


@functools.lru_cache(maxsize=1)
def known_words(name: str) -> SharedWords:
    """On a worker: read the words of this file, which was sent to it."""
    from pyspark import SparkFiles

    with pa.memory_map(SparkFiles.get(name)) as file:
        return SharedWords.of(pa.ipc.open_file(file).read_all())


def places_of(letters: pa.Array, hashes: NDArray[np.int64], known: SharedWords) -> NDArray[np.int32]:
    """Return the rank of each word, -1 if only one row has it. Hashes find candidates; letters decide."""
    place = np.full(len(hashes), -1, np.int32)
    at, open_ = np.searchsorted(known.hashes, hashes), np.arange(len(hashes))
    while True:
        open_ = open_[at[open_] < len(known.hashes)]
        open_ = open_[known.hashes[at[open_]] == hashes[open_]]
        if not len(open_):
            return place
        same = pc.equal(known.letters.take(pa.array(at[open_])), letters.take(pa.array(open_)))
        same = same.to_numpy(zero_copy_only=False)
        place[open_[same]] = known.place[at[open_[same]]]
        open_ = open_[~same]
        at[open_] += 1


def bodies(block: pa.Table, *, corpus: Corpus, rule: WordRule = "unicode") -> pa.Table:
    """Return each row's shared words as numbers, from rare to common, their counts, and the squared length."""
    words, known = words_of(block.column("text"), rule), known_words(corpus.words)
    copies = block.column("copies").to_numpy()
    place = places_of(words.letters, words.hashes.view(np.int64), known)
    # a word of a single row occurs in as many texts as the row
    documents, rows_with = frequencies(words.start, words.term, copies, len(place))
    documents = np.where(place < 0, documents, known.documents[place] if len(known.documents) else 0)
    order = np.lexsort((place, documents))
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    term, rows_with = rank[words.term], np.where(place < 0, 1, 2)[order]
    bags = Bags(copies, copies, words.start, term, words.count, documents[order], rows_with)
    weighed = weigh(bags, corpus.size)
    pairs = np.stack([place[order][weighed.rank], weighed.count], axis=1)
    buffers = [None, pa.py_buffer(8 * weighed.start), pa.py_buffer(np.ascontiguousarray(pairs))]
    body = pa.Array.from_buffers(pa.large_binary(), len(block), buffers)
    rows = pa.table([block.column("row"), body, weighed.square], names=BODIES.names)
    return rows.filter(pa.array(weighed.square > 0))


def prefixes(block: pa.Table, *, corpus: Corpus, threshold: float) -> pa.Table:
    """Return the lists of each row: its words from rare to common, as long as the rest may suffice."""
    weighed, places = _weighed(block.column("body"), block.column("square"), corpus)
    lists = join.index(weighed, np.arange(len(block)), threshold)
    word = places[np.repeat(np.arange(len(lists.begin) - 1), np.diff(lists.begin))]
    rows = block.take(pa.array(lists.whose))
    return pa.table([*rows.columns, word, lists.place, lists.weight, lists.rest], names=LISTS.names)


def listwise(kernel: Kernel) -> Any:
    """Return the kernel for `mapInArrow` on whole lists of a partition sorted by list."""
    wanted = edition()

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        agree(wanted)
        waiting, size = list[pa.Table](), 0
        for batch in batches:
            rows = pa.Table.from_batches([batch])
            last = int(_begins(rows)[-2])
            if size >= TOGETHER and last:  # the batch's last list may continue
                whole = pa.concat_tables([*waiting, rows.slice(0, last)])
                yield from plain(kernel(whole), EDGES).to_batches()
                waiting, size, rows = [], 0, rows.slice(last)
            waiting.append(rows)
            size += rows.nbytes
        if waiting:
            yield from plain(kernel(pa.concat_tables(waiting)), EDGES).to_batches()

    return run


def _begins(lists: pa.Table) -> NDArray[np.int64]:
    """Return where each list begins, and where the last one ends."""
    scope = lists["scope"].combine_chunks().dictionary_encode().indices.to_numpy()
    word = lists["word"].to_numpy()
    new = (scope[1:] != scope[:-1]) | (word[1:] != word[:-1])
    return np.concatenate([[0], np.flatnonzero(new) + 1, [len(lists)]])


def alike_in(lists: pa.Table, *, corpus: Corpus, threshold: float, every: bool) -> pa.Table:
    """Return similar rows in these lists: every pair, or as many as connect the same rows."""
    sizes = np.diff(_begins(lists))
    lists = lists.filter(pa.array(np.repeat(sizes > 1, sizes))).combine_chunks()
    if not len(lists):
        return EDGES.empty_table()
    names = (
        pc.binary_join_element_wise(lists["scope"], lists["row"], "\0").combine_chunks().dictionary_encode()
    )
    node = names.indices.to_numpy()
    _, first = np.unique(node, return_index=True)
    nodes = lists.take(pa.array(first))
    weighed, _ = _weighed(nodes["body"], nodes["square"], corpus)
    columns = (lists[name].to_numpy() for name in ("place", "weight", "rest"))
    rows = join.Lists(np.arange(len(nodes)), _begins(lists), node, *columns)
    if every:
        a, b, _ = map(pa.array, join.pairs_in(rows, weighed, threshold))
    else:
        label = join.connected_in(rows, weighed, threshold)
        hung = np.flatnonzero(label != np.arange(len(label)))
        a, b = pa.array(label[hung]), pa.array(hung)
    return pa.table([nodes["scope"].take(a), nodes["row"].take(a), nodes["row"].take(b)], schema=EDGES)


def cosines(block: pa.Table, *, corpus: Corpus) -> pa.Table:
    """Return the similarity of each pair of rows from their bodies."""
    body, square = (
        pa.chunked_array([*block.column(f"{name}_a").chunks, *block.column(f"{name}_b").chunks])
        for name in ("body", "square")
    )
    weighed, _ = _weighed(body, square, corpus)
    n = len(block)
    value = near.similarities(np.arange(n), np.arange(n, 2 * n), *near.parts_of(weighed))
    return pa.table({"a": block.column("a"), "b": block.column("b"), "similarity": value})


def _weighed(
    bodies: pa.ChunkedArray, squares: pa.ChunkedArray, corpus: Corpus
) -> tuple[Weighed, NDArray[np.int32]]:
    """Return the rows of a block in the format of `text/join.py`, and the rank of each of their words."""
    column = bodies.cast(pa.large_binary()).combine_chunks()
    _, offsets, data = column.buffers()
    start = np.frombuffer(offsets, np.int64, len(column) + 1, column.offset * 8)
    pairs = np.frombuffer(data or b"", np.int32)[start[0] // 4 : start[-1] // 4].reshape(-1, 2)
    places, rank = np.unique(pairs[:, 0], return_inverse=True)
    idf2 = squared_idf(known_words(corpus.words).documents[places], corpus.size)
    count = np.ascontiguousarray(pairs[:, 1])
    rows = (start - start[0]) // 8, rank.astype(np.int32), count, idf2, squares.to_numpy()
    return Weighed(*rows, sketches(*rows)), places
