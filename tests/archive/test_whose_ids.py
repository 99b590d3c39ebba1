"""Bare numbers are X's where nearly all of them, not only those with a time, agree with the times of their rows."""

from __future__ import annotations

import pytest

from covmis_build.archive import ids, streams
from covmis_build.archive.reader import ReadingOptions, open_job

FIRST = 1252934402983700001
"""An id of X, and with it a moment."""


@pytest.mark.parametrize(("of_others", "asked"), [(1, False), (4, True)])
def test_ids_that_no_time_confirms_count_against(tmp_path, of_others, asked):
    native = [FIRST + at * 2**30 for at in range(20)]
    rows = [f"{each},{ids.snowflake_time(str(each))},text" for each in native]
    rows += [f"{at},2020-04-22T10:00:00Z,text" for at in range(1, of_others + 1)]
    path = tmp_path / "posts.csv"
    path.write_text("\n".join(["id,created_at,text", *rows]) + "\n")
    (job,) = streams.jobs([(path, "archive/posts.csv")])
    understood = open_job(job, ReadingOptions((), frozenset())).understood
    assert bool(understood.questions) == asked
    assert understood.platform == ("" if asked else "x")
