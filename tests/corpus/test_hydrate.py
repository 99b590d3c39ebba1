from __future__ import annotations

import pandas as pd
import pytest
from typer.testing import CliRunner

from covmis_build.cli import app
from covmis_build.corpus.convert import write_corpus
from covmis_build.corpus.hydrate import hydrate, write_gone
from covmis_build.corpus.release import make_corpus
from covmis_build.errors import CheckFailed
from covmis_build.options import Release
from covmis_build.study.hydrate import hydrate as bring_back
from covmis_build.study.study import new_study, open_study


def test_texts_come_back_and_what_was_deleted_does_not(gold_and_frozen, tmp_path) -> None:
    gold, frozen = gold_and_frozen
    corpus = make_corpus(gold, frozen, Release())
    posts = frozen[["post_id", "text"]].assign(availability="available")
    posts.loc[1, "availability"] = "deleted"
    posts.loc[2, "text"] = ""
    posts = posts.drop(index=3)
    found = hydrate(corpus, posts, mask=True)
    whole = make_corpus(gold, frozen, Release(text=True)).set_index("item_id")["text"]
    made = found.corpus.set_index("item_id")["text"]
    gone = set(frozen.loc[[1, 2, 3], "item_id"])
    assert set(made.index[made.isna()]) == gone
    assert made.drop(list(gone)).to_dict() == whole.drop(list(gone)).to_dict()
    assert found.reasons == {"deleted": 1, "not in the archive": 2}
    write_gone(tmp_path / "gone.csv", found.gone)
    assert len(pd.read_csv(tmp_path / "gone.csv")) == 3


def test_names_stay_only_on_request(gold_and_frozen) -> None:
    gold, frozen = gold_and_frozen
    corpus = make_corpus(gold, frozen, Release())
    posts = frozen[["post_id", "text"]].assign(availability="")
    assert hydrate(corpus, posts, mask=False).corpus["text"].str.contains("@ann").any()
    assert not hydrate(corpus, posts, mask=True).corpus["text"].str.contains("@ann").any()


def test_posts_in_files_that_cannot_be_read_are_not_called_gone_in_silence(tmp_path) -> None:
    """The study says how its archive is read; without it the file is named, and the command fails."""
    archive, ids = tmp_path / "posts", tmp_path / "ids.csv"
    archive.mkdir()
    (archive / "a.csv").write_text("ID;Wann;Text\n1252934402983700001;22.04.2020 10:00;words\n")
    ids.write_text("tweet_id\n1252934402983700001\n")
    without = bring_back(ids, [archive], into=tmp_path / "without")
    assert (without.found, without.gone) == (0, 1)
    with pytest.raises(CheckFailed, match=r"posts/a\.csv: which platform are ids such as"):
        without.check()
    folder = new_study(tmp_path / "study").places.folder
    with (folder / "study.toml").open("a") as file:
        file.write('\n[[retrieval.columns]]\nfiles = "a.csv"\nplatform = "x"\nid = "ID"\ntext = "Text"\n')
    whole = bring_back(ids, [archive], into=tmp_path / "with", study=open_study(folder))
    whole.check()
    assert (whole.found, whole.gone) == (1, 0)


def test_the_study_in_this_folder_and_the_settings_of_the_release_say_how_files_are_read(
    tmp_path, gold_and_frozen, monkeypatch
) -> None:
    """As a card's recipe does it: a new study, the corpus of others, a file. The study's purge list holds, too."""
    gold, frozen = gold_and_frozen
    corpus = make_corpus(gold, frozen, Release())
    write_corpus(tmp_path / "corpus.csv", corpus, text=False)
    posts = frozen.assign(ID=frozen["post_id"].str.removeprefix("x:"), Text=frozen["text"])
    posts[["ID", "Text"]].drop_duplicates("ID").to_csv(tmp_path / "a.csv", sep=";", index=False)
    columns = '{ files = "a.csv", platform = "x", id = "ID", text = "Text" }'
    (tmp_path / "settings.toml").write_text(
        f"title = 'T'\n[retrieval]\narchive = []\ncolumns = [{columns}]\n"
    )
    new_study(tmp_path / "study")
    gone = corpus["post_id"].iloc[0]
    (tmp_path / "study/queries/purge.csv").write_text(f"post_id\n{gone}\n")
    monkeypatch.chdir(tmp_path / "study")
    found = CliRunner().invoke(app, ["hydrate", "../corpus.csv", "--archive", "../a.csv", "--into", "texts"])
    assert found.exit_code == 0, found.output
    kept = int((corpus["post_id"] != gone).sum())
    assert f"{kept} of {len(corpus)} posts have their text again" in found.output
