"""Those who take a release's metadata, each run in an environment of its own on a folder."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.services import croissant, metadata

READ = """
import sys, mlcroissant
found = mlcroissant.Dataset(jsonld=sys.argv[1])
assert not found.metadata.issues.errors and not found.metadata.issues.warnings, found.metadata.issues.report()
print(*(len(list(found.records(name.id))) for name in found.metadata.record_sets))
"""
LOAD = """
import sys, datasets
parts = datasets.load_dataset(sys.argv[1], cache_dir=sys.argv[2])
print("parts", *(f"{name}={len(rows)}" for name, rows in sorted(parts.items())))
found = datasets.concatenate_datasets(list(parts.values()))
print(len(found), len(found.features), type(found.features["label"]).__name__, *found.features["label"].names)
print(*sorted(found.features["label"].int2str(one) for one in found["label"]))
if len(sys.argv) > 3:
    print(len(datasets.load_dataset(sys.argv[1], "annotations", split="train", cache_dir=sys.argv[2])))
"""


def run(*words: object, **more: object) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def croissant_told(folder: Path) -> str:
    """What Croissant's own checker says of croissant.json: no error, perhaps warnings."""
    told = run(croissant.environment.bin / "mlcroissant", "validate", "--jsonld", folder / "croissant.json")
    assert "rror" not in told
    return told


def croissant_records(folder: Path) -> list[int]:
    """The checker has not even a warning; how many records each record set has."""
    assert "WARNING" not in croissant_told(folder)
    tables = len(json.loads((folder / "croissant.json").read_text("utf-8"))["recordSet"])
    told = run(croissant.environment.python, "-c", READ, folder / "croissant.json").split()
    return [int(word) for word in told[-tables:]]


def hugging_face(folder: Path, cache: Path, *, annotated: bool) -> list[str]:
    """What Hugging Face's loader makes of the folder for the hub, in lines."""
    quiet = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(cache), "PATH": "/usr/bin:/bin"}
    words = [folder / "huggingface", cache, *(["annotations"] if annotated else [])]
    return run(croissant.environment.python, "-c", LOAD, *words, env=quiet).splitlines()


def frictionless(folder: Path) -> list[int]:
    """Frictionless finds nothing wrong; the rows of each table."""
    told = run(
        metadata.environment.bin / "frictionless", "validate", "datapackage.json", "--json", cwd=folder
    )
    report: dict[str, Any] = json.loads(told)
    assert report["valid"], report
    return [task["stats"]["rows"] for task in report["tasks"]]


def cffconvert(folder: Path, scratch: Path) -> None:
    """The citation is valid by the schema of CFF."""
    (scratch / "CITATION.cff").write_bytes((folder / "CITATION.cff").read_bytes())
    assert "valid" in run(metadata.environment.bin / "cffconvert", "--validate", cwd=scratch)


def crate_issues(folder: Path, scratch: Path) -> str:
    """What an RO-Crate validator finds wrong with the crate as a Workflow Run; empty: nothing."""
    check = Path(__file__).with_name("checking_crates.py")
    done = subprocess.run(
        [metadata.environment.python, check, folder], capture_output=True, check=False, cwd=scratch, text=True
    )
    assert bool(done.returncode) == bool(done.stdout.strip()), done.stderr
    return done.stdout.strip()


DATACITE = """
import json, sys, datacite.schema45
datacite.schema45.validator.validate(json.load(open(sys.argv[1])))
"""


def datacite(folder: Path) -> None:
    """datacite.json is valid by DataCite's schema."""
    run(metadata.environment.python, "-c", DATACITE, folder / "datacite.json")
