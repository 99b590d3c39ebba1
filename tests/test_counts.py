"""Counts over columns of a table are those of SQL, also over several row groups and values that another table lacks."""

import random

import pyarrow as pa
import pyarrow.parquet as pq

from covmis_build.building import counts
from covmis_build.building.flow import ask
from covmis_build.building.losses import TAGGED, _lengths_by_language

JUDGED = """SELECT DISTINCT post_id, step = 'words' AS short FROM dropped
    WHERE unit = 'pair' AND step IN ('words', 'near_duplicates', 'minimum_posts') UNION SELECT post_id, false FROM items"""
BY_LANGUAGE = f"""SELECT {TAGGED}, count(*), count(*) FILTER (short) FROM ({JUDGED}) JOIN posts USING (post_id)
    GROUP BY 1 ORDER BY 3 DESC, 1"""


def test_counts_are_those_of_sql(tmp_path):
    chance = random.Random(3)
    ids = [f"x:{number}" for number in range(400)]
    dropped = {
        "unit": chance.choices(["pair", "claim", "post"], k=900),
        "step": chance.choices(["words", "language", "near_duplicates", "minimum_posts"], k=900),
        "post_id": chance.choices([*ids, "x:gone"], k=900),
    }
    posts = {"post_id": ids, "language": chance.choices(["en", "de", "", "fr"], k=400)}
    files = {name: tmp_path / f"{name}.parquet" for name in ("items", "dropped", "posts", "none")}
    pq.write_table(pa.table({"post_id": ids[::3]}), files["items"], row_group_size=50)
    pq.write_table(pa.table(dropped), files["dropped"], row_group_size=100)
    pq.write_table(pa.table(posts), files["posts"], row_group_size=90)
    pq.write_table(pa.table(dropped).slice(0, 0), files["none"])
    rows = ask("SELECT unit, step, count(*) FROM dropped GROUP BY ALL ORDER BY ALL", dropped=files["dropped"])
    assert list(counts.counts(files["dropped"], "unit", "step").items()) == [((a, b), n) for a, b, n in rows]
    assert counts.counts(files["none"], "unit", "step") == {}
    assert counts.distinct(files["dropped"], "unit", "post_id") == len(
        set(zip(dropped["unit"], dropped["post_id"], strict=True))
    )
    of_languages = {name: files[name] for name in ("items", "dropped", "posts")}
    assert _lengths_by_language("de", **of_languages) == ask(BY_LANGUAGE, "de", **of_languages)
