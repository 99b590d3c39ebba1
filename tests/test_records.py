"""A column of items is one line of records.py: every table that should have it has it, and older studies stay as they are."""

from __future__ import annotations

import subprocess
import sys
import zipfile

import pytest

from covmis_build import records, tables
from tests.conftest import ROOT

COLUMN = """
from typing import Annotated
from covmis_build import records
records.Item.__annotations__["n_claims"] = Annotated[int, records.In(("items", "corpus")), records.Since("9.9"), "claims"]
"""
"""As if the record had one line more; cleaning counts this for every pair, under this name."""

NEW_STUDY = (
    COLUMN
    + """
import sys
from pathlib import Path
import pandas as pd
from tests.small_study import small_study
from covmis_build.annotation.frozen_items import write_items

study = small_study(Path(sys.argv[1]))
study.run(workers=1)
items = study.items
several = items[items["other_claims"].map(len) > 0]
assert (items["n_claims"] >= 1).all() and (several["n_claims"] == 1 + several["other_claims"].map(len)).all()
assert "n_claims" not in study.sample
study.open_round(pilot=False, claims=1).push(channel="csv")
frozen = study.round().items
assert frozen["n_claims"].notna().all()
for sheet in study.round().folder.sheets.glob("*.csv"):
    pd.read_csv(sheet, dtype=str).assign(label="favor").to_csv(sheet, index=False)
study.round().pull()
study.round().seal()
assert [check.stands for check in study.verify_rounds().rounds] == [True]
study.release()
assert "n_claims" in pd.read_csv(study.places.folder / "data/release/corpus.csv")
write_items(study.round().folder.folder, frozen.assign(n_claims=7))
assert [check.changed for check in study.verify_rounds().rounds] == [("items",)]
"""
)

OLD_STUDY = (
    COLUMN
    + """
import sys
import covmis_build as covmis

study = covmis.open_study(sys.argv[1])
assert [check.stands for check in study.verify_rounds().rounds] == [True, True]
assert study.round().items["n_claims"].isna().all()
study.run(workers=1)
assert study.items["n_claims"].notna().any()
study.release()
assert [check.stands for check in study.verify_rounds().rounds] == [True, True]
"""
)


def in_python(script, folder):
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_a_column_more_is_in_every_table_that_follows(tmp_path):
    in_python(NEW_STUDY, tmp_path)


def test_a_study_of_an_earlier_version_opens_verifies_and_runs_with_it(tmp_path):
    with zipfile.ZipFile(ROOT / "tests/carried_over/study-0.1.0.zip") as packed:
        packed.extractall(tmp_path / "study")
    in_python(OLD_STUDY, tmp_path / "study")


@pytest.mark.parametrize("name", records.TABLES)
def test_every_column_has_a_sentence_and_keys_are_columns(name):
    table = records.TABLES[name]
    columns = {column.name: column for column in table.columns}
    assert all(column.about.strip() == column.about != "" for column in columns.values())
    assert set(table.key) <= columns.keys()
    assert set(table.last) <= columns.keys()
    assert tables.SCHEMAS[name].names == list(columns)


def test_what_is_sampled_or_an_item_is_frozen():
    frozen = set(tables.SCHEMAS["frozen"].names)
    assert {*tables.SCHEMAS["items"].names, *tables.SCHEMAS["sample"].names} <= frozen
