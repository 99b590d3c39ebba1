"""The posts that count: by number, by id, and some of them."""

import numpy as np
import pyarrow as pa

from covmis_build import tables
from covmis_build.archive.counted import CountedPosts
from covmis_build.archive.store import ROWS
from tests.queries.test_try_and_run import FIRST, post, written

NONE = tables.SCHEMAS["older_copies"].empty_table()


def test_posts_by_their_ids(tmp_path):
    posts = [
        post(n, f"text {n}", created_at=FIRST, urls=["http://m.example.org/a/"] * (n == 2))
        for n in range(1, 4)
    ]
    counted = CountedPosts([written(tmp_path, "a", posts)], NONE)
    assert counted.numbers(["x:3", "x:9", "x:1", "x:3"]).tolist() == [2, -1, 0, 2]
    assert counted.by_id(["x:9", "x:2"]) == [("x:2", FIRST, "text 2")]
    assert [*counted.addresses(["x:2", "x:9", "x:1"])] == [{"example.org/a"}, set(), set()]
    assert counted.numbers([]).tolist() == []
    assert counted.by_id([]) == []


def test_numbers_go_on_from_part_to_part_and_group_to_group(tmp_path):
    sizes = {"b": 3, "a": ROWS + 5, "c": 0, "d": 2}
    names = [(part, row) for part, size in sizes.items() for row in range(size)]
    paths = [
        written(tmp_path, part, [post(f"{part}{row}", str(row)) for row in range(size)])
        for part, size in sizes.items()
    ]
    older = pa.table({"part": ["a", "d"], "row": pa.array([ROWS + 1, 0], pa.int64())})
    counted = CountedPosts(paths, older)
    lesser = {("a", ROWS + 1), ("d", 0)}
    assert counted.counts.tolist() == [name not in lesser for name in names]
    assert counted.size == len(names) - 2
    chosen = np.array([len(names) - 1, 0, ROWS + 7, 2])
    assert counted.ids(chosen) == ["x:d1", "x:b0", f"x:a{ROWS + 4}", "x:b2"]
    assert counted.numbers(["x:d0", "x:d1"]).tolist() == [-1, len(names) - 1]
    (shown,) = counted.samples([np.array([0, ROWS + 7])], 5)
    assert [sample.post_id for sample in shown] == ["x:b0", f"x:a{ROWS + 4}"]


def test_samples_are_spread_and_always_the_same(tmp_path):
    counted = CountedPosts([written(tmp_path, "a", [post(n, f"text {n}") for n in range(100)])], NONE)
    every, few = np.arange(100), np.array([3, 4])
    shown = counted.samples([every, few, every[:0]], 5)
    assert list(map(len, shown)) == [5, 2, 0]
    numbers = [int(sample.post_id[2:]) for sample in shown[0]]
    assert numbers == sorted(numbers)
    assert numbers[-1] - numbers[0] > 50
    assert counted.samples([every], 5)[0] == shown[0]
