"""`covmis purge` reaches every place: afterwards the text is nowhere in the study, seals stand, the release counts."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import zstandard

from covmis_build import storage
from covmis_build.annotation import round_folder as record
from covmis_build.archive import rewriting, taking_out
from covmis_build.archive.forgetting import Forget
from covmis_build.archive.rewriting import write_without
from covmis_build.archive.stretches import stretches_of
from covmis_build.archive.traces import Names, Traces
from covmis_build.building import purging
from covmis_build.building.purge import add_to_list, read_keys, read_list
from covmis_build.errors import InputError, ServiceError
from covmis_build.ranking.vectors import SentenceModel, Vectors
from covmis_build.study import label_studio
from covmis_build.study.study import open_study
from tests.annotation.small import covmis, label_both
from tests.bombs import far_cell
from tests.forgettable import (
    GONE,
    OTHER,
    QUOTING,
    SECRET,
    collected_and_released,
    everything,
    forgettable,
    page,
    tarred,
    zipped,
)
from tests.servers.x import post


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A study with a sealed round, an archive, an index, notes of collecting and a release."""
    tmp_path = tmp_path_factory.mktemp("whole")
    forgettable(tmp_path)
    covmis(tmp_path, "round", "open")
    covmis(tmp_path, "round", "push")
    label_both(tmp_path)
    covmis(tmp_path, "round", "pull")
    covmis(tmp_path, "round", "report")
    covmis(tmp_path, "round", "seal")
    collected_and_released(tmp_path)
    return tmp_path


@pytest.fixture
def folder(whole, tmp_path):
    return Path(shutil.copytree(whole, tmp_path / "study"))


def test_a_purged_post_is_nowhere_and_the_seal_stands(folder):
    holding = {name for name, text in everything(folder).items() if SECRET in text}
    assert {name.split("/")[0] for name in holding} == {"annotation", "data"}
    assert len(holding) >= 6
    done = covmis(folder, "purge", GONE)
    assert done["posts"] == 1
    assert not done["problems"]
    counts = {one["place"]: one["count"] for one in done["places"]}
    assert counts["archive"] == 2
    assert counts["frozen items"] == 1
    assert counts["their quotations"] == 2
    assert counts["collect"] == 2
    left = everything(folder)
    assert [name for name, text in left.items() if SECRET in text] == []
    assert [name for name in left if name.startswith("data/") and GONE[2:] in left[name]] == []
    assert OTHER[2:] in left["data/archive/mine.jsonl"]
    assert OTHER[2:] in left["data/archive/x/q-1.jsonl.zst"]
    assert OTHER in left["data/collect/outcomes.csv"]
    state = covmis(folder, "round", "verify")["rounds"][0]
    assert (state["stands"], state["purged"]) == (True, 3)
    items = record.find(folder / "annotation/rounds").items().set_index("post_id")
    assert items.loc[QUOTING, "text"] == "Post 0.5 😷"
    assert items.loc[GONE, "text"] == ""
    assert GONE in left["queries/purge.csv"]
    again = covmis(folder, "purge")
    assert {one["count"] for one in again["places"]} == {0}


def test_an_author_takes_all_posts_along(folder):
    done = covmis(folder, "purge", "author:x:9")
    assert done["posts"] == 1
    assert [name for name, text in everything(folder).items() if SECRET in text] == []
    assert record.find(folder / "annotation/rounds").items()["text"].str.contains("Post 0.4").any()


def test_frozen_posts_of_an_author_are_known_by_ids_that_name_them(tmp_path):
    ids = ["bsky:did:plc:a/3k", "bsky:did:plc:b/3k", "x:5"]
    pd.DataFrame({"post_id": ids}).to_parquet(tmp_path / "items.parquet")
    places = SimpleNamespace(table=lambda name: tmp_path / name, frozen=[tmp_path / "items.parquet"])
    forget = Forget(authors=frozenset({"author:bsky:did:plc:a", "author:x:5"}))
    assert purging._of_authors_by_id(places, forget) == {ids[0]}


def test_what_was_purged_does_not_come_back_by_collecting(folder):
    covmis(folder, "purge", GONE)
    payload, _ = page({**post(1, SECRET), "id": GONE[2:]}, post(3, "new"))
    kept = read_list(folder / "queries/purge.csv").without(payload)
    assert [one["text"] for one in kept["data"]] == ["new"]


def test_models_that_may_have_learned_from_the_post_go_and_are_named(folder):
    """Their words are a vocabulary, or in weights: no search finds there what a post said."""
    for name in ("models/a/weights-1.npz", "models/a/model.json", "models/b/model.json"):
        storage.write_bytes(folder / name, b"{}")
    storage.write_bytes(folder / "models/mine.json", b"{}")
    stopped = folder / "cells/checkpoint-4"
    storage.write_bytes(stopped / "course.json", b"{}")
    (stopped / "model.safetensors").write_bytes(b"weights")
    assert open_study(folder).purge(posts=["x:1255000000000000999"]).notes == []
    assert (folder / "models/a/weights-1.npz").exists(), "nobody has labelled that post"
    done = open_study(folder).purge(posts=[GONE])
    assert [note.split(":")[0] for note in done.notes] == ["models/a", "models/b", "cells/checkpoint-4"]
    assert not stopped.exists()
    assert [path.name for path in (folder / "models").rglob("*") if path.is_file()] == ["mine.json"]
    storage.write_bytes(folder / "models/a/model.json", b"{}")
    open_study(folder).purge(posts=["x:1255000000000000999"])
    assert (folder / "models/a/model.json").exists(), "it was trained after the post was gone"


def test_a_models_paid_answers_lose_only_those_about_the_post(folder):
    journal, kept = folder / "asked" / "answers", []
    for line in (
        {"question": "which stance"},
        {"item_id": f"c0|{OTHER}", "answer": "favor"},
        {"item_id": f"c0|{GONE}"},
    ):
        storage.append_bytes(journal, json.dumps(line).encode() + b"\n")
        kept += [line] if GONE not in str(line) else []
    done = open_study(folder).purge(posts=[GONE])
    assert [json.loads(line) for line in journal.read_text().splitlines()] == kept
    assert not any("asked" in note for note in (*done.notes, *done.problems))


@pytest.mark.parametrize("linked", [False, True])
def test_an_archive_outside_is_rewritten_only_on_request(folder, tmp_path, linked):
    theirs = Path(shutil.move(folder / "data/archive", tmp_path / "theirs"))
    before = {path.name: path.read_bytes() for path in theirs.rglob("*.jsonl*")}
    if linked:
        (folder / "data/archive").symlink_to(theirs)
    else:
        toml = folder / "study.toml"
        toml.write_text(toml.read_text() + f'[retrieval]\narchive = ["{theirs}"]\n')
    with pytest.raises(InputError, match=r"outside the study's folder.*covmis purge --outside"):
        open_study(folder).purge(posts=[GONE])
    assert {path.name: path.read_bytes() for path in theirs.rglob("*.jsonl*")} == before
    assert not (folder / "queries/purge-journal.jsonl").exists()
    assert open_study(folder).purge(posts=[GONE], outside=True).problems == []
    assert {path.name: path.read_bytes() for path in theirs.rglob("*.jsonl*")} != before


def test_a_place_that_cannot_be_reached_does_not_hold_up_the_others(folder, monkeypatch):
    def unreachable(*_):
        raise ServiceError("Label Studio is not running")

    monkeypatch.setattr(label_studio, "forget", unreachable)
    (folder / "data/archive/broken.jsonl.gz").write_bytes(b"\x1f\x8b\x08broken")
    done = open_study(folder).purge(posts=[GONE])
    assert list(dict.fromkeys(problem.split(":")[0] for problem in done.problems)) == [
        "data/archive/broken.jsonl.gz",
        "Label Studio",
    ]
    left = everything(folder)
    assert [name for name, text in left.items() if SECRET in text] == []


def test_the_list_takes_what_people_write_and_refuses_the_rest(tmp_path):
    path = tmp_path / "purge.csv"
    path.write_text("id,asked_on\nhttps://x.com/a/status/1255,2026-01-01\n1256,10115 Berlin\nauthor:x:9,\n")
    assert read_list(path) == read_keys(["x:1255", "x:1256", "author:x:9"])
    whole = add_to_list(path, read_keys(["1257", "1255"]))
    assert sorted(whole.posts) == ["x:1255", "x:1256", "x:1257"]
    assert path.read_text().count("1255") == 1
    with pytest.raises(InputError, match="neither a post id"):
        read_keys(["somebody"])
    for words, row in (
        ("id\n1.25E+18\n", 2),
        ("x:1255 - requested by mail\nx:1256\n", 1),
        ("asked on,id\n2026-01-01,x:1255 (mail)\n", 2),
    ):
        path.write_text(words)
        with pytest.raises(InputError, match=f"row {row}"):
            read_list(path)
    path.write_text("x:1255,see https://example.org/9\nx:1256,he asked: twice\n")
    assert read_list(path) == read_keys(["x:1255", "x:1256"])


def test_nothing_to_forget_is_an_error(folder):
    assert "there is nothing to delete" in covmis(folder, "purge", fails=2)["error"]


def test_the_store_and_its_words_go_whatever_they_hold(folder):
    store = folder / "data/build/archive"
    (store / "words").mkdir(parents=True)
    for path in (store / "part.parquet", store / "words/part.arrow"):
        path.write_bytes(SECRET.encode())
    covmis(folder, "purge", GONE)
    assert not store.exists()


def test_the_store_goes_before_the_archive_is_rewritten(folder, monkeypatch):
    """A kill in between would leave parts of files that no later purge looks for."""
    store = folder / "data/build/archive"
    store.mkdir(parents=True)
    (store / "part.parquet").write_bytes(SECRET.encode())
    there = []
    plain = purging.take_out
    monkeypatch.setattr(purging, "take_out", lambda *given: there.append(store.exists()) or plain(*given))
    open_study(folder).purge(posts=[GONE])
    assert there
    assert not any(there)


def test_a_file_that_ends_the_process_that_reads_it_is_named_and_the_others_are_purged(folder):
    """A workbook whose last cell is a sheet's last one ends the process: its reader wants the memory for all cells."""
    far_cell(folder / "data/archive/far.xlsx")
    told = open_study(folder).purge(posts=[GONE], authors=["author:x:9"])
    assert {problem.partition(":")[0] for problem in told.problems} == {"data/archive/far.xlsx"}
    assert [name for name, text in everything(folder).items() if SECRET in text] == []


def test_what_a_killed_purge_leaves_at_work_replaces_nothing(tmp_path):
    """Its child goes on for a moment; the next purge begins at once."""
    path, pid = tmp_path / "posts.jsonl", tmp_path / "pid"
    path.write_text(json.dumps({"data": [post(1, SECRET)]}) + "\n")
    forget, before = Forget(frozenset({f"x:{post(1, SECRET)['id']}"})), path.read_bytes()

    def slow(*given):
        pid.write_text(str(os.getpid()))
        time.sleep(0.2)
        return write_without(*given)

    if not (purge := os.fork()):
        rewriting.write_without = slow
        [*taking_out.take_out([path], forget)]
        os._exit(0)
    while not pid.exists() or not pid.read_text():
        time.sleep(0.001)
    os.kill(purge, signal.SIGKILL)
    os.waitpid(purge, 0)
    with contextlib.suppress(ProcessLookupError):
        while True:  # an orphan: the system waits for it
            os.kill(int(pid.read_text()), 0)
            time.sleep(0.01)
    assert path.read_bytes() == before
    assert [*taking_out.take_out([path], forget)] == [1]
    assert SECRET not in path.read_text()


def test_pages_of_the_build_go_with_its_tables(folder):
    """The page of the flow names posts of large groups."""
    flow = folder / "data/build/flow.html"
    flow.write_text(f"<td>{GONE}</td>")
    covmis(folder, "purge", "x:1255000000000000099")
    assert flow.exists()
    covmis(folder, "purge", GONE)
    assert not flow.exists()


def test_vectors_of_texts_go_with_a_post_that_no_table_names(folder):
    """A sentence model reads posts that no query finds; its vectors are kept by a hash of the text."""
    with Vectors(
        SentenceModel("m", "1", lambda texts: np.ones((len(texts), 4))), folder / "data/build"
    ) as kept:
        kept.prepare(["What nobody drew"])
    covmis(folder, "purge", "x:1255000000000000099")
    assert not list((folder / "data/build").glob("vectors-*"))


def test_a_link_leads_to_what_is_purged(folder, tmp_path):
    elsewhere = tmp_path / "other disk" / "mine.jsonl"
    elsewhere.parent.mkdir()
    (folder / "data/archive/mine.jsonl").rename(elsewhere)
    (folder / "data/archive/mine.jsonl").symlink_to(elsewhere)
    with pytest.raises(InputError, match="outside the study's folder"):
        open_study(folder).purge(posts=[GONE])
    covmis(folder, "purge", "--outside", GONE)
    assert (folder / "data/archive/mine.jsonl").is_symlink()
    assert SECRET not in elsewhere.read_text()
    assert OTHER[2:] in elsewhere.read_text()


def test_a_stray_file_beside_sheets_is_cleaned_or_named_and_stops_nothing(folder):
    """A copy of a sheet loses its row; a damaged copy cannot, and is named until it is gone. All else is purged."""
    sheets = folder / "annotation/rounds/001/sheets"
    copy, damaged, other = (sheets / name for name in ("a1 (copy).csv", "a1 (2).csv", "notes.csv"))
    shutil.copy(sheets / "a1.csv", copy)
    damaged.write_text(SECRET)
    other.write_text("call kim")
    told = covmis(folder, "purge", GONE, fails=1)["problems"]
    assert [problem.partition(" holds ")[0].rpartition("/")[2] for problem in told] == ["a1 (2).csv"]
    assert {name.rpartition("/")[2] for name, text in everything(folder).items() if SECRET in text} == {
        "a1 (2).csv"
    }
    assert covmis(folder, "purge", fails=1)["problems"] == told
    damaged.unlink()
    assert not covmis(folder, "purge")["problems"]
    assert copy.exists()
    assert other.exists()


def test_files_of_other_programs_stay_and_are_named(folder, tmp_path):
    theirs = folder / "data/archive/.download.part"
    theirs.write_text("another program's")
    ours = folder / "annotation/rounds/001/.items.parquet.covmis-abcdefgh.part"
    ours.write_bytes(f"half of {SECRET}".encode())
    (folder / "notes.txt").write_text(f"I saw {GONE}")
    prompts = folder / "prompts.jsonl"
    storage.write_text(prompts, json.dumps({"prompt": f"Look, {SECRET}", "item_id": f"c0|{GONE}"}))
    done = covmis(folder, "purge", GONE, fails=1)
    assert theirs.read_text() == "another program's"
    assert not ours.exists()
    assert not prompts.exists()
    assert done["left"] == ["notes.txt: holds words of it, or names it"]
    assert GONE in (folder / "notes.txt").read_text()


def test_addresses_in_other_peoples_posts_lead_nowhere(folder):
    line = {"id": OTHER[2:], "text": f"See https://x.com/a/status/{GONE[2:]} and laugh", "author_id": "7"}
    (folder / "data/archive/more.jsonl").write_text(json.dumps({"data": [line]}) + "\n")
    assert covmis(folder, "purge", GONE)["problems"] == []
    (left,) = json.loads((folder / "data/archive/more.jsonl").read_text())["data"]
    assert left["text"] == "See https://x.com/a/status/purged and laugh"


def test_a_trace_is_found_in_whatever_is_packed(tmp_path):
    import bz2
    import gzip
    import sqlite3

    import pyarrow as pa
    import pyarrow.feather

    line = f'{{"id": "{GONE[2:]}"}}\n'.encode()
    made = {
        "a.gz": gzip.compress(line), "a.bz2": bz2.compress(line), "a.zst": zstandard.compress(line), "plain": line,
    }  # fmt: skip
    for name, data in made.items():
        (tmp_path / name).write_bytes(data)

    made |= {
        "a.xlsx": zipped(sheet=line, inner=zstandard.compress(b"nothing")),
        "in a tar.tar": tarred(zstandard.compress(line)), "in a tar.tgz": gzip.compress(tarred(gzip.compress(line))),
        "in a zip.zip": zipped(other=b"nothing", inner=zipped(sheet=line)), "twice.gz": gzip.compress(bz2.compress(line)),
        "utf-16.csv": line.decode().encode("utf-16"), "big-endian.csv": b"\xfe\xff" + line.decode().encode("utf-16-be"),
    }  # fmt: skip
    for name, data in made.items():
        (tmp_path / name).write_bytes(data)
    pq.write_table(pa.table({"post": [GONE], "n": [1]}), tmp_path / "a.parquet")
    pyarrow.feather.write_feather(pa.table({"post": [GONE], "text": ["x" * 999]}), tmp_path / "a.feather")
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as base, base:
        base.execute("CREATE TABLE t (id TEXT)")
        base.execute("INSERT INTO t VALUES (?)", (GONE,))
    found = [path.name for path in sorted(tmp_path.iterdir()) if Traces([GONE]).of_file(path).ids]
    assert found == sorted([*made, "a.feather", "a.parquet", "a.sqlite"])
    assert not any(Traces([OTHER]).of_file(path).ids for path in tmp_path.iterdir())


def test_a_short_id_is_no_part_of_a_longer_one(tmp_path):
    """Ids of a forum are numbers like 17: a purge of 1 would never end, and every other command wait for it."""
    names = Names(["forum:1", "x:12"])
    for text in (b"c1|forum:17", b"myforum:1", b"x:125", b'"id": 1'):
        assert not names.within(text), text
    for text in (b'{"post_id": "forum:1"}', b"c1|forum:1,favor", b"x:12\n"):
        assert names.within(text), text


def test_a_purge_of_a_post_that_is_nowhere_ends(folder):
    done = covmis(folder, "purge", "x:1")
    assert done["problems"] == []
    assert not (folder / "queries/purge-journal.jsonl").exists()


def test_words_are_found_as_json_escapes_them(tmp_path):
    words = stretches_of(["Größe ist nicht alles, sagte Frau Müller über Äpfel und Öl vom Markt"])
    (tmp_path / "a.json").write_text(json.dumps(["… sagte Frau Müller über Äpfel und Öl vom Markt"]))
    assert Traces(words=words).of_file(tmp_path / "a.json").texts
    assert not Traces(words=words).of_file(tmp_path / "a.json", texts=False).texts


def test_a_journal_whose_first_line_is_torn_still_ends_in_a_whole_purge(folder):
    """What was noted after the torn line must count: it used to be glued to it, and the purge to find nothing."""
    add_to_list(folder / "queries/purge.csv", read_keys([GONE]))
    (folder / "queries/purge-journal.jsonl").write_bytes(b'{"at": "2026-01-01T00:00:00Z", "pos')
    done = open_study(folder, half_purged=True).purge()
    assert (done.posts, done.problems) == (1, [])
    assert [name for name, text in everything(folder).items() if SECRET in text] == []
