"""What each stage makes of the small study is pinned: a change must be meant, and raise the stage's version.

`python -m tests.test_golden` writes golden.json anew; it refuses a changed stage whose version did not rise.
"""

import hashlib
import json
import sys
import tempfile
from pathlib import Path

import pyarrow.parquet as pq

from covmis_build.building.run import run
from covmis_build.building.stages import STAGES
from tests.small_study import small_study

OF_FILES = {"parts", "older_copies"}
"""They name parts of the store, by the bytes of the archive's files, which depend on how these were packed."""
GOLDEN = Path(__file__).parent / "golden.json"


def rows_hash(path):
    """A hash of the rows as values, which does not depend on how Parquet packs them."""
    hasher = hashlib.sha256()
    for row in pq.read_table(path).to_pylist():
        hasher.update(json.dumps(row, sort_keys=True, ensure_ascii=True).encode())
    return hasher.hexdigest()[:16]


def present(folder):
    study = small_study(folder)
    run(study.places, study.settings, workers=1)
    return {
        stage.name: {
            "version": stage.version,
            "tables": {
                table: rows_hash(study.places.table(table)) for table in stage.makes if table not in OF_FILES
            },
        }
        for stage in STAGES
    }


def test_output_changes_only_with_the_version(tmp_path):
    golden = json.loads(GOLDEN.read_text())
    changed = {
        name: "raise its version in stages.py, then run `python -m tests.test_golden`"
        for name, made in present(tmp_path).items()
        if made != golden.get(name)
    }
    assert changed == {}


def renew():
    golden = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        made = present(Path(folder))
    forgotten = [
        name
        for name, stage in made.items()
        if name in golden
        and stage["tables"] != golden[name]["tables"]
        and stage["version"] <= golden[name]["version"]
    ]
    # A stage whose input changed may change with it: only the first one that differs has to be raised.
    if forgotten and not any(
        made[name]["version"] > golden[name]["version"] for name in made if name in golden
    ):
        sys.exit(f"raise the version of {forgotten[0]} in stages.py first")
    GOLDEN.write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    renew()
