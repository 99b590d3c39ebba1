"""Machine code: kept where only we can write, loaded without the compiler, compiled once and with one line."""

import ast
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numba
import pytest

from covmis_build.text import bags, compiled, folding
from covmis_build.text.compiled import Routine

TEXT = Path(compiled.__file__).parent
FOLDER = "from covmis_build.text.compiled import folder; print(folder())"
GROUPS = "from covmis_build.text.near_duplicates import near_duplicate_groups as groups; print(len(groups(['ab', 'ba'])))"


def python(code, **environment):
    """What a new process prints, and says beside it."""
    given = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"} | environment
    done = subprocess.run([sys.executable, "-c", code], env=given, capture_output=True, text=True, check=True)
    return done.stdout.strip(), done.stderr


def folder_in(place) -> str:
    return python(FOLDER, NUMBA_CACHE_DIR=str(place))[0]


def test_a_folder_of_our_own_is_used(tmp_path):
    (tmp_path / "mine").mkdir(mode=0o700)
    assert Path(folder_in(tmp_path / "mine")).parent == tmp_path / "mine"


def test_a_folder_that_others_write_to_is_not(tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o777)
    assert folder_in(tmp_path / "shared") == "None"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_a_file_of_somebody_elses_is_not(tmp_path):
    stranger = Path(folder_in(tmp_path)) / "covmis_build.text.bags._distinct.0"
    stranger.write_bytes(b"code")
    os.chown(stranger, 12345, 12345)
    assert folder_in(tmp_path) == "None"


@pytest.mark.skipif(sys.platform in {"win32", "darwin"}, reason="their customs are others")
def test_it_is_in_the_cache_folder_of_the_user(tmp_path):
    place, _ = python(FOLDER, XDG_CACHE_HOME=str(tmp_path))
    assert Path(place).parent == tmp_path / "covmis"
    assert Path(place).stat().st_mode & 0o077 == 0


def test_without_a_folder_everything_works(monkeypatch):
    monkeypatch.setattr(compiled, "folder", lambda: None)
    compiled.everything()
    assert Routine(lambda number: number + 1)(2) == 3


def test_another_version_has_another_folder(monkeypatch):
    now = compiled.folder()
    monkeypatch.setattr(numba, "__version__", "0.0")
    other = compiled.folder.__wrapped__()
    assert now.parent == other.parent
    assert now != other
    other.rmdir()


def test_all_files_with_routines_decide_the_folder():
    ours = {path.stem for path in TEXT.glob("*.py") if "\n@njit" in path.read_text()}
    assert ours == set(compiled.SOURCES) - {"compiled", "folding", "tokens"}
    outside = [
        path
        for path in TEXT.parent.rglob("*.py")
        if path.parent != TEXT and "import njit" in path.read_text()
    ]
    assert outside == []


def test_everything_is_said_once_and_done_once(monkeypatch, tmp_path, caplog):
    used = []
    monkeypatch.setattr(compiled, "folder", lambda: tmp_path)
    monkeypatch.setattr("covmis_build.text.every_routine.use", lambda: used.append("all"))
    compiled.everything()
    compiled.everything()
    assert used == ["all"]
    assert [record.message for record in caplog.records] == [compiled.ONCE]


def test_old_versions_are_forgotten(monkeypatch, tmp_path):
    folders = [tmp_path / f"{number:016x}" for number in range(6)]
    for number, place in enumerate([*folders, tmp_path / "another_projects"]):
        place.mkdir()
        (place / compiled.COMPLETE).touch()
        os.utime(place / compiled.COMPLETE, (number, number))
    (folders[5] / compiled.COMPLETE).unlink()
    monkeypatch.setattr(compiled, "folder", lambda: folders[5])
    monkeypatch.setattr("covmis_build.text.every_routine.use", lambda: None)
    compiled.everything()
    assert {path.name for path in tmp_path.iterdir()} == {
        *(place.name for place in folders[2:]),
        "another_projects",
    }


TYPES = """
import importlib
import numpy as np
import pyarrow as pa
from covmis_build.text import bags, compiled, every_routine, near_duplicates, scan
every_routine.use()
texts = ["wash your hands", "", None, "Wash your hands ΑΣ", "i̇İ", "a" * 3000]
offsets = pa.py_buffer((0).to_bytes(8, "little") + (4).to_bytes(8, "little"))
unchangeable = pa.LargeStringArray.from_buffers(1, offsets, pa.py_buffer(b"wash"))
for given in (texts, [], unchangeable, pa.array(texts), pa.chunked_array([texts, texts]), ["only one"], ["\\ud800 half"]):
    near_duplicates.near_duplicate_groups(given)
    near_duplicates.near_duplicate_pairs(given)
bags.words_of(pa.chunked_array([["wash your hands"]]))
scan.Sought.of({}, links=True).load()
several = scan.Owned(pa.array(["a", "", "b"] * 9).slice(2), np.arange(25))
scan.Sought.of({"wash": {1: ["wash"]}}, links=True).look(several.texts, several, [several])
modules = [importlib.import_module(f"covmis_build.text.{name}") for name in compiled.SOURCES]
routines = [each for module in modules for each in vars(module).values() if isinstance(each, compiled.Routine)]
print({each.__name__: len(each.dispatcher.signatures) for each in routines if not each.helper})
"""


def test_each_routine_is_compiled_for_one_list_of_types():
    """For what `every_routine` gives it, and for all else that it meets: so nothing is left to compile later."""
    signatures = ast.literal_eval(python(TYPES)[0])
    assert len(signatures) > 20
    assert [name for name, count in signatures.items() if count != 1] in ([], ["_fill"])  # its table is kept


def test_tables_are_read_as_they_were_made_and_made_again_where_damaged():
    for made, read, name in (
        (folding._build_table(), folding.folding.__wrapped__()._asdict(), "folding"),
        (
            bags._build_tables(),
            {rule: bags.letters.__wrapped__(rule) for rule in ("scikit-learn", "unicode")},
            "letters",
        ),
    ):
        assert {key: table.tolist() for key, table in made.items()} == {
            key: table.tolist() for key, table in read.items()
        }
        file = compiled.folder() / f"{name}.npz"
        whole = file.read_bytes()
        file.write_bytes(whole[:1000])
        assert compiled.kept(name, lambda made=made: made) is made
        assert file.stat().st_size == len(whole)


def test_kept_machine_code_is_loaded_without_the_compiler():
    compiled.everything()
    printed, said = python(GROUPS + "; import sys; print('numba.np.linalg' in sys.modules)", **os.environ)
    assert (printed, said) == ("2\nFalse", "")


def test_the_first_routine_compiles_all_and_says_one_line(tmp_path):
    """Also in two processes at the same time, which fill one folder."""
    with ThreadPoolExecutor(2) as two:
        runs = [two.submit(python, GROUPS, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2)]
    assert {run.result()[0] for run in runs} == {"2"}
    assert f"{compiled.ONCE}\n" in {run.result()[1] for run in runs} <= {f"{compiled.ONCE}\n", ""}
    assert python(GROUPS, NUMBA_CACHE_DIR=str(tmp_path)) == ("2", "")


def test_importing_routines_loads_no_numba():
    modules = ", ".join(f"covmis_build.text.{name}" for name in compiled.SOURCES)
    assert python(f"import sys, {modules}; print('numba' in sys.modules)") == ("False", "")
