"""A study that holds the words of somebody who wants to be forgotten, wherever a study can hold them."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import zstandard

from covmis_build import storage
from covmis_build.archive import pages
from tests.annotation.small import as_if_run, study
from tests.servers.x import post

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "the planted words that nobody may keep"
GONE = "x:1255000000000000003"
OTHER = "x:1255000000000000004"
QUOTING = "x:1255000000000000005"
ANSWERING = "x:1255000000000000002"
AUTHOR = "author:x:1009999999"
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


def forgettable(folder: Path, author: str = "9", settings: str = "", per_claim: int = 6) -> Path:
    """A study whose stages have run: the words stand in tables, in the archive, and in others' quotations of them."""
    study(folder, 'show = ["quoted", "parent"]\n' + settings, per_claim=per_claim)
    table = folder / "data/build/posts.parquet"
    posts = storage.read_table(table, "posts")
    posts.loc[posts["post_id"] == GONE, "text"] = f"Look, {SECRET}"
    quoting = posts["post_id"].isin([QUOTING, ANSWERING])
    posts.loc[quoting, ["quoted_text", "parent_text"]] = ""
    posts.loc[posts["post_id"] == QUOTING, ["quote_of", "quoted_text"]] = [GONE, f"Look, {SECRET}"]
    posts.loc[posts["post_id"] == ANSWERING, ["reply_to", "parent_text"]] = [GONE, f"Shortened: {SECRET}"]
    storage.write_table(table, posts, "posts")
    storage.write_text(folder / "queries/claims.csv", CLAIMS)
    theirs = {**post(1, f"Look, {SECRET}", author=int(author)), "id": GONE[2:]}
    other = {**post(2, "Another post", author=8), "id": OTHER[2:]}
    pages.append(folder / "data/archive/x/q-1.jsonl.zst", *page(theirs, other))
    (folder / "data/archive/mine.jsonl").write_text(json.dumps(theirs) + "\n" + json.dumps(other) + "\n")
    as_if_run(folder)
    return folder


def collected_and_released(folder: Path) -> None:
    """The words in an index, a release, and the notes of collecting, as well."""
    (folder / "data/build/search.sqlite").write_bytes(f"index of {SECRET}".encode())
    outcomes = f"post_id,outcome,checked_at\n{GONE},available,t\n{OTHER},available,t\n"
    storage.write_text(folder / "data/collect/outcomes.csv", outcomes)
    storage.write_text(folder / "data/collect/ids.json", json.dumps({"ids": [GONE, OTHER], "again": ""}))
    storage.write_text(folder / "data/release/corpus.csv", f"post_id,text\n{GONE},{SECRET}\n")


def everything(folder: Path) -> dict[str, str]:
    """All files of the study as text, unpacked."""
    texts = {}
    for path in folder.rglob("*"):
        if not path.is_file():
            continue
        data = path.read_bytes()
        if path.suffix == ".parquet" and data[:4] == data[-4:] == b"PAR1":
            text = str(pq.read_table(path, partitioning=None).to_pylist())
        elif path.suffix == ".zst":
            machine = zstandard.ZstdDecompressor()
            text = machine.stream_reader(data, read_across_frames=True).read().decode()
        else:
            text = data.decode("utf-8", "replace")
        texts[str(path.relative_to(folder))] = text
    return texts


def zipped(**files: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as whole:
        for name, data in files.items():
            whole.writestr(name, data)
    return out.getvalue()


def tarred(data: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        member = tarfile.TarInfo("inside")
        member.size = len(data)
        tar.addfile(member, io.BytesIO(data))
    return out.getvalue()
