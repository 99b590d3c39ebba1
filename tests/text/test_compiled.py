"""Machine code that somebody else may have put into a cache is not loaded."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from covmis_build.text import bags

KERNEL = """
from covmis_build.text.compiled import NullCache
from covmis_build.text.edits import _distance
print(isinstance(_distance._cache, NullCache))
"""


def kernel_is_kept_out(folder) -> bool:
    done = subprocess.run(
        [sys.executable, "-c", KERNEL], env=os.environ | {"NUMBA_CACHE_DIR": str(folder)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip() == "True"


def test_a_folder_of_our_own_is_used(tmp_path):
    (tmp_path / "mine").mkdir(mode=0o700)
    assert not kernel_is_kept_out(tmp_path / "mine")


def test_a_folder_that_others_write_to_is_not(tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o777)
    assert kernel_is_kept_out(tmp_path / "shared")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_a_file_of_somebody_elses_is_not(tmp_path):
    kernel_is_kept_out(tmp_path)
    (folder,) = [path for path in tmp_path.iterdir() if path.is_dir()]
    stranger = folder / "edits.other.nbc"
    stranger.write_bytes(b"code")
    os.chown(stranger, 12345, 12345)
    assert kernel_is_kept_out(tmp_path)


def test_without_a_folder_that_is_ours_nothing_was_compiled_before(monkeypatch):
    monkeypatch.setattr(bags, "_tokenise", SimpleNamespace(stats=SimpleNamespace(cache_path=None)))
    assert bags.compiled() is False
