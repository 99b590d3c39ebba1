"""Whatever changed since, tables made with kept matches are those that are made without, byte for byte."""

from __future__ import annotations

import hashlib
import random
import shutil
from dataclasses import replace
from functools import partial

import pandas as pd
import pytest

from covmis_build import checked_parquet
from covmis_build.archive.post import Claimed, Post
from covmis_build.archive.store import OLDER_COPIES, Store, rows
from covmis_build.building.run import run
from covmis_build.building.store import matches_file
from covmis_build.engine import open_engine
from covmis_build.matching import kept
from covmis_build.matching.kept import Kept, Part
from covmis_build.matching.stage import retrieve
from covmis_build.options import Retrieval
from covmis_build.queries.build import build_queries
from covmis_build.study.study import open_study
from tests.small_study import small_study

WORDS = ["mask", "flu", "covid", "lemon", "café", "İzmir", "5G", "маска", "strasse"]
PAGES = [
    "https://example.org/a",
    "https://example.org/b?x=1",
    "https://twitter.com/a/status/5",
    "https://bbc.com/",
]
TABLES = ("posts", "hits", "provenance", "dropped")


def text(chance: random.Random) -> str:
    return " ".join(
        chance.choices([*WORDS, "Mask!", "STRASSE", "Straße", "the", "ﬂu", PAGES[1]], k=chance.randrange(7))
    )


def claimed(chance: random.Random) -> tuple[Claimed, ...]:
    """An assignment by a list, or by a search, whose query may have changed since."""
    claim = f"c{chance.randrange(5)}"
    searched = Claimed(claim, f"{claim}:keywords:1", "keywords", chance.choice(WORDS).lower())
    return chance.choice([(), (), (Claimed(claim),), (searched, Claimed(claim)), (searched, searched)])


def post(chance: random.Random) -> Post:
    number = chance.randrange(40)
    return Post(
        f"x:{number}", str(number), "x", text(chance), retrieved_at=f"2020-04-2{chance.randrange(3)}T00:00:00Z",
        created_at=chance.choice(["", "2020-04-22T12:00:00Z"]), urls=chance.choices(PAGES, k=chance.randrange(2)),
        cards=[(PAGES[0], text(chance), "")] * chance.randrange(2), quote_of=chance.choice(["", "x:5", "x:7"]),
        repost_of=chance.choice(["", "", "", "x:6"]), claimed=claimed(chance),
        availability=chance.choice(["available", "available", "id only", "suspended"]),
    )  # fmt: skip


def claim(chance: random.Random, name: str) -> dict:
    words = [" ".join(chance.sample(WORDS, chance.randrange(1, 3))) for _ in range(chance.randrange(3))]
    return {
        "claim_id": name, "language": chance.choice(["en", "tr", ""]), "keywords": words, "titles": chance.choices(WORDS, k=1),
        "news_urls": chance.sample(PAGES, chance.randrange(3)), "fact_check_urls": [],
    }  # fmt: skip


def edit(chance: random.Random, claims: dict, parts: dict, folder) -> None:
    """Change something of the claims or the files."""
    name = f"c{chance.randrange(5)}"
    act = chance.choice(
        ["claim", "claim", "claim", "claim gone", "same queries", "part", "other content", "part gone"]
    )
    if act == "claim":
        claims[name] = claim(chance, name)
    elif act == "claim gone":
        claims.pop(name, None)
    elif act == "same queries" and claims:
        claims[name] = replace_id(chance.choice(list(claims.values())), name)
    elif act == "part gone" and len(parts) > 1:
        parts.pop(chance.choice(list(parts))).unlink()
    elif act in {"part", "other content"}:  # a part that was read again may have the name that it had
        stem = f"part{chance.randrange(4)}" if act == "part" else chance.choice(list(parts))
        parts[stem] = folder / f"{stem}.parquet"
        write(parts[stem], [post(chance) for _ in range(chance.randrange(1, 30))])


def write(path, posts: list[Post]) -> None:
    table = rows(posts, list(range(len(posts))), [(f"{path.stem}.csv", "csv")] * len(posts), path.stem)
    with checked_parquet.writing(path, table.schema) as writer:
        writer.write_table(table, row_group_size=8)


def replace_id(row: dict, name: str) -> dict:
    return row | {"claim_id": name}


def bytes_of(retrieved, folder) -> list[bytes]:
    for name in TABLES:
        getattr(retrieved, name).write(folder / f"{name}.out")
    return [(folder / f"{name}.out").read_bytes() for name in TABLES]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 20))])
def test_fifty_edits_of_claims_and_files(seed, tmp_path, monkeypatch):
    chance = random.Random(seed)
    monkeypatch.setattr(kept, "FEW", chance.choice([0, 2, 32]))
    claims, parts = {"c0": claim(chance, "c0")}, {"part0": tmp_path / "part0.parquet"}
    write(parts["part0"], [post(chance) for _ in range(30)])
    scans = 0
    with open_engine("duckdb", workers=1) as engine:
        for _ in range(50):
            edit(chance, claims, parts, tmp_path)
            files = sorted(parts.values())
            posts_of = engine.table(files)
            store = Store(posts_of, engine.sql(OLDER_COPIES, store=posts_of))
            queries = build_queries(pd.DataFrame(claims.values(), columns=list(claim(chance, ""))))
            options = Retrieval(
                reposts=chance.choice(["keep", "drop"]), since=chance.choice(["", "2020-04-22"])
            )
            asked = partial(retrieve, engine, store, queries, options, claims=set(claims))
            matches = Kept(
                tmp_path / "kept.parquet",
                [Part(file, hashlib.sha256(file.read_bytes()).hexdigest()) for file in files],
                1,
            )
            assert bytes_of(asked(kept=matches), tmp_path) == bytes_of(asked(), tmp_path)
            anew = replace(matches, path=tmp_path / "anew.parquet")
            anew.path.unlink(missing_ok=True)
            anew.found(engine, queries, set(claims))
            assert anew.path.read_bytes() == matches.path.read_bytes(), "the file says what is, not what was"
            scans += len(queries) > 0
    assert scans > 20


def tables(study) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in study.places.build.rglob("*.parquet")
    }


def test_a_changed_query_is_looked_for_alone_and_a_run_by_force_gives_the_same(tmp_path, monkeypatch):
    study = small_study(tmp_path / "study", 300)
    run(study.places, study.settings, workers=1)
    asked = list[int]()
    look_for = kept._look_for
    monkeypatch.setattr(
        kept,
        "_look_for",
        lambda engine, queries, *of, **how: (
            asked.append(len(queries) * bool(of[0])) or look_for(engine, queries, *of, **how)
        ),
    )
    claims = study.places.claims_csv
    claims.write_text(claims.read_text().replace("5G (coronavirus", "tower (coronavirus", 1))
    run(study.places, study.settings, workers=1)
    assert asked == [1, 0], "one new query in the parts that were there; no new part"
    before = tables(study)
    run(study.places, study.settings, force=True, workers=1)
    assert asked[2] == 0 < asked[3], "by force, all queries are looked for again"
    assert tables(study) == before


def test_damaged_matches_are_noticed_and_made_again(tmp_path):
    study = small_study(tmp_path / "study", 100)
    run(study.places, study.settings, ["retrieve"], workers=1)
    before, path = tables(study), matches_file(study.places)
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 1
    path.write_bytes(bytes(data))
    claims, written = study.places.claims_csv, study.places.claims_csv.read_text()
    claims.write_text(written.replace("5G (coronavirus", "tower (coronavirus", 1))
    run(study.places, study.settings, ["retrieve"], workers=1)
    claims.write_text(written)
    run(study.places, study.settings, ["retrieve"], workers=1)
    assert tables(study) == before
    path.write_bytes(b"")
    claims.write_text(written.replace("5G (coronavirus", "tower (coronavirus", 1))
    run(study.places, study.settings, ["retrieve"], workers=1)
    claims.write_text(written)
    run(study.places, study.settings, ["retrieve"], workers=1)
    assert tables(study) == before


CHANGES = (
    ("study.toml", 'reposts = "drop"', 'reposts = "keep"'),
    ("study.toml", "one_claim_per_post = true", "one_claim_per_post = false"),
    ("study.toml", 'scope = "study"', 'scope = "claim"'),
    ("study.toml", 'since = ""', 'since = "2020-04-01"'),
    ("study.toml", 'similar_words = "scikit-learn"', 'similar_words = "unicode"'),
    ("queries/claims.csv", "5G (coronavirus", "tower (coronavirus"),
    ("queries/claims.csv", "garlic", "lemon"),
    ("queries/claims.csv", ",yes,", ",no,"),
    ("queries/claims.csv", "bleach", "vaccine"),
)


@pytest.mark.long
@pytest.mark.parametrize("design", ["poisson", "two_phase"])
def test_studies_with_rounds_whose_claims_settings_and_files_change(design, tmp_path):
    """Each change is made or taken back; now and then a round is opened. The last tables are those of a run by force."""
    chance = random.Random(design)
    study = small_study(tmp_path / "study", 400)
    toml = study.places.study_toml
    toml.write_text(
        toml.read_text()
        .replace('design = "poisson"', f'design = "{design}"')
        .replace("minimum_posts = 12", "minimum_posts = 2")
    )
    archive = study.places.folder / "data/archive"
    for number in range(40):
        file, *pair = chance.choice([*CHANGES, ("data/archive", "", "")])
        path = study.places.folder / file
        if path == archive:
            copy = archive / "copy.jsonl.gz"
            copy.unlink() if copy.exists() else shutil.copyfile(archive / "snscrape.jsonl.gz", copy)
        else:
            here, there = pair if pair[0] in path.read_text() else pair[::-1]
            path.write_text(path.read_text().replace(here, there, 1))
        study = open_study(study.places.folder)
        study.run()
        if number % 20 == 10:
            study.open_round(claims=1)
            study.run()
        before = tables(study)
        run(study.places, study.settings, force=True, workers=1)
        assert tables(study) == before, (number, file, pair)
