"""COVMis-Stance built again, with made-up posts for the ids of a published corpus in small."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from covmis_build import storage
from covmis_build.cli import app
from covmis_build.errors import InputError
from covmis_build.study.study import rebuild_published
from tests.claims.published import FIRST, KINDS, published


@pytest.fixture
def files(tmp_path):
    published(tmp_path / "published")
    return tmp_path / "published"


def post(mid, at, text="", lang="en"):
    words = " ".join(
        f"{word}{mid}{at}"
        for word in ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"]
    )
    linked = {"news_url": f"https://news.org/{mid}", "fact_check_url": f"https://check.org/{mid}"}.get(
        KINDS[at % 4], ""
    )
    return {
        "id_str": str(FIRST + 100 * int(mid) + at), "created_at": "Wed Apr 22 12:00:00 +0000 2020", "lang": lang,
        "full_text": text or f"rumour{mid} told {words}", "entities": {"urls": [{"expanded_url": linked}] if linked else []},
    }  # fmt: skip


def test_from_published_ids_to_a_sample_beside_the_published_one(tmp_path, files):
    made = rebuild_published(tmp_path / "mine", "covmis-stance", files)
    assert made.study.settings.cleaning.scope == "study"  # one label for a post, as in the paper
    assert made.to_dict() | {"folder": ""} == {
        "folder": "", "title": "COVMis-Stance, built again", "claims": 2, "published": 64, "title_posts": 0,
    }  # fmt: skip
    posts = [post(mid, at) for mid in ("13", "17") for at in range(32) if (mid, at) != ("17", 31)]
    posts[1] = post("13", 1, lang="es")
    posts[2] = post("13", 2, text="too short")
    lines = "".join(json.dumps(row) + "\n" for row in posts)
    (tmp_path / "mine/data/archive/looked-up.jsonl").write_text(lines)
    study = made.study
    study.run()
    beside = study.beside_published(files)
    table = beside.to_frame().set_index(["claim_id", "kind"])
    assert table["published"].tolist() == [8] * 8
    assert table.loc[("17", "keywords"), "published_posts"].count("without a post in the archive") == 1
    told = " ".join(table.loc["13", "published_posts"])
    assert "1 dropped at language" in told
    assert "1 dropped at words" in told
    assert 20 <= table["sampled"].sum() <= 64
    assert (table["sampled"] <= table["cleaned"]).all()
    totals = beside.totals.set_index("figure")
    assert totals.loc["posts", ["published", "here"]].tolist() == [64, table["sampled"].sum()]
    assert totals.loc["kappa", "published"] == 0.67
    assert sum(beside.reasons.values()) == 64


def test_interrupted_before_the_ids_were_there_it_is_made_again(tmp_path, files, monkeypatch):
    write = storage.write_bytes

    def full(path, data):
        if path.name == "given-posts.csv":
            raise InputError("cannot write: No space left on device", file=path)
        write(path, data)

    with monkeypatch.context() as patch:
        patch.setattr(storage, "write_bytes", full)
        with pytest.raises(InputError, match="No space left"):
            rebuild_published(tmp_path / "mine", "covmis-stance", files)
    study = rebuild_published(tmp_path / "mine", "covmis-stance", files).study
    assert (study.places.archives[0] / "given-posts.csv").read_text("utf-8-sig").count("x:") == 64


def test_only_what_is_known_is_built_again(tmp_path, files):
    with pytest.raises(InputError, match=r"no recipe is called 'covmis'\. Allowed: covmis-stance"):
        rebuild_published(tmp_path / "a", "covmis", files)
    with pytest.raises(InputError, match=r"--files DIR"):
        rebuild_published(tmp_path / "a", "covmis-stance", None)
    path = files / "covmis_stance.csv"
    path.write_text(path.read_text("utf-8-sig").replace("title,13", "titel,13", 1))
    with pytest.raises(InputError, match=r"row 2: the source 'titel' is none of the four kinds"):
        rebuild_published(tmp_path / "b", "covmis-stance", files)
    assert not (tmp_path / "b").exists()


def test_the_published_corpus_itself(tmp_path, data_home):
    made = rebuild_published(
        tmp_path / "mine", "covmis-stance", data_home / "covmis", releases=data_home / "coaid"
    )
    assert (made.claims, made.published) == (111, 2631)
    assert made.title_posts > 1000
    made.study.run(["queries"])
    assert set(made.study.queries["kind"]) == set(KINDS)


def test_a_rebuilt_study_has_the_labels_of_its_paper(tmp_path, files):
    words = [
        "new",
        str(tmp_path / "mine"),
        "--from",
        "covmis-stance",
        "--files",
        str(files),
        "--labels",
        "a,b",
    ]
    result = CliRunner().invoke(app, words)
    assert isinstance(result.exception, InputError)
    assert "--labels is for a study of your own" in str(result.exception)
    assert not (tmp_path / "mine").exists()
