"""`covmis purge` reaches every place: afterwards the text is nowhere in the study, seals stand, the release counts."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import zstandard

from covmis_build import storage
from covmis_build.annotation import record
from covmis_build.errors import InputError, ServiceError
from covmis_build.purge import add_to_list, purge, read_keys, read_list
from covmis_build.queries.index import build
from covmis_build.retrieval import pages
from covmis_build.study import open_study
from tests.annotation.small import covmis, label_both, study
from tests.servers.x import post

SECRET = "the planted words"
GONE = "x:1255000000000000003"
OTHER = "x:1255000000000000004"
QUOTING = "x:1255000000000000005"
ANSWERING = "x:1255000000000000002"
CLAIMS = "claim_id,text,language,keywords,selected\n" + "".join(
    f"c{number},Claim {number} says,en,post,yes\n" for number in range(4)
)


def page(*posts):
    stamp = pages.Stamp(
        job="j", source="x", query_id="q", claim_id="c0", kind="keywords", expression="post", search="post", since="",
        until="2021-01-01T00:00:00Z", page=1, next="", url="https://api.test/2", version="v",
        retrieved_at="2026-01-01T00:00:00Z", mode="all",
    )  # fmt: skip
    return {"data": list(posts), "meta": {}}, stamp


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A study with a sealed round, an archive, an index, notes of collecting and a release."""
    tmp_path = tmp_path_factory.mktemp("whole")
    study(tmp_path, 'show = ["quoted", "parent"]\n')
    table = tmp_path / "data/build/posts.parquet"
    posts = storage.read_table(table, "posts")
    posts.loc[posts["post_id"] == GONE, "text"] = f"Look, {SECRET}"
    quoting = posts["post_id"].isin([QUOTING, ANSWERING])
    posts.loc[quoting, ["quoted_text", "parent_text"]] = ""
    posts.loc[posts["post_id"] == QUOTING, ["quote_of", "quoted_text"]] = [GONE, f"Look, {SECRET}"]
    posts.loc[posts["post_id"] == ANSWERING, ["reply_to", "parent_text"]] = [GONE, f"Shortened: {SECRET}"]
    storage.write_table(table, posts, "posts")
    storage.write_text(tmp_path / "queries/claims.csv", CLAIMS)
    one = {**post(1, f"Look, {SECRET}", author=9), "id": GONE[2:]}
    other = {**post(2, "Another post", author=8), "id": OTHER[2:]}
    pages.append(tmp_path / "data/archive/x/q-1.jsonl.zst", *page(one, other))
    (tmp_path / "data/archive/mine.jsonl").write_text(json.dumps(one) + "\n" + json.dumps(other) + "\n")
    covmis(tmp_path, "round", "open")
    covmis(tmp_path, "round", "push")
    label_both(tmp_path)
    covmis(tmp_path, "round", "pull")
    covmis(tmp_path, "round", "report")
    covmis(tmp_path, "round", "seal")
    (tmp_path / "data/build/search.sqlite").write_bytes(f"index of {SECRET}".encode())
    outcomes = f"post_id,outcome,checked_at\n{GONE},available,t\n{OTHER},available,t\n"
    storage.write_text(tmp_path / "data/collect/outcomes.csv", outcomes)
    storage.write_text(tmp_path / "data/collect/ids.json", json.dumps({"ids": [GONE, OTHER], "again": ""}))
    storage.write_text(tmp_path / "data/release/corpus.csv", f"post_id,text\n{GONE},{SECRET}\n")
    return tmp_path


@pytest.fixture
def folder(whole, tmp_path):
    return Path(shutil.copytree(whole, tmp_path / "study"))


def everything(folder: Path) -> dict[str, str]:
    """All files of the study as text, unpacked."""
    found = {}
    for path in folder.rglob("*"):
        if not path.is_file():
            continue
        if path.suffix == ".parquet":
            text = str(pq.read_table(path, partitioning=None).to_pylist())
        elif path.suffix == ".zst":
            with path.open("rb") as file:
                reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
                text = reader.read().decode()
        else:
            text = path.read_bytes().decode("utf-8", "replace")
        found[str(path.relative_to(folder))] = text
    return found


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


def test_what_was_purged_does_not_come_back_by_collecting(folder):
    covmis(folder, "purge", GONE)
    payload, _ = page({**post(1, SECRET), "id": GONE[2:]}, post(3, "new"))
    kept = read_list(folder / "queries/purge.csv").without(payload)
    assert [one["text"] for one in kept["data"]] == ["new"]


def test_a_place_that_cannot_be_reached_does_not_hold_up_the_others(folder):
    def unreachable(_):
        raise ServiceError("Label Studio is not running")

    (folder / "data/archive/broken.jsonl.gz").write_bytes(b"\x1f\x8b\x08broken")
    done = purge(open_study(folder), read_keys([GONE]), unreachable)
    assert [one.split(":")[0] for one in done.problems] == ["data/archive/broken.jsonl.gz", "Label Studio"]
    left = everything(folder)
    assert [name for name, text in left.items() if SECRET in text] == []


def test_the_list_takes_what_people_write_and_refuses_the_rest(tmp_path):
    path = tmp_path / "purge.csv"
    path.write_text("id,asked_on\nhttps://x.com/a/status/1255,2026-01-01\n1256,2026-01-02\nauthor:x:9,\n")
    assert read_list(path) == read_keys(["x:1255", "x:1256", "author:x:9"])
    whole = add_to_list(path, read_keys(["1257", "1255"]))
    assert sorted(whole.posts) == ["x:1255", "x:1256", "x:1257"]
    assert path.read_text().count("1255") == 1
    with pytest.raises(InputError, match="neither a post id"):
        read_keys(["somebody"])
    path.write_text("id\n1.25E+18\n")
    with pytest.raises(InputError, match="row 2"):
        read_list(path)


def test_nothing_to_forget_is_an_error(folder):
    assert "nothing is to be forgotten" in covmis(folder, "purge", fails=2)["error"]


def test_the_index_goes_even_if_no_table_holds_the_post(folder):
    for path in (folder / "data/build").rglob("*.parquet"):
        path.unlink()
    index = folder / "data/build/search.sqlite"
    build(index, [(OTHER, "Another post", [], [], "")])
    covmis(folder, "purge", "x:1255000000000000099")
    assert index.exists()
    build(index, [(OTHER, "Another post", [], [], ""), (GONE, SECRET, [], [], "")])
    covmis(folder, "purge", GONE)
    assert not index.exists()


def test_pages_of_the_build_go_with_its_tables(folder):
    """The page of the flow names posts of large groups."""
    flow = folder / "data/build/flow.html"
    flow.write_text(f"<td>{GONE}</td>")
    covmis(folder, "purge", "x:1255000000000000099")
    assert flow.exists()
    covmis(folder, "purge", GONE)
    assert not flow.exists()
