"""Archives in an object store: the same tables as from a disk, purges that hold, and failures that are said."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import shutil
import tarfile
import zipfile
from pathlib import Path

import pandas as pd
import pytest
import zstandard

from covmis_build import addresses
from covmis_build.addresses import Address, place
from covmis_build.archive import streams
from covmis_build.archive.reader import ReadingOptions, read
from covmis_build.errors import InputError, ServiceError
from covmis_build.places import Places
from covmis_build.study.study import open_study
from tests.services import object_store
from tests.small_study import small_study

TABLES = ("posts", "hits", "provenance", "unreadable", "intake", "items", "sample")
LINES = (
    b'{"id": "1252934402983763968", "id_str": "1252934402983763968", "text": "Garlic cures", "created_at": "Wed Apr 22 12:16:54 +0000 2020", "user": {"id_str": "1", "screen_name": "a"}}\n'
    * 3000
)


@pytest.mark.parametrize(
    "text", ["ftp://host/x", "s3://", "s3:///", "s3://key:secret@bucket/x", "s3://b/x?a=b"]
)
def test_an_address_is_a_known_kind_of_place_without_secrets(text):
    with pytest.raises(InputError):
        place(text)


def test_an_address_is_a_path(tmp_path):
    address = place("s3://bucket/posts/2020/")
    assert isinstance(address, Address)
    assert str(address / "a b.jsonl") == "s3://bucket/posts/2020/a b.jsonl"
    assert (address / "x.gz").relative_to(address.parent).as_posix() == "2020/x.gz"
    assert place(str(address)) == address
    assert place("archive", tmp_path) == tmp_path / "archive"
    assert place(tmp_path) == tmp_path


def test_what_is_collected_goes_to_a_folder_of_this_machine_where_there_is_one(tmp_path):
    places = Places(tmp_path, ("s3://bucket/posts", "data/archive"))
    assert places.collected == tmp_path / "data" / "archive"


@pytest.fixture(scope="module")
def bucket():
    with object_store.store("bucket", "corpus") as environment, pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        addresses._system.cache_clear()
        yield environment["AWS_ENDPOINT_URL"]
    addresses._system.cache_clear()


def packed(form):
    """The lines, packed so."""
    whole = io.BytesIO()
    if form == "zip":
        with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("inside/posts.jsonl", LINES)
    elif form.startswith("tar"):
        with tarfile.open(fileobj=whole, mode="w:gz" if form == "tar.gz" else "w") as file:
            inside = tarfile.TarInfo("posts.jsonl")
            inside.size = len(LINES)
            file.addfile(inside, io.BytesIO(LINES))
    elif form == "parquet":
        pd.DataFrame({"tweet_id": ["1252934402983763968"], "text": ["Garlic"]}).to_parquet(whole)
    else:
        pack = {"jsonl": bytes, "gz": gzip.compress, "zst": zstandard.compress}[form]
        whole.write(pack(LINES))
    return whole.getvalue()


@pytest.mark.long  # beside a whole suite the store did not always begin to answer
@pytest.mark.needs("object_store")
@pytest.mark.parametrize("form", ["jsonl", "gz", "zst", "zip", "tar", "tar.gz", "parquet"])
def test_every_packing_is_read_as_from_a_disk(bucket, tmp_path, form):
    name = f"posts.{form}"
    (tmp_path / name).write_bytes(packed(form))
    object_store.put(bucket, f"bucket/{name}", packed(form))

    def content(path):
        return [
            (result.place, result.form, result.posts, result.problem)
            for job in streams.jobs([(path, name)])
            for result in read(job, how=ReadingOptions())
        ]

    here = content(tmp_path / name)
    assert any(posts for _, _, posts, _ in here)
    assert content(place(f"s3://bucket/{name}")) == here


@pytest.mark.long  # beside a whole suite the store did not always begin to answer
@pytest.mark.needs("object_store")
def test_a_study_of_a_bucket_has_the_tables_of_one_on_disk_and_purges_there(bucket, tmp_path):
    study = small_study(tmp_path / "here")
    archive = study.places.archives[0]
    files = sorted(path for path in archive.rglob("*") if path.is_file())
    for path in files:
        object_store.put(bucket, f"corpus/{path.relative_to(archive.parent).as_posix()}", path.read_bytes())
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(study.places.folder, elsewhere, ignore=shutil.ignore_patterns("data"))
    settings = (elsewhere / "study.toml").read_text().replace('"data/archive"', '"s3://corpus/archive"')
    (elsewhere / "study.toml").write_text(settings)
    study.run(workers=2)
    other = open_study(elsewhere)
    assert str(other.places.archives[0]) == "s3://corpus/archive"
    other.run(workers=2)

    def tables(folder):
        return {name: hashlib.sha256(folder.table(name).read_bytes()).hexdigest() for name in TABLES}

    assert tables(other.places) == tables(study.places)
    assert not any(outcome.made for outcome in other.run().stages)
    assert other.places.collected == other.places.archives[0]

    gone = study.posts["post_id"].iloc[0]
    native = gone.partition(":")[2].encode()
    done = other.purge(posts=[gone], outside=True)
    assert done.problems == []
    held = [path for path in place("s3://corpus").rglob("*") if path.is_file()]
    assert len(held) == len(files)
    assert not any(
        native in line
        for path in held
        for job in streams.jobs([(path, "x")])
        for _, _, line, _ in streams.lines(job)
    )


@pytest.mark.long  # beside a whole suite the store did not always begin to answer
@pytest.mark.needs("object_store")
def test_a_file_is_set_in_its_place_whole_or_not_at_all(bucket, tmp_path, monkeypatch):
    object_store.put(bucket, "bucket/whole/a", b"before")
    address, large, content = place("s3://bucket/whole/a"), tmp_path / "a", b"after" * 4_000_000
    large.write_bytes(content)
    with monkeypatch.context() as patch, contextlib.suppress(KeyboardInterrupt):
        patch.setattr(Path, "open", lambda *_, **__: Interrupted(content))
        address.put(large)
    assert address.read_bytes() in {b"before", content}
    (tmp_path / "none").mkdir()
    monkeypatch.chdir(tmp_path / "none")
    (address / "new").mkdir(parents=True)
    assert list(Path().iterdir()) == []


@pytest.mark.long  # beside a whole suite the store did not always begin to answer
@pytest.mark.needs("object_store")
def test_what_a_store_refuses_is_said_and_no_damaged_file(bucket, monkeypatch):
    with pytest.raises(ServiceError, match=r"s3://nobody/x cannot be read.*environment"):
        list(place("s3://nobody/x").rglob("*"))
    assert not place("s3://bucket/none").exists()
    object_store.put(bucket, "bucket/a.jsonl.gz", gzip.compress(LINES * 400, 0))
    address = place("s3://bucket/a.jsonl.gz")
    (job,) = streams.jobs([(address, "a")])
    monkeypatch.setattr(addresses._Stream, "readinto", torn(addresses._Stream.readinto))
    with pytest.raises(ServiceError, match="the line is cut"):
        list(streams.lines(job))


class Interrupted(io.BytesIO):
    """A file whose reader is interrupted in its middle."""

    def read(self, size=-1):
        if self.tell() > 8 << 20:
            raise KeyboardInterrupt
        return super().read(size)


def torn(readinto):
    """A store that stops answering at the second question for a file."""

    def broken(stream, buffer):
        if stream.tell():
            with addresses._reporting_failures(stream.address):
                raise OSError("the line is cut")
        return readinto(stream, buffer)

    return broken


def test_a_wrong_address_names_its_setting_and_shows_no_secret(tmp_path):
    (tmp_path / "study.toml").write_text('title = "t"\n[retrieval]\narchive = ["s3://key:secret@bucket/x"]\n')
    with pytest.raises(InputError, match=r"study.toml: \[retrieval\] archive: ") as error:
        open_study(tmp_path)
    assert "secret" not in str(error.value)
