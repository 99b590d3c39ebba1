"""Spark gives the rows that the embedded engine gives."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from covmis_build import tables
from covmis_build.engine import open_engine, spark_join
from covmis_build.engine.spark import COMPARED_HERE, JOINED_BY_ONE
from covmis_build.errors import MissingExtra
from covmis_build.options import Cleaning
from covmis_build.text.near_duplicates import group_table
from tests.cleaning.corpora import cleaned, frozen_item, generated
from tests.text.test_near_duplicates import as_table, cascades

# Spark's own warnings (pandas 3, sockets that it leaves to the collector) are no failure of ours.
pytestmark = [
    pytest.mark.needs("spark"),
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(scope="module")
def spark():
    """One Spark on two threads; the engines below find it running and leave it so."""
    from covmis_build.engine.spark import open_spark

    settings = {
        "spark.master": "local[2]",
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "40",  # as many blocks as large tables have
        "spark.sql.adaptive.enabled": "false",  # tiny tables: planning and compiling would take most of the time
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        COMPARED_HERE: "0",
    }
    with open_spark(settings=settings) as engine:
        engine.session.sparkContext.setLogLevel("ERROR")
        yield engine


@pytest.mark.parametrize("folder", ["my study", "100% [new], a#b", "{a,b}*?", "Übung \u5927"])
def test_a_study_may_lie_in_a_folder_of_any_name(spark, tmp_path, folder):
    path = tmp_path / folder / "hits.parquet"
    path.parent.mkdir()
    pq.write_table(pa.table({"post_id": ["x:1", "x:2"]}), path)
    assert spark.table(path).to_arrow()["post_id"].to_pylist() == ["x:1", "x:2"]


@pytest.fixture
def joining(spark, request):
    """How many rows of tables one worker joins: with none, Spark's own SQL has every query."""
    spark.session.conf.set(JOINED_BY_ONE, str(request.param))
    yield
    spark.session.conf.set(JOINED_BY_ONE, "10000000")


by_one_and_by_all = pytest.mark.parametrize(
    "joining", [10**6, 0], ids=["joined by one", "joined by all"], indirect=True
)


@by_one_and_by_all
@pytest.mark.parametrize("texts_here", [0, 1000], ids=["compared in Spark", "compared here"])
def test_cleaning_gives_the_same_tables(spark, joining, texts_here):
    spark.session.conf.set(COMPARED_HERE, str(texts_here))
    hits, posts = generated(150, seed=3)
    german = next(one["post_id"] for one in posts if one["language"] == "de")
    foreign = next(one for one in hits if one["post_id"] == german)  # frozen, and dropped by these settings
    frozen = [frozen_item("c1", "x:4"), frozen_item("c2", "x:gone"), frozen_item(foreign["claim_id"], german)]
    options = Cleaning(minimum_posts=8)
    expected = cleaned(hits, posts, options, frozen)
    found = cleaned(hits, posts, options, frozen, engine="spark")
    for one, other in zip(expected, found, strict=True):
        assert len(one) > 0
        assert one.equals(other)
    assert spark.session.range(3).count() == 3  # the session that was there is left as it was


@pytest.mark.parametrize(
    ("grouping", "edges_here"), [("greedy", 0), ("components", 0), ("components", 10**6)]
)
def test_groups_within_claims_are_the_same(spark, monkeypatch, grouping, edges_here):
    spark.session.conf.set(COMPARED_HERE, "0")
    monkeypatch.setattr(spark_join, "AT_ONCE", edges_here)
    texts = [*cascades(150, seed=12, words=60), "", "!!", "!!"]
    table = as_table(texts, seed=5, scope=["a"] * 80 + ["b"] * (len(texts) - 80))
    options = {"threshold": 0.7, "grouping": grouping, "scope": "claim_id"}
    members, chains = group_table(table, **options)
    groups = spark.near_duplicates(spark.table(table), **options)
    found = groups.members.to_arrow().select(members.column_names)
    order = [("claim_id", "ascending"), ("post_id", "ascending")]
    assert found.sort_by(order).to_pylist() == members.to_pylist()
    assert groups.chains.to_arrow().to_pylist() == chains.to_pylist()


def double(block: pa.Table) -> pa.Table:
    return pa.concat_tables([block, block])


def size(block: pa.Table) -> pa.Table:
    return block.set_column(1, "post_id", pa.array([str(len(block))] * len(block)))


@by_one_and_by_all
def test_the_verbs_give_the_same_rows(spark, joining, tmp_path):
    data = pa.table({"claim_id": ["b", "a", "b", "ü"], "post_id": ["1", "2", "3", "4"]})
    counted = pa.schema([("claim_id", pa.string()), ("n", pa.int64())])
    results = []
    for engine in (spark, open_engine()):
        with engine if engine.name == "duckdb" else open_engine("spark") as opened:
            source = opened.table(data)
            nothing = pa.chunked_array([], pa.list_(pa.string()))
            assert len(opened.table(pa.table({"ids": nothing}))) == 0
            doubled = opened.map(double, source, data.schema)
            small = opened.map(size, source, data.schema, rows=1)
            assert small.to_arrow().column("post_id").to_pylist() == ["1"] * 4
            groups = opened.sql(
                "SELECT claim_id, count(*) AS n FROM doubled GROUP BY claim_id", doubled=doubled
            )
            asked = opened.sql("SELECT claim_id, n FROM groups WHERE n > 2 ORDER BY claim_id", groups=groups)
            path = tmp_path / f"{opened.name}.parquet"
            asked.write(path)
            results.append(
                (
                    len(doubled),
                    sorted(map(str, groups.to_arrow().to_pylist())),
                    asked.to_pandas().to_dict("list"),
                    opened.table(path).to_arrow().to_pylist(),
                    opened.sql("SELECT * FROM groups WHERE n > 9 ORDER BY n", groups=groups)
                    .to_arrow()
                    .to_pylist(),
                    tables.fit(asked.to_arrow(), counted, "counted").schema == counted,
                )
            )
    assert results[0] == results[1]
    assert results[0][2] == {"claim_id": ["b"], "n": [4]}


def numbered(block: pa.Table) -> pa.Table:
    return pa.table({"n": block["n"], "size": pa.array([len(block)] * len(block))})


def test_an_answer_of_many_pieces_comes_in_order_and_is_dealt_to_tasks(spark, tmp_path):
    """An answer comes from one worker: it is neither mixed up nor left to one, and does not come here at once."""
    rows = pa.table({"n": list(range(400_000)), "text": [f"{n:0150d}" for n in range(400_000)]})
    backwards = spark.sql("SELECT n, text FROM t ORDER BY n DESC", t=spark.table(rows))
    assert len(backwards) == len(rows)
    assert len(backwards.counts) > 3
    assert backwards.spread(1).rdd.getNumPartitions() == len(backwards.counts)
    backwards.write(tmp_path / "backwards.parquet")
    there = pq.read_table(tmp_path / "backwards.parquet")
    assert there["n"].to_pylist() == list(range(400_000))[::-1]
    assert there["text"][7].as_py() == f"{399_992:0150d}"
    mapped = spark.map(numbered, backwards, pa.schema([("n", pa.int64()), ("size", pa.int64())]))
    assert mapped.to_arrow()["n"].to_pylist() == list(range(400_000))[::-1]


def test_without_pyspark_the_extra_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(MissingExtra, match=r"\.\[spark\]"):
        open_engine("spark")
