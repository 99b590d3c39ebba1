"""Whatever happens, a file is whole: the old one or the new one."""

import multiprocessing
import os
import resource
import signal
import stat
import time

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covmis_build import storage, tables
from covmis_build.children import in_child
from covmis_build.errors import InputError


def test_an_error_leaves_the_old_file_and_no_leftovers(tmp_path):
    target = tmp_path / "corpus.csv"
    storage.write_text(target, "old")
    with pytest.raises(ZeroDivisionError), storage.replacing(target) as beside:
        beside.write_text("half" * (1 // 0))
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.csv"]


def _write_beyond_the_limit(folder):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    try:
        storage.write_bytes(folder / "corpus.csv", b"x" * 100_000)
    except InputError as error:
        os._exit(7 if "cannot write" in str(error) and "previous state is untouched" in str(error) else 8)


def test_a_full_disk_leaves_the_old_file(tmp_path):
    storage.write_text(tmp_path / "corpus.csv", "old")
    child = multiprocessing.get_context("fork").Process(target=_write_beyond_the_limit, args=(tmp_path,))
    child.start()
    child.join()
    assert child.exitcode == 7
    assert (tmp_path / "corpus.csv").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.csv"]


def test_modes_are_kept_and_new_files_follow_the_umask(tmp_path):
    target = tmp_path / "secret"
    storage.write_text(target, "1")
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~storage._umask()
    target.chmod(0o600)
    storage.write_text(target, "2")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_a_private_file_is_its_owners_alone_from_the_first_byte(tmp_path):
    target = tmp_path / "users.json"
    target.write_text("open to all")
    target.chmod(0o644)
    with storage.replacing(target, private=True) as beside:
        assert stat.S_IMODE(beside.stat().st_mode) == 0o600
        assert target.read_text() == "open to all", "the old one stands until the new one is whole"
        beside.write_text("secret")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert target.read_text() == "secret"


@pytest.mark.parametrize(
    "write",
    [
        lambda path: storage.write_text(path, "ours"), lambda path: storage.append_line(path, b"ours"),
        lambda path: storage.append_bytes(path, b"ours"), lambda path: storage.locked(path, "covmis run").__enter__(),
    ],
)  # fmt: skip
def test_no_link_of_a_study_leads_out_of_it(tmp_path, write):
    """A study's folder may be a stranger's, cloned with its links; what they name is the reader's."""
    study, mine = tmp_path / "study", tmp_path / "profile"
    (study / "annotation").mkdir(parents=True)
    (study / "study.toml").touch()
    mine.write_text("mine")
    link = study / "annotation/guideline.md"
    link.symlink_to("../../profile")
    with pytest.raises(InputError, match="leads out of the study's folder"):
        write(link)
    assert mine.read_text() == "mine"
    link.unlink()
    (study / "inside.md").write_text("")
    link.symlink_to("../inside.md")
    storage.write_text(link, "ours")
    assert ((study / "inside.md").read_text(), link.is_symlink()) == ("ours", True)


def test_a_second_holder_is_told_who_is_first(tmp_path):
    with (
        storage.locked(tmp_path / ".lock", "covmis run"),
        pytest.raises(InputError, match=rf"in use by `covmis run` \(process {os.getpid()} on"),
        storage.locked(tmp_path / ".lock", "covmis purge"),
    ):
        pass
    with storage.locked(tmp_path / ".lock", "covmis run"):
        pass


@given(st.text())
def test_cells_come_back_and_never_start_a_formula(cell):
    safe = storage.harmless(cell)
    assert storage.restored(safe) == cell
    assert not safe.startswith(storage.DANGEROUS)


def test_a_broken_table_says_what_to_do(tmp_path):
    (tmp_path / "items.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(InputError, match="covmis run"):
        storage.read_table(tmp_path / "items.parquet", "items")
    assert (
        list(storage.read_table(tmp_path / "none.parquet", "items").columns) == tables.SCHEMAS["items"].names
    )


def _linger(ready):
    ready.put(os.getpid())
    time.sleep(60)


def _hold(lock, ready):
    with storage.locked(lock, "covmis run"):
        multiprocessing.get_context("fork").Process(target=_linger, args=(ready,)).start()
        time.sleep(60)


def test_a_killed_holder_lets_go_even_if_a_process_of_its_lives_on(tmp_path):
    context = multiprocessing.get_context("fork")
    ready = context.SimpleQueue()
    holder = context.Process(target=_hold, args=(tmp_path / ".lock", ready))
    holder.start()
    orphan = ready.get()
    holder.kill()
    holder.join()
    try:
        with storage.locked(tmp_path / ".lock", "covmis run"):
            pass
    finally:
        os.kill(orphan, signal.SIGKILL)


def _wait_in_child(ready):
    in_child(_linger, ready)


def _look_for(process):
    for _ in range(3000):  # it would linger for a minute
        os.kill(process, 0)
        time.sleep(0.01)


def test_a_child_ends_with_its_parent():
    context = multiprocessing.get_context("fork")
    ready = context.SimpleQueue()
    parent = context.Process(target=_wait_in_child, args=(ready,))
    parent.start()
    child = ready.get()
    parent.kill()
    parent.join()
    with pytest.raises(ProcessLookupError):
        _look_for(child)


def test_a_line_that_a_kill_has_torn_does_not_spoil_the_next(tmp_path):
    journal = tmp_path / "journal"
    for at, torn in enumerate((b"", b"hal", b"x" * (3 << 20))):
        with journal.open("ab") as file:
            file.write(torn)
        storage.append_line(journal, f"line {at}".encode())
    assert journal.read_text() == "line 0\nline 1\nline 2\n"


def test_some_rows_of_a_table_are_read_in_their_order(tmp_path):
    gold = tables.empty("gold").assign(item_id=["c", "a", "b"], label="x", how="", round="1")
    storage.write_table(tmp_path / "gold.parquet", gold, "gold")
    rows = storage.read_table(tmp_path / "gold.parquet", "gold", among=("item_id", {"b", "c", "d"}))
    assert rows["item_id"].tolist() == ["c", "b"]
    assert storage.read_table(tmp_path / "gold.parquet", "gold", among=("item_id", set())).empty
    assert storage.read_table(tmp_path / "none.parquet", "gold", among=("item_id", {"b"})).empty


def test_a_table_is_read_once_until_its_file_changes(tmp_path, monkeypatch):
    path, read = tmp_path / "labels.parquet", []
    monkeypatch.setattr(
        storage, "read_table", lambda *args, real=storage.read_table: read.append(args) or real(*args)
    )
    assert storage.read_once(path, "labels").empty
    empty = dict.fromkeys(tables.SCHEMAS["labels"].names, "") | {"seconds": None}
    write = lambda label: storage.write_table(path, pd.DataFrame([empty | label]), "labels")  # noqa: E731
    write({"label_id": "1", "label": "favor"})
    read.clear()
    first = storage.read_once(path, "labels")
    first["label"] = "against"
    first.loc[0, "label_id"] = "2"
    again = storage.read_once(path, "labels")
    assert (again["label"][0], again["label_id"][0], len(read)) == ("favor", "1", 1)
    write({"label_id": "1", "label": "never"})
    assert storage.read_once(path, "labels")["label"][0] == "never"
    copy = path.rename(tmp_path / "copy.parquet")
    write({"label_id": "1", "label": "favor"})
    assert storage.read_once(path, "labels")["label"][0] == "favor"
    copy.replace(path)
    assert storage.read_once(path, "labels")["label"][0] == "never", "another program's change is seen, too"


def _append(path, who):
    for number in range(50):
        storage.append_line(path, f"{who} {number}".encode())


def test_processes_that_append_at_once_lose_no_line(tmp_path):
    path = tmp_path / "outputs.txt"
    processes = [multiprocessing.Process(target=_append, args=(path, who)) for who in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert sorted(path.read_text().splitlines()) == sorted(
        f"{who} {number}" for who in range(4) for number in range(50)
    )
