"""Damaged and foreign files and answers, by seeded mutation of whole ones: each ends in an answer or in one named line.

`COVMIS_FUZZ=10000 pytest tests/fuzz` (that is `make fuzz`) tries so many in all; by default it is five hundred.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from covmis_build.corpus.bundle import read_bundle
from covmis_build.errors import CovmisError
from tests.fuzz.targets import FILES, TARGETS, told

IN_ALL = int(os.environ.get("COVMIS_FUZZ", "500"))
MOST_MEMORY = 1 << 20
"""Kilobytes that a process may need at most, with all that it has loaded."""
NEEDS_CLIENTS = [
    name for name in TARGETS if name.split(",")[0] in {"x", "bluesky", "mastodon", "label studio"}
]


def most_memory():
    """Kilobytes that this process has needed at most; macOS counts bytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most // 1024 if sys.platform == "darwin" else most


def tried(name, tmp_path):
    before = most_memory()
    for seed in range(-(-IN_ALL // len(TARGETS))):
        folder = tmp_path / str(seed)
        folder.mkdir()
        TARGETS[name](seed, folder)
        shutil.rmtree(folder)
    after = most_memory()
    assert after < MOST_MEMORY or after - before < MOST_MEMORY // 4, "beside what earlier tests had needed"


@pytest.mark.timeout(0 if IN_ALL > 1000 else 900)
@pytest.mark.parametrize("name", [name for name in TARGETS if name not in NEEDS_CLIENTS])
def test_damage_is_one_line(tmp_path, name):
    tried(name, tmp_path)


@pytest.mark.timeout(0 if IN_ALL > 1000 else 900)
@pytest.mark.needs("clients", "label_studio_sdk")
@pytest.mark.parametrize("name", NEEDS_CLIENTS)
def test_damaged_answers_end_in_a_sentence(tmp_path, name):
    tried(name, tmp_path)


FOUND = sorted((Path(__file__).parent / "found").iterdir())
"""What the guided fuzzer has found and is mended: `<target>.<number>`."""


@pytest.mark.parametrize("found", FOUND, ids=[path.name for path in FOUND])
def test_what_was_found_once(tmp_path, found):
    file = next(
        file for name, file in FILES.items() if re.sub(r"[^\w.]+", "-", name) == found.name.rpartition(".")[0]
    )
    (tmp_path / file.name).write_bytes(found.read_bytes())
    told(file.act, tmp_path / file.name)


def test_a_bundle_that_would_fill_memory_is_refused(tmp_path):
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", b"\0" * (80 << 20))
    with pytest.raises(CovmisError, match="unpacks to more"):
        read_bundle(path)
