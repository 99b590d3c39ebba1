"""What estimates are of when a study changes after its rounds: today's posts, or those of the draws."""

from __future__ import annotations

import csv
import shutil

import numpy as np
import pandas as pd
import pytest
from msgspec import UNSET

from covmis_build import storage
from covmis_build.errors import InputError
from covmis_build.study.study import open_study
from tests.annotation.small import covmis, fill
from tests.small_study import small_study

LABELS = ("favor", "against", "neither")


def said(row) -> str:
    """A label that differs from claim to claim."""
    number = sum(map(ord, row["item_id"])) % 10
    return "favor" if number < 2 + len(row["item_id"].partition("|")[0]) % 7 else LABELS[1 + number % 2]


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A study with a part of its posts, and one labelled round of all its claims."""
    folder = tmp_path_factory.mktemp("changes") / "study"
    folder.mkdir()
    study = small_study(folder, posts=2500)
    archive = folder / "data" / "archive"
    later = min(archive.iterdir(), key=lambda path: path.stat().st_size)
    later.rename(folder.parent / later.name)
    settings = (folder / "study.toml").read_text()
    settings = settings.replace('"label-studio"', '"csv"').replace("per_item = 2", "per_item = 1")
    (folder / "study.toml").write_text(
        settings.replace("audit = 0.05", "audit = 0.0").replace("minimum_posts = 12", "minimum_posts = 6")
    )
    study = open_study(folder)
    study.run()
    round_ = study.open_round(100)
    round_.push()
    for sheet in round_.folder.sheets.glob("*.csv"):
        fill(sheet, said)
    round_.pull()
    return folder


@pytest.fixture
def study(first, tmp_path):
    shutil.copytree(first, tmp_path / "study")
    return open_study(tmp_path / "study")


def pool_row(figures, label="favor", estimand="unique_posts"):
    shares = figures.shares
    rows = shares[(shares["scope"] == "pool") & (shares["label"] == label) & (shares["estimand"] == estimand)]
    return rows.iloc[0]


def change_claims(study, change) -> None:
    """Rewrite the claim list."""
    path = study.places.claims_csv
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    rows = [row for row in (change(dict(row)) for row in rows) if row]
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, rows[0])
        table.writeheader()
        table.writerows(rows)


def by_hand(study, label="favor") -> float:
    """The pool's share of unique posts: known sizes of cells times the mean within, of claims and query types alone."""
    items = study.items
    gold = study.gold().set_index("item_id")["label"]
    chance = pd.concat([round_.items for round_ in study.rounds]).set_index("item_id")["p_sample"]
    rows = items[items["item_id"].isin(gold.index)].assign(
        y=lambda rows: (gold.reindex(rows["item_id"]) == label).to_numpy(float),
        w=lambda rows: 1 / rows["p_claim"] / chance.reindex(rows["item_id"]).to_numpy(),
    )
    total = size = 0.0
    for claim, of in items.groupby("claim_id"):
        mine = rows[rows["claim_id"] == claim]
        for kind, cell in of.groupby("kind"):
            here = mine[mine["kind"] == kind]
            assert len(here) >= 2 or len(here) == len(cell), (claim, kind)
            known = float((1 / cell["p_claim"]).sum())
            total += known * float(np.average(here["y"], weights=here["w"]))
            size += known
    return total / size


def test_a_narrower_query_moves_the_shares(study):
    before = study.estimate(by="claim")
    items = study.items
    claim = str(items.loc[items["kind"] != "keywords", "claim_id"].value_counts().idxmax())
    was = before.shares[(before.shares["scope"] == "claim") & (before.shares["name"] == claim)]
    change_claims(study, lambda row: row | ({"keywords": ""} if row["claim_id"] == claim else {}))
    study.run()
    after = study.estimate(by="claim")
    now = after.shares[(after.shares["scope"] == "claim") & (after.shares["name"] == claim)]
    assert now["population"].iloc[0] < was["population"].iloc[0]
    assert now["n"].iloc[0] < was["n"].iloc[0]
    assert after.population == "today"
    assert any("labelled posts are no longer found by any query" in note for note in after.warnings)
    page = study.places.folder / "estimates.html"
    study.estimate(out=[page])
    assert "labelled posts are no longer found by any query" in page.read_text("utf-8")
    then = study.estimate(by="claim", population="drawn")
    assert then.shares["share"].tolist() == before.shares["share"].tolist()
    assert "that could be drawn when the rounds were opened" in then.methods[0]
    slopes = {
        name: study.regress("favor ~ kind", family="linear", population=name) for name in ("today", "drawn")
    }
    assert slopes["today"].n == after.shares["n"].max() < slopes["drawn"].n == then.shares["n"].max()
    assert slopes["today"].statement == after.methods[0]
    assert any("labelled posts are no longer found by any query" in note for note in slopes["today"].warnings)
    assert not slopes["drawn"].warnings
    released = pd.read_csv(study.release().folder / "corpus.csv")
    outside = released[released["in_population"] == "no"]
    assert len(outside) == before.shares["n"].max() - after.shares["n"].max() > 0
    assert (outside["weight"] == 0).all()
    sums = released.groupby("claim_id")["weight"].sum()
    whole = after.shares[(after.shares["scope"] == "claim") & (after.shares["estimand"] == "unique_posts")]
    sizes = whole.drop_duplicates("name").set_index("name")["population"]
    assert sums[sums > 0].to_dict() == pytest.approx(sizes.to_dict())
    assert covmis(study.places.folder, "verify", str(study.places.release))["error"] == ""


def test_a_claim_taken_out_is_in_no_share(study):
    """The same as of a study that never had it, with the same draws."""
    claim = study.items["claim_id"].iloc[0]
    rest = study.estimate(by="claim").shares
    change_claims(study, lambda row: None if row["claim_id"] == claim else row)
    study.run()
    figures = study.estimate(by="claim")
    assert claim not in set(figures.shares["name"])
    names = set(figures.shares.loc[figures.shares["scope"] == "claim", "name"])
    before = rest[(rest["scope"] == "claim") & rest["name"].isin(names)]
    for label in LABELS:
        rows = figures.shares[(figures.shares["scope"] == "claim") & (figures.shares["label"] == label)]
        rows = rows[rows["estimand"] == "unique_posts"]
        row = pool_row(figures, label)
        assert row["total"] == pytest.approx(rows["total"].sum())
        assert row["population"] == pytest.approx(rows["population"].sum())
    assert len(before) == len(figures.shares[figures.shares["scope"] == "claim"])


def test_posts_found_since_have_no_chance_until_a_round_draws_from_them(study, first):
    before = study.estimate()
    assert not before.warnings
    later = next(path for path in first.parent.iterdir() if path.is_file())
    storage.write_bytes(study.places.folder / "data" / "archive" / later.name, later.read_bytes())
    study.run()
    figures = study.estimate()
    (told,) = [note for note in figures.warnings if "had no chance of being labelled" in note]
    assert "were found since the last draw of their claim" in told
    assert pool_row(figures)["population"] < float((1 / study.items["p_claim"]).sum())


MADE = """title = "Made"
[[retrieval.columns]]
files = "posts.csv"
platform = "made"
id = "id"
text = "text"
created_at = "time"
[cleaning]
languages = []
undetermined = "keep"
minimum_posts = 6
similar_words = "unicode"
[sampling]
per_claim = 10
per_kind = 0
certain = false
[annotation]
annotators = ["a1"]
per_item = 1
channel = "csv"
"""


def made_study(folder, claims, texts):
    """A study with these claims (id → keywords) and posts, labelled once by one person."""
    (folder / "annotation").mkdir(parents=True)
    (folder / "data" / "archive").mkdir(parents=True)
    (folder / "queries").mkdir()
    (folder / "study.toml").write_text(MADE)
    (folder / "annotation" / "guideline.md").write_text("\n".join(f"- **{label}**: yes." for label in LABELS))
    rows = [f"{number},{text},2020-04-{1 + number % 28:02}" for number, text in enumerate(texts)]
    (folder / "data" / "archive" / "posts.csv").write_text("\n".join(["id,text,time", *rows]))
    study = open_study(folder)
    lines = [f"{claim},Claim {claim} is true.,{words}" for claim, words in claims.items()]
    study.places.claims_csv.write_text("\n".join(["claim_id,text,keywords", *lines]) + "\n")
    study.run()
    round_ = study.open_round(len(claims))
    round_.push()
    for sheet in round_.folder.sheets.glob("*.csv"):
        fill(sheet, said)
    round_.pull()
    return study


def words_of(number):
    """Fourteen words that no other text has."""
    syllables = ["ba", "de", "fi", "go", "lu", "ma", "ne", "pi", "ro", "su", "ta", "ve", "wi", "xo", "yu"]
    return " ".join(f"{syllables[(number + 7 * at) % 15]}{syllables[at]}{number}" for at in range(14))


def test_a_copy_that_stands_for_an_undrawn_post_had_its_chance(tmp_path):
    """Forty texts, each posted with one word of the query, then with the other: without the first word copies stand for all."""
    texts = [f"{word} {words_of(number)}" for word in ("early", "later") for number in range(40)]
    study = made_study(tmp_path / "study", {"1": "early OR later"}, texts)
    assert set(study.items["group_size"]) == {2}
    before = study.estimate()
    change_claims(study, lambda row: row | {"keywords": "later"})
    study.run()
    after = study.estimate()
    assert not any("had no chance" in note for note in after.warnings)
    names = ["share", "n", "population"]
    assert pool_row(after)[names].tolist() == pool_row(before)[names].tolist()
    assert pool_row(after)["population"] == 40
    copied = next(post for posts in study.round(1).folder.population()["copies"] for post in posts)
    study.purge(posts=copied)
    assert not any(copied in posts for posts in study.round(1).folder.population()["copies"])


def test_a_post_that_stayed_with_a_claim_taken_out_was_represented_by_those_that_did_not(tmp_path):
    """Forty posts of two claims, twenty of the first alone: those that stayed with it count twice, today as at the draw."""
    texts = [f"{'first second' if number < 40 else 'first'} {words_of(number)}" for number in range(60)]
    study = made_study(tmp_path / "study", {"1": "first", "2": "second"}, texts)
    stayed = int((study.items["claim_id"] == "1").sum()) - 20
    assert 5 < stayed < 35
    before = study.estimate(by="claim").shares
    change_claims(study, lambda row: row if row["claim_id"] == "1" else None)
    study.run()
    assert (study.items["p_claim"] == 1).all()
    assert len(study.items) == 60
    after = study.estimate(by="claim")
    assert not any("had no chance" in note for note in after.warnings)
    own = (before["scope"] == "claim") & (before["name"] == "1")
    now = (after.shares["scope"] == "claim") & (after.shares["name"] == "1")
    for name in ("share", "n", "population", "low", "high"):
        assert after.shares.loc[now, name].tolist() == pytest.approx(before.loc[own, name].tolist()), name
    assert pool_row(after)["population"] == 20 + 2 * stayed


def test_the_share_of_the_pool_is_that_of_its_cells(study):
    assert pool_row(study.estimate())["share"] == pytest.approx(by_hand(study))


def test_no_labelled_post_is_left(study):
    claims = sorted(set(study.items["claim_id"]))
    new = {"claim_id": "new", "keywords": "(virus OR coronavirus OR covid)"}
    change_claims(study, lambda row: row | new if row["claim_id"] == claims[0] else None)
    study.run()
    with pytest.raises(InputError, match="none of the labelled posts is found by a query today"):
        study.estimate()
    assert study.estimate(population="drawn").population == "drawn"


def test_scores_over_posts_are_of_the_same_posts(study):
    """A system's measures over all posts leave out what no query finds; those of the sample say that they do not."""
    gold = study.gold().set_index("item_id")["label"]
    before = study.score({"favor": dict.fromkeys(gold.index, "favor")}, over="posts", measures=["accuracy"])
    claim = study.items["claim_id"].iloc[0]
    change_claims(study, lambda row: None if row["claim_id"] == claim else row)
    study.run()
    systems = {"favor": dict.fromkeys(gold.index, "favor")}
    after = study.score(systems, over="posts", measures=["accuracy"])
    lost = int((gold.index.str.partition("|").get_level_values(0) == claim).sum())
    assert after.to_frame()["n"].iloc[0] == before.to_frame()["n"].iloc[0] - lost
    assert f"{lost} of {len(gold)} labelled posts are no longer found" in after.how
    with_invalid = {"favor": {item: "YES" if at % 3 else "?" for at, item in enumerate(gold.index)}}
    for over in ("items", "posts"):
        scores = study.score(
            with_invalid, over=over, measures=["accuracy"], map={"YES": "favor"}, invalid="wrong"
        )
        assert "answers of favor (" in scores.how, "also the invalid ones are told"
    told = study.score(systems, measures=["accuracy"]).notes
    assert any(f"{lost} of {len(gold)} items are no longer among the posts" in note for note in told)


def test_drawn_posts_without_a_label_bound_the_shares_and_removed_ones_are_told(study, first):
    """A further round is open, of which nobody has labelled anything; then labelled posts are removed."""
    assert study.estimate().shares["unlabelled"].isna().all()
    later = next(path for path in first.parent.iterdir() if path.is_file())
    storage.write_bytes(study.places.folder / "data" / "archive" / later.name, later.read_bytes())
    study.run()
    study.open_round(100)
    drawn = set(pd.concat([round_.items for round_ in study.rounds])["item_id"]) & set(study.items["item_id"])
    waiting = drawn - set(study.gold()["item_id"])
    after = study.estimate(by="claim")
    told = f"{len(waiting):,} of {len(drawn):,} drawn posts have no label; they represent "
    assert told in " ".join(after.sentences)
    row = pool_row(after)
    assert row["lowest"] < row["share"] < row["highest"]
    assert row["highest"] - row["lowest"] == pytest.approx(row["unlabelled"])
    gold = study.gold()["item_id"]
    study.purge(posts=sorted(gold[gold.isin(drawn)].str.partition("|")[2])[:5])
    study.run()
    assert any(
        " drawn posts were removed, or are no longer found" in note for note in study.estimate().warnings
    )


def test_a_draw_of_named_claims_after_labels_were_there_is_recorded_and_told(study, first):
    later = next(path for path in first.parent.iterdir() if path.is_file())
    storage.write_bytes(study.places.folder / "data" / "archive" / later.name, later.read_bytes())
    study.run()
    opened = set(study.rounds[0].items["item_id"])
    assert study.rounds[0].folder.about.seen is UNSET
    sample = storage.read_table(study.places.table("sample"), "sample")
    claim = str(sample.loc[~sample["item_id"].isin(opened), "claim_id"].iloc[0])
    labels = study.rounds[0].folder.labels()["item_id"]
    round_ = study.open_round([claim])
    about = round_.folder.about
    assert about.seen == {claim: labels[labels.str.startswith(f"{claim}|")].nunique()}
    assert about.named is True
    told = (
        f"Round 002 added posts of 1 claim ({claim}) that were named when labels of them were there already."
    )
    assert any(note.startswith(told) for note in study.estimate().warnings)
    assert any(note.startswith(told) for note in study.regress("favor ~ kind", family="linear").warnings)
    in_order = study.open_round(100).folder.about
    assert in_order.seen
    assert in_order.named is UNSET, "claims in the order of the list are nobody's choice"
    assert not any(note.startswith("Round 003 added") for note in study.estimate().warnings)
