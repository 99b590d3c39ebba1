"""Recall of a whole study: planned, drawn, labelled by people who cannot tell, every yes twice, reported; drawn from again."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import covmis_build as covmis
from covmis_build import storage
from covmis_build.cli import app
from covmis_build.errors import BrokenSeal, CheckFailed, InputError
from covmis_build.study.study import open_study

CLAIMS = {"c1": "Garlic cures the coronavirus", "c2": "5G masts spread the disease"}
KEYWORDS = {"c1": "garlic cures", "c2": "5g spread"}
ABOUT = {
    "c1": ["Garlic cures it, take three cloves {n} times a day my friends", "They say garlic heals coronavirus {n} I doubt it"],
    "c2": ["5G does spread the disease {n} said a man on the bus", "The masts make us ill with disease {n} burn the masts"],
}  # fmt: skip
NOISE = ["Garlic bread {n} is the best thing", "The disease {n} of our time is boredom", "Coronavirus figures of day {n}",
         "New masts {n} for the harbour", "Nothing {n} to see here"]  # fmt: skip


def study_in(folder):
    study = covmis.new_study(folder, title="Recall")
    rows = [
        ["claim_id", "text", "keywords"],
        *([claim, text, KEYWORDS[claim]] for claim, text in CLAIMS.items()),
    ]
    storage.write_bytes(folder / "queries/claims.csv", storage.csv_bytes(rows[0], rows[1:]))
    posts = [
        (claim, text.format(n=at)) for claim, texts in ABOUT.items() for text in texts for at in range(30)
    ]
    posts += [("", text.format(n=at)) for text in NOISE for at in range(60)]
    about = {}
    lines = []
    for at, (claim, text) in enumerate(posts):
        about[f"x:{1255 + at}"] = claim
        row = {"id": str(1255 + at), "text": text, "created_at": "2020-04-01T00:00:00Z", "lang": "en"}
        lines.append(json.dumps({"data": [{**row, "author_id": "7"}]}))
    storage.write_text(folder / "data/archive/posts.jsonl", "\n".join(lines) + "\n")
    settings = (folder / "study.toml").read_text()
    for old, new in (("minimum_posts = 24", "minimum_posts = 1"), ("minimum_words = 10", "minimum_words = 1"),
                     ("similarity = 0.8", "similarity = 0.99")):  # fmt: skip
        settings = settings.replace(old, new)
    storage.write_text(folder / "study.toml", settings)
    study = open_study(folder)
    study.run()
    return study, about


def fill(round_, about, wrong=(), stance=lambda _: ""):
    """Everybody answers what they have not yet, rightly but for the posts in `wrong`; a yes with a stance."""
    round_.push(channel="csv")
    filled = 0
    for path in sorted(round_.folder.sheets.glob("*.csv")):
        rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"))))
        for row in rows:
            claim, _, post = row["item_id"].partition("|")
            if not row["label"]:
                filled += 1
                yes = about[post] == claim or (post in wrong and path.stem.startswith(wrong[post]))
                row["label"], row["sub_label"] = ("yes", stance(post)) if yes else ("no", "")
        storage.write_bytes(path, storage.csv_bytes(list(rows[0]), [list(row.values()) for row in rows]))
    round_.pull()
    return filled


def truth(study, about, pairs):
    relevant = np.array(
        [about[post] == claim for claim, post in zip(pairs["claim_id"], pairs["post_id"], strict=True)]
    )
    return relevant[pairs["found"]].sum(), relevant[~pairs["found"]].sum()


def test_the_whole_way(made):
    study, about = made
    plan = study.recall().plan(labels=60, labels_found=40, depth=100)
    assert plan.facts.pairs_found == len(study.hits.drop_duplicates(["claim_id", "post_id"])) == 60
    assert plan.facts.claims == 2
    assert plan.facts.posts_in_archive == len(about)
    assert "follow the rank only" in " ".join(plan.sentences)
    round_ = study.recall().draw(labels=60, labels_found=40, depth=100)
    assert round_.number == "r001"
    assert round_.folder.scheme.values == ("yes", "no")
    assert round_.folder.scheme.sub_labels["yes"] == study.settings.labels.values
    frozen, pairs = round_.items, storage.read_table(round_.folder.folder / "frame.parquet", "frame")
    assert dict(zip(frozen["item_id"], frozen["p_sample"], strict=True)) == {
        item: p
        for item, p in zip(pairs["item_id"], pairs["p_sample"], strict=True)
        if item in set(frozen["item_id"])
    }
    assert pairs.loc[pairs["found"], "p_sample"].sum() == pytest.approx(40)
    assert pairs.loc[~pairs["found"], "p_sample"].sum() == pytest.approx(60)
    # nobody sees whether a query found a post
    sheet = fill(round_, about) and next(iter(round_.folder.sheets.glob("*.csv"))).read_text("utf-8-sig")
    assert "ranked" not in sheet
    assert "keywords" not in sheet.splitlines()[0]

    unconfirmed = study.recall().report()
    assert unconfirmed.unanswered > 0  # a yes of one person is no answer yet
    assert fill(round_, about) == unconfirmed.unanswered
    report = study.recall().report()
    assert report.unanswered == 0
    found, missed = truth(study, about, pairs)
    row = report.figures.iloc[0]
    assert row["low"] <= found / (found + missed) <= row["high"]
    assert row["low"] < row["recall"] < row["high"]
    assert report.sentences[0].startswith(f"The queries find at least {row['low']:.0%}")
    assert "100 most similar posts of each claim (BM25)" in report.sentences[0]
    kinds = report.figures[report.figures["scope"] == "kind"]
    assert kinds["name"].tolist() == ["keywords"]
    assert kinds["recall"].iloc[0] == pytest.approx(row["recall"])
    for claim in report.figures.loc[report.figures["scope"] == "claim", "name"]:
        relevant = pairs[
            (pairs["claim_id"] == claim) & ~pairs["found"] & pairs["item_id"].isin(frozen["item_id"])
        ]
        assert sum(about[post] == claim for post in relevant["post_id"]) >= 10

    before = round_.status()
    assert before.next == "`covmis recall report`, then `covmis round seal --round r001`"

    # more labels of the same frame add to the earlier ones, and keep their people's work
    again = study.recall().draw(labels=120, labels_found=50, depth=100)
    assert again.number == "r002"
    assert not set(again.items["item_id"]) & set(frozen["item_id"])
    while fill(again, about):
        pass
    whole = study.recall().report()
    assert whole.rounds == ("r001", "r002")
    assert whole.figures.iloc[0]["labels"] > row["labels"]
    assert whole.figures.iloc[0]["low"] <= found / (found + missed) <= whole.figures.iloc[0]["high"]
    same = study.recall().draw(labels=120, labels_found=50, depth=100)
    assert (same.number, same.sentences[0]) == (
        "r002",
        "Done already: round r002. Nothing was changed; more --labels draw more.",
    )
    # fewer of the one and more of the other: nobody's chance is forgotten
    third = study.recall().draw(labels=10, labels_found=60, depth=100)
    merged = storage.read_table(third.folder.folder / "frame.parquet", "frame")
    assert merged.loc[~merged["found"], "p_sample"].sum() == pytest.approx(120)
    assert merged.loc[merged["found"], "p_sample"].sum() == pytest.approx(60)


def test_the_draw_is_kept_by_the_seed_and_other_queries_draw_anew(made):
    study, about = made
    first = study.recall().draw(labels=60, labels_found=40, depth=100)
    while fill(first, about):
        pass
    before = study.recall().report()
    text = (study.places.claims_csv).read_text("utf-8-sig").replace("garlic cures", "garlic cures OR heals")
    storage.write_text(study.places.claims_csv, text)
    with pytest.raises(InputError, match="covmis run"):
        study.recall().draw()
    study.run()
    assert (
        study.recall().report().to_dict()["figures"].equals(before.figures)
    )  # what is reported is as it was drawn
    second = study.recall().draw(labels=60, labels_found=40, depth=100)
    while fill(second, about):
        pass
    after = study.recall().report()
    assert after.rounds == ("r002",)
    assert after.facts.pairs_found == 90
    assert after.figures.iloc[0]["recall"] > before.figures.iloc[0]["recall"]


def test_a_disputed_yes_waits_for_adjudication(made):
    study, about = made
    round_ = study.recall().draw(labels=60, labels_found=40, depth=100)
    noise = {post: "a1" for post, claim in about.items() if not claim}
    while fill(round_, about, noise):
        pass
    disputed = study.recall().report().unanswered
    assert disputed > 5
    settled = round_.adjudicate(adjudicator="c1", discuss=False, channel="csv")
    assert settled.disagreements == disputed
    path = round_.folder.sheets / "adjudication.csv"
    rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"))))
    for row in rows:
        row["label"] = "no"
    storage.write_bytes(path, storage.csv_bytes(list(rows[0]), [list(row.values()) for row in rows]))
    round_.adjudicate(adjudicator="c1", discuss=False, channel="csv")
    report = study.recall().report()
    assert (report.unanswered, report.overruled) == (0, disputed)
    assert "are not relevant in the final labels" in report.sentences[-1]


def test_stance_rounds_do_not_know_of_it(made):
    study, about = made
    round_ = study.recall().draw(labels=60, labels_found=40, depth=100)
    fill(round_, about)
    assert study.rounds == []
    assert study.gold().empty
    with pytest.raises(InputError, match="covmis recall report"):
        round_.report()
    with pytest.raises(CheckFailed, match="have no final label"):
        round_.seal()
    assert study.round("r1").number == "r001"
    post = round_.items["post_id"].iloc[0]
    study.purge(posts=[post])
    mine = study.round("r1").items.set_index("post_id").loc[[post]]
    assert set(mine["text"]) == {""}


def test_from_the_command_line(made):
    study, _ = made
    run = CliRunner().invoke
    where = ["--study", str(study.places.folder)]
    with pytest.raises(InputError, match="no recall round"):
        run(app, ["recall", "report", *where], catch_exceptions=False)
    planned = run(app, ["recall", "plan", "--labels", "60", "--json", *where], catch_exceptions=False)
    assert json.loads(planned.stdout)["frame"]["depth"] == 50
    assert "by words only" in planned.stderr
    drawn = run(app, ["recall", "draw", "--labels", "60", "--json", *where], catch_exceptions=False)
    assert json.loads(drawn.stdout)["round"] == "r001"
    told = json.loads(run(app, ["recall", "report", "--json", *where], catch_exceptions=False).stdout)
    assert told["unanswered"] == json.loads(drawn.stdout)["items"]
    assert told["figures"][0]["recall"] is None or told["figures"][0]["low"] == 0


def test_sealed_it_stays_as_it_is(made):
    study, about = made
    round_ = study.recall().draw(labels=60, labels_found=40, depth=100)
    while fill(round_, about):
        pass
    before = study.recall().report()
    seal = round_.seal()
    assert round_.seal() == seal
    assert (seal.round, seal.previous, seal.counts["decisions"]) == ("r001", "", len(round_.items))
    assert study.recall().report().to_dict()["sentences"] == before.sentences
    assert [str(check.sentence) for check in study.verify_rounds().rounds] == ["Round r001: valid"]
    with pytest.raises(InputError, match="sealed"):
        round_.push(channel="csv")

    more = study.recall().draw(labels=100, labels_found=40, depth=100)
    while fill(more, about):
        pass
    assert more.seal().previous == seal.seal
    assert study.recall().report().rounds == ("r001", "r002")

    # a chance that somebody changes afterwards is seen, and nothing is reported
    path = round_.folder.folder / "frame.parquet"
    pairs = storage.read_table(path, "frame")
    storage.write_table(path, pairs.assign(p_sample=pairs["p_sample"] / 2), "frame")
    assert "frame" in study.verify_rounds().rounds[0].changed
    with pytest.raises(BrokenSeal, match="frame"):
        study.recall().report()
    storage.write_table(path, pairs, "frame")

    item = str(round_.items["item_id"].iloc[0])
    assert round_.reopen([item], "misread").reopened == [item]
    assert not round_.sealed
    assert study.round("r1").seal().previous == ""
    assert all(check.stands for check in study.verify_rounds().rounds)

    # a purge takes texts, and seals and figures stand
    told = study.recall().report().sentences
    missed = study.recall().missed()
    study.recall().write_page(study.recall().report(), missed)
    shown = [max(learned.posts, key=lambda post: post.weight).post_id for learned in missed.learned.values()]
    study.purge(posts=shown)
    assert not (study.places.build / "recall.html").exists()
    assert sum(check.purged for check in study.verify_rounds().rounds) == 2
    assert all(check.stands for check in study.verify_rounds().rounds)
    assert study.recall().report().sentences == told


def test_stances_of_found_and_missed_posts(made):
    """Everybody favours what queries find and is against what they miss; the third estimand has both."""
    study, about = made
    round_ = study.recall().draw(labels=200, labels_found=60, depth=120)
    by_query = set(study.hits["post_id"])
    unknown = set(round_.items["post_id"].iloc[:3])
    while fill(
        round_,
        about,
        stance=lambda post: "" if post in unknown else "favor" if post in by_query else "against",
    ):
        pass
    report = study.recall().report()
    pairs = round_.folder.frame()
    found, missed = truth(study, about, pairs)
    shares = report.stances.set_index("label")
    assert shares["low"]["against"] <= missed / (found + missed) <= shares["high"]["against"]
    assert shares["low"]["favor"] <= found / (found + missed) <= shares["high"]["favor"]
    assert shares["share"].sum() == pytest.approx(1)
    whole = report.figures.iloc[0]
    assert shares["total"].sum() == pytest.approx(whole["found"] + whole["missed"])
    assert shares["share"]["neither"] == 0
    assert shares["high"]["neither"] > 0
    assert 0 < report.without_stance <= 3
    assert "found by a query or not: favor" in " ".join(report.sentences)


def test_what_missed_posts_share_and_the_page(made):
    study, about = made
    run = CliRunner().invoke
    where = ["--study", str(study.places.folder)]
    nothing = study.recall().draw(labels=20, labels_found=20, depth=20)
    assert "nothing can be learned" in study.recall().missed().sentences[0]
    while fill(nothing, about):
        pass
    round_ = study.recall().draw(labels=60, labels_found=40, depth=100)
    while fill(round_, about, stance=lambda _: "favor"):
        pass
    missed = study.recall().missed()
    for row in missed.queries.to_dict("records"):
        finds = {
            post.post_id
            for query in study.try_queries(row["expression"], samples=500).queries
            for post in query.samples
        }
        assert len(finds) == row["posts"]
        assert {about[post] for post in finds} == {row["claim_id"]}
    assert set(missed.shared.loc[missed.shared["claim_id"] == "c1", "words"]) >= {"heals", "doubt"}
    assert (
        sum(count for _, count, _ in missed.languages)
        == missed.queries.drop_duplicates("claim_id")["of_missed"].sum()
    )

    told = json.loads(
        run(app, ["recall", "report", "--html", "--json", *where], catch_exceptions=False).stdout
    )
    assert told["page"] == "data/build/recall.html"
    assert told["missed"]["queries"][0]["held_out"] <= told["missed"]["queries"][0]["finds"]
    html = (study.places.folder / told["page"]).read_text()
    assert "They say garlic heals coronavirus" in html
    assert "perhaps missed" in html
    assert "found by a query or not: favor 100%" in html
    printed = run(app, ["recall", "report", "--queries", *where], catch_exceptions=False).stdout
    assert "made of the others alone it finds" in " ".join(printed.split())


def test_a_round_that_learns(made):
    """What the first round's people said sets the chances of the second; the first stays as it was sealed."""
    study, about = made
    drawing = {"labels_found": 40, "depth": 100}
    with pytest.raises(InputError, match="no earlier draw from this frame"):
        study.recall().draw(labels=60, learn=True, **drawing)
    first = study.recall().draw(labels=60, **drawing)
    while fill(first, about):
        pass
    first.seal()
    sealed = {path: path.read_bytes() for path in first.folder.folder.rglob("*") if path.is_file()}
    second = study.recall().draw(labels=60, learn=True, **drawing)
    assert not set(second.items["item_id"]) & set(first.items["item_id"])
    before, after = first.folder.frame(), second.folder.frame()
    assert after["item_id"].tolist() == before["item_id"].tolist()
    drawn = before["item_id"].isin(first.items["item_id"])
    assert after.loc[drawn | before["found"], "p_sample"].equals(
        before.loc[drawn | before["found"], "p_sample"]
    )
    grown = after.loc[~drawn & ~before["found"], "p_sample"] - before.loc[~drawn, "p_sample"]
    assert grown.min() > 0
    assert not np.allclose(after["guess"].dropna(), before["guess"].dropna())
    while fill(second, about):
        pass
    second.seal()
    report = study.recall().report()
    assert report.rounds == ("r001", "r002")
    assert report.facts.learned
    found, missed = truth(study, about, after)
    row = report.figures.iloc[0]
    assert row["low"] <= found / (found + missed) <= row["high"]
    by_chance = (1 / after.loc[~after["found"] & after["item_id"].isin([*first.items["item_id"], *second.items["item_id"]]), "p_sample"]).sum()  # fmt: skip
    assert row["missed"] != pytest.approx(by_chance)
    assert {path: path.read_bytes() for path in sealed} == sealed
    assert all(check.stands for check in study.verify_rounds().rounds)
    with pytest.raises(InputError, match=r"Draw with learn \(--learn\)"):
        study.recall().draw(labels=200, **drawing)
    third = study.recall().draw(labels=20, learn=True, **drawing)
    assert third.number == "r003"


def test_a_frame_that_ends_too_early_says_so(made):
    """Ten posts a claim, and nearly all of them relevant: there must be more behind them."""
    study, about = made
    round_ = study.recall().draw(labels=60, labels_found=20, depth=25)
    while fill(round_, about):
        pass
    report = study.recall().report()
    assert report.edge > 0.5
    assert any("ends too early" in sentence for sentence in report.sentences)


def test_status_and_board_know_of_it(made):
    study, about = made
    round_ = study.recall().draw(labels=20, labels_found=20, depth=50)
    told = " ".join(round_.push(channel="csv").sentences)
    assert "annotation/recall/r001/sheets/" in told
    assert "`covmis round pull --round r001`" in told
    rows = {row.round: row for row in study.status().rounds}
    assert rows["r001"].items == len(round_.items)
    assert not rows["r001"].sealed
    where = ["--study", str(study.places.folder)]
    CliRunner().invoke(app, ["export", "board", *where], catch_exceptions=False)
    page = (study.places.rounds / "board.html").read_text("utf-8")
    assert "r001 (recall)" in page
    assert "Next in round r001: " in page
    while fill(round_, about):
        pass
    round_.seal()
    (row,) = study.status().rounds
    assert (row.labels > len(round_.items), row.sealed) == (True, True)


def test_queries_that_changed_since_the_draw_are_compared_with_those_of_the_draw(made):
    study, about = made
    round_ = study.recall().draw(labels=60, labels_found=40, depth=100)
    while fill(round_, about):
        pass
    before = study.recall().report()
    assert before.now is None
    text = study.places.claims_csv.read_text("utf-8")
    claim = next(iter(KEYWORDS))
    storage.write_text(study.places.claims_csv, text.replace(KEYWORDS[claim], "nothing_finds_this"))
    study = open_study(study.places.folder)
    assert study.recall().report().now is None, "the changed queries have not been run"
    study.run()
    after = study.recall().report()
    assert after.figures.equals(before.figures), "they are of the queries of the draw"
    gold, frame = round_.decisions.set_index("item_id")["label"], round_.folder.frame()
    relevant = frame[frame["item_id"].map(gold) == "yes"]
    lost = relevant["found"] & (relevant["claim_id"] == claim)
    assert 0 < lost.sum() < relevant["found"].sum()
    assert (after.now.found, after.now.still_found) == (
        relevant["found"].sum(), (relevant["found"] & ~lost).sum(),
    )  # fmt: skip
    assert (after.now.missed, after.now.found_since, after.now.outside) == ((~relevant["found"]).sum(), 0, 0)
    assert [line for line in after.sentences if "The queries have changed since the draw" in line]
