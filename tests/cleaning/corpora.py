"""Small tables of hits and posts, made up."""

from __future__ import annotations

import random

import pyarrow as pa

from covmis_build import tables
from covmis_build.cleaning.steps import FROZEN, clean
from covmis_build.engine import open_engine
from covmis_build.options import KINDS

LONG = "one two three four five six seven eight nine ten"


def full(rows, table):
    """Rows as a whole table of ours; what they do not say is empty."""
    blank = dict.fromkeys(tables.SCHEMAS[table].names)
    return pa.Table.from_pylist([blank | row for row in rows], tables.SCHEMAS[table])


def hit(claim, post, kind="keywords"):
    return {
        "claim_id": claim,
        "post_id": post,
        "query_id": f"{claim}-{kind}",
        "kind": kind,
        "verified": "yes",
        "matched": [],
    }


def post(post_id, text=LONG, language="en"):
    return {"post_id": post_id, "platform": "x", "native_id": post_id[2:], "text": text, "language": language}


def frozen_item(claim, post_id, text=""):
    return {"claim_id": claim, "post_id": post_id, "text": text}


def generated(n, seed=0):
    """Hits and posts with copies, other languages, short texts, several claims and kinds."""
    r = random.Random(seed)
    words = [f"word{k}" for k in range(200)]
    hits, posts = [], []
    for k in range(n):
        text = " ".join(r.choice(words) for _ in range(r.randint(6, 20)))
        if posts and r.random() < 0.4:
            text = r.choice(posts)["text"] + r.choice(["", " and more", " 🤔", " https://t.co/x"])
        posts.append(post(f"x:{k}", text, r.choice(["en", "en", "en", "en-GB", "de", "und", "", None])))
        for claim in r.sample(range(5), r.choice([1, 1, 1, 2, 3])):
            hits += [hit(f"c{claim}", f"x:{k}", kind) for kind in r.sample(KINDS, r.choice([1, 1, 2]))]
    return hits, posts


FACES = {"items": "items", "dropped": "dropped", "chains": "chains"}
"""What `clean` gives, and the schema of each."""


def cleaned(hits, posts, options, frozen=(), seed=1, engine="duckdb", others=None, **settings):
    """Items, dropped and chains as Arrow tables, made by this engine."""
    with open_engine(engine, **settings) as opened:
        made = clean(
            opened,
            opened.table(full(hits, "hits")),
            opened.table(full(posts, "posts")),
            opened.table(pa.Table.from_pylist(list(frozen), FROZEN)),
            options,
            seed=seed,
            others=None if others is None else opened.table(others),
        )
        return tuple(
            tables.fit(getattr(made, face).to_arrow(), tables.SCHEMAS[name], name).combine_chunks()
            for face, name in FACES.items()
        )


def rows(table: pa.Table, *names):
    return list(zip(*(table.column(name).to_pylist() for name in names), strict=True))
