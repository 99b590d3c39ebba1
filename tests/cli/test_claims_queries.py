"""`covmis claims` and `covmis queries`, as a person uses them."""

from __future__ import annotations

import json

import pytest

from tests.program import covmis


@pytest.fixture
def study(tmp_path):
    folder = tmp_path / "study"
    (folder / "data/archive").mkdir(parents=True)
    (folder / "study.toml").write_text('title = "t"\n')
    rows = [
        {"id_str": str(1252934402983763968 + at), "full_text": text}
        for at, text in enumerate(["Garlic cures covid-19", "garlic against the flu", "nothing"])
    ]
    (folder / "data/archive/a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture
def claims(tmp_path):
    path = tmp_path / "list.csv"
    path.write_text(
        "mid,mis,keywords,titles,news_urls,fact_check_urls\n1,No evidence that garlic cures it,garlic (covid-19 OR coronavirus),,https://a.org/1,\n2,Unicorns exist.,unicorn,,,https://b.org/2\n"
    )
    return path


def ran(*arguments):
    code, out, err = covmis(*arguments)
    assert code == 0, err
    return out


def answer(*arguments):
    return json.loads(ran(*arguments, "--json"))


def test_import_lint_and_accept(study, claims):
    assert "2 claims added" in ran("claims", "import", claims, "--study", study)
    assert answer("claims", "import", claims, "--study", study) == {
        "added": 0,
        "already_there": 2,
        "claims": 2,
        "given_posts": 0,
        "filled_in": {},
        "differing": {},
    }
    assert {row["finding"] for row in answer("claims", "lint", "--study", study)["findings"]} >= {
        "correct:1",
        "addresses:1",
    }
    ran("claims", "lint", "--accept", "correct:1", "--study", study)
    text = (study / "queries/claims.csv").read_text("utf-8-sig")
    assert "Garlic cures it." in text
    assert "correct: was No evidence that garlic cures it" in text
    assert answer("claims", "import", claims, "--study", study)["added"] == 0


def test_an_id_stands_for_one_claim(study, claims, tmp_path):
    ran("claims", "import", claims, "--study", study)
    other = tmp_path / "other.csv"
    other.write_text("claim_id,text\n2,Dragons exist.\n")
    before = (study / "queries/claims.csv").read_bytes()
    code, _, err = covmis("claims", "import", other, "--study", study)
    assert (code, (study / "queries/claims.csv").read_bytes()) == (2, before)
    assert "the id 2 is that of another claim here: Unicorns exist." in err


def test_posts_of_a_list_go_to_the_archive(study, tmp_path):
    (tmp_path / "NewsFakeCOVID-19.csv").write_text(
        ",type,fact_check_url,archive,news_url,title,newstitle\n7,post,,,,A title.,\n"
    )
    (tmp_path / "NewsFakeCOVID-19_tweets.csv").write_text("index,tweet_id\n7,1252934402983763970\n")
    assert answer("claims", "import", tmp_path / "NewsFakeCOVID-19.csv", "--study", study)["given_posts"] == 1
    told = ran("claims", "import", tmp_path / "NewsFakeCOVID-19.csv", "--study", study)
    assert "come with `covmis collect ids data/archive/given-posts.csv`" in told
    ran("run", "retrieve", "--study", study)
    import pandas as pd

    (hit,) = pd.read_parquet(study / "data/build/hits.parquet").to_dict("records")
    assert (hit["claim_id"], hit["post_id"], hit["kind"], hit["query_id"], hit["verified"]) == (
        "7",
        "x:1252934402983763970",
        "title",
        "",
        "not_applicable",
    )


def test_a_list_of_others_is_looked_at_then_imported_and_examples_make_room(tmp_path):
    ran("new", tmp_path / "mine")
    path = tmp_path / "list.tsv"
    path.write_text(
        "nr\tsaid\tverdict\twho\n1\tGarlic cures the flu\tFalse\ta\n2\tTea is wet, they say\ttrue\tb\n"
    )
    before = (tmp_path / "mine/queries/claims.csv").read_bytes()
    look = answer(
        "claims",
        "import",
        path,
        "--text",
        "said",
        "--column",
        "claim_id=nr",
        "--look",
        "--study",
        tmp_path / "mine",
    )
    assert (look["form"], look["claims"], look["left_over"]) == ("table", 2, ["who"])
    assert look["verdicts"][0] == {"verdict": "False", "claims": 1, "misinformation": "yes"}
    assert "claim_id <- nr" in ran(
        "claims",
        "import",
        path,
        "--text",
        "said",
        "--column",
        "claim_id=nr",
        "--look",
        "--study",
        tmp_path / "mine",
    )
    assert (tmp_path / "mine/queries/claims.csv").read_bytes() == before
    told = ran(
        "claims", "import", path, "--text", "said", "--column", "claim_id=nr", "--study", tmp_path / "mine"
    )
    assert "example claims of `covmis new`" in told
    assert "Columns left over: who" in told
    assert answer("claims", "lint", "--study", tmp_path / "mine")["claims"] == 2
    assert (
        (tmp_path / "mine/queries/claims.csv")
        .read_text("utf-8-sig")
        .splitlines()[0]
        .endswith(",verdict,misinformation")
    )
    ran("run", "queries", "--study", tmp_path / "mine")
    code, _, err = covmis("claims", "import", "--look", "--search", "garlic", "--study", tmp_path / "mine")
    assert (code, "do not go together" in err) == (2, True), "what is only looked at is never written"
    code, _, err = covmis("claims", "import", path, "--column", "said", "--study", tmp_path / "mine")
    assert (code, "write FIELD=COLUMN" in err) == (2, True)


def test_select_after_hits(study, claims):
    ran("claims", "import", claims, "--study", study)
    code, _, err = covmis("claims", "select", "--top", 1, "--study", study)
    assert code == 2
    assert "covmis run retrieve" in err
    ran("run", "retrieve", "--study", study)
    made = answer("claims", "select", "--top", 1, "--study", study)
    assert (made["selected"], made["of"]) == (1, 2)
    assert made["claims"][0]["tied"] is True
    assert (study / "queries/selection.csv").read_text("utf-8-sig").splitlines()[
        0
    ] == "claim_id,posts,rank,selected,tied"


def test_show_try_and_suggest(study, claims):
    ran("claims", "import", claims, "--study", study)
    shown = answer("queries", "show", "1", "--platform", "x", "--study", study)["queries"]
    assert [row["searches"] for row in shown] == [['url:"a.org/1"'], ['garlic ("covid-19" OR coronavirus)']]
    tried = answer("queries", "try", "garlic -flu", "--study", study)
    assert tried["posts_in_archive"] == 3
    assert tried["queries"][0]["posts"] == 1
    assert [row["posts"] for row in answer("queries", "try", "--study", study)["queries"]] == [0, 1, 0, 0]
    assert "Garlic cures covid-19" in ran("queries", "try", "1", "--study", study)
    code, out, err = covmis("queries", "try", "9", "--study", study)
    assert (code, "No claim has the id 9; read as keywords" in err, " 0  9" in out) == (0, True, True)
    assert answer("queries", "try", "--words", "1", "--study", study)["posts"] == 1
    listed = study / "queries/claims.csv"
    listed.write_text(listed.read_text("utf-8-sig").replace("\n1,", "\nlist-0001,"), "utf-8")
    found = answer("queries", "try", "list-0001", "--study", study)["queries"]
    assert [(row["query_id"], row["posts"]) for row in found][-1] == ("list-0001:keywords:1", 1)
    code, _, err = covmis("queries", "try", "--words", "--study", study)
    assert (code, "the id of a claim" in err) == (2, True)
    first = answer("queries", "suggest", "list-0001", "--study", study)["suggestions"][0]
    assert (first["width"], first["posts"] >= 1, "garlic" in first["expression"]) == ("precise", True, True)
    assert "garlic" in ran("queries", "suggest", "Garlic helps", "--study", study)
    for asked, known in (("list-0001", "list-0001"), ("Garlic helps", "CLAIM")):
        last = ran("queries", "suggest", asked, "--study", study).splitlines()[-1]
        assert last == f"Choose one, or write your own: `covmis queries set {known} 'KEYWORDS'`."


def test_a_table_that_was_once_for_queries_opens_where_it_changes_nothing(study, claims):
    ran("claims", "import", claims, "--study", study)
    settings = study / "study.toml"
    text = settings.read_text("utf-8")
    settings.write_text(f"{text}\n[queries]\nshare = 1.0\n", "utf-8")
    assert answer("queries", "try", "garlic", "--study", study)["posts_in_archive"] == 3
    settings.write_text(f"{text}\n[queries]\nshare = 0.5\n", "utf-8")
    code, _, err = covmis("queries", "try", "garlic", "--study", study)
    assert (code, "Delete [queries] and its line `share`" in err) == (2, True)


def test_what_try_could_not_read_is_on_the_screen(study, claims):
    ran("claims", "import", claims, "--study", study)
    with (study / "data/archive/a.jsonl").open("a") as file:
        file.write("{torn\n")
    for _ in range(2):
        code, _, err = covmis("queries", "try", "garlic", "--study", study)
        assert code == 0
        assert "archive/a.jsonl: 1 line could not be read and is not searched" in err


def test_suggest_before_there_is_an_archive(study, claims):
    ran("claims", "import", claims, "--study", study)
    (study / "data/archive/a.jsonl").unlink()
    made = answer("queries", "suggest", "1", "--study", study)["suggestions"]
    assert made
    assert {row["posts"] for row in made} == {None}
    assert covmis("queries", "suggest", "1", "--posts", "5;6", "--study", study)[0] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("queries", "show", "99"), "no claim has the id 99"), (("queries", "show", "--platform", "twitter"), "Allowed: x, bluesky, mastodon"), (("queries", "try", "(garlic"), "not closed"),
        (("queries", "suggest", "99"), "no claim has the id 99"), (("claims", "lint", "--accept", "x:1"), "no finding is called"), (("claims", "import"), "name a FILE"), (("claims", "import", "nowhere.csv"), "is missing"),
    ],
)  # fmt: skip
def test_wrong_input(study, claims, arguments, message):
    ran("claims", "import", claims, "--study", study)
    code, _, err = covmis(*arguments, "--study", study)
    assert code == 2
    assert message in err
    assert len(err.strip().splitlines()) == 1


def test_signs_of_other_search_languages_are_named(study, claims):
    ran("claims", "import", claims, "--study", study)
    code, _, err = covmis("queries", "try", "garlic or mask* lang:en", "--study", study)
    assert code == 0
    assert err.count("warning: ") == 3
    assert "'or' is looked for as a word: write OR" in err
    assert "warning" not in covmis("queries", "show", "--study", study)[2]
