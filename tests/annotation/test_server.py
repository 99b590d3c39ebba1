"""Starting the local Label Studio, with a stand-in for its environment: interrupted or failing, nothing stays half-done."""

from __future__ import annotations

import errno
import json
import sqlite3
import sys
from pathlib import Path

import pytest

from covmis_build.annotation.channels.label_studio import server
from covmis_build.errors import ServiceError

STAND_IN = f"""#!{sys.executable}
import sys, time  # label_studio
time.sleep(60 if "start" in sys.argv else 0)
"""


@pytest.fixture
def home(tmp_path):
    """A server that is set up, whose start takes a minute."""
    made = server.Server(tmp_path / "home")
    programs = made.environment / "bin"
    programs.mkdir(parents=True)
    for name in ("python", "label-studio"):
        (programs / name).write_text(STAND_IN)
        (programs / name).chmod(0o755)
    (made.home / "initialised").touch()
    return made


def test_an_interrupted_start_leaves_no_server(home, monkeypatch):
    started = []

    def interrupted(one, process, url, until):
        started.append(json.loads(one.running_file.read_text())["pid"])
        assert server._alive(started[0])
        raise KeyboardInterrupt

    monkeypatch.setattr(server, "_answers", interrupted)
    with pytest.raises(KeyboardInterrupt):
        server.up(home, ["a1"], say=lambda _: None)
    assert not server._exists(started[0])
    assert not home.running_file.exists()
    assert home.address() == ""


def test_passwords_that_cannot_be_read_now_are_not_made_anew(home, monkeypatch):
    home.users_file.write_text('{"admin": {"email": "a", "password": "p", "token": "t"}}')
    before = home.users_file.read_bytes()

    def no_more_files(*_):
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_text", no_more_files)
        with pytest.raises(OSError, match="Too many open files"):
            server.up(home, ["a1"], say=lambda _: None)
    assert home.users_file.read_bytes() == before


def test_a_server_whose_data_were_deleted_begins_anew(home, monkeypatch):
    started, said = [], []
    monkeypatch.setattr(server, "_run", lambda _, words, *more, **others: started.append(words))
    admin = {"email": "a", "password": "p", "token": "t"}
    home.data.mkdir()
    home.database.touch()
    server._initialise(home, admin, said.append, print)
    assert not started
    home.database.unlink()
    server._initialise(home, admin, said.append, print)
    assert "init" in started[0]
    assert "`covmis round push` sends open posts again" in said[-1]


def test_an_environment_that_cannot_be_made_is_one_line(home, monkeypatch):
    (home.environment / "bin" / "label-studio").unlink()
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(ServiceError, match=r"^Label Studio cannot be installed: venv failed$"):
        server.up(home, ["a1"], say=lambda _: None)


def test_the_first_start_says_how_far_it_is(tmp_path, monkeypatch):
    fetching = tmp_path / "fetching"
    fetching.write_text(
        "#!/bin/sh\n"
        'mkdir -p "$4/bin" && cp "$0" "$4/bin/python"\n'  # `-m venv --clear FOLDER`, and then `-m pip install`
        'echo "Collecting one"; echo "Collecting two"; echo "Installing collected packages: one, two"\n'
    )
    fetching.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(fetching))
    lock = tmp_path / "lock"
    lock.write_text("one==1 --hash=a\ntwo==2 --hash=b\n")
    monkeypatch.setattr(server, "lock_file", lambda: lock)
    told = []
    one = server.Server(tmp_path / "home")
    server._install(one, print, lambda *step: told.append(step))
    fetched = [step for step in told if step[0].startswith("Fetching")]
    assert fetched[-1] == ("Fetching Label Studio's packages", 2, 2)
    assert told[-1] == ("Installing Label Studio's packages", 2, 2)

    one.data.mkdir(parents=True)
    assert server._migrated(one) == 0
    database = sqlite3.connect(one.data / "label_studio.sqlite3")
    with database:
        database.execute("CREATE TABLE django_migrations (name)")
        database.executemany("INSERT INTO django_migrations VALUES (?)", [("a",), ("b",)])
    database.close()
    assert server._migrated(one) == 2
    counted = []
    (one.environment / "bin" / "python").write_text("#!/bin/sh\ncat; sleep 1.2")
    server._run(one, [], text="x" * 100_000, meanwhile=lambda: counted.append(server._migrated(one)))
    assert set(counted) == {2}
    (one.environment / "bin" / "python").write_text("#!/bin/sh\necho why; exit 1")
    with pytest.raises(ServiceError, match=r"setup\.log"):
        server._run(one, [])
    assert (one.home / "setup.log").read_text() == "why\n"
