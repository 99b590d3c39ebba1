"""Calls every routine, so that all are compiled together."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from covmis_build.text import bags, edits, join, langdetect_replay, near_duplicates, scan, weights


def use() -> None:
    """Call every routine with its usual types, for which it is then compiled."""
    texts = ["wash your hands", "Wash your hands now", "stay at home", "wash your hands"]
    ids, priority = list("abcd"), [0.0, 1.0, 2.0, 3.0]
    table = pa.table({"post_id": ids, "text": texts, "priority": priority})
    for grouping in ("components", "greedy"):
        near_duplicates.group_table(table, threshold=0.5, grouping=grouping)
    near_duplicates.near_duplicate_pairs(texts, 0.5)
    bags.in_two_threads(*bags.utf8(texts), bags.distinct(*bags.utf8(texts))[1], bags.letters())
    weighed = weights.weigh(bags.bags(texts))
    weights.sketches(weighed.start, weighed.rank, weighed.count, weighed.idf2, weighed.square)
    join.merged([join.connected(weighed, np.arange(2), 0.5) for _ in range(2)])
    langdetect_replay.detect(texts)
    edits.nearest_texts(texts[:2], texts[2:], 20)
    owner = np.zeros(1, np.int64)
    sought = scan.Sought.of({"wash": {1: ["wash", "hands"]}}, ["example"], ["exa"], ["org"], links=True)
    sought.look(
        pa.array(texts),
        scan.Owned(pa.array(texts[:1]), owner),
        [scan.Owned(pa.array(["https://example.org/x"]), owner)],
    )
