"""Damaged and foreign files and answers, by seeded mutation of whole ones: each ends in an answer or in one named line.

`COVMIS_FUZZ=10000 pytest tests/fuzz` (that is `make fuzz`) tries so many in all; by default it is a thousand.
"""

from __future__ import annotations

import os
import resource
import shutil
import zipfile

import pytest

from covmis_build.corpus.bundle import read_bundle
from covmis_build.errors import CovmisError
from tests.fuzz.targets import TARGETS

IN_ALL = int(os.environ.get("COVMIS_FUZZ", "1000"))
MOST_MEMORY = 1 << 20
"""Kilobytes that a process may need at most, with all that it has loaded."""
NEEDS_CLIENTS = [
    name for name in TARGETS if name.split(",")[0] in {"x", "bluesky", "mastodon", "label studio"}
]


def tried(name, tmp_path):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for seed in range(-(-IN_ALL // len(TARGETS))):
        folder = tmp_path / str(seed)
        folder.mkdir()
        TARGETS[name](seed, folder)
        shutil.rmtree(folder)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after < MOST_MEMORY or after - before < MOST_MEMORY // 4, "beside what earlier tests had needed"


@pytest.mark.timeout(0 if IN_ALL > 1000 else 300)
@pytest.mark.parametrize("name", [name for name in TARGETS if name not in NEEDS_CLIENTS])
def test_damage_is_one_line(tmp_path, name):
    tried(name, tmp_path)


@pytest.mark.timeout(0 if IN_ALL > 1000 else 300)
@pytest.mark.needs("clients", "label_studio_sdk")
@pytest.mark.parametrize("name", NEEDS_CLIENTS)
def test_damaged_answers_end_in_a_sentence(tmp_path, name):
    tried(name, tmp_path)


def test_a_bundle_that_would_fill_memory_is_refused(tmp_path):
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", b"\0" * (40 << 20))
    with pytest.raises(CovmisError, match="unpacks to more"):
        read_bundle(path)
