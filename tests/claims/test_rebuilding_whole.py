"""The guide of the rebuilding, replayed: every command of it, with all published ids, posts made up, people simulated."""

from __future__ import annotations

import csv
import datetime as dt
import json
import random
import re
import shlex
import shutil
from pathlib import Path

import pandas as pd
import pytest

from covmis_build.collecting.sources import x
from covmis_build.keyed import uniform
from covmis_build.storage import csv_bytes
from covmis_build.study.estimate_corpus import estimate_corpus
from covmis_build.study.study import open_study
from covmis_build.text.expression import parse
from covmis_build.text.nodes import conjunctions, leaves
from tests.demonstration.simulate import filled
from tests.demonstration.words import PHRASES, Chance, say
from tests.program import covmis
from tests.servers.x import X

pytestmark = pytest.mark.needs("clients")
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "covmis-stance-again.md"
LABELS = ("favor", "against", "neither")
ERROR = 0.11
"""How often a simulated annotator is wrong: two of them then agree with a kappa of about 0.67."""


def blocks() -> list[list[str]]:
    """The commands of the guide, block by block."""
    fences = re.findall(r"```\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    return [fence.strip().splitlines() for fence in fences]


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def made_up(row: dict[str, str], claim: dict[str, str], chance: Chance) -> dict:
    """A post for a published id: it satisfies the kind of query that the id was found by."""
    parts = [say(chance.pick(PHRASES[chance.pick(LABELS)]["details"]), chance) for _ in range(4)]
    urls = []
    if row["source"] == "keywords":
        words = chance.pick(conjunctions(parse(claim["keywords"].splitlines()[0]).node))
        parts.insert(0, " ".join(str(term.surface) for term in leaves(words)))
    elif row["source"] == "title":
        titles = claim["titles"].splitlines() or [claim["mis"]]
        parts.insert(0, chance.pick(titles).strip('"'))
    else:
        addresses = claim[f"{row['source']}s"].splitlines()
        urls = (
            [{"url": "https://t.co/abcdefghij", "expanded_url": chance.pick(addresses)}] if addresses else []
        )
    moment = dt.datetime.fromtimestamp(((int(row["tweet_id"]) >> 22) + 1288834974657) / 1000, dt.UTC)
    return {
        "id": row["tweet_id"], "text": " ".join(parts), "lang": "en", "author_id": str(int(row["tweet_id"]) % 977),
        "created_at": moment.strftime("%Y-%m-%dT%H:%M:%S.000Z"), "conversation_id": row["tweet_id"],
        "entities": {"urls": urls},
        "public_metrics": {"retweet_count": 0, "reply_count": 0, "like_count": 0, "quote_count": 0},
    }  # fmt: skip


@pytest.fixture(scope="module")
def published(data_home):
    return data_home / "covmis"


@pytest.fixture(scope="module")
def rows(published):
    return rows_of(published / "covmis_stance.csv")


@pytest.fixture(scope="module")
def posts(published, rows):
    """A post for each id, of which one in fifty is a copy of its neighbour, and one in fifty in another language."""
    claims = {claim["mid"]: claim for claim in rows_of(published / "misinformation.csv")}
    chance = Chance(random.Random(12).random)
    posts = [made_up(row, claims[row["mid"]], chance) for row in rows]
    for at in range(1, len(posts), 50):
        posts[at]["text"] = posts[at - 1]["text"]
        posts[at + 9]["lang"] = "es"
    return posts


def annotate(study, wanted: dict[str, str]) -> None:
    """Both annotators fill in their sheets, and are wrong now and then."""
    round_ = study.round()

    def answers(person: str):
        def answer(row: dict[str, str]) -> dict[str, str]:
            item = row["item_id"]
            right = wanted.get(item, "neither")
            wrong = [label for label in LABELS if label != right]
            errs = uniform(2, "errs", person, item) < ERROR
            return {"label": wrong[int(2 * uniform(1, "which", person, item))] if errs else right}

        return answer

    for person in round_.annotators:
        filled(round_.folder.sheets / f"{person}.csv", answers(person))


def settle(study, wanted: dict[str, str]) -> None:
    """The discussion finds what was published."""
    sheet = study.round().folder.sheets / "discussion.csv"
    if sheet.exists():
        filled(sheet, lambda row: {"label": wanted.get(row["item_id"], "neither"), "error_class": "slip"})


@pytest.fixture(scope="module")
def others(published):
    """Posts that claims' queries find beside the published ones: sixteen a claim, by keywords and by address."""
    chance, number, made = Chance(random.Random(13).random), 1_260_000_000_000_000_000, []
    for claim in rows_of(published / "misinformation.csv"):
        sources = [name for name in ("keywords", "fact_check_url") if claim[name.replace("url", "urls")]]
        for at in range(16):
            number += 2_000_000_000_000
            row = {"tweet_id": str(number), "source": sources[at % len(sources)]}
            made.append(made_up(row, claim, chance))
    return made


class Reader:
    """Somebody who types the guide's commands."""

    def __init__(self, place: Path, published: Path, monkeypatch) -> None:
        self.place, self.published, self.monkeypatch = place, published, monkeypatch

    def run(self, command: str) -> str:
        words = shlex.split(command.replace("FOLDER", str(self.published)))
        if words[0] == "cd":
            self.monkeypatch.chdir(self.place / words[1])
            return ""
        code, out, err = covmis(*words[1:])
        assert code == 0, (command, err)
        return out


def annotate_all(reader: Reader, one_round: list[str], wanted: dict[str, str]) -> int:
    """Rounds of twelve claims until none is left; how many they were."""
    first, *others = one_round
    study, rounds = open_study(reader.place / "my-covmis"), 0
    reader.run(first)
    while "round open" in study.status().next:
        rounds += 1
        for number, command in enumerate(others):
            reader.run(command)
            if command.startswith("covmis round push"):
                annotate(study, wanted)
            elif number == others.index("covmis round adjudicate --channel csv"):
                settle(study, wanted)
        reader.run(first)
    return rounds


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.long)], ids=["part", "whole"])
def test_every_command_of_the_guide(tmp_path, monkeypatch, published, rows, posts, others, whole):
    if not whole:  # the first claims alone, as if no more had been published
        claims = list(dict.fromkeys(row["mid"] for row in rows))[:26]
        published = only(tmp_path / "published", published, set(claims))
        rows = [row for row in rows if row["mid"] in claims]
    wanted = {f"{row['mid']}|x:{row['tweet_id']}": row["label"] for row in rows}
    gone = {row["tweet_id"]: "resource-not-found" for row in rows[::40]}
    beginning, one_round, end = blocks()
    reader = Reader(tmp_path, published, monkeypatch)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("X_BEARER_TOKEN", "token-of-nobody")
    with X(posts, gone=gone) as server:
        monkeypatch.setenv(x.ADDRESS, server.address)
        for command in beginning[:-1]:
            reader.run(command)
        asked = [number for request in server.requests for number in request.query["ids"].split(",")]
    assert set(asked) == {row["tweet_id"] for row in rows}  # those that are gone are asked for twice
    study = open_study(tmp_path / "my-covmis")
    lines = "".join(json.dumps({"data": [post]}) + "\n" for post in others)
    (study.places.folder / "data/archive/others.x.jsonl").write_text(lines)
    reader.run(beginning[-1])
    assert annotate_all(reader, one_round, wanted) == -(-study.sample["claim_id"].nunique() // 12)
    reader.run(end[0])
    assert "Each claim and kind: data/build/published.csv" in reader.run(end[1])
    check(study, published, rows, wanted, len(gone))
    alone = estimate_corpus(shutil.copytree(study.places.release, tmp_path / "alone"), by="claim,kind,month")
    of_study = study.estimate(by="claim,kind,month").shares
    pd.testing.assert_frame_equal(alone.shares, of_study, check_exact=False, rtol=1e-9, atol=1e-12)
    assert len(of_study) > 100
    if whole:
        figures = study.beside_published(published).totals.set_index("figure")["published"]
        assert (figures["posts"], figures["claims"], figures["labelled by rule"]) == (2631, 111, 604)
        assert round(figures["posts a claim, mean"], 2) == 23.70
        assert (figures["posts a claim, min"], figures["posts a claim, max"]) == (13, 39)


def told(column, pattern: str):
    """The numbers that a column of words tells, added up for each row."""
    numbers = column.str.extractall(pattern)[0].astype(int).groupby(level=0).sum()
    return numbers.reindex(column.index, fill_value=0)


def only(folder: Path, published: Path, claims: set[str]) -> Path:
    """The published files with these claims alone."""
    folder.mkdir()
    for name in ("misinformation.csv", "covmis_stance.csv"):
        rows = [row for row in rows_of(published / name) if row["mid"] in claims]
        (folder / name).write_bytes(csv_bytes(list(rows[0]), [list(row.values()) for row in rows]))
    return folder


def check(study, published: Path, rows: list[dict[str, str]], wanted: dict[str, str], gone: int) -> None:
    """What stands beside what was published, recounted from the released corpus."""
    beside = study.beside_published(published)
    totals, fates = beside.totals.set_index("figure"), beside.reasons
    corpus = {
        f"{row['claim_id']}|{row['post_id']}": row for row in rows_of(study.places.release / "corpus.csv")
    }
    assert totals.loc["posts", ["published", "here"]].tolist() == [len(rows), len(corpus)]
    assert totals.loc["labelled by rule", "here"] == sum(row["how"] == "automatic" for row in corpus.values())
    kappa = json.loads((study.places.rounds / "summary.json").read_text("utf-8"))["kappa"]["value"]
    assert totals.loc["kappa", "here"] == kappa
    assert 0.58 < kappa < 0.76
    assert sum(fates.values()) == len(rows)
    assert fates["without a post in the archive"] == gone
    assert sum(count for fate, count in fates.items() if fate.startswith("drawn again")) == len(
        corpus.keys() & wanted.keys()
    )
    assert fates["dropped at language"] > 0
    assert fates["dropped at near_duplicates"] > 0
    assert told(beside.rows["published_posts"], r"(\d+) ").sum() == len(rows)
    again, others = (
        told(beside.rows["published_posts"], r"(\d+) drawn again(?:;|$)"),
        told(beside.rows["others"], r"(\d+) "),
    )
    assert (again + others).tolist() == beside.rows["sampled"].tolist()
    assert beside.rows["sampled"].sum() == len(corpus)
    assert (
        totals["why"].iloc[0]
        == f"{len(corpus.keys() & wanted.keys()):,} drawn again, {len(corpus.keys() - wanted.keys()):,} others"
    )
    assert all(totals["why"].drop("claims"))
    differ = [item for item, row in corpus.items() if item in wanted and wanted[item] != row["label"]]
    assert len(differ) < 0.02 * len(corpus), "both wrong in the same way"
