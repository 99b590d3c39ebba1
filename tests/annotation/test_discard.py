"""A round is taken back as if it had never been opened; people's work in it is never lost, and a purge still reaches it."""

from __future__ import annotations

import shutil

import pytest

from covmis_build import storage
from covmis_build.errors import InputError
from covmis_build.study.study import open_study
from tests.annotation.small import covmis, fill, label_both, pushed, sealed, study
from tests.forgettable import AUTHOR, SECRET, everything, forgettable
from tests.small_study import small_study


def files(folder):
    kept = {
        name: text for name, text in everything(folder).items() if not name.endswith((".lock", ".files.json"))
    }
    return {
        name: text for name, text in kept.items() if "guideline" not in name or "annotation/rounds" in name
    }


def items_of(folder, number):
    frozen = open_study(folder).round(number).items
    return frozen[["item_id", "p_sample", "p_claim", "audited"]].to_dict("list")


def test_a_round_taken_back_leaves_nothing(tmp_path):
    folder = study(tmp_path / "study")
    before = files(folder)
    covmis(folder, "round", "open")
    covmis(folder, "round", "push", "--channel", "csv")
    told = covmis(folder, "round", "discard", "1")
    assert (told["round"], told["kept_in"]) == ("001", "")
    assert files(folder) == before
    assert "no round is open" in covmis(folder, "round", "discard", "1", fails=2)["error"]


@pytest.mark.parametrize("run_between", [False, True])
def test_the_next_draw_is_as_if_it_had_never_been_opened(tmp_path, run_between):
    """Two claims' draws are opened; the tables may have been built again with the second round."""
    folder = small_study(tmp_path / "study", 1500).places.folder
    covmis(folder, "run")
    covmis(folder, "round", "open", "--claims", "2")
    ledger = storage.read_table(folder / "annotation/rounds/draws.parquet", "draws")
    shutil.copytree(folder, twin := tmp_path / "twin")
    covmis(folder, "round", "open", "--claims", "2")
    if run_between:
        covmis(folder, "run")
    assert covmis(folder, "round", "discard", "2")["to_run"] is run_between
    assert storage.read_table(folder / "annotation/rounds/draws.parquet", "draws").equals(ledger)
    for each in (folder, twin):
        if run_between:
            covmis(each, "run")
        covmis(each, "round", "open", "--claims", "2")
    assert items_of(folder, "002") == items_of(twin, "002")
    draws = [storage.read_table(each / "annotation/rounds/draws.parquet", "draws") for each in (folder, twin)]
    assert draws[0].equals(draws[1])


def test_only_the_last_round_can_be_taken_back(tmp_path):
    sealed(tmp_path)
    covmis(tmp_path, "round", "open")
    refused = covmis(tmp_path, "round", "discard", "1", fails=2)["error"]
    assert "round 002 was opened after round 001" in refused
    assert covmis(tmp_path, "round", "discard", "2")["round"] == "002"
    assert "has a seal and 22 labels" in covmis(tmp_path, "round", "discard", "1", fails=2)["error"]


def test_answers_that_nobody_has_pulled_are_not_lost(tmp_path):
    pushed(tmp_path)
    sheet = tmp_path / "annotation/rounds/001/sheets/a1.csv"
    fill(sheet, lambda row: "favor" if row["item_id"].endswith("3") else "")
    assert "has answers in a1.csv" in covmis(tmp_path, "round", "discard", "1", fails=2)["error"]
    assert sheet.exists()


def test_a_round_with_labels_is_kept_where_only_a_purge_reads(tmp_path):
    folder = forgettable(tmp_path, AUTHOR.rpartition(":")[2])
    study = open_study(folder)
    study.open_round()
    study.round().push()
    label_both(folder)
    study.round().pull()
    study.round().report()
    labels = study.round().labels
    with pytest.raises(InputError, match="has 22 labels"):
        study.round().discard()
    told = study.round().discard(archive=True)
    assert told.kept_in == "annotation/discarded/1"
    kept = folder / told.kept_in / "rounds"
    assert storage.read_table(kept / "001/labels.parquet", "labels").equals(labels)
    assert study.rounds == []
    assert not list(study.places.rounds.glob("summary.*"))
    assert SECRET in str(storage.read_table(kept / "001/items.parquet", "frozen")["text"].tolist())
    study.open_round()
    assert study.round().number == "001"
    open_study(folder).purge(authors=[AUTHOR]).check()
    assert [name for name, text in everything(folder).items() if SECRET in text] == []
    study.round().discard(archive=True)
    assert (folder / "annotation/discarded/2/rounds/001/items.parquet").exists()


def test_hidden_checks_and_training_rounds_go_with_their_kind(tmp_path):
    sealed(tmp_path)
    study = open_study(tmp_path).change(annotation={"checks": 0.2})
    study.open_round()
    study.open_round(training=True, items=4)
    assert (tmp_path / "annotation/checks/c002/items.parquet").exists()
    assert "goes with round 002" in covmis(tmp_path, "round", "discard", "c2", fails=2)["error"]
    study.discard_round(2)
    study.discard_round("t1")
    assert not list(tmp_path.glob("annotation/*/*2/*"))
    assert not list(tmp_path.glob("annotation/training/t001/*"))
