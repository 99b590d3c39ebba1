"""`[retrieval] ranked`, the whole way: candidates, one stratum more, rounds, top-ups, gold, estimates, release."""

from __future__ import annotations

import csv
import io
import json

import pytest

import covmis_build as covmis
from covmis_build import storage
from covmis_build.building.stages import ranked_chances
from covmis_build.errors import InputError
from covmis_build.options import Nearest
from covmis_build.study.rebuild import rebuild
from covmis_build.study.round_settings import placeless, with_all_draws
from covmis_build.study.study import open_study
from tests.ranking.test_recall_of_a_study import fill


def with_setting(study, ranked):
    path = study.places.folder / "study.toml"
    lines = [
        f"ranked = {ranked}" if line.startswith("ranked =") else line
        for line in path.read_text().splitlines()
    ]
    storage.write_text(path, "\n".join(lines) + "\n")
    return open_study(study.places.folder)


def label(round_, about):
    """Two people say against of whatever takes up the claim and no query finds, favor of what a query finds."""
    round_.push(channel="csv")
    kinds = dict(zip(round_.items["item_id"], round_.items["kind"], strict=True))
    for path in sorted(round_.folder.sheets.glob("*.csv")):
        rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"))))
        for row in rows:
            claim, _, post = row["item_id"].partition("|")
            takes_up = about[post] == claim
            row["label"] = (
                ("against" if kinds[row["item_id"]] == "ranked" else "favor") if takes_up else "neither"
            )
        storage.write_bytes(path, storage.csv_bytes(list(rows[0]), [list(row.values()) for row in rows]))
    round_.pull()
    round_.report()
    round_.seal()


def test_the_whole_way(made):
    study, about = made
    plain = {name: getattr(study, name) for name in ("items", "sample")}
    study = with_setting(study, '{ by = "bm25", depth = 90, expected = 6, weights_up_to = 40 }')
    study.run()
    hits, items, drawn = study.hits, study.items, study.sample
    by_query = set(hits.loc[hits["kind"] != "ranked", "post_id"])
    ranked = hits[hits["kind"] == "ranked"]
    assert len(ranked) > 50
    assert not set(ranked["post_id"]) & by_query
    assert set(ranked["verified"]) == {"not_applicable"}
    # what queries found is drawn as before
    mine = items["kind"] == "ranked"
    found = items[~mine].reset_index(drop=True)
    assert found["item_id"].tolist() == plain["items"]["item_id"].tolist()
    assert drawn[drawn["kind"] != "ranked"]["item_id"].tolist() == plain["sample"]["item_id"].tolist()
    chances = ranked_chances(study.places, study.settings, items)
    assert sum(chances.values()) == pytest.approx(12)
    of_ranked = drawn[drawn["kind"] == "ranked"]
    assert {item: chances[item] for item in of_ranked["item_id"]} == dict(
        zip(of_ranked["item_id"], of_ranked["p_sample"], strict=True)
    )
    known = storage.read_table(study.places.table("candidates"), "candidates")
    assert set(known["ranked_by"]) == {"BM25"}
    told = " ".join(study.plan_sample().sentences)
    assert "near posts that no query finds" in told
    assert f"up to {1 / min(p for p in chances.values()):,.0f} posts" in told

    first = study.open_round()
    frozen = first.items.set_index("item_id")
    assert set(of_ranked["item_id"]) <= set(frozen.index)
    label(first, about)

    # a second round asks for more of them: earlier ones keep their place, and their chance is that of both draws
    study = with_setting(study, '{ by = "bm25", depth = 90, expected = 20, weights_up_to = 40 }')
    study.run()
    more = ranked_chances(study.places, study.settings, study.items)
    second = study.open_round()
    assert set(second.items["kind"]) == {"ranked"}
    assert not set(second.items["item_id"]) & set(frozen.index)
    label(second, about)
    rounds = [round_.folder for round_ in study.rounds]
    together = with_all_draws(study.places.rounds, rounds).set_index("item_id")
    both = together[together["kind"] == "ranked"]
    assert both["p_sample"].to_dict() == {item: more[item] for item in both.index}
    check_what_is_published(study, about)


def check_what_is_published(study, about):
    by_query = set(study.hits.loc[study.hits["kind"] != "ranked", "post_id"])
    estimates = study.estimate(by="kind").shares
    kinds = estimates[(estimates["scope"] == "kind") & (estimates["estimand"] == "unique_posts")]
    assert set(kinds["name"]) == {"keywords", "ranked"}
    ranked_against = kinds[(kinds["name"] == "ranked") & (kinds["label"] == "against")].iloc[0]
    pool = study.items[study.items["kind"] == "ranked"]
    truth = sum(
        about[post] == claim for claim, post in zip(pool["claim_id"], pool["post_id"], strict=True)
    ) / len(pool)
    assert ranked_against["population"] == pytest.approx(sum(1 / pool["p_claim"]))
    assert ranked_against["low"] <= truth <= ranked_against["high"]

    round_ = study.recall().draw(labels=30, labels_found=20)
    while fill(round_, about, stance=lambda post: "favor" if post in by_query else "against"):
        pass
    round_.seal()
    thirds = study.estimate().shares.set_index("estimand").loc["frame"].set_index("label")
    assert thirds["share"].sum() == pytest.approx(1)
    pairs = round_.folder.frame()
    takes_up = [about[post] == claim for claim, post in zip(pairs["claim_id"], pairs["post_id"], strict=True)]
    truth = pairs.loc[takes_up, "found"].mean()
    assert thirds["low"]["favor"] <= truth <= thirds["high"]["favor"]
    assert thirds["total_low"]["favor"] <= pairs.loc[takes_up, "found"].sum() <= thirds["total_high"]["favor"]
    folder = study.release(bundle=True).folder
    assert set(storage.read_column(folder / "corpus.parquet", "kind")) == {"keywords", "ranked"}
    card = (folder / "card.md").read_text()
    assert "the 90 most similar other posts of each claim" in card
    assert "50 most similar posts of each claim (BM25)" in card
    assert "only the most similar ones were included" in card
    methods = (folder / "methods.md").read_text()
    assert "The queries found" not in methods
    assert "With the 90 most similar posts of each claim that no query finds (BM25) there were" in methods
    assert "the unique posts retrieved" in methods
    told = " ".join(study.estimate().sentences)
    assert "Of all unique posts of the pool" in told
    assert "that were retrieved and cleaning kept" in told
    assert "found by a query or not: favor" in card
    checks = covmis.verify(folder)
    assert [str(check) for check in checks if not check.passed] == []
    told = " ".join(str(check) for check in checks)
    assert "round r001 is as it was sealed" in told
    assert "what the card says of recall is what its rounds say" in told
    again = rebuild(folder / "bundle.zip", study.places.folder.parent / "again", study.places.archives)
    assert again.without_text == 0
    assert open_study(again.study).recall().report().sentences == study.recall().report().sentences


def test_a_post_that_a_query_finds_stands_for_its_copies(made):
    study, _ = made
    post = {"id": "9001", "text": "They say garlic heals coronavirus 3 I doubt it garlic cures", "lang": "en",
            "created_at": "2020-04-01T00:00:00Z", "author_id": "7"}  # fmt: skip
    storage.write_text(study.places.folder / "data/archive/copy.jsonl", json.dumps({"data": [post]}) + "\n")
    path = study.places.folder / "study.toml"
    storage.write_text(path, path.read_text().replace("similarity = 0.99", "similarity = 0.6"))
    study = with_setting(open_study(study.places.folder), '{ by = "bm25", depth = 90 }')
    study.run()
    groups = study.items.set_index("post_id")
    assert groups.loc["x:9001", "kind"] == "keywords"
    assert groups.loc["x:9001", "group_size"] > 1


def test_depth_counts_what_no_query_finds_within_the_study_s_days(made):
    """Found posts come first in every ranking, and older ones are no part of the study: neither takes a candidate's place."""
    study, _ = made
    archive = study.places.folder / "data/archive/posts.jsonl"
    lines = [
        line.replace("2020-04-01", "2019-04-01") if at % 3 == 0 else line
        for at, line in enumerate(archive.read_text().splitlines())
    ]
    storage.write_text(archive, "\n".join(lines) + "\n")
    path = study.places.folder / "study.toml"
    storage.write_text(path, path.read_text().replace('since = ""', 'since = "2020-01-01"'))
    study = with_setting(study, '{ by = "bm25", depth = 25, expected = 5 }')
    study.run()
    hits = study.hits
    by_query = set(hits.loc[hits["kind"] != "ranked", "post_id"])
    known = storage.read_table(study.places.table("candidates"), "candidates")
    assert known["claim_id"].value_counts().to_dict() == {"c1": 25, "c2": 25}
    assert not set(known["post_id"]) & by_query
    # a rank is a post's place among all that are near
    assert known.groupby("claim_id")["rank"].max().min() > 25
    ranked = hits[hits["kind"] == "ranked"]
    assert set(ranked["claim_id"] + ranked["post_id"]) == set(known["claim_id"] + known["post_id"])
    assert set(study.posts["created_at"].dt.year) == {2020}
    facts = study.recall().plan(labels=20, depth=25).facts
    assert (facts.pairs_missed, facts.posts_in_archive) == (50, sum(1 for line in lines if "2020-04" in line))


def test_what_a_platform_s_query_found_in_vain_may_be_near(made):
    """A post that was collected by a claim's query and does not match it here is found by no query."""
    study, _ = made
    post = {"id": "9001", "text": "They say garlic heals coronavirus now I doubt it", "lang": "en",
            "created_at": "2020-04-01T00:00:00Z", "author_id": "7"}  # fmt: skip
    query = study.queries.set_index("claim_id").loc["c1", "query_id"]
    text = dict.fromkeys(("job", "expression", "search", "since", "until", "next", "url", "version"), "")
    stamp = {**text, "source": "x", "query_id": query, "claim_id": "c1", "kind": "keywords", "page": 1, "retrieved_at": "2020-05-01T00:00:00Z"}  # fmt: skip
    page = json.dumps({"__covmis": stamp, "data": [post]})
    storage.write_text(study.places.folder / "data/archive/page.jsonl", page + "\n")
    study = with_setting(study, '{ by = "bm25", depth = 400 }')
    study.run()
    dropped = study.dropped.set_index("post_id").loc[["x:9001"]]
    assert "does not match locally" not in set(dropped["reason"])
    mine = study.hits.set_index("post_id").loc[["x:9001"]]
    assert mine["kind"].tolist() == ["ranked"]


@pytest.mark.parametrize(
    ("ranked", "problem"),
    [
        ('{ by = "bm25+model" }', "names no model"),
        ('{ by = "tfidf" }', 'must be "bm25"'),
        ("{ depht = 5 }", "depth"),
        ("{ depth = 0 }", "at least 1"),
        ("{ expected = 0 }", "at least 0.1"),
        ('{ by = "bm25", model = "x" }', "has a model"),
    ],
)
def test_wrong_settings_are_named(tmp_path, ranked, problem):
    study = covmis.new_study(tmp_path / "s", title="S")
    with pytest.raises(InputError, match=problem):
        with_setting(study, ranked)


def test_a_model_s_folder_is_nobody_s_business():
    ranked = Nearest("bm25+model", model="/home/somebody/models/MiniLM")
    assert placeless(ranked) == Nearest("bm25+model", model="MiniLM")
    assert placeless(None) is None


def test_a_two_phase_claim_cannot_take_in_what_was_drawn_by_rank(made):
    """Both draws together have no known chances: it is refused, and what is frozen stays as it is."""
    study, about = made
    settings = study.places.folder / "study.toml"
    storage.write_text(settings, settings.read_text().replace('design = "poisson"', 'design = "two_phase"'))
    study = with_setting(study, '{ by = "bm25", depth = 90, expected = 20, weights_up_to = 40 }')
    study.run()
    label(study.open_round(), about)
    frozen = study.rounds[0].items
    assert set(frozen["design"]) == {"poisson", "two_phase"}
    plain, before = study.places.claims_csv.read_text("utf-8-sig"), study.sample
    storage.write_text(
        study.places.claims_csv, plain.replace("garlic cures", "(garlic cures) OR (garlic heals)")
    )
    with pytest.raises(InputError, match="claim c1 has frozen items of the designs poisson and two_phase"):
        study.run()
    assert study.sample.equals(before)
    assert study.rounds[0].items.equals(frozen)
    storage.write_text(study.places.claims_csv, plain)
    study.run()
    assert set(frozen["item_id"]) <= set(study.sample["item_id"])


def test_label_learn_add_a_query_estimate_again(made):
    """The loop of a study that learns from what it missed: every chance that a post ever had is kept."""
    study, about = made
    study = with_setting(study, '{ by = "bm25", depth = 90, expected = 6, weights_up_to = 40 }')
    study.run()
    label(study.open_round(), about)
    first = study.rounds[0].items.set_index("item_id")
    ranked = first.index[first["kind"] == "ranked"]
    asked = study.recall().draw(labels=60, labels_found=30, depth=90)
    while fill(asked, about):
        pass
    before, frame = study.recall().report(), asked.folder.frame()
    learned = study.recall().missed()
    queries = learned.queries.drop_duplicates("claim_id", keep="last").set_index("claim_id")["expression"]
    assert set(queries.index) == {"c1", "c2"}

    rows = list(csv.DictReader(io.StringIO(study.places.claims_csv.read_text("utf-8-sig"))))
    for row in rows:
        row["keywords"] = f"({row['keywords']}) OR ({queries[row['claim_id']]})"
    storage.write_bytes(
        study.places.claims_csv, storage.csv_bytes(list(rows[0]), [list(row.values()) for row in rows])
    )
    study.run()
    items, drawn = study.items.set_index("item_id"), study.sample.set_index("item_id")
    moved = [item for item in ranked if item in items.index and items.loc[item, "kind"] == "keywords"]
    assert moved
    # who was drawn stays drawn, with the greater of the chances of both draws
    assert set(first.index) <= set(drawn.index)
    found = items.loc[items["kind"] == "keywords", "claim_id"].value_counts()
    for item in moved:  # 24 of those that queries find, whoever of them was drawn before
        assert drawn.loc[item, "p_sample"] == max(
            first.loc[item, "p_sample"], 24 / found[first.loc[item, "claim_id"]]
        )
    for item in first.index:
        assert drawn.loc[item, "p_sample"] >= first.loc[item, "p_sample"]

    # the old recall round keeps its frame; the next one has numbers of its own, and finds more found
    assert asked.folder.frame().equals(frame)
    again = study.recall().draw(labels=60, labels_found=30, depth=90)
    while fill(again, about):
        pass
    after = study.recall().report()
    assert after.rounds == ("r002",)
    assert after.figures.iloc[0]["recall"] > before.figures.iloc[0]["recall"]

    label(study.open_round(), about)
    study.estimate(by="kind")
    asked.seal()
    again.seal()
    folder = study.release(bundle=True).folder
    assert [str(check) for check in covmis.verify(folder) if not check.passed] == []
    corpus = storage.read_columns(folder / "corpus.parquet", ["item_id", "p_sample"]).set_index("item_id")
    for item in moved:
        assert corpus.loc[item, "p_sample"] == drawn.loc[item, "p_sample"]
