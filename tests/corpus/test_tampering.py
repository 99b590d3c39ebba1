"""What somebody may change in a release, checksums made to fit: `covmis verify` notices it."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from covmis_build.corpus import publish, signature
from covmis_build.corpus.inventory import PLACE
from covmis_build.corpus.publish import BUNDLE
from covmis_build.corpus.release_facts import from_json
from covmis_build.corpus.verify import check_cited, check_release
from covmis_build.errors import InputError
from covmis_build.places import CHECKSUMS, FACTS
from covmis_build.study.verify import verify
from tests.corpus.forgeries import Whole, of_folder
from tests.corpus.studies import covmis
from tests.corpus.tamperings import (
    OF_THE_ROOT,
    OFTEN,
    ROOT_ALONE,
    TAMPERINGS,
    at_once,
    failed,
    first_failed,
    in_text,
    with_new_checksums,
    with_new_root,
)

EACH = 4
"""Forgeries of each kind that every run tries."""
ROOT = "the root hash that facts and card name is that of the files"


@pytest.fixture(autouse=True)
def in_this_process():
    with at_once():
        yield


@pytest.fixture(scope="module")
def release(annotated, tmp_path_factory):
    return shutil.copytree(annotated / "data" / "release", tmp_path_factory.mktemp("whole") / "release")


def without_bundle(release, folder):
    copy = shutil.copytree(release, folder, ignore=shutil.ignore_patterns("bundle.zip"))
    with_new_root(copy)
    with_new_checksums(copy, release)
    return copy


def test_the_table_holds_what_was_tried_before_and_more() -> None:
    assert len(TAMPERINGS) >= 78


@pytest.mark.parametrize("name", ["misinformation.csv", "covmis_stance.csv"])
def test_a_table_in_the_published_shape_says_what_it_lacks(release, tmp_path, name) -> None:
    """By itself it cannot be checked; in its release, the claims are, and queries where there is a bundle."""
    alone = shutil.copy(release / name, tmp_path)
    with pytest.raises(
        InputError, match=r"in COVMis-Stance's shape, without probabilities.*Name the folder of its release"
    ):
        verify(alone)
    copy = without_bundle(release, tmp_path / "release")
    for folder, wanted in ((copy, True), (release, False)):
        told = next(check for check in verify(folder / name) if "misinformation.csv has" in check.what)
        assert told.passed
        assert ("queries cannot be compared without a bundle" in told.detail) == wanted


@pytest.mark.parametrize("name", sorted(OF_THE_ROOT))
def test_the_root_hash_covers_what_is_not_there(release, tmp_path, name) -> None:
    copy = shutil.copytree(release, tmp_path / "release")
    TAMPERINGS[name](copy)
    with_new_checksums(copy, release)
    assert first_failed(copy)


def test_what_the_root_hash_alone_covers(release, tmp_path) -> None:
    """Whoever makes the root hash anew, too, is found out only by those who have the old one. The page says so."""
    told = (Path(__file__).parents[2] / "docs" / "security.md").read_text("utf-8")
    copy = shutil.copytree(release, tmp_path / "release")
    for name in sorted(ROOT_ALONE):
        TAMPERINGS[name](copy)
        assert name in told
    with_new_checksums(copy, release)
    assert failed(copy) == [ROOT]
    with_new_root(copy)
    with_new_checksums(copy, release)
    assert failed(copy) == []


def test_a_release_that_another_version_of_the_library_wrote_stands(annotated, tmp_path, monkeypatch) -> None:
    """It writes other bytes for the same rows, and their hashes stand in metadata."""
    study, write_texts = shutil.copytree(annotated, tmp_path / "study"), publish.write_texts
    version = pa.__version__.encode()
    other = version[:-1] + bytes([version[-1] ^ 1])

    def of_another(folder, facts, content):
        for path in folder.rglob("*.parquet"):
            data = path.read_bytes()
            assert version in data
            path.write_bytes(data.replace(version, other))
        return write_texts(folder, facts, content)

    monkeypatch.setattr(publish, "write_texts", of_another)
    covmis("release", "--study", study)
    monkeypatch.undo()
    assert first_failed(study / "data" / "release") == []


def test_no_forgery_of_any_kind_passes_with_the_root_hash_given(release, tmp_path) -> None:
    """A forger adapts checksums, and has not the root hash of the paper. `python -m tests.corpus.forgeries` tries all."""
    whole, tried = Whole(release, tmp_path), Counter()
    every = list(of_folder(release, keys=4))
    random.Random(4).shuffle(every)
    unseen = []
    for forgery in every:
        tried[forgery.kind] += 1
        if tried[forgery.kind] <= EACH and not whole.noticed(forgery):
            unseen.append(forgery)
    assert unseen == []
    assert len(tried) == 26
    for folder, root in whole.roots.items():
        assert first_failed(folder) == []
        assert all(check.passed for check in check_cited(folder, root, None))


def linked(name):
    def tamper(folder):
        (folder / name).rename(folder.parent / "elsewhere")
        (folder / name).symlink_to(folder.parent / "elsewhere")

    return tamper


def in_checksums(change):
    def tamper(folder):
        lines = (folder / CHECKSUMS).read_text("utf-8").splitlines()
        (folder / CHECKSUMS).write_bytes(change(lines).encode())

    return tamper


BESIDE = {
    "a link in a file's place": linked("card.html"),
    "a link in a folder's place": linked("huggingface"),
    "a link to another folder": lambda folder: (folder / "supplement").symlink_to(folder.parent),
    "a folder more": lambda folder: (folder / ".git").mkdir(),
    "a file under another checksum first": in_checksums(
        lambda lines: "\n".join([f"{'0' * 64}  card.md", *lines]) + "\n"
    ),
    "a file under two names": in_checksums(lambda lines: "\n".join([*lines, f"{lines[0][:66]}./{lines[0][66:]}"]) + "\n"),
    "lines that end otherwise": in_checksums(lambda lines: "\r\n".join(lines) + "\r\n"),
}  # fmt: skip
"""What the root hash does not cover: each passed once, with the root hash of the paper."""


@pytest.mark.parametrize("name", sorted(BESIDE))
def test_what_stands_beside_the_files_is_noticed(release, tmp_path, name) -> None:
    copy = shutil.copytree(release, tmp_path / "release")
    BESIDE[name](copy)
    assert first_failed(copy)


def test_the_words_for_the_root_hash_stand_in_no_file(release, tmp_path) -> None:
    """Else the root hash on a page could be taken away."""
    copy = without_bundle(release, tmp_path / "release")
    root = from_json((copy / FACTS).read_bytes()).root
    in_text("card.md", root, PLACE)(copy)
    with_new_checksums(copy, release)
    with pytest.raises(InputError, match="stand for the root hash"):
        verify(copy, root=root)


def test_a_paper_prints_the_root_hash(release, tmp_path) -> None:
    root = from_json((release / FACTS).read_bytes()).root
    paper, theirs = tmp_path / "paper.tex", tmp_path / "theirs.txt"
    paper.write_text(f"Its root hash is \\texttt{{{root[:30].upper()}\\allowbreak\n  {root[30:]}}}.")
    theirs.write_text(f"Its root hash is {root[::-1]}.")
    assert verify(release / "corpus.csv", root=root, paper=paper).passed
    for place in (release, release / BUNDLE):
        assert [check.passed for check in check_cited(place, root, paper)] == [True, True]
        told = {check.what: check.passed for check in check_cited(place, root[::-1], theirs)}
        assert told == {"the root hash is the given one": False, "theirs.txt prints this root hash": False}
    alone = shutil.copy(release / "corpus.csv", tmp_path)
    with pytest.raises(InputError, match="no root hash"):
        verify(alone, root=root)


@pytest.mark.starts("ssh-keygen")
def test_a_signature_tells_whose_the_release_is(release, tmp_path) -> None:
    copy = without_bundle(release, tmp_path / "release")
    for name in ("ours", "theirs"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    allowed = tmp_path / "allowed"
    allowed.write_text(f"corpus@example.org {(tmp_path / 'ours.pub').read_text()}")

    def told():
        return {check.what: check.passed for check in check_release(copy, allowed)}[
            "the checksums are signed"
        ]

    assert told() is False
    signature.sign(copy, tmp_path / "ours")
    assert told()
    assert first_failed(copy) == []
    signed = (copy / signature.SIGNATURE).read_text()
    (copy / signature.SIGNATURE).write_text(f"{signed}The figures of the card are wrong.\n")
    assert told() is False, "ssh-keygen does not look behind a signature"
    (copy / signature.SIGNATURE).write_text(signed)
    in_text("card.md", "posts labelled", "thousand posts labelled")(copy)
    with_new_checksums(copy, release)
    assert told() is False
    assert "the checksums are signed" in first_failed(copy)
    signature.sign(copy, tmp_path / "theirs")
    assert told() is False
    with pytest.raises(InputError, match="is not there"):
        signature.sign(copy, tmp_path / "nobody")
    with pytest.raises(InputError, match="does not sign"):
        signature.sign(copy, copy / "card.md")


def test_nothing_is_wrong_with_the_whole_release(release) -> None:
    assert failed(release) == []


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in OFTEN else pytest.mark.long)
        for name in sorted(TAMPERINGS.keys() - ROOT_ALONE - OF_THE_ROOT)
    ],
)
def test_a_change_is_noticed_though_checksums_and_root_hash_fit(release, tmp_path, name) -> None:
    copy = shutil.copytree(release, tmp_path / "release")
    TAMPERINGS[name](copy)
    if (copy / "facts.json").exists():
        with_new_root(copy)
    with_new_checksums(copy, release)
    wrong = first_failed(copy)
    assert wrong, "nothing was noticed"
    assert "files are as they were released" not in wrong


@pytest.mark.parametrize(
    "name", ["a label in all formats", "p_sample and weight", "what a person said", "kappa in the facts"]
)
def test_no_bundle_is_needed_for_that(release, tmp_path, name) -> None:
    copy = without_bundle(release, tmp_path / "release")
    TAMPERINGS[name](copy)
    with_new_checksums(copy, release)
    assert first_failed(copy)
