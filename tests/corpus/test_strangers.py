"""Bundles from a stranger: what they may hold, what they may set, whom the reader's token reaches."""

from __future__ import annotations

import itertools
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tomllib
import zipfile

import openpyxl
import pytest

from covmis_build.corpus import bundle
from covmis_build.corpus.bundle import NAMES, read_bundle
from covmis_build.errors import InputError
from covmis_build.settings import Settings, parse, settings_toml, shareable
from covmis_build.study.study import open_study
from tests.corpus.studies import covmis, ran
from tests.corpus.tamperings import in_bundle, in_manifest, opened, packed

PLANTED = {
    "git settings": (".git/config", b"[core]\n\tfsmonitor = touch planted; false\n\trepositoryformatversion = 0\n"),
    "a hook": (".git/hooks/post-checkout", b"#!/bin/sh\ntouch planted\n"),
    "direnv": (".envrc", b"touch planted\n"),
    "pytest": ("conftest.py", b"open('planted', 'w')\n"),
    "a name like another": ("study.TOML", b'title = "x"\n'),
    "an option": ("-rf", b""),
    "a device": ("CON", b""),
    "a line end": ("annotation/guideline.md\n", b""),
    "posts": ("data/archive/evil.jsonl", b"{}\n"),
    "a page": ("annotation/rounds/001/report.html", b"<script>alert(1)</script>"),
    "a sheet": ("annotation/rounds/001/sheets/a1.csv", b"=1+1"),
    "projects": ("annotation/rounds/001/label_studio.json", b"{}"),
    "a purge list": ("queries/purge.csv", b"id\n"),
    "a journal": ("queries/purge-journal.jsonl", b"{}"),
    "a register": ("data/outputs.txt", b"../../mine\n"),
    "a round of thousands": ("annotation/rounds/1000/round.json", b"{}"),
    "another digit": ("annotation/rounds/00\N{ARABIC-INDIC DIGIT ONE}/round.json", b"{}"),
    "a way up": ("../outside.txt", b""),
    "from the root": ("/tmp/outside.txt", b""),
    "a drive": ("C:\\outside.txt", b""),
    "a folder": ("annotation/rounds/003/", b""),
}  # fmt: skip


@pytest.fixture
def release(annotated, tmp_path):
    return shutil.copytree(annotated / "data" / "release", tmp_path / "release")


def changed(toml: str, **values: str) -> str:
    """These settings with other values; a setting has one name in all tables here."""
    for name, value in values.items():
        toml, count = re.subn(f"(?m)^{name} = .*$", f"{name} = {value}", toml)
        assert count == 1, name
    return toml


@pytest.mark.parametrize("name", PLANTED)
def test_a_file_that_covmis_puts_into_no_bundle_is_refused(release, tmp_path, name) -> None:
    where, data = PLANTED[name]
    in_bundle(lambda files: files.update({where: data}))(release)
    there = tmp_path / "there"
    for words in (
        ("verify", release / "bundle.zip"),
        ("verify", release),
        ("hydrate", release / "bundle.zip", "--into", there),
    ):
        told = covmis(*words, code=2)["error"]
        assert f"holds {where!r}, which is no part of a bundle" in told
    assert not there.exists()


def test_a_link_under_an_allowed_name_is_refused(release) -> None:
    files = opened(release / "bundle.zip")
    with zipfile.ZipFile(release / "bundle.zip", "w") as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o120777 if name == "annotation/guideline.md" else 0o100644) << 16
            archive.writestr(entry, b"/etc/passwd" if name == "annotation/guideline.md" else data)
    with pytest.raises(InputError, match=r"'annotation/guideline\.md', which is no part"):
        read_bundle(release / "bundle.zip")


@pytest.mark.starts("git")
def test_every_file_of_a_bundle_is_allowed_and_git_runs_nothing_in_a_rebuilt_study(release, tmp_path) -> None:
    assert all(NAMES.fullmatch(name) for name in opened(release / "bundle.zip"))
    there = tmp_path / "there"
    covmis("hydrate", release / "bundle.zip", "--into", there)
    subprocess.run(["git", "-C", there, "status"], check=False, capture_output=True)
    assert {path.name for path in there.iterdir()} <= {"study.toml", "annotation", "queries", "data"}


def test_settings_of_a_stranger_are_proposals(release, tmp_path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "posts.csv").write_text("id,text\nx:1250000000000000000,mine\n")
    before = (mine / "posts.csv").read_bytes()
    proposed = {
        "build": '"s3://theirs/study"', "archive": f'["{mine}", "data/archive"]', "against": f'["{mine}/posts.csv"]',
        "label_studio_url": '"http://127.0.0.1:9"', "data_statement": '"/etc/passwd"',
    }  # fmt: skip
    in_bundle(
        lambda files: files.update({"study.toml": changed(files["study.toml"].decode(), **proposed).encode()})
    )(release)
    path = release / "bundle.zip"
    there = tmp_path / "there"
    told = covmis("hydrate", path, "--into", there)
    assert told["not_taken_over"] == [
        "build", "[retrieval] archive", "[cleaning] against", "[annotation] label_studio_url", "[release] data_statement",
    ]  # fmt: skip
    assert (
        "Not taken over from the bundle: build, [retrieval] archive"
        in ran("hydrate", path, "--into", there).output
    )
    study = open_study(there)
    assert study.places.archives == [there / "data/archive"]
    assert study.settings == shareable(study.settings)[0]
    study.purge(posts=["x:1250000000000000000"])
    assert (mine / "posts.csv").read_bytes() == before
    toml = (there / "study.toml").read_text()
    (there / "study.toml").write_text(changed(toml, archive=f'["{mine}"]'))
    covmis("hydrate", path, "--into", there)  # one's own archive makes no other study of it


def test_a_bundle_says_nothing_of_the_machine_that_made_it(annotated, tmp_path) -> None:
    same, copy = (shutil.copytree(annotated, tmp_path / name) for name in ("same", "copy"))
    toml = (copy / "study.toml").read_text()
    own = {"label_studio_url": '"https://mine.example"', "archive": f'["{copy}/data/archive"]'}
    (copy / "study.toml").write_text(changed(f"# my note\n{toml}", **own))
    for folder in (same, copy):
        covmis("run", "--force", "--study", folder)
        covmis("release", "--bundle", "--study", folder)
    before, after = (opened(folder / "data/release/bundle.zip") for folder in (same, copy))
    assert before == after, "neither a clock nor a place on a machine is in it"


@pytest.mark.parametrize("code", ["../../../../../pwned", "/tmp/pwned", "model:../../x", "a1/../b", ""])
def test_an_annotators_code_is_no_path(release, tmp_path, code) -> None:
    """Codes become names of files; they are those of a round.json that a stranger wrote."""

    def change(files):
        place = "annotation/rounds/002/round.json"
        about = json.loads(files[place])
        del about["sha256"]  # as a version before 0.3.0 wrote it
        written = json.dumps({**about, "annotators": ["a1", code]}).encode()
        files[place] = bundle.in_one_form(place, written, files)

    in_bundle(change)(release)
    for words in (
        ("verify", release / "bundle.zip"),
        ("hydrate", release / "bundle.zip", "--into", tmp_path / "there"),
    ):
        assert "cannot be an annotator's code" in covmis(*words, code=2)["error"]


def test_a_strangers_list_of_purged_posts_reaches_posts_of_the_rounds_alone(release, tmp_path) -> None:
    in_manifest(lambda told: told["purged"].extend(["author:x:12", "x:1", "=1+1"]))(release)
    covmis("hydrate", release / "bundle.zip", "--into", tmp_path / "there")
    assert not (tmp_path / "there/queries/purge.csv").exists()


def test_what_is_shareable_survives_and_nothing_else() -> None:
    mine = parse(
        {
            "title": "t",
            "retrieval": {"archive": ["/mnt"], "since": "2020-01-01"},
            "release": {"licence": "../x"},
        }
    )
    shared, left_out = shareable(mine)
    assert left_out == ["[retrieval] archive", "[release] licence"]
    assert shared == parse({"title": "t", "retrieval": {"since": "2020-01-01"}})
    assert parse(tomllib.loads(settings_toml(shared))) == shared
    assert shareable(Settings("t")) == (Settings("t"), [])


@pytest.mark.parametrize(
    ("name", "file"),
    [("data_statement", "/etc/passwd"), ("licence", "../secret.txt"), ("data_statement", "link.md")],
)
def test_a_file_outside_the_study_is_not_published(annotated, tmp_path, name, file) -> None:
    copy = shutil.copytree(annotated, tmp_path / "copy")
    (tmp_path / "secret.txt").write_text("root:x:0:0")
    (copy / "link.md").symlink_to("/etc/passwd")
    toml = (copy / "study.toml").read_text()
    (copy / "study.toml").write_text(changed(toml, **{name: f'"{file}"'}))
    assert "leads out of the study's folder" in covmis("release", "--study", copy, code=2)["error"]


def test_a_register_of_outputs_reaches_no_file_outside(annotated, tmp_path) -> None:
    copy = shutil.copytree(annotated, tmp_path / "copy")
    (copy / "data/outputs.txt").write_text("../mine.csv\nshares.csv\n")
    for path in (tmp_path / "mine.csv", copy / "shares.csv"):
        path.write_text("x:1250000000000000000\n")
    open_study(copy).purge(posts=["x:1250000000000000000"])
    assert (tmp_path / "mine.csv").exists()
    assert not (copy / "shares.csv").exists()


def test_a_bundle_of_another_format_says_which(release) -> None:
    files = opened(release / "bundle.zip")
    packed(release / "bundle.zip", files | {bundle.MANIFEST: b'{"format": 4, "files": {}}'})
    with pytest.raises(InputError, match=r"format 4\. Use a newer covmis"):
        read_bundle(release / "bundle.zip")


def test_a_bundle_that_poses_as_the_first_format_is_noticed_in_its_release(release) -> None:
    """That format has no facts, so a seal could be taken out; the release's root hash says that there is one."""

    def change(files):
        for name in ("data/release/facts.json", "annotation/rounds/002/seal.json"):
            files.pop(name)
        files[bundle.MANIFEST] = json.dumps(json.loads(files[bundle.MANIFEST]) | {"format": 1}).encode()

    in_bundle(change)(release)
    assert "there is no root hash: it is of the first format" in ran("verify", release / "bundle.zip").output
    failed = [one["check"] for one in covmis("verify", release, code=1)["checks"] if not one["passed"]]
    assert "the root hash that facts and card name is that of the files" in failed


@pytest.mark.parametrize("entity", ["&file;", "&swelling;"])
def test_entities_of_a_workbook_are_not_resolved(tmp_path, entity) -> None:
    """Neither files of this machine nor a gigabyte of text come out of a sheet's XML."""
    book = openpyxl.Workbook()
    for row in (
        ("item", "annotator", "label"),
        ("i1", "a", "favor"),
        ("i1", "b", "favor"),
        ("i2", "a", "favor"),
    ):
        book.active.append(row)
    book.save(tmp_path / "labels.xlsx")
    files = opened(tmp_path / "labels.xlsx")
    names = ["lol", *(f"e{number}" for number in range(9)), "swelling"]
    ten = "".join(f'<!ENTITY {name} "{f"&{one};" * 10}">' for one, name in itertools.pairwise(names))
    kinds = f'<!DOCTYPE x [<!ENTITY file SYSTEM "file:///etc/passwd"><!ENTITY lol "lol">{ten}]>'
    sheet = "xl/worksheets/sheet1.xml"
    files[sheet] = kinds.encode() + files[sheet].replace(b"favor", entity.encode(), 1)
    packed(tmp_path / "labels.xlsx", files)
    assert "unrecognized entity" in covmis("agreement", tmp_path / "labels.xlsx", code=2)["error"]


CELL = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
ODS = """<!DOCTYPE x [<!ENTITY file SYSTEM "file:///etc/passwd">]><office:document-content
 xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:xlink="http://www.w3.org/1999/xlink"
 xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"
 ><office:body><office:spreadsheet><table:table table:name="labels">{}</table:table></office:spreadsheet></office:body>
 </office:document-content>"""


@pytest.mark.parametrize(
    "link", ["", '<table:table-source xlink:href="file:///etc/passwd" table:table-name="x"/>']
)
@pytest.mark.parametrize("label", ["favor", "&file;"])
def test_an_ods_brings_no_file_of_this_machine(tmp_path, link, label):
    rows = [("item", "annotator", "label"), *((f"i{at}", who, label) for at in range(2) for who in "ab")]
    cells = ("".join(map(CELL.format, row)) for row in rows)
    content = ODS.format(link + "".join(f"<table:table-row>{row}</table:table-row>" for row in cells))
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>'
    files = {"mimetype": kind, "content.xml": content, "META-INF/manifest.xml": manifest}
    packed(tmp_path / "labels.ods", files)
    told = json.dumps(covmis("agreement", tmp_path / "labels.ods", code=0 if label == "favor" else 2))
    assert "root:" not in told
    assert ("favor" in told) == (label == "favor")


def test_a_link_to_another_workbook_is_not_followed(tmp_path):
    """What the program that saved the sheet had found there counts, or nothing."""
    book = openpyxl.Workbook()
    for row in [
        ("item", "annotator", "label"),
        *((f"i{at}", who, "favor") for at in range(2) for who in "ab"),
    ]:
        book.active.append(row)
    book.active["C2"] = "='file:///etc/[passwd]x'!A1"
    book.save(tmp_path / "labels.xlsx")
    told = covmis("agreement", tmp_path / "labels.xlsx", code=2)["error"]
    assert "root:" not in told
    assert "row 2" in told


def _many(path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(60_000):
            archive.writestr(f"annotation/rounds/{number % 1000:03}/sealed/{number + 1}/seal.json", b"{}")


def _overlapping(path) -> None:
    """A thousand names for the same bytes of one file."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("annotation/rounds/000/round.json", bytes(900_000))
        (first,) = archive.infolist()
        for number in range(1, 1000):
            again = zipfile.ZipInfo(f"annotation/rounds/{number:03}/round.json")
            for name in ("compress_type", "header_offset", "CRC", "compress_size", "file_size"):
                setattr(again, name, getattr(first, name))
            archive.filelist.append(again)


def _lying(path) -> None:
    """Files that say they are empty, and unpack to a megabyte each."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(1000):
            archive.writestr(f"annotation/rounds/{number:03}/round.json", bytes(900_000))
            archive.filelist[-1].file_size = 1


def _swelling(path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(1000):
            archive.writestr(f"annotation/rounds/{number:03}/round.json", bytes(900_000))


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (_many, "holds more than 10,000 files"),
        (_overlapping, "holds files that share bytes"),
        (_swelling, "unpacks to more than 1 GiB, or to 20 times its size"),
        (_lying, "is not a whole zip file|has no manifest|unpacks to more"),
    ],
)
def test_a_small_package_of_endless_content_ends_in_one_line(tmp_path, make, told) -> None:
    """Counted as it comes, whatever the package says: a gigabyte of memory and twenty seconds are more than enough."""
    path = tmp_path / "bundle.zip"
    make(path)
    command = [sys.executable, "-m", "covmis_build", "verify", path]
    with (tmp_path / "said").open("w+") as said:
        begun = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=said,
            preexec_fn=_bounded,  # noqa: PLW1509 - the child is to have limits
        )
        _, status, used = os.wait4(begun.pid, 0)  # of this command and its own children
        begun.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        lines = said.read().splitlines()
    assert begun.returncode == 2, lines[-3:]
    assert len(lines) == 1
    assert re.search(told, lines[0])
    assert used.ru_maxrss < 1 << 20


def _bounded() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
