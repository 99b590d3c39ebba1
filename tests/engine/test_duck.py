"""The default engine: verbs whose rows do not depend on blocks, order or processes."""

import os
import signal

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covmis_build import tables
from covmis_build.engine import duck, open_engine
from covmis_build.errors import InputError

WORDS = pa.schema([("word", pa.string()), ("length", pa.int64())])


def lengths(block):
    words = block.column("word").to_pylist()
    return pa.table([words, [len(word) for word in words]], schema=WORDS)


@settings(max_examples=20)
@given(words=st.lists(st.text(max_size=5), max_size=40), block=st.integers(1, 9), workers=st.integers(1, 2))
def test_map_does_not_depend_on_blocks_or_processes(words, block, workers):
    with pytest.MonkeyPatch.context() as patch, open_engine(workers=workers) as engine:
        patch.setattr(duck, "BLOCK", block)
        made = engine.map(lengths, engine.table(pa.table({"word": pa.array(words, pa.string())})), WORDS)
        assert made.to_arrow().to_pydict() == {"word": words, "length": [len(word) for word in words]}


def letters(block):
    for word in block.column("word").to_pylist():
        yield pa.table([list(word), [len(word)] * len(word)], schema=WORDS)


@settings(max_examples=30)
@given(
    words=st.lists(st.text(max_size=9), max_size=40), block=st.integers(1, 9), workers=st.integers(1, 2),
    sent=st.sampled_from([0, 100, 1 << 20]),
)  # fmt: skip
def test_rows_that_come_piece_by_piece_keep_their_order_sent_or_left_in_files(words, block, workers, sent):
    with pytest.MonkeyPatch.context() as patch, open_engine(workers=workers) as engine:
        patch.setattr(duck, "BLOCK", block)
        patch.setattr(duck, "SENT", sent)
        made = engine.map(letters, engine.table(pa.table({"word": pa.array(words, pa.string())})), WORDS)
        wanted = [letter for word in words for letter in word]
        assert made.to_arrow().column("word").to_pylist() == wanted
        assert len(made) == len(wanted)
        assert len(engine.sql("SELECT * FROM made", made=made)) == len(wanted)
        again = engine.map(lengths, made, WORDS)
        assert again.to_arrow().column("word").to_pylist() == wanted


def test_sql_reads_frames_with_lists_and_missing_values():
    frame = pd.DataFrame({"a": ["x", None], "b": [["1", "2"], []], "c": [1.5, float("nan")]})
    with open_engine() as engine:
        made = engine.sql("SELECT * FROM t WHERE a IS NOT NULL", t=engine.table(frame))
        assert made.to_pandas().to_dict("records") == [{"a": "x", "b": ["1", "2"], "c": 1.5}]
        assert len(made) == 1


def test_equal_rows_are_equal_bytes(tmp_path):
    table = pa.table({"n": list(range(10))})
    duck.write_blocks(iter([table]), table.schema, tmp_path / "a")
    duck.write_blocks(
        iter([table.slice(0, 3), table.slice(3, 0), table.slice(3)]), table.schema, tmp_path / "b"
    )
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_an_unknown_engine_is_refused():
    with pytest.raises(InputError, match="no engine is called 'duck'"):
        open_engine("duck")


def test_every_table_of_ours_survives_the_engine():
    with open_engine() as engine:
        for name, schema in tables.SCHEMAS.items():
            made = engine.table(tables.conform(tables.empty(name), name))
            assert made.schema.names == schema.names


def test_a_machine_that_is_too_small_is_one_line(tmp_path):
    table = pa.table({"a": list(range(200_000))})
    with (
        duck.DuckEngine(scratch=tmp_path, memory="1MB") as engine,
        pytest.raises(InputError, match="Free disk space") as caught,
    ):
        engine.sql("SELECT a, count(*) AS n FROM t GROUP BY a ORDER BY a", t=engine.table(table))
    assert "\n" not in str(caught.value)


def much(block):
    return pa.table({"x": [bytes(8_000_000)] * len(block)}, schema=MUCH)


MUCH = pa.schema([("x", pa.large_binary())])


def test_an_interruption_does_not_wait_for_half_a_result(monkeypatch, tmp_path):
    """Processes that end while they hand over a result leave half of it, for the other half of which nobody may wait."""

    def interrupted(blocks, *_, **__):
        next(iter(blocks))
        raise KeyboardInterrupt

    with duck.DuckEngine(tmp_path, workers=2) as engine:
        source = engine.table(pa.table({"a": list(range(24))}))
        monkeypatch.setattr(duck, "write_blocks", interrupted)
        monkeypatch.setattr(duck, "SENT", 1 << 30)
        for _ in range(3):
            with pytest.raises(KeyboardInterrupt):
                engine.map(much, source, MUCH, rows=1)


def ended(block):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_process_that_is_ended_from_outside_is_one_line(tmp_path):
    with duck.DuckEngine(tmp_path, workers=2) as engine:
        source = engine.table(pa.table({"a": [1, 2]}))
        with pytest.raises(InputError, match=r"no memory left.*--workers 1"):
            engine.map(ended, source, MUCH, rows=1)


def test_an_interruption_waits_until_the_end_of_what_must_not_be_cut_off():
    done = []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored, if started in the background

    def work():
        with duck._uninterrupted():
            signal.raise_signal(signal.SIGINT)
            done.append(True)

    try:
        with pytest.raises(KeyboardInterrupt):
            work()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert done


def test_queries_share_a_database_and_no_names_and_no_process_is_forked_beside_it(monkeypatch):
    monkeypatch.setattr(duck, "BLOCK", 1)
    with open_engine(workers=2) as engine:
        words = engine.table(pa.table({"word": ["b", "a"]}))
        assert engine.sql("SELECT word FROM words ORDER BY word", words=words).to_arrow().num_rows == 2
        database = engine._database
        with pytest.raises(duckdb.CatalogException, match="words does not exist"):
            engine.sql("SELECT word FROM words", others=words)
        assert engine._database is database is not None
        made = engine.map(lengths, words, WORDS)
        assert engine._database is None, "its threads have ended before the fork"
        assert engine.sql("SELECT sum(length) AS n FROM made", made=made).to_arrow().to_pydict() == {"n": [2]}
    assert engine._database is None
