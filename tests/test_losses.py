"""The sentence on where most posts were lost names the step that took most, its setting, and what another value keeps."""

from __future__ import annotations

import json

import pandas as pd
import pytest

import covmis_build as covmis
from covmis_build.errors import CheckFailed, InputError

LONG = "garlic is said to cure the new virus in number {} of these quite long posts"


def study_of(folder, posts, **settings):
    study = covmis.new_study(folder / "s", title="S")
    (study.places.folder / "queries/claims.csv").write_text(
        "claim_id,text,keywords\na,Garlic cures,garlic\nb,Onions cure,onion\n"
    )
    rows = [
        {"id_str": str(1250000000000000000 + 4194304 * at), "created_at": "Tue Apr 14 10:00:00 +0000 2020", "lang": "en", "entities": {"urls": []}} | post
        for at, post in enumerate(posts)
    ]  # fmt: skip
    (study.places.folder / "data/archive/posts.jsonl").write_text("\n".join(map(json.dumps, rows)))
    study = study.change(**settings) if settings else study
    return study, study.run(workers=1)


def repost(at):
    original = {
        "id_str": str(1240000000000000000 + at),
        "full_text": LONG.format(at),
        "created_at": "Tue Apr 14 10:00:00 +0000 2020",
        "entities": {"urls": []},
    }
    return {"full_text": f"RT @a: {LONG.format(at)}", "retweeted_status": original}


@pytest.mark.parametrize(
    ("posts", "said"),
    [
        ([repost(at) for at in range(40)] + [{"full_text": LONG.format(at)} for at in range(3)], 'reposts. If their originals are not among your posts, set `[retrieval] reposts = "keep"`'),
        ([{"full_text": LONG.format(at), "lang": "de" if at % 3 else "fr"} for at in range(40)], "other languages (de 26, fr 14). `[cleaning] languages` is en"),
        ([{"full_text": f"garlic number {at}"} for at in range(60)], "`[cleaning] minimum_words = 3` would drop about a tenth"),
        ([{"full_text": f"{LONG.format(at)} {'abcdefghijklmnopqrst'[at] * 9} {'abcdefghijklmnopqrst'[-at] * 12}"} for at in range(20)], "would keep 1 claim of these"),
    ],
    ids=["reposts", "languages", "words", "minimum_posts"],
)  # fmt: skip
def test_the_next_step_says_why_few_are_left(tmp_path, posts, said):
    study, ran = study_of(tmp_path, posts)
    assert said in ran.next
    assert study.status().next == ran.next
    assert f"Next: {ran.next}" in "\n".join(ran.sentences)


def test_a_study_that_kept_enough_is_not_advised(tmp_path):
    posts = [
        {"full_text": f"{LONG.format(at)} {chr(97 + at % 26) * 9} {chr(97 + at // 26) * 12} w{at}"}
        for at in range(60)
    ]
    _, ran = study_of(tmp_path / "one", posts, cleaning={"minimum_posts": 5, "similarity": 0.99})
    assert "No post was found for 1 claim of 2: `covmis queries try CLAIM` counts other words." in ran.next
    for post in posts[::2]:
        post["full_text"] = post["full_text"].replace("garlic", "onion")
    _, ran = study_of(tmp_path / "two", posts, cleaning={"minimum_posts": 5, "similarity": 0.99})
    assert ran.next == "`covmis round open` (2 claims with sampled posts in no round)"


def test_languages_that_the_detector_does_not_know_are_named_where_it_is_needed(tmp_path):
    posts = [{"full_text": LONG.format(at)} for at in range(3)]
    note = (
        "langdetect does not know Amharic: set `[cleaning] detector` to py3langid or pycld2 (extra: language)"
    )
    _, ran = study_of(tmp_path / "tagged", posts, cleaning={"languages": ["en", "am"]})
    assert note not in ran.warnings
    untagged = [post | {"lang": ""} for post in posts]
    study, ran = study_of(tmp_path / "untagged", untagged, cleaning={"languages": ["en", "am"]})
    assert note in ran.warnings
    assert note in study.look(study.places.folder / "data/archive/posts.jsonl").files[0].notes


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("", "data/archive has no post: put files of posts there"),
        ("tweet_id\n1250000000000000001\n1250000000000000002\n", "has 2 ids and no text: fetch the posts"),
        ("tweet_id,text\n1250000000000000001,nothing to the point\n", "none of the 1 post in data/archive matches a query"),
    ],
    ids=["no file", "ids", "no match"],
)  # fmt: skip
def test_a_run_that_finds_nothing_says_why(tmp_path, file, said):
    study = covmis.new_study(tmp_path / "s", title="S")
    if file:
        (study.places.folder / "data/archive/posts.csv").write_text(file)
    else:
        assert study.status().next == "put posts into data/archive and claims into queries/claims.csv"
    ran = study.run(workers=1)
    assert any(said in warning for warning in ran.warnings), ran.warnings


def test_a_list_that_comes_again_fills_in_what_was_empty_and_names_what_differs(tmp_path):
    study = covmis.new_study(tmp_path / "s", title="S")
    (study.places.folder / "data/archive/posts.csv").write_text(
        "tweet_id,text\n1250000000000000001,some text\n"
    )
    claims = pd.DataFrame(
        {
            "claim_id": ["a", "b"],
            "text": ["Garlic cures the virus", "Onions cure the virus"],
            "titles": ["", "An onion"],
        }
    )
    study.import_claims(claims)
    study.set_keywords("b", ["onion"])
    without = study.change(cleaning={"minimum_posts": 1})
    (study.places.folder / "queries/claims.csv").write_text("claim_id,text\na,Garlic cures the virus\n")
    ran = without.run(workers=1)
    assert ran.next == "`covmis queries suggest CLAIM` proposes keywords; no claim has any yet"
    assert any("so no post was searched for" in warning for warning in ran.warnings)
    study.import_claims(claims)
    study.set_keywords("b", ["onion"])
    given = claims.assign(keywords=["garlic", "red onion"], verdict="false")
    told = study.import_claims(given)
    assert (told.filled_in, told.differing) == (
        {"keywords": 1, "verdict": 2, "misinformation": 2},
        {"keywords": 1},
    )
    assert told.claims["keywords"].tolist() == [["garlic"], ["onion"]]
    assert "Not changed: keywords of 1 claim differ from the list; edit queries/claims.csv" in told.sentences
    assert study.import_claims(given).filled_in == {}
    (study.places.folder / "queries/claims.csv").write_text(
        "claim_id,text,edits\na,Garlic cures the virus,whole site: took off https://b.org/\n"
    )
    with_site = claims.assign(fact_check_urls=["https://b.org/", "https://b.org/2"], titles="A title")
    again = study.import_claims(with_site)
    assert again.filled_in == {"titles": 1}, "an edit that somebody accepted is not undone"
    assert again.claims["fact_check_urls"].tolist() == [[], ["https://b.org/2"]]


def test_an_open_round_alone_makes_no_run_necessary(tmp_path):
    posts = [
        {"full_text": f"{LONG.format(at)} {chr(97 + at % 26) * 9} {chr(97 + at // 26) * 12} w{at}"}
        for at in range(40)
    ]
    study, _ = study_of(tmp_path, posts, cleaning={"minimum_posts": 5, "similarity": 0.99})
    study.open_round()
    assert study.status().next == "finish round 001: `covmis round status` says how"
    changed = study.change(cleaning={"minimum_posts": 6})
    assert changed.status().next.startswith("`covmis run` (to be made: clean")


def test_a_round_with_blank_cells_says_so_before_it_is_sealed_and_released(tmp_path):
    posts = [
        {"full_text": f"{LONG.format(at)} {chr(97 + at % 26) * 9} {chr(97 + at // 26) * 12} w{at}"}
        for at in range(20)
    ]
    study, _ = study_of(tmp_path, posts, cleaning={"minimum_posts": 5, "similarity": 0.99})
    opened = study.open_round()
    with pytest.raises(InputError, match="nothing to release"):
        study.release()
    assert "`covmis round push`" in opened.status().next
    opened.push(channel="csv")
    assert opened.status().next.startswith("wait for a1"), "the object that was there before the push"
    for code in ("a1", "a2"):
        path = study.places.rounds / f"001/sheets/{code}.csv"
        sheet = pd.read_csv(path, dtype=str, keep_default_na=False).sort_values("item_id", ignore_index=True)
        sheet["label"] = [("favor", "against", "neither")[at % 3] for at in range(len(sheet))]
        if code == "a2":
            sheet.loc[0, "label"] = ""
            sheet.loc[1, "label"] = "skip"
            sheet.loc[[2, 3], "label"] = ["favor", "against"]
        sheet.to_csv(path, index=False)
    opened.pull()
    settled = opened.adjudicate()
    assert (settled.disagreements, settled.unlabelled, settled.single, settled.to_discuss) == (3, 1, 1, 2)
    on_sheet = pd.read_csv(study.places.rounds / "001/sheets/discussion.csv", dtype=str)["item_id"].tolist()
    assert on_sheet == [*sheet["item_id"][[2, 3]], sheet["item_id"][1]], "the post with one label comes last"
    opened.report()
    report = (study.places.rounds / "001/report.html").read_text("utf-8")
    assert "2 posts with all their labels and comments, and 1 post with only one label" in report
    assert "a: Garlic cures" in report, "tables by claim have the claim's words"
    for at, label in ((1, "favor"), (2, "favor"), (3, "favor")):
        opened.decide(sheet["item_id"][at], label)
    settled = opened.adjudicate()
    assert (settled.disagreements, settled.discussed, settled.single, settled.to_discuss) == (3, 2, 1, 0)
    assert "2 disagreements: 2 settled by discussion" in settled.summary[0]
    assert (
        "2 disagreements, all decided. 1 post still without enough answers. 1 further post with only one label (skipped by the others): final unless you change it."
        in str(opened.status())
    )
    assert "1 further post with only one label" in settled.summary[0]
    assert "majority" not in settled.summary[0]
    assert "1 post without enough labels" in settled.summary[0]
    with pytest.raises(CheckFailed, match="no final label"):
        opened.seal()


def test_posts_that_a_file_assigns_to_claims_that_are_not_selected_do_not_come_in(tmp_path):
    study = covmis.new_study(tmp_path / "study", title="Claims of others")
    (study.places.folder / "queries/claims.csv").write_text(
        "claim_id,text,keywords,selected\na,Garlic cures,garlic,yes\nb,Onions cure,onion,no\n"
    )
    rows = [
        f"{1250812508125081253 + 4099 * at},{'a' if at % 3 else 'bz'[at % 2]},{LONG.format(at)}"
        for at in range(30)
    ]
    (study.places.folder / "data/archive/mine.csv").write_text("\n".join(["tweet_id,claim,text", *rows]))
    study = study.set_columns("mine.csv", claim="claim", platform="x", id="tweet_id", text="text")
    study.run()
    flow = [step.claims for step in study.status().flow]
    assert flow[:2] == [2, 1], "the list has two claims, one of them selected"
    assert max(flow[1:]) == 1
    assert min(flow) >= 0
    assert set(pd.read_parquet(study.places.table("hits"))["claim_id"]) == {"a"}
