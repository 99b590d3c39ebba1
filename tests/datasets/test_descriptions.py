"""Corpora as descriptions: small samples in their published shapes, and descriptions of users' own."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from covmis_build import datasets, storage
from covmis_build.datasets import catalogue
from covmis_build.errors import CovmisError, InputError, UnknownName
from covmis_build.evaluation.catalogue import measures
from tests.corpus.studies import covmis

ID = "1250814876490665983"


def tree(claim, text, stance, *, leaning="", replies=(), at=0):
    """A post and its replies as Stanceosaurus has them; texts are for the user to add."""
    posts = [
        {"id": int(ID) + at + number, "text": "", "stance": said, "leaning": leaning, "children": []}
        for number, said in enumerate((stance, *replies))
    ]
    posts[0]["children"] = posts[1:]
    return {"claim": text, "id": claim, "source": "A desk", "root_tweet": posts[0]}


PERSPECTRUM = {
    "perspectrum_with_answers_v1.0.json": json.dumps(
        [
            {
                "cId": 7, "text": "A claim",
                "perspectives": [
                    {"pids": [1, 2], "stance_label_3": "SUPPORT"},
                    {"pids": [3], "stance_label_3": "UNDERMINE"},
                    {"pids": [3], "stance_label_3": "not-a-perspective"},
                ],
            }
        ]
    ),
    "perspective_pool_v1.0.json": json.dumps([{"pId": at, "text": f"because {at}"} for at in (1, 2, 3)]),
    "dataset_split_v1.0.json": json.dumps({"7": "dev"}),
}  # fmt: skip
SAMPLES = {
    "covid19-stance": (
        {
            f"{target}_{part}.csv": (
                "Tweet Id,Target,Stance,Opinion Towards,Sentiment\r\n"
                f'{ID[:-2]}{at}{number},t,FAVOR,"1.  The tweet, as it is",pos\r\n'
            )
            for at, target in enumerate(("face_masks", "fauci", "school_closures", "stay_at_home_orders"))
            for number, part in enumerate(("train", "val", "test"))
        },
        12, ["favor", "Wearing a face mask", "train"],
    ),
    "p-stance": (
        {
            f"raw_{part}_{target}.csv": (
                f'Tweet,Target,Stance\n"one, two #{target}",Somebody,AGAINST\nthree,Somebody,NONE\n'
            )
            for target in ("trump", "biden", "bernie")
            for part in ("train", "val", "test")
        },
        9, ["against", "Somebody", "train"],
    ),
    "vast": (
        {
            f"vast_{part}.csv": f"author,post,new_topic,label,new_id,arc_id\nx,a text,a topic,2,{part}1,77\n"
            for part in ("train", "dev", "test")
        },
        3, ["none", "a topic", "train"],
    ),
    "wt-wt": (
        {"wtwt_ids.json": json.dumps([{"tweet_id": ID, "merger": "CVS_AET", "stance": "refute"}])},
        1, ["refute", "CVS_AET", ""],
    ),
    "perspectrum": (PERSPECTRUM, 3, ["support", "A claim", "dev"]),
    "emergent": (
        {
            f"url-versions-2015-06-14-clean-{part}.csv": (
                f",claimHeadline,articleHeadline,claimId,articleId,articleHeadlineStance\n0,A claim,A headline,c,{part},observing\n"
            )
            for part in ("train", "test")
        },
        2, ["observing", "A claim", "train"],
    ),
    "covidlies-v1.1": (
        {"covid_lies_v1.1.csv": f"misconception_id,misconception,tweet_id,label\n3,Wrong,{ID},na\n"},
        1, ["na", "Wrong", ""],
    ),
    "stanceosaurus": (
        {
            "english/test/A desk/a_claim.json": json.dumps([tree(7, "A claim", "Refuting ", replies=("Querying",))]),
            "arabic/228.json": json.dumps([tree(228, "A claim", "Discussing")]),
            "hindi/A desk/9.json": json.dumps([tree(9, "A claim", "the title of a page", leaning="Supporting")]),
            "spanish/17.json": "\n".join(json.dumps(tree(17, "A claim", "Dicussing", at=at)) for at in (1, 2)),
        },
        6, ["refuting", "A claim", "test"],
    ),
    "multiclaim": (
        {
            "fact_check_post_mapping.csv": "fact_check_id,post_id\n5,9\n",
            "fact_checks.csv": "fact_check_id,claim\n5,A claim\n", "posts.csv": "post_id,text\n9,A post\n",
        },
        1, ["matched", "A claim", ""],
    ),
    "checkthat2020": (
        {
            "gold.csv": "claim_id,post_id,part\n394,ct20-0001,train\n", "claims.csv": "claim_id,text\n394,A claim\n",
            "tweets.csv": "post_id,part,text\nct20-0001,train,A post\n",
        },
        1, ["matched", "A claim", "train"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_in_the_published_shape_is_read(tmp_path, name) -> None:
    files, rows, first = SAMPLES[name]
    folder = tmp_path / datasets.find(name).folder
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    frame = datasets.read(name, tmp_path)
    assert len(frame) == rows
    assert frame.loc[0, ["label", "target", "split"]].tolist() == first
    if datasets.complete_layout(datasets.find(name), tmp_path).has_text:
        assert (frame["text"] != "").all()
    elif ID in frame["id"].tolist():
        assert frame.loc[0, "time"] == "2020-04-16T15:54:40Z"
    if datasets.find(name).scheme != "match":
        assert set(datasets.map_labels(frame, "covmis")["label"]) <= {"favor", "against", "neither"}
    else:
        with pytest.raises(InputError, match="which fact-check a post belongs to"):
            datasets.map_labels(frame, "covmis")


def test_checkthat_has_its_counts(data_home) -> None:
    frame = datasets.read("checkthat2020", data_home)
    assert (len(frame), frame["id"].nunique(), frame.attrs["doubled"]) == (1198, 1196, 1)


OWN = """
title = "Ours"
licence = "CC-BY-4.0"
[labels]
values = ["ja", "nein", "?"]
stance = { ja = "favor", nein = "against", "?" = "neither" }
[[layouts]]
has_text = true
[layouts.columns]
id = "nr"
label = "urteil"
target = "thema"
text = "satz"
group = "thema"
[[layouts.files]]
path = "posts.tsv"
"""


@pytest.fixture
def own(tmp_path):
    (tmp_path / "ours.toml").write_text(OWN, "utf-8")
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "posts.tsv").write_text(
        "nr\turteil\tthema\tsatz\n1\tja\tMasken\tHilft\n2\t?\tMasken\tHm\n"
    )
    return tmp_path


def test_a_users_own_description_is_a_corpus_like_ours(own) -> None:
    assert "ours" in {row["name"] for row in datasets.overview(own)}
    frame = datasets.read("ours", own)
    assert datasets.map_labels(frame, "covmis")["label"].tolist() == ["favor", "neither"]
    assert datasets.convert(["ours"], own, labels="covmis")["part"].tolist() == ["ours", "ours"]


def test_quotation_marks_between_tabs_take_in_no_other_rows(own) -> None:
    path = own / "ours" / "posts.tsv"
    head = "nr\turteil\tthema\tsatz\n"
    path.write_text(f'{head}1\tja\tMasken\t"Hilft\n2\tnein\tMasken\tHm"\n')
    assert datasets.read("ours", own)["text"].tolist() == ['"Hilft', 'Hm"']
    path.write_text(f'{head}1\tja\tMasken\t"Hilft ""so"""\n')
    assert datasets.read("ours", own)["text"].tolist() == ['Hilft "so"']
    path.write_text(f"{head}1\tja\tMasken\n")
    with pytest.raises(CovmisError, match="row 2: has too many or too few cells"):
        datasets.read("ours", own)


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ('path = "posts.tsv"', 'path = "../posts.tsv"', "names a place outside"),
        ('title = "Ours"', "title = ", "is not TOML"),
        ('licence = "CC-BY-4.0"', "", "describes no corpus"),
        ('id = "nr"', 'identity = "nr"', "unknown key 'identity'"),
        ("has_text = true", 'reader = "magic"', "no reader is called 'magic'"),
        ('values = ["ja", "nein", "?"]', 'values = ["ja"]', "stance names each label once"),
        ('label = "urteil"', 'label = "verdict"', "posts.tsv: has no column 'verdict'"),
    ],
)  # fmt: skip
def test_a_wrong_description_is_refused_in_one_line(own, before, after, problem) -> None:
    (own / "wrong.toml").write_text(OWN.replace(before, after) + 'folder = "ours"\n' * 0, "utf-8")
    (own / "ours.toml").unlink()
    (own / "ours").rename(own / "wrong")
    with pytest.raises((CovmisError, UnknownName), match=problem) as caught:
        datasets.read("wrong", own)
    assert "\n" not in str(caught.value)


def test_published_scores_are_shown_next_to_a_score_on_the_same_gold(tmp_path, monkeypatch) -> None:
    gold = tmp_path / "gold.csv"
    gold.write_text("id,label\n1,a\n2,b\n3,b\n", "utf-8")
    told = {
        "title": "T", "licence": "none", "labels": {"values": ["a", "b"]}, "layouts": [],
        "published": {
            "of": "the test part (a paper)", "gold": [storage.sha256_of(gold)],
            "scores": [{"system": "theirs", "measure": "accuracy", "value": 0.5}, {"system": "old", "measure": "gmr", "value": 0.25}],
        },
    }  # fmt: skip
    corpus = catalogue.described_in("mine", told, "mine.toml")
    assert "Published for the test part (a paper): theirs 0.5 (accuracy), old 0.25 (gmr)." in corpus.sentences
    monkeypatch.setattr(catalogue, "built_in", lambda: (corpus,))
    done = covmis("evaluate", "score", gold, gold, "--measures", "accuracy")
    assert done["published"] == "Published for the test part (a paper): theirs 0.5 (accuracy)."
    gold.write_text("id,label\n1,a\n2,b\n3,a\n", "utf-8")
    assert "published" not in covmis("evaluate", "score", gold, gold, "--measures", "accuracy")
    with pytest.raises(InputError, match="published: unknown key 'off'"):
        catalogue.described_in("mine", told | {"published": {"off": ""}}, "mine.toml")


def test_published_scores_of_a_users_own_corpus_are_shown(own, monkeypatch) -> None:
    """As the guide describes them, in the folder of corpora."""
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "datasets.md").read_text("utf-8")
    told = re.search(r"^\[published\].*?(?=^\[\[layouts)", guide, re.DOTALL | re.MULTILINE)[0]
    gold = own / "test.csv"
    gold.write_text("id,label\n1,ja\n2,nein\n", "utf-8")
    monkeypatch.setenv("COVMIS_DATA_HOME", str(own))
    words = ("evaluate", "score", gold, gold, "--measures", "macro_f1")
    assert "published" not in covmis(*words)
    mine = OWN.replace("[[layouts]]", told.replace("39d5…", storage.sha256_of(gold)) + "[[layouts]]", 1)
    (own / "ours.toml").write_text(mine, "utf-8")
    said = "Published for the test part (Doe 2024, table 3): their BERT 0.71 (macro_f1)."
    assert covmis(*words)["published"] == said
    (own / "ours.toml").write_text(mine.replace("macro_f1", "makro_f1"), "utf-8")
    assert "no measure is called 'makro_f1' (of their BERT)" in covmis(*words, code=2)["error"]


def test_every_published_score_is_of_a_measure_that_covmis_has() -> None:
    names = {
        measure
        for corpus in datasets.known().values()
        if corpus.published
        for _, measure, _ in corpus.published.scores
    }
    assert names
    assert names <= set(measures)
