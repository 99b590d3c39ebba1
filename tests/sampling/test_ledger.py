"""The ledger of draws in a study: written when a round opens, also for draws that add nothing, and sealed with it."""

import json

import pytest

from covmis_build import storage
from covmis_build.annotation.seal import _contents, seal, verify
from covmis_build.errors import InputError
from covmis_build.sampling.ledger import read_ledger
from tests.sampling.test_strata import with_settings
from tests.small_study import small_study


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = small_study(tmp_path_factory.mktemp("ledger"), posts=1500).places.folder
    study = with_settings(folder, per_claim=4, per_kind=1)
    study.run()
    return study


def test_every_opened_draw_is_written_and_sealed(study):
    first = study.open_round(2)
    ledger = read_ledger(study.places.rounds)
    assert set(ledger["claim_id"]) == set(first.items["claim_id"])
    assert set(ledger["round"]) == {"001"}
    study.open_round(100)  # all others
    with pytest.raises(InputError, match="all sampled claims are in rounds already"):
        study.open_round()
    ledger = read_ledger(study.places.rounds)
    claims = set(study.items["claim_id"])
    assert set(ledger["claim_id"]) == claims
    assert set(ledger["draw"]) == {"1"}

    study = with_settings(study.places.folder, per_claim=5)
    study.run()
    waiting = set(study.sample["item_id"]) - {item for one in study.rounds for item in one.items["item_id"]}
    silent = claims - {item.split("|")[0] for item in waiting}
    assert silent  # some claims get nothing new from a fifth post
    if waiting:
        study.open_round(100)
    else:
        with pytest.raises(InputError, match="all sampled claims are in rounds already"):
            study.open_round()
    ledger = read_ledger(study.places.rounds)
    second = ledger[ledger["draw"] == "2"]
    assert set(second["round"]) == {"003"}
    raised = {claim for claim, rows in second.groupby("claim_id") if (rows["rule"] == "kept").any()}
    assert silent & raised

    folder = first.folder
    sealed = seal(_contents(folder), previous="", number="001")
    assert verify(sealed, _contents(folder), previous={""}, number="001").stands
    storage.write_table(
        study.places.rounds / "draws.parquet", ledger.assign(probability=ledger["probability"] / 2), "draws"
    )
    assert verify(sealed, _contents(folder), previous={""}, number="001").changed == ("draws",)
    assert json.dumps(sealed)
