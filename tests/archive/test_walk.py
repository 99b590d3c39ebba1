"""The files of an archive: every one is read or spoken of, also behind links, and without walking in circles."""

from __future__ import annotations

import os

import pytest

from covmis_build.archive.walk import archive_files
from covmis_build.errors import InputError


@pytest.fixture
def archive(tmp_path):
    (tmp_path / "archive" / "deep").mkdir(parents=True)
    (tmp_path / "elsewhere" / "more").mkdir(parents=True)
    for name in ("archive/a.jsonl", "archive/deep/b.jsonl", "elsewhere/c.jsonl", "elsewhere/more/d.jsonl"):
        (tmp_path / name).write_text("{}\n")
    return tmp_path / "archive"


def names(archive):
    return [file.name for file in archive_files([archive])]


def test_folders_behind_links_are_walked_once(archive):
    (archive / "disk").symlink_to(archive.parent / "elsewhere")
    (archive / "again").symlink_to(archive.parent / "elsewhere" / "more")
    (archive / "itself").symlink_to(".")
    (archive / "deep" / "up").symlink_to("..")
    (archive.parent / "elsewhere" / "round").symlink_to("../elsewhere")
    below = names(archive)
    assert {"archive/a.jsonl", "archive/deep/b.jsonl", "archive/disk/c.jsonl"} <= set(below)
    assert sum(name.endswith("d.jsonl") for name in below) == 1
    assert len(below) == 4


def test_an_archive_that_is_a_link_itself(archive):
    link = archive.parent / "link"
    link.symlink_to(archive)
    assert names(link) == ["link/a.jsonl", "link/deep/b.jsonl"]


def test_a_link_that_leads_nowhere_is_said(archive):
    (archive / "x.jsonl").symlink_to("/nowhere/at/all.jsonl")
    with pytest.raises(InputError, match=r"x\.jsonl: leads to a file that is not there"):
        names(archive)


def test_what_is_no_file_is_none_of_them(archive):
    os.mkfifo(archive / "pipe.jsonl")
    (archive / "zero.jsonl").symlink_to("/dev/zero")
    assert names(archive) == ["archive/a.jsonl", "archive/deep/b.jsonl"]


def test_a_folder_that_cannot_be_seen_is_said(archive, monkeypatch):
    scandir = os.scandir

    def refused(path):
        if str(path).endswith("deep"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refused)
    with pytest.raises(InputError, match="deep: cannot be read: Permission denied"):
        names(archive)
